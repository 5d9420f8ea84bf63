"""The loops over examples, in Numba; imported on first use.

Scores are (K, n), one row per decision; the least decides. `table` and `rows` hold the
costs: class costs are the (K, K) matrix with ``rows = y``, example costs the (n, K) array
with ``rows = arange(n)``. The loops work on tiles of examples that fit in the cache.
"""

import numpy as np
from numba import njit

# How the score of the swept decision depends on the step x of its coordinate.
SHIFT = 0  # s + x            (ParallelPartition)
SCALE = 1  # s * x, s >= 0    (RowPartition)
DIVIDE = 2  # s / x, s <= 0   (ClassThresholds, LachicheFlach: s is minus p / c)
SLOPE = 3  # s + x * slope    (FullPartition: the slope is p of the true class)

TILE = 1024
EPSILON = 2.220446049250313e-16


@njit(cache=True, nogil=True)
def least_of_others(scores, skip, begin, end, value, index):
    """Write the least score of the tile and its decision, decision `skip` left out."""
    m = end - begin
    for j in range(m):
        value[j] = np.inf
        index[j] = -1
    for d in range(scores.shape[0]):
        if d == skip:
            continue
        row = scores[d, begin:end]
        for j in range(m):
            s = row[j]
            lower = s < value[j]
            value[j] = s if lower else value[j]
            index[j] = d if lower else index[j]


@njit(cache=True, nogil=True)
def total_cost(scores, table, rows, weight):
    """Return what deciding by the least score costs in sum."""
    n = scores.shape[1]
    weighted = weight.shape[0] > 0
    value = np.empty(TILE)
    index = np.empty(TILE, dtype=np.int64)
    total = 0.0
    for begin in range(0, n, TILE):
        end = min(begin + TILE, n)
        least_of_others(scores, -1, begin, end, value, index)
        part = 0.0
        for j in range(end - begin):
            cost = table[rows[begin + j], index[j]]
            part += cost * weight[begin + j] if weighted else cost
        total += part
    return total


@njit(cache=True, nogil=True)
def change_points(scores, i, kind, slope, table, rows, weight, low, high, points, jumps):
    """Find for each example the step at which its decision leaves class i.

    Below its changepoint an example is decided i, above it the best of the others (g^i of
    obrien2008, section 5.1). Steps outside of (low, high) are not looked at.

    Returns
    -------
    count : int
        How many changepoints were written to `points` and `jumps` (the change of the total
        cost as the step passes the point); those that change nothing are left out.
    start : float
        The total cost just above `low`.
    """
    n = scores.shape[1]
    weighted = weight.shape[0] > 0
    value = np.empty(TILE)
    index = np.empty(TILE, dtype=np.int64)
    at = np.empty(TILE)
    start = 0.0
    count = 0
    for begin in range(0, n, TILE):
        end = min(begin + TILE, n)
        m = end - begin
        least_of_others(scores, i, begin, end, value, index)
        mine = scores[i, begin:end]
        if kind == SHIFT:
            for j in range(m):
                at[j] = value[j] - mine[j]
        else:
            for j in range(m):
                s, o = mine[j], value[j]
                if kind == SCALE:
                    above, below = o, s
                elif kind == DIVIDE:
                    above, below = -s, -o
                else:
                    above, below = o - s, slope[begin + j]
                if below > 0.0:
                    at[j] = above / below
                else:  # no step changes the order
                    stays = s < o or (s == o and i < index[j])
                    at[j] = np.inf if stays else -np.inf
        part = 0.0
        for j in range(m):
            row = rows[begin + j]
            w = weight[begin + j] if weighted else 1.0
            cost_i = table[row, i] * w
            jump = table[row, index[j]] * w - cost_i
            x = at[j]
            part += cost_i if x > low else cost_i + jump
            points[count] = x
            jumps[count] = jump
            count += 1 if (x > low and x < high and jump != 0.0) else 0
        start += part
    return count, start


@njit(cache=True, nogil=True)
def envelope_points(base, slopes, table, rows, weight, points, jumps):
    """Find the steps x > 0 at which the least of the lines ``base + x * slopes`` changes.

    `slopes` are at least 0, so the decision at a small step is that of the least base and at
    a large one that of the least slope; an example may change several times. What does not
    fit in `points` is counted, not written.
    """
    k, n = base.shape
    weighted = weight.shape[0] > 0
    room = points.shape[0]
    b = np.empty(k)
    a = np.empty(k)
    start = 0.0
    count = 0
    for j in range(n):
        now = 0
        for d in range(k):
            b[d] = base[d, j]
            a[d] = slopes[d, j]
            if b[d] < b[now] or (b[d] == b[now] and a[d] < a[now]):
                now = d
        w = weight[j] if weighted else 1.0
        start += table[rows[j], now] * w
        while a[now] > 0.0:
            nearest, at = -1, np.inf
            for d in range(k):
                if a[d] < a[now]:
                    x = (b[d] - b[now]) / (a[now] - a[d])
                    if x < at or (x == at and a[d] < a[nearest]):
                        nearest, at = d, x
            if nearest < 0:
                break
            jump = (table[rows[j], nearest] - table[rows[j], now]) * w
            now = nearest
            if at <= 0.0:
                start += jump
            elif jump != 0.0:
                if count < room:
                    points[count] = at
                    jumps[count] = jump
                count += 1
    return count, start


