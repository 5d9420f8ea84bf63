"""Numba kernels that count the rows of nodes into histograms; see docs/contributing/kernels.md.

A *histogram* has `n_slots` float64 for each bin. With class costs (`by_class`) they are the weight
of each class and (if weights are given) the count; with costs of examples the centred costs of each
decision, the weight and (if weights are given) the count, padded to a multiple of 4.
Costs are centred (each row less its mean), so that a constant added to a row changes nothing.
A *tile* are the costs of some rows of a node, gathered once and added up for all features.
"""

from typing import NamedTuple

import numpy as np

from stakes.tree._jit import jit, step
from stakes.tree._vectors import add_four

# Rows whose costs are gathered at a time.
TILE = 768
U1, U8, U32 = (np.uint64(i) for i in (1, 8, 32))


class Problem(NamedTuple):
    """What a tree grows on: K classes, A decisions.

    Attributes
    ----------
    codes : ndarray of shape (n_features, n_samples), dtype uint8
        The bins of the rows.
    costs : ndarray of shape (n_samples, A), or (K, width) if `by_class`
        Those of classes are centred, and padded with zeros to a multiple of 4.
    y : ndarray of shape (n_samples,), dtype uint8 or int16
        The classes; may be empty.
    weight : ndarray of shape (n_samples,)
        May be empty.
    offsets, edge_starts : ndarray of shape (n_features + 1,)
        Where the bins of each feature begin, and its cuts.
    categorical : ndarray of shape (n_features,), dtype bool
        Which features are categories.
    edges : ndarray of shape (3, n_edges)
        The cuts, and the values next below and next above them.
    by_class : bool
        Whether costs depend on the class alone.
    n_decisions, n_slots, max_n_bins : int
        A; the numbers for each bin of a histogram; the most bins of a feature.
    rounder : float
        Rounds costs to fixed point, if it is not 0: see `stakes.utils._sums`.
    """

    codes: np.ndarray
    costs: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    offsets: np.ndarray
    categorical: np.ndarray
    edges: np.ndarray
    edge_starts: np.ndarray
    by_class: bool
    n_decisions: int
    n_slots: int
    max_n_bins: int
    rounder: float


@step
def gather(problem, order, first, n_rows, tile):
    """Write the centred, weighted costs, the weight and the count of some rows of `order`."""
    costs, weight, n_slots = problem.costs, problem.weight, problem.n_slots
    n_decisions, rounder, w = problem.n_decisions, problem.rounder, 1.0
    for i in range(n_rows):
        r = order[first + i]
        total = 0.0
        for k in range(n_decisions):
            total += costs[r, k]
        mean = total / n_decisions
        o = i * n_slots
        if len(weight) > 0:
            w = weight[r]
            tile[o + n_decisions + 1] = 1.0
        tile[o + n_decisions] = w
        for k in range(n_decisions):
            tile[o + k] = (w * (costs[r, k] - mean) + rounder) - rounder


@step
def add_rows(problem, order, rows, pair, ours, others, tile):
    """Add some rows of `order`, from one to before another, to the histograms of two features.

    Neither waits for the other. Each is given as an array and where it begins there; `tile` holds
    the costs of the rows, unless those depend on the class.
    """
    codes, more = problem.codes[pair[0]], problem.codes[pair[1]]
    y, weight, slots = problem.y, problem.weight, np.uint64(problem.n_slots)
    begin, end = np.uint64(rows[0]), np.uint64(rows[1])
    hist, other, low, high = ours[0], others[0], np.uint64(ours[1]), np.uint64(others[1])
    weighted, w = len(weight) > 0, 1.0
    if not problem.by_class:
        size, term = U8 * slots, np.uint64(tile.ctypes.data)
        low = np.uint64(hist.ctypes.data) + U8 * low
        high = np.uint64(other.ctypes.data) + U8 * high
        for i in range(begin, end):
            r = order[i]
            h = low + np.uint64(codes[r]) * size
            h1 = high + np.uint64(more[r]) * size
            stop = term + size
            while term < stop:
                add_four(h, term, 1.0)
                add_four(h1, term, 1.0)
                h += U32
                h1 += U32
                term += U32
        return
    for i in range(begin, end):
        r = order[i]
        h = low + np.uint64(codes[r]) * slots
        h1 = high + np.uint64(more[r]) * slots
        c = np.uint64(y[r])
        if weighted:
            w = weight[r]
            hist[h + slots - U1] += 1.0
            other[h1 + slots - U1] += 1.0
        hist[h + c] += w
        other[h1 + c] += w


@jit
def count(problem, order, jobs, hist, low, high, room):
    """Count rows into histograms, for features[low:high].

    A row of `jobs` is the first row in `order`, the end of the rows, and the histogram.
    """
    n_slots, offsets, tile, nowhere = problem.n_slots, problem.offsets, room.tile, room.nowhere
    for j in range(len(jobs)):
        own = hist[jobs[j, 2]]
        for h in range(offsets[low] * n_slots, offsets[high] * n_slots):
            own[h] = 0.0
        for first in range(jobs[j, 0], jobs[j, 1], TILE):
            n_rows = min(TILE, jobs[j, 1] - first)
            if not problem.by_class:
                gather(problem, order, first, n_rows, tile)
            for f in range(low, high, 2):
                g = min(f + 1, high - 1)
                others = (own, offsets[g] * n_slots) if g > f else (nowhere, np.int64(0))
                ours, rows = (own, offsets[f] * n_slots), (first, first + n_rows)
                add_rows(problem, order, rows, (f, g), ours, others, tile)
