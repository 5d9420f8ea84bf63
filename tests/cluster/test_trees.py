"""Trees and forests from Dask collections are those of the same rows in one array."""

import pickle
from itertools import pairwise

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from stakes.boosting import CoMBoClassifier, SMOTEBoostClassifier
from stakes.tree import CostForestClassifier, CostTreeClassifier, _forest

C = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [9.0, 4.0, 0.0]])


def cut(array, *sizes):
    """Return an array of Dask with chunks of rows of these sizes, the rest in the last."""
    rest = len(array) - sum(sizes)
    return da.from_array(array, chunks=((*sizes, rest), *((s,) for s in array.shape[1:])))


def assert_same_tree(tree, other, exact=True):
    assert_array_equal(tree.nodes, other.nodes)
    assert_array_equal(tree.sets, other.sets)
    assert_array_equal(tree.decisions, other.decisions)
    if exact:
        assert_array_equal(tree.cost_sums, other.cost_sums)
    size = np.abs(other.cost_sums).max()
    assert_allclose(tree.cost_sums, other.cost_sums, rtol=1e-9, atol=1e-11 * size)


@pytest.mark.parametrize("sizes", [(1000, 1000), (0, 7, 0, 2500, 1, 0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_class_costs(client, table, sizes, weighted):
    X, y, _, weight = table
    weight = weight if weighted else None
    given = None if weight is None else cut(weight, *sizes)
    options = {"max_depth": 5, "categorical_features": [1]}
    alone = CostTreeClassifier(C, **options).fit(X, y, weight)
    found = CostTreeClassifier(C, **options).fit(cut(X, *sizes), cut(y, *sizes), given)
    assert_same_tree(found.tree_, alone.tree_)
    assert_array_equal(found.bins_.flat_edges, alone.bins_.flat_edges)
    assert found.get_params() == alone.get_params()
    again = pickle.loads(pickle.dumps(found))
    assert_array_equal(again.predict(X), alone.predict(X))
    assert_allclose(again.score(X, y), alone.score(X, y))


@pytest.mark.parametrize("kind", ["costs", "cost_tensor"])
def test_costs_of_examples_do_not_depend_on_the_partitions(client, table, kind):
    X, y, costs, weight = table
    if kind == "cost_tensor":
        costs = np.repeat(costs[:, None], 3, axis=1)
    alone = CostTreeClassifier(max_depth=6).fit(X, y, weight, **{kind: costs})
    trees = []
    for sizes in ((1700,), (0, 100, 1200, 300, 300, 100)):
        given = {kind: cut(costs, *sizes)}
        model = CostTreeClassifier(max_depth=6)
        model.fit(cut(X, *sizes), cut(y, *sizes), cut(weight, *sizes), **given)
        assert model.cost_kind_ == alone.cost_kind_
        assert_allclose(model.cost_matrix_, alone.cost_matrix_)
        assert_same_tree(model.tree_, alone.tree_, exact=False)
        trees.append(model.tree_)
    assert_same_tree(*trees)  # to the last bit


@pytest.mark.parametrize(
    "options",
    [
        {"max_leaf_nodes": 20, "criterion": "variance"},
        {"max_features": 2, "max_depth": 4, "random_state": 3},
        {"ccp_alpha": 0.01},
        {"max_depth": 0},
    ],
)
def test_every_way_to_grow(client, table, options):
    X, y, *_ = table
    alone = CostTreeClassifier(C, **options).fit(X, y)
    found = CostTreeClassifier(C, **options).fit(cut(X, 1300), cut(y, 1300))
    assert_same_tree(found.tree_, alone.tree_)


def test_rows_held_out_for_pruning_do_not_depend_on_the_partitions(client, table):
    X, y, *_ = table
    model = CostTreeClassifier(C, validation_fraction=0.3, random_state=0)
    one = model.fit(cut(X, 2000), cut(y, 2000)).tree_
    two = model.fit(cut(X, 1, 900, 900), cut(y, 1, 900, 900)).tree_
    assert_same_tree(one, two)
    assert 1 < one.n_leaves < CostTreeClassifier(C).fit(X, y).get_n_leaves()
    assert one.class_sums[0, -1] == len(X)  # leaves have learned from all rows


def frames(table):
    X, y, *_ = table
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["b"] = pd.Categorical(pd.Series(X[:, 1]).map({0: "p", 1: "q", 2: "r", 3: "s"}))
    return frame, pd.Series(np.array(["a", "b", "c"])[y])


def test_frames_of_unknown_divisions_with_categories_in_any_order(client, table):
    frame, labels = frames(table)
    alone = CostTreeClassifier(C, max_depth=5).fit(frame, labels)
    bounds = [0, 10, 700, 700, 2000, 3000]
    parts = [frame.iloc[a:b] for a, b in pairwise(bounds)]
    # the first partition has one category and one class alone, another has them turned round,
    # and a third has gaps that the others have not
    parts[0] = parts[0].assign(b=pd.Categorical(["q"] * 10, categories=["q"]), a=1.0)
    parts[1] = parts[1].assign(b=parts[1]["b"].cat.reorder_categories(list("srqp")))
    parts[4] = parts[4].assign(b=parts[4]["b"].where(parts[4]["b"] != "q"))
    labels = labels.copy()
    labels[:10] = "c"
    whole = pd.concat([p.astype({"b": object}) for p in parts]).astype({"b": "category"})
    alone = CostTreeClassifier(C, max_depth=5).fit(whole, labels)
    X = dd.from_delayed([delayed(p) for p in parts], meta=parts[3].iloc[:0], verify_meta=False)
    y = dd.from_delayed([delayed(labels.iloc[a:b]) for a, b in pairwise(bounds)])
    assert X.divisions[0] is None
    found = CostTreeClassifier(C, max_depth=5).fit(X, y)
    assert_same_tree(found.tree_, alone.tree_)
    assert found.feature_names_in_.tolist() == list("abcde")
    assert found.classes_.tolist() == ["a", "b", "c"]
    assert_array_equal(found.predict(frame), alone.predict(frame))


def test_parquet_of_which_few_columns_are_read(client, table, tmp_path):
    frame, labels = frames(table)
    frame["y"] = labels
    for i in range(9):  # Dask would join some partitions of y, and not those of X
        frame.iloc[i * 300 : (i + 1) * 300 + 300 * (i == 8)].to_parquet(tmp_path / f"{i}.parquet")
    read = dd.read_parquet(tmp_path)
    model = CostTreeClassifier(C, max_depth=5).fit(read[["a", "b", "c", "d", "e"]], read["y"])
    alone = CostTreeClassifier(C, max_depth=5).fit(frame.drop(columns="y"), labels)
    assert_same_tree(model.tree_, alone.tree_)
    decided = model.predict(read[["a", "b", "c", "d", "e"]])
    assert_array_equal(decided.compute().to_numpy(), alone.predict(frame.drop(columns="y")))
    assert decided.npartitions == 9


def test_arrays_of_unknown_length(client, table):
    X, y, *_ = table
    rows, labels, kept = cut(X, 700, 0, 40), cut(y, 700, 0, 40), y != 1
    some = cut(kept, 700, 0, 40)
    X_some, y_some = rows[some], labels[some]
    assert np.isnan(X_some.shape[0])
    matrix = C[np.ix_([0, 2], [0, 2])]
    found = CostTreeClassifier(matrix, max_depth=5).fit(X_some, y_some)
    alone = CostTreeClassifier(matrix, max_depth=5).fit(X[kept], y[kept])
    assert_same_tree(found.tree_, alone.tree_)
    assert found.classes_.tolist() == [0, 2]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_gaps_in_one_partition_alone(client, table, place):
    X, y, *_ = table
    X, sizes = np.nan_to_num(X), (900, 1200)
    rows = slice(*[(0, 900), (900, 2100), (2100, 3000)][place])
    X[rows][y[rows] == 2, 0] = np.nan  # it says much
    alone = CostTreeClassifier(C, max_depth=4).fit(X, y)
    found = CostTreeClassifier(C, max_depth=4).fit(cut(X, *sizes), cut(y, *sizes))
    assert_same_tree(found.tree_, alone.tree_)
    assert_array_equal(found.predict(X), alone.predict(X))
    boosting = CoMBoClassifier(C, n_estimators=5).fit(cut(X, *sizes), cut(y, *sizes))
    alone = CoMBoClassifier(C, n_estimators=5).fit(X, y)
    assert_same_tree(boosting.estimators_[-1], alone.estimators_[-1], exact=False)


def scatter(client, *parts):
    """Return futures with keys of their own: Dask drops equal ones while it still releases them."""
    return client.scatter(list(parts), hash=False)


def test_futures_of_partitions(client, table):
    X, y, *_ = table
    X_parts = scatter(client, X[:1000], X[1000:])
    y_parts = scatter(client, y[:1000], y[1000:])
    found = CostTreeClassifier(C, max_depth=4).fit(X_parts, y_parts)
    assert_same_tree(found.tree_, CostTreeClassifier(C, max_depth=4).fit(X, y).tree_)


@pytest.mark.parametrize(
    "model",
    [
        CostTreeClassifier(C, max_depth=4),
        CostForestClassifier(C, n_estimators=3, max_depth=4, random_state=0),
        CoMBoClassifier(C, n_estimators=5),
    ],
)
def test_a_worker_without_rows(client, table, model):
    X, y, *_ = table
    one, other = sorted(client.nthreads())
    parts = []
    for array in (X, y):
        filled = client.scatter([array[:1000], array[1000:]], hash=False, workers=[one])
        parts.append([*filled, client.scatter(array[:0], hash=False, workers=[other])])
    found, alone = clone(model).fit(*parts), clone(model).fit(X, y)
    trees = (m.estimators_ if hasattr(m, "estimators_") else [m.tree_] for m in (found, alone))
    for tree, same in zip(*trees, strict=True):
        assert_same_tree(tree, same, exact=False)
    assert_array_equal(found.predict(X), alone.predict(X))


@pytest.mark.parametrize("options", [{}, {"max_samples": 500}, {"bootstrap": False}])
@pytest.mark.parametrize("by_class", [True, False])
def test_a_forest_is_that_of_one_machine(client, table, options, by_class):
    X, y, costs, _ = table
    matrix, given, spread = (C, {}, {}) if by_class else (None, {"costs": costs}, {})
    if not by_class:
        spread = {"costs": cut(costs, 900, 1000)}
    model = CostForestClassifier(matrix, n_estimators=3, max_depth=6, random_state=0, **options)
    alone = clone(model).fit(X, y, **given)
    found = clone(model).fit(cut(X, 900, 1000), cut(y, 900, 1000), **spread)
    assert len(found.estimators_) == 3
    for tree, other in zip(found.estimators_, alone.estimators_):
        assert_same_tree(tree, other, exact=by_class)
    assert (found.calibration_ is None) == (not model.bootstrap)
    assert_allclose(found.predict_proba(X), alone.predict_proba(X), rtol=1e-12)
    assert_array_equal(found.predict(X), alone.predict(X))


def test_a_large_forest_is_calibrated_by_some_rows(client, table, monkeypatch):
    X, y, _, weight = table
    monkeypatch.setattr(_forest, "MOST_JUDGED", 1000)
    model = CostForestClassifier(C, n_estimators=5, max_depth=6, random_state=0)
    alone = clone(model).fit(X, y, weight)
    found = clone(model).fit(cut(X, 1, 1800), cut(y, 1, 1800), cut(weight, 1, 1800))
    assert_allclose(found.predict_proba(X), alone.predict_proba(X), rtol=1e-12)
    monkeypatch.undo()
    assert (
        np.abs(clone(model).fit(X, y, weight).predict_proba(X) - alone.predict_proba(X)).max() > 0
    )


def test_labels_that_change_are_told(client, table, tmp_path):
    X, y, *_ = table

    def make(path):  # other labels the second time
        known = path.exists()
        path.touch()
        return y + 7 * known

    rows = delayed(make, pure=False)(tmp_path / "made")
    labels = da.from_delayed(rows, y.shape, y.dtype)
    with pytest.raises(ValueError, match="y has the label .*, which it had not when its classes"):
        CostTreeClassifier(C).fit(cut(X), labels)


def test_one_clear_sentence(client, table):
    X, y, costs, _ = table
    model = CostTreeClassifier(C)
    with pytest.raises(TypeError, match="y is a ndarray: give y as a collection"):
        model.fit(cut(X, 100), y)
    with pytest.raises(ValueError, match="X has 2 partitions, but y has 3"):
        model.fit(scatter(client, X, X), scatter(client, y, y, y))
    with pytest.raises(ValueError, match=r"Partition 1 of X has 3000 rows, but that of y has 9"):
        model.fit(scatter(client, X[:9], X), scatter(client, y[:9], y[:9]))
    with pytest.raises(ValueError, match="y has only one class"):
        model.fit(cut(X, 100), cut(np.zeros(len(X)), 100))
    with pytest.raises(ValueError, match="Every partition of y is empty"):
        model.fit(scatter(client, X[:0]), scatter(client, y[:0]))
    lost = scatter(client, X)
    client.cancel(lost)
    with pytest.raises(RuntimeError, match="Dask has lost partitions that were given as futures"):
        model.fit(lost, scatter(client, y))
    with pytest.raises(ValueError, match="nothing to learn"):
        CostTreeClassifier(np.ones((3, 3))).fit(cut(X, 100), cut(y, 100))
    with pytest.raises(ValueError, match="Give either cost_matrix or costs, not both"):
        model.fit(cut(X, 100), cut(y, 100), costs=cut(costs, 100))
    broken = costs.copy()
    broken[2500, 1] = np.inf
    with pytest.raises(ValueError, match="infinite"):
        CostTreeClassifier().fit(cut(X, 100), cut(y, 100), costs=cut(broken, 100))
    with pytest.raises(
        TypeError, match="SMOTEBoostClassifier learns in the memory of one machine"
    ):
        SMOTEBoostClassifier().fit(cut(X, 100), cut(y, 100))
