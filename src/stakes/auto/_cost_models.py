"""Situation B2: what each decision will cost, learned from the costs of training examples.

Four ways to predict the costs, blended by weighted least squares. Letters: n example, t true
class, d decision.
"""

import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import nnls

from stakes.auto._members import FOREST_ROWS, NETWORK_ROWS, take_sample

# Share of examples without any cost above which amounts (which have logarithms) are no model.
MAX_FREE = 0.01

TITLES = {
    "class_costs": "mean costs of each class",
    "amounts": "amount times the class's costs",
    "class_regressions": "a regression for each class",
    "cost_forest": "a forest on the costs",
}


# -- the equations ---------------------------------------------------------------------------


def class_profiles(costs: np.ndarray, y: np.ndarray, n_classes: int, weight=None) -> np.ndarray:
    """Return the mean cost row of each class, (t, d); that of all examples for an absent one."""
    weight = np.ones(len(y)) if weight is None else weight
    sums = np.zeros((n_classes, costs.shape[1]))
    np.add.at(sums, y, costs * weight[:, None])
    counts = np.bincount(y, weights=weight, minlength=n_classes)
    overall = np.average(costs, axis=0, weights=weight)
    return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1e-300)[:, None], overall)


def expected_from_amounts(proba: np.ndarray, amounts: np.ndarray, profiles: np.ndarray):
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


