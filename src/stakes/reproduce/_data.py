"""The papers' tables of data sets beside the data that are used here."""

from collections.abc import Callable, Iterable

import numpy as np

from stakes.reproduce._experiment import Experiment
from stakes.reproduce._published import PublishedCell, published_tables
from stakes.reproduce._table import Cell, half_unit

# Which published table describes the data.
DATA_TABLES = {"abe2004": "1", "koco2013": "1"}


def _counts(y: np.ndarray) -> np.ndarray:
    return np.sort(np.unique(y, return_counts=True)[1])[::-1]


# What a table of data sets prints; class counts from the most to the least frequent.
FACTS: dict[str, Callable[[np.ndarray], float | str]] = {
    "n_examples": lambda y: float(len(y)),
    "n_classes": lambda y: float(len(np.unique(y))),
    "class_ratio": lambda y: float(_counts(y)[-1] / _counts(y)[0]),
    "imbalance_ratio": lambda y: float(_counts(y)[0] / _counts(y)[-1]),
    "class_counts": lambda y: "/".join(str(n) for n in _counts(y)),
}


def data_cells(experiment: Experiment, tasks: Iterable[str]) -> list[Cell]:
    """Return the facts of the data beside the published ones; they must agree as printed."""
    printed = published_tables(experiment.paper).get(DATA_TABLES.get(experiment.paper, ""), [])
    cells = []
    for name in tasks if printed else ():
        y = experiment.load(name)[1]
        for cell in printed:
            if cell.task == name:
                ours = FACTS[cell.metric](y)
                cells.append(Cell.beside(cell, ours, "matched" if agrees(ours, cell) else "short"))
    return cells


def agrees(ours: float | str, cell: PublishedCell) -> bool:
    """Return whether a fact equals the printed one, to the digits that are printed."""
    if isinstance(ours, str):
        return sorted(ours.split("/")) == sorted(cell.value.split("/"))
    return abs(ours - float(cell.value)) <= 1.0002 * half_unit(cell.value)
