"""Reading classes: as they are written. Imported on use: pyarrow need not be there."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from stakes.tables._columns import plain_column, read_column, types, without
from stakes.tables._readings import ColumnReading

INTEGER = r"^(0|-?[1-9]\d{0,17})$"
# A whole number as a program writes it that knows only fractions.
WITH_POINT = r"^(0|-?[1-9]\d{0,14})\.0$"


def read_labels(
    column: pa.ChunkedArray, missing: tuple[str, ...] = (), kind: str | None = None
) -> tuple[pd.Series, str]:
    """Return the classes, and what to say about them.

    Whole numbers become integers where every class is one, unless the classes of the table before
    were text (`kind`); all else is text. Only an empty cell is missing, and what the user calls so.
    """
    column = plain_column(column)
    if kind == "category":
        return read_column(column, ColumnReading("", "category", missing=missing))[0], ""
    if types.is_integer(column.type):
        return _integers(column), ""
    if types.is_floating(column.type):
        values = np.asarray(column.to_numpy(), dtype=float)
        known = values[~np.isnan(values)]
        if (known == np.round(known)).all() and (np.abs(known) < 2**53).all():
            return _integers(
                pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
            ), ""
    if types.is_large_string(column.type):
        column = without(column, ("", *missing))
        words = pc.unique(column.drop_null())
        if len(words) and pc.all(pc.match_substring_regex(words, INTEGER)).as_py():
            return _integers(column), ""
        if len(words) and pc.all(pc.match_substring_regex(words, WITH_POINT)).as_py():
            return _integers(pc.replace_substring(column, ".0", "")), "classes such as 1.0 are 1"
    return read_column(column, ColumnReading("", "category"))[0], ""


def _integers(column: pa.ChunkedArray) -> pd.Series:
    """Return whole numbers, missing ones as gaps."""
    column = column.cast(pa.int64(), safe=False)
    if column.null_count == 0:
        return pd.Series(column.to_numpy())
    return column.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
