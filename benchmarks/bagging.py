"""Speed of bacing: warm linear programmes against cold ones, and growth with the data.

Run it with STAKES_DATA set to a folder of data sets for Pima and Vehicle12; without it,
only WDBC and the growth are measured.

    python benchmarks/bagging.py
"""

import time

import numpy as np
from _results import store
from scipy import sparse
from scipy.optimize import linprog
from sklearn.datasets import make_classification

from stakes.bagging import BacingClassifier
from stakes.datasets import load_dataset

ROUNDS = 100
REPEATS = 3


def primal_cold(X, signs, costs):
    """Solve LP (3) as it is printed, alpha = p - q: the form that one would write."""
    n, n_features = X.shape
    margins = signs[:, None] * X
    rows = sparse.hstack([-margins, margins, -signs[:, None], -sparse.eye(n)], format="csc")
    low = np.concatenate([np.zeros(2 * n_features), [-np.inf], np.zeros(n)])
    solved = linprog(
        np.concatenate([np.ones(2 * n_features), [0.0], costs]),
        A_ub=rows,
        b_ub=-np.ones(n),
        bounds=np.column_stack([low, np.full(len(low), np.inf)]),
        method="highs",
    )
    return solved.fun


def dual_cold(X, signs, costs):
    """Solve the dual, which is what bacing keeps."""
    n, n_features = X.shape
    margins = (signs[:, None] * X).T
    solved = linprog(
        -np.ones(n),
        A_ub=np.vstack([margins, -margins]),
        b_ub=np.ones(2 * n_features),
        A_eq=signs[None, :],
        b_eq=[0.0],
        bounds=np.column_stack([np.zeros(n), costs]),
        method="highs",
    )
    return -solved.fun


COLD = {"primal": primal_cold, "dual": dual_cold}


def seconds(call):
    """Return what a call gives, and how long it took on the clock and on the processor."""
    clock, cpu = time.perf_counter(), time.process_time()
    value = call()
    return value, (time.perf_counter() - clock, time.process_time() - cpu)


def warm_against_cold(X, y):
    """Time bacing and cold solves of its very problems in turn; return the figures."""
    signs = np.where(y == np.unique(y)[1], 1.0, -1.0)
    best = {name: np.full(2, np.inf) for name in ("bacing", *COLD)}
    worst = {}
    for _ in range(REPEATS):
        model, took = seconds(
            lambda: BacingClassifier(n_estimators=ROUNDS, random_state=0).fit(X, y)
        )
        best["bacing"] = np.minimum(best["bacing"], took)
        ours = np.array([member.objective_ for member in model.estimators_])
        bags = [np.bincount(rows, minlength=len(y)) for rows in model.estimators_samples_]
        problems = []
        for bag, costs in zip(bags, model.cost_history_):
            inside = bag > 0  # an example outside the bag has no cost, and is spared them
            problems.append((X[inside], signs[inside], (bag * costs)[inside]))
        for name, solve in COLD.items():
            theirs, took = seconds(lambda s=solve, p=problems: [s(*problem) for problem in p])
            best[name] = np.minimum(best[name], took)
            gap = np.abs(ours - theirs) / np.maximum(1.0, np.abs(theirs))
            worst[name] = float(gap.max())
    figures = {"n_samples": len(y), "n_features": X.shape[1], "rounds": ROUNDS}
    figures["bacing_seconds"] = round(float(best["bacing"][0]), 4)
    for name in COLD:
        clock, cpu = best[name] / best["bacing"]
        figures[f"cold_{name}"] = {
            "seconds": round(float(best[name][0]), 4),
            "times_slower": round(float(clock), 2),
            "times_slower_cpu": round(float(cpu), 2),
            "largest_relative_difference_of_objectives": worst[name],
        }
    return figures


def growth(small=500, large=5000, n_features=30):
    """Time bacing at two sizes of one kind of data; return the figures."""
    best = {n: np.full(2, np.inf) for n in (small, large)}
    data = {
        n: make_classification(n, n_features, n_informative=10, flip_y=0.1, random_state=0)
        for n in best
    }
    for _ in range(REPEATS):
        for n, (X, y) in data.items():
            _, took = seconds(
                lambda X=X, y=y: BacingClassifier(n_estimators=20, random_state=0).fit(X, y)
            )
            best[n] = np.minimum(best[n], took)
    clock, cpu = best[large] / best[small]
    return {
        "sizes": [small, large],
        "n_features": n_features,
        "seconds_per_round": [round(float(best[n][0]) / 20, 5) for n in best],
        "times_longer": round(float(clock), 2),
        "times_longer_cpu": round(float(cpu), 2),
    }


def main():
    figures = {}
    for name in ("wdbc", "pima", "vehicle12"):
        try:
            data = load_dataset(name)
        except (OSError, ValueError) as error:
            print(f"{name}: left out ({error})")
            continue
        figures[name] = row = warm_against_cold(data.X.to_numpy(dtype=float), data.y)
        for form in COLD:
            cold = row[f"cold_{form}"]
            print(
                f"{name}: {ROUNDS} rounds of bacing {row['bacing_seconds']:.3f} s; the same "
                f"problems cold ({form}) take {cold['times_slower']:.1f} times as long "
                f"({cold['times_slower_cpu']:.1f} on the processor), objectives within "
                f"{cold['largest_relative_difference_of_objectives']:.0e}"
            )
    figures["growth"] = row = growth()
    print(
        f"from {row['sizes'][0]} to {row['sizes'][1]} examples: {row['times_longer']:.1f} times "
        f"as long ({row['times_longer_cpu']:.1f} on the processor)"
    )
    print("stored", store("bagging", figures).name)


if __name__ == "__main__":
    main()
