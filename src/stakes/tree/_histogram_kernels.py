"""Numba kernels that count the rows of a node into histograms; see `_kernels` for the words."""

from collections import namedtuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from stakes.tree._columns import WORDS
from stakes.tree._jit import intrinsic
from stakes.tree._steps import step

BLOCK = 65_536
TILE = 512
# Features of a node that are counted together where its histogram is not kept.
GROUP = 4
# With at least so many bins for each row, only the bins that hold rows are looked at.
SPARSE = 2
# Categories of which all subsets are tried; more of them are ordered by cost.
MAX_EXHAUSTIVE = 6
# From so many classes on, a bin holds few of them: only those are priced, and classes are vectors.
MANY_CLASSES = 8

U0, U1, U2, U3, U4, U6, U63 = (np.uint64(i) for i in (0, 1, 2, 3, 4, 6, 63))


class Problem(
    namedtuple(
        "Problem",
        "codes costs y weight offsets categorical edges edge_starts by_class n_slots max_n_bins "
        "rounder",
    )
):
    """What a tree grows on.

    Attributes
    ----------
    codes : ndarray of shape (n_features, n_samples), dtype uint8
        The bins of the rows.
    costs : ndarray of shape (n_samples, K), or (K, K) if `by_class`
        Those of classes are centred.
    y : ndarray of shape (n_samples,), dtype uint8 or int16
        The classes; may be empty.
    weight : ndarray of shape (n_samples,)
        May be empty.
    offsets, edge_starts : ndarray of shape (n_features + 1,)
        Where the bins of each feature begin, and its cuts.
    categorical : ndarray of shape (n_features,), dtype bool
        Which features are categories.
    edges : ndarray of shape (3, n_edges)
        The cuts, and the values next below and next above them.
    by_class : bool
        Whether costs depend on the class alone.
    n_slots, max_n_bins : int
        Numbers for each bin of a histogram; the most bins of a feature.
    rounder : float
        Rounds costs to fixed point, if it is not 0: see `stakes.utils._sums`.
    """


class Search(namedtuple("Search", "local hist features bases parents splits sets")):
    """Where the splits of nodes are looked for.

    Attributes
    ----------
    local : ndarray of shape (n_samples,), dtype uint16
        The rows, ordered by node within their block.
    hist : ndarray
        The histograms.
    features : ndarray of shape (n_features,)
        In the order in which they are looked at.
    bases, parents : ndarray of shape (n_features,)
        Where in `hist` the node's histogram of each of them is, and its parent's.
    splits : ndarray of shape (2, n_features, N_FIELDS)
        The best split on each feature of the node and of its sibling.
    sets : ndarray of shape (2, n_features, WORDS)
        The bins that go left in it, if the feature is categorical.
    """


class Scratch(
    namedtuple(
        "Scratch",
        "rows tile sums left priced total work keys present order words listed n_listed",
    )
):
    """Room in which a thread searches.

    Attributes
    ----------
    rows, tile : ndarray
        Some rows of the node, and their costs.
    sums, left : ndarray of shape (K + 2, width)
        The sums of the bins that hold rows, and of the left sides of splits.
    priced : ndarray of shape (width + 1, K), or (0, K) if classes are few
        The costs of bins, each in a row; the last is that of running sums.
    total, work, keys, order, words : ndarray
        All sums; room for figures, for keys to sort by, for an order, for a set of bins.
    present : ndarray of shape (width,)
        The bins that hold rows.
    listed, n_listed : ndarray of shape (GROUP, width) and (GROUP,)
        Those bins for a few features, where rows are few, and how many; -1: they are not listed.
    """


def make_scratch(problem: Problem) -> Scratch:
    """Return the room in which a thread searches."""
    n_classes = problem.costs.shape[1]
    width = max(problem.max_n_bins, 1 << MAX_EXHAUSTIVE)
    many = problem.by_class and n_classes >= MANY_CLASSES
    return Scratch(
        rows=np.empty(TILE, np.uint32),
        tile=np.zeros(0 if problem.by_class else TILE * problem.n_slots),
        sums=np.empty((n_classes + 2, width)),
        left=np.empty((n_classes + 2, width)),
        priced=np.empty((width + 1 if many else 0, n_classes)),
        total=np.empty(n_classes + 2),
        work=np.empty((4, width)),
        keys=np.empty(width),
        present=np.empty(width, np.int64),
        order=np.empty(width, np.int64),
        words=np.empty(WORDS, np.uint64),
        listed=np.empty((GROUP, width), np.int64),
        n_listed=np.empty(GROUP, np.int64),
    )


