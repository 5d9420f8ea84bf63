"""Speed and memory of the decision rules, as ratios in one run.

Times are of the processor, one thread: a busy machine then hurts both sides alike.
"""

import argparse
import gc
import json
import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import psutil
from _results import RESULTS, store
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.preprocessing import StandardScaler
from sklearn.utils._testing import ignore_warnings

from stakes.costs import Costs
from stakes.datasets import load_dataset
from stakes.decision import (
    BinaryThreshold,
    ClassThresholds,
    CostDecisionClassifier,
    MinimumExpectedCost,
    ParallelPartition,
)
from stakes.decision._descent import by_population, one_pass
from stakes.decision._families import Shifts
from stakes.decision._sweep import Examples


def best_of(repeats, **contestants):
    """Return the best time of each contestant; interleaved, so that a busy moment hits all."""
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(repeats):
        for name, run in contestants.items():
            gc.collect()
            start = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - start)
    return best


def draw(n, n_classes, seed=0, power=0.5):
    """Draw classes, and the smoothed probabilities that a model might say."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.full(n_classes, 0.5), size=n)
    y = (rng.random(n)[:, None] > true[:, :-1].cumsum(axis=1)).sum(axis=1)
    said = true**power
    return said / said.sum(axis=1, keepdims=True), y


def draw_costs(n_classes, seed=0):
    costs = np.random.default_rng(seed).uniform(1, 10, size=(n_classes, n_classes))
    np.fill_diagonal(costs, 0)
    return costs


def least_expected_cost(n, repeats):
    proba, _ = draw(n, 10)
    costs = draw_costs(10)
    rule = MinimumExpectedCost(cost_matrix=costs).fit(proba[:1000], np.arange(1000) % 10)
    best = best_of(
        repeats,
        bare=lambda: (proba @ costs).argmin(axis=1),
        decide=lambda: rule.decide(proba),
        predict=lambda: rule.predict(proba),
    )
    return {
        "decide / (product and argmin), at most 2": round(best["decide"] / best["bare"], 2),
        "predict / (product and argmin), at most 2": round(best["predict"] / best["bare"], 2),
    }


def one_sweep(n, repeats):
    n_classes = 10
    proba, y = draw(n, n_classes)
    costs = draw_costs(n_classes)
    examples = Examples(Costs(y, matrix=costs))
    order = by_population(y, n_classes)
    floats = np.random.default_rng(1).random((n_classes, n))

    def sweep():
        family = Shifts(proba, costs)
        start = examples.total(family.scores(family.initial()))
        one_pass(family, family.initial(), order, examples, start, literal=True)

    rule = ParallelPartition(cost_matrix=costs)
    rule.fit(proba[:50_000], y[:50_000])  # compiles the kernels
    best = best_of(
        repeats,
        argsorts=lambda: [np.argsort(row) for row in floats],
        sweep=sweep,
        fit=lambda: rule.fit(proba, y),
    )
    return {
        "pass over 10 classes / 10 argsorts, at most 4": round(
            best["sweep"] / best["argsorts"], 2
        ),
        "ParallelPartition.fit / 10 argsorts": round(best["fit"] / best["argsorts"], 2),
    }


class Timed(ClassifierMixin, BaseEstimator):
    """A model that adds up the time spent in it."""

    seconds = 0.0

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        """Fit the model inside."""
        start = time.process_time()
        self.model_ = clone(self.model).fit(X, y)
        self.classes_ = self.model_.classes_
        Timed.seconds += time.process_time() - start
        return self

    def predict_proba(self, X):
        """Ask the model inside."""
        start = time.process_time()
        proba = self.model_.predict_proba(X)
        Timed.seconds += time.process_time() - start
        return proba


COSTS = np.array([[0.0, 1.0], [20.0, 0.0]])


def by_confusion_matrix(y, decided):
    """Return minus the cost, as scikit-learn's example of cost-sensitive learning does."""
    return -(confusion_matrix(y, decided, labels=[0, 1]) * COSTS).sum()


def by_bare_sums(y, decided):
    """Return minus the cost by the least arithmetic that does it."""
    return -(((decided == 1) & (y == 0)).sum() + 20.0 * ((decided == 0) & (y == 1)).sum())


def binary_threshold(n, repeats):
    X, y = make_classification(
        2 * n, n_features=10, weights=[0.95], flip_y=0.05, class_sep=0.7, random_state=0
    )
    X, X_test, y, y_test = X[:n], X[n:], y[:n], y[n:]
    model = Timed(LogisticRegression())
    ours = CostDecisionClassifier(model, cost_matrix=COSTS, rule="binary_threshold", cv=5)
    theirs = {
        score.__name__: TunedThresholdClassifierCV(
            model, scoring=make_scorer(score), thresholds=1000, cv=5
        )
        for score in (by_confusion_matrix, by_bare_sums)
    }
    ours.fit(X[:2000], y[:2000])  # compiles the kernels
    beyond = {}
    for name, tuned in [("ours", ours), *theirs.items(), *[("ours", ours)] * (repeats - 1)]:
        Timed.seconds = 0.0
        start = time.process_time()
        tuned.fit(X, y)
        spent = time.process_time() - start - Timed.seconds
        beyond[name] = min(beyond.get(name, np.inf), spent)
    cost = {
        name: -by_bare_sums(y_test, tuned.predict(X_test)) / len(y_test)
        for name, tuned in {"ours": ours, **theirs}.items()
    }
    tuned = theirs["by_confusion_matrix"]
    return {
        "times faster beyond the model fits, at least 50": round(
            beyond["by_confusion_matrix"] / beyond["ours"], 1
        ),
        "the same where they score by bare sums": round(
            beyond["by_bare_sums"] / beyond["ours"], 1
        ),
        "seconds beyond the fits, ours": round(beyond["ours"], 3),
        "test cost, ours / theirs": round(cost["ours"] / cost["by_confusion_matrix"], 4),
        "cost on the held-out probabilities, ours": round(ours.rule_.cost_, 5),
        "cost on the held-out probabilities, theirs": round(-tuned.best_score_ * 5 / n, 5),
    }


