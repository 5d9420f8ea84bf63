"""A sweep that can be added up: validation sets that do not fit in memory, or lie apart."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.utils.validation import column_or_1d

from stakes.costs import Costs, check_cost_matrix, check_costs
from stakes.decision._expected import decide
from stakes.decision._rule import check_examples
from stakes.decision._sweep import Examples, Span, Standing
from stakes.utils._arrays import quoted

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

    >>> from stakes.decision import SweepHistogram
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


def fit_in_chunks(rule: Any, chunks: Any, n_bins: int = DEFAULT_BINS) -> None:
    """Fit a rule of a coordinate descent on chunks that are read again for each parameter."""
    if rule.shrink or rule.n_restarts:
        raise ValueError("fit_chunks makes one search: set shrink=False and n_restarts=0.")
    rule.shrunk_ = False
    counts, total = _survey(rule, chunks)
    order = np.argsort(-counts, kind="stable")
    family = rule._family(np.eye(len(counts)))
    parameters = family.initial()
    path: list[float] = []
    for _ in range(rule.n_passes):
        moved = False
        for coordinate in family.coordinates(order):
            histogram, now = _one_histogram(rule, chunks, parameters, coordinate, n_bins)
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
    before = after = 0.0
    for proba, costs, weight in _checked(rule, chunks):
        for_all = np.ones(len(proba)) if weight is None else weight
        before += for_all @ costs.of(decide(proba, rule.cost_matrix_))
        after += for_all @ costs.of(rule._decide_learned(proba, None))
    rule.initial_cost_, rule.cost_ = before / total, after / total


def _one_histogram(rule, chunks, parameters, coordinate, n_bins):
    """Read all chunks once; return the histogram of a coordinate and the cost at present."""
    histogram, now = None, 0.0
    for proba, costs, weight in _checked(rule, chunks):
        family = rule._family(proba)
        examples = Examples(costs, weight)
        standing = Standing(family.scores(parameters))
        now += standing.total(examples)
        sweep = family.sweep(parameters, coordinate)
        if histogram is None:
            shift = family.moves == "shift"
            how = {"n_bins": n_bins, "spacing": "linear" if shift else "factor"}
            wide = 2 * family.scale if shift else np.inf
            histogram = SweepHistogram(max(sweep.low, -wide), min(sweep.high, wide), **how)
        histogram.add(*sweep.events(standing, examples))
    assert histogram is not None
    return histogram, now


def _items(chunks: Any) -> Iterator[tuple[Any, Any, dict]]:
    for proba, y, *more in chunks() if callable(chunks) else chunks:
        yield proba, y, more[0] if more else {}


def _checked(rule: Any, chunks: Any) -> Iterator[tuple[np.ndarray, Costs, np.ndarray | None]]:
    """Yield the chunks as probabilities, costs and weights, checked."""
    for proba, y, more in _items(chunks):
        proba, codes, weight = check_examples(proba, y, rule.classes_, more.get("sample_weight"))
        rows = more.get("costs")
        if rows is not None:
            rows = check_costs(rows, n_samples=len(codes), classes=rule.classes_)
        yield proba, Costs(codes, None if rows is not None else rule.cost_matrix_, rows), weight


def _survey(rule: Any, chunks: Any) -> tuple[np.ndarray, float]:
    """Read all chunks once, set `classes_` and `cost_matrix_`; return counts and total weight."""
    count: dict[Any, int] = defaultdict(int)
    sums: dict[Any, Any] = defaultdict(float)
    total, width = 0.0, None
    for proba, y, more in _items(chunks):
        width = np.shape(proba)[1]
        labels, codes, here = np.unique(column_or_1d(y), return_inverse=True, return_counts=True)
        for k, label in enumerate(labels.tolist()):
            count[label] += int(here[k])
            if more.get("costs") is not None:
                sums[label] += np.asarray(more["costs"], dtype=float)[codes == k].sum(axis=0)
        weight = more.get("sample_weight")
        total += len(codes) if weight is None else float(np.sum(weight))
    if width is None:
        raise ValueError("There are no chunks: give an iterable that can be read several times.")
    seen = np.unique(np.asarray(list(count)))
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
        y = np.repeat(classes, counts) if isinstance(rule.cost_matrix, str) else None
        rule.cost_matrix_ = check_cost_matrix(rule.cost_matrix, classes=classes, y=y)
    return counts, total
