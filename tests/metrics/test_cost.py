import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import confusion_matrix

from stakes.costs import CostMatrix
from stakes.metrics import (
    average_cost,
    cost_interval,
    savings_score,
    stochastic_cost,
    total_cost,
)

C = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [64.0, 32.0, 0.0]])
Y_TRUE = np.array([0, 0, 1, 2, 2, 1])
Y_PRED = np.array([0, 2, 0, 1, 2, 1])


def test_total_cost_by_hand():
    # C[0,0] + C[0,2] + C[1,0] + C[2,1] + C[2,2] + C[1,1] = 0 + 2 + 4 + 32 + 0 + 0.
    # Transposed it would be 0 + 64 + 1 + 1 = 66.
    assert total_cost(Y_TRUE, Y_PRED, cost_matrix=C) == 38
    assert average_cost(Y_TRUE, Y_PRED, cost_matrix=C) == pytest.approx(38 / 6)


def test_every_form_of_costs_agrees():
    same = {
        "costs": C[Y_TRUE],
        "cost_tensor": np.broadcast_to(C, (6, 3, 3)),
        "cost_matrix": CostMatrix(C[::-1, ::-1], labels=[2, 1, 0]),
    }
    for name, given in same.items():
        assert total_cost(Y_TRUE, Y_PRED, **{name: given}) == 38
    frame = pd.DataFrame(C, index=[0, 1, 2], columns=[0, 1, 2])[[2, 0, 1]]
    assert total_cost(Y_TRUE, Y_PRED, cost_matrix=frame) == 38


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_confusion_matrix_times_the_costs(seed):
    rng = np.random.default_rng(seed)
    y, p = rng.integers(0, 3, 100), rng.integers(0, 3, 100)
    weight = rng.uniform(size=100)
    counts = confusion_matrix(y, p, sample_weight=weight)
    assert_allclose(total_cost(y, p, cost_matrix=C, sample_weight=weight), (counts * C).sum())
    assert_allclose(
        average_cost(y, p, cost_matrix=C, sample_weight=weight), (counts * C).sum() / weight.sum()
    )


def test_without_costs_it_counts_mistakes():
    assert total_cost(["a", "b", "b"], ["a", "a", "b"]) == 1


def test_labels_name_classes_that_do_not_occur():
    assert total_cost([0, 0], [0, 1], cost_matrix=C, labels=[0, 1, 2]) == 1
    with pytest.raises(ValueError, match="has 3 rows, one per true class, but y has 2"):
        total_cost([0, 0], [0, 1], cost_matrix=C)


def test_bad_calls_are_refused():
    with pytest.raises(ValueError, match="0 examples"):
        total_cost([], [], cost_matrix=C)
    with pytest.raises(ValueError, match="y_pred has 'z', but the classes are 'a', 'b'"):
        total_cost(["a", "b"], ["a", "z"], cost_matrix=C[:2, :2], labels=["a", "b"])
    with pytest.raises(ValueError, match="costs has 2 rows, one per example, but X has 6"):
        total_cost(Y_TRUE, Y_PRED, costs=C[:2])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        total_cost(Y_TRUE, Y_PRED[:3], cost_matrix=C)
    with pytest.raises(ValueError, match="Give either cost_matrix or costs, not both"):
        total_cost(Y_TRUE, Y_PRED, cost_matrix=C, costs=C[Y_TRUE])


def test_stochastic_cost_by_hand():
    # Truth 2, decided 0, 1, 2 with .5, .25, .25: 32 + 8. Truth 0: .5 * 1 + .5 * 2.
    proba = [[0.5, 0.25, 0.25], [0.0, 0.5, 0.5]]
    assert stochastic_cost([2, 0], proba, cost_matrix=C, labels=[0, 1, 2]) == (40 + 1.5) / 2


def test_a_certain_hypothesis_costs_what_its_decisions_cost():
    certain = np.eye(3)[Y_PRED]
    assert stochastic_cost(Y_TRUE, certain, cost_matrix=C) == pytest.approx(38 / 6)
    assert stochastic_cost(Y_TRUE, certain, costs=C[Y_TRUE]) == pytest.approx(38 / 6)


