"""CoMBo: boosting that minimises the norm of the confusion matrix."""

import numpy as np

from stakes.boosting._adaboost_mm import AdaBoostMMClassifier


class CoMBoClassifier(AdaBoostMMClassifier):
    r"""Boosting that counts every class alike, however rare: Confusion Matrix Boosting.

    `AdaBoostMMClassifier` with each example weighed by one over the size of its class. Its
    loss then bounds the norm of the confusion matrix, whose rows are rates within a class:
    rare classes are recognised as well as common ones, at some price in plain accuracy.

    It serves class costs (situation A) and example costs that are known in training only
    (B2), on top of equal weight for the classes: a `cost_matrix` here says what a mistake
    costs *as if all classes were equally frequent*. Where the frequencies should count, as
    in any sum of money, use `AdaBoostMMClassifier` with the same matrix. Where costs are
    known when deciding (B1), use ``calibrated=True`` and a rule of `stakes.decision`.

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
        ``cost_matrix[t, d]``, the penalty :math:`c_{t, d}` of section 6 of [1]_; 1 for every
        mistake if None.

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
        The penalties in force (of example costs, the mean row of each class).

    estimators_ : list
        The members: trees of `stakes.tree`, or fitted clones of `estimator`.

    estimator_weights_ : ndarray of shape (n_iter_,)
        Their votes :math:`\alpha_t`.

    edges_ : ndarray of shape (n_iter_,)
        Their edges :math:`\delta_t`; an edge of 1 is stored as the float below it.

    initial_loss_ : float
        The loss before the first round: K (K - 1) under 0/1 costs.

    loss_ : ndarray of shape (n_iter_,)
        The loss after each round (Lemma 5).

    training_error_bound_ : ndarray of shape (n_iter_,)
        Theorem 6: what the sum of the classes' training error rates (in general, of their
        average costs) cannot exceed after each round, by the edges alone. The square of the
        training confusion norm cannot either.

    validation_scores_ : ndarray
        What `early_stopping` saw after each round, where it is used.

    n_iter_ : int
        The number of members.

    See Also
    --------
    AdaBoostMMClassifier : The same with every example weighed alike.
    stakes.metrics.confusion_norm : What it minimises a bound of.

    Notes
    -----
    Equation (13) of [1]_: with :math:`m_y` the number of examples (in general, the sum of their
    weights) in class :math:`y`,

    .. math::

        D_t(i, l) = \frac{c_{y_i, l}}{m_{y_i}} \exp(f(i, l) - f(i, y_i)), \qquad l \ne y_i,

    with minus the sum of the row at :math:`y_i`; see `AdaBoostMMClassifier` for the rest of
    Algorithm 1.

    References
    ----------
    .. [1] S. Koço and C. Capponi, "On multi-class classification through the minimization of
       the confusion matrix norm", ACML 2013.

    Examples
    --------
    Where x is 0, class 0 is twice as frequent as class 1, but that is a half of class 0
    and the whole of class 1:

    >>> from stakes.boosting import AdaBoostMMClassifier, CoMBoClassifier
    >>> X = [[0]] * 4 + [[1]] * 4 + [[0]] * 2
    >>> y = [0] * 8 + [1] * 2
    >>> AdaBoostMMClassifier().fit(X, y).predict([[0], [1]])
    array([0, 0])
    >>> model = CoMBoClassifier().fit(X, y)
    >>> model.predict([[0], [1]])
    array([1, 0])
    >>> round(float(model.edges_[0]), 3)  # (1/2 - 1/2 + 1) / 2
    0.5
    """

    def _row_weight(self, y, sample_weight) -> np.ndarray:
        class_weight = np.bincount(y, weights=sample_weight)  # m_y
        return sample_weight / class_weight[y]

    def _error_bound(self, initial_loss, total_weight):
        return initial_loss
