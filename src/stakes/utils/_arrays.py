"""Turning what users give into finite arrays, and naming what is wrong with it."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


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
) -> np.ndarray:
    """Return `values` as float64, refusing text, NaN and infinity with their place."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        array = _numbers_from_objects(array, name, rows, columns)
    array = array.astype(np.float64, copy=False)
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        kind = "NaN" if np.isnan(array[where]) else "an infinite entry"
        raise ValueError(
            f"{name} has {kind} at {_place(where, rows, columns)}: every cost must be a finite number."
        )
    return array


def _numbers_from_objects(array, name, rows, columns) -> np.ndarray:
    out = np.empty(array.shape, dtype=np.float64)
    for where, value in np.ndenumerate(array):
        try:
            if isinstance(value, complex):
                raise TypeError
            out[where] = float(value)
        except (TypeError, ValueError):
            raise ValueError(
                f"{name} has {quoted([value])} at {_place(where, rows, columns)}: "
                "every cost must be a number."
            ) from None
    return out


def _place(where: tuple, rows: Sequence | None, columns: Sequence | None) -> str:
    if len(where) == 2 and rows is not None and columns is not None:
        return f"row {rows[where[0]]!r}, column {columns[where[1]]!r}"
    axes = {1: ("position",), 2: ("row", "column"), 3: ("example", "true class", "decision")}
    names = axes.get(len(where), ())
    if not names:
        return f"index {where}"
    return ", ".join(f"{axis} {i}" for axis, i in zip(names, where))
