"""``docs/reproduction.md``, made from the stored results."""

import inspect
import tomllib
from pathlib import Path
from typing import Any

from stakes.reproduce._claims import check_claims, seed_share, strict_share
from stakes.reproduce._published import read_lines, table_caption
from stakes.reproduce._run import (
    PAPERS,
    Folder,
    Readings,
    Results,
    experiments_of,
    load_readings,
    load_results,
    paper_module,
    readings_of,
)
from stakes.reproduce._table import Cell, summarize
from stakes.reproduce._verdict import NOT_COMPARABLE, VERDICTS
from stakes.utils._files import write_atomically

MARK = {"beaten": "▲", "matched": "=", "short": "▼", NOT_COMPARABLE: "≁", "": ""}


def render_page(results: Results, readings: Readings | None = None) -> str:
    """Return the page as Markdown: summary first, then every table cell by cell."""
    cells = [cell for each in results.values() for cell in each]
    good, total = seed_share(cells)
    strict = strict_share(cells)[0]
    shares = {"share": good / max(total, 1), "strict_share": strict / max(total, 1)}
    (every, of_every), (strict_every, _) = (
        share(cells, every=True) for share in (seed_share, strict_share)
    )
    shares |= {"every": every, "of_every": of_every, "strict_every": strict_every}
    lines = _template("page", good=good, total=total, strict=strict, **shares)
    for paper, tables in summarize(cells).items():
        lines += [_count_row(f"{paper} | {table}", n) for table, n in sorted(tables.items())]
    claims = check_claims(results)
    if claims:
        lines += ["", "The orderings that carry the papers' claims:", ""]
    for claim in claims:
        held = "yes" if claim.held else "**no**"
        lines.append(f"- {claim.text}: {held} ({claim.figures}; {claim.paper}).")
    if readings:
        lines += ["", *_readings_section(results, readings)]
    for paper in PAPERS:
        if paper in results:
            lines += ["", *_paper_section(paper, results[paper])]
    return "\n".join(lines) + "\n"


def _template(name: str, **values: Any) -> list[str]:
    return [line.format(**values) for line in read_lines("templates", f"{name}.md")]


def _count_row(name: str, count: dict[str, int]) -> str:
    total = sum(count[verdict] for verdict in VERDICTS)
    good = total - count["short"]
    counts = " | ".join(str(count.get(verdict, 0)) for verdict in (*VERDICTS, NOT_COMPARABLE))
    share = f"{good}/{total} ({good / total:.0%})" if total else "none to compare"
    return f"| {name} | {counts} | {share} |"


def _readings_section(results: Results, readings: Readings) -> list[str]:
    lines = _template("readings")
    for (paper, reading), cells in readings.items():
        usual, judged = (
            {cell.key: cell.verdict for cell in each if cell.verdict}
            for each in (results.get(paper, ()), cells)
        )
        for name, verdicts in (("in use", usual), (readings_of(paper)[reading].says, judged)):
            both = [verdicts[key] for key in judged if key in usual]
            if both:
                count = {said: both.count(said) for said in (*VERDICTS, NOT_COMPARABLE)}
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
        choices = read_choices(paper, table)
        if choices:
            lines += ["Chosen here, where the paper leaves it open:", ""]
            lines += [*(f"- {choice}" for choice in choices), ""]
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
        runs = _runs([by_key[task, m].runs for m in methods if (task, m) in by_key])
        lines.append(f"| {task} | " + " | ".join(row) + f" | {runs} |")
    lines.append("")
    return lines


def _runs(runs: list[int]) -> str:
    """Return the runs of a row's cells: one number where all have as many."""
    return str(runs[0]) if len(set(runs)) == 1 else ", ".join(map(str, runs))


def read_choices(paper: str, table: str) -> list[str]:
    """Return what was chosen for a table where its paper leaves it open, from ``choices.toml``."""
    return tomllib.loads("\n".join(read_lines("choices.toml"))).get(paper, {}).get(table, [])


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


def write_page(results: Folder = "results", page: Folder = "docs/reproduction.md") -> Path:
    """Make the page anew from the stored results."""
    write_atomically(page, render_page(load_results(results), load_readings(results)))
    return Path(page)
