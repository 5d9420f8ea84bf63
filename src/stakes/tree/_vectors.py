"""A few operations on machine words that Numba's arrays do not offer, by its public door for them.

Numba makes no vector code of loops over four numbers, and counting costs is nothing else.
Places are addresses (``array.ctypes.data``): nothing checks them.
"""

from typing import Any

from llvmlite import ir
from numba import extending, types

intrinsic: Any = extending.intrinsic  # it is called with other arguments than it is defined with

FOUR = ir.VectorType(ir.DoubleType(), 4)
# Edges that are compared with a value at once.
AT_ONCE = 16
MANY = ir.VectorType(ir.DoubleType(), AT_ONCE)


def _fill(builder: Any, vector: Any, value: Any) -> Any:
    """Return a vector of one number."""
    nothing, zero = ir.Constant(vector, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    places = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(builder.insert_element(nothing, value, zero), nothing, places)


@intrinsic
def add_four(typingctx, place, terms, factor):
    """Add four float64 at one address, times a factor, to the four at another."""

    def codegen(context, builder, signature, args):
        at, given = (builder.inttoptr(address, FOUR.as_pointer()) for address in args[:2])
        added = builder.fmul(builder.load(given, align=8), _fill(builder, FOUR, args[2]))
        builder.store(builder.fadd(builder.load(at, align=8), added), at, align=8)
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64, types.float64), codegen


@intrinsic
def put_four(typingctx, place, terms, factor):
    """Write four float64 at one address, times a factor, over the four at another."""

    def codegen(context, builder, signature, args):
        at, given = (builder.inttoptr(address, FOUR.as_pointer()) for address in args[:2])
        found = builder.fmul(builder.load(given, align=8), _fill(builder, FOUR, args[2]))
        builder.store(found, at, align=8)
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64, types.float64), codegen


@intrinsic
def weigh_four(typingctx, left, more, total, figures):
    """Add four float64 to the four of a left side, and weigh it and the rest of the total.

    All are addresses. The figures are the least of the left side, the least of the rest, and the
    sums of their squares; each takes in what it was before.
    """

    def fold(builder, combine, four):
        for places in ((2, 3, 0, 1), (1, 0, 3, 2)):
            mask = ir.Constant(ir.VectorType(ir.IntType(32), 4), list(places))
            four = combine(four, builder.shuffle_vector(four, four, mask))
        return builder.extract_element(four, ir.Constant(ir.IntType(32), 0))

    def codegen(context, builder, signature, args):
        def lesser(a, b):
            return builder.select(builder.fcmp_ordered("<", a, b), a, b)

        at, given, whole = (builder.inttoptr(a, FOUR.as_pointer()) for a in args[:3])
        side = builder.fadd(builder.load(at, align=8), builder.load(given, align=8))
        builder.store(side, at, align=8)
        rest = builder.fsub(builder.load(whole, align=8), side)
        sums = [(lesser, side), (lesser, rest)]
        sums += [(builder.fadd, builder.fmul(four, four)) for four in (side, rest)]
        figures = builder.inttoptr(args[3], ir.DoubleType().as_pointer())
        for i, (combine, four) in enumerate(sums):
            place = builder.gep(figures, [ir.Constant(ir.IntType(64), i)])
            found = combine(fold(builder, combine, four), builder.load(place))
            builder.store(found, place)
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64, types.uint64, types.uint64), codegen


@intrinsic
def count_below(typingctx, place, x):
    """Return how many of the 16 float64 at an address are below x."""

    def codegen(context, builder, signature, args):
        edges = builder.load(builder.inttoptr(args[0], MANY.as_pointer()), align=8)
        below = builder.fcmp_ordered("<", edges, _fill(builder, MANY, args[1]))
        counted = builder.ctpop(builder.bitcast(below, ir.IntType(AT_ONCE)))
        return builder.zext(counted, ir.IntType(64))

    return types.uint64(types.uint64, types.float64), codegen


@intrinsic
def trailing_zeros(typingctx, word):
    """Return the position of the lowest bit of a word that is not zero."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen
