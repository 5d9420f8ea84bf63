"""Every method of the registry with 500 classes of three rows each: processor time and memory.

Each runs in a process of its own on one core, after a small fit that compiles and imports what it
uses. Classifiers have their default settings, but for those in `SETTINGS`; rules learn from the probabilities of naive Bayes.
The peak is that of the whole process: the imports alone take about 300 MB.

    python benchmarks/many_classes.py                 # all, stored in results/many_classes.json
    python benchmarks/many_classes.py forest arcx4    # only these, printed
"""

import json
import os
import subprocess
import sys

N_CLASSES, N_ROWS, N_FEATURES = 500, 1500, 5
SECONDS, MEGABYTES = 40, 2000  # what is asked
PATIENCE = 200  # seconds of the processor after which a process is ended
# By default a hyperplane for each of 124,750 pairs of classes, each on all rows: hours.
SETTINGS = {"L1LinearSVC": {"multi_class": "ovr"}}
ALONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def make_problem(n_classes, n_rows, seed=0):
    """Return rows around a centre for each class, the classes, and the prices of mistakes."""
    import numpy as np

    from stakes.costs import random_uniform

    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_rows) % n_classes)
    X = 3 * rng.normal(size=(n_classes, N_FEATURES))[y] + rng.normal(size=(n_rows, N_FEATURES))
    return X, y, random_uniform(n_classes, random_state=seed).values


def fit_and_predict(cls, X, y, matrix):
    """Fit a classifier or a rule; return its decisions."""
    from sklearn.base import ClassifierMixin
    from sklearn.naive_bayes import GaussianNB

    if issubclass(cls, ClassifierMixin):
        settings = SETTINGS.get(cls.__name__, {})
        return cls(cost_matrix=matrix, **settings).fit(X, y).predict(X)
    proba = GaussianNB(var_smoothing=0.01).fit(X, y).predict_proba(X)
    return cls(cost_matrix=matrix).fit(proba, y).predict(proba)


def measure(name):
    """Print what one method took, as JSON."""
    import resource
    import time
    import warnings

    from stakes.compare._registry import find_method
    from stakes.tree import CostTreeClassifier

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
    cls = find_method(name).cls
    CostTreeClassifier().fit(
        *make_problem(300, 300)[:2]
    )  # classes beyond 255 have kernels of their own
    try:
        fit_and_predict(cls, *make_problem(5, 60))
        X, y, matrix = make_problem(N_CLASSES, N_ROWS)
        begun = time.process_time()
        decided = fit_and_predict(cls, X, y, matrix)
    except ValueError as error:
        print(json.dumps({"class": cls.__name__, "refused": str(error)}))
        return
    found = {
        "class": cls.__name__,
        "seconds": round(time.process_time() - begun, 2),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000,
        "average_cost": round(float(matrix[y, decided].mean()), 4),
    }
    print(json.dumps(found))


def measure_apart(name):
    """Return what one method took, in a process that is ended where it takes too long."""
    done = subprocess.run(
        [sys.executable, __file__, "--measure", name],
        env={**os.environ, **ALONE},
        stdout=subprocess.PIPE,
        text=True,
    )
    lines = done.stdout.splitlines()
    return json.loads(lines[-1]) if lines else {"ended": done.returncode}


def main(names):
    from stakes.compare import list_methods

    figures = {}
    for name in names or list_methods().index:
        found = figures[name] = measure_apart(name)
        if "seconds" not in found:
            print(f"{name:18s} {found}", flush=True)
            continue
        over = found["seconds"] > SECONDS or found["peak_mb"] > MEGABYTES
        print(f"{name:18s} {found['seconds']:8.2f} s {found['peak_mb']:6,d} MB"
              f"{'  over' * over}", flush=True)  # fmt: skip
    if not names:
        from _results import store

        store("many_classes", figures)


if __name__ == "__main__":
    measure(sys.argv[2]) if sys.argv[1:2] == ["--measure"] else main(sys.argv[1:])
