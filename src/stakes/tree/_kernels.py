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
of rows, and features are compared in order.
"""

import hashlib
from collections import namedtuple
from pathlib import Path

import numba as nb
import numpy as np

from stakes.tree._histogram_kernels import (
    BLOCK,
    TILE,
    allocating_jit,
    count_classes,
    count_costs,
    fill_costs,
    fill_rows,
    jit,
    list_bins,
)
from stakes.tree._split_kernels import (
    BIN,
    COST,
    MAX_EXHAUSTIVE,
    MISSING_LEFT,
    N_FIELDS,
    N_LEFT,
    NEXT_BIN,
    NODE_SAVED,
    NODE_SQUARES,
    SAVED,
    SLACK,
    SQUARES,
    U0,
    WORDS,
    Scratch,
    in_set,
    judge,
    judge_two,
    middle,
)

# A node of fewer rows is counted directly; a larger one keeps its histogram, so that of its two
# children only the smaller is counted.
KEEP_HISTOGRAM = 768
# Features of a node that are counted together where its histogram is not kept.
GROUP = 4
# With at least so many bins for each row, only the bins that hold rows are looked at.
SPARSE = 2
# Below this number of (row, feature) additions a second thread does not pay.
PARALLEL_WORK = 20_000

# columns of the table of nodes
FEATURE, CUT, MISSING, LEFT, RIGHT, DEPTH, N_ROWS, BUFFER = range(8)
N_COLUMNS = 8

Problem = namedtuple(
    "Problem",
    "codes costs y weight offsets categorical edges edge_starts by_class n_slots max_n_bins",
)
Rules = namedtuple(
    "Rules",
    "criterion max_depth max_leaves min_leaf min_decrease tolerance max_features best_first seed "
    "shuffle_ties n_threads",
)


@allocating_jit
def make_scratch(problem):
    """Return the room in which a thread searches: rows, their costs, and what `judge` needs."""
    n_classes = problem.costs.shape[1]
    width = max(problem.max_n_bins, 1 << MAX_EXHAUSTIVE)
    return Scratch(
        np.empty(TILE, np.uint32),
        np.zeros(0 if problem.by_class else TILE * problem.n_slots),
        np.empty((n_classes + 2, width)),
        np.empty((n_classes + 2, width)),
        np.empty(n_classes + 2),
        np.empty((4, width)),
        np.empty(width),
        np.empty(width, np.int64),
        np.empty(width, np.int64),
        np.empty(WORDS, np.uint64),
        np.empty((GROUP, width), np.int64),
        np.empty(GROUP, np.int64),
    )


@jit
def search_features(
    problem, rules, local, runs, hist, features, bases, parents, group, node, sibling, low, high,
    table, sets, scratch
):  # fmt: skip
    """Count a node and judge its splits on features[low:high], `group` features at a time.

    If `sibling` is not negative, its histogram is that of the parent (at `parents`) less that of
    the node (at `bases`): it takes the parent's place and is judged too.
    """
    n_classes = problem.costs.shape[1]
    rows, tile = scratch.rows, scratch.tile
    words, listed_bins, n_listed = scratch.words, scratch.listed, scratch.n_listed
    n_blocks, n_slots = runs.shape[1] // 2, problem.n_slots
    n_rows, gathered = 0, False  # whether the tile already holds all the rows of the node
    for start in range(low, high, group):
        stop = min(start + group, high)
        if not gathered:
            n_rows, block, position = fill_rows(local, runs, node, np.int64(0), np.int64(0), rows)
            if not problem.by_class:
                fill_costs(problem, rows, n_rows, tile)
            gathered = block == n_blocks
        # Few rows leave most bins empty: only those that they are in are cleared and looked at,
        # unless the sibling's histogram is to be had by a difference.
        few = gathered and group <= GROUP and sibling < 0
        for j in range(start, stop):
            size = problem.offsets[features[j] + 1] - problem.offsets[features[j]]
            n_listed[j - start if few else 0] = -1
            if few and n_rows * SPARSE <= size:
                listed = listed_bins[j - start]
                m = list_bins(problem.codes[features[j]], rows, n_rows, words, listed)
                n_listed[j - start] = m
                for i in range(m):
                    h = bases[j] + listed[i] * n_slots
                    for k in range(n_slots):
                        hist[h + k] = 0.0
            else:
                for h in range(bases[j], bases[j] + size * n_slots):
                    hist[h] = 0.0
        while True:
            if problem.by_class:
                count_classes(problem, rows, n_rows, hist, features, bases, start, stop)
            else:
                count_costs(
                    problem.codes, rows, n_rows, tile, n_slots, hist, features, bases, start, stop
                )
            if block == n_blocks:
                break
            n_rows, block, position = fill_rows(local, runs, node, block, position, rows)
            if not problem.by_class:
                fill_costs(problem, rows, n_rows, tile)
        for j in range(start, stop):
            f = features[j]
            last = 1 if sibling < 0 else 2
            for side in range(last):
                base, m = bases[j], n_listed[j - start if few else 0]
                if side == 1:
                    base, m = parents[j], -1
                    size = problem.offsets[f + 1] - problem.offsets[f]
                    for h in range(size * n_slots):
                        hist[base + h] -= hist[bases[j] + h]
                elif m >= 0:
                    for i in range(m):
                        scratch.present[i] = listed_bins[j - start, i]
                if n_classes == 2 and not problem.categorical[f]:
                    judge_two(problem, rules, hist, base, f, scratch, m, table[side, f])
                else:
                    judge(problem, rules, hist, base, f, scratch, m, table[side, f], sets[side, f])


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
            first, last, table, sets, make_scratch(problem),
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


@allocating_jit
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


@allocating_jit
def grow_nodes(problem, rules, local, hist, n_buffers):
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
    scratch = make_scratch(problem)
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
                if sampling or rules.shuffle_ties:  # of equally good features the first is chosen
                    high = min(low + rules.max_features, n_features)
                    for j in range(low, high):
                        other = j + draw_below(state, n_features - j)
                        features[j], features[other] = features[other], features[j]
                if not judged:
                    parallel = rules.n_threads > 1 and n_node * (high - low) >= PARALLEL_WORK
                    for j in range(low, high):
                        room = j - low if parallel else (j - low) % GROUP
                        bases[j] = n_buffers * hist_size + room * problem.max_n_bins * n_slots
                        if own >= 0:
                            bases[j] = own * hist_size + offsets[features[j]] * n_slots
                        parents[j] = parent_buffer * hist_size + offsets[features[j]] * n_slots
                    group = n_features if own >= 0 else GROUP
                    sibling = fresh[1] if shared >= 0 else -1
                    if parallel:
                        search_features_parallel(
                            problem, rules, local, runs, hist, features, bases, parents, group,
                            node, sibling, low, high, table, sets,
                        )  # fmt: skip
                    else:
                        search_features(
                            problem, rules, local, runs, hist, features, bases, parents, group,
                            node, sibling, low, high, table, sets, scratch,
                        )  # fmt: skip
                chosen = choose(
                    problem, rules, table[int(judged)], sets[int(judged)], features, low, high,
                    best, best_set,
                )  # fmt: skip
                low = high
            if chosen >= 0:
                nodes[node, FEATURE] = chosen
                if not problem.categorical[chosen]:
                    nodes[node, CUT] = middle(
                        np.int64(best[BIN]), np.int64(best[NEXT_BIN]),
                        offsets[chosen + 1] - offsets[chosen] - 1, problem.edges,
                        problem.edge_starts[chosen],
                    )  # fmt: skip
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


def _fingerprint() -> int:
    """Return a number that changes with the source of the kernels."""
    sources = sorted(Path(__file__).parent.glob("_*kernels.py"))
    text = b"".join(path.read_bytes() for path in sources)
    return int.from_bytes(hashlib.sha256(text).digest()[:7], "big")


def _cached(fingerprint: int):
    """Return `grow_nodes`, compiled once for each state of the sources.

    Numba's cache looks at the file of the cached function and at what it encloses, not at the
    files of the functions that it calls: hence the fingerprint.
    """

    @nb.njit(nogil=True, cache=True)
    def grow(problem, rules, local, hist, n_buffers):
        _ = fingerprint
        return grow_nodes(problem, rules, local, hist, n_buffers)

    return grow


grow = _cached(_fingerprint())
