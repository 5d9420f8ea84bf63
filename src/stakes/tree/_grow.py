"""Growing one tree on costs: what the estimators, boosting and the reductions call."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from stakes._learning.draws import MAX_SEED, seeded
from stakes.costs import Costs
from stakes.tree._binning import BinnedData, Bins, frozen
from stakes.tree._columns import N_ROWS
from stakes.tree._growth import NO_LIMIT, Grown, Growth, make_desk
from stakes.tree._structure import CostTree
from stakes.tree._threads import Threads, for_each_chunk, for_each_share
from stakes.utils._sums import Sums, exact_total, fixed, rounder

CRITERIA = ("cost", "variance")
# Sums of costs within this share of all costs are equal: they carry rounding noise.
TOLERANCE = 1e-12


# Where the fields of a `Problem` that are no arrays begin.
PLAIN = 8
# Rows whose costs are measured at a time.
CHUNK = 131_072


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
        self._desks: dict[tuple, Any] = {}

    def ground(self, binned: BinnedData, costs: Costs, make: Callable[[], Any]) -> Any:
        """Return what `make` makes of these rows and class costs, the same as last time."""
        if self._ground[0] is not binned or self._ground[1] is not costs:
            self._ground = (binned, costs, make())
        return self._ground[2]

    def desk(self, problem: Any, rules: Any, samples: bool) -> Any:
        """Return where a thread works, the same as last time if it fits."""
        key = (*problem[PLAIN:-1], *problem.codes.shape, problem.categorical.any())
        key += (rules.max_features, samples)
        if key not in self._desks:
            self._desks = {key: make_desk(problem, rules, samples)}
        return self._desks[key]

    def array(self, name: str, size: int, dtype: Any) -> np.ndarray:
        """Return an array of `size` with any content, the same one as last time if it fits."""
        array = self._arrays.get(name)
        if array is None or len(array) < size or array.dtype != dtype:
            array = self._arrays[name] = np.empty(size, dtype)
        return array[:size]


@dataclass(frozen=True)
class Limits:
    """How one tree grows: parameters that `CostTreeClassifier` has too.

    Parameters
    ----------
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
    """

    criterion: str = "cost"
    max_depth: int | None = 3
    max_leaf_nodes: int | None = None
    min_samples_leaf: int = 1
    min_cost_decrease: float = 0.0
    max_features: Any = None

    @classmethod
    def of(cls, estimator: Any) -> dict[str, Any]:
        """Return those of an estimator, by name."""
        return {field.name: getattr(estimator, field.name) for field in fields(cls)}


def grow_cost_tree(
    binned: BinnedData,
    costs: Any,
    sample_weight: Any = None,
    *,
    y: Any = None,
    shuffle_ties: bool = False,
    random_state: Any = None,
    n_threads: int = 1,
    workspace: Workspace | None = None,
    sums: Sums | None = None,
    measured: Measures | None = None,
    return_leaves: bool = True,
    **growth: Any,
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
    **growth
        The fields of `Limits`.

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
    from stakes.tree._search_kernels import Rules

    limits = Limits(**growth)
    if limits.criterion not in CRITERIA:
        raise ValueError(f"criterion={limits.criterion!r} is unknown: use one of {CRITERIA}.")
    sums = sums or Sums()
    workspace = workspace or Workspace()
    squared = square_costs(costs)
    problem, table = _make_problem(binned, squared, y, sample_weight, sums, workspace)
    n_features, n_samples = problem.codes.shape
    measured = measured or _measure(problem, table, sums, n_threads)
    mass, total_weight, n_rows = measured.mass, measured.weight, measured.n_rows
    if not np.isfinite(mass) or not np.isfinite(total_weight):
        raise ValueError("costs has NaN or infinite entries: every cost must be a finite number.")
    if sums.shared and not problem.by_class:
        problem = problem._replace(rounder=rounder(mass))
    max_features = resolve_max_features(limits.max_features, n_features)
    samples = max_features < n_features
    seed = 0
    if samples or shuffle_ties:
        is_seed = isinstance(random_state, Integral)
        rng = seeded(int(random_state)) if is_seed else check_random_state(random_state)
        seed = int(rng.randint(MAX_SEED))
    rules = Rules(
        criterion=CRITERIA.index(limits.criterion),
        max_depth=NO_LIMIT if limits.max_depth is None else int(limits.max_depth),
        min_leaf=max(1, int(limits.min_samples_leaf)),
        max_features=max_features,
        min_decrease=float(limits.min_cost_decrease * total_weight),
        tolerance=TOLERANCE * mass,
        draws=bool(samples or shuffle_ties),
        best_first=limits.max_leaf_nodes is not None,
    )
    desk = workspace.desk(problem, rules, samples)
    with Threads(int(n_threads), desk, lambda: make_desk(problem, rules, samples)) as threads:
        grower = Growth(problem, rules, seed, n_rows, workspace, threads, sums)
        if limits.max_leaf_nodes is None:
            grown = grower.grow()
        else:
            grown = grower.grow_best_first(int(limits.max_leaf_nodes))
    is_small = problem.costs.dtype == np.float32 and len(grown.nodes) < 128  # memory is scarce
    kind = np.int8 if is_small else np.int32
    leaf_of_row = np.full(n_samples if return_leaves else 0, -1, kind)
    raw = measured.raw if sums.shared else 0.0
    tree = _make_tree(problem, table, grown, binned.bins, leaf_of_row, sums, raw, int(n_threads))
    if squared is not costs:
        tree = tree.of_choices(costs.n_classes, costs.n_decisions)
    return tree, (leaf_of_row if return_leaves else None)


def square_costs(costs: Any) -> Any:
    """Return costs of any decisions as the engine takes them: as many decisions as classes.

    Rows of costs stand in the place of class costs. Of fewer decisions than classes more are added
    that cost the mean of the row: none is cheaper than the cheapest, and a row's distance from its
    mean stays what it was, so that splits and leaves are those of the decisions there are. Take
    these alone of the tree (`CostTree.of_choices`).

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.costs import Choices, Costs
    >>> from stakes.tree._grow import square_costs
    >>> choices = Choices.of(["go", "stop"], ["red", "amber", "green"])
    >>> prices = np.array([[9.0, 1.0], [2.0, 1.0], [0.0, 4.0]])
    >>> square_costs(Costs(np.array([2, 0]), prices, choices=choices)).rows()
    array([[0., 4., 2.],
           [9., 1., 5.]])
    """
    if not isinstance(costs, Costs) or costs.choices is None:
        return costs
    rows = costs.rows()
    missing = costs.n_classes - costs.n_decisions
    if missing > 0:
        rows = np.column_stack([rows, *[rows.mean(axis=1)] * missing])
    return Costs(costs.y, costs=rows)


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
        totals = np.array(_sum_chunks(problem, table, n_threads, *rounders)[:2])
        sums.total(totals)
        mass, raw = totals
    return Measures(float(mass), float(raw), float(counted[1]), int(counted[0]))


def _sum_chunks(problem, table, n_threads: int, *rounders: float) -> tuple:
    """Return what `measure` does, added up in an order that does not depend on the threads."""
    from stakes.tree._leaf_kernels import measure

    n_rows = len(problem.y) if problem.by_class else len(table)
    sums = np.zeros((-(-n_rows // CHUNK), 5))

    def run(first: int, stop: int) -> None:
        some = slice(first, stop)
        rows = table if problem.by_class else table[some]
        given = rows, problem.y[some], problem.weight[some], problem.by_class
        sums[first // CHUNK] = measure(*given, *(rounders or (0.0, 0.0)))

    for_each_chunk(run, n_rows, n_threads, CHUNK)
    return *sums[:, :3].sum(axis=0), *sums[:, 3:].max(axis=0, initial=0.0)


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
    return problem._replace(weight=weight, n_slots=_n_slots(table, problem.by_class, True)), table


def _n_slots(table: np.ndarray, by_class: bool, weighted: bool) -> int:
    """Return how many numbers a histogram has for each bin."""
    if by_class:
        return len(table) + weighted
    return -(-(table.shape[1] + 1 + weighted) // 4) * 4


def _shape_of(problem, table: np.ndarray) -> tuple[int, int]:
    """Return the numbers of classes and of decisions."""
    return len(table) if problem.by_class else table.shape[1], table.shape[1]


def _lay_out(binned: BinnedData, costs: Any, y: Any) -> tuple[Any, Any]:
    """Return what a tree grows on where no row has a weight, and the costs as they were given."""
    from stakes.tree._count_kernels import Problem

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
        costs=frozen(_centred(costs)) if by_class else costs,
        y=y,
        weight=frozen(np.empty(0)),
        offsets=frozen(bins.offsets),
        categorical=frozen(bins.is_categorical),
        edges=frozen(bins.flat_edges),
        edge_starts=frozen(bins.edge_starts),
        by_class=by_class,
        n_decisions=costs.shape[1],
        n_slots=_n_slots(costs, by_class, False),
        max_n_bins=bins.max_n_bins,
        rounder=0.0,
    )
    return problem, costs


def _centred(matrix: np.ndarray) -> np.ndarray:
    """Return class costs less the mean of each row, with zeros up to a multiple of 4 decisions."""
    n_decisions = matrix.shape[1]
    centred = np.zeros((len(matrix), -(-n_decisions // 4) * 4))
    centred[:, :n_decisions] = matrix - matrix.mean(axis=1, keepdims=True)
    return centred


def label_dtype(n_classes: int) -> type[np.integer]:
    """Return the type in which classes are kept: with many rows, the smallest."""
    return np.uint8 if n_classes < 256 else np.int16


def _make_tree(
    problem,
    table,
    grown: Grown,
    bins: Bins,
    leaf_of_row: np.ndarray,
    sums: Sums,
    raw: float,
    n_threads: int,
) -> CostTree:
    """Return a grown tree, with the sums of costs and class weights of its nodes."""
    from stakes.tree._leaf_kernels import number_leaves, sum_leaves, sum_up

    nodes = grown.nodes
    leaves = np.empty(len(nodes), np.int32)
    number_leaves(nodes, leaves, np.empty(len(nodes) + 1, np.int64))
    n_classes, n_decisions = _shape_of(problem, table)
    n_costs, n_shares = 0 if problem.by_class else n_decisions, n_classes if len(problem.y) else 0
    node_sums = np.zeros((len(nodes), n_costs + n_shares + 1))
    rows = grown.order, grown.places

    def sum_some(first: int, stop: int) -> None:
        given = (rows, leaves, problem, rounder(raw), first, stop, node_sums, leaf_of_row)
        sum_leaves(*given)

    if n_threads == 1:
        sum_some(0, len(nodes))
    else:
        for_each_share(sum_some, np.where(leaves < 0, 0, nodes[:, N_ROWS]), n_threads)
    sums.total(node_sums)
    sum_up(nodes, leaves, node_sums)
    class_sums = np.ascontiguousarray(node_sums[:, n_costs:])
    cost_sums = (
        class_sums[:, :-1] @ table
        if problem.by_class
        else np.ascontiguousarray(node_sums[:, :n_costs])
    )
    return CostTree(nodes, grown.gains, grown.sets, leaves, cost_sums, class_sums, bins)


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
