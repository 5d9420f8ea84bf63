"""Methods of fitted models on Dask collections: lazy, partition by partition."""

import inspect
import math
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from stakes._dask._collections import Partitions, is_collection, need_dask, on_rows

Method = TypeVar("Method", bound=Callable)

# The methods that say something of each row; the first argument holds the rows.
BY_ROW = ("predict", "predict_proba", "expected_costs", "decision_function")


def serve_collections(cls: type) -> None:
    """Let the methods of a class take Dask collections as they take arrays."""
    for name in BY_ROW:
        found = inspect.getattr_static(cls, name, None)
        if hasattr(found, "fn"):  # made available on a condition by scikit-learn
            if name in vars(cls) and not hasattr(found.fn, "on_collections"):
                found.fn = lazily(found.fn)
        elif inspect.isfunction(found) and not hasattr(found, "on_collections"):
            setattr(cls, name, lazily(found))


def lazily(method: Method) -> Method:
    """Return a method that gives a collection for a collection, and else what it gives."""

    @wraps(method)
    def on_either(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_collection(X):
            return method(self, X, *args, **kwargs)
        return map_rows(method, self, X, *args, **kwargs)

    on_either.on_collections = True  # type: ignore[attr-defined]
    return cast(Method, on_either)


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
    if hasattr(model, "_as_probabilities"):
        rows = model._as_probabilities(rows)
    return rows, {name: np.zeros((len(rows), *v.shape[1:])) for name, v in spread.items()}


def _as_taken(found: np.ndarray, rows: Any) -> Any:
    """Return what was found of the rows of a frame as a frame with their index."""
    if not hasattr(rows, "index"):
        return found
    import pandas as pd

    if found.ndim == 1:
        return pd.Series(found, index=rows.index)
    return pd.DataFrame(found, index=rows.index)


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
