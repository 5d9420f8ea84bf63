"""A row is decided the same way alone and in any batch, and nothing is decided from NaN."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.naive_bayes import GaussianNB

from stakes.decision import (
    CostDecisionClassifier,
    ProbabilityCalibrator,
    decide,
    expected_costs,
)
from stakes.decision._rule import known_rules
from stakes.metrics import average_cost, mauc_score, savings_score, stochastic_cost, total_cost
from stakes.tree import CostForestClassifier

SIZES = (1, 7, 1000)


def in_batches(function, size, *tables):
    n = len(tables[0])
    parts = [function(*(t[i : i + size] for t in tables)) for i in range(0, n, size)]
    return np.concatenate(parts)


def tied_problem(n_classes, n=1000):
    """Return probabilities of few digits and round costs: many sums are equal."""
    rng = np.random.default_rng(n_classes)
    proba = rng.multinomial(10, np.full(n_classes, 1 / n_classes), size=n) / 10
    C = rng.integers(1, 4, size=(n_classes, n_classes)).astype(float)
    np.fill_diagonal(C, 0.0)
    return proba, C


@pytest.mark.parametrize("n_classes", [2, 3, 10, 50])
def test_decisions_and_expected_costs_do_not_depend_on_the_batch(n_classes):
    proba, C = tied_problem(n_classes)
    tensor = C * np.random.default_rng(0).integers(1, 3, size=(len(proba), 1, 1))
    exact = [min(range(n_classes), key=lambda d: (sums(p, C)[d], d)) for p in proba[:200]]
    assert_array_equal(decide(proba[:200], C), exact)
    for size in SIZES:
        assert_array_equal(in_batches(lambda p: decide(p, C), size, proba), decide(proba, C))
        found = in_batches(lambda p: expected_costs(p, C), size, proba)
        assert_array_equal(found, expected_costs(proba, C))
        found = in_batches(lambda p, t: expected_costs(p, cost_tensor=t), size, proba, tensor)
        assert_array_equal(found, expected_costs(proba, cost_tensor=tensor))
    # What is decided is what costs least, to the last bit.
    assert_array_equal(expected_costs(proba, C).argmin(axis=1), decide(proba, C))


def sums(p, C):
    """Return the expected costs, added up class by class."""
    total = np.zeros(len(C))
    for share, row in zip(p, C):
        total = total + share * row
    return total.tolist()


@pytest.mark.parametrize("name", sorted(known_rules()))
def test_no_rule_depends_on_the_batch(name):
    n_classes = {"binary_threshold": 2}.get(name, 3)
    proba, C = tied_problem(n_classes)
    y = np.arange(len(proba)) % n_classes
    rule = known_rules()[name](cost_matrix=C).fit(proba, y)
    for size in SIZES:
        assert_array_equal(in_batches(rule.predict, size, proba), rule.predict(proba))


CLASSIFIERS = {
    "bayes": CostDecisionClassifier(GaussianNB()),
    "matrix": CostDecisionClassifier(GaussianNB(), calibration="matrix", abstain_cost=0.7),
    **{f"forest {i}": CostForestClassifier(n_estimators=3, random_state=i) for i in range(5)},
}


@pytest.mark.parametrize("kind", ["class", "hindsight"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_no_classifier_depends_on_the_batch(name, kind):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = np.round(rng.normal(size=(90, 2)) + y[:, None])
    C = np.array([[0.0, 1, 2], [3, 0, 1], [9, 4, 0]])
    model = clone(CLASSIFIERS[name])
    if kind == "class":
        model.set_params(cost_matrix=C).fit(X, y)
    else:
        model.fit(X, y, costs=C[y] * rng.uniform(0.5, 2, (90, 1)))
    for size in SIZES:
        found = in_batches(model.expected_costs, size, X)
        assert_array_equal(found, model.expected_costs(X))
        assert_array_equal(in_batches(model.predict, size, X), model.predict(X))


# -- NaN --------------------------------------------------------------------------------------

BAD = np.array([[0.5, 0.5], [np.nan, 0.5], [0.2, 0.8]])
GOOD = np.array([[0.5, 0.5], [0.5, 0.5], [0.2, 0.8]])
CALLS = {
    "decide": lambda p: decide(p),
    "decide, checked": lambda p: decide(p, check=True),
    "expected_costs": lambda p: expected_costs(p),
    "calibrator": lambda p: ProbabilityCalibrator("temperature").fit(p, [0, 1, 1]),
    "calibrated": lambda p: ProbabilityCalibrator("temperature").fit(GOOD, [0, 1, 1]).transform(p),
    "stochastic_cost": lambda p: stochastic_cost([0, 1, 1], p),
    "mauc_score": lambda p: mauc_score([0, 1, 1], p),
}


@pytest.mark.parametrize("call", CALLS)
def test_nan_among_probabilities_is_refused(call):
    CALLS[call](GOOD)
    with pytest.raises(ValueError, match="NaN at row 1, column 0"):
        CALLS[call](BAD)


@pytest.mark.parametrize("name", sorted(known_rules()))
def test_no_rule_takes_nan(name):
    n_classes = {"binary_threshold": 2}.get(name, 3)
    proba, C = tied_problem(n_classes, 60)
    y = np.arange(60) % n_classes
    bad = np.where(np.arange(60)[:, None] == 4, np.nan, proba)
    rule = known_rules()[name](cost_matrix=C)
    with pytest.raises(ValueError, match="proba has NaN at row 4"):
        rule.fit(bad, y)
    rule.fit(proba, y)
    with pytest.raises(ValueError, match="proba has NaN at row 4"):
        rule.predict(bad)


class Broken(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), np.nan)


def test_an_estimator_that_says_nan_is_named():
    model = CostDecisionClassifier(Broken()).fit([[0.0], [1.0]], [0, 1])
    for ask in (model.predict, model.predict_proba, model.expected_costs):
        with pytest.raises(ValueError, match="What Broken predicts has NaN at row 0"):
            ask([[0.0]])


WEIGHED = {
    "total_cost": lambda w: total_cost([0, 1], [1, 1], sample_weight=w),
    "average_cost": lambda w: average_cost([0, 1], [1, 1], sample_weight=w),
    "savings_score": lambda w: savings_score([0, 1], [1, 1], sample_weight=w),
    "stochastic_cost": lambda w: stochastic_cost([0, 1], GOOD[:2], sample_weight=w),
    "score": lambda w: (
        CostForestClassifier(n_estimators=2)
        .fit([[0.0], [1.0]], [0, 1])
        .score([[0.0], [1.0]], [0, 1], sample_weight=w)
    ),
    "fit": lambda w: CostForestClassifier(n_estimators=2).fit([[0.0], [1.0]], [0, 1], w),
    "calibrator": lambda w: ProbabilityCalibrator("temperature").fit(GOOD[:2], [0, 1], w),
    "rule": lambda w: known_rules()["parallel_partition"]().fit(GOOD[:2], [0, 1], w),
}
WEIGHTS = {
    "negative": ([-1.0, 2.0], "[Nn]egative values"),
    "nan": ([np.nan, 1.0], "contains NaN"),
    "infinite": ([np.inf, 1.0], "contains infinity"),
    "zero": ([0.0, 0.0], "(is all zero|at least one non-zero)"),
}


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("call", WEIGHED)
def test_weights_that_count_nothing_are_refused(call, weight):
    given, message = WEIGHTS[weight]
    with pytest.raises(ValueError, match=message):
        WEIGHED[call](given)


def test_a_calibrator_takes_one_label_for_each_row():
    labels = np.array([[0, 0], [1, 1], [1, 1]])
    with pytest.raises(ValueError, match="1d array"):
        ProbabilityCalibrator().fit(GOOD, labels)
