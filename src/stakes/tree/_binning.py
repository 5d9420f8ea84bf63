"""Features to bins, once: every tree of an ensemble and every round shares them."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from stakes.tree._threads import for_each_chunk

# A code is one byte: at most 255 bins of values, and one more for missing values.
MAX_BINS = 255
# Rows that are looked at to place the cuts of a feature; more would not move them visibly.
SUBSAMPLE = 100_000
# Rows that are binned at a time: small enough to stay in the cache, for any number of columns.
CHUNK = 8_192


@dataclass
class BinnedData:
    """Rows whose features are bin codes; what the engine grows on and predicts from.

    Attributes
    ----------
    codes : ndarray of shape (n_features, n_samples), dtype uint8
        Bin of each value; one feature is contiguous.
    bins : Bins
        What the codes mean.
    """

    codes: np.ndarray
    bins: "Bins"

    def __len__(self) -> int:
        return self.codes.shape[1]

    def take(self, rows: Any) -> "BinnedData":
        """Return some of the rows."""
        return BinnedData(np.ascontiguousarray(self.codes[:, rows]), self.bins)

    def as_numbers(self, X: Any) -> np.ndarray:
        """Return X, whose rows these are, as numbers: categories are their codes."""
        numbers = np.empty((len(self), self.bins.n_features))
        for f, is_category in enumerate(self.bins.is_categorical):
            numbers[:, f] = self.codes[f] if is_category else _column(X, f)
        return numbers

    def append(self, numbers: np.ndarray) -> "BinnedData":
        """Return these rows and then those of `numbers`, which are as `as_numbers` has them."""
        codes = np.empty((self.bins.n_features, len(self) + len(numbers)), dtype=np.uint8)
        codes[:, : len(self)] = self.codes
        for f, edges in enumerate(self.bins.edges):
            values = numbers[:, f]
            is_category = self.bins.is_categorical[f]
            codes[f, len(self) :] = values if is_category else np.searchsorted(edges, values)
        return BinnedData(codes, self.bins)

    def has_missing_numbers(self) -> bool:
        """Say whether a value is missing in a column of numbers."""
        numeric = ~self.bins.is_categorical
        return bool((self.codes[numeric] == self.bins.n_values[numeric, None]).any())


class Bins:
    """At most 255 bins for each feature, and one more for missing values.

    A numeric feature with few distinct values is kept exact (a cut halfway between
    neighbours); one with many is cut at quantiles. A categorical feature has a bin for each
    category; where there are more categories than bins, the rarest share the last bin.
    Missing values, and categories that `fit` did not see, have the bin ``n_values[f]``.

    Attributes
    ----------
    n_values : ndarray of shape (n_features,)
        Number of bins of each feature, without the one for missing values.
    is_categorical : ndarray of shape (n_features,), dtype bool
        Which features are categories.
    edges : list of ndarray
        For a numeric feature, the cuts: bin ``b`` holds ``edges[b-1] < x <= edges[b]``.
        Empty for a categorical one.
    categories : list of (Index or None)
        For a categorical feature, the categories in the order of their codes.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.tree._binning import Bins
    >>> X = np.array([[1.0], [3.0], [np.nan], [3.0]])
    >>> bins = Bins.fit(X)
    >>> bins.edges[0]
    array([2.])
    >>> bins.transform(X).codes
    array([[0, 1, 2, 1]], dtype=uint8)
    """

    def __init__(self, cuts: list, categories: list, max_bins: int = MAX_BINS):
        edges = [edges for edges, _, _ in cuts]
        self.edges = edges
        self.categories = categories
        self.is_categorical = np.array([c is not None for c in categories], dtype=bool)
        self.n_values = np.array(
            [
                len(e) + 1 if c is None else max(1, min(len(c), max_bins))
                for e, c in zip(edges, categories)
            ],
            dtype=np.int64,
        )
        # bins of feature f in a histogram: offsets[f] .. offsets[f + 1], the last one missing
        self.offsets = np.concatenate([[0], np.cumsum(self.n_values + 1)]).astype(np.int64)
        self.max_n_bins = int(self.n_values.max(initial=0)) + 1
        # for the kernels: the edges, the values next below and those next above, as rows
        self.flat_edges = np.concatenate([np.empty((3, 0)), *map(np.array, cuts)], axis=1)
        starts = np.concatenate([[0], np.cumsum([len(e) for e in edges])])
        self.edge_starts = starts.astype(np.int64)
        self._padded_edges = np.full((len(edges), MAX_BINS), np.inf)
        for row, e in zip(self._padded_edges, edges):
            row[: len(e)] = e

    def category_names(self, f: int) -> list[str]:
        """Return what the bins of a categorical feature hold, the one for missing values last."""
        labels = [str(label) for label in self.categories[f]]
        n_values = int(self.n_values[f])
        if len(labels) > n_values:
            labels = labels[: n_values - 1] + ["any rarer one"]
        return labels[:n_values] + ["missing"]

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.edges)

    @classmethod
    def fit(
        cls,
        X: Any,
        max_bins: Any = MAX_BINS,
        categorical_features: Any = "from_dtype",
        n_threads: int = 1,
    ) -> "Bins":
        """Place the bins of each column of X.

        Parameters
        ----------
        X : ndarray or DataFrame of shape (n_samples, n_features)
            Numbers, with NaN for missing values; the columns of a DataFrame may also hold
            categories or text.
        max_bins : int, default=255
            The most bins for one feature, from 2 to 255.
        categorical_features : "from_dtype", array-like or None, default="from_dtype"
            "from_dtype": the columns of a DataFrame that hold categories, text or booleans.
            Otherwise a mask, positions or names of columns; None means that none is.
        n_threads : int, default=1
            Threads that share the columns.
        """
        if not (isinstance(max_bins, Integral) and 2 <= int(max_bins) <= MAX_BINS):
            raise ValueError(
                f"max_bins must be an integer from 2 to {MAX_BINS}, but it is {max_bins!r}."
            )
        most = int(max_bins)
        n_samples, n_features = X.shape
        categorical = categorical_mask(X, categorical_features)
        rows = _sample_rows(n_samples)

        def place(f):
            if categorical[f]:
                return np.empty((3, 0)), _fit_categories(_column(X, f), most)
            return numeric_cuts(_numbers(_column(X, f), rows), most), None

        if n_threads == 1:
            placed = [place(f) for f in range(n_features)]
        else:
            with ThreadPoolExecutor(n_threads) as pool:
                placed = list(pool.map(place, range(n_features)))
        cuts, categories = [cut for cut, _ in placed], [found for _, found in placed]
        return cls(cuts, categories, most)

    def transform(self, X: Any, n_threads: int = 1) -> BinnedData:
        """Return the codes of X, which has the columns that `fit` saw.

        Parameters
        ----------
        X : ndarray or DataFrame of shape (n_samples, n_features)
            As in `fit`.
        n_threads : int, default=1
            Threads that share the rows.
        """
        n_samples, n_features = X.shape
        if n_features != self.n_features:
            raise ValueError(
                f"X has {n_features} features, but the bins were placed for {self.n_features}."
            )
        codes = np.empty((n_features, n_samples), dtype=np.uint8)
        numeric = np.flatnonzero(~self.is_categorical)
        if hasattr(X, "iloc"):
            for f in numeric:
                column = np.ascontiguousarray(_numbers(_column(X, f)))[:, None]
                self._encode(column, codes, np.array([f]), n_threads)
        elif len(numeric):
            self._encode(X, codes, numeric, n_threads)
        for f in np.flatnonzero(self.is_categorical):
            codes[f] = self._encode_categories(_column(X, f), f)
        return BinnedData(codes, self)

    def _encode(self, X, codes, features, n_threads) -> None:
        from stakes.tree._bin_kernels import encode

        columns = features if X.shape[1] == self.n_features else np.zeros(1, dtype=np.int64)

        def run(first, stop):
            block = X[first:stop]
            if block.dtype != np.float64:
                block = block.astype(np.float64)
            encode(block, columns, features, self._padded_edges, self.n_values, first, codes)

        for_each_chunk(run, X.shape[0], n_threads, CHUNK)

    def _encode_categories(self, column, f) -> np.ndarray:
        positions = self.categories[f].get_indexer(_objects(column))
        last = self.n_values[f] - 1
        codes = np.minimum(positions, last)  # the rarest categories share the last bin
        return np.where(positions < 0, self.n_values[f], codes).astype(np.uint8)


def categorical_mask(X: Any, categorical_features: Any = "from_dtype") -> np.ndarray:
    """Return which columns of X hold categories, (n_features,)."""
    n_features = X.shape[1]
    names = list(X.columns) if hasattr(X, "columns") else None
    if categorical_features is None:
        return np.zeros(n_features, dtype=bool)
    if isinstance(categorical_features, str):
        if categorical_features != "from_dtype":
            raise ValueError(
                "categorical_features must be 'from_dtype', None, a mask, positions or names, "
                f"but it is {categorical_features!r}."
            )
        if names is None:
            return np.zeros(n_features, dtype=bool)
        from pandas.api.types import is_bool_dtype, is_numeric_dtype

        return np.array(
            [not is_numeric_dtype(d) or is_bool_dtype(d) for d in X.dtypes], dtype=bool
        )
    given = np.asarray(categorical_features)
    mask = np.zeros(n_features, dtype=bool)
    if given.size == 0:
        return mask
    if given.dtype == bool:
        if given.shape != (n_features,):
            raise ValueError(
                f"categorical_features is a mask of {given.size}, but X has {n_features} columns."
            )
        return given.copy()
    if given.dtype.kind in "iu":
        if given.min() < 0 or given.max() >= n_features:
            raise ValueError(
                f"categorical_features has positions outside 0 to {n_features - 1}, "
                "the columns of X."
            )
        mask[given] = True
        return mask
    names = names or []
    unknown = [name for name in given.tolist() if name not in names]
    if unknown:
        raise ValueError(f"categorical_features names {unknown[0]!r}, which is no column of X.")
    mask[[names.index(name) for name in given.tolist()]] = True
    return mask


def numeric_cuts(values: np.ndarray, max_bins: int) -> tuple:
    """Return increasing cuts that part `values` into at most `max_bins` bins.

    Beside each cut, the largest value below it and the smallest above it.

    With few distinct values each has a bin of its own; otherwise the cuts are at quantiles.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.tree._binning import numeric_cuts
    >>> numeric_cuts(np.array([5.0, 1.0, 1.0, 2.0]), max_bins=255)
    (array([1.5, 3.5]), array([1., 2.]), array([2., 5.]))
    >>> numeric_cuts(np.arange(100.0), max_bins=4)[0]
    array([24.5, 49.5, 74.5])
    """
    values = np.sort(values)[: len(values) - np.count_nonzero(np.isnan(values))]
    rises = np.flatnonzero(values[1:] != values[:-1]) + 1  # where the next value begins
    if len(rises) >= max_bins:
        ranks = np.arange(1, max_bins) * len(values) // max_bins
        firsts = np.searchsorted(values, values[ranks], side="left")
        firsts, n_ranks = np.unique(firsts, return_counts=True)
        # a value that fills several quantiles has a bin to itself: its end is a cut too
        ends = np.searchsorted(values, values[firsts[n_ranks > 1]], side="right")
        rises = np.union1d(firsts[firsts > 0], ends[ends < len(values)])
    low, high = values[rises - 1], values[rises]
    middle = low / 2 + high / 2
    return np.where(middle < high, np.maximum(middle, low), low), low, high


def _sample_rows(n_samples: int):
    """Return one row from each of SUBSAMPLE equal strata, or all of them."""
    if n_samples <= SUBSAMPLE:
        return slice(None)
    width = n_samples / SUBSAMPLE
    rows = np.random.default_rng(0).random(SUBSAMPLE)
    rows += np.arange(SUBSAMPLE)
    rows *= width
    return rows.astype(np.int64)


def _fit_categories(column, max_bins: int):
    """Return the categories in the order of their codes: rarest last if there are too many."""
    import pandas as pd

    values = pd.Series(_objects(column))
    counts = values.value_counts(dropna=True, sort=False)
    try:
        counts = counts.sort_index()
    except TypeError:  # labels of mixed types have no order of their own
        counts = counts.sort_index(key=lambda index: index.map(str))
    if len(counts) > max_bins:
        counts = counts.sort_values(ascending=False, kind="stable")
    return pd.Index(counts.index)


def _column(X, f):
    return X.iloc[:, f] if hasattr(X, "iloc") else X[:, f]


def _objects(column) -> np.ndarray:
    """Return a column as it can be looked up among categories."""
    if hasattr(column, "to_numpy"):
        if hasattr(column, "cat"):
            column = column.astype(column.cat.categories.dtype)
        return column.to_numpy(dtype=None if column.dtype.kind in "fiub" else object)
    return np.asarray(column)


def _numbers(column, rows=slice(None)) -> np.ndarray:
    if hasattr(column, "iloc"):
        return column.iloc[rows].to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(column[rows], dtype=np.float64)


def frozen(array: np.ndarray) -> np.ndarray:
    """Return a view that cannot be written to.

    Numba compiles anew for arrays that are read-only, such as those that joblib maps into its
    workers: kernels are given their input frozen, whatever it was.
    """
    view = array.view()
    view.flags.writeable = False
    return view
