"""Numba kernels that find the best split of a node on a feature; see `_kernels` for the words.

The candidates are columns of an array, so that the loops over them are vector code.
"""

import numpy as np

from stakes.tree._columns import WORDS
from stakes.tree._histogram_kernels import MAX_EXHAUSTIVE
from stakes.tree._steps import step

# Squared norms within this factor are equal: sums carry rounding noise.
SLACK = 1.0 + 1e-10

COST, VARIANCE = 0, 1
# fields of the best split of a node on a feature: minus the cost of the children, their squared
# norms, the bins with rows on both sides of the cut, and the same two figures of the node
SAVED, SQUARES, BIN, NEXT_BIN, MISSING_LEFT, N_LEFT, NODE_SAVED, NODE_SQUARES = range(8)
N_FIELDS = 8

U0, U1, U63 = np.uint64(0), np.uint64(1), np.uint64(63)


@step
def compact(problem, hist, n_bins, n_listed, scratch):
    """List the bins that hold rows, and their sums as columns; return how many there are.

    They are in ``scratch.present`` already if `n_listed` is not negative.
    """
    costs, n_slots = problem.costs, problem.n_slots
    shares, sums, present = scratch.left, scratch.sums, scratch.present
    n_classes = costs.shape[1]
    weighted = len(problem.weight) > 0
    columns = shares if problem.by_class else sums
    n_columns = n_classes if problem.by_class else n_classes + 1
    by_column = scratch.total
    for k in range(n_columns):
        by_column[k] = 0.0
    m = 0
    for i in range(n_bins if n_listed < 0 else n_listed):
        b = i if n_listed < 0 else present[i]
        h = b * n_slots
        total = 0.0
        for k in range(n_columns):
            columns[k, m] = hist[h + k]
            total += hist[h + k]
        for k in range(n_columns):
            by_column[k] += abs(hist[h + k])
        if problem.by_class:
            sums[n_classes, m] = total
        count = total
        if weighted or not problem.by_class:
            count = hist[h + n_columns - 1 + int(weighted)]
        sums[n_classes + 1, m] = count
        present[m] = b
        m += int(count > 0.0)  # no branches: a bin without rows is written over by the next
    if problem.by_class:
        for k in range(n_classes):
            row = sums[k]
            for j in range(m):
                row[j] = 0.0
            for c in range(n_classes):
                if by_column[c] == 0.0:  # no row is of this class
                    continue
                share, cost = shares[c], costs[c, k]
                for j in range(m):
                    row[j] += cost * share[j]
    return m


@step
def add_up(sums, order, m, left):
    """Write the running sums of the rows of `sums`, in an order of columns, into `left`."""
    n = sums.shape[0]
    for k in range(0, n, 4):  # four at a time, for additions need not wait for each other
        k1, k2, k3 = min(k + 1, n - 1), min(k + 2, n - 1), min(k + 3, n - 1)
        s0, s1, s2, s3 = sums[k], sums[k1], sums[k2], sums[k3]
        l0, l1, l2, l3 = left[k], left[k1], left[k2], left[k3]
        t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
        for j in range(m):
            o = order[j]
            t0 += s0[o]
            t1 += s1[o]
            t2 += s2[o]
            t3 += s3[o]
            l0[j] = t0
            l1[j] = t1
            l2[j] = t2
            l3[j] = t3


@step
def figure(left, last, total, work):
    """Write the least cost and the squared norm of both sides of splits, left[:, :last]."""
    n_classes = left.shape[0] - 2
    least_left, least_right, squares_left, squares_right = work[0], work[1], work[2], work[3]
    for j in range(last):  # each loop is vector code: few arrays, no branches
        least_left[j] = np.inf
        squares_left[j] = 0.0
    for j in range(last):
        least_right[j] = np.inf
        squares_right[j] = 0.0
    for k in range(n_classes):
        row, whole = left[k], total[k]
        for j in range(last):
            a = row[j]
            least_left[j] = a if a < least_left[j] else least_left[j]
            squares_left[j] += a * a
        for j in range(last):
            a = whole - row[j]
            least_right[j] = a if a < least_right[j] else least_right[j]
            squares_right[j] += a * a


