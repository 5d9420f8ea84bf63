"""Running the experiments of the papers, in whole or in part, and keeping their tables."""

import csv
import importlib
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

from stakes.compare import RunStore
from stakes.reproduce._claims import check_claims, seed_share
from stakes.reproduce._data import data_cells
from stakes.reproduce._experiment import Experiment, Names
from stakes.reproduce._notes import with_notes
from stakes.reproduce._table import (
    Cell,
    make_cells,
    merge_cells,
    read_cells,
    summarize,
    to_csv,
)
from stakes.utils._arrays import counted, quoted
from stakes.utils._checks import warn
from stakes.utils._files import StoreWarning, write_atomically

PAPERS = ("abe2004", "koco2013", "zhang2005", "obrien2008", "slides")
DEFAULT_STORE = Path(".stakes") / "reproduce"
Folder = str | os.PathLike
Results = dict[str, list[Cell]]  # of each paper
Readings = dict[tuple[str, str], list[Cell]]  # of each paper and reading


def experiments_of(paper: str, reading: str | None = None) -> tuple[Experiment, ...]:
    """Return the experiments of a paper; the slides have none, only worked examples.

    Parameters
    ----------
    paper : str
        Such as ``"abe2004"``.
    reading : str, default=None
        Another reading of the protocol, one of `readings_of`, in place of the usual one.
    """
    module = paper_module(paper)
    if reading is None:
        return getattr(module, "EXPERIMENTS", ())
    there = readings_of(paper)
    if reading not in there:
        known = f"it has {quoted(there)}" if there else "it has none"
        raise ValueError(f"{paper} has no other reading {reading!r}: {known}.")
    return (there[reading],)


def readings_of(paper: str) -> dict[str, Experiment]:
    """Return the other readings of a paper's protocol that are built in, by name."""
    return {reading.protocol: reading for reading in getattr(paper_module(paper), "READINGS", ())}


def paper_module(paper: str) -> ModuleType:
    """Return the module that reads like a paper's experiments, imported on use."""
    if paper not in PAPERS:
        raise ValueError(f"There is no paper {paper!r} here: choose from {quoted(PAPERS)}.")
    return importlib.import_module(f"stakes.reproduce.{paper}")


def reproduce(
    paper: str,
    *,
    tasks: Names = None,
    methods: Names = None,
    runs: int | None = None,
    reading: str | None = None,
    n_jobs: int | None = 1,
    store: Folder | None = None,
    progress: Callable | None = None,
) -> list[Cell]:
    """Run a paper's experiments by its own protocol and set our figures beside its own.

    Everything finished is kept in `store`: a second call, with the same or other choices,
    does only what is missing.

    Parameters
    ----------
    paper : {"abe2004", "koco2013", "zhang2005", "obrien2008", "slides"}
        Which document.
    tasks, methods : iterable of str, default=None
        A part of them; all if None.
    runs : int, default=None
        How many of the paper's runs; all if None.
    reading : str, default=None
        Another reading of the paper's protocol, such as ``"unpruned"`` for abe2004.
    n_jobs : int, default=1
        Folds at a time.
    store : path-like, default=None
        A folder; ``.stakes/reproduce`` if None.
    progress : callable, default=None
        ``progress(done, total, row)``, after each run.

    Returns
    -------
    cells : list of Cell
        One per figure: ours, its standard error, the published one, the verdict.

    Examples
    --------
    The slides' worked examples need no data:

    >>> from stakes.reproduce import reproduce
    >>> cells = reproduce("slides")
    >>> cells[0].task, cells[0].ours, cells[0].published, cells[0].verdict
    ('german_credit', 0.75, '0.75', 'matched')
    """
    kept = open_store(store)

    def rows_of(experiment: Experiment, part: dict) -> list[dict]:
        return experiment.run(kept, n_jobs=n_jobs, progress=progress, **part)

    return _cells(paper, reading, rows_of, tasks=tasks, methods=methods, runs=runs)


def stored_cells(
    paper: str, store: Folder | None = None, *, reading: str | None = None
) -> list[Cell]:
    """Return the cells that the stored rows give, without running anything."""
    kept = open_store(store)

    def rows_of(experiment: Experiment, part: dict) -> list[dict]:
        return [row for task in part["tasks"] for row in kept.rows(f"{paper}/{task}")]

    return _cells(paper, reading, rows_of)


def _cells(paper: str, reading: str | None, rows_of: Callable, **part: Any) -> list[Cell]:
    if paper == "slides":  # worked examples, nothing to run
        return paper_module(paper).cells()
    cells = []
    for experiment in experiments_of(paper, reading):
        chosen = choose(experiment, **part)
        rows = rows_of(experiment, chosen)
        if reading is None:
            cells += data_cells(experiment, chosen["tasks"])
        cells += make_cells(experiment, rows)
    return cells if reading else with_notes(paper, cells)


