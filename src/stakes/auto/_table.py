"""A table as it comes (numbers, categories, text, gaps) to the two arrays members learn from."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted

from stakes.utils._frames import is_frame, is_sparse, kind_of, numbers_of

# A category gets an indicator column of its own if it is among this many most frequent ones
# of its column and is seen at least twice; the others share none.
MAX_CATEGORIES = 50
# Standardised numbers are squeezed smoothly into (-SQUEEZE, SQUEEZE), so that one wild value
# does not rule a linear model or a network. Up to 2 hardly anything changes: a product of two
# columns stays one.
SQUEEZE = 5.0
FAR = 1e6  # beyond, powers could overflow
# A sparse matrix is learned from as the dense one that it stands for, up to this many values.
MOST_VALUES = 2**28


class TableEncoder(BaseEstimator):
    """Learn what the columns of a table are; turn tables into arrays of numbers.

    Two forms: for trees, numbers as they are (gaps stay NaN) beside one indicator per
    category; for models that measure distances, the same with gaps filled by the median
    and marked, and all of it standardised. A column of more categories than indicators
    also gets one with the frequency of its categories. A category never seen in training
    has no indicator set.

    Attributes
    ----------
    columns_ : list of dict
        For each column its kind ("number" or "category") and what was learned.
    """

    def fit(self, X: Any) -> "TableEncoder":
        """Learn the columns of X, a DataFrame or an array."""
        numbers = not is_frame(X) and X.dtype.kind in "fiub"
        columns = (column_of(X, position) for position in range(X.shape[1]))
        self.columns_ = [
            {"kind": "number"} if numbers or is_number(values) else learn_categories(values)
            for values in columns
        ]
        trees = self.for_trees(X)
        self.gaps_ = np.flatnonzero(np.isnan(trees).any(axis=0))
        self.fill_ = np.zeros(trees.shape[1])
        if len(self.gaps_):
            self.fill_ = np.apply_along_axis(_median, 0, trees)
        with np.errstate(all="ignore"):
            filled = self._filled(trees)
            self.centre_ = filled.mean(axis=0)
            scale = filled.std(axis=0)
        self.scale_ = np.where(scale > 1e-12 * np.maximum(1.0, np.abs(self.centre_)), scale, 1.0)
        return self

    def for_trees(self, X: Any) -> np.ndarray:
        """Return the form for trees: NaN for gaps, one indicator per category."""
        if not is_frame(X) and X.dtype.kind in "fiub":
            if all(c["kind"] == "number" for c in self.columns_):
                return np.asarray(X, dtype=np.float64)
            X = X.astype(object)
        parts = []
        for position, column in enumerate(self.columns_):
            values, is_category = column_of(X, position), column["kind"] == "category"
            parts.append(
                indicators(values, column) if is_category else as_numbers(values)[:, None]
            )
        return np.ascontiguousarray(np.hstack(parts))  # whose layout sums would feel

    def for_distances(self, trees: np.ndarray) -> np.ndarray:
        """Return the form for models that measure distances, from the form for trees."""
        check_is_fitted(self, "centre_")
        scaled = (self._filled(trees) - self.centre_) / self.scale_
        scaled = np.clip(scaled, -FAR, FAR)
        return scaled / np.sqrt(np.sqrt(1.0 + (scaled / SQUEEZE) ** 4))

    def _filled(self, trees: np.ndarray) -> np.ndarray:
        gaps = np.isnan(trees)
        filled = np.where(gaps, self.fill_, trees)
        return np.hstack([filled, gaps[:, self.gaps_]]) if len(self.gaps_) else filled


def check_table(X: Any, estimator: Any = None) -> Any:
    """Return a DataFrame as it is, anything else as a two-dimensional array; refuse infinities."""
    if is_frame(X):
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise ValueError(
                f"Found array with {X.shape[0]} sample(s) and {X.shape[1]} feature(s) "
                f"(shape={X.shape}) while a minimum of 1 is required."
            )
        for position in range(X.shape[1]):
            values = column_of(X, position)
            if is_number(values) and np.isinf(as_numbers(values)).any():
                raise ValueError(f"Input X contains infinity in column {X.columns[position]!r}.")
        return X
    if is_sparse(X):
        X = _dense(X)
    named = {"estimator": estimator, "input_name": "X"}
    X = check_array(X, dtype=None, ensure_all_finite=False, **named)
    if X.dtype.kind == "O":
        X = _settle_objects(X)
    if X.dtype.kind in "fc":
        X = check_array(X, ensure_all_finite="allow-nan", **named)
    return X


def _settle_objects(X: np.ndarray) -> np.ndarray:
    """Return an object array as numbers where all of it is numbers."""
    for value in X.ravel():
        if value is not None and not isinstance(value, (str, bytes, int, float, np.generic)):
            raise TypeError(
                f"argument must be a string or a number: X holds a {type(value).__name__}."
            )
    if any(isinstance(value, (str, bytes)) for value in X.ravel()):
        return X
    return X.astype(np.float64)


def _dense(X: Any) -> np.ndarray:
    n_samples, n_features = X.shape
    if n_samples * n_features > MOST_VALUES:
        raise ValueError(
            f"The sparse X has {n_samples:,} x {n_features:,} values, too many for the members, which "
            "learn from dense tables: reduce its columns first, as TruncatedSVD does, or use "
            "CostForestClassifier, which reads it as it is."
        )
    return X.toarray(order="C")


def column_of(X: Any, position: int) -> Any:
    """Return one column, a Series or an array."""
    return X.iloc[:, position] if is_frame(X) else X[:, position]


def is_number(values: Any) -> bool:
    """Say whether a column holds numbers, truth values or times."""
    if kind_of(values.dtype) != "text":
        return kind_of(values.dtype) != "category"
    import pandas as pd

    objects = np.asarray(values, dtype=object)
    known = objects[~pd.isna(objects)]
    return all(isinstance(v, (int, float, np.number)) for v in known)


def as_numbers(values: Any) -> np.ndarray:
    """Return a column of numbers (or times) as float64, gaps as NaN."""
    if getattr(values.dtype, "kind", "") == "M" and not hasattr(values, "to_numpy"):
        times = values.astype("datetime64[s]")
        return np.where(np.isnat(times), np.nan, times.astype(np.int64) / 86400.0)
    if hasattr(values, "to_numpy"):
        return numbers_of(values)
    return np.array([np.nan if v is None else v for v in values], dtype=np.float64)


def as_text(values: Any) -> np.ndarray:
    """Return a column of categories as text; a gap is the empty text."""
    import pandas as pd

    series = pd.Series(np.asarray(values, dtype=object))
    return series.where(series.notna(), "").astype(str).to_numpy(dtype=object)


def learn_categories(values: Any) -> dict:
    """Return the frequent categories of a column, and how often each category is seen."""
    text = as_text(values)
    seen, counts = np.unique(text.astype(str), return_counts=True)
    order = np.lexsort((seen, -counts))
    frequent = [int(i) for i in order[:MAX_CATEGORIES] if counts[i] >= 2 or len(seen) <= 2]
    many = len(seen) > MAX_CATEGORIES
    return {
        "kind": "category",
        "shown": sorted(str(seen[i]) for i in frequent),
        "frequency": dict(zip(seen.tolist(), (counts / len(text)).tolist())) if many else {},
    }


def indicators(values: Any, column: dict) -> np.ndarray:
    """Return one 0/1 column per shown category, and the frequency where there are more."""
    text = as_text(values)
    shown = np.array(column["shown"], dtype=object)
    table = np.zeros((len(text), len(shown) + bool(column["frequency"])))
    if len(shown):
        place = np.searchsorted(shown.astype(str), text.astype(str))
        place = np.minimum(place, len(shown) - 1)
        hit = shown[place] == text
        table[np.flatnonzero(hit), place[hit]] = 1.0
    if column["frequency"]:
        table[:, -1] = [column["frequency"].get(t, 0.0) for t in text]
    return table


def _median(column: np.ndarray) -> float:
    known = column[~np.isnan(column)]
    return float(np.median(known)) if len(known) else 0.0
