"""How one tree grows: batches of nodes are counted, judged and parted, until none can be split.

Of two siblings only the smaller is counted: the larger is their parent less it. Where rows are
spread over processes, their sums are taken between counting and judging. A node of few rows has no
histogram: its rows are counted where it is judged. See docs/contributing/kernels.md.
"""

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from stakes.tree._columns import (
    DEPTH,
    FEATURE,
    LEFT,
    N_COLUMNS,
    N_GROWING,
    N_ROWS,
    RIGHT,
    START,
    STOP,
    UNUSED,
    WORDS,
)
from stakes.tree._threads import Threads
from stakes.utils._sums import Sums

# Where there is no limit to the depth or to the leaves.
NO_LIMIT = 2**62
# A node of fewer rows has no histogram, unless it is had as a difference.
SMALL = 768
# Numbers of the histograms of a batch, so that they stay in the cache; where processes wait for
# each other, a batch is larger.
BATCH, SHARED_BATCH = 2**17, 2**23
# Splits of (node, feature) that are judged at a time.
MOST_SPLITS = 8_192
# A node of twice so many rows is counted in pieces, at most so many, for any number of threads.
PIECE, MOST_PIECES = 50_000, 4


class Family(NamedTuple):
    """Nodes to be searched: two siblings, the smaller first, and their parent's histogram.

    Without one (-1) they are counted each by itself.
    """

    members: tuple[int, ...]
    histogram: int = -1


class Grown(NamedTuple):
    """A grown tree: its nodes in order, and where in `order` the rows of each begin and end."""

    nodes: np.ndarray
    gains: np.ndarray
    sets: np.ndarray
    places: np.ndarray
    order: np.ndarray


