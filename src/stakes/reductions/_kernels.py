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
# two children side by side. A leaf is its own child, so that four rows can walk in step, each
# waiting at its leaf for the others: their memory accesses overlap.

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
            words[start + at] = ((start + at) << CHILD_SHIFT) | (255 << CUT_SHIFT) | 1
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


@nb.njit(nogil=True, cache=True, inline="always")
def step(word, codes, row, word_sets, node):
    """Return the next node of a row; a leaf returns itself."""
    code = np.int64(codes[(word >> FEATURE_SHIFT) & 0xFFFF, row])
    child = word >> CHILD_SHIFT
    if (word >> SET_SHIFT) & 1:
        goes_left = (word_sets[node, code >> 6] >> np.uint64(code & 63)) & U1
        return child + np.int64(U1 - goes_left)
    return child + np.int64(code > ((word >> CUT_SHIFT) & 0xFF))


@nb.njit(nogil=True, cache=True)
def walk(codes, words, word_sets, root, first, stop, out):
    """Write the packed leaf of rows first:stop into `out`, four rows in step."""
    i = first
    while i + 4 <= stop:
        n0 = n1 = n2 = n3 = np.int64(root)
        w0 = w1 = w2 = w3 = words[root]
        while not (w0 & w1 & w2 & w3 & 1):
            n0 = step(w0, codes, i, word_sets, n0)
            n1 = step(w1, codes, i + 1, word_sets, n1)
            n2 = step(w2, codes, i + 2, word_sets, n2)
            n3 = step(w3, codes, i + 3, word_sets, n3)
            w0, w1, w2, w3 = words[n0], words[n1], words[n2], words[n3]
        out[i - first], out[i - first + 1] = n0, n1
        out[i - first + 2], out[i - first + 3] = n2, n3
        i += 4
    while i < stop:
        node = np.int64(root)
        while not words[node] & 1:
            node = step(words[node], codes, i, word_sets, node)
        out[i - first] = node
        i += 1


@nb.njit(nogil=True, cache=True)
def vote_pairs(
    codes, words, word_sets, word_margins, roots, pairs, first, stop, votes, margins, leaning
):
    """Add the votes and margins of two-label trees to the classes of their pairs.

    `leaning` (n_pairs, rows) takes each pair's answer, if it is not empty.
    """
    leaf = np.empty(stop - first, np.int64)
    keep = leaning.shape[0] > 0
    for p in range(len(roots)):
        walk(codes, words, word_sets, roots[p], first, stop, leaf)
        j, k = pairs[p, 0], pairs[p, 1]
        for i in range(stop - first):
            margin = word_margins[leaf[i]]
            for_k = np.float64(margin > 0.0)
            votes[k, first + i] += for_k
            votes[j, first + i] += 1.0 - for_k
            margins[k, first + i] += margin
            margins[j, first + i] -= margin
            if keep:
                leaning[p, first + i] = margin > 0.0
