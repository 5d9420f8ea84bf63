"""Decisions at prices that are guesses: against enumeration and brute force."""

from itertools import product

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from stakes.costs import UncertainCostMatrix
from stakes.decision import (
    CostDecisionClassifier,
    LeastRegret,
    RiskAverse,
    break_even_prices,
    decide,
    decide_under_doubt,
    expected_costs,
    value_of_knowing,
)
from stakes.decision._doubt import range_regrets, sampled_regrets, worst_costs


def random_problem(seed, k=3, n=20):
    rng = np.random.default_rng(seed)
    low = rng.uniform(0, 5, (k, k)) * (1 - np.eye(k))
    high = low + rng.uniform(0, 5, (k, k)) * (rng.random((k, k)) < 0.5) * (1 - np.eye(k))
    return rng.dirichlet(np.ones(k), n), low, high


@pytest.mark.parametrize("seed", range(5))
def test_least_regret_of_ranges_is_that_of_all_their_corners(seed):
    proba, low, high = random_problem(seed)
    cells = np.argwhere(high > low)
    corners = []
    for ends in product((0, 1), repeat=len(cells)):
        corner = low.copy()
        for (t, d), end in zip(cells, ends):
            corner[t, d] = (low, high)[end][t, d]
        corners.append(corner)
    exact = range_regrets(proba, low, high)
    assert np.allclose(exact, sampled_regrets(proba, np.array(corners)), atol=1e-12)
    inside = UncertainCostMatrix.from_ranges(low, high).sample(300)
    assert (sampled_regrets(proba, inside) <= exact + 1e-12).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_worst_share_is_that_of_all_outcomes_written_out(seed):
    proba, low, high = random_problem(seed, n=6)
    high[seed] = low[seed]  # the prices of one truth are known for sure
    draws = UncertainCostMatrix.from_ranges(low, high).sample(40)
    found = worst_costs(proba, draws, 0.25)
    least = draws - draws.min(axis=2, keepdims=True)
    for i, d in np.ndindex(found.shape):
        outcomes = [(least[s, t, d], proba[i, t] / 40) for s in range(40) for t in range(3)]
        left, paid = 0.25, 0.0
        for cost, mass in sorted(outcomes, reverse=True):
            paid += cost * min(mass, left)
            left -= min(mass, left)
        assert found[i, d] == pytest.approx(paid / 0.25)
    mean = least.mean(axis=0)
    assert np.allclose(worst_costs(proba, draws, 1.0), proba @ mean)


def test_break_even_prices_are_those_of_a_grid_of_10001_prices():
    rng = np.random.default_rng(3)
    C = np.array([[0.0, 2.0, 4.0], [9.0, 0.0, 3.0], [6.0, 8.0, 0.0]])
    proba = rng.dirichlet(np.ones(3), 40)
    found = break_even_prices(proba, C)
    now = decide(proba, C)
    grid = np.linspace(-20, 30, 10_001)
    for t, d in np.ndindex(3, 3):
        prices = np.repeat(C[None], len(grid), axis=0)
        prices[:, t, d] = grid
        for i in range(40):
            taken = expected_costs(np.repeat(proba[i : i + 1], len(grid), 0), cost_tensor=prices)
            is_d = taken.argmin(axis=1) == d
            # Decision d is taken up to the price found, whatever is decided now.
            assert (is_d == (grid <= found[i, t, d])).all() or np.isclose(
                grid[is_d].max(initial=-20), found[i, t, d], atol=0.005
            )
            assert (C[t, d] <= found[i, t, d]) == (now[i] == d)
    tensor = np.repeat(C[None], 40, axis=0)
    assert np.array_equal(break_even_prices(proba, cost_tensor=tensor), found)


def test_no_price_of_an_impossible_truth_changes_a_decision():
    found = break_even_prices([[1.0, 0.0]], [[0, 1], [20, 0]])
    assert found[0, 1].tolist() == [np.inf, -np.inf]
    assert found[0, 0].tolist() == [1.0, 0.0]


def test_the_value_of_knowing_by_hand():
    # A miss costs 0 to 8, a false alarm 1; P = 0.2. Blind: "no" costs 4 x 0.2 = 0.8 = "yes".
    # Knowing the price c: min(0.2 c, 0.8); above 4 it saves 0.2 c - 0.8, up to 0.8, on average
    # 0.4, half of the time: 0.2 in all.
    C = UncertainCostMatrix([[0, 1], [(0, 8), 0]])
    found = value_of_knowing([[0.8, 0.2]], C, n_draws=4000)
    assert found.total == pytest.approx(0.2, abs=1e-3)
    assert found.cells[1, 0] == pytest.approx(0.2, abs=1e-3)
    assert found.cells[0, 1] == 0
    # Two prices that always move together: to know one is to know both.
    rng = np.random.default_rng(0)
    size = rng.uniform(0, 1, 400)
    samples = np.zeros((400, 2, 2))
    samples[:, 1, 0], samples[:, 0, 1] = 8 * size, 1.0 + size
    told = value_of_knowing([[0.8, 0.2]], UncertainCostMatrix.from_samples(samples))
    assert np.allclose(told.cells[[0, 1], [1, 0]], told.total, rtol=0.05)


def test_without_doubt_all_criteria_but_the_worst_share_agree():
    proba, low, _ = random_problem(1, n=50)
    C = UncertainCostMatrix(low.tolist())
    same = decide(proba, low)
    for criterion in ("mean", "regret"):
        assert np.array_equal(decide_under_doubt(proba, C, criterion), same)
    assert np.array_equal(decide_under_doubt(proba, C, "worst", share=1.0), same)
    assert np.array_equal(C.sample(), low[None])  # and not a thousand times the same
    with pytest.raises(ValueError, match="criterion='best' must be one of mean, regret, worst"):
        decide_under_doubt(proba, C, "best")
    with pytest.raises(ValueError, match="share=0 must be above 0"):
        decide_under_doubt(proba, C, "worst", share=0)


@pytest.mark.parametrize(
    ("rule", "criterion"), [(LeastRegret(), "regret"), (RiskAverse(), "worst")]
)
@pytest.mark.parametrize("samples", [False, True])
def test_the_rules_decide_as_the_functions(rule, criterion, samples):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 30)
    X = rng.normal(size=(90, 2)) + np.repeat([[0, 0], [1, 0], [0, 1]], 30, axis=0)
    ranges = [[0, (1, 12), 1], [(1, 30), 0, 2], [3, (2, 25), 0]]
    C = UncertainCostMatrix(ranges, labels=["c", "a", "b"])
    if samples:
        C = UncertainCostMatrix.from_samples(C.sample(200), labels=C.labels)
    model = CostDecisionClassifier(GaussianNB(), cost_matrix=C, rule=rule).fit(X, y)
    told = decide_under_doubt(model.predict_proba(X), C.aligned(model.classes_), criterion)
    assert np.array_equal(model.predict(X), model.classes_[told])
    drawn = np.random.default_rng(1).dirichlet(np.ones(3), 500)
    known = C.aligned(model.classes_)
    told = decide_under_doubt(drawn, known, criterion)
    assert np.array_equal(model.rule_.decide(drawn), told)
    assert (told != decide_under_doubt(drawn, known)).any()
