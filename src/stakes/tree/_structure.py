"""A grown tree: arrays of its nodes, and what to read from them."""

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stakes.costs import Costs
from stakes.tree._binning import BinnedData, Bins, frozen
from stakes.tree._columns import DEPTH, FEATURE, N_ROWS
from stakes.tree._threads import for_each_chunk

# Rows that one thread takes at a time.
CHUNK = 16_384


@dataclass(eq=False, repr=False)
class CostTree:
    """A tree grown on costs, on binned features.

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes, 8)
        Columns as named in `_columns`: feature, cut, missing, left, right, depth, rows, buffer.
        A child comes after its parent; a leaf has left = right = -1.
    gains : ndarray of shape (n_nodes, 2)
        What the split of each node saves, in cost and in squared norm.
    sets : ndarray of shape (n_nodes, 4), dtype uint64
        For a categorical split, the bins that go left, one bit for each.
    leaves : ndarray of shape (n_nodes,)
        Position of each leaf from left to right; -1 for the other nodes.
    cost_sums : ndarray of shape (n_nodes, n_classes)
        What each decision costs the training rows of each node in sum.
    class_sums : ndarray of shape (n_nodes, n_classes + 1)
        The weight of each class and of all rows; (n_nodes, 1) if the classes are not known.
    bins : Bins
        Where the features are cut.
    leaf_nodes : ndarray of shape (n_leaves,)
        The node of each leaf.
    decisions : ndarray of shape (n_leaves,)
        The decision of least cost in each leaf, as a position in `classes_`.
    """

    nodes: np.ndarray
    gains: Any
    sets: np.ndarray
    leaves: np.ndarray
    cost_sums: Any
    class_sums: Any
    bins: Bins

    def __post_init__(self) -> None:
        is_leaf = self.leaves >= 0
        self.leaf_nodes = np.empty(np.count_nonzero(is_leaf), dtype=np.int64)
        self.leaf_nodes[self.leaves[is_leaf]] = np.flatnonzero(is_leaf)
        self.decisions = self.cost_sums[self.leaf_nodes].argmin(axis=1)

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return len(self.leaf_nodes)

    @property
    def depth(self) -> int:
        """The most questions that lead to a leaf."""
        return int(self.nodes[:, DEPTH].max())

    @property
    def values(self) -> np.ndarray:
        """Mean cost of each decision in each leaf, (n_leaves, n_classes)."""
        return self.cost_sums[self.leaf_nodes] / self.class_sums[self.leaf_nodes, -1:]

    @property
    def class_shares(self) -> np.ndarray:
        """Share of each class in each leaf, (n_leaves, n_classes)."""
        return self.class_sums[self.leaf_nodes, :-1] / self.class_sums[self.leaf_nodes, -1:]

    def apply(self, binned: BinnedData, n_threads: int = 1) -> np.ndarray:
        """Return the leaf of each row, as a position in `decisions`."""
        from stakes.tree._leaf_kernels import find_leaves

        tree, out = self.arrays(binned), np.empty(len(binned), dtype=np.int32)

        def run(first: int, stop: int) -> None:
            find_leaves(tree, first, stop, out[first:stop])

        for_each_chunk(run, len(binned), n_threads, CHUNK)
        return out

    def arrays(self, binned: BinnedData) -> Any:
        """Return what the kernels need to find the leaves of rows."""
        from stakes.tree._leaf_kernels import TreeArrays

        bins = self.bins
        given = (self.nodes, self.sets, self.leaves, bins.n_values, bins.is_categorical)
        return TreeArrays(frozen(binned.codes), *(frozen(array) for array in given))

    def predict(self, binned: BinnedData, n_threads: int = 1) -> np.ndarray:
        """Return the decision for each row, as a position in `classes_`."""
        return self.decisions[self.apply(binned, n_threads)]

    def feature_importances(self) -> np.ndarray:
        """Return the share of the saved cost that each feature's splits have saved."""
        split = self.leaves < 0
        saved = np.bincount(
            self.nodes[split, FEATURE],
            weights=np.maximum(self.gains[split, 0], 0.0),
            minlength=self.bins.n_features,
        )
        return saved / saved.sum() if saved.sum() > 0.0 else saved

    def add_values(
        self,
        values: np.ndarray,
        binned: BinnedData,
        out: np.ndarray,
        *,
        skipped: np.ndarray | None = None,
        n_threads: int = 1,
    ) -> None:
        """Add the values of each row's leaf, ``values[leaf]``, to `out`, unless it is `skipped`."""
        from stakes.tree._leaf_kernels import add_leaf_values

        tree, values = self.arrays(binned), frozen(values)
        left_out = frozen(np.empty(0, dtype=bool) if skipped is None else skipped)

        def run(first: int, stop: int) -> None:
            add_leaf_values(tree, values, left_out, first, stop, out)

        for_each_chunk(run, len(binned), n_threads, CHUNK)

    def node_sums(
        self, binned: BinnedData, costs: Costs, weight: np.ndarray | None, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of costs and class weights that some rows bring to each node."""
        from stakes.tree._leaf_kernels import sum_up

        leaf = self.leaf_nodes[self.apply(binned)[rows]]
        weight = np.ones(len(leaf)) if weight is None else weight[rows]
        class_sums = np.zeros_like(self.class_sums)
        np.add.at(class_sums, (leaf, costs.y[rows]), weight)
        np.add.at(class_sums, (leaf, -1), weight)
        cost_sums = np.zeros_like(self.cost_sums)
        np.add.at(cost_sums, leaf, weight[:, None] * costs.rows(rows))
        for table in (class_sums, cost_sums):
            sum_up(self.nodes, self.leaves, table)
        return cost_sums, class_sums

    def add_rows(
        self, binned: BinnedData, costs: Costs, weight: np.ndarray | None, rows: np.ndarray
    ) -> None:
        """Learn the costs of the leaves from more rows; the splits stay."""
        cost_sums, class_sums = self.node_sums(binned, costs, weight, rows)
        self.cost_sums = self.cost_sums + cost_sums
        self.class_sums = self.class_sums + class_sums
        self.decisions = self.cost_sums[self.leaf_nodes].argmin(axis=1)

    def smoothed(self, smoothing: float) -> "CostTree":
        """Return the tree as if each node held so many average rows of the whole tree besides.

        A few rows without a rare and expensive label do not prove that it is absent there.

        Examples
        --------
        Three rows of label 0 and weight 1 on the left, one of label 1 and weight 9 on the right:
        an average row has weight 3, of which 9 / 12 is of label 1.

        >>> from stakes.tree import CostTreeClassifier
        >>> tree = CostTreeClassifier(criterion="variance", min_samples_leaf=1)
        >>> tree = tree.fit([[0], [0], [0], [1]], [0, 0, 0, 1], sample_weight=[1, 1, 1, 9]).tree_
        >>> tree.class_shares.tolist(), tree.smoothed(1.0).class_shares.tolist()
        ([[1.0, 0.0], [0.0, 1.0]], [[0.625, 0.375], [0.0625, 0.9375]])
        """
        if smoothing == 0.0:
            return self
        more = smoothing / self.nodes[0, N_ROWS]
        return replace(
            self,
            cost_sums=self.cost_sums + more * self.cost_sums[0],
            class_sums=self.class_sums + more * self.class_sums[0],
        )


class RelationTree:
    """A tree on x whose leaves say of each decision whether it is accepted.

    Parameters
    ----------
    tree : CostTree
        Grown on minus the weights of the pairs.
    """

    def __init__(self, tree: CostTree):
        self.fires = tree.cost_sums[tree.leaf_nodes] < 0.0
        self.tree = copy(tree)  # without the sums of its nodes, which are most of it
        self.tree.cost_sums = self.tree.class_sums = self.tree.gains = None
        self.tree.nodes = tree.nodes.astype(np.int32)

    def __repr__(self) -> str:
        return f"RelationTree({len(self.fires)} leaves)"

    def accepts(self, binned: BinnedData, n_threads: int = 1) -> np.ndarray:
        """Return which decisions are accepted for each row, (n, K)."""
        return self.fires[self.tree.apply(binned, n_threads)]
