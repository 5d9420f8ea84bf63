import numpy as np
import pytest
from numpy.testing import assert_allclose

from stakes._learning.votes import cheapest_decisions, normalize_rows
from stakes.boosting._equations import (
    LARGEST_EDGE,
    cost_matrix_of_round,
    edge,
    loss,
    loss_factor,
    vote,
)

# Five examples: three of class 0, one each of classes 1 and 2. CoMBo weighs them by 1 / m_y.
Y = np.array([0, 0, 0, 1, 2])
PENALTY = np.array([1 / 3, 1 / 3, 1 / 3, 1.0, 1.0])[:, None] * np.ones((5, 3))
R2 = np.sqrt(2)


def test_two_rounds_of_combo_by_hand():
    # Round 1, f = 0: each wrong label costs 1 / m_y, the right one minus their sum.
    f = np.zeros((5, 3))
    D = cost_matrix_of_round(f, Y, PENALTY)
    first = [-2 / 3, 1 / 3, 1 / 3]
    assert_allclose(D, [first, first, first, [1, -2, 1], [1, 1, -2]])
    assert loss(D, Y) == pytest.approx(6)  # K (K - 1)

    # h_1 takes the third example for 1 and the last for 1:
    # D . 1_h = -2/3 - 2/3 + 1/3 - 2 + 1 = -2, so delta = 2 / 6 and alpha = log(2) / 2.
    h = np.array([0, 0, 1, 1, 1])
    assert edge(D, h, Y) == pytest.approx(1 / 3)
    alpha = vote(1 / 3)
    assert alpha == pytest.approx(np.log(2) / 2)

    # Round 2: right rows are divided by sqrt 2; wrong ones have h_1's entry times sqrt 2.
    f[np.arange(5), h] += alpha
    D = cost_matrix_of_round(f, Y, PENALTY)
    right = [-2 / (3 * R2), 1 / (3 * R2), 1 / (3 * R2)]
    expected = [
        right,
        right,
        [-(1 + R2) / 3, R2 / 3, 1 / 3],
        [1 / R2, -2 / R2, 1 / R2],
        [1, R2, -(1 + R2)],
    ]
    assert_allclose(D, expected)
    # 2 * 2/(3 sqrt 2) + (1 + sqrt 2)/3 + 2/sqrt 2 + 1 + sqrt 2
    assert loss(D, Y) == pytest.approx(4 / 3 + 3 * R2)
    assert loss(D, Y) <= 6 * np.sqrt(1 - 1 / 9)  # Lemma 5

    # h_2: 1/(3 sqrt 2) - 2/(3 sqrt 2) - (1 + sqrt 2)/3 + 1/sqrt 2 - 1 - sqrt 2
    h = np.array([2, 0, 0, 0, 2])
    assert edge(D, h, Y) == pytest.approx((R2 + 4 / 3) / (4 / 3 + 3 * R2))


def test_penalties_of_section_6_stand_before_the_exponential():
    # C[true, decision]; the row of class 1 is (8, 0, 2).
    penalty = np.array([[8.0, 0.0, 2.0]])
    f = np.array([[0.0, np.log(2), np.log(6)]])
    # decision 0: 8 * exp(0 - log 2) = 4    decision 2: 2 * exp(log 6 - log 2) = 6
    assert_allclose(cost_matrix_of_round(f, np.array([1]), penalty), [[4, -10, 6]])


@pytest.mark.parametrize("seed", range(5))
def test_rows_sum_to_zero_and_are_least_at_the_target(seed):
    rng = np.random.default_rng(seed)
    target = rng.integers(4, size=30)
    D = cost_matrix_of_round(rng.exponential(3, (30, 4)), target, rng.uniform(0, 5, (30, 4)))
    assert_allclose(D.sum(axis=1), 0, atol=1e-9 * np.abs(D).max())
    assert (D.argmin(axis=1) == target).all()


@pytest.mark.parametrize("seed", range(5))
def test_lemma_5_bounds_the_loss_for_any_decisions_and_any_step(seed):
    rng = np.random.default_rng(seed)
    target = rng.integers(4, size=30)
    penalty, f = rng.uniform(0, 5, (30, 4)), rng.exponential(1, (30, 4))
    D = cost_matrix_of_round(f, target, penalty)
    h = np.where(rng.random(30) < 0.6, target, rng.integers(4, size=30))
    delta, alpha = edge(D, h, target), rng.uniform(0.1, 2)
    f[np.arange(30), h] += alpha
    after = loss(cost_matrix_of_round(f, target, penalty), target)
    assert after <= loss(D, target) * loss_factor(delta, alpha) * (1 + 1e-12)


def test_the_step_of_algorithm_1_gives_the_factor_of_theorem_6():
    delta = np.linspace(0, 0.999, 50)
    assert_allclose(loss_factor(delta, vote(delta)), np.sqrt(1 - delta**2))


def test_an_edge_of_one_has_a_finite_vote():
    assert vote(1.0) == vote(LARGEST_EDGE) == pytest.approx(18.37, abs=0.01)
    assert vote(-1.0) == -vote(1.0)


def test_the_target_is_the_true_class_unless_another_decision_is_cheaper():
    costs = np.array([[0.0, 1.0, 1.0], [3.0, 3.0, 0.0], [1.0, 1.0, 9.0]])
    assert cheapest_decisions(costs, np.array([0, 1, 1])).tolist() == [0, 2, 1]


def test_vote_shares_sum_to_one_and_keep_the_order():
    rng = np.random.default_rng(0)
    scores = rng.exponential(1, (20, 5))
    shares = normalize_rows(scores)
    assert_allclose(shares.sum(axis=1), 1)
    assert (shares.argsort(axis=1) == scores.argsort(axis=1)).all()
