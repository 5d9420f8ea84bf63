r"""Cost regression: predict what each decision costs, then take the cheapest."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from stakes.reductions._base import BaseReduction
from stakes.reductions._members import draw_seeds, seeded_clone
from stakes.utils._sklearn import HasMethods, Interval, StrOptions, fit_context, validate_data

# -- the losses, and their gradients by the predicted costs ----------------------------------


def one_sided_gradient(predicted: np.ndarray, costs: np.ndarray) -> np.ndarray:
    r"""Return the gradient of the squared one-sided loss, (n, K).

    The cheapest decision of an example must not be predicted too dear, the others not too
    cheap; a mistake on the other side can only help the arg min, so it is free:
    :math:`\tfrac12 \max(0, z_k (r_k - c_k))^2` with :math:`z_k = 1` for a cheapest decision
    and -1 for the others. Tu and Lin (2010), whose loss is not squared.

    Examples
    --------
    Decision 0 is the cheapest: predicted 1 too dear. Decision 1 is predicted 2 too cheap,
    decision 2 too dear, which does no harm:

    >>> from stakes.reductions._cost_regression import one_sided_gradient
    >>> one_sided_gradient(np.array([[1.0, 3.0, 9.0]]), np.array([[0.0, 5.0, 5.0]]))
    array([[ 1., -2.,  0.]])
    """
    cheapest = costs == costs.min(axis=1, keepdims=True)
    miss = predicted - costs
    return np.where(cheapest, np.maximum(miss, 0.0), np.minimum(miss, 0.0))


def spo_plus_gradient(predicted: np.ndarray, costs: np.ndarray) -> np.ndarray:
    r"""Return a subgradient of the SPO+ loss, (n, K).

    The loss is :math:`\max_k (c_k - 2 r_k) + 2 r_* - c_*`, where * is the cheapest
    decision: a convex bound of what the decision by the predicted costs loses. Elmachtoub
    and Grigas (2022), for a choice among K decisions.

    Examples
    --------
    c - 2 r is (-2, 1): decision 1 looks too good, decision 0 too bad:

    >>> from stakes.reductions._cost_regression import spo_plus_gradient
    >>> spo_plus_gradient(np.array([[1.0, 2.0]]), np.array([[0.0, 5.0]]))
    array([[ 2., -2.]])
    """
    rows = np.arange(len(costs))
    gradient = np.zeros_like(predicted)
    gradient[rows, costs.argmin(axis=1)] += 2.0
    gradient[rows, (costs - 2.0 * predicted).argmax(axis=1)] -= 2.0
    return gradient


GRADIENTS = {"one_sided": one_sided_gradient, "spo_plus": spo_plus_gradient}


# -- the estimator ---------------------------------------------------------------------------


class CostRegressionClassifier(BaseReduction):
    r"""Regress what each decision costs on x, and decide the cheapest.

    With ``loss="squared"`` one regressor for each decision predicts its expected cost, and
    `expected_costs` says what it predicts. The other two losses only care which decision is
    cheapest: they fit, round by round, regressors to the gradient of the loss.

    It serves situation B2 (example costs seen in training only), for which it is the
    plainest method, and A (class matrix). It is *not* the one to use in situation A:
    probabilities and least expected cost use the matrix that is known instead of learning
    it from the rows.

    Parameters
    ----------
    estimator : regressor instance, default=None
        For "squared", fitted once per decision; a `HistGradientBoostingRegressor` if None.
        For the other losses, fitted once per decision and round; if None, one
        `DecisionTreeRegressor` of depth 4 per round, for all decisions together.
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``; None for 0/1.
    loss : {"squared", "one_sided", "spo_plus"}, default="squared"
        See above.
    n_estimators : int, default=100
        Rounds of "one_sided" and "spo_plus".
    learning_rate : float, default=0.1
        Length of their steps; costs are divided by their mean first.
    random_state : int, RandomState instance or None, default=None
        Seeds the regressors.
    n_jobs : int, default=None
        Decisions fitted at once. The result does not depend on it.
    verbose : int, default=0
        Passed to joblib.

    Attributes
    ----------
    estimators_ : list of list
        The regressors of each round; a round has one per decision, or a single one for all.
    start_ : ndarray of shape (n_classes,)
        What is predicted before the first round: the mean costs.
    cost_scale_ : float
        The mean cost, by which the costs are divided.
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The costs in force, averaged by class where they were given per example.
    classes_ : ndarray of shape (n_classes,)
        The class labels.

    References
    ----------
    .. [1] H.-H. Tu and H.-T. Lin, "One-sided Support Vector Regression for Multiclass
       Cost-sensitive Classification", ICML 2010.
    .. [2] A. N. Elmachtoub and P. Grigas, "Smart 'Predict, then Optimize'", Management
       Science 68 (1), 2022.

    Examples
    --------
    At x = 0 deciding 0 costs 5 more than deciding 1, or 1 less; at x = 1 always 1 less:

    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from stakes.reductions import CostRegressionClassifier
    >>> X, y = [[0], [0], [1], [1]], [0, 1, 0, 1]
    >>> costs = [[0, 1], [6, 1], [0, 1], [0, 1]]
    >>> model = CostRegressionClassifier(DecisionTreeRegressor()).fit(X, y, costs=costs)
    >>> model.expected_costs([[0], [1]])
    array([[2.5, 0.5],
           [0. , 1. ]])
    >>> model.predict([[0], [1]])
    array([1, 0])
    """

    _parameter_constraints: dict = {
        **BaseReduction._parameter_constraints,
        "loss": [StrOptions({"squared", "one_sided", "spo_plus"})],
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        estimator=None,
        *,
        cost_matrix=None,
        loss="squared",
        n_estimators=100,
        learning_rate=0.1,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.cost_matrix = cost_matrix
        self.loss = loss
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _default_estimator(self) -> Any:
        if self.loss == "squared":
            from sklearn.ensemble import HistGradientBoostingRegressor

            return HistGradientBoostingRegressor(min_samples_leaf=5)
        from sklearn.tree import DecisionTreeRegressor

        return DecisionTreeRegressor(max_depth=4, min_samples_leaf=5)

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        """Fit the regressors.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Training examples.
        y : array-like of shape (n_samples,)
            Their true classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each example counts.
        costs : array-like of shape (n_samples, n_classes), default=None
            What each decision costs for each example, in place of `cost_matrix`.
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            [example, true, predicted], in place of `cost_matrix`; `y` picks the row.

        Returns
        -------
        self : object
            Fitted.
        """
        X, training, counts = self._begin(X, y, sample_weight, costs, cost_tensor)
        estimator = self._estimator()
        if counts is not None and not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(f"{type(estimator).__name__} does not take sample_weight in fit.")
        # Only differences within a row decide: what all decisions share is left out.
        rows = training.shifted_rows()
        self.cost_scale_ = float(np.average(rows.mean(axis=1), weights=counts)) or 1.0
        targets = rows / self.cost_scale_
        self.start_ = np.average(targets, axis=0, weights=counts)
        fit_round = self._fit_together if self._together() else self._fit_apart
        if self.loss == "squared":
            seeds = draw_seeds(self.random_state, 1)
            self.estimators_ = [fit_round(estimator, X, targets - self.start_, counts, seeds[0])]
            return self
        gradient = GRADIENTS[self.loss]
        predicted = np.tile(self.start_, (len(targets), 1))
        self.estimators_ = []
        for seed in draw_seeds(self.random_state, self.n_estimators):
            members = fit_round(estimator, X, -gradient(predicted, targets), counts, seed)
            self.estimators_.append(members)
            predicted += self.learning_rate * _ask(members, X)
        return self

    def _together(self) -> bool:
        """Say whether one regressor serves all decisions of a round."""
        return self.estimator is None and self.loss != "squared"

    def _fit_together(self, estimator, X, targets, counts, seed) -> list:
        return [_fit_one(estimator, X, targets, counts, seed)]

    def _fit_apart(self, estimator, X, targets, counts, seed) -> list:
        seeds = draw_seeds(seed, targets.shape[1])
        return Parallel(n_jobs=self.n_jobs, verbose=self.verbose)(
            delayed(_fit_one)(estimator, X, column, counts, own)
            for column, own in zip(targets.T, seeds)
        )

    def expected_costs(self, X):
        """Return the predicted cost of each decision, (n_samples, n_classes).

        With "squared" these are estimates of the expected costs, each example's least cost
        counted as 0. With the other losses only which one is least means anything.
        """
        check_is_fitted(self)
        X = self._table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        predicted = np.tile(self.start_, (X.shape[0], 1))
        step = 1.0 if self.loss == "squared" else self.learning_rate
        for members in self.estimators_:
            predicted += step * _ask(members, X)
        return predicted * self.cost_scale_

    def predict(self, X):
        """Return the decision of least predicted cost.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
            Class labels; ties go to the first.
        """
        decisions = self.expected_costs(X).argmin(axis=1)
        return self.classes_[decisions]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._estimator()).input_tags.sparse
        return tags


def _fit_one(estimator, X, target, counts, seed) -> Any:
    params = {} if counts is None else {"sample_weight": counts}
    return seeded_clone(estimator, seed).fit(X, target, **params)


def _ask(members: list, X) -> np.ndarray:
    """Return what the regressors of one round predict, (n, K)."""
    answers = [np.asarray(member.predict(X)) for member in members]
    return answers[0] if len(answers) == 1 and answers[0].ndim == 2 else np.column_stack(answers)
