"""The exact coordinate sweep that every learned rule shares.

The scores of an example are linear in one parameter, so its decision changes at a few
values of it, the changepoints. Between the changepoints of all examples the empirical cost
is constant: one sort and one running sum find the cheapest span exactly, O(N log N).
"""

from typing import Any, NamedTuple

import numpy as np

from stakes.costs import Costs

NO_WEIGHT = np.empty(0)
# Changepoints this near to each other are one: they differ by rounding alone.
TIE = 1e-12
# Fewer changepoints than this are sorted; of more, first those are put aside that cannot
# border on a cheapest span.
SORT_ALL = 1000

# How the score s of the swept decision depends on the step x of its coordinate, and with it
# the step at which it meets the least score o of the others: x = (a o + b s) / (c o + d s + e),
# e replaced by the slope of the example in the last case.
SHIFT = (1.0, -1.0, 0.0, 0.0, 1.0)  # s + x            (ParallelPartition)
SCALE = (1.0, 0.0, 0.0, 1.0, 0.0)  # s * x, s >= 0     (RowPartition)
DIVIDE = (0.0, -1.0, -1.0, 0.0, 0.0)  # s / x, s <= 0  (ClassThresholds, LachicheFlach)
SLOPE = (1.0, -1.0, 0.0, 0.0, 0.0)  # s + x * slope    (FullPartition: the slope is p)


def kernels() -> Any:
    """Return the loops in Numba, which is slow to import."""
    from stakes.decision import _kernels

    return _kernels


class Span(NamedTuple):
    """An open interval of the parameter, and the total cost inside it."""

    lower: float
    upper: float
    cost: float


class CostRows(NamedTuple):
    """The distinct cost rows, where each example's stands in them, and its weight (or none)."""

    table: np.ndarray
    rows: np.ndarray
    weight: np.ndarray


class TopTwo(NamedTuple):
    """The least and the second least score of each example, and whose they are."""

    first: np.ndarray
    second: np.ndarray
    leader: np.ndarray
    runner: np.ndarray


# Where the total cost changes as one parameter rises: points, jumps, and the cost before them.
Events = tuple[np.ndarray, np.ndarray, float]


class Examples:
    """The costs of the examples that a sweep adds up, in the form the kernels want.

    Parameters
    ----------
    costs : Costs
        Costs of any kind, and the true classes.
    sample_weight : ndarray of shape (n_samples,), default=None
        How often each example counts.
    """

    def __init__(self, costs: Costs, sample_weight: np.ndarray | None = None):
        self.y = np.ascontiguousarray(costs.y, dtype=np.intp)
        self.costs = CostRows(
            # Writeable, so that the kernels are compiled for one kind of array.
            np.require(costs.table, np.float64, ["C", "W"]),
            self.y if costs.by_class else np.arange(len(self.y)),
            NO_WEIGHT if sample_weight is None else np.asarray(sample_weight, float),
        )

    @property
    def total_weight(self) -> float:
        """The number of examples, weighted."""
        weight = self.costs.weight
        return float(len(self.y) if weight is NO_WEIGHT else weight.sum())

    def average(self, decisions: np.ndarray) -> float:
        """Return what the decisions cost on average, weighted."""
        return kernels().total_cost(decisions, self.costs) / self.total_weight

    def total(self, scores: np.ndarray) -> float:
        """Return what deciding by the least score, (n_classes, n_samples), costs in sum."""
        return Standing(scores).total(self)


class Standing:
    """The scores of all decisions, and for each example the two least of them.

    With these at hand a sweep over one decision looks at each example once, whatever the
    number of classes.

    Parameters
    ----------
    scores : ndarray of shape (n_classes, n_samples)
        The least decides. Changed in place by those who move parameters.
    """

    def __init__(self, scores: np.ndarray):
        self.scores = np.ascontiguousarray(scores, dtype=np.float64)
        shape = (2, scores.shape[1])
        self.top = TopTwo(*np.empty(shape), *np.empty(shape, dtype=np.int32))
        self.refresh()

    def refresh(self, i: int | None = None) -> None:
        """Look at the scores again: at those of decision `i`, or at all."""
        if i is None:
            kernels().top_two(self.scores, self.top)
        else:
            kernels().refresh_top_two(self.scores, i, self.top)

    def total(self, examples: Examples) -> float:
        """Return what deciding by the least score costs in sum."""
        return kernels().total_cost(self.top.leader, examples.costs)


def best_span(points, jumps, start, *, low=-np.inf, high=np.inf, ratio=False, tie=TIE) -> Span:
    """Return the cheapest span of a parameter, the widest where several are.

    Parameters
    ----------
    points : ndarray of shape (m,)
        The changepoints, in any order; equal ones are passed together.
    jumps : ndarray of shape (m,)
        The change of the total cost as the parameter rises past each point.
    start : float
        The total cost just above `low`.
    low, high : float
        The ends of the parameter; every point lies between them.
    ratio : bool, default=False
        Whether the width of a span is the ratio of its ends (of a factor) instead of their
        difference.
    tie : float, default=1e-12
        Points this near to each other count as equal; relative where `ratio`.

    Returns
    -------
    span : Span
        A span that has no end on one side is taken only where no other is as cheap.

    Examples
    --------
    The cost falls from 5 to 3 at 1, to 2 at 2, rises to 3 at 4:

    >>> import numpy as np
    >>> from stakes.decision._sweep import best_span
    >>> best_span(np.array([4.0, 1, 2]), np.array([1.0, -2, -1]), 5.0)
    Span(lower=2.0, upper=4.0, cost=2.0)
    """
    if len(points) > SORT_ALL:
        left, right = _outer_quantiles(points)
        if left < right:
            n_bins = len(points) // 16
            points, jumps = kernels().candidate_events(points, jumps, start, n_bins, left, right)
    ends = (float(low), float(high))
    order = np.argsort(points)
    return Span(*kernels().best_span(points, jumps, order, start, ends, ratio, tie))


