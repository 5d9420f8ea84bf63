"""Families of partitions: how the scores of the decisions depend on a few parameters."""

from typing import Any

import numpy as np

from stakes.costs.arithmetic import shift_rows
from stakes.decision import _sweep
from stakes.decision._numbers import Partition

# Steps stay this share of their range away from the bounds that keep a matrix reasonable.
MARGIN = 1e-9
THRESHOLD_RANGE = (1e-150, 1e150)
# The score of a class that has joined where its probability is 0: more than any logarithm, and
# less than that of a class that has not joined, which is infinite.
IMPOSSIBLE = 1e300


class Family:
    """How decisions depend on one parameter per coordinate; see the subclasses.

    Parameters
    ----------
    proba : ndarray of shape (n_samples, n_classes)
        Class probabilities.
    costs : ndarray of shape (n_classes, n_decisions)
        Class costs, each row's least at 0.
    tensor : ndarray of shape (n_samples, n_classes, n_decisions), default=None
        The costs of each example in place of the class costs, for the families that can
        weigh them.
    right : ndarray of shape (n_classes,), default=None
        The right decision for each class; that of the class itself if None.
    """

    # What a value found by a sweep does to its parameter: "shift", "scale" or "set" it.
    moves = "scale"

    def __init__(
        self,
        proba: np.ndarray,
        costs: np.ndarray,
        tensor: np.ndarray | None = None,
        right: np.ndarray | None = None,
    ):
        self.costs = costs
        self.right = np.arange(len(costs)) if right is None else right
        self.scale = float(np.abs(costs).max())
        self.tie = _sweep.TIE * self.scale
        # Each row of costs has its least at 0, so that scaling a decision means something.
        self.tensor = None if tensor is None else shift_rows(tensor)
        self.base = self._base(proba)

    @property
    def reach(self) -> float:
        """How far a histogram of a sweep goes from 0; infinite where its values are factors."""
        return 2 * self.scale if self.moves == "shift" else np.inf

    def _base(self, proba: np.ndarray) -> np.ndarray:
        """Return what the scores are made from, a row per class as the kernels want it."""
        return np.ascontiguousarray(proba.T)

    def initial(self, order: Any = None) -> np.ndarray:
        """Return the parameters at which the descent begins; `order` is that of the classes."""
        return np.ones(len(self.costs))

    def coordinates(self, order: Any) -> list:
        """Return the coordinates in the order in which a pass visits them: by class, here."""
        return list(order)

    def decisions_in(self, order: Any) -> list:
        """Return the decisions in an order of the classes for which they are right, others last."""
        never = np.setdiff1d(np.arange(self.costs.shape[1]), self.right)
        return [*dict.fromkeys(self.right[list(order)].tolist()), *never.tolist()]

    @property
    def wrong(self) -> np.ndarray:
        """The cells in which a decision is not the right one, (n_classes, n_decisions)."""
        return self.right[:, None] != np.arange(self.costs.shape[1])

    def scores(self, parameters: np.ndarray) -> np.ndarray:
        """Return the scores, (n_decisions, n_samples); the least decides."""
        raise NotImplementedError

    def move(self, standing: _sweep.Standing, parameters: np.ndarray, coordinate: Any) -> None:
        """Bring the scores up to date in place after a move of one parameter."""
        standing.scores[:] = self.scores(parameters)
        standing.refresh()

    def sweep(self, parameters: np.ndarray, coordinate: Any, literal: bool = False) -> Any:
        """Return the sweep over one parameter: a `DecisionSweep` or a `LineSweep`."""
        raise NotImplementedError

    def value(self, span: _sweep.Span, parameters: np.ndarray, coordinate: Any) -> float:
        """Return the new value of the parameter, inside a span of its sweep."""
        return parameters[coordinate] * factor_in_span(span.lower, span.upper)

    def perturbed(self, parameters: np.ndarray, rng: Any) -> np.ndarray:
        """Return parameters near the given ones to begin another descent from."""
        return parameters * np.exp(0.1 * rng.normal(size=parameters.shape))

    def matrix(self, parameters: np.ndarray) -> np.ndarray:
        """Return the partition matrix: the decisions are those of least ``proba @ matrix``."""
        raise NotImplementedError

    @staticmethod
    def partition(parameters: np.ndarray, shape: tuple[int, int]) -> Partition:
        """Return what is weighed in the place of prices of this shape, as numbers."""
        raise NotImplementedError

    def normalized(self, parameters: np.ndarray) -> np.ndarray:
        """Return the parameters of the same decisions on a common scale."""
        return parameters / np.exp(np.log(parameters).mean())


class DecisionFamily(Family):
    """One parameter per decision, which moves the scores of that decision alone."""

    combine: np.ufunc = np.multiply

    def initial(self, order=None):
        return np.ones(self.costs.shape[1])

    def coordinates(self, order):
        return self.decisions_in(order)

    def _base(self, proba):
        if self.tensor is None:
            return np.matmul(self.costs.T, proba.T)
        return np.einsum("nt,ntd->dn", proba, self.tensor)

    def scores(self, parameters):
        return self.combine(self.base, parameters[:, None])

    def move(self, standing, parameters, coordinate):
        row = standing.scores[coordinate]
        self.combine(self.base[coordinate], parameters[coordinate], out=row)
        standing.refresh(coordinate)


