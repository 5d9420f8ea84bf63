"""Learners of other libraries as operators: written from their arrays, in float64.

Every entry was compared with its library here, and is again at each export.
"""

import json
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from stakes.export._graph import Graph
from stakes.export._trees import Leaves, tree_sums
from stakes.export._verify import NotExportable
from stakes.tree.engine import Questions

LIGHTGBM_ZERO = float(np.float32(1e-35))
LIGHTGBM_INFINITY = 1e300  # as it writes infinity
# By the name of the class and of the library that it comes from.
_PROBABILITIES: dict[str, Callable] = {}
_VALUES: dict[str, Callable] = {}
_TRANSFORMS: dict[str, Callable] = {}


def _enter(table: dict, *names: str) -> Callable:
    def enter(function: Callable) -> Callable:
        table.update(dict.fromkeys(names, function))
        return function

    return enter


def _name_of(estimator: Any) -> str:
    kind = type(estimator)
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}"


def _write(table: dict, what: str, g: Graph, estimator: Any, X: str, rows: bool = False) -> str:
    name = _name_of(estimator)
    if name not in table:
        known = sorted(found.partition(".")[2] for found in table)
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
    return _write(_PROBABILITIES, "classifiers", g, estimator, X, rows)


def values(g: Graph, estimator: Any, X: str) -> str:
    """Return what `predict` of a foreign regressor returns, (n, its targets)."""
    return _write(_VALUES, "regressors", g, estimator, X)


def transformed(g: Graph, step: Any, X: str, rows: bool = False) -> str:
    """Return what `transform` of a foreign transformer returns."""
    return _write(_TRANSFORMS, "transformers", g, step, X, rows)


_WITH_ROWS: set[Callable] = set()


def _holds_rows(function: Callable) -> Callable:
    _WITH_ROWS.add(function)
    return function


def keeps_rows(estimator: Any) -> bool:
    """Say whether an estimator, or a step of a pipeline, compares with training rows."""
    if isinstance(estimator, Pipeline):
        return any(keeps_rows(step) for _, step in estimator.steps)
    tables = (_PROBABILITIES, _TRANSFORMS)
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


def _two_sided(g: Graph, margin: str) -> str:
    """Return (1 - p, p) of the log odds of the second class."""
    p = g.op("Sigmoid", margin)
    return g.concat([g.op("Sub", 1.0, p), p])


@_enter(_PROBABILITIES, "sklearn.LogisticRegression")
def _logistic(g: Graph, model: Any, X: str) -> str:
    scores = _affine(g, X, model.coef_, model.intercept_)
    return _two_sided(g, scores) if len(model.coef_) == 1 else g.op("Softmax", scores, axis=1)


def _activated(g: Graph, X: str, name: str) -> str:
    kinds = {"relu": "Relu", "tanh": "Tanh", "logistic": "Sigmoid", "identity": "Identity"}
    return g.op(kinds[name], X)


def _network(g: Graph, model: Any, X: str) -> str:
    for i, (coef, intercept) in enumerate(zip(model.coefs_, model.intercepts_)):
        X = _affine(g, X, coef.T.astype(float), intercept.astype(float))
        if i < len(model.coefs_) - 1:
            X = _activated(g, X, model.activation)
    return X


@_enter(_PROBABILITIES, "sklearn.MLPClassifier")
def _network_classifier(g: Graph, model: Any, X: str) -> str:
    scores = _network(g, model, X)
    if model.out_activation_ == "logistic":
        if len(model.classes_) != 2:
            raise NotExportable("A network of several labels at once has no export.")
        return _two_sided(g, scores)
    return g.op("Softmax", scores, axis=1)


@_enter(_VALUES, "sklearn.MLPRegressor")
def _network_regressor(g: Graph, model: Any, X: str) -> str:
    return _network(g, model, X)


@_enter(_PROBABILITIES, "sklearn.VotingClassifier")
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


@_enter(_PROBABILITIES, "sklearn.QuadraticDiscriminantAnalysis")
def _discriminant(g: Graph, model: Any, X: str) -> str:
    factors = [r / np.sqrt(s) for r, s in zip(model.rotations_, model.scalings_)]
    constants = [
        -0.5 * np.log(s).sum() + np.log(p) for s, p in zip(model.scalings_, model.priors_)
    ]
    return g.op("Softmax", _gaussian_scores(g, X, model.means_, factors, constants), axis=1)


