"""A forest of trees grown on costs."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from stakes._learning.blend import Calibration
from stakes._learning.draws import (
    MAX_SEED,
    bootstrap_counts,
    draw_seeds,
    iter_members,
    seeded,
    tell,
)
from stakes._learning.statement import Statement
from stakes._learning.votes import expected_rows
from stakes._methods import method
from stakes.costs import Costs
from stakes.tree._binning import BinnedData, Bins
from stakes.tree._grow import Limits, Workspace, grow_cost_tree
from stakes.tree._structure import CostTree
from stakes.tree._threads import resolve_threads
from stakes.tree._tree import GROWTH_CONSTRAINTS, BaseCostTrees
from stakes.tree._votes import average_unseen
from stakes.utils._checks import warn
from stakes.utils._sklearn import Interval, StrOptions

# The most rows by which a forest is calibrated.
MOST_JUDGED = 200_000


@method("forest", family="tree", default=True, exports=("onnx",))
@dataclass(eq=False, repr=False, kw_only=True)
class CostForestClassifier(BaseCostTrees):
    """Cost forest: trees whose splits and leaves minimise the cost of decisions.

    Each tree grows on a bootstrap sample and looks at a few features, drawn at random, for each
    split. The mean costs of a row's leaves are averaged over the trees, and the decision of
    least average cost is taken: nothing is voted, so the costs are felt once, at the end. It
    serves class costs and costs known in hindsight. Costs known when deciding (`cost_tensor`
    of `predict`) are weighed by probabilities: the class shares of the leaves, averaged over the
    trees. Averages of many trees are too smooth; how sharp they may be is learned from the rows
    that each tree has not seen. For one tree that can be read, use `CostTreeClassifier`.

    Parameters
    ----------
    cost_matrix : CostMatrix, array-like of shape (n_classes, n_classes), str or None, default=None
        ``cost_matrix[true, predicted]``, in the order of `classes_`. None is 0/1. Costs of
        examples go to `fit`.
    n_estimators : int, default=200
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
    calibration : {"out_of_bag"} or None, default="out_of_bag"
        Probabilities and expected costs are made as sharp as the rows out of bag say, if there are
        any: not with ``bootstrap=False``. Of more than 200,000 rows it asks some at even steps.
        None leaves them as they are. Class costs are weighed by `predict_proba`.
    max_samples : int, float or None, default=None
        How many rows are drawn for a tree, or the share of them. None: as many as there are.
    oob_score : bool, default=False
        Whether to estimate the cost out of bag: see `oob_score_`.
    warm_start : bool, default=False
        Whether another `fit` keeps the trees there are and only adds the missing ones.
    max_bins : int, default=255
        The most bins of a feature.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Which columns hold categories: see `CostTreeClassifier`.
    random_state : int, RandomState instance or None, default=None
        Draws the samples and the features.
    n_jobs : int or None, default=None
        Trees that are grown at a time. None: one, or as joblib is set; -1: as many as there
        are cores. The forest does not depend on it.
    verbose : int, default=0
        If 1, a line for each tree as it ends, on standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The class costs, or the mean costs of the examples of each class.
    cost_kind_ : str
        The kind of costs seen in `fit`: "class", "deciding" or "hindsight".
    estimators_ : list of CostTree
        The trees.
    bins_ : Bins
        Where the features are cut, the same for all trees.
    oob_score_ : float
        Minus the average cost of the decisions on the training rows, each decided by the trees
        that have not seen it. Only with ``oob_score=True``.
    oob_expected_costs_ : ndarray of shape (n_samples, n_classes)
        The averages behind it; NaN where every tree has seen the row.
    calibration_ : Calibration or None
        What the rows out of bag say of the probabilities.
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
    >>> forest = CostForestClassifier(C, n_estimators=50, random_state=0, oob_score=True)
    >>> bool(forest.fit(X, y).oob_score_ > -0.2)
    True
    >>> forest.predict(X[:3])
    array([0, 0, 0])
    """

    n_estimators: int = 200
    criterion: str = "variance"
    min_samples_leaf: int = 1
    max_features: Any = "sqrt"
    bootstrap: bool = True
    calibration: str | None = "out_of_bag"
    max_samples: float | None = None
    oob_score: bool = False
    warm_start: bool = False
    verbose: int = 0

    _parameter_constraints: ClassVar[dict] = {
        **GROWTH_CONSTRAINTS,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "bootstrap": ["boolean"],
        "calibration": [StrOptions({"out_of_bag"}), None],
        "max_samples": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
            None,
        ],
        "oob_score": ["boolean"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def _fit(self, X: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        kept = self._check_settings()
        binned = self._bin_training(X, costs, sample_weight)
        # the seed of a tree depends on its place alone, so that a warm start changes nothing
        seeds = draw_seeds(self.random_state, self.n_estimators)
        self._n_drawn = n_drawn(self.max_samples, len(binned)) if self.bootstrap else None
        growth = Limits.of(self)
        rooms = _Rooms()
        tasks = (
            (binned, costs, sample_weight, self._n_drawn, seed, growth, rooms)
            for seed in seeds[len(kept) :]
        )
        self.estimators_ = list(kept)
        for tree in iter_members(_grow_member, tasks, n_jobs=self.n_jobs, prefer="threads"):
            self.estimators_.append(tree)
            tell(
                self,
                f"tree {len(self.estimators_)} of {self.n_estimators}: {tree.n_leaves} leaves",
            )
        for name in ("oob_score_", "oob_expected_costs_"):
            self.__dict__.pop(name, None)
        self.calibration_: Calibration | None = None
        if self.calibration is not None and self.bootstrap:
            self._calibrate(binned, costs, sample_weight, seeds)
        if self.oob_score:
            self._judge_out_of_bag(binned, costs, sample_weight, seeds)

    def _check_settings(self) -> list[CostTree]:
        """Refuse parameters that contradict each other; return the trees that are kept."""
        if self.oob_score and not self.bootstrap:
            raise ValueError("oob_score=True needs bootstrap=True: else no row is out of bag.")
        kept = self._kept_trees()
        if len(kept) > self.n_estimators:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {len(kept)} trees there are; "
                "with warm_start=True it can only grow."
            )
        return kept

    @property
    def _trees(self) -> list[CostTree]:
        return self.estimators_

    def _kept_trees(self) -> list[CostTree]:
        return getattr(self, "estimators_", []) if self.warm_start else []

    def _place_bins(self, X: Any, sample_weight: np.ndarray | None, n_threads: int) -> Bins:
        return (
            self.bins_ if self._kept_trees() else super()._place_bins(X, sample_weight, n_threads)
        )

    def _out_of_bag(
        self,
        binned: BinnedData,
        seeds: np.ndarray,
        values_of: Callable[[CostTree], np.ndarray],
        step: int = 1,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return `average_unseen` of every row, or of one in `step`."""
        n_samples = len(binned)
        draws = (bootstrap_counts(n_samples, seeded(int(s)), self._n_drawn) for s in seeds)
        return average_unseen(
            self.estimators_,
            [values_of(tree) for tree in self.estimators_],
            (counts[::step] > 0 for counts in draws),
            binned if step == 1 else binned.take(slice(None, None, step)),
            resolve_threads(self.n_jobs),
        )

    def _calibrate(
        self, binned: BinnedData, costs: Costs, weight: np.ndarray | None, seeds: np.ndarray
    ) -> None:
        """Learn from rows out of bag how sharp probabilities may be."""
        step = calibration_step(len(binned))
        counts = (np.ones(len(binned)) if weight is None else weight)[::step]
        shares, n_trees = self._out_of_bag(binned, seeds, lambda tree: tree.class_shares, step)
        self._learn_sharpness(shares, n_trees, costs.y[::step], counts)

    def _learn_sharpness(
        self, shares: np.ndarray, n_trees: np.ndarray, y: np.ndarray, counts: np.ndarray
    ) -> None:
        judged = (n_trees > 0) & (counts > 0)
        if judged.any():
            self.calibration_ = Calibration.fit(
                shares[judged],
                y[judged].astype(np.int64),
                counts[judged],
                n_trees[judged],
                len(self.estimators_),
            )

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the class shares in each row's leaves, averaged over the trees and calibrated.

        A decision made on them by any cost matrix is sound.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        shares = super().predict_proba(X)
        return shares if self.calibration_ is None else self.calibration_.apply(shares)

    def _expected_costs(self, X: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        if cost_tensor is not None or self.calibration_ is None:
            return super()._expected_costs(X, cost_tensor)
        if self.cost_kind_ == "class":
            return expected_rows(self.predict_proba(X), self.cost_matrix_)
        return self._calibrated(super()._expected_costs(X, None), super().predict_proba(X))

    def _stated_both(self, expected: np.ndarray, shares: np.ndarray) -> Statement:
        if self.calibration_ is None:
            return Statement(proba=shares, expected=expected)
        stated = self.calibration_.apply(shares)
        if self.cost_kind_ == "class":
            return Statement(proba=stated, expected=expected_rows(stated, self.cost_matrix_))
        return Statement(proba=stated, expected=self._calibrated(expected, shares))

    def _calibrated(self, expected: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Return average costs, with what calibration says of the classes at their mean costs.

        With class costs these are the expected costs of the calibrated probabilities.
        """
        assert self.calibration_ is not None
        moved = self.calibration_.apply(shares) - shares
        return expected + expected_rows(moved, self.cost_matrix_)

    def _judge_out_of_bag(
        self, binned: BinnedData, costs: Costs, weight: np.ndarray | None, seeds: np.ndarray
    ) -> None:
        expected, n_trees = self._out_of_bag(binned, seeds, lambda tree: tree.values)
        if self.calibration_ is not None:
            shares, _ = self._out_of_bag(binned, seeds, lambda tree: tree.class_shares)
            expected = self._calibrated(expected, shares)
        self.oob_expected_costs_ = expected
        judged = n_trees > 0
        if not judged.all():
            warn(
                "ST401",
                f"{(~judged).sum()} rows have no out-of-bag estimate: every tree has "
                "seen them. Grow more trees.",
                UserWarning,
                stacklevel=4,
            )
        paid = costs.of(
            np.argmin(np.where(judged[:, None], self.oob_expected_costs_, 0.0), axis=1)
        )
        self.oob_score_ = (
            0.0
            - float(np.average(paid[judged], weights=None if weight is None else weight[judged]))
            if judged.any()
            else np.nan
        )

    def apply(self, X: Any) -> np.ndarray:
        """Return the leaf of each row in each tree, (n_samples, n_estimators).

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Examples.
        """
        binned = self._bin(X)
        n_threads = resolve_threads(self.n_jobs)
        return np.column_stack([tree.apply(binned, n_threads) for tree in self.estimators_])


class _Rooms(threading.local):
    """Room for trees, of each thread its own; in another process there is none yet."""

    def __init__(self) -> None:
        self.own = Workspace()

    def __reduce__(self) -> tuple:
        return _Rooms, ()


def _grow_member(binned, costs, weight, n_drawn, seed, growth, rooms) -> CostTree:
    """Grow one tree on its bootstrap sample; rows drawn k times have k times the weight."""
    rng = seeded(int(seed))
    if n_drawn is not None:
        counts = bootstrap_counts(len(binned), rng, n_drawn).astype(np.float64)
        drawn = counts if weight is None else counts * weight
        weight = drawn if drawn.any() else weight  # all drawn rows have weight zero
    random_state = rng.randint(MAX_SEED)
    given = {"random_state": random_state, "return_leaves": False, "workspace": rooms.own}
    tree, _ = grow_cost_tree(binned, costs, weight, **given, **growth)
    return tree.without_inner_sums()


def calibration_step(n_samples: int) -> int:
    """Return which rows calibrate a forest: the first, and every so many after it.

    Examples
    --------
    >>> from stakes.tree._forest import calibration_step
    >>> calibration_step(200_000), calibration_step(200_001)
    (1, 2)
    """
    return -(-n_samples // MOST_JUDGED)


def n_drawn(max_samples: float | None, n_samples: int) -> int:
    """Return how many rows each tree draws."""
    if max_samples is None:
        return n_samples
    if isinstance(max_samples, Integral):
        if int(max_samples) > n_samples:
            raise ValueError(f"max_samples={max_samples} is more than the {n_samples} rows of X.")
        return int(max_samples)
    return max(1, round(max_samples * n_samples))
