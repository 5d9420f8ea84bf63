"""Numba kernels that look for the best split of a node on a feature.

They write one *split* for each node and feature, whose fields are named below. Where a node has no
histogram, its rows are counted here, one feature at a time, and nothing is kept.
"""

from typing import NamedTuple

import numpy as np

from stakes.tree._columns import N_ROWS, START, WORDS
from stakes.tree._count_kernels import Problem, add_rows, gather
from stakes.tree._jit import step
from stakes.tree._vectors import add_four, mix_four, put_four, trailing_zeros, weigh_fours

# With at least so many bins for each row, only the bins that hold rows are looked at.
SPARSE = 2
# Classes whose prices are all added up; of more only those are that a bin holds.
FEW = 8
# Squared norms within this factor are equal: sums carry rounding noise.
SLACK = 1.0 + 1e-10
COST, VARIANCE = 0, 1
# Categories of which all subsets are tried; more of them are ordered by cost.
MAX_EXHAUSTIVE = 6
# Minus the cost of the children, their squared norms, the bins with rows on both sides of the cut,
# where missing values go, the rows that go left, the first two figures of the node itself, and the
# feature.
SAVED, SQUARES, BIN, NEXT_BIN, MISSING_LEFT, N_LEFT, NODE_SAVED, NODE_SQUARES, ON = range(9)
N_FIELDS = 9
# The step from one random number to the next (splitmix64).
STRIDE = np.uint64(0x9E3779B97F4A7C15)
U0, U1, U4, U6, U8, U32, U63 = (np.uint64(i) for i in (0, 1, 4, 6, 8, 32, 63))


class Rules(NamedTuple):
    """When a split is made, and which.

    Attributes
    ----------
    criterion : int
        COST or VARIANCE.
    max_depth, min_leaf, max_features : int
        As in `grow_cost_tree`.
    min_decrease, tolerance : float
        What a split must save; costs that differ by less are equal.
    draws, best_first : bool
        Whether features are looked at in an order that is drawn; whether one split is made at a time.
    """

    criterion: int
    max_depth: int
    min_leaf: int
    max_features: int
    min_decrease: float
    tolerance: float
    draws: bool
    best_first: bool


class Nodes(NamedTuple):
    """The nodes of a growing tree, and the rows.

    Attributes
    ----------
    table : ndarray of shape (room, N_GROWING), dtype int32
        See `_columns`.
    gains : ndarray of shape (room, 2)
        What the split of a node saves, in cost and in squared norm.
    sets : ndarray of shape (room, WORDS), dtype uint64
        The bins that go left in a categorical split.
    paths : ndarray of shape (room,), dtype uint64
        A number that depends on the seed and on the way to the node.
    order, spare : ndarray of shape (n_samples,), dtype uint32
        The rows, those of a node side by side; and room to part them.
    """

    table: np.ndarray
    gains: np.ndarray
    sets: np.ndarray
    paths: np.ndarray
    order: np.ndarray
    spare: np.ndarray


class Room(NamedTuple):
    """Room in which a thread works.

    Attributes
    ----------
    tile : ndarray
        The costs of some rows.
    hist, other, nowhere : ndarray
        The histograms of two features, where none is kept; one that is of no meaning.
    priced : ndarray
        The sums of each bin: the costs of the decisions and zeros up to a multiple of 4, the weight,
        the count.
    left, total : ndarray
        As the sums of a bin: those of the left side of a split, and of the node.
    figures : ndarray of shape (4,)
        The least costs and squared norms of the two sides of a split.
    keys : ndarray of shape (256,)
        Numbers by which categories are ordered.
    present : ndarray of shape (256,)
        The bins that hold rows.
    words : ndarray of shape (WORDS,), dtype uint64
        The same as bits.
    features : ndarray of shape (n_features,)
        In the order in which they are looked at.
    goes_left : ndarray of shape (256,), dtype uint8
        Whether a bin goes left.
    parted : ndarray of shape (n_nodes,)
        The nodes that are split at a time.
    """

    tile: np.ndarray
    hist: np.ndarray
    other: np.ndarray
    nowhere: np.ndarray
    priced: np.ndarray
    left: np.ndarray
    total: np.ndarray
    figures: np.ndarray
    keys: np.ndarray
    present: np.ndarray
    words: np.ndarray
    features: np.ndarray
    goes_left: np.ndarray
    parted: np.ndarray


