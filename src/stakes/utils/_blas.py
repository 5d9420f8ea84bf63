"""What belongs to the whole process: threads of linear algebra, and which warnings are shown."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _libraries() -> list[Any]:
    """Return NumPy's and SciPy's libraries, which are looked for once: that takes milliseconds."""
    import scipy.linalg  # noqa: F401  has a library of its own

    libraries = ThreadpoolController().lib_controllers
    return [library for library in libraries if library.user_api == "blas"]


class _Keeper:
    """The first thread that comes notes how the process was, the last that goes sees to it.

    `warnings.catch_warnings`, which pandas and scikit-learn enter in nearly every call, and limits on
    threads put back what was there when they were entered. Where two threads overlap that may be
    what the other has changed, and it stays so.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = self.limiting = self.first = 0
        self.overlapped = False
        self.noted: tuple[list[int], Any, list, Any]

    def enter(self, *, limit: bool) -> None:
        with self.lock:
            if not self.inside:
                threads = [library.num_threads for library in _libraries()]
                self.noted = (
                    threads,
                    warnings.filters,
                    list(warnings.filters),
                    warnings.showwarning,
                )
                self.first, self.overlapped = threading.get_ident(), False
            self.overlapped |= threading.get_ident() != self.first
            self.inside += 1
            self.limiting += limit
            if limit and self.limiting == 1:
                _set_threads([1] * len(self.noted[0]))

    def leave(self, *, limit: bool) -> None:
        with self.lock:
            self.inside -= 1
            self.limiting -= limit
            threads, filters, content, show = self.noted
            last = self.overlapped and not self.inside
            if last or (limit and not self.limiting):
                _set_threads(threads)
            if last:
                filters[:] = content
                warnings.filters, warnings.showwarning = filters, show
                with (
                    warnings.catch_warnings()
                ):  # Python then forgets what it knew by other filters
                    pass


def _set_threads(numbers: list[int]) -> None:
    """Set how many threads each library uses, whichever thread did so before.

    threadpoolctl from 3.8 on heeds one thread alone until that one releases OpenBLAS.
    """
    for library, number in zip(_libraries(), numbers):
        release = getattr(library, "clear_controlling_thread", lambda force: None)
        release(force=True)
        library.set_num_threads(number)
        release(force=True)


_keeper = _Keeper()


@contextmanager
def process_kept() -> Iterator[None]:
    """Leave the process as it was, once the last of the threads inside is done.

    A thread on its own changes nothing here: what it enters it also leaves.

    Examples
    --------
    >>> from stakes.utils._blas import process_kept
    >>> with process_kept():
    ...     1 + 1
    2
    """
    _keeper.enter(limit=False)
    try:
        yield
    finally:
        _keeper.leave(limit=False)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Use one thread for linear algebra, while any thread is inside.

    On small matrices two wait for each other longer than they work, most of all on a busy
    machine; and sums of several threads may differ in the last digit with their number.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.utils._blas import one_blas_thread
    >>> with one_blas_thread():
    ...     float(np.ones(3) @ np.ones(3))
    3.0
    """
    _keeper.enter(limit=True)
    try:
        yield
    finally:
        _keeper.leave(limit=True)
