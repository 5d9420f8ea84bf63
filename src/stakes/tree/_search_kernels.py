"""Numba kernels that search the features of a node for its best split; see `_kernels` for the words.

They are compiled apart from growing, which calls them through their addresses: Numba would make
a function that it knows part of its caller, and compile it once more. Of the ways to judge splits
a tree needs one or two, by the number of classes and whether there are categories; the others
are not compiled for it.
"""

from collections import namedtuple
from typing import Any

import numpy as np

from stakes.tree._histogram_kernels import (
    GROUP,
    Problem,
    Scratch,
    clear,
    count_classes,
    count_costs,
    gather,
)
from stakes.tree._jit import address_of, call_at, fingerprint, kept_jit
from stakes.tree._split_kernels import judge_few, judge_many, judge_sets, judge_two
from stakes.tree._steps import compose, step

# The steps of growing.
SHARE, OPEN, DRAW, COUNT, JUDGE, CHOOSE, NEXT, CHILDREN = range(8)
# Why `advance` pauses: it is done; there is no room for more nodes; a histogram has been counted;
# the rows of a node have been parted; threads are to search; threads are to part the rows; a
# node is to be counted in halves.
DONE, FULL, COUNTED, PARTED, SEARCH, PART, HALVE = range(7)
# The places of the numbers in ``growth.at``: what is next, how many there are of what,
(STEP, SIDE, NODE, N_NODES, N_LEAVES, N_PENDING, N_FREE, N_FRESH) = range(8)
# the histograms of the fresh nodes' parent and of the smaller of them, if its sibling is to be had
# as a difference, and of the node in question; the features looked at, the best of them, where
# in `hist` they have been counted; the rows that go left; and whether threads have searched.
(PARENT, SHARED, OWN, LOW, HIGH, CHOSEN, FIRST, LAST, GONE_LEFT, SEARCHED) = range(8, 18)
N_NUMBERS = 18


# When a split is made, and which; `shared` says that others hold other rows. The last two are the
# addresses of what is compiled apart: `with_addresses`.
Rules = namedtuple(
    "Rules",
    "criterion max_depth max_leaves min_leaf min_decrease tolerance max_features best_first seed "
    "shuffle_ties n_threads shared search_at judge_at",
    defaults=(0, 0),
)


class Growth(namedtuple("Growth", "search free fresh at best best_set goes_left parted random")):
    """How far a tree has grown.

    Attributes
    ----------
    search : Search
        Where splits are looked for.
    free : ndarray of shape (n_buffers,)
        Histograms that are not in use.
    fresh : ndarray of shape (2,)
        The fresh nodes, the smaller first.
    at : ndarray of shape (N_NUMBERS,)
        The numbers that are named above.
    best, best_set : ndarray of shape (N_FIELDS,) and (WORDS,)
        The best split so far of the node in question.
    goes_left, parted : ndarray
        Room for `mark_sides` and `part_blocks`.
    random : ndarray of shape (1,), dtype uint64
        The state of the random numbers.
    """


@step
def judge_numbers(problem, rules, hist, f, n_listed, scratch, out):
    """Write the best split of one node on an ordered feature into `out`.

    `hist` is the histogram of that feature. The bins that hold rows are in ``scratch.present`` if
    `n_listed` is not negative. In its place stands one of `judge_two`, `judge_few`, `judge_many`.
    """


@step
def judge_group(problem, rules, search, has_sibling, listed, start, stop, scratch):
    """Judge the splits of a node, and of its sibling, on features[start:stop].

    The sibling's histogram takes the parent's place. If `listed`, the bins that hold rows are.
    """
    hist = search.hist
    for j in range(start, stop):
        f, base = search.features[j], search.bases[j]
        size = (problem.offsets[f + 1] - problem.offsets[f]) * problem.n_slots
        own = hist[base : base + size]
        for side in range(2 if has_sibling else 1):
            judged, m = own, np.int64(-1)
            if side == 1:
                judged = hist[search.parents[j] : search.parents[j] + size]
                for h in range(size):
                    judged[h] -= own[h]
            elif listed:
                m = scratch.n_listed[j - start]
                for i in range(m):
                    scratch.present[i] = scratch.listed[j - start, i]
            splits, sets = search.splits[side, f], search.sets[side, f]
            if problem.categorical[f]:
                given = (problem, rules, judged, f, m, scratch, splits, sets)
                call_at(rules.judge_at, given)
            else:
                judge_numbers(problem, rules, judged, f, m, scratch, splits)


