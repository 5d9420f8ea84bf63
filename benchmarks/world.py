"""Decisions in the world: limits, shifts, guarantees. Each part stores as it ends; run one by name.

    python benchmarks/world.py [capacity] [stream] [shift] [trained] [sampled] [remedies] [guarantee]
        [undecided]

Times are of the processor, one thread, as ratios within one run, best of several.
"""

import json
import os
import sys
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _results import RESULTS, store
from lightgbm import LGBMClassifier
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression

from stakes.compare import TablePreparation
from stakes.datasets import load_dataset, make_known_posterior
from stakes.decision import (
    CapacityStream,
    CostDecisionClassifier,
    RiskControl,
    decide_within,
    estimate_priors,
)
from stakes.decision.program import factors, reweight

warnings.filterwarnings("ignore")


def seconds(work):
    begun = time.process_time()
    work()
    return time.process_time() - begun


def summary(values):
    """Return the mean and its standard error."""
    values = np.asarray(values, dtype=float)
    return {
        "mean": float(values.mean()),
        "standard_error": float(values.std(ddof=1) / np.sqrt(len(values))),
        "worst": float(values.max()),
        "draws": len(values),
    }


def capacity():
    """1,000,000 rows x 5 decisions with two limits, against one argsort of 1,000,000."""
    rng = np.random.default_rng(0)
    expected, keys = rng.gamma(2.0, size=(1_000_000, 5)), rng.random(1_000_000)
    cases = {"smooth": expected, "whole numbers (ties)": np.round(expected)}
    decide_within(expected[:5000], {0: 0.05, 1: 0.1})  # compiled
    found = {}
    for name, costs in cases.items():
        sort, ours = [], []
        for _ in range(5):
            sort.append(seconds(lambda: np.argsort(keys)))
            ours.append(seconds(lambda costs=costs: decide_within(costs, {0: 50_000, 1: 0.1})))
        found[name] = {
            "argsort_seconds": min(sort),
            "seconds": min(ours),
            "ratio": min(ours) / min(sort),
        }
    return found


def stream():
    """100 batches of 500 rows: the share in standard errors, the cost against the optimum."""
    away, ratio, blind = [], [], []
    share, size = 0.1, 50_000
    for seed in range(20):
        data = make_known_posterior(4000, K=3, random_state=seed)
        rows = data.sample(size, random_state=1000 + seed)
        dear = int(np.bincount(data.bayes_decisions(), minlength=3).argmax())
        expected = rows.expected_costs
        prices = CapacityStream({dear: share}).fit(data.expected_costs)
        fixed = (expected + prices.shadow_prices_).argmin(axis=1)
        decided = np.concatenate([prices.decide(part) for part in np.array_split(expected, 100)])
        error = np.sqrt(share * (1 - share) / size)
        away.append(abs((decided == dear).mean() - share) / error)
        blind.append(abs((fixed == dear).mean() - share) / error)
        best = decide_within(expected, {dear: share}).cost / size
        ratio.append(rows.risk(decided) / best)
    return {
        "distance of the share, in standard errors": summary(away),
        "the same with prices that do not learn": summary(blind),
        "cost against the optimum of all rows": summary(ratio),
    }


def draw(data, old, factor, n, seed):
    """Return rows of a population whose rarest class is `factor` times as rare."""
    rng = np.random.default_rng(seed)
    new = old.copy()
    new[old.argmin()] /= factor
    new /= new.sum()
    pool = data.sample(12 * n, random_state=seed + 5000)
    rows = [
        rng.choice(np.flatnonzero(pool.y == t), c, replace=False)
        for t, c in enumerate(rng.multinomial(n, new))
    ]
    return pool, np.concatenate(rows), new


