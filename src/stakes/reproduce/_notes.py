"""One line on the cause of each figure that falls short of the published one."""

import csv
from importlib.resources import files


def read_notes(paper: str) -> dict[tuple[str, str, str, str], str]:
    """Return (table, task, method, metric) -> note, from ``notes/<paper>.csv``."""
    entry = files("stakes.reproduce").joinpath("notes", f"{paper}.csv")
    if not entry.is_file():
        return {}
    return {
        (row["table"], row["task"], row["method"], row["metric"]): row["note"]
        for row in csv.DictReader(entry.read_text().splitlines())
    }