@_enter(_PROBABILITIES, "stakes.RegularizedQDA")
def _regularized(g: Graph, model: Any, X: str) -> str:
    identity = np.eye(len(model.means_[0]))
    factors = [np.linalg.solve(f, identity).T for f in model._factors]
    constants = [
        -np.log(np.diag(f)).sum() + np.log(p) for f, p in zip(model._factors, model.priors_)
    ]
    return g.op("Softmax", _gaussian_scores(g, X, model.means_, factors, constants), axis=1)


@_enter(_PROBABILITIES, "sklearn.DummyClassifier")
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


@_enter(_TRANSFORMS, "sklearn.Nystroem")
@_holds_rows
def _nystroem(g: Graph, step: Any, X: str, rows: bool) -> str:
    if step.kernel != "rbf":
        raise NotExportable(f"Nystroem with the kernel {step.kernel!r} has no export.")
    _check_rows(step, rows)
    gamma = 1.0 / step.components_.shape[1] if step.gamma is None else step.gamma
    near = g.op("Exp", g.op("Mul", _squared_distances(g, X, step.components_), -float(gamma)))
    return g.op("MatMul", near, np.ascontiguousarray(step.normalization_.T))


@_enter(_PROBABILITIES, "sklearn.KNeighborsClassifier")
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


@_enter(_TRANSFORMS, "sklearn.StandardScaler")
def _scaled(g: Graph, step: Any, X: str) -> str:
    if step.with_mean:
        X = g.op("Sub", X, step.mean_[None])
    return g.op("Div", X, step.scale_[None]) if step.with_std else X


@_enter(_TRANSFORMS, "sklearn.PolynomialFeatures")
def _products(g: Graph, step: Any, X: str) -> str:
    n_columns = step.n_features_in_
    padded = g.concat([X, g.repeat(np.ones(1), X)])
    factors = [np.repeat(np.arange(n_columns), powers) for powers in step.powers_]
    most = max(map(len, factors))
    # What has fewer factors is multiplied by the column of ones.
    places = np.array([[*f, *[n_columns] * (most - len(f))] for f in factors])
    found = [g.op("Gather", padded, places[:, i], axis=1) for i in range(most)]
    return reduce(lambda a, b: g.op("Mul", a, b), found)


@_enter(_TRANSFORMS, "sklearn.SimpleImputer")
def _imputed(g: Graph, step: Any, X: str) -> str:
    filled = np.asarray(step.statistics_, dtype=float)
    if step.add_indicator or np.isnan(filled).any() or not _is_nan(step.missing_values):
        raise NotExportable(
            "A SimpleImputer has an export where NaN is missing, no column is empty and no "
            "indicator is added."
        )
    return fill(g, X, filled)


def fill(g: Graph, X: str, filled: np.ndarray) -> str:
    """Return X with these numbers in place of NaN, one for each column."""
    return g.op("Where", g.op("IsNaN", X), filled[None], X)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and bool(np.isnan(value))


# -- trees of scikit-learn ------------------------------------------------------------------------


def _leaves(
    feature: Any, cut: Any, missing_left: Any, left: Any, right: Any, values: Any, first: int = 0
) -> Leaves:
    """Return a tree from arrays of its nodes: a leaf has no child (-1), and its row of the values."""
    left, right = np.asarray(left), np.asarray(right)
    is_leaf = left < 0
    asked = Questions(
        np.where(is_leaf, -1, feature),
        np.where(is_leaf, 0.0, cut),
        np.asarray(missing_left).astype(bool),
        {},
        left,
        right,
        np.where(is_leaf, np.cumsum(is_leaf) - 1, -1),
    )
    return Leaves(asked, np.asarray(values, dtype=float).reshape(len(left), -1)[is_leaf], first)


def sklearn_leaves(model: Any, weight: float = 1.0, hard: Any = None, first: int = 0) -> Leaves:
    """Return a fitted tree of scikit-learn with its shares, or its values, times a weight.

    With `hard`, the position of each of its classes among all of them, a leaf has one vote.
    """
    tree = model.tree_
    values = tree.value[:, 0, :] if is_classifier(model) else tree.value[:, :, 0]
    if hard is not None:
        codes, n_classes = hard
        values = np.eye(n_classes)[np.asarray(codes)[values.argmax(axis=1)]]
    nodes = (tree.feature, tree.threshold, tree.missing_go_to_left)
    return _leaves(*nodes, tree.children_left, tree.children_right, weight * values, first)


