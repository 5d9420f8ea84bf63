"""The Numba kernels that grow a tree on costs; imported on use.

Words used here. *Rows* of X are kept in blocks of 65,536: within a block a row is a uint16, and
the rows of a node are one contiguous run of each block, ``runs[node, 2 * block]`` = first, last + 1.
A *histogram* has `n_slots` float64 for each bin. With costs of examples these are the K centred
costs, the weight and (if weights are given) the count, padded to a multiple of 4. With costs of
classes (`by_class`) they are the weight of each class and (if weights are given) the count.
A *tile* is a piece of a node's rows, gathered once and counted for many features. *Sums* are the
K centred costs, the weight and the count of some rows. *Fresh* nodes have no best split yet: the
root, or the smaller and the larger child of the node that was split last.

Costs are centred (each row less its mean), so that a constant added to a row changes nothing.
Results do not depend on the number of threads: a feature is counted by one thread, in the order
of rows, and features are compared in order. Large nodes of large data are counted in two halves
of the blocks, on any number of threads: two that share features would each gather all rows.

`advance` grows the tree step by step. It pauses where Python has something to do: make room for
more nodes, count halves, share a search or the parting of rows among threads, or, where the sums
are shared with others who hold other rows (``rules.shared``), ask those for theirs.

All steps are written into it before it is compiled: see `_steps`. Searching is compiled apart: see
`_search_kernels`.
"""

from collections import namedtuple

import numpy as np

from stakes.tree._columns import (
    BUFFER,
    CUT,
    DEPTH,
    FEATURE,
    LEFT,
    MISSING,
    N_COLUMNS,
    N_ROWS,
    RIGHT,
    WORDS,
)
from stakes.tree._histogram_kernels import (
    BLOCK,
    GROUP,
    Problem,
    Search,
)
from stakes.tree._jit import call_at, fingerprint, kept_jit
from stakes.tree._search_kernels import (
    CHILDREN,
    CHOOSE,
    CHOSEN,
    COUNT,
    COUNTED,
    DONE,
    DRAW,
    FIRST,
    FULL,
    GONE_LEFT,
    HALVE,
    HIGH,
    JUDGE,
    LAST,
    LOW,
    N_FREE,
    N_FRESH,
    N_LEAVES,
    N_NODES,
    N_NUMBERS,
    N_PENDING,
    NEXT,
    NODE,
    OPEN,
    OWN,
    PARENT,
    PART,
    PARTED,
    SEARCH,
    SEARCHED,
    SHARE,
    SHARED,
    SIDE,
    STEP,
    Growth,
    Rules,
)
from stakes.tree._split_kernels import (
    MISSING_LEFT,
    N_FIELDS,
    SLACK,
    U0,
    beats,
    cut_of,
    gains_of,
    in_set,
)
from stakes.tree._steps import compose, step

# A node of fewer rows is counted directly; a larger one keeps its histogram, so that of its two
# children only the smaller is counted.
KEEP_HISTOGRAM = 768
# Below this number of (row, feature) additions a second thread does not pay: it is woken for each
# search, which takes as long as some ten thousand of them, and much longer on a busy machine.
PARALLEL_WORK = 350_000
# Nor does it below this number of rows that are parted.
PARALLEL_ROWS = 60_000
# With so many blocks, a node of so many rows is counted in halves, one for each of two threads.
HALVED_BLOCKS, HALVED_ROWS = 4, 50_000
# The step from one random number to the next (splitmix64).
STRIDE = np.uint64(0x9E3779B97F4A7C15)
# Nodes that there is room for at first: as many as there are rows, but within these.
ROOM, MOST_ROOM = 64, 4_096


class Tables(namedtuple("Tables", "nodes gains sets runs pending")):
    """The nodes of a growing tree, with room for more.

    Attributes
    ----------
    nodes : ndarray of shape (room, N_COLUMNS)
        See `_columns`.
    gains : ndarray of shape (room, 2)
        What the split of a node saves, in cost and in squared norm.
    sets : ndarray of shape (room, WORDS)
        The bins that go left in a categorical split.
    runs : ndarray of shape (room, 2 * n_blocks), dtype int32
        Where the rows of a node are.
    pending : ndarray of shape (room,)
        Nodes that have a best split, not yet made.
    """


# -- searching -------------------------------------------------------------------------------


