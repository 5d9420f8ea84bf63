"""Trees grown on costs against scikit-learn's, in one run, at the same number of threads.

Prints ratios and stores them under ``results/tree.json`` as they come. scikit-learn's
multi-output regression tree on the same (rows, decisions) target is what a user could pick
instead of the engine; it has one thread, so ours is timed with one thread too, and with all.
"""

import argparse
import gc
import os
import subprocess
import sys
import time

import numpy as np
from _results import store
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeRegressor

from stakes.tree import CostForestClassifier, CostTreeClassifier
from stakes.tree.engine import Bins, Workspace, grow_cost_tree

THREADS = os.cpu_count() or 1


def make_costs(n_samples, n_features, n_classes, n_values=None, seed=0):
    """Return features, classes and costs of examples that depend on the features."""
    rng = np.random.default_rng(seed)
    if n_values is None:
        X = rng.normal(size=(n_samples, n_features))
        score = X[:, :n_classes] + rng.normal(size=(n_samples, n_classes))
    else:
        X = rng.integers(0, n_values, (n_samples, n_features)).astype(float)
        weights = rng.normal(size=(n_features, n_classes)) / n_values
        score = (X - X.mean(axis=0)) @ weights + rng.normal(size=(n_samples, n_classes))
    y = score.argmax(axis=1)
    costs = rng.uniform(0.5, 5.0, size=(n_samples, n_classes))
    costs[np.arange(n_samples), y] = 0.0
    return X, y, costs


def seconds(run):
    gc.collect()
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def interleaved(runs, repeats):
    """Return the best seconds of each run, taking turns, and the last result of each."""
    best, results = dict.fromkeys(runs, np.inf), {}
    for _ in range(repeats):
        for name, run in runs.items():
            taken, results[name] = seconds(run)
            best[name] = min(best[name], taken)
    return best, results


def cost_of(costs, decisions):
    return float(costs[np.arange(len(costs)), decisions].mean())


def one_tree(name, n_samples, n_features, n_classes, *, n_values=None, categorical=False):
    """Time one tree of depth 3 with the bins given, as in a round of boosting."""
    X, _, costs = make_costs(n_samples, n_features, n_classes, n_values)
    mask = np.full(n_features, categorical)
    binned = Bins.fit(X, categorical_features=mask).transform(X)
    room = Workspace()

    def ours(n_threads):
        return grow_cost_tree(binned, costs, max_depth=3, n_threads=n_threads, workspace=room)[0]

    def with_binning():
        bins = Bins.fit(X, categorical_features=mask)
        return grow_cost_tree(bins.transform(X), costs, max_depth=3, workspace=room)[0]

    runs = {
        "sklearn": lambda: DecisionTreeRegressor(max_depth=3).fit(X, costs),
        "ours with binning, 1 thread": with_binning,
        "ours, 1 thread": lambda: ours(1),
        f"ours, {THREADS} threads": lambda: ours(THREADS),
    }
    for run in runs.values():
        run()
    best, results = interleaved(runs, 9)
    for _ in range(30):  # ours is over in milliseconds: more chances to meet a quiet moment
        for threads, key in ((1, "ours, 1 thread"), (THREADS, f"ours, {THREADS} threads")):
            best[key] = min(best[key], seconds(lambda threads=threads: ours(threads))[0])
    theirs, tree = results["sklearn"], results["ours, 1 thread"]
    same = results[f"ours, {THREADS} threads"]
    assert (same.nodes == tree.nodes).all(), "the tree depends on the number of threads"
    figures = {
        "milliseconds": {key: 1e3 * value for key, value in best.items()},
        "times faster, 1 thread": best["sklearn"] / best["ours, 1 thread"],
        f"times faster, {THREADS} threads": best["sklearn"] / best[f"ours, {THREADS} threads"],
        "times faster with binning, 1 thread": best["sklearn"]
        / best["ours with binning, 1 thread"],
        "training cost, ours": cost_of(costs, tree.predict(binned)),
        "training cost, sklearn": cost_of(costs, theirs.predict(X).argmin(axis=1)),
    }
    show(f"one tree, {name}: {n_samples:,} x {n_features}, K = {n_classes}, depth 3", figures)
    return figures


