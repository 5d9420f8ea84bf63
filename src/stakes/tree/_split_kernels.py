"""Numba kernels that judge nodes, settle their splits and part their rows."""

from typing import NamedTuple

import numpy as np

from stakes.tree._columns import (
    CUT,
    DEPTH,
    FEATURE,
    LEFT,
    MIDDLE,
    MISSING,
    N_GROWING,
    N_LEFT_ROWS,
    N_ROWS,
    RIGHT,
    START,
    STOP,
    WORDS,
)
from stakes.tree._count_kernels import gather
from stakes.tree._jit import SOURCES, jit, part_of, step
from stakes.tree._search_kernels import (
    BIN,
    COST,
    MISSING_LEFT,
    N_LEFT,
    NEXT_BIN,
    NODE_SAVED,
    NODE_SQUARES,
    ON,
    SAVED,
    SLACK,
    SPARSE,
    SQUARES,
    STRIDE,
    Room,
    count_here,
    cut,
    draw,
    list_bins,
    price,
    start,
)
from stakes.tree._set_kernels import search_set

# What is done with nodes in one call.
JUDGE, PART, SPLIT, FINISH = range(4)
# Rows of small nodes that are split at a time.
MOST_ROWS = 8_192

# Nodes that wait to be numbered: each holds at most half the rows of the one before.
MOST_WAITING = 64
U0, U1, U63 = (np.uint64(i) for i in (0, 1, 63))


@step
def cut_of(problem, f, low, high):
    """Return the last bin that goes left of a cut: the edge nearest to halfway between two bins.

    Those are the bins with rows on both sides. The rows of `edges` are the edges, the values next
    below and those next above.
    """
    missing = problem.offsets[f + 1] - problem.offsets[f] - 1
    edges, start = problem.edges, problem.edge_starts[f]
    if high == missing:
        return missing - 1
    high -= 1
    halfway = edges[1, start + low] / 2.0 + edges[2, start + high] / 2.0
    while low < high and edges[0, start + low + 1] <= halfway:
        low += 1
    if low < high and edges[0, start + low + 1] - halfway < halfway - edges[0, start + low]:
        low += 1
    return low


@part_of
def search(problem, rules, n, hist, nodes, desk, sets):
    """Write the best split of the first n nodes on each feature looked at."""
    room, items, splits = desk.room, desk.items, desk.splits
    n_features, n_slots, offsets = len(room.features), problem.n_slots, problem.offsets
    for j in range(n):
        node, own, low = items[j, 0], items[j, 1], items[j, 2]
        high = min(low + rules.max_features, n_features)
        if rules.draws:
            draw(nodes.paths[node], high, room.features)
        n_rows = np.int64(nodes.table[node, N_ROWS])
        if own < 0 and n_rows * n_slots <= len(room.tile):
            gather(problem, nodes.order, np.int64(nodes.table[node, START]), n_rows, room.tile)
        for k in range(len(room.total)):
            room.total[k] = 0.0
        for i in range(high - low):
            f, out, m = room.features[low + i], splits[j, i], np.int64(-1)
            size, counted, base = offsets[f + 1] - offsets[f], room.hist, np.int64(0)
            if own < 0:
                if i % 2 == 0:
                    last = low + i + 1 == high
                    others = room.nowhere if last else room.other
                    pair = f, f if last else room.features[low + i + 1]
                    count_here(problem, nodes, node, pair, others, room)
                else:
                    counted = room.other
                if n_rows * SPARSE <= size:
                    first = np.uint64(nodes.table[node, START])
                    stop, words = first + np.uint64(n_rows), room.words
                    m = list_bins(problem.codes[f], nodes.order, first, stop, words, room.present)
            else:
                counted, base = hist[own], offsets[f] * n_slots
            m = price(problem, counted, base, size, m, room, i == 0, own < 0)
            start(problem, f, room, out)
            if sets is not None:
                for k in range(WORDS):
                    sets[j, i, k] = U0
            if m < 2:
                continue
            if problem.categorical[f]:
                if sets is not None:
                    search_set(problem, rules, size, m, room, out, sets[j, i])
                continue
            at = cut(problem, rules, size - 1, m, room, out)
            if at < 0:
                continue
            out[BIN], out[NEXT_BIN] = room.present[at], room.present[at + 1]
            absent = room.present[m - 1] == size - 1
            if not absent and 2.0 * out[N_LEFT] > room.total[len(room.total) - 1]:
                out[MISSING_LEFT] = 1.0  # missing values follow the larger child


