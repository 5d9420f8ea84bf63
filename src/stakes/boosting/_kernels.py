"""Numba kernels of the boosting loop; imported on use, numba is slow to load.

They make one pass over the rows on one thread: next to growing a tree that takes little.
"""

import numpy as np

from stakes.utils._jit import cached_jit


@cached_jit()
def gained(D, target, leaf, decisions, r):
    """Return what D puts off the targets in rows whose decision meets it, and in those that miss it.

    Then the sum of D at the decisions that miss, and how many rows do; those that cost nothing
    are not counted. Sums are in fixed point by `r` (`stakes.utils._sums`), if that is not 0.
    """
    # Offsets without a sign save the question whether an index counts from the end.
    flat, n_classes, row = D.ravel(), np.uint64(D.shape[1]), np.uint64(0)
    met, missed, paid, n_missed = 0.0, 0.0, 0.0, 0
    for i in range(len(target)):
        h, t = np.uint64(decisions[np.uint64(leaf[i])]), np.uint64(target[i])
        off = (r - flat[row + t]) - r
        if h == t:
            met += off
        else:
            missed += off
            paid += (flat[row + h] + r) - r
            n_missed += flat[row + t] < 0.0
        row += n_classes
    return met, missed, paid, n_missed


@cached_jit()
def add_votes(D, scores, target, leaf, decisions, alpha):
    """Add a member's votes to the scores and carry D along; return the new loss.

    A round changes one score per row, so one factor per row is all that D needs: where the
    vote goes to the target every entry shrinks by exp(-alpha), and where it goes elsewhere
    that entry grows by exp(alpha), and the target's falls by as much. Rows go on to sum to 0:
    what is added up has one sign. Scores without rows are not kept.
    """
    flat, votes = D.ravel(), scores.ravel()
    keeps = len(votes) > 0
    n_classes, row = np.uint64(D.shape[1]), np.uint64(0)
    up, down = np.exp(alpha), np.exp(-alpha)
    total = 0.0
    for i in range(len(target)):
        h, t = np.uint64(decisions[np.uint64(leaf[i])]), np.uint64(target[i])
        if keeps:
            votes[row + h] += alpha
        if h == t:
            for k in range(row, row + n_classes):
                flat[k] *= down
        else:
            cost = flat[row + h]
            flat[row + h] = up * cost
            flat[row + t] -= (up - 1.0) * cost
        total -= flat[row + t]
        row += n_classes
    return total


@cached_jit()
def rebuild(D, scores, penalty, offset, r):
    """Write D of eq. (13), divided by exp(offset), from the scores.

    Return its loss, in fixed point by `r` if that is not 0, and the most of a row.
    """
    n_rows, n_classes = scores.shape
    total, most = 0.0, 0.0
    for i in range(n_rows):
        t, p = penalty.target[i], penalty.table_row[i]
        w = penalty.row_weight[i] if penalty.by_row else penalty.row_weight[p]
        off = 0.0
        for k in range(n_classes):
            if k != t:
                c = w * penalty.table[p, k]
                D[i, k] = c * np.exp(scores[i, k] - scores[i, t] - offset) if c > 0.0 else 0.0
                off += D[i, k]
        D[i, t] = -off
        total += (off + r) - r
        most = max(most, off)
    return total, most
