"""How far decisions are from the least possible cost, where that is known."""

import numpy as np
import pytest

from stakes.datasets import make_known_posterior
from stakes.decision import (
    ClassThresholds,
    ColumnPartition,
    FullPartition,
    LachicheFlach,
    MinimumExpectedCost,
    Mossman,
    ParallelPartition,
    ProbabilityCalibrator,
    RowPartition,
)
from stakes.decision._calibration import METHODS

RULES = [
    ParallelPartition,
    RowPartition,
    ColumnPartition,
    FullPartition,
    ClassThresholds,
    LachicheFlach,
    Mossman,
]


@pytest.fixture(scope="module")
def data():
    return make_known_posterior(5000, K=3, d=5, random_state=3)


@pytest.fixture(scope="module")
def test_rows(data):
    return data.sample(20_000, random_state=1)


def distort(proba, power):
    """Smooth towards the class shares (power < 1), or away from them (power > 1)."""
    share = proba.mean(axis=0)
    said = share * (proba / share) ** power
    return said / said.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("power", [0.35, 3.0])
@pytest.mark.parametrize("method", METHODS)
def test_calibrated_decisions_are_nearer_to_bayes(data, test_rows, method, power):
    said, asked = distort(data.proba, power), distort(test_rows.proba, power)
    rule = MinimumExpectedCost(cost_matrix=data.cost_matrix).fit(said, data.y)
    calibrated = ProbabilityCalibrator(method).fit(said, data.y).transform(asked)
    plug_in = test_rows.excess(rule.predict(asked))
    assert 0 <= test_rows.excess(rule.predict(calibrated)) < 0.6 * plug_in


@pytest.mark.parametrize("power", [0.35, 3.0])
@pytest.mark.parametrize("rule", RULES[:4])
def test_partitioned_decisions_are_nearer_to_bayes(data, test_rows, rule, power):
    said, asked = distort(data.proba, power), distort(test_rows.proba, power)
    plug_in = MinimumExpectedCost(cost_matrix=data.cost_matrix).fit(said, data.y)
    learned = rule(cost_matrix=data.cost_matrix).fit(said, data.y)
    before = test_rows.excess(plug_in.predict(asked))
    assert 0 <= test_rows.excess(learned.predict(asked)) < 0.8 * before


@pytest.mark.parametrize("rule", RULES)
def test_with_the_truth_nothing_beats_bayes(data, test_rows, rule):
    learned = rule(cost_matrix=data.cost_matrix, shrink=True, random_state=0)
    learned.fit(data.proba, data.y)
    excess = test_rows.excess(learned.predict(test_rows.proba))
    assert 0 <= excess < 0.01


def test_the_plug_in_of_the_truth_is_bayes(data):
    rule = MinimumExpectedCost(cost_matrix=data.cost_matrix).fit(data.proba, data.y)
    assert data.risk(rule.predict(data.proba)) == pytest.approx(data.bayes_cost())


@pytest.mark.parametrize("rule", [ParallelPartition, RowPartition, ColumnPartition])
def test_example_costs_that_are_known_when_deciding(rule):
    data = make_known_posterior(4000, K=3, d=5, cost_kind="deciding", random_state=0)
    fresh = data.sample(10_000, random_state=1)
    plug_in = MinimumExpectedCost().fit(data.proba, data.y, cost_tensor=data.cost_tensor)
    exact = plug_in.predict(fresh.proba, cost_tensor=fresh.cost_tensor)
    assert fresh.excess(exact) == pytest.approx(0.0, abs=1e-9)
    said, asked = distort(data.proba, 0.35), distort(fresh.proba, 0.35)
    learned = rule().fit(said, data.y, cost_tensor=data.cost_tensor)
    before = fresh.excess(plug_in.predict(asked, cost_tensor=fresh.cost_tensor))
    after = fresh.excess(learned.predict(asked, cost_tensor=fresh.cost_tensor))
    assert 0 <= after < before


def test_more_data_bring_the_partition_nearer():
    sizes = (200, 2000, 20_000)
    excess = []
    for n in sizes:
        runs = []
        for seed in range(4):
            data = make_known_posterior(n, K=4, d=4, random_state=seed)
            fresh = data.sample(4000, random_state=seed + 50)
            rule = ParallelPartition(cost_matrix=data.cost_matrix)
            rule.fit(distort(data.proba, 0.35), data.y)
            runs.append(fresh.excess(rule.predict(distort(fresh.proba, 0.35))))
        excess.append(np.mean(runs))
    assert excess[0] > excess[1] > excess[2]