@part_of
def choose(problem, rules, items, n, splits, sets, nodes):
    """Write the best split of n nodes, if one is of use: of equals that on the first feature.

    Nodes that have none, but features not yet looked at, become the first of `items`. Return how
    many they are.
    """
    table, n_features, n_again, tolerance = nodes.table, len(problem.codes), 0, rules.tolerance
    for j in range(n):
        node, own, low = items[j, 0], items[j, 1], items[j, 2]
        high, chosen = min(low + rules.max_features, n_features), -1
        rival, norm = -np.inf, 0.0
        for i in range(high - low):
            split = splits[j, i]
            gain = split[SAVED] - split[NODE_SAVED]
            useful = gain > tolerance or split[SQUARES] > split[NODE_SQUARES] * SLACK
            useful = useful and gain >= rules.min_decrease - tolerance and split[N_LEFT] > 0.0
            better = split[SQUARES] > norm * SLACK
            if rules.criterion == COST:
                better = gain > rival + tolerance or (better and gain >= rival - tolerance)
            if useful and (chosen < 0 or better):
                chosen, rival, norm = i, gain, split[SQUARES]
        if chosen >= 0:
            split = splits[j, chosen]
            f = np.int64(split[ON])
            table[node, FEATURE], table[node, MISSING] = f, np.int64(split[MISSING_LEFT])
            table[node, N_LEFT_ROWS] = np.int64(split[N_LEFT])
            if problem.categorical[f]:
                if sets is not None:
                    for i in range(WORDS):
                        nodes.sets[node, i] = sets[j, chosen, i]
            else:
                low, high = np.int64(split[BIN]), np.int64(split[NEXT_BIN])
                table[node, CUT] = cut_of(problem, f, low, high)
            nodes.gains[node, 0] = split[SAVED] - split[NODE_SAVED]
            nodes.gains[node, 1] = split[SQUARES] - split[NODE_SQUARES]
        elif high < n_features:
            items[n_again, 0], items[n_again, 1], items[n_again, 2] = node, own, high
            n_again += 1
    return n_again


@step
def part_rows(problem, nodes, node, goes_left):
    """Part the rows of a node, keeping their order."""
    table, order, spare = nodes.table, nodes.order, nodes.spare
    f, cut, words = table[node, FEATURE], table[node, CUT], nodes.sets[node]
    missing = problem.offsets[f + 1] - problem.offsets[f] - 1
    for b in range(missing + 1):
        goes = b <= cut
        if problem.categorical[f]:
            goes = (words[b >> 6] >> (np.uint64(b) & U63)) & U1 == U1
        elif b == missing:
            goes = table[node, MISSING] == 1
        goes_left[b] = goes
    codes, start, stop = problem.codes[f], np.uint64(table[node, START]), table[node, STOP]
    w, n_right = start, start
    for i in range(start, np.uint64(stop)):
        row = order[i]
        goes_there = np.uint64(goes_left[codes[row]])
        order[w] = row
        spare[n_right] = row
        w += goes_there
        n_right += U1 - goes_there
    table[node, MIDDLE] = w
    for i in range(start, n_right):
        order[w + i - start] = spare[i]


@step
def all_alike(problem, nodes, node):
    """Say whether all rows of a node have the same costs, so that no split is of use."""
    order, costs, y = nodes.order, problem.costs, problem.y
    start, stop = nodes.table[node, START], nodes.table[node, STOP]
    first, alike = order[start], True
    for i in range(start + 1, stop):
        r = order[i]
        if problem.by_class:
            alike = y[r] == y[first]
        else:
            for k in range(problem.n_decisions):
                alike = alike and costs[r, k] == costs[first, k]
        if not alike:
            break
    return alike