@step
def pick(left, first, last, total, work, rules, out):
    """Find the best of the splits first, ..., last - 1 by the figures of their sides.

    Less cost wins; within the tolerance the larger squared norm of the mean costs; then the
    first. Return its column if it beats the split in `out`, which it replaces, else -1. The last
    two rows of `left` are the weights and the counts of the left sides.
    """
    n_classes = left.shape[0] - 2
    least_left, least_right, squares_left, squares_right = work[0], work[1], work[2], work[3]
    row, whole = left[n_classes], total[n_classes]
    for j in range(last):
        squares_left[j] = squares_left[j] / row[j] + squares_right[j] / (whole - row[j])
    counts, whole = left[n_classes + 1], total[n_classes + 1]
    best = -1
    for j in range(first, last):
        saved, kept = -(least_left[j] + least_right[j]), squares_left[j]
        if rules.criterion == COST and saved < out[SAVED] - rules.tolerance:
            continue
        clear = rules.criterion == COST and saved > out[SAVED] + rules.tolerance
        if not clear and not kept > out[SQUARES] * SLACK:
            continue
        if counts[j] < rules.min_leaf or whole - counts[j] < rules.min_leaf:
            continue
        if rules.criterion == COST and not clear:
            saved = max(saved, out[SAVED])  # ties must not drift
        out[SAVED], out[SQUARES], out[N_LEFT] = saved, kept, counts[j]
        best = j
    return best


@step
def share(squares, weight):
    """Return squares / weight, or 0 where nothing has weight."""
    return squares / weight if weight > 0.0 else 0.0


@step
def middle(low, high, missing, edges, start):
    """Return the bin to cut after: the edge nearest to halfway between two bins with rows.

    The rows of `edges` are the edges, the values next below and those next above.
    """
    if high == missing:
        low = missing - 1
    else:
        high -= 1
        halfway = edges[1, start + low] / 2.0 + edges[2, start + high] / 2.0
        while low < high and edges[0, start + low + 1] <= halfway:
            low += 1
        if low < high and edges[0, start + low + 1] - halfway < halfway - edges[0, start + low]:
            low += 1
    return low


@step
def write_cut(out, present, j, missing_left):
    """Write a cut after the bin at `j` of those with rows."""
    out[BIN], out[NEXT_BIN] = present[j], present[j + 1]
    out[MISSING_LEFT] = missing_left


@step
def sum_all(m, scratch):
    """Write the sums of all bins with rows into `total`."""
    for k in range(scratch.sums.shape[0]):
        scratch.total[k] = 0.0
        for j in range(m):
            scratch.total[k] += scratch.sums[k, j]


@step
def cut_numbers(rules, missing, m, scratch, out):
    """Look at every cut of the bins that hold rows: missing values last, then first."""
    sums, left, present, order = scratch.sums, scratch.left, scratch.present, scratch.order
    for way in range(2 if present[m - 1] == missing else 1):
        for j in range(m):
            order[j] = j - way
        order[0] = m - 1 if way == 1 else 0
        add_up(sums, order, m, left)
        if way == 0:
            for k in range(left.shape[0]):
                scratch.total[k] = left[k, m - 1]
        figure(left, m - 1, scratch.total, scratch.work)
        best = pick(left, way, m - 1, scratch.total, scratch.work, rules, out)
        if best >= 0:
            write_cut(out, present, best - way, np.float64(way))


@step
def part_categories(rules, m, scratch, out, words):
    """Put the categories that hold rows in one order after the other; look at every cut of it.

    A few are parted in all ways. More of them are ordered by what one decision costs more than
    another: by the best pair of decisions, then by the node's own decision and every other.
    """
    sums, left, order = scratch.sums, scratch.left, scratch.order
    in_all_ways = m <= MAX_EXHAUSTIVE
    sum_all(m, scratch)
    own, best_a, best_b = best_pair(rules, m, scratch)
    for way in range(1 if in_all_ways else sums.shape[0] - 1):
        n_cuts = m - 1
        if in_all_ways:
            n_cuts = part_all_ways(m, scratch)
        else:
            a, b = (best_a, best_b) if way == 0 else (min(own, way - 1), max(own, way - 1))
            if a == b or (way > 0 and a == best_a and b == best_b):
                continue
            order_by_pair(a, b, m, scratch)
            add_up(sums, order, m, left)
        figure(left, n_cuts, scratch.total, scratch.work)
        best = pick(left, 0, n_cuts, scratch.total, scratch.work, rules, out)
        if best >= 0:
            write_set(best, in_all_ways, m, scratch, words)


@step
def write_set(best, in_all_ways, m, scratch, words):
    """Write the categories that go left: up to a cut of their order, or one way of all ways."""
    for i in range(WORDS):
        words[i] = U0
    for j in range(m):
        if in_all_ways:
            if j > 0 and ((best + 1) >> (j - 1)) & 1:
                add_to_set(words, scratch.present[j])
        elif j <= best:
            add_to_set(words, scratch.present[scratch.order[j]])