def shift(draws=50, n=4000):
    """Class frequencies shifted by 1, 2 and 10: cost against the best possible there.

    The true posterior as the model, and a boosting model calibrated on held-out rows.
    """
    found = {}
    for seed in range(draws):
        data = make_known_posterior(3000, K=3, random_state=seed)
        C = np.asarray(data.cost_matrix)
        old = data.sample(100_000, random_state=seed + 9000).proba.mean(axis=0)
        model = CostDecisionClassifier(
            LGBMClassifier(verbosity=-1, n_jobs=1, n_estimators=60, learning_rate=0.05),
            cost_matrix=C,
            calibration="temperature",
            cv=3,
        ).fit(data.X, data.y)
        for factor in (1, 2, 10):
            pool, rows, new = draw(data, old, factor, n, seed)
            stated = pool.proba[rows]
            expected = reweight(stated, factors(new, old)) @ C
            at = np.arange(n)

            def cost(decided, expected=expected, at=at):
                return expected[at, decided].mean() / expected.min(axis=1).mean()

            row = found.setdefault(f"{factor}x", {})
            for method in ("em", "confusion"):
                guess = estimate_priors(stated, old, method=method, held_out=(data.proba, data.y))
                priors = guess.priors if guess.shifted else old
                adapted = reweight(stated, factors(priors, old)) @ C
                row.setdefault(f"true posterior, {method}", []).append(
                    cost(adapted.argmin(axis=1))
                )
                row.setdefault(f"says shifted, {method}", []).append(guess.shifted)
            row.setdefault("true posterior, not adapted", []).append(
                cost((stated @ C).argmin(axis=1))
            )
            X = pool.X[rows]
            plain, told = cost(model.predict(X)), cost(model.adapt(None, priors=new).predict(X))
            for method in ("em", "confusion"):
                adapted = cost(model.adapt(X, method=method).predict(X))
                row.setdefault(f"boosting, {method}, against not adapted", []).append(
                    adapted / plain
                )
                row.setdefault(f"boosting, {method}, against told the truth", []).append(
                    adapted / told
                )
            row.setdefault("boosting, not adapted, against the best", []).append(plain)
            row.setdefault("boosting, told the truth, against the best", []).append(told)
    return {
        factor: {name: summary(values) for name, values in row.items()}
        for factor, row in found.items()
    }


def trained(draws=50, n=4000):
    """As `shift`, but learned: logistic regression where it is of the right kind, 20,000 rows."""
    found = {}
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        weight, bias = rng.normal(size=(5, 3)), np.array([0.0, -1.0, -2.5])
        C = rng.uniform(1, 10, (3, 3)) * (1 - np.eye(3))

        def sample(m, rng=rng, weight=weight, bias=bias):
            X = rng.normal(size=(m, 5))
            proba = softmax(X @ weight + bias, axis=1)
            return X, proba, (proba.cumsum(axis=1) < rng.random((m, 1))).sum(axis=1)

        X, _, y = sample(20_000)
        model = CostDecisionClassifier(LogisticRegression(C=100.0), cost_matrix=C).fit(X, y)
        pool, proba, classes = sample(30 * n)
        old = proba.mean(axis=0)
        for factor in (1, 2, 10):
            new = old.copy()
            new[old.argmin()] /= factor
            new /= new.sum()
            rows = np.concatenate(
                [
                    rng.choice(np.flatnonzero(classes == t), c, replace=False)
                    for t, c in enumerate(rng.multinomial(n, new))
                ]
            )
            expected = reweight(proba[rows], factors(new, old)) @ C
            row = found.setdefault(f"{factor}x", {})
            for name, by in (
                ("not adapted", model),
                ("adapted", model.adapt(pool[rows])),
                ("told the frequencies", model.adapt(None, priors=new)),
            ):
                paid = expected[np.arange(n), by.predict(pool[rows])].mean()
                row.setdefault(name, []).append(paid / expected.min(axis=1).mean())
    return {
        factor: {name: summary(values) for name, values in row.items()}
        for factor, row in found.items()
    }


