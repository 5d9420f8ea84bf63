"""Policies learned from logs: stakes against EconML, obp and Vowpal Wabbit, where these are installed.

    python benchmarks/logged_policies.py [draws]

20 classification sets turned into logs: half of the rows to learn from, each decided at random or by a
weak model three times in four, and only what was decided has a cost. What the learned policies cost is
then known exactly, since the other half's classes are. Each (set, logging, draw) is stored as it ends.
EconML's policy learners estimate propensities themselves; all others are given the true ones. obp asks
for torch when it is imported, though IPWLearner does not use it: an empty package of that name will do.
"""

import importlib.util
import os
import sys
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _results import kept, store
from scipy import stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stakes.auto import StakesClassifier
from stakes.datasets import load_dataset
from stakes.logged import costs_from_logs
from stakes.tables import TablePreparation
from stakes.tree import CostForestClassifier

NAME = "logged_policies"
SETS = [
    "annealing",
    "bank_marketing",
    "car",
    "churn_telco",
    "churn_tv",
    "connect4",
    "credit_default",
    "credit_gmsc",
    "credit_pakdd",
    "flare",
    "german_credit",
    "kdd99_10pct",
    "letter",
    "nursery",
    "satimage",
    "segmentation",
    "shuttle",
    "splice",
    "vehicle",
    "yeast",
]
MOST_ROWS = 4_000
LOGGING = ("random", "skewed")

warnings.filterwarnings("ignore")


