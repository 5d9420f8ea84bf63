"""Loops of the assignment under limits, in Numba; imported on first use.

A row is a unit of flow from its decision to the pool, node ``D``; a decision sends between
its minimum and its limit on. Moving a row from decision u to v costs ``expected[i, v] -
expected[i, u]``; the cheapest such row of each pair stands on top of a heap.
"""

import numpy as np

from stakes.utils._jit import cached_jit

BLOCK = 1024  # of a sum: many small parts lose fewer digits than one long run


@cached_jit()
def merge_free(expected, limited, merged, free):
    """Copy the limited columns; the least of the others, and whose it is, is one more column.

    Returns the sum of the least costs of all rows.
    """
    n, n_decisions = expected.shape
    total, part = 0.0, 0.0
    for i in range(n):
        least, best, column = np.inf, -1, 0
        lowest = np.inf
        for d in range(n_decisions):
            value = expected[i, d]
            lowest = min(lowest, value)
            if limited[d]:
                merged[i, column] = value
                column += 1
            elif value < least:
                least, best = value, d
        if best >= 0:
            merged[i, column] = least
            free[i] = best
        part += lowest
        if i % BLOCK == BLOCK - 1:
            total, part = total + part, 0.0
    return total + part


@cached_jit()
def paid_for(expected, decisions):
    """Return what the decisions cost in sum."""
    total, part = 0.0, 0.0
    for i in range(len(decisions)):
        part += expected[i, decisions[i]]
        if i % BLOCK == BLOCK - 1:
            total, part = total + part, 0.0
    return total + part


@cached_jit()
def swap_equals(expected, prices, chosen, gap, state):
    """Move rows between decisions that are equally good for them, from too many to too few.

    That costs nothing and leaves less to route; whole numbers as costs have many such rows. A
    decision without a price may as well give a row of what the pool has too many, or take one.
    """
    excess, sent, lower, upper = state
    n, n_decisions = expected.shape
    pool = n_decisions
    for i in range(n):
        u = chosen[i]
        if gap[i] > 0.0:
            continue
        own = excess[u] > 0
        if not own and not (prices[u] == 0.0 and excess[pool] > 0 and sent[u] > lower[u]):
            continue
        least = expected[i, u] + prices[u]
        for v in range(n_decisions):
            if v == u or expected[i, v] + prices[v] != least:
                continue
            wants = excess[v] < 0
            if not wants and not (prices[v] == 0.0 and excess[pool] < 0 and sent[v] < upper[v]):
                continue
            chosen[i] = v
            if own:
                excess[u] -= 1
            else:
                sent[u] -= 1
                excess[pool] -= 1
            if wants:
                excess[v] += 1
            else:
                sent[v] += 1
                excess[pool] += 1
            break


@cached_jit()
def cheapest(expected, prices, chosen, gap):
    """Write the least of expected costs and prices, the first of equals, and how far the next is."""
    n, n_decisions = expected.shape
    counts = np.zeros(n_decisions, dtype=np.int64)
    for i in range(n):
        least, second, best = np.inf, np.inf, 0
        for d in range(n_decisions):
            value = expected[i, d] + prices[d]
            if value < least:
                second = least
                least, best = value, d
            elif value < second:
                second = value
        chosen[i] = best
        gap[i] = second - least
        counts[best] += 1
    return counts


@cached_jit()
def least_steps(expected, chosen):
    """Return the least cost of moving a row from one decision to another, [from, to]."""
    n, n_decisions = expected.shape
    steps = np.full((n_decisions, n_decisions), np.inf)
    for i in range(n):
        u = chosen[i]
        own = expected[i, u]
        for v in range(n_decisions):
            step = expected[i, v] - own
            if step < steps[u, v]:
                steps[u, v] = step
    return steps


@cached_jit()
def _push(keys, rows, size, key, row):
    """Put an entry on a heap of `size` entries; of equal keys the earlier row is on top."""
    j = size
    while j > 0:
        parent = (j - 1) // 2
        if keys[parent] < key or (keys[parent] == key and rows[parent] <= row):
            break
        keys[j], rows[j] = keys[parent], rows[parent]
        j = parent
    keys[j], rows[j] = key, row