def large_tree(n_samples=1_000_000, n_features=20, n_classes=5):
    """Time a tree of depth 6 on many rows, binning included; and how it scales."""
    X, _, costs = make_costs(n_samples, n_features, n_classes)

    def ours(n_rows, n_threads):
        rows = X[:n_rows]
        bins = Bins.fit(rows, n_threads=n_threads)
        binned = bins.transform(rows, n_threads)
        tree, _ = grow_cost_tree(
            binned, costs[:n_rows], max_depth=6, n_threads=n_threads, return_leaves=False
        )
        return tree, binned

    runs = {
        "1 thread": lambda: ours(n_samples, 1),
        f"{THREADS} threads": lambda: ours(n_samples, THREADS),
        f"a tenth of the rows, {THREADS} threads": lambda: ours(n_samples // 10, THREADS),
        "a tenth of the rows, 1 thread": lambda: ours(n_samples // 10, 1),
    }
    best, results = interleaved(runs, 7)
    theirs, tree = seconds(lambda: DecisionTreeRegressor(max_depth=6).fit(X, costs))
    grown, binned = results["1 thread"]
    figures = {
        "seconds": best | {"sklearn": theirs},
        "times faster, 1 thread": theirs / best["1 thread"],
        f"times faster, {THREADS} threads": theirs / best[f"{THREADS} threads"],
        "times longer for 10 times the rows, 1 thread": best["1 thread"]
        / best["a tenth of the rows, 1 thread"],
        f"times longer for 10 times the rows, {THREADS} threads": best[f"{THREADS} threads"]
        / best[f"a tenth of the rows, {THREADS} threads"],
        f"{THREADS} threads against 1": best["1 thread"] / best[f"{THREADS} threads"],
        "training cost, ours": cost_of(costs, grown.predict(binned)),
        "training cost, sklearn": cost_of(costs, tree.predict(X).argmin(axis=1)),
    }
    show(f"{n_samples:,} x {n_features}, K = {n_classes}, depth 6, binning included", figures)
    return figures


def forest(n_samples=50_000, n_features=20, n_classes=5, n_trees=100, repeats=2):
    """Time a forest of depth 10, and compare what the decisions cost."""
    X, y = make_classification(
        2 * n_samples,
        n_features,
        n_informative=12,
        n_classes=n_classes,
        n_clusters_per_class=3,
        class_sep=0.7,
        weights=[0.5, 0.25, 0.13, 0.08],
        flip_y=0.05,
        random_state=0,
    )
    X, X_test, y, y_test = X[:n_samples], X[n_samples:], y[:n_samples], y[n_samples:]
    C = np.random.default_rng(1).uniform(1, 10, (n_classes, n_classes))
    C *= np.array([1, 2, 4, 6, 12])[:, None]  # the rarer the class, the more a miss costs
    np.fill_diagonal(C, 0)
    shape = {"n_estimators": n_trees, "max_depth": 10, "random_state": 0, "n_jobs": THREADS}
    runs = {
        "sklearn": lambda: RandomForestClassifier(**shape).fit(X, y),
        "ours": lambda: CostForestClassifier(C, **shape).fit(X, y),
    }
    CostForestClassifier(C, n_estimators=2, max_depth=2).fit(X[:500], y[:500])
    best, results = interleaved(runs, repeats)
    proba = results["sklearn"].predict_proba(X_test)
    ours = results["ours"].predict(X_test)
    figures = {
        "seconds": best,
        "times faster": best["sklearn"] / best["ours"],
        "average cost, ours": float(C[y_test, ours].mean()),
        "average cost, sklearn, most probable class": float(
            C[y_test, proba.argmax(axis=1)].mean()
        ),
        "average cost, sklearn, least expected cost": float(
            C[y_test, (proba @ C).argmin(axis=1)].mean()
        ),
    }
    show(f"{n_trees} trees, {n_samples:,} x {n_features}, K = {n_classes}, depth 10", figures)
    return figures


def memory(n_samples=1_000_000, n_features=20):
    """Measure the peak beyond X and the costs, in a process of its own."""
    environment = dict(os.environ)
    # freed memory is handed back at once, so that the peak is what was in use
    environment |= {"MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}
    command = [sys.executable, __file__, "--peak", str(n_samples), str(n_features)]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    peak = float(answer.stdout)
    figures = {
        "peak beyond X, y and the costs, MB": peak / 1e6,
        "binned copy, MB": n_samples * n_features / 1e6,
        "peak over binned copy": peak / (n_samples * n_features),
    }
    show(f"memory of CostTreeClassifier, {n_samples:,} x {n_features}, K = 5, depth 6", figures)
    return figures


def print_peak(n_samples, n_features):
    X, y, costs = make_costs(n_samples, n_features, 5)
    tree = CostTreeClassifier(max_depth=6)
    tree.fit(X[:30_000], y[:30_000], costs=costs[:30_000])  # compiled code is no data
    gc.collect()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the high-water mark starts anew
    before = read_status("VmRSS")
    tree.fit(X, y, costs=costs)
    print(read_status("VmHWM") - before)


def read_status(field):
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(field):
                return 1024 * int(line.split()[1])
    raise RuntimeError(f"{field} is not in the status of this process.")


def show(title, figures, indent=""):
    print(f"{indent}{title}", flush=True)
    for name, value in figures.items():
        if isinstance(value, dict):
            show(name, value, indent + "  ")
        else:
            print(f"{indent}  {name:55s} {value:10.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peak", nargs=2, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="*", help="some of: tree, large, memory, forest")
    arguments = parser.parse_args()
    if arguments.peak:
        print_peak(*arguments.peak)
        return
    figures = {}
    parts = {
        "tree": lambda: {
            "numeric": one_tree("numeric", 20_000, 30, 6),
            "shape of Connect-4": one_tree(
                "shape of Connect-4", 67_557, 42, 3, n_values=3, categorical=True
            ),
            "shape of Letter": one_tree("shape of Letter", 20_000, 16, 26, n_values=16),
        },
        "large": large_tree,
        "memory": memory,
        "forest": forest,
    }
    for name, part in parts.items():
        if not arguments.only or name in arguments.only:
            figures[name] = part()
            if not arguments.only:
                store("tree", figures)


if __name__ == "__main__":
    main()
