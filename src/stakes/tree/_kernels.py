"""The Numba kernels that grow a tree on costs; imported on use.

Words used here. *Rows* of X are kept in blocks of 65,536; within a block a row is a uint16, and
the rows of a node are one contiguous run of each block (`runs[node, block]` = first, last + 1).
A *histogram* has `n_slots` float64 per bin. Costs of examples: the K centred costs, then the
weight, then (if weights are given) the count, padded to a multiple of 4. Class costs
(`by_class`): the weight of each class, then (if weights are given) the count.
A *tile* is a piece of a node's rows, gathered once and counted for many features.

Results do not depend on the number of threads: a feature is counted by one thread, in the order
of rows, and features are compared in order.
"""

import numba as nb
import numpy as np

BLOCK = 65_536
TILE = 1_024
# A node of fewer rows is counted directly; a larger one keeps its histogram so that of its two
# children only the smaller is counted.
KEEP_HISTOGRAM = 768
# Below this number of (row, feature) additions a second thread does not pay.
PARALLEL_WORK = 20_000
# Categories of which all subsets are tried; more are ordered by cost.
MAX_EXHAUSTIVE = 6

COST, VARIANCE = 0, 1

# columns of a table of splits, one row per (node, feature)
SAVED, SQUARES, BIN, MISSING_LEFT, N_LEFT, NODE_SAVED, NODE_SQUARES = range(7)
N_FIELDS = 7
# columns of the table of nodes
FEATURE, CUT, MISSING, LEFT, RIGHT, DEPTH, N_ROWS, BUFFER = range(8)
N_COLUMNS = 8
WORDS = 4  # uint64 words of the set of bins that go left in a categorical split
SLACK = 1.0 + 1e-10  # squared norms within this factor are equal: sums carry rounding noise

U0, U1, U2, U3, U4 = (np.uint64(i) for i in range(5))


# ----------------------------------------------------------------------------- gathering rows


@nb.njit(nogil=True, cache=True)
def fill_rows(local, runs, node, block, position, rows):
    """Fill `rows` with the next rows of the node; return how many, and where to go on."""
    filled = 0
    n_blocks = runs.shape[1]
    while block < n_blocks:
        first, last = runs[node, block, 0] + position, runs[node, block, 1]
        take = min(last - first, len(rows) - filled)
        base = np.uint32(block * BLOCK)
        for i in range(take):
            rows[filled + i] = base + np.uint32(local[first + i])
        filled += take
        if first + take < last:
            return filled, block, position + take
        block, position = block + 1, 0
        if filled == len(rows):
            break
    return filled, block, 0


@nb.njit(nogil=True, cache=True)
def fill_costs(costs, weight, rows, n_rows, n_slots, tile):
    """Write the centred, weighted costs, the weight and the count of some rows."""
    n_classes = costs.shape[1]
    weighted = len(weight) > 0
    for i in range(n_rows):
        r = rows[i]
        total = 0.0
        for k in range(n_classes):
            total += costs[r, k]
        mean = total / n_classes
        w = weight[r] if weighted else 1.0
        o = i * n_slots
        for k in range(n_classes):
            tile[o + k] = w * (costs[r, k] - mean)
        tile[o + n_classes] = w
        if weighted:
            tile[o + n_classes + 1] = 1.0


@nb.njit(nogil=True, cache=True)
def count_costs(codes, rows, n_rows, tile, n_slots, hist, features, bases, low, high):
    """Add the rows of a tile to the histograms of features[low:high], four at a time."""
    slots = np.uint64(n_slots)
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
                v0, v1, v2, v3 = tile[t], tile[t + U1], tile[t + U2], tile[t + U3]
                add_four(hist, h0, v0, v1, v2, v3)
                add_four(hist, h1, v0, v1, v2, v3)
                add_four(hist, h2, v0, v1, v2, v3)
                add_four(hist, h3, v0, v1, v2, v3)
                h0 += U4
                h1 += U4
                h2 += U4
                h3 += U4
                t += U4
        j += 4
    while j < high:
        c0 = codes[features[j]]
        b0 = np.uint64(bases[j])
        t = U0
        for i in range(n_rows):
            h0 = b0 + np.uint64(c0[rows[i]]) * slots
            end = t + slots
            while t < end:
                add_four(hist, h0, tile[t], tile[t + U1], tile[t + U2], tile[t + U3])
                h0 += U4
                t += U4
        j += 1


