"""Members that are cost trees: bins are computed once and shared by all of them."""

from copy import copy
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import check_array

from stakes.costs import Costs
from stakes.reductions._members import ConstantMember, EstimatorLearner, one_hot

# Parameters of CostTreeClassifier that describe how one tree grows.
GROWTH = (
    "criterion",
    "max_depth",
    "max_leaf_nodes",
    "min_samples_leaf",
    "min_cost_decrease",
    "max_features",
)
# Rows whose votes are counted at a time.
VOTE_ROWS = 16_384


class TreeGrower:
    """The bins of the training data, and how trees grow on them.

    Parameters
    ----------
    estimator : CostTreeClassifier
        Says how trees grow.
    X : array-like or DataFrame
        The training data, on which the bins are placed.
    sample_weight : ndarray of shape (n_samples,) or None
        Rows of weight zero place no bin.
    """

    def __init__(self, estimator: Any, X: Any, sample_weight=None):
        from stakes.tree._binning import Bins
        from stakes.tree._features import read_features

        X, mask, self.takes_frames = read_features(X, estimator.categorical_features)
        if not self.takes_frames and hasattr(X, "iloc"):
            X = X.to_numpy(dtype=np.float64)
        self.categorical = mask
        X = self.checked(X)
        if sample_weight is not None and not sample_weight.all():
            X = X[sample_weight > 0]
        self.bins = Bins.fit(X, max_bins=estimator.max_bins, categorical_features=mask)
        self.growth = {name: getattr(estimator, name) for name in GROWTH}
        self.ccp_alpha = estimator.ccp_alpha
        self.n_jobs = estimator.n_jobs

    def checked(self, X: Any) -> Any:
        """Return X as the bins take it: numbers, or a frame with categories."""
        from stakes.tree._features import NUMERIC_CHECKS, as_frame, check_frame

        if self.takes_frames:
            if not hasattr(X, "iloc"):
                X = as_frame(np.asarray(X, dtype=object), self.categorical)
            check_frame(X, self.categorical)
            return X
        return check_array(X, **NUMERIC_CHECKS, input_name="X", estimator="CostTreeClassifier")

    def bin(self, X: Any) -> Any:
        """Return the bin codes of X."""
        from stakes.tree._grow import resolve_threads

        return self.bins.transform(self.checked(X), resolve_threads(self.n_jobs))

    def grow(self, binned, costs: Costs, weight, seed: int, **more) -> Any:
        """Grow one tree, and prune it where that is asked for."""
        from stakes.tree._grow import grow_cost_tree, resolve_threads
        from stakes.tree._pruning import prune

        tree, _ = grow_cost_tree(
            binned,
            costs,
            weight,
            random_state=seed,
            n_threads=resolve_threads(self.n_jobs),
            return_leaves=False,
            **self.growth,
            **more,
        )
        return prune(tree, self.ccp_alpha) if self.ccp_alpha > 0.0 else tree


