r"""Weighted all pairs (WAP): one-versus-one whose weights carry a regret bound."""

import numpy as np

from stakes._methods import method
from stakes.costs import Costs
from stakes.costs.arithmetic import shift_rows
from stakes.reductions._one_vs_one import CostSensitiveOneVsOneClassifier, pairs_limit

# -- the equation ----------------------------------------------------------------------------


def all_pairs_values(costs: np.ndarray) -> np.ndarray:
    r"""Return the transformed costs whose differences weigh the pairs.

    .. math:: v_y = \int_0^{C_y} \frac{1}{|\{y' : C_{y'} \le t\}|}\, dt

    Each row is sorted once; between two neighbouring costs the count does not change, so
    the integral is a sum of steps.

    Parameters
    ----------
    costs : ndarray of shape (n, K)
        The cost of each decision, the least of each row 0.

    Returns
    -------
    values : ndarray of shape (n, K)
        Increasing in the costs, never greater than them.

    Examples
    --------
    From 0 to 2 one label is that cheap, from 2 to 6 two are:

    >>> from stakes.reductions._all_pairs import all_pairs_values
    >>> all_pairs_values(np.array([[0.0, 6.0, 2.0]]))
    array([[0., 4., 2.]])
    """
    order = np.argsort(costs, axis=1, kind="stable")
    ranked = np.take_along_axis(costs, order, axis=1)
    steps = np.diff(ranked, axis=1) / np.arange(1, costs.shape[1])
    levels = np.hstack([np.zeros((len(costs), 1)), steps.cumsum(axis=1)])
    values = np.empty_like(levels)
    np.put_along_axis(values, order, levels, axis=1)
    return values


# -- the estimator ---------------------------------------------------------------------------


@method("all_pairs", family="reduction", exports=("onnx",), limit=pairs_limit)
class WeightedAllPairsClassifier(CostSensitiveOneVsOneClassifier):
    r"""Weighted all pairs: a vote between every two decisions, whose weights bound the regret.

    As `CostSensitiveOneVsOneClassifier`, but a pair's weight is :math:`|v_j - v_k|`, where
    `v` integrates one over the number of decisions that are as cheap. The regret of the
    decisions is then at most twice the regret of the binary classifiers, summed over pairs,
    however many classes there are.

    It serves class costs and costs known in hindsight. It is *not* the one to use with very
    many classes, nor where probabilities are good: least expected cost was cheaper in nearly
    all our trials, and plain differences (`CostSensitiveOneVsOneClassifier`) about as good as
    this transform.

    Parameters
    ----------
    estimator : estimator instance, default=None
        A binary classifier, as in `CostSensitiveOneVsOneClassifier`.
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``; None for 0/1.
    aggregate : {"votes", "margins"}, default="votes"
        What of the pairs is summed. The bound is one of votes.
    sampling : {"weights", "rejection"}, default="weights"
        Whether the weights are handed on, or a sample is drawn by them.
    smoothing : float, default=1.0
        How many average examples are added to each leaf of a cost tree.
    random_state : int, RandomState instance or None, default=None
        Seeds the pairs.
    n_jobs : int, default=None
        How many pairs are fitted at once.
    verbose : int, default=0
        1 prints a line for each pair.

    Attributes
    ----------
    estimators_, pairs_, pair_costs_, training_cost_, n_samples_used_
        As in `CostSensitiveOneVsOneClassifier`; `pair_costs_` are in transformed costs,
        `training_cost_` is in real ones.
    bound_ : float
        ``2 * pair_costs_.sum()``, which `training_cost_` does not exceed (with
        ``aggregate="votes"``).
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The real costs in force.
    classes_ : ndarray of shape (n_classes,)
        The class labels.

    References
    ----------
    .. [1] A. Beygelzimer, V. Dani, T. Hayes, J. Langford and B. Zadrozny, "Error Limiting
       Reductions Between Classification Tasks", ICML 2005.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from stakes.reductions import WeightedAllPairsClassifier
    >>> X, y = [[0], [0], [1]], [0, 2, 1]
    >>> C = [[0, 1, 4], [1, 0, 1], [4, 1, 0]]
    >>> wap = WeightedAllPairsClassifier(DecisionTreeClassifier(), cost_matrix=C).fit(X, y)
    >>> wap.predict([[0], [1]])
    array([1, 1])
    """

    def _compared(self, costs: Costs) -> Costs:
        return costs.with_table(all_pairs_values(shift_rows(costs.table)))
