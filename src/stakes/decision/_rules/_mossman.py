"""Mossman's rule for three classes, at its exact optimum."""

import numpy as np

from stakes.decision._declare import LAYER, exactly, rule
from stakes.decision._learned import LearnedRule
from stakes.decision._numbers import Partition
from stakes.decision._sweep import best_span


@rule("mossman", method="mossman", exports=LAYER, only=exactly(3))
class Mossman(LearnedRule):
    r"""Mossman's rule: two thresholds; three classes only.

    One threshold cuts off the third class, one splits the others. The most restrictive of the
    partitions: its boundaries keep their direction whatever the costs. It serves class costs;
    costs known in hindsight count in what is minimised, but `predict` cannot weigh the costs
    of single examples. Here for comparison: `ParallelPartition` follows the costs and takes
    any number of classes.

    Parameters
    ----------
    cost_matrix, shrink, random_state
        As in `ParallelPartition`.
    classes : array-like of shape (3,), default=None
        The classes in the order of the columns of the probabilities; the last one is the
        third class of the rule.

    Attributes
    ----------
    deltas_ : ndarray of shape (2,)
        The thresholds of the rule. `parameters_` is the same.
    partition_ : ndarray of shape (3, 3)
        The matrix (13) of [1]_ transposed, which approaches the rule as L grows; L = 1e6.
    initial_cost_, cost_, shrunk_, classes_, cost_matrix_
        As in `ParallelPartition`.

    Notes
    -----
    (3) of [1]_: the third class where :math:`p_3 > \delta_1`; otherwise the second where
    :math:`p_2 - p_1 > \delta_2`, else the first. The least cost over both thresholds is found
    exactly, O(N log N): examples enter in the order of :math:`p_3`, and a segment tree keeps
    the cost of every :math:`\delta_2`.

    References
    ----------
    .. [1] D. B. O'Brien, M. R. Gupta and R. M. Gray, "Cost-sensitive Multi-class
       Classification from Probability Estimates", ICML 2008.
    .. [2] D. Mossman, "Three-way ROCs", Medical Decision Making 19, 1999, 78-98.

    Examples
    --------
    >>> from stakes.decision import Mossman
    >>> proba = [[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.3, 0.3, 0.4]]
    >>> rule = Mossman(cost_matrix=[[0, 1, 1], [1, 0, 1], [2, 2, 0]]).fit(proba, [0, 1, 1, 2])
    >>> rule.deltas_.round(3), rule.cost_
    (array([ 0.3 , -0.35]), 0.0)
    """

    _n_classes = 3
    _decides_only_classes = True

    def _search(self, proba, examples, cost_tensor, rng):
        table, rows, weight = examples.costs
        paid = table[rows] * weight[:, None] if len(weight) else table[rows]
        self.deltas_ = self.parameters_ = fit_deltas(proba, paid)
        self.partition_ = mossman_matrix(*self.deltas_)

    def _learned(self) -> Partition:
        return mossman_partition(*self.deltas_)


def mossman_decisions(proba: np.ndarray, delta_1: float, delta_2: float) -> np.ndarray:
    """Return the decisions of eq. (3), as column indices."""
    second = proba[:, 1] - proba[:, 0] > delta_2
    return np.where(proba[:, 2] > delta_1, 2, second.astype(np.intp))


def mossman_partition(delta_1: float, delta_2: float, small: float = 1e-20) -> Partition:
    """Return the partition of eq. (3): the third class by its threshold, the others all but free.

    The first two differ by ``small * (p_2 - p_1 - delta_2)``, the third from both by
    ``delta_1 - p_3``, which is never as small.
    """
    first = small * np.array([-delta_2, 1.0 - delta_2, -delta_2])
    second = small * np.array([1.0, 0.0, 0.0])
    third = np.array([delta_1, delta_1, delta_1 - 1.0])
    return Partition.fixed(np.column_stack([first, second, third]))


def mossman_matrix(delta_1: float, delta_2: float, large: float = 1e6) -> np.ndarray:
    """Return the partition matrix of eq. (13), transposed to [true, decision]."""
    odds = large * delta_1 / (1.0 - delta_1) if delta_1 < 1.0 else large**2
    across = max(1.0 - delta_2, 1.0 / large)
    first = [0.0, 1.0, large - delta_2 / across]  # of the paper, whose rows are decisions
    second = [(1.0 + delta_2) / across, 0.0, large]
    return np.array([first, second, [odds, odds, 0.0]]).T


def fit_deltas(proba: np.ndarray, paid: np.ndarray) -> np.ndarray:
    """Return the thresholds of least total cost; `paid` is what each decision costs, (n, 3).

    The exact optimum says which examples are decided third; each threshold is then moved to
    the middle of the widest span that costs as little.
    """
    from stakes.decision import _mossman_kernel

    third = proba[:, 2]
    difference = proba[:, 1] - proba[:, 0]
    levels, place = np.unique(difference, return_inverse=True)
    order = np.argsort(third, kind="stable")
    _, split = _mossman_kernel.best_cut(third, order, place, len(levels), paid)
    edges = np.concatenate([[-1.0], levels, [1.0]])
    delta_2 = 0.5 * (edges[split] + edges[split + 1])
    for _ in range(2):
        # third class above delta_1: its cost turns into that of the other two as it rises
        other = np.where(difference > delta_2, paid[:, 1], paid[:, 0])
        delta_1 = _middle(third, other - paid[:, 2], float(paid[:, 2].sum()), 0.0)
        stay = third <= delta_1
        jumps = np.where(stay, paid[:, 0] - paid[:, 1], 0.0)
        start = float(np.where(stay, paid[:, 1], paid[:, 2]).sum())
        delta_2 = _middle(difference, jumps, start, -1.0)
    return np.array([delta_1, delta_2])


def _middle(points: np.ndarray, jumps: np.ndarray, start: float, low: float) -> float:
    """Return the middle of the widest cheapest span between `low` and 1."""
    at_low = points <= low
    start += float(jumps[at_low].sum())
    counts = (jumps != 0.0) & ~at_low & (points < 1.0)
    span = best_span(points[counts], jumps[counts], start, low=low, high=1.0)
    return 0.5 * (span.lower + span.upper)
