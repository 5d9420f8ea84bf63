"""stakes reproduce: the published tables beside ours."""

import json
from collections import Counter
from typing import Any

from stakes.cli._run import split_names
from stakes.cli._terminal import Progress, console, say


def run_reproduce(papers: list[str], *, tasks, methods, runs, jobs, store, results, summary,
                  as_json, dry_run) -> None:  # fmt: skip
    """Run, plan or sum up the experiments of the papers."""
    import stakes.reproduce as reproduction

    papers = papers or list(reproduction.PAPERS)
    for paper in papers:
        reproduction.experiments_of(paper)  # an unknown name is refused before any work
    if summary:
        _print_summary(reproduction.summary(results or "results"), as_json)
        return
    part: dict[str, Any] = {
        "tasks": split_names([tasks] if tasks else None),
        "methods": split_names([methods] if methods else None),
        "runs": runs,
    }
    if dry_run:
        plans = [reproduction.plan(paper, store=store, **part) for paper in papers]
        if as_json:
            console().print_json(json.dumps(plans))
            return
        for found in plans:
            time = "unknown" if found["seconds"] is None else f"{found['seconds'] / jobs:,.0f} s"
            console().print(
                f"{found['paper']}: {found['stored']:,} runs stored, {found['missing']:,} to do; "
                f"time: {time} ({found['runs_never_timed']:,} runs never timed)",
                markup=False,
            )
        return
    everything = []
    for paper in papers:
        with Progress() as progress:
            cells = reproduction.reproduce(
                paper, n_jobs=jobs, store=store, progress=progress, **part
            )
        if results is not None:
            say(f"Written: {reproduction.save_results(paper, cells, results)}")
        everything += cells
    if as_json:
        console().print_json(json.dumps([vars(cell) for cell in everything], default=str))
        return
    _print_cells(everything)


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
    from rich.pretty import pprint

    pprint(found, console=console(), expand_all=True)