def stack_weights(predictions: np.ndarray, costs: np.ndarray, sample_weight=None) -> np.ndarray:
    """Return weights of several predictions of costs, (m, n, d), by weighted least squares.

    Costs vary in proportion to their size, so a row counts by one over the size predicted for
    it; otherwise the few dearest examples would choose alone. Weights are not negative.

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


def _boosting(seed):
    try:
        from lightgbm import LGBMRegressor
    except ImportError:
        from sklearn.ensemble import HistGradientBoostingRegressor

        return HistGradientBoostingRegressor(
            max_iter=200, learning_rate=0.05, max_leaf_nodes=15, random_state=seed
        )
    return LGBMRegressor(
        n_estimators=200,
        learning_rate=0.05,
        num_leaves=15,
        min_child_samples=5,
        colsample_bytree=0.6,
        subsample=0.8,
        subsample_freq=1,
        n_jobs=1,
        random_state=seed,
        verbose=-1,
    )


def _network(seed):
    from sklearn.neural_network import MLPRegressor

    return MLPRegressor(
        hidden_layer_sizes=(64,), solver="lbfgs", alpha=1.0, max_iter=300, random_state=seed
    )


def _forest(seed, n_rows):
    from sklearn.ensemble import ExtraTreesRegressor

    few = n_rows > FOREST_ROWS
    return ExtraTreesRegressor(
        n_estimators=100,
        min_samples_leaf=3,
        bootstrap=few,
        max_samples=FOREST_ROWS if few else None,
        n_jobs=1,
        random_state=seed,
    )


class AmountModel:
    """Predicts the amount of an example (its mean cost) if its class were t, for every t.

    Three regressions of the logarithm of the amount on the example and its class, blended by
    least squares on held-out examples; the mean of the exponentiated residuals makes the
    amounts right on average.
    """

    def __init__(self, n_classes: int, seed: int):
        self.n_classes = n_classes
        self.seed = seed

    def fit(self, tables: dict, y, rows, amounts, weight=None) -> "AmountModel":
        """Fit on some rows of the tables; `amounts` are positive."""
        logs = np.log(amounts)
        half = np.random.RandomState(self.seed).permutation(len(rows)) % 2
        held_out = np.zeros((len(rows), 3))
        for part in (0, 1):
            inside, outside = half != part, half == part
            own = None if weight is None else weight[inside]
            models = self._fit_all(tables, y, rows[inside], logs[inside], own)
            held_out[outside] = self._ask(models, tables, rows[outside], y[rows[outside]]).T
        root = np.ones(len(rows)) if weight is None else np.sqrt(weight)
        self.centre_ = float(np.average(logs, weights=weight))
        left = (held_out - self.centre_) * root[:, None]
        self.weights_, _ = nnls(left, (logs - self.centre_) * root)
        residuals = logs - self.centre_ - (held_out - self.centre_) @ self.weights_
        self.smear_ = float(np.average(np.exp(residuals), weights=weight))
        self.models_ = self._fit_all(tables, y, rows, logs, weight)
        return self

    def _fit_all(self, tables, y, rows, logs, weight) -> list:
        trees = _with_class(tables["trees"][rows], y[rows], self.n_classes)
        sample = rows
        if len(rows) > NETWORK_ROWS:
            sample = take_sample(rows, y, NETWORK_ROWS, self.seed)
        place = np.searchsorted(rows, sample) if len(sample) < len(rows) else slice(None)
        near = _with_class(tables["distances"][sample], y[sample], self.n_classes)
        own = {} if weight is None else {"sample_weight": weight}
        near_own = {} if weight is None else {"sample_weight": weight[place]}
        return [
            _boosting(self.seed).fit(trees, logs, **own),
            _forest(self.seed, len(rows)).fit(trees, logs, **own),
            _network(self.seed).fit(near, logs[place], **near_own),
        ]

    def _ask(self, models, tables, rows, labels) -> np.ndarray:
        trees = _with_class(tables["trees"][rows], labels, self.n_classes)
        near = _with_class(tables["distances"][rows], labels, self.n_classes)
        return np.array([model.predict(t) for model, t in zip(models, (trees, trees, near))])

    def predict(self, tables: dict) -> np.ndarray:
        """Return the amounts, (n, t)."""
        n_rows = len(tables["trees"])
        everyone = np.arange(n_rows)
        amounts = np.empty((n_rows, self.n_classes))
        for label in range(self.n_classes):
            found = self._ask(self.models_, tables, everyone, np.full(n_rows, label))
            logs = self.centre_ + self.weights_ @ (found - self.centre_)
            amounts[:, label] = np.exp(logs) * self.smear_
        return amounts


def _with_class(X: np.ndarray, labels: np.ndarray, n_classes: int) -> np.ndarray:
    hot = np.zeros((len(X), n_classes))
    hot[np.arange(len(X)), labels] = 1.0
    return np.hstack([X, hot])


class CostModels:
    """The four predictions of costs, fitted on some rows.

    Parameters
    ----------
    n_classes, seed : int
        Of the problem; for the regressions.
    """

    def __init__(self, n_classes: int, seed: int):
        self.n_classes = n_classes
        self.seed = seed

    def fit(self, tables: dict, y, rows, costs, weight=None) -> "CostModels":
        """Fit on some rows; `costs` are all examples' rows with a least cost of 0."""
        own_costs, own_y = costs[rows], y[rows]
        own_weight = None if weight is None else weight[rows]
        given = {} if own_weight is None else {"sample_weight": own_weight}
        self.profiles_ = class_profiles(own_costs, own_y, self.n_classes, own_weight)
        trees = tables["trees"][rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.forest_ = _forest(self.seed, len(rows)).fit(trees, own_costs, **given)
            self.by_class_: list[Any] = []
            for label in range(self.n_classes):
                own = own_y == label
                if own.sum() < 10:  # the mean says as much
                    self.by_class_.append(None)
                    continue
                params = {} if own_weight is None else {"sample_weight": own_weight[own]}
                forest = _forest(self.seed, int(own.sum()))
                self.by_class_.append(forest.fit(trees[own], own_costs[own], **params))
            amounts = own_costs.mean(axis=1)
            self.amounts_ = None
            if np.mean(amounts <= 0) <= MAX_FREE and len(rows) >= 50:
                amounts = np.maximum(amounts, 1e-3 * amounts.mean())
                model = AmountModel(self.n_classes, self.seed)
                self.amounts_ = model.fit(tables, y, rows, amounts, own_weight)
        return self

    def predict(self, tables: dict, proba: np.ndarray) -> np.ndarray:
        """Return what each model predicts, (m, n, d), from probabilities of the same rows."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trees = tables["trees"]
            found = [proba @ self.profiles_]
            if self.amounts_ is not None:
                unit = self.profiles_.mean(axis=1, keepdims=True)
                shape = self.profiles_ / np.where(unit > 0, unit, 1.0)
                found.append(expected_from_amounts(proba, self.amounts_.predict(tables), shape))
            else:
                found.append(found[0])
            total = np.zeros_like(found[0])
            for label, forest in enumerate(self.by_class_):
                row = self.profiles_[label] if forest is None else forest.predict(trees)
                total += proba[:, [label]] * row
            found.append(total)
            found.append(self.forest_.predict(trees).reshape(total.shape))
        return np.array(found)


def _fit_fold(tables, y, costs, weight, folds, fold, proba, n_classes, seed) -> np.ndarray:
    inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
    models = CostModels(n_classes, seed).fit(tables, y, inside, costs, weight)
    part = {name: table[outside] for name, table in tables.items()}
    return models.predict(part, proba[outside])


def fit_cost_models(
    tables: dict, y, costs, proba, folds, weight=None, *, n_classes, seed, n_jobs=None
) -> tuple:
    """Fit the cost models out of fold, blend them, fit them on all rows.

    Parameters
    ----------
    tables, y, costs, folds, weight
        Of all rows; `proba` holds held-out probabilities where a fold is not -1.

    Returns
    -------
    models : CostModels
        Fitted on all rows.
    weights : ndarray of shape (4,)
        In the order of `TITLES`.
    held_out : ndarray of shape (4, n_held_out, n_decisions)
        What each predicted of the held-out rows.
    """
    fold_list = [fold for fold in np.unique(folds) if fold >= 0]
    rows = np.flatnonzero(folds >= 0)
    place = np.cumsum(folds >= 0) - 1
    parts = Parallel(n_jobs=n_jobs)(
        delayed(_fit_fold)(tables, y, costs, weight, folds, fold, proba, n_classes, seed)
        for fold in fold_list
    )
    held_out = np.zeros((len(TITLES), len(rows), costs.shape[1]))
    for fold, part in zip(fold_list, parts):
        held_out[:, place[folds == fold]] = part
    own_weight = None if weight is None else weight[rows]
    weights = stack_weights(held_out, costs[rows], own_weight)
    if not weights.any():
        weights = np.array([1.0, 0.0, 0.0, 0.0])
    models = CostModels(n_classes, seed).fit(tables, y, np.arange(len(y)), costs, weight)
    return models, weights, held_out
