"""From a file, or what comes in by the pipe, to columns: the shape checked, the size limited."""

import contextlib
import difflib
import os
import re
import shutil
import sys
import tempfile
import time
import weakref
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stakes.utils._arrays import counted, quoted
from stakes.utils._csv import CsvError as TableError
from stakes.utils._csv import csv_rows, open_text, open_utf8, ragged, read_header, utf8_blocks
from stakes.utils._optional import import_optional

STANDARD_INPUT = "standard input"
# No table of more cells is taken into memory, nor text of more bytes than so many per cell.
MAX_CELLS = 200_000_000
BYTES_PER_CELL = 20
# So many cells of a Parquet file are unpacked at a time.
CELLS_AT_ONCE = 4_000_000
LET_GO = 1.0  # seconds in which Arrow's threads let go of a file, at most; mostly at once
# Lists and objects of JSON may stand in each other so deep.
MAX_DEPTH = 100
BRACKET, QUOTED = re.compile(r"[\[\]{}]"), re.compile(r'"(?:[^"\\]|\\.)*"')
ENCODING_ADVICE = "save it as UTF-8, or if it is Latin-1, say --encoding latin-1"
NOT_TABLES = {
    b"\xd0\xcf\x11\xe0": "is an old Excel file: save it as .xlsx",
    b"BZh": "is compressed by bzip2: decompress it first, or use gzip",
    b"\xfd7zXZ": "is compressed by xz: decompress it first, or use gzip",
    b"\x28\xb5\x2f\xfd": "is compressed by zstd: decompress it first, or use gzip",
    b"%PDF": "is a PDF, not a table",
    b"FEA1": "is a Feather file of the first version: write it anew",
}


@dataclass
class Columns:
    """The columns of a table as Arrow arrays, text as it is written."""

    columns: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    separator: str = ""


@dataclass(frozen=True)
class _File:
    """A file to read from."""

    path: Path
    name: str
    cells: int
    separator: str | None
    encoding: str | None
    sheet: str | None

    @property
    def text(self) -> dict[str, Any]:
        """How its text is opened."""
        return {"name": self.name, "encoding": self.encoding, "advice": ENCODING_ADVICE}

    def check_cells(self, cells: int) -> None:
        """Refuse a table of too many cells."""
        if cells > self.cells:
            raise TableError(
                f"{self.name} has {cells:,} cells or more, and the limit is {self.cells:,}: use "
                "fewer rows or columns, or raise it by --max-cells."
            )

    def check_bytes(self, n: int) -> None:
        """Refuse a table of too many bytes."""
        if n > self.cells * BYTES_PER_CELL:
            raise TableError(
                f"{self.name} holds {n / 1e9:,.1f} GB or more, and the limit is "
                f"{self.cells * BYTES_PER_CELL / 1e9:,.1f} GB: use fewer rows or columns, or raise "
                "it by --max-cells."
            )


def load_columns(
    source: str | os.PathLike,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    limit: int = MAX_CELLS,
) -> Columns:
    """Read a file of any kind, or standard input where `source` is "-"."""
    import_optional("pyarrow", extra="cli", purpose="Reading a table")
    with _on_disk(source, limit * BYTES_PER_CELL) as (path, name):
        file = _File(path, name, limit, separator, encoding, sheet)
        columns = _reader(file)(file)
    _check(columns, name)
    return columns


@contextlib.contextmanager
def _on_disk(source: str | os.PathLike, limit: int) -> Iterator[tuple[Path, str]]:
    """Give a file of its own to what can be read only once: a pipe, standard input."""
    path = Path(source)
    standard = str(source) == "-"
    name = STANDARD_INPUT if standard else str(source)
    if not standard:
        if path.is_dir():
            raise TableError(f"{name} is a folder, not a table.")
        if path.is_file():
            yield path, name
            return
    with tempfile.TemporaryDirectory(prefix="stakes-") as folder:
        copy = Path(folder) / "table"
        with contextlib.ExitStack() as stack:
            stream = sys.stdin.buffer if standard else stack.enter_context(path.open("rb"))
            to = stack.enter_context(copy.open("wb"))
            shutil.copyfileobj(_Limited(stream, limit, name), to)
        yield copy, name


@dataclass
class _Limited:
    """A stream that is refused when it has given too much."""

    stream: Any
    limit: int
    name: str
    given: int = 0

    def read(self, n: int = -1, /) -> bytes:
        block = self.stream.read(n)
        self.given += len(block)
        if self.given > self.limit:
            raise TableError(f"{self.name} does not end after {self.limit / 1e9:,.1f} GB.")
        return block


