"""Growing one tree on costs: what the estimators, boosting and the reductions call."""

from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from stakes._learning.draws import MAX_SEED, seeded
from stakes.costs import Costs
from stakes.tree._binning import BinnedData, Bins, frozen
from stakes.tree._columns import N_ROWS
from stakes.tree._structure import CostTree
from stakes.tree._threads import Threads, for_each_chunk, for_each_share
from stakes.utils._sums import Sums, exact_total, fixed, rounder

CRITERIA = ("cost", "variance")
# At most this many histograms are kept while growing best first; beyond, nodes are counted anew.
MAX_BUFFERS = 64
# Sums of costs within this share of all costs are equal: they carry rounding noise.
TOLERANCE = 1e-12


# Rows whose costs are measured at a time.
CHUNK = 131_072
# Where there is no limit to the depth or to the leaves.
NO_LIMIT = 2**62


class Measures(NamedTuple):
    """Sums over all rows: of |centred cost|, of |cost|, of the weights, and the number of rows."""

    mass: float
    raw: float
    weight: float
    n_rows: int


class Workspace:
    """Room that trees of one shape can use again, such as the rounds of boosting."""

    def __init__(self) -> None:
        self._arrays: dict[str, np.ndarray] = {}
        self._ground: tuple[Any, Any, Any] = (None, None, None)
        self._scratch: dict[tuple, Any] = {}

    def ground(self, binned: BinnedData, costs: Costs, make: Callable[[], Any]) -> Any:
        """Return what `make` makes of these rows and class costs, the same as last time."""
        if self._ground[0] is not binned or self._ground[1] is not costs:
            self._ground = (binned, costs, make())
        return self._ground[2]

    def scratch(self, problem: Any) -> Any:
        """Return room in which a thread searches, the same as last time if it fits."""
        from stakes.tree._histogram_kernels import MANY_CLASSES, make_scratch

        shape = problem.costs.shape[1], problem.n_slots, problem.max_n_bins, problem.by_class
        key = (*shape, MANY_CLASSES)
        if key not in self._scratch:
            self._scratch = {key: make_scratch(problem)}
        return self._scratch[key]

    def array(self, name: str, size: int, dtype: Any) -> np.ndarray:
        """Return an array of `size` with any content, the same one as last time if it fits."""
        array = self._arrays.get(name)
        if array is None or len(array) < size or array.dtype != dtype:
            array = self._arrays[name] = np.empty(size, dtype)
        return array[:size]


def grow_cost_tree(
    binned: BinnedData,
    costs: Any,
    sample_weight: Any = None,
    *,
    y: Any = None,
    criterion: str = "cost",
    max_depth: int | None = 3,
    max_leaf_nodes: int | None = None,
    min_samples_leaf: int = 1,
    min_cost_decrease: float = 0.0,
    max_features: Any = None,
    shuffle_ties: bool = False,
    random_state: Any = None,
    n_threads: int = 1,
    workspace: Workspace | None = None,
    sums: Sums | None = None,
    measured: Measures | None = None,
    return_leaves: bool = True,
) -> tuple[CostTree, np.ndarray | None]:
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
    sums : Sums, default=None
        Takes the sums over several processes, if the rows are spread over them: each grows the
        tree of all rows, binned alike, with the same `random_state` where features are drawn.
    measured : Measures, default=None
        The sums over all rows, where they are known.
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
    from stakes.tree import _kernels

    if criterion not in CRITERIA:
        raise ValueError(f"criterion={criterion!r} is unknown: use one of {CRITERIA}.")
    sums = sums or Sums()
    workspace = workspace or Workspace()
    problem, table = _make_problem(binned, costs, y, sample_weight, sums, workspace)
    n_features, n_samples = problem.codes.shape
    measured = measured or _measure(problem, table, sums, n_threads)
    mass, total_weight, n_rows = measured.mass, measured.weight, measured.n_rows
    if not np.isfinite(mass) or not np.isfinite(total_weight):
        raise ValueError("costs has NaN or infinite entries: every cost must be a finite number.")
    if sums.shared and not problem.by_class:
        problem = problem._replace(rounder=rounder(mass))
    max_depth = NO_LIMIT if max_depth is None else int(max_depth)
    max_features = resolve_max_features(max_features, n_features)
    seed = 0
    if max_features < n_features or shuffle_ties:
        is_seed = isinstance(random_state, Integral)
        rng = seeded(int(random_state)) if is_seed else check_random_state(random_state)
        seed = int(rng.randint(MAX_SEED))
    n_buffers = _n_buffers(n_rows, max_depth, max_leaf_nodes) if max_features == n_features else 0
    room = max(_kernels.GROUP, n_features) * problem.max_n_bins + n_buffers * problem.offsets[-1]
    hist = workspace.array("hist", int(room) * problem.n_slots, np.float64)
    local = workspace.array("local", n_samples, np.uint16)
    rules = _kernels.Rules(
        criterion=CRITERIA.index(criterion),
        max_depth=max_depth,
        max_leaves=NO_LIMIT if max_leaf_nodes is None else int(max_leaf_nodes),
        min_leaf=max(1, int(min_samples_leaf)),
        min_decrease=float(min_cost_decrease * total_weight),
        tolerance=TOLERANCE * mass,
        max_features=max_features,
        best_first=max_leaf_nodes is not None,
        seed=seed,
        shuffle_ties=bool(shuffle_ties),
        n_threads=int(n_threads),
        shared=bool(sums.shared),
    )
    if sums.shared and max_leaf_nodes is None and seed == 0:
        from stakes.tree._grow_levels import grow_levels

        grown = grow_levels(problem, rules, local, n_rows, sums)
    else:
        scratch = workspace.scratch(problem)
        grown = _grow(problem, rules, local, hist, n_buffers, sums, scratch)
    is_small = problem.costs.dtype == np.float32 and grown[1] < 128  # memory is scarce
    kind = np.int8 if is_small else np.int32
    leaf_of_row = np.full(n_samples if return_leaves else 0, -1, kind)
    raw = measured.raw if sums.shared else 0.0
    tree = _make_tree(
        problem, table, grown, local, binned.bins, leaf_of_row, sums, raw, rules.n_threads
    )
    return tree, (leaf_of_row if return_leaves else None)


