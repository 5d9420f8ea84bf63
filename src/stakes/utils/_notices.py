"""What takes long, told while it happens to whoever asked."""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from stakes.utils._blas import process_kept

# Called when a kernel is not found in the cache and is compiled; by whoever shows progress.
on_compile: list[Callable[[], None]] = []


_told: list[bool] = []


def compiling() -> None:
    """Tell that something is compiled now: to who asked, or once to the terminal."""
    for tell in on_compile:
        tell()
    if not on_compile and not _told and sys.stderr is not None and sys.stderr.isatty():
        _told.append(True)
        print(
            "stakes compiles its kernels for this machine, once; this takes some seconds.",
            file=sys.stderr,
        )


class NotKeptWarning(RuntimeWarning):
    """Compiled code cannot be kept on disk; said once in a process."""


@contextmanager
def quiet() -> Iterator[None]:
    """Hide what the parts of a learner warn of, but not what is said once and would be lost."""
    with process_kept(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", NotKeptWarning)
        yield