class Shifts(DecisionFamily):
    """score_d = expected_d + alpha_d: boundaries parallel to those of the costs (Property 5)."""

    moves = "shift"
    combine = np.add

    def initial(self, order=None):
        return np.zeros(self.costs.shape[1])

    def matrix(self, parameters):
        return self.costs + parameters[None, :] - parameters[self.right, None]

    @staticmethod
    def partition(parameters, shape):
        return Partition(np.ones(shape), np.tile(parameters, (shape[0], 1)))

    def normalized(self, parameters):
        return parameters - parameters.mean()

    def perturbed(self, parameters, rng):
        step = 0.05 * self.scale * rng.normal(size=len(parameters))
        off = self.wrong
        for _ in range(20):  # as far as every mistake still costs more than the right decision
            if (self.matrix(parameters + step)[off] > 0).all():
                return parameters + step
            step /= 2
        return parameters

    def sweep(self, parameters, coordinate, literal=False):
        anywhere = (-np.inf, np.inf)
        bounds = anywhere if literal else self._bounds(parameters, coordinate)
        return _sweep.DecisionSweep(coordinate, _sweep.SHIFT, *bounds, tie=self.tie)

    def value(self, span, parameters, coordinate):
        bounds = self._bounds(parameters, coordinate)
        return parameters[coordinate] + shift_in_span(span.lower, span.upper, *bounds)

    def _bounds(self, parameters: np.ndarray, coordinate: Any) -> tuple[float, float]:
        return shift_bounds(self.matrix(parameters), coordinate, self.right)


class RowFactors(DecisionFamily):
    """score_d = r_d * expected_d: every cost of one decision scaled (Property 7)."""

    def matrix(self, parameters):
        return self.costs * parameters[None, :]

    @staticmethod
    def partition(parameters, shape):
        return Partition(np.tile(parameters, (shape[0], 1)), np.zeros(shape))

    def sweep(self, parameters, coordinate, literal=False):
        return _sweep.DecisionSweep(coordinate, _sweep.SCALE, 0.0, ratio=True)


class Thresholds(DecisionFamily):
    """score_d = -p_d / c_d: the largest ratio of probability and threshold decides."""

    combine = np.divide

    def _base(self, proba):
        return np.negative(proba.T, order="C")

    def matrix(self, parameters):
        # w_t of every mistake, w = 1 / c: the column multiply of 0/1 costs (Property 6)
        weights = 1.0 / parameters
        return weights[:, None] * (1.0 - np.eye(len(weights)))

    @staticmethod
    def partition(parameters, shape):
        return Partition.fixed(-np.diag(1.0 / parameters))

    def sweep(self, parameters, coordinate, literal=False):
        return _sweep.DecisionSweep(coordinate, _sweep.DIVIDE, 0.0, ratio=True)

    def value(self, span, parameters, coordinate):
        # probabilities of 1e-300 ask for thresholds whose inverse is no number any more
        with np.errstate(over="ignore"):
            value = super().value(span, parameters, coordinate)
        return np.clip(value, *THRESHOLD_RANGE)


class JoiningThresholds(DecisionFamily):
    """The same in logarithms, score_d = log c_d - log p_d, from one class alone.

    The others join in turn, the threshold of each swept whole. A class whose threshold is
    infinite, that is whose weight is 0, is never decided. Products of probabilities and weights
    would be 0 where both are small, and hide which of two classes is the more likely.
    """

    moves = "set"
    combine = np.add

    @property
    def reach(self):
        return np.log(1e9)

    def _base(self, proba):
        return np.ascontiguousarray(-logs(proba, IMPOSSIBLE).T)

    def initial(self, order=None):
        start = np.full(len(self.costs), np.inf)
        start[0 if order is None else order[0]] = 0.0
        return start

    def coordinates(self, order):
        return list(order[1:])  # the first is the measure of the others

    def sweep(self, parameters, coordinate, literal=False):
        return _sweep.JoiningSweep(coordinate, self.base[coordinate], IMPOSSIBLE)

    def value(self, span, parameters, coordinate):
        return log_in_span(span.lower, span.upper, now=parameters[coordinate])

    def perturbed(self, parameters, rng):
        return parameters + 0.1 * rng.normal(size=parameters.shape)

    def matrix(self, parameters):
        return np.exp(-parameters)[:, None] * (1.0 - np.eye(len(parameters)))

    def normalized(self, parameters):
        return parameters - parameters.min()


