"""Turning what users give into finite arrays, and naming what is wrong with it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from stakes.utils._frames import as_column, as_frame
from stakes.utils._sklearn import check_sample_weight, num_samples, safe_indexing

# The largest cost: its fourth power is still a number.
LARGEST = 1e60


def describe(value: float) -> str:
    """Return a cost as people write it: no trailing zeros, six digits.

    Examples
    --------
    >>> from stakes.utils._arrays import describe
    >>> describe(1000.0), describe(0.75)
    ('1000', '0.75')
    """
    return f"{value:.6g}" if abs(value) < 1e6 else f"{value:,.0f}"


def quoted(labels: Iterable, limit: int = 8) -> str:
    """Return labels for a message: quoted, separated, cut after `limit`."""
    labels = list(labels)
    shown = ", ".join(
        repr(getattr(label, "item", lambda x=label: x)()) for label in labels[:limit]
    )
    return shown + (f" and {len(labels) - limit} more" if len(labels) > limit else "")


def counted(n: int, what: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> from stakes.utils._arrays import counted
    >>> counted(1, "row"), counted(2000, "row"), counted(2, "class")
    ('1 row', '2,000 rows', '2 classes')
    """
    ending = "" if n == 1 else ("es" if what.endswith("s") else "s")
    return f"{n:,} {what}{ending}"


def finite_array(
    values: Any,
    *,
    name: str,
    rows: Sequence | None = None,
    columns: Sequence | None = None,
    of: str = "cost",
) -> np.ndarray:
    """Return `values` as float64, refusing text, NaN and infinity with their place."""
    if isinstance(values, Mapping):
        raise ValueError(
            f"{name} is a dict: give an array whose rows are the truth and columns the decision, a "
            "DataFrame with labels, or CostMatrix.binary(fp=..., fn=..., labels=[...])."
        )
    array = np.asarray(as_frame(as_column(values)))
    if array.dtype.kind not in "fiub":
        array = _numbers_from_objects(array, name, rows, columns, of)
    array = array.astype(np.float64, copy=False)
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        kind = "NaN" if np.isnan(array[where]) else "an infinite entry"
        raise ValueError(
            f"{name} {_at(kind, where, rows, columns)}: every {of} must be a finite number."
        )
    if of == "cost" and array.size:
        _check_unit(array, name, rows, columns)
    return array


def _check_unit(costs: np.ndarray, name: str, rows: Any, columns: Any) -> None:
    """Refuse costs in a unit in which their sums and squares would be infinite, or nothing."""
    most = max(float(costs.max()), -float(costs.min()))
    if most <= LARGEST and (most == 0.0 or most >= 1.0 / LARGEST):
        return
    where = tuple(int(i) for i in np.argwhere(np.abs(costs) == most)[0])
    unit = "larger" if most > 1.0 else "smaller"
    raise ValueError(
        f"{name} {_at(f'{costs[where]:.6g}', where, rows, columns)}: give costs in a {unit} unit, "
        f"in which the largest is between {1.0 / LARGEST:g} and {LARGEST:g}."
    )


def check_is_table(X: Any) -> None:
    """Refuse what has no rows that could be examples."""
    none = X is None or isinstance(X, dict | set | frozenset | str | bytes) or np.isscalar(X)
    if isinstance(X, list | tuple) and any(isinstance(row, dict) for row in X[:1]):
        raise TypeError("X is a list of dicts: give pandas.DataFrame(X).")
    if none and not sparse.issparse(X):  # a sparse matrix by keys is a dict
        raise TypeError(
            f"X is a {type(X).__name__}: give an array, a DataFrame or another table, one row for "
            "each example."
        )


