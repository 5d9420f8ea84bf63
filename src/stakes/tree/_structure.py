"""A grown tree: arrays of its nodes, and what to read from them."""

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from stakes.costs import Costs
from stakes.tree._binning import MAX_BINS, BinnedData, Bins, frozen
from stakes.tree._columns import (
    CUT,
    DEPTH,
    FEATURE,
    LEFT,
    MISSING,
    N_COLUMNS,
    N_ROWS,
    RIGHT,
    WORDS,
)
from stakes.tree._threads import for_each_chunk
from stakes.utils._arrays import check_tree_links, is_table
from stakes.utils._sums import Sums, exact_total, fixed

# Rows that one thread takes at a time.
CHUNK = 16_384


class Questions(NamedTuple):
    """A tree for those who know nothing of bins: what each node asks of a row.

    A child comes after its parent. A row goes left where its number is at most the threshold, or
    where its category is in the set; a missing number where `missing_left` says so.

    Parameters
    ----------
    feature, left, right : ndarray of shape (n_nodes,)
        The column that is asked about, and the children; -1 for a leaf.
    threshold : ndarray of shape (n_nodes,)
        The greatest number that goes left; minus or plus infinity where none does, or all do.
    missing_left : ndarray of shape (n_nodes,), dtype bool
        Where missing numbers go.
    categories : dict of int to ndarray of bool
        For a node that asks about a category, the bins that go left; the last is the one of
        missing and unknown categories.
    leaf : ndarray of shape (n_nodes,)
        The position of each leaf from left to right, -1 for the other nodes.
    """

    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    categories: dict[int, np.ndarray]
    left: np.ndarray
    right: np.ndarray
    leaf: np.ndarray


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
        What each decision costs the training rows of each node in sum; of each leaf alone, after
        `without_inner_sums`.
    class_sums : ndarray of shape (n_nodes, n_classes + 1)
        The weight of each class and of all rows; (n_nodes, 1) if the classes are not known. Of
        the same nodes.
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

    def _check_structure(self) -> None:
        """Refuse a tree, read from a file, that does not hold together: kernels look at nothing."""
        nodes, n_nodes, n_leaves = self.nodes, len(self.leaves), len(self.leaf_nodes)
        kind = np.int32 if self.cost_sums is None else np.int64  # of a `RelationTree`
        holds = (
            is_table(nodes, kind, (n_nodes, N_COLUMNS))
            and is_table(self.sets, np.uint64, (n_nodes, WORDS))
            and is_table(self.leaves, np.int32, (n_nodes,))
            and is_table(self.leaf_nodes, np.int64, (n_leaves,))
            and is_table(self.decisions, np.int64, (n_leaves,))
        )
        if holds:
            check_tree_links(nodes[:, LEFT], nodes[:, RIGHT], "A cost tree")
            split = nodes[:, LEFT] >= 0
            asked = nodes[split, FEATURE]
            cuts = nodes[split, CUT]
            holds = (
                bool(((asked >= 0) & (asked < self.bins.n_features)).all())
                and bool(((cuts >= -1) & (cuts <= MAX_BINS)).all())
                and bool(((self.leaves < 0) == split).all())
                and n_leaves == np.count_nonzero(~split)
                and np.array_equal(self.leaves[self.leaf_nodes], np.arange(n_leaves))
                and self.decisions.min() >= 0
            )
        for sums, sizes in (
            (self.cost_sums, (n_nodes, n_leaves)),
            (self.class_sums, (n_nodes, n_leaves)),
            (self.gains, (n_nodes,)),
        ):
            holds &= sums is None or any(
                is_table(sums, np.float64, (size, *sums.shape[1:2])) for size in sizes
            )
        if holds and self.cost_sums is not None:
            holds = self.decisions.max() < self.cost_sums.shape[1]
        if not holds:
            raise ValueError("A cost tree does not hold together.")

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
        return self._in_leaves(self.cost_sums) / self._in_leaves(self.class_sums)[:, -1:]

    @property
    def class_shares(self) -> np.ndarray:
        """Share of each class in each leaf, (n_leaves, n_classes)."""
        sums = self._in_leaves(self.class_sums)
        return sums[:, :-1] / sums[:, -1:]

    def _in_leaves(self, sums: np.ndarray) -> np.ndarray:
        return sums if len(sums) == self.n_leaves else sums[self.leaf_nodes]

    def of_choices(self, n_classes: int, n_decisions: int) -> "CostTree":
        """Return the tree with the sums of the first decisions and classes alone.

        The engine grows on as many classes as decisions; see `square_costs`.
        """
        kept = copy(self)
        kept.cost_sums = np.ascontiguousarray(self.cost_sums[:, :n_decisions])
        kept.class_sums = np.ascontiguousarray(
            np.column_stack([self.class_sums[:, :n_classes], self.class_sums[:, -1]])
        )
        return kept

    def without_inner_sums(self) -> "CostTree":
        """Return the tree with the sums of its leaves alone, which suffice to decide.

        With many classes they are most of a tree, and an ensemble keeps many trees. It can then
        be neither pruned, nor smoothed, nor learn from more rows.
        """
        kept = copy(self)
        kept.cost_sums = self._in_leaves(self.cost_sums)
        kept.class_sums = self._in_leaves(self.class_sums)
        return kept

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
        if len(binned.codes) != bins.n_features:
            raise ValueError(
                f"The tree asks about {bins.n_features} features, but there are {len(binned.codes)}."
            )
        given = (self.nodes, self.sets, self.leaves, bins.n_values, bins.is_categorical)
        return TreeArrays(frozen(binned.codes), *(frozen(array) for array in given))

    def questions(self) -> Questions:
        """Return the nodes in terms of the features themselves, for an export.

        Examples
        --------
        >>> from stakes.tree import CostTreeClassifier
        >>> tree = CostTreeClassifier(min_samples_leaf=1).fit([[1], [3]], [0, 1]).tree_
        >>> asked = tree.questions()
        >>> asked.threshold.tolist(), asked.left.tolist(), asked.leaf.tolist()
        ([2.0, 0.0, 0.0], [1, -1, -1], [-1, 0, 1])
        """
        nodes, bins = self.nodes, self.bins
        split = self.leaves < 0
        feature = np.where(split, nodes[:, FEATURE], -1).astype(np.int64)
        threshold, categories = np.zeros(len(nodes)), {}
        for node in np.flatnonzero(split).tolist():
            f = int(feature[node])
            if bins.is_categorical[f]:
                codes = np.arange(int(bins.n_values[f]) + 1)
                words = self.sets[node][codes >> 6] >> (codes & 63).astype(np.uint64)
                categories[node] = (words & np.uint64(1)).astype(bool)
            else:
                edges = np.concatenate([[-np.inf], bins.edges[f], [np.inf]])
                threshold[node] = edges[min(int(nodes[node, CUT]) + 1, len(edges) - 1)]
        return Questions(
            feature=feature,
            threshold=threshold,
            missing_left=split & (nodes[:, MISSING] == 1),
            categories=categories,
            left=nodes[:, LEFT].astype(np.int64),
            right=nodes[:, RIGHT].astype(np.int64),
            leaf=self.leaves.astype(np.int64),
        )

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
        if values.shape != (self.n_leaves, out.shape[1]):
            raise ValueError(
                f"The leaves have values of shape {values.shape}, but there are {self.n_leaves} "
                f"leaves and {out.shape[1]} classes."
            )
        left_out = frozen(np.empty(0, dtype=bool) if skipped is None else skipped)

        def run(first: int, stop: int) -> None:
            add_leaf_values(tree, values, left_out, first, stop, out)

        for_each_chunk(run, len(binned), n_threads, CHUNK)

    def node_sums(
        self,
        binned: BinnedData,
        costs: Costs,
        weight: np.ndarray | None,
        rows: np.ndarray,
        sums: Sums,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of costs and class weights that some rows bring to each node."""
        from stakes.tree._leaf_kernels import sum_up

        leaf = self.leaf_nodes[self.apply(binned)[rows]]
        weight = np.ones(len(leaf)) if weight is None else weight[rows]
        priced = weight[:, None] * costs.rows(rows)
        if sums.shared:
            weight = fixed(weight, exact_total(weight, sums))
            priced = fixed(priced, exact_total(np.abs(priced).sum(axis=1), sums))
        class_sums = np.zeros_like(self.class_sums)
        np.add.at(class_sums, (leaf, costs.y[rows]), weight)
        np.add.at(class_sums, (leaf, -1), weight)
        cost_sums = np.zeros_like(self.cost_sums)
        np.add.at(cost_sums, leaf, priced)
        for table in (class_sums, cost_sums):
            sums.total(table)
            sum_up(self.nodes, self.leaves, table)
        return cost_sums, class_sums

    def add_rows(self, *rows: Any) -> None:
        """Learn the costs of the leaves from more rows, given as to `node_sums`; the splits stay."""
        cost_sums, class_sums = self.node_sums(*rows)
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

    def _check_structure(self) -> None:
        """Refuse what a file says of the leaves if it does not fit them."""
        if not is_table(self.fires, np.bool_, (self.tree.n_leaves, *self.fires.shape[1:2])):
            raise ValueError("A tree of accepted decisions does not hold together.")

    def __repr__(self) -> str:
        return f"RelationTree({len(self.fires)} leaves)"

    def accepts(self, binned: BinnedData, n_threads: int = 1) -> np.ndarray:
        """Return which decisions are accepted for each row, (n, K)."""
        return self.fires[self.tree.apply(binned, n_threads)]
