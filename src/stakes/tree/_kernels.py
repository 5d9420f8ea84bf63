"""The Numba kernels that grow a tree on costs; imported on use.

Words used here. *Rows* of X are kept in blocks of 65,536: within a block a row is a uint16, and
the rows of a node are one contiguous run of each block, ``runs[node, 2 * block]`` = first, last + 1.
A *histogram* has `n_slots` float64 for each bin. With costs of examples these are the K centred
costs, the weight and (if weights are given) the count, padded to a multiple of 4. With costs of
classes (`by_class`) they are the weight of each class and (if weights are given) the count.
A *tile* is a piece of a node's rows, gathered once and counted for many features. *Sums* are the
K centred costs, the weight and the count of some rows.

Costs are centred (each row less its mean), so that a constant added to a row changes nothing.
Results do not depend on the number of threads: a feature is counted by one thread, in the order
of rows, and features are compared in order. All of this is one file because Numba's cache looks
at the file of the calling function alone.
"""

from collections import namedtuple

import numba as nb
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

BLOCK = 65_536
TILE = 512
# A node of fewer rows is counted directly; a larger one keeps its histogram, so that of its two
# children only the smaller is counted.
KEEP_HISTOGRAM = 768
# Below this number of (row, feature) additions a second thread does not pay.
PARALLEL_WORK = 20_000
# Categories of which all subsets are tried; more of them are ordered by cost.
MAX_EXHAUSTIVE = 6
# Squared norms within this factor are equal: sums carry rounding noise.
SLACK = 1.0 + 1e-10

COST, VARIANCE = 0, 1
# fields of the best split of a node on a feature: minus the cost of the children, their squared
# norms, where to cut, and the same two figures of the node
SAVED, SQUARES, BIN, MISSING_LEFT, N_LEFT, NODE_SAVED, NODE_SQUARES = range(7)
N_FIELDS = 7
# columns of the table of nodes
FEATURE, CUT, MISSING, LEFT, RIGHT, DEPTH, N_ROWS, BUFFER = range(8)
N_COLUMNS = 8
WORDS = 4  # uint64 words of the set of bins that go left in a categorical split

U0, U1, U4, U63 = np.uint64(0), np.uint64(1), np.uint64(4), np.uint64(63)

Problem = namedtuple(
    "Problem",
    "codes costs y weight offsets categorical edges edge_starts by_class n_slots max_n_bins",
)
Rules = namedtuple(
    "Rules",
    "criterion max_depth max_leaves min_leaf min_decrease tolerance max_features best_first seed "
    "n_threads",
)

Scratch = namedtuple("Scratch", "sums left total work keys present order")

# divisions by zero give infinities, as in NumPy: a check would keep loops from being vector code
jit = nb.njit(nogil=True, error_model="numpy")


# --------------------------------------------------------------------------- counting rows


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


@jit
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


@jit
def fill_costs(problem, rows, n_rows, tile):
    """Write the centred, weighted costs, the weight and the count of some rows."""
    costs, weight, n_slots = problem.costs, problem.weight, problem.n_slots
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


@jit
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


@jit
def count_classes(problem, rows, n_rows, hist, features, bases, low, high):
    """Add the class weights of some rows to the histograms of features[low:high]."""
    codes, y, weight = problem.codes, problem.y, problem.weight
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


# --------------------------------------------------------------------------- judging splits


@jit
def compact(problem, hist, base, n_bins, shares, sums, present):
    """List the bins that hold rows, and their sums as columns; return how many there are."""
    costs, n_slots = problem.costs, problem.n_slots
    n_classes = costs.shape[1]
    weighted = len(problem.weight) > 0
    listed = shares if problem.by_class else sums
    n_listed = n_classes if problem.by_class else n_classes + 1
    m = 0
    for b in range(n_bins):  # no branches: a bin without rows is written over by the next
        h = base + b * n_slots
        total = 0.0
        for k in range(n_listed):
            listed[k, m] = hist[h + k]
            total += hist[h + k]
        if problem.by_class:
            sums[n_classes, m] = total
        count = total
        if weighted or not problem.by_class:
            count = hist[h + n_listed - 1 + int(weighted)]
        sums[n_classes + 1, m] = count
        present[m] = b
        m += int(count > 0.0)
    if problem.by_class:
        for k in range(n_classes):
            row = sums[k]
            for j in range(m):
                row[j] = 0.0
            for c in range(n_classes):
                share, cost = shares[c], costs[c, k]
                for j in range(m):
                    row[j] += cost * share[j]
    return m


