"""stakes reproduce: the published tables beside ours."""

import json
import os
from collections import Counter
from typing import Any

from stakes.cli._run import split_names
from stakes.cli._terminal import Progress, console, say


def run_reproduce(papers: list[str], *, tasks, methods, runs, reading, jobs, store, results,
                  summary, page, figures, as_json, dry_run) -> None:  # fmt: skip
    """Run, plan, draw or sum up the experiments of the papers."""
    import stakes.reproduce as reproduction

    papers = papers or list(reproduction.PAPERS)
    for paper in papers:  # an unknown name is refused before any work
        reproduction.experiments_of(paper, reading)
    if page is not None or summary:
        folder = results or "results"
        if not reproduction.load_results(folder):
            raise ValueError(
                f"There are no results in {folder}: run `stakes reproduce --results {folder}` first."
            )
        if page is not None:
            say(f"Written: {reproduction.write_page(folder, page)}")
        if summary:
            _print_summary(reproduction.summary(folder), as_json)
        return
    if figures is not None:
        drawn = [path for paper in papers for path in reproduction.draw_figures(paper, figures)]
        say(f"Written: {', '.join(map(str, drawn))}" if drawn else "These papers have no figure.")
        return
    part: dict[str, Any] = {
        "tasks": split_names([tasks] if tasks else None),
        "methods": split_names([methods] if methods else None),
        "runs": runs,
        "reading": reading,
    }
    if dry_run:
        plans = [reproduction.plan(paper, store=store, **part) for paper in papers]
        if as_json:
            console().print_json(json.dumps(plans))
            return
        for found in plans:
            console().print(_plan_line(found, jobs), markup=False)
        return
    everything = []
    for paper in papers:
        with Progress() as progress:
            cells = reproduction.reproduce(
                paper, n_jobs=jobs, store=store, progress=progress, **part
            )
        if results is not None:
            say(f"Written: {reproduction.save_results(paper, cells, results, reading=reading)}")
        everything += cells
    if as_json:
        console().print_json(json.dumps([vars(cell) for cell in everything], default=str))
        return
    _print_cells(everything)


def _plan_line(found: dict, jobs: int) -> str:
    text = f"{found['paper']}: {found['stored']:,} runs stored, {found['missing']:,} to do"
    if not found["missing"]:
        return text + "."
    if found["seconds"] is None:
        return text + "; how long they take is not known."
    workers = jobs if jobs > 0 else (os.cpu_count() or 1)
    text += f"; about {_duration(found['seconds'] / workers)} with {workers} at a time"
    if found["runs_never_timed"]:
        text += f", and {found['runs_never_timed']:,} whose time is not known"
    return text + "."


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _print_cells(cells: list) -> None:
    from rich.table import Table

    names = ("paper", "table", "task", "method", "metric", "ours", "published", "verdict")
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in names:
        table.add_column(name)
    for cell in cells:
        values = [getattr(cell, name, "") for name in names]
        table.add_row(*[f"{v:.4g}" if isinstance(v, float) else str(v) for v in values])
    console().print(table)
    counts = Counter(cell.verdict for cell in cells if cell.verdict)
    console().print(", ".join(f"{verdict}: {n}" for verdict, n in counts.items()), markup=False)


def _print_summary(found: Any, as_json: bool) -> None:
    if as_json:
        console().print_json(json.dumps(found, default=str))
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("paper", "table", "beaten", "matched", "short"):
        table.add_column(name, justify="left" if name == "paper" else "right")
    for paper, tables in found["tables"].items():
        for number, count in sorted(tables.items()):
            counts = [str(count[verdict]) for verdict in ("beaten", "matched", "short")]
            table.add_row(paper, number, *counts)
    console().print(table)
    good, total = found["own_methods"]["matched_or_beaten"], found["own_methods"]["cells"]
    console().print(
        f"The documents' own methods: {good} of {total} cells matched or beaten "
        f"({good / max(total, 1):.0%}).",
        markup=False,
    )
    for claim in found["claims"]:
        held = "holds" if claim["held"] else "does NOT hold"
        console().print(f"{claim['text']}: {held} ({claim['figures']}).", markup=False)
