"""All trees in one pass decide as they do one by one."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from stakes._learning.votes import add_votes
from stakes.costs import Costs
from stakes.tree import CostTreeClassifier
from stakes.tree._votes import CHUNK, MOST_NODES, PACKED_CHUNK, can_be_fused
from stakes.tree.engine import PackedTrees, TreeGrower, count_votes, grow_cost_tree


def grown(n, n_classes=4, seed=0, missing=0.0, **options):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.integers(5, size=n).astype(float),
            "c": pd.Categorical(rng.choice(list("uvwxyz"), n)),
        }
    )
    if missing:
        frame.loc[rng.random(n) < missing, "a"] = np.nan
    options = {"max_depth": 3, "min_samples_leaf": 1, **options}
    grower = TreeGrower(CostTreeClassifier(**options), frame)
    binned = grower.bin(frame)
    trees = [grower.grow(binned, rng.normal(size=(n, n_classes)))[0] for _ in range(12)]
    return binned, trees, rng.uniform(0.1, 1, 12)


def one_by_one(trees, weights, binned, n_classes):
    scores = np.zeros((len(binned), n_classes))
    for tree, weight in zip(trees, weights):
        add_votes(scores, tree.predict(binned), weight)
    return scores


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize(
    "options", [{}, {"max_depth": 1}, {"max_depth": 5}, {"max_leaf_nodes": 6}]
)
@pytest.mark.parametrize("n_threads", [1, 3])
def test_votes_are_those_of_the_trees_one_by_one(missing, options, n_threads):
    n = 2 * CHUNK + 17
    binned, trees, weights = grown(n, missing=missing, **options)
    assert can_be_fused(trees, 4)
    fused = count_votes(trees, weights, binned, 4, n_threads)
    assert_array_equal(fused, one_by_one(trees, weights, binned, 4))


def test_large_trees_vote_one_by_one():
    binned, trees, weights = grown(500, max_depth=8)
    assert max(len(tree.nodes) for tree in trees) > MOST_NODES
    assert not can_be_fused(trees, 4)
    assert_array_equal(
        count_votes(trees, weights, binned, 4), one_by_one(trees, weights, binned, 4)
    )


@pytest.mark.parametrize("n_threads", [1, 2])
def test_packed_pairs_vote_as_their_trees_do(n_threads):
    binned, _, _ = grown(PACKED_CHUNK + 100, missing=0.2)
    rng = np.random.default_rng(1)
    pairs, n_classes = [(0, 1), (0, 2), (1, 2)], 3
    trees = [
        grow_cost_tree(
            binned, Costs(rng.integers(2, size=len(binned)), 1.0 - np.eye(2)), max_depth=6
        )[0]
        for _ in pairs[:2]
    ]
    members = [*trees, 0.25]  # the last always leans to its second class
    margins = [np.diff(tree.class_shares[tree.apply(binned)], axis=1)[:, 0] for tree in trees]
    margins.append(np.full(len(binned), 0.25))
    votes, sums = np.zeros((2, n_classes, len(binned)))
    for (j, k), margin in zip(pairs, margins):
        votes[k] += margin > 0
        votes[j] += margin <= 0
        sums[k] += margin
        sums[j] -= margin
    leaning = np.empty((3, len(binned)), dtype=bool)
    packed = PackedTrees(members, binned.bins)
    found = packed.vote(binned, pairs, n_classes, n_threads=n_threads, leaning=leaning)
    assert_array_equal(found[0], votes)
    assert_array_equal(found[1], sums)
    assert_array_equal(leaning, np.array(margins) > 0)
