"""CostDecisionClassifier with rules that learn."""

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from stakes._learning.folds import HoldOut
from stakes.costs import CostMatrix, _examples
from stakes.datasets import load_dataset
from stakes.decision import (
    BinaryThreshold,
    ClassThresholds,
    CostDecisionClassifier,
    ParallelPartition,
    ProbabilityCalibrator,
)
from stakes.decision._learned import FamilyRule
from stakes.decision._rule import known_rules
from stakes.reproduce import quantized_naive_bayes

C = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [20.0, 20.0, 0.0]])


@pytest.fixture(scope="module")
def three():
    X, y = make_classification(
        n_samples=600, n_classes=3, n_informative=4, flip_y=0.2, random_state=0
    )
    return np.hstack([X] * 3), y  # copies: naive Bayes is too sure


def folds_of(n_folds):
    """Return the folds that a number stands for."""
    return StratifiedKFold(n_folds, shuffle=True, random_state=0)


def test_a_number_of_folds_spreads_the_examples_at_random():
    # Forty values, each ten times and sorted: folds cut from the table would hold out whole
    # values, which a nearest neighbour then gets wrong half of the time.
    rng = np.random.default_rng(0)
    X, y = np.repeat(np.arange(40.0), 10)[:, None], np.repeat(rng.integers(0, 2, 40), 10)
    model = CostDecisionClassifier(KNeighborsClassifier(1), calibration="temperature", cv=3)
    assert model.fit(X, y).predict_proba(X).max(axis=1).min() > 0.99
    model.set_params(cv=StratifiedKFold(3))  # a splitter is taken as it is
    assert model.fit(X, y).predict_proba(X).max(axis=1).min() < 0.9


@pytest.mark.parametrize("name", sorted(set(known_rules()) - {"binary_threshold"}))
def test_rules_by_name_learn_from_what_was_held_out(three, name):
    X, y = three
    model = CostDecisionClassifier(GaussianNB(), cost_matrix=C, rule=name, cv=3).fit(X, y)
    held_out = cross_val_predict(GaussianNB(), X, y, cv=folds_of(3), method="predict_proba")
    rule = known_rules()[name](cost_matrix=C).fit(held_out, y)
    assert_allclose(model.rule_.partition_, rule.partition_)
    final = GaussianNB().fit(X, y).predict_proba(X)
    assert_array_equal(model.predict(X), rule.predict(final))


def test_the_spread_over_the_folds(three):
    X, y = three
    model = CostDecisionClassifier(GaussianNB(), cost_matrix=C, rule="class_thresholds", cv=4)
    model.fit(X, y)
    assert model.fold_parameters_.shape == (4, 3)
    assert_allclose(model.threshold_spread_, model.fold_parameters_.std(axis=0))
    held_out = cross_val_predict(GaussianNB(), X, y, cv=folds_of(4), method="predict_proba")
    _, first = next(folds_of(4).split(X, y))
    alone = clone(model.rule_).set_params(cost_matrix=C).fit(held_out[first], y[first])
    assert_allclose(model.fold_parameters_[0], alone.thresholds_)
    plain = CostDecisionClassifier(GaussianNB(), cost_matrix=C).fit(X, y)
    assert not hasattr(plain, "threshold_spread_")


def test_a_rule_learns_on_calibrated_probabilities(three):
    X, y = three
    rule = ParallelPartition(n_passes=3, shrink=True, random_state=0)
    model = CostDecisionClassifier(
        GaussianNB(), cost_matrix=C, rule=rule, calibration="vector", cv=9
    ).fit(X, y)
    assert not hasattr(rule, "partition_")  # the parameter is left as it was
    assert model.rule_.n_passes == 3
    plain = CostDecisionClassifier(GaussianNB(), cost_matrix=C).fit(X, y)
    assert model.score(X, y) > plain.score(X, y)