@jit
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


@jit
def pick(left, first, last, total, work, rules, out):
    """Find the best of some splits by the sums of their left sides, left[:, first:last].

    Less cost wins; within the tolerance the larger squared norm of the mean costs; then the
    first. Return its column if it beats the split in `out`, which it replaces, else -1.
    """
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


@jit
def share(squares, weight):
    """Return squares / weight, or 0 where nothing has weight."""
    return squares / weight if weight > 0.0 else 0.0


@jit
def middle(present, j, missing, edges, start):
    """Return the bin to cut after: the edge nearest to halfway between two bins with rows.

    The rows of `edges` are the edges, the values next below and those next above.
    """
    low, high = present[j], present[j + 1] - 1
    if present[j + 1] == missing:
        return missing - 1
    halfway = edges[1, start + low] / 2.0 + edges[2, start + high] / 2.0
    while low < high and edges[0, start + low + 1] <= halfway:
        low += 1
    if low < high and edges[0, start + low + 1] - halfway < halfway - edges[0, start + low]:
        low += 1
    return low


@jit
def search_numeric(sums, present, m, missing, edges, start, total, order, left, work, rules, out):
    """Find the best cut of an ordered feature: missing values right, then missing values left."""
    cut = pick(left, np.int64(0), m - 1, total, work, rules, out)
    if cut >= 0:
        out[BIN], out[MISSING_LEFT] = middle(present, cut, missing, edges, start), 0.0
    if present[m - 1] == missing:
        order[0] = m - 1
        for j in range(1, m):
            order[j] = j - 1
        add_up(sums, order, m, left)
        cut = pick(left, np.int64(1), m - 1, total, work, rules, out)
        if cut >= 0:
            out[BIN], out[MISSING_LEFT] = middle(present, cut - 1, missing, edges, start), 1.0


@jit
def search_subsets(sums, present, m, total, left, work, rules, out, words):
    """Try every way to part a few categories in two; the first of them goes right."""
    n_splits = (1 << (m - 1)) - 1
    for k in range(sums.shape[0]):
        for subset in range(n_splits):
            left[k, subset] = 0.0
            for j in range(1, m):
                if ((subset + 1) >> (j - 1)) & 1:
                    left[k, subset] += sums[k, j]
    subset = pick(left, np.int64(0), n_splits, total, work, rules, out)
    if subset >= 0:
        for j in range(1, m):
            if ((subset + 1) >> (j - 1)) & 1:
                add_to_set(words, present[j])


@jit
def search_ordered(sums, present, m, total, keys, order, left, work, rules, out, words):
    """Part many categories: order them by what decision a costs more than b, and cut.

    The pairs (a, b) are the one for which giving each category to the cheaper of the two costs
    least, which is the optimum of "cost", and the node's own decision with every other.
    """
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
    for other in range(-1, n_classes):
        a, b = (best_a, best_b) if other < 0 else (min(own, other), max(own, other))
        if a == b or (other >= 0 and a == best_a and b == best_b):
            continue
        for j in range(m):
            keys[j] = share(sums[a, j] - sums[b, j], sums[n_classes, j])
        sort_by_key(keys, order, m)
        add_up(sums, order, m, left)
        cut = pick(left, np.int64(0), m - 1, total, work, rules, out)
        if cut >= 0:
            for i in range(WORDS):
                words[i] = U0
            for j in range(cut + 1):
                add_to_set(words, present[order[j]])


@jit
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


@jit
def add_to_set(words, b):
    """Put bin b into a set of bins."""
    words[b >> 6] |= U1 << (np.uint64(b) & U63)


@jit
def in_set(words, b):
    """Say whether bin b is in a set of bins."""
    return (words[b >> 6] >> (np.uint64(b) & U63)) & U1 == U1


