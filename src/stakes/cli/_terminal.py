"""What the terminal shows: progress, the table, short notes."""

import functools
import sys
import time
from typing import Any


@functools.cache
def console() -> Any:
    """Return the terminal; what is piped stays plain and whole."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def say(text: str) -> None:
    """Print a note on the standard error stream."""
    print(text, file=sys.stderr, flush=True)


class Progress:
    """Progress of runs with the time left: a bar on a terminal, a few lines elsewhere."""

    def __init__(self):
        self._bar = None
        self._task = None
        self._said = 0.0
        self._stored = 0

    def __enter__(self):
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as Bar

        if sys.stderr.isatty():
            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.__enter__()
        return self

    def __exit__(self, *problem):
        if self._bar is not None:
            self._bar.__exit__(*problem)

    def __call__(self, done: int, total: int, row: dict) -> None:
        """Take note of one finished run."""
        name = row["method"].partition("=")[0]
        if row.get("stored"):
            self._stored += 1
            if self._stored == 1:
                say("Going on from finished fits.")
        if row["status"] != "ok":
            say(f"{name}, fold {row['fold'] + 1}: failed ({row['reason']})")
        if self._bar is not None:
            if self._task is None:
                self._task = self._bar.add_task("", total=total)
            text = f"{name}, fold {row['fold'] + 1}"
            self._bar.update(self._task, completed=done, description=f"{text:<22}")
        elif time.monotonic() - self._said > 10 or done == total:
            self._said = time.monotonic()
            say(f"{done}/{total} fits done ({name}, fold {row['fold'] + 1}).")


def print_comparison(comparison: Any) -> None:
    """Print the table of a comparison, and what to use."""
    from rich.table import Table

    from stakes.compare.words import COLUMNS, table_cells

    table = Table(show_edge=False, pad_edge=False, box=None, header_style="dim")
    for i, column in enumerate(COLUMNS):
        table.add_column(column, justify="left" if i == 0 else "right", no_wrap=i != 0)
    failed = []
    for name, cells in table_cells(comparison):
        result = comparison.results[name]
        if result.status != "ok":
            failed.append(f"{name}: {result.status} ({result.reason})")
            continue
        style = "bold green" if name == comparison.recommended and comparison.clear else None
        table.add_row(f"{cells[0]} ({name})", *cells[1:], style=style)
    out = console()
    out.print(table)
    for line in failed:
        out.print(line, style="dim", markup=False, soft_wrap=True)
    out.print()
    out.print(comparison.reason, style="bold", markup=False, soft_wrap=True)
    if comparison.as_good:
        names = ", ".join(comparison.as_good)
        out.print(f"Not clearly dearer: {names}.", markup=False, soft_wrap=True)
