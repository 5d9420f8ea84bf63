"""Features to bins, once: every tree of an ensemble and every round shares them."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from threading import local
from typing import Any

import numpy as np

from stakes.tree._threads import for_each_chunk
from stakes.utils._arrays import is_table
from stakes.utils._frames import is_frame, is_sparse, kind_of, numbers_of

# A code is one byte: at most 255 bins of values, and one more for missing values.
MAX_BINS = 255
# Rows that are looked at to place the cuts of a feature at quantiles: a bin then holds its share of
# all rows within a quarter or so, and sorting takes no longer than growing a tree.
FEW = 4_096
# Of the rows some may be drawn twice: so many alike are cut with all features at once.
MOST_ALIKE = 3
# Rows that are looked at where those hold few different values, each of which is to have its bin.
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
            numbers[:, f] = self.codes[f] if is_category else _numbers(_column(X, f))
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

    def _check_structure(self) -> None:
        """Refuse bins, read from a file, that do not hold together: kernels look at nothing."""
        n_features, numeric = len(self.edges), ~np.asarray(self.is_categorical, dtype=bool)
        holds = (
            is_table(self.n_values, np.int64, (n_features,))
            and is_table(self.is_categorical, np.bool_, (n_features,))
            and is_table(self._padded_edges, np.float64, (n_features, MAX_BINS))
            and len(self.categories) == n_features
            and bool(((self.n_values >= 1) & (self.n_values <= MAX_BINS)).all())
            and all(
                is_table(edges, np.float64, (n - 1,))
                for edges, n, number in zip(self.edges, self.n_values, numeric)
                if number
            )
        )
        if not holds:
            raise ValueError("The bins of the features do not hold together.")

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
        X : ndarray, DataFrame or CSC matrix of shape (n_samples, n_features)
            Numbers, with NaN for missing values; the columns of a DataFrame may also hold
            dates, categories or text. What a sparse matrix does not store is 0.
        max_bins : int, default=255
            The most bins for one feature, from 2 to 255.
        categorical_features : "from_dtype", array-like or None, default="from_dtype"
            "from_dtype": the columns of a DataFrame that hold categories, text or booleans; dates
            are numbers.
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
        rows = sample_rows(n_samples)
        few = sample_rows(min(n_samples, SUBSAMPLE), FEW)
        few = few if isinstance(rows, slice) else rows[few]
        # the rows at once, which stand together, if they need not be made numbers first
        plain = isinstance(X, np.ndarray) and X.dtype.kind == "f"
        sampled = np.ascontiguousarray(X[few].T, dtype=np.float64) if plain else None
        known = (
            {} if sampled is None else _quantile_cuts(sampled, np.flatnonzero(~categorical), most)
        )

        def place(f):
            if f in known:
                return known[f], None
            if categorical[f]:
                return np.empty((3, 0)), _fit_categories(_column(X, f), most)
            column = _column(X, f)
            ordered, rises = _rises(_numbers(column, few) if sampled is None else sampled[f])
            if len(rises) < most and n_samples > FEW:
                ordered, rises = _rises(_numbers(column, rows))
            return _cuts(ordered, rises, most), None

        if n_threads == 1 or len(known) == n_features:
            placed = [place(f) for f in range(n_features)]
        else:
            with ThreadPoolExecutor(n_threads) as pool:
                placed = list(pool.map(place, range(n_features)))
        cuts, categories = [cut for cut, _ in placed], [edges for _, edges in placed]
        return cls(cuts, categories, most)

    def with_categories(self, counts: dict[int, Any], max_bins: int) -> "Bins":
        """Return the bins with other categories for some features: a count of each category."""
        starts = self.edge_starts
        cuts = [self.flat_edges[:, a:b] for a, b in pairwise(starts)]
        categories = [
            order_categories(counts[f], max_bins) if f in counts else known
            for f, known in enumerate(self.categories)
        ]
        return Bins(cuts, categories, max_bins)

    def transform(self, X: Any, n_threads: int = 1) -> BinnedData:
        """Return the codes of X, which has the columns that `fit` saw.

        Parameters
        ----------
        X : ndarray, DataFrame or CSC matrix of shape (n_samples, n_features)
            As in `fit`. A sparse matrix is binned as it is: beside the codes, one byte for each
            value, nothing of its full size is made.
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
        if is_frame(X):
            for f in numeric:
                column = np.ascontiguousarray(_numbers(_column(X, f)))[:, None]
                self._encode(column, codes, np.array([f]), n_threads)
        elif is_sparse(X):
            for f in numeric:
                codes[f] = np.searchsorted(self.edges[f], 0.0)
                stored = slice(*X.indptr[f : f + 2])
                codes[f, X.indices[stored]] = self._encode_numbers(X.data[stored], f)
        elif len(numeric):
            self._encode(X, codes, numeric, n_threads)
        for f in np.flatnonzero(self.is_categorical):
            codes[f] = self._encode_categories(_column(X, f), f)
        return BinnedData(codes, self)

    def _encode(self, X, codes, features, n_threads) -> None:
        from stakes.tree._bin_kernels import encode, make_table

        columns = features if X.shape[1] == self.n_features else np.zeros(1, dtype=np.int64)

        table = make_table(self._padded_edges)
        own = local()  # room of each thread: new memory for each block is slow to come by

        def run(first, stop):
            block = X[first:stop]
            if block.dtype != np.float64:
                if not hasattr(own, "room"):
                    own.room = np.empty((min(CHUNK, X.shape[0]), X.shape[1]))
                own.room[: len(block)] = block
                block = own.room[: len(block)]
            encode(frozen(block), columns, features, table, self.n_values, first, codes)

        for_each_chunk(run, X.shape[0], n_threads, CHUNK)

    def _encode_numbers(self, values, f) -> np.ndarray:
        codes = np.searchsorted(self.edges[f], values)
        return np.where(np.isnan(values), self.n_values[f], codes)

    def _encode_categories(self, column, f) -> np.ndarray:
        if hasattr(column, "cat"):  # a row of each category is looked up, not every row
            given, first, _ = _first_of_each(column)
            codes = np.full(len(column.cat.categories) + 1, self.n_values[f], dtype=np.uint8)
            codes[given] = self._encode_values(_objects(column.iloc[first]), f)
            return codes[column.cat.codes.to_numpy()]  # a missing value, -1, has the last
        return self._encode_values(_objects(column), f)

    def _encode_values(self, values, f) -> np.ndarray:
        if self.categories[f].dtype == bool:
            values = values.astype(object)  # among objects, 1 and True are the same
        positions = self.categories[f].get_indexer(values)
        last = self.n_values[f] - 1
        codes = np.minimum(positions, last)  # the rarest categories share the last bin
        return np.where(positions < 0, self.n_values[f], codes).astype(np.uint8)