class OneToOne(ClassifierMixin, BaseEstimator):
    """Learn from as many rows of each of two classes, in some draws; state what all rows would."""

    def __init__(self, estimator, draws=1, random_state=0):
        self.estimator = estimator
        self.draws = draws
        self.random_state = random_state

    def fit(self, X, y):
        """Draw and learn."""
        rng = np.random.default_rng(self.random_state)
        self.classes_, counts = np.unique(y, return_counts=True)
        parts = [np.flatnonzero(y == label) for label in self.classes_]
        drawn = [
            np.concatenate([rng.choice(part, counts.min(), False) for part in parts])
            for _ in range(self.draws)
        ]
        self.members_ = [clone(self.estimator).fit(X[rows], y[rows]) for rows in drawn]
        self.factors_ = 2 * counts / counts.sum()
        return self

    def predict_proba(self, X):
        """Return the mean of the draws, in log odds, at the frequencies of all rows."""
        odds = np.mean([np.log(m.predict_proba(X)) for m in self.members_], axis=0)
        return reweight(softmax(odds, axis=1), self.factors_)


def remedies(draws=10):
    """Boosting on as many rows of each class: what recalibrating and more draws bring."""
    found = {}
    given = {"cost_matrix": np.array([[0.0, 1.0], [8.0, 0.0]])}
    boosting = LGBMClassifier(verbosity=-1, n_jobs=1, n_estimators=60, learning_rate=0.05)
    again = {"calibration": "vector", "cv": 3}
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        parts = []
        data = make_known_posterior(60_000, K=2, d=5, random_state=seed)
        for part in (data, data.sample(60_000, random_state=seed + 1)):
            kept = (part.y == 0) | (rng.random(len(part.y)) < 0.05)
            parts.append((part.X[kept], part.y[kept]))
        (X, y), test = parts
        few = rng.choice(len(y), 2 * (y == 1).sum(), replace=False)
        models = {
            "all rows": (boosting, {}, slice(None)),
            "all rows, calibrated": (boosting, again, slice(None)),
            "one to one, corrected": (OneToOne(boosting), {}, slice(None)),
            "one to one, corrected, recalibrated on all": (OneToOne(boosting), again, slice(None)),
            "ten draws of one to one, corrected": (OneToOne(boosting, 10), {}, slice(None)),
            "as few rows, drawn from all": (boosting, {}, few),
        }
        paid = {
            name: -CostDecisionClassifier(model, **given, **how).fit(X[rows], y[rows]).score(*test)
            for name, (model, how, rows) in models.items()
        }
        for name, cost in paid.items():
            found.setdefault(name, []).append(cost / paid["all rows"])
    return {name: summary(values) for name, values in found.items()}


def sampled(draws=50):
    """As many of each class, corrected, against all rows; 1 of 20 is positive."""
    found = {"normal classes, logistic regression": [], "the same, not corrected": []}
    found["known posterior, boosting"] = []
    given = {"cost_matrix": np.array([[0.0, 1.0], [8.0, 0.0]])}

    def compare(make, X, y, risk, rng, names):
        rare = np.flatnonzero(y == 1)
        rows = np.concatenate([rare, rng.choice(np.flatnonzero(y == 0), len(rare), False)])
        share = (y == 1).mean()
        whole = CostDecisionClassifier(make(), **given).fit(X, y)
        part = CostDecisionClassifier(make(), priors=[1 - share, share], **given)
        part.fit(X[rows], y[rows])
        found[names[0]].append(risk(part) / risk(whole))
        if len(names) > 1:
            blind = CostDecisionClassifier(make(), **given).fit(X[rows], y[rows])
            found[names[1]].append(risk(blind) / risk(whole))

    for seed in range(draws):
        rng = np.random.default_rng(seed)
        y = (rng.random(20_000) < 0.05).astype(int)
        X = rng.normal(size=(20_000, 5)) + 0.6 * y[:, None]
        y_new = (rng.random(200_000) < 0.05).astype(int)
        new = rng.normal(size=(200_000, 5)) + 0.6 * y_new[:, None]
        names = ("normal classes, logistic regression", "the same, not corrected")
        compare(LogisticRegression, X, y, lambda m, a=new, b=y_new: -m.score(a, b), rng, names)
        if seed >= 20:
            continue
        data = make_known_posterior(60_000, K=2, d=5, random_state=seed)
        test = data.sample(60_000, random_state=seed + 1)
        drop = [rng.random(len(part.y)) < 0.05 for part in (data, test)]
        kept, there = ((p.y == 0) | d for p, d in zip((data, test), drop))

        def make():
            return LGBMClassifier(verbosity=-1, n_jobs=1, n_estimators=60, learning_rate=0.05)

        def risk(m, test=test, there=there):
            return -m.score(test.X[there], test.y[there])

        compare(make, data.X[kept], data.y[kept], risk, rng, ["known posterior, boosting"])
    return {name: summary(values) for name, values in found.items()}


