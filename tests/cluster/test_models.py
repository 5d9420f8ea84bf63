"""Models of other libraries under costs, from Dask collections."""

import pickle
import warnings

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.cluster.test_trees import C, cut

from stakes.auto import StakesClassifier
from stakes.cluster import _xgboost
from stakes.cluster._together import WorkerLost
from stakes.cluster._xgboost import PER_CLASS, PER_ROW, USED, Spool
from stakes.compare import fit_model
from stakes.decision import CostDecisionClassifier
from stakes.tree import CostTreeClassifier

xgboost = pytest.importorskip("xgboost")
SIZES = (0, 700, 1200)
NAMES = np.array(["a", "b", "c"])


def boosting(**more):
    return xgboost.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1, **more)


def test_gradient_boosting_and_least_expected_cost(client, table):
    X, y, _, weight = table
    model = CostDecisionClassifier(boosting(), cost_matrix=C)
    model.fit(cut(X, *SIZES), cut(NAMES[y], *SIZES), cut(weight, *SIZES))
    assert model.classes_.tolist() == NAMES.tolist()
    proba = model.predict_proba(X)  # without Dask
    assert_array_equal(model.predict(X), NAMES[(proba @ C).argmin(axis=1)])
    assert_array_equal(model.predict(cut(X, *SIZES)).compute(), model.predict(X))
    alone = boosting().fit(X, y, sample_weight=weight).predict_proba(X)
    assert_allclose(proba, alone, rtol=1e-5)
    assert_allclose(model.training_priors_, np.bincount(y) / len(y))
    assert model.n_training_ == len(y)


@pytest.mark.parametrize("sizes", [(), (1, 2000), SIZES])
def test_gradient_boosting_does_not_depend_on_the_partitions(client, table, sizes):
    X, y, *_ = table
    model = CostDecisionClassifier(boosting(), cost_matrix=C)
    model.fit(cut(X, *sizes), cut(y, *sizes))
    assert_array_equal(model.predict_proba(X), boosting().fit(X, y).predict_proba(X))


@pytest.mark.parametrize("place", [0, 2])
def test_gradient_boosting_of_gaps_and_a_class_in_one_partition_alone(client, table, place):
    X, y, *_ = table
    X, sizes = np.nan_to_num(X), (900, 1200)
    rows = slice(*[(0, 900), (900, 2100), (2100, 3000)][place])
    y = np.where(y == 0, 1, y)
    y[rows][X[rows, 0] > 1] = 0
    X[rows][y[rows] == 1, 3] = np.nan
    model = CostDecisionClassifier(boosting(), cost_matrix=C)
    model.fit(cut(X, *sizes), cut(y, *sizes))
    assert_array_equal(model.predict_proba(X), boosting().fit(X, y).predict_proba(X))


def hold_nothing(really):
    """Let a worker believe that it holds nothing yet."""
    from stakes.cluster._group import Group

    if really:
        Group.held, Group.memory_held = Group.memory_held, lambda _: 0
    else:
        Group.memory_held = Group.held
        del Group.held


def test_gradient_boosting_whose_bins_lie_in_a_file(client, table, limit_memory):
    client.run(hold_nothing, True)
    limit_memory(len(table[0]) * (PER_ROW + 3 * PER_CLASS) / USED)
    try:
        test_gradient_boosting_does_not_depend_on_the_partitions(client, table, SIZES)
    finally:
        client.run(hold_nothing, False)


def test_rows_in_files_are_not_read_to_be_moved(monkeypatch):
    monkeypatch.setattr(_xgboost, "_files", {})
    content = pickle.dumps({"label": np.zeros(10_000)})
    spool = Spool.write("a fit", content, 10_000, 1)
    assert len(pickle.dumps(spool)) < 500
    assert len(pickle.loads(pickle.dumps(spool)).read()["label"]) == 10_000
    _xgboost._forget("another fit")
    assert len(spool.read()["label"]) == 10_000
    _xgboost._forget("a fit")
    with pytest.raises(WorkerLost):  # as on any other worker
        spool.read()


def files_held():
    return len(_xgboost._files)


def test_gradient_boosting_leaves_no_files(client, table):
    X, y, *_ = table
    CostDecisionClassifier(boosting(), cost_matrix=C).fit(cut(X, *SIZES), cut(y, *SIZES))
    assert list(client.run(files_held).values()) == [0, 0]


def test_gradient_boosting_without_room_for_all_rows(client, table, limit_memory):
    X, y, *_ = table
    limit_memory(1)
    model = CostDecisionClassifier(boosting(), cost_matrix=C)
    with pytest.warns(UserWarning, match="has learned from 1% of the rows"):
        model.fit(cut(X, 1500), cut(y, 1500))
    assert len(model.predict(X)) == len(X)