@jit
def judge(problem, rules, hist, base, f, scratch, out, words):
    """Write the best split of one node on one feature into `out` (and `words`)."""
    n_classes = problem.costs.shape[1]
    n_bins = problem.offsets[f + 1] - problem.offsets[f]
    sums, left, present, order = scratch.sums, scratch.left, scratch.present, scratch.order
    total, work = scratch.total, scratch.work
    out[SAVED], out[SQUARES], out[N_LEFT] = -np.inf, 0.0, 0.0
    for i in range(WORDS):
        words[i] = U0
    m = compact(problem, hist, base, n_bins, left, sums, present)
    if m < 2:
        return
    for j in range(m):
        order[j] = j
    add_up(sums, order, m, left)
    for k in range(n_classes + 2):
        total[k] = left[k, m - 1]
    if not problem.categorical[f]:
        search_numeric(
            sums,
            present,
            m,
            n_bins - 1,
            problem.edges,
            problem.edge_starts[f],
            total,
            order,
            left,
            work,
            rules,
            out,
        )
    elif m <= MAX_EXHAUSTIVE:
        search_subsets(sums, present, m, total, left, work, rules, out, words)
    else:
        search_ordered(sums, present, m, total, scratch.keys, order, left, work, rules, out, words)
    low, squares = np.inf, 0.0
    for k in range(n_classes):
        low = min(low, total[k])
        squares += total[k] * total[k]
    out[NODE_SAVED], out[NODE_SQUARES] = -low, share(squares, total[n_classes])
    if 2.0 * out[N_LEFT] > total[n_classes + 1]:  # bins without rows follow the larger child
        if not problem.categorical[f]:
            if present[m - 1] != n_bins - 1:
                out[MISSING_LEFT] = 1.0
        else:
            j = 0
            for b in range(n_bins):
                if j < m and present[j] == b:
                    j += 1
                else:
                    add_to_set(words, b)


@jit
def search_features(
    problem, rules, local, runs, hist, features, bases, parents, group, node, sibling, low, high,
    table, sets
):  # fmt: skip
    """Count a node and judge its splits on features[low:high], `group` features at a time.

    If `sibling` is not negative, its histogram is that of the parent (at `parents`) less that of
    the node (at `bases`): it takes the parent's place and is judged too.
    """
    n_classes = problem.costs.shape[1]
    rows = np.empty(TILE, np.uint32)
    tile = np.zeros(0 if problem.by_class else TILE * problem.n_slots)
    width = max(problem.max_n_bins, 1 << MAX_EXHAUSTIVE)
    scratch = Scratch(
        np.empty((n_classes + 2, width)),
        np.empty((n_classes + 2, width)),
        np.empty(n_classes + 2),
        np.empty((4, width)),
        np.empty(width),
        np.empty(width, np.int64),
        np.empty(width, np.int64),
    )
    n_blocks = runs.shape[1] // 2
    n_rows, gathered = 0, False  # whether the tile already holds all the rows of the node
    for start in range(low, high, group):
        stop = min(start + group, high)
        for j in range(start, stop):
            size = problem.offsets[features[j] + 1] - problem.offsets[features[j]]
            for h in range(bases[j], bases[j] + size * problem.n_slots):
                hist[h] = 0.0
        block, position = np.int64(0), np.int64(0)
        while block < n_blocks:
            if gathered:
                block = n_blocks
            else:
                begins = block == 0 and position == 0
                n_rows, block, position = fill_rows(local, runs, node, block, position, rows)
                if not problem.by_class:
                    fill_costs(problem, rows, n_rows, tile)
                gathered = begins and block == n_blocks
            if problem.by_class:
                count_classes(problem, rows, n_rows, hist, features, bases, start, stop)
            else:
                count_costs(
                    problem.codes, rows, n_rows, tile, problem.n_slots, hist, features, bases,
                    start, stop,
                )  # fmt: skip
        for j in range(start, stop):
            f = features[j]
            last = 1 if sibling < 0 else 2
            for side in range(last):
                base = bases[j]
                if side == 1:
                    base = parents[j]
                    size = problem.offsets[f + 1] - problem.offsets[f]
                    for h in range(size * problem.n_slots):
                        hist[base + h] -= hist[bases[j] + h]
                judge(problem, rules, hist, base, f, scratch, table[side, f], sets[side, f])


