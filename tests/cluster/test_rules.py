"""Rules learn from Dask collections of probabilities what they learn from arrays."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.cluster.test_trees import C, cut

from stakes.cluster import _learn
from stakes.costs import CostMatrix
from stakes.decision import (
    BinaryThreshold,
    ClassThresholds,
    ColumnPartition,
    FullPartition,
    LachicheFlach,
    MinimumExpectedCost,
    Mossman,
    ParallelPartition,
    RowPartition,
)

RULES = [
    MinimumExpectedCost,
    ParallelPartition,
    ColumnPartition,
    RowPartition,
    FullPartition,
    ClassThresholds,
    LachicheFlach,
    Mossman,
]
SIZES = [(1000, 700), (0, 10, 1200, 0, 300, 300, 400)]


@pytest.fixture(scope="module")
def proba(table):
    _, y, *_ = table
    scores = np.random.default_rng(0).dirichlet(np.ones(3), len(y))
    scores[np.arange(len(y)), y] += 0.7
    return scores / scores.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("cls", RULES)
def test_rows_that_fit_here_are_searched_exactly(client, table, proba, cls):
    _, y, costs, weight = table
    alone = cls(cost_matrix=C).fit(proba, y, weight)
    given = [cut(array, *SIZES[1]) for array in (proba, y, weight)]
    found = cls(cost_matrix=C).fit(*given)
    assert_array_equal(found.partition_, alone.partition_)
    assert_array_equal(found.predict(given[0]).compute(scheduler="sync"), alone.predict(proba))
    alone = cls().fit(proba, y, costs=costs)
    found = cls().fit(cut(proba, 900), cut(y, 900), costs=cut(costs, 900))
    assert_allclose(found.partition_, alone.partition_)


@pytest.mark.parametrize(
    ("cls", "kind"),
    [
        (ParallelPartition, "weighted"),
        (ColumnPartition, "costs"),
        (RowPartition, "class"),
        (ClassThresholds, "class"),
    ],
)
def test_more_rows_go_by_histograms_whose_sums_are_exact(
    client, table, proba, monkeypatch, cls, kind
):
    monkeypatch.setattr(_learn, "GATHERED", 100)
    _, y, costs, weight = table
    more = {"class": {}, "weighted": {"sample_weight": weight}, "costs": {"costs": costs}}[kind]
    rule = cls(cost_matrix=None if kind == "costs" else C)
    chunks = [(proba, y, more)]
    alone = rule.fit_chunks(chunks)
    parameters, cost = alone.parameters_, alone.cost_
    for sizes in SIZES:
        spread = {name: cut(array, *sizes) for name, array in more.items()}
        found = rule.fit(cut(proba, *sizes), cut(y, *sizes), **spread)
        # the means of costs of rows are the same but for the last bits
        assert_allclose(found.parameters_, parameters, rtol=1e-12 if kind == "costs" else 0)
        assert_allclose(found.cost_, cost)
        assert found.cost_ <= found.initial_cost_


def test_a_threshold_from_histograms(client, table, proba, monkeypatch):
    _, y, *_ = table
    y, proba = np.minimum(y, 1), np.column_stack([proba[:, 0], proba[:, 1:].sum(axis=1)])
    exact = BinaryThreshold(cost_matrix=[[0, 3], [1, 0]]).fit(proba, y)
    monkeypatch.setattr(_learn, "GATHERED", 100)
    for sizes in SIZES:
        found = BinaryThreshold(cost_matrix=[[0, 3], [1, 0]]).fit(
            cut(proba, *sizes), cut(y, *sizes)
        )
        assert exact.span_[0] - 1e-3 < found.threshold_ < exact.span_[1] + 1e-3
        assert_allclose(found.cost_, exact.cost_, rtol=0.01)
    with pytest.raises(ValueError, match="Mossman learns from at most 100 rows"):
        Mossman(cost_matrix=C).fit(cut(np.full((300, 3), 1 / 3), 9), cut(np.arange(300) % 3, 9))


def test_columns_that_name_the_classes(client, table, proba):
    _, y, *_ = table
    names = np.array(["a", "b", "c"])
    frame = pd.DataFrame(proba, columns=names)[["c", "a", "b"]]
    labels = pd.Series(names[y])
    named = CostMatrix(C, labels=["c", "a", "b"])
    alone = ParallelPartition(cost_matrix=named).fit(frame, labels)
    found = ParallelPartition(cost_matrix=named).fit(
        dd.from_pandas(frame, npartitions=3), dd.from_pandas(labels, npartitions=3)
    )
    assert found.classes_.tolist() == alone.classes_.tolist() == ["c", "a", "b"]
    assert_array_equal(found.partition_, alone.partition_)
