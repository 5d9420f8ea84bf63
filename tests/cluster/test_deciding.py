"""Deciding on Dask collections is lazy, and decides as on arrays."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from tests.cluster.test_trees import C, cut

from stakes import metrics
from stakes.boosting import CoMBoClassifier
from stakes.decision import CostDecisionClassifier
from stakes.reductions import MetaCostClassifier
from stakes.tree import CostForestClassifier, CostTreeClassifier

SIZES = (0, 700, 0, 2000)
MODELS = {
    "tree": CostTreeClassifier(C, max_depth=4),
    "forest": CostForestClassifier(C, n_estimators=3, max_depth=4, random_state=0),
    "combo": CoMBoClassifier(C, n_estimators=5),
    "decision": CostDecisionClassifier(LogisticRegression(), cost_matrix=C, abstain_cost=0.5),
    "metacost": MetaCostClassifier(
        cost_matrix=C, estimator=CostTreeClassifier(max_depth=3), n_estimators=2, random_state=0
    ),
}


@pytest.fixture(scope="module")
def filled(table):
    X, y, *_ = table
    return np.nan_to_num(X), np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("name", MODELS)
def test_every_method_by_row(client, filled, name):
    X, y = filled
    model = MODELS[name].fit(X, y)
    rows = cut(X, *SIZES)
    frame = dd.from_pandas(pd.DataFrame(X, index=np.arange(len(X)) * 2), npartitions=3)
    tried = 0
    for method in ("predict", "predict_proba", "expected_costs", "decision_function"):
        if not hasattr(model, method):
            continue
        wanted = getattr(model, method)(X)
        found = getattr(model, method)(rows)
        assert isinstance(found, da.Array)
        assert found.chunks[0] == rows.chunks[0]
        assert found.shape == wanted.shape
        assert_array_equal(found.compute(scheduler="sync"), wanted)
        found = getattr(model, method)(frame)
        assert found.divisions == frame.divisions
        got = found.compute(scheduler="sync")
        assert_array_equal(got.to_numpy(), wanted)
        assert_array_equal(got.index, np.arange(len(X)) * 2)
        tried += 1
    assert tried >= 2
    score = model.score(rows, cut(y, *SIZES))
    assert not isinstance(score, float)
    assert_allclose(score.compute(), model.score(X, y))


def test_rows_of_unknown_number_lists_and_workers(client, filled):
    X, y = filled
    model = MODELS["tree"].fit(X, y)
    rows = cut(X, *SIZES)
    some = rows[rows[:, 0] > 0]
    assert np.isnan(some.shape[0])
    assert_array_equal(model.predict(some).compute(), model.predict(X[X[:, 0] > 0]))
    parts = client.scatter([X[:5], X[5:5], X[5:9]], hash=False)
    found = client.gather(client.compute(model.predict(parts)))
    assert_array_equal(np.concatenate([found[0], found[2]]), model.predict(X[:9]))


def test_prices_of_rows(client, filled):
    X, y = filled
    model = MODELS["forest"].fit(X, y)
    rng = np.random.default_rng(0)
    tensor = rng.uniform(1, 9, (len(X), 3, 3)) * (1 - np.eye(3))
    weight = rng.integers(0, 3, len(X)).astype(float)
    weight[:700] = 0.0
    rows, labels = cut(X, *SIZES), cut(y, *SIZES)
    found = model.predict(rows, cost_tensor=cut(tensor, *SIZES)).compute()
    assert_array_equal(found, model.predict(X, cost_tensor=tensor))
    score = model.score(rows, labels, cut(weight, *SIZES), cost_tensor=cut(tensor, *SIZES))
    assert_allclose(score.compute(), model.score(X, y, weight, cost_tensor=tensor))
    matrix = C[::-1]
    score = model.score(rows, labels, cost_matrix=matrix)
    assert_allclose(score.compute(), model.score(X, y, cost_matrix=matrix))
    with pytest.raises(ValueError, match="would count the classes of each partition"):
        model.score(rows, labels, cost_matrix="rarity")
    with pytest.raises(ValueError, match="There are 0 examples that count"):
        model.score(rows, labels, cut(0 * weight, *SIZES)).compute()


def test_measures(client, table):
    _, y, costs, weight = table
    rng = np.random.default_rng(0)
    decided = np.where(rng.random(len(y)) < 0.6, y, rng.integers(0, 3, len(y)))
    weight[:700] = 0.0
    labels = [0, 1, 2]
    true, pred = cut(y, *SIZES), cut(decided, *SIZES)
    for given in (
        {"cost_matrix": C},
        {"costs": costs},
        {"cost_matrix": C, "sample_weight": weight},
    ):
        spread = {k: v if k == "cost_matrix" else cut(v, *SIZES) for k, v in given.items()}
        for measure in (metrics.total_cost, metrics.average_cost, metrics.savings_score):
            found = measure(true, pred, labels=labels, **spread)
            assert_allclose(found.compute(), measure(y, decided, labels=labels, **given))
        low, high = metrics.cost_interval(true, pred, labels=labels, **spread).compute()
        wanted = metrics.cost_interval(y, decided, labels=labels, **given)
        average = metrics.average_cost(y, decided, labels=labels, **given)
        assert low < average < high
        assert_allclose([low, high], wanted, rtol=0.05)
    found = metrics.savings_score(true, pred, labels=labels, baseline=cut(y, *SIZES))
    assert found.compute() == -np.inf
    found = metrics.confusion_norm(true, pred, labels=labels)
    assert_allclose(found.compute(), metrics.confusion_norm(y, decided))
    with pytest.raises(ValueError, match="a partition may lack classes: give labels"):
        metrics.average_cost(true, pred, cost_matrix=C)
