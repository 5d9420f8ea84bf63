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


def time_fits(name, n_times=3):
    data = load_dataset(name)
    X, y = numbers(data.X), data.y
    ours = CoMBoClassifier(n_estimators=N_ROUNDS, n_jobs=N_JOBS)
    theirs = AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=N_ROUNDS)
    CoMBoClassifier(n_estimators=2, n_jobs=N_JOBS).fit(X, y).predict(X)  # compiled once
    seconds = {"ours": [], "theirs": [], "ours_predict": [], "theirs_predict": []}
    for _ in range(n_times):
        for which, model in (("ours", ours), ("theirs", theirs)):
            seconds[which].append(clock(lambda model=model: model.fit(X, y)))
            for _ in range(2):
                seconds[f"{which}_predict"].append(clock(lambda model=model: model.predict(X)))
    best = {key: min(values) for key, values in seconds.items()}
    result = {
        "rows": len(y),
        "features": X.shape[1],
        "classes": len(ours.classes_),
        "rounds": {"ours": ours.n_iter_, "theirs": len(theirs.estimators_)},
        "seconds": best,
        "fit_ratio": best["theirs"] / best["ours"],
        "predict_ratio": best["theirs_predict"] / best["ours_predict"],
        "confusion_norm": {
            "ours": confusion_norm(y, ours.predict(X)),
            "theirs": confusion_norm(y, theirs.predict(X)),
        },
        "share_outside_trees": share_outside_trees(X, y),
    }
    print(
        f"{name}: fit {best['theirs']:.2f} s / {best['ours']:.2f} s = "
        f"{result['fit_ratio']:.1f}x, predict {result['predict_ratio']:.1f}x, confusion norm "
        f"{result['confusion_norm']['ours']:.3f} against {result['confusion_norm']['theirs']:.3f}, "
        f"outside the trees {result['share_outside_trees']:.0%}",
        flush=True,
    )
    return result


def share_outside_trees(X, y, n_times=3):
    """Return the share of a fit that is not spent in growing trees."""
    from stakes.boosting import _weak

    grow, spent = _weak.grow_cost_tree, []

    def timed(*args, **kwargs):
        start = time.perf_counter()
        grown = grow(*args, **kwargs)
        spent.append(time.perf_counter() - start)
        return grown

    shares = []
    _weak.grow_cost_tree = timed
    try:
        for _ in range(n_times):
            spent.clear()
            total = clock(lambda: CoMBoClassifier(n_estimators=N_ROUNDS, n_jobs=N_JOBS).fit(X, y))
            shares.append(1 - sum(spent) / total)
    finally:
        _weak.grow_cost_tree = grow
    return min(shares)


def clock(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


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
