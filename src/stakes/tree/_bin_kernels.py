"""Numba kernel that bins values; imported on use."""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from stakes.tree._jit import intrinsic
from stakes.utils._jit import LoopsCompiler, cached_jit

_MATRIX = types.Array(types.float64, 2, "A", readonly=True)
_EDGES = types.Array(types.float64, 1, "C", readonly=True)
_INTS = types.Array(types.int64, 1, "C", readonly=True)

# Edges that are compared with a value at once; the edges of a feature are so many times so many.
AT_ONCE = 16
ROOM = AT_ONCE + AT_ONCE * AT_ONCE
U16, U_ROOM = np.uint64(AT_ONCE), np.uint64(ROOM)


def make_table(edges: np.ndarray) -> np.ndarray:
    """Return the edges as `encode` looks at them, one feature after the other.

    `edges` has a row of 255 for each feature, infinite ones last. The last of each 16 come first.
    """
    table = np.full((len(edges), ROOM), np.inf)
    table[:, AT_ONCE:-1] = edges
    table[:, :AT_ONCE] = table[:, 2 * AT_ONCE - 1 :: AT_ONCE]
    return table.ravel()


@intrinsic
def count_below(typingctx, table, at, x):
    """Return how many of table[at:at+16] are below x, all compared at once."""

    def codegen(context, builder, signature, args):
        source = cgutils.create_struct_proxy(signature.args[0])(context, builder, args[0])
        vector = ir.VectorType(ir.DoubleType(), AT_ONCE)
        place = builder.bitcast(builder.gep(source.data, [args[1]]), vector.as_pointer())
        edges = builder.load(place, align=8)
        nothing, zero = ir.Constant(vector, ir.Undefined), ir.Constant(ir.IntType(32), 0)
        first = builder.insert_element(nothing, args[2], zero)
        places = ir.Constant(ir.VectorType(ir.IntType(32), AT_ONCE), [0] * AT_ONCE)
        below = builder.fcmp_ordered("<", edges, builder.shuffle_vector(first, nothing, places))
        counted = builder.ctpop(builder.bitcast(below, ir.IntType(AT_ONCE)))
        return builder.zext(counted, ir.IntType(64))

    return types.uint64(table, at, x), codegen


@cached_jit(
    types.void(_MATRIX, _INTS, _INTS, _EDGES, _INTS, types.int64, types.uint8[:, ::1]),
    pipeline_class=LoopsCompiler,
)
def encode(X, columns, features, table, missing, first, codes):
    """Write the bins of ``X[:, columns]`` into ``codes[features, first:]``.

    The bin of x is the number of edges below x. The table is what `make_table` returns: how many
    times 16 edges are below x, and then how many of the next 16.
    """
    for j in range(len(features)):
        column, f = columns[j], features[j]
        start, out, m = np.uint64(f) * U_ROOM, codes[f], np.uint64(missing[f])
        for i in range(X.shape[0]):
            x = X[i, column]
            p = U16 * count_below(table, start, x)
            p += count_below(table, start + U16 + p, x)
            out[first + i] = p if x == x else m