@nb.njit(nogil=True, parallel=True, error_model="numpy")
def search_features_parallel(
    problem, rules, local, runs, hist, features, bases, parents, group, node, sibling, low, high,
    table, sets
):  # fmt: skip
    """Share the features among threads; each feature is the work of one thread."""
    n_threads = rules.n_threads
    for thread in nb.prange(n_threads):
        first = low + (high - low) * thread // n_threads
        last = low + (high - low) * (thread + 1) // n_threads
        search_features(
            problem, rules, local, runs, hist, features, bases, parents, group, node, sibling,
            first, last, table, sets,
        )  # fmt: skip


@jit
def choose(problem, rules, table, sets, features, low, high, best, best_set):
    """Compare features in order; write the best split and return its feature, or -1."""
    chosen = -1
    for j in range(low, high):
        f = features[j]
        out = table[f]
        if out[N_LEFT] == 0.0:
            continue
        gain = out[SAVED] - out[NODE_SAVED]
        useful = gain > rules.tolerance or out[SQUARES] > out[NODE_SQUARES] * SLACK
        if not useful or gain < rules.min_decrease - rules.tolerance:
            continue
        better = chosen < 0 or out[SQUARES] > best[SQUARES] * SLACK
        if chosen >= 0 and rules.criterion == COST:
            rival = best[SAVED] - best[NODE_SAVED]
            better = gain > rival + rules.tolerance or (better and gain >= rival - rules.tolerance)
        if better:
            chosen = f
            for i in range(N_FIELDS):
                best[i] = out[i]
            for i in range(WORDS):
                best_set[i] = sets[f, i] if problem.categorical[f] else U0
    return chosen


# --------------------------------------------------------------------------- growing


