"""One line on the cause of each figure that falls short of the published one."""

import csv
from collections.abc import Iterable
from dataclasses import replace

from stakes.reproduce._published import read_lines
from stakes.reproduce._table import Cell


def with_notes(paper: str, cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells, those that fall short with the line on their cause where there is one."""
    notes = read_notes(paper)
    return [replace(c, note=notes.get(c.key, "")) if c.verdict == "short" else c for c in cells]


def read_notes(paper: str) -> dict[tuple[str, str, str, str], str]:
    """Return (table, task, method, metric) -> note, from ``notes/<paper>.csv``."""
    return {
        (row["table"], row["task"], row["method"], row["metric"]): row["note"]
        for row in csv.DictReader(read_lines("notes", f"{paper}.csv"))
    }