def make_room(problem: Problem, n_rows: int, n_nodes: int) -> Room:
    """Return the room in which a thread works, on so many nodes of up to so many rows at once."""
    n_priced = -(-problem.n_decisions // 4) * 4 + 2
    return Room(
        tile=np.zeros(0 if problem.by_class else n_rows * problem.n_slots),
        hist=np.zeros(problem.max_n_bins * problem.n_slots),
        other=np.zeros(problem.max_n_bins * problem.n_slots),
        nowhere=np.zeros(problem.max_n_bins * problem.n_slots),
        priced=np.empty((256 + (1 << MAX_EXHAUSTIVE)) * n_priced),
        left=np.empty(n_priced),
        total=np.empty(n_priced),
        figures=np.empty(4),
        keys=np.empty(256),
        present=np.empty(256, np.int64),
        words=np.empty(WORDS, np.uint64),
        features=np.arange(len(problem.codes)),
        goes_left=np.empty(256, np.uint8),
        parted=np.empty(n_nodes, np.int64),
    )


@step
def draw(path, n_drawn, features):
    """Draw the first of the features, by a number that depends on the way to the node alone."""
    n_features = len(features)
    for j in range(n_features):
        features[j] = j
    for j in range(n_drawn):
        z = path + STRIDE * np.uint64(j + 1)  # the output function of splitmix64
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = (z ^ (z >> np.uint64(31))) >> U32
        other = j + np.int64((z * np.uint64(n_features - j)) >> U32)
        features[j], features[other] = features[other], features[j]


@step
def list_bins(codes, order, first, last, words, present):
    """List the bins of one feature that some rows are in, in order; return how many."""
    m = 0
    for i in range(WORDS):
        words[i] = U0
    for i in range(first, last):
        b = np.uint64(codes[order[i]])
        words[b >> U6] |= U1 << (b & U63)
    for i in range(WORDS):
        word = words[i]
        while word != U0:
            present[m] = 64 * i + np.int64(trailing_zeros(word))
            word &= word - U1
            m += 1
    return m


@step
def count_here(problem, nodes, node, pair, others, room):
    """Count the rows of a node for two features, into ``room.hist`` and `others`, empty before.

    The tile holds the costs of all its rows, where there is room.
    """
    order, first = nodes.order, np.int64(nodes.table[node, START])
    n_rows = np.int64(nodes.table[node, N_ROWS])
    most = n_rows if problem.by_class else len(room.tile) // problem.n_slots
    for begin in range(first, first + n_rows, most):
        end = min(begin + most, first + n_rows)
        if n_rows > most:
            gather(problem, order, begin, end - begin, room.tile)
        ours, theirs = (room.hist, np.int64(0)), (others, np.int64(0))
        add_rows(problem, order, (begin, end), pair, ours, theirs, room.tile)


@step
def price(problem, hist, base, size, m, room, add_up, wipes):
    """List the bins that hold rows, and write their sums; return how many there are.

    They are in ``room.present`` already if `m` is not negative. If `add_up`, the sums of all are
    written too; if `wipes`, the histogram is empty afterwards.
    """
    n_slots, n, present, total = problem.n_slots, problem.n_decisions, room.present, room.total
    weighted, n_classes, priced = len(problem.weight) > 0, len(problem.costs), room.priced
    listed, n_looked = m >= 0, m if m >= 0 else size
    width = np.uint64(-(-n // 4) * 4)
    two = problem.by_class and n == 2 and n_classes == 2
    first, second = problem.costs[0, 0], problem.costs[n_classes - 1, 0]
    prices, bins, m = np.uint64(problem.costs.ctypes.data), np.uint64(hist.ctypes.data), 0
    for i in range(n_looked):
        b = present[i] if listed else i
        h, q = np.uint64(base + b * n_slots), np.uint64(b) * (width + np.uint64(2))
        row, weight, count = np.uint64(priced.ctypes.data) + U8 * q, 0.0, 0.0
        if two:
            zero, one = hist[h], hist[h + U1]
            weight = zero + one
            count = hist[h + U1 + U1] if weighted else weight
            priced[q] = first * zero + second * one
            priced[q + U1] = -priced[q]
            priced[q + width], priced[q + width + U1] = weight, count
            if wipes:
                hist[h], hist[h + U1] = 0.0, 0.0
                if weighted:
                    hist[h + U1 + U1] = 0.0
            present[m] = b
            m += int(count > 0.0)  # no branches: a bin without rows is written over by the next
            if add_up and count > 0.0:
                total[0], total[1] = total[0] + priced[q], total[1] - priced[q]
                total[4], total[5] = total[4] + weight, total[5] + count
            continue
        if problem.by_class:
            costs, few = prices, n_classes <= FEW
            for c in range(np.uint64(n_classes)):
                share = hist[h + c]
                if share != 0.0 and not few:
                    for k in range(U0, U8 * width, U32):
                        if weight == 0.0:
                            put_four(row + k, costs + k, share)
                        else:
                            add_four(row + k, costs + k, share)
                weight += share
                costs += U8 * width
            if few and weight > 0.0:
                for k in range(U0, U8 * width, U32):
                    mix_four(row + k, bins + U8 * h, prices + k, np.uint64(n_classes), U8 * width)
            if wipes and weight > 0.0:
                for c in range(np.uint64(n_classes)):
                    hist[h + c] = 0.0
            count = hist[h + np.uint64(n_classes)] if weighted else weight
            if weighted and wipes:
                hist[h + np.uint64(n_classes)] = 0.0
        else:
            count = hist[h + np.uint64(n + weighted)]
            if count > 0.0:
                weight = hist[h + np.uint64(n)]
                place = bins + U8 * h
                for k in range(U0, U8 * width, U32):
                    put_four(row + k, place + k, 1.0)
                for k in range(np.uint64(n), width):
                    priced[q + k] = 0.0
                for k in range(U0, U8 * np.uint64(n_slots) if wipes else U0, U32):
                    put_four(place + k, place + k, 0.0)
        if count > 0.0:
            priced[q + width], priced[q + width + U1] = weight, count
            present[m] = b
            m += 1
            if add_up:
                for k in range(width + np.uint64(2)):
                    total[k] += priced[q + k]
    return m


@step
def cut(problem, rules, missing, m, room, out):
    """Look at every cut of the listed bins, in their order; return after which the best is, or -1.

    Less cost wins; within the tolerance the larger squared norm of the mean costs; then the first.
    If the last bin holds missing values, they go right, then left.
    """
    priced, left, total, present = room.priced, room.left, room.total, room.present
    n, by_cost, tolerance, figures = (
        problem.n_decisions,
        rules.criterion == COST,
        rules.tolerance,
        room.figures,
    )
    width, chosen = -(-n // 4) * 4, -1
    best, norm = out[SAVED], out[SQUARES]
    all_a, all_weight, all_count = total[0], total[width], total[width + 1]
    rows, side = np.uint64(priced.ctypes.data), np.uint64(left.ctypes.data)
    whole, said = np.uint64(total.ctypes.data), np.uint64(figures.ctypes.data)
    for way in range(2 if present[m - 1] == missing else 1):
        a, weight, count = 0.0, 0.0, 0.0
        for k in range(width):
            left[k] = 0.0
        for i in range(-way, m - 1 - way):
            q = (present[i] if i >= 0 else missing) * (width + 2)
            if n == 2:
                a += priced[q]
                b = all_a - a
                least, other, squares, rest = -abs(a), -abs(b), 2.0 * a * a, 2.0 * b * b
            else:
                weigh_fours(side, rows + U8 * np.uint64(q), whole, np.uint64(width // 4), said)
                least, other, squares, rest = figures[0], figures[1], figures[2], figures[3]
            weight += priced[q + width]
            count += priced[q + width + 1]
            saved = -(least + other)
            if i < 0 or (by_cost and saved < best - tolerance):
                continue
            clear = by_cost and saved > best + tolerance
            kept = squares / weight + rest / (all_weight - weight)
            if not clear and not kept > norm * SLACK:
                continue
            if min(count, all_count - count) < rules.min_leaf:
                continue
            if by_cost and not clear:
                saved = max(saved, best)  # ties must not drift
            best, norm, chosen = saved, kept, i
            out[MISSING_LEFT], out[N_LEFT] = way, count
    out[SAVED], out[SQUARES] = best, norm
    return chosen


@step
def start(problem, f, room, out):
    """Begin the split on a feature: there is none yet, and what the node itself costs."""
    least, squares, n = np.inf, 0.0, problem.n_decisions
    for k in range(n):
        least = min(least, room.total[k])
        squares += room.total[k] * room.total[k]
    out[SAVED], out[SQUARES], out[MISSING_LEFT], out[N_LEFT] = -np.inf, 0.0, 0.0, 0.0
    out[NODE_SAVED], out[ON] = -least, f
    weight = room.total[len(room.total) - 2]
    out[NODE_SQUARES] = squares / weight if weight > 0.0 else 0.0
