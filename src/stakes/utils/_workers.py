"""Processes that work for another one."""

import os
import threading
import time
from collections.abc import Callable
from typing import Any

_EVERY_SECOND = 1.0
_watching: set[int] = set()


class Attached:
    """A function for workers, which end soon after the process that gave it to them.

    A process that is killed cannot end its workers: they would wait for work and keep their memory.

    Parameters
    ----------
    function : callable
        What the workers do. In this process, and in one that this process did not start, it is
        just called.
    """

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.parent = os.getpid()

    def __call__(self, *args: Any, **params: Any) -> Any:
        """Call the function."""
        _end_with(self.parent)
        return self.function(*args, **params)


def _end_with(parent: int) -> None:
    if os.getppid() != parent or os.getpid() in _watching:
        return
    _watching.add(os.getpid())
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_EVERY_SECOND)
    os._exit(1)