@nb.njit(nogil=True, cache=True, inline="always")
def add_four(hist, h, v0, v1, v2, v3):
    """Add four neighbours at once: all loads before all stores, so that it is vector code."""
    a0, a1, a2, a3 = hist[h], hist[h + U1], hist[h + U2], hist[h + U3]
    a0 += v0
    a1 += v1
    a2 += v2
    a3 += v3
    hist[h] = a0
    hist[h + U1] = a1
    hist[h + U2] = a2
    hist[h + U3] = a3


@nb.njit(nogil=True, cache=True)
def count_classes(codes, rows, n_rows, y, weight, n_slots, hist, features, bases, low, high):
    """Add the class weights of some rows to the histograms of features[low:high]."""
    slots = np.uint64(n_slots)
    weighted = len(weight) > 0
    count_slot = np.uint64(n_slots - 1)
    for j in range(low, high):
        c0 = codes[features[j]]
        b0 = np.uint64(bases[j])
        if weighted:
            for i in range(n_rows):
                r = rows[i]
                h = b0 + np.uint64(c0[r]) * slots
                hist[h + np.uint64(y[r])] += weight[r]
                hist[h + count_slot] += 1.0
        else:
            for i in range(n_rows):
                r = rows[i]
                hist[b0 + np.uint64(c0[r]) * slots + np.uint64(y[r])] += 1.0


# ----------------------------------------------------------------------------- judging splits


@nb.njit(nogil=True, cache=True)
def compact(hist, base, n_bins, n_slots, costs, by_class, weighted, sums, present):
    """List the bins that hold rows: `sums[j]` = K centred costs, weight, count; return m."""
    n_classes = costs.shape[1]
    m = 0
    for b in range(n_bins):
        h = base + b * n_slots
        if by_class:
            count = 0.0
            if weighted:
                count = hist[h + n_classes]
            else:
                for c in range(n_classes):
                    count += hist[h + c]
            if count == 0.0:
                continue
            for k in range(n_classes):
                sums[m, k] = 0.0
            total = 0.0
            for c in range(n_classes):
                w = hist[h + c]
                if w != 0.0:
                    total += w
                    for k in range(n_classes):
                        sums[m, k] += w * costs[c, k]
            sums[m, n_classes] = total
            sums[m, n_classes + 1] = count
        else:
            count = hist[h + n_classes + (1 if weighted else 0)]
            if count == 0.0:
                continue
            for k in range(n_classes + 1):
                sums[m, k] = hist[h + k]
            sums[m, n_classes + 1] = count
        present[m] = b
        m += 1
    return m


@nb.njit(nogil=True, cache=True)
def least(vector, n_classes):
    """Return the least of the first K entries."""
    low = vector[0]
    for k in range(1, n_classes):
        if vector[k] < low:
            low = vector[k]
    return low


@nb.njit(nogil=True, cache=True)
def squares(vector, n_classes):
    """Return the squared norm of the sums over the weight: what a child keeps of variance."""
    if vector[n_classes] <= 0.0:
        return 0.0
    total = 0.0
    for k in range(n_classes):
        total += vector[k] * vector[k]
    return total / vector[n_classes]


@nb.njit(nogil=True, cache=True)
def consider(left, total, right, n_classes, criterion, min_leaf, tolerance, out):
    """Judge one split by its left sums; update `out` and return True if it is the best yet.

    `out` holds minus the cost of the children and their squared norm. Less cost wins; within
    the tolerance more squared norm wins; then whoever came first.
    """
    n_left = left[n_classes + 1]
    n_right = total[n_classes + 1] - n_left
    if n_left < min_leaf or n_right < min_leaf:
        return False
    for k in range(n_classes + 1):
        right[k] = total[k] - left[k]
    if criterion == COST:
        gain = -(least(left, n_classes) + least(right, n_classes))
        if gain < out[SAVED] - tolerance:
            return False
        variance = squares(left, n_classes) + squares(right, n_classes)
        clear = gain > out[SAVED] + tolerance
        if not clear and variance <= out[SQUARES] * SLACK:
            return False
        out[SAVED] = gain if clear else max(gain, out[SAVED])
    else:
        variance = squares(left, n_classes) + squares(right, n_classes)
        if variance <= out[SQUARES] * SLACK:
            return False
        out[SAVED] = -(least(left, n_classes) + least(right, n_classes))
    out[SQUARES] = variance
    out[N_LEFT] = n_left
    return True