def lean_to_average(tree: Any, smoothing: float) -> Any:
    """Return the tree as if each node held so many average rows of the whole tree besides.

    A few rows without a rare and dear label do not prove that it is absent there.

    Examples
    --------
    Three rows of label 0 and weight 1 on the left, one of label 1 and weight 9 on the right: an
    average row has weight 3, of which 9 / 12 is of label 1.

    >>> from stakes.reductions._tree_members import lean_to_average
    >>> from stakes.tree import CostTreeClassifier
    >>> tree = CostTreeClassifier(criterion="variance", min_samples_leaf=1)
    >>> tree = tree.fit([[0], [0], [0], [1]], [0, 0, 0, 1], sample_weight=[1, 1, 1, 9]).tree_
    >>> tree.class_shares.tolist(), lean_to_average(tree, 1.0).class_shares.tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [[0.625, 0.375], [0.0625, 0.9375]])
    """
    from stakes.tree._kernels import N_ROWS
    from stakes.tree._structure import CostTree

    if smoothing == 0.0:
        return tree
    more = smoothing / tree.nodes[0, N_ROWS]
    return CostTree(
        tree.nodes,
        tree.gains,
        tree.sets,
        tree.leaves,
        tree.n_leaves,
        tree.cost_sums + more * tree.cost_sums[0],
        tree.class_sums + more * tree.class_sums[0],
        tree.bins,
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
        As in `lean_to_average`.
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
        tree = self.grower.grow(X, costs, weight, seed, shuffle_ties=True)
        return lean_to_average(tree, self.smoothing)

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

    def pack(self, members: list) -> "PackedTrees":
        """Return two-label trees as one table."""
        return PackedTrees(members, self.grower.bins)

    def margin(self, member: Any, X: Any) -> np.ndarray:
        """Return how much a two-label tree leans to label 1."""
        if isinstance(member, ConstantMember):
            return np.full(len(X), 2.0 * member.label - 1.0)
        shares = member.class_shares
        return (shares[:, 1] - shares[:, 0])[member.apply(X)]


class PackedTrees:
    """Many two-label trees as one table, to be asked together.

    Parameters
    ----------
    members : list of CostTree or ConstantMember
        Trees on the same bins.
    bins : Bins
        Those bins.
    """

    def __init__(self, members: list, bins: Any):
        from stakes.reductions._kernels import WORDS, pack_tree

        sizes = [1 if isinstance(m, ConstantMember) else len(m.nodes) for m in members]
        self.roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        self.words = np.empty(sum(sizes), np.int64)
        self.sets = np.zeros((sum(sizes), WORDS), np.uint64)
        self.margins = np.zeros(sum(sizes))
        leaf = np.full((1, 8), -1)
        no_set = np.zeros((1, WORDS), np.uint64)
        for member, start in zip(members, self.roots):
            if isinstance(member, ConstantMember):
                nodes, sets, margins = leaf, no_set, np.array([2.0 * member.label - 1.0])
            else:
                nodes, sets = member.nodes, member.sets
                shares = member.class_sums[:, :2] / member.class_sums[:, 2:]
                margins = shares[:, 1] - shares[:, 0]
            pack_tree(
                nodes,
                sets,
                bins.n_values,
                bins.is_categorical,
                margins,
                start,
                self.words,
                self.sets,
                self.margins,
            )

    def vote(self, X, pairs, n_classes: int, *, n_jobs=None, leaning=None) -> tuple:
        """Return the votes and the summed margins of each class, (n_classes, n_rows)."""
        from stakes.reductions._kernels import vote_pairs

        votes = np.zeros((n_classes, len(X)))
        margins = np.zeros((n_classes, len(X)))
        if leaning is None:
            leaning = np.empty((0, 0), dtype=bool)
        pairs = np.asarray(pairs, dtype=np.int64)
        Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(vote_pairs)(
                X.codes,
                self.words,
                self.sets,
                self.margins,
                self.roots,
                pairs,
                first,
                min(first + VOTE_ROWS, len(X)),
                votes,
                margins,
                leaning,
            )
            for first in range(0, len(X), VOTE_ROWS)
        )
        return votes, margins


class SavingsTreeLearner(CostTreeLearner):
    """Grows trees on the costs themselves; a member votes with what each decision saves."""

    def fit_costs(self, X: Any, savings: Costs, weight, seed: int) -> Any:
        """Grow one tree on costs whose greatest of each row is 0: minus the savings."""
        return self.grower.grow(X, savings, weight, seed)

    def proba(self, member: Any, X: Any) -> np.ndarray:
        """Return the mean savings of each decision in the leaves; rows sum to anything."""
        return -member.values[member.apply(X)]


class RelationTree:
    """A tree on x whose leaves say of each decision whether it is accepted.

    Parameters
    ----------
    tree : CostTree
        Grown on minus the weights of the pairs.
    """

    def __init__(self, tree: Any):
        self.fires = tree.cost_sums[tree.leaf_nodes] < 0.0
        self.tree = copy(tree)  # without the sums of its nodes, which are most of it
        self.tree.cost_sums = self.tree.class_sums = self.tree.gains = None
        self.tree.nodes = tree.nodes.astype(np.int32)

    def __repr__(self) -> str:
        return f"RelationTree({len(self.fires)} leaves)"


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
        As in `lean_to_average`, before a leaf says what it accepts.
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
        tree = self.grower.grow(X, costs, None, seed)
        return RelationTree(lean_to_average(tree, self.smoothing))

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
        return member.fires[member.tree.apply(X.take(slice(first, stop)))]
