"""The loops over examples, in Numba; imported on first use.

Scores are (K, n), one row per decision; the least decides. `costs` is a `CostRows`: class
costs are the (K, K) matrix with ``rows = y``, example costs the (n, K) array with
``rows = arange(n)``. `top` is a `TopTwo`, `sweep` a `DecisionSweep`; all three are named tuples
of `_sweep.py`. The loops work on tiles of examples that fit in the cache.

All kernels are compiled by `cached_jit`, once for a machine, and threads run beside each other.
"""

import numpy as np

from stakes.utils._jit import cached_jit

EPSILON = 2.220446049250313e-16
TILE = 1024


@cached_jit()
def top_two(scores, top):
    """Write the least and second least score of each example, and whose they are.

    Of equal scores the earlier decision comes first, as in an arg min. The loop works on
    tiles of examples, decision by decision, so that it vectorises.
    """
    k, n = scores.shape
    for begin in range(0, n, TILE):
        end = min(begin + TILE, n)
        a, b = top.first[begin:end], top.second[begin:end]
        ia, ib = top.leader[begin:end], top.runner[begin:end]
        a[:] = b[:] = np.inf
        ia[:] = ib[:] = -1
        for d in range(k):
            row = scores[d, begin:end]
            for j in range(end - begin):
                s = row[j]
                leads = s < a[j]
                follows = s < b[j]
                b[j] = a[j] if leads else (s if follows else b[j])
                ib[j] = ia[j] if leads else (d if follows else ib[j])
                a[j] = s if leads else a[j]
                ia[j] = d if leads else ia[j]


@cached_jit()
def refresh_top_two(scores, i, top):
    """Bring the two least scores up to date after the scores of decision i have changed."""
    first, second, leader, runner = top
    k, n = scores.shape
    for j in range(n):
        s = scores[i, j]
        leads = leader[j] == i
        other = runner[j] if leads else leader[j]
        o = second[j] if leads else first[j]
        if s < o or (s == o and i < other):
            second[j], runner[j] = o, other
            first[j], leader[j] = s, i
        elif not leads and (s < second[j] or (s == second[j] and i <= runner[j])):
            second[j], runner[j] = s, i
        elif leads or runner[j] == i:
            # it fell back: look at all decisions of this example
            first[j] = second[j] = np.inf
            for d in range(k):
                s = scores[d, j]
                if s < first[j]:
                    second[j], runner[j] = first[j], leader[j]
                    first[j], leader[j] = s, d
                elif s < second[j]:
                    second[j], runner[j] = s, d


@cached_jit()
def total_cost(decisions, costs):
    """Return what the decisions cost in sum."""
    table, rows, weight = costs
    weighted = weight.shape[0] > 0
    total = 0.0
    for begin in range(0, decisions.shape[0], TILE):
        part = 0.0
        for j in range(begin, min(begin + TILE, decisions.shape[0])):
            cost = table[rows[j], decisions[j]]
            part += cost * weight[j] if weighted else cost
        total += part
    return total


@cached_jit()
def change_points(scores, sweep, top, costs):
    """Find for each example the step at which its decision leaves class i.

    Below its changepoint an example is decided i, above it the best of the others (g^i of
    obrien2008, section 5.1). Steps outside of the sweep's range are not looked at.

    Returns
    -------
    points, jumps : ndarray
        The changepoints, and the change of the total cost as the step passes each; those
        that change nothing are left out.
    start : float
        The total cost just above the lowest step.
    """
    mine = scores[sweep.i]
    table, rows, weight = costs
    i, low, high, slope = sweep.i, sweep.low, sweep.high, sweep.slope
    first, second, leader, runner = top
    n = mine.shape[0]
    a, b, c, d, e = sweep.meeting
    weighted = weight.shape[0] > 0
    sloped = slope.shape[0] > 0
    # one entry more: a point is written before it is known to count
    points, jumps = np.empty(n + 1), np.empty(n + 1)
    start, count = 0.0, 0
    for begin in range(0, n, TILE):
        part = 0.0
        for j in range(begin, min(begin + TILE, n)):
            leads = leader[j] == i
            other = runner[j] if leads else leader[j]
            o = second[j] if leads else first[j]
            s = mine[j]
            below = c * o + d * s + (slope[j] if sloped else e)
            # where no step changes the order, the example stays as it is
            x = (a * o + b * s) / below if below > 0.0 else (np.inf if leads else -np.inf)
            w = weight[j] if weighted else 1.0
            cost_i = table[rows[j], i] * w
            jump = table[rows[j], other] * w - cost_i
            part += cost_i if x > low else cost_i + jump
            points[count] = x
            jumps[count] = jump
            count += 1 if (x > low and x < high and jump != 0.0) else 0
        start += part
    return points[:count], jumps[:count], start


