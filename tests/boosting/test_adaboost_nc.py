import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from stakes.boosting import AdaBoostNCClassifier
from stakes.boosting._adaboost_nc import (
    NegativeCorrelationWeights,
    ambiguity,
    oversampling_counts,
    penalty_of,
    reweighted,
)
from stakes.boosting._exponential import Penalty
from stakes.costs import Costs

C = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [9.0, 3.0, 0.0]])


def test_two_rounds_by_hand():
    # Four examples, classes 0 0 1 1, weights 1/4, lambda = 2.
    y = np.array([0, 0, 1, 1])
    penalty = Penalty.from_costs(Costs(y, matrix=1.0 - np.eye(2)), np.ones(4))
    state = NegativeCorrelationWeights(penalty, 2, strength=2.0, learning_rate=1.0)
    both = np.arange(2)
    assert_allclose(state.costs, [[0, 0.25], [0, 0.25], [0.25, 0], [0.25, 0]])

    # h_1 misses the last. Ensemble = member, so amb = 0 and p = 1 everywhere:
    # alpha = log(3) / 2, and the right weights are divided by sqrt 3.
    step = state.advance(np.array([0, 0, 1, 0]), both)
    assert step.weight == pytest.approx(np.log(3) / 2)
    r3 = np.sqrt(3)
    assert_allclose(state.weight, np.array([1, 1, 1, r3]) / (3 + r3))

    # h_2 misses the first. The vote is now 1 : 1 for the first and the last example and ties
    # go to class 0: right for the first (amb = 1 - 1/2), wrong for the last (amb = 0 - 1/2).
    # So p = 1/2 for both, p^2 = 1/4, and 1 for the others.
    step = state.advance(np.array([1, 0, 1, 1]), both)
    right, wrong = 1 + 1 + r3 / 4, 1 / 4
    assert step.weight == pytest.approx(np.log(right / wrong) / 2)
    shrink = np.sqrt(wrong / right)
    expected = np.array([1 / 4, shrink, shrink, r3 / 4 * shrink])
    assert_allclose(state.weight, expected / expected.sum())


def test_ambiguity_is_the_mean_over_the_members():
    rng = np.random.default_rng(0)
    member_right = rng.random((7, 20)) < 0.6
    ensemble_right = rng.random(20) < 0.5
    by_member = np.mean([ensemble_right * 1.0 - right for right in member_right], axis=0)
    amb = ambiguity(ensemble_right, member_right.mean(axis=0))
    assert_allclose(amb, by_member)
    assert_allclose(penalty_of(amb), 1 - np.abs(by_member))
    assert penalty_of(amb).min() >= 0


def test_no_strength_leaves_the_weights_of_adaboost():
    weight, right = np.array([0.2, 0.3, 0.5]), np.array([True, True, False])
    p = np.array([0.1, 0.9, 0.4])
    assert_allclose(
        reweighted(weight, p, 0.0, np.log(2), right), np.array([0.1, 0.15, 0.5]) / 0.75
    )


@pytest.mark.parametrize("seed", range(3))
def test_oversampling_makes_the_classes_equal_and_loses_nobody(seed):
    y = np.repeat([0, 1, 3], [50, 7, 1])
    counts = oversampling_counts(y, np.random.RandomState(seed))
    assert np.bincount(y, weights=counts).tolist() == [50, 50, 0, 50]
    assert counts.min() == 1
    assert (counts[y == 0] == 1).all()


def test_the_members_start_from_equal_classes():
    y = np.repeat([0, 1, 2], [60, 30, 10])

    class Recording(ClassifierMixin, BaseEstimator):
        def fit(self, X, y, *, costs):
            seen.append(np.array([costs[y == c].sum() for c in range(3)]))
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            return y

    seen: list = []
    AdaBoostNCClassifier(estimator=Recording(), n_estimators=1, random_state=0).fit(
        np.zeros((100, 1)), y
    )
    assert_allclose(seen[0] / seen[0].sum(), 1 / 3)
    AdaBoostNCClassifier(estimator=Recording(), n_estimators=1, oversample=False).fit(
        np.zeros((100, 1)), y
    )
    assert_allclose(seen[1] / seen[1].sum(), [0.6, 0.3, 0.1])


def test_expensive_examples_start_with_more_weight():
    y = np.array([0, 1, 2])
    penalty = Penalty.from_costs(Costs(y, matrix=C), np.ones(3))
    state = NegativeCorrelationWeights(penalty, 3, 2.0, 1.0)
    assert_allclose(state.costs * 20, C)  # 3 + 5 + 12: the costs themselves, in their shares


def test_it_recognises_a_rare_class():
    X, y = make_classification(
        800, n_features=8, n_informative=5, n_classes=3, weights=[0.7, 0.25], random_state=1
    )
    model = AdaBoostNCClassifier(n_estimators=30, random_state=0).fit(X[:500], y[:500])
    plain = AdaBoostNCClassifier(n_estimators=30, oversample=False).fit(X[:500], y[:500])
    rare = y[500:] == 2
    assert np.mean(model.predict(X[500:])[rare] == 2) >= np.mean(plain.predict(X[500:])[rare] == 2)
    assert (model.edges_ > 0).all()
    assert model.loss_.max() < 0.2 < 1 == model.initial_loss_
    assert_allclose(model.estimator_weights_, np.arctanh(model.edges_))


def test_an_estimator_that_takes_weights_serves():
    X, y = make_classification(300, n_informative=5, n_classes=3, random_state=0)
    tree = DecisionTreeClassifier(max_depth=5)
    model = AdaBoostNCClassifier(estimator=tree, n_estimators=10, random_state=0).fit(X, y)
    assert model.n_iter_ == 10
    assert np.mean(model.predict(X) == y) > 0.9
    assert not hasattr(model, "training_error_bound_")
