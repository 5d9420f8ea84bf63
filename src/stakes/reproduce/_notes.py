"""One line on each figure that falls short of the published one, or is not comparable with it."""

import csv
from collections.abc import Iterable
from dataclasses import replace

from stakes.reproduce._published import read_lines
from stakes.reproduce._table import Cell

UNKNOWN = "Not known."


def with_notes(paper: str, cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells with what is known of those that fall short or cannot be compared.

    What cannot be compared is named in ``notes/<paper>.csv``, with the reason; of a figure that
    falls short for no known cause it is said that none is known.
    """
    notes = read_notes(paper)
    return [_with_note(cell, *notes.get(cell.key, ("", ""))) for cell in cells]


def _with_note(cell: Cell, verdict: str, note: str) -> Cell:
    if verdict and cell.verdict:
        return replace(cell, verdict=verdict, note=note)
    if cell.verdict == "short":
        return replace(cell, note=note or UNKNOWN)
    return replace(cell, note="")


def read_notes(paper: str) -> dict[tuple[str, str, str, str], tuple[str, str]]:
    """Return (table, task, method, metric) -> (verdict or "", note), from ``notes/<paper>.csv``."""
    return {
        (row["table"], row["task"], row["method"], row["metric"]): (row["verdict"], row["note"])
        for row in csv.DictReader(read_lines("notes", f"{paper}.csv"))
    }
