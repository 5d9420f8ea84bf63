"""Reading a table: its columns, how each was read, and what there is to say about it."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stakes.tables._readings import ColumnReading, Hints, Unreadable
from stakes.tables._sources import MAX_CELLS, STANDARD_INPUT, load_columns
from stakes.utils._csv import CsvError as TableError
from stakes.utils._optional import import_optional


@dataclass
class Table:
    """A table as it was read.

    Attributes
    ----------
    frame : DataFrame
        The columns.
    readings : dict of str to ColumnReading
        How each was read.
    notes : list of str
        What was recognised, left out or renamed, in sentences.
    unreadable : dict of str to Unreadable
        The columns with cells that could not be read as the given readings say.
    cells : DataFrame or None
        The cells as they are written, where they were asked for.
    """

    frame: Any
    readings: dict[str, ColumnReading]
    notes: list[str] = field(default_factory=list)
    unreadable: dict[str, Unreadable] = field(default_factory=dict)
    cells: Any = None


def read_table(
    source: str | os.PathLike,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    target: str | None = None,
    spare: Iterable[str] = (),
    readings: Mapping[str, ColumnReading] | None = None,
    keep_cells: bool = False,
    ask: bool = True,
    limit: int = MAX_CELLS,
    **written: Any,
) -> Table:
    r"""Read a table from a file of any usual kind.

    CSV, TSV, either of them compressed by gzip, Parquet, Arrow (Feather), xlsx and JSON lines are
    told by how the file begins and by its name.

    Numbers and dates in local forms are recognised where the column proves how they are
    written, and this is said in `notes`; what can be read in two ways is refused. Words such as NA
    are missing values in columns of numbers, dates and truth values, and values in text.

    Parameters
    ----------
    source : str or path
        A file; "-" is standard input.
    separator : str, default=None
        Between the cells of a CSV file: one character, or "tab". None is the usual one that the
        header has most of.
    encoding : str, default=None
        Of text; None is UTF-8.
    sheet : str, default=None
        Of an xlsx file; None is the first.
    target : str, default=None
        The column with the classes: read as written, "NA" and "01" included. Whole numbers
        become integers where every class is one.
    spare : iterable of str
        Columns that will not be used: what could be read in two ways is text there, and what is
        neither number, text nor date is left out.
    readings : dict of str to ColumnReading, default=None
        Read these columns as another table was read; see `unreadable`.
    keep_cells : bool, default=False
        Whether to keep the cells as they are written.
    ask : bool, default=True
        Whether to refuse what can be read in two ways; otherwise it stays text.
    limit : int, default=200,000,000
        The most cells that are taken into memory.
    **written
        What the table itself may not prove: `decimal` and `thousands`, the marks of numbers; `dates`,
        how 03/04/2024 is written ("day-first", "month-first" or "text"); `na_values`, more texts
        that count as missing, in every column.

    Returns
    -------
    table : Table
        The columns, and how they were read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from stakes.tables import read_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "loans.csv"
    >>> _ = path.write_text("amount;rate;risk\n1.200,50;3,5;NA\n800,00;4,1;01\n")
    >>> table = read_table(path, target="risk")
    >>> table.frame.to_dict("list")
    {'amount': [1200.5, 800.0], 'rate': [3.5, 4.1], 'risk': ['NA', '01']}
    >>> table.notes[0]
    "'amount' is read as number: decimal comma, thousands as 1.200,50."
    """
    import_optional("pyarrow", extra="cli", purpose="Reading a table")
    import pandas as pd
    import pyarrow as pa

    from stakes.tables._columns import read_column
    from stakes.tables._find import find_readings
    from stakes.tables._labels import read_labels

    hints = Hints(**written)
    name = STANDARD_INPUT if str(source) == "-" else str(source)
    loaded = load_columns(source, separator=separator, encoding=encoding, sheet=sheet, limit=limit)
    columns, known = loaded.columns, dict(readings or {})
    spare = set(spare) if readings is None else set(columns) - set(known)
    _leave_out_nested(columns, spare, name)
    table = Table(None, {}, loaded.notes)
    if keep_cells:
        table.cells = pd.DataFrame({column: v.to_pandas() for column, v in columns.items()})
    unknown = {c: v for c, v in columns.items() if c not in known and c != target}
    settled, notes = find_readings(
        unknown, hints, name, spare, ask=ask, semicolons=loaded.separator == ";"
    )
    del unknown
    table.notes += notes
    series, pool = {}, pa.default_memory_pool()
    for column in list(columns):
        values, bad = columns.pop(column), None  # what was read is given back, column by column
        if column == target:
            kind = known[column].kind if column in known else None
            series[column], note = read_labels(values, hints.na_values, kind)
            table.notes += [f"{column!r}: {note}."] if note else []
            kind = "number" if series[column].dtype.kind == "i" else "category"
            reading = ColumnReading(column, kind, missing=hints.na_values)
        else:
            reading = known[column] if column in known else settled[column]
            series[column], bad = read_column(values, reading)
        del values
        pool.release_unused()  # else both copies of the table are in memory at the end
        table.readings[column] = reading
        if bad is not None:
            table.unreadable[column] = bad
    table.frame = pd.DataFrame(series, copy=False)
    return table


def _leave_out_nested(columns: dict[str, Any], spare: set[str], name: str) -> None:
    """Refuse columns of lists and the like; those that will not be used are left out."""
    from stakes.tables._columns import plain_column

    for column in list(columns):
        try:
            plain_column(columns[column].slice(0, 0))
        except TableError as error:
            if column not in spare:
                raise TableError(
                    f"The column {column!r} of {name} {error}, which is neither number, text nor "
                    "date: leave it out (--drop)."
                ) from None
            del columns[column]
