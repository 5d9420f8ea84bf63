"""Growing one tree on costs: what the estimators, boosting and the reductions call."""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from stakes.costs import Costs
from stakes.tree._binning import BinnedData, frozen
from stakes.tree._structure import CostTree
from stakes.tree._threads import several_threads

CRITERIA = ("cost", "variance")
# At most this many histograms are kept while growing best first; beyond, nodes are counted anew.
MAX_BUFFERS = 64
# Sums of costs within this share of all costs are equal: they carry rounding noise.
TOLERANCE = 1e-12


class Workspace:
    """Room that trees of one shape can use again, such as the rounds of boosting."""

    def __init__(self):
        self._arrays: dict = {}

    def array(self, name: str, size: int, dtype) -> np.ndarray:
        """Return an array of `size` with any content, the same one as last time if it fits."""
        array = self._arrays.get(name)
        if array is None or len(array) < size or array.dtype != dtype:
            array = self._arrays[name] = np.empty(size, dtype)
        return array[:size]


def grow_cost_tree(
    binned: BinnedData,
    costs: Any,
    sample_weight=None,
    *,
    y=None,
    criterion="cost",
    max_depth=3,
    max_leaf_nodes=None,
    min_samples_leaf=1,
    min_cost_decrease=0.0,
    max_features=None,
    shuffle_ties=False,
    random_state=None,
    n_threads=1,
    workspace=None,
    return_leaves=True,
):
    """Grow a tree on costs; return it and the leaf of each training row.

    Parameters
    ----------
    binned : BinnedData
        What `Bins.transform` returned.
    costs : ndarray of shape (n_samples, n_classes) or Costs
        What each decision costs for each row; entries may be negative. With class costs
        (``costs.by_class``) the classes are counted instead of summing K costs per row, which
        is several times faster.
    sample_weight : ndarray of shape (n_samples,), default=None
        Not negative; rows of weight zero are left out (and are in no leaf: -1).
    y : ndarray of int, default=None
        The classes of the rows as positions, to have their shares in the leaves; those of
        `costs` where it is a `Costs`.
    criterion : {"cost", "variance"}, default="cost"
        What a split minimises: the sum of its children's least costs (ties: the variance);
        or the variance of the cost vectors, each less its mean.
    max_depth : int or None, default=3
        None: no limit. 0: one leaf.
    max_leaf_nodes : int, default=None
        If given, the split that saves most is made first, until there are so many leaves.
    min_samples_leaf : int, default=1
        The fewest rows of a leaf.
    min_cost_decrease : float, default=0.0
        A split must lower the average cost of the training rows by this much.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Features drawn for each node; more are drawn while none of them splits it.
    shuffle_ties : bool, default=False
        Of features that split a node equally well the first is taken; if True, one of them by
        chance. Trees that vote should do so: always taking the same one, they err together.
    random_state : int, RandomState instance or None, default=None
        Draws the features.
    n_threads : int, default=1
        Threads. The tree does not depend on it.
    workspace : Workspace, default=None
        Room to be used again by the next tree.
    return_leaves : bool, default=True
        Whether the leaves of the rows are wanted.

    Returns
    -------
    tree : CostTree
        The tree.
    leaf_of_row : ndarray of shape (n_samples,) or None
        Position of each row's leaf in ``tree.decisions``.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.tree._binning import Bins
    >>> from stakes.tree._grow import grow_cost_tree
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> costs = np.array([[0.0, 1.0], [0.0, 1.0], [5.0, 0.0], [0.0, 1.0]])
    >>> tree, leaf_of_row = grow_cost_tree(Bins.fit(X).transform(X), costs, max_depth=1)
    >>> tree.decisions, leaf_of_row
    (array([0, 1]), array([0, 0, 1, 1], dtype=int32))
    """
    from stakes.tree import _kernels, _leaf_kernels

    codes, bins = frozen(binned.codes), binned.bins
    n_features, n_samples = codes.shape
    if criterion not in CRITERIA:
        raise ValueError(f"criterion={criterion!r} is unknown: use one of {CRITERIA}.")
    by_class = isinstance(costs, Costs) and costs.by_class
    if isinstance(costs, Costs):
        y = costs.y if y is None else y
        costs = costs.matrix if by_class else costs.costs
    costs = frozen(np.ascontiguousarray(costs, dtype=np.float64))
    n_classes = costs.shape[1]
    y = frozen(np.empty(0, np.int16) if y is None else np.ascontiguousarray(y, dtype=np.int16))
    if len(y) not in (0, n_samples) or (not by_class and len(costs) != n_samples):
        raise ValueError(f"The costs are not of {n_samples} rows, which the binned data has.")
    given = np.empty(0) if sample_weight is None else sample_weight
    weight = frozen(np.ascontiguousarray(given, dtype=np.float64))
    if sample_weight is not None and weight.shape != (n_samples,):
        raise ValueError(f"sample_weight has shape {weight.shape}, but X has {n_samples} rows.")
    mass, total_weight = _leaf_kernels.measure(costs, y, weight, by_class)
    if not np.isfinite(mass) or not np.isfinite(total_weight):
        raise ValueError("costs has NaN or infinite entries: every cost must be a finite number.")

    n_rows = n_samples if sample_weight is None else int(np.count_nonzero(weight))
    max_depth = n_samples if max_depth is None else int(max_depth)
    max_leaves = n_samples if max_leaf_nodes is None else int(max_leaf_nodes)
    max_features = resolve_max_features(max_features, n_features)
    seed = 0
    if max_features < n_features or shuffle_ties:
        seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    slots = n_classes + (len(weight) > 0) + (not by_class)
    n_slots = slots if by_class else -(-slots // 4) * 4
    n_buffers = _n_buffers(n_rows, max_depth, max_leaf_nodes) if max_features == n_features else 0
    max_n_bins = int(np.diff(bins.offsets).max())
    room = max(4, n_features) * max_n_bins * n_slots
    workspace = workspace or Workspace()
    hist = workspace.array("hist", n_buffers * int(bins.offsets[-1]) * n_slots + room, np.float64)
    local = workspace.array("local", n_samples, np.uint16)
    problem = _kernels.Problem(
        codes=codes,
        costs=frozen(costs - costs.mean(axis=1, keepdims=True)) if by_class else costs,
        y=y,
        weight=weight,
        offsets=frozen(bins.offsets),
        categorical=frozen(bins.is_categorical),
        edges=frozen(bins.flat_edges),
        edge_starts=frozen(bins.edge_starts),
        by_class=by_class,
        n_slots=n_slots,
        max_n_bins=max_n_bins,
    )
    with several_threads(n_threads) as threads:
        rules = _kernels.Rules(
            criterion=CRITERIA.index(criterion),
            max_depth=max_depth,
            max_leaves=max_leaves,
            min_leaf=max(1, int(min_samples_leaf)),
            min_decrease=float(min_cost_decrease * total_weight),
            tolerance=TOLERANCE * mass,
            max_features=max_features,
            best_first=max_leaf_nodes is not None,
            seed=seed,
            shuffle_ties=bool(shuffle_ties),
            n_threads=threads,
        )
        nodes, gains, sets, runs = _kernels.grow(problem, rules, local, hist, n_buffers)
    leaves = np.empty(len(nodes), np.int32)
    n_leaves = _leaf_kernels.number_leaves(nodes, leaves)
    leaf_of_row = np.full(n_samples if return_leaves else 0, -1, np.int32)
    cost_sums = np.empty((len(nodes), n_classes))
    class_sums = np.empty((len(nodes), (n_classes if len(y) else 0) + 1))
    _leaf_kernels.sum_nodes(
        nodes, runs, local, leaves, costs, y, weight, by_class, cost_sums, class_sums, leaf_of_row
    )
    if by_class:
        cost_sums = class_sums[:, :-1] @ costs
    tree = CostTree(nodes, gains, sets, leaves, n_leaves, cost_sums, class_sums, bins)
    return tree, (leaf_of_row if return_leaves else None)


def resolve_max_features(max_features, n_features: int) -> int:
    """Return how many features are drawn for a node; a float is a share of them.

    Examples
    --------
    >>> from stakes.tree._grow import resolve_max_features
    >>> [resolve_max_features(m, 20) for m in (None, 7, 0.5, "sqrt", "log2")]
    [20, 7, 10, 4, 4]
    """
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_features)))
    if max_features == "log2":
        return max(1, int(np.log2(n_features)))
    if isinstance(max_features, Integral):
        return min(int(max_features), n_features)
    return max(1, int(max_features * n_features))


def _n_buffers(n_rows: int, max_depth: int, max_leaf_nodes: int | None) -> int:
    """Return how many histograms are alive at once; smaller children are taken first."""
    from stakes.tree._kernels import KEEP_HISTOGRAM

    if max_depth == 0 or n_rows < KEEP_HISTOGRAM:
        return 0
    if max_leaf_nodes is not None:
        return min(max_leaf_nodes + 1, MAX_BUFFERS, n_rows // KEEP_HISTOGRAM + 2)
    return min(max_depth, int(np.log2(n_rows / KEEP_HISTOGRAM)) + 3)
