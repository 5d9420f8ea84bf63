"""The votes of an ensemble of small trees, all trees in one pass over the rows."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from stakes.tree._structure import CostTree

# Every node of a tree is asked about every row, which pays for small trees only.
MOST_NODES = 64
MOST_CLASSES = 255
# Rows that are worked on at a time: their codes and their answers stay in the cache.
CHUNK = 2_048


def can_be_fused(members, n_classes) -> bool:
    """Return whether `count_votes` serves these members."""
    return n_classes <= MOST_CLASSES and all(
        isinstance(member, CostTree) and len(member.nodes) <= MOST_NODES for member in members
    )


def count_votes(trees, weights, binned, n_classes, n_threads=1):
    """Return f, the votes that each class wins in each row, (n, K).

    Parameters
    ----------
    trees : list of CostTree
        The members.
    weights : array-like of shape (n_trees,)
        Their votes.
    binned : BinnedData
        The rows.
    n_classes : int
        The number of decisions.
    n_threads : int, default=1
        Threads that share the rows. The result does not depend on it.
    """
    from stakes.boosting._vote_kernels import add_votes_of_trees

    table = flatten(trees)
    weights = np.asarray(weights, dtype=np.float64)
    scores = np.zeros((len(binned), n_classes))

    def run(first):
        stop = min(first + CHUNK, len(binned))
        add_votes_of_trees(binned.codes, first, stop, *table, weights, scores)

    starts = range(0, len(binned), CHUNK)
    if n_threads == 1 or len(starts) < 2:
        for first in starts:
            run(first)
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(run, starts))
    return scores


def flatten(trees):
    """Return the nodes of all trees as the arrays that the kernel takes."""
    from stakes.tree._kernels import CUT, FEATURE, LEFT, MISSING, RIGHT

    starts = np.concatenate([[0], np.cumsum([len(tree.nodes) for tree in trees])])
    nodes = np.concatenate([tree.nodes for tree in trees])
    sets = np.concatenate([tree.sets for tree in trees])
    decision = np.zeros(len(nodes), dtype=np.uint8)
    for tree, start in zip(trees, starts):
        decision[start + tree.leaf_nodes] = tree.decisions
    is_leaf = nodes[:, LEFT] < 0
    feature = np.where(is_leaf, -1, nodes[:, FEATURE])
    missing = np.where(nodes[:, MISSING] == 1, trees[0].bins.n_values[feature], -1)
    return (
        starts.astype(np.int64),
        feature,
        np.ascontiguousarray(nodes[:, CUT]),
        missing,
        np.ascontiguousarray(nodes[:, LEFT]),
        np.ascontiguousarray(nodes[:, RIGHT]),
        decision,
        sets,
    )
