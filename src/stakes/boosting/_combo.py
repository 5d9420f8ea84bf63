"""CoMBo: boosting that minimises the norm of the confusion matrix."""

import numpy as np

from stakes._methods import method
from stakes.boosting._adaboost_mm import AdaBoostMMClassifier
from stakes.boosting._weak import Sample

# Rows that are counted at a time.
PIECE = 2**20


@method("combo", family="boosting", exports=("onnx",), default=True)
class CoMBoClassifier(AdaBoostMMClassifier):
    r"""CoMBo boosting: boosting that weighs every class alike and every mistake by its price.

    Confusion Matrix Boosting is `AdaBoostMMClassifier` with each example weighed by one over
    the size of its class. Its loss then bounds the norm of the confusion matrix, whose rows are
    rates within a class: rare classes are recognised as well as common ones, at some price in
    plain accuracy.

    It takes class costs and costs known in hindsight, on top of equal weight for the classes: a
    `cost_matrix` here says what a mistake costs *as if all classes were equally frequent*.
    Where the frequencies should count, as in any sum of money, use `AdaBoostMMClassifier` with
    the same matrix. For costs known when deciding, wrap either in
    ``stakes.decision.CostDecisionClassifier(estimator, calibration="sigmoid")``.

    Parameters
    ----------
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[t, d]``, the penalty :math:`c_{t, d}` of section 6 of [1]_; 1 for every
        mistake if None.

    estimator : estimator instance, default=None
        The weak learner. If None, ``CostTreeClassifier(max_depth=3, min_samples_leaf=1)``; see
        `AdaBoostMMClassifier` for what other estimators are handed.

    n_estimators, learning_rate : int, default=200, and float, default=1.0
        The most rounds, and a factor of every vote.

    early_stopping, validation_fraction, n_iter_no_change
        What ends the loop early, as in `AdaBoostMMClassifier`.

    random_state, n_jobs, verbose
        As in `AdaBoostMMClassifier`.

    Attributes
    ----------
    initial_loss_ : float
        The loss before the first round: K (K - 1) under 0/1 costs.

    loss_ : ndarray of shape (n_iter_,)
        The loss after each round (Lemma 5).

    training_error_bound_ : ndarray of shape (n_iter_,)
        Theorem 6: what the sum of the classes' training error rates (in general, of their
        average costs) cannot exceed after each round, by the edges alone. The square of the
        training confusion norm cannot either.

    classes_, cost_matrix_, cost_kind_, estimators_, estimator_weights_, edges_
        As in `AdaBoostMMClassifier`.

    validation_costs_, n_iter_, feature_importances_
        As in `AdaBoostMMClassifier`.

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

    def _row_weight(self, sample: Sample, by_row: bool) -> np.ndarray:
        y, n_classes = sample.costs.y, sample.costs.n_classes
        class_weight = np.zeros(n_classes)  # m_y
        for first in range(0, len(y), PIECE):  # NumPy makes numbers of eight bytes of each piece
            piece = slice(first, first + PIECE)
            given = sample.weight[piece] if by_row else None
            class_weight += np.bincount(y[piece], weights=given, minlength=n_classes)
        sample.sums.total(class_weight)
        return sample.weight / class_weight[y] if by_row else 1.0 / class_weight

    def _error_bound(self, initial_loss: float, total_weight: float) -> float:
        return initial_loss