def guarantee(draws=2000, n=1000):
    """2,000 calibrations: how often the limit is broken, how much is left undecided."""
    data = make_known_posterior(100_000, K=3, random_state=0)
    C, rng = np.asarray(data.cost_matrix), np.random.default_rng(0)
    found = {"least cost of deciding all": data.bayes_cost()}
    for limit, confidence in ((0.8, 0.9), (0.5, 0.9), (0.8, 0.95)):
        broken, undecided = [], []
        least = data.expected_costs.min(axis=1)
        order = np.argsort(least)
        running = least[order].cumsum() / np.arange(1, len(order) + 1)
        for _ in range(draws):
            rows = rng.choice(len(data.y), n)
            rule = RiskControl(
                limit=limit, confidence=confidence, cost_matrix=C, classes=[0, 1, 2]
            ).fit(data.proba[rows], data.y[rows])
            taken = np.searchsorted(least[order], rule.threshold_, side="right")
            broken.append(taken > 0 and running[taken - 1] > limit)
            undecided.append(1 - taken / len(order))
        stated = 1 - confidence
        possible = np.searchsorted(running, limit) / len(order)
        found[f"limit {limit}, confidence {confidence}"] = {
            "broken": float(np.mean(broken)),
            "at most": stated + 2 * np.sqrt(stated * confidence / draws),
            "undecided": float(np.mean(undecided)),
            "undecided by who knows the truth": float(1 - possible),
            "calibrations": draws,
        }
    return found


def undecided():
    """Measure what a guarantee leaves undecided on five data sets, half of each learned from."""
    found = {}
    for name in ("german_credit", "churn_telco", "satimage", "bank_marketing", "letter"):
        data = load_dataset(name)
        X = TablePreparation().fit_transform(data.X)
        y = np.unique(data.y, return_inverse=True)[1]
        k = y.max() + 1
        C = 1.0 - np.eye(k)
        C[-1] *= 5.0
        rng = np.random.default_rng(0)
        rows = rng.permutation(len(y))[:8000]
        train, known, new = np.split(rows, [len(rows) // 2, 3 * len(rows) // 4])
        model = CostDecisionClassifier(
            LGBMClassifier(verbosity=-1, n_jobs=1, n_estimators=60),
            cost_matrix=C,
            calibration="temperature",
            cv=3,
        ).fit(X[train], y[train])
        proba = [model.predict_proba(X[part]) for part in (known, new)]
        free = C[y[new], (proba[1] @ C).argmin(axis=1)].mean()
        for share in (1.0, 0.5):
            rule = RiskControl(
                limit=float(share * free), confidence=0.9, cost_matrix=C, classes=np.arange(k)
            ).fit(proba[0], y[known])
            decided = rule.predict(proba[1])
            taken = decided >= 0
            found[f"{name}, limit {share:g} of deciding all"] = {
                "limit": float(share * free),
                "undecided": float(1 - taken.mean()),
                "cost": float(C[y[new][taken], decided[taken]].mean()) if taken.any() else None,
                "calibration_rows": len(known),
                "guaranteed": rule.guaranteed_,
            }
    return found


ALL = (capacity, stream, shift, trained, sampled, remedies, guarantee, undecided)
PARTS = {f.__name__: f for f in ALL}

if __name__ == "__main__":
    path = RESULTS / "world.json"
    for name in sys.argv[1:] or PARTS:
        begun = time.process_time()
        found = PARTS[name]()
        figures = json.loads(path.read_text())["figures"] if path.exists() else {}
        figures[name] = found
        store("world", figures)
        print(name, f"{time.process_time() - begun:.0f} s", json.dumps(figures[name], indent=1))
