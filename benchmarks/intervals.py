"""How often intervals hold what they say, on generators that are not tame.

``python benchmarks/intervals.py PART`` runs one of the parts below with 500 replications and keeps
its figures in ``results/coverage.json``; without a part all of them. ``--before`` gives, beside,
what the formulas that these took the place of would have covered.

``costs``: `cost_interval` and the intervals of `compare` of one method, with 2 to 30 expensive
mistakes of equal, log-normal and Pareto amounts, among cheap ones and alone.
``differences``: money differences and savings of fourteen methods against one decision for all,
one at a time and all at once, with an expensive class of 5% and of 0.5%.
``chosen``: the cost of the cheapest of fourteen.
``estimates``: `estimate_cost`'s interval, with 2 to 30 expensive rows in the reference and probabilities
that are off. ``frequencies``: class frequencies after a shift, by models that were fitted.
``monitor``: false alarms of 100 batches, as multiples of the stated rate, where batches share effects.
"""

import json
import sys
import warnings
from dataclasses import replace

import numpy as np
from _results import RESULTS, store
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from stakes.compare._statistics import cost_when_chosen, paired_intervals
from stakes.decision import estimate_priors
from stakes.metrics import cost_interval
from stakes.monitor._chart import BETWEEN, Chart, threshold_for
from stakes.monitor._estimate import (
    compare_with_truth,
    predict_mean_cost,
    quantile,
    state_costs,
)
from stakes.monitor._estimate import interval_of as estimate_ends

N = 500
AMOUNTS = {
    "equal": lambda rng, n: np.ones(n),
    "log-normal 1": lambda rng, n: rng.lognormal(0, 1, n),
    "log-normal 1.5": lambda rng, n: rng.lognormal(0, 1.5, n),
    "Pareto 2.5": lambda rng, n: rng.pareto(2.5, n) + 1,
    "Pareto 1.5": lambda rng, n: rng.pareto(1.5, n) + 1,
}
MEANS = {
    "equal": 1.0,
    "log-normal 1": np.exp(0.5),
    "log-normal 1.5": np.exp(1.125),
    "Pareto 2.5": 2.5 / 1.5,
    "Pareto 1.5": 3.0,
}


def holds(ends, truth) -> np.ndarray:
    """Return whether intervals hold the truth, up to rounding."""
    slack = 1e-9 * np.maximum(np.abs(truth), 1.0)
    return (ends[0] <= truth + slack) & (ends[1] >= truth - slack)


def percentile(values: np.ndarray, rng, n_draws: int = 200) -> np.ndarray:
    """Return the percentile interval of the bootstrap: what was here before."""
    counts = rng.multinomial(len(values), np.full(len(values), 1 / len(values)), n_draws)
    return np.quantile(counts @ values / len(values), [0.025, 0.975], axis=0)


# -- costs -----------------------------------------------------------------------------------------


def costs(before: bool) -> dict:
    """Return the coverage of the cost of one method: mistakes are a third of the expensive rows."""
    found = {}
    for kind, draw in AMOUNTS.items():
        for n_mistakes in (2, 5, 10, 20, 30):
            for cheap in (0.0, 0.1) if kind == "equal" else (0.1,):
                rng = np.random.default_rng(n_mistakes)
                n, own, kept = 1000, [], []
                truth = n_mistakes / n * MEANS[kind] + cheap / 50
                for world in range(N):
                    y = (rng.random(n) < 3 * n_mistakes / n).astype(int)
                    wrong = np.where(y == 1, rng.random(n) < 1 / 3, rng.random(n) < cheap)
                    amount = draw(rng, n)
                    prices = np.zeros((n, 2))
                    prices[:, 1] = np.where(y == 1, 0.0, 1 / 50)
                    prices[:, 0] = np.where(y == 1, amount, 0.0)
                    decided = np.where(wrong, 1 - y, y)
                    paid = prices[np.arange(n), decided]
                    truth = n_mistakes / n * MEANS[kind] + cheap / 50 * (1 - 3 * n_mistakes / n)
                    both = [holds(cost_interval(y, decided, costs=prices, labels=[0, 1]), truth)]
                    table = np.column_stack([prices[:, 0], paid])
                    drawn = paired_intervals(table, 0)
                    own.append([*both, holds((drawn.low[1], drawn.high[1]), truth)])
                    if before and world < 200:
                        kept.append(holds(percentile(paid, rng), truth))
                name = f"{kind}, {n_mistakes} mistakes" + (", 100 cheap ones" if cheap else "")
                share = np.mean(own, axis=0)
                found[name] = {"cost_interval": share[0], "compare": share[1]}
                if before:
                    found[name]["bootstrap"] = float(np.mean(kept))
                print(name, found[name], flush=True)
    return found


