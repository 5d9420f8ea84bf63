import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from stakes._learning.votes import cheapest_decisions
from stakes.reductions import rejection_sample
from stakes.reductions._sampling import ExamplePlan, PairPlan, pair_of


def test_shares_follow_the_weights():
    # 4 examples of weights 1, 2, 4, 0: kept with probability 1/4, 1/2, 1 and 0.
    weights = np.array([1.0, 2.0, 4.0, 0.0])
    kept = np.zeros(4)
    for seed in range(2000):
        kept[rejection_sample(weights, seed)] += 1
    assert kept[2] == 2000
    assert kept[3] == 0
    # the standard deviations are 0.0097 and 0.0112
    assert_allclose(kept[:2] / 2000, [0.25, 0.5], atol=0.04)


def test_no_example_comes_twice_and_the_seed_decides():
    weights = np.random.RandomState(0).uniform(size=500)
    rows = rejection_sample(weights, 3)
    assert len(np.unique(rows)) == len(rows)
    assert_array_equal(rows, rejection_sample(weights, 3))
    assert len(rows) != len(rejection_sample(weights, 4))


def test_a_factor_of_the_weights_changes_nothing():
    weights = np.random.RandomState(0).uniform(size=200)
    assert_array_equal(rejection_sample(weights, 0), rejection_sample(1024 * weights, 0))


def test_max_weight_thins_the_sample():
    sizes = [len(rejection_sample(np.ones(900), s, max_weight=1.5)) for s in range(20)]
    assert np.mean(sizes) == pytest.approx(600, abs=15)  # sd of the mean: 14.1 / sqrt(20)


def test_all_zero_weights_give_an_empty_sample():
    assert rejection_sample(np.zeros(5), 0).shape == (0,)
    assert rejection_sample([], 0).shape == (0,)


@pytest.mark.parametrize(
    ("weights", "options", "message"),
    [
        ([1.0, -2.0], {}, r"A weight is negative \(-2 at position 1\)"),
        ([1.0, np.nan], {}, "weights has NaN at position 1"),
        ([1.0, 3.0], {"max_weight": 2.0}, "max_weight is 2, less than the weight 3"),
    ],
)
def test_bad_weights_are_named(weights, options, message):
    with pytest.raises(ValueError, match=message):
        rejection_sample(weights, 0, **options)


def test_pairs_are_positions_in_a_table():
    table = np.arange(12).reshape(4, 3)
    rows, labels = pair_of(table.ravel(), 3)
    assert_array_equal(table[rows, labels], table.ravel())


def test_pair_plan_draws_by_the_weight_of_the_pair():
    # Class 0 has weights (4, 2, 0), class 1 has (0, 1, 4): acceptance 1, 1/2, 0 / 0, 1/4, 1.
    table = np.array([[4.0, 2.0, 0.0], [0.0, 1.0, 4.0]])
    y = np.array([0] * 4000 + [1] * 4000)
    plan = PairPlan(table, y, None, "rejection")
    rows, labels, weight = plan.draw(np.random.RandomState(0))
    assert weight is None
    kept = np.zeros((2, 3))
    np.add.at(kept, (y[rows], labels), 1 / 4000)
    assert_allclose(kept, [[1, 0.5, 0], [0, 0.25, 1]], atol=0.03)
    # the same weights, a row each: the same draw
    by_row = PairPlan(table[y], np.arange(8000), None, "rejection")
    for mine, theirs in zip(
        plan.draw(np.random.RandomState(1)), by_row.draw(np.random.RandomState(1))
    ):
        assert_array_equal(mine, theirs)


def test_pair_plan_hands_on_the_weights_of_all_pairs():
    table = np.array([[4.0, 2.0, 0.0], [0.0, 1.0, 4.0]])
    plan = PairPlan(table, np.array([1, 0]), np.array([10.0, 1.0]), "weights")
    rows, labels, weight = plan.draw(np.random.RandomState(0))
    found = np.zeros((2, 3))
    found[rows, labels] = weight
    assert_array_equal(found, [[0, 10, 40], [4, 2, 0]])
    assert plan.max_weight() == 40
    assert plan.fallback == 2


def test_example_plan_leaves_out_what_weighs_nothing():
    plan = ExamplePlan(np.array([0.0, 3.0, 1.0]), np.array([2, 0, 1]), "weights")
    rows, labels, weight = plan.draw(np.random.RandomState(0))
    assert_array_equal(rows, [1, 2])
    assert_array_equal(labels, [0, 1])
    assert_array_equal(weight, [3, 1])
    assert plan.fallback == 0


def test_bootstrap_repeats_by_weight():
    weights = np.ones(1000)
    plan = ExamplePlan(weights, np.zeros(1000, dtype=int), "weights", bootstrap=True)
    rows, _, weight = plan.draw(np.random.RandomState(0))
    assert weight.sum() == 1000
    assert len(rows) == pytest.approx(632, abs=40)


def test_the_true_class_wins_a_tie_for_cheapest():
    costs = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [3.0, 0.0, 1.0]])
    assert_array_equal(cheapest_decisions(costs, np.array([1, 2, 0])), [1, 0, 1])
