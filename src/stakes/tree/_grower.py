"""Trees of one ensemble: bins that are placed once, and how every tree grows on them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stakes.costs import Costs
from stakes.tree._binning import BinnedData, Bins
from stakes.tree._features import Columns, check_alone, read_columns
from stakes.tree._grow import Limits, grow_cost_tree
from stakes.tree._pruning import choose_alpha, prune
from stakes.tree._structure import CostTree
from stakes.tree._threads import resolve_threads
from stakes.utils._sums import Sums


def place_bins(
    X: Any, max_bins: int, columns: Columns, sample_weight: Any = None, n_threads: int = 1
) -> Bins:
    """Place bins on training data; a row of weight zero must not be felt."""
    if sample_weight is not None and not sample_weight.all():
        X = X[sample_weight > 0]
    return Bins.fit(X, max_bins, columns.categorical, n_threads)


@dataclass
class Share:
    """The rows of one of several processes that learn together, and where they stand among all.

    Parameters
    ----------
    binned : BinnedData
        The rows.
    costs : Costs
        Their classes and costs.
    weight : ndarray of shape (n,) or None
        How often each counts.
    places : list of (first, size)
        Where they stand among all rows.
    n_rows : int
        The number of all rows.
    columns : Columns
        Which of the columns are categories.
    """

    binned: BinnedData
    costs: Costs
    weight: np.ndarray | None
    places: list[tuple[int, int]]
    n_rows: int
    columns: Columns

    @property
    def positions(self) -> np.ndarray:
        """The place of each row among all rows."""
        return np.concatenate([np.arange(first, first + size) for first, size in self.places])

    def take(self, rows: np.ndarray, weight: np.ndarray) -> "Share":
        """Return some of the rows, in whatever order, with other weights."""
        binned, costs = self.binned.take(rows), self.costs.take(rows)
        return Share(binned, costs, weight[rows], [], self.n_rows, self.columns)


class TreeGrower:
    """The bins of the training data, and how trees grow on them.

    Parameters
    ----------
    estimator : CostTreeClassifier
        Says how trees grow; `is_cost_tree` must hold for it.
    X : array-like or DataFrame
        The training data, on which the bins are placed.
    sample_weight : ndarray of shape (n_samples,), default=None
        Rows of weight zero place no bin.
    columns : Columns, default=None
        What `check_features` found, if X and whatever is to be binned later have been checked by
        it; None: they are checked here.
    bins : Bins, default=None
        Where they have been placed already; then X is not looked at, and `columns` are known.

    Attributes
    ----------
    bins : Bins
        Where the features are cut.
    columns : Columns
        Which of them are categories.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        sample_weight: Any = None,
        columns: Columns | None = None,
        bins: Bins | None = None,
    ):
        self.growth = Limits.of(estimator)
        self.ccp_alpha = estimator.ccp_alpha
        self.n_jobs = estimator.n_jobs
        self.checks = columns is None
        if columns is None:
            X, columns = read_columns(X, estimator.categorical_features)
        self.columns = columns
        self.bins = bins or place_bins(
            X, estimator.max_bins, columns, sample_weight, self.n_threads
        )

    @property
    def n_threads(self) -> int:
        """The number of threads that binning and growing use."""
        return resolve_threads(self.n_jobs)

    def bin(self, X: Any) -> BinnedData:
        """Return the bin codes of X."""
        if self.checks:
            X = self.columns.check(X, check_alone)
        return self.bins.transform(X, self.n_threads)

    def grow(
        self,
        binned: BinnedData,
        costs: Any,
        weight: np.ndarray | None = None,
        *,
        seed: Any = None,
        held_out: np.ndarray | None = None,
        **more: Any,
    ) -> tuple[CostTree, np.ndarray | None]:
        """Grow one tree, and prune it where that is asked for.

        As `grow_cost_tree`, which has the other parameters; leaves are returned on demand. Rows that
        are held out choose how much is pruned, which is `ccp_alpha` from then on, and teach the
        leaves what is left.
        """
        more = {"n_threads": self.n_threads, "return_leaves": False, **self.growth, **more}
        judged: Any = (binned, costs, weight, held_out, more.get("sums") or Sums())
        growing = weight
        if held_out is not None:
            growing = np.where(held_out, 0.0, 1.0 if weight is None else weight)
        tree, leaves = grow_cost_tree(binned, costs, growing, random_state=seed, **more)
        if held_out is not None:
            self.ccp_alpha = choose_alpha(tree, tree.node_sums(*judged)[0])
        if self.ccp_alpha > 0.0:
            tree = prune(tree, self.ccp_alpha)
            leaves = tree.apply(binned, self.n_threads) if more["return_leaves"] else None
        if held_out is not None:
            tree.add_rows(*judged)
        return tree, leaves
