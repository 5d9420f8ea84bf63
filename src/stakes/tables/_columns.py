"""Columns of Arrow, as they come from files, to columns of pandas, by a reading.

Imported on use: pyarrow need not be there.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from stakes.tables._forms import ALIKE, MISSING_WORDS, TRUTH_WORDS, NumberForm, parse_date
from stakes.tables._readings import ColumnReading, Unreadable
from stakes.utils._csv import CsvError as TableError

types = pa.types
DATE = pa.timestamp("us")
VALUES = {"number": pa.float64(), "date": DATE, "boolean": pa.bool_()}


def from_pandas(series: pd.Series) -> pa.ChunkedArray:
    """Return a column of pandas as one of Arrow; what is mixed as text."""
    try:
        return pa.chunked_array([pa.array(series, from_pandas=True)])
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        texts = series.astype(str).where(series.notna())
        return pa.chunked_array([pa.array(texts, from_pandas=True)])


def to_pandas(column: pa.ChunkedArray) -> pd.Series:
    """Return a column of Arrow as one of pandas.

    Truth values with gaps are "boolean", whole numbers with gaps numbers with NaN.
    """
    if types.is_large_string(column.type):
        if column.null_count == len(column):
            return pd.Series(np.full(len(column), None), dtype=object)
        return column.to_pandas()
    if column.null_count and types.is_boolean(column.type):
        return pd.Series(pd.array(column.to_pylist(), dtype="boolean"))
    if column.null_count and types.is_integer(column.type):
        column = column.cast(pa.float64(), safe=False)
    return pd.Series(column.to_numpy())


def plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in one of few types: numbers, truth values, timestamps, or text."""
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if types.is_large_string(kind) or types.is_boolean(kind) or types.is_integer(kind):
        return column
    if types.is_string(kind) or str(kind) == "string_view":
        return column.cast(pa.large_string())
    if types.is_floating(kind):
        return column.cast(pa.float32()) if types.is_float16(kind) else column
    if types.is_decimal(kind) or types.is_null(kind):
        return column.cast(pa.float64())
    if types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", kind.tz), safe=False).cast(DATE)
    if types.is_date(kind):
        return column.cast(DATE)
    if types.is_time(kind):
        return _seconds(column.cast(pa.time64("ns")))
    if types.is_duration(kind):
        return _seconds(column.cast(pa.duration("ns")))
    raise TableError(f"holds {kind}")


def _seconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.divide(column.cast(pa.int64()).cast(pa.float64()), 1e9)


# -- text ----------------------------------------------------------------------------------------


def without(text: pa.ChunkedArray, words: Iterable[str]) -> pa.ChunkedArray:
    """Return text in which these words are missing values."""
    gone = pc.is_in(text, value_set=pa.array(list(words), text.type))
    return pc.if_else(gone, pa.scalar(None, text.type), text) if pc.any(gone).as_py() else text