def make_desk(problem: Any, rules: Any, samples: bool) -> Any:
    """Return where a thread works, and room for sets of bins, or None.

    `samples`: no node has a histogram, however large.
    """
    from stakes.tree._search_kernels import N_FIELDS, make_room
    from stakes.tree._split_kernels import Desk

    n_features, n_samples = problem.codes.shape
    n_looked = min(rules.max_features, n_features)
    at_once = max(1, MOST_SPLITS // n_looked)
    desk = Desk(
        room=make_room(problem, min(n_samples, 2**16) if samples else SMALL, at_once),
        splits=np.empty((at_once, n_looked, N_FIELDS)),
        items=np.empty((at_once, 3), np.int64),
        listed=np.empty(2 * at_once, np.int32),
    )
    has_sets = bool(problem.categorical.any())
    return desk, np.empty((at_once, n_looked, WORDS), np.uint64) if has_sets else None


class Growth:
    """A tree that grows.

    Parameters
    ----------
    problem : Problem
        What it grows on.
    rules : Rules
        When splits are made, and which.
    seed : int
        Draws the features.
    n_rows : int
        How many rows there are, in all processes.
    workspace : Workspace
        Room that can be used again.
    threads : Threads
        They share the work, each with a desk of its own.
    sums : Sums
        Takes the sums over several processes.
    """

    def __init__(
        self,
        problem: Any,
        rules: Any,
        seed: int,
        n_rows: int,
        workspace: Any,
        threads: Threads,
        sums: Sums,
    ):
        from stakes.tree import _split_kernels

        self.problem, self.rules, self.threads, self.sums = problem, rules, threads, sums
        self.kernels = _split_kernels
        self.n_features = len(problem.codes)
        self.keeps = sums.shared or rules.max_features >= self.n_features
        self.small = SMALL
        if sums.shared:
            self.small = 0
        elif not self.keeps:  # large nodes go by themselves only to be shared by threads
            n = threads.n_threads
            self.small = NO_LIMIT if n == 1 else max(SMALL, n_rows // (4 * n))
        size = int(problem.offsets[-1]) * problem.n_slots
        self.at_once = max(4, (SHARED_BATCH if sums.shared else BATCH) // size)
        n_buffers = 0
        if self.keeps and n_rows >= self.small:
            n_buffers = 4 + min(3 * self.at_once, 2 * n_rows // max(1, self.small))
            n_buffers = min(n_buffers, 2 ** min(rules.max_depth, 40))
        hist = workspace.array("hist", max(n_buffers, 1) * size, np.float64)
        self.hist = hist.reshape(-1, size)
        self.free = list(range(n_buffers))
        self.n_waiting, self.most_waiting = 0, n_buffers - 2
        self._plant(seed, n_rows, workspace)

    def _plant(self, seed: int, n_rows: int, workspace: Any) -> None:
        """Enter the root."""
        from stakes.tree._search_kernels import Nodes

        weight, n_samples = self.problem.weight, self.problem.codes.shape[1]
        order = workspace.array("order", n_samples, np.uint32)
        rows = np.flatnonzero(weight) if len(weight) else np.arange(n_samples, dtype=np.uint32)
        order[: len(rows)] = rows
        spare = workspace.array("spare", n_samples, np.uint32)
        self.nodes = Nodes(
            table=np.full((64, N_GROWING), -1, np.int32),
            gains=np.zeros((64, 2)),
            sets=np.zeros((64, WORDS), np.uint64),
            paths=np.full(64, seed, np.uint64),
            order=order,
            spare=spare,
        )
        self.nodes.table[0, [DEPTH, N_ROWS, START, STOP]] = 0, n_rows, 0, len(rows)
        self.n_used = 1

    def _make_room(self, more: int) -> None:
        """Make room for more nodes."""
        room = len(self.nodes.table)
        if self.n_used + more > room:
            room = max(self.n_used + more, 2 * room)
            larger = {}
            for name in ("table", "gains", "sets", "paths"):
                table = getattr(self.nodes, name)
                larger[name] = np.empty((room, *table.shape[1:]), table.dtype)
                larger[name][: self.n_used] = table[: self.n_used]
            self.nodes = self.nodes._replace(**larger)

    # -- what one thread does --------------------------------------------------------------------

    def _split(self, mode: int, free: int, at: Any, n_listed: int = 0, **given: Any) -> Any:
        """Call `split` with a desk and sets, or what is given in the desk's place."""
        desk, sets = at[0]._replace(**given), at[1]
        plan = self.kernels.Plan(mode, self.small, free, n_listed)
        return self.kernels.split(
            self.problem, self.rules, plan, self.hist, self.nodes, desk, sets
        )

    def _split_some(
        self, items: np.ndarray, free: int, small: list, first: int, stop: int, at: Any
    ) -> None:
        """Split a part of a batch, for which there is room from `free` on."""
        mode = self.kernels.SPLIT
        n_listed, _ = self._split(mode, free + 2 * first, at, items=items[first:stop])
        small.append(at[0].listed[:n_listed].copy())

    def _finish(self, nodes: np.ndarray, free: int, room: int, at: Any) -> int:
        """Grow some small nodes to their ends; return the next free place."""
        listed = np.empty(max(room, len(nodes)), np.int32)
        listed[: len(nodes)] = nodes
        return self._split(self.kernels.FINISH, free, at, len(nodes), listed=listed)[1]

    # -- one batch, shared by threads ------------------------------------------------------------

    def _count(self, counted: list[tuple[int, int]]) -> None:
        """Count the rows of some nodes, each into its histogram."""
        from stakes.tree._count_kernels import count

        problem, order, n_features = self.problem, self.nodes.order, self.n_features
        jobs, pieces, n_rows = [], [], 0
        for node, own in counted:
            start, stop = self.nodes.table[node, [START, STOP]].tolist()
            n = max(1, min(MOST_PIECES, (stop - start) // PIECE))
            bounds = [start + (stop - start) * i // n for i in range(n + 1)]
            jobs.append((*bounds[:2], own))
            pieces += [(*part, own) for part in pairwise(bounds[1:])]
            n_rows += stop - start
        more = np.empty((len(pieces), self.hist.shape[1]))
        work = [(np.array(jobs), self.hist)]
        if pieces:
            work.append((np.array([(*p[:2], i) for i, p in enumerate(pieces)]), more))

        def run(some: np.ndarray, hist: np.ndarray, low: int, high: int, at: Any) -> None:
            count(problem, order, some, hist, low, high, at[0].room)

        n = self.threads.n_threads
        if not self.threads.pay(n_rows * n_features):
            for some, hist in work:
                run(some, hist, 0, n_features, self.threads.rooms[0])
        else:  # with few pieces, threads share the features of each
            n = 1 if len(jobs) + len(pieces) >= 2 * n else min(n, n_features)
            shares = [(n_features * i // n, n_features * (i + 1) // n) for i in range(n)]
            single = [(some[j : j + 1], hist) for some, hist in work for j in range(len(some))]
            self.threads.each([partial(run, *one, *share) for one in single for share in shares])
        for i, (_, _, own) in enumerate(pieces):
            self.hist[own] += more[i]
        if self.sums.shared:
            histograms = [own for _, own in counted]
            summed = self.hist[histograms]
            self.sums.total(summed)
            self.hist[histograms] = summed

    def _search(self, batch: list[Family]) -> np.ndarray:
        """Count some families where they need it; return their nodes, as `items` of `search` are."""
        counted: list[tuple[int, int]] = []
        larger: list[tuple[int, int]] = []
        items: list[tuple[int, int, int]] = []
        for members, histogram in batch:
            self.n_waiting -= histogram >= 0
            for place, node in enumerate(members):
                own = -1
                if place == 1 and histogram >= 0:
                    own = histogram
                    larger.append((own, items[-1][1]))
                elif self.keeps and (histogram >= 0 or self._rows_of(node) >= self.small):
                    own = self.free.pop()
                    counted.append((node, own))
                items.append((node, own, 0))
        if counted:
            self._count(counted)
        for own, sibling in larger:
            self.hist[own] -= self.hist[sibling]
        return np.array(items)

    def _rows_of(self, node: int) -> int:
        return int(self.nodes.table[node, N_ROWS])

    def _share(self, nodes: np.ndarray, run: Any) -> None:
        """Call ``run(first, stop, at)`` for parts of the nodes, in threads if that pays."""
        rows = np.cumsum(self.nodes.table[nodes, N_ROWS])
        most = len(self.threads.rooms[0][0].splits)
        if self.threads.pay(int(rows[-1]) * self.n_features):
            n = 4 * self.threads.n_threads
            bounds = np.searchsorted(rows, rows[-1] * np.arange(1, n) / n) + 1
            bounds = sorted({0, *bounds.tolist(), *range(0, len(nodes), most), len(nodes)})
            pairs = [(a, min(b, len(nodes))) for a, b in pairwise(bounds) if a < len(nodes)]
            self.threads.each([partial(run, *pair) for pair in pairs])
        else:
            for first in range(0, len(nodes), most):
                run(first, min(first + most, len(nodes)), self.threads.rooms[0])

    # -- all batches -----------------------------------------------------------------------------

    def grow(self) -> Grown:
        """Grow by whole batches, the last first; return the tree."""
        waiting = [Family((0,))] if self.rules.max_depth > 0 else []
        small: list[np.ndarray] = []
        if self._rows_of(0) < self.small:
            small = [np.zeros(1, np.int32)] if waiting else []
            waiting = []
        while waiting:
            items = self._search(self._take(waiting))
            nodes, owns, _ = items.T.tolist()
            self._make_room(2 * len(items))
            free = self.n_used
            self.n_used += 2 * len(items)

            self._share(items[:, 0], partial(self._split_some, items, free, small))
            for node, own in zip(nodes, owns):
                waiting += self._family_of(node, own)
        self._grow_small(small)
        listed = np.empty(self.n_used, np.int32)
        n_nodes = self.kernels.list_nodes(self.nodes.table, listed)
        return self._grown(listed[:n_nodes])

    def _grow_small(self, small: list[np.ndarray]) -> None:
        """Grow all small nodes to their ends."""
        nodes = np.sort(np.concatenate([*small, np.empty(0, np.int32)]))
        below = [self._most_below(node) for node in nodes.tolist()]
        self._make_room(sum(below))
        if len(nodes) < 2 or not self.threads.pay(sum(below) * self.n_features):
            self.n_used = self._finish(nodes, self.n_used, sum(below), self.threads.rooms[0])
            return
        free = self.n_used + np.cumsum([0, *below])
        self.n_used = int(free[-1])

        def run(first: int, stop: int, at: Any) -> None:
            self._finish(nodes[first:stop], int(free[first]), free[stop] - free[first], at)

        self._share(nodes, run)

    def _most_below(self, node: int) -> int:
        """Return how many nodes there may be below a node, if there is no limit to leaves."""
        depth = self.rules.max_depth - int(self.nodes.table[node, DEPTH])
        return min(2 * (self._rows_of(node) // self.rules.min_leaf), 2 << min(depth, 40))

    def _take(self, waiting: list[Family]) -> list[Family]:
        """Take the last families, as many as there are histograms for."""
        batch: list[Family] = []
        n_free = len(self.free)
        while waiting and len(batch) < self.at_once:
            n_free -= 1 if waiting[-1].histogram >= 0 else len(waiting[-1].members)
            if self.keeps and batch and n_free < 0:
                break
            batch.append(waiting.pop())
        return batch

    def _family_of(self, node: int, histogram: int) -> list[Family]:
        """Return the children of a node as a family, if there is one to be searched.

        The node's histogram is kept if the larger can take it over.
        """
        table, rules = self.nodes.table, self.rules
        fits = keeps = False
        if table[node, LEFT] >= 0:
            members = [int(table[node, LEFT]), int(table[node, RIGHT])]
            members.sort(key=self._rows_of)
            small, large = map(self._rows_of, members)
            fits = bool(table[node, DEPTH] + 1 < rules.max_depth) and large >= 2 * rules.min_leaf
            fits = fits and (large >= self.small or rules.best_first)
            keeps = fits and histogram >= 0 and self.n_waiting < self.most_waiting
            keeps = keeps and large >= self.small
        if histogram >= 0 and not keeps:
            self.free.append(histogram)
        if not fits:
            return []
        self.n_waiting += keeps
        if not keeps and small < 2 * rules.min_leaf:
            members = members[1:]
        return [Family(tuple(members), histogram if keeps else -1)]

    def grow_best_first(self, max_leaves: int) -> Grown:
        """Grow by the split that saves most, up to so many leaves; return the tree."""
        family = [Family((0,))] if self.rules.max_depth > 0 else []
        leaves: list[tuple[int, int]] = []
        for n_leaves in range(1, max_leaves):
            if family:
                leaves += self._candidates(family)
            if not leaves:
                break
            node, histogram = leaves.pop(self._best(leaves))
            self._make_room(2)
            given = self.kernels.PART, self.n_used, self.threads.rooms[0]
            self.n_used = self._split(*given, items=np.array([[node, -1, 0]]))[1]
            family = self._family_of(node, histogram) if n_leaves + 1 < max_leaves else []
        for node, _ in leaves:  # which might have been split
            self.nodes.table[node, :LEFT] = -1
            self.nodes.gains[node], self.nodes.sets[node] = 0.0, 0
        return self._grown(np.arange(self.n_used))

    def _candidates(self, family: list[Family]) -> list[tuple[int, int]]:
        """Return the nodes of a family that can be split, the larger first, and their histograms."""
        items = self._search(family)
        nodes, owns, _ = items.T.tolist()

        def judge(first: int, stop: int, at: Any) -> None:
            self._split(self.kernels.JUDGE, 0, at, items=items[first:stop])

        self._share(items[:, 0], judge)
        candidates = []
        for node, own in zip(nodes[::-1], owns[::-1]):
            splits = self.nodes.table[node, FEATURE] >= 0
            if own >= 0 and not (splits and len(self.free) >= 2):
                self.free.append(own)
                own = -1
            if splits:
                candidates.append((node, own))
        return candidates

    def _best(self, leaves: list[tuple[int, int]]) -> int:
        """Return which leaf's split saves most; ties as among features."""
        gains = self.nodes.gains[[node for node, _ in leaves]].tolist()
        tolerance, slack, best = self.rules.tolerance, self.kernels.SLACK, 0
        for i, (saved, kept) in enumerate(gains):
            most, norm = gains[best]
            if saved > most + tolerance or (saved >= most - tolerance and kept > norm * slack):
                best = i
        return best

    def _grown(self, entries: np.ndarray) -> Grown:
        """Return the nodes at some places of the tables as a tree."""
        table = self.nodes.table[entries]
        nodes, places = table[:, :N_COLUMNS].astype(np.int64), table[:, START : STOP + 1]
        nodes[:, UNUSED] = -1
        return Grown(
            nodes,
            self.nodes.gains[entries],
            self.nodes.sets[entries],
            np.ascontiguousarray(places),
            self.nodes.order,
        )
