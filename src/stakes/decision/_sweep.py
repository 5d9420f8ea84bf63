"""The exact coordinate sweep that every learned rule shares.

The scores of an example are linear in one parameter, so its decision changes at a few
values of it, the changepoints. Between the changepoints of all examples the empirical cost
is constant: one sort and one running sum find the cheapest span exactly, O(N log N).
"""

from typing import Any, NamedTuple

import numpy as np

NO_WEIGHT = np.empty(0)
# Changepoints this near to each other are one: they differ by rounding alone.
TIE = 1e-12
# Fewer changepoints than this are sorted; of more, first those are put aside that cannot
# border on a cheapest span.
SORT_ALL = 1000


class Span(NamedTuple):
    """An open interval of the parameter, and the total cost inside it."""

    lower: float
    upper: float
    cost: float


class Examples:
    """The costs of the examples that a sweep adds up, in the form the kernels want.

    Parameters
    ----------
    training : Costs
        Class costs or example costs, and the true classes.
    sample_weight : ndarray of shape (n_samples,), default=None
        How often each example counts.
    """

    def __init__(self, training, sample_weight=None):
        self.y = np.ascontiguousarray(training.y, dtype=np.intp)
        if training.by_class:
            self.table = np.array(training.matrix, dtype=np.float64)  # small, and writeable
            self.rows = self.y
        else:
            self.table = np.ascontiguousarray(training.costs, dtype=np.float64)
            self.rows = np.arange(len(self.y))
        self.weight = NO_WEIGHT if sample_weight is None else np.asarray(sample_weight, float)

    @property
    def costs(self) -> Any:
        """What the kernels take: the table of costs, each example's row in it, the weights."""
        return self.table, self.rows, self.weight

    @property
    def total_weight(self) -> float:
        """The number of examples, weighted."""
        return float(len(self.y) if self.weight is NO_WEIGHT else self.weight.sum())

    def paid(self, decisions) -> np.ndarray:
        """Return what each decision costs, unweighted."""
        return self.table[self.rows, decisions]

    def average(self, decisions) -> float:
        """Return what the decisions cost on average, weighted."""
        from stakes.decision import _kernels

        return _kernels.total_cost(decisions, *self.costs) / self.total_weight

    def total(self, scores) -> float:
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

    def __init__(self, scores):
        self.scores = np.ascontiguousarray(scores, dtype=np.float64)
        n = scores.shape[1]
        self.values = np.empty((2, n))
        self.decisions = np.empty((2, n), dtype=np.int32)
        self.refresh()

    def refresh(self, i=None):
        """Look at the scores again: at those of decision `i`, or at all."""
        from stakes.decision import _kernels

        if i is None:
            _kernels.top_two(self.scores, *self.values, *self.decisions)
        else:
            _kernels.refresh_top_two(self.scores, i, *self.values, *self.decisions)

    def total(self, examples) -> float:
        """Return what deciding by the least score costs in sum."""
        from stakes.decision import _kernels

        return _kernels.total_cost(self.decisions[0], *examples.costs)


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
    from stakes.decision import _kernels

    return Span(*_kernels.best_span(points, jumps, start, low, high, ratio, tie, SORT_ALL))


class Events(NamedTuple):
    """Where the total cost changes as one parameter rises from `low` to `high`."""

    points: np.ndarray
    jumps: np.ndarray
    start: float
    low: float
    high: float
    ratio: bool
    tie: float


class DecisionSweep(NamedTuple):
    """A sweep over the step of one decision, the others standing still.

    Parameters
    ----------
    i : int
        The decision whose score moves.
    kind : {"shift", "scale", "divide", "slope"}
        How it moves with the step x: ``s + x``, ``s * x``, ``s / x`` or ``s + x * slope``.
    low, high : float
        The steps that are allowed.
    slope : ndarray of shape (n_samples,)
        For ``"slope"``.
    scale : float, default=1.0
        The size of the scores: how near two changepoints must be to be one.
    """

    i: int
    kind: str
    low: float = -np.inf
    high: float = np.inf
    slope: np.ndarray = NO_WEIGHT
    scale: float = 1.0

    @property
    def ratio(self) -> bool:
        """Whether steps are factors."""
        return self.kind in ("scale", "divide")

    @property
    def tie(self) -> float:
        """How near two changepoints must be to be one."""
        return TIE if self.ratio else TIE * self.scale

    def _arguments(self, standing, examples) -> Any:
        from stakes.decision import _kernels

        return (
            standing.scores[self.i],
            self.i,
            *standing.values,
            *standing.decisions,
            getattr(_kernels, self.kind.upper()),
            self.slope,
            *examples.costs,
            self.low,
            self.high,
        )

    def best_span(self, standing, examples) -> Span:
        """Return the cheapest span of the step."""
        from stakes.decision import _kernels

        arguments = self._arguments(standing, examples)
        span = _kernels.sweep_decision(  # type: ignore[call-arg]
            *arguments, self.ratio, self.tie, SORT_ALL
        )
        return Span(*span)

    def events(self, standing, examples) -> Events:
        """Return the changepoints themselves, unsorted."""
        from stakes.decision import _kernels

        # one entry more: a point is written before it is known to count
        points, jumps = np.empty((2, standing.scores.shape[1] + 1))
        count, start = _kernels.change_points(  # type: ignore[call-arg]
            *self._arguments(standing, examples), points, jumps
        )
        return Events(
            points[:count], jumps[:count], start, self.low, self.high, self.ratio, self.tie
        )


class LineSweep(NamedTuple):
    """A sweep over the factor x > 0 of ``base + x * slopes``; all decisions move at once.

    Parameters
    ----------
    base, slopes : ndarray of shape (n_classes, n_samples)
        The lines; the slopes are at least 0.
    """

    base: np.ndarray
    slopes: np.ndarray

    def best_span(self, standing, examples) -> Span:
        """Return the cheapest span of the factor."""
        events = self.events(standing, examples)
        return best_span(events.points, events.jumps, events.start, low=0.0, ratio=True)

    def events(self, standing, examples) -> Events:
        """Return the changepoints themselves, unsorted; `standing` is not looked at."""
        from stakes.decision import _kernels

        room = self.base.shape[1] + 64
        while True:
            points, jumps = np.empty((2, room))
            count, start = _kernels.envelope_points(  # type: ignore[call-arg]
                self.base, self.slopes, *examples.costs, points, jumps
            )
            if count <= room:
                return Events(points[:count], jumps[:count], start, 0.0, np.inf, True, TIE)
            room = count
