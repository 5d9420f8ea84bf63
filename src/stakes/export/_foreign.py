"""Learners of other libraries as operators: written from their arrays, in float64.

Every entry was compared with its library here, and is again at each export.
"""

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from stakes.export._graph import Graph
from stakes.export._verify import NotExportable

# By the name of the class and of the library that it comes from.
PROBABILITIES: dict[str, Callable] = {}
VALUES: dict[str, Callable] = {}
TRANSFORMS: dict[str, Callable] = {}


def enter(table: dict, *names: str) -> Callable:
    """Return a decorator that enters how an estimator is written, by its library and class."""

    def entered(function: Callable) -> Callable:
        table.update(dict.fromkeys(names, function))
        return function

    return entered


def _name_of(estimator: Any) -> str:
    kind = type(estimator)
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}"


def _write(table: dict, what: str, g: Graph, estimator: Any, X: str, rows: bool = False) -> str:
    name = _name_of(estimator)
    if name not in table:
        known = sorted(entry.partition(".")[2] for entry in table)
        raise NotExportable(
            f"{type(estimator).__name__} has no export: {what} that have one are {', '.join(known)}, and "
            "those of this library."
        )
    convert = table[name]
    return convert(g, estimator, X, rows) if convert in _WITH_ROWS else convert(g, estimator, X)


def probabilities(g: Graph, estimator: Any, X: str, rows: bool = False) -> str:
    """Return what `predict_proba` of a foreign classifier returns, (n, its classes).

    Parameters
    ----------
    g : Graph
        Is added to.
    estimator : estimator
        Fitted.
    X : str
        The features, (n, n_features).
    rows : bool, default=False
        Whether an estimator that keeps training rows may be exported with them.
    """
    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps[:-1]:
            X = transformed(g, step, X, rows)
        return probabilities(g, estimator.steps[-1][1], X, rows)
    return _write(PROBABILITIES, "classifiers", g, estimator, X, rows)


def values(g: Graph, estimator: Any, X: str) -> str:
    """Return what `predict` of a foreign regressor returns, (n, its targets)."""
    return _write(VALUES, "regressors", g, estimator, X)


def transformed(g: Graph, step: Any, X: str, rows: bool = False) -> str:
    """Return what `transform` of a foreign transformer returns."""
    return _write(TRANSFORMS, "transformers", g, step, X, rows)


_WITH_ROWS: set[Callable] = set()


def _holds_rows(function: Callable) -> Callable:
    _WITH_ROWS.add(function)
    return function


def keeps_rows(estimator: Any) -> bool:
    """Say whether an estimator, or a step of a pipeline, compares with training rows."""
    if isinstance(estimator, Pipeline):
        return any(keeps_rows(step) for _, step in estimator.steps)
    tables = (PROBABILITIES, TRANSFORMS)
    return any(table.get(_name_of(estimator)) in _WITH_ROWS for table in tables)


def _check_rows(estimator: Any, allowed: bool) -> None:
    if not allowed:
        raise NotExportable(
            f"{type(estimator).__name__} compares with training rows, which the file would hold: "
            "leave it out of the model, or say training_rows=True if those who get the file may "
            "see them."
        )


# -- linear models, networks, densities ----------------------------------------------------------


def _affine(g: Graph, X: str, coef: np.ndarray, intercept: np.ndarray) -> str:
    return g.op("Add", g.op("MatMul", X, np.ascontiguousarray(coef.T)), intercept[None])


def two_sided(g: Graph, margin: str) -> str:
    """Return (1 - p, p) of the log odds of the second class."""
    p = g.op("Sigmoid", margin)
    return g.concat([g.op("Sub", 1.0, p), p])


@enter(PROBABILITIES, "sklearn.LogisticRegression")
def _logistic(g: Graph, model: Any, X: str) -> str:
    scores = _affine(g, X, model.coef_, model.intercept_)
    return two_sided(g, scores) if len(model.coef_) == 1 else g.op("Softmax", scores, axis=1)


def _activated(g: Graph, X: str, name: str) -> str:
    kinds = {"relu": "Relu", "tanh": "Tanh", "logistic": "Sigmoid", "identity": "Identity"}
    return g.op(kinds[name], X)


def _network(g: Graph, model: Any, X: str) -> str:
    for i, (coef, intercept) in enumerate(zip(model.coefs_, model.intercepts_)):
        X = _affine(g, X, coef.T.astype(float), intercept.astype(float))
        if i < len(model.coefs_) - 1:
            X = _activated(g, X, model.activation)
    return X


@enter(PROBABILITIES, "sklearn.MLPClassifier")
def _network_classifier(g: Graph, model: Any, X: str) -> str:
    scores = _network(g, model, X)
    if model.out_activation_ == "logistic":
        if len(model.classes_) != 2:
            raise NotExportable("A network of several labels at once has no export.")
        return two_sided(g, scores)
    return g.op("Softmax", scores, axis=1)


@enter(VALUES, "sklearn.MLPRegressor")
def _network_regressor(g: Graph, model: Any, X: str) -> str:
    return _network(g, model, X)


@enter(PROBABILITIES, "sklearn.VotingClassifier")
def _soft_votes(g: Graph, model: Any, X: str) -> str:
    if model.voting != "soft":
        raise NotExportable('A VotingClassifier has an export with voting="soft" alone.')
    weights = model._weights_not_none
    weights = np.ones(len(model.estimators_)) if weights is None else np.asarray(weights, float)
    parts = [
        g.op("Mul", probabilities(g, part, X), float(w))
        for part, w in zip(model.estimators_, weights / weights.sum())
    ]
    return parts[0] if len(parts) == 1 else g.op("Sum", *parts)


