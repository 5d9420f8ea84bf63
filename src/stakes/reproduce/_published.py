"""The papers' own figures, as they printed them: one file per table."""

import csv
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class PublishedCell:
    """One figure of a published table."""

    paper: str
    table: str
    task: str
    method: str
    metric: str
    value: str
    spread: str

    @property
    def number(self) -> float | None:
        """The value as a number; None where the cell is text, such as ``15-4-1``."""
        return _number(self.value)

    @property
    def spread_number(self) -> float | None:
        """The printed spread as a number, or None."""
        return _number(self.spread)


def published_tables(paper: str) -> dict[str, list[PublishedCell]]:
    """Return the published tables of a paper: table number -> cells.

    Examples
    --------
    >>> from stakes.reproduce._published import published_tables
    >>> cells = published_tables("abe2004")["2"]
    >>> [c.value for c in cells if c.task == "annealing" and c.method == "gbse"]
    ['33.72']
    """
    tables = {}
    folder = files("stakes.reproduce").joinpath("published")
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        stem, _, ending = entry.name.rpartition(".")
        name, _, table = stem.rpartition("_table")
        if ending != "csv" or name != paper:
            continue
        lines = [line for line in entry.read_text().splitlines() if not line.startswith("#")]
        tables[table] = [PublishedCell(paper, table, **row) for row in csv.DictReader(lines)]
    return tables


def table_caption(paper: str, table: str) -> str:
    """Return what the file of a table says about it."""
    entry = files("stakes.reproduce").joinpath("published", f"{paper}_table{table}.csv")
    return entry.read_text().splitlines()[0].lstrip("# ")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
