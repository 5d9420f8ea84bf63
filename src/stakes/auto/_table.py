"""A table as it comes (numbers, categories, text, gaps) to the arrays that members learn from."""

from collections.abc import Collection
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, check_is_fitted

from stakes.tables import TablePreparation
from stakes.utils._frames import is_frame, is_sparse, kind_of, numbers_of

# Standardised numbers are squeezed smoothly into (-SQUEEZE, SQUEEZE), so that one wild value
# does not rule a linear model or a network. Up to 2 hardly anything changes: a product of two
# columns stays one.
SQUEEZE = 5.0
FAR = 1e6  # beyond, powers could overflow
# A sparse matrix is learned from as the dense one that it stands for, up to this many values.
MOST_VALUES = 2**28


class TableEncoder(TablePreparation):
    """The preparation of every method, in the three forms that members take.

    For trees, numbers as they are (gaps stay NaN) beside indicators of categories and text reduced
    to a few columns; for models that measure distances, the same with gaps filled by the median
    and marked, and all of it standardised; for linear models of text, how often each term occurs,
    sparse.
    """

    def fit(self, X: Any, y: Any = None) -> "TableEncoder":
        """Learn the columns of X, a DataFrame or an array."""
        self.fit_forms(X, ())
        return self

    def fit_forms(self, X: Any, kinds: Collection[str]) -> dict[str, Any]:
        """Learn the columns of X; return it in some forms, by name, as `forms` does."""
        super().fit(X)
        trees, counts = self.encode(X)
        trees = np.ascontiguousarray(trees)
        self.gaps_ = np.flatnonzero(np.isnan(trees).any(axis=0))
        self.fill_ = np.zeros(trees.shape[1])
        if len(self.gaps_):
            self.fill_ = np.apply_along_axis(_median, 0, trees)
        with np.errstate(all="ignore"):
            filled = self._filled(trees)
            self.centre_ = filled.mean(axis=0)
            scale = filled.std(axis=0)
        self.scale_ = np.where(scale > 1e-12 * np.maximum(1.0, np.abs(self.centre_)), scale, 1.0)
        return self._forms(trees, counts, kinds)

    def forms(self, X: Any, kinds: Collection[str]) -> dict[str, Any]:
        """Return a table in some of the forms "trees", "distances" and "words", by name."""
        if self.columns_ is not None and not is_frame(X):
            import pandas as pd

            X = pd.DataFrame(X, columns=self.columns_)
        trees, counts = self.encode(X)
        return self._forms(np.ascontiguousarray(trees), counts, kinds)

    def for_trees(self, X: Any) -> np.ndarray:
        """Return the form for trees: NaN for gaps, one indicator per category."""
        trees: np.ndarray = self.forms(X, ())["trees"]
        return trees

    def for_distances(self, trees: np.ndarray) -> np.ndarray:
        """Return the form for models that measure distances, from the form for trees."""
        check_is_fitted(self, "centre_")
        scaled = (self._filled(trees) - self.centre_) / self.scale_
        scaled = np.clip(scaled, -FAR, FAR)
        return scaled / np.sqrt(np.sqrt(1.0 + (scaled / SQUEEZE) ** 4))

    def _forms(self, trees: np.ndarray, counts: list, kinds: Collection[str]) -> dict[str, Any]:
        found = {"trees": trees}
        if "distances" in kinds:
            found["distances"] = self.for_distances(trees)
        if "words" in kinds and counts:
            found["words"] = sparse.hstack(counts, format="csr")
        return found

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
        for name, column in X.items():
            is_number = kind_of(column.dtype) in ("number", "boolean", "time")
            if is_number and np.isinf(numbers_of(column)).any():
                raise ValueError(f"Input X contains infinity in column {name!r}.")
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


def _median(column: np.ndarray) -> float:
    known = column[~np.isnan(column)]
    return float(np.median(known)) if len(known) else 0.0