def test_each_fold_is_calibrated_by_the_others(three):
    X, y = three
    model = CostDecisionClassifier(
        GaussianNB(), cost_matrix=C, rule="class_thresholds", calibration="binning", cv=3
    ).fit(X, y)
    held_out = cross_val_predict(GaussianNB(), X, y, cv=folds_of(3), method="predict_proba")
    calibrated = np.empty_like(held_out)
    for train, test in folds_of(3).split(X, y):
        part = ProbabilityCalibrator("binning").fit(held_out[train], y[train])
        calibrated[test] = part.transform(held_out[test])
    rule = ClassThresholds(cost_matrix=C).fit(calibrated, y)
    assert_allclose(model.rule_.thresholds_, rule.thresholds_)
    # what decides in the end is calibrated on all of them
    final = ProbabilityCalibrator("binning").fit(held_out, y)
    said = GaussianNB().fit(X, y).predict_proba(X)
    assert_allclose(model.predict_proba(X), final.transform(said))


def test_a_frozen_estimator_with_a_rule(three):
    X, y = three
    base = GaussianNB().fit(X[:300], y[:300])
    model = CostDecisionClassifier(
        FrozenEstimator(base), cost_matrix=C, rule="parallel_partition"
    ).fit(X[300:], y[300:])
    rule = ParallelPartition(cost_matrix=C).fit(base.predict_proba(X[300:]), y[300:])
    assert_array_equal(model.predict(X), rule.predict(base.predict_proba(X)))


def test_example_costs_with_a_rule(three):
    X, y = three
    tensor = C * np.random.default_rng(0).lognormal(size=600)[:, None, None]
    model = CostDecisionClassifier(GaussianNB(), rule="parallel_partition")
    model.fit(X, y, cost_tensor=tensor)
    decided = model.predict(X, cost_tensor=tensor)
    rule = model.rule_.predict(model.predict_proba(X), cost_tensor=tensor)
    assert_array_equal(decided, rule)
    with pytest.raises(ValueError, match="cannot weigh the costs of single examples"):
        CostDecisionClassifier(GaussianNB(), rule="class_thresholds").fit(X, y).predict(
            X, cost_tensor=tensor
        )


@pytest.fixture
def scans(monkeypatch):
    """Count how often arrays of costs are looked through."""
    names = []
    finite_array = _examples.finite_array

    def counting(values, *, name, **more):
        names.append(name)
        return finite_array(values, name=name, **more)

    monkeypatch.setattr(_examples, "finite_array", counting)
    return names


@pytest.mark.parametrize("rule", ["parallel_partition", "minimum_expected_cost"])
def test_a_cost_tensor_is_looked_through_once(three, scans, rule):
    X, y = three
    tensor = C * np.random.default_rng(0).lognormal(size=600)[:, None, None]
    model = CostDecisionClassifier(GaussianNB(), rule=rule).fit(X, y, cost_tensor=tensor)
    assert scans == ["cost_tensor"]
    model.predict(X, cost_tensor=tensor)
    assert scans == ["cost_tensor"] * 2
    known_rules()[rule]().fit(model.predict_proba(X), y, cost_tensor=tensor)
    assert scans == ["cost_tensor"] * 3


def test_one_held_out_part_has_no_spread(three, monkeypatch):
    X, y = three
    fits = []
    monkeypatch.setattr(
        ParallelPartition,
        "_search",
        lambda self, *arguments: fits.append(1) or FamilyRule._search(self, *arguments),
    )
    model = CostDecisionClassifier(
        GaussianNB(), cost_matrix=C, rule="parallel_partition", cv=HoldOut(0.25, 0)
    ).fit(X, y)
    assert len(fits) == 1
    assert not hasattr(model, "fold_parameters_")
    train, test = next(HoldOut(0.25, 0).split(X, y))
    held_out = GaussianNB().fit(X[train], y[train]).predict_proba(X[test])
    rule = ParallelPartition(cost_matrix=C).fit(held_out, y[test])
    assert_allclose(model.rule_.partition_, rule.partition_)
    # a calibration before it learns from the same part
    model.set_params(calibration="temperature").fit(X, y)
    calibrated = ProbabilityCalibrator("temperature").fit(held_out, y[test]).transform(held_out)
    rule.fit(calibrated, y[test])
    assert_allclose(model.rule_.partition_, rule.partition_)


