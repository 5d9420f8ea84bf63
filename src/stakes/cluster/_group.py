"""The sum over workers: three functions, behind which is XGBoost's collective.

`start_tracker` (and `stop_tracker`) run where workers can reach it, `Group.total` and
`Group.greatest` in the workers. The collective is documented as experimental: nothing else of
this library knows it.
"""

import asyncio
import atexit
import ctypes
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import numpy as np

from stakes.utils._sums import Sums

# Seconds without an answer of another worker after which a sum is given up.
PATIENCE = 600
# Seconds that a tracker is given to start.
START = 60

# The processes of trackers: those of fits, and the one that waits for the next.
_trackers: dict[str, Any] = {}
_idle: list[Any] = []
# Fits that were interrupted: their tasks end at the next sum.
_stopped: set[str] = set()


class FitInterrupted(RuntimeError):
    """The client gave up the fit."""


async def start_tracker(name: str, n_workers: int, host: str) -> dict[str, Any]:
    """Start what brings workers together; return what they have to know."""
    asked = json.dumps({"n_workers": n_workers, "host_ip": host})
    while True:
        fresh = not _idle
        process = _start_process() if fresh else _idle.pop()
        try:
            told = await asyncio.wait_for(asyncio.to_thread(_ask, process, asked), START)
        except (OSError, ValueError, TimeoutError) as error:
            _end(process)
            if fresh:
                raise RuntimeError(
                    "XGBoost's tracker, which brings the workers together, did not start on the "
                    "machine of the Dask scheduler: see the scheduler's log."
                ) from error
        else:
            _trackers[name] = process
            return told


def _start_process() -> Any:
    path = Path(__file__).with_name("_tracker.py")
    return subprocess.Popen(
        [sys.executable, "-P", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _ask(process: Any, asked: str) -> Any:
    print(asked, file=process.stdin, flush=True)
    return json.loads(process.stdout.readline())


async def stop_tracker(name: str, broken: bool) -> None:
    """Keep the tracker of a fit for the next one, or end it: who waits for it then gives up."""
    process = _trackers.pop(name, None)
    if process is not None and broken:
        _end(process)
    elif process is not None:
        _idle.append(process)


def _end(process: Any) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with suppress(BrokenPipeError):  # of what it was asked and did not read
            pipe.close()


@atexit.register
def _end_all() -> None:
    for process in [*_trackers.values(), *_idle]:
        _end(process)


@ctypes.CFUNCTYPE(None, ctypes.c_char_p)
def _listen(message: bytes) -> None:
    """Pass on what XGBoost says, but not who has come to which rank."""
    text = message.decode(errors="replace")
    if "got rank" not in text:
        print(text, file=sys.stderr)


def _hush() -> None:
    """Let XGBoost speak to `_listen` in this thread; each thread has a listener of its own."""
    from xgboost.libpath import find_lib_path

    ctypes.CDLL(find_lib_path()[0]).XGBRegisterLogCallback(_listen)


def stop_fit(name: str) -> None:
    """Let the tasks of a fit on this worker end at their next sum."""
    _stopped.add(name)


def worker_folder() -> str | None:
    """Return the folder for files of this worker, which are gone when it is; None: the system's."""
    from distributed import get_worker

    try:
        return get_worker().local_directory
    except ValueError:  # in a thread that is none of its tasks
        return None


class Group(Sums):
    """Sums over the workers that learn together; one of them needs no other.

    Parameters
    ----------
    name : str
        Of the fit.
    rank, size : int
        Which of the workers this is, of how many.
    address : dict or None
        What `start_tracker` returned.

    Attributes
    ----------
    n_messages : Counter
        Sums taken, by the size of the array.
    n_threads, memory : int
        Those of the worker; the memory in bytes, 0: as many as there are.
    folder : str
        For files of the worker, which are gone when it is.
    waiting : bool
        Whether it is in the collective, where it may wait for others.
    """

    shared = True

    def __init__(self, name: str, rank: int, size: int, address: dict[str, Any] | None):
        self.name, self.rank, self.size, self.address = name, rank, size, address
        self.n_messages = Counter[int]()
        self.n_threads, self.memory, self.folder = 1, 0, ""
        self.waiting = False

    def memory_held(self) -> int:
        """Return how many bytes this process holds, without what it has freed."""
        import psutil

        with suppress(OSError, AttributeError):  # glibc keeps what is freed between other things
            ctypes.CDLL(None).malloc_trim(0)
        return psutil.Process().memory_info().rss

    @property
    def stopped(self) -> bool:
        """Whether the fit was given up."""
        return self.name in _stopped

    def check(self) -> None:
        """Raise where the fit was given up."""
        if self.stopped:
            raise FitInterrupted("The fit was given up.")

    @contextmanager
    def collective(self) -> Iterator[Any]:
        """Let the collective be used, and note that it is."""
        from xgboost import collective

        self.waiting = True
        try:
            yield collective
        finally:
            self.waiting = False

    def __enter__(self) -> Self:
        self.check()
        if self.size > 1:
            task = f"{self.rank:08d}"
            with self.collective() as collective:
                _hush()
                collective.init(**(self.address or {}), dmlc_task_id=task, dmlc_timeout=PATIENCE)
        return self

    def __exit__(self, *error: Any) -> None:
        if self.size > 1:
            with self.collective() as collective:
                collective.finalize()

    def total(self, array: np.ndarray) -> None:
        """Replace the numbers of an array by their sums over all workers."""
        self._reduce(array, "SUM")

    def greatest(self, array: np.ndarray) -> None:
        """Replace the numbers of an array by the greatest of all workers."""
        self._reduce(array, "MAX")

    def _reduce(self, array: np.ndarray, how: str) -> None:
        self.check()
        self.n_messages[array.size] += 1
        if self.size > 1:
            with self.collective() as collective:
                sums = collective.allreduce(array, collective.Op[how])
                array[...] = sums.reshape(array.shape)
