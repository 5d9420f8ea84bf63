"""Several workers, each with some of the rows, grow the tree of all rows."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from stakes.costs import Costs
from stakes.tree.engine import Bins, Sums, grow_cost_tree

N_SAMPLES = 4000


class Together(Sums):
    """Adds up the arrays of workers in threads, which wait for each other."""

    shared = True

    def __init__(self, rank, parts, barrier):
        self.rank, self.parts, self.barrier = rank, parts, barrier
        self.sizes = []

    def total(self, array):
        self.sizes.append(array.size)
        self.parts[self.rank] = array.copy()
        self.barrier.wait(timeout=60)
        array[...] = sum(self.parts)
        self.barrier.wait(timeout=60)

    def greatest(self, array):
        self.parts[self.rank] = array.copy()
        self.barrier.wait(timeout=60)
        array[...] = np.max(self.parts, axis=0)
        self.barrier.wait(timeout=60)


def make_rows(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_SAMPLES, 6)).round(2)
    X[:, 1] = rng.integers(0, 4, N_SAMPLES)
    X[:, 2] = rng.integers(0, 12, N_SAMPLES)
    X[rng.random(X.shape) < 0.05] = np.nan
    score = np.nan_to_num(X[:, :n_classes]) + rng.normal(size=(N_SAMPLES, n_classes))
    y = score.argmax(axis=1)
    binned = Bins.fit(X, categorical_features=[1, 2]).transform(X)
    return binned, y, rng.integers(0, 4, N_SAMPLES).astype(float)


def grow_apart(parts, binned, costs, weight, **rules):
    """Grow one tree by a worker for each part of the rows; return what each has grown."""
    room, barrier = [None] * len(parts), threading.Barrier(len(parts))

    def work(rank):
        rows = parts[rank]
        sums = Together(rank, room, barrier)
        own_weight = None if weight is None else weight[rows]
        own_costs = costs.take(rows) if isinstance(costs, Costs) else costs[rows]
        tree, leaves = grow_cost_tree(binned.take(rows), own_costs, own_weight, sums=sums, **rules)
        return tree, leaves, sums

    with ThreadPoolExecutor(len(parts)) as pool:
        return list(pool.map(work, range(len(parts))))


@pytest.mark.parametrize(
    "rules",
    [
        {"max_depth": 5},
        {"max_depth": None, "min_samples_leaf": 5},  # more nodes than there is room for at first
        {"max_depth": None, "max_leaf_nodes": 40, "criterion": "variance"},
        {"max_depth": 7, "max_features": 2, "shuffle_ties": True, "random_state": 3},
        {"max_depth": 5, "n_threads": 2},
        {"max_depth": 0},
    ],
)
@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_two_halves_grow_the_tree_of_all_rows(rules, by_class, weighted, n_classes):
    binned, y, weight = make_rows(n_classes)
    rng = np.random.default_rng(1)
    if by_class:
        costs = Costs(y, matrix=rng.uniform(1, 9, (n_classes, n_classes)))
    else:
        costs = rng.uniform(1, 9, (N_SAMPLES, n_classes))
        costs[np.arange(N_SAMPLES), y] = 0.0
    weight = weight if weighted else None
    alone, leaves = grow_cost_tree(binned, costs, weight, **rules)
    parts = [np.arange(N_SAMPLES)[:1300], np.arange(N_SAMPLES)[1300:]]
    for (tree, own_leaves, _), rows in zip(
        grow_apart(parts, binned, costs, weight, **rules), parts
    ):
        assert_array_equal(tree.nodes, alone.nodes)
        assert_array_equal(tree.sets, alone.sets)
        assert_array_equal(tree.decisions, alone.decisions)
        assert_array_equal(own_leaves, leaves[rows])
        if by_class:
            assert_array_equal(tree.gains, alone.gains)
            assert_array_equal(tree.class_sums, alone.class_sums)
            assert_array_equal(tree.cost_sums, alone.cost_sums)
        else:
            assert_allclose(tree.gains, alone.gains, rtol=1e-9, atol=1e-9 * N_SAMPLES)
            assert_allclose(tree.cost_sums, alone.cost_sums, rtol=1e-9)


def test_the_default_hands_every_sum_through_and_changes_none():
    binned, y, _ = make_rows(4)
    numbers = np.arange(3.0)
    assert Sums().total(numbers) is None
    assert_array_equal(numbers, np.arange(3.0))
    assert not Sums.shared
    alone, _ = grow_cost_tree(binned, Costs(y, 1.0 - np.eye(4)), max_depth=4)
    given, _ = grow_cost_tree(binned, Costs(y, 1.0 - np.eye(4)), max_depth=4, sums=Sums())
    assert_array_equal(given.nodes, alone.nodes)


def test_histograms_of_siblings_are_asked_for_once():
    # The larger of two children is the parent less the smaller, for all rows as for some.
    binned, y, _ = make_rows(4)
    parts = np.array_split(np.arange(N_SAMPLES), 3)
    grown = grow_apart(parts, binned, Costs(y, 1.0 - np.eye(4)), None, max_depth=2)
    whole = int(binned.bins.offsets[-1]) * 4
    for tree, _, sums in grown:
        assert tree.n_leaves == 4
        assert sums.sizes.count(whole) == 2  # the root and one of its children
