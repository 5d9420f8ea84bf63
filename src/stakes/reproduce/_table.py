"""Stored rows become cells beside the paper's, with a verdict each."""

import csv
import io
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np

from stakes.reproduce._experiment import Experiment
from stakes.reproduce._published import published_tables
from stakes.reproduce._verdict import count_verdict, verdict


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

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Which cell of the paper it is."""
        return self.table, self.task, self.method, self.metric


# How a paper's printed spread becomes the standard error of its mean.
SPREAD_TO_ERROR = {
    "abe2004": 1.0,  # it prints standard errors
    "koco2013": 1.0 / math.sqrt(10),  # standard deviations; ten runs are the independent part
}


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
    cells = []
    for table in experiment.tables:
        for cell in published[table]:
            key = (cell.task, cell.method, cell.metric)
            if key not in figures:
                continue
            mean, error, runs = figures[key]
            printed = cell.spread_number
            if cell.number is None:
                said = count_verdict(mean, cell.value)
            else:
                said = verdict(
                    cell.metric,
                    mean,
                    cell.number,
                    standard_error=error,
                    published_error=None
                    if printed is None
                    else printed * SPREAD_TO_ERROR[experiment.paper],
                    rounding=half_unit(cell.value),
                )
            cells.append(
                Cell(
                    experiment.paper,
                    table,
                    *key,
                    mean,
                    error,
                    runs,
                    cell.value,
                    cell.spread,
                    said,
                )
            )
    extra_metrics = {c.metric for table in experiment.tables for c in published[table]}
    for key, (mean, error, runs) in sorted(figures.items()):
        task, method, metric = key
        ours = method in experiment.methods and experiment.methods[method].ours
        if ours and metric in extra_metrics:
            first = experiment.tables[0]
            cells.append(Cell(experiment.paper, first, task, method, metric, mean, error, runs))
    return cells


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
        if row.get("status") != "ok" or row["protocol"] != experiment.protocol:
            continue
        task = row["task"].removeprefix(f"{experiment.paper}/")
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
    """Return the mean of the runs, its standard error and their number for each key."""
    return {key: (*mean_and_error(v), len(v)) for key, v in per_run.items()}


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Return the mean of the runs and its standard error (0 for a single run)."""
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return float(values.mean()), float(error)


def to_csv(cells: Iterable[Cell]) -> str:
    """Return the cells as the text of ``results/<paper>.csv``."""
    out = io.StringIO()
    names = [field.name for field in fields(Cell)]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for cell in cells:
        record = [getattr(cell, name) for name in names]
        writer.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in record])
    return out.getvalue()


def read_cells(text: str) -> list[Cell]:
    """Return the cells of a results file."""
    cells = []
    for row in csv.DictReader(io.StringIO(text)):
        numbers = {"ours": _number_or_text(row["ours"]), "spread": float(row["spread"])}
        cells.append(Cell(**{**row, **numbers, "runs": int(row["runs"])}))  # type: ignore[arg-type]
    return cells


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def summarize(cells: Iterable[Cell]) -> dict:
    """Return, per paper and table, how many published cells are beaten, matched, short."""
    summary: dict = {}
    for cell in cells:
        if not cell.verdict:
            continue
        table = summary.setdefault(cell.paper, {}).setdefault(
            cell.table, {"beaten": 0, "matched": 0, "short": 0}
        )
        table[cell.verdict] += 1
    return summary
