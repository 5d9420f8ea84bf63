"""Gradient boosting on the expected cost itself."""

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from stakes._base import COST_MATRIX_CONSTRAINT, CostSensitiveMixin
from stakes._learning.draws import draw_seed, seeded_clone, tell
from stakes._learning.folds import deal_folds, hold_out
from stakes._learning.votes import expected_rows
from stakes._methods import method
from stakes.costs import Costs
from stakes.utils._optional import import_optional
from stakes.utils._sklearn import HasMethods, Interval, StrOptions

# A start that decides with certainty has no gradient left: the gap between the two cheapest
# decisions is stretched to this many units of score for the middle example.
START_GAP = 1.0
# Rounds of the classifier to start from, where none is given.
START_ROUNDS = 100


def expected_cost_gradient(scores: np.ndarray, costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the gradient and the curvature used for each score, both (n, K).

    With :math:`q = \mathrm{softmax}(z)` and :math:`E = \sum_k q_k C_k`, the gradient is
    :math:`g_j = q_j (C_j - E)`. The true curvature changes sign; its place is taken by
    :math:`|g_j|`, which bounds the value of a leaf by 1.
    """
    policy = softmax(scores, axis=1)
    expected = np.einsum("nd,nd->n", policy, costs)
    gradient = policy * (costs - expected[:, None])
    return gradient, np.abs(gradient)


def scores_from_expected_costs(expected: np.ndarray, gap: float) -> np.ndarray:
    """Return scores whose arg max is the cheapest decision; `gap` is one unit of score."""
    return (expected.min(axis=1, keepdims=True) - expected) / gap


def typical_gap(expected: np.ndarray) -> float:
    """Return the median difference between the two cheapest decisions, in units of START_GAP."""
    least, second = np.partition(expected, 1, axis=1)[:, :2].T
    gaps = second - least
    return float(np.median(gaps) or gaps.mean() or START_GAP) / START_GAP


def objective(scores: np.ndarray, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """Give XGBoost the gradient; the costs are the labels, so they follow their rows."""
    costs = labels.get_label().reshape(scores.shape)
    gradient, curvature = expected_cost_gradient(scores.astype(np.float64), costs)
    return gradient.astype(np.float32), curvature.astype(np.float32) + np.float32(1e-12)


def mean_expected_cost(scores: np.ndarray, labels: Any) -> tuple[str, float]:
    """Give XGBoost the figure to stop on."""
    policy = softmax(scores.astype(np.float64), axis=1)
    costs = labels.get_label().reshape(scores.shape)
    return "expected_cost", float((policy * costs).sum(axis=1).mean())


@method("boosted_cost", family="boosting", exports=("onnx",), needs=("xgboost",))
@dataclass(eq=False, repr=False)
class ExpectedCostBoostingClassifier(CostSensitiveMixin, BaseEstimator):
    r"""Expected-cost boosting: gradient boosting of the expected cost itself.

    Trees are fitted to the gradient of :math:`\sum_k q_k(x)\, C_k`, where `q` is the softmax
    of the scores and `C` the example's own cost row. It starts from the minimum expected cost
    decisions of a probabilistic classifier and moves on from there as long as held-out
    examples get cheaper, so it ends with zero rounds where there is nothing to gain.

    It serves costs known in hindsight (`costs` in `fit`) and class costs. It is *not* the one
    to use with class costs when good probabilities are to be had: calibrated probabilities
    and minimum expected cost were better in all our trials. Costs known when deciding cannot
    be given to `predict`: use `StakesClassifier` or `stakes.decision.CostDecisionClassifier`.
    Needs XGBoost: ``pip install "stakes[boost]"``.

    Parameters
    ----------
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``; 0/1 costs if None and no costs are given to `fit`.
    start : {"minimum_expected_cost", "log_probability", "zero"}, default="minimum_expected_cost"
        The scores before the first tree. The first two come from `estimator`, out of fold
        for the training rows.
    estimator : estimator instance, default=None
        Classifier with `predict_proba` to start from; an XGBoost classifier of 100 rounds
        with the same tree settings if None.
    n_estimators : int, default=200
        The most rounds; each adds one tree per class.
    learning_rate : float, default=0.1
        Shrinks each tree.
    max_depth : int, default=4
        Of each tree.
    reg_lambda : float, default=1.0
        Penalty on the squared leaf values; costs are divided by their mean first, so it does
        not depend on the currency.
    subsample, colsample_bytree : float, default=1.0
        Share of the rows and columns each tree sees.
    validation_fraction : float or None, default=0.2
        Share of the rows held out to choose the number of rounds; None uses all rows and all
        rounds.
    n_iter_no_change : int, default=30
        Rounds without a gain on the held-out rows before stopping.
    cv : int, default=5
        Folds of the out-of-fold start.
    random_state : int, RandomState instance or None, default=None
        Seeds folds, held-out rows and trees.
    n_jobs : int, default=None
        Threads of XGBoost; None is 1, -1 all cores.
    verbose : int, default=0
        1 prints a line on standard error for each round as it ends.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The costs in force; the mean row of each class where they were given per example.
    cost_kind_ : {"class", "deciding", "hindsight"}
        Which kind of costs `fit` was given.
    estimator_ : estimator or None
        The classifier the scores start from, fitted on all rows.
    n_iter_ : int
        Rounds kept; 0 where no round helped.
    initial_validation_cost_ : float or None
        Mean expected cost of the held-out rows before the first round, in units of the mean
        cost; None without held-out rows.
    validation_costs_ : ndarray
        The same after each round that was tried; empty without held-out rows.

    Notes
    -----
    Gradient :math:`g_j = q_j (C_j - E)` with :math:`E = \sum_k q_k C_k`, curvature
    :math:`|g_j|`. The loss is not convex and flat where a wrong decision is held with
    certainty: hence the start from good decisions. Adding a constant to an example's costs
    changes nothing; costs are shifted to a least of 0 and divided by their mean.

    Examples
    --------
    Two groups; in the second a missed class 1 costs 9, so class 1 is decided there although
    it is the rarer one:

    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from stakes.auto import ExpectedCostBoostingClassifier
    >>> X = np.repeat([[0.0], [1.0]], 100, axis=0)
    >>> y = np.tile([0, 0, 0, 1], 50)
    >>> missed = np.where(X[:, 0] == 1, 9.0, 1.0)
    >>> costs = np.column_stack([missed * (y == 1), 1.0 * (y == 0)])
    >>> model = ExpectedCostBoostingClassifier(estimator=DummyClassifier(), random_state=0)
    >>> model.fit(X, y, costs=costs).predict([[0.0], [1.0]])
    array([0, 1])
    """

    cost_matrix: Any = None
    _: KW_ONLY
    start: str = "minimum_expected_cost"
    estimator: Any = None
    n_estimators: int = 200
    learning_rate: float = 0.1
    max_depth: int = 4
    reg_lambda: float = 1.0
    subsample: float = 1.0
    colsample_bytree: float = 1.0
    validation_fraction: float | None = 0.2
    n_iter_no_change: int = 30
    cv: int = 5
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    _needs_packages: ClassVar[tuple] = ("xgboost",)  # it keeps what XGBoost writes, as bytes
    _parameter_constraints: ClassVar[dict] = {
        "cost_matrix": COST_MATRIX_CONSTRAINT,
        "start": [StrOptions({"minimum_expected_cost", "log_probability", "zero"})],
        "estimator": [HasMethods(["fit", "predict_proba"]), None],
        "n_estimators": [Interval(Integral, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_depth": [Interval(Integral, 1, None, closed="left")],
        "reg_lambda": [Interval(Real, 0, None, closed="left")],
        "subsample": [Interval(Real, 0, 1, closed="right")],
        "colsample_bytree": [Interval(Real, 0, 1, closed="right")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither"), None],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }
    _X_checks = {"ensure_all_finite": "allow-nan", "dtype": [np.float64, np.float32]}

    def _fit(self, X: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        xgboost = _import_xgboost()
        seed = draw_seed(self.random_state)
        rows = costs.shifted_rows()
        self.cost_scale_ = float(rows.mean()) or 1.0
        labels = rows / self.cost_scale_
        if sample_weight is not None:
            labels = labels * (sample_weight / sample_weight.mean())[:, None]
        scores = self._fit_start(X, costs.y, sample_weight, seed)
        self.n_iter_ = self.n_estimators
        self.initial_validation_cost_: float | None = None
        self.validation_costs_ = np.zeros(0)
        held_out = np.zeros(len(costs), dtype=bool)
        if self.validation_fraction is not None and self.n_estimators > 0:
            held_out = hold_out(costs.y, self.validation_fraction, seed)

        def matrix(part: np.ndarray) -> Any:
            margin = scores[part].astype(np.float32)
            return xgboost.DMatrix(X[part], label=labels[part], base_margin=margin)

        watching: dict[str, Any] = {}
        history: dict[str, Any] = {}
        if held_out.any():
            watched = matrix(held_out)
            self.initial_validation_cost_ = mean_expected_cost(scores[held_out], watched)[1]
            watching = {
                "evals": [(watched, "held_out")],
                "custom_metric": mean_expected_cost,
                "early_stopping_rounds": self.n_iter_no_change,
                "evals_result": history,
            }
        booster = xgboost.train(
            self._tree_settings()
            | {
                "lambda": self.reg_lambda,
                "base_score": 0.0,
                "num_target": costs.n_decisions,
                "tree_method": "hist",
                "disable_default_eval_metric": 1,
                "nthread": effective_n_jobs(self.n_jobs),
                "seed": seed,
                "verbosity": 0,
            },
            matrix(~held_out),
            self.n_estimators,
            obj=objective,
            verbose_eval=False,
            callbacks=[_progress(xgboost, self)],
            **watching,
        )
        if history:
            self.validation_costs_ = np.array(history["held_out"]["expected_cost"])
            self.n_iter_ = int(np.argmin([self.initial_validation_cost_, *self.validation_costs_]))
            booster = booster[: self.n_iter_] if self.n_iter_ else booster
        # Plain bytes rather than a live handle: they pickle, copy and go through skops.
        self.booster_ = np.frombuffer(booster.save_raw("json"), dtype=np.uint8).copy()

    def _tree_settings(self) -> dict[str, Any]:
        """Return what the trees and those of the default start have in common."""
        return {
            "learning_rate": self.learning_rate,
            "max_depth": self.max_depth,
            "subsample": self.subsample,
            "colsample_bytree": self.colsample_bytree,
            "min_child_weight": 0.0,
        }

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores: the decision is their arg max, for two classes their sign.

        They are scores of a randomised decision, not class probabilities.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            Higher is cheaper.
        """
        check_is_fitted(self)
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _decide(self, X: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        return self._scores(X).argmax(axis=1)

    def _scores(self, X: Any) -> np.ndarray:
        X = self._check_X(X, reset=False)
        if self.estimator_ is None:
            scores = np.zeros((len(X), self.cost_matrix_.shape[1]))
        else:
            scores = self._from_proba(self.estimator_.predict_proba(X))
        if self.n_iter_ == 0:
            return scores
        xgboost = _import_xgboost()
        booster = xgboost.Booster({"nthread": effective_n_jobs(self.n_jobs)})
        booster.load_model(bytearray(self.booster_.tobytes()))
        added = booster.predict(
            xgboost.DMatrix(X, base_margin=scores.astype(np.float32)), output_margin=True
        )
        return added.reshape(scores.shape).astype(np.float64)

    def _fit_start(
        self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None, seed: int
    ) -> np.ndarray:
        """Fit `estimator_` and return out-of-fold start scores of the training rows."""
        self.estimator_ = None
        self.start_gap_ = 1.0
        if self.start == "zero":
            return np.zeros((len(y), self.cost_matrix_.shape[1]))
        if self.start == "log_probability" and self._priced_decisions is not None:
            raise ValueError(
                f"start={self.start!r} needs decisions that are the classes: use "
                '"minimum_expected_cost", which weighs prices.'
            )
        estimator = self.estimator
        if estimator is None:
            estimator = _import_xgboost().XGBClassifier(
                **(self._tree_settings() | {"learning_rate": 0.1}),
                n_estimators=START_ROUNDS,
                reg_lambda=self.reg_lambda,
                n_jobs=effective_n_jobs(self.n_jobs),
            )
        if not has_fit_parameter(estimator, "sample_weight"):
            sample_weight = None

        def fitted(rows: np.ndarray) -> Any:
            given = {} if sample_weight is None else {"sample_weight": sample_weight[rows]}
            return seeded_clone(estimator, seed).fit(X[rows], y[rows], **given)

        self.estimator_ = fitted(np.ones(len(y), dtype=bool))
        folds = deal_folds(y, self.cv, seed)
        proba = np.zeros((len(y), len(self.classes_)))
        for fold in np.unique(folds):
            outside = folds == fold
            # The only example of a class is in no fold: every model must see it.
            model = self.estimator_ if fold < 0 else fitted(~outside)
            proba[outside] = model.predict_proba(X[outside])
        if self.start == "minimum_expected_cost":
            self.start_gap_ = typical_gap(proba @ self.cost_matrix_)
        return self._from_proba(proba)

    def _from_proba(self, proba: np.ndarray) -> np.ndarray:
        if self.start == "log_probability":
            return np.log(np.clip(proba, 1e-6, None))
        expected = expected_rows(proba, self.cost_matrix_)
        return scores_from_expected_costs(expected, self.start_gap_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _import_xgboost() -> Any:
    return import_optional("xgboost", extra="boost", purpose="ExpectedCostBoostingClassifier")


def _progress(xgboost: Any, estimator: Any) -> Any:
    """Return a callback that says how each round ends."""

    class Progress(xgboost.callback.TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            held_out = evals_log.get("held_out", {}).get("expected_cost", [])
            more = f", held-out cost {held_out[-1]:.6g}" if held_out else ""
            tell(estimator, f"round {epoch + 1}{more}")
            return False

    return Progress()
