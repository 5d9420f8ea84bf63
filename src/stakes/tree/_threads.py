"""Threads: how many are used, and work on rows that they share."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from joblib import cpu_count, effective_n_jobs

# Rows for which starting a thread pays, and additions to histograms: a thread is woken for each
# batch, which takes as long as some ten thousand of them, and much longer on a busy machine.
SHARE, PARALLEL_WORK = 50_000, 350_000
# Times that chunks of rows are handed to a thread, so that one that is held up gets fewer.
HANDED = 8


def resolve_threads(n_jobs: int | None) -> int:
    """Return the number of threads: None is 1, or what joblib's context says; -1 is all.

    Examples
    --------
    >>> from stakes.tree._threads import resolve_threads
    >>> resolve_threads(None), resolve_threads(1)
    (1, 1)
    """
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning: use 1, or -1 for all threads.")
    wanted = effective_n_jobs(n_jobs)  # the number of cores is read from files each time
    return 1 if wanted == 1 else max(1, min(wanted, cpu_count()))


class Threads:
    """Threads that share tasks again and again, each with room of its own.

    They are started where they are first needed.

    Parameters
    ----------
    n_threads : int
        How many, the calling one included.
    room : Any
        The room of the calling thread.
    make_room : callable
        Returns the room of another one.
    """

    def __init__(self, n_threads: int, room: Any, make_room: Callable[[], Any]):
        self.n_threads, self.make_room = n_threads, make_room
        self.rooms = [room]
        self.pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> "Threads":
        return self

    def __exit__(self, *_: Any) -> None:
        if self.pool is not None:
            self.pool.shutdown()

    def pay(self, work: int) -> bool:
        """Say whether so many additions are worth a second thread."""
        return self.n_threads > 1 and work >= PARALLEL_WORK

    def each(self, tasks: list[Callable[[Any], object]]) -> None:
        """Call every task with the room of the thread that takes it."""
        if self.pool is None:
            self.pool = ThreadPoolExecutor(self.n_threads - 1)
            self.rooms += [self.make_room() for _ in range(self.n_threads - 1)]
        waiting = iter(tasks)

        def work(room: Any) -> None:
            for task in waiting:
                task(room)

        others = [self.pool.submit(work, room) for room in self.rooms[1 : len(tasks)]]
        work(self.rooms[0])
        for other in others:
            other.result()


def for_each_share(run: Callable[[int, int], object], work: np.ndarray, n_threads: int) -> None:
    """Call ``run(first, stop)`` for shares of items that are about equal in the items' `work`."""
    done = np.cumsum(work)
    n_shares = min(n_threads, 1 + int(done[-1]) // SHARE)
    bounds = np.searchsorted(done, done[-1] * np.arange(1, n_shares) / n_shares)
    bounds = [0, *bounds.tolist(), len(work)]
    with ThreadPoolExecutor(n_shares) as pool:
        list(pool.map(run, bounds[:-1], bounds[1:]))


def for_each_chunk(
    run: Callable[[int, int], object], n_samples: int, n_threads: int, chunk: int
) -> None:
    """Call ``run(first, stop)`` for each chunk of rows, in threads if there are several."""
    chunks = [(first, min(first + chunk, n_samples)) for first in range(0, n_samples, chunk)]
    if n_threads == 1 or len(chunks) < 2:
        for first, stop in chunks:
            run(first, stop)
    else:  # several at a time: to hand one over takes as long as some thousand rows

        def run_some(some: list[tuple[int, int]]) -> None:
            for first, stop in some:
                run(first, stop)

        at_once = -(-len(chunks) // (HANDED * n_threads))
        with ThreadPoolExecutor(n_threads) as pool:
            handed = range(0, len(chunks), at_once)
            list(pool.map(run_some, [chunks[first : first + at_once] for first in handed]))