@nb.njit(nogil=True, cache=True)
def search_numeric(
    sums, present, m, missing, n_classes, criterion, min_leaf, tolerance, work, out
):
    """Find the best cut of an ordered feature; missing values try both sides."""
    total, left, right, swapped = work[0], work[1], work[2], work[3]
    has_missing = m > 0 and present[m - 1] == missing
    last = m - 1 if has_missing else m
    for k in range(n_classes + 2):
        left[k] = 0.0
    for j in range(last if has_missing else last - 1):
        for k in range(n_classes + 2):
            left[k] += sums[j, k]
        if consider(left, total, right, n_classes, criterion, min_leaf, tolerance, out):
            out[BIN] = present[j]
            out[MISSING_LEFT] = 0.0
        if has_missing and j < last - 1:
            for k in range(n_classes + 2):
                swapped[k] = left[k] + sums[last, k]
            if consider(swapped, total, right, n_classes, criterion, min_leaf, tolerance, out):
                out[BIN] = present[j]
                out[MISSING_LEFT] = 1.0


@nb.njit(nogil=True, cache=True)
def search_subsets(sums, present, m, n_classes, criterion, min_leaf, tolerance, work, out, words):
    """Try every way to part a few categories in two; the first one stays right."""
    total, left, right = work[0], work[1], work[2]
    for subset in range(1, 1 << (m - 1)):
        for k in range(n_classes + 2):
            left[k] = 0.0
        for j in range(m - 1):
            if (subset >> j) & 1:
                for k in range(n_classes + 2):
                    left[k] += sums[j + 1, k]
        if consider(left, total, right, n_classes, criterion, min_leaf, tolerance, out):
            words[:] = U0
            for j in range(m - 1):
                if (subset >> j) & 1:
                    add_to_set(words, present[j + 1])


@nb.njit(nogil=True, cache=True)
def add_to_set(words, b):
    """Put bin b into a set of bins."""
    words[b >> 6] |= U1 << np.uint64(b & 63)


@nb.njit(nogil=True, cache=True)
def search_ordered(
    sums, present, m, n_classes, criterion, min_leaf, tolerance, work, keys, out, words
):
    """Part many categories: order them by what decision a costs more than b, and cut.

    The pairs (a, b): the node's own decision against every other, and the pair for which
    giving each category to its cheaper decision costs least, which is the optimum of "cost".
    """
    total, left, right = work[0], work[1], work[2]
    own = 0
    for k in range(1, n_classes):
        if total[k] < total[own]:
            own = k
    best_a, best_b, best = 0, 1, np.inf
    for a in range(n_classes):
        for b in range(a + 1, n_classes):
            cost = 0.0
            for j in range(m):
                cost += min(sums[j, a], sums[j, b])
            if cost < best - tolerance:
                best_a, best_b, best = a, b, cost
    for other in range(-1, n_classes):
        if other == own:
            continue
        a, b = (best_a, best_b) if other < 0 else (own, other)
        if other >= 0 and min(a, b) == best_a and max(a, b) == best_b:
            continue
        for j in range(m):
            w = sums[j, n_classes]
            keys[j] = (sums[j, a] - sums[j, b]) / w if w > 0.0 else 0.0
        order = np.argsort(keys[:m], kind="mergesort")
        for k in range(n_classes + 2):
            left[k] = 0.0
        cut = -1
        for j in range(m - 1):
            for k in range(n_classes + 2):
                left[k] += sums[order[j], k]
            if consider(left, total, right, n_classes, criterion, min_leaf, tolerance, out):
                cut = j
        if cut >= 0:
            words[:] = U0
            for j in range(cut + 1):
                add_to_set(words, present[order[j]])


