"""What other learners need of the trees."""

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal

from stakes.costs import Costs
from stakes.tree import CostForestClassifier, CostTreeClassifier
from stakes.tree.engine import RelationTree, TreeGrower, is_cost_tree, resolve_threads


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4)).round(1)
    costs = rng.random((600, 3)) + np.where(X[:, :1] > 0, [0.0, 1.0, 2.0], [1.0, 0.0, 0.5])
    return X, costs


def test_trees_that_hold_out_rows_cannot_share_bins():
    assert is_cost_tree(CostTreeClassifier())
    assert is_cost_tree(CostTreeClassifier(ccp_alpha=0.1))
    assert not is_cost_tree(CostTreeClassifier(validation_fraction=0.2))
    assert not is_cost_tree(CostForestClassifier())
    assert not is_cost_tree(None)


@pytest.mark.parametrize("ccp_alpha", [0.0, 0.01])
def test_a_grower_grows_the_tree_of_its_estimator(rows, ccp_alpha):
    X, costs = rows
    estimator = CostTreeClassifier(max_depth=6, ccp_alpha=ccp_alpha)
    tree = estimator.fit(X, costs.argmin(axis=1), costs=costs).tree_
    grower = TreeGrower(estimator, X)
    grown, leaves = grower.grow(grower.bin(X), costs, return_leaves=True)
    assert_array_equal(grown.nodes, tree.nodes)
    assert_array_equal(leaves, estimator.apply(X))  # of the pruned tree
    assert grower.grow(grower.bin(X), costs)[1] is None


def test_a_grower_checks_what_it_bins(rows):
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0], "colour": ["a", "b", "a"]})
    grower = TreeGrower(CostTreeClassifier(), frame)
    assert grower.columns.categorical.tolist() == [False, True]
    with pytest.raises(ValueError, match="infinity in the column 'x'"):
        grower.bin(frame.assign(x=np.inf))
    with pytest.raises(ValueError, match="Input X contains infinity"):
        TreeGrower(CostTreeClassifier(), rows[0]).bin(np.full((2, 4), np.inf))


def test_rows_of_weight_zero_place_no_bin():
    X = np.array([[0.0], [1.0], [50.0]])
    grower = TreeGrower(CostTreeClassifier(), X, np.array([1.0, 1.0, 0.0]))
    assert_array_equal(grower.bins.edges[0], [0.5])


def test_numbers_that_are_appended_have_the_bins_of_their_values(rows):
    X, _ = rows
    frame = pd.DataFrame(X).assign(kind=np.where(X[:, 0] > 0, "p", "n"))
    grower = TreeGrower(CostTreeClassifier(), frame)
    binned = grower.bin(frame)
    numbers = binned.as_numbers(frame)
    assert_array_equal(numbers[:, :4], X)
    assert_array_equal(binned.append(numbers[:50]).codes[:, -50:], binned.codes[:, :50])
    assert not binned.has_missing_numbers()
    assert grower.bin(frame.assign(kind=None)).has_missing_numbers() is False
    frame[2] = np.nan
    assert grower.bin(frame).has_missing_numbers()


def test_smoothed_leaves_lean_to_the_average_row(rows):
    X, costs = rows
    grower = TreeGrower(CostTreeClassifier(max_depth=3), X)
    y = costs.argmin(axis=1)
    tree, _ = grower.grow(grower.bin(X), Costs(y, costs=costs))
    smoothed = tree.smoothed(5.0)
    counts = tree.class_sums[tree.leaf_nodes, -1:]
    assert_allclose(
        smoothed.values, (counts * tree.values + 5.0 * costs.mean(axis=0)) / (counts + 5.0)
    )
    assert_array_equal(smoothed.decisions, smoothed.values.argmin(axis=1))
    assert tree.smoothed(0.0) is tree


def test_a_relation_accepts_the_decisions_of_negative_sum(rows):
    X, costs = rows
    costs = costs - 1.0
    grower = TreeGrower(CostTreeClassifier(max_depth=3), X)
    binned = grower.bin(X)
    tree, leaves = grower.grow(binned, costs, return_leaves=True)
    sums = np.array([costs[leaves == leaf].sum(axis=0) for leaf in range(tree.n_leaves)])
    accepted = RelationTree(tree).accepts(binned)
    assert_array_equal(accepted, (sums < 0.0)[leaves])
    assert accepted.any()
    assert not accepted.all()


def test_the_number_of_threads_is_that_of_jobs_in_scikit_learn():
    assert resolve_threads(None) == resolve_threads(1) == 1
    with parallel_config(backend="threading", n_jobs=2):
        assert resolve_threads(None) == min(2, resolve_threads(-1))
    with pytest.raises(ValueError, match="n_jobs == 0 has no meaning"):
        resolve_threads(0)
