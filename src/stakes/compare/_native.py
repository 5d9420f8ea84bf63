"""The parts of models that other libraries keep in memory of their own, as numbers and text.

A library reads its own memory without looking: a node whose child does not exist ends the process.
So a model file holds no such object. Each becomes a `Packed` when a model is saved, and when it is
loaded its content is checked here, whatever wrote the file, before the library sees it.
"""

import copy
import json
import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stakes.utils._arrays import check_tree_links
from stakes.utils._optional import import_optional
from stakes.utils._sklearn import boosting_node_dtype, tree_parts


@dataclass
class Packed:
    """What a part of a model is made from.

    Parameters
    ----------
    kind : str
        Of `KINDS`.
    state : dict
        Arrays, numbers and text.
    """

    kind: str
    state: dict


class Kind(NamedTuple):
    """How the parts of one type are taken apart and made again."""

    pack: Callable[[Any], dict]
    make: Callable[[dict], Any]


def require(holds: Any, what: str) -> None:
    """Refuse content that does not hold together."""
    if not holds:
        raise ValueError(f"{what} does not hold together")


# -- scikit-learn's trees -----------------------------------------------------------------------


def _pack_tree(tree: Any) -> dict:
    _, (n_features, n_classes, _), state = tree.__reduce__()
    given = {"n_features": int(n_features), "n_classes": n_classes, "depth": state["max_depth"]}
    return given | {"nodes": state["nodes"], "values": state["values"]}


def _make_tree(state: dict) -> Any:
    Tree, node_dtype = tree_parts()
    nodes, values, n_classes = state["nodes"], state["values"], state["n_classes"]
    n_features, what = state["n_features"], "A decision tree"
    require(isinstance(n_features, int) and n_features > 0, what)
    require(_is_array(n_classes, np.intp, 1) and 0 < len(n_classes) == values.shape[1], what)
    require(n_classes.min() > 0 and n_classes.max() == values.shape[2], what)
    require(_is_array(values, np.float64, 3), what)
    require(_is_array(nodes, node_dtype, 1) and len(nodes) == len(values), what)
    check_tree_links(nodes["left_child"], nodes["right_child"], what)
    split = nodes["left_child"] >= 0
    features = nodes["feature"][split]
    require(((features >= 0) & (features < n_features)).all(), what)
    tree = Tree(n_features, n_classes, len(n_classes))
    made = {"max_depth": int(state["depth"]), "node_count": len(nodes)}
    tree.__setstate__(made | {"nodes": nodes, "values": values})
    return tree


# -- scikit-learn's nearest neighbours: built again from their points ------------------------------


def _pack_neighbours(tree: Any) -> dict:
    name = type(tree).__name__
    metric = type(tree.__getstate__()[11]).__name__
    leaf_size = int(tree.__getstate__()[5])
    return {"name": name, "data": np.asarray(tree.data), "leaf_size": leaf_size, "metric": metric}


def _make_neighbours(state: dict) -> Any:
    from sklearn import neighbors

    what = "A table of neighbours"
    require(
        state["name"] in ("KDTree", "BallTree") and state["metric"] == "EuclideanDistance64", what
    )
    data, leaf_size = state["data"], state["leaf_size"]
    require(_is_array(data, np.float64, 2) and data.size and np.isfinite(data).all(), what)
    require(isinstance(leaf_size, int) and 0 < leaf_size <= 10**6, what)
    return getattr(neighbors, state["name"])(data, leaf_size=leaf_size)


# -- LightGBM: its text ------------------------------------------------------------------------------

# Objectives that only turn sums of leaves into probabilities or numbers.
OBJECTIVE = re.compile(
    r"(?:binary|multiclass|multiclassova|regression|regression_l1|huber|quantile|poisson|gamma|"
    r"tweedie|cross_entropy|custom)(?: \w+:[-+.\w]+| sqrt)*"
)
HEAD = {
    "version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx", "objective",
    "feature_names", "feature_infos", "tree_sizes", "monotone_constraints", "average_output",
}  # fmt: skip
END_OF_TREES = "end of trees\n"


