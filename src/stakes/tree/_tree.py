"""A classifier that is one tree grown on costs."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from stakes._base import COST_MATRIX_CONSTRAINT, ExpectedCostMixin
from stakes._learning.folds import hold_out, hold_out_places
from stakes._learning.statement import Statement
from stakes._learning.votes import expected_rows
from stakes._methods import method, with_options
from stakes.costs import Costs
from stakes.tree._binning import BinnedData, Bins
from stakes.tree._features import Columns, check_features
from stakes.tree._grow import CRITERIA, label_dtype
from stakes.tree._grower import Share, TreeGrower, place_bins
from stakes.tree._structure import CostTree
from stakes.tree._threads import resolve_threads
from stakes.utils._sklearn import Interval, StrOptions
from stakes.utils._sums import Sums

# What a tree and the trees of a forest share.
GROWTH_CONSTRAINTS: dict = {
    "cost_matrix": COST_MATRIX_CONSTRAINT,
    "criterion": [StrOptions(set(CRITERIA))],
    "max_depth": [Interval(Integral, 0, None, closed="left"), None],
    "max_leaf_nodes": [Interval(Integral, 1, None, closed="left"), None],
    "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
    "min_cost_decrease": [Interval(Real, 0, None, closed="left")],
    "max_features": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Real, 0, 1, closed="right"),
        StrOptions({"sqrt", "log2"}),
        None,
    ],
    "max_bins": [Interval(Integral, 2, 255, closed="both")],
    "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
    "random_state": ["random_state"],
    "n_jobs": [Integral, None],
}


@dataclass(eq=False, repr=False)
class BaseCostTrees(ExpectedCostMixin, BaseEstimator):
    """What a tree and a forest share: features to bins, and decisions from expected costs."""

    _weighs_cost_tensor = True
    _states = "both"
    _states_for: ClassVar[dict[str, str]] = {"hindsight": "costs"}

    # Parameters are fields of a dataclass, which writes the constructor: a subclass adds its own.
    cost_matrix: Any = None
    _: KW_ONLY
    criterion: str = "cost"
    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_leaf: int = 10
    min_cost_decrease: float = 0.0
    max_features: Any = None
    max_bins: int = 255
    categorical_features: Any = "from_dtype"
    random_state: Any = None
    n_jobs: int | None = None

    _columns: Columns = field(init=False)

    @property
    def _trees(self) -> list[CostTree]:
        raise NotImplementedError

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        return check_features(self, X, reset=reset, categorical_features=self.categorical_features)

    def _bin_training(self, X: Any, costs: Costs, sample_weight: np.ndarray | None) -> BinnedData:
        """Set `bins_`, and return the bin codes of the training rows."""
        # with many rows, the rest of the fit lives beside the classes
        costs.y = costs.y.astype(label_dtype(costs.n_classes))
        n_threads = resolve_threads(self.n_jobs)
        self.bins_ = self._place_bins(X, sample_weight, n_threads)
        return self.bins_.transform(X, n_threads)

    def _place_bins(self, X: Any, sample_weight: np.ndarray | None, n_threads: int) -> Bins:
        return place_bins(X, self.max_bins, self._columns, sample_weight, n_threads)

    def _bin(self, X: Any) -> BinnedData:
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        return self.bins_.transform(X, resolve_threads(self.n_jobs))

    def _average(self, X: Any, values_of: Callable[[CostTree], np.ndarray]) -> np.ndarray:
        """Return the values of each row's leaves, averaged over the trees, a column for each."""
        binned = self._bin(X)
        out = np.zeros((len(binned), values_of(self._trees[0]).shape[1]))
        n_threads = resolve_threads(self.n_jobs)
        for tree in self._trees:
            tree.add_values(values_of(tree), binned, out, n_threads=n_threads)
        out /= len(self._trees)
        return out

    def _expected_costs(self, X: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        if cost_tensor is not None:
            return expected_rows(self.predict_proba(X), cost_tensor)
        return self._average(X, lambda tree: tree.values)

    def _state(
        self, X: Any, cost_tensor: np.ndarray | None = None, *, proba: bool = False
    ) -> Statement:
        """Say both from one walk down the trees, where both are wanted."""
        if not proba:
            return Statement(expected=self._expected_costs(X, cost_tensor))
        if cost_tensor is not None:
            shares = self.predict_proba(X)
            return Statement(proba=shares, expected=expected_rows(shares, cost_tensor))
        both = self._average(X, lambda tree: np.hstack([tree.values, tree.class_shares]))
        n_decisions = both.shape[1] - len(self.classes_)
        expected, shares = both[:, :n_decisions], both[:, n_decisions:]
        return self._stated_both(np.ascontiguousarray(expected), np.ascontiguousarray(shares))

    def _stated_both(self, expected: np.ndarray, shares: np.ndarray) -> Statement:
        return Statement(proba=shares, expected=expected)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the class shares in each row's leaf, averaged over the trees.

        They are shares of training rows, not corrected for the costs: a decision made on them
        by any cost matrix is sound as far as the leaves are large or the trees are many.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        return self._average(X, lambda tree: tree.class_shares)

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of the saved cost that each feature's splits have saved, averaged."""
        check_is_fitted(self)
        return np.mean([tree.feature_importances() for tree in self._trees], axis=0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags


@method(
    "tree",
    family="tree",
    exports=("onnx", "c"),
    build=with_options(max_depth=8, min_samples_leaf=20),
    fast=True,
)
@dataclass(eq=False, repr=False, kw_only=True)
class CostTreeClassifier(BaseCostTrees):
    r"""Cost tree: one tree whose splits and leaves minimise the cost of decisions.

    A leaf decides what costs its training rows least; a split is the one whose two sides,
    each with its own best decision, cost least. It serves class costs and costs known in
    hindsight, of which it learns how they depend on X. Costs known when deciding
    (`cost_tensor` of `predict`) are weighed by the class shares of the leaves, as
    probabilities. For accuracy beyond one readable tree use `CostForestClassifier`.

    Parameters
    ----------
    cost_matrix : CostMatrix, array-like of shape (n_classes, n_classes), str or None, default=None
        ``cost_matrix[true, predicted]``, in the order of `classes_`. None is 0/1. Costs of
        examples go to `fit`.
    criterion : {"cost", "variance"}, default="cost"
        What a split minimises: the cost of its two sides, ties broken by the variance; or the
        variance of the cost vectors around the mean of their side. "cost" decides better where
        the tree is small; "variance" gives better `expected_costs` where it is deep.
    max_depth : int or None, default=8
        The most questions to a leaf; None is no limit, 0 decides the same for all. A tree without
        limit follows single rows: on credit data it saves 0.34 where one of depth 8 saves 0.48.
        Where there are many classes and rows, more depth pays (`validation_fraction` finds out).
    max_leaf_nodes : int or None, default=None
        If given, the split that saves most is made first, until there are so many leaves.
    min_samples_leaf : int, default=10
        The fewest training rows in a leaf. A leaf of one row knows its class and nothing of
        what mistakes cost: the costs are only felt where leaves hold several rows.
    min_cost_decrease : float, default=0.0
        A split must lower the average cost of the training rows by this much. With 0, a split
        that saves nothing itself is still made if it lowers the variance.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Features drawn at random for each split. None: all.
    ccp_alpha : float, default=0.0
        Cost-complexity pruning: branches that save less than this much of the average cost for
        each of their leaves are cut.
    validation_fraction : float or None, default=None
        If given, `ccp_alpha` is chosen: the tree grows without this share of the rows, is
        pruned to where it costs least on them, and then learns the costs of its leaves from all
        rows.
    max_bins : int, default=255
        The most bins of a feature.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Which columns hold categories: those of a DataFrame that hold neither numbers nor dates,
        or a mask, positions or names. Dates are cut as days since 1970. Beyond `max_bins` categories the rarest share a bin.
    random_state : int, RandomState instance or None, default=None
        Draws the features of `max_features` and the rows of `validation_fraction`.
    n_jobs : int or None, default=None
        Threads. None: one, or as many as joblib is set to use; -1: all. The tree does not
        depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The class costs, or the mean costs of the examples of each class.
    cost_kind_ : str
        The kind of costs seen in `fit`: "class", "deciding" or "hindsight".
    tree_ : CostTree
        The nodes.
    bins_ : Bins
        Where the features are cut.
    ccp_alpha_ : float
        The strength of pruning in force.
    feature_importances_ : ndarray of shape (n_features,)
        The share of the saved cost that each feature's splits have saved.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    CostForestClassifier : Many such trees, averaged.
    export_cost_tree, plot_cost_tree : Read the tree.

    Notes
    -----
    Among the splits of the same cost the one of least variance is taken, then the first
    feature, then the first cut: the sum of least costs alone has plateaus on which no split
    saves anything. Missing values try both sides. Categories are parted in two subsets: all
    ways are tried up to six categories; more are ordered by what one decision costs more than
    another, for the pair of decisions that costs least and for the node's own decision with
    every other. A missing value or a category that a node has not seen follows its larger
    child. A sparse X is binned column by column, and what it does not store is 0: the result is
    that of the dense X, at one byte a value. By Theorem 2 of [1]_ growing on the costs is the same as growing a classifier on the
    expanded sample of data space expansion, without expanding it.

    References
    ----------
    .. [1] N. Abe, B. Zadrozny, J. Langford, "An Iterative Method for Multi-class Cost-sensitive
       Learning", KDD 2004.

    Examples
    --------
    Half of the rows above 2 are of class 1, and missing one costs 5 times a false alarm:

    >>> from stakes.tree import CostTreeClassifier
    >>> X, y = [[1], [2], [3], [4], [3], [4]], [0, 0, 0, 0, 1, 1]
    >>> tree = CostTreeClassifier([[0, 1], [5, 0]], min_samples_leaf=2).fit(X, y)
    >>> tree.predict([[1], [4]])
    array([0, 1])
    >>> tree.expected_costs([[1], [4]])
    array([[0. , 1. ],
           [2.5, 0.5]])
    >>> tree.predict_proba([[4]])
    array([[0.5, 0.5]])
    """

    max_depth: int | None = 8
    ccp_alpha: float = 0.0
    validation_fraction: float | None = None

    _parameter_constraints: ClassVar[dict] = {
        **GROWTH_CONSTRAINTS,
        "ccp_alpha": [Interval(Real, 0, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither"), None],
    }

    def _fit(self, X: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        binned = self._bin_training(X, costs, sample_weight)
        held_out = None
        if self.validation_fraction is not None:
            held_out = hold_out(costs.y, self.validation_fraction, self.random_state)
        self._grow(binned, costs, sample_weight, held_out, Sums())

    _sums_over_workers = True

    def _reader(self, n_rows: int) -> tuple[Self, int]:
        return self, self.max_bins

    def _learn_share(self, share: Share, sums: Sums) -> None:
        held_out, self.bins_ = None, share.binned.bins
        if self.validation_fraction is not None:
            where = share.positions, self.validation_fraction, self.random_state
            held_out = hold_out_places(*where)
        self._grow(share.binned, share.costs, share.weight, held_out, sums)

    def _grow(
        self,
        binned: BinnedData,
        costs: Costs,
        sample_weight: np.ndarray | None,
        held_out: np.ndarray | None,
        sums: Sums,
    ) -> None:
        """Grow and prune the tree; the rows may be those of one of several processes."""
        grower = TreeGrower(self, None, columns=self._columns, bins=self.bins_)
        how = {"seed": self.random_state, "held_out": held_out, "sums": sums}
        self.tree_, _ = grower.grow(binned, costs, sample_weight, **how)
        self.ccp_alpha_ = grower.ccp_alpha

    @property
    def _trees(self) -> list[CostTree]:
        return [self.tree_]

    def apply(self, X: Any) -> np.ndarray:
        """Return the leaf of each row, numbered from left to right, (n_samples,).

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Examples.
        """
        binned = self._bin(X)
        return self.tree_.apply(binned, resolve_threads(self.n_jobs))

    def get_depth(self) -> int:
        """Return the most questions that lead to a leaf."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves


def is_cost_tree(estimator: Any) -> bool:
    """Say whether trees like this estimator can be grown directly, on bins that are shared.

    A tree that holds out rows (`validation_fraction`) cannot; one that is pruned can.
    """
    return type(estimator) is CostTreeClassifier and estimator.validation_fraction is None
