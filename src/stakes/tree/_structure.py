"""A grown tree: arrays of its nodes, and what to read from them."""

import numpy as np

from stakes.tree._binning import BinnedData, Bins


class CostTree:
    """A tree grown on costs, on binned features.

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes, 8)
        Columns as named in `_kernels`: feature, cut, missing, left, right, depth, rows, buffer.
    leaves : ndarray of shape (n_nodes,)
        Position of each leaf from left to right; -1 for the other nodes.
    decisions : ndarray of shape (n_leaves,)
        The decision of least cost in each leaf, as a position in `classes_`.
    values : ndarray of shape (n_leaves, n_classes)
        Mean cost of each decision in each leaf.
    """

    def __init__(self, nodes, gains, sets, leaves, n_leaves, cost_sums, class_sums, bins: Bins):
        self.nodes = nodes
        self.gains = gains
        self.sets = sets
        self.leaves = leaves
        self.cost_sums = cost_sums
        self.class_sums = class_sums
        self.bins = bins
        self.leaf_nodes = np.empty(n_leaves, dtype=np.int64)
        is_leaf = leaves >= 0
        self.leaf_nodes[leaves[is_leaf]] = np.flatnonzero(is_leaf)
        self.decisions = cost_sums[self.leaf_nodes].argmin(axis=1)

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return len(self.leaf_nodes)

    @property
    def values(self) -> np.ndarray:
        """Mean cost of each decision in each leaf."""
        return self.cost_sums[self.leaf_nodes] / self.class_sums[self.leaf_nodes, -1:]

    def apply(self, binned: BinnedData) -> np.ndarray:
        """Return the leaf of each row, as a position in `decisions`."""
        from stakes.tree._leaf_kernels import find_leaves

        out = np.empty(len(binned), dtype=np.int32)
        find_leaves(
            binned.codes,
            self.nodes,
            self.sets,
            self.leaves,
            self.bins.n_values,
            self.bins.is_categorical,
            0,
            len(binned),
            out,
        )
        return out

    def predict(self, binned: BinnedData) -> np.ndarray:
        """Return the decision for each row, as a position in `classes_`."""
        return self.decisions[self.apply(binned)]
