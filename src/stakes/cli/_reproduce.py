"""stakes reproduce: the published tables beside ours."""

import os
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any

from typer import Argument, Option

from stakes.cli._app import WRITTEN, File, Jobs, List, Text, command, split_names
from stakes.cli._outputs import Force, check_outputs
from stakes.cli._terminal import Progress, say, show, show_json, show_table


@dataclass
class InsteadOptions:
    """What is done in place of running experiments."""

    summary: Annotated[bool, Option("--summary", help="Only say the stored verdicts.")] = False
    page: Annotated[
        File, Option(help="Only write the Markdown page of stored results."), WRITTEN
    ] = None
    figures: Annotated[
        File, Option(help="Only draw the papers' figures in this folder."), WRITTEN
    ] = None
    dry_run: Annotated[
        bool, Option("--dry-run", help="Only say what would be done, and how long it takes.")
    ] = False


@command
def reproduce(
    papers: Annotated[
        List, Argument(help="abe2004, koco2013, zhang2005, obrien2008, slides; all by default.")
    ] = None,
    tasks: Annotated[List, Option(help="Some tasks only, separated by commas.")] = None,
    methods: Annotated[List, Option(help="Some methods only, separated by commas.")] = None,
    runs: Annotated[int | None, Option(help="So many of the paper's runs only.")] = None,
    reading: Annotated[Text, Option(help="Another protocol reading, such as unpruned.")] = None,
    jobs: Jobs = 1,
    store: Annotated[File, Option(help="Folder of finished runs."), WRITTEN] = None,
    results: Annotated[
        File,
        Option(help="Folder for one CSV of cells per paper, kept where they are of more runs."),
        WRITTEN,
    ] = None,
    *,
    instead: InsteadOptions,
    as_json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
    force: Force = False,
) -> None:
    """Run the published experiments and set our figures beside the published ones.

    For example:
      stakes reproduce abe2004 --runs 1
      stakes reproduce --dry-run
    """
    import stakes.reproduce as reproduction
    from stakes.reproduce._figures import figure_files
    from stakes.reproduce._run import open_store, results_file

    papers = papers or list(reproduction.PAPERS)
    for paper in papers:  # an unknown name is refused before any work
        reproduction.experiments_of(paper, reading)
    if instead.page is not None or instead.summary:
        _show_stored(results or "results", instead, as_json=as_json, force=force)
        return
    figures = instead.figures
    if figures is not None:
        files = [path for paper in papers for path in figure_files(paper, figures).values()]
        check_outputs([(path, "figure") for path in files], force=force)
        drawn = [path for paper in papers for path in reproduction.draw_figures(paper, figures)]
        say(f"Written: {', '.join(map(str, drawn))}" if drawn else "These papers have no figure.")
        return
    tasks, methods = split_names(tasks), split_names(methods)
    part: Any = {"tasks": tasks, "methods": methods, "runs": runs, "reading": reading}
    if instead.dry_run:
        plans = [reproduction.plan(paper, store=store, **part) for paper in papers]
        if as_json:
            show_json(plans)
        else:
            show("\n".join(_plan_line(plan, jobs) for plan in plans))
        return
    if results is not None:
        written = [results_file(paper, results, reading) for paper in papers]
        check_outputs([(path, "results") for path in written], force=force, store=store)
    open_store(store).check()
    everything = []
    for paper in papers:
        with Progress() as bar:
            cells = reproduction.reproduce(paper, n_jobs=jobs, store=store, progress=bar, **part)
        if results is not None:
            how: Any = {"reading": reading, "replace": force}
            say(f"Written: {reproduction.save_results(paper, cells, results, **how)}")
        everything += cells
    if as_json:
        show_json([vars(cell) for cell in everything])
    else:
        _print_cells(everything)


def _show_stored(folder: Any, instead: InsteadOptions, *, as_json: bool, force: bool) -> None:
    """Write the page of stored results, and say their verdicts."""
    import stakes.reproduce as reproduction

    if not reproduction.load_results(folder):
        again = f"stakes reproduce --results {folder}"
        raise ValueError(f"There are no results in {folder}: run `{again}` first.")
    if instead.page is not None:
        check_outputs([(instead.page, "tables")], force=force)
        say(f"Written: {reproduction.write_page(folder, instead.page)}")
    if instead.summary:
        say_it = show_json if as_json else _print_summary
        say_it(reproduction.summary(folder))


def _plan_line(plan: dict[str, Any], jobs: int) -> str:
    text = f"{plan['paper']}: {plan['stored']:,} runs stored, {plan['missing']:,} to do"
    if not plan["missing"]:
        return text + "."
    if plan["seconds"] is None:
        return text + "; how long they take is not known."
    workers = jobs if jobs > 0 else (os.cpu_count() or 1)
    text += f"; about {_duration(plan['seconds'] / workers)} with {workers} at a time"
    if plan["runs_never_timed"]:
        text += f", and {plan['runs_never_timed']:,} whose time is not known"
    return text + "."


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _print_cells(cells: list) -> None:
    names = ("paper", "table", "task", "method", "metric", "ours", "published", "verdict")
    lines = ([getattr(cell, name, "") for name in names] for cell in cells)
    rows = [[f"{v:.4g}" if isinstance(v, float) else str(v) for v in values] for values in lines]
    show_table(names, rows)
    counts = Counter(cell.verdict for cell in cells if cell.verdict)
    show(", ".join(f"{verdict}: {n}" for verdict, n in counts.items()))


def _print_summary(summary: Any) -> None:
    verdicts = ("beaten", "matched", "short", "not comparable")
    rows = [
        [paper, number, *(str(count.get(verdict, 0)) for verdict in verdicts)]
        for paper, tables in summary["tables"].items()
        for number, count in sorted(tables.items())
    ]
    show_table(("paper", "table", *verdicts), rows, right=("table", *verdicts))
    good, total = summary["own_methods"]["matched_or_beaten"], summary["own_methods"]["cells"]
    share = f"{good / max(total, 1):.0%}"
    show(f"The five papers' own methods: {good} of {total} cells matched or beaten ({share}).")
    for claim in summary["claims"]:
        held = "holds" if claim["held"] else "does NOT hold"
        show(f"{claim['text']}: {held} ({claim['figures']}).")
