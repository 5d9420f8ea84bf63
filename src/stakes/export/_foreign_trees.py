"""Trees of other libraries as operators: scikit-learn, LightGBM, XGBoost, alone and added up."""

import json
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from stakes.export._foreign import PROBABILITIES, VALUES, enter, two_sided
from stakes.export._graph import Graph
from stakes.export._trees import Leaves, tree_sums
from stakes.export._verify import NotExportable
from stakes.tree.engine import Questions

LIGHTGBM_ZERO = float(np.float32(1e-35))
LIGHTGBM_INFINITY = 1e300  # as it writes infinity


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


@enter(
    PROBABILITIES,
    "sklearn.DecisionTreeClassifier",
    "sklearn.RandomForestClassifier",
    "sklearn.ExtraTreesClassifier",
    "sklearn.ExtraTreeClassifier",
)
@enter(
    VALUES,
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
    return two_sided(g, raw) if n_classes == 2 else g.op("Softmax", raw, axis=1)


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


@enter(PROBABILITIES, "sklearn.HistGradientBoostingClassifier")
def _histogram_classifier(g: Graph, model: Any, X: str) -> str:
    return _boosted_probabilities(g, _histogram_scores(g, model, X), len(model.classes_))


@enter(VALUES, "sklearn.HistGradientBoostingRegressor")
def _histogram_regressor(g: Graph, model: Any, X: str) -> str:
    if model.loss != "squared_error":
        raise NotExportable(f"Histogram boosting with the loss {model.loss!r} has no export.")
    return _histogram_scores(g, model, X)


def _lightgbm_scores(g: Graph, model: Any, X: str) -> str:
    """Return the raw scores of LightGBM, (n, trees of a round)."""
    booster = getattr(model, "booster_", model)
    dump = booster.dump_model()
    per_round = dump["num_tree_per_iteration"]
    n_trees = len(dump["tree_info"])
    averaged = float(n_trees // per_round) if dump.get("average_output") else 1.0
    members = []
    for t, info in enumerate(dump["tree_info"]):
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


@enter(PROBABILITIES, "lightgbm.LGBMClassifier")
def _lightgbm_classifier(g: Graph, model: Any, X: str) -> str:
    if callable(model.objective) or "sigmoid" in model._other_params:
        raise NotExportable("LightGBM with an objective of one's own has no export.")
    return _boosted_probabilities(g, _lightgbm_scores(g, model, X), model._n_classes)


@enter(VALUES, "lightgbm.LGBMRegressor")
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


@enter(PROBABILITIES, "xgboost.XGBClassifier")
def _xgboost_classifier(g: Graph, model: Any, X: str) -> str:
    booster, n_classes = model.get_booster(), int(model.n_classes_)
    config = json.loads(booster.save_config())["learner"]
    objective = config["objective"]["name"]
    if objective not in ("binary:logistic", "multi:softprob") or model.booster not in (
        None,
        "gbtree",
    ):
        raise NotExportable(f"XGBoost with the objective {objective!r} has no export.")
    if getattr(model, "best_iteration", None) is not None and model.early_stopping_rounds:
        booster = booster[: model.best_iteration + 1]
    base = np.array(json.loads(config["learner_model_param"]["base_score"]), dtype=float).ravel()
    if n_classes == 2:
        base = np.log(base / (1.0 - base))
    n_targets = 1 if n_classes == 2 else n_classes
    raw = g.op(
        "Add", xgboost_scores(g, booster, X, n_targets), np.broadcast_to(base, (1, n_targets))
    )
    return _boosted_probabilities(g, raw, n_classes)