def _gaussian_scores(g: Graph, X: str, means: Any, factors: Any, constants: Any) -> str:
    """Return the log densities: minus half of the squared length of (x - mean) @ factor."""
    columns = []
    for mean, factor, constant in zip(means, factors, constants):
        away = g.op("MatMul", g.op("Sub", X, np.asarray(mean)[None]), np.ascontiguousarray(factor))
        squares = g.sum(g.op("Mul", away, away))
        columns.append(g.op("Add", g.op("Mul", squares, -0.5), float(constant)))
    return g.concat(columns)


@enter(PROBABILITIES, "sklearn.QuadraticDiscriminantAnalysis")
def _discriminant(g: Graph, model: Any, X: str) -> str:
    factors = [r / np.sqrt(s) for r, s in zip(model.rotations_, model.scalings_)]
    constants = [
        -0.5 * np.log(s).sum() + np.log(p) for s, p in zip(model.scalings_, model.priors_)
    ]
    return g.op("Softmax", _gaussian_scores(g, X, model.means_, factors, constants), axis=1)


@enter(PROBABILITIES, "sklearn.DummyClassifier")
def _dummy(g: Graph, model: Any, X: str) -> str:
    if model.strategy not in ("prior", "most_frequent"):
        raise NotExportable(f"A DummyClassifier that is {model.strategy!r} has no export.")
    prior = np.asarray(model.class_prior_, dtype=float)
    if model.strategy == "most_frequent":
        prior = np.eye(len(prior))[prior.argmax()]
    return g.repeat(prior, X)


# -- those that compare with training rows --------------------------------------------------------


def _squared_distances(g: Graph, X: str, rows: np.ndarray) -> str:
    own = g.sum(g.op("Mul", X, X))
    cross = g.op("MatMul", X, np.ascontiguousarray(rows.T))
    total = g.op("Add", g.op("Sub", own, g.op("Mul", cross, 2.0)), (rows**2).sum(axis=1)[None])
    return g.op("Max", total, 0.0)


@enter(TRANSFORMS, "sklearn.Nystroem")
@_holds_rows
def _nystroem(g: Graph, step: Any, X: str, rows: bool) -> str:
    if step.kernel != "rbf":
        raise NotExportable(f"Nystroem with the kernel {step.kernel!r} has no export.")
    _check_rows(step, rows)
    gamma = 1.0 / step.components_.shape[1] if step.gamma is None else step.gamma
    near = g.op("Exp", g.op("Mul", _squared_distances(g, X, step.components_), -float(gamma)))
    return g.op("MatMul", near, np.ascontiguousarray(step.normalization_.T))


@enter(PROBABILITIES, "sklearn.KNeighborsClassifier")
@_holds_rows
def _neighbours(g: Graph, model: Any, X: str, rows: bool) -> str:
    if model.weights != "distance" or model.effective_metric_ != "euclidean":
        raise NotExportable("Nearest neighbours have an export by euclidean distance alone.")
    _check_rows(model, rows)
    known = np.asarray(model._fit_X, dtype=float)
    squared = _squared_distances(g, X, known)
    n_kept = min(model.n_neighbors, len(known))
    _, at = g.ops("TopK", 2, squared, np.array([n_kept]), axis=1, largest=0)
    # The distances anew, from the differences: a distance of zero must be zero.
    points = g.op("Gather", known, at)
    away = g.op("Sub", points, g.op("Unsqueeze", X, np.array([1])))
    distance = g.op("Sqrt", g.sum(g.op("Mul", away, away), axis=2, keep=False))
    same = g.op("Equal", distance, 0.0)
    any_same = g.op("Greater", g.sum(g.cast(same, float)), 0.0)
    inverse = g.op("Div", 1.0, g.op("Where", same, 1.0, distance))
    weight = g.op("Where", any_same, g.cast(same, float), inverse)
    votes = np.eye(len(model.classes_))[np.asarray(model._y).ravel()]
    shares = g.op("Mul", g.op("Gather", votes, at), g.op("Unsqueeze", weight, np.array([2])))
    return g.normalized(g.sum(shares, axis=1, keep=False), len(model.classes_))


# -- transformers ----------------------------------------------------------------------------------


@enter(TRANSFORMS, "sklearn.StandardScaler")
def _scaled(g: Graph, step: Any, X: str) -> str:
    if step.with_mean:
        X = g.op("Sub", X, step.mean_[None])
    return g.op("Div", X, step.scale_[None]) if step.with_std else X


@enter(TRANSFORMS, "sklearn.PolynomialFeatures")
def _products(g: Graph, step: Any, X: str) -> str:
    n_columns = step.n_features_in_
    padded = g.concat([X, g.repeat(np.ones(1), X)])
    factors = [np.repeat(np.arange(n_columns), powers) for powers in step.powers_]
    most = max(map(len, factors))
    # What has fewer factors is multiplied by the column of ones.
    places = np.array([[*f, *[n_columns] * (most - len(f))] for f in factors])
    columns = [g.op("Gather", padded, places[:, i], axis=1) for i in range(most)]
    return reduce(lambda a, b: g.op("Mul", a, b), columns)


@enter(TRANSFORMS, "sklearn.SimpleImputer")
def _imputed(g: Graph, step: Any, X: str) -> str:
    filled = np.asarray(step.statistics_, dtype=float)
    # what is missing is NaN if it is not equal to itself
    if step.add_indicator or np.isnan(filled).any() or step.missing_values == step.missing_values:
        raise NotExportable(
            "A SimpleImputer has an export where NaN is missing, no column is empty and no "
            "indicator is added."
        )
    return g.op("Where", g.op("IsNaN", X), filled[None], X)