def test_a_class_that_is_never_held_out(three):
    X, y = three
    y = np.where(np.arange(600) == 0, 3, y)  # a single example: HoldOut cannot hold it out
    model = CostDecisionClassifier(GaussianNB(), calibration="temperature", cv=HoldOut())
    assert model.fit(X, y).predict_proba(X).shape == (600, 4)  # one number for all classes
    for more in ({"calibration": "isotonic"}, {"rule": "parallel_partition"}):
        with pytest.raises(ValueError, match="cv holds out no example of 3"):
            clone(model).set_params(**more).fit(X, y)


class AlwaysLast(BaseEstimator):
    """A rule from elsewhere: remembers what it was given, decides the last class."""

    def fit(self, proba, y, sample_weight=None, *, costs=None):
        self.given_ = proba.shape, costs.shape
        self.last_ = np.max(y)
        return self

    def predict(self, proba):
        return np.full(len(proba), self.last_)


def test_any_object_can_be_a_rule(three):
    X, y = three
    model = CostDecisionClassifier(GaussianNB(), cost_matrix=C, rule=AlwaysLast()).fit(X, y)
    assert model.rule_.given_ == ((600, 3), (600, 3))
    assert_array_equal(model.predict(X[:5]), 2)
    assert not hasattr(model, "threshold_spread_")
    assert not model._weighs_cost_tensor  # its predict takes no cost_tensor
    with pytest.raises(ValueError, match="cannot weigh the costs of single examples"):
        model.predict(X, cost_tensor=np.broadcast_to(C, (600, 3, 3)))


def test_abstaining_from_the_decision_of_a_rule(three):
    X, y = three
    model = CostDecisionClassifier(
        GaussianNB(), cost_matrix=C, rule="parallel_partition", abstain_cost=0.3
    ).fit(X, y)
    expected = model.expected_costs(X)
    decided = model.rule_.decide(model.predict_proba(X))
    taken = expected[np.arange(600), decided]
    assert_array_equal(model.predict(X) == -1, taken > 0.3)


@pytest.mark.skipif(not os.environ.get("STAKES_DATA"), reason="STAKES_DATA is not set")
def test_the_slides_german_credit():
    # Accepting a bad client costs 3, turning a good one away 1: accept above 3/4. The
    # empirical threshold by 3-fold cross-validation costs no more on what it learned from.
    data = load_dataset("german_credit")
    costs = CostMatrix.from_predicted_true([[0, 3], [1, 0]], labels=["good", "bad"])
    for model in (quantized_naive_bayes(), quantized_naive_bayes(n_values=4)):
        tuned = CostDecisionClassifier(
            model, cost_matrix=costs, rule="binary_threshold", cv=3
        ).fit(data.X, data.y)
        rule = tuned.rule_
        assert rule.theoretical_threshold_ == 0.75
        assert rule.cost_ <= rule.initial_cost_
        assert rule.span_[0] < rule.threshold_ < rule.span_[1]
        assert tuned.fold_parameters_.shape == (3, 1)


def test_two_classes_by_name():
    X, y = make_classification(n_samples=500, weights=[0.8], flip_y=0.1, random_state=0)
    costs = [[0, 1], [10, 0]]
    model = CostDecisionClassifier(
        LogisticRegression(), cost_matrix=costs, rule="binary_threshold"
    ).fit(X, y)
    held_out = cross_val_predict(
        LogisticRegression(), X, y, cv=folds_of(5), method="predict_proba"
    )
    rule = BinaryThreshold(cost_matrix=costs).fit(held_out, y)
    assert model.rule_.threshold_ == rule.threshold_
    theory = CostDecisionClassifier(
        LogisticRegression(), cost_matrix=costs, rule=BinaryThreshold(method="theoretical")
    ).fit(X, y)
    plug_in = CostDecisionClassifier(LogisticRegression(), cost_matrix=costs).fit(X, y)
    assert_array_equal(theory.predict(X), plug_in.predict(X))
    with pytest.raises(ValueError, match="for 2 classes, but there are 3"):
        CostDecisionClassifier(LogisticRegression(), rule="binary_threshold").fit(
            X, np.arange(500) % 3
        )