@step
def part_all_ways(m, scratch):
    """Write the sums of every way to part a few categories in two; the first of them goes right.

    Return how many ways there are.
    """
    sums, left = scratch.sums, scratch.left
    n_splits = (1 << (m - 1)) - 1
    for k in range(sums.shape[0]):
        for subset in range(n_splits):
            left[k, subset] = 0.0
            for j in range(1, m):
                if ((subset + 1) >> (j - 1)) & 1:
                    left[k, subset] += sums[k, j]
    return n_splits


@step
def best_pair(rules, m, scratch):
    """Find the two decisions by which to order categories, and the node's own.

    They are the two for which giving each category to the cheaper one costs least, which is the
    optimum of "cost".
    """
    sums, total = scratch.sums, scratch.total
    n_classes = sums.shape[0] - 2
    own, best_a, best_b, best = 0, 0, 0, np.inf
    for a in range(n_classes):
        if total[a] < total[own]:
            own = a
        for b in range(a + 1, n_classes):
            cost = 0.0
            for j in range(m):
                cost += min(sums[a, j], sums[b, j])
            if cost < best - rules.tolerance:
                best_a, best_b, best = a, b, cost
    return own, best_a, best_b


@step
def order_by_pair(a, b, m, scratch):
    """Order categories by what decision a costs more than b."""
    sums, keys = scratch.sums, scratch.keys
    n_classes = sums.shape[0] - 2
    for j in range(m):
        keys[j] = share(sums[a, j] - sums[b, j], sums[n_classes, j])
    sort_by_key(keys, scratch.order, m)


@step
def sort_by_key(keys, order, m):
    """Order 0..m-1 by key, equal keys by position (Shell's sort)."""
    for j in range(m):
        order[j] = j
    gap = m // 2
    while gap > 0:
        for i in range(gap, m):
            mine, j = order[i], i
            while j >= gap:
                other = order[j - gap]
                if keys[other] < keys[mine] or (keys[other] == keys[mine] and other < mine):
                    break
                order[j] = other
                j -= gap
            order[j] = mine
        gap = gap // 2


@step
def add_to_set(words, b):
    """Put bin b into a set of bins."""
    words[b >> 6] |= U1 << (np.uint64(b) & U63)


@step
def in_set(words, b):
    """Say whether bin b is in a set of bins."""
    return (words[b >> 6] >> (np.uint64(b) & U63)) & U1 == U1


@step
def judge_two(problem, rules, hist, f, n_listed, scratch, out):
    """As `judge_few`, with two decisions.

    Their centred costs are d and -d in every row, so that one sum says it all: what a side
    saves is |d| in sum, and the squared norm twice its square.
    """
    out[SAVED], out[SQUARES], out[N_LEFT] = -np.inf, 0.0, 0.0
    m = add_up_two(problem, hist, f, n_listed, scratch)
    if m > 1:
        cut_two(rules, problem.offsets[f + 1] - problem.offsets[f] - 1, m, scratch, out)


@step
def add_up_two(problem, hist, f, n_listed, scratch):
    """List the bins that hold rows, and their running sums; return how many there are.

    The sums are three rows of `left`: d, the weight, the count.
    """
    n_bins = problem.offsets[f + 1] - problem.offsets[f]
    n_slots, by_class = problem.n_slots, problem.by_class
    weighted = len(problem.weight) > 0
    first, second = (problem.costs[0, 0], problem.costs[1, 0]) if by_class else (1.0, 0.0)
    at_count = n_slots - 1 if by_class else 2 + int(weighted)
    sums, weights, counts = scratch.left[0], scratch.left[1], scratch.left[2]
    present = scratch.present
    d, weight, count, m = 0.0, 0.0, 0.0, 0
    for i in range(n_bins if n_listed < 0 else n_listed):
        b = i if n_listed < 0 else present[i]
        h = b * n_slots
        mass = hist[h] + hist[h + 1] if by_class else hist[h + 2]
        n = hist[h + at_count] if weighted or not by_class else mass
        here = n > 0.0
        d += first * hist[h] + second * hist[h + 1] if here else 0.0
        weight += mass if here else 0.0
        count += n
        sums[m], weights[m], counts[m], present[m] = d, weight, count, b
        m += int(here)  # no branches: a bin without rows is written over by the next
    scratch.total[0], scratch.total[1], scratch.total[2] = d, weight, count
    return m