def _pack_lightgbm(booster: Any) -> dict:
    text = booster.model_to_string(num_iteration=-1)
    return {"text": text.partition(END_OF_TREES)[0] + END_OF_TREES, "best": booster.best_iteration}


def _make_lightgbm(state: dict) -> Any:
    lightgbm = import_optional("lightgbm", extra="boost", purpose="This model")
    text, best = state["text"], state["best"]
    require(isinstance(text, str) and isinstance(best, int), "A model of LightGBM")
    check_lightgbm(text)
    booster = lightgbm.Booster(model_str=text)  # content, never a path
    booster.best_iteration = best
    return booster


def check_lightgbm(text: str) -> None:
    """Refuse text that is no model of LightGBM, or one that would lead it astray."""
    what = "A model of LightGBM"
    require(text.isascii() or "\x00" not in text, what)
    top, _, rest = text.partition("\nTree=")
    require(text.startswith("tree\n") and text.endswith(END_OF_TREES), what)
    lines = top.rstrip("\n").split("\n")[1:]
    head = dict(line.partition("=")[::2] for line in lines)
    require(len(head) == len(lines) and set(head) <= HEAD, what)
    n_class, n_trees = int(head["num_class"]), int(head["num_tree_per_iteration"])
    n_features = int(head["max_feature_idx"]) + 1
    require(n_class > 0 and n_trees in (1, n_class) and n_features > 0, what)
    for name in ("feature_names", "feature_infos"):
        require(len(head[name].split(" ")) == n_features, what)
    objective = head.get("objective", "custom")
    require(OBJECTIVE.fullmatch(objective), what)
    of = re.findall(r"num_class:(\S+)", objective)
    require(of == ([str(n_class)] if objective.startswith("multiclass") else []), what)
    body = ("Tree=" + rest).removesuffix(END_OF_TREES) if rest else ""
    sizes = [int(size) for size in head.get("tree_sizes", "").split()]
    data, at = body.encode(), 0
    require(min(sizes, default=1) > 0 and sum(sizes) <= len(data), what)
    require(len(sizes) % n_trees == 0 and len(sizes) >= n_trees, what)
    trees = []
    for i, size in enumerate(sizes):
        trees.append(data[at : at + size].decode())
        require(trees[-1].startswith(f"Tree={i}\n") and trees[-1].endswith("\n"), what)
        at += size
    require(not data[at:].strip(), what)
    _check_lightgbm_trees(trees, n_features)


