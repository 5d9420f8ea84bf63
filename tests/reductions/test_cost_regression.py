import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from stakes.datasets import make_known_posterior
from stakes.reductions import CostRegressionClassifier
from stakes.reductions._cost_regression import one_sided_gradient, spo_plus_gradient

C = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [64.0, 32.0, 0.0]])


def one_sided_loss(predicted, costs):
    z = np.where(costs == costs.min(), 1.0, -1.0)
    return 0.5 * (np.maximum(0.0, z * (predicted - costs)) ** 2).sum()


def spo_plus_loss(predicted, costs):
    best = costs.argmin()
    return (costs - 2 * predicted).max() + 2 * predicted[best] - costs[best]


@pytest.mark.parametrize(
    ("loss", "gradient"),
    [(one_sided_loss, one_sided_gradient), (spo_plus_loss, spo_plus_gradient)],
)
@pytest.mark.parametrize("seed", range(3))
def test_gradients_are_those_of_the_losses(loss, gradient, seed):
    rng = np.random.default_rng(seed)
    costs, point = rng.uniform(0, 5, size=4), rng.uniform(0, 5, size=4)
    off = check_grad(lambda r: loss(r, costs), lambda r: gradient(r[None], costs[None])[0], point)
    assert off < 1e-5


@pytest.mark.parametrize("seed", range(5))
def test_spo_plus_bounds_what_the_decision_loses(seed):
    rng = np.random.default_rng(seed)
    costs, predicted = rng.uniform(0, 5, size=4), rng.uniform(0, 5, size=4)
    lost = costs[predicted.argmin()] - costs.min()
    assert lost <= spo_plus_loss(predicted, costs) + 1e-12


def test_a_perfect_prediction_has_no_gradient():
    costs = C[[0, 1, 2]]
    assert_array_equal(one_sided_gradient(costs, costs), np.zeros((3, 3)))


def test_squared_predicts_mean_costs():
    # Two groups; within a group the mean cost row of its examples, by hand.
    X, y = [[0], [0], [1], [1]], [0, 2, 1, 1]
    model = CostRegressionClassifier(DecisionTreeRegressor(), cost_matrix=C).fit(X, y)
    assert_allclose(model.expected_costs([[0], [1]]), [[32, 16.5, 1], [4, 0, 1]])
    assert_array_equal(model.predict([[0], [1]]), [2, 1])


def test_weights_are_repeated_rows():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(40, 2)), rng.randint(3, size=40)
    times = rng.randint(1, 4, size=40)
    rows = np.repeat(np.arange(40), times)
    model = CostRegressionClassifier(LinearRegression(), cost_matrix=C)
    weighted = model.fit(X, y, sample_weight=times).expected_costs(X)
    assert_allclose(weighted, model.fit(X[rows], y[rows]).expected_costs(X))


@pytest.mark.parametrize("loss", ["squared", "one_sided", "spo_plus"])
def test_every_loss_learns_costs_that_only_training_shows(loss):
    data = make_known_posterior(1500, K=3, d=4, cost_kind="hindsight", random_state=0)
    test = data.sample(2000, random_state=1)
    model = CostRegressionClassifier(loss=loss, n_estimators=50, random_state=0)
    model.fit(data.X, data.y, costs=data.costs)
    constant = min(test.risk(np.full(2000, k)) for k in range(3))
    assert test.risk(model.predict(test.X)) < 0.85 * constant


@pytest.mark.parametrize("loss", ["one_sided", "spo_plus"])
def test_any_regressor_serves(loss):
    rng = np.random.RandomState(0)
    y = np.repeat([0, 1, 2], 30)
    X = 5.0 * np.eye(3)[y] + rng.normal(size=(90, 3))
    model = CostRegressionClassifier(
        LinearRegression(), cost_matrix=C, loss=loss, n_estimators=30, random_state=0
    ).fit(X, y)
    assert C[y, model.predict(X)].mean() < min(C[y].mean(axis=0))
    assert len(model.estimators_) == 30
    assert len(model.estimators_[0]) == 3


def test_a_regressor_without_weights_is_refused_with_weights():
    model = CostRegressionClassifier(KNeighborsRegressor(2))
    with pytest.raises(ValueError, match="KNeighborsRegressor does not take sample_weight"):
        model.fit([[0], [1], [2]], [0, 1, 0], sample_weight=[1, 2, 1])


def test_many_decisions_share_one_regressor():
    # One for each of 500 decisions took minutes.
    rng = np.random.default_rng(0)
    y = np.arange(404) % 101
    X = np.column_stack([y + rng.normal(scale=0.1, size=404), rng.normal(size=404)])
    model = CostRegressionClassifier(random_state=0).fit(X, y)
    assert [len(members) for members in model.estimators_] == [1]
    assert model.expected_costs(X).shape == (404, 101)
    assert np.mean(model.predict(X) == y) > 0.9
    few = CostRegressionClassifier(random_state=0).fit(X, y % 3)
    assert [len(members) for members in few.estimators_] == [3]