@intrinsic
def add_four(typingctx, hist, h0, h1, h2, h3, tile, t):
    """Add tile[t:t+4] to hist[h:h+4] at four places, as vectors."""

    def codegen(context, builder, signature, args):
        target = cgutils.create_struct_proxy(signature.args[0])(context, builder, args[0])
        source = cgutils.create_struct_proxy(signature.args[5])(context, builder, args[5])
        vector = ir.VectorType(ir.DoubleType(), 4).as_pointer()
        term = builder.load(builder.bitcast(builder.gep(source.data, [args[6]]), vector), align=8)
        places = [
            builder.bitcast(builder.gep(target.data, [args[i]]), vector) for i in range(1, 5)
        ]
        found = [builder.load(place, align=8) for place in places]
        for place, value in zip(places, found):
            builder.store(builder.fadd(value, term), place, align=8)
        return context.get_dummy_value()

    return types.void(hist, h0, h1, h2, h3, tile, t), codegen


@intrinsic
def add_one(typingctx, hist, h, tile, t):
    """Add tile[t:t+4] to hist[h:h+4], as vectors."""

    def codegen(context, builder, signature, args):
        target = cgutils.create_struct_proxy(signature.args[0])(context, builder, args[0])
        source = cgutils.create_struct_proxy(signature.args[2])(context, builder, args[2])
        vector = ir.VectorType(ir.DoubleType(), 4).as_pointer()
        term = builder.load(builder.bitcast(builder.gep(source.data, [args[3]]), vector), align=8)
        place = builder.bitcast(builder.gep(target.data, [args[1]]), vector)
        builder.store(builder.fadd(builder.load(place, align=8), term), place, align=8)
        return context.get_dummy_value()

    return types.void(hist, h, tile, t), codegen


