"""A forest of trees grown on costs."""

import warnings
from numbers import Integral, Real

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from stakes.tree._binning import frozen
from stakes.tree._grow import grow_cost_tree
from stakes.tree._grower import growth_of
from stakes.tree._structure import CHUNK
from stakes.tree._threads import for_each_chunk
from stakes.tree._tree import GROWTH_CONSTRAINTS, BaseCostTrees
from stakes.utils._sklearn import Interval, fit_context


class CostForestClassifier(BaseCostTrees):
    """A forest of randomised cost trees that averages what each decision costs.

    Each tree grows on a bootstrap sample and looks at a few features, drawn at random, for each
    split. The mean costs of a row's leaves are averaged over the trees, and the decision of
    least average cost is taken: nothing is voted, so the costs are felt once, at the end. It
    serves class costs (situation A) and costs that are known in training alone (B2). Where
    example costs are known when deciding (B1), use its `predict_proba` with a rule of
    `stakes.decision`. For one tree that can be read, use `CostTreeClassifier`.

    Parameters
    ----------
    cost_matrix : CostMatrix, array-like of shape (n_classes, n_classes), str or None, default=None
        ``cost_matrix[true, predicted]``, in the order of `classes_`. None is 0/1. Costs of
        examples go to `fit`.
    n_estimators : int, default=100
        The number of trees.
    criterion : {"cost", "variance"}, default="variance"
        What a split minimises: see `CostTreeClassifier`. Averages of many deep trees gain from
        "variance", which parts rows of different costs even where the decision is the same.
    max_depth : int or None, default=None
        The most questions to a leaf.
    max_leaf_nodes : int or None, default=None
        If given, trees grow best split first, until there are so many leaves.
    min_samples_leaf : int, default=1
        The fewest different training rows in a leaf.
    min_cost_decrease : float, default=0.0
        A split must lower the average cost of the training rows by this much.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Features drawn at random for each split.
    bootstrap : bool, default=True
        Whether each tree has its own sample of the rows, drawn with replacement.
    max_samples : int, float or None, default=None
        How many rows are drawn for a tree, or the share of them. None: as many as there are.
    oob_score : bool, default=False
        Whether to estimate the cost out of bag: see `oob_cost_`.
    warm_start : bool, default=False
        Whether another `fit` keeps the trees there are and only adds the missing ones.
    max_bins : int, default=255
        The most bins of a feature.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Which columns hold categories: see `CostTreeClassifier`.
    random_state : int, RandomState instance or None, default=None
        Draws the samples and the features.
    n_jobs : int or None, default=None
        Trees that are grown at a time: see joblib. The forest does not depend on it.
    verbose : int, default=0
        Handed to joblib.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The class costs, or the mean costs of the examples of each class.
    trees_ : list of CostTree
        The trees.
    bins_ : Bins
        Where the features are cut, the same for all trees.
    oob_cost_ : float
        Average cost of the decisions on the training rows, each decided by the trees that have
        not seen it. Only with ``oob_score=True``.
    oob_expected_costs_ : ndarray of shape (n_samples, n_classes)
        The averages behind it; NaN where every tree has seen the row.
    feature_importances_ : ndarray of shape (n_features,)
        The share of the saved cost that each feature's splits have saved, averaged.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    CostTreeClassifier : One such tree.

    References
    ----------
    .. [1] L. Breiman, "Random Forests", Machine Learning 45, 2001, 5-32.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from stakes.tree import CostForestClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> C = [[0, 1, 5], [2, 0, 1], [9, 4, 0]]
    >>> forest = CostForestClassifier(C, n_estimators=20, random_state=0, oob_score=True)
    >>> bool(forest.fit(X, y).oob_cost_ < 0.2)
    True
    >>> forest.predict(X[:3])
    array([0, 0, 0])
    """

    _parameter_constraints: dict = {
        **GROWTH_CONSTRAINTS,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "bootstrap": ["boolean"],
        "max_samples": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
            None,
        ],
        "oob_score": ["boolean"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        cost_matrix=None,
        *,
        n_estimators=100,
        criterion="variance",
        max_depth=None,
        max_leaf_nodes=None,
        min_samples_leaf=1,
        min_cost_decrease=0.0,
        max_features="sqrt",
        bootstrap=True,
        max_samples=None,
        oob_score=False,
        warm_start=False,
        max_bins=255,
        categorical_features="from_dtype",
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.cost_matrix = cost_matrix
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.min_cost_decrease = min_cost_decrease
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        """Grow the trees.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Training examples; NaN is a missing value.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each example counts.
        costs : array-like of shape (n_samples, n_classes), default=None
            What each decision costs for each example.
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            [example, true, predicted]; `y` picks the row.

        Returns
        -------
        self : CostForestClassifier
            Fitted.
        """
        if self.oob_score and not self.bootstrap:
            raise ValueError("oob_score=True needs bootstrap=True: else no row is out of bag.")
        kept = list(getattr(self, "trees_", [])) if self.warm_start else []
        if len(kept) > self.n_estimators:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {len(kept)} trees there are; "
                "with warm_start=True it can only grow."
            )
        binned, training, weight = self._bin_training(
            X,
            y,
            costs=costs,
            cost_tensor=cost_tensor,
            sample_weight=sample_weight,
            n_threads=effective_n_jobs(self.n_jobs),
        )
        # the seed of a tree depends on its place alone, so that a warm start changes nothing
        seeds = check_random_state(self.random_state).randint(
            np.iinfo(np.int32).max, size=self.n_estimators
        )
        self._n_drawn = _n_drawn(self.max_samples, len(binned)) if self.bootstrap else None
        growth = growth_of(self)
        self.trees_ = kept + Parallel(self.n_jobs, verbose=self.verbose, prefer="threads")(
            delayed(_grow_member)(binned, training, weight, self._n_drawn, seed, growth)
            for seed in seeds[len(kept) :]
        )
        for name in ("oob_cost_", "oob_expected_costs_"):
            vars(self).pop(name, None)
        if self.oob_score:
            self._judge_out_of_bag(binned, training, weight, seeds)
        return self

    def _place_bins(self, X, sample_weight, n_threads):
        if self.warm_start and getattr(self, "trees_", None):
            return self.bins_
        return super()._place_bins(X, sample_weight, n_threads)

    def _judge_out_of_bag(self, binned, training, weight, seeds) -> None:
        n_samples = len(binned)
        sums = np.zeros((n_samples, training.n_classes))
        n_trees = np.zeros(n_samples)
        for tree, seed in zip(self.trees_, seeds):
            drawn = _draw_counts(np.random.default_rng(seed), n_samples, self._n_drawn) > 0
            _add_leaf_values(tree, tree.values, binned, sums, drawn, effective_n_jobs(self.n_jobs))
            n_trees += ~drawn
        judged = n_trees > 0
        if not judged.all():
            warnings.warn(
                f"{n_samples - judged.sum()} rows have no out-of-bag estimate: every tree has "
                "seen them. Grow more trees.",
                UserWarning,
                stacklevel=3,
            )
        with np.errstate(invalid="ignore"):
            self.oob_expected_costs_ = sums / n_trees[:, None]
        paid = training.of(np.argmin(sums, axis=1))
        self.oob_cost_ = (
            float(np.average(paid[judged], weights=None if weight is None else weight[judged]))
            if judged.any()
            else np.nan
        )

    @property
    def feature_importances_(self):
        """The share of the saved cost that each feature's splits have saved, averaged."""
        check_is_fitted(self)
        return np.mean([tree.feature_importances() for tree in self.trees_], axis=0)

    def expected_costs(self, X):
        """Return the cost of each decision, averaged over the trees, (n_samples, n_classes).

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Examples.
        """
        return self._average(X, lambda tree: tree.values)

    def predict_proba(self, X):
        """Return the class shares, averaged over the trees, (n_samples, n_classes).

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Examples.
        """
        return self._average(X, lambda tree: tree.class_shares)

    def apply(self, X):
        """Return the leaf of each row in each tree, (n_samples, n_estimators).

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Examples.
        """
        binned = self._bin(X)
        n_threads = effective_n_jobs(self.n_jobs)
        return np.column_stack([tree.apply(binned, n_threads) for tree in self.trees_])

    def _average(self, X, values_of):
        binned = self._bin(X)
        out = np.zeros((len(binned), len(self.classes_)))
        for tree in self.trees_:
            _add_leaf_values(
                tree, values_of(tree), binned, out, None, effective_n_jobs(self.n_jobs)
            )
        out /= len(self.trees_)
        return out


