"""A sweep that can be added up: validation sets that do not fit in memory, or lie apart."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.special import expit, logit

from stakes.costs import Costs, check_costs, check_order, class_prices
from stakes.decision._numbers import decide_by
from stakes.decision._rule import check_examples
from stakes.decision._sweep import Examples, Span, Standing
from stakes.utils._arrays import quoted
from stakes.utils._frames import one_column
from stakes.utils._sums import fixed

DEFAULT_BINS = 65_536
# How a grid is spaced: to the scale on which it is even, back, and the outermost values.
SPACINGS: dict[str, tuple[Callable, Callable, float, float]] = {
    "linear": (np.positive, np.positive, -np.inf, np.inf),
    "factor": (np.log, np.exp, 1e-9, 1e9),
    "probability": (logit, expit, 1e-9, 1 - 1e-9),
}


class SweepHistogram:
    """The cost of every parameter value on a fixed grid, added up chunk by chunk.

    It stands in for the sort of the exact sweep: the total cost *at* each value of the grid
    is exact, only values between them are not tried. Its size does not depend on the number
    of examples, and two of them add up to the histogram of both their examples.

    Parameters
    ----------
    low, high : float
        The ends of the parameter.
    n_bins : int, default=65536
        The grid has one value more.
    spacing : {"linear", "factor", "probability"}, default="linear"
        Equal steps of the parameter, of its logarithm, or of its log odds.

    Attributes
    ----------
    values : ndarray of shape (n_bins + 1,)
        The grid.
    start : float
        The total cost below all changepoints.
    jumps : ndarray of shape (n_bins + 1,)
        The change of the total cost between each value and the one before.

    Examples
    --------
    The cost falls from 5 to 3 at 1 and to 2 at 2, and rises to 3 at 4:

    >>> from stakes.decision._histogram import SweepHistogram
    >>> one = SweepHistogram(0, 5, n_bins=10).add([1, 2], [-2, -1], start=3)
    >>> two = SweepHistogram(0, 5, n_bins=10).add([4], [1], start=2)
    >>> one.merge(two).best()
    Span(lower=2.0, upper=3.5, cost=2.0)
    """

    def __init__(
        self,
        low: float = 0.0,
        high: float = 1.0,
        *,
        n_bins: int = DEFAULT_BINS,
        spacing: str = "linear",
    ):
        if spacing not in SPACINGS:
            raise ValueError(f"spacing={spacing!r} is unknown: use one of {quoted(SPACINGS)}.")
        if n_bins < 1:
            raise ValueError(f"n_bins must be at least 1, but it is {n_bins}.")
        low, high = max(low, SPACINGS[spacing][2]), min(high, SPACINGS[spacing][3])
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise ValueError(f"The grid needs finite ends, low < high, but has {low} and {high}.")
        self.low, self.high = float(low), float(high)
        self.n_bins, self.spacing = int(n_bins), spacing
        self.start = 0.0
        self.jumps = np.zeros(self.n_bins + 1)

    @property
    def values(self) -> np.ndarray:
        """The grid, at whose values the cost is known exactly."""
        steps = np.linspace(self._even(self.low), self._even(self.high), self.n_bins + 1)
        return SPACINGS[self.spacing][1](steps)

    def _even(self, x: Any) -> Any:
        """Return the parameter on the scale on which the grid is even."""
        with np.errstate(divide="ignore"):
            return SPACINGS[self.spacing][0](x)

    def add(self, points: Any, jumps: Any, start: float) -> "SweepHistogram":
        """Add the events of some examples; returns the histogram itself.

        Parameters
        ----------
        points : array-like of shape (m,)
            The changepoints of the examples; an example counts as passed at its point.
        jumps : array-like of shape (m,)
            The change of the total cost at each point.
        start : float
            The total cost of the examples below all of their changepoints.
        """
        points = np.asarray(points, dtype=np.float64)
        first, last = self._even(self.low), self._even(self.high)
        per_step = self.n_bins / (last - first)
        place = np.ceil((self._even(points) - first) * per_step - 1e-9)
        # a point beyond the grid is never passed: one place more, thrown away
        place = np.clip(place, 0, self.n_bins + 1).astype(np.intp)
        self.jumps += np.bincount(place, np.asarray(jumps, float), self.n_bins + 2)[:-1]
        self.start += float(start)
        return self

    def merge(self, other: "SweepHistogram") -> "SweepHistogram":
        """Return the histogram of the examples of both."""
        mine = (self.low, self.high, self.n_bins, self.spacing)
        theirs = (other.low, other.high, other.n_bins, other.spacing)
        if mine != theirs:
            raise ValueError(
                f"Only histograms of one grid can be merged, not {mine} and {theirs}."
            )
        both = SweepHistogram(self.low, self.high, n_bins=self.n_bins, spacing=self.spacing)
        both.start = self.start + other.start
        both.jumps = self.jumps + other.jumps
        return both

    def costs(self) -> np.ndarray:
        """Return the total cost at each value of the grid."""
        return self.start + np.cumsum(self.jumps)

    def best(self) -> Span:
        """Return the first and last value of the widest cheapest run, and its cost.

        Every value of the grid from the first to the last costs the same.
        """
        first, last, cost = self._best_run()
        values = self.values
        return Span(float(values[first]), float(values[last]), cost)

    def best_value(self) -> tuple[float, float]:
        """Return the middle value of the widest cheapest run, and its cost."""
        first, last, cost = self._best_run()
        return float(self.values[(first + last) // 2]), cost

    def _best_run(self) -> tuple[int, int, float]:
        costs = self.costs()
        size = abs(self.start) + np.abs(self.jumps).sum()
        cheapest = costs <= costs.min() + 64 * np.finfo(float).eps * size
        change = np.diff(np.pad(cheapest.astype(np.int8), 1))
        first, last = np.flatnonzero(change == 1), np.flatnonzero(change == -1) - 1
        values = self._even(self.values) if self.spacing == "factor" else self.values
        widest = int(np.argmax(values[last] - values[first]))
        return int(first[widest]), int(last[widest]), float(costs.min())


# -- learning from chunks: one histogram per parameter, memory that stays flat ---------------


class Chunks:
    """Validation examples in pieces, which are read again for each parameter.

    Parameters
    ----------
    chunks : iterable or callable
        As in `fit_chunks` of a rule.
    """

    def __init__(self, chunks: Any):
        self.chunks = chunks

    def map(self, function: Callable, *more: Any) -> Iterable:
        """Return ``function(proba, y, given, *more)`` of each piece."""
        for proba, y, *given in self.chunks() if callable(self.chunks) else self.chunks:
            yield function(proba, y, given[0] if given else {}, *more)


def fit_in_chunks(rule: Any, chunks: Chunks, n_bins: int = DEFAULT_BINS) -> None:
    """Fit a rule of a coordinate descent on chunks that are read again for each parameter.

    The range of a histogram follows from the costs and the parameters, before anything is read,
    and what is added up is in fixed point: chunks may be cut in any way and come in any order.
    """
    if rule.shrink or rule.n_restarts:
        raise ValueError("fit_chunks makes one search: set shrink=False and n_restarts=0.")
    rule.shrunk_ = False
    counts, total = _survey(rule, chunks)
    order = np.argsort(-counts, kind="stable")
    family = rule._family(np.eye(len(counts)))
    parameters = family.initial(order)
    bound = 4.0 * len(counts) * sum(chunks.map(_mass, rule))
    path: list[float] = []
    for _ in range(rule.n_passes):
        moved = False
        for coordinate in family.coordinates(order):
            histogram = _empty_histogram(family, parameters, coordinate, n_bins)
            now = 0.0
            for start, jumps, cost in chunks.map(
                _events, rule, parameters, coordinate, histogram, bound
            ):
                histogram.start += start
                histogram.jumps += jumps
                now += cost
            path = path or [now]
            value, cost = histogram.best_value()
            if cost < now - 1e-12 * abs(now):
                before = parameters[coordinate]
                moved_to = {"shift": before + value, "scale": before * value, "set": value}
                parameters[coordinate] = moved_to[family.moves]
                moved = True
        path.append(min(cost, now))
        if not moved:
            break
    rule._set_parameters(family, parameters)
    rule.path_ = np.asarray(path) / total
    before, after = np.sum(list(chunks.map(_paid, rule)), axis=0)
    rule.initial_cost_, rule.cost_ = float(before / total), float(after / total)
    rule._settle_policy()


def _empty_histogram(family: Any, parameters: np.ndarray, coordinate: Any, n_bins: int) -> Any:
    """Return the histogram of a coordinate: the range of its moves, whatever the examples are."""
    sweep, reach = family.sweep(parameters, coordinate), family.reach
    low, high = max(sweep.low, -reach), min(sweep.high, reach)
    spacing = "linear" if np.isfinite(reach) else "factor"
    return SweepHistogram(low, high, n_bins=n_bins, spacing=spacing)


def _events(
    proba: Any, y: Any, given: dict, rule: Any, parameters, coordinate, grid, bound: float
) -> tuple[float, np.ndarray, float]:
    """Return what a chunk adds to the histogram of a coordinate, and its cost at present."""
    proba, costs, weight = _checked(rule, proba, y, given)
    # weights and costs as one, in fixed point: all sums of them are exact
    rows = costs.rows() if weight is None else weight[:, None] * costs.rows()
    examples = Examples(Costs(costs.y, None, fixed(rows, bound)), None)
    family = rule._family(proba)
    standing = Standing(family.scores(parameters))
    own = SweepHistogram(grid.low, grid.high, n_bins=grid.n_bins, spacing=grid.spacing)
    own.add(*family.sweep(parameters, coordinate).events(standing, examples))
    return own.start, own.jumps, float(standing.total(examples))


def _paid(proba: Any, y: Any, given: dict, rule: Any) -> np.ndarray:
    """Return what the decisions of a chunk cost before and after learning."""
    proba, costs, weight = _checked(rule, proba, y, given)
    for_all = np.ones(len(proba)) if weight is None else weight
    decided = [decide_by(how, proba, rule.cost_matrix_) for how in (None, rule._learned())]
    return np.array([for_all @ costs.of(each) for each in decided])


def _mass(proba: Any, y: Any, given: dict, rule: Any) -> float:
    """Return what all decisions of a chunk would cost."""
    proba, costs, weight = _checked(rule, proba, y, given)
    rows = np.abs(costs.table).sum(axis=1)[costs.row_of]
    return float(rows.sum() if weight is None else weight @ rows)


def _checked(
    rule: Any, proba: Any, y: Any, given: dict
) -> tuple[np.ndarray, Costs, np.ndarray | None]:
    """Return a chunk as probabilities, costs and weights, checked; all may be 0 in a chunk."""
    weight = given.get("sample_weight")
    empty = weight is not None and not np.any(weight)
    given_weight = None if empty else weight
    proba, codes, weight = check_examples(rule._in_order(proba), y, rule.classes_, given_weight)
    weight = np.zeros(len(codes)) if empty else weight
    rows = given.get("costs")
    if rows is not None:
        rows = check_costs(rows, n_samples=len(codes), classes=rule.classes_)
    return proba, Costs(codes, None if rows is not None else rule.cost_matrix_, rows), weight


def _count(proba: Any, y: Any, given: dict) -> tuple:
    """Return the width of a chunk, its labels, how many and what they cost, and its weight."""
    labels, codes, here = np.unique(one_column(y), return_inverse=True, return_counts=True)
    sums, weight = None, given.get("sample_weight")
    if given.get("costs") is not None:
        rows = np.asarray(given["costs"], dtype=float)
        sums = [rows[codes == k].sum(axis=0) for k in range(len(labels))]
    total = len(codes) if weight is None else float(np.sum(weight))
    return np.shape(proba)[1], labels.tolist(), here, sums, total


def _survey(rule: Any, chunks: Chunks) -> tuple[np.ndarray, float]:
    """Read all chunks once, set `classes_` and `cost_matrix_`; return counts and total weight."""
    count: dict[Any, int] = defaultdict(int)
    sums: dict[Any, Any] = defaultdict(float)
    total, width = 0.0, None
    for columns, labels, here, brought, weight in chunks.map(_count):
        width = columns
        total += weight
        for k, label in enumerate(labels):
            count[label] += int(here[k])
            if brought is not None:
                sums[label] += brought[k]
    if width is None:
        raise ValueError("There are no chunks: give an iterable that can be read several times.")
    seen = np.unique(np.asarray(list(count)))
    rule._choices = None
    rule.classes_ = classes = seen if rule.classes is None else np.asarray(rule.classes)
    counts = np.array([count[label] for label in classes.tolist()])
    if len(classes) != width:
        raise ValueError(
            f"proba has {width} columns, one per class, but y has {len(classes)} classes: "
            f"{quoted(classes)}."
        )
    rule._check_all_seen(counts)
    if sums:
        if rule.cost_matrix is not None:
            raise ValueError("Give either cost_matrix or costs, not both.")
        rule.cost_matrix_ = np.array([sums[c] for c in classes.tolist()]) / counts[:, None]
    else:
        if rule.classes is None:
            check_order(rule.cost_matrix, classes)
        rule.cost_matrix_ = class_prices(
            rule.cost_matrix, classes=classes, counts=counts, why="to learn in chunks"
        )
    return counts, total
