"""One cell of each method and paper, run anew for a few seconds, beside the published figure.

The stored spread says how far a single run may lie from the stored mean, and so from the figure
that was printed: the tolerance is read from the results, not written here.
"""

import math
import os
from pathlib import Path

import pytest

from stakes.reproduce import load_results, reproduce
from stakes.reproduce._claims import SEED_METHODS
from stakes.reproduce._published import published_tables

RESULTS = Path(__file__).resolve().parents[2] / "results"
# What is run: the task and the metric; every method that the table has of it.
CELLS = {
    ("abe2004", "2", "splice"): "average_cost",
    ("koco2013", "2", "car"): "g_mean",
    ("koco2013", "3", "car"): "confusion_norm",
    ("zhang2005", "1", "haberman"): "percent_error",
    ("obrien2008", "1", "car/nb"): "percent_improvement",
    ("obrien2008", "2", "car/nb"): "percent_improvement",
}
# What a method of a table is made from, where that is not itself.
MADE_FROM = {"metacost": ("metacost_inclusive", "metacost_out_of_bag")}

pytestmark = pytest.mark.skipif(
    "STAKES_DATA" not in os.environ, reason="needs the folder STAKES_DATA"
)


def printed(paper, table, task):
    metric = CELLS[paper, table, task]
    cells = published_tables(paper)[table]
    return {c.method: c for c in cells if (c.task, c.metric) == (task, metric)}


def allowed(stored):
    """Return three standard deviations between a run and the mean of the stored ones."""
    return 3 * stored.spread * math.sqrt(stored.runs) * math.sqrt(1 + 1 / stored.runs)


@pytest.mark.parametrize(("paper", "task"), sorted({(paper, task) for paper, _, task in CELLS}))
def test_one_run_is_as_near_to_the_published_figures_as_the_stored_ones(paper, task, tmp_path):
    tables = [table for name, table, of in CELLS if (name, of) == (paper, task)]
    methods = {method for table in tables for method in printed(paper, table, task)}
    if paper == "obrien2008":
        methods = {"plug_in", *(m for name in methods for m in MADE_FROM.get(name, (name,)))}
    fresh = {
        cell.key: cell
        for cell in reproduce(
            paper, tasks=[task], methods=sorted(methods), runs=1, store=tmp_path / "store"
        )
    }
    stored = {cell.key: cell for cell in load_results(RESULTS)[paper]}
    for table in tables:
        for method in printed(paper, table, task):
            key = table, task, method, CELLS[paper, table, task]
            ours, known = fresh[key].ours, stored[key]
            assert abs(ours - known.ours) <= allowed(known), key
            assert known.verdict in ("matched", "beaten"), key


def test_every_method_of_every_paper_is_among_them():
    run = {(p, method) for p, table, task in CELLS for method in printed(p, table, task)}
    known = {
        (paper, cell.method)
        for paper in ("abe2004", "koco2013", "zhang2005", "obrien2008")
        for table, cells in published_tables(paper).items()
        for cell in cells
        if cell.method in SEED_METHODS and (paper, table) != ("zhang2005", "2")
    }
    assert known <= run