def _grow_member(binned, training, weight, n_drawn, seed, growth):
    """Grow one tree on its bootstrap sample; rows drawn k times have k times the weight."""
    rng = np.random.default_rng(seed)
    if n_drawn is not None:
        counts = _draw_counts(rng, len(binned), n_drawn).astype(np.float64)
        drawn = counts if weight is None else counts * weight
        weight = drawn if drawn.any() else weight  # all drawn rows have weight zero
    tree, _ = grow_cost_tree(
        binned,
        training,
        weight,
        random_state=int(rng.integers(np.iinfo(np.int32).max)),
        n_threads=1,
        return_leaves=False,
        **growth,
    )
    return tree


def _draw_counts(rng, n_samples: int, n_drawn: int) -> np.ndarray:
    """Return how often each row is drawn."""
    return np.bincount(rng.integers(n_samples, size=n_drawn), minlength=n_samples)


def _n_drawn(max_samples, n_samples: int) -> int:
    if max_samples is None:
        return n_samples
    if isinstance(max_samples, Integral):
        if int(max_samples) > n_samples:
            raise ValueError(f"max_samples={max_samples} is more than the {n_samples} rows of X.")
        return int(max_samples)
    return max(1, round(max_samples * n_samples))


def _add_leaf_values(tree, values, binned, out, skipped, n_threads) -> None:
    """Add the values of each row's leaf to `out`, except for rows that are `skipped`."""
    from stakes.tree._leaf_kernels import add_leaf_values

    skipped = np.empty(0, dtype=bool) if skipped is None else skipped
    given = (tree.arrays(binned), frozen(values), frozen(skipped))

    def run(first, stop):
        add_leaf_values(*given, first, stop, out)

    for_each_chunk(run, len(binned), n_threads, CHUNK)
