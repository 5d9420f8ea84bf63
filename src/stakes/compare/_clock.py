"""Time: how a limit is shared among folds and methods, how a fit is stopped, what runs now."""

import json
import math
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stakes._methods import Method
from stakes.compare.runner import Run

# What is left out has a reason that begins so.
OUT_OF_TIME = "no time left"
# Of the limit, what is planned for fits: the rest is for what runs late.
PLANNED = 0.85
# Of a fold's time, what is kept for methods that use the time they are given, beside many others.
KEPT = 1 / 3
# The least that such a method is given, in seconds.
LEAST = 0.5


class OutOfTime(BaseException):
    """Raised in the midst of a fit: nothing but its caller may take it for a failure."""


class LeftOut(ValueError):
    """Why a run was not begun, or not ended."""


def call_until(moment: float, function: Callable[[], Any]) -> Any:
    """Call a function, and raise `OutOfTime` in it when the time comes.

    It needs a signal, so that it works in a main thread, where the system has such signals and
    nothing else uses this one; elsewhere a fit that was begun is ended.
    """
    able = (
        math.isfinite(moment)
        and hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getitimer(signal.ITIMER_REAL)[0] == 0
    )
    if not able:
        return function()

    runs = True

    def stop(*_: Any) -> None:
        if runs:
            raise OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    # Again and again: what is raised in a callback of foreign code gets lost there.
    signal.setitimer(signal.ITIMER_REAL, max(moment - time.monotonic(), 0.001), 0.5)
    try:
        try:
            return function()
        finally:
            runs = False
    finally:  # however late the signal came
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass
class Clock:
    """A time limit, shared alike among folds; the first fold shows which methods it suffices for.

    Parameters
    ----------
    limit : float
        Seconds.
    n_folds : int
        The number of folds.
    methods : dict of str to Method
        By the name under which runs are stored.
    baseline : str
        The method to compare with, which is always run to its end, as the references are.
    kept : tuple of str, default=()
        Other methods that are always run to their end.
    """

    limit: float
    n_folds: int
    methods: dict[str, Method]
    baseline: str
    kept: tuple[str, ...] = ()
    start: float = field(default_factory=time.monotonic)
    spent: dict[str, float] | None = field(default_factory=dict)
    expected: dict[str, float] = field(default_factory=dict)

    def __getstate__(self) -> dict:
        return {**self.__dict__, "spent": None}

    @property
    def share(self) -> float:
        """The seconds of one fold."""
        return PLANNED * self.limit / self.n_folds

    @property
    def folds_planned(self) -> int:
        """The number of folds in which the methods that must be run leave half of the time."""
        spent = self.spent or {}
        must = sum(s for name, s in spent.items() if self.must(self.methods[name]))
        fitting = 0.5 * PLANNED * self.limit / must if must > 0 else math.inf
        return int(min(max(fitting, 1), self.n_folds))

    @property
    def granted(self) -> float:
        """The seconds of each fit of a method that uses what it is given.

        One digit that counts: fits are stored under it, and the next command finds them.
        """
        others = sum(not (m.keeps_time or m.reference) for m in self.methods.values())
        return float(f"{0.8 * self.share * max(KEPT, 0.9 / (1 + others)):.1g}")

    def must(self, method: Method) -> bool:
        """Whether the comparison is no answer without the method."""
        return method.reference or method.name in (self.baseline, *self.kept)

    def begin(self, run: Run) -> float:
        """Return until when a run may take, or refuse it."""
        method, now = self.methods[run.method], time.monotonic()
        if self.must(method):
            return math.inf
        end = self.start + self.limit
        if run.fold == 0:
            return self._begin_first(method, now)
        if now + self.expected.get(run.method, 0.0) > end:
            raise LeftOut(f"{OUT_OF_TIME} for fold {run.fold + 1} of {self.n_folds}")
        return end + 0.1 * self.limit

    def _begin_first(self, method: Method, now: float) -> float:
        """Give a method at most half of the time that is left for one more method, by fold.

        What is left is without the next folds of the methods that have done the first.
        """
        n = self.folds_planned
        if self.spent is None:  # a worker knows its own runs alone
            left = n * (self.start + self.share - now)
        else:
            left = self.start + PLANNED * self.limit - now - (n - 1) * sum(self.spent.values())
        if method.keeps_time:
            if self.granted < LEAST or left < n * self.granted:
                raise LeftOut(f"{OUT_OF_TIME}: {max(left, 0) / n:.1g} s for each of its fits")
            return now + 1.2 * left / n
        if any(m.keeps_time for m in self.methods.values()):
            left -= n * self.granted
        if left <= 0:
            raise LeftOut(f"{OUT_OF_TIME}: the fits may take {self.limit:.3g} s in all")
        return now + left / (2 * n)

    def ended(self, run: Run, seconds: float) -> None:
        """Take note of what a run took."""
        if self.spent is not None and run.fold == 0:
            self.spent[run.method] = seconds

    def after_first(self, rows: list[dict]) -> tuple[set[str], int]:
        """Return the methods that go on after the first fold, and how many folds there is time for."""
        self.expected = {row["method"]: row.get("seconds_wall", 0.0) for row in rows}
        done = {row["method"] for row in rows if row["status"] == "ok"}
        left = self.limit - (time.monotonic() - self.start)
        pace = sum(self.expected[name] for name in done)  # of one fold, one fit after the other
        more = left / pace if pace > 0 else math.inf
        return done, int(min(max(1 + more, 1), self.folds_planned))


@dataclass
class Board:
    """A folder in which every worker says what it does, for whoever shows progress."""

    folder: Path
    on_compile: Callable[[], None] | None = None

    def __getstate__(self) -> dict:
        return {"folder": self.folder, "on_compile": None}

    def begin(self, run: Run, what: str = "") -> None:
        """Say what this process does now."""
        text = json.dumps([run.method, run.fold, time.time(), what])
        (self.folder / str(os.getpid())).write_text(text)

    def end(self) -> None:
        """Say that this process does nothing now."""
        (self.folder / str(os.getpid())).unlink(missing_ok=True)

    def running(self) -> list[tuple[str, int, float, str]]:
        """Return the method, the fold and since when, of each process; and what else it says."""
        seen = []
        for file in sorted(self.folder.glob("*")):
            try:
                seen.append(tuple(json.loads(file.read_text())))
            except (OSError, ValueError):
                continue
        return seen
