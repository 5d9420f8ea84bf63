"""Costs known in hindsight: what each decision will cost, learned from training examples.

Four ways to predict the costs, blended by weighted least squares. Letters: n example, t true
class, d decision.
"""

from typing import Any

import numpy as np
from scipy.optimize import nnls

from stakes._learning.draws import run_members
from stakes._learning.votes import expected_rows, one_hot
from stakes.auto._members import (
    NETWORK_ROWS,
    SAMPLED,
    Sample,
    forest_options,
    gradient_boosting,
    take_sample,
)
from stakes.utils._notices import quiet

# Share of examples without any cost above which amounts (which have logarithms) are no model.
MAX_FREE = 0.01

TITLES = {
    "class_costs": "mean costs of each class",
    "amounts": "amount times the class's costs",
    "class_regressions": "a regression for each class",
    "cost_forest": "a forest on the costs",
}


# -- the equations ---------------------------------------------------------------------------


def class_profiles(
    costs: np.ndarray, y: np.ndarray, n_classes: int, weight: np.ndarray | None = None
) -> np.ndarray:
    """Return the mean cost row of each class, (t, d); that of all examples for an absent one."""
    weight = np.ones(len(y)) if weight is None else weight
    sums = np.zeros((n_classes, costs.shape[1]))
    np.add.at(sums, y, costs * weight[:, None])
    counts = np.bincount(y, weights=weight, minlength=n_classes)
    overall = np.average(costs, axis=0, weights=weight)
    return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1e-300)[:, None], overall)


def expected_from_amounts(
    proba: np.ndarray, amounts: np.ndarray, profiles: np.ndarray
) -> np.ndarray:
    """Return expected costs, (n, d): probability times amount times the class's costs.

    Examples
    --------
    Two classes, half and half; a miss of the second costs 5 per unit, and its amount is 3:

    >>> from stakes.auto._cost_models import expected_from_amounts
    >>> profiles = np.array([[0.0, 1.0], [5.0, 0.0]])
    >>> expected_from_amounts(np.array([[0.5, 0.5]]), np.array([[2.0, 3.0]]), profiles)
    array([[7.5, 1. ]])
    """
    return np.einsum("nt,nt,td->nd", proba, amounts, profiles)


def centred(costs: np.ndarray) -> np.ndarray:
    """Return costs minus the mean of their row: only differences decide."""
    return costs - costs.mean(axis=-1, keepdims=True)


def stack_weights(
    predictions: np.ndarray, costs: np.ndarray, sample_weight: np.ndarray | None = None
) -> np.ndarray:
    """Return weights of several predictions of costs, (m, n, d), by weighted least squares.

    Costs vary in proportion to their size, so a row counts by one over the size predicted for
    it; otherwise the few most expensive examples would choose alone. Weights are not negative.

    Examples
    --------
    The first prediction is half of the truth, the second has nothing to do with it:

    >>> from stakes.auto._cost_models import stack_weights
    >>> costs = np.array([[0.0, 4.0], [2.0, 0.0]])
    >>> stack_weights(np.array([costs / 2, [[1.0, 1.0], [3.0, 3.0]]]), costs).round(3)
    array([2., 0.])
    """
    size = np.ptp(predictions.mean(axis=0), axis=1)
    scale = 1.0 / np.maximum(size, 0.05 * (size.mean() or 1.0))
    if sample_weight is not None:
        scale = scale * np.sqrt(sample_weight)
    left = centred(predictions) * scale[None, :, None]
    right = centred(costs) * scale[:, None]
    weights, _ = nnls(left.reshape(len(predictions), -1).T, right.ravel())
    return weights


# -- fitting ---------------------------------------------------------------------------------


def _network(seed: int) -> Any:
    from sklearn.neural_network import MLPRegressor

    options = {"hidden_layer_sizes": (64,), "solver": "lbfgs", "alpha": 1.0, "max_iter": 300}
    return MLPRegressor(**options, random_state=seed)


def _forest(seed: int, n_rows: int) -> Any:
    from sklearn.ensemble import ExtraTreesRegressor

    return ExtraTreesRegressor(100, min_samples_leaf=3, **forest_options(n_rows, seed))