class ColumnFactors(Family):
    """score_d = sum_t w_t p_t C[t, d]: every cost of one true class scaled (Property 6)."""

    moves = "set"

    def scores(self, parameters):
        weighted = self.base * parameters[:, None]
        if self.tensor is not None:
            return np.einsum("tn,ntd->dn", weighted, self.tensor)
        return np.matmul(self.costs.T, weighted)

    def matrix(self, parameters):
        return self.costs * parameters[:, None]

    @staticmethod
    def partition(parameters, shape):
        return Partition(np.tile(parameters[:, None], (1, shape[1])), np.zeros(shape))

    def sweep(self, parameters, coordinate, literal=False):
        if self.tensor is None:
            costs = self.costs[coordinate][:, None]
        else:
            costs = np.ascontiguousarray(self.tensor[:, coordinate].T)
        rest = parameters.copy()
        rest[coordinate] = 0.0
        return _sweep.LineSweep(self.scores(rest), costs * self.base[coordinate])

    def value(self, span, parameters, coordinate):
        return factor_in_span(span.lower, span.upper, now=parameters[coordinate])


class Entries(Family):
    """score_d = sum_t p_t a[t, d] with every entry of a wrong decision free, and positive."""

    moves = "shift"

    def initial(self, order=None):
        return self.costs.copy()

    def coordinates(self, order):
        return [(t, d) for d in self.decisions_in(order) for t in order if d != self.right[t]]

    def scores(self, parameters):
        return np.matmul(parameters.T, self.base)

    def move(self, standing, parameters, coordinate):
        d = coordinate[1]
        np.matmul(parameters[:, d], self.base, out=standing.scores[d])
        standing.refresh(d)

    def matrix(self, parameters):
        return parameters

    @staticmethod
    def partition(parameters, shape):
        return Partition.fixed(parameters.reshape(shape), priced=True)

    def normalized(self, parameters):
        return parameters

    def sweep(self, parameters, coordinate, literal=False):
        t, d = coordinate
        how = {"slope": self.base[t], "tie": self.tie}
        return _sweep.DecisionSweep(d, _sweep.SLOPE, -parameters[t, d], **how)

    def value(self, span, parameters, coordinate):
        now = parameters[coordinate]
        return factor_in_span(max(now + span.lower, 0.0), now + span.upper, now=now)


# -- the value that is taken inside of a span ------------------------------------------------


def shift_bounds(matrix: np.ndarray, i: int, right: np.ndarray) -> tuple[float, float]:
    """Return the open range of a shift of decision `i` that keeps right decisions cheapest.

    The condition of obrien2008, section 5.1: no mistake may become cheaper than the right
    decision, neither for the classes for which `i` is right nor for the others. Without such a
    range, no bounds.
    """
    its_own, others = right == i, np.arange(matrix.shape[1]) != i
    least = matrix[np.arange(len(matrix)), right]
    low = float((least - matrix[:, i])[~its_own].max(initial=-np.inf))
    high = float((matrix[:, others] - least[:, None])[its_own].min(initial=np.inf))
    return (low, high) if low < high else (-np.inf, np.inf)


def shift_in_span(lower: float, upper: float, low: float, high: float) -> float:
    """Return the step of section 5.1 in the span (lower, upper), clipped to (low, high).

    0 where the span holds it; otherwise the geometric mean of the ends, which then have one
    sign. Where an end is 0, the middle; where an end is infinite, the bound on that side, or
    what lies just beyond the other end where there is no bound either.
    """
    if lower < 0.0 < upper:
        return 0.0
    if np.isinf(lower):
        lower = low if low < upper else upper - 1.0
    if np.isinf(upper):
        upper = high if high > lower else lower + 1.0
    if np.isinf(lower) or np.isinf(upper):
        step = upper - 1.0 if np.isinf(lower) else lower + 1.0
    elif lower * upper > 0.0:
        step = float(np.sign(upper) * np.sqrt(lower * upper))
    else:
        step = 0.5 * (lower + upper)
    if np.isfinite(high - low):
        margin = MARGIN * (high - low)
        return min(max(step, low + margin), high - margin)
    return min(max(step, low), high)


def logs(proba: np.ndarray, impossible: float) -> np.ndarray:
    """Return the logarithms of probabilities, and minus `impossible` for those that are 0."""
    logs = np.full(np.shape(proba), -impossible)
    return np.log(proba, out=logs, where=np.greater(proba, 0.0))


def log_in_span(lower: float, upper: float, now: float) -> float:
    """Return the logarithm of what `factor_in_span` takes, of a span of logarithms.

    0 where the span has no end.
    """
    if lower < now < upper:
        return now
    if np.isinf(lower) and np.isinf(upper):
        return 0.0
    if np.isinf(lower):
        return upper - np.log(2.0)
    if np.isinf(upper):
        return lower + np.log(2.0)
    return 0.5 * (lower + upper)


def factor_in_span(lower: float, upper: float, now: float = 1.0) -> float:
    """Return the factor to take in a span: the present one if it lies inside.

    Otherwise the geometric mean of the ends; half or twice a lone end.
    """
    if lower < now < upper:
        return now
    if lower <= 0.0:
        return 0.5 * upper
    if np.isinf(upper):
        return 2.0 * lower
    return float(np.sqrt(lower) * np.sqrt(upper))