@nb.njit(nogil=True, cache=True)
def judge(
    hist, base, f, offsets, is_categorical, n_slots, costs, by_class, weighted, criterion,
    min_leaf, tolerance, sums, present, work, keys, out, words,
):  # fmt: skip
    """Write the best split of one feature for one node into `out` (and `words`)."""
    n_classes = costs.shape[1]
    n_bins = offsets[f + 1] - offsets[f]
    out[SAVED] = -np.inf
    out[SQUARES] = 0.0
    out[N_LEFT] = 0.0
    m = compact(hist, base, n_bins, n_slots, costs, by_class, weighted, sums, present)
    if m < 2:
        return
    total = work[0]
    for k in range(n_classes + 2):
        total[k] = 0.0
    for j in range(m):
        for k in range(n_classes + 2):
            total[k] += sums[j, k]
    if not is_categorical[f]:
        search_numeric(
            sums, present, m, n_bins - 1, n_classes, criterion, min_leaf, tolerance, work, out
        )
    elif m <= MAX_EXHAUSTIVE:
        search_subsets(
            sums, present, m, n_classes, criterion, min_leaf, tolerance, work, out, words
        )
    else:
        search_ordered(
            sums, present, m, n_classes, criterion, min_leaf, tolerance, work, keys, out, words
        )
    if out[N_LEFT] == 0.0:
        return
    # bins that no row of the node is in follow the larger child
    if 2.0 * out[N_LEFT] > total[n_classes + 1]:
        if not is_categorical[f]:
            if present[m - 1] != n_bins - 1:
                out[MISSING_LEFT] = 1.0
        else:
            j = 0
            for b in range(n_bins):
                if j < m and present[j] == b:
                    j += 1
                else:
                    add_to_set(words, b)
    out[NODE_SAVED] = -least(total, n_classes)
    out[NODE_SQUARES] = squares(total, n_classes)


@nb.njit(nogil=True, cache=True)
def search_features(
    codes, costs, y, weight, local, runs, offsets, is_categorical, n_slots, by_class, criterion,
    min_leaf, tolerance, max_n_bins, hist, features, bases, parent_bases, group, node, sibling,
    low, high, table, sets,
):  # fmt: skip
    """Count `node` and judge its splits on features[low:high]; if `sibling` is a node, take its
    histogram as that of the parent (at `parent_bases`) less that of `node`, and judge it too.
    """  # noqa: D205
    n_classes = costs.shape[1]
    weighted = len(weight) > 0
    rows = np.empty(TILE, np.uint32)
    tile = np.zeros(0 if by_class else TILE * n_slots, np.float64)
    sums = np.empty((max_n_bins, n_classes + 2), np.float64)
    present = np.empty(max_n_bins, np.int64)
    work = np.empty((4, n_classes + 2), np.float64)
    keys = np.empty(max_n_bins, np.float64)
    gathered = -1  # rows in the tile, when they are all the rows of the node
    for start in range(low, high, group):
        stop = min(start + group, high)
        for j in range(start, stop):
            size = (offsets[features[j] + 1] - offsets[features[j]]) * n_slots
            hist[bases[j] : bases[j] + size] = 0.0
        block, position = 0, 0
        while block < runs.shape[1]:
            n_rows = gathered
            if gathered < 0:
                whole = block == 0 and position == 0
                n_rows, block, position = fill_rows(local, runs, node, block, position, rows)
                if not by_class:
                    fill_costs(costs, weight, rows, n_rows, n_slots, tile)
                if whole and block == runs.shape[1]:
                    gathered = n_rows
            else:
                block = runs.shape[1]
            if by_class:
                count_classes(
                    codes, rows, n_rows, y, weight, n_slots, hist, features, bases, start, stop
                )
            else:
                count_costs(codes, rows, n_rows, tile, n_slots, hist, features, bases, start, stop)
        for j in range(start, stop):
            f = features[j]
            judge(
                hist, bases[j], f, offsets, is_categorical, n_slots, costs, by_class, weighted,
                criterion, min_leaf, tolerance, sums, present, work, keys, table[0, f], sets[0, f],
            )  # fmt: skip
            if sibling >= 0:
                size = (offsets[f + 1] - offsets[f]) * n_slots
                for h in range(size):
                    hist[parent_bases[j] + h] -= hist[bases[j] + h]
                judge(
                    hist, parent_bases[j], f, offsets, is_categorical, n_slots, costs, by_class,
                    weighted, criterion, min_leaf, tolerance, sums, present, work, keys,
                    table[1, f], sets[1, f],
                )  # fmt: skip


