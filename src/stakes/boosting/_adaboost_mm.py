"""AdaBoost.MM: boosting that minimises an exponential loss over all wrong labels."""

import numpy as np

from stakes.boosting._base import BaseCostBoosting
from stakes.boosting._exponential import ExponentialCosts, Penalty


class AdaBoostMMClassifier(BaseCostBoosting):
    r"""Boosting on a matrix of costs, one row per example, one column per label.

    Where AdaBoost keeps a weight for each example, this keeps a cost for each example *and
    each label*, and the weak learner minimises these costs as they are. A wrong label that has
    won many votes costs much, so the next member works against that very confusion. With two
    classes it is AdaBoost.

    It serves class costs (situation A) and example costs that are known in training only
    (B2). It is not the one to use where costs are known when deciding (B1): its decisions
    are votes, and votes are not probabilities. Fit with ``calibrated=True`` and hand
    `predict_proba` to a rule of `stakes.decision`. Where classes are rare and as important
    as the others, `CoMBoClassifier` is this method with the classes weighed alike.

    Parameters
    ----------
    estimator : estimator instance, default=None
        The weak learner. If None, ``CostTreeClassifier(max_depth=3, min_samples_leaf=1)``. A
        `CostTreeClassifier` that is not pruned grows on the costs of each round, over bins
        that are placed once. An estimator whose `fit` takes `costs` is handed them. Any other
        must take `sample_weight`: it is handed each row's cheapest label, weighted by what the
        other labels cost above it on average; with more than two classes that is only part of
        what the costs say.

    cost_matrix : CostMatrix, array-like of shape (n_classes, n_classes), str or None, \
default=None
        ``cost_matrix[t, d]`` is the cost of deciding `d` when the truth is `t`; 0/1 if None.
        Costs above the cheapest decision stand before the exponential of the loss.

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

    calibrated : bool or {"sigmoid", "isotonic"}, default=False
        Whether `predict_proba` returns probabilities learned from vote shares by 5-fold
        cross-fitting (True is "sigmoid"), which takes five more fits. `predict` is the vote
        either way.

    random_state : int, RandomState instance or None, default=None
        For the weak learner, the examples set aside, and the folds of calibration.

    n_jobs : int or None, default=None
        Threads of the cost trees. None: as many as Numba is set to use. Results do not depend
        on it.

    verbose : int, default=0
        1 prints every 10th round, 2 every one.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.

    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The costs in force (of example costs, the mean row of each class).

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

    validation_scores_ : ndarray
        What `early_stopping` saw after each round, where it is used.

    n_iter_ : int
        The number of members.

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
    once more often than right, but half as dear when it is wrong:

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

    def _start(self, sample, rng):
        training = sample.training
        penalty = Penalty.from_costs(training, self._row_weight(training.y, sample.weight))
        return ExponentialCosts(penalty, training.n_classes, self.learning_rate)

    def _row_weight(self, y, sample_weight) -> np.ndarray:
        """Return what weighs each row in the loss."""
        return sample_weight

    def _error_bound(self, initial_loss, total_weight):
        return initial_loss / total_weight
