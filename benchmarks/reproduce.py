"""What the runs of `stakes reproduce` take: the times that its --dry-run judges by.

    python benchmarks/reproduce.py STORE    # results/seconds.csv from a store

STORE is the folder of finished runs (``.stakes/reproduce`` unless told otherwise). Without
it, the times that are stored are summed up.
"""

import csv
import io
import sys
from pathlib import Path

from stakes.compare import RunStore
from stakes.reproduce import PAPERS, experiments_of
from stakes.reproduce._run import known_seconds, stored_seconds
from stakes.utils._files import write_atomically

TARGET = Path(__file__).resolve().parent.parent / "results/seconds.csv"


def write(store):
    """Write one line for each task and method that has been timed."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(["paper", "task", "method", "seconds"])
    for paper in PAPERS:
        timed = {}
        for experiment in experiments_of(paper):
            for key, seconds in stored_seconds(experiment, RunStore(store)).items():
                timed[key] = min(seconds, timed.get(key, seconds))
        lines.writerows([paper, *key, f"{seconds:.3g}"] for key, seconds in sorted(timed.items()))
    write_atomically(TARGET, out.getvalue())


def show():
    """Print what a single run of everything and the whole of it take on one core."""
    for paper in PAPERS:
        known = known_seconds(paper, TARGET.parent)
        for runs in (1, None):
            total = sum(
                known.get((run.task.removeprefix(f"{paper}/"), run.method), 0.0)
                for experiment in experiments_of(paper)
                for unit in experiment.units(runs=runs)
                for run in unit
            )
            print(f"{paper}: {'one run' if runs else 'all runs'} {total / 60:.1f} min on one core")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write(sys.argv[1])
    show()
