"""Members that are cost trees: bins are computed once and shared by all of them."""

from typing import Any

import numpy as np

from stakes.costs import Costs
from stakes.reductions._members import ConstantMember, EstimatorLearner
from stakes.reductions._pairs import CHUNK_NUMBERS
from stakes.tree.engine import (
    BinnedData,
    CostTree,
    PackedTrees,
    RelationTree,
    Sums,
    TreeGrower,
)


class CostTreeLearner(EstimatorLearner):
    """Grows cost trees on rows of binned data; what `EstimatorLearner` is for the others.

    Parameters
    ----------
    estimator : CostTreeClassifier
        Says how trees grow.
    X : array-like or DataFrame
        The training data, on which the bins are placed.
    n_classes : int
        The labels are 0, ..., n_classes - 1.
    sample_weight : ndarray of shape (n_samples,) or None
        Rows of weight zero place no bin.
    smoothing : float
        As in `CostTree.smoothed`.
    grower : TreeGrower, default=None
        Where the bins have been placed already; then X is not looked at.
    """

    prefer = "threads"  # the kernels release the lock

    def __init__(
        self,
        estimator: Any,
        X: Any,
        n_classes: int,
        sample_weight: np.ndarray | None = None,
        smoothing: float = 0.0,
        grower: TreeGrower | None = None,
    ):
        super().__init__(estimator, n_classes)
        self.smoothing = smoothing
        self.grower = grower or TreeGrower(estimator, X, sample_weight)

    def prepare(self, X: Any) -> BinnedData:
        """Return the bins of X."""
        return self.grower.bin(X)

    def pack(self, members: list) -> PackedTrees:
        """Return two-label trees as one table."""
        trees = [2.0 * m.label - 1.0 if isinstance(m, ConstantMember) else m for m in members]
        return PackedTrees(trees, self.grower.bins)

    def _fit(self, X: Any, rows: Any, labels: np.ndarray, weight: Any, seed: int) -> CostTree:
        costs = Costs(labels, matrix=1.0 - np.eye(self.n_classes))
        X = X if rows is None else X.take(rows)
        tree, _ = self.grower.grow(X, costs, weight, seed=seed, shuffle_ties=True)
        return tree.smoothed(self.smoothing)

    def _labels(self, member: CostTree, X: BinnedData) -> np.ndarray:
        return member.predict(X)

    def leaf_shares(self, member: CostTree) -> np.ndarray:
        """Return what each leaf of a member votes for, (n_leaves, n_classes)."""
        return member.class_shares

    def _shares(self, member: CostTree, X: BinnedData) -> np.ndarray:
        return self.leaf_shares(member)[member.apply(X)]

    def _margins(self, member: CostTree, X: BinnedData) -> np.ndarray:
        shares = member.class_shares
        return (shares[:, 1] - shares[:, 0])[member.apply(X)]


class SavingsTreeLearner(CostTreeLearner):
    """Grows trees on the costs themselves; a member votes with what each decision saves."""

    def fit_costs(
        self, X: BinnedData, savings: Costs, weight: Any, seed: int, sums: Sums | None = None
    ) -> CostTree:
        """Grow one tree on costs whose greatest of each row is 0: minus the savings."""
        return self.grower.grow(X, savings, weight, seed=seed, sums=sums)[0]

    def leaf_shares(self, member: CostTree) -> np.ndarray:
        """Return what the decisions save in each leaf: rows sum to anything."""
        return -member.values


class CostTreePairLearner(CostTreeLearner):
    """Grows trees on (x, decision), the decision a category that is asked for last.

    One tree on x is grown on the weights of all decisions at once, and each leaf parts its
    pairs by their decision, after it was smoothed. Asked for in any order, the decision would
    hide what x tells: where the classes are balanced a first question to x alone or to the
    decision alone gains nothing (an exclusive or), and a tree would stop at its root. It also
    means that no pair is ever built. The parameters are those of `CostTreeLearner`.
    """

    def chunk_rows(self, X: Any) -> int:
        """Return how many rows are asked at a time: a chunk holds one answer per pair."""
        return max(1, CHUNK_NUMBERS // self.n_classes)

    def fit_pairs(
        self,
        X: Any,
        pairs: np.ndarray,
        positive: np.ndarray,
        weights: Any,
        seed: int,
        sums: Sums | None = None,
    ) -> RelationTree:
        """Grow the tree of one round; as in `EstimatorPairLearner.fit_pairs`."""
        if weights is None:
            weights = np.zeros((len(X), self.n_classes))
            weights.ravel()[pairs] = np.where(positive, 1.0, -1.0)
        rows = np.flatnonzero(weights.any(axis=1))
        if len(rows) < len(X):
            X, weights = X.take(rows), weights[rows]
        y = np.zeros(len(X), np.int16)  # classes play no part
        costs = Costs(y, costs=np.negative(weights, out=weights))
        tree, _ = self.grower.grow(X, costs, seed=seed, sums=sums)
        return RelationTree(tree.smoothed(self.smoothing))

    def chunk(self, X: BinnedData, part: slice) -> BinnedData:
        """Return some rows; their pairs are never built."""
        return X.take(part)

    def chunk_length(self, chunk: BinnedData) -> int:
        """Return the number of rows of X in a chunk."""
        return len(chunk)

    def fires(self, member: Any, chunk: BinnedData) -> np.ndarray:
        """Return which pairs of a chunk the member accepts, (rows, n_classes)."""
        if isinstance(member, ConstantMember):
            return np.full((len(chunk), self.n_classes), member.label == 1)
        return member.accepts(chunk)
