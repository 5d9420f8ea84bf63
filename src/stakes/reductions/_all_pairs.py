r"""Weighted all pairs (WAP): one-versus-one whose weights carry a regret bound."""

import numpy as np

from stakes.costs import Costs
from stakes.costs.arithmetic import shift_rows
from stakes.reductions._one_vs_one import CostSensitiveOneVsOneClassifier

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


class WeightedAllPairsClassifier(CostSensitiveOneVsOneClassifier):
    r"""Let pairs of classes compete, weighted by differences of transformed costs.

    As `CostSensitiveOneVsOneClassifier`, but a pair's weight is :math:`|v_j - v_k|`, where
    `v` integrates one over the number of decisions that are as cheap. The regret of the
    decisions is then at most twice the regret of the binary classifiers, summed over pairs,
    however many classes there are.

    It serves situations A (class matrix) and B2 (example costs seen in training only). It is
    *not* the one to use with very many classes, nor where probabilities are good: least
    expected cost was cheaper in nearly all our trials, and plain differences
    (`CostSensitiveOneVsOneClassifier`) about as good as this transform.

    Parameters
    ----------
    estimator : estimator instance, default=None
        A binary classifier whose `fit` takes `sample_weight`, or any one with
        ``sampling="rejection"``. If None, a `stakes.tree.CostTreeClassifier`.
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``; None for 0/1.
    aggregate : {"votes", "margins"}, default="votes"
        Count votes, or sum the margins.
    sampling : {"weights", "rejection"}, default="weights"
        Hand the weights to the classifier, or sample by them.
    smoothing : float, default=1.0
        As in `CostSensitiveOneVsOneClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seeds the pairs.
    n_jobs : int, default=None
        Pairs fitted at once. The result does not depend on it.
    verbose : int, default=0
        Passed to joblib.

    Attributes
    ----------
    estimators_ : list
        The classifier of each pair.
    pairs_ : ndarray of shape (n_pairs, 2)
        The classes of each pair, as positions in `classes_`.
    pair_costs_ : ndarray of shape (n_pairs,)
        The average weighted training error of each pair's classifier.
    training_cost_ : float
        The average cost of the decisions on the training data, each row's least cost at 0.
    bound_ : float
        ``2 * pair_costs_.sum()``, which `training_cost_` does not exceed (with
        ``aggregate="votes"``).
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The costs in force, averaged by class where they were given per example.
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
    >>> wap = WeightedAllPairsClassifier(DecisionTreeClassifier(), cost_matrix=C)
    >>> wap.fit(X, y).predict([[0], [1]])
    array([1, 1])
    """

    def _begin(self, X, y, sample_weight, costs, cost_tensor) -> tuple:
        X, training, counts = super()._begin(X, y, sample_weight, costs, cost_tensor)
        self._given = training
        if training.by_class:
            values = all_pairs_values(shift_rows(training.matrix))
            return X, Costs(training.y, matrix=values), counts
        values = all_pairs_values(shift_rows(training.costs))
        return X, Costs(training.y, costs=values), counts

    def _measure(self, prepared, training, counts) -> None:
        """Set the two sides of the bound: pairs in transformed costs, decisions in real ones."""
        given = self._given
        del self._given
        super()._measure(prepared, training, counts)
        decisions = self._scores(prepared, len(training)).argmax(axis=1)
        paid = given.of(decisions) - given.rows().min(axis=1)
        self.training_cost_ = float(np.average(paid, weights=counts))