def _outer_quantiles(points: np.ndarray) -> tuple[float, float]:
    """Return two points between which nearly all are, from a sample."""
    n_sampled = min(max(len(points) // 64, 64), 512)
    sample = np.sort(points[:: max(len(points) // n_sampled, 1)])
    trim = len(sample) // 32
    return sample[trim], sample[len(sample) - 1 - trim]


class DecisionSweep(NamedTuple):
    """A sweep over the step of one decision, the others standing still.

    Parameters
    ----------
    i : int
        The decision whose score moves.
    meeting : tuple of float
        How it moves with the step: ``SHIFT``, ``SCALE``, ``DIVIDE`` or ``SLOPE``.
    low, high : float
        The steps that are allowed.
    slope : ndarray of shape (n_samples,)
        For ``SLOPE``.
    tie : float, default=1e-12
        How near two changepoints must be to be one.
    ratio : bool, default=False
        Whether steps are factors.
    """

    i: int
    meeting: tuple[float, float, float, float, float]
    low: float = -np.inf
    high: float = np.inf
    slope: np.ndarray = NO_WEIGHT
    tie: float = TIE
    ratio: bool = False

    def best_span(self, standing: Standing, examples: Examples) -> Span:
        """Return the cheapest span of the step."""
        events = self.events(standing, examples)
        return best_span(*events, low=self.low, high=self.high, ratio=self.ratio, tie=self.tie)

    def events(self, standing: Standing, examples: Examples) -> Events:
        """Return the changepoints themselves, unsorted."""
        return kernels().change_points(standing.scores, self, standing.top, examples.costs)


class LineSweep(NamedTuple):
    """A sweep over the factor x > 0 of ``base + x * slopes``; all decisions move at once.

    Parameters
    ----------
    base, slopes : ndarray of shape (n_classes, n_samples)
        The lines; the slopes are at least 0.
    low, high : float
        The factors that are allowed: all.
    """

    base: np.ndarray
    slopes: np.ndarray
    low: float = 0.0
    high: float = np.inf

    def best_span(self, standing: Standing, examples: Examples) -> Span:
        """Return the cheapest span of the factor."""
        return best_span(*self.events(standing, examples), low=self.low, ratio=True)

    def events(self, standing: Standing, examples: Examples) -> Events:
        """Return the changepoints themselves, unsorted; `standing` is not looked at."""
        return kernels().envelope_points(self.base, self.slopes, examples.costs)


class JoiningSweep(NamedTuple):
    """A sweep over the log threshold of one decision, wherever it stands: it may not have joined.

    Parameters
    ----------
    i : int
        The decision.
    row : ndarray of shape (n_samples,)
        Its scores at a threshold of 1: ``-log(p)``.
    impossible : float
        The score, and any above, of a probability of 0.
    low, high : float
        The log thresholds that are allowed: all.
    """

    i: int
    row: np.ndarray
    impossible: float
    low: float = -np.inf
    high: float = np.inf

    def best_span(self, standing: Standing, examples: Examples) -> Span:
        """Return the widest of the cheapest gaps between neighbouring changepoints.

        All examples have one, as in (14) of obrien2008, also those of classes that have not
        joined, to whom every decision may cost the same: they part spans of one cost.
        """
        points, jumps, start = self.events(standing, examples)
        order = np.argsort(points, kind="stable")
        edges = np.concatenate([[self.low], points[order], [self.high]])
        costs = start + np.concatenate([[0.0], np.cumsum(jumps[order])])
        lower, upper = edges[:-1], edges[1:]
        width = upper - lower
        costs = np.where(width > TIE, costs, np.inf)
        cheapest = costs <= costs.min() + 1e-12 * (abs(start) + np.abs(jumps).sum())
        width = np.where(np.isfinite(width), width, 0.0)
        best = int(np.where(cheapest, width, -1.0).argmax())
        return Span(float(lower[best]), float(upper[best]), float(costs[best]))

    def events(self, standing: Standing, examples: Examples) -> Events:
        """Return the changepoints of all examples, unsorted."""
        scores = standing.scores.copy()
        scores[self.i] = np.inf
        others = Standing(scores).top
        table, rows, weight = examples.costs
        mine = table[rows, self.i]
        jumps = table[rows, others.leader] - mine
        if len(weight):
            mine, jumps = mine * weight, jumps * weight
        # Decided below the threshold at which log c - log p meets the least score of the others:
        # anywhere where they are impossible, nowhere where it is itself; where all are, the first.
        never, always = self.row >= self.impossible, others.first >= self.impossible
        never &= ~always | (others.leader < self.i)
        points = np.where(always, np.inf, others.first - self.row)
        points[never] = -np.inf
        start = float(np.where(points > self.low, mine, mine + jumps).sum())
        met = np.isfinite(points)
        return points[met], jumps[met], start


def threshold_events(p: np.ndarray, examples: Examples) -> Events:
    """Return where the total cost changes as a threshold on `p` rises from 0 to 1.

    An example is decided positive below its probability and negative from there on; only
    probabilities inside (0, 1) are points.
    """
    # The score of decision 1 is -p, which the threshold shifts; that of decision 0 stays at 0.
    scores = np.stack([np.zeros(len(p)), np.negative(p)])
    return DecisionSweep(1, SHIFT, 0.0, 1.0).events(Standing(scores), examples)
