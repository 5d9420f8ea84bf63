"""Members that are cost trees: bins are computed once and shared by all of them."""

from typing import Any

import numpy as np

from stakes.costs import Costs
from stakes.reductions._members import ConstantMember, EstimatorLearner, one_hot
from stakes.tree.engine import PackedTrees, TreeGrower


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
    """

    prefer = "threads"  # the kernels release the lock

    def __init__(self, estimator: Any, X: Any, n_classes: int, sample_weight=None, smoothing=0.0):
        super().__init__(estimator, n_classes)
        self.smoothing = smoothing
        self.grower = TreeGrower(estimator, X, sample_weight)

    def prepare(self, X: Any) -> Any:
        """Return the bins of X."""
        return self.grower.bin(X)

    def fit(self, X: Any, rows, labels: np.ndarray, weight, seed: int) -> Any:
        """Grow one tree on `X[rows]` (all of X if None); a lone label needs none."""
        if labels[0] == labels[-1] and (labels == labels[0]).all():
            return ConstantMember(labels[0])
        costs = Costs(labels, matrix=1.0 - np.eye(self.n_classes))
        X = X if rows is None else X.take(rows)
        tree, _ = self.grower.grow(X, costs, weight, seed=seed, shuffle_ties=True)
        return tree.smoothed(self.smoothing)

    def predict(self, member: Any, X: Any) -> np.ndarray:
        """Return the member's labels."""
        if isinstance(member, ConstantMember):
            return np.full(len(X), member.label)
        return member.predict(X)

    def proba(self, member: Any, X: Any) -> np.ndarray:
        """Return the shares of the labels in the leaves, (n, n_classes)."""
        if isinstance(member, ConstantMember):
            return one_hot(self.predict(member, X), self.n_classes)
        return member.class_shares[member.apply(X)]

    def pack(self, members: list) -> PackedTrees:
        """Return two-label trees as one table."""
        trees = [2.0 * m.label - 1.0 if isinstance(m, ConstantMember) else m for m in members]
        return PackedTrees(trees, self.grower.bins)

    def margin(self, member: Any, X: Any) -> np.ndarray:
        """Return how much a two-label tree leans to label 1."""
        if isinstance(member, ConstantMember):
            return np.full(len(X), 2.0 * member.label - 1.0)
        shares = member.class_shares
        return (shares[:, 1] - shares[:, 0])[member.apply(X)]


class SavingsTreeLearner(CostTreeLearner):
    """Grows trees on the costs themselves; a member votes with what each decision saves."""

    def fit_costs(self, X: Any, savings: Costs, weight, seed: int) -> Any:
        """Grow one tree on costs whose greatest of each row is 0: minus the savings."""
        return self.grower.grow(X, savings, weight, seed=seed)[0]

    def proba(self, member: Any, X: Any) -> np.ndarray:
        """Return the mean savings of each decision in the leaves; rows sum to anything."""
        return -member.values[member.apply(X)]


class CostTreePairLearner:
    """Grows trees on (x, decision), the decision a category that is asked for last.

    One tree on x is grown on the weights of all decisions at once, and each leaf parts its
    pairs by their decision. Asked for in any order, the decision would hide what x tells:
    where the classes are balanced a first question to x alone or to the decision alone gains
    nothing (an exclusive or), and a tree would stop at its root. It also means that no pair is
    ever built.

    Parameters
    ----------
    estimator : CostTreeClassifier
        Says how trees grow.
    X : array-like or DataFrame
        The training data, on which the bins are placed.
    n_classes : int
        The number of decisions.
    sample_weight : ndarray of shape (n_samples,) or None
        Rows of weight zero place no bin.
    smoothing : float
        As in `CostTree.smoothed`, before a leaf says what it accepts.
    """

    takes_weights = True
    prefer = "threads"

    def __init__(self, estimator: Any, X: Any, n_classes: int, sample_weight=None, smoothing=0.0):
        self.estimator = estimator
        self.smoothing = smoothing
        self.n_classes = n_classes
        self.width = 1  # a chunk holds one answer per pair
        self.grower = TreeGrower(estimator, X, sample_weight)

    def prepare(self, X: Any) -> Any:
        """Return the bins of X."""
        return self.grower.bin(X)

    def fit(self, X, pairs, positive, weights, seed: int) -> Any:
        """Grow the tree of one round; as in `EstimatorPairLearner.fit`."""
        if weights is None:
            weights = np.zeros((len(X), self.n_classes))
            weights.ravel()[pairs] = np.where(positive, 1.0, -1.0)
        rows = np.flatnonzero(weights.any(axis=1))
        if len(rows) < len(X):
            X, weights = X.take(rows), weights[rows]
        y = np.zeros(len(X), np.int16)  # classes play no part
        costs = Costs(y, costs=np.negative(weights, out=weights))
        tree, _ = self.grower.grow(X, costs, seed=seed)
        return tree.smoothed(self.smoothing).relation()

    def chunk(self, X, part: slice) -> tuple:
        """Return some rows; their pairs are never built."""
        return X, part.start, min(part.stop, len(X))

    def chunk_length(self, chunk) -> int:
        """Return the number of rows of X in a chunk."""
        return chunk[2] - chunk[1]

    def fires(self, member, chunk) -> np.ndarray:
        """Return which pairs of a chunk the member accepts, (rows, n_classes)."""
        X, first, stop = chunk
        if isinstance(member, ConstantMember):
            return np.full((stop - first, self.n_classes), member.label == 1)
        return member.accepts(X.take(slice(first, stop)))
