"""Prices that are not known for sure: ranges, distributions, samples."""

import os
import re
from typing import Any

import numpy as np

from stakes.costs._choices import settle_columns, warn_of_misspelling
from stakes.costs._matrix import CostMatrix, check_shape
from stakes.costs._read import read_labelled, said_of
from stakes.utils._arrays import describe, finite_array
from stakes.utils._files import write_atomically
from stakes.utils._formulas import harmless
from stakes.utils._frames import is_frame
from stakes.utils._labels import as_labels

N_DRAWS = 1000
# What stands between the ends of a range, as people write it.
BETWEEN = re.compile(r"\s*(?:\.\.\.?|…|–|\bto\b)\s*")
# Distributions and samples have no ends: their `low` and `high` are these quantiles.
ENDS = (0.025, 0.975)


class UncertainCostMatrix(CostMatrix):
    r"""A cost matrix some of whose prices are guesses.

    Wherever one price is needed it is the mean: `values`, and so every learner and rule that
    knows nothing of the doubt. What the doubt means for the decisions is told by
    `stakes.decision` (`decide_under_doubt`, the rules `LeastRegret` and `RiskAverse`) and by
    `compare`.

    Parameters
    ----------
    cells : nested list of shape (n_classes, n_decisions)
        ``cells[t][d]`` is what deciding ``d`` costs when the truth is ``t``: a number; a range
        ``(low, high)``, every price in it equally likely; ``(low, most likely, high)``, a
        triangular distribution; or a frozen distribution of `scipy.stats`. Cells are
        independent of each other; where they are not, give samples (`from_samples`).
    labels : array-like of shape (n_classes,), default=None
        The class labels, as in `CostMatrix`.
    decisions : array-like of shape (n_decisions,), default=None
        What may be done, as in `CostMatrix`; the classes if None.

    Attributes
    ----------
    values : ndarray of shape (n_classes, n_decisions)
        The mean prices; read-only.
    low, high : ndarray of shape (n_classes, n_decisions)
        The ends of the ranges; of distributions and samples, the 2.5% and 97.5% quantiles.

    Examples
    --------
    A false alarm costs 10, a miss something between 500 and 1500:

    >>> from stakes.costs import UncertainCostMatrix
    >>> C = UncertainCostMatrix([[0, 10], [(500, 1500), 0]], labels=["pays", "defaults"])
    >>> C.cost(true="defaults", predicted="pays")
    1000.0
    >>> C
    UncertainCostMatrix, at the mean
    true \ predicted  pays                   defaults
    pays              0                      10
    defaults          1000 (500 .. 1500)     0
    """

    __slots__ = ("_cells", "_draws")
    _cells: Any
    _draws: Any

    def __init__(self, cells: Any, labels: Any = None, decisions: Any = None):
        if is_frame(cells):
            raise TypeError("A DataFrame carries its own labels: give lists of cells, and labels.")
        if isinstance(cells, np.ndarray) and cells.ndim == 3:
            self._set_samples(cells, labels, decisions)
            return
        rows = [list(row) for row in cells]
        lengths = [len(row) for row in rows]
        if len(set(lengths)) > 1:
            raise ValueError(
                "A cost matrix has as many cells in each row, one per decision, but this one has "
                f"{len(rows)} rows of {lengths} cells."
            )
        check_shape((len(rows), lengths[0] if rows else 0), labels, decisions)
        names = list(range(len(rows)) if labels is None else labels)
        columns = names if decisions is None else list(decisions)
        named = [[f" at row {t!r}, column {d!r}" for d in columns] for t in names]
        parsed = [list(map(_cell, row, where)) for row, where in zip(rows, named)]
        super().__init__([[_mean(cell) for cell in row] for row in parsed], labels, decisions)
        order = self._order_of_columns(decisions)
        self._cells = tuple(tuple(row[d] for d in order) for row in parsed)
        self._draws = None

    def _order_of_columns(self, decisions: Any) -> list[int]:
        """Return where each of the columns, as they are kept, was in what was given."""
        if decisions is None or self._labels is None:
            return list(range(self.n_decisions))
        return settle_columns(decisions, self._labels)[0]

    # -- named constructors ------------------------------------------------------------------

    @classmethod
    def from_ranges(
        cls, low: Any, high: Any, labels: Any = None, decisions: Any = None
    ) -> "UncertainCostMatrix":
        """Build from the lowest and the highest price of each cell.

        Examples
        --------
        >>> from stakes.costs import UncertainCostMatrix
        >>> UncertainCostMatrix.from_ranges([[0, 5], [100, 0]], [[0, 15], [300, 0]]).values
        array([[  0.,  10.],
               [200.,   0.]])
        """
        low, high = finite_array(low, name="low"), finite_array(high, name="high")
        if low.shape != high.shape or low.ndim != 2:
            raise ValueError(
                f"low has shape {low.shape} and high {high.shape}: both must be tables of one size."
            )
        cells = [list(zip(*pair)) for pair in zip(low.tolist(), high.tolist())]
        return cls(cells, labels, decisions)

    @classmethod
    def from_samples(
        cls, samples: Any, labels: Any = None, decisions: Any = None
    ) -> "UncertainCostMatrix":
        """Build from equally likely matrices, in which prices may hang together.

        Parameters
        ----------
        samples : array-like of shape (n_samples, n_classes, n_decisions)
            ``[sample, true, decided]``.
        labels, decisions : array-like, default=None
            The class labels and the decisions, as in `CostMatrix`.

        Examples
        --------
        >>> from stakes.costs import UncertainCostMatrix
        >>> C = UncertainCostMatrix.from_samples([[[0, 1], [8, 0]], [[0, 3], [12, 0]]])
        >>> C.values
        array([[ 0.,  2.],
               [10.,  0.]])
        """
        made = cls.__new__(cls)
        made._set_samples(samples, labels, decisions)
        return made

    def _set_samples(self, samples: Any, labels: Any, decisions: Any) -> None:
        draws = finite_array(samples, name="samples")
        if draws.ndim != 3 or len(draws) == 0:
            raise ValueError(
                "samples must have shape (n_samples, n_classes, n_decisions), but they have shape "
                f"{draws.shape}."
            )
        super().__init__(draws.mean(axis=0), labels, decisions)
        draws = draws[:, :, self._order_of_columns(decisions)]
        draws.setflags(write=False)
        self._cells, self._draws = None, draws

    @classmethod
    def from_csv(cls, path: str | os.PathLike) -> "UncertainCostMatrix":
        """Read a labelled table as `CostMatrix.from_csv` does, whose cells may be ranges.

        A range is written ``500..1500`` or ``500 to 1500``; ``500..900..1500`` has its most
        likely price in the middle.
        """
        names, columns, rows = read_labelled(path)
        cells = [[_parse(text) for text in row] for row in rows]
        with said_of(path):
            warn_of_misspelling(tuple(names), tuple(columns))
            return cls(cells, names, columns)

    # -- reading -----------------------------------------------------------------------------

    @property
    def independent(self) -> bool:
        """Whether the prices are independent of each other: not where they are samples."""
        return self._draws is None

    @property
    def is_box(self) -> bool:
        """Whether every price has a lowest and a highest value, and all between is possible."""
        return self._cells is not None and not any(hasattr(c, "ppf") for c in _flat(self._cells))

    @property
    def uncertain(self) -> np.ndarray:
        """The cells whose price is not known for sure, as a mask of shape (n_classes, n_decisions)."""
        return self.high > self.low

    @property
    def low(self) -> np.ndarray:
        """The lowest prices."""
        return self._ends(0)

    @property
    def high(self) -> np.ndarray:
        """The highest prices."""
        return self._ends(1)

    def _ends(self, side: int) -> np.ndarray:
        if self._draws is not None:
            return np.quantile(self._draws, ENDS[side], axis=0)
        return np.array([[_end(cell, side) for cell in row] for row in self._cells])

    def sample(self, n: int = N_DRAWS, random_state: Any = 0) -> np.ndarray:
        """Return equally likely matrices, (n, n_classes, n_decisions).

        Independent prices are spread evenly over their distribution (a Latin hypercube), so
        that a thousand suffice; samples are drawn from as they are, or returned whole where
        there are no more than `n`. Prices that are all known for sure are one matrix.
        """
        if self._draws is not None and len(self._draws) <= n:
            return np.array(self._draws)
        rng = np.random.default_rng(random_state)
        if self._draws is not None:
            return self._draws[np.sort(rng.choice(len(self._draws), n, replace=False))]
        if not self.uncertain.any():
            return self.values[None].copy()
        drawn = np.empty((n, self.n_classes, self.n_decisions))
        for (t, d), certain in np.ndenumerate(~self.uncertain):
            cell = self._cells[t][d]
            place = None if certain else (rng.permutation(n) + rng.random(n)) / n
            drawn[:, t, d] = _mean(cell) if place is None else _quantile(cell, place)
        return drawn

    def quantiles(self, true: int, predicted: int, shares: np.ndarray) -> np.ndarray:
        """Return quantiles of one price, by the positions of its cell."""
        if self._draws is not None:
            return np.quantile(self._draws[:, true, predicted], shares)
        return _quantile(self._cells[true][predicted], np.asarray(shares, dtype=float))

    # -- converting --------------------------------------------------------------------------

    def aligned(
        self, classes: Any, *, encoded: bool = False, decisions: Any = None
    ) -> "UncertainCostMatrix":
        """Return the matrix in the order of `classes`; see `align`.

        It has no names any more, but those of decisions that are not the classes.
        """
        rows, columns, known = self.places(classes, encoded=encoded, decisions=decisions)
        named = None if set(known) == set(as_labels(classes)) else known
        if self._draws is not None:
            return self.from_samples(self._draws[:, rows][:, :, columns], None, named)
        return UncertainCostMatrix(
            [[self._cells[t][d] for d in columns] for t in rows], None, named
        )

    def normalized(self) -> "UncertainCostMatrix":
        """Shift each row so that its least cost is 0 whatever the prices; no decision moves."""
        drawn = self.sample()
        shifted = drawn - drawn.min(axis=2, keepdims=True)
        return self.from_samples(shifted, self._labels, self._decisions)

    def to_csv(self, path: str | os.PathLike | None = None) -> str | None:
        """Write the table that `from_csv` reads; return it as text where `path` is None.

        Ranges alone can be written; distributions and samples are refused.
        """
        if not self.is_box:
            raise ValueError(
                "Only ranges can be written as a table, not distributions or samples."
            )
        names: Any = [list(map(harmless, axis)) for axis in self._known()]
        cells = [[_written(cell) for cell in row] for row in self._cells]
        import pandas as pd

        text = pd.DataFrame(cells, *names).to_csv(index_label=self._corner)
        if path is None:
            return text
        write_atomically(path, text)
        return None

    # -- printing and Python's protocols ---------------------------------------------------------

    def _shown(self) -> Any:
        frame = self.to_frame().astype(object)
        low, high = self.low, self.high
        for t, d in np.ndindex(self._values.shape):
            text = describe(float(self._values[t, d]))
            if high[t, d] > low[t, d]:
                text += f" ({describe(float(low[t, d]))} .. {describe(float(high[t, d]))})"
            frame.iat[t, d] = text
        return frame

    def __repr__(self) -> str:
        frame = self._shown()
        rows = [[self._corner, *map(str, frame.columns)]]
        rows += [[str(name), *cells] for name, cells in zip(frame.index, frame.to_numpy())]
        widths = [max(map(len, column)) + 2 for column in zip(*rows)]
        widths[1:] = [max(widths[1:])] * (len(widths) - 1)
        lines = ["".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "UncertainCostMatrix, at the mean\n" + "\n".join(lines)

    def _repr_html_(self) -> str:
        return self._shown().to_html()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UncertainCostMatrix):
            return NotImplemented
        return (
            self._labels == other._labels
            and self._known() == other._known()
            and self._cells == other._cells
            and np.array_equal(self.sample(), other.sample())
        )

    def __hash__(self) -> int:
        names = self._labels, self._decisions
        return hash((names, self._values.tobytes(), self.low.tobytes()))

    def __reduce__(self):
        if self._draws is not None:
            return (UncertainCostMatrix, (np.array(self._draws), *self._named_axes()))
        return (UncertainCostMatrix, ([list(row) for row in self._cells], *self._named_axes()))


