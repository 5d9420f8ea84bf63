"""AvgCost, costing and data space expansion: independent members on weighted samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from stakes.reductions import (
    AverageCostClassifier,
    CostingClassifier,
    DataSpaceExpansionClassifier,
)
from stakes.reductions._costing import importance_weights
from stakes.reductions._data_space_expansion import expansion_weights
from stakes.reductions._members import ConstantMember

ENSEMBLES = [AverageCostClassifier, CostingClassifier, DataSpaceExpansionClassifier]

# Rows are true classes, columns decisions.
C = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [9.0, 3.0, 0.0]])


class Recorder(ClassifierMixin, BaseEstimator):
    """Keeps what it was fitted on; answers the heaviest label."""

    asked: list = []

    def fit(self, X, y, sample_weight=None):
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        type(self).asked.append((X[:, 0].astype(int), np.asarray(y), weight))
        self.classes_ = np.unique(y)
        self.answer_ = np.bincount(y, weights=weight).argmax()
        return self

    def predict(self, X):
        return np.full(len(X), self.answer_)

    def predict_proba(self, X):
        return np.tile((self.classes_ == self.answer_) * 1.0, (len(X), 1))


def fit_recorded(model, X, y, **params):
    Recorder.asked = []
    model.fit(X, y, **params)
    return Recorder.asked


def test_weights_by_hand():
    rows = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0]])
    assert_array_equal(importance_weights(rows, "average"), [1.5, 2.5])
    assert_array_equal(importance_weights(rows, "maximum"), [2, 4])
    assert_array_equal(importance_weights(rows, "minimum"), [1, 1])
    assert_array_equal(expansion_weights(rows), [[2, 1, 0], [0, 4, 3]])


def test_the_slides_binary_weights():
    # The slides: costs (1, 1), (1, 2), (7, 3) give labels -, 0, 1 and weights 0, 1, 4.
    X = np.arange(3.0)[:, None]
    costs = [[1, 1], [1, 2], [7, 3]]
    model = CostingClassifier(Recorder(), n_estimators=1, sampling="weights")
    ((rows, labels, weight),) = fit_recorded(model, X, [0, 0, 1], costs=costs)
    assert_array_equal(rows, [1, 2])  # equal costs are ignored
    assert_array_equal(labels, [0, 1])
    assert_allclose(weight / weight.sum(), [0.2, 0.8])


@pytest.mark.parametrize(
    ("weight", "expected"), [("average", [1.5, 2.5, 6]), ("maximum", [2, 4, 9])]
)
def test_costing_weighs_by_class(weight, expected):
    X, y = np.arange(4.0)[:, None], [0, 1, 2, 2]
    one = {"n_estimators": 1, "sampling": "weights"}
    model = CostingClassifier(Recorder(), cost_matrix=C, weight=weight, **one)
    ((rows, labels, found),) = fit_recorded(model, X, y)
    assert_array_equal(labels, y)
    assert_allclose(found / found[0], np.array(expected)[y] / expected[0])
    assert found.mean() == pytest.approx(1)  # regularisation keeps its meaning
    # the user's weights multiply
    ((rows, _, again),) = fit_recorded(model, X, y, sample_weight=[2, 1, 0, 3])
    assert_array_equal(rows, [0, 1, 3])
    w = np.array(expected)[[0, 1, 2]] * [2, 1, 3]
    assert_allclose(again / again[0], w / w[0])


def test_expansion_hands_on_every_pair_that_saves():
    # max C - C is (2, 1, 0) for class 0, (0, 6, 9) for class 2, (0, 4, 3) for class 1.
    X, y = np.arange(3.0)[:, None], np.array([0, 2, 1])
    one = {"n_estimators": 1, "sampling": "weights"}
    model = DataSpaceExpansionClassifier(Recorder(), cost_matrix=C, **one)
    ((rows, labels, weight),) = fit_recorded(model, X, y)
    found = np.zeros((3, 3))
    found[rows, labels] = weight
    assert_allclose(found / found.sum(), np.array([[2, 1, 0], [0, 6, 9], [0, 4, 3]]) / 25)
    assert model.n_samples_used_.tolist() == [6]


@pytest.mark.parametrize("seed", range(5))
def test_theorem_2(seed):
    # Over all functions h on a small domain: least weighted error on the expanded sample is
    # least cost on the original one, because error = sum of weights - n max C + ... + cost.
    rng = np.random.RandomState(seed)
    costs = rng.uniform(0, 5, size=(12, 3))
    weights = expansion_weights(costs)
    h = rng.randint(3, size=(50, 12))  # fifty hypotheses
    rows = np.arange(12)
    error = np.array([weights.sum() - weights[rows, d].sum() for d in h])
    cost = np.array([costs[rows, d].sum() for d in h])
    assert_allclose(error - cost, (error - cost)[0])  # they differ by a constant
    assert error.argmin() == cost.argmin()


def test_theorem_2_with_an_exact_learner():
    # Every value of x is a leaf of its own: the tree minimises the weighted error exactly.
    rng = np.random.RandomState(0)
    x = rng.randint(5, size=200)
    y = rng.randint(3, size=200)
    costs = rng.uniform(0, 5, size=(200, 3))
    costs[np.arange(200), y] = 0
    tree = DecisionTreeClassifier(random_state=0)
    model = DataSpaceExpansionClassifier(tree, n_estimators=1, sampling="weights")
    decided = model.fit(x[:, None], y, costs=costs).predict(np.arange(5)[:, None])
    best = [costs[x == v].sum(axis=0).argmin() for v in range(5)]
    assert_array_equal(decided, best)


@pytest.mark.parametrize("Ensemble", ENSEMBLES)
def test_rejection_uses_fewer_and_counts_them(Ensemble):
    X, y = make_classification(
        400, n_classes=3, n_informative=4, weights=[0.9, 0.05], random_state=0
    )
    rare = np.array([[0.0, 1, 1], [60.0, 0, 60], [60.0, 60, 0]])  # rare classes cost more
    model = Ensemble(
        DecisionTreeClassifier(), cost_matrix=rare, sampling="rejection", random_state=0
    )
    model.fit(X, y)
    n_estimators = model.get_params()["n_estimators"]
    assert model.n_samples_used_.shape == (n_estimators,)
    share = model.n_samples_used_.sum() / (400 * n_estimators)
    assert 0 < share < (0.3 if Ensemble is not DataSpaceExpansionClassifier else 0.6)


@pytest.mark.parametrize("Ensemble", ENSEMBLES)
def test_empty_and_one_label_samples_are_handled_and_counted(Ensemble):
    # One example weighs 1e9 times the others: most samples hold it alone.
    X, y = np.arange(6.0)[:, None], np.array([0, 1, 2, 0, 1, 2])
    costs = C[y].copy()
    costs[5] = [1e12, 1e12, 0]
    model = Ensemble(DecisionTreeClassifier(), sampling="rejection", random_state=0)
    model.fit(X, y, costs=costs)
    assert model.n_one_label_samples_ > 0
    assert model.n_empty_samples_ == 0
    assert (
        sum(isinstance(m, ConstantMember) for m in model.estimators_) == model.n_one_label_samples_
    )
    assert (model.predict(X) == 2).all()


def test_a_sample_can_come_out_empty():
    # The greatest weight belongs to an example that does not count: max_weight is not reached.
    from stakes.reductions._members import EstimatorLearner
    from stakes.reductions._sampling import ExamplePlan, fit_member

    plan = ExamplePlan(np.zeros(3), np.array([1, 1, 0]), "rejection")
    learner = EstimatorLearner(DecisionTreeClassifier(), 2)
    member, size = fit_member(learner, np.zeros((3, 1)), plan, seed=0)
    assert size == 0
    assert isinstance(member, ConstantMember)


@pytest.mark.parametrize("Ensemble", ENSEMBLES)
def test_hard_and_soft_votes(Ensemble):
    X, y = make_classification(200, n_classes=3, n_informative=4, random_state=0)
    for voting in ("hard", "soft"):
        base = DecisionTreeClassifier(max_depth=3)
        model = Ensemble(base, cost_matrix=C, voting=voting, n_estimators=7, random_state=0).fit(
            X, y
        )
        proba = model.predict_proba(X)
        assert_allclose(proba.sum(axis=1), 1)
        assert_array_equal(model.predict(X), proba.argmax(axis=1))
        if voting == "hard":
            assert_allclose(proba * 7, np.round(proba * 7))
    with pytest.raises(ValueError, match="LinearSVC has no predict_proba: use voting='hard'"):
        Ensemble(LinearSVC(), cost_matrix=C, voting="soft").fit(X, y)
    Ensemble(LinearSVC(), cost_matrix=C, n_estimators=2).fit(X, y).predict(X)


def test_zero_one_costs_give_the_plain_classifier():
    X, y = make_classification(200, n_classes=3, n_informative=4, random_state=0)
    plain = LogisticRegression().fit(X, y).predict(X)
    for Ensemble in ENSEMBLES:
        model = Ensemble(LogisticRegression(), n_estimators=1).fit(X, y)
        assert_array_equal(model.predict(X), plain)


def test_class_costs_are_repeated_example_costs():
    X, y = make_classification(200, n_classes=3, n_informative=4, random_state=0)
    for Ensemble in ENSEMBLES:
        for sampling in ("rejection", "weights"):
            tree = DecisionTreeClassifier(max_depth=4)
            model = Ensemble(tree, sampling=sampling, n_estimators=4, random_state=0)
            by_class = model.set_params(cost_matrix=C).fit(X, y).predict(X)
            by_example = model.set_params(cost_matrix=None).fit(X, y, costs=C[y]).predict(X)
            assert_array_equal(by_class, by_example)
            tensor = np.tile(C, (200, 1, 1))
            assert_array_equal(model.fit(X, y, cost_tensor=tensor).predict(X), by_class)