@njit(cache=True, nogil=True)
def candidate_events(points, jumps, start, left, right, n_bins):
    """Leave out the changepoints that cannot border on a cheapest span.

    The points fall into `n_bins` equal bins between `left` and `right`, with one more at
    either side. The cost at the border of a bin bounds the least cost from above; the cost
    at its left border plus all falls inside bounds what the bin can reach from below. Bins
    that cannot reach the least keep only their sum, as one event at their left border.

    Returns
    -------
    points, jumps : ndarray
        Events with the same cheapest spans as all events.
    """
    m = points.shape[0]
    falls = np.zeros(n_bins + 2)
    rises = np.zeros(n_bins + 2)
    per_unit = n_bins / (right - left)
    place = np.empty(m, dtype=np.int32)
    size = abs(start)
    for k in range(m):
        b = np.int32(min(max((points[k] - left) * per_unit + 1.0, 0.0), n_bins + 1.0))
        place[k] = b
        jump = jumps[k]
        size += abs(jump)
        if jump < 0.0:
            falls[b] += jump
        else:
            rises[b] += jump
    least = start
    cost = start
    for b in range(n_bins + 2):
        cost += falls[b] + rises[b]
        least = min(least, cost)
    # a wide margin for rounding: a bin too many does no harm
    limit = least + 1e-9 * size
    keep = np.zeros(n_bins + 2, dtype=np.bool_)
    n_sums = 0
    cost = start
    for b in range(n_bins + 2):
        keep[b] = cost + falls[b] <= limit
        cost += falls[b] + rises[b]
        n_sums += 0 if keep[b] else 1
    n_kept = 0
    for k in range(m):
        n_kept += 1 if keep[place[k]] else 0
    out_points = np.empty(n_kept + n_sums)
    out_jumps = np.empty(n_kept + n_sums)
    count = 0
    for k in range(m):
        if keep[place[k]]:
            out_points[count] = points[k]
            out_jumps[count] = jumps[k]
            count += 1
    lowest = points.min()
    for b in range(n_bins + 2):
        if not keep[b]:
            border = left + (b - 1) / per_unit
            out_points[count] = lowest if b == 0 else border
            out_jumps[count] = falls[b] + rises[b]
            count += 1
    return out_points, out_jumps


@njit(cache=True, nogil=True)
def scan_spans(points, jumps, order, start, low, high, ratio, tie):
    """Walk the spans between changepoints; return the widest of the cheapest.

    Parameters
    ----------
    points, jumps, order : ndarray of shape (m,)
        Changepoints inside (low, high), the change of cost at each, and their ascending
        order.
    start : float
        The cost just above `low`.
    low, high : float
        The ends; a span that reaches an infinite end (0, if `ratio`) counts as narrowest.
    ratio : bool
        Whether widths are ratios rather than differences.
    tie : float
        Points this near to each other (relative to the point, if `ratio`) are one.

    Returns
    -------
    lower, upper, cost : float
        The span and the total cost inside it.
    """
    m = points.shape[0]
    size = abs(start)
    for k in range(m):
        size += abs(jumps[k])
    tolerance = 64 * EPSILON * size

    least = np.inf
    cost = start
    k = 0
    while True:  # the least cost of all spans
        least = min(least, cost)
        if k == m:
            break
        k, x, cost = _pass_point(points, jumps, order, k, cost, ratio, tie)

    best_lower, best_upper, best_width = low, high, -1.0
    cost = start
    left = low
    inside = start <= least + tolerance
    k = 0
    while k <= m:
        if k < m:
            right = points[order[k]]
            k, x, cost = _pass_point(points, jumps, order, k, cost, ratio, tie)
        else:
            x = right = high
            k += 1
        still = k <= m and cost <= least + tolerance
        if inside and not still:
            width = _width(left, right, ratio)
            if width > best_width:
                best_lower, best_upper, best_width = left, right, width
        if still and not inside:
            left = x
        inside = still
    return best_lower, best_upper, least


@njit(cache=True, nogil=True)
def _pass_point(points, jumps, order, k, cost, ratio, tie):
    """Pass all events at one point; return the next event, the point and the cost beyond it."""
    x = points[order[k]]
    while k < order.shape[0]:
        near = tie * abs(x) if ratio else tie
        if points[order[k]] > x + near:
            break
        x = points[order[k]]
        cost += jumps[order[k]]
        k += 1
    return k, x, cost


@njit(cache=True, nogil=True)
def _width(left, right, ratio):
    if ratio:
        return right / left if left > 0.0 and right < np.inf else 0.0
    return right - left if left > -np.inf and right < np.inf else 0.0
