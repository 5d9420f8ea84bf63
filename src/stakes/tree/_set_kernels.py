"""Numba kernels that look for the best split of a node on categories."""

import numpy as np

from stakes.tree._columns import WORDS
from stakes.tree._jit import step
from stakes.tree._search_kernels import MAX_EXHAUSTIVE, MISSING_LEFT, N_LEFT, cut

U0, U1, U63 = (np.uint64(i) for i in (0, 1, 63))


@step
def best_pair(problem, rules, m, room):
    """Find the node's own decision, and the two decisions by which to order categories.

    They are the two for which giving each category to the cheaper one costs least, which is the
    optimum of "cost".
    """
    priced, total, n = room.priced, room.total, problem.n_decisions
    width = -(-n // 4) * 4 + 2
    own, best_a, best_b, best = 0, 0, 0, np.inf
    for a in range(n):
        if total[a] < total[own] - rules.tolerance:
            own = a
        for b in range(a + 1, n):
            cost = 0.0
            for i in range(m):
                q = room.present[i] * width
                cost += min(priced[q + a], priced[q + b])
            if cost < best - rules.tolerance:
                best_a, best_b, best = a, b, cost
    return own, best_a, best_b


@step
def order_by_pair(problem, a, b, m, room):
    """Order the listed categories by what decision a costs more than b, equal ones by number."""
    priced, keys, present, n = room.priced, room.keys, room.present, problem.n_decisions
    width = -(-n // 4) * 4
    for i in range(m):
        q = present[i] * (width + 2)
        weight = priced[q + width]
        keys[present[i]] = (priced[q + a] - priced[q + b]) / weight if weight > 0.0 else 0.0
    gap = m // 2
    while gap > 0:  # Shell's sort
        for i in range(gap, m):
            mine, j = present[i], i
            while j >= gap:
                other = present[j - gap]
                if keys[other] < keys[mine] or (keys[other] == keys[mine] and other < mine):
                    break
                present[j] = other
                j -= gap
            present[j] = mine
        gap = gap // 2


@step
def list_ways(problem, m, room):
    """List every way to part a few categories in two, of which the first goes right.

    A way is listed as a bin that holds what it has more than the way before it, so that they are
    cuts of an order like others. Return how many there are, and one that is none.
    """
    priced, width = room.priced, -(-problem.n_decisions // 4) * 4 + 2
    n_ways = (1 << (m - 1)) - 1
    for way in range(1, n_ways + 1):
        q = (256 + way) * width
        for k in range(width):
            priced[q + k] = 0.0
        for i in range(1, m):
            sign = float((way >> (i - 1)) & 1) - float(((way - 1) >> (i - 1)) & 1)
            for k in range(width):
                priced[q + k] += sign * priced[room.present[i] * width + k]
    for way in range(1, n_ways + 1):
        room.present[way - 1] = 256 + way
    room.present[n_ways] = 256
    return n_ways + 1


@step
def add_to_set(words, b):
    """Put bin b into a set of bins."""
    words[b >> 6] |= U1 << (np.uint64(b) & U63)


@step
def part_categories(problem, rules, m, room, out, words):
    """Put the categories that hold rows in one order after the other; look at every cut of it.

    A few are parted in all ways. More of them are ordered by what one decision costs more than
    another: by the best pair of decisions, then by the node's own decision and every other.
    """
    listed, none = room.goes_left, np.int64(-1)
    for i in range(m):
        listed[i] = room.present[i]
    if m <= MAX_EXHAUSTIVE:
        way = cut(problem, rules, none, list_ways(problem, m, room), room, out) + 1
        for i in range(1, m):
            if (way >> (i - 1)) & 1:
                add_to_set(words, np.int64(listed[i]))
        return
    own, best_a, best_b = best_pair(problem, rules, m, room)
    for way in range(-1, problem.n_decisions):
        a, b = (best_a, best_b) if way < 0 else (min(own, way), max(own, way))
        if a == b or (way >= 0 and a == best_a and b == best_b):
            continue
        order_by_pair(problem, a, b, m, room)
        at = cut(problem, rules, none, m, room, out)
        if at >= 0:
            for i in range(WORDS):
                words[i] = U0
            for i in range(at + 1):
                add_to_set(words, room.present[i])


@step
def search_set(problem, rules, size, m, room, out, words):
    """Write the best split on a feature of categories, of which m hold rows."""
    part_categories(problem, rules, m, room, out, words)
    out[MISSING_LEFT] = 0.0
    if 2.0 * out[N_LEFT] > room.total[len(room.total) - 1]:
        i_listed, listed = 0, room.goes_left  # categories without rows follow the larger child
        for b in range(size):
            if i_listed < m and listed[i_listed] == b:
                i_listed += 1
            else:
                add_to_set(words, b)