def _search(problem, rules, runs, growth, low, high, scratch):
    """Count the node in question and judge its splits on features[low:high].

    Where its histogram is not kept, a group of features at a time. Where sums are shared,
    counting and judging are two steps, with a pause between them.
    """
    search, at = growth.search, growth.at
    counts, judges = at[STEP] == COUNT, at[STEP] == JUDGE or not rules.shared
    node, own, has_sibling = growth.fresh[at[SIDE]], at[OWN], at[SHARED] >= 0
    group = GROUP if own < 0 and judges else max(high - low, 1)
    sparse = own < 0 and not has_sibling and counts and judges
    n_blocks = runs.shape[1] // 2
    n_rows, block, position = np.int64(0), np.int64(0), np.int64(0)
    gathered = False  # whether the tile holds all the rows of the node
    for start in range(low, high, group):
        stop = min(start + group, high)
        cleared = not counts
        if not gathered:
            block = position = np.int64(0)
        while not cleared or (counts and block < n_blocks):
            if not gathered:
                n_rows, block, position = gather(
                    problem, search.local, runs, node, block, position, scratch
                )
            if not cleared:
                gathered, cleared = block == n_blocks, True
                few = n_rows if gathered and sparse else np.int64(-1)
                clear(problem, search, scratch, few, start, stop)
            if problem.by_class:
                count_classes(problem, search, scratch, n_rows, start, stop)
            else:
                count_costs(problem, search, scratch, n_rows, start, stop)
        if judges:
            listed = gathered and sparse
            judge_group(problem, rules, search, has_sibling, listed, start, stop, scratch)


def _count_blocks(problem, runs, growth, block, low, high, scratch):
    """Add the rows of the only node in `runs`, from a block on, to features[low:high]."""
    search, n_blocks = growth.search, runs.shape[1] // 2
    n_rows, position = np.int64(0), np.int64(0)
    while block < n_blocks:
        n_rows, block, position = gather(problem, search.local, runs, 0, block, position, scratch)
        if problem.by_class:
            count_classes(problem, search, scratch, n_rows, low, high)
        else:
            count_costs(problem, search, scratch, n_rows, low, high)


def _judge_sets(problem, rules, hist, f, n_listed, scratch, out, words):
    """Write the best split of one node on a categorical feature into `out` and `words`."""
    judge_sets(problem, rules, hist, f, n_listed, scratch, out, words)


def _compiled(judge: Any) -> Any:
    return kept_jit(
        compose(_search, {"judge_numbers": judge}, judge=judge.__name__, sources=fingerprint())
    )


search_two, search_few, search_many = map(_compiled, (judge_two, judge_few, judge_many))
search_sets = kept_jit(compose(_judge_sets, sources=fingerprint()))
count_blocks = kept_jit(compose(_count_blocks, sources=fingerprint()))


def _kernel(problem: Problem, scratch: Scratch) -> Any:
    """Return the search that is made for so many classes."""
    if len(scratch.priced):
        return search_many
    return search_two if problem.costs.shape[1] == 2 else search_few


def search_some(problem, rules, runs, growth, low, high, scratch) -> None:
    """Search features[low:high] for the best splits of the node in question, as one thread."""
    _kernel(problem, scratch)(problem, rules, runs, growth, low, high, scratch)


def with_addresses(problem: Problem, rules: Rules, runs: Any, growth: Growth, scratch: Scratch):
    """Return the rules with the addresses of what a tree on this problem needs, compiled."""
    kernel, has_sets = _kernel(problem, scratch), bool(problem.categorical.any())
    # what else is given has one type: `grow_cost_tree`, `plant` and `make_scratch` make it
    key = kernel, has_sets, *map(_kind, problem[:N_ARRAYS])
    if key not in _addresses:
        found = 0
        if has_sets:
            hist, splits, sets = growth.search.hist, growth.search.splits, growth.search.sets
            judged = (hist, 0, 0, scratch, splits[0, 0], sets[0, 0])
            found = address_of(search_sets, problem, rules, *judged)
        search = address_of(kernel, problem, rules, runs, growth, 0, 0, scratch)
        _addresses[key] = {"search_at": search, "judge_at": found}
    return rules._replace(**_addresses[key])


# The fields of a problem that are arrays come first.
N_ARRAYS = Problem._fields.index("by_class")
# What has been compiled, by what it is given.
_addresses: dict[tuple, dict[str, int]] = {}


def _kind(value: np.ndarray) -> tuple[str, bool, bool]:
    """Return what Numba's type of an array depends on."""
    flags = value.flags
    return value.dtype.char, flags.c_contiguous, flags.writeable
