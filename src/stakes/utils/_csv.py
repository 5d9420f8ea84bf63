"""Text files as people have them: checked while they are read, for examples and for costs."""

import codecs
import csv
import gzip
import io
import itertools
import os
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from stakes.utils._arrays import counted

SEPARATORS = (",", ";", "\t", "|")
MAX_LINE = 16_000_000
BLOCK = 1 << 20


class CsvError(ValueError):
    """A file that holds no table; the message says what it holds instead."""


def read_rows(path: str | os.PathLike, *, separator: str | None = None) -> list[list[str]]:
    """Return the cells of a small CSV file in UTF-8, the header first, all rows of its length.

    Parameters
    ----------
    path : str or path
        The file; decompressed where it begins as gzip does.
    separator : str, default=None
        One character, or ``"tab"``; None takes the usual separator that the first line has
        most of.
    """
    _, separator = read_header(path, separator=separator)
    with open_text(path) as file:
        rows = list(csv_rows(file, separator))
    problem = ragged(iter(rows))
    if problem:
        raise CsvError(f"{path} is not a table: {problem}.")
    return [cells for _, cells in rows]


def read_header(
    path: str | os.PathLike, *, separator: str | None = None, **how: Any
) -> tuple[list[str], str]:
    """Return the cells of the first row, and the separator; `how` as in `utf8_blocks`."""
    with open_text(path, **how) as file:
        line = file.readline()
        if not line.strip():
            raise CsvError(f"{how.get('name') or path} is empty.")
        separator = _separator(separator, line)
        return next(csv_rows(itertools.chain([line], file), separator))[1], separator


def csv_rows(file: Iterable[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the number of the line on which it ends; empty lines are no rows."""
    csv.field_size_limit(MAX_LINE)
    reader = csv.reader(file, delimiter=separator, skipinitialspace=True)
    for cells in reader:
        if cells:
            yield reader.line_num, cells


def ragged(rows: Iterator[tuple[int, list[str]]]) -> str | None:
    """Return which rows are longer or shorter than the header, in words; None if there are none.

    Examples
    --------
    >>> from stakes.utils._csv import csv_rows, ragged
    >>> ragged(csv_rows(["a,b", "1,2,", "1,2", "3,4,"], ","))
    'its header has 2 columns, but line 2 has 3; so it is with 1 more line (4)'
    """
    _, header = next(rows)
    wrong = [(line, len(cells)) for line, cells in rows if len(cells) != len(header)]
    if not wrong:
        return None
    first, *others = wrong
    text = f"its header has {counted(len(header), 'column')}, but line {first[0]:,} has {first[1]}"
    if others:
        lines = ", ".join(f"{line:,}" for line, _ in others[:3])
        more = ", …" if len(others) > 3 else ""
        text += f"; so it is with {counted(len(others), 'more line')} ({lines}{more})"
    return text


def open_text(path: str | os.PathLike, **how: Any) -> io.TextIOWrapper:
    """Open a file as text; `how` as in `utf8_blocks`."""
    return io.TextIOWrapper(open_utf8(path, **how), "utf-8", newline="")


def open_utf8(path: str | os.PathLike, **how: Any) -> io.BufferedReader:
    """Open a file as UTF-8 bytes; `how` as in `utf8_blocks`."""
    return io.BufferedReader(_Blocks(utf8_blocks(path, **how)), BLOCK)


def utf8_blocks(
    path: str | os.PathLike,
    *,
    name: str | None = None,
    encoding: str | None = None,
    advice: str = "save it as UTF-8",
) -> Iterator[bytes]:
    """Yield a text file in UTF-8, block by block; refuse what is no text in one sentence.

    Parameters
    ----------
    path : str or path
        The file; decompressed where it begins as gzip does.
    name : str, default=None
        What to call it.
    encoding : str, default=None
        None is UTF-8, with or without a byte order mark.
    advice : str, default="save it as UTF-8"
        What to do about a file in another encoding.
    """
    name, encoding = name or str(path), encoding or "utf-8-sig"
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError:
        raise CsvError(f"There is no encoding called {encoding}.") from None
    length, begun = 0, False
    try:
        for raw in _raw_blocks(path):
            text = decoder.decode(raw, final=not raw)
            if "\0" in text:
                raise CsvError(f"{name} holds binary data (a NUL byte), not a table.")
            block = text.encode("utf-8")
            if not begun:
                block = block.lstrip(b"\r\n")
                begun = bool(block)
            end = max(block.rfind(b"\n"), block.rfind(b"\r"))
            length = length + len(block) if end < 0 else len(block) - end - 1
            if length > MAX_LINE:
                raise CsvError(
                    f"{name} has a line of more than {MAX_LINE // 1_000_000} MB: this is not a "
                    "table."
                )
            yield block
    except UnicodeDecodeError as error:
        byte = f"byte 0x{error.object[error.start]:02x}"
        said = "UTF-8" if encoding == "utf-8-sig" else encoding
        raise CsvError(f"{name} is not {said} text ({byte}): {advice}.") from None
    except UnicodeEncodeError:
        raise CsvError(f"{name} is not {encoding} text: {advice}.") from None
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise CsvError(f"{name} cannot be decompressed: {error}.") from None


def _raw_blocks(path: str | os.PathLike) -> Iterator[bytes]:
    """Yield the bytes of a file, decompressed; the last block is empty."""
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        stream: Any = gzip.GzipFile(fileobj=file) if packed else file
        while block := stream.read(BLOCK):
            yield block
        yield b""


def _separator(given: str | None, header: str) -> str:
    if given is None:
        return max(SEPARATORS, key=header.count)
    if given in ("tab", "\\t"):
        return "\t"
    if len(given) != 1 or not given.isascii() or given in '"\r\n':
        raise CsvError(f"The separator must be one character, not {given!r}.")
    return given


class _Blocks(io.RawIOBase):
    """A file made of blocks."""

    def __init__(self, blocks: Iterator[bytes]):
        self._blocks = blocks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._rest = memoryview(block)
        n = min(len(buffer), len(self._rest))
        buffer[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        return n