@step
def is_large(rules, tables, growth):
    """Say whether threads are to share the search of the node in question."""
    at = growth.at
    n_rows = tables.nodes[growth.fresh[at[SIDE]], N_ROWS]
    return rules.n_threads > 1 and n_rows * (at[HIGH] - at[LOW]) >= PARALLEL_WORK


@step
def in_halves(tables, growth):
    """Say whether the node in question is counted in two halves of its blocks of rows.

    That does not depend on the number of threads: neither do the sums, to the last bit.
    """
    many = tables.runs.shape[1] // 2 >= HALVED_BLOCKS
    return many and tables.nodes[growth.fresh[growth.at[SIDE]], N_ROWS] >= HALVED_ROWS


@step
def place_histograms(problem, growth, in_groups):
    """Give each feature drawn a place for its histogram.

    A histogram that is not kept has room of its own, unless features are done in groups.
    """
    search, at, n_slots = growth.search, growth.at, problem.n_slots
    hist_size = problem.offsets[-1] * n_slots
    own, first = at[OWN], len(growth.free) * hist_size
    group = GROUP if own < 0 and in_groups else at[HIGH]
    if own >= 0:
        first = own * hist_size
    base = first
    for j in range(at[LOW], at[HIGH]):
        f = search.features[j]
        start, stop = problem.offsets[f] * n_slots, problem.offsets[f + 1] * n_slots
        if own >= 0:
            base = first + start
        elif (j - at[LOW]) % group == 0:
            base = first
        search.bases[j] = base
        search.parents[j] = at[PARENT] * hist_size + start
        base += stop - start
    at[FIRST], at[LAST] = first, first + hist_size if own >= 0 else base


