"""Stored rows become cells beside the paper's, with a verdict each."""

import csv
import io
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from typing import Any

import numpy as np

from stakes.reproduce._experiment import Experiment
from stakes.reproduce._published import PublishedCell, as_number, published_tables
from stakes.reproduce._verdict import VERDICTS, count_verdict, verdict


@dataclass(frozen=True)
class Cell:
    """One figure of ours, beside the published one where there is one."""

    paper: str
    table: str
    task: str
    method: str
    metric: str
    ours: float | str
    spread: float
    runs: int
    published: str = ""
    published_spread: str = ""
    verdict: str = ""
    note: str = ""

    @classmethod
    def beside(
        cls, printed: PublishedCell, ours: Any, verdict: str, *, spread: float = 0.0, runs: int = 1
    ) -> "Cell":
        """Set our figure beside a published one."""
        place = printed.paper, printed.table, *printed.key
        return cls(*place, ours, spread, runs, printed.value, printed.spread, verdict)

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Which cell of the paper it is."""
        return self.table, self.task, self.method, self.metric


# How a paper's printed spread becomes the standard error of its mean.
SPREAD_TO_ERROR = {
    "abe2004": 1.0,  # it prints standard errors
    "koco2013": 1.0 / math.sqrt(10),  # standard deviations; ten runs are the independent part
}


# Tables whose costs were drawn at random, and not for each run anew: see `choices.toml`.
DRAWN_ONCE = {("obrien2008", "2")}


def make_cells(experiment: Experiment, rows: Iterable[dict]) -> list[Cell]:
    """Return the cells of an experiment's tables from its stored rows.

    Parameters
    ----------
    experiment : Experiment
        Says which tables the rows answer.
    rows : iterable of dict
        As the store keeps them; failed rows are left out.
    """
    figures = collect(experiment, rows)
    published = published_tables(experiment.paper)
    printed = [cell for table in experiment.tables for cell in published[table]]
    cells = []
    for cell in printed:
        if cell.key in figures:
            mean, error, runs = figures[cell.key]
            said = judge(cell, mean, error, runs)
            cells.append(Cell.beside(cell, mean, said, spread=error, runs=runs))
    metrics = {cell.metric for cell in printed}
    ours = {name for name, method in experiment.methods.items() if method.ours}
    for (task, name, metric), figure in sorted(figures.items()):
        if name in ours and metric in metrics:
            place = experiment.paper, experiment.tables[0]
            cells.append(Cell(*place, task, name, metric, *figure))
    return cells


def judge(cell: PublishedCell, ours: Any, error: float, runs: int) -> str:
    """Return the verdict on our figure, its standard error over so many runs, beside a cell.

    Where costs were drawn once in the paper and in each run here, the runs tell how far one draw
    lies from the next: that is the error of the printed figure.

    Examples
    --------
    20 runs with a standard error of 2 differ by 2 sqrt(20) = 8.9, so 14 is not short of 25:

    >>> from stakes.reproduce._table import PublishedCell, judge
    >>> drawn, fixed = (
    ...     PublishedCell("obrien2008", table, "car/nb", "lf", "percent_improvement", "25", "")
    ...     for table in "21")
    >>> judge(drawn, 14.0, 2.0, 20), judge(fixed, 14.0, 2.0, 20)
    ('matched', 'short')
    """
    if cell.number is None:
        return count_verdict(ours, cell.value)
    printed: float | None = None
    if cell.spread_number is not None:
        printed = cell.spread_number * SPREAD_TO_ERROR[cell.paper]
    elif (cell.paper, cell.table) in DRAWN_ONCE and error > 0:
        printed = error * math.sqrt(runs)
    return verdict(
        cell.metric,
        ours,
        cell.number,
        standard_error=error,
        published_error=printed,
        rounding=half_unit(cell.value),
    )


def strict_verdict(cell: Cell) -> str:
    """Return the verdict by the errors that the paper prints alone, not ours, nor those of its draws.

    Examples
    --------
    The paper's 33.72 has a standard error of 4.29: 43.5 is further away than two of them, and its
    own standard error of 6.2 excuses it no longer.

    >>> from stakes.reproduce._table import Cell, strict_verdict
    >>> printed = "33.72", "4.29", "matched"
    >>> strict_verdict(Cell("abe2004", "2", "car", "gbse", "average_cost", 43.5, 6.2, 20, *printed))
    'short'
    """
    ours, published = as_number(str(cell.ours)), as_number(cell.published)
    if published is None or ours is None:
        return cell.verdict
    spread = as_number(cell.published_spread) if cell.published_spread else None
    return verdict(
        cell.metric,
        ours,
        published,
        standard_error=0.0 if spread is not None else cell.spread,
        published_error=None if spread is None else spread * SPREAD_TO_ERROR[cell.paper],
        rounding=half_unit(cell.published),
    )


def half_unit(printed: str) -> float:
    """Return half a unit of the last printed digit.

    Examples
    --------
    >>> from stakes.reproduce._table import half_unit
    >>> half_unit("0.984"), half_unit("12")
    (0.0005, 0.5)
    """
    return 0.5 * 10.0 ** -len(printed.partition(".")[2])


def collect(experiment: Experiment, rows: Iterable[dict]) -> dict:
    """Return (task, method, metric) -> (mean, standard error of the mean, runs)."""
    values: dict = defaultdict(lambda: defaultdict(list))
    for row in rows:
        task = experiment.name_of(row["task"])
        if row.get("status") != "ok" or row["protocol"] != experiment.edition(task):
            continue
        for metric in experiment.metrics:
            if row.get(metric) is not None:
                run = row["fold"] // experiment.folds
                values[task, row["method"], metric][run].append((row["fold"], row[metric]))
    per_run, per_fold = {}, {}
    for key, by_run in values.items():
        complete = [v for _, v in sorted(by_run.items()) if len(v) == experiment.folds]
        folds = np.array([[value for _, value in sorted(v)] for v in complete])
        if len(folds) and not np.isnan(folds).any():
            per_run[key], per_fold[key] = folds.mean(axis=1), folds.ravel()
    if experiment.summarize is not None:
        return experiment.summarize(per_run, per_fold)
    return plain_figures(per_run)


def plain_figures(per_run: dict) -> dict:
    """Return for each key the mean of the runs, its standard error (0 for one run), their number."""
    figures = {}
    for key, values in per_run.items():
        error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else 0.0
        figures[key] = float(values.mean()), float(error), len(values)
    return figures


def merge_cells(old: Iterable[Cell], new: Iterable[Cell]) -> tuple[list[Cell], list[Cell]]:
    """Return the new cells and the old ones beside them, and the old ones kept for their runs.

    Of two cells of one place that of more runs stays, the new one of as many.

    Examples
    --------
    >>> from stakes.reproduce._table import Cell, merge_cells
    >>> of = "abe2004", "2", "annealing"
    >>> old = [Cell(*of, name, "average_cost", 1.0, 0.1, runs=20) for name in ("iw", "gbse")]
    >>> new = [Cell(*of, "gbse", "average_cost", 9.0, 0.0, runs=1)]
    >>> cells, kept = merge_cells(old, new)
    >>> [(cell.method, cell.ours) for cell in cells], [cell.method for cell in kept]
    ([('iw', 1.0), ('gbse', 1.0)], ['gbse'])
    """
    merged = {cell.key: cell for cell in old}
    kept = []
    for cell in new:
        before = merged.get(cell.key, cell)
        if before.runs > cell.runs:
            kept.append(before)
        else:
            merged[cell.key] = cell
    return list(merged.values()), kept


def to_csv(cells: Iterable[Cell]) -> str:
    """Return the cells as the text of ``results/<paper>.csv``."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([field.name for field in fields(Cell)])
    for cell in cells:
        writer.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in astuple(cell)])
    return out.getvalue()


def read_cells(text: str) -> list[Cell]:
    """Return the cells of a results file."""
    cells = []
    for row in csv.DictReader(io.StringIO(text)):
        ours = as_number(row["ours"])
        changes: dict[str, Any] = {"spread": float(row["spread"]), "runs": int(row["runs"])}
        cells.append(Cell(**{**row, **changes, "ours": row["ours"] if ours is None else ours}))
    return cells


def summarize(cells: Iterable[Cell]) -> dict[str, dict[str, dict[str, int]]]:
    """Return, per paper and table, how many published cells are beaten, matched, short.

    Those that are not comparable are counted only where there are some.
    """
    summary: dict = {}
    for cell in cells:
        if cell.verdict:
            tables = summary.setdefault(cell.paper, {})
            count = tables.setdefault(cell.table, dict.fromkeys(VERDICTS, 0))
            count[cell.verdict] = count.get(cell.verdict, 0) + 1
    return summary