# -- cells: a number, a tuple of two or three, or a distribution --------------------------------


def _cell(given: Any, place: str) -> Any:
    """Return a cell as it is kept; a range of no width is a number."""
    if hasattr(given, "ppf"):
        if not np.isfinite([given.mean(), *given.ppf(ENDS)]).all():
            raise ValueError(f"The distribution{place} has no finite mean and quantiles.")
        return given
    if np.ndim(given) == 0:
        return float(finite_array(given, name=f"The price{place}"))
    ends = finite_array(given, name=f"The range{place}").tolist()
    if len(ends) not in (2, 3):
        raise ValueError(
            f"The range{place} has {len(ends)} numbers: give (low, high) or (low, most likely, "
            "high)."
        )
    if ends != sorted(ends):
        raise ValueError(
            f"The range{place} is upside down, {'..'.join(map(describe, ends))}: give the "
            "lowest price first."
        )
    return ends[0] if ends[0] == ends[-1] else tuple(ends)


def _mean(cell: Any) -> float:
    if hasattr(cell, "ppf"):
        return float(cell.mean())
    return float(np.mean(cell))  # of two ends, of the three corners of a triangle


def _end(cell: Any, side: int) -> float:
    if hasattr(cell, "ppf"):
        return float(cell.ppf(ENDS[side]))
    return cell[-side] if isinstance(cell, tuple) else cell