def known_words(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text without spaces around it, in which words such as NA are missing values."""
    text = without(pc.utf8_trim_whitespace(text), ("",))
    gone = pc.is_in(pc.utf8_lower(text), value_set=pa.array(MISSING_WORDS, text.type))
    return pc.if_else(gone, pa.scalar(None, text.type), text)


def plain_numbers(text: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return plain numbers, whole ones as integers; None where a text is none."""
    for kind in (pa.int64(), pa.float64()):
        numbers = _cast(text, kind)
        if numbers is not None:
            return numbers
    return None


def _cast(text: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    """Return text as another type; None where one of the cells cannot be."""
    try:
        pc.cast(text.slice(0, 1000), kind)  # refusing the whole column takes long
        return pc.cast(text, kind)
    except pa.ArrowInvalid:
        return None


def as_mask(column: pa.ChunkedArray) -> np.ndarray:
    """Return truth values as an array, missing ones as False."""
    return np.asarray(pc.fill_null(column, False), dtype=bool)


def first_of(text: pa.ChunkedArray, mask: np.ndarray) -> tuple[str, int]:
    """Return the first cell of a mask, and its row, counted from 1."""
    row = int(mask.argmax())
    return str(text[row].as_py()), row + 1


# -- reading -------------------------------------------------------------------------------------


def read_column(
    column: pa.ChunkedArray, reading: ColumnReading
) -> tuple[pd.Series, Unreadable | None]:
    """Return a column as its reading says, and what of it cannot be read so."""
    column = plain_column(column)
    if not types.is_large_string(column.type):
        values, bad = _convert(column, reading.kind)
    else:
        column = without(column, ("", *reading.missing))
        values, bad = _READ[reading.kind](column, reading)
    if bad is None or not bad.any():
        return to_pandas(values), None
    example, row = first_of(column, bad)
    return to_pandas(values), Unreadable(int(bad.sum()), example, row, reading.kind)


Found = tuple[pa.ChunkedArray, np.ndarray | None]


def _read_text(text: pa.ChunkedArray, reading: ColumnReading) -> Found:
    return text, None


def _read_numbers(text: pa.ChunkedArray, reading: ColumnReading) -> Found:
    form = NumberForm(reading.decimal, reading.thousands)
    numbers = plain_numbers(text) if form == NumberForm() else None
    if numbers is not None:
        return numbers, None
    text = known_words(text)
    if form.thousands in ALIKE:
        text = pc.replace_substring_regex(text, ALIKE[form.thousands], form.thousands)
    fits = pc.match_substring_regex(text, form.pattern)
    written = pc.if_else(fits, text, pa.scalar(None, text.type))
    if form.thousands:
        written = pc.replace_substring(written, form.thousands, "")
    if form.decimal != ".":
        written = pc.replace_substring(written, form.decimal, ".")
    return plain_numbers(written), as_mask(pc.invert(fits))


def _read_dates(text: pa.ChunkedArray, reading: ColumnReading) -> Found:
    dates = _cast(text, DATE)
    if dates is not None:
        return dates, None
    return _look_up(text, lambda word: parse_date(word, reading.dates), DATE)


def _read_truth(text: pa.ChunkedArray, reading: ColumnReading) -> Found:
    return _look_up(text, lambda word: TRUTH_WORDS.get(word.lower()), pa.bool_())


_READ = {
    "number": _read_numbers,
    "date": _read_dates,
    "boolean": _read_truth,
    "category": _read_text,
    "text": _read_text,
}


def _look_up(text: pa.ChunkedArray, read: Callable[[str], Any], kind: pa.DataType) -> Found:
    """Read each different word once."""
    text = known_words(text)
    words = pc.unique(text.drop_null())
    values = pa.array([read(word) for word in words.to_pylist()], kind)
    taken = pc.take(values, pc.index_in(text, value_set=words))
    return taken, as_mask(pc.and_(pc.is_valid(text), pc.is_null(taken)))


def _convert(column: pa.ChunkedArray, kind: str) -> Found:
    """Return a column that is not text as another kind."""
    is_date, is_truth = types.is_timestamp(column.type), types.is_boolean(column.type)
    if kind in ("category", "text"):
        return _as_text(column), None
    if kind == {True: "date"}.get(is_date, "boolean" if is_truth else "number"):
        return column, None
    if kind == "number" and is_truth:
        return column.cast(pa.float64()), None
    there = as_mask(pc.invert(pc.is_null(column, nan_is_null=True)))
    if kind == "boolean" and not is_date:
        fits = pc.is_in(column, value_set=pa.array([0, 1]).cast(column.type))
        values = pc.if_else(fits, column, pa.scalar(None, column.type)).cast(pa.bool_())
        return values, there & ~as_mask(fits)
    return pa.chunked_array([pa.nulls(len(column), VALUES[kind])]), there


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values as text: whole numbers without a point, dates as year-month-day."""
    if types.is_boolean(column.type):
        texts = pc.if_else(column, "True", "False")
    elif types.is_floating(column.type):
        values = [None if v is None or v != v else _number_text(v) for v in column.to_pylist()]
        texts = pa.chunked_array([pa.array(values, pa.string())])
    else:
        texts = column.cast(pa.string())
        if types.is_timestamp(column.type):
            texts = pc.replace_substring_regex(texts, r"( 00:00:00)?(\.0+)?$", "")
    return texts.cast(pa.large_string())


def _number_text(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