def _check_lightgbm_trees(texts: list[str], n_features: int) -> None:
    """Refuse trees of LightGBM, all of them looked at together."""
    what = "A tree of LightGBM"
    trees = []
    for text in texts:
        lines = [line for line in text.split("\n") if line]
        trees.append(dict(line.partition("=")[::2] for line in lines))
        require(len(trees[-1]) == len(lines), what)
    n_leaves = np.array([int(tree["num_leaves"]) for tree in trees])
    n_sets = np.array([int(tree["num_cat"]) for tree in trees])
    n_splits = n_leaves - 1
    require((n_leaves >= 1).all() and ((n_sets >= 0) & (n_sets <= n_splits)).all(), what)
    require(all(tree.get("is_linear", "0") == "0" for tree in trees), what)
    require(all(np.isfinite(float(tree["shrinkage"])) for tree in trees), what)

    def count(name: str, lengths: np.ndarray) -> list[str]:
        texts = [tree.get(name, "") for tree in trees]
        counts = [text.count(" ") + 1 if text else 0 for text in texts]
        require((lengths == counts).all(), what)
        return texts

    def read(name: str, lengths: np.ndarray, kind: type = np.int64) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what is no number; the length then tells
            text = " ".join(filter(None, count(name, lengths)))
            values: np.ndarray = np.empty(0)
            with suppress(ValueError):
                values = np.fromstring(text, kind, sep=" ")
        require(len(values) == lengths.sum(), what)
        return values

    require(np.isfinite(read("leaf_value", n_leaves, np.float64)).all(), what)
    for name in ("split_gain", "internal_value", "internal_weight", "internal_count"):
        read(name, n_splits, np.float64)  # text in their place ends the process
    for name in ("leaf_weight", "leaf_count"):
        read(name, np.where([bool(tree.get(name)) for tree in trees], n_leaves, 0), np.float64)
    feature, kinds = read("split_feature", n_splits), read("decision_type", n_splits)
    threshold = read("threshold", n_splits, np.float64)
    require(((feature >= 0) & (feature < n_features)).all(), what)
    require(((kinds >= 0) & (kinds < 12)).all() and not np.isnan(threshold).any(), what)
    most = np.repeat(n_leaves, n_splits)
    place = np.arange(len(feature)) - np.repeat(np.cumsum(n_splits) - n_splits, n_splits)
    for name in ("left_child", "right_child"):  # a leaf is written as -1 - its number
        child = read(name, n_splits)
        holds = np.where(child < 0, child >= -most, (child > place) & (child < most - 1))
        require(holds.all(), what)
    by_set = kinds % 2 == 1
    sets = threshold[by_set]
    require(((sets >= 0) & (sets < np.repeat(n_sets, n_splits)[by_set])).all(), what)
    require((sets == np.floor(sets)).all(), what)
    bounds = read("cat_boundaries", np.where(n_sets > 0, n_sets + 1, 0))
    ends = np.cumsum(n_sets[n_sets > 0] + 1)
    first, last = ends - n_sets[n_sets > 0] - 1, ends - 1
    rises = np.delete(np.diff(bounds), last[:-1]) if len(bounds) else bounds
    require((bounds[first] == 0).all() and (rises > 0).all(), what)
    n_words = np.zeros_like(n_sets)
    n_words[n_sets > 0] = bounds[last]
    words = read("cat_threshold", n_words)
    require(((words >= 0) & (words < 2**32)).all(), what)


# -- XGBoost: its JSON -------------------------------------------------------------------------------


def _pack_xgboost(booster: Any) -> dict:
    return {"text": bytes(booster.save_raw("json")).decode()}


def _make_xgboost(state: dict) -> Any:
    xgboost = import_optional("xgboost", extra="boost", purpose="This model")
    require(isinstance(state["text"], str), "A model of XGBoost")
    check_xgboost(state["text"])
    booster = xgboost.Booster()
    booster.load_model(bytearray(state["text"].encode()))  # content, never a path
    return booster


def check_xgboost(text: str) -> None:
    """Refuse text that is no model of XGBoost, or one that would lead it astray."""
    what = "A model of XGBoost"
    learner = json.loads(text)["learner"]
    model, shape = learner["gradient_booster"]["model"], learner["learner_model_param"]
    require(learner["gradient_booster"]["name"] == "gbtree", what)
    n_features, n_class, n_target = (
        int(shape[name]) for name in ("num_feature", "num_class", "num_target")
    )
    n_groups = max(n_class, 1) * max(n_target, 1)
    trees, groups = model["trees"], model["tree_info"]
    require(n_features > 0 and n_class >= 0 and n_target >= 0 and n_groups <= 10**5, what)
    require(len(trees) == len(groups) == int(model["gbtree_model_param"]["num_trees"]), what)
    require(all(type(group) is int and 0 <= group < n_groups for group in groups), what)
    rounds = model.get("iteration_indptr", [0, len(trees)])
    require(rounds[0] == 0 and rounds[-1] == len(trees) and rounds == sorted(rounds), what)
    require(not any(model.get("cats", {}).values()), what)
    own = [v["num_class"] for v in learner["objective"].values() if "num_class" in v]
    require(own in ([], [str(n_class)]), what)
    for tree in trees:
        _check_xgboost_tree(tree, n_features)


