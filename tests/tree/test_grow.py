import numpy as np
import pytest
from numpy.testing import assert_allclose

from stakes.tree._binning import Bins
from stakes.tree._grow import grow_cost_tree

from ._brute_force import brute_force_tree


def make_problem(seed, *, n_samples=30, n_classes=None, categories=True, missing=True):
    """Return small integers full of ties: features, costs, weights, and which are categories."""
    rng = np.random.default_rng(seed)
    n_classes = n_classes or int(rng.integers(2, 9))
    X = np.column_stack(
        [
            rng.integers(0, 6, n_samples),
            rng.integers(0, 3, n_samples),
            rng.integers(0, 4, n_samples),
            rng.normal(size=n_samples).round(1),
        ]
    ).astype(float)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    costs = rng.integers(-3, 6, (n_samples, n_classes)).astype(float)
    costs[X[:, 0] > 2, 0] -= 2
    categorical = np.array([False, categories, categories, False])
    weight = rng.integers(0, 4, n_samples).astype(float)
    return Bins.fit(X, categorical_features=categorical).transform(X), costs, weight


def leaves_of(leaf_of_row):
    return {
        frozenset(np.flatnonzero(leaf_of_row == leaf).tolist())
        for leaf in np.unique(leaf_of_row[leaf_of_row >= 0])
    }


def oracle(binned, costs, weight=None, **rules):
    return brute_force_tree(
        binned.codes.tolist(),
        costs.tolist(),
        None if weight is None else weight.tolist(),
        missing=binned.bins.n_values.tolist(),
        categorical=binned.bins.is_categorical.tolist(),
        **rules,
    )


@pytest.mark.parametrize("criterion", ["cost", "variance"])
@pytest.mark.parametrize("seed", range(12))
def test_the_tree_is_the_brute_force_tree(seed, criterion):
    binned, costs, weight = make_problem(seed)
    weight = weight if seed % 2 else None
    rules = {"criterion": criterion, "max_depth": 1 + seed % 3, "min_samples_leaf": 1 + seed % 4}
    tree, leaf_of_row = grow_cost_tree(binned, costs, weight, **rules)
    leaves, cost = oracle(binned, costs, weight, **rules)
    paid = costs[np.arange(len(costs)), tree.predict(binned)]
    assert_allclose((paid if weight is None else weight * paid).sum(), float(cost))
    assert leaves_of(leaf_of_row) == leaves


@pytest.mark.parametrize("seed", range(8))
def test_best_first_is_the_brute_force_tree(seed):
    binned, costs, _ = make_problem(100 + seed)
    rules = {"max_depth": 10, "max_leaf_nodes": 2 + seed % 4}
    _, leaf_of_row = grow_cost_tree(binned, costs, **rules)
    assert leaves_of(leaf_of_row) == oracle(binned, costs, **rules)[0]


@pytest.mark.parametrize("seed", range(4))
def test_min_cost_decrease_is_the_brute_force_tree(seed):
    binned, costs, weight = make_problem(200 + seed)
    rules = {"max_depth": 3, "min_cost_decrease": 0.125}
    _, leaf_of_row = grow_cost_tree(binned, costs, weight, **rules)
    assert leaves_of(leaf_of_row) == oracle(binned, costs, weight, **rules)[0]