def _measure(problem, table, sums: Sums, n_threads: int) -> Measures:
    """Return the sums over all rows that say what is equal, and how finely costs are kept."""
    weight = problem.weight
    n_rows = len(problem.y) if problem.by_class else len(table)
    n_rows = int(np.count_nonzero(weight)) if len(weight) else n_rows
    mass, raw, total_weight, *most = _sum_chunks(problem, table, n_threads)
    if not sums.shared:
        return Measures(mass, raw, total_weight, n_rows)
    known = np.array([*most, 0.0 if np.isfinite(mass) and np.isfinite(raw) else 1.0])
    sums.greatest(known)
    if known[2]:
        return Measures(np.nan, np.nan, np.nan, n_rows)
    counted = np.array([float(n_rows), total_weight])
    sums.total(counted)
    if problem.by_class:  # from the weights of classes: the order of rows is not felt
        weights = np.bincount(problem.y, weight if len(weight) else None, len(table))
        weights = weights.astype(np.float64)
        sums.total(weights)
        spread = np.abs(table - table.mean(axis=1, keepdims=True)).sum(axis=1)
        mass, raw = weights @ spread, weights @ np.abs(table).sum(axis=1)
    else:
        rounders = (rounder(float(top * counted[0])) for top in known[:2])
        found = np.array(_sum_chunks(problem, table, n_threads, *rounders)[:2])
        sums.total(found)
        mass, raw = found
    return Measures(float(mass), float(raw), float(counted[1]), int(counted[0]))