@_enter(
    _PROBABILITIES,
    "sklearn.DecisionTreeClassifier",
    "sklearn.RandomForestClassifier",
    "sklearn.ExtraTreesClassifier",
    "sklearn.ExtraTreeClassifier",
)
@_enter(
    _VALUES,
    "sklearn.DecisionTreeRegressor",
    "sklearn.RandomForestRegressor",
    "sklearn.ExtraTreesRegressor",
)
def _sklearn_trees(g: Graph, model: Any, X: str) -> str:
    trees = getattr(model, "estimators_", [model])
    members = [sklearn_leaves(tree, 1.0 / len(trees)) for tree in trees]
    return tree_sums(g, g.as_float32(X), members, members[0].values.shape[1])


# -- gradient boosting ------------------------------------------------------------------------------


def _boosted_probabilities(g: Graph, raw: str, n_classes: int) -> str:
    return _two_sided(g, raw) if n_classes == 2 else g.op("Softmax", raw, axis=1)


def histogram_leaves(model: Any) -> tuple[list[Leaves], np.ndarray]:
    """Return the trees of scikit-learn's histogram boosting, and the scores they add to."""
    if getattr(model, "_preprocessor", None) is not None:
        raise NotExportable("Histogram boosting on categories has no export.")
    members = []
    for round_of_trees in model._predictors:
        for k, predictor in enumerate(round_of_trees):
            nodes = predictor.nodes
            left = np.where(nodes["is_leaf"], -1, nodes["left"].astype(np.int64))
            asked = nodes["feature_idx"], nodes["num_threshold"], nodes["missing_go_to_left"]
            right = nodes["right"].astype(np.int64)
            members.append(_leaves(*asked, left, right, nodes["value"], k))
    return members, np.asarray(model._baseline_prediction, dtype=float).ravel()


def _histogram_scores(g: Graph, model: Any, X: str) -> str:
    members, start = histogram_leaves(model)
    return g.op("Add", tree_sums(g, X, members, len(start)), start[None])


def regression_leaves(model: Any) -> tuple[list[Leaves], np.ndarray]:
    """Return a regressor of scikit-learn that is made of trees: its leaves, and where it starts."""
    kind = type(model).__name__
    if kind == "HistGradientBoostingRegressor" and model.loss == "squared_error":
        return histogram_leaves(model)
    if kind == "DecisionTreeRegressor":
        leaves = sklearn_leaves(model)
        return [leaves], np.zeros(leaves.values.shape[1])
    if kind == "ExtraTreesRegressor":
        trees = [sklearn_leaves(tree) for tree in model.estimators_]
        share = 1.0 / len(trees)
        return [t._replace(values=share * t.values) for t in trees], np.zeros(model.n_outputs_)
    raise NotExportable(
        f"{kind} has no export as a member: use DecisionTreeRegressor, ExtraTreesRegressor or "
        "HistGradientBoostingRegressor."
    )


def added_up(g: Graph, model: Any, X: str, leaves: list[Leaves], n_targets: int) -> str:
    """Return the sums of regression trees such as those of `model`."""
    plain = type(model).__name__ != "HistGradientBoostingRegressor"
    return tree_sums(g, g.as_float32(X) if plain else X, leaves, n_targets)


@_enter(_PROBABILITIES, "sklearn.HistGradientBoostingClassifier")
def _histogram_classifier(g: Graph, model: Any, X: str) -> str:
    return _boosted_probabilities(g, _histogram_scores(g, model, X), len(model.classes_))


@_enter(_VALUES, "sklearn.HistGradientBoostingRegressor")
def _histogram_regressor(g: Graph, model: Any, X: str) -> str:
    if model.loss != "squared_error":
        raise NotExportable(f"Histogram boosting with the loss {model.loss!r} has no export.")
    return _histogram_scores(g, model, X)


