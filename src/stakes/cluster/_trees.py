"""Bins and trees from Dask collections: rows are binned where they are, and stay there.

The rows that place the bins are those that `Bins.fit` would look at if all rows lay in one
array: the bins, and so the trees, do not depend on how the rows are cut into partitions.
"""

import warnings
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stakes._learning.draws import MAX_SEED, bootstrap_counts_at, draw_seed
from stakes.cluster._survey import FACTS, Survey, cost_rows, label_positions, read_weights
from stakes.cluster._together import again_when_lost, place_of, run_together
from stakes.cluster.partitions import gather, on_rows
from stakes.costs import Choices, Costs, check_costs
from stakes.tree.engine import (
    BinnedData,
    Bins,
    CostTree,
    Share,
    average_unseen,
    categorical_column,
    count_categories,
    grow_cost_tree,
    label_dtype,
    sample_rows,
)
from stakes.utils._frames import as_frame, is_frame, one_column


@dataclass
class Rows:
    """Binned rows, with their classes, weights and costs.

    Attributes
    ----------
    codes : ndarray of shape (n_features, n_rows), dtype uint8
        The bins.
    y : ndarray of shape (n_rows,)
        Classes as positions.
    weight : ndarray of shape (n_rows,) or None
        How often each counts.
    costs : ndarray of shape (n_rows, n_classes) or None
        What each decision costs, if that depends on the row.
    first : int
        The place of the first row among all.
    """

    codes: Any
    y: Any
    weight: Any
    costs: Any
    first: int

    def __sizeof__(self) -> int:
        # small, so that Dask leaves it where it is: the long task takes it over
        return 64


class Common(NamedTuple):
    """What is the same for all rows.

    Attributes
    ----------
    bins : Bins
        Of the features.
    matrix : ndarray or None
        Class costs, where rows have none of their own.
    choices : Choices or None
        What may be decided, if not the classes.
    classes : ndarray of shape (n_classes,)
        The classes.
    places : list of int or None
        Where the columns of named costs stand in the order of the decisions.
    n_rows : int
        How many rows there are.
    columns : Columns
        Which of the features are categories.
    """

    bins: Bins
    matrix: np.ndarray | None
    choices: Choices | None
    classes: np.ndarray
    places: list[int] | None
    n_rows: int
    columns: Any

    @classmethod
    def of(cls, estimator: Any, rows: Survey, bins: Bins, reader: Any) -> "Common":
        """Return what an estimator, and what checks its X, know of all rows."""
        matrix = estimator.cost_matrix_ if estimator.cost_kind_ == "class" else None
        known = rows.choices, rows.classes, rows.columns, rows.n_weighed
        return cls(bins, matrix, *known, reader._columns)


def join_parts(rows: list[Rows], common: Common) -> Share:
    """Join partitions; what they held is taken out of them piece by piece."""
    sizes = [len(part.y) for part in rows]
    stops = np.cumsum(sizes)
    codes = np.empty((common.bins.n_features, int(stops[-1])), dtype=np.uint8)
    for part, stop, size in zip(rows, stops, sizes):
        codes[:, stop - size : stop] = part.codes
        part.codes = None
    y = np.concatenate([part.y for part in rows])
    weight = None if rows[0].weight is None else np.concatenate([p.weight for p in rows])
    table = None if rows[0].costs is None else np.concatenate([p.costs for p in rows])
    for part in rows:
        part.y = part.weight = part.costs = None
    costs = Costs(y, common.matrix, table, choices=common.choices)
    places = [(part.first, size) for part, size in zip(rows, sizes)]
    binned = BinnedData(codes, common.bins)
    return Share(binned, costs, weight, places, common.n_rows, common.columns)


def place_shared_bins(estimator: Any, rows: Survey, max_bins: int) -> Bins:
    """Check X, set what the estimator remembers of its columns, and place its bins."""
    client, data, numbers = rows.client, rows.data, rows.filled
    wanted = sample_rows(rows.n_weighed)
    firsts = np.cumsum(rows.weighed) - rows.weighed
    names = ("X", "y", "sample_weight")
    pieces = gather(
        client, data.map(client, _sample_part, wanted, firsts, names=names, numbers=numbers)
    )
    pieces = [piece for piece in pieces if len(piece)]
    if is_frame(pieces[0]):
        import pandas as pd

        sample = pd.concat(pieces, ignore_index=True)
    else:
        sample = np.concatenate(pieces)
    sample = estimator._check_X(sample, reset=True)
    columns = estimator._columns
    bins = Bins.fit(sample, max_bins, columns.categorical)
    features = np.flatnonzero(columns.categorical).tolist()
    if features:
        shell = _shell(estimator)
        tasks = data.map(client, _count_part, shell, features, names=names, numbers=numbers)
        counted = gather(client, tasks)
        bins = bins.with_categories(
            {f: _add_counts([part[f] for part in counted]) for f in features}, max_bins
        )
    return bins


