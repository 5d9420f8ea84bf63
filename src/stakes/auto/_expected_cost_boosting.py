"""Gradient boosting on the expected cost itself."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from stakes._base import COST_MATRIX_CONSTRAINT, CostSensitiveMixin
from stakes.utils._optional import import_optional
from stakes.utils._sklearn import HasMethods, Interval, StrOptions, fit_context, validate_data

# A start that decides with certainty has no gradient left: the gap between the two cheapest
# decisions is stretched to this many units of score for the middle example.
START_GAP = 1.0
# Rounds of the classifier to start from, where none is given.
START_ROUNDS = 100


def softmax(scores: np.ndarray) -> np.ndarray:
    """Turn scores into the probabilities of a randomised decision, row by row."""
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def expected_cost_gradient(scores: np.ndarray, costs: np.ndarray) -> tuple:
    r"""Return the gradient and the curvature used for each score, both (n, K).

    With :math:`q = \mathrm{softmax}(z)` and :math:`E = \sum_k q_k C_k`, the gradient is
    :math:`g_j = q_j (C_j - E)`. The true curvature changes sign; its place is taken by
    :math:`|g_j|`, which bounds the value of a leaf by 1.
    """
    policy = softmax(scores)
    expected = np.einsum("nd,nd->n", policy, costs)
    gradient = policy * (costs - expected[:, None])
    return gradient, np.abs(gradient)


def scores_from_expected_costs(expected: np.ndarray, gap: float) -> np.ndarray:
    """Return scores whose arg max is the cheapest decision; `gap` is one unit of score."""
    return (expected.min(axis=1, keepdims=True) - expected) / gap


def typical_gap(expected: np.ndarray) -> float:
    """Return the median difference between the two cheapest decisions, in units of START_GAP."""
    two = np.partition(expected, 1, axis=1)[:, :2]
    gap = float(np.median(two[:, 1] - two[:, 0]))
    if gap <= 0:
        gap = float(np.mean(two[:, 1] - two[:, 0]))
    return gap / START_GAP if gap > 0 else 1.0


def objective(scores, labels):
    """Give XGBoost the gradient; the costs are the labels, so they follow their rows."""
    costs = labels.get_label().reshape(scores.shape)
    gradient, curvature = expected_cost_gradient(scores.astype(np.float64), costs)
    return gradient.astype(np.float32), curvature.astype(np.float32) + np.float32(1e-12)


def mean_expected_cost(scores, labels):
    """Give XGBoost the figure to stop on."""
    costs = labels.get_label().reshape(scores.shape)
    return "expected_cost", float((softmax(scores.astype(np.float64)) * costs).sum(axis=1).mean())


class ExpectedCostBoostingClassifier(CostSensitiveMixin, BaseEstimator):
    r"""Gradient boosting whose loss is the expected cost of a randomised decision.

    Trees are fitted to the gradient of :math:`\sum_k q_k(x)\, C_k`, where `q` is the softmax
    of the scores and `C` the example's own cost row. It starts from the minimum expected cost
    decisions of a probabilistic classifier and moves on from there as long as held-out
    examples get cheaper, so it ends with zero rounds where there is nothing to gain.

    It serves situation B2 (example costs seen in training only) and A (a class matrix). It is
    *not* the one to use in situation A when good probabilities are to be had: calibrated
    probabilities and minimum expected cost were better in all our trials. In situation B1 the
    costs of the day cannot be given to `predict`: use `StakesClassifier` or
    `stakes.decision.CostDecisionClassifier`. Needs XGBoost: ``pip install "stakes[boost]"``.

    Parameters
    ----------
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``, for situation A; 0/1 costs if None and no `costs`
        are given to `fit`.
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
        Threads of XGBoost; None is 1.
    verbose : int, default=0
        Print the held-out cost every `verbose` rounds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The costs in force; in situation B2 the mean cost row of each class.
    estimator_ : estimator or None
        The classifier the scores start from, fitted on all rows.
    n_estimators_ : int
        Rounds kept; 0 where no round helped.
    validation_costs_ : ndarray
        Mean expected cost of the held-out rows before the first round and after each, in
        units of the mean cost; empty without held-out rows.

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

    _parameter_constraints: dict = {
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

    def __init__(
        self,
        cost_matrix=None,
        *,
        start="minimum_expected_cost",
        estimator=None,
        n_estimators=200,
        learning_rate=0.1,
        max_depth=4,
        reg_lambda=1.0,
        subsample=1.0,
        colsample_bytree=1.0,
        validation_fraction=0.2,
        n_iter_no_change=30,
        cv=5,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.cost_matrix = cost_matrix
        self.start = start
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.reg_lambda = reg_lambda
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        """Fit the start, then the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers; missing ones may be NaN.
        y : array-like of shape (n_samples,)
            The true classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each example counts.
        costs : array-like of shape (n_samples, n_classes), default=None
            What each decision costs for each example (situation B2).
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            [example, true, predicted]; `y` picks the row.

        Returns
        -------
        self : ExpectedCostBoostingClassifier
            Fitted.
        """
        xgboost = import_optional(
            "xgboost", extra="boost", purpose="ExpectedCostBoostingClassifier"
        )
        X, training, sample_weight = self._validate_training(
            X,
            y,
            costs=costs,
            cost_tensor=cost_tensor,
            sample_weight=sample_weight,
            ensure_all_finite="allow-nan",
            dtype=[np.float64, np.float32],
        )
        rng = check_random_state(self.random_state)
        seed = int(rng.randint(2**31 - 1))
        rows = training.shifted_rows()
        self.cost_scale_ = float(rows.mean()) or 1.0
        labels = rows / self.cost_scale_
        if sample_weight is not None:
            labels = labels * (sample_weight / sample_weight.mean())[:, None]

        scores = self._fit_start(X, training, sample_weight, seed)
        held_out = self._held_out(training.y, seed)
        parameters = {
            "eta": self.learning_rate,
            "max_depth": self.max_depth,
            "lambda": self.reg_lambda,
            "subsample": self.subsample,
            "colsample_bytree": self.colsample_bytree,
            "min_child_weight": 0.0,
            "base_score": 0.0,
            "num_target": training.n_classes,
            "tree_method": "hist",
            "disable_default_eval_metric": 1,
            "nthread": _threads(self.n_jobs),
            "seed": seed,
            "verbosity": 0,
        }
        kept = slice(None) if held_out is None else ~held_out
        booster, self.n_estimators_, self.validation_costs_ = _boost(
            xgboost,
            parameters,
            (X[kept], labels[kept], scores[kept]),
            None if held_out is None else (X[held_out], labels[held_out], scores[held_out]),
            n_rounds=self.n_estimators,
            patience=self.n_iter_no_change,
            verbose=int(self.verbose),
        )
        # Plain bytes rather than a live handle: they pickle, copy and go through skops.
        self.booster_ = np.frombuffer(booster.save_raw("ubj"), dtype=np.uint8).copy()
        return self

    def decision_function(self, X):
        """Return the scores: the decision is their arg max, for two classes their sign.

        They are scores of a randomised decision, not class probabilities.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            Higher is cheaper.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X):
        """Return the decision of highest score; ties go to the first class."""
        scores = self._scores(X)
        return self.classes_[scores.argmax(axis=1)]

    def _scores(self, X) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(
            self, X, reset=False, ensure_all_finite="allow-nan", dtype=[np.float64, np.float32]
        )
        scores = self._start_scores(self.estimator_, X)
        if self.n_estimators_ == 0:
            return scores
        xgboost = import_optional(
            "xgboost", extra="boost", purpose="ExpectedCostBoostingClassifier"
        )
        booster = xgboost.Booster({"nthread": _threads(self.n_jobs)})
        booster.load_model(bytearray(self.booster_.tobytes()))
        added = booster.predict(
            xgboost.DMatrix(X, base_margin=scores.astype(np.float32)), output_margin=True
        )
        return added.reshape(scores.shape).astype(np.float64)

    def _fit_start(self, X, training, sample_weight, seed) -> np.ndarray:
        """Fit `estimator_` and return out-of-fold start scores of the training rows."""
        self.estimator_ = None
        self.start_gap_ = 1.0
        n_samples, n_classes = len(training), training.n_classes
        if self.start == "zero":
            return np.zeros((n_samples, n_classes))
        estimator = self.estimator
        if estimator is None:
            from xgboost import XGBClassifier

            estimator = XGBClassifier(
                n_estimators=START_ROUNDS,
                learning_rate=0.1,
                max_depth=self.max_depth,
                reg_lambda=self.reg_lambda,
                min_child_weight=0.0,
                subsample=self.subsample,
                colsample_bytree=self.colsample_bytree,
                n_jobs=_threads(self.n_jobs),
                random_state=seed,
            )
        y = training.y
        weighted = sample_weight is not None and has_fit_parameter(estimator, "sample_weight")

        def fitted(rows):
            given = {"sample_weight": sample_weight[rows]} if weighted else {}
            return clone(estimator).fit(X[rows], y[rows], **given)

        smallest = int(np.bincount(y).min())
        proba = np.zeros((n_samples, n_classes))
        if smallest >= 2:
            folds = StratifiedKFold(min(self.cv, smallest), shuffle=True, random_state=seed)
            for inside, outside in folds.split(X, y):
                proba[outside] = fitted(inside).predict_proba(X[outside])
            self.estimator_ = fitted(np.arange(n_samples))
        else:  # a class with one example: every fold must see it, so nothing is out of fold
            self.estimator_ = fitted(np.arange(n_samples))
            proba = self.estimator_.predict_proba(X)
        if self.start == "minimum_expected_cost":
            self.start_gap_ = typical_gap(proba @ self.cost_matrix_)
        return self._from_proba(proba)

    def _start_scores(self, estimator, X) -> np.ndarray:
        if estimator is None:
            return np.zeros((len(X), len(self.classes_)))
        return self._from_proba(estimator.predict_proba(X))

    def _from_proba(self, proba) -> np.ndarray:
        if self.start == "log_probability":
            return np.log(np.clip(proba, 1e-6, None))
        return scores_from_expected_costs(proba @ self.cost_matrix_, self.start_gap_)

    def _held_out(self, y, seed) -> np.ndarray | None:
        """Return a mask of the rows that choose the number of rounds; every class is in both."""
        if self.validation_fraction is None or self.n_estimators == 0:
            return None
        rng = np.random.RandomState(seed)
        mask = np.zeros(len(y), dtype=bool)
        for label in range(y.max() + 1):
            rows = rng.permutation(np.flatnonzero(y == label))
            mask[rows[: int(self.validation_fraction * len(rows))]] = True
        return mask if mask.any() else None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _threads(n_jobs) -> int:
    from joblib import effective_n_jobs

    return effective_n_jobs(n_jobs)


def _boost(xgboost, parameters, train, held_out, *, n_rounds, patience, verbose):
    """Return (booster, rounds kept, held-out cost before the first round and after each)."""

    def matrix(parts):
        X, labels, scores = parts
        return xgboost.DMatrix(X, label=labels, base_margin=scores.astype(np.float32))

    if held_out is None:
        booster = xgboost.train(parameters, matrix(train), n_rounds, obj=objective)
        return booster, n_rounds, np.zeros(0)
    history = {}
    watched = matrix(held_out)
    booster = xgboost.train(
        parameters,
        matrix(train),
        n_rounds,
        evals=[(watched, "held_out")],
        obj=objective,
        custom_metric=mean_expected_cost,
        early_stopping_rounds=patience,
        evals_result=history,
        verbose_eval=verbose or False,
    )
    before = mean_expected_cost(held_out[2], watched)[1]
    costs = np.array([before, *history["held_out"]["expected_cost"]])
    best = int(costs.argmin())
    return booster[:best] if best else booster, best, costs