def _check_xgboost_tree(tree: dict, n_features: int) -> None:
    what = "A tree of XGBoost"
    sizes = tree["tree_param"]
    n_nodes = int(sizes["num_nodes"])
    require(int(sizes["num_feature"]) == n_features and int(sizes["size_leaf_vector"]) <= 1, what)
    require(not any(tree[name] for name in tree if name.startswith("categories")), what)
    read = {
        name: np.array(tree[name])
        for name in ("left_children", "right_children", "parents", "split_indices", "default_left")
    }
    for name in ("split_conditions", "base_weights", "loss_changes", "sum_hessian", "split_type"):
        read[name] = np.array(tree[name], dtype=np.float64)
    require(all(array.shape == (n_nodes,) for array in read.values()), what)
    require(all(read[name].dtype.kind == "i" for name in ("parents", "split_indices")), what)
    require(not read["split_type"].any(), what)
    left, right = read["left_children"], read["right_children"]
    check_tree_links(left, right, what)
    require(((read["split_indices"] >= 0) & (read["split_indices"] < n_features)).all(), what)
    for children in (left, right):
        inner = np.flatnonzero(children >= 0)
        require((read["parents"][children[inner]] == inner).all(), what)


KINDS = {
    "sklearn.tree._tree.Tree": Kind(_pack_tree, _make_tree),
    "sklearn.neighbors._kd_tree.KDTree": Kind(_pack_neighbours, _make_neighbours),
    "sklearn.neighbors._ball_tree.BallTree": Kind(_pack_neighbours, _make_neighbours),
    "lightgbm.basic.Booster": Kind(_pack_lightgbm, _make_lightgbm),
    "xgboost.core.Booster": Kind(_pack_xgboost, _make_xgboost),
}


def pack(part: Any) -> Any:
    """Return what stands for a part of a model in a file: itself, or a `Packed`."""
    name = f"{type(part).__module__}.{type(part).__qualname__}"
    return Packed(name, KINDS[name].pack(part)) if name in KINDS else part


def unpack(part: Any) -> Any:
    """Return the part that was packed, once its content has been checked."""
    return KINDS[part.kind].make(part.state) if isinstance(part, Packed) else part


def exchange(part: Any, change: Callable[[Any], Any], seen: dict | None = None) -> Any:
    """Return the part with every part in it changed; what holds no change is not copied.

    Parameters
    ----------
    part : object
        An estimator, or what it is made of.
    change : callable
        Returns its argument, or what is to stand in its place.
    """
    seen = {} if seen is None else seen
    if id(part) in seen:
        return seen[id(part)][1]
    changed = change(part)
    if changed is part:
        changed = _exchange_inside(part, change, seen)
    seen[id(part)] = part, changed  # the first is kept, so that its address is not used again
    return changed


def _exchange_inside(part: Any, change: Callable, seen: dict) -> Any:
    values: list[Any]
    if isinstance(part, list | tuple):
        values = [exchange(value, change, seen) for value in part]
        same = all(new is old for new, old in zip(values, part))
        return part if same else getattr(type(part), "_make", type(part))(values)
    if isinstance(part, np.ndarray) and part.dtype == object:
        values = [exchange(value, change, seen) for value in part.ravel()]
        if all(new is old for new, old in zip(values, part.ravel())):
            return part
        filled = np.empty(part.size, dtype=object)
        filled[:] = values
        return filled.reshape(part.shape)
    inside = part if isinstance(part, dict) else getattr(part, "__dict__", None)
    if inside is None or isinstance(part, type) or callable(part):
        return part
    parts = {name: exchange(value, change, seen) for name, value in inside.items()}
    if all(parts[name] is value for name, value in inside.items()):
        return part
    other: Any = copy.copy(part) if inside is part else object.__new__(type(part))
    (other if inside is part else other.__dict__).update(parts)
    return other