@step
def cut_two(rules, missing, m, scratch, out):
    """Find the best cut of what `add_up_two` has added up, if it has found more than one bin."""
    sums, weights, counts = scratch.left[0], scratch.left[1], scratch.left[2]
    present, kept = scratch.present, scratch.work[0]
    d, weight, count = scratch.total[0], scratch.total[1], scratch.total[2]
    n_ways = 2 if present[m - 1] == missing else 1
    for way in range(n_ways):  # missing values right, then left
        if way == 1:
            d_missing = d - sums[m - 2]
            weight_missing, count_missing = weight - weights[m - 2], count - counts[m - 2]
            for j in range(m - 2):
                sums[j] += d_missing
                weights[j] += weight_missing
                counts[j] += count_missing
        last = m - 1 - way
        for j in range(last):
            rest = d - sums[j]
            kept[j] = 2.0 * sums[j] * sums[j] / weights[j] + 2.0 * rest * rest / (
                weight - weights[j]
            )
        best, most, norm = -1, out[SAVED], out[SQUARES]
        for j in range(last):
            if rules.criterion == COST:
                saved = abs(sums[j]) + abs(d - sums[j])
                if saved < most - rules.tolerance:
                    continue
                clear = saved > most + rules.tolerance
                if not clear and not kept[j] > norm * SLACK:
                    continue
                saved = saved if clear else max(saved, most)  # ties must not drift
            else:
                if not kept[j] > norm * SLACK:
                    continue
                saved = most
            if counts[j] < rules.min_leaf or count - counts[j] < rules.min_leaf:
                continue
            best, most, norm = j, saved, kept[j]
        if best >= 0:
            if rules.criterion != COST:
                most = abs(sums[best]) + abs(d - sums[best])
            out[SAVED], out[SQUARES], out[N_LEFT] = most, norm, counts[best]
            write_cut(out, present, best, np.float64(way))
    out[NODE_SAVED], out[NODE_SQUARES] = abs(d), share(2.0 * d * d, weight)
    if 2.0 * out[N_LEFT] > count and present[m - 1] != missing:
        out[MISSING_LEFT] = 1.0  # missing values follow the larger child


@step
def price_bins(problem, hist, n_bins, n_listed, scratch):
    """As `compact`, for many classes: the costs of bins that hold rows are rows of `priced`.

    Classes that a bin has not are left out; the sums are the same to the bit. `left` has
    the weights and the counts alone.
    """
    costs, n_slots = problem.costs, problem.n_slots
    n_classes = costs.shape[1]
    weights, counts = scratch.sums[n_classes], scratch.sums[n_classes + 1]
    weighted = len(problem.weight) > 0
    m = 0
    for i in range(n_bins if n_listed < 0 else n_listed):
        b = i if n_listed < 0 else scratch.present[i]
        h, row = b * n_slots, scratch.priced[m]
        for k in range(n_classes):
            row[k] = 0.0
        total = 0.0
        for c in range(n_classes):
            here = hist[h + c]
            total += here
            if here != 0.0:
                cost = costs[c]
                for k in range(n_classes):
                    row[k] += cost[k] * here
        weights[m] = total
        counts[m] = hist[h + n_classes] if weighted else total
        scratch.present[m] = b
        m += int(counts[m] > 0.0)
    return m


@step
def total_bins(m, scratch):
    """Write the sums of all rows of `priced`, and of their weights and counts, into `total`."""
    total, n = scratch.total, scratch.priced.shape[1]
    for k in range(n + 2):
        total[k] = 0.0
    for j in range(m):
        row = scratch.priced[j]
        for k in range(n):
            total[k] += row[k]
        total[n] += scratch.sums[n, j]
        total[n + 1] += scratch.sums[n + 1, j]


@step
def figure_cuts(way, m, scratch):
    """As `figure`, of the cuts between rows of `priced`; missing values come first if `way` is 1."""
    priced, total, work = scratch.priced, scratch.total, scratch.work
    n = priced.shape[1]
    running, weight, count = priced[len(priced) - 1], 0.0, 0.0
    for k in range(n):
        running[k] = 0.0
    for j in range(m - 1):
        at = m - 1 if way == 1 and j == 0 else j - way
        row = priced[at]
        for k in range(n):
            running[k] += row[k]
        least_left, least_right, squares_left, squares_right = np.inf, np.inf, 0.0, 0.0
        for k in range(n):
            a = running[k]
            b = total[k] - a
            least_left, least_right = min(a, least_left), min(b, least_right)
            squares_left += a * a
            squares_right += b * b
        work[0, j], work[1, j] = least_left, least_right
        work[2, j], work[3, j] = squares_left, squares_right
        weight += scratch.sums[n, at]
        count += scratch.sums[n + 1, at]
        scratch.left[n, j], scratch.left[n + 1, j] = weight, count


