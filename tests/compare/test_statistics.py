import numpy as np
import pytest
from numpy.testing import assert_allclose

from stakes.compare._statistics import cost_when_chosen, paired_intervals


def test_pairing_makes_a_difference_certain_where_the_costs_are_not():
    # Costs from 0 to 1000, so the means are uncertain; the second method pays 1 less each time.
    paid = np.random.default_rng(0).exponential(300, size=(80, 1)) - [[0.0, 1.0]]
    found = paired_intervals(paid, 0)
    assert (found.high - found.low > 50).all()
    assert_allclose(found.difference, [0, -1])
    assert_allclose(found.difference_low, found.difference, atol=1e-9)
    assert_allclose(found.difference_high, found.difference, atol=1e-9)


def test_the_interval_of_a_mean_is_that_of_the_central_limit():
    paid = np.random.default_rng(1).normal(5, 2, size=(4000, 1)).clip(0)
    found = paired_intervals(paid, 0)
    error = paid.std() / np.sqrt(4000)
    assert_allclose(found.low, paid.mean() - 1.96 * error, atol=0.15 * error)
    assert_allclose(found.high, paid.mean() + 1.96 * error, atol=0.15 * error)


def test_intervals_of_many_methods_hold_for_all_at_once():
    # Twenty methods as good as the baseline: in 95% of the worlds none may look different.
    rng = np.random.default_rng(3)
    wrong = 0
    for world in range(200):
        paid = rng.exponential(size=(150, 21))
        found = paired_intervals(paid, 0, random_state=world)
        wrong += bool(((found.difference_low > 0) | (found.difference_high < 0)).any())
    # One at a time, about two thirds of the worlds would show a false difference.
    assert 1 <= wrong <= 18


def test_no_interval_saves_more_than_everything():
    # Rare and expensive mistakes: the second method has a third of the first one's.
    rng = np.random.default_rng(5)
    first = (rng.random(600) < 0.05) * 100.0
    second = first * (rng.random(600) < 0.33)
    found = paired_intervals(np.column_stack([first, second, first * 0.0]), 0)
    assert (found.savings_high <= 1).all()
    assert_allclose(found.savings[2], 1)
    assert found.difference_high[1] < 0
    assert found.difference_low[1] < found.difference[1] < found.difference_high[1]


def test_a_tenth_more_on_each_mistake_is_as_unsure_as_the_mistakes():
    # 100 or so mistakes at 1; the second method pays 1.1 for each. The difference has the standard
    # error of a tenth of the first one's mean: an interval of its baseline times 0.1 forgets it.
    first = (np.random.default_rng(0).random(2000) < 0.05) * 1.0
    found = paired_intervals(np.c_[first, 1.1 * first], 0)
    error = 0.1 * first.std() / np.sqrt(2000)
    assert found.difference[1] - found.difference_low[1] > 1.8 * error
    assert found.difference_high[1] - found.difference[1] > 1.8 * error


def test_a_saving_is_clear_where_the_difference_is():
    rng = np.random.default_rng(8)
    for _ in range(40):
        first = (rng.random(300) < 0.06) * 10.0
        second = np.where(rng.random(300) < 0.5, first, 0.0) + (rng.random(300) < 0.05)
        found = paired_intervals(np.c_[first, second], 0)
        assert (found.difference_high[1] < 0) == (found.savings_low[1] > 0)


def rare_worlds(rng, n_worlds: int, n: int, n_mistakes: float):
    """Two methods with rare mistakes at log-normal amounts, half of them in common."""
    for _ in range(n_worlds):
        amount = rng.lognormal(0, 1, n)
        common, *own = (rng.random((n, 3)) < n_mistakes / 2 / n).T
        both = np.column_stack([amount * (common | each) for each in own])
        yield np.column_stack([amount * (rng.random(n) < 0.1), both])


