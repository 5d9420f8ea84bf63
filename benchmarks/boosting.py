"""Boosting on costs against scikit-learn's AdaBoost: speed, and the published comparisons.

``python benchmarks/boosting.py speed`` times fits and predictions, ours and theirs in turns;
``quality`` runs 5-fold cross-validations; without an argument both. Two cores are used where
a method can use them: scikit-learn's trees grow on one.
"""

import sys
import time
import warnings

import numpy as np
from _results import store
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from stakes.boosting import (
    AdaBoostMMClassifier,
    AdaBoostNCClassifier,
    CoMBoClassifier,
    SMOTEBoostClassifier,
)
from stakes.datasets import load_dataset
from stakes.metrics import confusion_norm, geometric_mean_score, mauc_score

N_ROUNDS = 200
N_JOBS = 2


def numbers(frame):
    """Return a table as numbers, categories as codes: what both libraries take."""
    columns = [
        frame[name].cat.codes if hasattr(frame[name], "cat") else frame[name] for name in frame
    ]
    return np.column_stack(columns).astype(np.float64)


# -- speed ---------------------------------------------------------------------------------


def time_fits(name, n_times=2):
    """Time fits and predictions in turns: by the wall on two cores, and in processor time.

    Processor time is that of ours on one thread; it says the same on a busy machine.
    """
    data = load_dataset(name)
    X, y = numbers(data.X), data.y
    models = {
        "ours": CoMBoClassifier(n_estimators=N_ROUNDS, n_jobs=N_JOBS),
        "ours_one_thread": CoMBoClassifier(n_estimators=N_ROUNDS, n_jobs=1),
        "theirs": AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=N_ROUNDS),
    }
    for n_jobs in (1, N_JOBS):  # compiled once
        CoMBoClassifier(n_estimators=2, n_jobs=n_jobs).fit(X, y).predict(X)
    seconds = {}
    for _ in range(n_times):
        for which, model in models.items():
            for what, call in (("fit", lambda m=model: m.fit(X, y)), ("predict", None)):
                call = call or (lambda m=model: m.predict(X))
                for clock, value in zip(("wall", "processor"), timed(call)):
                    key = f"{which}, {what}, {clock}"
                    seconds[key] = min(value, seconds.get(key, np.inf))
    result = {
        "rows": len(y),
        "features": X.shape[1],
        "classes": len(models["ours"].classes_),
        "rounds": {"ours": models["ours"].n_iter_, "theirs": len(models["theirs"].estimators_)},
        "seconds": seconds,
        "ratios": {
            f"{what}, {label}": seconds[f"theirs, {what}, {clock}"]
            / seconds[f"{which}, {what}, {clock}"]
            for what in ("fit", "predict")
            for label, which, clock in (
                ("wall, two threads", "ours", "wall"),
                ("processor time, one thread", "ours_one_thread", "processor"),
            )
        },
        "confusion_norm": {
            which: confusion_norm(y, models[which].predict(X)) for which in ("ours", "theirs")
        },
        "share_outside_trees": share_outside_trees(X, y),
    }
    print(
        f"{name}: "
        + "; ".join(f"{what} {ratio:.1f}x" for what, ratio in result["ratios"].items())
        + "; confusion norm {ours:.3f} against {theirs:.3f}".format(**result["confusion_norm"])
        + f"; outside the trees {result['share_outside_trees']:.0%}",
        flush=True,
    )
    return result


def share_outside_trees(X, y, n_times=3):
    """Return the share of a fit that is not spent in growing trees."""
    from stakes.tree.engine import TreeGrower

    grow, spent = TreeGrower.grow, []

    def watched(*args, **kwargs):
        start = time.process_time()
        grown = grow(*args, **kwargs)
        spent.append(time.process_time() - start)
        return grown

    shares = []
    TreeGrower.grow = watched
    try:
        for _ in range(n_times):
            spent.clear()
            model = CoMBoClassifier(n_estimators=N_ROUNDS, n_jobs=1)
            _, total = timed(lambda model=model: model.fit(X, y))
            shares.append(1 - sum(spent) / total)
    finally:
        TreeGrower.grow = grow
    return min(shares)


def timed(call):
    """Return the seconds that a call takes: by the wall, and of the processor."""
    start = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - start[0], time.process_time() - start[1]


# -- quality -------------------------------------------------------------------------------

# Published G-mean and confusion norm of CoMBo and of AdaBoost.MM: Tables 2 and 3 of Koço and
# Capponi (2013); their rivals are Wang and Yao's.
PUBLISHED = {
    "car": {"CoMBo": (0.967, 0.082), "AdaBoost.MM": (0.954, 0.116), "NC": 0.924, "SMOTE": 0.944},
    "balance": {"CoMBo": (0.675, 0.460), "AdaBoost.MM": (0.566, 0.559), "NC": 0.321, "SMOTE": 0},
    "satimage": {"CoMBo": (0.825, None), "NC": 0.881, "SMOTE": 0.898},
    "connect4": {"CoMBo": (0.703, 0.308), "AdaBoost.MM": (0.497, 0.670)},
}


def cross_validate(name, seed=0):
    data = load_dataset(name)
    methods = {
        "CoMBo": CoMBoClassifier(n_estimators=N_ROUNDS, n_jobs=N_JOBS),
        "AdaBoost.MM": AdaBoostMMClassifier(n_estimators=N_ROUNDS, n_jobs=N_JOBS),
    }
    if name != "connect4":
        methods["AdaBoost.NC"] = AdaBoostNCClassifier(
            n_estimators=51, n_jobs=N_JOBS, random_state=0
        )
        methods["SMOTEBoost"] = SMOTEBoostClassifier(
            n_estimators=N_ROUNDS, n_jobs=N_JOBS, random_state=0
        )
    scores = {method: {"g_mean": [], "norm": [], "mauc": []} for method in methods}
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    for train, test in folds.split(data.X, data.y):
        for method, model in methods.items():
            model.fit(data.X.iloc[train], data.y[train])
            decided, truth = model.predict(data.X.iloc[test]), data.y[test]
            proba = model.predict_proba(data.X.iloc[test])
            scores[method]["g_mean"].append(geometric_mean_score(truth, decided))
            scores[method]["norm"].append(confusion_norm(truth, decided, labels=data.classes))
            scores[method]["mauc"].append(mauc_score(truth, proba, labels=data.classes))
    result = {}
    for method, values in scores.items():
        result[method] = {key: float(np.mean(v)) for key, v in values.items()}
        result[method]["spread"] = {key: float(np.std(v)) for key, v in values.items()}
        print(
            f"{name}, {method}: G-mean {result[method]['g_mean']:.3f}, confusion norm "
            f"{result[method]['norm']:.3f}, MAUC {result[method]['mauc']:.3f}",
            flush=True,
        )
    return {"found": result, "published": PUBLISHED[name]}


def main(what):
    warnings.simplefilter("ignore")
    if "speed" in what:
        store("boosting-speed", {name: time_fits(name) for name in ("connect4", "letter")})
    if "quality" in what:
        store("boosting-quality", {name: cross_validate(name) for name in PUBLISHED})


if __name__ == "__main__":
    main(sys.argv[1:] or ["speed", "quality"])
