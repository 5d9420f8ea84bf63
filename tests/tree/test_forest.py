import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss

from stakes.tree import CostForestClassifier, CostTreeClassifier

C = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [16.0, 8.0, 0.0]])


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        2000, 10, n_informative=5, n_classes=3, class_sep=0.7, flip_y=0.1, random_state=0
    )
    return X[:1000], X[1000:], y[:1000], y[1000:]


@pytest.fixture(scope="module")
def forest(data):
    X, _, y, _ = data
    return CostForestClassifier(C, n_estimators=30, random_state=0, oob_score=True).fit(X, y)


def test_costs_are_averaged_not_voted(data, forest):
    X, X_new, y, _ = data
    forest = clone(forest).set_params(calibration=None).fit(X, y)
    leaves = forest.apply(X_new)
    assert leaves.shape == (1000, 30)
    mean = np.mean([t.values[leaves[:, i]] for i, t in enumerate(forest.estimators_)], axis=0)
    assert_allclose(forest.expected_costs(X_new), mean)
    assert_array_equal(forest.predict(X_new), mean.argmin(axis=1))
    # with class costs the expected costs are those of the averaged class shares
    assert_allclose(forest.predict_proba(X_new) @ C, mean)
    assert_allclose(forest.predict_proba(X_new).sum(axis=1), 1.0)


def test_a_forest_costs_less_than_a_tree_and_than_the_most_probable_class(data, forest):
    X, X_new, y, y_new = data
    tree = CostTreeClassifier(C).fit(X, y)
    plain = RandomForestClassifier(30, random_state=0).fit(X, y)
    paid = -forest.score(X_new, y_new)
    assert paid < -tree.score(X_new, y_new)
    assert paid < C[y_new, plain.predict(X_new)].mean()
    decided = (plain.predict_proba(X_new) @ C).argmin(axis=1)
    assert paid < 1.15 * C[y_new, decided].mean()


def test_out_of_bag_cost_foretells_the_cost_of_new_rows(data, forest):
    _, X_new, y, y_new = data
    assert_allclose(forest.oob_score_, forest.score(X_new, y_new), rtol=0.25)
    seen = np.isfinite(forest.oob_expected_costs_).all(axis=1)
    decided = forest.oob_expected_costs_[seen].argmin(axis=1)
    assert_allclose(C[y[seen], decided].mean(), -forest.oob_score_)


def test_the_number_of_jobs_changes_nothing(data, forest):
    X, X_new, y, _ = data
    two = clone(forest).set_params(n_jobs=2).fit(X, y)
    assert_array_equal(two.expected_costs(X_new), forest.expected_costs(X_new))
    assert two.oob_score_ == forest.oob_score_


def test_the_seed_decides(data, forest):
    X, X_new, y, _ = data
    other = clone(forest).set_params(random_state=1).fit(X, y)
    assert (other.expected_costs(X_new) != forest.expected_costs(X_new)).any()


def test_a_warm_start_ends_where_a_cold_one_does(data, forest):
    X, X_new, y, _ = data
    warm = clone(forest).set_params(warm_start=True, n_estimators=10, oob_score=False).fit(X, y)
    first = warm.estimators_[0]
    warm.set_params(n_estimators=30, oob_score=True).fit(X, y)
    assert warm.estimators_[0] is first
    assert_array_equal(warm.expected_costs(X_new), forest.expected_costs(X_new))
    assert warm.oob_score_ == forest.oob_score_
    with pytest.raises(ValueError, match="n_estimators=5 is less than the 30 trees there are"):
        warm.set_params(n_estimators=5).fit(X, y)


def test_example_costs_that_repeat_the_matrix_give_the_same_forest(data, forest):
    X, X_new, y, _ = data
    by_row = clone(forest).set_params(cost_matrix=None).fit(X, y, costs=C[y])
    assert_allclose(by_row.predict_proba(X_new), forest.predict_proba(X_new))
    forest, by_row = (clone(f).set_params(calibration=None) for f in (forest, by_row))
    by_row.fit(X, y, costs=C[y])
    assert_allclose(
        by_row.expected_costs(X_new), forest.fit(X, y).expected_costs(X_new), atol=1e-9
    )


def test_rows_out_of_bag_say_how_sharp_probabilities_may_be():
    X, y = make_classification(
        1500, 10, n_informative=5, n_classes=3, class_sep=1.5, random_state=1
    )
    losses = []
    for calibration in (None, "out_of_bag"):
        forest = CostForestClassifier(C, calibration=calibration, n_estimators=60, random_state=0)
        proba = forest.fit(X[:700], y[:700]).predict_proba(X[700:])
        assert_allclose(proba.sum(axis=1), 1.0)
        losses.append(log_loss(y[700:], proba))
        assert_allclose(forest.expected_costs(X[700:]), proba @ C)
    assert losses[1] < 0.8 * losses[0]