class AmountModel:
    """Predicts the amount of an example (its mean cost) if its class were t, for every t.

    Three regressions of the logarithm of the amount on the example and its class, blended by
    least squares on held-out examples; the mean of the exponentiated residuals makes the
    amounts right on average.
    """

    def fit(self, sample: Sample, rows: np.ndarray, amounts: np.ndarray) -> "AmountModel":
        """Fit on some rows of the sample; `amounts` are theirs, and positive."""
        self.n_classes = sample.n_classes
        logs = np.log(amounts)
        half = np.random.RandomState(sample.seed).permutation(len(rows)) % 2
        held_out = np.zeros((len(rows), 3))
        for part in (0, 1):
            inside, outside = half != part, half == part
            models = self._fit_all(sample, rows[inside], logs[inside])
            tables = sample.take_tables(rows[outside])
            held_out[outside] = self._ask(models, tables, sample.y[rows[outside]]).T
        weight = sample.take_weight(rows)
        root = np.ones(len(rows)) if weight is None else np.sqrt(weight)
        self.centre_ = float(np.average(logs, weights=weight))
        left = (held_out - self.centre_) * root[:, None]
        self.weights_, _ = nnls(left, (logs - self.centre_) * root)
        residuals = logs - self.centre_ - (held_out - self.centre_) @ self.weights_
        self.smear_ = float(np.average(np.exp(residuals), weights=weight))
        self.models_ = self._fit_all(sample, rows, logs)
        return self

    def _fit_all(self, sample: Sample, rows: np.ndarray, logs: np.ndarray) -> list:
        few = take_sample(rows, sample.y, NETWORK_ROWS, sample.seed)
        trees = self._with_class(sample.tables["trees"][rows], sample.y[rows])
        near = self._with_class(sample.tables["distances"][few], sample.y[few])
        weight = sample.take_weight(rows)
        boosting = gradient_boosting(
            "Regressor", sample.seed, rounds=200, rate=0.05, leaves=15, least=5, **SAMPLED
        )
        return [
            boosting.fit(trees, logs, sample_weight=weight),
            _forest(sample.seed, len(rows)).fit(trees, logs, sample_weight=weight),
            _network(sample.seed).fit(
                near, logs[np.searchsorted(rows, few)], sample_weight=sample.take_weight(few)
            ),
        ]

    def _with_class(self, X: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return np.hstack([X, one_hot(labels, self.n_classes)])

    def _ask(self, models: list, tables: dict, labels: np.ndarray) -> np.ndarray:
        forms = ("trees", "trees", "distances")
        tables = {form: self._with_class(table, labels) for form, table in tables.items()}
        return np.array([model.predict(tables[form]) for model, form in zip(models, forms)])

    def predict(self, tables: dict) -> np.ndarray:
        """Return the amounts, (n, t)."""
        n_rows = len(tables["trees"])
        amounts = np.empty((n_rows, self.n_classes))
        for label in range(self.n_classes):
            found = self._ask(self.models_, tables, np.full(n_rows, label))
            logs = self.centre_ + self.weights_ @ (found - self.centre_)
            amounts[:, label] = np.exp(logs) * self.smear_
        return amounts


class CostModels:
    """The four predictions of costs, fitted on some rows."""

    def fit(self, sample: Sample, rows: np.ndarray, costs: np.ndarray) -> "CostModels":
        """Fit on some rows; `costs` are all examples' rows with a least cost of 0."""
        y, own_costs, trees = sample.y[rows], costs[rows], sample.tables["trees"][rows]
        self.profiles_ = class_profiles(own_costs, y, sample.n_classes, sample.take_weight(rows))

        def forest(part: np.ndarray) -> Any:
            model = _forest(sample.seed, len(part))
            weight = sample.take_weight(rows[part])
            return model.fit(trees[part], own_costs[part], sample_weight=weight)

        with quiet():
            self.forest_ = forest(np.arange(len(rows)))
            by_class = [np.flatnonzero(y == label) for label in range(sample.n_classes)]
            # Of few examples the mean says as much.
            self.by_class_ = [forest(part) if len(part) >= 10 else None for part in by_class]
            amounts = own_costs.mean(axis=1)
            self.amounts_ = None
            if np.mean(amounts <= 0) <= MAX_FREE and len(rows) >= 50:
                amounts = np.maximum(amounts, 1e-3 * amounts.mean())
                self.amounts_ = AmountModel().fit(sample, rows, amounts)
        return self

    def predict(self, tables: dict, proba: np.ndarray) -> np.ndarray:
        """Return what each model predicts, (m, n, d), from probabilities of the same rows."""
        trees = tables["trees"]
        by_profile = expected_rows(proba, self.profiles_)
        by_amount, by_regression = by_profile, np.zeros_like(by_profile)
        with quiet():
            if self.amounts_ is not None:
                unit = self.profiles_.mean(axis=1, keepdims=True)
                shape = self.profiles_ / np.where(unit > 0, unit, 1.0)
                by_amount = expected_from_amounts(proba, self.amounts_.predict(tables), shape)
            for label, forest in enumerate(self.by_class_):
                row = self.profiles_[label] if forest is None else forest.predict(trees)
                by_regression += proba[:, [label]] * row
            by_forest = self.forest_.predict(trees).reshape(by_profile.shape)
        return np.array([by_profile, by_amount, by_regression, by_forest])


def _fit_fold(
    sample: Sample, costs: np.ndarray, inside: np.ndarray, outside: np.ndarray, proba: np.ndarray
) -> np.ndarray:
    models = CostModels().fit(sample, inside, costs)
    return models.predict(sample.take_tables(outside), proba)


def fit_cost_models(
    sample: Sample,
    costs: np.ndarray,
    proba: np.ndarray,
    folds: np.ndarray,
    n_jobs: int | None = None,
) -> tuple[CostModels, np.ndarray, np.ndarray]:
    """Fit the cost models out of fold, blend them, fit them on all rows.

    Parameters
    ----------
    sample : Sample
        All rows.
    costs : ndarray of shape (n_samples, n_decisions)
        Their costs, with a least cost of 0 in each row.
    proba : ndarray of shape (n_held_out, n_classes)
        Held-out probabilities of the rows whose fold is not -1.
    folds : ndarray of shape (n_samples,)
        The fold of each row; -1 is never held out.
    n_jobs : int, default=None
        Folds side by side.

    Returns
    -------
    models : CostModels
        Fitted on all rows.
    weights : ndarray of shape (4,)
        In the order of `TITLES`.
    held_out : ndarray of shape (4, n_held_out, n_decisions)
        What each predicted of the held-out rows.
    """
    rows = np.flatnonzero(folds >= 0)
    own = folds[rows]
    tasks = [
        (sample, costs, np.flatnonzero(folds != fold), rows[own == fold], proba[own == fold])
        for fold in np.unique(own)
    ]
    held_out = np.zeros((len(TITLES), len(rows), costs.shape[1]))
    for fold, part in zip(np.unique(own), run_members(_fit_fold, tasks, n_jobs=n_jobs)):
        held_out[:, own == fold] = part
    weights = stack_weights(held_out, costs[rows], sample.take_weight(rows))
    if not weights.any():
        weights = np.array([1.0, 0.0, 0.0, 0.0])
    return CostModels().fit(sample, np.arange(len(costs)), costs), weights, held_out