@part_of
def part(problem, rules, node, small, free, nodes, desk, n_listed):
    """Part the rows of a node, and enter its children at `free` and after it.

    If neither has `small` rows or more, those that may be split are listed. Return how many nodes
    are listed now.
    """
    table = nodes.table
    part_rows(problem, nodes, node, desk.room.goes_left)
    table[node, LEFT], table[node, RIGHT] = free, free + 1
    n_left = table[node, N_LEFT_ROWS]
    n_right = table[node, N_ROWS] - n_left
    is_small = max(n_left, n_right) < small
    for child in range(free, free + 2):
        for i in range(N_GROWING):
            table[child, i] = -1
        for i in range(WORDS):
            nodes.sets[child, i] = U0
        nodes.gains[child, 0], nodes.gains[child, 1] = 0.0, 0.0
        z = nodes.paths[node] * np.uint64(0xD1342543DE82EF95)
        z += STRIDE ^ np.uint64(child - free + 1)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        nodes.paths[child] = z ^ (z >> np.uint64(31))
        is_left = child == free
        table[child, DEPTH] = table[node, DEPTH] + 1
        table[child, N_ROWS] = n_left if is_left else n_right
        table[child, START] = table[node, START] if is_left else table[node, MIDDLE]
        table[child, STOP] = table[node, MIDDLE] if is_left else table[node, STOP]
        fits = table[child, N_ROWS] >= 2 * rules.min_leaf
        fits = fits and is_small and table[child, DEPTH] < rules.max_depth
        if fits and not all_alike(problem, nodes, child):
            desk.listed[n_listed] = child
            n_listed += 1
    return n_listed


class Desk(NamedTuple):
    """Where a thread works.

    Attributes
    ----------
    room : Room
        Of the kernels.
    splits : ndarray of shape (n_nodes, n_looked, N_FIELDS)
        The best split of each node on each feature looked at.
    items : ndarray of shape (n_nodes, 3)
        Nodes, their histograms or -1, and the place of the first feature to look at.
    listed : ndarray of shape (many,), dtype int32
        Nodes that come next.
    """

    room: Room
    splits: np.ndarray
    items: np.ndarray
    listed: np.ndarray


class Plan(NamedTuple):
    """What is done: the mode, below how many rows a node is small, the free place, nodes listed."""

    mode: int
    small: int
    free: int
    n_listed: int


@jit
def split(problem, rules, plan, hist, nodes, desk, sets, sources=SOURCES):
    """Judge nodes (mode JUDGE), part them (PART), or both (SPLIT).

    Children that come next are listed where both are small. In mode FINISH it is the nodes listed
    that are split, the last first, and their children, until none is left. `sets` is None where no
    feature holds categories. Return how many nodes are listed, and the next free place.
    """
    mode, n_listed, free = plan.mode, plan.n_listed, plan.free
    table, parted, items, n = nodes.table, desk.room.parted, desk.items, len(desk.items)
    while True:
        if mode == FINISH:
            n, n_rows = 0, 0
            while n_listed > 0 and n < len(items) and n_rows < MOST_ROWS:
                n_listed -= 1
                node = desk.listed[n_listed]
                items[n, 0], items[n, 1], items[n, 2] = node, -1, 0
                n_rows += table[node, N_ROWS]
                n += 1
        n_parted = n
        for j in range(n):
            parted[j] = items[j, 0]
        while n > 0 and mode != PART:
            search(problem, rules, n, hist, nodes, desk, sets)
            n = choose(problem, rules, items, n, desk.splits, sets, nodes)
        for j in range(n_parted):
            if mode != JUDGE and table[parted[j], FEATURE] >= 0:
                n_listed = part(problem, rules, parted[j], plan.small, free, nodes, desk, n_listed)
                free += 2
        if mode != FINISH or n_parted == 0:
            return n_listed, free


@jit
def list_nodes(table, listed):
    """List the nodes of a grown tree, and number them: a node is split when it is taken.

    Of two children the smaller is taken first. Return how many nodes there are; their children are
    numbered anew.
    """
    waiting = np.empty(2 * MOST_WAITING, np.int64)
    waiting[0], listed[0] = 0, 0
    n_waiting, n_nodes = 1, 1
    while n_waiting > 0:
        n_waiting -= 1
        node = waiting[n_waiting]
        left, right = table[node, LEFT], table[node, RIGHT]
        if left < 0:
            continue
        listed[n_nodes], listed[n_nodes + 1] = left, right
        table[node, LEFT], table[node, RIGHT] = n_nodes, n_nodes + 1
        n_nodes += 2
        if table[left, N_ROWS] <= table[right, N_ROWS]:
            left, right = right, left
        waiting[n_waiting], waiting[n_waiting + 1] = left, right
        n_waiting += 2
    return n_nodes