class Log:
    """Half of a data set as a log, the other half to price policies on."""

    def __init__(self, name, logging, draw):
        data = load_dataset(name)
        rng = np.random.default_rng(draw)
        rows = rng.permutation(len(data.y))[:MOST_ROWS]
        y = np.unique(np.asarray(data.y)[rows], return_inverse=True)[1]
        keep = np.isin(y, np.flatnonzero(np.bincount(y) >= 20))
        rows, y = rows[keep], np.unique(y[keep], return_inverse=True)[1]
        table = TablePreparation().fit_transform(data.X.iloc[rows])
        X = make_pipeline(SimpleImputer(), StandardScaler()).fit_transform(table)
        train, test = train_test_split(
            np.arange(len(y)), test_size=0.5, stratify=y, random_state=draw
        )
        self.K = int(y.max()) + 1
        self.prices = rng.uniform(1.0, 10.0, size=(self.K, self.K))
        np.fill_diagonal(self.prices, 0.0)
        self.X, self.X_test, self.y_test = X[train], X[test], y[test]
        n = len(train)
        self.shares = np.full((n, self.K), 1.0 / self.K)
        if logging == "skewed":
            few = rng.permutation(n)[: max(n // 20, 5 * self.K)]
            weak = LogisticRegression(max_iter=200).fit(self.X[few], y[train][few])
            self.shares *= 0.25
            self.shares[np.arange(n), weak.predict(self.X)] += 0.75
        done = (rng.random((n, 1)) > self.shares.cumsum(axis=1)[:, :-1]).sum(axis=1)
        # A decision that was hardly taken cannot be learned of in folds: eight rows take it.
        for a in np.flatnonzero(np.bincount(done, minlength=self.K) < 8):
            done[rng.choice(n, 8, replace=False)] = a
        self.done, self.paid = done, self.prices[y[train], done]
        self.pscore = self.shares[np.arange(n), done]
        self.seed = draw

    def cost(self, decided):
        return float(self.prices[self.y_test, decided].mean())


def of_log(log, method):
    """Return what a method of stakes decides that has learned from the log."""
    costs = costs_from_logs(
        log.X, log.done, log.paid, propensities=log.shares, random_state=log.seed
    )
    return method.fit(log.X, costs=costs).predict(log.X_test)


def forest(log):
    return of_log(log, CostForestClassifier(random_state=log.seed))


def default(log):
    return of_log(log, StakesClassifier(random_state=log.seed))


def econml(kind):
    def decide(log):
        import econml.policy

        learner = getattr(econml.policy, kind)(random_state=log.seed)
        treatments = np.unique(log.done)
        learner.fit(-log.paid, log.done, X=log.X)
        return treatments[np.asarray(learner.predict(log.X_test)).ravel().astype(int)]

    return decide


def obp(classifier):
    def decide(log):
        from obp.policy import IPWLearner

        learner = IPWLearner(n_actions=log.K, base_classifier=classifier(log.seed))
        reward = log.paid.max() - log.paid  # it takes no negative ones
        learner.fit(context=log.X, action=log.done, reward=reward, pscore=log.pscore)
        return learner.predict(context=log.X_test)[:, :, 0].argmax(axis=1)

    return decide


def vowpal(passes):
    def decide(log):
        from vowpalwabbit import Workspace

        with Workspace(f"--cb {log.K} --quiet --random_seed {log.seed}") as vw:
            text = [
                "| " + " ".join(f"x{j}:{v:.5g}" for j, v in enumerate(row))
                for row in np.vstack([log.X, log.X_test])
            ]
            rng = np.random.default_rng(log.seed)
            for _ in range(passes):
                for i in rng.permutation(len(log.X)):
                    vw.learn(f"{log.done[i] + 1}:{log.paid[i]:.5g}:{log.pscore[i]:.5g} {text[i]}")
            return np.array([vw.predict(row) for row in text[len(log.X) :]]) - 1

    return decide


def logistic(seed):
    return LogisticRegression(max_iter=1000, random_state=seed)


def trees(seed):
    return RandomForestClassifier(100, min_samples_leaf=3, random_state=seed)


OURS = {"CostForestClassifier": forest, "StakesClassifier": default}
RIVALS = {
    "DRPolicyForest": ("econml", econml("DRPolicyForest")),
    "DRPolicyTree": ("econml", econml("DRPolicyTree")),
    "IPWLearner, logistic": ("obp", obp(logistic)),
    "IPWLearner, forest": ("obp", obp(trees)),
    "vw --cb, 1 pass": ("vowpalwabbit", vowpal(1)),
    "vw --cb, 10 passes": ("vowpalwabbit", vowpal(10)),
}


def summary(runs):
    """Return for each method of ours and rival the ratio of mean costs over sets, with an interval."""
    rows = {}
    for logging in LOGGING:
        here = [run["costs"] for key, run in runs.items() if f", {logging}, " in key]
        sets = [key.split(", ")[0] for key in runs if f", {logging}, " in key]
        for ours in OURS:
            for rival in RIVALS:
                by_set = {}
                for name, costs in zip(sets, here, strict=True):
                    if ours in costs and rival in costs:
                        by_set.setdefault(name, []).append((costs[ours], costs[rival]))
                if len(by_set) < 2:
                    continue
                means = np.array([np.mean(pairs, axis=0) for pairs in by_set.values()])
                logs = np.log(np.maximum(means[:, 0], 1e-3) / np.maximum(means[:, 1], 1e-3))
                half = stats.t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs))
                rows[f"{ours} over {rival}, {logging}"] = {
                    "ratio": float(np.exp(logs.mean())),
                    "low": float(np.exp(logs.mean() - half)),
                    "high": float(np.exp(logs.mean() + half)),
                    "cheaper_on": int((means[:, 0] <= means[:, 1]).sum()),
                    "sets": len(logs),
                }
    return rows


def main(draws=3):
    figures = kept(NAME)
    runs = figures.setdefault("runs", {})
    methods = OURS | {
        name: decide
        for name, (package, decide) in RIVALS.items()
        if importlib.util.find_spec(package)
    }
    for draw in range(draws):
        for name in SETS:
            for logging in LOGGING:
                key = f"{name}, {logging}, {draw}"
                costs = runs.get(key, {"costs": {}})["costs"]
                missing = [method for method in methods if method not in costs]
                if not missing:
                    continue
                log = Log(name, logging, draw)
                for method in missing:
                    costs[method] = log.cost(methods[method](log))
                runs[key] = {"costs": costs, "done": float(log.paid.mean()), "classes": log.K}
                print(key, {m: round(c, 3) for m, c in costs.items()}, flush=True)
                figures["summary"] = summary(runs)
                store(NAME, figures)
    for name, row in figures["summary"].items():
        print(name, {k: round(v, 3) for k, v in row.items()})


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
