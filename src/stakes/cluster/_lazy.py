"""Methods of fitted models on Dask collections: lazy, partition by partition."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from stakes._base import CostSensitiveMixin
from stakes.cluster.partitions import Partitions, need_dask, on_rows
from stakes.costs import CostMatrix
from stakes.decision import BaseRule
from stakes.utils._collections import is_collection
from stakes.utils._frames import one_column


def map_rows(method: Callable, model: Any, X: Any, *args: Any, **given: Any) -> Any:
    """Return ``method(model, X, *args, **given)``, to be computed partition by partition.

    A DataFrame of Dask gives a Series or a DataFrame with its index and divisions, an array an
    array with its chunks, and a list of partitions a list. Among what else is given, Dask
    collections have the partitions of X.
    """
    dask = need_dask(f"{type(model).__name__}.{method.__name__} on Dask collections")
    spread = {name: value for name, value in given.items() if is_collection(value)}
    same = {name: value for name, value in given.items() if name not in spread}
    data = Partitions(X=X, **spread)
    known = dask.delayed(model, pure=False, traverse=False)
    name = method.__name__
    call = dask.delayed(_call, pure=False)
    if isinstance(X, list | tuple):
        parts = ({key: p[i] for key, p in data.parts.items()} for i in range(data.n_parts))
        return [call(known, name, part, None, args, same) for part in parts]
    rows, fake = _fake_rows(model, X, spread)
    empty = _as_taken(getattr(model, name)(rows, *args, **fake, **same), rows)[:0]
    if hasattr(empty, "index"):
        import dask.dataframe as dd

        parts = ({key: p[i] for key, p in data.parts.items()} for i in range(data.n_parts))
        out = [call(known, name, part, empty, args, same) for part in parts]
        return dd.from_delayed(out, meta=empty, divisions=X.divisions, verify_meta=False)
    import dask.array as da

    arrays = [X, *spread.values()]  # rows are axis 0, all other axes are whole
    axes = [
        (0, *(10 * i + axis for axis in range(1, array.ndim))) for i, array in enumerate(arrays)
    ]
    return da.blockwise(
        _call_on_arrays,
        (0, 1000)[: empty.ndim],
        *(given for pair in zip(arrays, axes) for given in pair),
        concatenate=True,
        align_arrays=True,
        new_axes={1000: empty.shape[1]} if empty.ndim == 2 else None,
        dtype=empty.dtype,
        meta=empty,
        model=known,
        method=name,
        names=("X", *spread),
        empty=empty,
        args=args,
        same=same,
    )


def _fake_rows(model: Any, X: Any, spread: dict) -> tuple[Any, dict]:
    """Return rows that X could hold, and what else is given of each row."""
    if hasattr(X, "_meta_nonempty"):
        rows = X._meta_nonempty
    else:
        rows = np.zeros((1, *X.shape[1:]), dtype=X.dtype)
    if isinstance(model, BaseRule):  # which refuses what are no probabilities
        rows = rows * 0.0 + 1.0 / rows.shape[1]
    return rows, {name: np.zeros((len(rows), *v.shape[1:])) for name, v in spread.items()}


def _as_taken(said: np.ndarray, rows: Any) -> Any:
    """Return what was said of the rows of a frame as a frame with their index."""
    if not hasattr(rows, "index"):
        return said
    import pandas as pd

    if said.ndim == 1:
        return pd.Series(said, index=rows.index)
    return pd.DataFrame(said, index=rows.index)


@on_rows
def _call(model: Any, name: str, parts: dict, empty: Any, args: tuple, same: dict) -> Any:
    rows = parts.pop("X")
    if not len(rows):
        return empty
    return _as_taken(getattr(model, name)(rows, *args, **parts, **same), rows)


def _call_on_arrays(
    *arrays: Any, model: Any, method: str, names: tuple, empty: Any, args: tuple, same: dict
) -> Any:
    return _call(model, method, dict(zip(names, arrays)), empty, args, same)


def lazy_sums(finish: Callable, function: Callable, *more: Any, **collections: Any) -> Any:
    """Return ``finish(sums over all partitions)``, to be computed.

    Parameters
    ----------
    finish : callable
        Makes of the sums what is wanted.
    function : callable
        ``function(*more, **parts)`` returns the sums of a partition, an array. It is not asked
        about partitions without rows.
    *more : object
        The same for all partitions.
    **collections
        By name; what is None is left out.
    """
    dask = need_dask("A score of Dask collections")
    data = Partitions(**collections)
    first = next(iter(data.parts))
    known = [dask.delayed(value, pure=False, traverse=False) for value in more]
    call = dask.delayed(_sums_of_part, pure=False)
    sums = [
        call(function, known, first, {name: parts[i] for name, parts in data.parts.items()})
        for i in range(data.n_parts)
    ]
    return dask.delayed(_finish, pure=False)(finish, sums)


@on_rows
def _sums_of_part(function: Callable, more: list, first: str, parts: dict) -> Any:
    return np.asarray(function(*more, **parts), dtype=np.float64) if len(parts[first]) else None


def _finish(finish: Callable, parts: list) -> Any:
    filled = [part for part in parts if part is not None]
    if not filled:
        raise ValueError("There are 0 examples: nothing was decided.")
    columns = zip(*(part.ravel() for part in filled))
    return finish(np.array([math.fsum(each) for each in columns]).reshape(filled[0].shape))


def mean_of(sums: np.ndarray) -> float:
    """Return a mean from a sum and its weight."""
    if sums[1] == 0.0:
        raise ValueError("There are 0 examples that count: nothing was decided.")
    return float(sums[0] / sums[1])


def score(model: CostSensitiveMixin, cost_matrix: Any, **given: Any) -> Any:
    """Return minus the average cost of a model's decisions on collections, to be computed."""
    if isinstance(cost_matrix, str):
        raise ValueError(
            f"cost_matrix={cost_matrix!r} would count the classes of each partition: give "
            "the matrix itself, such as cost_matrix_."
        )
    return lazy_sums(mean_of, _score_part, model, cost_matrix, **given)


