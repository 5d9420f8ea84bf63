"""Writing a table: the format by the name, whole or not at all, and nothing that would run."""

import csv
import gzip
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

from stakes.utils._arrays import counted
from stakes.utils._csv import CsvError as TableError
from stakes.utils._files import write_atomically
from stakes.utils._formulas import FORMULA, NUMBER, harmless
from stakes.utils._optional import import_optional


def write_table(frame: Any, target: str | os.PathLike) -> list[str]:
    """Write a table in the format that the name says; return what there is to say about it.

    In CSV, TSV and xlsx, text that a spreadsheet would run as a formula (it begins with ``=``,
    ``+``, ``-``, ``@``, a tab or a line end) gets an apostrophe before it. It stays there when the file is read again:
    where every cell must come back as it was, write Parquet, Arrow or JSON lines.

    Parameters
    ----------
    frame : DataFrame
        The columns; the index is not written.
    target : str or path
        ``.csv``, ``.tsv``, either with ``.gz``, ``.parquet``, ``.arrow``, ``.feather``, ``.xlsx``
        or ``.jsonl``; any other name is CSV, and "-" is CSV on standard output.

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.tables import write_table
    >>> write_table(pd.DataFrame({"row": [1, 2], "decision": ["good", "=1+1"]}), "-")
    row,decision
    1,good
    2,'=1+1
    ['1 text that a spreadsheet would run as a formula begins with an apostrophe now.']
    """
    endings = [ending.lower() for ending in Path(target).suffixes]
    packed = bool(endings) and endings[-1] == ".gz"
    ending = ([e for e in endings if e != ".gz"] or [""])[-1]
    notes: list[str] = []
    if ending in (".parquet", ".pq", ".arrow", ".feather", ".jsonl", ".ndjson"):
        data = _typed(frame, ending)
    else:
        frame, n = neutralised(frame)
        if n:
            begins = "begins" if n == 1 else "begin"
            notes.append(
                f"{counted(n, 'text')} that a spreadsheet would run as a formula {begins} with an "
                "apostrophe now."
            )
        if ending in (".xlsx", ".xlsm"):
            data = _xlsx(frame)
        else:
            text = _csv(frame, separator="\t" if ending == ".tsv" else ",")
            if str(target) == "-":
                sys.stdout.write(text)
                sys.stdout.flush()
                return notes
            data = text.encode("utf-8")
    if packed:
        data = gzip.compress(data, mtime=0)
    write_atomically(target, data)
    return notes


def neutralised(frame: Any) -> tuple[Any, int]:
    """Return a table in which no text runs as a formula, and how many texts were changed."""
    changed, columns = 0, {}
    for position in range(frame.shape[1]):
        column = frame.iloc[:, position]
        if column.dtype.kind not in "fiubM":
            text = column.where(column.map(lambda cell: isinstance(cell, str)))
            text = text.astype(object)
            runs = text.str.match(FORMULA).eq(True) & ~text.str.match(NUMBER).eq(True)
            if runs.any():
                changed += int(runs.sum())
                column = column.astype(object).where(~runs, "'" + text.astype(str))
        columns[position] = column
    names = [harmless(str(name)) for name in frame.columns]
    changed += sum(new != str(old) for new, old in zip(names, frame.columns))
    return type(frame)(columns).set_axis(names, axis=1), changed


def _csv(frame: Any, separator: str) -> str:
    text = frame.to_csv(index=False, sep=separator, lineterminator="\n")
    if "\r" in text:  # not quoted by itself, and yet the end of a line to others
        text = frame.to_csv(
            index=False, sep=separator, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC
        )
    return text


def _typed(frame: Any, ending: str) -> bytes:
    pa = import_optional("pyarrow", extra="cli", purpose=f"A {ending} file")
    from pyarrow import feather, parquet

    buffer = io.BytesIO()
    if ending in (".jsonl", ".ndjson"):
        return _json_lines(frame).encode("utf-8")
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if ending in (".parquet", ".pq"):
        parquet.write_table(table, buffer)
    else:
        feather.write_feather(table, buffer, compression="uncompressed")
    return buffer.getvalue()


def _json_lines(frame: Any) -> str:
    """Return one object per row, numbers to the last digit, gaps as null."""
    columns = [
        [
            None if gone else _plain(cell)
            for cell, gone in zip(frame[name].tolist(), frame[name].isna())
        ]
        for name in frame.columns
    ]
    names = [str(name) for name in frame.columns]
    rows = (json.dumps(dict(zip(names, row)), ensure_ascii=False) for row in zip(*columns))
    return "".join(f"{row}\n" for row in rows)


def _plain(cell: Any) -> Any:
    return cell.isoformat() if hasattr(cell, "isoformat") else cell


def _xlsx(frame: Any) -> bytes:
    import_optional("openpyxl", extra="cli", purpose="An Excel file")
    if len(frame) >= 1_048_576 or frame.shape[1] > 16_384:
        raise TableError(
            f"An xlsx file cannot hold {len(frame):,} rows of {frame.shape[1]:,} columns."
        )
    buffer = io.BytesIO()
    frame.to_excel(buffer, index=False, engine="openpyxl")
    return buffer.getvalue()
