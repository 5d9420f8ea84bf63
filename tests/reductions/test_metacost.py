import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

from stakes.reductions import MetaCostClassifier
from stakes.reductions._members import EstimatorLearner
from stakes.reductions._metacost import BaggingPlan, out_of_bag_votes

# Rows are true classes, columns decisions.
C = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [20.0, 20.0, 0.0]])


def noisy(seed=0, n=300):
    return make_classification(
        n, n_features=8, n_informative=5, n_classes=3, flip_y=0.2, random_state=seed
    )


def test_priors_decide_by_expected_cost():
    # Priors .7, .2, .1: d=0 costs .2 + 2 = 2.2, d=1 .7 + 2 = 2.7, d=2 .7 + .2 = 0.9.
    X, y = np.zeros((10, 1)), [0] * 7 + [1] * 2 + [2]
    bag = MetaCostClassifier(DummyClassifier(), cost_matrix=C, relabel=False, max_samples=1.0)
    bag.fit(X, y)
    assert_allclose(bag.predict_proba(X[:1]), [[0.7, 0.2, 0.1]])
    assert_array_equal(bag.predict(X[:1]), [2])
    original = MetaCostClassifier(DummyClassifier(), cost_matrix=C, relabel=True, max_samples=1.0)
    assert_array_equal(original.fit(X, y).new_labels_, [2] * 10)
    assert_array_equal(original.predict(X[:1]), [2])
    # 0/1 costs: nothing is relabelled but the least likely
    plain = MetaCostClassifier(DummyClassifier(), relabel=True, max_samples=1.0).fit(X, y)
    assert_array_equal(plain.new_labels_, [0] * 10)


def test_costs_known_when_deciding():
    # The same probabilities, other costs for the second example.
    X, y = np.zeros((10, 1)), [0] * 7 + [1] * 2 + [2]
    bag = MetaCostClassifier(DummyClassifier(), cost_matrix=C, relabel=False, max_samples=1.0)
    tensor = np.stack([C, 1 - np.eye(3)])
    assert_array_equal(bag.fit(X, y).predict(X[:2], cost_tensor=tensor), [2, 0])
    bag.set_params(relabel=True).fit(X, y)
    with pytest.raises(ValueError, match="With relabel=True the costs of fit are learned"):
        bag.predict(X[:2], cost_tensor=tensor)


def test_expected_costs_follow_the_costs_of_the_examples():
    X, y = np.zeros((10, 1)), [0] * 7 + [1] * 2 + [2]
    bag = MetaCostClassifier(DummyClassifier(), cost_matrix=C, max_samples=1.0).fit(X, y)
    assert_allclose(bag.expected_costs(X[:1]), [[2.2, 2.7, 0.9]])
    tensor = np.stack([C, 1 - np.eye(3)])
    found = bag.expected_costs(X[:2], cost_tensor=tensor)
    assert_allclose(found, [[2.2, 2.7, 0.9], [0.3, 0.8, 0.9]])
    relabelling = MetaCostClassifier(DummyClassifier(), cost_matrix=C, relabel=True)
    assert not hasattr(relabelling.fit(X, y), "expected_costs")


@pytest.mark.parametrize("relabel", [False, True])
def test_score_gives_predict_the_costs_that_it_can_weigh(relabel):
    X, y = np.zeros((10, 1)), np.array([0] * 7 + [1] * 2 + [2])
    bag = MetaCostClassifier(DummyClassifier(), cost_matrix=C, relabel=relabel, max_samples=1.0)
    tensor = np.tile(1 - np.eye(3), (10, 1, 1))  # at these, 0 is the decision for all
    decided = 2 if relabel else 0  # learned from C, and no others
    assert bag.fit(X, y).score(X, y, cost_tensor=tensor) == -np.mean(y != decided)


