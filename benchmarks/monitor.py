"""Cost without truth: whether the interval holds, alarms keep their rate, a shift is seen.

``python benchmarks/monitor.py coverage`` takes 20 shared data sets in 10 random splits each: a
model is fitted on 70% (at most 3,000 rows of a set), its reference is cross-fitted there, and
the 95% interval of the cost on the other 30% is compared with what is paid there. ``shift`` does the
same under a prior shift: of the other half, rows are drawn such that the rarest class is three
times as likely, or a third as likely, and the model is adapted to them; and, beside it, to all rows
of that half, where nothing has shifted. A second word names the method; ``logistic`` is a
logistic regression and ``boosting`` LightGBM, both calibrated, any other one of ``stakes methods`` as
with ``--fast``. A third is the share of the rows that are held out by ``coverage``. ``streams`` runs
1,000 quiet streams of 100 batches and 1,000 with a planted shift. Finished sets are kept in
``results/monitor.json``; a last word ``again`` begins anew.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _results import RESULTS, store
from lightgbm import LGBMClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stakes.compare import TablePreparation, add_reference, fit_model
from stakes.costs import random_uniform
from stakes.datasets import load_dataset
from stakes.decision import CostDecisionClassifier
from stakes.monitor import estimate_cost
from stakes.monitor._chart import Chart, batches_until_seen, threshold_for

SETS = [
    "german_credit",
    "heart_statlog",
    "pima",
    "ionosphere",
    "vehicle",
    "ecoli",
    "glass",
    "bupa",
    "haberman",
    "sonar",
    "wdbc",
    "wpbc",
    "credit_default",
    "bank_marketing",
    "churn_telco",
    "satimage",
    "car",
    "splice",
    "yeast",
    "letter",
]
N_SPLITS, MAX_ROWS = 10, 3000


def load(name: str):
    """Return rows, classes and prices of a set: its own, or random ones between 1 and 10."""
    data = load_dataset(name)
    X, y = data.X, np.asarray(data.y)
    rng = np.random.default_rng(0)
    if len(y) > MAX_ROWS:
        some = np.sort(rng.choice(len(y), MAX_ROWS, replace=False))
        X, y = X.iloc[some], y[some]
    labels, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, labels[counts >= 10])
    X, y = X[kept].reset_index(drop=True), y[kept]
    matrix = data.cost_matrix
    if matrix is None or len(matrix.labels or ()) != len(np.unique(y)):
        matrix = random_uniform(len(np.unique(y)), random_state=1)
    return X, y, matrix


def fitted(X, y, matrix, method: str, **more):
    """Return a model with its reference."""
    linear = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=300))
    own = {"logistic": linear, "boosting": LGBMClassifier(verbosity=-1, n_jobs=1, random_state=0)}
    if method in own:
        method = CostDecisionClassifier(own[method], calibration="temperature", cv=3)
    given = {"cost_matrix": matrix, **more}
    return add_reference(fit_model(X, y, method, **given), X, y, **given)


def one_case(model, X, y, test) -> dict:
    """Return the interval of the cost on the test rows, and what is paid there."""
    found = estimate_cost(model, X.iloc[test])
    codes = np.searchsorted(model.classes, y[test])
    decided = np.searchsorted(model.classes, model.predict(X.iloc[test]))
    paid = float(model.cost_matrix[codes, decided].mean())
    slack = 1e-9 * max(1.0, abs(paid))
    return {
        "cost": found.cost,
        "low": found.low,
        "high": found.high,
        "stated": found.stated,
        "paid": paid,
        "held": bool(found.low - slack <= paid <= found.high + slack),
    }


def as_numbers(X):
    """Return text as numbers, once for all splits: this needs no truth, and takes most of the time."""
    return pd.DataFrame(TablePreparation().fit_transform(X)).rename(columns=str)


def coverage(method: str, share: float, kept: dict, save) -> None:
    """Run the splits that are not kept yet."""
    for name in SETS:
        if len(kept.get(name, [])) == N_SPLITS:
            continue
        X, y, matrix = load(name)
        X = as_numbers(X)
        begun, cases = time.perf_counter(), []
        for seed in range(N_SPLITS):
            split = train_test_split(
                np.arange(len(y)), test_size=share, random_state=seed, stratify=y
            )
            model = fitted(X.iloc[split[0]], y[split[0]], matrix, method, fast=True)
            cases.append(one_case(model, X, y, split[1]))
        kept[name] = cases
        held = np.mean([case["held"] for case in cases])
        print(f"{name}: {held:.0%} held, {time.perf_counter() - begun:.0f} s", flush=True)
        save()


def shifted_rows(y, test, rng, factor: float):
    """Return test rows in which the rarest class is so many times as likely."""
    labels, counts = np.unique(y[test], return_counts=True)
    rare = y[test] == labels[counts.argmin()]
    share = min(factor * rare.mean(), 0.8)
    ones, others = test[rare], test[~rare]
    n_ones = min(len(ones), int(len(others) * share / (1 - share)))
    n_others = min(len(others), round(n_ones * (1 - share) / share))
    drawn = [rng.choice(ones, n_ones, replace=False), rng.choice(others, n_others, replace=False)]
    return np.concatenate(drawn)


def under_shift(shifted: dict, quiet: dict, save, method: str) -> None:
    """Adapt each model to rows of other class frequencies, or of the same, and look at its interval."""
    for name in SETS:
        if len(quiet.get(name, [])) == N_SPLITS:
            continue
        X, y, matrix = load(name)
        X = as_numbers(X)
        begun = time.perf_counter()
        shifted[name], quiet[name] = [], []
        for seed in range(N_SPLITS):
            train, test = train_test_split(
                np.arange(len(y)), test_size=0.5, random_state=seed, stratify=y
            )
            model = fitted(X.iloc[train], y[train], matrix, method, fast=True)
            factor = 3.0 if seed % 2 else 1 / 3
            some = shifted_rows(y, test, np.random.default_rng(seed), factor)
            for rows, cases in ((some, shifted[name]), (test, quiet[name])):
                cases.append(one_case(model.adapt(X.iloc[rows]), X, y, rows))
        held = [np.mean([case["held"] for case in cases[name]]) for cases in (shifted, quiet)]
        print(f"{name}: {held} held, {time.perf_counter() - begun:.0f} s", flush=True)
        save()


def streams(n_streams: int = 1000, n_batches: int = 100) -> dict:
    """Return rates of false alarms, and how often a planted shift is seen in time."""
    rng = np.random.default_rng(0)
    draws = {
        "exponential": lambda size: rng.exponential(size=size),
        "rare and expensive": lambda size: 20.0 * (rng.random(size) < 0.05),
        "lognormal": lambda size: rng.lognormal(size=size),
    }
    found: dict = {}
    for kind, draw in draws.items():
        for m, n in ((300, 100), (1000, 50), (200, 20)):
            for rate in (0.01, 0.05):
                threshold, alarms = threshold_for(rate), 0
                for _ in range(n_streams):
                    chart = Chart.of(draw(m))
                    for batch in draw((n_batches, n)):
                        alarms += bool(chart.update(batch, threshold)[1])
                share = alarms / n_streams / n_batches
                found[f"{kind}, reference {m}, batch {n}, stated {rate}"] = share
                print(kind, m, n, rate, share, flush=True)
        spread = float(draw(1_000_000).std())
        for size in (0.2, 0.4):  # in standard deviations of a row
            chart = Chart.of(draw(1_000_000))
            shift, n = size * chart.spread(), 100
            how = {"n_before": 2000, "false_alarms": 0.01, "skew": chart.skewness()}
            within = batches_until_seen(shift, chart.spread(), n, **how)
            seen = 0
            for _ in range(n_streams):
                chart = Chart.of(draw(1000))
                for batch in draw((10, n)):
                    chart.update(batch, threshold_for(0.01))
                late = (draw(n) + shift for _ in range(within))
                seen += any(chart.update(batch, threshold_for(0.01))[1] for batch in late)
            found[f"{kind}, shift {size} sd: seen within {within} batches"] = seen / n_streams
            print(kind, size, within, seen / n_streams, spread, flush=True)
    return found


def stored() -> dict:
    """Return what is kept of former runs."""
    path = Path(RESULTS) / "monitor.json"
    return json.loads(path.read_text())["figures"] if path.exists() else {}


def main(what: str = "coverage", method: str = "mec", *more: str) -> None:
    """Run one part and store it beside the others."""
    warnings.simplefilter("ignore")
    known = stored()
    if what == "streams":
        found = streams()
        store("monitor", {**stored(), "streams": found})
    else:
        share = next((word for word in more if word != "again"), "0.3")
        part = f"coverage of {method}" + (f" with {share} held out" if share != "0.3" else "")
        names = [f"{part} adapted to a shift", f"{part} adapted, nothing shifted"]
        names = names if what == "shift" else [part]
        for name in names if "again" in more else []:
            known.pop(name, None)
        kept = [known.setdefault(name, {}).setdefault("cases", {}) for name in names]

        def save() -> None:
            # Another part may have ended meanwhile.
            known.update({name: part for name, part in stored().items() if name not in names})
            for name in names:
                cases = [case for cases in known[name]["cases"].values() for case in cases]
                known[name]["held"] = float(np.mean([c["held"] for c in cases]))
                known[name]["n"] = len(cases)
            store("monitor", known)

        if what == "shift":
            under_shift(*kept, save, method)
        else:
            coverage(method, float(share), *kept, save)


if __name__ == "__main__":
    main(*sys.argv[1:])
