"""Numba kernels that ask many trees at once; imported on use."""

from typing import NamedTuple

import numpy as np

from stakes.tree._columns import (
    CHILD_SHIFT,
    CUT,
    CUT_SHIFT,
    FEATURE,
    FEATURE_SHIFT,
    LEFT,
    MISSING,
    RIGHT,
    SET_SHIFT,
)
from stakes.tree._jit import jit

U0, U1, U6, U63 = (np.uint64(i) for i in (0, 1, 6, 63))


# -- small trees, every node of which answers for all rows ------------------------------------


class FlatTrees(NamedTuple):
    """The nodes of many trees, one after the other."""

    starts: np.ndarray  # (n_trees + 1,) where the nodes of each tree begin
    feature: np.ndarray  # what a node asks; -1 for a leaf
    cut: np.ndarray  # codes up to it go left; -1 for a set of categories
    missing: np.ndarray  # the code that goes left though it is above the cut, or -1
    left: np.ndarray  # children, counted from the start of the tree
    right: np.ndarray
    decision: np.ndarray  # uint8, what a leaf decides
    sets: np.ndarray  # (n_nodes, 4) uint64, which categories go left


@jit
def ask_node(trees, at, code, on_left, on_right, goes_left, out):
    """Write the answers of a node's two sides into `out`, each row's by its bin in `code`."""
    if trees.cut[at] < 0:
        for b in range(256):
            goes_left[b] = np.uint8((trees.sets[at, b >> 6] >> np.uint64(b & 63)) & U1)
        for r in range(len(out)):
            out[r] = on_left[r] if goes_left[code[r]] else on_right[r]
    elif trees.missing[at] < 0:
        highest = np.uint8(trees.cut[at])
        for r in range(len(out)):
            out[r] = on_left[r] if code[r] <= highest else on_right[r]
    else:
        highest, absent = np.uint8(trees.cut[at]), np.uint8(trees.missing[at])
        for r in range(len(out)):
            goes = (code[r] <= highest) | (code[r] == absent)
            out[r] = on_left[r] if goes else on_right[r]


@jit
def add_votes_of_trees(codes, first, stop, trees, weights, scores):
    """Add the votes of all trees for rows first:stop to `scores`, (n_samples, n_classes).

    Every node answers for all rows at once, children before parents, with the decision its
    part of the tree comes to: the same comparison on contiguous bytes, which is vector code.
    """
    n_rows, starts = stop - first, trees.starts
    most = 0
    for t in range(len(weights)):
        most = max(most, starts[t + 1] - starts[t])
    answers = np.empty((most, n_rows), np.uint8)
    goes_left = np.empty(256, np.uint8)
    for t in range(len(weights)):
        start = starts[t]
        for node in range(starts[t + 1] - start - 1, -1, -1):
            at = start + node
            out = answers[node]
            if trees.feature[at] < 0:
                out[:] = trees.decision[at]
                continue
            code = codes[trees.feature[at], first:stop]
            ask_node(
                trees, at, code, answers[trees.left[at]], answers[trees.right[at]], goes_left, out
            )
        weight = weights[t]
        decided = answers[0]
        for r in range(n_rows):
            scores[first + r, decided[r]] += weight


# -- two-label trees of any size, each node of which parts its rows ----------------------------
#
# A node is one integer, laid out as `_columns` says, the two children side by side. Rows go through a tree together, each node parting its rows: one
# after the other they would wait at every node for the memory.


class PackedTable(NamedTuple):
    """Trees of two labels, packed."""

    words: np.ndarray  # (n_nodes,) the nodes
    sets: np.ndarray  # (n_nodes, 4) uint64, the bins that go left, where a node is by_set
    margins: np.ndarray  # (n_nodes,) how much a leaf leans to label 1
    roots: np.ndarray  # (n_trees,) where each tree begins


@jit
def pack_tree(nodes, sets, missing, categorical, margins, start, table):
    """Write a tree into the table from `start` on, siblings side by side."""
    words, word_sets = table.words, table.sets
    old = np.empty(nodes.shape[0], np.int64)
    old[0] = 0
    n_packed = 1
    at = 0
    while at < n_packed:
        node = old[at]
        if nodes[node, LEFT] < 0:
            words[start + at] = 1
            table.margins[start + at] = margins[node]
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


@jit
def ask_tree(codes, first, table, root, rows, pending, out):
    """Write a tree's margin for rows first, ..., first + len(out) - 1 into `out`.

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
    words, sets, margins = table.words, table.sets, table.margins
    one = U1  # unsigned indices need no test for being negative
    origin, half = np.uint64(first), np.uint64(len(out))
    for each in range(len(out)):  # not `i`, which is unsigned below: a name has one type
        rows[each] = each
    pending[0, 0], pending[0, 1], pending[0, 2], pending[0, 3] = np.uint64(root), U0, half, U0
    n_pending = one
    while n_pending > U0:
        n_pending -= one
        node, start = pending[n_pending, 0], pending[n_pending, 1]
        stop, place = pending[n_pending, 2], pending[n_pending, 3]
        while True:
            word = np.uint64(words[node])
            if word & one:
                margin = margins[node]
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
                    goes = (sets[node, code >> U6] >> (code & U63)) & one
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


@jit
def vote_pairs(codes, table, pairs, first, stop, votes, margins, leaning):
    """Add the votes and margins of two-label trees to the classes of their pairs.

    `leaning` (n_pairs, rows) takes each pair's answer, if it is not empty.
    """
    n_rows = stop - first
    rows = np.empty(2 * n_rows, np.uint32)
    pending = np.empty((n_rows + 1, 4), np.uint64)  # each node has a row of its own
    answer = np.empty(n_rows)
    keep = leaning.shape[0] > 0
    for p in range(len(table.roots)):
        ask_tree(codes, first, table, table.roots[p], rows, pending, answer)
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
