"""Reading DataFrames: as another table was read, or by their types."""

from collections.abc import Mapping
from typing import Any

from stakes.tables._readings import ColumnReading, Hints, Unreadable
from stakes.utils._optional import import_optional


def apply_readings(
    frame: Any, readings: Mapping[str, ColumnReading]
) -> tuple[Any, dict[str, Unreadable]]:
    """Read the columns of a table as they were read before; count what cannot be read so.

    Parameters
    ----------
    frame : DataFrame
        A new table. Columns without a reading stay as they are.
    readings : dict of str to ColumnReading
        From `Table.readings`.

    Returns
    -------
    frame : DataFrame
        Cells that cannot be read are missing in it.
    unreadable : dict of str to Unreadable
        The columns with such cells.

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.tables import ColumnReading, apply_readings
    >>> table = pd.DataFrame({"rate": ["1,5", "2", "two"]})
    >>> found, bad = apply_readings(table, {"rate": ColumnReading("rate", "number", decimal=",")})
    >>> found["rate"].tolist(), bad["rate"].count, bad["rate"].row
    ([1.5, 2.0, nan], 1, 3)
    """
    import_optional("pyarrow", extra="cli", purpose="Reading a table")
    from stakes.tables._columns import from_pandas, read_column

    unreadable, columns = {}, {}
    for name in frame.columns:
        columns[name] = frame[name]
        if name in readings:
            values, bad = read_column(from_pandas(frame[name]), readings[name])
            columns[name] = values.set_axis(frame.index)
            if bad is not None:
                unreadable[name] = bad
    return type(frame)(columns, index=frame.index), unreadable


def read_classes(values: Any, missing: tuple[str, ...] = ()) -> Any:
    """Return the classes that the values of a target stand for, as `read_table` reads them.

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.tables import read_classes
    >>> read_classes(pd.Series(["1", "0", ""])).tolist()
    [1, 0, <NA>]
    """
    import_optional("pyarrow", extra="cli", purpose="Reading a table")
    from stakes.tables._columns import from_pandas
    from stakes.tables._labels import read_labels

    return read_labels(from_pandas(values), missing)[0]


def readings_of(frame: Any) -> dict[str, ColumnReading]:
    """Return how the columns of a DataFrame would be read: by their types, text as text.

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.tables import readings_of
    >>> [r.kind for r in readings_of(pd.DataFrame({"a": [1.5], "b": ["x"], "c": [True]})).values()]
    ['number', 'category', 'boolean']
    """
    import_optional("pyarrow", extra="cli", purpose="Reading a table")
    from stakes.tables._columns import from_pandas, plain_column, types
    from stakes.tables._find import find_readings, text_reading

    readings = {}
    for name in map(str, frame.columns):
        column = plain_column(from_pandas(frame[name]))
        if types.is_large_string(column.type):
            readings[name] = text_reading(name, column, Hints())
        else:
            readings |= find_readings({name: column}, Hints())[0]
    return readings