def _sum_chunks(problem, table, n_threads: int, *rounders: float) -> tuple:
    """Return what `measure` does, added up in an order that does not depend on the threads."""
    from stakes.tree._leaf_kernels import measure

    n_rows = len(problem.y) if problem.by_class else len(table)
    found = np.zeros((-(-n_rows // CHUNK), 5))

    def run(first: int, stop: int) -> None:
        some = slice(first, stop)
        rows = table if problem.by_class else table[some]
        given = rows, problem.y[some], problem.weight[some], problem.by_class
        found[first // CHUNK] = measure(*given, *(rounders or (0.0, 0.0)))

    for_each_chunk(run, n_rows, n_threads, CHUNK)
    return *found[:, :3].sum(axis=0), *found[:, 3:].max(axis=0, initial=0.0)


def _make_problem(
    binned: BinnedData, costs: Any, y: Any, sample_weight: Any, sums: Sums, workspace: Workspace
) -> tuple[Any, Any]:
    """Check what the tree grows on; return it, and the costs as they were given."""
    n_samples = len(binned)
    if isinstance(costs, Costs) and costs.by_class and y is None:
        problem, table = workspace.ground(binned, costs, lambda: _lay_out(binned, costs, None))
    else:
        problem, table = _lay_out(binned, costs, y)
    if sample_weight is None:
        return problem, table
    weight = frozen(np.ascontiguousarray(sample_weight, dtype=np.float64))
    if weight.shape != (n_samples,):
        raise ValueError(f"sample_weight has shape {weight.shape}, but X has {n_samples} rows.")
    if sums.shared:
        weight = frozen(fixed(weight, exact_total(weight, sums)))
    n_slots = _n_slots(table.shape[1], problem.by_class, True)
    return problem._replace(weight=weight, n_slots=n_slots), table


def _n_slots(n_classes: int, by_class: bool, weighted: bool) -> int:
    slots = n_classes + weighted + (not by_class)
    return slots if by_class else -(-slots // 4) * 4


def _lay_out(binned: BinnedData, costs: Any, y: Any) -> tuple[Any, Any]:
    """Return what a tree grows on where no row has a weight, and the costs as they were given."""
    from stakes.tree._histogram_kernels import Problem

    bins, n_samples = binned.bins, len(binned)
    by_class = isinstance(costs, Costs) and costs.by_class
    if isinstance(costs, Costs):
        y = costs.y if y is None else y
        costs = costs.table
    keeps = getattr(costs, "dtype", None) == np.float32  # of a boosting round, memory being scarce
    costs = frozen(np.ascontiguousarray(costs, dtype=None if keeps else np.float64))
    y = np.empty(0) if y is None else y
    y = frozen(np.ascontiguousarray(y, dtype=label_dtype(costs.shape[1])))
    if len(y) not in (0, n_samples) or (not by_class and len(costs) != n_samples):
        raise ValueError(f"The costs are not of {n_samples} rows, which the binned data has.")
    problem = Problem(
        codes=frozen(binned.codes),
        costs=frozen(costs - costs.mean(axis=1, keepdims=True)) if by_class else costs,
        y=y,
        weight=frozen(np.empty(0)),
        offsets=frozen(bins.offsets),
        categorical=frozen(bins.is_categorical),
        edges=frozen(bins.flat_edges),
        edge_starts=frozen(bins.edge_starts),
        by_class=by_class,
        n_slots=_n_slots(costs.shape[1], by_class, False),
        max_n_bins=bins.max_n_bins,
        rounder=0.0,
    )
    return problem, costs


def label_dtype(n_classes: int) -> type[np.integer]:
    """Return the type in which classes are kept: with many rows, the smallest."""
    return np.uint8 if n_classes < 256 else np.int16


def _grow(problem, rules, local, hist, n_buffers: int, sums: Sums, scratch) -> Any:
    """Grow the tree; return its tables and how many nodes it has.

    The kernel pauses for more room, for threads, and for every sum that `sums` has to see.
    """
    from stakes.tree import _kernels
    from stakes.tree._histogram_kernels import make_scratch
    from stakes.tree._search_kernels import search_some, with_addresses

    tables, growth = _kernels.plant(problem, rules, local, hist, n_buffers)
    at = growth.at
    rules = with_addresses(problem, rules, tables.runs, growth, scratch)
    if rules.shared:
        sums.total(tables.nodes[:1, N_ROWS])
    with Threads(rules.n_threads, lambda: make_scratch(problem)) as threads:
        while True:
            why = _kernels.advance(problem, rules, tables, growth, scratch)
            if why == _kernels.DONE:
                return tables, at[_kernels.N_NODES]
            if why == _kernels.FULL:
                tables = _kernels.enlarge(tables)
            elif why == _kernels.COUNTED:
                sums.total(hist[at[_kernels.FIRST] : at[_kernels.LAST]])
            elif why == _kernels.PARTED:
                sums.total(at[_kernels.GONE_LEFT :][:1])
            elif why == _kernels.HALVE:
                _count_halves(problem, rules, tables, growth, threads, scratch)
            elif why == _kernels.PART:
                at[_kernels.GONE_LEFT] = _part(problem, tables, growth, threads)
                if rules.shared:
                    sums.total(at[_kernels.GONE_LEFT :][:1])
            else:
                threads.share(
                    partial(search_some, problem, rules, tables.runs, growth),
                    int(at[_kernels.LOW]),
                    int(at[_kernels.HIGH]),
                )
                at[_kernels.SEARCHED] = 1


def _count_halves(problem, rules, tables, growth, threads: Threads, scratch) -> None:
    """Count two halves of the node in question, each with histograms of its own; add them up.

    Each thread gathers rows of its own; more than two share the features of a half.
    """
    from stakes.tree import _kernels
    from stakes.tree._search_kernels import count_blocks

    at, search = growth.at, growth.search
    node, first, last = growth.fresh[at[_kernels.SIDE]], at[_kernels.FIRST], at[_kernels.LAST]
    whole = search.hist[first:last]
    half = search._replace(hist=np.zeros(len(whole)), bases=search.bases - first)
    whole[:] = 0.0
    runs = tables.runs[node : node + 1]
    n_blocks = runs.shape[1] // 2
    middle = n_blocks // 2
    parts = [
        (0, runs[:, : 2 * middle].copy(), growth),
        (middle, runs.copy(), growth._replace(search=half)),
    ]
    low, high = int(at[_kernels.LOW]), int(at[_kernels.HIGH])
    n_groups = min(-(-rules.n_threads // 2), high - low)
    bounds = [low + (high - low) * g // n_groups for g in range(n_groups + 1)]

    def count(start: int, stop: int, room: Any) -> None:
        for task in range(start, stop):
            block, own, into = parts[task // n_groups]
            group = bounds[task % n_groups : task % n_groups + 2]
            count_blocks(problem, own, into, block, *group, room)

    if rules.n_threads > 1:
        threads.share(count, 0, 2 * n_groups)
    else:
        count(0, 2, scratch)
    whole += half.hist


def _part(problem, tables, growth, threads: Threads) -> int:
    """Part the rows of the node to split in threads, blocks at a time; return how many go left."""
    from stakes.tree import _kernels

    gone_left = []

    def part(low: int, high: int, _: Any) -> None:
        parted = np.empty_like(growth.parted)
        gone_left.append(_kernels.part_some(problem, tables, growth, low, high, parted))

    threads.share(part, 0, tables.runs.shape[1] // 2)
    return sum(gone_left)


def _make_tree(
    problem,
    table,
    grown,
    local,
    bins: Bins,
    leaf_of_row: np.ndarray,
    sums: Sums,
    raw: float,
    n_threads: int,
) -> CostTree:
    """Return a grown tree, with the sums of costs and class weights of its nodes."""
    from stakes.tree import _kernels, _leaf_kernels

    tables, n_nodes = grown
    nodes, gains, sets = (table[:n_nodes].copy() for table in tables[:3])
    runs = tables.runs[:n_nodes]
    leaves = np.empty(len(nodes), np.int32)
    _leaf_kernels.number_leaves(nodes, leaves, np.empty(len(nodes) + 1, np.int64))
    n_classes = table.shape[1]
    n_costs, n_shares = 0 if problem.by_class else n_classes, n_classes if len(problem.y) else 0
    node_sums = np.zeros((len(nodes), n_costs + n_shares + 1))

    fixed_by, n_blocks = rounder(raw), runs.shape[1] // 2
    middle = n_blocks // 2 if n_blocks >= _kernels.HALVED_BLOCKS else n_blocks
    work = np.where(leaves < 0, 0, nodes[:, N_ROWS])
    halves = [(runs, node_sums)]
    if middle < n_blocks:  # each half has sums of its own, for any number of threads
        halves = [(runs.copy(), node_sums), (runs.copy(), np.zeros_like(node_sums))]
        halves[0][0][:, 2 * middle :] = 0
        halves[1][0][:, : 2 * middle] = 0

    def sum_half(half: int, _: int) -> None:
        own, into = halves[half]

        def sum_some(first: int, stop: int) -> None:
            some = slice(first, stop)
            given = local, own[some], leaves[some], problem, fixed_by, into[some], leaf_of_row
            _leaf_kernels.sum_leaves(*given)

        if n_threads <= len(halves):
            sum_some(0, len(nodes))
        else:
            for_each_share(sum_some, work, n_threads // len(halves))

    for_each_chunk(sum_half, len(halves), n_threads, 1)
    for _, other in halves[1:]:
        node_sums += other
    sums.total(node_sums)
    _leaf_kernels.sum_up(nodes, leaves, node_sums)
    class_sums = np.ascontiguousarray(node_sums[:, n_costs:])
    cost_sums = (
        class_sums[:, :-1] @ table
        if problem.by_class
        else np.ascontiguousarray(node_sums[:, :n_costs])
    )
    return CostTree(nodes, gains, sets, leaves, cost_sums, class_sums, bins)


def resolve_max_features(max_features: Any, n_features: int) -> int:
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