def histogram(n, n_chunks=20):
    costs_2, costs_3 = np.array([[0.0, 3.0], [1.0, 0.0]]), draw_costs(3)
    process = psutil.Process()
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for k in (2, 3):
            for chunk in range(n_chunks):
                proba, y = draw(n // n_chunks, k, seed=chunk)
                np.savez(Path(folder) / f"{k}-{chunk}.npz", proba=proba, y=y.astype(np.int8))

        def read(k):
            for chunk in range(n_chunks):
                with np.load(Path(folder) / f"{k}-{chunk}.npz") as part:
                    yield part["proba"], part["y"]

        rule = BinaryThreshold(cost_matrix=costs_2)
        used = []
        for proba, y in read(2):
            rule.partial_fit(proba, y)
            del proba, y
            used.append(process.memory_info().rss / 2**20)
        figures["BinaryThreshold, MB from chunk 2 to the last"] = round(used[-1] - used[1], 1)
        partition = ParallelPartition(cost_matrix=costs_3)
        used = []

        def watched():
            for item in read(3):
                yield item
                used.append(process.memory_info().rss / 2**20)

        partition.fit_chunks(watched)
        figures["ParallelPartition, MB from chunk 2 to the last reading"] = round(
            used[-1] - used[1], 1
        )
        for name, chunked, k, c in (
            ("BinaryThreshold", rule, 2, costs_2),
            ("ParallelPartition", partition, 3, costs_3),
        ):
            parts = list(read(k))
            proba = np.vstack([p for p, _ in parts])
            y = np.concatenate([y for _, y in parts]).astype(np.intp)
            del parts
            exact = type(chunked)(cost_matrix=c).fit(proba, y)
            figures[f"{name}, cost above the exact sweep's in %, at most 0.1"] = round(
                100 * (chunked.cost_ / exact.cost_ - 1), 5
            )
    return figures


def letters():
    """Return 4,000 letters where the data are at hand, else something like them."""
    if os.environ.get("STAKES_DATA"):
        data = load_dataset("letter")
        chosen = np.random.default_rng(0).permutation(len(data.y))[:4000]
        return data.X.to_numpy(float)[chosen], np.asarray(data.y)[chosen]
    return make_classification(
        4000, n_features=16, n_informative=16, n_redundant=0, n_classes=26, random_state=0
    )


@ignore_warnings(category=ConvergenceWarning)
def class_thresholds(repeats):
    X, y = letters()
    scaled = StandardScaler().fit_transform(X)
    model = LogisticRegression()
    proba = clone(model).fit(scaled, y).predict_proba(scaled)
    rule = ClassThresholds(cost_matrix=draw_costs(26), n_restarts=10, random_state=0)
    rule.fit(proba, y)
    best = best_of(
        repeats,
        raw=lambda: clone(model).fit(X, y),
        scaled=lambda: clone(model).fit(scaled, y),
        rule=lambda: rule.fit(proba, y),
    )
    return {
        "10 restarts / LogisticRegression on the data, at most 3": round(
            best["rule"] / best["raw"], 2
        ),
        "10 restarts / LogisticRegression on standardised data": round(
            best["rule"] / best["scaled"], 2
        ),
        "seconds of the LogisticRegression fit": round(best["raw"], 3),
        "training cost, before and after": [round(rule.initial_cost_, 3), round(rule.cost_, 3)],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing stored")
    parser.add_argument("--only", nargs="*", help="some of: expected sweep binary classes chunks")
    options = parser.parse_args()
    quick = options.quick
    million = 100_000 if quick else 1_000_000
    parts = {
        "expected": (
            "MinimumExpectedCost, 1,000,000 x 10",
            lambda: least_expected_cost(million, 9),
        ),
        "sweep": (
            "one sweep pass, 1,000,000 x 10",
            lambda: one_sweep(million, 3 if quick else 7),
        ),
        "binary": (
            "BinaryThreshold against TunedThresholdClassifierCV, 200,000 rows",
            lambda: binary_threshold(20_000 if quick else 200_000, 1 if quick else 3),
        ),
        "classes": ("ClassThresholds, 4,000 x 26", lambda: class_thresholds(5)),
        "chunks": (
            "histogram, 10,000,000 rows in 20 chunks",
            lambda: histogram(200_000 if quick else 10_000_000),
        ),
    }
    stored = RESULTS / "decision.json"
    for key, (name, run) in parts.items():
        if options.only and key not in options.only:
            continue
        found = run()
        print(name, flush=True)
        for what, value in found.items():
            print(f"    {what:66s} {value}", flush=True)
        if not quick:
            before = json.loads(stored.read_text())["figures"] if stored.exists() else {}
            store("decision", {**before, name: found})


if __name__ == "__main__":
    main()
