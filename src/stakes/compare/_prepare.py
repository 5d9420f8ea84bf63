"""From a table of mixed columns to numbers, learned on the training rows alone."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from stakes.utils._arrays import quoted
from stakes.utils._optional import import_optional


class TablePreparation(TransformerMixin, BaseEstimator):
    """Turn a table of numbers, categories, dates and text into an array of numbers.

    A table of numbers alone passes through as it is, missing values included. Otherwise
    skrub's `TableVectorizer` does the work: few categories one column each, many
    categories and text by their character n-grams, dates by their parts. The columns of
    new data are found by name.

    Parameters
    ----------
    cardinality_threshold : int, default=40
        Text columns with fewer distinct values are categories.

    Attributes
    ----------
    columns_ : list of str or None
        The columns in the order of `fit`; None where X had no column names.
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

    def __init__(self, *, cardinality_threshold=40):
        self.cardinality_threshold = cardinality_threshold

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn how to turn the columns of X into numbers."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn how to turn the columns of X into numbers, and do so."""
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

        self.vectorizer_ = skrub.TableVectorizer(
            cardinality_threshold=self.cardinality_threshold,
            low_cardinality=OneHotEncoder(
                handle_unknown="ignore", drop="if_binary", sparse_output=False, dtype=np.float64
            ),
        )
        return self._quietly(self.vectorizer_.fit_transform, X)

    def transform(self, X: Any) -> Any:
        """Return new rows as numbers."""
        check_is_fitted(self, "n_features_in_")
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
        return self._quietly(self.vectorizer_.transform, X)

    @staticmethod
    def _quietly(method, X):
        with warnings.catch_warnings():
            # Categories that a fold has not seen are coded as none of the known ones.
            warnings.filterwarnings("ignore", message="Found unknown categories")
            warnings.filterwarnings("ignore", category=UserWarning, module="skrub")
            return np.asarray(method(X), dtype=np.float64)


def columns_by_name(X: Any, columns: list[str]) -> Any:
    """Return these columns of a table, in this order; say which it lacks."""
    if not hasattr(X, "columns"):
        raise ValueError("The model was fitted on named columns: give a table with those.")
    found = [str(c) for c in X.columns]
    if found == columns and all(isinstance(c, str) for c in X.columns):
        return X
    missing = [c for c in columns if c not in found]
    if missing:
        raise ValueError(f"The data lacks the columns {quoted(missing)}.")
    return X.set_axis(found, axis=1)[columns]


def _all_numbers(frame) -> bool:
    return all(getattr(t, "kind", "O") in "fiub" for t in frame.dtypes)


def _as_numbers(X):
    return X if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
