"""Reductions: speed against `costsensitive`, memory of GBSE, what a reduction adds to its fits.

Usage: python benchmarks/reductions.py [csovo] [memory] [overhead] [kdd99] [table3] [annealing]

Without arguments all parts run. Data come from the folder named by STAKES_DATA; the parts that
need the `costsensitive` package say so where it is not installed.
"""

import pickle
import sys
import time
import tracemalloc
from functools import partial

import numba
import numpy as np
from _results import store
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from stakes.costs import random_abe
from stakes.datasets import load_dataset
from stakes.metrics import average_cost
from stakes.reductions import (
    AverageCostClassifier,
    CostingClassifier,
    CostSensitiveOneVsOneClassifier,
    DataSpaceExpansionClassifier,
    GBSEClassifier,
    IterativeWeightingClassifier,
    MetaCostClassifier,
)
from stakes.reproduce import abe2004
from stakes.tree import CostTreeClassifier

numba.set_num_threads(1)  # both sides on one thread


def clock(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def split(name, seed=0):
    """Two thirds to train, and a random cost matrix of the protocol of abe2004."""
    data = load_dataset(name)
    codes = np.unique(data.y, return_inverse=True)[1]
    rows = np.arange(len(codes))
    train, test = train_test_split(rows, train_size=2 / 3, random_state=seed)
    return data.X, codes, train, test, random_abe(codes[train], random_state=seed).values


def deep_tree(leaf):
    return CostTreeClassifier(criterion="variance", min_samples_leaf=leaf)


# -- CSOVO on Letter ---------------------------------------------------------------------------


def bench_csovo(rounds=3):
    """Fit and predict 325 pairs: theirs, ours with the same tree, ours with the cost tree.

    Each round has a split and costs of its own: the best of the times, the mean of the costs.
    """
    X, y, train, test, C = split("letter")
    X = X.to_numpy()

    def theirs():
        from costsensitive import WeightedAllPairs

        tree = DecisionTreeClassifier(random_state=0)
        return WeightedAllPairs(tree, weigh_by_cost_diff=True, njobs=1)

    def ours(tree):
        return CostSensitiveOneVsOneClassifier(tree, cost_matrix=C, random_state=0)

    candidates = {
        "ours, DecisionTreeClassifier": lambda: ours(DecisionTreeClassifier()),
        "ours, CostTreeClassifier": lambda: ours(deep_tree(1)),
    }
    try:
        theirs()
    except ImportError:
        print("costsensitive is not installed: only ours is timed")
    else:
        candidates = {"costsensitive": theirs, **candidates}
    warm = train[:2000]
    ours(deep_tree(1)).fit(X[warm], y[warm]).predict(X[warm])  # compile
    best: dict = {}
    for seed in range(rounds):
        _, y, train, test, C = split("letter", seed)
        for name, make in candidates.items():
            target = C[y[train]] if name == "costsensitive" else y[train]
            fit, model = clock(partial(make().fit, X[train], target))
            predict, decided = min(
                (clock(partial(model.predict, X[test])) for _ in range(3)),
                key=lambda timed: timed[0],
            )
            cost = float(C[y[test], decided].mean())
            before = best.get(name, (np.inf, np.inf, 0.0))
            best[name] = (
                min(fit, before[0]),
                min(predict, before[1]),
                before[2] + cost / rounds,
            )
    for name, (fit, predict, cost) in best.items():
        print(f"{name:30s} fit {fit:7.2f} s  predict {predict:6.3f} s  average cost {cost:.2f}")
    rows = {
        name: {"fit_seconds": fit, "predict_seconds": predict, "average_cost": cost}
        for name, (fit, predict, cost) in best.items()
    }
    if "costsensitive" in best:
        for name in list(candidates)[1:]:
            fit = best["costsensitive"][0] / best[name][0]
            predict = best["costsensitive"][1] / best[name][1]
            print(f"{name}: fit {fit:.2f} x faster, predict {predict:.2f} x faster")
            rows[name].update(times_faster_fit=fit, times_faster_predict=predict)
    return rows


# -- memory of GBSE on Letter ------------------------------------------------------------------


def bench_memory():
    """Measure the peak of 30 rounds beyond X and the costs, in arrays of the costs' size.

    Python's own account of NumPy's memory; a fitted scikit-learn tree is not in it, so that the
    size of the fitted model is given too.
    """
    X, y, train, _, C = split("letter")
    X, y = X.to_numpy()[train], y[train]
    costs = C[y]
    rows = {}
    for name, tree, sampling in (
        ("CostTreeClassifier, weights", None, "weights"),
        ("CostTreeClassifier, rejection", None, "rejection"),
        ("DecisionTreeClassifier, rejection", DecisionTreeClassifier(), "rejection"),
    ):
        model = GBSEClassifier(tree, sampling=sampling, random_state=0)
        model.set_params(n_estimators=1).fit(X[:3000], y[:3000], costs=costs[:3000])  # compile
        tracemalloc.start()
        model.set_params(n_estimators=30).fit(X, y, costs=costs)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        fitted = len(pickle.dumps(model))
        plain = costs.size * (X.shape[1] + costs.shape[1]) * 8
        rows[name] = {
            "peak_arrays_of_costs": peak / costs.nbytes,
            "model_arrays_of_costs": fitted / costs.nbytes,
            "plain_expansion_arrays_of_costs": plain / costs.nbytes,
        }
        print(
            f"GBSE, {name:34s} peak {peak / costs.nbytes:5.2f} arrays of the costs (the fitted "
            f"model {fitted / costs.nbytes:.2f}); a plain expansion {plain / costs.nbytes:.0f}"
        )
    return rows


# -- what a reduction adds to its base fits ----------------------------------------------------


class TimedTree(DecisionTreeClassifier):
    """A tree that adds up the time of its fits."""

    seconds = 0.0

    def fit(self, X, y, sample_weight=None, check_input=True):
        """Fit, and add the time it took."""
        start = time.perf_counter()
        super().fit(X, y, sample_weight=sample_weight, check_input=check_input)
        TimedTree.seconds += time.perf_counter() - start
        return self


def bench_overhead(n_samples=100_000):
    """Time each reduction beyond the sum of its base fits, 100,000 rows."""
    X, y = make_classification(
        n_samples, n_features=15, n_informative=8, n_classes=4, flip_y=0.1, random_state=0
    )
    C = random_abe(y, random_state=0).values
    tree = TimedTree(min_samples_leaf=5)
    models = {
        "AverageCost": AverageCostClassifier(tree, n_estimators=5),
        "AverageCost, rejection": AverageCostClassifier(
            tree, n_estimators=5, sampling="rejection"
        ),
        "Costing": CostingClassifier(tree, n_estimators=5),
        "IterativeWeighting": IterativeWeightingClassifier(tree, n_iterations=3, n_estimators=3),
        "DataSpaceExpansion": DataSpaceExpansionClassifier(
            tree, n_estimators=3, sampling="rejection"
        ),
        "GBSE": GBSEClassifier(tree, n_estimators=3, sampling="rejection"),
        "GBSE, weights": GBSEClassifier(tree, n_estimators=3, sampling="weights"),
        "MetaCost": MetaCostClassifier(tree, n_estimators=5),
        "MetaCost, relabel": MetaCostClassifier(tree, n_estimators=5, relabel=True),
        "CSOVO": CostSensitiveOneVsOneClassifier(tree),
    }
    rows = {}
    for name, model in models.items():
        TimedTree.seconds = 0.0
        model.set_params(cost_matrix=C, random_state=0)
        total, _ = clock(lambda model=model: model.fit(X, y))
        share = total / TimedTree.seconds - 1.0
        rows[name] = {"fit_seconds": total, "base_fits": TimedTree.seconds, "overhead": share}
        print(f"{name:24s} {total:6.2f} s, base fits {TimedTree.seconds:6.2f} s: +{share:.1%}")
    return rows


# -- KDD-99 ------------------------------------------------------------------------------------


def bench_kdd99():
    """Fit DSE with 30 members on 131,807 rows, against 30 bare trees on all rows."""
    X, y, train, _, C = split("kdd99")
    X, y = X.iloc[train], y[train]
    warm = np.unique(np.concatenate([np.flatnonzero(y == k)[:200] for k in range(len(C))]))
    CostTreeClassifier().fit(X.iloc[warm], y[warm])
    rows = {}
    for sampling in ("rejection", "weights"):
        model = DataSpaceExpansionClassifier(cost_matrix=C, sampling=sampling, random_state=0)
        model.fit(X.iloc[warm], y[warm])
        seconds, _ = clock(lambda model=model: model.fit(X, y))
        rows[f"DSE, {sampling}"] = seconds
    one, _ = clock(
        lambda: CostTreeClassifier(C, criterion="variance", min_samples_leaf=2).fit(X, y)
    )
    rows["30 bare cost trees"] = 30 * one
    encoded = X.apply(lambda c: c.cat.codes if c.dtype == "category" else c).to_numpy(float)
    one, _ = clock(lambda: DecisionTreeClassifier(min_samples_leaf=2).fit(encoded, y))
    rows["30 bare DecisionTreeClassifier"] = 30 * one
    for name, seconds in rows.items():
        print(f"{name:32s} {seconds:7.2f} s")
    return {name: {"seconds": seconds} for name, seconds in rows.items()}


# -- Table 3: how much data the methods use ----------------------------------------------------


def bench_table3():
    """Count the examples or pairs used in 30 rounds of rejection sampling."""
    rows = {}
    for name, share in (("annealing", 2 / 3), ("flare7", 2 / 3), ("kdd99", 0.1)):
        X, y, train, _, C = split(name)
        X, y = X.iloc[train], y[train]
        C = random_abe(y, random_state=0).values
        y = np.unique(y, return_inverse=True)[1]
        used = {"Bagging": 30 * share * len(y)}
        for Model in (AverageCostClassifier, DataSpaceExpansionClassifier, GBSEClassifier):
            model = Model(deep_tree(2), cost_matrix=C, sampling="rejection", n_estimators=30)
            model.set_params(random_state=0).fit(X, y)
            used[Model.__name__] = int(model.n_samples_used_.sum())
        rows[name] = used
        shares = ", ".join(f"{k} {v / used['Bagging']:.1%}" for k, v in used.items())
        print(f"{name}: {used['Bagging']:.0f} examples in bagging; {shares}")
    return rows


# -- Annealing: the paper's sampling over a tree that could fit every row -------------------------


def bench_annealing(n_runs=20, n_seeds=4):
    """Average costs of GBSE and IW by default and with weights, on the splits of the paper's runs.

    The classifier is a user's own, `DecisionTreeClassifier(min_samples_leaf=2)`. A run in which a
    dear class is missed moves the mean: so there are several seeds of the methods, each on all runs.
    """
    tree = DecisionTreeClassifier(min_samples_leaf=2)
    iterations = {"n_iterations": 30, "n_estimators": 10}
    candidates = {
        "GBSE": partial(GBSEClassifier, tree, n_estimators=30),
        "IW": partial(IterativeWeightingClassifier, tree, **iterations),
    }
    weights = {
        "GBSE, weights": partial(candidates["GBSE"], sampling="weights"),
        "IW, weights": partial(candidates["IW"], sampling="weights", voting="soft"),
    }
    rows = {}
    for name, Model in (candidates | weights).items():
        means = []
        for seed in range(1 if name in weights else n_seeds):
            costs = [one_annealing(Model, run, seed) for run in range(n_runs)]
            means.append(float(np.mean(costs)))
            error = float(np.std(costs, ddof=1) / np.sqrt(n_runs))
            print(f"{name:14s} random_state={seed}: {means[-1]:6.1f} ± {error:.1f}")
            rows[f"{name}, random_state={seed}"] = {"average_cost": means[-1], "error": error}
    return rows


def one_annealing(Model, run, seed):
    """Return the average cost of one method on one run of the paper's protocol."""
    parts = abe2004.PAPER.make_split("annealing", run)
    X_train, X_test = abe2004.filled(parts)
    model = Model(cost_matrix=parts.cost_matrix, random_state=seed)
    model.fit(X_train, parts.y_train.astype(str))
    return average_cost(
        parts.y_test.astype(str), model.predict(X_test), cost_matrix=parts.cost_matrix
    )


PARTS = {
    "annealing": bench_annealing,
    "csovo": bench_csovo,
    "memory": bench_memory,
    "overhead": bench_overhead,
    "kdd99": bench_kdd99,
    "table3": bench_table3,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        print(f"-- {part}")
        store(f"reductions_{part}", PARTS[part]())