def test_intervals_hold_where_few_mistakes_are_expensive():
    # 20 mistakes of each method in 1,000 rows; both cost the same in truth.
    truth, rng = 0.02 * np.exp(0.5), np.random.default_rng(6)
    held = []
    for paid in rare_worlds(rng, 400, 1000, 20):
        found = paired_intervals(paid, 1)
        true_difference = 0.1 * np.exp(0.5) - truth
        held.append(
            [
                found.low[1] <= truth <= found.high[1],
                found.difference_low[2] <= 0 <= found.difference_high[2],
                found.difference_low[0] <= true_difference <= found.difference_high[0],
            ]
        )
    assert (np.mean(held, axis=0) >= 0.93).all()
    # What two equal methods differ by is wider than it need be: it counts a whole amount more.
    assert (np.mean(held, axis=0)[[0, 2]] <= 0.99).all()


def test_heavy_amounts_are_counted_before_they_are_seen():
    # 10 of 1,000 rows cost; amounts of Pareto's distribution of shape 1.5 have no variance.
    rng, held, chosen = np.random.default_rng(0), [], []
    for world in range(200):
        amount, wrong = rng.pareto(1.5, 1000) + 1, rng.random((1000, 14)) < 1 / 3
        paid = (
            np.where(rng.random(1000) < 0.03, amount, 0.0)[:, None] * np.c_[np.ones(1000), wrong]
        )
        intervals = paired_intervals(paid[:, :2], 0)
        held.append(intervals.low[1] <= 0.03 <= intervals.high[1])
        _, low, high = cost_when_chosen(paid[:, 1:], random_state=world)
        chosen.append(low <= 0.03 <= high)
    assert np.mean(held) >= 0.93
    assert np.mean(chosen) >= 0.91


def test_a_method_without_mistakes_has_an_upper_end():
    # None of 300 rows: the exact upper end of a Poisson variable is 3.69 mistakes of 10.
    paid = np.zeros((300, 2))
    paid[:60, 0] = 10.0
    found = paired_intervals(paid, 0)
    assert found.low[1] == found.mean[1] == 0
    assert_allclose(found.high[1], 36.89 / 300, rtol=0.005)


def test_the_cheapest_of_many_equal_ones_is_not_cheaper():
    # Fourteen methods of the same cost, 1: the least of the means is too low, this is not.
    rng, least, counted, held = np.random.default_rng(7), [], [], []
    for world in range(200):
        paid = 20.0 * (rng.random((400, 14)) < 0.05)
        cost, low, high = cost_when_chosen(paid, random_state=world)
        least.append(paid.mean(axis=0).min())
        counted.append(cost)
        held.append(low <= 1 <= high)
    assert np.mean(least) < 0.7
    assert 0.9 < np.mean(counted) < 1.1
    assert np.mean(held) > 0.93


def test_costs_that_are_negative_mirror_those_that_are_not():
    paid = (np.random.default_rng(4).random((200, 3)) < 0.1) * [[5.0, 3.0, 8.0]]
    found, mirrored = paired_intervals(paid, 0), paired_intervals(-paid, 0)
    assert_allclose(found.difference_low, -mirrored.difference_high)
    assert_allclose(found.low, -mirrored.high)
    assert_allclose(found.savings, -mirrored.savings)


def test_the_same_seed_gives_the_same_interval():
    paid = np.random.default_rng(4).exponential(size=(50, 3))
    first, second = (paired_intervals(paid, 0, random_state=9) for _ in range(2))
    for a, b in zip(first, second):
        assert_allclose(a, b, rtol=0)


@pytest.mark.parametrize("value", [0.0, 1e12])
def test_equal_costs_have_no_width(value):
    found = paired_intervals(np.full((30, 2), value), 0)
    assert_allclose(found.low, value)
    assert_allclose(found.difference_high, 0)


def test_what_was_chosen_is_no_surer_than_it_is_alone():
    # The chosen method's rows never cost 100; what all decisions can cost says that they may.
    paid = np.repeat([[0.0, 0.0], [1.0, 1.0]], [270, 30], axis=0)
    span = np.repeat([100.0, 1.0], [5, 295])
    alone = paired_intervals(paid, 0, span=span)
    _, _, high = cost_when_chosen(paid, span=span)
    assert_allclose(high, alone.high[0])
    assert high > 1.0
