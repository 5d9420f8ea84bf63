"""Decisions that are not the classes, from Dask collections: those of arrays, in any partitions."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed
from numpy.testing import assert_allclose, assert_array_equal

from stakes.boosting import CoMBoClassifier
from stakes.compare import compare, fit_model
from stakes.costs import CostMatrix
from stakes.decision import (
    ConstantDecisionClassifier,
    CostDecisionClassifier,
    MinimumExpectedCost,
    MostProbable,
    ParallelPartition,
)
from stakes.reductions import DataSpaceExpansionClassifier, GBSEClassifier
from stakes.tree import CostForestClassifier, CostTreeClassifier

ACTIONS = ("approve", "ask", "review", "block")
PRICES = np.array([[100.0, 30.0, 8.0, 0.0], [0.0, 1.0, 6.0, 20.0]])
MATRIX = CostMatrix(PRICES, ("fraud", "honest"), ACTIONS)
RNG = np.random.default_rng(0)
N = 600
CODES = RNG.integers(0, 2, N)
X = pd.DataFrame(RNG.normal(size=(N, 3)) + CODES[:, None], columns=list("abc"))
Y = pd.Series(np.array(["fraud", "honest"])[CODES])
COSTS = pd.DataFrame(PRICES[CODES] * RNG.lognormal(0, 0.3, N)[:, None], columns=ACTIONS)
WEIGHT = pd.Series(RNG.integers(1, 4, N).astype(float))
MODELS = [
    CostTreeClassifier(max_depth=4),
    CostForestClassifier(n_estimators=3, random_state=0),
    GBSEClassifier(n_estimators=3, random_state=0),
    DataSpaceExpansionClassifier(n_estimators=3, random_state=0),
    CostDecisionClassifier(CostTreeClassifier(max_depth=3)),
]


def cut(frame, npartitions=3):
    return dd.from_pandas(frame, npartitions=npartitions)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("weighted", [False, True])
def test_class_costs_of_any_decisions(client, model, weighted):
    given = {"sample_weight": WEIGHT} if weighted else {}
    model.set_params(cost_matrix=MATRIX)
    alone = model.fit(X, Y, **given).predict(X)
    spread = model.fit(cut(X), cut(Y), **{name: cut(v) for name, v in given.items()})
    assert_array_equal(spread.decisions_, ACTIONS)
    assert_array_equal(spread.predict(cut(X)).compute(), alone)
    assert set(alone) <= set(ACTIONS)
    model.set_params(cost_matrix=None)


@pytest.mark.parametrize("model", MODELS[:4], ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("weighted", [False, True])
def test_costs_of_rows_are_read_by_the_names_of_their_columns(client, model, weighted):
    given = {"sample_weight": WEIGHT} if weighted else {}
    alone = model.fit(X, Y, costs=COSTS, **given)
    decided, matrix = alone.predict(X), alone.cost_matrix_
    more = {name: cut(v) for name, v in given.items()}
    spread = model.fit(cut(X), cut(Y), costs=cut(COSTS), **more)
    assert_array_equal(spread.decisions_, ACTIONS)
    assert_allclose(spread.cost_matrix_, matrix)
    assert_array_equal(spread.predict(cut(X)).compute(), decided)


@pytest.mark.parametrize("columns", [["fraud", "honest"], ["honest", "fraud"]])
def test_columns_named_by_the_classes_may_stand_in_any_order(client, columns):
    costs = pd.DataFrame({"honest": 9.0 * (CODES == 0), "fraud": 1.0 * (CODES == 1)})[columns]
    model = CostTreeClassifier(max_depth=2).fit(cut(X), cut(Y), costs=cut(costs))
    assert_allclose(model.cost_matrix_, [[0, 9], [1, 0]])
    alone = CostTreeClassifier(max_depth=2).fit(X, Y, costs=costs)
    assert_array_equal(model.predict(X), alone.predict(X))


def test_rules_and_the_best_single_decision(client):
    proba = CostTreeClassifier(MATRIX, max_depth=3).fit(X, Y).predict_proba(X)
    frame = pd.DataFrame(proba, columns=["fraud", "honest"])
    for rule in (MinimumExpectedCost, MostProbable, ParallelPartition):
        alone = rule(cost_matrix=MATRIX).fit(frame, Y).predict(frame)
        spread = rule(cost_matrix=MATRIX).fit(cut(frame), cut(Y))
        assert_array_equal(spread.predict(cut(frame)).compute(), alone)
    one = ConstantDecisionClassifier(MATRIX).fit(cut(X), cut(Y))
    assert_allclose(one.mean_costs_, PRICES[CODES].mean(axis=0))


def test_what_cannot_be_read_is_refused_in_one_sentence(client):
    with pytest.raises(ValueError, match="costs has 4 columns, one per decision, but y has 2"):
        CostTreeClassifier().fit(cut(X), cut(Y), costs=cut(COSTS).to_dask_array(lengths=True))
    with pytest.raises(ValueError, match="decides the classes 'fraud', 'honest' alone"):
        CoMBoClassifier(MATRIX).fit(cut(X), cut(Y))
    parts = [COSTS[:300], COSTS[300:][list(ACTIONS[::-1])]]
    halves = [[delayed(frame[:300]), delayed(frame[300:])] for frame in (X, Y)]
    with pytest.raises(ValueError, match="partitions of costs have other columns"):
        CostTreeClassifier().fit(*halves, costs=[delayed(part) for part in parts])


@pytest.mark.parametrize("kind", ["class", "hindsight"])
def test_comparisons_and_models_know_the_decisions(client, kind):
    given = {"cost_matrix": MATRIX} if kind == "class" else {"costs": cut(COSTS)}
    found = compare(cut(X), cut(Y), **given, methods=["tree", "gbse", "combo"], fast=True)
    assert found.decisions == ACTIONS
    assert found.results["combo"].reason == "it decides the classes alone"
    assert found.confusion("gbse").shape == (2, 4)
    model = fit_model(cut(X), cut(Y), "tree", **given)
    assert set(model.predict(X)) <= set(ACTIONS)
    one = fit_model(X, Y, "tree", **({"costs": COSTS} if kind == "hindsight" else given))
    assert_array_equal(model.predict(X), one.predict(X))


def test_a_comparison_reads_costs_by_the_names_of_the_classes(client):
    costs = pd.DataFrame({"honest": 9.0 * (CODES == 0), "fraud": 1.0 * (CODES == 1)})
    model = fit_model(cut(X), cut(Y), "tree", costs=cut(costs))
    assert_array_equal(model.predict(X), fit_model(X, Y, "tree", costs=costs).predict(X))
