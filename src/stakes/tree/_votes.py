"""The votes of many trees, all of them asked in one pass over the rows."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from stakes._learning.votes import add_votes
from stakes.tree._binning import BinnedData, Bins, frozen
from stakes.tree._columns import (
    CHILD_SHIFT,
    CUT,
    FEATURE,
    FEATURE_SHIFT,
    LEFT,
    MISSING,
    N_COLUMNS,
    RIGHT,
    WORDS,
)
from stakes.tree._structure import CostTree
from stakes.tree._threads import for_each_chunk
from stakes.utils._arrays import is_table

# Small trees: every node is asked about every row, which pays for those alone.
MOST_NODES = 64
MOST_CLASSES = 255
# Rows that small trees are asked at a time: their codes and answers stay in the cache.
CHUNK = 2_048
# Rows that packed trees are asked at a time.
PACKED_CHUNK = 16_384


def average_unseen(
    trees: Sequence[CostTree],
    values: Sequence[np.ndarray],
    seen: Iterable[np.ndarray],
    binned: BinnedData,
    n_threads: int = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the averages over the trees that have not seen each row, and how many they are.

    Parameters
    ----------
    trees : list of CostTree
        The members, grown on the same bins.
    values : list of ndarray of shape (n_leaves, n_classes)
        What the leaves of each tree say.
    seen : iterable of ndarray of shape (n_rows,)
        Which rows each tree was grown on.
    binned : BinnedData
        The rows.
    n_threads : int, default=1
        Threads that share the rows. The result does not depend on it.

    Returns
    -------
    averages : ndarray of shape (n_rows, n_classes)
        NaN where every tree has seen the row.
    n_trees : ndarray of shape (n_rows,)
        How many have not.
    """
    sums = np.zeros((len(binned), values[0].shape[1]))
    n_trees = np.zeros(len(binned))
    for tree, said, drawn in zip(trees, values, seen):
        tree.add_values(said, binned, sums, skipped=drawn, n_threads=n_threads)
        n_trees += ~drawn
    with np.errstate(invalid="ignore"):
        return sums / n_trees[:, None], n_trees


def count_votes(
    trees: Sequence[CostTree],
    weights: Any,
    binned: BinnedData,
    n_classes: int,
    n_threads: int = 1,
) -> np.ndarray:
    """Return the votes that each decision wins in each row, (n, K).

    Parameters
    ----------
    trees : list of CostTree
        The members, grown on the same bins.
    weights : array-like of shape (n_trees,)
        What their votes count.
    binned : BinnedData
        The rows.
    n_classes : int
        The number of decisions.
    n_threads : int, default=1
        Threads that share the rows. The result does not depend on it.
    """
    scores = np.zeros((len(binned), n_classes))
    if not can_be_fused(trees, n_classes):
        for tree, weight in zip(trees, weights):
            add_votes(scores, tree.predict(binned, n_threads), weight)
        return scores
    from stakes.tree._vote_kernels import add_votes_of_trees

    table = flatten(trees)
    if len(weights) != len(trees) or any(
        len(binned.codes) != tree.bins.n_features or tree.decisions.max() >= n_classes
        for tree in trees
    ):
        raise ValueError("The trees do not fit the rows, the classes or their weights.")
    weights = frozen(np.ascontiguousarray(weights, dtype=np.float64))

    def run(first: int, stop: int) -> None:
        add_votes_of_trees(frozen(binned.codes), first, stop, table, weights, scores)

    for_each_chunk(run, len(binned), n_threads, CHUNK)
    return scores


def can_be_fused(trees: Sequence[CostTree], n_classes: int) -> bool:
    """Return whether all trees are so small that they are asked faster in one pass."""
    return n_classes <= MOST_CLASSES and all(len(tree.nodes) <= MOST_NODES for tree in trees)


def flatten(trees: Sequence[CostTree]) -> Any:
    """Return the nodes of all trees as the kernel takes them."""
    from stakes.tree._vote_kernels import FlatTrees

    starts = np.concatenate([[0], np.cumsum([len(tree.nodes) for tree in trees])])
    nodes = np.concatenate([tree.nodes for tree in trees])
    decision = np.zeros(len(nodes), dtype=np.uint8)
    for tree, start in zip(trees, starts):
        decision[start + tree.leaf_nodes] = tree.decisions
    feature = np.where(nodes[:, LEFT] < 0, -1, nodes[:, FEATURE])
    return FlatTrees(
        starts=starts.astype(np.int64),
        feature=feature,
        cut=np.ascontiguousarray(nodes[:, CUT]),
        missing=np.where(nodes[:, MISSING] == 1, trees[0].bins.n_values[feature], -1),
        left=np.ascontiguousarray(nodes[:, LEFT]),
        right=np.ascontiguousarray(nodes[:, RIGHT]),
        decision=decision,
        sets=np.concatenate([tree.sets for tree in trees]),
    )


