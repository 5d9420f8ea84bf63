r"""Cost regression: predict what each decision costs, then take the cheapest."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from stakes._base import ExpectedCostMixin
from stakes._learning.draws import draw_seeds, fit_clone, run_members, tell
from stakes._methods import method
from stakes.costs import Costs
from stakes.reductions._base import COUNT, BaseReduction
from stakes.utils._sklearn import Interval, StrOptions

# One regressor for each of more decisions takes minutes and gigabytes; one for all is the default.
MANY_DECISIONS = 100

# -- the losses, and their gradients by the predicted costs ----------------------------------


def one_sided_gradient(predicted: np.ndarray, costs: np.ndarray) -> np.ndarray:
    r"""Return the gradient of the squared one-sided loss, (n, K).

    The cheapest decision of an example must not be predicted too expensive, the others not
    too cheap; a mistake on the other side can only help the arg min, so it is free:
    :math:`\tfrac12 \max(0, z_k (r_k - c_k))^2` with :math:`z_k = 1` for a cheapest decision
    and -1 for the others. Tu and Lin (2010), whose loss is not squared.

    Examples
    --------
    Decision 0 is the cheapest: predicted 1 too expensive. Decision 1 is predicted 2 too cheap,
    decision 2 too expensive, which does no harm:

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


GRADIENTS: dict[str, Callable[..., np.ndarray]] = {
    "squared": np.subtract,
    "one_sided": one_sided_gradient,
    "spo_plus": spo_plus_gradient,
}


# -- the estimator ---------------------------------------------------------------------------


@method("cost_regression", family="reduction", exports=("onnx",))
@dataclass(eq=False, repr=False, kw_only=True)
class CostRegressionClassifier(ExpectedCostMixin, BaseReduction):
    r"""Cost regression: predicts what each decision costs, and takes the cheapest.

    With ``loss="squared"`` one regressor for each decision predicts its expected cost, and
    `expected_costs` says what it predicts, each example's least cost counted as 0. The other
    two losses only care which decision is cheapest: they fit, round by round, regressors to
    the gradient of the loss, and of their `expected_costs` only the least means anything.

    It serves costs known in hindsight, for which it is the plainest method, and class costs.
    It is *not* the one to use with class costs: probabilities and least expected cost use the
    matrix that is known instead of learning it from the rows.

    Parameters
    ----------
    estimator : regressor instance, default=None
        For "squared", fitted once per decision. If None, a `HistGradientBoostingRegressor`; for
        more than 100 decisions, one `ExtraTreesRegressor` for all of them together.
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
        With 1, a line per round; "squared" has one.

    Attributes
    ----------
    estimators_ : list of list
        The regressors of each round; a round has one per decision, or a single one for all.
    start_ : ndarray of shape (n_classes,)
        What is predicted before the first round: the mean costs.
    cost_scale_ : float
        The mean cost, by which the costs are divided.
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The costs in force, averaged by class if they are those of examples.
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

    loss: str = "squared"
    n_estimators: int = 100
    learning_rate: float = 0.1

    _parameter_constraints: ClassVar[dict] = {
        **BaseReduction._parameter_constraints,
        "loss": [StrOptions(set(GRADIENTS))],
        "n_estimators": COUNT,
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
    }

    def _default_estimator(self) -> Any:
        if self.loss == "squared":
            from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor

            if len(getattr(self, "decisions_", ())) > MANY_DECISIONS:
                return ExtraTreesRegressor(min_samples_leaf=2)
            return HistGradientBoostingRegressor(min_samples_leaf=5)
        from sklearn.tree import DecisionTreeRegressor

        return DecisionTreeRegressor(max_depth=4, min_samples_leaf=5)

    def _fit(self, X: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        estimator = self._estimator()
        if sample_weight is not None and not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(f"{type(estimator).__name__} does not take sample_weight in fit.")
        # Only differences within a row decide: what all decisions share is left out.
        rows = costs.shifted_rows()
        self.cost_scale_ = float(np.average(rows.mean(axis=1), weights=sample_weight)) or 1.0
        targets = rows / self.cost_scale_
        self.start_ = np.average(targets, axis=0, weights=sample_weight)
        predicted = np.tile(self.start_, (len(targets), 1))
        gradient = GRADIENTS[self.loss]
        n_rounds = 1 if self.loss == "squared" else self.n_estimators
        self.estimators_: list = []
        for t, seed in enumerate(draw_seeds(self.random_state, n_rounds), start=1):
            step = -gradient(predicted, targets)
            self.estimators_.append(self._fit_round(estimator, X, step, sample_weight, seed))
            if t < n_rounds:
                predicted += self.learning_rate * _ask(self.estimators_[-1], X)
            tell(self, f"round {t} of {n_rounds}")

    def _fit_round(
        self, estimator: Any, X: Any, targets: np.ndarray, counts: np.ndarray | None, seed: int
    ) -> list:
        """Return the regressors of one round: one for all decisions, or one for each."""
        many = targets.shape[1] > MANY_DECISIONS
        if self.estimator is None and (many or self.loss != "squared"):
            return [fit_clone(estimator, seed, X, targets, counts)]
        seeds = draw_seeds(seed, targets.shape[1])
        tasks = ((estimator, own, X, column, counts) for column, own in zip(targets.T, seeds))
        return run_members(fit_clone, tasks, n_jobs=self.n_jobs)

    def _expected_costs(self, X: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        X = self._check_X(X, reset=False)
        predicted = np.tile(self.start_, (X.shape[0], 1))
        step = 1.0 if self.loss == "squared" else self.learning_rate
        for members in self.estimators_:
            predicted += step * _ask(members, X)
        return predicted * self.cost_scale_


def _ask(members: list, X: Any) -> np.ndarray:
    """Return what the regressors of one round predict, (n, K)."""
    answers = [np.asarray(member.predict(X)) for member in members]
    return answers[0] if len(answers) == 1 and answers[0].ndim == 2 else np.column_stack(answers)
