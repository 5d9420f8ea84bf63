"""Growing level by level: one sum over all processes for each level of the tree.

Of two siblings only the one with fewer rows is counted and summed; the other is the parent less
it. Since all sums are exact, the tree is the one that grows node by node.
"""

from functools import partial
from typing import Any

import numpy as np

from stakes.tree._columns import DEPTH, FEATURE, LEFT, N_ROWS, RIGHT
from stakes.tree._threads import Threads
from stakes.utils._sums import Sums

# Numbers of histograms that are summed at once, and that are kept for the next level.
ROOM = 2**23


def grow_levels(problem: Any, rules: Any, local: np.ndarray, n_rows: int, sums: Sums) -> Any:
    """Grow as `_grow` does, with every histogram handed to `sums` before it is used."""
    with _Searcher(problem, rules, local, n_rows) as searcher:
        return _grow_levels(searcher, problem, rules, sums)


def _grow_levels(searcher: "_Searcher", problem: Any, rules: Any, sums: Sums) -> Any:
    none = np.empty(0)
    size = int(problem.offsets[-1]) * problem.n_slots
    at_once = max(1, ROOM // size)
    n_nodes = 1
    # A node to be counted, its sibling, and the histogram of their parent, if that was kept.
    level: list[tuple[int, int, np.ndarray]] = [(0, -1, none)] if rules.max_depth > 0 else []
    while level:
        following: list[tuple[int, int, np.ndarray]] = []
        kept = 0
        for first in range(0, len(level), at_once):
            batch = level[first : first + at_once]
            hist = np.empty((len(batch), size))
            for (node, _, _), own in zip(batch, hist):
                searcher.count(node, own)
            sums.total(hist)
            for (node, sibling, parent), own in zip(batch, hist):
                judged = [(node, searcher.judge(node, own), own)]
                if len(parent):  # the larger sibling takes the parent's place
                    parent -= own
                    judged.append((sibling, searcher.judge(sibling, parent), parent))
                for split, gone_left, whole in judged:
                    if gone_left < 0:
                        continue
                    tables = searcher.part(split, n_nodes)
                    fresh = _add_children(tables, split, n_nodes, gone_left)
                    n_nodes += 2
                    small, large = (tables.nodes[child, N_ROWS] for child in fresh)
                    depth = tables.nodes[split, DEPTH] + 1
                    if depth >= rules.max_depth or large < 2 * rules.min_leaf:
                        continue
                    if kept + size <= ROOM:
                        kept += size
                        following.append((*fresh, whole))
                        continue
                    following.append((fresh[1], -1, none))
                    if small >= 2 * rules.min_leaf:
                        following.append((fresh[0], -1, none))
        level = following
    return _in_order(searcher.tables, n_nodes), n_nodes


class _Searcher:
    """Counts, judges and parts one node at a time."""

    def __init__(self, problem: Any, rules: Any, local: np.ndarray, n_rows: int):
        from stakes.tree import _kernels, _level_kernels
        from stakes.tree._histogram_kernels import make_scratch
        from stakes.tree._search_kernels import search_some, with_addresses
        from stakes.tree._split_kernels import N_LEFT

        self.kernels, self.level_kernels = _kernels, _level_kernels
        self.search_some = search_some
        self.n_left = N_LEFT
        self.tables, self.growth = _kernels.plant(problem, rules, local, np.empty(0), 0)
        self.tables.nodes[0, N_ROWS] = n_rows
        self.growth.search.bases[:] = problem.offsets[:-1] * problem.n_slots
        self.scratch = make_scratch(problem)
        self.problem = problem
        self.rules = with_addresses(problem, rules, self.tables.runs, self.growth, self.scratch)
        self.threads = Threads(rules.n_threads, lambda: make_scratch(problem))

    def __enter__(self) -> "_Searcher":
        return self

    def __exit__(self, *_: Any) -> None:
        self.threads.stop()

    def _search(self, step: int, node: int, hist: np.ndarray) -> Any:
        """Count a node into its histogram, or judge the splits of one that has been counted."""
        kernels, search, at = self.kernels, self.growth.search, self.growth.at
        growth = self.growth._replace(search=search._replace(hist=hist))
        growth.fresh[0] = node
        at[[kernels.STEP, kernels.SIDE, kernels.SHARED, kernels.OWN]] = step, 0, -1, -1
        at[[kernels.LOW, kernels.HIGH, kernels.CHOSEN]] = 0, len(search.features), -1
        run = partial(self.search_some, self.problem, self.rules, self.tables.runs, growth)
        work = self.tables.nodes[node, N_ROWS] * len(search.features)
        if self.rules.n_threads > 1 and work >= kernels.PARALLEL_WORK:
            self.threads.share(run, 0, len(search.features))
        else:
            run(0, len(search.features), self.scratch)
        return growth

    def count(self, node: int, hist: np.ndarray) -> None:
        """Count the rows of a node."""
        self._search(self.kernels.COUNT, node, hist)

    def judge(self, node: int, hist: np.ndarray) -> int:
        """Write the best split of a node; return how many rows it sends left, or -1."""
        growth = self._search(self.kernels.JUDGE, node, hist)
        self.level_kernels.settle(self.problem, self.rules, self.tables, growth)
        return int(growth.best[self.n_left]) if self.tables.nodes[node, FEATURE] >= 0 else -1

    def part(self, node: int, left: int) -> Any:
        """Part the rows of a node between `left` and the node after it; return the tables."""
        self.tables, at = _with_room(self.tables, left + 2), self.growth.at
        at[[self.kernels.NODE, self.kernels.N_NODES]] = node, left
        self.level_kernels.part(self.problem, self.tables, self.growth)
        return self.tables


def _with_room(tables: Any, n_nodes: int) -> Any:
    """Return the tables of the nodes with room for so many."""
    from stakes.tree._kernels import enlarge

    return tables if n_nodes <= len(tables.nodes) else enlarge(tables)


def _add_children(tables: Any, node: int, left: int, n_left: int) -> tuple[int, int]:
    """Enter the children of a node that has been split; return them, the smaller first."""
    nodes, both = tables.nodes, slice(left, left + 2)
    nodes[node, LEFT], nodes[node, RIGHT] = left, left + 1
    nodes[both], tables.gains[both], tables.sets[both] = -1, 0.0, 0
    nodes[both, DEPTH] = nodes[node, DEPTH] + 1
    n_right = nodes[node, N_ROWS] - n_left
    nodes[left, N_ROWS], nodes[left + 1, N_ROWS] = n_left, n_right
    return (left, left + 1) if n_left <= n_right else (left + 1, left)


def _in_order(tables: Any, n_nodes: int) -> Any:
    """Return the tables with the nodes numbered as they are when they grow node by node.

    A node is split when it is taken, and of its two children the smaller is taken first.
    """
    nodes = tables.nodes
    order, stack = [0], [0]
    links = nodes[:n_nodes, [LEFT, RIGHT, N_ROWS]].tolist()
    for_left = {}
    while stack:
        node = stack.pop()
        left, right, _ = links[node]
        if left < 0:
            continue
        for_left[node] = len(order)
        order += [left, right]
        small_left = links[left][2] <= links[right][2]
        stack += [right, left] if small_left else [left, right]
    ordered = type(tables)(*(table[order] for table in tables[:4]), tables.pending)
    split = ordered.nodes[:, LEFT] >= 0
    lefts = np.array([for_left[node] for node in order if node in for_left], dtype=np.int64)
    ordered.nodes[split, LEFT], ordered.nodes[split, RIGHT] = lefts, lefts + 1
    return ordered
