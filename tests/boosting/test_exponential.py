"""The state that the kernels keep equals the equations, round after round."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stakes.boosting._equations import LARGEST_EDGE, cost_matrix_of_round, edge, loss, vote
from stakes.boosting._exponential import REBUILD_EVERY, ExponentialCosts, Penalty
from stakes.costs import Costs

C = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [9.0, 3.0, 0.0]])


def make_state(n=200, seed=0, by_class=True, **kwargs):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    rows = C[y] + (0 if by_class else rng.uniform(0, 1, (n, 3)))
    training = Costs(y, matrix=C) if by_class else Costs(y, costs=rows)
    penalty = Penalty.from_costs(training, rng.uniform(0.5, 2, n))
    return ExponentialCosts(penalty, 3, **kwargs), penalty, rng


def noisy(target, rng, share=0.7):
    return np.where(rng.random(len(target)) < share, target, rng.integers(3, size=len(target)))


@pytest.mark.parametrize("by_class", [True, False])
def test_rounds_agree_with_the_equations(by_class):
    state, penalty, rng = make_state(by_class=by_class)
    rows, f = penalty.rows(), np.zeros((200, 3))
    everything = np.arange(3)
    for _ in range(REBUILD_EVERY + 40):  # past one rebuilding
        D = cost_matrix_of_round(f, penalty.target, rows)
        unit = state.loss / -state.costs[np.arange(200), penalty.target].sum()
        assert_allclose(state.costs * unit, D, rtol=1e-9, atol=1e-12 * np.abs(D).max())
        assert_allclose(state.costs.sum(axis=1), 0, atol=1e-12)
        h = noisy(penalty.target, rng)
        step = state.advance(h, everything)
        delta = edge(D, h, penalty.target)
        if delta <= 0:
            assert step.is_last
            break
        assert step.edge == pytest.approx(delta, rel=1e-9)
        assert step.weight == pytest.approx(vote(delta), rel=1e-9)
        f[np.arange(200), h] += step.weight
        assert_allclose(state.scores, f)  # kept incrementally = from scratch
        assert step.loss == pytest.approx(
            loss(cost_matrix_of_round(f, penalty.target, rows), penalty.target), rel=1e-9
        )


def test_leaves_and_their_decisions_say_the_same_as_decisions():
    one, penalty, rng = make_state()
    other, _, _ = make_state()
    leaf, decisions = rng.integers(6, size=200), np.array([0, 2, 1, 1, 0, 2])
    leaf = np.where(decisions[leaf] == penalty.target, leaf, 5)
    assert one.advance(leaf, decisions) == other.advance(decisions[leaf], np.arange(3))
    assert (one.costs == other.costs).all()


def test_a_useless_member_changes_nothing_and_is_the_last():
    state, _, _ = make_state()
    before = state.costs.copy()
    worst = state.costs.argmax(axis=1)
    step = state.advance(worst, np.arange(3))
    assert step.is_last
    assert step.edge < 0
    assert step.weight == 0
    assert (state.costs == before).all()
    assert not state.scores.any()


def test_a_perfect_member_is_the_last_and_its_vote_is_finite():
    state, penalty, _ = make_state(learning_rate=0.1)
    step = state.advance(penalty.target, np.arange(3))
    assert step.is_last
    assert step.edge == LARGEST_EDGE
    assert step.weight == vote(1.0)  # not shrunk: nothing comes after it
    assert 0 < step.loss <= state.initial_loss * np.sqrt(1 - step.edge**2)


def test_a_thousand_rounds_of_high_edges_stay_finite():
    # Each round misses one example, another one each time: edges near 1, every round. The
    # loss falls below the least float, D must not.
    state, penalty, _ = make_state(n=50)
    for t in range(1000):
        h = penalty.target.copy()
        h[t % 50] = (h[t % 50] + 1) % 3
        step = state.advance(h, np.arange(3))
        assert not step.is_last
        assert np.isfinite(step)[:3].all()
        assert np.isfinite(state.costs).all()
        assert state.scaled_loss > 0
    assert np.isfinite(state.scores).all()
    assert (state.scores.argmax(axis=1) == penalty.target).all()
    assert step.loss == 0.0


def test_costs_in_other_units_give_the_same_bits():
    y = np.arange(30) % 3
    ones = np.ones(30)
    plain = ExponentialCosts(Penalty.from_costs(Costs(y, matrix=C), ones), 3)
    large = ExponentialCosts(Penalty.from_costs(Costs(y, matrix=1024 * C), ones), 3)
    assert (plain.costs == large.costs).all()
    assert large.initial_loss == 1024 * plain.initial_loss


def test_nothing_to_learn_is_refused():
    y = np.array([0, 1, 2])
    weights = np.zeros(3)
    penalty = Penalty.from_costs(Costs(y, matrix=C), weights)
    with pytest.raises(ValueError, match="nothing to learn"):
        ExponentialCosts(penalty, 3)