def plan(
    paper: str, *, reading: str | None = None, store: Folder | None = None, **part: Any
) -> dict:
    """Return what `reproduce` would do: runs stored and missing, and how long it should take.

    The time is judged by the stored runs of the same task and method, or else by
    ``results/seconds.csv``, where that is to hand; it is None where neither is known.

    Parameters
    ----------
    paper, reading, store
        As in `reproduce`.
    **part
        The tasks, methods and runs, as in `reproduce`.
    """
    kept = open_store(store)
    done = missing = unknown = 0
    seconds = 0.0
    for experiment in experiments_of(paper, reading):
        known = known_seconds(paper) | stored_seconds(experiment, kept)
        for run in chain.from_iterable(experiment.units(**choose(experiment, **part))):
            if kept.state(run) == "ok":
                done += 1
                continue
            missing += 1
            key = (experiment.name_of(run.task), run.method)
            seconds += known.get(key, 0.0)
            unknown += key not in known
    return {
        "paper": paper,
        "stored": done,
        "missing": missing,
        "seconds": seconds if unknown < missing or not missing else None,
        "runs_never_timed": unknown,
    }


def open_store(store: Folder | None) -> RunStore:
    """Return the folder of finished runs; the usual one if None."""
    return RunStore(DEFAULT_STORE if store is None else store)


def stored_seconds(experiment: Experiment, kept: RunStore) -> dict[tuple[str, str], float]:
    """Return what the quickest stored run of each (task, method) took.

    The quickest, since a run can only be slowed down by what else the machine does.
    """
    timed: dict[tuple[str, str], float] = {}
    for task in experiment.tasks:
        for row in kept.rows(f"{experiment.paper}/{task}"):
            if row.get("status") == "ok" and "seconds_run" in row:
                key = (task, row["method"])
                timed[key] = min(row["seconds_run"], timed.get(key, math.inf))
    return timed


def known_seconds(paper: str, folder: Folder = "results") -> dict[tuple[str, str], float]:
    """Return what a run of each (task, method) took where the stored results were made.

    The times are kept beside those results, in ``results/seconds.csv``; where that file is not to
    hand, none is known.
    """
    path = Path(folder) / "seconds.csv"
    if not path.exists():
        return {}
    return {
        (row["task"], row["method"]): float(row["seconds"])
        for row in csv.DictReader(path.read_text().splitlines())
        if row["paper"] == paper
    }


def choose(
    experiment: Experiment, tasks: Names = None, methods: Names = None, runs: int | None = None
) -> dict:
    """Check a choice of tasks, methods and runs against an experiment."""
    chosen = {
        "tasks": _known("task", experiment.paper, tasks, experiment.tasks),
        "methods": _known("method", experiment.paper, methods, experiment.methods),
    }
    if runs is not None and runs < 1:
        raise ValueError(f"runs must be at least 1, but it is {runs}.")
    return {**chosen, "runs": runs}


def _known(what: str, paper: str, given: Names, there: Mapping) -> list[str]:
    wanted = list(there if given is None else given)
    unknown = [name for name in wanted if name not in there]
    if unknown:
        raise ValueError(f"{paper} has no {what} {quoted(unknown)}: it has {quoted(there, 30)}.")
    return wanted


def save_results(
    paper: str,
    cells: Iterable[Cell],
    folder: Folder = "results",
    *,
    reading: str | None = None,
    replace: bool = False,
) -> Path:
    """Write ``results/<paper>.csv``, or that of another reading, whole or not at all.

    Parameters
    ----------
    paper, reading
        As in `reproduce`.
    cells : iterable of Cell
        What `reproduce` returned, of all or of a part of the tasks and methods.
    folder : path-like, default="results"
        Where the file is.
    replace : bool, default=False
        Whether nothing of a file that is there already is kept. Otherwise cells of it that are
        not given stay, and those of more runs than the given ones, with a warning.
    """
    path, new = results_file(paper, folder, reading), list(cells)
    if not replace:
        new, kept = merge_cells(_read(path), new)
        if kept:
            warn(
                "ST603",
                f"{path} keeps {counted(len(kept), 'cell')} of more runs than were made now, such as "
                f"{kept[0].task}, {kept[0].method}: {kept[0].runs}.",
                StoreWarning,
                stacklevel=2,
            )
    write_atomically(path, to_csv(new))
    return path


def results_file(paper: str, folder: Folder, reading: str | None = None) -> Path:
    """Return the file of a paper's results, or of those of another reading."""
    return Path(folder) / f"{paper if reading is None else f'{paper}_{reading}'}.csv"


def load_results(folder: Folder = "results") -> Results:
    """Return the stored results of every paper that has them."""
    results = {paper: _read(results_file(paper, folder)) for paper in PAPERS}
    return {paper: cells for paper, cells in results.items() if cells}


def load_readings(folder: Folder = "results") -> Readings:
    """Return the stored results of other readings: (paper, reading) -> cells."""
    names = [(paper, reading) for paper in PAPERS for reading in readings_of(paper)]
    readings = {
        (paper, reading): _read(results_file(paper, folder, reading)) for paper, reading in names
    }
    return {name: cells for name, cells in readings.items() if cells}


def _read(path: Path) -> list[Cell]:
    return read_cells(path.read_text()) if path.exists() else []


def summary(folder: Folder = "results") -> dict:
    """Return the verdicts per paper and table of the stored results, and the claims."""
    results = load_results(folder)
    cells = [cell for each in results.values() for cell in each]
    good, total = seed_share(cells)
    return {
        "tables": summarize(cells),
        "own_methods": {"matched_or_beaten": good, "cells": total},
        "claims": [asdict(claim) for claim in check_claims(results)],
    }
