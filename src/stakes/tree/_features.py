"""What X may be: an array of numbers, or a DataFrame with categories."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_array

from stakes.tree._binning import categorical_mask
from stakes.utils._sklearn import validate_data

# Numbers as they are; NaN is a missing value.
NUMERIC_CHECKS: dict[str, Any] = {
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
        Whether rows come as a DataFrame, since some columns are not numbers.
    """

    categorical: np.ndarray
    in_frame: bool

    def check(self, X: Any, validate: Callable) -> Any:
        """Return X as trees take it: an array of numbers, or a frame; see `read_columns`."""
        if not self.in_frame:
            return validate(X, **NUMERIC_CHECKS)
        validate(X, skip_check_array=True)
        if not hasattr(X, "iloc"):
            X = _as_frame(np.asarray(X, dtype=object), self.categorical)
        _check_frame(X, self.categorical)
        return X


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
    a frame. An array of objects with declared categories becomes a frame.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        What the user gave.
    categorical_features : "from_dtype", array-like or None
        As in `CostTreeClassifier`.
    validate : callable
        Checks X, with the arguments of scikit-learn's `validate_data`.
    """
    if not hasattr(X, "shape") or len(X.shape) != 2 or hasattr(X, "toarray"):
        X = validate(X, **NUMERIC_CHECKS)  # lists, or what the check refuses
        return X, Columns(categorical_mask(X, categorical_features), False)
    mask = categorical_mask(X, categorical_features)
    is_frame = hasattr(X, "iloc")
    if not is_frame and getattr(X, "dtype", np.dtype(float)).kind == "O" and mask.any():
        X, is_frame = _as_frame(X, mask), True
    in_frame = is_frame and bool((categorical_mask(X, "from_dtype") | mask).any())
    columns = Columns(mask, in_frame)
    return columns.check(X, validate), columns


def check_features(
    estimator: Any, X: Any, *, reset: bool, categorical_features: Any = "from_dtype"
) -> Any:
    """Return X as trees take it, for `_check_X` of an estimator that grows them.

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

    frame: Any = pd.DataFrame(X)
    for f in np.flatnonzero(~mask):
        frame.isetitem(f, frame.iloc[:, f].astype(np.float64))
    return frame


def _check_frame(X: Any, mask: np.ndarray) -> None:
    """Refuse what a frame's columns of numbers must not hold."""
    for f in np.flatnonzero(~mask):
        column = X.iloc[:, f]
        if categorical_mask(X.iloc[:, [f]], "from_dtype")[0]:
            raise ValueError(
                f"The column {X.columns[f]!r} holds {column.dtype} values: declare it in "
                "categorical_features, or leave that at 'from_dtype'."
            )
        if np.isinf(column.to_numpy(dtype=np.float64, na_value=np.nan)).any():
            raise ValueError(f"Input X contains infinity in the column {X.columns[f]!r}.")
