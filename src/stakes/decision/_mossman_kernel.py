"""The exact search over Mossman's two thresholds, in Numba; imported on first use."""

import numpy as np

from stakes.utils._jit import cached_jit


@cached_jit()
def best_cut(third, order, place, n_levels, paid):
    """Return how many examples, by p_3, are not decided third, and where the others split.

    Parameters
    ----------
    third : ndarray of shape (n,)
        p_3 of each example.
    order : ndarray of shape (n,)
        Examples in ascending order of p_3.
    place : ndarray of shape (n,)
        The rank of p_2 - p_1 among its `n_levels` distinct values.
    paid : ndarray of shape (n, 3)
        What each decision costs.

    Returns
    -------
    n_below : int
        The first `n_below` examples of `order` are decided first or second.
    split : int
        Those of rank below `split` are decided first, the rest second.
    """
    n = len(order)
    size = 1
    while size < n_levels + 1:  # a split before each level, and one after the last
        size *= 2
    least = np.zeros(2 * size)
    for leaf in range(n_levels + 1, size):
        least[size + leaf] = np.inf
    for node in range(size - 1, 0, -1):
        least[node] = min(least[2 * node], least[2 * node + 1])
    pending = np.zeros(2 * size)

    rest = 0.0
    for j in range(n):
        rest += paid[j, 2]
    best, n_below, split = rest + least[1], 0, 0
    for k in range(n):
        j = order[k]
        rest -= paid[j, 2]
        # a split beyond the example's rank decides it first, any other second
        _add(least, pending, size, place[j] + 1, n_levels + 1, paid[j, 0])
        _add(least, pending, size, 0, place[j] + 1, paid[j, 1])
        if k + 1 < n and third[order[k + 1]] == third[j]:
            continue  # equal p_3 are decided alike
        if rest + least[1] < best - 1e-12 * abs(best):
            best, n_below = rest + least[1], k + 1
            node = 1
            while node < size:
                node *= 2
                if least[node + 1] < least[node]:
                    node += 1
            split = node - size
    return n_below, split


@cached_jit()
def _add(least, pending, size, begin, end, value):
    """Add a value to the leaves from `begin` up to `end`; keep the least of every subtree."""
    left, right = begin + size, end + size
    low, high = left, right - 1
    if begin >= end:
        return
    while left < right:
        if left & 1:
            least[left] += value
            pending[left] += value
            left += 1
        if right & 1:
            right -= 1
            least[right] += value
            pending[right] += value
        left >>= 1
        right >>= 1
    for node in (low, high):
        node >>= 1
        while node >= 1:
            least[node] = min(least[2 * node], least[2 * node + 1]) + pending[node]
            node >>= 1
