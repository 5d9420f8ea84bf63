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
from stakes.reproduce._verdict import verdict


@dataclass(frozen=True)
class Cell:
    """One figure of ours, beside the published one where there is one."""

    paper: str
    table: str
    task: str
    method: str
    metric: str
    ours: float
    spread: float
    runs: int
    published: str = ""
    published_spread: str = ""
    verdict: str = ""
    note: str = ""


# How a paper's printed spread becomes the standard error of its mean.
SPREAD_TO_ERROR = {
    "abe2004": 1.0,  # it prints standard errors
    "koco2013": 1.0 / math.sqrt(10),  # standard deviations; ten runs are the independent part
}


def make_cells(experiment: Experiment, rows: Iterable[dict], notes: dict | None = None):
    """Return the cells of an experiment's tables from its stored rows.

    Parameters
    ----------
    experiment : Experiment
        Says which tables the rows answer.
    rows : iterable of dict
        As the store keeps them; failed rows are left out.
    notes : dict, default=None
        (table, task, method, metric) -> one line on the cause of a difference.
    """
    figures = collect(experiment, rows)
    published = published_tables(experiment.paper)
    cells, seen = [], set()
    for table in experiment.tables:
        for cell in published[table]:
            key = (cell.task, cell.method, cell.metric)
            if cell.number is None or key not in figures:
                continue
            seen.add(key)
            mean, error, runs = figures[key]
            printed = cell.spread_number
            said = verdict(
                cell.metric,
                mean,
                cell.number,
                standard_error=error,
                published_error=None
                if printed is None
                else printed * SPREAD_TO_ERROR[experiment.paper],
            )
            note = (notes or {}).get((table, *key), "")
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
                    note,
                )
            )
    extra_metrics = {c.metric for table in experiment.tables for c in published[table]}
    for key, (mean, error, runs) in sorted(figures.items()):
        task, method, metric = key
        ours = method in experiment.methods and experiment.methods[method].ours
        if ours and metric in extra_metrics and not math.isnan(mean):
            first = experiment.tables[0]
            cells.append(Cell(experiment.paper, first, task, method, metric, mean, error, runs))
    return cells


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
                values[task, row["method"], metric][run].append(row[metric])
    per_run = {}
    for key, by_run in values.items():
        complete = [np.mean(v) for _, v in sorted(by_run.items()) if len(v) == experiment.folds]
        if complete and not np.isnan(complete).any():
            per_run[key] = np.array(complete)
    if experiment.paper == "obrien2008":
        return improvements(per_run)
    return {key: (*mean_and_error(v), len(v)) for key, v in per_run.items()}


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Return the mean of the runs and its standard error (0 for a single run)."""
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return float(values.mean()), float(error)


def improvements(per_run: dict) -> dict:
    """Return per cent saved against the plug-in rule: ratio of mean costs, jackknife error.

    Of MetaCost's two variants the better one counts, as in obrien2008.
    """
    figures = {}
    for (task, method, _), costs in per_run.items():
        base = per_run.get((task, "plug_in", "cost"))
        if base is None or method == "plug_in":
            continue
        n = min(len(base), len(costs))
        before, after = base[:n], costs[:n]
        if before.sum() == 0:
            continue
        saved = 100.0 * (1.0 - after.sum() / before.sum())
        error = 0.0
        if n > 1:
            left_out = [
                100.0 * (1.0 - (after.sum() - after[i]) / max(before.sum() - before[i], 1e-12))
                for i in range(n)
            ]
            error = math.sqrt((n - 1) / n * np.sum((np.array(left_out) - np.mean(left_out)) ** 2))
        figures[task, method, "percent_improvement"] = (saved, error, n)
    for task in {task for task, _, _ in figures}:
        variants = [
            figures[key] for key in figures if key[0] == task and key[1].startswith("metacost_")
        ]
        if len(variants) == 2:
            figures[task, "metacost", "percent_improvement"] = max(variants)
    return figures


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
        numbers = {"ours": float(row["ours"]), "spread": float(row["spread"])}
        cells.append(Cell(**{**row, **numbers, "runs": int(row["runs"])}))  # type: ignore[arg-type]
    return cells


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