@nb.njit(nogil=True, cache=True, parallel=True)
def search_features_parallel(
    codes, costs, y, weight, local, runs, offsets, is_categorical, n_slots, by_class, criterion,
    min_leaf, tolerance, max_n_bins, hist, features, bases, parent_bases, group, node, sibling,
    low, high, table, sets, n_threads,
):  # fmt: skip
    """Share the features among threads; each feature is the work of one thread."""
    for thread in nb.prange(n_threads):
        first = low + (high - low) * thread // n_threads
        last = low + (high - low) * (thread + 1) // n_threads
        search_features(
            codes, costs, y, weight, local, runs, offsets, is_categorical, n_slots, by_class,
            criterion, min_leaf, tolerance, max_n_bins, hist, features, bases, parent_bases, group,
            node, sibling, first, last, table, sets,
        )  # fmt: skip


# ----------------------------------------------------------------------------- growing


@nb.njit(nogil=True, cache=True)
def start_rows(weight, local, runs):
    """Give the root every row whose weight is not zero; return how many."""
    n_samples = len(local)
    n_rows = 0
    for block in range(runs.shape[1]):
        first = block * BLOCK
        stop = min(first + BLOCK, n_samples)
        w = first
        for i in range(first, stop):
            if len(weight) == 0 or weight[i] > 0.0:
                local[w] = np.uint16(i - first)
                w += 1
        runs[0, block, 0], runs[0, block, 1] = first, w
        n_rows += w - first
    return n_rows


@nb.njit(nogil=True, cache=True)
def partition(local, runs, node, left, right, codes, goes_left, buffer):
    """Part the rows of a node, keeping their order; return how many go left."""
    n_left = 0
    for block in range(runs.shape[1]):
        first, last = runs[node, block, 0], runs[node, block, 1]
        base = block * BLOCK
        w, n_right = first, 0
        for i in range(first, last):
            row = local[i]
            goes = np.int64(goes_left[codes[base + np.int64(row)]])
            local[w] = row
            buffer[n_right] = row
            w += goes
            n_right += 1 - goes
        for i in range(n_right):
            local[w + i] = buffer[i]
        runs[left, block, 0], runs[left, block, 1] = first, w
        runs[right, block, 0], runs[right, block, 1] = w, last
        n_left += w - first
    return n_left