@intrinsic
def trailing_zeros(typingctx, word):
    """Return the position of the lowest bit of a uint64 that is not zero."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen


@step
def list_bins(codes, rows, n_rows, words, present):
    """List the bins of one feature that some rows are in, in order; return how many."""
    w0 = w1 = w2 = w3 = U0
    for i in range(n_rows):
        b = np.uint64(codes[rows[i]])
        bit = U1 << (b & U63)
        word = b >> U6
        w0 |= bit if word == U0 else U0
        w1 |= bit if word == U1 else U0
        w2 |= bit if word == U2 else U0
        w3 |= bit if word == U3 else U0
    words[0], words[1], words[2], words[3] = w0, w1, w2, w3
    m = 0
    for i in range(4):
        word = words[i]
        while word != U0:
            present[m] = 64 * i + np.int64(trailing_zeros(word))
            word &= word - U1
            m += 1
    return m


@step
def fill_rows(local, runs, node, block, position, rows):
    """Fill `rows` with the next rows of the node; return how many, and where to go on."""
    filled = 0
    n_blocks = runs.shape[1] // 2
    while block < n_blocks and filled < len(rows):
        first, last = runs[node, 2 * block] + position, np.int64(runs[node, 2 * block + 1])
        take = min(last - first, len(rows) - filled)
        base = np.uint32(block * BLOCK)
        for i in range(take):
            rows[filled + i] = base + np.uint32(local[first + i])
        filled += take
        position += take
        if first + take == last:
            block, position = block + 1, 0
    return filled, block, position


@step
def fill_costs(problem, rows, n_rows, tile):
    """Write the centred, weighted costs, the weight and the count of some rows."""
    costs, weight, n_slots = problem.costs, problem.weight, problem.n_slots
    n_classes = costs.shape[1]
    weighted, rounder = len(weight) > 0, problem.rounder
    for i in range(n_rows):
        r = rows[i]
        total = 0.0
        for k in range(n_classes):
            total += costs[r, k]
        mean = total / n_classes
        w = weight[r] if weighted else 1.0
        o = i * n_slots
        for k in range(n_classes):
            tile[o + k] = (w * (costs[r, k] - mean) + rounder) - rounder
        tile[o + n_classes] = w
        if weighted:
            tile[o + n_classes + 1] = 1.0


@step
def count_costs(problem, search, scratch, n_rows, low, high):
    """Add the costs of a tile of rows to the histograms of features[low:high], four at a time."""
    codes, features, bases, hist = problem.codes, search.features, search.bases, search.hist
    rows, tile = scratch.rows, scratch.tile
    slots = np.uint64(problem.n_slots)
    j = low
    while j + 4 <= high:
        c0, c1 = codes[features[j]], codes[features[j + 1]]
        c2, c3 = codes[features[j + 2]], codes[features[j + 3]]
        b0, b1 = np.uint64(bases[j]), np.uint64(bases[j + 1])
        b2, b3 = np.uint64(bases[j + 2]), np.uint64(bases[j + 3])
        t = U0
        for i in range(n_rows):
            r = rows[i]
            h0 = b0 + np.uint64(c0[r]) * slots
            h1 = b1 + np.uint64(c1[r]) * slots
            h2 = b2 + np.uint64(c2[r]) * slots
            h3 = b3 + np.uint64(c3[r]) * slots
            end = t + slots
            while t < end:
                add_four(hist, h0, h1, h2, h3, tile, t)
                h0 += U4
                h1 += U4
                h2 += U4
                h3 += U4
                t += U4
        j += 4
    while j < high:
        c0, b0 = codes[features[j]], np.uint64(bases[j])
        t = U0
        for i in range(n_rows):
            h0 = b0 + np.uint64(c0[rows[i]]) * slots
            end = t + slots
            while t < end:
                add_one(hist, h0, tile, t)
                h0 += U4
                t += U4
        j += 1


@step
def count_classes(problem, search, scratch, n_rows, low, high):
    """Add the class weights of a tile of rows to the histograms of features[low:high]."""
    codes, features, bases, hist = problem.codes, search.features, search.bases, search.hist
    y, weight, rows = problem.y, problem.weight, scratch.rows
    slots, count = np.uint64(problem.n_slots), np.uint64(problem.n_slots - 1)
    weighted = len(weight) > 0
    w = 1.0
    j = low
    while j < high:
        # beyond the last feature the same one is counted into a place of no meaning
        pair = j + 1 < high
        c0, b0 = codes[features[j]], np.uint64(bases[j])
        c1 = codes[features[j + 1]] if pair else c0
        b1 = np.uint64(bases[j + 1]) if pair else b0
        for i in range(n_rows):
            r = rows[i]
            c = np.uint64(y[r])
            h0 = b0 + np.uint64(c0[r]) * slots
            h1 = b1 + np.uint64(c1[r]) * slots
            if weighted:
                w = weight[r]
                hist[h0 + count] += 1.0
                if pair:
                    hist[h1 + count] += 1.0
            hist[h0 + c] += w
            if pair:
                hist[h1 + c] += w
        j += 2


@step
def gather(problem, local, runs, node, block, position, scratch):
    """Gather the next tile of a node's rows; return how many, and where to go on."""
    n_rows, block, position = fill_rows(local, runs, node, block, position, scratch.rows)
    if not problem.by_class:
        fill_costs(problem, scratch.rows, n_rows, scratch.tile)
    return n_rows, block, position


@step
def clear(problem, search, scratch, n_rows, start, stop):
    """Clear the histograms of features[start:stop].

    Few rows leave most bins empty: if the tile holds all `n_rows` of the node (else -1), the bins
    that they are in are listed, and only those are cleared and looked at.
    """
    hist, n_slots = search.hist, problem.n_slots
    for j in range(start, stop):
        f, base = search.features[j], search.bases[j]
        size = problem.offsets[f + 1] - problem.offsets[f]
        if n_rows >= 0:
            scratch.n_listed[j - start] = -1
        if n_rows >= 0 and n_rows * SPARSE <= size:
            listed = scratch.listed[j - start]
            m = list_bins(problem.codes[f], scratch.rows, n_rows, scratch.words, listed)
            scratch.n_listed[j - start] = m
            for i in range(m):
                h = base + listed[i] * n_slots
                for k in range(n_slots):
                    hist[h + k] = 0.0
        else:
            for h in range(base, base + size * n_slots):
                hist[h] = 0.0
