import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import make_blobs, make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from stakes._learning.votes import mean_excess
from stakes.bagging import L1LinearSVC
from stakes.bagging._lp import l1_svm_objective
from stakes.bagging._problems import class_scores, cost_gaps, pairs_of

# Rows are true classes, columns decisions; nowhere symmetric.
C3 = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [9.0, 6.0, 0.0]])


@parametrize_with_checks([L1LinearSVC(multi_class="ovr", C=3)])
def test_sklearn_contract(estimator, check):
    check(estimator)


def binary(n=80, seed=0):
    X, y = make_classification(n, 6, n_informative=3, flip_y=0.2, random_state=seed)
    return X, y


def test_sample_weights_are_the_costs_of_the_paper():
    X, y = binary()
    delta = np.random.RandomState(0).uniform(0, 2, size=len(y))
    model = L1LinearSVC(C=3).fit(X, y, sample_weight=delta)
    signs = np.where(y == 1, 1.0, -1.0)
    value = l1_svm_objective(model.coef_[0], model.intercept_[0], X, signs, 3 * delta)
    assert_allclose(model.objective_, value)
    assert abs(model.duality_gap_) < 1e-9
    # No neighbour is better.
    rng = np.random.RandomState(1)
    for _ in range(50):
        coef = model.coef_[0] + 1e-3 * rng.normal(size=6)
        offset = model.intercept_[0] + 1e-3 * rng.normal()
        assert l1_svm_objective(coef, offset, X, signs, 3 * delta) > value


def test_an_example_of_no_weight_is_as_good_as_absent():
    X, y = binary()
    weight = np.random.RandomState(0).randint(0, 3, size=len(y)).astype(float)
    with_them = L1LinearSVC().fit(X, y, sample_weight=weight)
    without = L1LinearSVC().fit(X[weight > 0], y[weight > 0], sample_weight=weight[weight > 0])
    repeated = L1LinearSVC().fit(
        np.repeat(X, weight.astype(int), 0), np.repeat(y, weight.astype(int))
    )
    assert_allclose(with_them.coef_, without.coef_)
    assert_allclose(with_them.coef_, repeated.coef_, atol=1e-8)


def test_costs_of_two_classes_are_weights():
    # Missing class 1 costs 9, missing class 0 costs 3. With 40 examples of each an example
    # is worth 6 on average: the weights are 1.5 and 0.5.
    X, y = binary()
    keep = np.concatenate([np.flatnonzero(y == 0)[:35], np.flatnonzero(y == 1)[:35]])
    X, y = X[keep], y[keep]
    ours = L1LinearSVC(cost_matrix=[[0, 3], [9, 0]]).fit(X, y)
    weighted = L1LinearSVC().fit(X, y, sample_weight=np.where(y == 1, 1.5, 0.5))
    assert_allclose(ours.coef_, weighted.coef_)
    assert_allclose(ours.objective_, weighted.objective_)
    by_example = L1LinearSVC().fit(X, y, costs=np.array([[0, 3], [9, 0]])[y])
    assert_allclose(ours.coef_, by_example.coef_)


def test_an_example_whose_truth_costs_more_pulls_the_other_way():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    y = np.array([1, 0, 1, 1])
    costs = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])  # the first says 0
    model = L1LinearSVC(C=10).fit(X, y, costs=costs)
    assert (model.predict(X) == [0, 0, 1, 1]).all()


