"""The one preparation: what every method learns from and decides by, made of a table as it comes."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from stakes.tables._evidence import LEAST_ROWS, least_rows
from stakes.tables._kinds import column_kind, is_iso, is_mostly, read_values, words_of
from stakes.tables._readings import TableWarning
from stakes.tables._text import TextForm
from stakes.utils._arrays import columns_by_name, counted, quoted
from stakes.utils._checks import warn
from stakes.utils._frames import as_frame, is_frame, is_sparse

# A value gets an indicator column of its own if it is among this many most frequent ones of its column.
MAX_CATEGORIES = 50
DATE_PARTS = ("days", "month", "day", "weekday", "hour")


@dataclass(eq=False)
class PreparedColumn:
    """What was learned of a column, and what it becomes.

    Parameters
    ----------
    name : str
        The column.
    kind : {"number", "boolean", "date", "category", "text"}
        What it holds: a number or truth value is a column of its own, a date its days since 1970,
        month, day, weekday and, where there are times, hour.
    shown : list of str
        The values of a category or text that have an indicator.
    shares : dict of str to float
        Where there are more values than indicators, how frequent those are that are not rare: one
        column more.
    text : TextForm or None
        Of text, how it is learned besides.
    has_times : bool
        Whether dates had a time of day.
    """

    name: str
    kind: str
    shown: list[str] = field(default_factory=list)
    shares: dict[str, float] = field(default_factory=dict)
    text: TextForm | None = None
    has_times: bool = False

    @property
    def width(self) -> int:
        """How many dense columns it becomes."""
        if self.kind == "date":
            return len(DATE_PARTS) - (not self.has_times)
        if self.kind in ("number", "boolean"):
            return 1
        return self.n_indicators + (0 if self.text is None else self.text.width)

    @property
    def n_indicators(self) -> int:
        """How many of them tell values apart."""
        return len(self.shown) + bool(self.shares)

    def known_values(self) -> list[str]:
        """Return the values of a category that are known by name."""
        return list(dict.fromkeys([*self.shown, *self.shares]))

    def indicators(self, words: Any) -> np.ndarray:
        """Return one 0/1 column per shown value, and the share where there are more.

        Examples
        --------
        >>> from stakes.tables._preparation import PreparedColumn
        >>> job = PreparedColumn("job", "category", shown=["cook", "smith"])
        >>> job.indicators(["smith", "spy"]).tolist()
        [[0.0, 1.0], [0.0, 0.0]]
        """
        table = np.zeros((len(words), self.n_indicators))
        place = {word: i for i, word in enumerate(self.shown)}
        for row, word in enumerate(words):
            if word in place:
                table[row, place[word]] = 1.0
        if self.shares:
            table[:, -1] = [self.shares.get(word, 0.0) for word in words]
        return table


class TablePreparation(TransformerMixin, BaseEstimator):
    """Turn a table of numbers, categories, dates and text into an array of numbers.

    A table of numbers alone passes through as it is, missing values included. Categories become
    indicators, dates their parts; of text, what is frequent is told apart, and what words and letters
    say is reduced to a few columns. Text is taken for dates where all of it is written
    year-month-day, and in no other form. The columns of new data are found by name.

    What fewer than five rows have in common is kept nowhere: no rare value, no rare word.

    Parameters
    ----------
    random_state : int, default=0
        Seed of what is drawn for text.

    Attributes
    ----------
    columns_ : list of str or None
        The columns in the order of `fit`; None where X had no column names.
    prepared_ : list of PreparedColumn or None
        What each becomes; None where the table was all numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.compare import TablePreparation
    >>> table = pd.DataFrame({"age": [30, 41, 52, 63], "job": ["cook", "smith"] * 2})
    >>> TablePreparation().fit_transform(table)
    array([[30.,  1.,  0.],
           [41.,  0.,  1.],
           [52.,  1.,  0.],
           [63.,  0.,  1.]])
    """

    def __init__(self, *, random_state: int = 0):
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn how to turn the columns of X into numbers."""
        X = self._framed(X)
        self.columns_: list[str] | None = None
        self.prepared_: list[PreparedColumn] | None = None
        self.n_features_in_ = X.shape[1] if hasattr(X, "shape") else np.shape(X)[1]
        if not is_frame(X):
            return self
        names = [str(c) for c in X.columns]
        self.columns_ = names
        X = columns_by_name(X, names)
        if not _all_numbers(X):
            self.prepared_ = [self._learn(X.iloc[:, i], name) for i, name in enumerate(names)]
            if not any(column.width for column in self.prepared_):
                raise ValueError(
                    f"No value of {quoted(names)} is shared by several rows: there is nothing to learn "
                    "from."
                )
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn how to turn the columns of X into numbers, and do so."""
        return self.fit(X).transform(X)

    def transform(self, X: Any, *, allow_missing: bool = False) -> Any:
        """Return new rows as numbers.

        Parameters
        ----------
        X : DataFrame or array
            As in `fit`.
        allow_missing : bool, default=False
            Take what cannot be read as missing, even where it is most of a column.
        """
        return self.encode(X, allow_missing=allow_missing)[0]

    def encode(self, X: Any, *, allow_missing: bool = False) -> tuple[Any, list]:
        """Return new rows as numbers, and for each column of text how often its terms occur."""
        check_is_fitted(self, "n_features_in_")
        X = self._framed(X)
        if self.columns_ is None:
            return (X if is_sparse(X) else np.asarray(X, dtype=np.float64)), []
        X = columns_by_name(X, self.columns_)
        if self.prepared_ is None and _all_numbers(X):
            return X.to_numpy(dtype=np.float64, na_value=np.nan), []
        known = self.prepared_ or [PreparedColumn(name, "number") for name in self.columns_]
        parts, counts = [], []
        for column, (_, values) in zip(known, X.items()):
            part, seen = self._encode(values, column, allow_missing)
            parts.append(part)
            counts += [] if seen is None else [seen]
        # sums depend in their last bits on how the rows lie in memory
        return np.ascontiguousarray(np.hstack(parts)), counts

    def read(self, X: Any) -> Any:
        """Return a DataFrame as in training: what is written otherwise read, or missing, and said."""
        X = self._framed(X)
        if self.prepared_ is None or self.columns_ is None or not is_frame(X):
            return X
        X = columns_by_name(X, self.columns_).copy(deep=False)
        for i, known in enumerate(self.prepared_):
            column = X.iloc[:, i]
            values, bad = read_values(column, known.kind, known.name)
            if bad is None:
                continue
            _say_unreadable(known.name, bad, 0, allow_missing=True)
            if known.kind == "date":
                values = np.round(values * 86_400e6).astype("datetime64[us]")
            X.isetitem(i, values)
        return X

    # -- columns -------------------------------------------------------------------------------

    @staticmethod
    def _framed(X: Any) -> Any:
        """Return any table of mixed columns as a DataFrame; numbers alone as they are."""
        X = as_frame(X)
        if is_frame(X) or is_sparse(X):
            return X
        X = np.asarray(X)
        if X.dtype.kind in "fiub":
            return X
        import pandas as pd

        return as_frame(pd.DataFrame(X, columns=[str(c) for c in range(X.shape[1])]))

    def _learn(self, column: Any, name: str) -> PreparedColumn:
        kind = "date" if is_iso(column) else column_kind(column)
        if kind == "date":
            days, _ = read_values(column, kind, name)
            return PreparedColumn(name, kind, has_times=bool((days[~np.isnan(days)] % 1).any()))
        if kind in ("number", "boolean"):
            return PreparedColumn(name, kind)
        words, codes = words_of(column)
        shown, shares = _frequent_values(words, codes, kind)
        text = TextForm.learn(words[codes].tolist(), self.random_state) if kind == "text" else None
        return PreparedColumn(name, kind, shown, shares, text)

    def _encode(self, column: Any, known: PreparedColumn, allow_missing: bool) -> tuple[Any, Any]:
        values, bad = read_values(column, known.kind, known.name)
        if bad is not None:
            _say_unreadable(known.name, bad, int(column.notna().sum()), allow_missing)
        if known.kind == "date":
            return _date_parts(values, known.has_times), None
        if known.kind in ("number", "boolean"):
            return values[:, None], None
        words, codes = words_of(values)
        table = known.indicators(words)[codes]
        if known.text is None:
            return table, None
        counts = known.text.counts(words)
        return np.hstack([table, known.text.reduce(counts)[codes]]), counts[codes]


def _all_numbers(frame: Any) -> bool:
    return all(getattr(t, "kind", "O") in "fiub" for t in frame.dtypes)


def _frequent_values(
    words: np.ndarray, codes: np.ndarray, kind: str
) -> tuple[list[str], dict[str, float]]:
    """Return the values that have an indicator, and the shares of all that are not rare."""
    n = len(codes)
    seen, where = np.unique(words.astype(str), return_inverse=True)
    counts = np.bincount(where[codes], minlength=len(seen))
    n_values = int((counts > 0).sum())
    least = LEAST_ROWS if kind == "text" else least_rows(n)
    order = np.lexsort((seen, -counts))[:n_values]
    kept = [i for i in order.tolist() if counts[i] >= least or (n_values <= 2 == least)]
    shown = sorted(str(seen[i]) for i in kept[:MAX_CATEGORIES])
    many = n_values > MAX_CATEGORIES and len(kept) > 0
    return shown, {str(seen[i]): float(counts[i] / n) for i in kept} if many else {}


def _date_parts(days: np.ndarray, has_times: bool) -> np.ndarray:
    """Return days since 1970 with their month, day, weekday (Monday is 0) and, asked for, hour.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.tables._preparation import _date_parts
    >>> _date_parts(np.array([0.5, 31.0]), True).tolist()
    [[0.5, 1.0, 1.0, 3.0, 12.0], [31.0, 2.0, 1.0, 6.0, 0.0]]
    """
    there = ~np.isnan(days)
    dates = np.floor(days[there]).astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    parts = np.full((len(days), len(DATE_PARTS)), np.nan)
    parts[:, 0] = days
    parts[there, 1] = months.astype(np.int64) % 12 + 1
    parts[there, 2] = (dates - months).astype(np.int64) + 1
    parts[there, 3] = (dates.astype(np.int64) + 3) % 7
    parts[there, 4] = np.floor(np.round((days[there] % 1) * 24, 6))
    return parts if has_times else parts[:, :-1]


def _say_unreadable(name: str, bad: Any, n_known: int, allow_missing: bool) -> None:
    """Say what cannot be read as in training; where it is most of a column, refuse it."""
    what = (
        f"{counted(bad.count, 'cell')} of {name!r} that cannot be read as a {bad.kind}, as in "
        f"training, such as {bad.example!r} in row {bad.row:,} (counted from 1)"
    )
    if is_mostly(bad.count, n_known) and not allow_missing:
        raise ValueError(
            f"{what[0].upper()}{what[1:]}, of {n_known:,} that are there: the column is written "
            "otherwise than in training. Mend it, or take these cells as missing: allow_missing=True."
        )
    warn("ST207", f"Taken as missing: {what}.", TableWarning, stacklevel=5)