class PackedTrees:
    """Many two-label trees as one table, to be asked together.

    Parameters
    ----------
    members : list of CostTree or float
        Trees on the same bins; a number is a member that always leans so far to label 1.
    bins : Bins
        Those bins.
    """

    def __init__(self, members: Sequence[CostTree | float], bins: Bins):
        from stakes.tree._vote_kernels import PackedTable, pack_tree

        sizes = [len(m.nodes) if isinstance(m, CostTree) else 1 for m in members]
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        self.words = np.empty(sum(sizes), np.int64)
        self.sets = np.zeros((sum(sizes), WORDS), np.uint64)
        self.margins = np.zeros(sum(sizes))
        self.roots = roots
        table = PackedTable(self.words, self.sets, self.margins, self.roots)
        for member, start in zip(members, roots):
            if isinstance(member, CostTree):
                nodes, sets = member.nodes, member.sets
                shares = member.class_sums[:, :2] / member.class_sums[:, 2:]
                margins = shares[:, 1] - shares[:, 0]
            else:  # a leaf
                nodes, sets = np.full((1, N_COLUMNS), -1), np.zeros((1, WORDS), np.uint64)
                margins = np.array([float(member)])
            pack_tree(nodes, sets, bins.n_values, bins.is_categorical, margins, start, table)

    def _check_structure(self) -> None:
        """Refuse packed trees, read from a file, that do not hold together."""
        n_nodes = len(self.words)
        holds = (
            n_nodes < 2**31
            and is_table(self.words, np.int64, (n_nodes,))
            and is_table(self.sets, np.uint64, (n_nodes, WORDS))
            and is_table(self.margins, np.float64, (n_nodes,))
            and is_table(self.roots, np.int64, (len(self.roots),))
            and bool(((self.roots >= 0) & (self.roots < n_nodes)).all())
        )
        if holds:
            inner = np.flatnonzero(self.words & 1 == 0)
            child = self.words[inner] >> CHILD_SHIFT
            holds = bool(((child > inner) & (child + 1 < n_nodes)).all())
        if not holds:
            raise ValueError("Packed trees do not hold together.")

    def _last_feature(self) -> int:
        """Return the last feature that a node asks about; -1 where none asks."""
        asked = (self.words[self.words & 1 == 0] >> FEATURE_SHIFT) & 0xFFFF
        return int(asked.max(initial=-1))

    def vote(
        self,
        binned: BinnedData,
        pairs: Any,
        n_classes: int,
        *,
        n_threads: int = 1,
        leaning: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the votes and the summed margins of each class, (n_classes, n_rows).

        Parameters
        ----------
        binned : BinnedData
            The rows.
        pairs : array-like of shape (n_trees, 2)
            The classes that stand for each tree's labels 0 and 1.
        n_classes : int
            The number of classes.
        n_threads : int, default=1
            Threads that share the rows.
        leaning : ndarray of shape (n_trees, n_rows), dtype bool, default=None
            Takes each tree's answers.
        """
        from stakes.tree._vote_kernels import PackedTable, vote_pairs

        votes = np.zeros((n_classes, len(binned)))
        margins = np.zeros((n_classes, len(binned)))
        if leaning is None:
            leaning = np.empty((0, 0), dtype=bool)
        pairs = np.ascontiguousarray(pairs, dtype=np.int64)
        if (
            pairs.shape != (len(self.roots), 2)
            or not ((pairs >= 0) & (pairs < n_classes)).all()
            or self._last_feature() >= len(binned.codes)
        ):
            raise ValueError("The packed trees do not fit the rows, or the classes of the pairs.")
        given = (self.words, self.sets, self.margins, self.roots)
        table = PackedTable(*(frozen(array) for array in given))

        def run(first: int, stop: int) -> None:
            vote_pairs(frozen(binned.codes), table, pairs, first, stop, votes, margins, leaning)

        for_each_chunk(run, len(binned), n_threads, PACKED_CHUNK)
        return votes, margins
