"""From a table of mixed columns to numbers, learned on the training rows alone."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from stakes.tables import MANY_VALUES, ColumnReading, apply_readings
from stakes.utils._arrays import columns_by_name, counted, quoted
from stakes.utils._blas import one_blas_thread
from stakes.utils._frames import as_frame
from stakes.utils._optional import import_optional

ISO_FORMAT = "%Y-%m-%d"
# Where skrub keeps the steps of its pipeline a second time, for `fit` alone: a model file would hold
# each of them again, with all that it refers to.
STEPS_AGAIN = (
    "_preprocessors",
    "_encoders",
    "_named_encoders",
    "_specific_transformers",
    "_postprocessors",
)


class TablePreparation(TransformerMixin, BaseEstimator):
    """Turn a table of numbers, categories, dates and text into an array of numbers.

    A table of numbers alone passes through as it is, missing values included. Otherwise
    skrub's `TableVectorizer` does the work: few categories one column each, many
    categories and text by their character n-grams, dates by their parts. Text is taken for
    dates where all of it is written year-month-day, and in no other form. The columns of
    new data are found by name.

    Parameters
    ----------
    cardinality_threshold : int, default=40
        Text columns with fewer distinct values are categories.
    random_state : int, default=0
        Seed of what is drawn for text.

    Attributes
    ----------
    columns_ : list of str or None
        The columns in the order of `fit`; None where X had no column names.
    kinds_ : dict of str to str
        What each column of a mixed table holds: "number", "date" or "category".
    vectorizer_ : TableVectorizer or None
        None where the table was all numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.compare import TablePreparation
    >>> table = pd.DataFrame({"age": [30, 41, 52], "job": ["cook", "smith", "baker"]})
    >>> TablePreparation().fit_transform(table)
    array([[30.,  0.,  1.,  0.],
           [41.,  0.,  0.,  1.],
           [52.,  1.,  0.,  0.]])
    """

    def __init__(self, *, cardinality_threshold: int = MANY_VALUES, random_state: int = 0):
        self.cardinality_threshold = cardinality_threshold
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn how to turn the columns of X into numbers."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn how to turn the columns of X into numbers, and do so."""
        X = as_frame(X)
        self.columns_, self.vectorizer_ = None, None
        if not hasattr(X, "columns"):
            self.n_features_in_ = np.shape(X)[1] if np.ndim(X) == 2 else X.shape[1]
            return _as_numbers(X)
        self.columns_ = [str(c) for c in X.columns]
        self.n_features_in_ = len(self.columns_)
        X = columns_by_name(X, self.columns_)
        if _all_numbers(X):
            return X.to_numpy(dtype=np.float64, na_value=np.nan)
        skrub = import_optional("skrub", extra="cli", purpose="A table of mixed columns")
        from sklearn.preprocessing import OneHotEncoder

        self.kinds_ = {c: "date" if _is_iso(X[c]) else _kind(X[c]) for c in X.columns}
        self.vectorizer_ = skrub.TableVectorizer(
            cardinality_threshold=self.cardinality_threshold,
            low_cardinality=OneHotEncoder(
                handle_unknown="ignore", drop="if_binary", sparse_output=False, dtype=np.float64
            ),
            high_cardinality=skrub.StringEncoder(random_state=self.random_state),
            datetime_format=ISO_FORMAT,  # any other text that looks like a date is left alone
        )
        found = self._quietly(self.vectorizer_.fit_transform, self._as_in_fit(X))
        for name in STEPS_AGAIN:
            vars(self.vectorizer_).pop(name, None)
        return found

    def transform(self, X: Any) -> Any:
        """Return new rows as numbers."""
        check_is_fitted(self, "n_features_in_")
        X = as_frame(X)
        if self.columns_ is None:
            return _as_numbers(X)
        X = columns_by_name(X, self.columns_)
        if self.vectorizer_ is None:
            try:
                return X.to_numpy(dtype=np.float64, na_value=np.nan)
            except (TypeError, ValueError):
                bad = [c for c in X.columns if not _all_numbers(X[[c]])]
                raise ValueError(
                    f"The columns {quoted(bad)} held numbers in training, but not here."
                ) from None
        return self._quietly(self.vectorizer_.transform, self._as_in_fit(X))

    def _as_in_fit(self, X):
        """Return the table with every column of the kind it had in training; say what is lost."""
        readings = {
            c: ColumnReading(c, kind, dates="iso")
            for c, kind in self.kinds_.items()
            if _kind(X[c]) != kind
        }
        if not readings:
            return X
        changed, unreadable = apply_readings(X[list(readings)], readings)
        for name, bad in unreadable.items():
            warnings.warn(
                f"Taken as missing: {counted(bad.count, 'cell')} of {name!r} that cannot be read "
                f"as a {bad.kind}, as in training, such as {bad.example!r} in row {bad.row:,} "
                "(counted from 1).",
                UserWarning,
                stacklevel=4,
            )
        return X.assign(**changed)

    @staticmethod
    def _quietly(method, X):
        # One thread: sums of several would differ in the last digit with their number.
        with warnings.catch_warnings(), one_blas_thread():
            # Categories that a fold has not seen are coded as none of the known ones.
            warnings.filterwarnings("ignore", message="Found unknown categories")
            warnings.filterwarnings("ignore", category=UserWarning, module="skrub")
            return np.asarray(method(X), dtype=np.float64)


def _kind(column) -> str:
    """Say by its type what a column holds."""
    kind = getattr(column.dtype, "kind", "O")
    return "number" if kind in "fiub" else "date" if kind == "M" else "category"


def _is_iso(column) -> bool:
    """Say whether a column is text, all of it dates written year-month-day."""
    if _kind(column) != "category":
        return False
    known = column.dropna()
    if len(known) == 0 or not isinstance(known.iloc[0], str) or known.iloc[0][4:5] != "-":
        return False
    reading = ColumnReading("x", "date", dates="iso")
    return not apply_readings(known.to_frame("x"), {"x": reading})[1]


def _all_numbers(frame) -> bool:
    return all(getattr(t, "kind", "O") in "fiub" for t in frame.dtypes)


def _as_numbers(X):
    return X if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