def test_categories_that_partitions_know_in_part(client, table):
    X, y, *_ = table
    names = pd.Series(X[:, 1]).map({0: "p", 1: "q", 2: "r", 3: "s"})
    names[:900] = names[:900].where(names[:900].isin(["p", "q"]))
    frame = pd.DataFrame(X, columns=list("abcde")).assign(b=names)
    parts, labels = [], []
    for order, rows in (("qp", slice(0, 900)), ("srpq", slice(900, 3000))):
        part = frame[rows].astype({"b": pd.CategoricalDtype(list(order))})
        parts.append(client.scatter(part, hash=False))
        labels.append(client.scatter(y[rows], hash=False))
    model = CostDecisionClassifier(boosting(enable_categorical=True), cost_matrix=C)
    model.fit(parts, labels)
    whole = frame.astype({"b": "category"})
    alone = boosting(enable_categorical=True).fit(whole, y)
    assert_allclose(model.predict_proba(whole), alone.predict_proba(whole), rtol=1e-5)


def test_what_xgboost_refuses_is_said(client, table):
    X, y, *_ = table
    rows = cut(X, *SIZES), cut(y, *SIZES)
    with pytest.raises(ValueError, match="early_stopping_rounds is not for Dask collections"):
        CostDecisionClassifier(boosting(early_stopping_rounds=3)).fit(*rows)
    with pytest.raises(ValueError, match="XGBoost cannot be trained so: .*subsample"):
        CostDecisionClassifier(boosting(subsample=7.0)).fit(*rows)


def test_rule_and_calibration_learn_from_rows_held_out(client, table):
    X, y, *_ = table
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcde")), npartitions=3)
    labels = dd.from_pandas(pd.Series(NAMES[y]), npartitions=3)
    model = CostDecisionClassifier(
        boosting(), cost_matrix=C, rule="parallel_partition", calibration="temperature"
    )
    model.fit(frame, labels)
    assert model.calibrator_.temperature_ > 0
    assert model.rule_.cost_ <= model.rule_.initial_cost_
    assert_array_equal(model.feature_names_in_, list("abcde"))
    decided = model.predict(frame).compute().to_numpy()
    assert_array_equal(decided, model.predict(pd.DataFrame(X, columns=list("abcde"))))
    constant = min(C[y].mean(axis=0))
    assert -model.score(frame, labels).compute() < constant


def test_trees_of_ours_inside(client, table):
    X, y, *_ = table
    model = CostDecisionClassifier(
        CostTreeClassifier(max_depth=4), cost_matrix=C, calibration="vector"
    ).fit(cut(X, *SIZES), cut(y, *SIZES))
    assert isinstance(model.estimator_, CostTreeClassifier)
    assert len(model.predict(X)) == len(X)


def test_the_default_learns_from_all_rows(client, table):
    X, y, *_ = table
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["b"] = pd.Series(X[:, 1]).map({0: "p", 1: "q", 2: "r", 3: "s"})
    model = StakesClassifier(C, members=["linear"], random_state=0)
    rows = dd.from_pandas(frame, npartitions=3)
    labels = dd.from_pandas(pd.Series(NAMES[y]), npartitions=3)
    model.fit(rows, labels)
    names = [member.name for member in model.estimators_]
    assert set(names) <= {"linear", "all_rows"}
    assert "gradient boosting on all rows" in str(model.explain())
    assert model.explanation_["n_samples"] == len(X)
    constant = min(C[y].mean(axis=0))
    assert -model.score(rows, labels).compute() < constant
    assert_array_equal(model.predict(rows).compute().to_numpy(), model.predict(frame))


def test_a_model_of_collections_decides_collections(client):
    rng = np.random.default_rng(0)
    n = 900
    X = pd.DataFrame({"age": rng.normal(size=n), "job": rng.choice(["cook", "smith"], n)})
    y = np.where(X["age"] + (X["job"] == "cook") + rng.normal(size=n) > 0.5, "bad", "good")
    spread = dd.from_pandas(X.assign(y=y), npartitions=3)
    model = fit_model(spread[["age", "job"]], spread["y"], "tree", cost_matrix="rarity")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decided = model.predict(spread[["age", "job"]])
    assert decided.npartitions == 3
    assert_array_equal(decided.compute(), model.predict(X))
    assert_array_equal(model.predict_proba(spread).compute(), model.predict_proba(X))
    with pytest.raises(TypeError, match="stakes predict --dask writes"):
        model.decide(spread)
    with pytest.raises(ValueError, match="need all rows together"):
        model.with_limits({"bad": 10}).predict(spread)