# -- several methods -------------------------------------------------------------------------------

WORLDS = [
    (0.05, 500, "equal"),
    (0.05, 2000, "equal"),
    (0.05, 1000, "log-normal 1"),
    (0.05, 1000, "Pareto 2.5"),
    (0.005, 1000, "equal"),
    (0.005, 4000, "equal"),
    (0.005, 4000, "log-normal 1"),
    (0.005, 4000, "Pareto 2.5"),
]
BLURS = {
    "equal": [0.8] * 14,
    "graded": np.linspace(0.6, 1.2, 14).tolist(),
    "one better": [0.4] + [0.8] * 13,
}


def world(rng, n: int, share: float, kind: str, blurs: list) -> np.ndarray:
    """Return what passing all and fourteen methods pay: scores of one risk, more or less blurred."""
    risk = rng.normal(size=n)
    y = risk + 0.6 * rng.normal(size=n) > np.sqrt(1.36) * norm.isf(share)
    amount = (20.0 if share > 0.01 else 50.0) * AMOUNTS[kind](rng, n)
    blur = np.array(blurs)
    score = (risk[:, None] + blur * rng.normal(size=(n, len(blur)))) / np.sqrt(1 + blur**2)
    decided = score > norm.isf(3 * share)
    paid = np.where(y[:, None], amount[:, None] * ~decided, decided)
    return np.column_stack([amount * y, paid])


def truth_of(share: float, kind: str, blurs: list) -> np.ndarray:
    """Return the true costs, from four million rows of equal amounts: they are independent."""
    rng, parts = np.random.default_rng(99), []
    for _ in range(20):
        whole = world(rng, 200_000, share, "equal", blurs)
        expensive = np.where(whole > 1, whole, 0.0).mean(axis=0)
        parts.append(whole.mean(axis=0) + (MEANS[kind] - 1) * expensive)
    return np.mean(parts, axis=0)


def before_of(paid: np.ndarray, rng) -> tuple:
    """Return the former interval of money differences: that of the ratio times the observed base."""
    counts = rng.multinomial(len(paid), np.full(len(paid), 1 / len(paid)), 200)
    means, mean = counts @ paid / len(paid), paid.mean(axis=0)
    usable = (means > 0).all(axis=0) & (means[:, 0] > 0).all()
    logs = np.log(np.maximum(means, 1e-12) / np.maximum(means[:, [0]], 1e-12))
    error = logs.std(axis=0, ddof=1)[1:]
    ratio = np.maximum(mean[1:], 1e-12) / max(mean[0], 1e-12)
    away = np.abs(logs[:, 1:] - np.log(ratio)) / np.maximum(error, 1e-12)
    critical = np.quantile(away[:, usable[1:]].max(axis=1), 0.95) if usable[1:].any() else 1.96
    return [
        (mean[0] * (ratio * np.exp(-c * error) - 1), mean[0] * (ratio * np.exp(c * error) - 1))
        for c in (1.96, critical)
    ]