def categorical_mask(X: Any, categorical_features: Any = "from_dtype") -> np.ndarray:
    """Return which columns of X hold categories, (n_features,)."""
    n_features = X.shape[1]
    names = list(X.columns) if is_frame(X) else None
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
        return np.array([kind_of(d) not in ("number", "time") for d in X.dtypes], dtype=bool)
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
    return _cuts(*_rises(values), max_bins)


def _rises(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values that are not missing, in order, and where each next value begins."""
    values = np.sort(values.astype(np.float64, copy=False))
    values = values[: len(values) - np.count_nonzero(np.isnan(values))]
    return values, np.flatnonzero(values[1:] != values[:-1]) + 1


def _quantile_cuts(rows: np.ndarray, features: np.ndarray, max_bins: int) -> dict[int, tuple]:
    """Return `_cuts` of rows of an array that hold many values, few alike and none missing.

    All of them are cut at once, which takes a third of the time.
    """
    if rows.shape[1] <= max_bins or len(features) == 0:
        return {}
    rows = np.sort(rows, axis=1)
    n_rises = np.count_nonzero(rows[:, 1:] != rows[:, :-1], axis=1)[features]
    ranks = np.arange(1, max_bins) * rows.shape[1] // max_bins
    each, firsts = features[:, None], np.tile(ranks, (len(features), 1))
    for _ in range(MOST_ALIKE):  # the first of values that are alike
        low, high = rows[each, firsts - 1], rows[each, firsts]
        if (low < high).all():
            break
        firsts = np.maximum(firsts - (low == high), 1)
    plain = (n_rises >= max_bins) & ~np.isnan(rows[features, -1])
    plain &= (low < high).all(axis=1) & (firsts[:, 1:] > firsts[:, :-1]).all(axis=1)
    placed = zip(features.tolist(), plain, zip(_between(low, high), low, high))
    return {f: cuts for f, is_plain, cuts in placed if is_plain}


def _between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return where to cut: halfway, or at the lower value where no number lies between them."""
    middle = low / 2 + high / 2
    return np.where(middle < high, np.maximum(middle, low), low)


def _cuts(values: np.ndarray, rises: np.ndarray, max_bins: int) -> tuple:
    if len(rises) >= max_bins:
        ranks = np.arange(1, max_bins) * len(values) // max_bins
        firsts = ranks  # where all values differ
        if len(rises) < len(values) - 1:
            firsts = np.searchsorted(values, values[ranks], side="left")
        if (firsts[1:] > firsts[:-1]).all():
            rises = firsts[firsts > 0]
        else:
            firsts, n_ranks = np.unique(firsts, return_counts=True)
            # a value that fills several quantiles has a bin to itself: its end is a cut too
            ends = np.searchsorted(values, values[firsts[n_ranks > 1]], side="right")
            rises = np.union1d(firsts[firsts > 0], ends[ends < len(values)])
    low, high = values[rises - 1], values[rises]
    return _between(low, high), low, high


def sample_rows(n_samples: int, n_rows: int = SUBSAMPLE) -> Any:
    """Return one row from each of `n_rows` equal strata, or all of them."""
    if n_samples <= n_rows:
        return slice(None)
    width = n_samples / n_rows
    rows = np.random.default_rng(0).random(n_rows)
    rows += np.arange(n_rows)
    rows *= width
    return rows.astype(np.int64)


def _fit_categories(column, max_bins: int):
    """Return the categories of a column in the order of their codes."""
    return order_categories(count_categories(column), max_bins)


def count_categories(column: Any) -> Any:
    """Return how often each category occurs in a column, a pandas Series."""
    import pandas as pd

    if hasattr(column, "cat"):
        _, first, counts = _first_of_each(column)
        each = pd.Series(_objects(column.iloc[first])).value_counts(dropna=True, sort=False)
        if len(each) == len(counts):  # in the same order
            return pd.Series(counts, each.index)
    return pd.Series(_objects(column)).value_counts(dropna=True, sort=False)


def _first_of_each(column: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the codes of a categorical column in the order they come, where first, how often."""
    codes = column.cat.codes.to_numpy().astype(np.int64)
    counts = np.bincount(codes + 1, minlength=len(column.cat.categories) + 1)[1:]
    first = np.full(len(counts) + 1, len(codes))
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    given = np.flatnonzero(counts)
    given = given[np.argsort(first[given])]
    return given, first[given], counts[given]


def order_categories(counts: Any, max_bins: int) -> Any:
    """Return the categories in the order of their codes: rarest last if there are too many."""
    import pandas as pd

    try:
        counts = counts.sort_index()
    except TypeError:  # labels of mixed types have no order of their own
        counts = counts.sort_index(key=lambda index: index.map(str))
    if len(counts) > max_bins:
        counts = counts.sort_values(ascending=False, kind="stable")
    return pd.Index(counts.index)


def _column(X, f):
    if is_frame(X):
        return X.iloc[:, f]
    if not is_sparse(X):
        return X[:, f]
    stored, column = slice(*X.indptr[f : f + 2]), np.zeros(X.shape[0])
    column[X.indices[stored]] = X.data[stored]
    return column


def categorical_column(X: Any, f: int) -> Any:
    """Return a column as `Bins.fit` counts its categories."""
    return _column(X, f)


def _objects(column) -> np.ndarray:
    """Return a column as it can be looked up among categories."""
    if hasattr(column, "to_numpy"):
        if hasattr(column, "cat"):
            column = column.astype(column.cat.categories.dtype)
        return column.to_numpy(dtype=None if column.dtype.kind in "fiub" else object)
    return np.asarray(column)


def _numbers(column, rows=slice(None)) -> np.ndarray:
    if hasattr(column, "iloc"):
        return numbers_of(column.iloc[rows])
    return np.asarray(column[rows], dtype=np.float64)


def frozen(array: np.ndarray) -> np.ndarray:
    """Return a view that cannot be written to.

    Numba compiles anew for arrays that are read-only, such as those that joblib maps into its
    workers: kernels are given their input frozen, whatever it was.
    """
    view = array.view()
    view.flags.writeable = False
    return view