def _reader(file: _File) -> Any:
    """Return what reads a file, by how it begins and by its name."""
    with file.path.open("rb") as opened:
        begin = opened.read(8)
    if not begin:
        raise TableError(f"{file.name} is empty.")
    for magic, why in NOT_TABLES.items():
        if begin.startswith(magic):
            raise TableError(f"{file.name} {why}.")
    endings = [ending.lower() for ending in Path(file.name).suffixes]
    ending = ([e for e in endings if e != ".gz"] or [""])[-1]
    if begin.startswith(b"PAR1") or ending in (".parquet", ".pq"):
        return _read_parquet
    if begin.startswith(b"ARROW1") or ending in (".arrow", ".feather", ".ipc"):
        return _read_arrow
    if begin.startswith(b"PK\x03\x04") or ending in (".xlsx", ".xlsm"):
        return _read_xlsx
    if ending in (".jsonl", ".ndjson", ".json"):
        return _read_json
    if not endings or file.name == STANDARD_INPUT:
        first = next(utf8_blocks(file.path, **file.text), b"")[:1]
        if first == b"{":
            return _read_json
    return _read_csv


def _check(columns: Columns, name: str) -> None:
    """Refuse what has the columns or rows of no table."""
    names = list(columns.columns)
    n_rows = len(columns.columns[names[0]]) if names else 0
    if len(names) == 1:
        raise TableError(
            f"{name} has a single column, {quoted(names)}: a table needs the target and at least "
            "one more (is it separated otherwise? --separator)."
        )
    if n_rows == 0:
        raise TableError(f"{name} has a header but no rows.")


def _name_columns(names: list[Any], name: str) -> tuple[list[str], list[str]]:
    """Return the names as text, with names for those that have none; refuse doubles."""
    notes: list[str] = []
    texts = ["" if n is None else str(n).strip() for n in names]
    unnamed = [i for i, text in enumerate(texts) if not text]
    for i in unnamed:
        texts[i] = f"Unnamed: {i}"
    if unnamed:
        notes.append(
            f"Without a name in {name}, and now called: {quoted([texts[i] for i in unnamed])}."
        )
    places: dict[str, list[int]] = {}
    for i, text in enumerate(texts):
        places.setdefault(text, []).append(i + 1)
    for text, where in places.items():
        if len(where) > 1:
            count = "two" if len(where) == 2 else f"{len(where):,}"
            raise TableError(
                f"{name} has {count} columns called {text!r} (columns {where[0]} and {where[1]}"
                f"{', …' if len(where) > 2 else ''}): give them different names."
            )
    return texts, notes


# -- CSV -----------------------------------------------------------------------------------------


