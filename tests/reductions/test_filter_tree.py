import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from stakes.reductions import FilterTreeClassifier
from stakes.reductions._filter_tree import match_problem, tournament

C = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [64.0, 32.0, 0.0]])


@pytest.mark.parametrize("n_classes", range(2, 12))
def test_every_player_but_the_last_loses_once(n_classes):
    matches = tournament(n_classes)
    assert matches.shape == (n_classes - 1, 2)
    players = np.arange(2 * n_classes - 2)  # everyone but the winner of the last match
    assert_array_equal(np.sort(matches.ravel()), players)
    for i, match in enumerate(matches):
        assert (match < n_classes + i).all()  # nobody plays before he has won


@pytest.mark.parametrize("n_classes", [2, 3, 5, 8, 17])
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_feature_that_is_the_class_is_decided_at_no_cost(n_classes, shuffle):
    # A peer's filter tree, which passes the loser up, has an accuracy of 0.14 to 0.66 here.
    y = np.repeat(np.arange(n_classes), 5)
    model = FilterTreeClassifier(DecisionTreeClassifier(), shuffle=shuffle, random_state=0)
    assert_array_equal(model.fit(y[:, None], y).predict(y[:, None]), y)


def test_each_example_has_its_own_finalists():
    costs = np.array([[0.0, 2.0, 5.0], [4.0, 1.0, 1.0], [3.0, 3.0, 0.0]])
    is_second, weights = match_problem(costs, np.array([1, 0, 0]), np.array([2, 2, 1]))
    assert_array_equal(is_second, [0, 1, 0])
    assert_array_equal(weights, [3, 3, 0])


def test_a_tie_below_still_counts_above():
    # Classes 0 and 1 cost the same for the first group, which therefore says nothing in
    # their match; in the final it is the only one to say that 2 is expensive.
    X = np.array([[0.0]] * 5 + [[1.0]] * 5)
    y = np.array([0] * 5 + [2] * 5)
    costs = np.array([[0.0, 0.0, 9.0]] * 5 + [[9.0, 9.0, 0.0]] * 5)
    # y has to show all classes: one example of class 1 that costs nothing either way.
    X, y = np.vstack([X, [[0.0]]]), np.append(y, 1)
    costs = np.vstack([costs, np.zeros(3)])
    model = FilterTreeClassifier(DecisionTreeClassifier(), random_state=0)
    decisions = model.fit(X, y, costs=costs).predict([[0.0], [1.0]])
    assert decisions[0] in (0, 1)
    assert decisions[1] == 2


def test_the_final_is_learned_from_what_the_first_round_predicts():
    # No feature: class 0 beats 1 for all. In the final each example compares 0 with 2, also
    # the examples of class 1, whose own class is out: 10 * 1 against 10 * 4 + 10 * 64.
    X, y = np.zeros((30, 1)), np.repeat([0, 1, 2], 10)
    costs = C[y].copy()
    costs[:, 1] += 100
    model = FilterTreeClassifier(DecisionTreeClassifier(), random_state=0)
    model.fit(X, y, costs=costs)
    assert_array_equal(model.predict([[0.0]]), [2])
    assert model.n_one_label_samples_ == 1  # 0 against 1: always 0


def test_matches_of_a_round_are_fitted_at_once_to_the_same_result():
    rng = np.random.RandomState(0)
    y = np.repeat(np.arange(7), 20)
    X = rng.normal(size=(140, 2)) + np.column_stack([y, y % 3])
    tree = DecisionTreeClassifier(max_depth=3, max_features=1)
    fits = [FilterTreeClassifier(tree, random_state=0, n_jobs=n).fit(X, y) for n in (1, 2)]
    assert_array_equal(fits[0].predict(X), fits[1].predict(X))
    assert len(fits[0].estimators_) == 6


def test_matches_are_told_of_in_one_count(capsys):
    X, y = np.arange(5.0)[:, None], np.arange(5)
    FilterTreeClassifier(DecisionTreeClassifier(), verbose=1, random_state=0).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    numbers = [line.split(":")[0] for line in lines]
    assert numbers == [f"[FilterTreeClassifier] match {i}" for i in (1, 2, 3, 4)]


def test_rejection_sampling_needs_no_weights():
    rng = np.random.RandomState(0)
    y = np.repeat([0, 1, 2], 60)
    X = rng.normal(size=(180, 2))
    X[:, 0] += 4 * y
    model = FilterTreeClassifier(
        GaussianNB(), cost_matrix=C, sampling="rejection", random_state=0
    ).fit(X, y)
    assert (model.n_samples_used_ < 180).all()
    assert C[y, model.predict(X)].mean() < min(C[y].mean(axis=0))