def test_gaps_pairs_and_scores_by_hand():
    assert pairs_of(3, "ovo") == [(0, 1), (0, 2), (1, 2)]
    assert pairs_of(3, "ovr") == [(0,), (1,), (2,)]
    assert pairs_of(2, "ovr") == [(0, 1)]
    # Deciding 2 in place of 0: truth 0 loses 2, truth 1 gains 3, truth 2 gains 9.
    assert_allclose(cost_gaps(C3, (0, 2)), [-2, 3, 9])
    # Deciding 1 in place of the best other: 0 - 1, 1 - 0, 0 - 6.
    assert_allclose(cost_gaps(C3, (1,)), [-1, 1, -6])
    # Excess over the best, averaged over the two others: 3/2, 5/2, 15/2.
    assert_allclose(mean_excess(C3), [1.5, 2.5, 7.5])
    # 0 beats 1, 2 beats 0, 1 beats 2: a tie of one vote each; the sums settle it:
    # class 0: 1 - 2 = -1, class 1: -1 + 4 = 3, class 2: 2 - 4 = -2.
    scores = class_scores(np.array([[-1.0, 2.0, -4.0]]), 3, "ovo")[0]
    assert_allclose(scores, [1 - 1 / 6, 1 + 3 / 12, 1 - 2 / 9])


@pytest.mark.parametrize(("multi_class", "n_problems"), [("ovo", 6), ("ovr", 4)])
def test_more_classes(multi_class, n_problems):
    X, y = make_blobs(120, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], random_state=0)
    names = np.array(["b", "d", "a", "c"])
    model = L1LinearSVC(multi_class=multi_class).fit(X, names[y])
    assert model.coef_.shape == (n_problems, 2)
    assert model.intercept_.shape == (n_problems,)
    assert (model.predict(X) == names[y]).all()
    scores = model.decision_function(X)
    assert scores.shape == (120, 4)
    assert (model.classes_[scores.argmax(axis=1)] == model.predict(X)).all()


def test_the_number_of_workers_changes_nothing():
    X, y = make_classification(150, 8, n_informative=5, n_classes=4, random_state=0)
    one = L1LinearSVC(cost_matrix=np.triu(np.full((4, 4), 5.0), 1) + np.tri(4, k=-1)).fit(X, y)
    two = L1LinearSVC(n_jobs=2, cost_matrix=one.cost_matrix).fit(X, y)
    assert (one.coef_ == two.coef_).all()
    assert (one.intercept_ == two.intercept_).all()


def test_sparse_input_is_the_same_problem():
    X, y = binary()
    X[np.abs(X) < 0.5] = 0
    dense, thin = L1LinearSVC().fit(X, y), L1LinearSVC().fit(sparse.csr_matrix(X), y)
    assert_allclose(dense.objective_, thin.objective_)
    assert_allclose(dense.coef_, thin.coef_, atol=1e-8)
    assert (thin.predict(sparse.csr_matrix(X)) == dense.predict(X)).all()


def test_the_smallest_problems():
    assert (
        L1LinearSVC().fit([[0.0], [5.0]], ["x", "y"]).predict([[0.0], [5.0]]) == ["x", "y"]
    ).all()
    # Nothing to tell them apart by: the class that costs more to miss.
    flat = L1LinearSVC(cost_matrix=[[0, 1], [3, 0]]).fit(np.ones((4, 2)), [0, 0, 1, 1])
    assert not flat.coef_.any()
    assert (flat.predict(np.ones((2, 2))) == 1).all()


def test_a_decision_that_never_pays_is_never_taken():
    # Deciding 2 costs as much as deciding 1 or more, whatever the truth: one of its pairs
    # has one label only.
    X, y = make_blobs(60, centers=3, random_state=0)
    costs = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 2.0], [5.0, 0.0, 3.0]])[y]
    model = L1LinearSVC().fit(X, y, costs=costs)
    assert not (model.predict(X) == 2).any()


def test_its_score_is_minus_the_average_cost_in_a_grid_search():
    X, y = binary()
    search = GridSearchCV(L1LinearSVC(cost_matrix=[[0, 1], [5, 0]]), {"C": [0.1, 1.0]}, cv=3)
    search.fit(X, y)
    assert search.best_score_ <= 0


def test_bad_parameters_are_refused_by_name():
    X, y = binary()
    with pytest.raises(ValueError, match="The 'C' parameter of L1LinearSVC must be"):
        L1LinearSVC(C=0).fit(X, y)
    with pytest.raises(ValueError, match="cost_matrix has 3 rows"):
        L1LinearSVC(cost_matrix=C3).fit(X, y)
