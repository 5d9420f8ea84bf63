"""Numba kernel that lets many small trees vote; imported on use."""

import numba as nb
import numpy as np

U1 = np.uint64(1)


@nb.njit(nogil=True, cache=True)
def add_votes_of_trees(
    codes, first, stop, starts, feature, cut, missing, left, right, decision, sets, weights, scores
):
    """Add the votes of all trees for rows first:stop.

    Every node answers for all rows at once, children before parents, with the decision its
    part of the tree comes to: the same comparison on contiguous bytes, which is vector code.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_samples), dtype uint8
        The rows.
    first, stop : int
        Which rows.
    starts : ndarray of shape (n_trees + 1,)
        Where the nodes of each tree begin.
    feature : ndarray of shape (n_nodes,)
        What a node asks; -1 for a leaf.
    cut : ndarray of shape (n_nodes,)
        Codes up to it go left; -1 for a set of categories.
    missing : ndarray of shape (n_nodes,)
        The code that goes left though it is above the cut, or -1.
    left, right : ndarray of shape (n_nodes,)
        Children, counted from the start of the tree.
    decision : ndarray of shape (n_nodes,), dtype uint8
        What a leaf decides.
    sets : ndarray of shape (n_nodes, 4), dtype uint64
        Which categories go left.
    weights : ndarray of shape (n_trees,)
        The votes.
    scores : ndarray of shape (n_samples, n_classes)
        Where they are added.
    """
    n_rows = stop - first
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
            if feature[at] < 0:
                out[:] = decision[at]
                continue
            code = codes[feature[at], first:stop]
            on_left, on_right = answers[left[at]], answers[right[at]]
            if cut[at] < 0:
                for b in range(256):
                    goes_left[b] = np.uint8((sets[at, b >> 6] >> np.uint64(b & 63)) & U1)
                for r in range(n_rows):
                    out[r] = on_left[r] if goes_left[code[r]] else on_right[r]
            elif missing[at] < 0:
                highest = np.uint8(cut[at])
                for r in range(n_rows):
                    out[r] = on_left[r] if code[r] <= highest else on_right[r]
            else:
                highest, absent = np.uint8(cut[at]), np.uint8(missing[at])
                for r in range(n_rows):
                    goes = (code[r] <= highest) | (code[r] == absent)
                    out[r] = on_left[r] if goes else on_right[r]
        weight = weights[t]
        decided = answers[0]
        for r in range(n_rows):
            scores[first + r, decided[r]] += weight
