"""The two references: the most probable class, and the best single decision."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from stakes._methods import declared_methods
from stakes.costs import CostMatrix, CostWarning
from stakes.decision import ConstantDecisionClassifier, CostDecisionClassifier, MostProbable
from stakes.metrics import average_cost

C = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [20.0, 20.0, 0.0]])
X, Y = make_classification(n_samples=300, n_classes=3, n_informative=4, flip_y=0.2, random_state=0)


@parametrize_with_checks([ConstantDecisionClassifier()])
def test_sklearn_contract(estimator, check):
    check(estimator)


# -- the most probable class --------------------------------------------------------------------


def test_the_most_probable_class_is_what_the_model_predicts():
    plain = GaussianNB().fit(X, Y)
    tensor = C * np.linspace(1, 1000, 300)[:, None, None]
    model = CostDecisionClassifier(GaussianNB(), cost_matrix=C, rule="most_probable").fit(X, Y)
    assert_array_equal(model.predict(X), plain.predict(X))
    # costs known when deciding are taken, and move nothing
    assert_array_equal(model.predict(X, cost_tensor=tensor), plain.predict(X))
    # but what the decisions cost is said by the costs
    assert model.score(X, Y) == -average_cost(Y, plain.predict(X), cost_matrix=C)
    assert_allclose(model.expected_costs(X), plain.predict_proba(X) @ C)


def test_of_equal_probabilities_the_first_class_is_taken():
    rule = MostProbable(classes=[0, 1, 2]).fit([[0.2, 0.4, 0.4]], [1])
    assert_array_equal(rule.decide([[0.2, 0.4, 0.4], [0.1, 0.1, 0.8]]), [1, 2])
    assert_array_equal(rule.partition_, 1 - np.eye(3))
    with pytest.raises(ValueError, match="sums to 1.1"):
        rule.predict([[0.2, 0.4, 0.5]])


# -- the best single decision ---------------------------------------------------------------------


def test_the_best_single_decision_by_hand():
    # 7, 2 and 1 of ten: deciding 0 costs 2 * 1 + 1 * 20, 1 costs 7 + 20, 2 costs 7 + 2
    y = [0] * 7 + [1] * 2 + [2]
    model = ConstantDecisionClassifier(C).fit(np.zeros((10, 1)), y)
    assert_allclose(model.mean_costs_, [2.2, 2.7, 0.9])
    assert_allclose(model.class_shares_, [0.7, 0.2, 0.1])
    assert_array_equal(model.predict(np.ones((4, 1))), [2] * 4)
    assert_allclose(model.expected_costs(np.ones((2, 1))), [[2.2, 2.7, 0.9]] * 2)
    assert model.score(np.zeros((10, 1)), y) == pytest.approx(-0.9)
    # weights count: without the example of class 2, which is as if it were not there, it is 0
    model.set_params(cost_matrix=CostMatrix(C, labels=[0, 1, 2]))
    with pytest.warns(CostWarning, match="cost_matrix has 2, which y lacks"):
        model.fit(np.zeros((10, 1)), y, sample_weight=[1] * 9 + [0])
    assert_allclose(model.mean_costs_, [2 / 9, 7 / 9])
    assert_allclose(model.class_shares_, [7 / 9, 2 / 9])
    assert model.decision_ == 0


def test_costs_known_in_hindsight():
    # the classes say nothing of the costs: deciding "b" is free for most
    costs = np.array([[5.0, 0.0], [5.0, 0.0], [0.0, 3.0]])
    model = ConstantDecisionClassifier().fit(np.zeros((3, 1)), ["a", "a", "b"], costs=costs)
    assert_allclose(model.expected_costs([[0]]), [[10 / 3, 1]])
    assert_array_equal(model.predict([[0]]), ["b"])


def test_costs_known_when_deciding_move_what_is_expected_not_what_is_decided():
    y = np.array([0, 0, 0, 1])
    amounts = np.array([1.0, 1, 1, 8])
    tensor = np.zeros((4, 2, 2))
    tensor[:, 0, 1] = 1
    tensor[:, 1, 0] = amounts
    model = ConstantDecisionClassifier().fit(np.zeros((4, 1)), y, cost_tensor=tensor)
    # deciding 0 cost 8 once, deciding 1 cost 1 three times
    assert_allclose(model.mean_costs_, [2.0, 0.75])
    known = tensor[[0, 3]]
    assert_array_equal(model.predict(np.zeros((2, 1)), cost_tensor=known), [1, 1])
    expected = model.expected_costs(np.zeros((2, 1)), cost_tensor=known)
    assert_allclose(expected, [[0.25 * 1, 0.75 * 1], [0.25 * 8, 0.75 * 1]])
    assert model.score(np.zeros((4, 1)), y, cost_tensor=tensor) == pytest.approx(-0.75)


def test_tables_of_any_kind():
    frame = pd.DataFrame({"colour": ["red", None, "blue"], "size": [1.0, np.nan, 2.0]})
    model = ConstantDecisionClassifier().fit(frame, ["a", "b", "b"])
    assert_array_equal(model.predict(frame), ["b"] * 3)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"size": "weight"}))


def test_both_are_declared_as_references():
    methods = declared_methods()
    for name, title in (
        ("constant", "One decision for all"),
        ("plain", "Model without prices"),
    ):
        assert methods[name].reference
        assert methods[name].family == "reference"
        assert methods[name].title == title
        assert methods[name].kinds == ("class", "deciding", "hindsight")
