"""Numba kernels that bin values; imported on use."""

import numba as nb
from numba import types

_MATRIX = types.Array(types.float64, 2, "A", readonly=True)
_FLOATS = types.Array(types.float64, 1, "C", readonly=True)
_INTS = types.Array(types.int64, 1, "C", readonly=True)


@nb.njit(
    types.void(_MATRIX, _INTS, _INTS, _FLOATS, _INTS, types.int64, types.uint8[:, ::1]),
    nogil=True,
    cache=True,
)
def encode(X, columns, features, edges, starts, first, codes):
    """Write the bins of ``X[:, columns]`` into ``codes[features, first:]``.

    The bin of x is the number of edges below x: ``edges[b-1] < x <= edges[b]``.
    """
    for j in range(len(features)):
        column, f = columns[j], features[j]
        low = starts[f]
        n_edges = starts[f + 1] - low
        out = codes[f]
        for i in range(X.shape[0]):
            x = X[i, column]
            if x != x:
                out[first + i] = n_edges + 1
                continue
            left, length = 0, n_edges
            while length > 0:  # the first edge that is not below x
                half = length >> 1
                if edges[low + left + half] < x:
                    left += half + 1
                    length -= half + 1
                else:
                    length = half
            out[first + i] = left
