"""The time of saving and loading models and of storing runs, against an earlier checkout.

``python benchmarks/files.py OLD`` alternates processes of this code and of the checkout in OLD; it
prints and stores the ratios of the best times. Without OLD it is set beside itself: how far from
1 the ratios are is the noise.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS, TIMES, N_RUNS = 3, 5, 60
METHODS = ("tree", "mec", "calibrated", "forest")
HERE = Path(__file__).parents[1]


def best(call):
    """Return the least processor time, and the least time, of a few calls."""
    found = []
    for _ in range(TIMES):
        begun = time.process_time(), time.perf_counter()
        call()
        found.append((time.process_time() - begun[0], time.perf_counter() - begun[1]))
    return [min(column) for column in zip(*found)]


def measure():
    """Print the times of this checkout as JSON."""
    import numpy as np

    from stakes.compare import RunStore, fit_model, load_model, save_model
    from stakes.compare.runner import Predictions, Run

    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 8))
    y = (X[:, :3] + rng.gumbel(size=(600, 3))).argmax(axis=1)
    C = [[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [9.0, 4.0, 0.0]]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.skops")
        for method in METHODS:
            model = fit_model(X, y, method, cost_matrix=C, fast=True)
            found[f"save {method}"] = best(lambda model=model: save_model(model, path))
            found[f"load {method}"] = best(lambda: load_model(path))
        runs = [Run("toy", "cv5", i, "mec") for i in range(N_RUNS)]
        for n_rows in (100, 20_000):
            arrays = {
                "decisions": rng.integers(0, 3, n_rows),
                "proba": rng.dirichlet(np.ones(3), n_rows),
                "test": np.arange(n_rows),
            }
            stored = RunStore(Path(folder, str(n_rows)))
            row = {"status": "ok", "cost": 1.5, "reason": ""}

            def keep(store=stored, arrays=arrays, row=row):
                for run in runs:
                    store.save_predictions(run, Predictions(arrays, {"fit": 1.0}))
                    store.save_row(run, row)

            def read(folder=stored.folder):
                store = RunStore(folder)
                for run in runs:
                    assert store.state(run) == "ok"
                    store.load_row(run)
                    store.load_predictions(run)

            found[f"store {n_rows:,} rows"] = best(keep)
            found[f"read {n_rows:,} rows"] = best(read)
    print(json.dumps(found))


def main():
    old = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else HERE
    times = {"now": [], "before": []}
    for _ in range(ROUNDS):
        for name, checkout in (("before", old), ("now", HERE)):
            env = {**os.environ, "PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}
            command = [sys.executable, "-W", "ignore", __file__, "--measure"]
            done = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True)
            times[name].append(json.loads(done.stdout.splitlines()[-1]))
    figures = {}
    for what in times["now"][0]:
        least = {
            name: [min(found[what][i] for found in all_found) for i in (0, 1)]
            for name, all_found in times.items()
        }
        (cpu, wall), (cpu_before, wall_before) = least["now"], least["before"]
        figures[what] = {
            "ms_now": 1000 * cpu,
            "ms_before": 1000 * cpu_before,
            "ratio": cpu / cpu_before,
            "ratio_with_waiting": wall / wall_before,
        }
        print(f"{what:22s} {1000 * cpu_before:9.1f} -> {1000 * cpu:9.1f} ms: {cpu / cpu_before:.2f}"
              f" of the processor, {wall / wall_before:.2f} with waiting for the disk")  # fmt: skip
    if old != HERE:
        from _results import store

        store("files", figures)


if __name__ == "__main__":
    measure() if "--measure" in sys.argv else main()
