"""What X may be: numbers in an array or a sparse matrix, or a DataFrame with categories."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_array

from stakes.tree._binning import categorical_mask
from stakes.utils._frames import as_frame, is_frame, is_sparse, kind_of, numbers_of
from stakes.utils._sklearn import validate_data

# Numbers as they are; NaN is a missing value. A sparse matrix is read column by column.
NUMERIC_CHECKS: dict[str, Any] = {
    "accept_sparse": "csc",
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": "allow-nan",
}


@dataclass(frozen=True)
class Columns:
    """What the columns of the training data hold.

    Attributes
    ----------
    categorical : ndarray of shape (n_features,), dtype bool
        Which are categories.
    in_frame : bool
        Whether rows come as a DataFrame, since some columns are more than plain numbers.
    units : dict of int to str
        What the numbers of a column count, where that is not plain: those of dates.
    """

    categorical: np.ndarray
    in_frame: bool
    units: dict[int, str] = field(default_factory=dict)

    def check(self, X: Any, validate: Callable) -> Any:
        """Return X as trees take it: numbers, or a frame; see `read_columns`."""
        if not self.in_frame:
            return _without_twins(validate(X, **NUMERIC_CHECKS))
        validate(X, skip_check_array=True)
        if not is_frame(X):
            X = _as_frame(X, self.categorical)
        return _checked_frame(X, self)


def check_alone(X: Any, *, skip_check_array: bool = False, **checks: Any) -> Any:
    """Check X as `validate_data` does, where no estimator is at hand to remember its features."""
    if skip_check_array:
        return X
    return check_array(X, **checks, input_name="X", estimator="CostTreeClassifier")


def read_columns(
    X: Any, categorical_features: Any, validate: Callable = check_alone
) -> tuple[Any, Columns]:
    """Return the training data X as trees take it, and what its columns hold.

    A DataFrame whose columns are all numbers becomes an array; one that has other columns stays
    a frame. An array of objects with declared categories becomes a frame. A sparse matrix stays
    sparse.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        What the user gave.
    categorical_features : "from_dtype", array-like or None
        As in `CostTreeClassifier`.
    validate : callable
        Checks X, with the arguments of scikit-learn's `validate_data`.
    """
    X = as_frame(X)
    if not hasattr(X, "shape") or len(X.shape) != 2 or is_sparse(X):
        X = _without_twins(validate(X, **NUMERIC_CHECKS))  # or lists, or what the check refuses
        return X, Columns(categorical_mask(X, categorical_features), False)
    mask = categorical_mask(X, categorical_features)
    if not is_frame(X) and getattr(X, "dtype", np.dtype(float)).kind == "O" and mask.any():
        X = _as_frame(X, mask)
    if is_frame(X):
        _check_declared(X, mask)
    in_frame = is_frame(X) and (mask.any() or not all(map(_is_plain_number, X.dtypes)))
    columns = Columns(mask, bool(in_frame), _units(X, mask) if in_frame else {})
    return columns.check(X, validate), columns


def check_features(
    estimator: Any, X: Any, *, reset: bool, categorical_features: Any = "from_dtype"
) -> Any:
    """Return X as trees take it, for `_validate_X` of an estimator that grows them.

    In `fit` (`reset`) it sets ``estimator._columns``, by which it checks the X of `predict`.
    """
    validate = partial(validate_data, estimator, reset=reset)
    if not reset:
        return estimator._columns.check(X, validate)
    X, estimator._columns = read_columns(X, categorical_features, validate)
    return X


def _as_frame(X: Any, mask: np.ndarray) -> Any:
    """Return an array as a DataFrame: declared categories as they are, the rest as numbers."""
    import pandas as pd

    if is_sparse(X):
        accessor: Any = pd.DataFrame.sparse
        return accessor.from_spmatrix(X)
    frame: Any = pd.DataFrame(np.asarray(X, dtype=object))
    for f in np.flatnonzero(~mask):
        frame.isetitem(f, frame.iloc[:, f].astype(np.float64))
    return frame


def _is_plain_number(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and kind_of(dtype) == "number"


def _units(X: Any, mask: np.ndarray) -> dict[int, str]:
    times = [f for f in np.flatnonzero(~mask).tolist() if kind_of(X.dtypes.iloc[f]) == "time"]
    spans = {f: X.dtypes.iloc[f].kind == "m" for f in times}
    return {f: "seconds" if is_span else "days since 1970" for f, is_span in spans.items()}


def _without_twins(X: Any) -> Any:
    """Return a sparse matrix that stores each value once; anything else as it is."""
    if is_sparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _check_declared(X: Any, mask: np.ndarray) -> None:
    """Refuse columns that are declared to hold no categories, but hold no numbers either."""
    for f in np.flatnonzero(~mask):
        if kind_of(X.dtypes.iloc[f]) not in ("number", "boolean", "time"):
            raise ValueError(
                f"The column {X.columns[f]!r} holds {X.dtypes.iloc[f]} values: declare it in "
                "categorical_features, or leave that at 'from_dtype'."
            )


def _checked_frame(X: Any, columns: Columns) -> Any:
    """Return a frame whose columns of numbers hold numbers; refuse what they must not hold."""
    for f in np.flatnonzero(~columns.categorical).tolist():
        column, is_time = X.iloc[:, f], f in columns.units
        if kind_of(column.dtype) not in (("time",) if is_time else ("number", "boolean")):
            if not column.isna().all():  # then nothing says what it holds
                raise ValueError(
                    f"The column {X.columns[f]!r} held {'dates' if is_time else 'numbers'} in "
                    f"training, but holds {column.dtype} values here."
                )
            X = X.copy(deep=False)
            X.isetitem(f, np.full(len(X), np.nan))
            continue
        if np.isinf(numbers_of(column)).any():
            raise ValueError(f"Input X contains infinity in the column {X.columns[f]!r}.")
    return X