@cached_jit()
def envelope_points(base, slopes, costs):
    """Find the steps x > 0 at which the least of the lines ``base + x * slopes`` changes.

    `slopes` are at least 0, so the decision at a small step is that of the least base and at
    a large one that of the least slope; an example may change several times. Returns points,
    jumps and start as `change_points` does.
    """
    table, rows, weight = costs
    k, n = base.shape
    weighted = weight.shape[0] > 0
    points, jumps = np.empty(2 * n + 64), np.empty(2 * n + 64)
    b, a = np.empty(k), np.empty(k)
    start, count = 0.0, 0
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
                if count == points.shape[0]:  # twice the room
                    points, jumps = np.append(points, points), np.append(jumps, jumps)
                points[count] = at
                jumps[count] = jump
                count += 1
    return points[:count], jumps[:count], start


@cached_jit()
def candidate_events(points, jumps, start, n_bins, left, right):
    """Leave out the changepoints that cannot border on a cheapest span.

    The points fall into `n_bins` equal bins between `left` and `right`, with one more bin at
    either side. The cost at the border of a bin bounds the least cost
    from above; the cost at its left border plus all falls inside bounds what the bin can
    reach from below. Runs of bins that cannot reach the least keep only their sum, as one
    event at their left border.

    Returns
    -------
    points, jumps : ndarray
        Events with the same cheapest spans as all events.
    """
    m = points.shape[0]
    falls, changes = np.zeros(n_bins + 2), np.zeros(n_bins + 2)
    per_unit = n_bins / (right - left)
    place = np.empty(m, dtype=np.int32)
    size = abs(start)
    for k in range(m):
        at = np.int32(min(max((points[k] - left) * per_unit + 1.0, 0.0), n_bins + 1.0))
        place[k] = at
        size += abs(jumps[k])
        falls[at] += min(jumps[k], 0.0)
        changes[at] += jumps[k]
    after = start + np.cumsum(changes)
    # a wide margin for rounding: a bin too many does no harm
    limit = min(start, after.min()) + 1e-9 * size
    keep = after - changes + falls <= limit
    out_points, out_jumps = np.empty(m + n_bins + 2), np.empty(m + n_bins + 2)
    count = 0
    for k in range(m):
        if keep[place[k]]:
            out_points[count] = points[k]
            out_jumps[count] = jumps[k]
            count += 1
    lowest = points.min()
    for b in np.flatnonzero(~keep):
        if b > 0 and not keep[b - 1]:  # one event for a run of bins
            out_jumps[count - 1] += changes[b]
            continue
        out_points[count] = lowest if b == 0 else left + (b - 1) / per_unit
        out_jumps[count] = changes[b]
        count += 1
    return out_points[:count], out_jumps[:count]


@cached_jit()
def best_span(points, jumps, order, start, ends, ratio, tie):
    """Walk the spans between changepoints; return the widest of the cheapest.

    Parameters
    ----------
    points, jumps : ndarray of shape (m,)
        Changepoints between the ends, and the change of cost at each.
    order : ndarray of shape (m,)
        Sorts the points.
    start : float
        The cost just above the lower end.
    ends : tuple of two float
        A span that reaches an infinite end (0, if `ratio`) counts as narrowest.
    ratio : bool
        Whether widths are ratios rather than differences.
    tie : float
        Points this near to each other (relative to the point, if `ratio`) are one.

    Returns
    -------
    lower, upper, cost : float
        The span and the total cost inside it.
    """
    low, high = ends
    # the spans: span g reaches from right[g - 1] to left[g] (from low, to high at the ends),
    # where left and right are the first and last of the points that count as one
    m = points.shape[0]
    left, right, costs = np.empty(m + 1), np.empty(m + 1), np.empty(m + 1)
    size = abs(start)
    cost = least = start
    n_spans = 0
    for k in order:
        x = points[k]
        size += abs(jumps[k])
        near = tie * abs(x) if ratio else tie
        if n_spans > 0 and x - right[n_spans - 1] <= near:
            right[n_spans - 1] = x
        else:
            left[n_spans] = right[n_spans] = x
            costs[n_spans] = cost
            least = min(least, cost)
            n_spans += 1
        cost += jumps[k]
    left[n_spans] = right[n_spans] = high
    costs[n_spans] = cost
    least = min(least, cost)

    limit = least + 64 * EPSILON * size
    lowest = 0.0 if ratio else -np.inf
    best_lower, best_upper, best_width = low, high, -1.0
    begin = low
    for g in range(n_spans + 1):
        cheapest = costs[g] <= limit
        if cheapest and g < n_spans and costs[g + 1] <= limit:
            continue  # the next span costs as little and is part of this one
        width = 0.0
        if begin > lowest and left[g] < np.inf:
            width = left[g] / begin if ratio else left[g] - begin
        if cheapest and width > best_width:
            best_lower, best_upper, best_width = begin, left[g], width
        begin = right[g]
    return best_lower, best_upper, least
