"""What the terminal shows: progress, tables, short notes."""

import functools
import sys
import time
from collections.abc import Iterable
from typing import Any

from rich import progress
from rich.console import Console
from rich.table import Table


@functools.cache
def console() -> Console:
    """Return the terminal; what is piped stays plain and whole."""
    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def say(text: str) -> None:
    """Print a note on the standard error stream."""
    print(text, file=sys.stderr, flush=True)


def show(text: str, style: str | None = None) -> None:
    """Print a line of the result."""
    console().print(text, style=style, markup=False, soft_wrap=True)


def show_json(found: Any) -> None:
    """Print a result as JSON."""
    console().print_json(data=found, default=str)


def show_table(
    columns: Iterable[str],
    rows: Iterable[Iterable[str]],
    *,
    right: Iterable[str] = (),
    strong: Iterable[int] = (),
) -> None:
    """Print a table.

    Parameters
    ----------
    columns : iterable of str
        The header.
    rows : iterable of iterables of str
        The cells.
    right : iterable of str
        The columns of numbers: flush right, and never broken into lines.
    strong : iterable of int
        The rows to stress.
    """
    table = Table(box=None, show_edge=False, pad_edge=False, header_style="dim")
    right, strong = set(right), set(strong)
    for column in columns:
        justify: Any = "right" if column in right else "left"
        table.add_column(column, justify=justify, no_wrap=column in right)
    for i, cells in enumerate(rows):
        table.add_row(*cells, style="bold green" if i in strong else None)
    console().print(table, markup=False)


class Progress:
    """Progress of runs with the time left: a bar on a terminal, a few lines elsewhere."""

    _bar: Any = None
    _task: Any = None
    _said = 0.0
    _goes_on = False

    def __enter__(self) -> "Progress":
        if sys.stderr.isatty():
            self._bar = progress.Progress(
                progress.TextColumn("{task.description}"),
                progress.BarColumn(),
                progress.MofNCompleteColumn(),
                progress.TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.__enter__()
        return self

    def __exit__(self, *problem: Any) -> None:
        if self._bar is not None:
            self._bar.__exit__(*problem)

    def __call__(self, done: int, total: int, row: dict) -> None:
        """Take note of one finished run."""
        text = f"{row['method'].partition('=')[0]}, fold {row['fold'] + 1}"
        if row.get("stored") and not self._goes_on:
            self._goes_on = True
            say("Going on from finished fits.")
        if row["status"] != "ok":
            say(f"{text}: failed ({row['reason']})")
        if self._bar is not None:
            if self._task is None:
                self._task = self._bar.add_task("", total=total)
            self._bar.update(self._task, completed=done, description=f"{text:<22}")
        elif time.monotonic() - self._said > 10 or done == total:
            self._said = time.monotonic()
            say(f"{done}/{total} fits done ({text}).")
