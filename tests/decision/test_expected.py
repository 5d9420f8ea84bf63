import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from stakes.costs import CostMatrix, CostWarning
from stakes.decision import MinimumExpectedCost, decide, expected_costs

# Rows are true classes, columns are decisions. Missing class 2 is expensive; a false alarm of
# class 2 is cheap. Never symmetric: a transposition must break a test.
C = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [20.0, 20.0, 0.0]])


def test_expected_costs_by_hand():
    # d=0: .2*1 + .1*20 = 2.2    d=1: .7*1 + .1*20 = 2.7    d=2: .7*1 + .2*1 = 0.9
    # With C transposed they would be .3, .8 and 18, and the decision 0.
    assert_allclose(expected_costs(np.array([[0.7, 0.2, 0.1]]), C), [[2.2, 2.7, 0.9]])
    assert_array_equal(decide([[0.7, 0.2, 0.1]], C), [2])


def test_the_slides_credit_table():
    # Lending to a defaulter costs 1000, turning a payer away 10: lend only where
    # P(default) * 1000 < P(pays) * 10, that is below 10 / 1010 = 0.0099.
    credit = CostMatrix.from_predicted_true([[0, 10], [1000, 0]], labels=["default", "pays"])
    proba = np.array([[0.0098, 0.9902], [0.0100, 0.9900]])
    rule = MinimumExpectedCost(cost_matrix=credit).fit(proba, ["pays", "default"])
    assert_array_equal(rule.predict(proba), ["pays", "default"])


def test_zero_one_costs_give_the_most_probable_class():
    proba = np.random.default_rng(0).dirichlet(np.ones(4), size=50)
    assert_array_equal(decide(proba), proba.argmax(axis=1))


def test_a_tensor_decides_each_example_by_its_own_costs():
    proba = np.array([[0.9, 0.1], [0.9, 0.1]])
    tensor = np.array([[[0, 1], [5, 0]], [[0, 1], [50, 0]]])
    # decide 1 costs .9; decide 0 costs .1 * 5 = .5 and .1 * 50 = 5
    assert_allclose(expected_costs(proba, cost_tensor=tensor), [[0.5, 0.9], [5.0, 0.9]])
    assert_array_equal(decide(proba, cost_tensor=tensor), [0, 1])


def test_more_decisions_than_classes():
    # a third decision, to abstain, at 0.3 whatever the truth
    costs = [[0, 1, 0.3], [2, 0, 0.3]]
    assert_array_equal(decide([[0.9, 0.1], [0.6, 0.4], [0.1, 0.9]], costs), [0, 2, 1])


def test_blocks_of_rows_give_what_one_product_gives():
    proba = np.random.default_rng(1).dirichlet(np.ones(3), size=10_001)
    assert_array_equal(decide(proba, C), (proba @ C).argmin(axis=1))


@pytest.mark.parametrize("seed", range(5))
def test_properties_1_3_and_4(seed):
    # Scaling all costs, and adding a constant to the costs of one true class (a row here, a
    # column in the paper), move no decision; so the diagonal can be made 0.
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(3), size=200)
    costs = rng.uniform(1, 10, size=(3, 3))
    np.fill_diagonal(costs, rng.uniform(-1, 0.5, size=3))
    expected = proba @ costs
    clear = np.diff(np.sort(expected, axis=1)[:, :2], axis=1)[:, 0] > 1e-9
    moved = rng.uniform(0.5, 10) * (costs + rng.normal(size=(3, 1)))
    assert_array_equal(decide(proba, moved)[clear], decide(proba, costs)[clear])
    zero_diagonal = costs - np.diag(costs)[:, None]
    assert (zero_diagonal[~np.eye(3, dtype=bool)] > 0).all()
    assert_array_equal(decide(proba, zero_diagonal)[clear], decide(proba, costs)[clear])


@pytest.mark.parametrize(
    ("proba", "message"),
    [
        ([[0.5, 0.5, 0.1]], r"sums to 1.1 \(row 0\)"),
        ([[0.2, 0.2, 0.6], [np.nan, 0.5, 0.5]], "NaN at row 1, column 0"),
        ([[np.inf, 0.5, 0.5]], "infinite entry at row 0, column 0"),
        ([[1.2, -0.2, 0.0]], "negative entry, -0.2, at row 0, column 1"),
        ([[0.5, 0.5]], "2 columns, one per class, but the rule was fitted with 3 classes"),
        ([0.2, 0.8], "Stack 1 - p and p for two classes"),
        (np.empty((0, 3)), "0 rows"),
    ],
)
def test_what_is_no_probability_is_refused(proba, message):
    rule = MinimumExpectedCost(cost_matrix=C).fit(np.full((3, 3), 1 / 3), [0, 1, 2])
    with pytest.raises(ValueError, match=message):
        rule.predict(proba)


def test_float32_probabilities_pass():
    proba = np.random.default_rng(0).dirichlet(np.ones(3), size=100)
    rule = MinimumExpectedCost(cost_matrix=C).fit(proba.astype(np.float32), np.arange(100) % 3)
    assert (rule.predict(proba.astype(np.float32)) == rule.predict(proba)).mean() > 0.97


def test_a_class_without_an_example_needs_its_name():
    proba = np.full((2, 3), 1 / 3)
    with pytest.raises(ValueError, match="name all of them in `classes`"):
        MinimumExpectedCost(cost_matrix=C).fit(proba, [0, 2])
    rule = MinimumExpectedCost(cost_matrix=C, classes=[0, 1, 2]).fit(proba, [0, 2])
    assert_array_equal(rule.predict(proba), [2, 2])


def test_columns_of_a_frame_say_the_order():
    frame = pd.DataFrame([[0.1, 0.7, 0.2]], columns=["sepsis", "cold", "flu"])
    rule = MinimumExpectedCost(cost_matrix=CostMatrix(C, labels=["cold", "flu", "sepsis"]))
    rule.fit(frame.loc[[0] * 3], ["cold", "flu", "sepsis"])
    assert_array_equal(rule.predict(frame), ["sepsis"])
    assert_array_equal(rule.predict(frame[["flu", "cold", "sepsis"]]), ["sepsis"])


def test_an_unreasonable_matrix_warns():
    with pytest.warns(CostWarning, match="unreasonable"):
        MinimumExpectedCost(cost_matrix=[[3, 1], [5, 0]]).fit([[0.5, 0.5]] * 2, [0, 1])


def test_example_costs_become_class_means():
    costs = [[0, 1], [0, 3], [8, 0]]
    rule = MinimumExpectedCost().fit([[0.5, 0.5]] * 3, [0, 0, 1], costs=costs)
    assert_allclose(rule.cost_matrix_, [[0, 2], [8, 0]])
    with pytest.raises(ValueError, match="either cost_matrix or costs"):
        MinimumExpectedCost(cost_matrix=[[0, 1], [2, 0]]).fit(
            [[0.5, 0.5]] * 3, [0, 0, 1], costs=costs
        )
