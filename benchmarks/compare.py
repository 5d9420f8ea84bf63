"""What a fast comparison costs beyond the plain model's cross-validation, in time and memory.

200,000 rows, 30 columns, 5 classes. Prints the ratios and stores them with the versions.
"""

import json
import os
import platform
import sys
import threading
import time
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import joblib
import numpy as np
import psutil

N, D, K, FOLDS = 200_000, 30, 5, 5


def make_data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    scores = X[:, : 2 * K] @ rng.normal(size=(2 * K, K)) + rng.gumbel(size=(N, K)) * 2
    C = rng.uniform(1, 20, size=(K, K)) * (1 - np.eye(K))
    return X, scores.argmax(axis=1), C


class Peak:
    """The most memory that this process holds, beyond what it held at the start."""

    def __enter__(self):
        self.process, self.most, self.stop = psutil.Process(), 0, threading.Event()
        self.before = self.process.memory_info().rss
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def _watch(self):
        while not self.stop.is_set():
            self.most = max(self.most, self.process.memory_info().rss)
            time.sleep(0.02)

    def __exit__(self, *_):
        self.stop.set()
        self.extra = self.most - self.before


def plain_cross_validation(X, y):
    from sklearn.model_selection import StratifiedKFold

    from stakes.compare._plain import plain_model

    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        plain_model(n_jobs=joblib.cpu_count(), n_samples=N).fit(X[train], y[train]).predict_proba(
            X[test]
        )


def main():
    import lightgbm

    from stakes.compare import compare

    X, y, C = make_data()
    # Imports, kernels and threads are paid before the clock starts, for both alike.
    small = slice(0, 3000)
    compare(X[small], y[small], cost_matrix=C, fast=True)
    plain_cross_validation(X[small], y[small])

    seconds = {"plain": [], "compare": []}
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 2):
        start = time.perf_counter()
        plain_cross_validation(X, y)
        seconds["plain"].append(time.perf_counter() - start)
        with Peak() as peak:
            start = time.perf_counter()
            made = compare(X, y, cost_matrix=C, fast=True)
            page = made.to_html()
            seconds["compare"].append(time.perf_counter() - start)
    best = {name: min(values) for name, values in seconds.items()}
    found = {
        "date": time.strftime("%Y-%m-%d"),
        "rows": N,
        "columns": D,
        "classes": K,
        "cores": os.cpu_count(),
        "seconds": {name: round(value, 2) for name, value in best.items()},
        "time_ratio": round(best["compare"] / best["plain"], 2),
        "memory_ratio": round(peak.extra / X.nbytes, 2),
        "page_megabytes": round(len(page.encode()) / 1e6, 2),
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "lightgbm": lightgbm.__version__,
        },
    }
    print(made)
    print(f"time against the plain model's cross-validation alone: {found['time_ratio']}")
    print(f"memory beyond the data, in sizes of the data: {found['memory_ratio']}")
    print(f"page: {found['page_megabytes']} MB")
    results = Path(__file__).parent / "results" / "compare.json"
    results.parent.mkdir(exist_ok=True)
    results.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