def _lightgbm_scores(g: Graph, model: Any, X: str) -> str:
    """Return the raw scores of LightGBM, (n, trees of a round)."""
    booster = getattr(model, "booster_", model)
    found = booster.dump_model()
    per_round = found["num_tree_per_iteration"]
    n_trees = len(found["tree_info"])
    averaged = float(n_trees // per_round) if found.get("average_output") else 1.0
    members = []
    for t, info in enumerate(found["tree_info"]):
        nodes: list[tuple] = []
        _flatten(info["tree_structure"], nodes)
        feature, cut, missing, left, right, added = (np.array(column) for column in zip(*nodes))
        asked = feature, cut, missing, left, right
        members.append(_leaves(*asked, added / averaged, t % per_round))
    if not members:
        return g.repeat(np.zeros(per_round), X)
    # LightGBM takes for zero what is this near to it
    near = g.op("LessOrEqual", g.op("Abs", X), LIGHTGBM_ZERO)
    there = g.comes_from(g.op("Where", near, 0.0, X), g.origin(X))
    return tree_sums(g, there, members, per_round)


def _flatten(node: dict, nodes: list[tuple]) -> int:
    """Add a node of LightGBM's dump, and those below it, as rows for `_leaves`; return its place."""
    here = len(nodes)
    if "split_feature" not in node:
        nodes.append((-1, 0.0, False, -1, -1, float(node["leaf_value"])))
        return here
    if node["decision_type"] != "<=":
        raise NotExportable(
            "LightGBM on categorical columns has no export: give it numbers, as a "
            "TablePreparation makes them."
        )
    missing = {"None": node["threshold"] >= 0.0, "NaN": node["default_left"]}
    if node["missing_type"] not in missing:
        raise NotExportable("LightGBM with zero_as_missing has no export.")
    cut = float(node["threshold"])
    cut = np.inf if cut >= LIGHTGBM_INFINITY else cut  # all but the missing ones
    nodes.append(())
    left, right = (_flatten(node[side], nodes) for side in ("left_child", "right_child"))
    nodes[here] = (node["split_feature"], cut, missing[node["missing_type"]], left, right, 0.0)
    return here


@_enter(_PROBABILITIES, "lightgbm.LGBMClassifier")
def _lightgbm_classifier(g: Graph, model: Any, X: str) -> str:
    if callable(model.objective) or "sigmoid" in model._other_params:
        raise NotExportable("LightGBM with an objective of one's own has no export.")
    return _boosted_probabilities(g, _lightgbm_scores(g, model, X), model._n_classes)


@_enter(_VALUES, "lightgbm.LGBMRegressor")
def _lightgbm_regressor(g: Graph, model: Any, X: str) -> str:
    if model.objective not in (None, "regression", "l2", "mse"):
        raise NotExportable(f"LightGBM with the objective {model.objective!r} has no export.")
    return _lightgbm_scores(g, model, X)


def xgboost_scores(g: Graph, booster: Any, X: str, n_targets: int) -> str:
    """Return what the trees of an XGBoost model add up to, (n, n_targets), without its base."""
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    model = learner["gradient_booster"]["model"]
    members = []
    for tree, group in zip(model["trees"], model["tree_info"]):
        if (
            len(tree.get("categories", []))
            or int(tree["tree_param"].get("size_leaf_vector", 1)) > 1
        ):
            raise NotExportable("XGBoost on categories, or with vectors in leaves, has no export.")
        cuts = np.array(tree["split_conditions"], dtype=np.float32).astype(
            float
        )  # of leaves: values
        sides = tree["left_children"], tree["right_children"]
        asked = tree["split_indices"], cuts, tree["default_left"]
        members.append(_leaves(*asked, *sides, cuts, int(group)))
    if not members:
        return g.repeat(np.zeros(n_targets), X)
    return tree_sums(g, g.as_float32(X), members, n_targets, below=True)


@_enter(_PROBABILITIES, "xgboost.XGBClassifier")
def _xgboost_classifier(g: Graph, model: Any, X: str) -> str:
    booster, n_classes = model.get_booster(), int(model.n_classes_)
    found = json.loads(booster.save_config())["learner"]
    objective = found["objective"]["name"]
    if objective not in ("binary:logistic", "multi:softprob") or model.booster not in (
        None,
        "gbtree",
    ):
        raise NotExportable(f"XGBoost with the objective {objective!r} has no export.")
    if getattr(model, "best_iteration", None) is not None and model.early_stopping_rounds:
        booster = booster[: model.best_iteration + 1]
    base = np.array(json.loads(found["learner_model_param"]["base_score"]), dtype=float).ravel()
    if n_classes == 2:
        base = np.log(base / (1.0 - base))
    n_targets = 1 if n_classes == 2 else n_classes
    raw = g.op(
        "Add", xgboost_scores(g, booster, X, n_targets), np.broadcast_to(base, (1, n_targets))
    )
    return _boosted_probabilities(g, raw, n_classes)