@nb.njit(nogil=True, cache=True)
def draw_below(state, n):
    """Return a random integer from 0 to n - 1, and move the state (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.int64((z >> np.uint64(32)) * np.uint64(n) >> np.uint64(32))


@nb.njit(nogil=True, cache=True)
def choose(table, sets, features, low, high, criterion, tolerance, least_gain, best, best_set):
    """Compare the features in order; write the best split and return its feature, or -1."""
    chosen = -1
    for j in range(low, high):
        f = features[j]
        out = table[f]
        if out[N_LEFT] <= 0.0:
            continue
        gain = out[SAVED] - out[NODE_SAVED]
        better = chosen < 0
        if not better and criterion == COST:
            rival = best[SAVED] - best[NODE_SAVED]
            better = gain > rival + tolerance or (
                gain >= rival - tolerance and out[SQUARES] > best[SQUARES] * SLACK
            )
        elif not better:
            better = out[SQUARES] > best[SQUARES] * SLACK
        useful = gain > tolerance or out[SQUARES] > out[NODE_SQUARES] * SLACK
        if better and useful and gain >= least_gain - tolerance:
            chosen = f
            best[:] = out
            best_set[:] = sets[f]
    return chosen


@nb.njit(nogil=True, cache=True)
def fill_goes_left(goes_left, categorical, row, words, missing, missing_left):
    """Write for each bin whether it goes left; unseen missing values follow `missing_left`."""
    for b in range(256):
        if categorical:
            goes_left[b] = np.uint8((words[b >> 6] >> np.uint64(b & 63)) & U1)
        else:
            goes_left[b] = np.uint8(1 if b <= row else 0)
    if missing_left:
        goes_left[missing] = np.uint8(1)
    elif not categorical:
        goes_left[missing] = np.uint8(0)


@nb.njit(nogil=True, cache=True)
def enlarged(array):
    """Return a copy with room for twice as many nodes."""
    out = np.empty((2 * array.shape[0],) + array.shape[1:], array.dtype)
    out[: array.shape[0]] = array
    return out


@nb.njit(nogil=True, cache=True)
def grow(
    codes, costs, y, weight, offsets, is_categorical, by_class, n_slots, criterion, max_depth,
    max_leaves, min_leaf, min_decrease, tolerance, max_features, best_first, seed, n_threads, local, hist,
    n_buffers,
):  # fmt: skip
    """Grow a tree; return its nodes, gains, sets of bins and rows of nodes.

    `hist` holds `n_buffers` histograms and, after them, room for `max(4, n_features)` features
    that are counted without being kept.
    """
    n_features = codes.shape[0]
    n_blocks = max(1, (codes.shape[1] + BLOCK - 1) // BLOCK)
    hist_size = offsets[n_features] * n_slots
    max_n_bins = 0
    for f in range(n_features):
        max_n_bins = max(max_n_bins, offsets[f + 1] - offsets[f])
    nodes = np.empty((64, N_COLUMNS), np.int64)
    gains = np.zeros((64, 2), np.float64)
    node_sets = np.zeros((64, WORDS), np.uint64)
    runs = np.empty((64, n_blocks, 2), np.int32)
    pending = np.empty(64, np.int64)
    n_pending = 0
    n_nodes, n_leaves = 1, 1
    free = np.arange(n_buffers)[::-1].copy()
    n_free = n_buffers
    sampling = max_features < n_features
    order = np.arange(n_features)
    features = np.arange(n_features)
    bases = np.empty(n_features, np.int64)
    parent_bases = np.empty(n_features, np.int64)
    table = np.empty((2, n_features, N_FIELDS), np.float64)
    sets = np.zeros((2, n_features, WORDS), np.uint64)
    best = np.empty(N_FIELDS, np.float64)
    best_set = np.zeros(WORDS, np.uint64)
    goes_left = np.empty(256, np.uint8)
    buffer = np.empty(min(BLOCK, codes.shape[1]), np.uint16)
    state = np.array([np.uint64(seed)], np.uint64)
    fresh = np.empty(2, np.int64)

    n_rows = start_rows(weight, local, runs)
    nodes[0, :] = -1
    nodes[0, DEPTH], nodes[0, N_ROWS] = 0, n_rows
    fresh[0], parent_buffer = 0, -1
    n_fresh = 1 if max_depth > 0 and max_leaves > 1 else 0

    while True:
        # --- find the best splits of the fresh nodes: the root, or the two children of a split
        shared = -1  # the buffer into which the smaller child is counted
        if n_fresh == 2 and not sampling and parent_buffer >= 0:
            if nodes[fresh[1], N_ROWS] >= KEEP_HISTOGRAM and n_free > 0:
                n_free -= 1
                shared = free[n_free]
            else:
                free[n_free] = parent_buffer
                n_free += 1
                parent_buffer = -1
        for which in range(n_fresh):
            node = fresh[which]
            n_node = nodes[node, N_ROWS]
            if shared < 0 and n_node < 2 * min_leaf:
                continue
            if shared >= 0 and which == 1:
                own, side = parent_buffer, 1  # judged together with its sibling
            else:
                own, side = shared, 0
                if own < 0 and not sampling and n_node >= KEEP_HISTOGRAM and n_free > 0:
                    n_free -= 1
                    own = free[n_free]
            chosen, low = -1, 0
            while chosen < 0 and low < n_features:
                high = n_features
                if sampling:
                    high = min(low + max_features, n_features)
                    for j in range(low, high):
                        other = j + draw_below(state, n_features - j)
                        order[j], order[other] = order[other], order[j]
                    features[low:high] = np.sort(order[low:high])
                if side == 0:
                    work = n_node * (high - low)
                    threads = n_threads if work >= PARALLEL_WORK else 1
                    group = n_features if own >= 0 else 4
                    for j in range(low, high):
                        if own >= 0:
                            bases[j] = own * hist_size + offsets[features[j]] * n_slots
                        else:
                            room = (j - low) if threads > 1 else (j - low) % 4
                            bases[j] = n_buffers * hist_size + room * max_n_bins * n_slots
                        if shared >= 0:
                            parent_bases[j] = (
                                parent_buffer * hist_size + offsets[features[j]] * n_slots
                            )
                    sibling = fresh[1] if shared >= 0 else -1
                    if threads > 1:
                        search_features_parallel(
                            codes, costs, y, weight, local, runs, offsets, is_categorical, n_slots,
                            by_class, criterion, min_leaf, tolerance, max_n_bins, hist, features,
                            bases, parent_bases, group, node, sibling, low, high, table, sets,
                            threads,
                        )  # fmt: skip
                    else:
                        search_features(
                            codes, costs, y, weight, local, runs, offsets, is_categorical, n_slots,
                            by_class, criterion, min_leaf, tolerance, max_n_bins, hist, features,
                            bases, parent_bases, group, node, sibling, low, high, table, sets,
                        )  # fmt: skip
                chosen = choose(
                    table[side], sets[side], features, low, high, criterion, tolerance,
                    min_decrease, best, best_set,
                )  # fmt: skip
                low = high
            depth = nodes[node, DEPTH]
            if chosen >= 0:
                nodes[node, FEATURE] = chosen
                nodes[node, CUT] = np.int64(best[BIN]) if not is_categorical[chosen] else -1
                nodes[node, MISSING] = np.int64(best[MISSING_LEFT])
                gains[node, 0] = best[SAVED] - best[NODE_SAVED]
                gains[node, 1] = best[SQUARES] - best[NODE_SQUARES]
                node_sets[node] = best_set
                if not is_categorical[chosen]:
                    node_sets[node] = U0
            if own >= 0:
                if chosen >= 0 and depth + 2 < max_depth and n_node >= KEEP_HISTOGRAM:
                    nodes[node, BUFFER] = own
                else:
                    free[n_free] = own
                    n_free += 1
        for which in range(n_fresh - 1, -1, -1):  # the smaller child last: it is taken first
            if nodes[fresh[which], FEATURE] >= 0:
                pending[n_pending] = fresh[which]
                n_pending += 1
        # --- split the next node: the best one, or the last one
        if n_pending == 0 or n_leaves >= max_leaves:
            break
        at = n_pending - 1
        if best_first:
            for i in range(n_pending):
                a, b = pending[i], pending[at]
                if gains[a, 0] > gains[b, 0] + tolerance or (
                    gains[a, 0] >= gains[b, 0] - tolerance
                    and (
                        gains[a, 1] > gains[b, 1] * SLACK
                        or (gains[a, 1] * SLACK >= gains[b, 1] and a < b)
                    )
                ):
                    at = i
        node = pending[at]
        for i in range(at, n_pending - 1):
            pending[i] = pending[i + 1]
        n_pending -= 1
        if n_nodes + 2 > nodes.shape[0]:
            nodes, gains, node_sets = enlarged(nodes), enlarged(gains), enlarged(node_sets)
            runs = enlarged(runs)
        if n_pending + 2 > len(pending):
            pending = enlarged(pending)
        left, right = n_nodes, n_nodes + 1
        n_nodes += 2
        n_leaves += 1
        f = nodes[node, FEATURE]
        missing = offsets[f + 1] - offsets[f] - 1
        fill_goes_left(
            goes_left, is_categorical[f], nodes[node, CUT], node_sets[node], missing,
            nodes[node, MISSING] == 1,
        )  # fmt: skip
        n_left = partition(local, runs, node, left, right, codes[f], goes_left, buffer)
        n_node = nodes[node, N_ROWS]
        parent_buffer = nodes[node, BUFFER]
        nodes[node, LEFT], nodes[node, RIGHT], nodes[node, BUFFER] = left, right, -1
        small, large = (left, right) if 2 * n_left <= n_node else (right, left)
        fresh[0], fresh[1] = small, large
        for which in range(2):
            child = fresh[which]
            nodes[child, :] = -1
            nodes[child, DEPTH] = nodes[node, DEPTH] + 1
            nodes[child, N_ROWS] = n_left if child == left else n_node - n_left
        n_fresh = 0
        if (
            nodes[large, N_ROWS] >= 2 * min_leaf
            and nodes[large, DEPTH] < max_depth
            and n_leaves < max_leaves
        ):
            n_fresh = 2
        if n_fresh == 0 and parent_buffer >= 0:
            free[n_free] = parent_buffer
            n_free += 1
    return nodes[:n_nodes], gains[:n_nodes], node_sets[:n_nodes], runs[:n_nodes]


@nb.njit(nogil=True, cache=True)
def measure(costs, y, weight, by_class):
    """Return the sum of |centred cost| (not finite if a cost is not) and of the weights."""
    n_classes = costs.shape[1]
    n_samples = len(y) if by_class else costs.shape[0]
    mass, total_weight = 0.0, 0.0
    for i in range(n_samples):
        r = np.int64(y[i]) if by_class else i
        w = weight[i] if len(weight) > 0 else 1.0
        total = 0.0
        for k in range(n_classes):
            total += costs[r, k]
        mean = total / n_classes
        deviation = 0.0
        for k in range(n_classes):
            deviation += abs(costs[r, k] - mean)
        mass += w * deviation
        total_weight += w
    return mass, total_weight


@nb.njit(nogil=True, cache=True)
def number_leaves(nodes, leaves):
    """Number the leaves from left to right; -1 for other nodes. Return how many."""
    stack = np.empty(nodes.shape[0] + 1, np.int64)
    stack[0], n_stack, n_leaves = 0, 1, 0
    while n_stack > 0:
        n_stack -= 1
        node = stack[n_stack]
        leaves[node] = -1
        if nodes[node, LEFT] < 0:
            leaves[node] = n_leaves
            n_leaves += 1
        else:
            stack[n_stack] = nodes[node, RIGHT]
            stack[n_stack + 1] = nodes[node, LEFT]
            n_stack += 2
    return n_leaves


@nb.njit(nogil=True, cache=True)
def sum_nodes(
    nodes, runs, local, leaves, costs, y, weight, by_class, cost_sums, class_sums, leaf_of_row
):
    """Sum the costs and the class weights (the last column all of them) of every node.

    `cost_sums` stays as it is where costs are by class; `class_sums` has one column if `y` is
    empty; `leaf_of_row` may be empty.
    """
    n_classes = costs.shape[1]
    n_shares = class_sums.shape[1] - 1
    for node in range(nodes.shape[0] - 1, -1, -1):
        class_sums[node] = 0.0
        cost_sums[node] = 0.0
        if leaves[node] < 0:
            left, right = nodes[node, LEFT], nodes[node, RIGHT]
            class_sums[node] += class_sums[left]
            class_sums[node] += class_sums[right]
            cost_sums[node] += cost_sums[left]
            cost_sums[node] += cost_sums[right]
            continue
        for block in range(runs.shape[1]):
            base = block * BLOCK
            for i in range(runs[node, block, 0], runs[node, block, 1]):
                r = base + np.int64(local[i])
                w = weight[r] if len(weight) > 0 else 1.0
                if n_shares > 0:
                    class_sums[node, y[r]] += w
                class_sums[node, n_shares] += w
                if not by_class:
                    for k in range(n_classes):
                        cost_sums[node, k] += w * costs[r, k]
                if len(leaf_of_row) > 0:
                    leaf_of_row[r] = leaves[node]


@nb.njit(nogil=True, cache=True)
def find_leaves(codes, nodes, sets, leaves, missing, categorical, first, stop, out):
    """Write the leaf of rows first:stop into `out`."""
    for i in range(first, stop):
        node = 0
        while nodes[node, LEFT] >= 0:
            f = nodes[node, FEATURE]
            b = np.int64(codes[f, i])
            if categorical[f]:
                goes = (sets[node, b >> 6] >> np.uint64(b & 63)) & U1 == U1
            elif b == missing[f]:
                goes = nodes[node, MISSING] == 1
            else:
                goes = b <= nodes[node, CUT]
            node = nodes[node, LEFT] if goes else nodes[node, RIGHT]
        out[i] = leaves[node]
