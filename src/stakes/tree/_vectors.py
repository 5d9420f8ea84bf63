"""A few operations on machine words that Numba's arrays do not offer, by its public door for them.

Numba makes no vector code of loops over four numbers, and counting costs is nothing else.
Places are addresses (``array.ctypes.data``): nothing checks them.
"""

import math
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
        product = builder.fmul(builder.load(given, align=8), _fill(builder, FOUR, args[2]))
        builder.store(product, at, align=8)
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64, types.float64), codegen


def _repeat(builder: Any, n: Any, step: Any, values: list) -> list:
    """Return what ``step(i, values)`` makes of some values for i from 0 to n - 1, n at least 1."""
    begin, body = builder.block, builder.append_basic_block()
    builder.branch(body)
    builder.position_at_end(body)
    i, kept = builder.phi(n.type), [builder.phi(value.type) for value in values]
    made = step(i, kept)
    after = builder.add(i, n.type(1))
    for phi, first, value in zip([i, *kept], [n.type(0), *values], [after, *made]):
        phi.add_incoming(first, begin)
        phi.add_incoming(value, body)
    end = builder.append_basic_block()
    builder.cbranch(builder.icmp_unsigned("<", after, n), body, end)
    builder.position_at_end(end)
    return made


@intrinsic
def mix_four(typingctx, place, shares, terms, n, stride):
    """Write the sum of n times four float64, each times its share; all places are addresses.

    The shares lie side by side, the terms `stride` bytes apart.
    """

    def codegen(context, builder, signature, args):
        at, stride = builder.inttoptr(args[0], FOUR.as_pointer()), args[4]
        shares = builder.inttoptr(args[1], ir.DoubleType().as_pointer())

        def step(i, kept):
            term = builder.add(args[2], builder.mul(i, stride))
            term = builder.load(builder.inttoptr(term, FOUR.as_pointer()), align=8)
            share = _fill(builder, FOUR, builder.load(builder.gep(shares, [i])))
            return [builder.fadd(kept[0], builder.fmul(term, share))]

        nothing = ir.Constant(FOUR, [0.0] * 4)
        builder.store(_repeat(builder, args[3], step, [nothing])[0], at, align=8)
        return context.get_dummy_value()

    return types.void(*[types.uint64] * 5), codegen


@intrinsic
def weigh_fours(typingctx, left, more, total, n, figures):
    """Add n times four float64 to those of a left side, and weigh it and the rest of the total.

    All but n are addresses. The figures are the least of the left side, the least of the rest, and
    the sums of their squares.
    """

    def fold(builder, combine, four):
        for places in ((2, 3, 0, 1), (1, 0, 3, 2)):
            mask = ir.Constant(ir.VectorType(ir.IntType(32), 4), list(places))
            four = combine(four, builder.shuffle_vector(four, four, mask))
        return builder.extract_element(four, ir.Constant(ir.IntType(32), 0))

    def codegen(context, builder, signature, args):
        def lesser(a, b):
            return builder.select(builder.fcmp_ordered("<", a, b), a, b)

        rows = [builder.inttoptr(a, FOUR.as_pointer()) for a in args[:3]]
        ways = lesser, lesser, builder.fadd, builder.fadd

        def step(i, kept):
            at, given, whole = (builder.gep(row, [i]) for row in rows)
            side = builder.fadd(builder.load(at, align=8), builder.load(given, align=8))
            builder.store(side, at, align=8)
            rest = builder.fsub(builder.load(whole, align=8), side)
            news = side, rest, builder.fmul(side, side), builder.fmul(rest, rest)
            return [way(new, old) for way, new, old in zip(ways, news, kept)]

        starts = [ir.Constant(FOUR, [start] * 4) for start in (math.inf, math.inf, 0.0, 0.0)]
        figures = builder.inttoptr(args[4], ir.DoubleType().as_pointer())
        for i, four in enumerate(_repeat(builder, args[3], step, starts)):
            place = builder.gep(figures, [ir.Constant(ir.IntType(64), i)])
            builder.store(fold(builder, ways[i], four), place)
        return context.get_dummy_value()

    return types.void(*[types.uint64] * 5), codegen


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