def bin_parts(reader: Any, rows: Survey, common: Common) -> list:
    """Return futures of the partitions as `Rows`, on the workers that binned them.

    A row of weight 0 is a row that is not there.
    """
    firsts = np.cumsum(rows.weighed) - rows.weighed
    given = (_shell(reader), common, firsts)
    return rows.data.map(rows.client, _bin_part, *given, numbers=rows.filled)


def learn_together(estimator: Any, rows: Survey, bins: Bins, reader: Any) -> None:
    """Let all workers learn one model, and take over what it has learned.

    Parameters
    ----------
    estimator : object
        Learns by ``_learn_share(share, sums)``, which sets its attributes.
    rows : Survey
        The collections.
    bins : Bins
        Of the features.
    reader : CostTreeClassifier or object
        Checks X as it did when the bins were placed.
    """
    model = copy(estimator)
    if getattr(model, "random_state", 0) is None:
        model.random_state = draw_seed(None)
    common = Common.of(model, rows, bins, reader)

    def fit() -> tuple:
        held = place_of(rows.client, bin_parts(reader, rows, common))
        return run_together(rows.client, _learn_part, held, model, common, learn_share)

    fitted, told = again_when_lost(fit)
    for text, category in told:
        warnings.warn(text, category, stacklevel=8)
    take_over(estimator, fitted)


def learn_share(model: Any, share: Share, sums: Any) -> None:
    """Learn from the rows of one worker, through `sums` from those of all."""
    model._learn_share(share, sums)


def take_over(estimator: Any, fitted: Any) -> None:
    """Let an estimator be what another of its kind has become; its parameters stay."""
    parameters = estimator.get_params(deep=False)
    vars(estimator).update({k: v for k, v in vars(fitted).items() if k not in parameters})


def join_shares(estimator: Any, everyone: Survey) -> list:
    """Return futures of the rows of each worker as a `Share`."""
    client, common = everyone.client, Common.of(estimator, everyone, estimator.bins_, estimator)
    held = place_of(client, bin_parts(estimator, everyone, common))
    return [
        client.submit(_join, rows, common, workers=[worker], allow_other_workers=True, pure=False)
        for worker, rows in held.items()
    ]


def grow_members(client: Any, shares: list, draws: list[tuple], growth: dict) -> list[CostTree]:
    """Grow the trees of a forest on the workers, a few at a time, each from its own sample.

    A sample is sent to the worker that grows its tree, one byte for each value: the trees are
    those that grow where all rows lie in one memory.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster.
    shares : list of futures
        The rows of each worker, by `join_shares`.
    draws : list of tuple
        Of each tree its seed, the number of all rows, and how many are drawn of them.
    growth : dict
        How trees grow.
    """
    at_once = 2 * sum(client.nthreads().values())
    trees: list[CostTree] = []
    for first in range(0, len(draws), at_once):
        tasks = [
            client.submit(
                _grow_drawn,
                [client.submit(_draw, share, *draw, pure=False) for share in shares],
                growth,
                pure=False,
            )
            for draw in draws[first : first + at_once]
        ]
        trees += gather(client, tasks)
    return trees


def unseen_rows(
    client: Any, shares: list, trees: list[CostTree], draws: list[tuple], step: int
) -> tuple[np.ndarray, ...]:
    """Return what the trees say of one row in `step` that they were not grown on.

    Returns
    -------
    averages, n_trees : ndarray
        As `average_unseen`, in the order of all rows.
    y, weight : ndarray
        The classes of these rows, and what they count.
    """
    members = client.scatter(trees, hash=False)
    tasks = [client.submit(_judge_share, s, members, draws, step, pure=False) for s in shares]
    columns = [np.concatenate(each) for each in zip(*gather(client, tasks))]
    order = np.argsort(columns[0], kind="stable")
    return tuple(each[order] for each in columns[1:])


def _judge_share(share: Share, trees: list[CostTree], draws: list[tuple], step: int) -> tuple:
    """Return the places of some rows of a worker, and of each what `unseen_rows` returns."""
    places = share.positions
    rows = np.flatnonzero(places % step == 0)
    seen = (
        bootstrap_counts_at(share.places, n_rows, np.random.RandomState(seed), n_drawn)[rows] > 0
        for seed, n_rows, n_drawn in draws
    )
    values = [tree.class_shares for tree in trees]
    averages, n_trees = average_unseen(trees, values, seen, share.binned.take(rows))
    weight = np.ones(len(rows)) if share.weight is None else share.weight[rows]
    return places[rows], averages, n_trees, share.costs.y[rows], weight


def _join(rows: list[Rows], common: Common) -> Share:
    return join_parts([copy(part) for part in rows], common)


def _draw(share: Share, seed: int, n_rows: int, n_drawn: int | None) -> tuple:
    """Return rows of a worker, as often as they were drawn, their places, and the tree's seed."""
    weight, rng = share.weight, np.random.RandomState(seed)
    if n_drawn is not None:
        counts = bootstrap_counts_at(share.places, n_rows, rng, n_drawn).astype(np.float64)
        weight = counts if weight is None else counts * weight
    if weight is None:
        return share, share.positions, rng.randint(MAX_SEED)
    rows = np.flatnonzero(weight)
    return share.take(rows, weight), share.positions[rows], rng.randint(MAX_SEED)


def _grow_drawn(drawn: list, growth: dict) -> CostTree:
    """Grow one tree of a forest on the rows drawn for it, in the order of all rows."""
    places = np.concatenate([places for _, places, _ in drawn])
    if not len(places):
        raise ValueError("A tree of the forest has drawn rows of weight 0 alone.")
    order = np.argsort(places, kind="stable")
    shares = [share for share, _, _ in drawn]
    codes = np.concatenate([share.binned.codes for share in shares], axis=1)[:, order]
    y = np.concatenate([share.costs.y for share in shares])[order]
    first, weight, costs = shares[0], None, None
    if first.weight is not None:
        weight = np.concatenate([share.weight for share in shares])[order]
    if not first.costs.by_class:
        costs = np.concatenate([share.costs.table for share in shares])[order]
    tree, _ = grow_cost_tree(
        BinnedData(np.ascontiguousarray(codes), first.binned.bins),
        Costs(y, first.costs.matrix, costs, choices=first.costs.choices),
        weight,
        random_state=drawn[0][2],
        return_leaves=False,
        **growth,
    )
    return tree.without_inner_sums()


def _learn_part(sums: Any, rows: list, model: Any, common: Common, learn: Any) -> Any:
    """Learn from the rows of this worker and, through `sums`, from all others."""
    model = copy(model)
    if model.n_jobs is None:
        model.n_jobs = sums.n_threads
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        learn(model, join_parts(rows, common), sums)
    model._messages = dict(sums.n_messages)  # how many of each size
    return model, [(str(each.message), each.category) for each in told]


def _shell(estimator: Any) -> Any:
    """Return the estimator with what it knows of the columns, and nothing that it has learned."""
    shell = copy(estimator)
    for name in ("tree_", "estimators_", "_learner", "bins_"):
        vars(shell).pop(name, None)
    return shell


def _rows_of(number: int, given: dict) -> Any:
    X = as_frame(given["X"])
    y = one_column(given["y"])
    if len(X) != len(y):
        raise ValueError(f"Partition {number} of X has {len(X)} rows, but that of y has {len(y)}.")
    return X, y


def _take(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if is_frame(X) else X[rows]


@on_rows
def _sample_part(number: int, given: dict, wanted: Any, firsts: np.ndarray) -> Any:
    """Return the rows of a partition that place the bins."""
    X, y = _rows_of(number, given)
    weight = read_weights(given, y)
    if weight is not None:
        X = _take(X, np.flatnonzero(weight))
    if isinstance(wanted, slice):
        return X
    first = firsts[number]
    low, high = np.searchsorted(wanted, [first, first + len(X)])
    return _take(X, wanted[low:high] - first)


@on_rows
def _count_part(number: int, given: dict, shell: Any, features: list[int]) -> dict:
    """Return how often the categories of a partition occur, among rows with a weight."""
    X, y = _rows_of(number, given)
    weight = read_weights(given, y)
    X = shell._check_X(X, reset=False)
    if weight is not None:
        X = _take(X, np.flatnonzero(weight))
    return {f: count_categories(categorical_column(X, f)) for f in features}


def _add_counts(parts: list) -> Any:
    import pandas as pd

    filled = [part for part in parts if len(part)]
    if not filled:
        return parts[0]
    whole = pd.concat([pd.Series(p.to_numpy(), index=p.index.astype(object)) for p in filled])
    whole = whole.groupby(level=0, sort=False).sum()
    kinds = {part.index.dtype for part in filled}
    return whole.set_axis(whole.index.astype(kinds.pop())) if len(kinds) == 1 else whole


@on_rows
def _bin_part(number: int, given: dict, shell: Any, common: Common, firsts: np.ndarray) -> Rows:
    """Return a partition as the engine takes it."""
    X, y = _rows_of(number, given)
    classes, choices = common.classes, common.choices
    codes = label_positions(classes, y).astype(label_dtype(len(classes)))
    decisions = None if choices is None else choices.labels
    how: dict[str, Any] = {"n_samples": len(y), "classes": classes, "decisions": decisions}
    for name in FACTS[2:]:
        if name in given:
            check_costs(as_frame(given[name]), name=name, **how)
    binned = common.bins.transform(shell._check_X(X, reset=False)).codes
    costs, weight = cost_rows(given, codes, common.places), read_weights(given, y)
    if weight is not None and not weight.all():
        rows = np.flatnonzero(weight)
        binned, codes, weight = np.ascontiguousarray(binned[:, rows]), codes[rows], weight[rows]
        costs = None if costs is None else costs[rows]
    return Rows(binned, codes, weight, costs, int(firsts[number]))
