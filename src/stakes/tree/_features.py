"""What X may be: an array of numbers, or a DataFrame with categories."""

import numpy as np

from stakes.tree._binning import categorical_mask
from stakes.utils._sklearn import validate_data

# Numbers as they are; NaN is a missing value.
NUMERIC_CHECKS = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}


def read_features(X, categorical_features) -> tuple:
    """Return X as `fit` validates it, which columns are categories, and whether X is a frame.

    A DataFrame whose columns are all numbers becomes an array in the validation; one that has
    other columns stays a frame. An array of objects with declared categories becomes a frame.
    """
    if not hasattr(X, "shape") or len(X.shape) != 2 or hasattr(X, "toarray"):
        return X, categorical_features, False  # whatever it is, the validation speaks of it
    mask = categorical_mask(X, categorical_features)
    if not hasattr(X, "iloc") and getattr(X, "dtype", np.dtype(float)).kind == "O" and mask.any():
        X = as_frame(X, mask)
    return X, mask, hasattr(X, "iloc") and bool((categorical_mask(X, "from_dtype") | mask).any())


def as_frame(X, mask):
    """Return an array as a DataFrame: declared categories as they are, the rest as numbers."""
    import pandas as pd

    frame = pd.DataFrame(X)
    for f in np.flatnonzero(~mask):
        frame.isetitem(f, frame.iloc[:, f].astype(np.float64))
    return frame


def check_frame(X, mask) -> None:
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


def validate_features(estimator, X):
    """Return X as `predict` and its kin take it, after a fit."""
    if not estimator._takes_frames:
        return validate_data(estimator, X, reset=False, **NUMERIC_CHECKS)
    validate_data(estimator, X, reset=False, skip_check_array=True)
    if not hasattr(X, "iloc"):
        X = as_frame(np.asarray(X, dtype=object), estimator.bins_.is_categorical)
    check_frame(X, estimator.bins_.is_categorical)
    return X
