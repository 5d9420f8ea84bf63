"""What a column of a DataFrame holds, and its values in one form: one answer for all."""

import re
from typing import Any

import numpy as np

from stakes.tables._evidence import MANY_WORDS, words_per_value
from stakes.tables._forms import MISSING_WORDS, TRUTH_WORDS, NumberForm, date_order, parse_date
from stakes.tables._readings import MANY_VALUES, Unreadable
from stakes.utils._frames import few_cells, kind_of, numbers_of

PLAIN_NUMBER = re.compile(NumberForm().pattern)
# A column of which more than this share cannot be read is another column.
MOSTLY = 0.5
FEW_CELLS = 30  # pandas takes longer to begin than so many take
NOUNS = {"text": "text", "category": "categories", "date": "dates", "number": "numbers"}
NOUNS |= {"boolean": "truth values"}


def column_kind(column: Any, distinct: int | None = None) -> str:
    """Return what a column of pandas holds, by its type; see `ColumnReading`.

    A span of time is a number, of seconds. Text of as many different values as `MANY_VALUES` is
    text, and so are sentences of which most are different; other text is a category.

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.tables import column_kind
    >>> column_kind(pd.Series([True, False])), column_kind(pd.Series(["a", "b"]))
    ('boolean', 'category')
    >>> column_kind(pd.to_timedelta(pd.Series(["1 day"])))
    'number'
    """
    kind = kind_of(column.dtype)
    if kind == "time":
        return "number" if column.dtype.kind == "m" else "date"
    if kind != "text":
        return kind
    known = column.dropna()
    if len(known) == 0:
        return "category"
    distinct = known.map(_hashable).nunique() if distinct is None else distinct
    if distinct >= MANY_VALUES:
        return "text"
    sentences = distinct > len(known) / 2 and words_per_value(known) >= MANY_WORDS
    return "text" if sentences and len(known) > 1 else "category"


def is_mostly(n_unreadable: int, n_cells: int) -> bool:
    """Say whether so many cells that cannot be read make another column of one."""
    return n_unreadable > MOSTLY * n_cells


def is_iso(column: Any) -> bool:
    """Say whether a column is text, all of it dates written year-month-day."""
    if kind_of(column.dtype) != "text":
        return False
    words = column.dropna()
    if len(words) == 0 or not isinstance(words.iloc[0], str) or words.iloc[0][4:5] != "-":
        return False
    words = words.unique()
    if not all(isinstance(word, str) for word in words):
        return False
    texts = [word.strip() for word in words]
    return date_order(texts) == "iso" and all(parse_date(text, "iso") for text in texts)


def text_of(value: Any) -> str:
    """Return a value as text: whole numbers without a point.

    Examples
    --------
    >>> from stakes.tables._kinds import text_of
    >>> text_of(3.0), text_of(True), text_of("a")
    ('3', 'True', 'a')
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def words_of(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the different values of a column as text, and which each row has; missing is "".

    The text of missing values is the last.
    """
    import pandas as pd

    if len(column) <= FEW_CELLS:
        index: dict[str, int] = {}
        cells = [None if v is None else text_of(v) for v in few_cells(column)]
        places = [-1 if v is None else index.setdefault(v, len(index)) for v in cells]
        return np.array([*index, ""], dtype=object), np.array(places, dtype=np.intp)
    try:
        codes, values = pd.factorize(column)
    except TypeError:  # lists and the like
        codes, values = pd.factorize(column.map(_hashable, na_action="ignore"))
    words = np.array([*map(text_of, values), ""], dtype=object)
    return words, codes


def read_values(column: Any, kind: str, name: str) -> tuple[np.ndarray, Unreadable | None]:
    """Return a column as an array of its kind in training, and the cells that cannot be read so.

    Numbers and truth values are float64, dates days since 1970, all else is as it came.
    What was a date and is a number, or the other way round, is refused.
    """
    now = kind_of(column.dtype)
    if kind in ("category", "text"):
        changed = now == "time" or (kind == "text" and now in ("number", "boolean"))
        if changed and not column.isna().all():
            raise ValueError(_changed(name, kind, column))
        return column, None
    is_date = now == "time" and column.dtype.kind == "M"
    if now in ("number", "boolean", "time"):
        if is_date != (kind == "date"):
            if column.isna().all():
                return np.full(len(column), np.nan), None
            raise ValueError(_changed(name, kind, column))
        values = numbers_of(column)
        if kind == "boolean":
            strange = ~np.isnan(values) & (values != 0) & (values != 1)
            values = np.where(strange, np.nan, values)
            return values, _unreadable(strange, column, kind)
        return values, None
    words, codes = words_of(column)
    read = _READ[kind]
    cells = [text.strip() for text in words]
    gone = [text == "" or text.lower() in MISSING_WORDS for text in cells]
    values = np.array([np.nan if out else read(text) for text, out in zip(cells, gone)])
    strange = (np.isnan(values) & ~np.array(gone))[codes]
    return values[codes], _unreadable(strange, column, kind)


def _read_date(text: str) -> float:
    date = parse_date(text, "iso")
    if date is None:
        return np.nan
    return np.datetime64(date, "us").astype(np.int64) / 86_400e6


def _read_number(text: str) -> float:
    return float(text) if PLAIN_NUMBER.match(text) else np.nan


def _read_truth(text: str) -> float:
    return float(TRUTH_WORDS.get(text.lower(), np.nan))


_READ = {"number": _read_number, "boolean": _read_truth, "date": _read_date}


def _unreadable(strange: np.ndarray, column: Any, kind: str) -> Unreadable | None:
    if not strange.any():
        return None
    row = int(strange.argmax())
    return Unreadable(int(strange.sum()), str(column.iloc[row]), row + 1, kind)


def _changed(name: str, kind: str, column: Any) -> str:
    return (
        f"The column {name!r} held {NOUNS[kind]} in training, and holds {NOUNS[column_kind(column)]} "
        "here."
    )


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return str(value)
    return value
