"""Threads: how many are used, and work on rows that they share."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from joblib import cpu_count, effective_n_jobs

# One tree at a time may use several threads: not every threading layer of Numba takes two.
_threads_free = threading.Lock()
_forked = False


def _after_fork() -> None:
    global _forked, _threads_free
    _forked, _threads_free = True, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


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
    return max(1, min(effective_n_jobs(n_jobs), cpu_count()))


@contextmanager
def several_threads(n_threads: int) -> Iterator[int]:
    """Yield the number of threads that may be used, and set Numba to it meanwhile."""
    if n_threads == 1 or _forked or not _threads_free.acquire(blocking=False):
        yield 1
        return
    import numba

    most = int(getattr(numba.config, "NUMBA_NUM_THREADS"))  # noqa: B009  # set when it is imported
    wanted = max(1, min(n_threads, most))
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(wanted)
        yield wanted
    finally:
        numba.set_num_threads(before)
        _threads_free.release()


def for_each_chunk(
    run: Callable[[int, int], object], n_samples: int, n_threads: int, chunk: int
) -> None:
    """Call ``run(first, stop)`` for each chunk of rows, in threads if there are several."""
    chunks = [(first, min(first + chunk, n_samples)) for first in range(0, n_samples, chunk)]
    if n_threads == 1 or len(chunks) < 2:
        for first, stop in chunks:
            run(first, stop)
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(run, *zip(*chunks)))