def test_a_cost_tensor_relabels_each_example_by_its_own_costs():
    X, y = np.zeros((10, 1)), [0] * 7 + [1] * 2 + [2]
    tensor = np.tile(1 - np.eye(3), (10, 1, 1))
    tensor[3] = C
    model = MetaCostClassifier(DummyClassifier(), relabel=True, max_samples=1.0)
    model.fit(X, y, cost_tensor=tensor)
    assert_array_equal(model.new_labels_, [0, 0, 0, 2, 0, 0, 0, 0, 0, 0])


def test_bags_have_two_thirds_on_average():
    X, y = noisy(n=600)
    model = MetaCostClassifier(DecisionTreeClassifier(max_depth=2), random_state=0).fit(X, y)
    # 30 samples of 600 * 2/3: 12000 in sum, with a standard deviation of 63
    assert model.n_samples_used_.sum() == pytest.approx(12000, abs=250)
    assert len(set(model.n_samples_used_)) > 1
    model.set_params(sampling="bootstrap", max_samples=1.0).fit(X, y)
    assert_array_equal(model.n_samples_used_, [600] * 30)


def test_out_of_bag_votes_leave_out_those_who_saw_the_example():
    # Two members. Each always answers its own label, 0 and 1; who saw what is redrawn.
    y = np.array([0, 1] * 10)
    plan = BaggingPlan(y, "rejection", 0.5)
    learner = EstimatorLearner(DummyClassifier(), 2)
    X = np.zeros((20, 1))
    members = [DummyClassifier(strategy="constant", constant=k).fit(X, y) for k in (0, 1)]
    saw = np.array([np.isin(np.arange(20), plan.rows(np.random.RandomState(s))) for s in (4, 5)])
    proba = out_of_bag_votes(learner, members, X, plan, [4, 5], voting="soft")
    for i in range(20):
        first, second = saw[:, i]
        expected = [0.5, 0.5] if first == second else ([0, 1] if first else [1, 0])
        assert_allclose(proba[i], expected)


@pytest.mark.parametrize("out_of_bag", [False, True])
def test_relabelling_makes_decisions_cheaper(out_of_bag):
    X, y = noisy()
    expensive = np.minimum(C, 8)
    base = DecisionTreeClassifier(max_depth=4, random_state=0)
    model = MetaCostClassifier(
        base, cost_matrix=expensive, relabel=True, out_of_bag=out_of_bag, random_state=0
    ).fit(X, y)
    plain = expensive[y, base.fit(X, y).predict(X)].mean()
    assert expensive[y, model.predict(X)].mean() < plain
    assert (model.new_labels_ == 2).mean() > (y == 2).mean()
    assert_array_equal(model.final_estimator_.predict(X), model.predict(X))


def test_out_of_bag_estimates_are_less_sure():
    # An unpruned tree knows its own examples by heart.
    X, y = noisy()
    labels = {}
    for out_of_bag in (False, True):
        model = MetaCostClassifier(
            DecisionTreeClassifier(), relabel=True, out_of_bag=out_of_bag, random_state=0
        )
        labels[out_of_bag] = model.fit(X, y).new_labels_
    assert np.mean(labels[False] != y) < np.mean(labels[True] != y)


def test_sample_weight_zero_leaves_an_example_out():
    X, y = np.zeros((12, 1)), [0] * 7 + [1] * 2 + [2] * 3
    weight = [1] * 10 + [0] * 2
    for sampling in ("rejection", "bootstrap"):
        model = MetaCostClassifier(
            DummyClassifier(), cost_matrix=C, sampling=sampling, max_samples=1.0, random_state=0
        ).fit(X, y, sample_weight=weight)
        tolerance = 1e-12 if sampling == "rejection" else 0.1
        assert_allclose(model.predict_proba(X[:1]), [[0.7, 0.2, 0.1]], atol=tolerance)


def test_a_second_fit_forgets_the_first():
    X, y = noisy()
    model = MetaCostClassifier(DecisionTreeClassifier(max_depth=2), relabel=True).fit(X, y)
    model.set_params(relabel=False).fit(X, y)
    assert not hasattr(model, "final_estimator_")
    assert not hasattr(model, "new_labels_")