def columns_by_name(X: Any, columns: list[str]) -> Any:
    """Return these columns of a table, in this order; say which it lacks."""
    if not hasattr(X, "columns"):
        raise ValueError("The model was fitted on named columns: give a table with those.")
    names = [str(c) for c in X.columns]
    twice = (
        sorted({c for c in names if names.count(c) > 1}) if len(set(names)) < len(names) else []
    )
    if twice:
        raise ValueError(f"Two columns are called {quoted(twice)}: give them different names.")
    if names == columns and all(isinstance(c, str) for c in X.columns):
        return X
    missing = [c for c in columns if c not in names]
    if missing:
        raise ValueError(f"The data lacks the columns {quoted(missing)}.")
    return X.set_axis(names, axis=1)[columns]


def check_weights(sample_weight: Any, X: Any) -> np.ndarray | None:
    """Return the weights of the rows of X, of which none is negative and not all are 0."""
    if sample_weight is None:
        return None
    weight = check_sample_weight(sample_weight, X, ensure_non_negative=True)
    if not weight.any():
        raise ValueError("sample_weight is all zero: no example counts.")
    return weight


def rows_with_weight(
    X: Any, beside: dict[str, Any], sample_weight: np.ndarray | None
) -> tuple[Any, dict[str, Any], np.ndarray | None]:
    """Return X, what stands beside it (or None) and the weights without rows of weight 0."""
    if sample_weight is None or sample_weight.all():
        return X, beside, sample_weight
    rows = np.flatnonzero(sample_weight)
    for name, values in beside.items():
        if values is not None and num_samples(values) != len(sample_weight):
            raise ValueError(
                f"{name} has {num_samples(values)} rows, one per example, but X has "
                f"{len(sample_weight)}."
            )
    kept = {n: None if v is None else safe_indexing(v, rows) for n, v in beside.items()}
    return safe_indexing(X, rows), kept, sample_weight[rows]


def is_table(array: Any, dtype: Any, shape: tuple) -> bool:
    """Return whether this is an array as the kernels take it."""
    return (
        isinstance(array, np.ndarray)
        and array.dtype == dtype
        and array.shape == shape
        and array.flags.c_contiguous
    )


def check_tree_links(left: Any, right: Any, what: str) -> None:
    """Refuse children that are no tree: each comes after its parent, and those of a leaf are -1.

    No other negative number will do: some libraries follow whatever is not -1.
    """
    left, right = np.asarray(left), np.asarray(right)
    place = np.arange(len(left))
    holds = (
        len(left) > 0 and left.shape == right.shape and left.dtype.kind == "i" == right.dtype.kind
    )
    for children in (left, right) if holds else ():
        leads = (children > place) & (children < len(left))
        holds &= bool(np.where(left == -1, right == -1, leads).all())
    if not holds:
        raise ValueError(f"{what} does not hold together: its nodes do not lead to leaves.")


def _numbers_from_objects(array, name, rows, columns, of) -> np.ndarray:
    out = np.empty(array.shape, dtype=np.float64)
    for where, value in np.ndenumerate(array):
        try:
            if isinstance(value, complex) or (isinstance(value, str) and "_" in value):
                raise TypeError  # Python reads 1_0 as 10
            out[where] = float(value)
        except (TypeError, ValueError):
            raise ValueError(
                f"{name} {_at(quoted([value]), where, rows, columns)}: every {of} must be a number."
            ) from None
    return out


def _at(places: str, where: tuple, rows: Sequence | None, columns: Sequence | None) -> str:
    """Return where something was found, as a predicate: a single number has no place."""
    return f"has {places} at {_place(where, rows, columns)}" if where else f"is {places}"


def _place(where: tuple, rows: Sequence | None, columns: Sequence | None) -> str:
    if len(where) == 2 and rows is not None and columns is not None:
        return f"row {rows[where[0]]!r}, column {columns[where[1]]!r}"
    axes = {1: ("position",), 2: ("row", "column"), 3: ("example", "true class", "decision")}
    names = axes.get(len(where), ())
    if not names:
        return f"index {where}"
    return ", ".join(f"{axis} {i}" for axis, i in zip(names, where))
