import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from stakes.costs import Costs
from stakes.reductions import IterativeWeightingClassifier
from stakes.reductions._iterative_weighting import initial_weights, update_weights

# Rows are true classes, columns decisions.
C = np.array([[0.0, 1.0, 2.0], [2.0, 0.0, 6.0], [1.0, 8.0, 0.0]])


class Script(ClassifierMixin, BaseEstimator):
    """Decides what `SAYS[round]` says; keeps the weights it was given."""

    SAYS: list = []
    weights: list = []

    def fit(self, X, y, sample_weight=None):
        self.round_ = len(type(self).weights)
        self.classes_ = np.arange(3)
        full = np.zeros(len(type(self).SAYS[0]))
        full[X[:, 0].astype(int)] = sample_weight
        type(self).weights.append(full)
        return self

    def predict(self, X):
        says = type(self).SAYS[min(self.round_, len(type(self).SAYS) - 1)]
        return np.array(says)[X[:, 0].astype(int)]


def scripted(*says):
    Script.SAYS, Script.weights = list(says), []
    return Script()


def fit_script(says, y, **params):
    model = IterativeWeightingClassifier(
        scripted(*says), n_estimators=1, voting="hard", sampling="weights", **params
    )
    return model.fit(np.arange(float(len(y)))[:, None], y)


def test_start_is_the_greatest_cost_and_the_cheapest_label():
    weights, labels, least = initial_weights(Costs(np.array([0, 1, 2]), matrix=C + 1))
    assert_array_equal(weights, [2, 6, 8])
    assert_array_equal(labels, [0, 1, 2])
    assert_array_equal(least, [1, 1, 1])
    rows = np.array([[5.0, 4.0, 7.0], [0.0, 0.0, 1.0]])
    weights, labels, least = initial_weights(Costs(np.array([0, 1]), costs=rows))
    assert_array_equal(weights, [3, 1])
    assert_array_equal(labels, [1, 1])  # the cheapest one; the true class in a tie
    assert_array_equal(least, [4, 0])


def test_only_mistakes_are_updated():
    weights = np.array([2.0, 6.0, 8.0])
    paid = np.array([1.0, 0.0, 1.0])
    updated = update_weights(weights, np.array([0, 1, 2]), np.array([1, 1, 0]), paid, 0.5)
    assert_array_equal(updated, [1.5, 6, 4.5])


def test_three_rounds_by_hand():
    # Weights start at 2, 6, 8. Round 1 decides 1, 1, 1: mistakes on 0 (cost 1) and 2 (cost 8);
    # alpha = 1: weights 1, 6, 8. Round 2 decides 2, 1, 0: mistakes cost 2 and 1;
    # alpha = 1/2: weights (2 + 1) / 2 = 1.5, 6, (1 + 8) / 2 = 4.5.
    # Round 3 decides 0, 0, 0: mistakes cost 2 and 1.
    model = fit_script([[1, 1, 1], [2, 1, 0], [0, 0, 0]], [0, 1, 2], cost_matrix=C, n_iterations=3)
    expected = np.array([[2, 6, 8], [1, 6, 8], [1.5, 6, 4.5]])
    given = np.array(Script.weights)
    assert_allclose(
        given / given.sum(axis=1, keepdims=True), expected / expected.sum(axis=1)[:, None]
    )
    assert_allclose(model.weights_, expected[2])
    assert_allclose(model.weighted_errors_, [10 / 3, 9 / 3, 10.5 / 3])
    assert_allclose(model.training_costs_, [9 / 3, 3 / 3, 3 / 3])
    assert not model.converged_
    assert model.n_iter_ == 3
    assert_array_equal(model.predict([[0], [1], [2]]), [0, 0, 0])  # the last hypothesis


def test_mixture_weights_below_one():
    # As above, alpha = 1/2, then 1/3: mistakes of round 1 keep half of their greatest cost,
    # weights (1 + 2) / 2 = 1.5, 6, (8 + 8) / 2 = 8; then 1.5 + (2 - 1.5) / 3, 6, 8 + (1 - 8) / 3.
    says = [[1, 1, 1], [2, 1, 0], [0, 0, 0]]
    model = fit_script(says, [0, 1, 2], cost_matrix=C, n_iterations=3, alpha="1/(t+1)")
    assert_allclose(model.weighted_errors_, [10 / 3, 9.5 / 3, (6 + 17 / 3) / 3])
    assert_allclose(model.weights_, [5 / 3, 6, 17 / 3])


def test_theorem_1_at_a_fixed_point():
    # The same hypothesis again and again: mistakes weigh what they cost after one round.
    model = fit_script([[1, 1, 0]], [0, 1, 2], cost_matrix=C)
    assert model.converged_
    assert model.n_iter_ == 2
    assert model.weighted_errors_[-1] == pytest.approx(model.training_costs_[-1])
    assert model.training_costs_[-1] == pytest.approx((1 + 0 + 1) / 3)


@pytest.mark.parametrize("seed", range(4))
def test_theorem_1_with_trees(seed):
    X, y = make_classification(
        200, n_features=6, n_informative=4, n_classes=3, flip_y=0.2, random_state=seed
    )
    base = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = IterativeWeightingClassifier(base, cost_matrix=C, n_estimators=1, random_state=0)
    model.fit(X, y)
    gap = abs(model.weighted_errors_[-1] - model.training_costs_[-1])
    if model.converged_:
        assert gap < 1e-6 * C.max()
    else:
        assert model.n_iter_ == 30
        assert gap > 0
    # the cost is that of the decisions
    assert model.training_costs_[-1] == pytest.approx(C[y, model.predict(X)].mean())


def test_a_hypothesis_that_swings_does_not_converge():
    model = fit_script([[1, 1, 1], [0, 0, 0]] * 10, [0, 1, 2], cost_matrix=C, n_iterations=20)
    assert not model.converged_
    assert model.n_iter_ == 20


def test_weights_that_all_vanish_end_the_loop():
    # Two decisions cost nothing in every row, and the other one is always taken.
    free = np.array([[0.0, 0.0, 5.0], [5.0, 0.0, 0.0], [0.0, 5.0, 0.0]])
    model = fit_script([[1, 2, 0]], [0, 1, 2], cost_matrix=free)
    assert model.n_iter_ == 1
    assert model.converged_
    assert_array_equal(model.weights_, [0, 0, 0])
    assert model.weighted_errors_[-1] == model.training_costs_[-1] == 0


def test_sizes_of_all_samples_are_recorded():
    X, y = make_classification(200, n_classes=3, n_informative=4, random_state=0)
    model = IterativeWeightingClassifier(
        DecisionTreeClassifier(),
        cost_matrix=C,
        n_iterations=4,
        n_estimators=3,
        sampling="rejection",
    ).fit(X, y)
    assert model.n_samples_used_.shape == (model.n_iter_, 3)
    assert (model.n_samples_used_ <= 200).all()
    assert len(model.estimators_) == 3


def test_verbose_tells_each_round(capsys):
    fit_script([[1, 1, 0]], [0, 1, 2], cost_matrix=C, verbose=1)
    lines = capsys.readouterr().err.splitlines()
    told = "[IterativeWeightingClassifier] round 1: weighted error 3.33333, cost 0.666667"
    assert lines[0] == told
    assert len(lines) == 2
