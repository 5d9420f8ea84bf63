import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad
from scipy.special import softmax
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV

from stakes.auto import ExpectedCostBoostingClassifier
from stakes.auto._expected_cost_boosting import (
    expected_cost_gradient,
    scores_from_expected_costs,
    typical_gap,
)
from stakes.datasets import make_known_posterior

pytest.importorskip("xgboost")

C = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [64.0, 32.0, 0.0]])


def test_gradient_by_hand():
    # q = (1/2, 1/2), C = (0, 4): E = 2, g = (-1, 1).
    gradient, curvature = expected_cost_gradient(np.zeros((1, 2)), np.array([[0.0, 4.0]]))
    assert_allclose(gradient, [[-1, 1]])
    assert_allclose(curvature, [[1, 1]])


def test_gradient_is_that_of_the_expected_cost():
    rng = np.random.default_rng(0)
    costs = rng.uniform(0, 5, size=(1, 4))

    def loss(z):
        return float((softmax(z[None]) * costs).sum())

    def slope(z):
        return expected_cost_gradient(z[None], costs)[0][0]

    assert check_grad(loss, slope, rng.normal(size=4)) < 1e-6


def test_a_shift_of_the_costs_leaves_the_gradient_alone():
    rng = np.random.default_rng(1)
    scores, costs = rng.normal(size=(5, 3)), rng.uniform(size=(5, 3))
    moved = costs + rng.normal(size=(5, 1))
    assert_allclose(
        expected_cost_gradient(scores, costs)[0], expected_cost_gradient(scores, moved)[0]
    )


def test_start_scores_prefer_the_cheapest():
    expected = np.array([[3.0, 1.0, 2.0], [5.0, 9.0, 5.5]])
    gap = typical_gap(expected)  # second minus first: 1 and 0.5, median 0.75
    assert_allclose(gap, 0.75)
    scores = scores_from_expected_costs(expected, gap)
    assert_array_equal(scores.argmax(axis=1), [1, 0])
    assert_allclose(scores.max(axis=1), 0)


def test_it_learns_costs_that_only_training_shows():
    data = make_known_posterior(3000, K=3, d=6, cost_kind="hindsight", random_state=0)
    test = data.sample(4000, random_state=1)
    settings = {"random_state": 0, "max_depth": 3}
    started = ExpectedCostBoostingClassifier(n_estimators=0, **settings)
    grown = ExpectedCostBoostingClassifier(n_estimators=60, **settings)
    risks = [
        test.risk(model.fit(data.X, data.y, costs=data.costs).predict(test.X))
        for model in (started, grown)
    ]
    assert risks[1] < risks[0]
    assert 0 < grown.n_iter_ <= 60
    assert grown.validation_costs_.min() == grown.validation_costs_[grown.n_iter_ - 1]
    assert grown.validation_costs_.min() < grown.initial_validation_cost_


@pytest.mark.parametrize("start", ["minimum_expected_cost", "log_probability", "zero"])
def test_every_start_reaches_the_expensive_group(start):
    X = np.repeat([[0.0], [1.0]], 100, axis=0)
    y = np.tile([0, 0, 0, 1], 50)
    missed = np.where(X[:, 0] == 1, 9.0, 1.0)
    costs = np.column_stack([missed * (y == 1), 1.0 * (y == 0)])
    model = ExpectedCostBoostingClassifier(
        start=start, estimator=DummyClassifier(), random_state=0, n_iter_no_change=50
    )
    model.fit(X, y, costs=costs)
    assert_array_equal(model.predict([[0.0], [1.0]]), [0, 1])
    assert_array_equal(model.decision_function([[0.0], [1.0]]) > 0, [False, True])


def test_costs_follow_their_rows_through_a_search():
    data = make_known_posterior(300, K=3, d=4, cost_kind="hindsight", random_state=2)
    from sklearn import config_context

    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            ExpectedCostBoostingClassifier(random_state=0, cv=2),
            {"n_estimators": [0, 5]},
            cv=2,
        )
        search.fit(data.X, data.y, costs=data.costs)
    assert np.isfinite(search.best_score_)
    assert search.best_score_ < 0  # minus a cost


def test_pickles_and_repeats():
    data = make_known_posterior(200, K=3, d=4, random_state=3)
    model = ExpectedCostBoostingClassifier(
        cost_matrix=data.cost_matrix, n_estimators=10, random_state=0
    ).fit(data.X, data.y)
    again = clone(model).fit(data.X, data.y)
    loaded = pickle.loads(pickle.dumps(model))
    for other in (again, loaded):
        assert_array_equal(model.decision_function(data.X), other.decision_function(data.X))


def test_whole_weights_move_the_decision():
    X, y = np.zeros((40, 1)), np.repeat([0, 1], 20)
    weight = np.where(y == 1, 3.0, 1.0)
    model = ExpectedCostBoostingClassifier(
        start="zero", n_estimators=5, validation_fraction=None, random_state=0
    )
    assert model.fit(X, y, sample_weight=weight).predict([[0.0]]) == [1]
    assert model.fit(X, y, sample_weight=4 - weight).predict([[0.0]]) == [0]


def test_a_class_with_one_example_survives():
    X = np.arange(21.0)[:, None]
    y = np.r_[np.zeros(10, int), np.ones(10, int), 2]
    model = ExpectedCostBoostingClassifier(cost_matrix=C, n_estimators=3, random_state=0)
    assert np.isin(model.fit(X, y).predict(X), [0, 1, 2]).all()
