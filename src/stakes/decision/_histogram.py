"""A sweep that can be added up: validation sets that do not fit in memory, or lie apart."""

from typing import Any

import numpy as np
from scipy.special import expit, logit

from stakes.decision._sweep import Span

DEFAULT_BINS = 65_536
# The outermost values of a grid of probabilities and of a grid of factors.
OUTER_PROBABILITY = 1e-9
OUTER_FACTOR = 1e9


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
        if spacing not in ("linear", "factor", "probability"):
            raise ValueError(
                f"spacing={spacing!r} is unknown: use 'linear', 'factor' or 'probability'."
            )
        if n_bins < 1:
            raise ValueError(f"n_bins must be at least 1, but it is {n_bins}.")
        if spacing == "factor":
            low, high = max(low, 1 / OUTER_FACTOR), min(high, OUTER_FACTOR)
        elif spacing == "probability":
            low, high = max(low, OUTER_PROBABILITY), min(high, 1 - OUTER_PROBABILITY)
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
        if self.spacing == "factor":
            return np.exp(steps)
        return expit(steps) if self.spacing == "probability" else steps

    def _even(self, x: Any) -> Any:
        """Return the parameter on the scale on which the grid is even."""
        if self.spacing == "linear":
            return x
        with np.errstate(divide="ignore"):
            return np.log(x) if self.spacing == "factor" else logit(x)

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
        self.jumps += np.bincount(
            place, weights=np.asarray(jumps, dtype=np.float64), minlength=self.n_bins + 2
        )[:-1]
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
        padded = np.concatenate([[False], cheapest, [False]]).astype(np.int8)
        change = np.diff(padded)
        first, last = np.flatnonzero(change == 1), np.flatnonzero(change == -1) - 1
        values = self._even(self.values) if self.spacing == "factor" else self.values
        widest = int(np.argmax(values[last] - values[first]))
        return int(first[widest]), int(last[widest]), float(costs.min())
