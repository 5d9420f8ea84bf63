import numpy as np
import pytest
from numpy.testing import assert_allclose

from stakes.compare import _statistics
from stakes.compare._statistics import paired_intervals


def test_pairing_makes_a_difference_certain_where_the_costs_are_not():
    # Costs from 0 to 1000, so the means are uncertain; the second method pays 1 less each time.
    paid = np.random.default_rng(0).exponential(300, size=(80, 1)) - [[0.0, 1.0]]
    found = paired_intervals(paid, 0)
    assert (found.high - found.low > 50).all()
    assert_allclose(found.difference, [0, -1])
    assert_allclose(found.difference_low, found.difference, atol=1e-9)
    assert_allclose(found.difference_high, found.difference, atol=1e-9)


def test_the_interval_of_a_mean_is_that_of_the_central_limit():
    paid = np.random.default_rng(1).normal(5, 2, size=(4000, 1))
    found = paired_intervals(paid, 0)
    error = paid.std() / np.sqrt(4000)
    assert_allclose(found.low, paid.mean() - 1.96 * error, atol=0.15 * error)
    assert_allclose(found.high, paid.mean() + 1.96 * error, atol=0.15 * error)


def test_blocks_change_the_interval_by_little(monkeypatch):
    paid = np.random.default_rng(2).gamma(0.3, size=(6000, 2))
    whole = paired_intervals(paid, 0)
    monkeypatch.setattr(_statistics, "MAX_BLOCKS", 1000)
    blocks = paired_intervals(paid, 0)
    assert_allclose(blocks.mean, whole.mean)
    assert_allclose(blocks.high - blocks.low, whole.high - whole.low, rtol=0.12)


def test_intervals_of_many_methods_hold_for_all_at_once():
    # Twenty methods as good as the baseline: in 95% of the worlds none may look different.
    rng = np.random.default_rng(3)
    wrong = 0
    for world in range(60):
        paid = rng.exponential(size=(150, 21))
        found = paired_intervals(paid, 0, n_resamples=400, random_state=world)
        wrong += bool(((found.difference_low > 0) | (found.difference_high < 0)).any())
    # One at a time, about two thirds of the worlds would show a false difference.
    assert wrong <= 8


def test_no_interval_saves_more_than_everything():
    # Rare and expensive mistakes: the second method has a third of the first one's.
    rng = np.random.default_rng(5)
    first = (rng.random(600) < 0.05) * 100.0
    second = first * (rng.random(600) < 0.33)
    found = paired_intervals(np.column_stack([first, second, first * 1.1]), 0)
    assert -found.difference_low[1] < found.mean[0]
    assert found.difference_high[1] < 0
    assert found.difference_low[1] < found.difference[1] < found.difference_high[1]
    # A tenth more on every mistake is a certain ratio, up to rounding.
    assert_allclose(found.difference_low[2], found.difference[2], rtol=1e-6)


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