def _score_part(
    model: CostSensitiveMixin,
    cost_matrix: Any,
    X: Any,
    y: Any,
    costs: Any = None,
    cost_tensor: Any = None,
    sample_weight: Any = None,
) -> tuple[float, float]:
    """Return minus what the decisions on some rows cost in sum, and their weight."""
    if sample_weight is not None and not np.any(sample_weight):
        return 0.0, 0.0
    given = {"costs": costs, "cost_tensor": cost_tensor, "sample_weight": sample_weight}
    paid, weight = model._paid_for(X, y, cost_matrix, **given)
    weight = np.ones(len(paid)) if weight is None else weight
    return -float(paid @ weight), float(weight.sum())


def measure(
    finish: Callable,
    sums_of: Callable,
    read: Callable,
    y_true: Any,
    y_pred: Any,
    labels: Any,
    sample_weight: Any,
    *,
    cost_matrix: Any,
    **costs: Any,
) -> Any:
    """Return a measure of decisions, ``finish(sums over all partitions)``, to be computed.

    Parameters
    ----------
    finish : callable
        Makes of the sums what is wanted.
    sums_of : callable
        ``sums_of(costs, decided, weight)`` returns the sums of a partition.
    read : callable
        Makes of what was given costs, decisions as positions, and weights.
    y_true, y_pred, labels, sample_weight, cost_matrix, costs
        As in `stakes.metrics.total_cost`.
    """
    if labels is None:
        if not isinstance(cost_matrix, CostMatrix) or cost_matrix.labels is None:
            raise ValueError(
                "Of Dask collections a partition may lack classes: give labels, or a CostMatrix "
                "with labels."
            )
        labels = cost_matrix.labels
    if isinstance(cost_matrix, str) and cost_matrix != "zero_one":
        raise ValueError(
            f"cost_matrix={cost_matrix!r} would count the classes of each partition: give the "
            "matrix itself."
        )
    known = (sums_of, read, np.asarray(labels), cost_matrix)
    rows = {"y_true": y_true, "y_pred": y_pred, "sample_weight": sample_weight, **costs}
    return lazy_sums(finish, _measure_part, *known, **rows)


def _measure_part(
    sums_of: Callable,
    read: Callable,
    labels: np.ndarray,
    cost_matrix: Any,
    sample_weight: Any = None,
    **rows: Any,
) -> np.ndarray:
    """Return the sums of a partition; all 0 where its weights are."""
    weight = None if sample_weight is None else one_column(sample_weight)
    counts = weight is None or weight.any()
    given = {"costs": None, "cost_tensor": None, **rows, "cost_matrix": cost_matrix}
    sums = sums_of(*read(labels=labels, sample_weight=weight if counts else None, **given))
    return sums if counts else np.zeros_like(sums)


def combine(function: Callable, *values: Any) -> Any:
    """Return ``function(*values)`` of lazy numbers, to be computed."""
    return need_dask("A score of Dask collections").delayed(function, pure=False)(*values)