@jit
def start_rows(weight, local, runs):
    """Give the root every row whose weight is not zero; return how many."""
    n_rows = 0
    for block in range(runs.shape[1] // 2):
        first = block * BLOCK
        w = first
        for i in range(first, min(first + BLOCK, len(local))):
            if len(weight) == 0 or weight[i] > 0.0:
                local[w] = np.uint16(i - first)
                w += 1
        runs[0, 2 * block], runs[0, 2 * block + 1] = first, w
        n_rows += w - first
    return n_rows


@jit
def partition(local, runs, node, left, right, codes, goes_left, buffer):
    """Part the rows of a node, keeping their order; return how many go left."""
    n_left = 0
    for block in range(runs.shape[1] // 2):
        first, last = runs[node, 2 * block], runs[node, 2 * block + 1]
        base = np.uint32(block * BLOCK)
        w, n_right = np.int64(first), 0
        for i in range(first, last):
            row = local[i]
            goes = np.int64(goes_left[codes[base + np.uint32(row)]])
            local[w] = row
            buffer[n_right] = row
            w += goes
            n_right += 1 - goes
        for i in range(n_right):
            local[w + i] = buffer[i]
        runs[left, 2 * block], runs[left, 2 * block + 1] = first, w
        runs[right, 2 * block], runs[right, 2 * block + 1] = w, last
        n_left += w - first
    return n_left


@jit
def all_alike(problem, local, runs, node):
    """Say whether all rows of a node have the same costs, so that no split is of use."""
    first = np.int64(-1)
    for block in range(runs.shape[1] // 2):
        for i in range(runs[node, 2 * block], runs[node, 2 * block + 1]):
            r = block * BLOCK + np.int64(local[i])
            if first < 0:
                first = r
            elif problem.by_class:
                if problem.y[r] != problem.y[first]:
                    return False
            else:
                for k in range(problem.costs.shape[1]):
                    if problem.costs[r, k] != problem.costs[first, k]:
                        return False
    return True


@jit
def fill_goes_left(goes_left, categorical, cut, words, missing, missing_left):
    """Write for each bin whether it goes left."""
    for b in range(256):
        goes = in_set(words, b) if categorical else b <= cut
        if not categorical and b == missing:
            goes = missing_left
        goes_left[b] = np.uint8(goes)


@jit
def draw_below(state, n):
    """Return a random integer from 0 to n - 1, and move the state (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.int64(((z >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@jit
def enlarged(array):
    """Return a copy with room for twice as many rows."""
    out = np.empty((2 * array.shape[0], array.shape[1]), array.dtype)
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            out[i, j] = array[i, j]
    return out


@jit
def first_of(pending, n_pending, gains, tolerance):
    """Return the place of the pending node whose split saves most; ties as among features."""
    at = 0
    for i in range(1, n_pending):
        saved, rival = gains[pending[i, 0], 0], gains[pending[at, 0], 0]
        if saved > rival + tolerance or (
            saved >= rival - tolerance
            and gains[pending[i, 0], 1] > gains[pending[at, 0], 1] * SLACK
        ):
            at = i
    return at


@nb.njit(nogil=True, cache=True, error_model="numpy")
def grow(problem, rules, local, hist, n_buffers):
    """Grow a tree; return its nodes, their gains and sets of bins, and the rows of nodes.

    `hist` holds `n_buffers` histograms and, after them, room for ``max(4, n_features)`` features
    of `max_n_bins` bins, which are counted without being kept.
    """
    codes, offsets = problem.codes, problem.offsets
    n_features, n_samples = codes.shape
    n_slots = problem.n_slots
    hist_size = offsets[n_features] * n_slots
    nodes = np.empty((64, N_COLUMNS), np.int64)
    gains = np.zeros((64, 2))
    node_sets = np.zeros((64, WORDS), np.uint64)
    runs = np.empty((64, 2 * ((n_samples + BLOCK - 1) // BLOCK)), np.int32)
    pending = np.empty((64, 1), np.int64)
    n_nodes, n_leaves, n_pending = np.int64(1), np.int64(1), np.int64(0)
    free = np.arange(n_buffers)
    n_free = n_buffers
    sampling = rules.max_features < n_features
    features = np.arange(n_features)
    bases, parents = np.empty(n_features, np.int64), np.empty(n_features, np.int64)
    table = np.empty((2, n_features, N_FIELDS))
    sets = np.zeros((2, n_features, WORDS), np.uint64)
    best, best_set = np.empty(N_FIELDS), np.zeros(WORDS, np.uint64)
    goes_left = np.empty(256, np.uint8)
    buffer = np.empty(min(BLOCK, n_samples), np.uint16)
    state = np.array([np.uint64(rules.seed)])
    fresh = np.zeros(2, np.int64)  # nodes to search: the root, or a split's smaller and larger

    nodes[0, :] = -1
    nodes[0, DEPTH], nodes[0, N_ROWS] = 0, start_rows(problem.weight, local, runs)
    n_fresh = 1 if rules.max_depth > 0 and rules.max_leaves > 1 else 0
    parent_buffer = -1
    while True:
        # --- find the best split of each fresh node
        shared = -1  # the buffer of the smaller child, whose sibling takes over the parent's
        if n_fresh == 2 and parent_buffer >= 0:
            if nodes[fresh[1], N_ROWS] >= KEEP_HISTOGRAM and n_free > 0:
                n_free -= 1
                shared = free[n_free]
            else:
                free[n_free] = parent_buffer
                n_free += 1
                parent_buffer = -1
        for side in range(n_fresh):
            node = fresh[side]
            n_node = nodes[node, N_ROWS]
            judged = side == 1 and shared >= 0  # together with its smaller sibling
            if shared < 0 and (
                n_node < 2 * rules.min_leaf or all_alike(problem, local, runs, node)
            ):
                continue
            own = parent_buffer if judged else shared
            if own < 0 and not sampling and n_node >= KEEP_HISTOGRAM and n_free > 0:
                n_free -= 1
                own = free[n_free]
            chosen, low = np.int64(-1), np.int64(0)  # not literals: one compilation each
            while chosen < 0 and low < n_features:
                high = n_features
                if sampling:
                    high = min(low + rules.max_features, n_features)
                    for j in range(low, high):
                        other = j + draw_below(state, n_features - j)
                        features[j], features[other] = features[other], features[j]
                if not judged:
                    parallel = rules.n_threads > 1 and n_node * (high - low) >= PARALLEL_WORK
                    for j in range(low, high):
                        room = j - low if parallel else (j - low) % 4
                        bases[j] = n_buffers * hist_size + room * problem.max_n_bins * n_slots
                        if own >= 0:
                            bases[j] = own * hist_size + offsets[features[j]] * n_slots
                        parents[j] = parent_buffer * hist_size + offsets[features[j]] * n_slots
                    group = n_features if own >= 0 else 4
                    sibling = fresh[1] if shared >= 0 else -1
                    if parallel:
                        search_features_parallel(
                            problem, rules, local, runs, hist, features, bases, parents, group,
                            node, sibling, low, high, table, sets,
                        )  # fmt: skip
                    else:
                        search_features(
                            problem, rules, local, runs, hist, features, bases, parents, group,
                            node, sibling, low, high, table, sets,
                        )  # fmt: skip
                chosen = choose(
                    problem, rules, table[int(judged)], sets[int(judged)], features, low, high,
                    best, best_set,
                )  # fmt: skip
                low = high
            if chosen >= 0:
                nodes[node, FEATURE] = chosen
                nodes[node, CUT] = -1 if problem.categorical[chosen] else np.int64(best[BIN])
                nodes[node, MISSING] = np.int64(best[MISSING_LEFT])
                gains[node, 0] = best[SAVED] - best[NODE_SAVED]
                gains[node, 1] = best[SQUARES] - best[NODE_SQUARES]
                for i in range(WORDS):
                    node_sets[node, i] = best_set[i]
            if own >= 0:
                last_level = nodes[node, DEPTH] + 1 >= rules.max_depth
                if chosen >= 0 and not last_level and n_node >= KEEP_HISTOGRAM:
                    nodes[node, BUFFER] = own
                else:
                    free[n_free] = own
                    n_free += 1
        for side in range(n_fresh - 1, -1, -1):  # the smaller child comes last: it is next
            if nodes[fresh[side], FEATURE] >= 0:
                pending[n_pending, 0] = fresh[side]
                n_pending += 1
        # --- split the next node
        if n_pending == 0 or n_leaves >= rules.max_leaves:
            break
        at = n_pending - 1
        if rules.best_first:
            at = first_of(pending, n_pending, gains, rules.tolerance)
        node = pending[at, 0]
        n_pending -= 1
        for i in range(at, n_pending):
            pending[i, 0] = pending[i + 1, 0]
        if n_nodes + 2 > nodes.shape[0]:
            nodes, gains, node_sets = enlarged(nodes), enlarged(gains), enlarged(node_sets)
            runs = enlarged(runs)
        if n_pending + 2 > len(pending):
            pending = enlarged(pending)
        left, right = n_nodes, n_nodes + 1
        n_nodes += 2
        n_leaves += 1
        f = nodes[node, FEATURE]
        fill_goes_left(
            goes_left, problem.categorical[f], nodes[node, CUT], node_sets[node],
            offsets[f + 1] - offsets[f] - 1, nodes[node, MISSING] == 1,
        )  # fmt: skip
        n_left = partition(local, runs, node, left, right, codes[f], goes_left, buffer)
        n_right = nodes[node, N_ROWS] - n_left
        parent_buffer = nodes[node, BUFFER]
        nodes[node, LEFT], nodes[node, RIGHT], nodes[node, BUFFER] = left, right, -1
        for child in (left, right):
            for i in range(N_COLUMNS):
                nodes[child, i] = -1
            for i in range(WORDS):
                node_sets[child, i] = U0
            gains[child, 0], gains[child, 1] = 0.0, 0.0
            nodes[child, DEPTH] = nodes[node, DEPTH] + 1
            nodes[child, N_ROWS] = n_left if child == left else n_right
        fresh[0], fresh[1] = (left, right) if n_left <= n_right else (right, left)
        n_fresh = 0
        if (
            max(n_left, n_right) >= 2 * rules.min_leaf
            and nodes[left, DEPTH] < rules.max_depth
            and n_leaves < rules.max_leaves
        ):
            n_fresh = 2
        elif parent_buffer >= 0:
            free[n_free] = parent_buffer
            n_free += 1
    return nodes[:n_nodes], gains[:n_nodes], node_sets[:n_nodes], runs[:n_nodes]
