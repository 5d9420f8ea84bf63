"""What the values of each column are like, in a few numbers, and how they differ later."""

from typing import Any

import numpy as np
from scipy.stats import chi2

from stakes.tables._evidence import FEW_ROWS, least_rows
from stakes.utils._frames import numbers_of

N_BINS = 10
MAX_VALUES = 20
OTHER, MISSING = "(others)", "(missing)"


def column_histograms(frame: Any) -> list[dict]:
    """Return for each column its bins and how many rows fall into each, as plain values.

    Numbers and dates have bins of about equal count, anything else its most frequent values;
    the last two counts are of other values and of missing ones.

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.tables import column_histograms
    >>> column_histograms(pd.DataFrame({"job": ["cook", "cook", None]}))
    [{'name': 'job', 'values': ['cook'], 'counts': [2, 0, 1]}]
    """
    histograms = []
    for position, name in enumerate(frame.columns):
        column = frame.iloc[:, position]
        numbers = as_numbers(column)
        if numbers is not None:
            known = numbers[np.isfinite(numbers)]
            shares = np.arange(1, N_BINS) / N_BINS
            # Where a value is frequent, it is the upper end of a bin of its own.
            edges = np.quantile(known, shares, method="lower") if len(known) else np.zeros(0)
            one = {"name": str(name), "edges": np.unique(edges).tolist()}
        else:
            words = column[~column.isna()].astype(str)
            counts = words.value_counts()
            # Values that hardly come again tell nothing later, and may be names of people.
            repeated = len(counts) <= max(MAX_VALUES, len(words) / 2)
            counts = counts[counts >= least_rows(len(words))] if len(words) >= FEW_ROWS else counts
            values = [str(value) for value in counts.index[:MAX_VALUES]] if repeated else []
            one = {"name": str(name), "values": sorted(values)}
        histograms.append({**one, "counts": count_values(one, column).tolist()})
    return histograms


def count_values(histogram: dict, column: Any) -> np.ndarray:
    """Return how many rows of a column fall into the bins of a histogram, others and missing last."""
    missing = column.isna().to_numpy()
    if "edges" in histogram:
        numbers = as_numbers(column)
        n_bins = len(histogram["edges"]) + 1
        if numbers is None:  # it held numbers, and now holds something else
            return np.append(np.zeros(n_bins, dtype=int), [(~missing).sum(), missing.sum()])
        known = numbers[np.isfinite(numbers)]
        codes = np.searchsorted(histogram["edges"], known, side="left")
        return np.append(np.bincount(codes, minlength=n_bins), [0, len(numbers) - len(known)])
    import pandas as pd

    codes = pd.Index(histogram["values"], dtype=object).get_indexer(column[~missing].astype(str))
    n_values = len(histogram["values"])
    counts = np.bincount(np.where(codes < 0, n_values, codes), minlength=n_values + 1)
    return np.append(counts, missing.sum())


def as_numbers(column: Any) -> np.ndarray | None:
    """Return a column of numbers, truth values or dates as floats; None for anything else."""
    kind = column.dtype.kind
    if kind == "M":
        dates = column.to_numpy(dtype="datetime64[us]")
        numbers = dates.astype(np.int64).astype(float)
        numbers[np.isnat(dates)] = np.nan
        return numbers
    if kind in "fium":
        return numbers_of(column)
    return None


def compare_counts(before: Any, now: Any) -> tuple[float, float]:
    """Return the share of rows that has moved to other bins, and how likely that is by chance.

    Parameters
    ----------
    before, now : array-like of shape (n_bins,)
        How many rows of two samples fall into each bin.

    Returns
    -------
    moved : float
        The total variation distance of the two samples.
    p_value : float
        Of the chi-squared test that both are of one population.

    Examples
    --------
    >>> from stakes.tables import compare_counts
    >>> compare_counts([50, 50], [80, 20])[0]
    0.3
    """
    both = np.array([before, now], dtype=float)
    both = both[:, both.sum(axis=0) > 0]
    sizes = both.sum(axis=1)
    if both.shape[1] < 2 or (sizes == 0).any():
        return 0.0, 1.0
    shares = both / sizes[:, None]
    expected = sizes[:, None] * both.sum(axis=0) / sizes.sum()
    statistic = ((both - expected) ** 2 / expected).sum()
    moved = 0.5 * np.abs(shares[0] - shares[1]).sum()
    return float(round(moved, 12)), float(chi2.sf(statistic, both.shape[1] - 1))