# -- estimators whose own arrays must fit those parts ----------------------------------------------


def check_part(part: Any) -> Any:
    """Return a part of a loaded model, refused where native code would go astray in it."""
    own = getattr(type(part), "_check_structure", None)
    if own is not None:
        own(part)
    for base in type(part).__mro__:
        check = CHECKS.get(f"{base.__module__}.{base.__qualname__}")
        if check is not None:
            check(part)
    return part


# A template that is yet to be fitted has nothing to check.


def _check_decision_tree(tree: Any) -> None:
    require(
        not hasattr(tree, "tree_") or tree.tree_.n_features == tree.n_features_in_,
        "A decision tree",
    )


def _check_forest(forest: Any) -> None:
    for tree in getattr(forest, "estimators_", ()):
        require(tree.tree_.n_features == forest.n_features_in_, "A forest")


def _check_hist_boosting(model: Any) -> None:
    if not hasattr(model, "_predictors"):
        return
    what, bins, n_features = "Gradient boosting", model._bin_mapper, model.n_features_in_
    is_category = np.asarray(bins.is_categorical_)
    require(is_category.shape == (n_features,) and len(bins.bin_thresholds_) == n_features, what)
    for category, values in zip(is_category, bins.bin_thresholds_):
        values = np.asarray(values)
        require(not category or ((values >= 0) & (values <= 255)).all(), what)
    for trees in model._predictors:
        for tree in trees:
            _check_hist_tree(tree, is_category)


def _check_hist_tree(tree: Any, is_category: np.ndarray) -> None:
    what, nodes, sets = "A tree of gradient boosting", tree.nodes, tree.raw_left_cat_bitsets
    require(_is_array(nodes, boosting_node_dtype(), 1) and _is_array(sets, np.uint32, 2), what)
    split = nodes["is_leaf"] == 0
    left, right = (np.where(split, nodes[side].astype(np.int64), -1) for side in ("left", "right"))
    check_tree_links(left, right, what)
    asked = nodes["feature_idx"][split]
    require(((asked >= 0) & (asked < len(is_category))).all() and sets.shape[1] == 8, what)
    by_set = split & (nodes["is_categorical"] != 0)
    require(is_category[nodes["feature_idx"][by_set]].all(), what)
    require((nodes["bitset_idx"][by_set] < len(sets)).all(), what)


def _check_lightgbm_estimator(model: Any) -> None:
    what = "A model of LightGBM"
    options = getattr(model, "_other_params", {})
    require(not any("predict" in name or "file" in name for name in options), what)
    fitted = getattr(model, "_Booster", None)
    require(fitted is None or fitted.num_feature() == model._n_features, what)


def _check_expected_cost_boosting(model: Any) -> None:
    if hasattr(model, "booster_"):
        check_xgboost(model.booster_.tobytes().decode())


def _check_sparse(matrix: Any) -> None:
    matrix.check_format(full_check=True)


def _refuse(part: Any) -> None:
    raise ValueError(f"{type(part).__name__} cannot be checked, so no model file may hold it")


CHECKS: dict[str, Callable[[Any], None]] = {
    "sklearn.tree._classes.BaseDecisionTree": _check_decision_tree,
    "sklearn.ensemble._forest.BaseForest": _check_forest,
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.BaseHistGradientBoosting": (
        _check_hist_boosting
    ),
    "lightgbm.sklearn.LGBMModel": _check_lightgbm_estimator,
    "stakes.auto._expected_cost_boosting.ExpectedCostBoostingClassifier": (
        _check_expected_cost_boosting
    ),
    "scipy.sparse._compressed._cs_matrix": _check_sparse,
    "sklearn.svm._base.BaseLibSVM": _refuse,
    "sklearn.ensemble._gb.BaseGradientBoosting": _refuse,
}


def _is_array(array: Any, dtype: Any, ndim: int) -> bool:
    return isinstance(array, np.ndarray) and array.dtype == dtype and array.ndim == ndim