def differences(before: bool) -> dict:
    """Return the coverage of money differences and savings, one at a time and all at once."""
    found = {}
    for share, n, kind in WORLDS:
        blurs = list(np.linspace(0.4, 2.0, 14))
        true = truth_of(share, kind, blurs)
        money, saved = true[1:] - true[0], 1 - true[1:] / true[0]
        rng, rows = np.random.default_rng(5), []
        for seed in range(N):
            paid = world(rng, n, share, kind, blurs)
            if not paid[:, 0].any():
                continue
            all_ = paired_intervals(paid, 0)
            span = np.ptp(paid, axis=1)
            alone = [paired_intervals(paid[:, [0, m]], 0, span=span) for m in (1, 7, 14)]
            row = {
                "difference": np.mean(
                    [
                        holds((one.difference_low[1], one.difference_high[1]), money[m - 1])
                        for one, m in zip(alone, (1, 7, 14))
                    ]
                ),
                "saving": np.mean(
                    [
                        holds((one.savings_low[1], one.savings_high[1]), saved[m - 1])
                        for one, m in zip(alone, (1, 7, 14))
                    ]
                ),
                "all differences": holds(
                    (all_.difference_low[1:], all_.difference_high[1:]), money
                ).all(),
                "all savings": holds((all_.savings_low[1:], all_.savings_high[1:]), saved).all(),
                "said to be too few": all_.n_expensive < 5,
            }
            if before and seed < 200:
                one, together = before_of(paid, rng)
                row["difference, before"] = holds(one, money).mean()
                row["all differences, before"] = holds(together, money).all()
            rows.append(row)
        name = f"expensive class of {share:.1%}, {kind}, n = {n}"
        found[name] = {key: float(np.mean([r[key] for r in rows if key in r])) for key in rows[0]}
        print(name, found[name], flush=True)
    return found


def chosen(before: bool) -> dict:
    """Return the coverage of the cost of the cheapest of fourteen, and its bias."""
    found = {}
    for which, blurs in BLURS.items():
        for share, n, kind in WORLDS:
            if share < 0.01 and n < 4000:
                continue
            true = truth_of(share, kind, blurs)[1:]
            if which == "equal":
                true[:] = true.mean()
            rng, held, bias, plain = np.random.default_rng(5), [], [], []
            for seed in range(N):
                paid = world(rng, n, share, kind, blurs)[:, 1:]
                best = paid.mean(axis=0).argmin()
                cost, low, high = cost_when_chosen(paid, random_state=seed)
                held.append(holds((low, high), true[best]))
                bias.append(cost / true[best] - 1)
                if before and seed < 200:
                    ends = percentile(paid[:, best], rng)
                    plain.append([holds(ends, true[best]), paid[:, best].mean() / true[best] - 1])
            name = f"{which}, expensive class of {share:.1%}, {kind}, n = {n}"
            found[name] = {"held": float(np.mean(held)), "bias": float(np.mean(bias))}
            if before:
                now = np.mean(plain, axis=0)
                found[name] |= {"held before": float(now[0]), "bias before": float(now[1])}
            print(name, found[name], flush=True)
    return found


# -- without truth ---------------------------------------------------------------------------------


def stated_world(rng, n: int, share: float, kind: str, off: float) -> tuple:
    """Return what a model states of rows and what is paid: true probabilities are `off` times its own."""
    p = np.clip(rng.gamma(0.5, size=n) / 0.5 * share, 0, 0.9)
    y = (rng.random(n) < np.clip(p * off, 0, 0.95)).astype(int)
    prices = np.zeros((n, 2, 2))
    prices[:, 0, 1], prices[:, 1, 0] = 1.0, 20.0 * AMOUNTS[kind](rng, n)
    proba = np.column_stack([1 - p, p])
    decided = np.einsum("nt,ntd->nd", proba, prices).argmin(axis=1)
    return state_costs(proba, prices, decided[:, None]), prices[np.arange(n), y, decided]


def estimates(before: bool) -> dict:
    """Return how often the interval of a mean cost holds what is then paid."""
    found = {}
    for m, n, share, kind, off in (
        (500, 2000, 0.005, "equal", 1.0),
        (500, 2000, 0.005, "equal", 2.0),
        (500, 2000, 0.02, "equal", 1.5),
        (200, 1000, 0.01, "equal", 2.0),
        (1000, 1000, 0.03, "log-normal 1", 1.0),
        (1000, 1000, 0.03, "log-normal 1", 1.5),
        (300, 1000, 0.05, "log-normal 1", 0.7),
        (2000, 5000, 0.005, "log-normal 1", 1.0),
        (1000, 1000, 0.03, "Pareto 2.5", 1.5),
    ):
        rng, held = np.random.default_rng(0), []
        for _ in range(N):
            known, then = (stated_world(rng, size, share, kind, off) for size in (m, n))
            drawn = predict_mean_cost(then[0], compare_with_truth(known[0], known[1][:, None]))
            ends = [estimate_ends(drawn, 0.95), (quantile(drawn, 0.025), quantile(drawn, 0.975))]
            held.append([holds((low[0], high[0]), then[1].mean()) for low, high in ends])
        name = f"{m} rows of reference, {share * off:.1%} expensive, {kind}, {n} new, stated {off} too low"
        share_held = np.mean(held, axis=0)
        found[name] = {"held": share_held[0]} | ({"held before": share_held[1]} if before else {})
        print(name, found[name], flush=True)
    return found


