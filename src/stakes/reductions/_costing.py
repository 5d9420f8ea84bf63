r"""Costing: one weight per example, an ensemble over weighted samples."""

from typing import Any

import numpy as np

from stakes.reductions._base import VotingReduction
from stakes.reductions._sampling import ExamplePlan, cheapest_labels
from stakes.utils._sklearn import StrOptions


def importance_weights(costs: np.ndarray, weight: str = "average") -> np.ndarray:
    """Return one weight per example from its cost row.

    Parameters
    ----------
    costs : ndarray of shape (n, K)
        Costs with the least of each row at 0.
    weight : {"average", "maximum", "minimum"}
        The average, the greatest or the least cost of a decision other than the best one.

    Examples
    --------
    With two classes all three are |c1 - c0|:

    >>> from stakes.reductions._costing import importance_weights
    >>> importance_weights(np.array([[0.0, 3.0], [7.0, 0.0]]))
    array([3., 7.])
    >>> costs = np.array([[0.0, 2.0, 4.0]])
    >>> [float(importance_weights(costs, w)[0]) for w in ("average", "maximum", "minimum")]
    [3.0, 4.0, 2.0]
    """
    if weight == "average":
        return costs.sum(axis=1) / (costs.shape[1] - 1)
    if weight == "maximum":
        return costs.max(axis=1)
    return np.partition(costs, 1, axis=1)[:, 1]


class CostingClassifier(VotingReduction):
    r"""Average classifiers that were fitted on cost-proportionate samples.

    Every example gets one weight, the price of getting it wrong, and the label of least
    cost. Each member is fitted on a sample in which examples are as frequent as they are
    important; the members' answers are averaged. With two classes the weight
    :math:`|c_1 - c_0|` is exact: minimising weighted mistakes minimises the cost. With more
    classes one number cannot say how dear each kind of mistake is, and the `weight`
    parameter chooses a summary.

    It serves situations A (class matrix) and B2 (example costs seen in training only). It
    is *not* the one to use for more than two classes whose mistakes differ much in price
    within a row (`GBSEClassifier`, `DataSpaceExpansionClassifier` and
    `CostSensitiveOneVsOneClassifier` see the whole row), nor where costs are known when
    deciding (B1: `MetaCostClassifier(relabel=False)`).

    Parameters
    ----------
    estimator : estimator instance, default=None
        The classifier of the members. If None, a `stakes.tree.CostTreeClassifier`
        (``criterion="variance"``, unlimited depth, 5 examples per leaf at least), whose
        bins are computed once for all members.

    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``; None for 0/1.

    weight : {"average", "maximum", "minimum"}, default="average"
        The weight of an example with more than two classes: the average, the greatest or
        the least cost of a wrong decision, after its least cost was set to 0.

    n_estimators : int, default=10
        The number of members.

    sampling : {"weights", "rejection"}, default="weights"
        "rejection" keeps an example with probability weight / greatest weight, which any
        classifier allows. "weights" hands the weights to classifiers whose `fit` takes
        `sample_weight`; where there is more than one member, each sees a bootstrap sample.

    voting : {"soft", "hard"}, default="soft"
        Average the members' `predict_proba`, or count their answers.

    random_state : int, RandomState instance or None, default=None
        Seeds the samples and the members.

    n_jobs : int, default=None
        Members fitted at once. The result does not depend on it.

    verbose : int, default=0
        Passed to joblib.

    Attributes
    ----------
    estimators_ : list
        The fitted members; they answer positions in `classes_`.

    n_samples_used_ : ndarray of shape (n_estimators,)
        The size of each member's sample.

    n_empty_samples_, n_one_label_samples_ : int
        How many members drew no example, or examples of one label only; they answer a
        constant.

    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The costs in force, averaged by class where they were given per example.

    classes_ : ndarray of shape (n_classes,)
        The class labels.

    Notes
    -----
    Defaults were chosen on nine data sets (Balance, Car, Dermatology, Ecoli, Solar flare, Glass,
    New-thyroid, Vehicle, Yeast), three splits of 2/3 and `random_abe` costs each; factors are
    geometric means of the test cost relative to the default's. ``weight="maximum"`` costs 1.01
    times as much, "minimum" 1.43. Rejection costs 0.76 on these skewed costs, but on small data
    it can leave a class out of every sample, so that even classes that are easily told apart are
    confused; it is not the default for that reason alone.

    References
    ----------
    .. [1] B. Zadrozny, J. Langford, N. Abe, "Cost-Sensitive Learning by
       Cost-Proportionate Example Weighting", ICDM 2003.

    Examples
    --------
    At x = 1 two in three are harmless, but a miss costs 5 and a false alarm 1:

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from stakes.reductions import CostingClassifier
    >>> X, y = [[0], [0], [0], [1], [1], [1]], [0, 0, 0, 0, 0, 1]
    >>> tree = DecisionTreeClassifier()
    >>> CostingClassifier(tree, n_estimators=1).fit(X, y).predict([[0], [1]])
    array([0, 0])
    >>> costing = CostingClassifier(tree, n_estimators=1, cost_matrix=[[0, 1], [5, 0]])
    >>> costing.fit(X, y).predict([[0], [1]])
    array([0, 1])
    """

    _parameter_constraints: dict = {
        **VotingReduction._parameter_constraints,
        "weight": [StrOptions({"average", "maximum", "minimum"})],
    }

    def __init__(
        self,
        estimator=None,
        *,
        cost_matrix=None,
        weight="average",
        n_estimators=10,
        sampling="weights",
        voting="soft",
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        super().__init__(
            estimator,
            cost_matrix=cost_matrix,
            n_estimators=n_estimators,
            sampling=sampling,
            voting=voting,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.weight = weight

    def _plan(self, training, sample_weight) -> ExamplePlan:
        return example_plan(
            training, sample_weight, self.weight, self.sampling, bootstrap=self.n_estimators > 1
        )


def example_plan(
    training: Any, sample_weight, weight: str, sampling: str, *, bootstrap: bool
) -> ExamplePlan:
    """Weigh each example by a summary of its costs; label it with its cheapest decision."""
    if training.by_class:  # K rows say it all
        by_class = training.matrix - training.matrix.min(axis=1, keepdims=True)
        weights = importance_weights(by_class, weight)[training.y]
        labels = cheapest_labels(by_class, np.arange(len(by_class)))[training.y]
    else:
        rows = training.shifted_rows()
        weights = importance_weights(rows, weight)
        labels = cheapest_labels(rows, training.y)
    if sample_weight is not None:
        weights = weights * sample_weight
    return ExamplePlan(weights, labels, sampling, bootstrap)
