"""Every method of the registry on small tables: cost, seconds and where each won or lost.

What the table "Choosing a method" shows. Each set has a random cost matrix of Abe, Zadrozny and
Langford (2004), seeded by the set, and two folds that all methods share. A method that
a set is not for (three classes only, too large) has no row there.

    python benchmarks/methods.py            # goes on where results/methods.csv ends

Needs the folder of data sets that STAKES_DATA names.
"""

import csv
import time
import zlib
from pathlib import Path

from stakes.compare import compare, fit_model, list_methods
from stakes.costs import random_abe
from stakes.datasets import load_dataset

SETS = (
    "wine",
    "new_thyroid",
    "glass",
    "ecoli",
    "dermatology",
    "balance",
    "vehicle",
    "pima",
    "german_credit",
    "segmentation",
)
STORE = Path(__file__).parent / "results" / "methods.csv"
FIELDS = ("set", "rows", "columns", "classes", "method", "cost", "seconds", "status", "reason")


def measured() -> set[tuple[str, str]]:
    """Return the (set, method) pairs that are stored."""
    if not STORE.exists():
        return set()
    with STORE.open() as lines:
        return {(row["set"], row["method"]) for row in csv.DictReader(lines)}


def measure(name: str, methods: list[str]) -> list[dict]:
    """Return one row for each method on one set."""
    data = load_dataset(name)
    seed = zlib.crc32(name.encode()) % 1000
    matrix = random_abe(data.y, random_state=seed)
    found = compare(data.X, data.y, cost_matrix=matrix, methods=methods, cv=2, random_state=0)
    rows = []
    for method in methods:
        result = found.results[method]
        done = result.status == "ok"
        start = time.process_time()  # of the processor: other work does not count
        if done:
            fit_model(data.X, data.y, method, cost_matrix=matrix, random_state=0)
        seconds = time.process_time() - start
        rows.append(
            {
                "set": name,
                "rows": len(data.y),
                "columns": data.X.shape[1],
                "classes": len(found.classes),
                "method": method,
                "cost": round(float(found.table.loc[method, "cost"]), 6) if done else "",
                "seconds": round(seconds, 4) if done else "",
                "status": result.status,
                "reason": result.reason,
            }
        )
    return rows


def main() -> None:
    for name in SETS:
        done = measured()
        # one at a time, so that a stopped run loses little
        for method in list_methods().index:
            if (name, method) in done:
                continue
            new = not STORE.exists()
            with STORE.open("a", newline="") as lines:
                writer = csv.DictWriter(lines, FIELDS)
                if new:
                    writer.writeheader()
                writer.writerows(measure(name, [method]))


if __name__ == "__main__":
    main()
