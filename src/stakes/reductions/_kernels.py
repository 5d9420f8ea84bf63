"""Numba kernels of the reductions; imported on use."""

import numba as nb
import numpy as np

from stakes.tree._kernels import CUT, FEATURE, LEFT, MISSING, RIGHT

U0 = np.uint64(0)
U1 = np.uint64(1)
WORDS = 4  # uint64 words of a set of bins


# -- many small trees at once --------------------------------------------------------------
#
# A node is one integer: child (32 bits) | feature (16) | cut (8) | by_set (1) | leaf (1), the
# two children side by side. Rows go through a tree together, each node parting its rows: one
# after the other they would wait at every node for the memory.

CHILD_SHIFT, FEATURE_SHIFT, CUT_SHIFT, SET_SHIFT = 26, 10, 2, 1


@nb.njit(nogil=True, cache=True)
def pack_tree(nodes, sets, missing, categorical, margins, start, words, word_sets, word_margins):
    """Write a tree from `start` on, siblings side by side."""
    old = np.empty(nodes.shape[0], np.int64)
    old[0] = 0
    n_packed = 1
    at = 0
    while at < n_packed:
        node = old[at]
        if nodes[node, LEFT] < 0:
            words[start + at] = 1
            word_margins[start + at] = margins[node]
            at += 1
            continue
        f = nodes[node, FEATURE]
        cut = nodes[node, CUT]
        by_set = categorical[f] or nodes[node, MISSING] == 1
        if categorical[f]:
            word_sets[start + at] = sets[node]
        elif by_set:  # a missing value goes left: bins up to the cut, and the last one
            word_sets[start + at] = U0
            for b in range(cut + 1):
                word_sets[start + at, b >> 6] |= U1 << np.uint64(b & 63)
            b = missing[f]
            word_sets[start + at, b >> 6] |= U1 << np.uint64(b & 63)
        old[n_packed], old[n_packed + 1] = nodes[node, LEFT], nodes[node, RIGHT]
        words[start + at] = (
            ((start + n_packed) << CHILD_SHIFT)
            | (f << FEATURE_SHIFT)
            | ((0 if by_set else cut) << CUT_SHIFT)
            | (np.int64(by_set) << SET_SHIFT)
        )
        n_packed += 2
        at += 1


@nb.njit(nogil=True, cache=True)
def ask_tree(codes, first, n_rows, words, word_sets, word_margins, root, rows, pending, out):
    """Write a tree's margin for rows first, ..., first + n_rows - 1 into `out`.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_all_rows)
        Bins.
    rows : ndarray of shape (2 * n_rows,), dtype uint32
        Room: the rows of a node are in one half, those of its children in the other, the left
        child's from the front and the right child's from the back.
    pending : ndarray of shape (many, 4), dtype uint64
        Room for the nodes to come: node, start and stop of its rows, and the half they are in.
    """
    one = U1  # unsigned indices need no test for being negative
    origin, half = np.uint64(first), np.uint64(n_rows)
    for i in range(n_rows):
        rows[i] = i
    pending[0, 0], pending[0, 1], pending[0, 2], pending[0, 3] = np.uint64(root), U0, half, U0
    n_pending = one
    while n_pending > U0:
        n_pending -= one
        node, start = pending[n_pending, 0], pending[n_pending, 1]
        stop, place = pending[n_pending, 2], pending[n_pending, 3]
        while True:
            word = np.uint64(words[node])
            if word & one:
                margin = word_margins[node]
                for i in range(place + start, place + stop):
                    out[rows[i]] = margin
                break
            feature = (word >> np.uint64(FEATURE_SHIFT)) & np.uint64(0xFFFF)
            child = word >> np.uint64(CHILD_SHIFT)
            other = half - place
            low, high = other + start, other + stop - one
            if (word >> np.uint64(SET_SHIFT)) & one:
                for i in range(place + start, place + stop):
                    row = rows[i]
                    code = np.uint64(codes[feature, origin + np.uint64(row)])
                    goes = (word_sets[node, code >> np.uint64(6)] >> (code & np.uint64(63))) & one
                    rows[low], rows[high] = row, row
                    low += goes
                    high -= one - goes
            else:
                cut = np.uint8((word >> np.uint64(CUT_SHIFT)) & np.uint64(0xFF))
                for i in range(place + start, place + stop):
                    row = rows[i]
                    goes = np.uint64(codes[feature, origin + np.uint64(row)] <= cut)
                    rows[low], rows[high] = row, row
                    low += goes
                    high -= one - goes
            place, middle = other, low - other
            if middle == start:
                node = child + one
            elif middle == stop:
                node = child
            else:
                pending[n_pending, 0], pending[n_pending, 1] = child + one, middle
                pending[n_pending, 2], pending[n_pending, 3] = stop, place
                n_pending += one
                node, stop = child, middle


@nb.njit(nogil=True, cache=True)
def vote_pairs(
    codes, words, word_sets, word_margins, roots, pairs, first, stop, votes, margins, leaning
):
    """Add the votes and margins of two-label trees to the classes of their pairs.

    `leaning` (n_pairs, rows) takes each pair's answer, if it is not empty.
    """
    n_rows = stop - first
    rows = np.empty(2 * n_rows, np.uint32)
    pending = np.empty((n_rows + 1, 4), np.uint64)  # each node has a row of its own
    answer = np.empty(n_rows)
    keep = leaning.shape[0] > 0
    for p in range(len(roots)):
        ask_tree(
            codes, first, n_rows, words, word_sets, word_margins, roots[p], rows, pending, answer
        )
        j, k = pairs[p, 0], pairs[p, 1]
        for i in range(n_rows):
            margin = answer[i]
            for_k = np.float64(margin > 0.0)
            votes[k, first + i] += for_k
            votes[j, first + i] += 1.0 - for_k
            margins[k, first + i] += margin
            margins[j, first + i] -= margin
            if keep:
                leaning[p, first + i] = margin > 0.0