def frequencies(before: bool) -> dict:
    """Return how often the intervals of class frequencies hold them, by EM and by the confusion."""
    found = {}
    for old, new, m, n in (
        ([0.8, 0.2], [0.5, 0.5], 300, 500),
        ([0.8, 0.2], [0.8, 0.2], 300, 500),
        ([0.9, 0.1], [0.7, 0.3], 1000, 300),
        ([0.95, 0.05], [0.85, 0.15], 1000, 2000),
        ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 600, 600),
    ):
        rng, held = np.random.default_rng(0), []
        for _ in range(N):
            (X, y), (X_new, _) = (class_rows(rng, *each) for each in ((m, old), (n, new)))
            model = LogisticRegression()
            known = cross_val_predict(model, X, y, cv=5, method="predict_proba")
            proba, shares = model.fit(X, y).predict_proba(X_new), np.bincount(y) / m
            row = []
            for given in ({"held_out": (known, y), "n_training": m}, {}):
                shift = estimate_priors(proba, shares, **given)
                row.append(holds((shift.low, shift.high), np.array(new)).mean())
            held.append(row)
        share_held = np.mean(held, axis=0)
        name = f"{old} to {new}, {m} rows and {n} new"
        found[name] = {"held": share_held[0]} | ({"held before": share_held[1]} if before else {})
        print(name, found[name], flush=True)
    return found


def class_rows(rng, n: int, shares: list) -> tuple:
    """Return rows of normal columns, two of which tell the classes."""
    y = rng.choice(len(shares), n, p=shares)
    X = rng.normal(size=(n, 4))
    X[:, 0] += y
    X[:, 1] += y == len(shares) - 1
    return X, y


def monitor(before: bool) -> dict:
    """Return false alarms as multiples of the stated rate, and what a shift of 0.5 is seen in."""
    draws = {
        "normal": lambda rng, size: rng.normal(size=size),
        "rare and expensive": lambda rng, size: 20.0 * (rng.random(size) < 0.05),
        "log-normal 1": lambda rng, size: rng.lognormal(0, 1, size),
    }
    found = {}
    for kind, draw in draws.items():
        for n in (100, 1000):
            for common, kept in ((0.0, 0.0), (0.05, 0.0), (0.1, 0.0), (0.05, 0.5), (0.1, 0.5)):
                rng = np.random.default_rng(0)
                spread, n_streams = draw(rng, 200_000).std(), N if n == 100 else N // 5
                alarms, betweens = np.zeros(2), ((BETWEEN, 0.0) if before else (BETWEEN,))
                for _ in range(n_streams):
                    effect, reference = rng.normal(), Chart.of(draw(rng, 1000))
                    charts = [replace(reference, between=b) for b in betweens]
                    for batch in draw(rng, (100, n)):
                        effect = kept * effect + np.sqrt(1 - kept**2) * rng.normal()
                        moved = batch + common * spread * effect
                        for i, chart in enumerate(charts):
                            alarms[i] += bool(chart.update(moved, threshold_for(0.01))[1])
                times = alarms / n_streams / 100 / 0.01
                name = f"{kind}, batches of {n}, effect {common}, carried over {kept}"
                found[name] = {"times the stated rate": times[0]}
                if before:
                    found[name]["times before"] = times[1]
                print(name, found[name], flush=True)
    return found


PARTS = {
    "costs": costs,
    "differences": differences,
    "chosen": chosen,
    "estimates": estimates,
    "frequencies": frequencies,
    "monitor": monitor,
}


def main(*words: str) -> None:
    """Run the parts named, and store their figures beside the others."""
    parts = [word for word in words if word in PARTS] or list(PARTS)
    path = RESULTS / "coverage.json"
    warnings.simplefilter("ignore")
    for name in parts:
        figures = PARTS[name]("--before" in words)
        known = json.loads(path.read_text())["figures"] if path.exists() else {}
        store("coverage", {**known, name: figures})


if __name__ == "__main__":
    main(*sys.argv[1:])
