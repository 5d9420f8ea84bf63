"""What the terminal shows: progress, tables, short notes."""

import functools
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from rich import progress
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from stakes.cli._errors import printable
from stakes.cli._forecast import Forecast, in_words

QUIET = 30  # seconds after which something is said where there is no bar


@functools.cache
def console() -> Console:
    """Return the terminal; what is piped stays plain and whole."""
    width = None if sys.stdout.isatty() else 160
    return Console(width=width, highlight=False, markup=False, emoji=False)


def say(text: str) -> None:
    """Print a note on the standard error stream."""
    print(printable(text), file=sys.stderr, flush=True)


def show(text: str, style: str | None = None) -> None:
    """Print a line of the result."""
    console().print(printable(text), style=style, soft_wrap=True)


def show_json(content: Any) -> None:
    """Print a result as JSON."""
    console().print_json(data=content, default=str)


def show_table(
    columns: Iterable[str],
    rows: Iterable[Iterable[str]],
    *,
    right: Iterable[str] = (),
    spare: Iterable[str] = (),
    strong: Iterable[int] = (),
) -> None:
    """Print a table; its first column, of names to type, is never broken or cut.

    Parameters
    ----------
    columns : iterable of str
        The header.
    rows : iterable of iterables of str
        The cells.
    right : iterable of str
        The columns of numbers: flush right, and never broken into lines.
    spare : iterable of str
        The columns to leave out, first to last, until the table fits into the terminal.
    strong : iterable of int
        The rows to stress.
    """
    columns, right, strong = list(columns), set(right), set(strong)
    cells = [[printable(cell) for cell in row] for row in rows]
    kept = fitting(columns, cells, spare, console().width)
    table = Table(box=None, show_edge=False, pad_edge=False, header_style="dim")
    for i in kept:
        justify: Any = "right" if columns[i] in right else "left"
        table.add_column(columns[i], justify=justify, no_wrap=i == 0 or columns[i] in right)
    for number, row in enumerate(cells):
        style = "bold green" if number in strong else None
        table.add_row(*(row[i] for i in kept), style=style)
    console().print(table)


def fitting(
    columns: list[str], rows: list[list[str]], spare: Iterable[str], width: int
) -> list[int]:
    """Return which columns to show in so many letters, the spare ones left out as it needs.

    Examples
    --------
    >>> from stakes.cli._terminal import fitting
    >>> fitting(["name", "note", "cost"], [["mec", "a long text", "12"]], ["note"], 12)
    [0, 2]
    """
    widths = [max(map(cell_len, cells)) for cells in zip(columns, *rows)]
    kept = list(range(len(columns)))
    for name in spare:
        if sum(widths[i] + 2 for i in kept) - 2 <= width:
            break
        kept.remove(columns.index(name))
    return kept


class Progress:
    """Progress of runs: on a terminal a bar, what runs now and the time left; elsewhere lines.

    A comparison calls `watch` before its first run; where nobody does, as in `reproduce`, only
    ended runs are told.
    """

    _bar: Any = None
    _task: Any = None
    _board: Any = None
    _forecast: Forecast | None = None
    _said = 0.0
    _goes_on = False
    _compiled = False

    def __enter__(self) -> "Progress":
        if sys.stderr.isatty():
            self._bar = progress.Progress(
                progress.BarColumn(bar_width=20),
                progress.MofNCompleteColumn(),
                _Running(self.now),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.__enter__()
        return self

    def __exit__(self, *problem: Any) -> None:
        if self._bar is not None:
            self._bar.__exit__(*problem)

    def watch(self, board: Any, runs: Iterable[Any], workers: int) -> None:
        """Be told all runs before the first, and where to see what runs."""
        runs = list(runs)
        self._board, self._said = board, time.monotonic()
        self._forecast = Forecast([(run.method, run.fold) for run in runs], workers)
        if self._bar is not None:
            self._task = self._bar.add_task("", total=len(runs))

    def compiling(self) -> None:
        """Say once that something is compiled."""
        if not self._compiled:
            self._compiled = True
            say("Compiling the trees' inner loops, once: they are kept for the next time.")

    def now(self) -> str:
        """Return what runs and how long all of it still takes."""
        if self._forecast is None or self._board is None:
            return ""
        running = self._board.running()
        if any(what for *_, what in running):
            self.compiling()
        names = ", ".join(
            f"{_plain(method)}, fold {fold + 1}" + (f" ({what})" if what else "")
            for method, fold, _, what in running
        )
        left = in_words(*self._forecast.left(running))
        return f"{left}: {names}" if names else left

    def __call__(self, done: int, total: int, row: dict) -> None:
        """Take note of one ended run."""
        name, fold = _plain(row["method"]), row["fold"]
        if row.get("stored") and not self._goes_on:
            self._goes_on = True
            say("Going on from finished fits.")
        if self._forecast is not None:
            seconds = None if row.get("stored") else row.get("seconds_wall", 0.0)
            self._forecast.ended(row["method"], fold, seconds)
        if row["status"] != "ok":
            say(f"{name}, fold {fold + 1}: {row['reason']}")
        if self._bar is not None:
            if self._task is None:
                self._task = self._bar.add_task("", total=total)
            self._bar.update(self._task, completed=done, total=total)
        elif self._forecast is not None:
            if self._forecast.is_done(row["method"]) and not row.get("stored"):
                seconds = sum(self._forecast.seconds[row["method"]])
                self._say(f"{name}: done in {seconds:.1f} s ({done} of {total} fits).")
            elif time.monotonic() - self._said > QUIET:
                left = in_words(*self._forecast.left())
                self._say(f"{done} of {total} fits, the last {name}, fold {fold + 1}; {left}.")
        elif time.monotonic() - self._said > 10 or done == total:
            self._say(f"{done}/{total} fits done ({name}, fold {fold + 1}).")

    def _say(self, line: str) -> None:
        self._said = time.monotonic()
        say(line)


class _Running(progress.ProgressColumn):
    """What runs now, in the words of a function."""

    def __init__(self, words: Callable[[], str]):
        super().__init__()
        self.words = words

    def render(self, task: Any) -> Text:
        return Text(printable(self.words()), overflow="ellipsis", no_wrap=True)


def _plain(method: str) -> str:
    """Return a method's name as users know it, without what tells stored fits apart."""
    return method.partition("=")[0]