def _quantile(cell: Any, shares: np.ndarray) -> np.ndarray:
    """Return the prices below which these shares of the distribution lie."""
    if hasattr(cell, "ppf"):
        return np.asarray(cell.ppf(shares), dtype=float)
    if not isinstance(cell, tuple):
        return np.full(len(shares), cell)
    low, high = cell[0], cell[-1]
    if len(cell) == 2:
        return low + shares * (high - low)
    rise, fall = cell[1] - low, high - cell[1]
    below = low + np.sqrt(shares * (high - low) * rise)
    above = high - np.sqrt((1 - shares) * (high - low) * fall)
    return np.where(shares * (high - low) < rise, below, above)


def _parse(text: str) -> Any:
    """Return the cell that a text stands for; what is no range is left to the checks of numbers.

    Examples
    --------
    >>> from stakes.costs._doubt import _parse
    >>> _parse("500..1500"), _parse("5 to 20"), _parse("12")
    ((500.0, 1500.0), (5.0, 20.0), '12')
    """
    parts = BETWEEN.split(text.strip())
    if len(parts) == 1 or "_" in text:  # Python reads 1_0 as 10
        return text
    try:
        return tuple(float(part) for part in parts)
    except ValueError:
        return text


def parse_range(text: str) -> tuple | None:
    """Return the range that a text is, such as ``5..20``; None where it is none.

    Examples
    --------
    >>> from stakes.costs import parse_range
    >>> parse_range("5..20"), parse_range("0.5*amount")
    ((5.0, 20.0), None)
    """
    parsed = _parse(text)
    if isinstance(parsed, str):
        return None
    cell = _cell(parsed, "")
    return cell if isinstance(cell, tuple) else (cell, cell)


def read_prices(path: str | os.PathLike) -> CostMatrix:
    """Read a labelled table of prices: with ranges in it, an `UncertainCostMatrix`."""
    _, _, rows = read_labelled(path, warn=False)
    ranges = any(isinstance(_parse(cell), tuple) for row in rows for cell in row)
    return UncertainCostMatrix.from_csv(path) if ranges else CostMatrix.from_csv(path)


def _written(cell: Any) -> str:
    return "..".join(repr(end) for end in (cell if isinstance(cell, tuple) else (cell,)))


def _flat(cells: tuple) -> list:
    return [cell for row in cells for cell in row]