@step
def all_alike(problem, local, runs, node):
    """Say whether all rows of a node have the same costs, so that no split is of use."""
    first, alike = np.int64(-1), True
    for block in range(runs.shape[1] // 2):
        for i in range(runs[node, 2 * block], runs[node, 2 * block + 1]):
            r = block * BLOCK + np.int64(local[i])
            if first < 0:
                first = r
            if problem.by_class:
                alike = problem.y[r] == problem.y[first]
            else:
                for k in range(problem.costs.shape[1]):
                    alike = alike and problem.costs[r, k] == problem.costs[first, k]
            if not alike:
                break
        if not alike:
            break
    return alike


@step
def scramble(z):
    """Return a number that looks random (the output function of splitmix64)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@step
def draw_below(state, n):
    """Return a random integer from 0 to n - 1, and move the state."""
    state[0] += STRIDE
    z = scramble(state[0])
    return np.int64(((z >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


# -- the steps -------------------------------------------------------------------------------


@step
def take_buffer(growth):
    """Return a histogram that is not in use."""
    growth.at[N_FREE] -= 1
    return growth.free[growth.at[N_FREE]]


@step
def give_back(growth, buffer):
    """Make a histogram free again."""
    growth.free[growth.at[N_FREE]] = buffer
    growth.at[N_FREE] += 1


@step
def share_histogram(tables, growth):
    """Give the smaller of two fresh nodes a histogram if its sibling can take over the parent's."""
    at = growth.at
    at[SIDE], at[SHARED] = 0, -1
    if at[N_FRESH] == 2 and at[PARENT] >= 0:
        if tables.nodes[growth.fresh[1], N_ROWS] >= KEEP_HISTOGRAM and at[N_FREE] > 0:
            at[SHARED] = take_buffer(growth)
        else:
            give_back(growth, at[PARENT])
            at[PARENT] = -1


@step
def open_node(problem, rules, tables, growth):
    """Say whether the fresh node in question is to be searched; then it may have a histogram."""
    at = growth.at
    node = growth.fresh[at[SIDE]]
    n_rows = tables.nodes[node, N_ROWS]
    searched = at[SHARED] >= 0 or n_rows >= 2 * rules.min_leaf
    if searched and at[SHARED] < 0 and not rules.shared:
        alike = all_alike(problem, growth.search.local, tables.runs, node)
        searched = not alike
    if searched:
        sampling = rules.max_features < len(growth.search.features)
        at[OWN] = at[PARENT] if at[SIDE] == 1 and at[SHARED] >= 0 else at[SHARED]
        if at[OWN] < 0 and not sampling and n_rows >= KEEP_HISTOGRAM and at[N_FREE] > 0:
            at[OWN] = take_buffer(growth)
        at[LOW], at[HIGH], at[CHOSEN] = 0, 0, -1
    return searched


@step
def draw_features(rules, growth):
    """Take the next features to look at; say whether there are any, and none splits the node yet."""
    at, features = growth.at, growth.search.features
    n_features = len(features)
    more = at[CHOSEN] < 0 and at[HIGH] < n_features
    if more:
        low, high = at[HIGH], n_features
        if rules.max_features < n_features or rules.shuffle_ties:  # of equals the first is chosen
            high = min(low + rules.max_features, n_features)
            if low == 0:  # what is drawn depends on the node alone, not on those before it
                node = np.uint64(growth.fresh[at[SIDE]])
                growth.random[0] = scramble(np.uint64(rules.seed) + STRIDE * node)
                for j in range(n_features):
                    features[j] = j
            for j in range(low, high):
                other = draw_below(growth.random, n_features - j)
                other += j
                features[j], features[other] = features[other], features[j]
        at[LOW], at[HIGH] = low, high
    return more


@step
def choose(problem, rules, growth):
    """Compare the features drawn, in order; keep the best split, if one is of use."""
    search, at, best, best_set = growth.search, growth.at, growth.best, growth.best_set
    side = int(at[SIDE] == 1 and at[SHARED] >= 0)  # judged together with its smaller sibling
    chosen = -1
    for j in range(at[LOW], at[HIGH]):
        f = search.features[j]
        if beats(rules, search.splits[side, f], best, chosen):
            chosen = f
            for i in range(N_FIELDS):
                best[i] = search.splits[side, f, i]
            for i in range(WORDS):
                best_set[i] = search.sets[side, f, i] if problem.categorical[f] else U0
    at[CHOSEN] = chosen


@step
def close_node(problem, rules, tables, growth):
    """Write the best split of the node in question; keep its histogram if children can use it."""
    at, nodes, best = growth.at, tables.nodes, growth.best
    node, chosen = growth.fresh[at[SIDE]], at[CHOSEN]
    if chosen >= 0:
        nodes[node, FEATURE] = chosen
        if not problem.categorical[chosen]:
            nodes[node, CUT] = cut_of(problem, chosen, best)
        nodes[node, MISSING] = np.int64(best[MISSING_LEFT])
        tables.gains[node, 0], tables.gains[node, 1] = gains_of(best)
        for i in range(WORDS):
            tables.sets[node, i] = growth.best_set[i]
    if at[OWN] >= 0:
        last_level = nodes[node, DEPTH] + 1 >= rules.max_depth
        if chosen >= 0 and not last_level and nodes[node, N_ROWS] >= KEEP_HISTOGRAM:
            nodes[node, BUFFER] = at[OWN]
        else:
            give_back(growth, at[OWN])


@step
def queue_fresh(tables, growth):
    """Queue the fresh nodes that can be split; the smaller comes last: it is next."""
    at = growth.at
    for side in range(at[N_FRESH] - 1, -1, -1):
        if tables.nodes[growth.fresh[side], FEATURE] >= 0:
            tables.pending[at[N_PENDING]] = growth.fresh[side]
            at[N_PENDING] += 1
    at[N_FRESH] = 0


@step
def next_node(rules, tables, growth):
    """Take the node to split next: the last that is pending, or the one that saves most."""
    at, pending, gains = growth.at, tables.pending, tables.gains
    at[N_PENDING] -= 1
    chosen = at[N_PENDING]
    if rules.best_first:
        chosen = 0
        for i in range(1, at[N_PENDING] + 1):  # ties as among features
            saved, rival = gains[pending[i], 0], gains[pending[chosen], 0]
            if saved > rival + rules.tolerance or (
                saved >= rival - rules.tolerance
                and gains[pending[i], 1] > gains[pending[chosen], 1] * SLACK
            ):
                chosen = i
    at[NODE] = pending[chosen]
    for i in range(chosen, at[N_PENDING]):
        pending[i] = pending[i + 1]


@step
def mark_sides(problem, tables, growth):
    """Write which bins go left in the node to split."""
    nodes, node, goes_left = tables.nodes, growth.at[NODE], growth.goes_left
    f = nodes[node, FEATURE]
    missing = problem.offsets[f + 1] - problem.offsets[f] - 1
    for b in range(256):
        goes = b <= nodes[node, CUT]
        if problem.categorical[f]:
            goes = in_set(tables.sets[node], b)
        elif b == missing:
            goes = nodes[node, MISSING] == 1
        goes_left[b] = np.uint8(goes)


@step
def part_blocks(problem, tables, growth, low, high, parted):
    """Part the rows of the node to split in blocks[low:high], keeping their order.

    The bins that go left are marked; return how many rows do.
    """
    at, goes_left, local, runs = growth.at, growth.goes_left, growth.search.local, tables.runs
    node, left, right = at[NODE], at[N_NODES], at[N_NODES] + 1
    codes = problem.codes[tables.nodes[node, FEATURE]]
    n_left = np.int64(0)
    for block in range(low, high):
        first, last = runs[node, 2 * block], runs[node, 2 * block + 1]
        base = np.uint32(block * BLOCK)
        w, n_right = np.int64(first), np.int64(0)
        for i in range(first, last):
            row = local[i]
            goes = np.int64(goes_left[codes[base + np.uint32(row)]])
            local[w] = row
            parted[n_right] = row
            w += goes
            n_right += 1 - goes
        for i in range(n_right):
            local[w + i] = parted[i]
        runs[left, 2 * block], runs[left, 2 * block + 1] = first, w
        runs[right, 2 * block], runs[right, 2 * block + 1] = w, last
        n_left += w - first
    return n_left


@step
def part_rows(problem, tables, growth):
    """Part the rows of the node to split, keeping their order."""
    mark_sides(problem, tables, growth)
    n_blocks = tables.runs.shape[1] // 2
    n_left = part_blocks(problem, tables, growth, 0, n_blocks, growth.parted)
    growth.at[GONE_LEFT] = n_left


@step
def add_children(rules, tables, growth):
    """Enter the children of the node that has been split; they are fresh if they may be split."""
    at, nodes, node = growth.at, tables.nodes, growth.at[NODE]
    left, right = at[N_NODES], at[N_NODES] + 1
    at[N_NODES] += 2
    at[N_LEAVES] += 1
    n_left, n_right = at[GONE_LEFT], nodes[node, N_ROWS] - at[GONE_LEFT]
    at[PARENT] = nodes[node, BUFFER]
    nodes[node, LEFT], nodes[node, RIGHT], nodes[node, BUFFER] = left, right, -1
    for child in (left, right):
        for i in range(N_COLUMNS):
            nodes[child, i] = -1
        for i in range(WORDS):
            tables.sets[child, i] = U0
        tables.gains[child, 0], tables.gains[child, 1] = 0.0, 0.0
        nodes[child, DEPTH] = nodes[node, DEPTH] + 1
        nodes[child, N_ROWS] = n_left if child == left else n_right
    growth.fresh[0], growth.fresh[1] = (left, right) if n_left <= n_right else (right, left)
    if (
        max(n_left, n_right) >= 2 * rules.min_leaf
        and nodes[left, DEPTH] < rules.max_depth
        and at[N_LEAVES] < rules.max_leaves
    ):
        at[N_FRESH] = 2
    elif at[PARENT] >= 0:
        give_back(growth, at[PARENT])


# -- growing ---------------------------------------------------------------------------------


def _advance(problem, rules, tables, growth, scratch):
    """Grow the tree, from the step at which it has paused, until it pauses again; return why."""
    at = growth.at
    while True:
        if at[STEP] == SHARE:
            share_histogram(tables, growth)
            at[STEP] = OPEN
        elif at[STEP] == OPEN:
            if at[SIDE] == at[N_FRESH]:
                queue_fresh(tables, growth)
                at[STEP] = NEXT
            elif open_node(problem, rules, tables, growth):
                at[STEP] = DRAW
            else:
                at[SIDE] += 1
        elif at[STEP] == DRAW:
            if draw_features(rules, growth):
                # the larger of two siblings is judged together with the smaller
                at[STEP] = CHOOSE if at[SIDE] == 1 and at[SHARED] >= 0 else COUNT
            else:
                close_node(problem, rules, tables, growth)
                at[SIDE] += 1
                at[STEP] = OPEN
        elif at[STEP] == COUNT or at[STEP] == JUDGE:
            large = is_large(rules, tables, growth)
            halved = in_halves(tables, growth)
            halved = halved and at[STEP] == COUNT and not rules.shared
            if at[STEP] == COUNT and at[SEARCHED] == 0:
                in_groups = not large and not rules.shared and not halved
                place_histograms(problem, growth, in_groups)
            if halved:
                at[STEP] = JUDGE
                return HALVE
            if large and at[SEARCHED] == 0:
                return SEARCH
            if at[SEARCHED] == 0:
                runs, low, high = tables.runs, at[LOW], at[HIGH]
                call_at(rules.search_at, (problem, rules, runs, growth, low, high, scratch))
            at[SEARCHED] = 0
            paused = rules.shared and at[STEP] == COUNT
            at[STEP] = JUDGE if paused else CHOOSE
            if paused:
                return COUNTED
        elif at[STEP] == CHOOSE:
            choose(problem, rules, growth)
            at[STEP] = DRAW
        elif at[STEP] == NEXT:
            if at[N_PENDING] == 0 or at[N_LEAVES] >= rules.max_leaves:
                return DONE
            if at[N_NODES] + 2 > tables.nodes.shape[0]:
                return FULL
            next_node(rules, tables, growth)
            at[STEP] = CHILDREN
            if rules.n_threads > 1 and tables.nodes[at[NODE], N_ROWS] >= PARALLEL_ROWS:
                mark_sides(problem, tables, growth)
                return PART
            part_rows(problem, tables, growth)
            if rules.shared:
                return PARTED
        else:
            add_children(rules, tables, growth)
            at[STEP] = SHARE


def _part_some(problem, tables, growth, low, high, parted):
    """As `part_blocks`, for one thread of several."""
    n_left = part_blocks(problem, tables, growth, low, high, parted)
    return n_left


# What Python calls, compiled once for each state of the sources.
advance = kept_jit(compose(_advance, sources=fingerprint()))
part_some = kept_jit(compose(_part_some, sources=fingerprint()))


def plant(problem: Problem, rules: Rules, local: np.ndarray, hist: np.ndarray, n_buffers: int):
    """Return the tables of a tree that is one leaf, and how far it has grown.

    `hist` holds `n_buffers` histograms and, after them, room for ``max(GROUP, n_features)``
    features of `max_n_bins` bins, which are counted without being kept.
    """
    n_features, n_samples = problem.codes.shape
    room = min(2 << min(rules.max_depth, MOST_ROOM), max(ROOM, min(n_samples, MOST_ROOM)))
    tables = Tables(
        nodes=np.empty((room, N_COLUMNS), np.int64),
        gains=np.empty((room, 2)),
        sets=np.empty((room, WORDS), np.uint64),
        runs=np.empty((room, 2 * ((n_samples + BLOCK - 1) // BLOCK)), np.int32),
        pending=np.empty(room, np.int64),
    )
    tables.nodes[0], tables.gains[0], tables.sets[0] = -1, 0.0, 0
    tables.nodes[0, DEPTH] = 0
    tables.nodes[0, N_ROWS] = start_rows(problem.weight, local, tables.runs)
    at = np.zeros(N_NUMBERS, np.int64)
    at[[STEP, PARENT, N_NODES, N_LEAVES, N_FREE]] = SHARE, -1, 1, 1, n_buffers
    at[N_FRESH] = 1 if rules.max_depth > 0 and rules.max_leaves > 1 else 0
    splits = np.empty((2, n_features, N_FIELDS))
    sets = np.zeros((2, n_features, WORDS), np.uint64)
    places = np.empty((2, n_features), np.int64)
    growth = Growth(
        search=Search(local, hist, np.arange(n_features), places[0], places[1], splits, sets),
        free=np.arange(n_buffers),
        fresh=np.zeros(2, np.int64),
        at=at,
        best=np.empty(N_FIELDS),
        best_set=np.zeros(WORDS, np.uint64),
        goes_left=np.empty(256, np.uint8),
        parted=np.empty(min(BLOCK, n_samples), np.uint16),
        random=np.zeros(1, np.uint64),
    )
    return tables, growth


def start_rows(weight: np.ndarray, local: np.ndarray, runs: np.ndarray) -> int:
    """Give the root every row whose weight is not zero; return how many."""
    n_rows = 0
    for block, first in enumerate(range(0, len(local), BLOCK)):
        own = local[first : first + BLOCK]
        n_own = len(own)
        if len(weight) == 0:
            own[:] = np.arange(n_own)
        else:
            rows = np.flatnonzero(weight[first : first + BLOCK] > 0.0)
            n_own = len(rows)
            own[:n_own] = rows
        runs[0, 2 * block : 2 * block + 2] = first, first + n_own
        n_rows += n_own
    return n_rows


def enlarge(tables: Tables) -> Tables:
    """Return the tables with room for twice as many nodes; the new rows have no meaning."""
    return Tables(*(np.concatenate((table, table)) for table in tables))