@step
def judge_many(problem, rules, hist, f, n_listed, scratch, out):
    """As `judge_few`, with many classes."""
    n_bins = problem.offsets[f + 1] - problem.offsets[f]
    out[SAVED], out[SQUARES], out[N_LEFT], out[MISSING_LEFT] = -np.inf, 0.0, 0.0, 0.0
    m = price_bins(problem, hist, n_bins, n_listed, scratch)
    if m > 1:
        total_bins(m, scratch)
        for way in range(2 if scratch.present[m - 1] == n_bins - 1 else 1):
            figure_cuts(way, m, scratch)
            best = pick(scratch.left, way, m - 1, scratch.total, scratch.work, rules, out)
            if best >= 0:
                write_cut(out, scratch.present, best - way, np.float64(way))
        finish(scratch, out)
        follow_larger(n_bins - 1, m, scratch, out)


@step
def judge_few(problem, rules, hist, f, n_listed, scratch, out):
    """Judge an ordered feature, with any number of decisions: see `judge_numbers`."""
    n_bins = problem.offsets[f + 1] - problem.offsets[f]
    out[SAVED], out[SQUARES], out[N_LEFT], out[MISSING_LEFT] = -np.inf, 0.0, 0.0, 0.0
    m = compact(problem, hist, n_bins, n_listed, scratch)
    if m > 1:
        cut_numbers(rules, n_bins - 1, m, scratch, out)
        finish(scratch, out)
        follow_larger(n_bins - 1, m, scratch, out)


@step
def judge_sets(problem, rules, hist, f, n_listed, scratch, out, words):
    """Judge a categorical feature, with any number of decisions; `words` are what goes left."""
    n_bins = problem.offsets[f + 1] - problem.offsets[f]
    out[SAVED], out[SQUARES], out[N_LEFT], out[MISSING_LEFT] = -np.inf, 0.0, 0.0, 0.0
    for i in range(WORDS):
        words[i] = U0
    m = compact(problem, hist, n_bins, n_listed, scratch)
    if m > 1:
        part_categories(rules, m, scratch, out, words)
        finish(scratch, out)
        if 2.0 * out[N_LEFT] > scratch.total[scratch.sums.shape[0] - 1]:
            j = 0  # categories without rows follow the larger child
            for b in range(n_bins):
                if j < m and scratch.present[j] == b:
                    j += 1
                else:
                    add_to_set(words, b)


@step
def finish(scratch, out):
    """Add the figures of the node itself."""
    total = scratch.total
    n_classes = scratch.sums.shape[0] - 2
    low, squares = np.inf, 0.0
    for k in range(n_classes):
        low = min(low, total[k])
        squares += total[k] * total[k]
    out[NODE_SAVED], out[NODE_SQUARES] = -low, share(squares, total[n_classes])


@step
def follow_larger(missing, m, scratch, out):
    """Let missing values, of which the node has none, follow the larger child."""
    n_rows = scratch.total[scratch.sums.shape[0] - 1]
    if 2.0 * out[N_LEFT] > n_rows and scratch.present[m - 1] != missing:
        out[MISSING_LEFT] = 1.0


@step
def beats(rules, split, best, chosen):
    """Say whether the split of a node on a feature is of use, and better than the best so far.

    `best` means nothing if `chosen` is negative.
    """
    gain, rival = split[SAVED] - split[NODE_SAVED], best[SAVED] - best[NODE_SAVED]
    useful = gain > rules.tolerance or split[SQUARES] > split[NODE_SQUARES] * SLACK
    useful = useful and gain >= rules.min_decrease - rules.tolerance and split[N_LEFT] > 0.0
    better = split[SQUARES] > best[SQUARES] * SLACK
    if rules.criterion == COST:
        better = gain > rival + rules.tolerance or (better and gain >= rival - rules.tolerance)
    return useful and (chosen < 0 or better)


@step
def gains_of(split):
    """Return what a split saves, in cost and in squared norm."""
    return split[SAVED] - split[NODE_SAVED], split[SQUARES] - split[NODE_SQUARES]


@step
def cut_of(problem, f, split):
    """Return the last bin that goes left of a cut on an ordered feature."""
    missing = problem.offsets[f + 1] - problem.offsets[f] - 1
    low, high = np.int64(split[BIN]), np.int64(split[NEXT_BIN])
    cut = middle(low, high, missing, problem.edges, problem.edge_starts[f])
    return cut