def test_learned_costs_follow_the_calibrated_classes(data, forest):
    # where costs depend on the class alone, learning them row by row comes to the same
    X, X_new, y, _ = data
    by_row = clone(forest).set_params(cost_matrix=None).fit(X, y, costs=C[y])
    assert_allclose(by_row.expected_costs(X_new), forest.predict_proba(X_new) @ C, atol=1e-9)
    assert_allclose(by_row.oob_score_, forest.oob_score_)


def test_every_row_in_every_tree_without_bootstrap(data):
    X, _, y, _ = data
    forest = CostForestClassifier(
        C, n_estimators=3, bootstrap=False, max_features=None, random_state=0
    ).fit(X, y)
    alike = {"max_depth": None, "min_samples_leaf": 1, "criterion": "variance"}
    tree = CostTreeClassifier(C, **alike).fit(X, y)
    assert_allclose(forest.expected_costs(X), tree.expected_costs(X))
    with pytest.raises(ValueError, match="oob_score=True needs bootstrap=True"):
        forest.set_params(oob_score=True).fit(X, y)


def test_trees_keep_the_sums_of_leaves_alone(data, forest):
    # With 500 classes those of the other nodes were half of the memory.
    for tree in forest.estimators_:
        assert len(tree.cost_sums) == len(tree.class_sums) == tree.n_leaves < len(tree.nodes)
        tree._check_structure()


def test_max_samples(data):
    X, _, y, _ = data
    forest = CostForestClassifier(C, n_estimators=2, max_samples=50, random_state=0).fit(X, y)
    assert all(tree.class_sums[:, -1].sum() == 50 for tree in forest.estimators_)
    forest.set_params(max_samples=0.5).fit(X, y)
    assert all(tree.class_sums[:, -1].sum() == 500 for tree in forest.estimators_)
    with pytest.raises(ValueError, match="max_samples=2000 is more than the 1000 rows of X"):
        forest.set_params(max_samples=2000).fit(X, y)


def test_rows_that_every_tree_has_seen_are_said(data):
    X, _, y, _ = data
    forest = CostForestClassifier(C, n_estimators=1, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="rows have no out-of-bag estimate"):
        forest.fit(X, y)
    assert np.isnan(forest.oob_expected_costs_).any()


def test_rows_of_weight_zero_have_no_say(data):
    X, X_new, y, _ = data
    weight = np.where(np.arange(len(y)) < 600, 1.0, 0.0)
    spoilt = y.copy()
    spoilt[600:] = 0
    a = CostForestClassifier(C, n_estimators=5, random_state=0).fit(X, y, weight)
    b = CostForestClassifier(C, n_estimators=5, random_state=0).fit(X, spoilt, weight)
    assert_array_equal(a.expected_costs(X_new), b.expected_costs(X_new))


def test_importances_find_the_features_that_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 6))
    y = (X[:, 2] > 0).astype(int) + (X[:, 4] > 1)
    forest = CostForestClassifier(C, n_estimators=20, random_state=0).fit(X, y)
    assert set(np.argsort(forest.feature_importances_)[-2:]) == {2, 4}
    assert_allclose(forest.feature_importances_.sum(), 1.0)


def test_costs_known_when_deciding_are_weighed_by_the_averaged_shares(data, forest):
    _, X_new, _, y_new = data
    rng = np.random.default_rng(0)
    tensor = C * rng.lognormal(0, 1, (len(X_new), 1, 1))
    tensor[::3] = C.T
    expected = np.einsum("nt,ntd->nd", forest.predict_proba(X_new), tensor)
    assert_allclose(forest.expected_costs(X_new, cost_tensor=tensor), expected)
    decided = forest.predict(X_new, cost_tensor=tensor)
    assert_array_equal(decided, expected.argmin(axis=1))
    assert (decided != forest.predict(X_new)).any()
    paid = tensor[np.arange(len(X_new)), y_new, decided].mean()
    assert_allclose(forest.score(X_new, y_new, cost_tensor=tensor), -paid)


def test_a_line_is_told_of_each_tree(data, capsys):
    X, _, y, _ = data
    CostForestClassifier(C, n_estimators=3, max_depth=2, verbose=1, random_state=0).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[-1].startswith("[CostForestClassifier] tree 3 of 3")


def test_trees_in_processes_are_the_same():
    X, y = make_classification(120, 4, random_state=0)
    here = CostForestClassifier(n_estimators=4, random_state=0).fit(X, y)
    with parallel_config(backend="loky", n_jobs=2):  # what threads share is not sent there
        there = CostForestClassifier(n_estimators=4, random_state=0).fit(X, y)
    for tree, other in zip(here.estimators_, there.estimators_):
        assert_array_equal(tree.nodes, other.nodes)