@cached_jit()
def _pop(keys, rows, size):
    """Take the top off a heap of `size` entries."""
    last = size - 1
    key, row = keys[last], rows[last]
    j = 0
    while True:
        child = 2 * j + 1
        if child >= last:
            break
        other = child + 1
        if other < last and (
            keys[other] < keys[child] or (keys[other] == keys[child] and rows[other] < rows[child])
        ):
            child = other
        if key < keys[child] or (key == keys[child] and row <= rows[child]):
            break
        keys[j], rows[j] = keys[child], rows[child]
        j = child
    keys[j], rows[j] = key, row


@cached_jit()
def _top(heaps, u, v, chosen):
    """Return the cheapest row of u to move to v, and what it costs; rows that left are dropped."""
    keys, rows, start, size = heaps
    begin = start[u, v]
    while size[u, v] > 0:
        if chosen[rows[begin]] == u:
            return rows[begin], keys[begin]
        _pop(keys[begin:], rows[begin:], size[u, v])
        size[u, v] -= 1
    return -1, np.inf


@cached_jit()
def _search(heaps, chosen, state, before, via):
    """Extend shortest paths from every excess until one meets a want; return where, or -1.

    `before` is the node before each on its path, `via` the row that is moved, or -1 between a
    decision and the pool. The potentials rise by the lengths of the paths.
    """
    potential, excess, sent, lower, upper = state
    n_nodes = len(potential)
    pool = n_nodes - 1
    length = np.full(n_nodes, np.inf)
    done = np.zeros(n_nodes, dtype=np.bool_)
    for v in range(n_nodes):
        if excess[v] > 0:
            length[v], before[v] = 0.0, -1
    while True:
        u = -1
        for v in range(n_nodes):
            if not done[v] and length[v] < np.inf and (u < 0 or length[v] < length[u]):
                u = v
        if u < 0:
            return -1
        done[u] = True
        if excess[u] < 0:
            break
        for v in range(n_nodes):
            if done[v]:
                continue
            row, step = -1, 0.0
            if u == pool:
                if sent[v] <= lower[v]:
                    continue
            elif v == pool:
                if sent[u] >= upper[u]:
                    continue
            else:
                row, step = _top(heaps, u, v, chosen)
                if row < 0:
                    continue
            # Rounding may leave a little less than nothing.
            reached = length[u] + max(step + potential[u] - potential[v], 0.0)
            if reached < length[v]:
                length[v], before[v], via[v] = reached, u, row
    for v in range(n_nodes):
        potential[v] += min(length[v], length[u])
    return u


@cached_jit()
def route(expected, rows, chosen, state, heaps):
    """Move rows from decisions with too many to those with too few, at least cost.

    Returns 0 when all is even, 1 when a heap is full (call again), 2 when there is no way.
    Heaps: keys, rows, where each pair's begins (and the next one's), and how many it has.
    """
    potential, excess, sent, _, _ = state
    keys, entries, start, size = heaps
    n_nodes = len(potential)
    pool = n_nodes - 1
    size[:] = 0
    for i in rows:
        u = chosen[i]
        for v in range(pool):
            if v != u:
                at = start[u, v]
                key = expected[i, v] - expected[i, u]
                _push(keys[at:], entries[at:], size[u, v], key, i)
                size[u, v] += 1
    before = np.full(n_nodes, -1, dtype=np.int64)
    via = np.full(n_nodes, -1, dtype=np.int64)
    while True:
        if excess.max() <= 0:
            return 0
        full = False
        v = _search(heaps, chosen, state, before, via)
        if v < 0:
            return 2
        excess[v] += 1
        while before[v] >= 0:
            u, i = before[v], via[v]
            if i < 0:
                sent[v if u == pool else u] += -1 if u == pool else 1
            else:
                chosen[i] = v
                for w in range(pool):
                    if w == v:
                        continue
                    at = start[v, w]
                    _push(keys[at:], entries[at:], size[v, w], expected[i, w] - expected[i, v], i)
                    size[v, w] += 1
                    full |= at + size[v, w] >= start[v, w + 1]
            v = u
        excess[v] -= 1
        if full:
            return 1
