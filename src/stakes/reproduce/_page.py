"""``docs/reproduction.md``, made from the stored results."""

import inspect
import os
from pathlib import Path

from stakes.compare import write_atomically
from stakes.reproduce._claims import check_claims, seed_share
from stakes.reproduce._published import table_caption
from stakes.reproduce._run import (
    PAPERS,
    experiments_of,
    load_readings,
    load_results,
    paper_module,
    readings_of,
)
from stakes.reproduce._table import Cell, summarize

MARK = {"beaten": "▲", "matched": "=", "short": "▼", "": ""}


def render_page(
    results: dict[str, list[Cell]], readings: dict[tuple[str, str], list[Cell]] | None = None
) -> str:
    """Return the page as Markdown: summary first, then every table cell by cell."""
    cells = [cell for found in results.values() for cell in found]
    good, total = seed_share(cells)
    lines = [
        "# The published tables, run again",
        "",
        "Made by `stakes reproduce --page docs/reproduction.md` from `results/`. Each cell shows",
        "our figure, its standard error over the runs, and in brackets the published figure with",
        "its printed spread. ▲ better than published by more than two standard errors of the",
        "difference, = within them (where a paper prints no spread: within 1 point of error or 5",
        "points of improvement), ▼ short. Columns marked *ours* are not in the papers: they show",
        "what current methods give on the same splits.",
        "",
        "## Summary",
        "",
        f"Of the {total} published cells of the documents' own methods {good} "
        f"({good / max(total, 1):.1%}) are matched or beaten.",
        "",
        "| paper | table | beaten | matched | short | matched or beaten |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for paper, tables in summarize(cells).items():
        for table, count in sorted(tables.items()):
            lines.append(_count_row(f"{paper} | {table}", count))
    claims = check_claims(results)
    if claims:
        lines += ["", "The orderings that carry the papers' claims:", ""]
        lines += [
            f"- {c.text}: {'yes' if c.held else '**no**'} ({c.figures}; {c.paper})."
            for c in claims
        ]
    if readings:
        lines += ["", *_readings_section(results, readings)]
    for paper in PAPERS:
        if paper in results:
            lines += ["", *_paper_section(paper, results[paper])]
    return "\n".join(lines) + "\n"


def _count_row(name: str, count: dict) -> str:
    total = sum(count.values())
    good = count["beaten"] + count["matched"]
    counts = " | ".join(str(count[verdict]) for verdict in ("beaten", "matched", "short"))
    return f"| {name} | {counts} | {good}/{total} ({good / total:.0%}) |"


def _readings_section(results, readings) -> list[str]:
    lines = [
        "## Other readings of the protocols",
        "",
        "Where a paper leaves its protocol open, other readings were run; the first line of each",
        "pair is the reading in use, on the same cells.",
        "",
        "| paper | reading | beaten | matched | short | matched or beaten |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for (paper, reading), cells in readings.items():
        judged = {c.key: c.verdict for c in cells if c.verdict}
        usual = {c.key: c.verdict for c in results.get(paper, ()) if c.verdict and c.key in judged}
        says = readings_of(paper)[reading].says
        for name, verdicts in (("in use", usual), (says, judged)):
            both = [verdicts[key] for key in judged if key in usual]
            count = {v: both.count(v) for v in ("beaten", "matched", "short")}
            if both:
                lines.append(_count_row(f"{paper} | {name}", count))
    return lines


def _paper_section(paper: str, cells: list[Cell]) -> list[str]:
    lines = [f"## {paper}"]
    experiments = experiments_of(paper)
    if experiments:
        lines += ["", experiments[0].title + ".", "", _protocol(paper)]
    for table in sorted({c.table for c in cells}):
        chosen = [c for c in cells if c.table == table]
        lines += ["", f"### Table {table}", "", table_caption(paper, table) + ".", ""]
        for metric in dict.fromkeys(c.metric for c in chosen):
            lines += _grid([c for c in chosen if c.metric == metric], metric)
        notes = [c for c in chosen if c.note]
        if notes:
            lines += ["Notes:", ""]
            lines += [f"- {c.task}, {c.method} ({c.metric}): {c.note}" for c in notes]
            lines.append("")
    return lines


def _protocol(paper: str) -> str:
    """Return what the paper's module says of its protocol: its docstring after the title."""
    return inspect.cleandoc(paper_module(paper).__doc__ or "").partition("\n\n")[2]


def _grid(cells: list[Cell], metric: str) -> list[str]:
    tasks = list(dict.fromkeys(c.task for c in cells))
    methods = list(dict.fromkeys(c.method for c in cells))
    extra = {c.method for c in cells if not c.published}
    heads = [f"{m} *(ours)*" if m in extra else m for m in methods]
    lines = [f"| {metric} | " + " | ".join(heads) + " | runs |"]
    lines.append("| --- |" + " ---: |" * (len(methods) + 1))
    by_key = {(c.task, c.method): c for c in cells}
    for task in tasks:
        row = [_show(by_key.get((task, m))) for m in methods]
        runs = max(c.runs for c in cells if c.task == task)
        lines.append(f"| {task} | " + " | ".join(row) + f" | {runs} |")
    lines.append("")
    return lines


def _number(value: float | str, digits: int) -> str:
    """Return a figure without an exponent: large ones to the unit."""
    if isinstance(value, str):
        return value
    return f"{value:.0f}" if abs(value) >= 10.0 ** (digits - 1) else f"{value:.{digits}g}"


def _show(cell: Cell | None) -> str:
    if cell is None:
        return ""
    ours = _number(cell.ours, 5)
    if cell.spread:
        ours = f"{_number(cell.ours, 4)} ± {_number(cell.spread, 2)}"
    if not cell.published:
        return ours
    said = cell.published + (f" ± {cell.published_spread}" if cell.published_spread else "")
    return f"{ours} {MARK[cell.verdict]} ({said})"


def write_page(
    results: str | os.PathLike = "results", page: str | os.PathLike = "docs/reproduction.md"
) -> Path:
    """Make the page anew from the stored results."""
    write_atomically(page, render_page(load_results(results), load_readings(results)))
    return Path(page)
