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
SORT_ALL = 20_000


class Span(NamedTuple):
    """An open interval of the parameter, and the total cost inside it."""

    lower: float
    upper: float
    cost: float


class Examples:
    """The costs of the examples that a sweep adds up, in the form the kernels want.

    Parameters
    ----------
    training : TrainingCosts
        Class costs or example costs, and the true classes.
    sample_weight : ndarray of shape (n_samples,), default=None
        How often each example counts.
    """

    def __init__(self, training, sample_weight=None):
        self.y = np.ascontiguousarray(training.y, dtype=np.intp)
        if training.by_class:
            self.table = np.ascontiguousarray(training.matrix, dtype=np.float64)
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

    def total(self, scores) -> float:
        """Return what deciding by the least score, (n_classes, n_samples), costs in sum."""
        from stakes.decision import _kernels

        return _kernels.total_cost(scores, *self.costs)


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

    if len(points) > SORT_ALL:
        left, right = np.quantile(points[:: len(points) // 4096], (0.001, 0.999))
        if left < right:
            points, jumps = _kernels.candidate_events(
                points, jumps, float(start), left, right, max(len(points) // 16, 1024)
            )
    order = np.argsort(points)
    return Span(*_kernels.scan_spans(points, jumps, order, start, low, high, ratio, tie))


class Events(NamedTuple):
    """Where the total cost changes as one parameter rises from `low` to `high`."""

    points: np.ndarray
    jumps: np.ndarray
    start: float
    low: float
    high: float
    ratio: bool
    tie: float

    def best_span(self) -> Span:
        """Return the cheapest span, the widest where several are."""
        return best_span(
            self.points,
            self.jumps,
            self.start,
            low=self.low,
            high=self.high,
            ratio=self.ratio,
            tie=self.tie,
        )


def decision_events(
    scores, i, kind, examples, *, slope=NO_WEIGHT, low=-np.inf, high=np.inf, scale=1.0
) -> Events:
    """Return the events of a sweep over the step of one decision.

    Parameters
    ----------
    scores : ndarray of shape (n_classes, n_samples)
        The least decides.
    i : int
        The decision whose score moves.
    kind : {"shift", "scale", "divide", "slope"}
        How it moves with the step x: ``s + x``, ``s * x``, ``s / x`` or ``s + x * slope``.
    examples : Examples
        What the decisions cost.
    slope : ndarray of shape (n_samples,)
        For ``"slope"``.
    low, high : float
        The steps that are allowed.
    scale : float, default=1.0
        The size of the scores: how near two changepoints must be to be one.
    """
    from stakes.decision import _kernels

    # one entry more: the kernel writes before it knows whether a point counts
    points, jumps = np.empty((2, scores.shape[1] + 1))
    count, start = _kernels.change_points(  # type: ignore[call-arg]
        scores,
        i,
        getattr(_kernels, kind.upper()),
        slope,
        *examples.costs,
        low,
        high,
        points,
        jumps,
    )
    ratio = kind in ("scale", "divide")
    tie = TIE if ratio else TIE * scale
    return Events(points[:count], jumps[:count], start, low, high, ratio, tie)


def line_events(base, slopes, examples) -> Events:
    """Return the events of a sweep over the factor x > 0 of ``base + x * slopes``."""
    from stakes.decision import _kernels

    room = base.shape[1] + 64
    while True:
        points, jumps = np.empty((2, room))
        count, start = _kernels.envelope_points(  # type: ignore[call-arg]
            base, slopes, *examples.costs, points, jumps
        )
        if count <= room:
            return Events(points[:count], jumps[:count], start, 0.0, np.inf, True, TIE)
        room = count