def _read_csv(file: _File) -> Columns:
    import pyarrow as pa
    from pyarrow import csv

    header, separator = read_header(
        file.path, separator=file.separator or _usual(file), **file.text
    )
    names, notes = _name_columns(header, file.name)
    if len(names) == 1:
        _check(Columns({names[0]: []}), file.name)
    spaced = _check_text(file, separator)
    if spaced:  # a quoted cell after a space
        return Columns(_slowly(file, names, separator), notes, separator)
    try:
        table = _by_arrow(
            csv.read_csv,
            file,
            read_options=csv.ReadOptions(
                column_names=names, skip_rows_after_names=1, block_size=1 << 25
            ),
            parse_options=csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.large_string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid as error:
        with open_text(file.path, **file.text) as opened:
            why = ragged(csv_rows(opened, separator)) or str(error).splitlines()[0][:200]
        raise TableError(f"{file.name} is not a table: {why.rstrip('.')}.") from None
    columns, arrays = {}, table.columns[::-1]
    del table  # so that a column is given back once it is trimmed
    for name in names:
        columns[name] = _left_trimmed(arrays.pop())
    if not header[-1].strip() and _is_blank(columns[names[-1]]):
        del columns[names[-1]]
        _, notes = _name_columns(header[:-1], file.name)
        notes.append(f"Left out: the last column of {file.name}, which has no name and no values.")
    return Columns(columns, notes, separator)


def _by_arrow(read: Callable, file: _File, **how: Any) -> Any:
    """Let Arrow read a file, and return when its threads have let go of it.

    One that lets go only while Python ends aborts the process: a short file and an error are enough.
    """
    opened = open_utf8(file.path, **file.text)
    held = weakref.ref(opened)
    try:
        return read(opened, **how)
    finally:
        del opened
        until = time.monotonic() + LET_GO
        while held() is not None and time.monotonic() < until:
            time.sleep(0.0002)


def _usual(file: _File) -> str | None:
    return "tab" if ".tsv" in Path(file.name).suffixes else None


def _check_text(file: _File, separator: str) -> bool:
    """Read a text through before it is taken into memory; say whether it has `, "`."""
    mark = separator.encode()
    spaced, cells, size = False, 0, 0
    for block in utf8_blocks(file.path, **file.text):
        spaced = spaced or mark + b' "' in block
        cells += block.count(mark) + block.count(b"\n")
        size += len(block)
        file.check_cells(cells)
        file.check_bytes(size)
    return spaced


def _slowly(file: _File, names: list[str], separator: str) -> dict[str, Any]:
    import pyarrow as pa

    with open_text(file.path, **file.text) as opened:
        rows = list(csv_rows(opened, separator))
    problem = ragged(iter(rows))
    if problem:
        raise TableError(f"{file.name} is not a table: {problem}.")
    cells = [row for _, row in rows[1:]]
    return {
        name: pa.chunked_array([pa.array([row[i] for row in cells], pa.large_string())])
        for i, name in enumerate(names)
    }


def _left_trimmed(column: Any) -> Any:
    """Return text without spaces after the separator."""
    import pyarrow.compute as pc

    if pc.any(pc.starts_with(column, " ")).as_py():
        return pc.utf8_ltrim(column, " ")
    return column


def _is_blank(column: Any) -> bool:
    import pyarrow.compute as pc

    return not pc.any(pc.not_equal(column, "")).as_py()


# -- the others ------------------------------------------------------------------------------------


def _from_arrow(table: Any, file: _File, notes: list[str]) -> Columns:
    names, more = _name_columns(table.column_names, file.name)
    return Columns(dict(zip(names, table.columns)), notes + more)


def _read_parquet(file: _File) -> Columns:
    import pyarrow as pa
    from pyarrow import parquet

    with _as_sentence(file, "no whole Parquet file"):
        schema = parquet.read_schema(file.path)
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    with (
        _as_sentence(file, "no whole Parquet file"),
        parquet.ParquetFile(file.path, read_dictionary=texts) as opened,
    ):
        metadata = opened.metadata
        file.check_cells(metadata.num_rows * metadata.num_columns)
        file.check_bytes(
            sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
        )
        table = _read_in_parts(opened)
        table.validate(full=True)
        _check_repeated(table, file)
        return _from_arrow(*_without_index(table, file))


def _read_in_parts(opened: Any) -> Any:
    """Read a Parquet file a few columns at a time: what is unpacked at once is as large again."""
    import pyarrow as pa

    names = opened.schema_arrow.names
    at_once = max(1, CELLS_AT_ONCE // max(opened.metadata.num_rows, 1))
    if len(names) <= at_once or len(set(names)) < len(names):
        return opened.read()
    columns: list = []
    for first in range(0, len(names), at_once):
        part = names[first : first + at_once]
        columns += opened.read(columns=part).select(part).columns
    table = pa.table(columns, names=names)
    return table.replace_schema_metadata(opened.schema_arrow.metadata)


def _check_repeated(table: Any, file: _File) -> None:
    """Refuse a few long texts that stand in too many rows, before they are written out in each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    size = 0
    for column in table.columns:
        if not pa.types.is_dictionary(column.type):
            continue
        for chunk in column.chunks:
            if chunk.dictionary.type in (pa.string(), pa.large_string()):
                lengths = pc.take(pc.binary_length(chunk.dictionary), chunk.indices)
                size += pc.sum(pc.cast(lengths, pa.int64())).as_py() or 0
        file.check_bytes(size)


def _without_index(table: Any, file: _File) -> tuple[Any, _File, list[str]]:
    """Return the table without the index that pandas stored beside the columns."""
    stored = (table.schema.pandas_metadata or {}).get("index_columns", [])
    index = [name for name in stored if isinstance(name, str) and name in table.column_names]
    if not index:
        return table, file, []
    note = f"Left out: {quoted(index)}, which {file.name} holds as the index of a DataFrame."
    return table.drop_columns(index), file, [note]


def _read_arrow(file: _File) -> Columns:
    import pyarrow as pa

    with (
        _as_sentence(file, "no whole Arrow file"),
        pa.memory_map(str(file.path)) as opened,
        pa.ipc.open_file(opened) as reader,
    ):
        batches, cells, size = [], 0, 0
        for i in range(reader.num_record_batches):
            batch = reader.get_batch(i)
            batch.validate(full=True)  # a damaged file may point outside of itself
            cells += batch.num_rows * batch.num_columns
            size += batch.nbytes
            file.check_cells(cells)
            file.check_bytes(size)
            batches.append(batch)
        table = pa.Table.from_batches(batches, reader.schema)
        _check_repeated(table, file)
        return _from_arrow(*_without_index(table, file))


def _read_json(file: _File) -> Columns:
    import pyarrow as pa
    from pyarrow import json

    lines = size = 0
    keys = None
    for block in utf8_blocks(file.path, **file.text):
        lines, size = lines + block.count(b"\n"), size + len(block)
        if keys is None and block.strip():
            if block.lstrip()[:1] != b"{":
                raise TableError(
                    f"{file.name} is not JSON lines, which have one object in each line."
                )
            keys = block.partition(b"\n")[0].count(b":")
        file.check_cells(lines * (keys or 1))
        file.check_bytes(size)
    _check_depth(file)
    try:
        table = _by_arrow(
            json.read_json,
            file,
            read_options=json.ReadOptions(block_size=1 << 25),
            parse_options=json.ParseOptions(newlines_in_values=False),
        )
    except pa.ArrowInvalid as error:
        why = str(error).splitlines()[0].replace("JSON parse error: ", "")
        raise TableError(f"{file.name} is not JSON lines: {why[:200].rstrip('.')}.") from None
    return _from_arrow(table, file, [])


def _check_depth(file: _File) -> None:
    """Refuse objects in objects so deep that Arrow, which asks itself for each, would crash."""
    with open_text(file.path, **file.text) as opened:
        for number, line in enumerate(opened, 1):
            if line.count("[") + line.count("{") <= MAX_DEPTH:
                continue
            depth = deepest = 0
            for mark in BRACKET.findall(QUOTED.sub("", line)):
                depth += 1 if mark in "[{" else -1
                deepest = max(deepest, depth)
            if deepest > MAX_DEPTH:
                raise TableError(
                    f"{file.name} is no table: line {number:,} has lists and objects in each other, "
                    f"{deepest:,} deep."
                )


def _read_xlsx(file: _File) -> Columns:
    openpyxl = import_optional("openpyxl", extra="cli", purpose="An Excel file")
    with _as_sentence(file, "no whole Excel file"):
        with zipfile.ZipFile(file.path) as archive:
            names = archive.namelist()
            if not any(name.startswith("xl/") for name in names):
                raise TableError(f"{file.name} is an archive: unpack it first.")
            file.check_bytes(sum(item.file_size for item in archive.infolist()))
        book = openpyxl.load_workbook(file.path, read_only=True, data_only=True)
        try:
            sheet, notes = _sheet(book, file)
            rows, cells = [], 0
            for row in sheet.iter_rows(values_only=True):
                cells += len(row)
                file.check_cells(cells)
                if any(cell is not None for cell in row):
                    rows.append(row)
        finally:
            book.close()
    if not rows:
        raise TableError(f"{file.name} is empty.")
    width = (
        max(max((i for i, c in enumerate(row) if c is not None), default=0) for row in rows) + 1
    )
    header, *rows = [(*row, *(None,) * (width - len(row)))[:width] for row in rows]
    texts, more = _name_columns(list(header), file.name)
    columns = {name: _from_cells([row[i] for row in rows]) for i, name in enumerate(texts)}
    return Columns(columns, notes + more)


def _sheet(book: Any, file: _File) -> tuple[Any, list[str]]:
    names = book.sheetnames
    if file.sheet is not None:
        if file.sheet not in names:
            near = difflib.get_close_matches(file.sheet, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {quoted(names)}."
            raise TableError(f"{file.name} has no sheet {file.sheet!r}: {hint}")
        return book[file.sheet], []
    if len(names) == 1:
        return book[names[0]], []
    return book[names[0]], [
        f"{file.name} has {counted(len(names), 'sheet')}; this is {names[0]!r} (--sheet)."
    ]


def _from_cells(cells: list[Any]) -> Any:
    """Return cells of a spreadsheet as a column; what is mixed as text."""
    import pyarrow as pa

    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {int, float}:
        cells = [None if cell is None else float(cell) for cell in cells]
    elif len(kinds) > 1:
        cells = [None if cell is None else _cell_text(cell) for cell in cells]
    if (str in kinds and len(kinds) == 1) or (len(kinds) > 1 and kinds != {int, float}):
        return pa.chunked_array([pa.array(cells, pa.large_string())])
    return pa.chunked_array([pa.array(cells)])


def _cell_text(cell: Any) -> str:
    if hasattr(cell, "isoformat"):
        return cell.isoformat().removesuffix("T00:00:00")
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


@contextlib.contextmanager
def _as_sentence(file: _File, what: str) -> Iterator[None]:
    """Turn what a library says of a damaged file into one sentence."""
    try:
        yield
    except (TableError, MemoryError, ImportError):
        raise
    except Exception as error:
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TableError(f"{file.name} is {what}: {text[:160].rstrip('.')}.") from None
