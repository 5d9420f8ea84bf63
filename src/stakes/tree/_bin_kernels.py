"""Numba kernel that bins values; imported on use."""

import numpy as np

from stakes.tree._jit import SOURCES, jit
from stakes.tree._vectors import AT_ONCE, count_below

# The edges of a feature are 16 times 16, after the last of each 16.
ROOM = AT_ONCE + AT_ONCE * AT_ONCE
U8, U16, U_ROOM = (np.uint64(i) for i in (8, AT_ONCE, ROOM))


def make_table(edges: np.ndarray) -> np.ndarray:
    """Return the edges as `encode` looks at them, one feature after the other.

    `edges` has a row of 255 for each feature, infinite ones last. The last of each 16 come first.
    """
    table = np.full((len(edges), ROOM), np.inf)
    table[:, AT_ONCE:-1] = edges
    table[:, :AT_ONCE] = table[:, 2 * AT_ONCE - 1 :: AT_ONCE]
    return table.ravel()


@jit
def encode(X, columns, features, table, missing, first, codes, sources=SOURCES):
    """Write the bins of ``X[:, columns]`` into ``codes[features, first:]``.

    The bin of x is the number of edges below x. The table is what `make_table` returns: how many
    times 16 edges are below x, and then how many of the next 16.
    """
    edges = np.uint64(table.ctypes.data)
    for j in range(len(features)):
        column, f = columns[j], features[j]
        start, out, m = edges + U8 * np.uint64(f) * U_ROOM, codes[f], np.uint8(missing[f])
        for i in range(X.shape[0]):
            x = X[i, column]
            p = U16 * count_below(start, x)
            p += count_below(start + U8 * (U16 + p), x)
            out[first + i] = np.uint8(p) if x == x else m
