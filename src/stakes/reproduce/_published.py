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
    def key(self) -> tuple[str, str, str]:
        """Which figure of its paper it is."""
        return self.task, self.method, self.metric

    @property
    def number(self) -> float | None:
        """The value as a number; None where the cell is text, such as ``15-4-1``."""
        return as_number(self.value)

    @property
    def spread_number(self) -> float | None:
        """The printed spread as a number, or None."""
        return as_number(self.spread)


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
        name, _, table = entry.name.removesuffix(".csv").rpartition("_table")
        if name == paper:
            rows = csv.DictReader(read_lines("published", entry.name)[1:])  # after the caption
            tables[table] = [PublishedCell(paper, table, **row) for row in rows]
    return tables


def table_caption(paper: str, table: str) -> str:
    """Return what the file of a table says about it."""
    return read_lines("published", f"{paper}_table{table}.csv")[0].lstrip("# ")


def read_lines(*path: str) -> list[str]:
    """Return the lines of a file of this package; none where it is missing."""
    entry = files("stakes.reproduce").joinpath(*path)
    return entry.read_text().splitlines() if entry.is_file() else []


def as_number(text: str) -> float | None:
    """Return a printed figure as a number; None where it is none."""
    try:
        return float(text)
    except ValueError:
        return None
