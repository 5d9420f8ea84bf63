"""AdaBoost.MM: boosting that minimises an exponential loss over all wrong labels."""

from typing import Any

import numpy as np

from stakes._methods import method
from stakes.boosting._base import BaseCostBoosting
from stakes.boosting._exponential import ExponentialCosts, Penalty, Recall
from stakes.boosting._weak import Sample


@method("adaboost_mm", family="boosting", exports=("onnx",))
class AdaBoostMMClassifier(BaseCostBoosting):
    r"""AdaBoost.MM: multi-class boosting on a cost matrix of its own.

    Where AdaBoost keeps a weight for each example, this keeps a cost for each example *and
    each label*, and the weak learner minimises these costs as they are. A wrong label that has
    won many votes costs much, so the next member works against that very confusion. With two
    classes it is AdaBoost.

    It takes class costs and costs known in hindsight. It is not the one to use for costs known
    when deciding: its decisions are votes, and votes are not probabilities. There, wrap it in
    ``stakes.decision.CostDecisionClassifier(estimator, calibration="sigmoid")``. Where classes
    are rare and as important as the others, `CoMBoClassifier` is this method with the classes
    weighed alike.

    Parameters
    ----------
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[t, d]`` is the cost of deciding `d` when the truth is `t`; 0/1 if None.
        Costs above the cheapest decision stand before the exponential of the loss.

    estimator : estimator instance, default=None
        The weak learner. If None, ``CostTreeClassifier(max_depth=3, min_samples_leaf=1)``. A
        `CostTreeClassifier` grows on the costs of each round, over bins that are placed once.
        An estimator whose `fit` takes `costs` is handed them. Any other must take
        `sample_weight`: it is handed each row's cheapest label, weighted by what the other
        labels cost above it on average; with more than two classes that is only part of what
        the costs say.

    n_estimators : int, default=200
        The most rounds.

    learning_rate : float, default=1.0
        Factor of every vote.

    early_stopping : {"cost", "confusion_norm"} or None, default=None
        What to watch on a share of the examples that is set aside; the ensemble is cut at the
        round where it was least.

    validation_fraction : float, default=0.1
        The share of each class that is set aside for `early_stopping`.

    n_iter_no_change : int, default=20
        Rounds without a new best after which `early_stopping` ends the loop.

    random_state : int, RandomState instance or None, default=None
        For the weak learner, and the examples set aside.

    n_jobs : int or None, default=None
        Threads of the cost trees; None is 1, -1 all. Results do not depend on it.

    verbose : int, default=0
        1 prints edge and loss after each round, on standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.

    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The costs in force (of example costs, the mean row of each class).

    cost_kind_ : {"class", "deciding", "hindsight"}
        Which kind of costs `fit` was given.

    estimators_ : list
        The members: trees of `stakes.tree`, or fitted clones of `estimator`.

    estimator_weights_ : ndarray of shape (n_iter_,)
        Their votes :math:`\alpha_t`.

    edges_ : ndarray of shape (n_iter_,)
        Their edges :math:`\delta_t`; an edge of 1 is stored as the float below it.

    initial_loss_ : float
        The loss before the first round.

    loss_ : ndarray of shape (n_iter_,)
        The loss after each round.

    training_error_bound_ : ndarray of shape (n_iter_,)
        What the average training cost (under 0/1 costs, the training error) cannot exceed
        after each round, by the edges alone.

    validation_costs_ : ndarray
        What `early_stopping` saw after each round, where it is used; lower is better.

    n_iter_ : int
        The number of members.

    feature_importances_ : ndarray of shape (n_features_in_,)
        The mean of the members' importances, weighed by their votes, where members have any.

    See Also
    --------
    CoMBoClassifier : The same with the classes weighed alike.

    Notes
    -----
    With scores :math:`f(i, l)`, the votes that label :math:`l` has won, round :math:`t` of
    [1]_ minimises

    .. math:: D_t(i, l) = c_{y_i, l} \exp(f(i, l) - f(i, y_i)), \qquad l \ne y_i,

    with minus the sum of the row at :math:`y_i`. A member with edge
    :math:`\delta_t = -D_t \cdot 1_{h_t} / \sum_{i, l \ne y_i} D_t(i, l)` votes with
    :math:`\alpha_t = \tfrac12 \log \frac{1 + \delta_t}{1 - \delta_t}`, and the loss falls by at
    least the factor :math:`\sqrt{1 - \delta_t^2}`. The loop ends when an edge is not positive,
    or when it is 1. Where an example has a cheaper decision than its true class, that
    decision takes the place of :math:`y_i`.

    For two classes the votes tend to the decision of least expected cost. For more and
    unequal costs, the loss is a bound on the cost, but its minimum need not be that decision.

    References
    ----------
    .. [1] I. Mukherjee and R. E. Schapire, "A Theory of Multiclass Boosting", Journal of
       Machine Learning Research 14, 2013, 437-497.
    .. [2] S. Koço and C. Capponi, "On multi-class classification through the minimization of
       the confusion matrix norm", ACML 2013.

    Examples
    --------
    Three of the four examples of class 1 lie among those of class 0. Deciding 1 there is wrong
    once more often than right, but costs half as much when it is wrong:

    >>> from stakes.boosting import AdaBoostMMClassifier
    >>> X = [[0]] * 7 + [[1]] * 1
    >>> y = [0] * 4 + [1] * 4
    >>> AdaBoostMMClassifier().fit(X, y).predict([[0], [1]])
    array([0, 1])
    >>> model = AdaBoostMMClassifier(cost_matrix=[[0, 1], [2, 0]]).fit(X, y)
    >>> model.predict([[0], [1]])
    array([1, 1])
    >>> round(model.initial_loss_)  # four examples at 1, four at 2
    12
    """

    _sums_over_workers = True

    def _start(self, sample: Sample, rng: np.random.RandomState) -> Any:
        costs = sample.costs
        by_row = sample.weighted or not costs.by_class
        penalty = Penalty.from_costs(costs, self._row_weight(sample, by_row), by_row)
        recall = None
        if not sample.keeps_scores:
            recall = Recall(sample.learner, sample.data, costs.n_classes)
        more = {"recall": recall, "dtype": sample.dtype}
        return ExponentialCosts(penalty, costs.n_classes, self.learning_rate, sample.sums, **more)

    def _row_weight(self, sample: Sample, by_row: bool) -> np.ndarray:
        """Return what weighs each row in the loss, or, not `by_row`, the rows of each class."""
        return sample.weight if by_row else np.ones(sample.costs.n_classes)

    def _error_bound(self, initial_loss: float, total_weight: float) -> float:
        return initial_loss / total_weight
