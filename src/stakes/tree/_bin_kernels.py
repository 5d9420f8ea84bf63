"""Numba kernel that bins values; imported on use."""

import numpy as np
from numba import types

from stakes.utils._jit import LoopsCompiler, cached_jit

_MATRIX = types.Array(types.float64, 2, "A", readonly=True)
_EDGES = types.Array(types.float64, 2, "C", readonly=True)
_INTS = types.Array(types.int64, 1, "C", readonly=True)

U0, U1, U2, U3, U4, U5, U6, U7, U15, U31, U63, U127 = (
    np.uint64(i) for i in (0, 1, 2, 3, 4, 5, 6, 7, 15, 31, 63, 127)
)


@cached_jit(
    types.void(_MATRIX, _INTS, _INTS, _EDGES, _INTS, types.int64, types.uint8[:, ::1]),
    pipeline_class=LoopsCompiler,
)
def encode(X, columns, features, edges, missing, first, codes):
    """Write the bins of ``X[:, columns]`` into ``codes[features, first:]``.

    The bin of x is the number of edges below x. Each row of `edges` has 255 of them, infinite
    ones last: eight halvings without a branch find it.
    """
    for j in range(len(features)):
        column, f = columns[j], features[j]
        e, out, m = edges[f], codes[f], np.uint64(missing[f])
        for i in range(X.shape[0]):
            x = X[i, column]
            p = np.uint64(e[U127] < x) << U7
            p += np.uint64(e[p + U63] < x) << U6
            p += np.uint64(e[p + U31] < x) << U5
            p += np.uint64(e[p + U15] < x) << U4
            p += np.uint64(e[p + U7] < x) << U3
            p += np.uint64(e[p + U3] < x) << U2
            p += np.uint64(e[p + U1] < x) << U1
            p += np.uint64(e[p] < x)
            out[first + i] = p if x == x else m
