"""Reading CSV files as people have them: for tables of examples and for tables of costs."""

import codecs
import gzip
import io
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

SEPARATORS = (",", ";", "\t", "|")
MAX_LINE = 16_000_000


class CsvError(ValueError):
    """A file that holds no table; the message says what it holds instead."""


def read_csv(
    path: str | os.PathLike,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    advice: str = "save it as UTF-8",
    **options: Any,
) -> Any:
    """Return a CSV file as a DataFrame, or say in one sentence why it is none.

    Parameters
    ----------
    path : str or path
        The file; compressed where its name ends in ``.gz``.
    separator : str, default=None
        One character, or ``"tab"``; None takes the usual separator that the first line has
        most of.
    encoding : str, default=None
        None is UTF-8, with or without a byte order mark.
    advice : str, default="save it as UTF-8"
        What to do about a file in another encoding.
    **options
        For `pandas.read_csv`.
    """
    import pandas as pd

    encoding = encoding or "utf-8-sig"
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise CsvError(f"There is no encoding called {encoding}.") from None
    try:
        header = _header(path, encoding)
        with _open(path) as file:
            return pd.read_csv(
                file,
                sep=_separator(separator, header),
                encoding=encoding,
                low_memory=False,
                skipinitialspace=True,
                **options,
            )
    except CsvError:
        raise
    except UnicodeDecodeError as error:
        byte = f"byte 0x{error.object[error.start]:02x}"
        name = "UTF-8" if encoding == "utf-8-sig" else encoding
        raise CsvError(f"{path} is not {name} text ({byte}): {advice}.") from None
    except pd.errors.EmptyDataError:
        raise CsvError(f"{path} is empty.") from None
    except ValueError as error:  # pandas' ParserError is one
        text = str(error).replace("Error tokenizing data. C error: ", "").splitlines()[0]
        raise CsvError(f"{path} is not a table: {text[:200].rstrip('.')}.") from None
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise CsvError(f"{path} cannot be decompressed: {error}.") from None


def _header(path: str | os.PathLike, encoding: str) -> str:
    """Return the first line."""
    with _open(path) as file:
        wide = codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))
        if b"\0" in file.peek() and not wide:
            raise CsvError(f"{path} holds binary data, not a table.")
        return io.TextIOWrapper(file, encoding).readline()


def _separator(given: str | None, header: str) -> str:
    if given is None:
        return max(SEPARATORS, key=header.count)
    if given in ("tab", "\\t"):
        return "\t"
    if len(given) != 1:
        raise CsvError(f"The separator must be one character, not {given!r}.")
    return given


def _open(path: str | os.PathLike) -> io.BufferedReader:
    return io.BufferedReader(_Lines(path), 1 << 16)


class _Lines(io.RawIOBase):
    """A file that is refused while it is read if a line of it does not end."""

    def __init__(self, path: str | os.PathLike):
        opener: Callable = gzip.open if Path(path).suffix == ".gz" else open
        self._path = path
        self._file = opener(path, "rb")
        self._length = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = self._file.readinto(buffer)
        end = bytes(buffer[:n]).rfind(b"\n")
        self._length = self._length + n if end < 0 else n - end - 1
        if self._length > MAX_LINE:
            raise CsvError(
                f"{self._path} has a line of more than {MAX_LINE // 1_000_000} MB: this is not a "
                "table."
            )
        return n

    def close(self) -> None:
        self._file.close()
        super().close()