def test_stochastic_cost_wants_one_column_per_class():
    with pytest.raises(ValueError, match=r"shape \(6, 3\), .* but it has shape \(6, 2\)"):
        stochastic_cost(Y_TRUE, np.ones((6, 2)) / 2, cost_matrix=C)


def test_savings_against_the_best_constant():
    # Always 0: 4 + 4 + 64 + 64 = 136. Always 1: 1 + 1 + 32 + 32 = 66. Always 2: 2+2+1+1 = 6.
    assert savings_score(Y_TRUE, Y_PRED, cost_matrix=C) == pytest.approx((6 - 38) / 6)
    assert savings_score(Y_TRUE, Y_TRUE, cost_matrix=C) == 1


def test_savings_against_other_predictions():
    worse = np.array([0, 2, 0, 0, 2, 1])  # 0 + 2 + 4 + 64 = 70
    saved = savings_score(Y_TRUE, Y_PRED, baseline=worse, cost_matrix=C)
    assert saved == pytest.approx((70 - 38) / 70)
    with pytest.raises(ValueError, match="baseline='argmax' is unknown"):
        savings_score(Y_TRUE, Y_PRED, baseline="argmax", cost_matrix=C)


def test_savings_where_the_baseline_is_free():
    free = [[0.0, 0.0, 5.0], [3.0, 0.0, 1.0], [2.0, 0.0, 1.0]]  # always 1 costs nothing
    assert savings_score(Y_TRUE, np.ones(6, int), cost_matrix=free) == 0
    assert savings_score(Y_TRUE, Y_TRUE, cost_matrix=free) == -np.inf


def test_the_interval_of_rare_mistakes_is_that_of_a_poisson_variable():
    # 3 of 10,000 at 7: the exact interval at 3 is 0.6187 to 8.7673 mistakes.
    true, decided = np.zeros(10_000, int), np.repeat([1, 0], [3, 9_997])
    prices = [[0, 7], [7, 0]]
    assert_allclose(
        cost_interval(true, decided, cost_matrix=prices) * 10_000 / 7, [0.6187, 8.7673], rtol=1e-3
    )


def test_the_interval_holds_for_ten_mistakes():
    # The true cost is 20 x 5% = 1 per row; ten mistakes in 200 rows.
    rng, held = np.random.default_rng(0), 0
    for _ in range(1000):
        wrong = (rng.random(200) < 0.05).astype(int)
        low, high = cost_interval(np.zeros(200), wrong, cost_matrix=[[0, 20], [20, 0]])
        held += low <= 1 <= high
    assert 930 <= held <= 980


def test_the_interval_counts_the_expensive_class_that_was_not_missed():
    # 30 false alarms at 1 and none of 20 misses at 100: the upper end thinks of a miss.
    true = np.repeat([0, 1], [480, 20])
    decided = true.copy()
    decided[:30] = 1
    low, high = cost_interval(true, decided, cost_matrix=[[0, 1], [100, 0]])
    assert low > 0.03
    assert 0.2 < high < 1


def test_weights_of_one_change_no_interval_and_twice_the_rows_narrow_it():
    rng = np.random.default_rng(1)
    true, decided = (rng.random(300) < 0.3).astype(int), (rng.random(300) < 0.3).astype(int)
    plain = cost_interval(true, decided)
    assert_allclose(cost_interval(true, decided, sample_weight=np.full(300, 2.5)), plain)
    double = cost_interval(np.tile(true, 2), np.tile(decided, 2))
    assert_allclose(np.ptp(double) / np.ptp(plain), 0.5**0.5, rtol=0.02)


def test_an_interval_of_too_few_expensive_rows_is_warned_of():
    true = np.repeat([0, 1], [100, 2])
    with pytest.warns(UserWarning, match="Only 2 examples can be expensive: with fewer than 5"):
        cost_interval(true, np.zeros(102, int), cost_matrix=[[0, 1], [90, 0]])
