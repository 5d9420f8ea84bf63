"""Logs of decisions: do the intervals of a policy's cost hold the truth? Each part stores as it ends.

    python benchmarks/logged.py coverage [draws]     intervals, over draws of logs with known truth
    python benchmarks/logged.py bandit               the Open Bandit logs against each other

Where STAKES_DATA has no folder `logged`, the second part says so and ends.
"""

import os
import sys
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from _results import kept, store
from scipy.special import softmax
from sklearn.linear_model import LinearRegression

from stakes.datasets import make_known_posterior
from stakes.logged import costs_from_logs, policy_cost

NAME = "logged"
SHARPNESS = {"good": 0.5, "poor": 1.2}


class Log:
    """A population in which K = 3 classes, A decisions and a logging policy are known."""

    def __init__(self, n_decisions, overlap, seed=0):
        rng = np.random.default_rng(seed)
        self.population = make_known_posterior(10, K=3, d=5, random_state=seed).population
        self.prices = rng.uniform(0.0, 10.0, size=(3, n_decisions))
        self.logging = rng.normal(size=(5, n_decisions)) * SHARPNESS[overlap] / np.sqrt(5)
        self.policy = rng.normal(size=(5, n_decisions))
        self.truth = float(np.mean([self.expected(part) for part in range(1, 21)]))

    def expected(self, part):
        """Return what the policy costs on average, of 200,000 rows."""
        X = np.random.RandomState(10**6 + part).normal(size=(200_000, 5))
        costs = self.population.proba(X) @ self.prices
        return costs[np.arange(len(X)), self.decide(X)].mean()

    def decide(self, X):
        """Return what the fixed policy does: some other linear rule."""
        return (X @ self.policy).argmax(axis=1)

    def propensities(self, X):
        return softmax(X @ self.logging, axis=1)

    def draw(self, n, seed):
        rows = self.population.draw(n, np.random.RandomState(seed))
        rng = np.random.default_rng(seed)
        shares = self.propensities(rows.X)
        done = (rng.random((n, 1)) > shares[:, :-1].cumsum(axis=1)).sum(axis=1)
        amount = rng.lognormal(-0.125, 0.5, size=n)  # of mean 1
        return rows.X, done, self.prices[rows.y, done] * amount, shares


class Right(LinearRegression):
    """A regression that is right: costs are linear in the probabilities of the classes."""

    def __init__(self, population=None):
        super().__init__(fit_intercept=False)
        self.population = population

    def fit(self, X, y):
        return super().fit(self.population.proba(X), y)

    def predict(self, X):
        return super().predict(self.population.proba(X))


class Nothing(LinearRegression):
    """A regression that is wrong: the same for all rows."""

    def fit(self, X, y):
        self.value_ = 0.5 * float(np.mean(y)) + 3.0
        return self

    def predict(self, X):
        return np.full(len(X), self.value_)


def coverage_of(log, n, how, draws):
    """Return how often 95% intervals hold the truth, and the bias in standard errors."""
    inside, errors, widths, refused = [], [], [], 0
    for seed in range(draws):
        X, done, paid, shares = log.draw(n, seed)
        given, learner, method = shares, LinearRegression(), "dr"
        support = 0.0
        if how == "estimated propensities":
            given, support = None, 1e-6  # no log is refused for little overlap
        elif how == "wrong propensities":
            given, learner = np.full_like(shares, 1.0 / shares.shape[1]), Right(log.population)
        elif how == "wrong regression":
            learner = Nothing()
        elif how == "propensities alone":
            method = "ipw"
        elif how == "default learner":
            learner = None
        try:
            logged = costs_from_logs(
                X,
                done,
                paid,
                propensities=given,
                learner=learner,
                method=method,
                support=support,
                random_state=seed,
            )
            cost = policy_cost(log.decide(X), logged)
        except ValueError:  # no overlap, or fewer than ten rows that agree with the policy
            refused += 1
            continue
        inside.append(cost.interval[0] <= log.truth <= cost.interval[1])
        errors.append((cost.cost - log.truth) / cost.standard_error)
        widths.append(cost.interval[1] - cost.interval[0])
    return {
        "coverage": float(np.mean(inside)),
        "standard_error": float(np.sqrt(np.mean(inside) * (1 - np.mean(inside)) / len(inside))),
        "bias_in_standard_errors": float(np.mean(errors)),
        "width": float(np.mean(widths)),
        "draws": draws,
        "refused": refused,
    }


WAYS = (
    "known propensities",
    "estimated propensities",
    "propensities alone",
    "wrong propensities",
    "wrong regression",
    "default learner",
)


# Outside 93% to 97% after 500 draws, which are the same for all ways of a case; not after these.
AGAIN = {(10_000, 4, "poor", "known propensities"): 2_500}


def coverage(draws=500):
    figures = kept(NAME)
    for n in (1_000, 10_000):
        for n_decisions in (2, 4, 10):
            for overlap in SHARPNESS:
                log = Log(n_decisions, overlap)
                for how in WAYS:
                    key = f"coverage, n={n}, A={n_decisions}, {overlap} overlap, {how}"
                    if how == "default learner" and (n > 1_000 or n_decisions > 4):
                        continue
                    few = min(draws, 100) if how == "default learner" else draws
                    few = max(few, AGAIN.get((n, n_decisions, overlap, how), few))
                    if figures.get(key, {}).get("draws", 0) >= few:
                        continue
                    figures[key] = coverage_of(log, n, how, few)
                    print(key, figures[key], flush=True)
                    store(NAME, figures)


def bandit():
    folder = Path(os.environ.get("STAKES_DATA", "")) / "logged"
    if not folder.is_dir():
        print("STAKES_DATA has no folder `logged`: the Open Bandit part is left out.")
        return
    figures = kept(NAME)
    for campaign in ("all", "men", "women"):
        random, thompson = (
            pd.read_csv(folder / f"obd_{kind}_{campaign}.csv.gz") for kind in ("random", "bts")
        )
        items = sorted(set(random["item_id"]) | set(thompson["item_id"]))
        counts = thompson.groupby(["position", "item_id"]).size().unstack(fill_value=0)
        counts = counts.reindex(columns=items, fill_value=0)
        shares = counts.div(counts.sum(axis=1), axis=0)
        features = [c for c in random if c.startswith("user_feature")] + ["position"]
        uniform = np.full((len(random), len(items)), 1.0 / len(items))
        logged = costs_from_logs(
            random[features].astype({"position": str}),
            random["item_id"],
            -random["click"],
            propensities=pd.DataFrame(uniform, columns=items),
            cv=3,
            random_state=0,
        )
        cost = policy_cost(
            shares.loc[random["position"], list(logged.decisions)].to_numpy(), logged
        )
        truth = -float(thompson["click"].mean())
        figures[f"open bandit, {campaign}"] = {
            "thompson_in_its_own_log": truth,
            "from_the_random_log": cost.cost,
            "low": cost.interval[0],
            "high": cost.interval[1],
            "inside": bool(cost.interval[0] <= truth <= cost.interval[1]),
            "effective_rows": cost.effective_rows,
        }
        figures[f"open bandit, {campaign}, reversed"] = reversed_bandit(random, thompson, features)
        print(campaign, figures[f"open bandit, {campaign}"], flush=True)
        print(campaign, figures[f"open bandit, {campaign}, reversed"], flush=True)
        store(NAME, figures)


def reversed_bandit(random, thompson, features):
    """Return what showing at random costs by the other log, or the warning of too little overlap."""
    try:
        logged = costs_from_logs(
            thompson[features].astype({"position": str}),
            thompson["item_id"],
            -thompson["click"],
            propensities=thompson["propensity_score"],
            cv=3,
            random_state=0,
        )
        n_items = len(logged.decisions)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            cost = policy_cost(np.full((len(logged), n_items), 1.0 / n_items), logged)
    except ValueError as error:
        return {"refused": str(error)}
    truth = -float(random["click"].mean())
    return {
        "random_in_its_own_log": truth,
        "from_the_thompson_log": cost.cost,
        "low": cost.interval[0],
        "high": cost.interval[1],
        "inside": bool(cost.interval[0] <= truth <= cost.interval[1]),
        "effective_rows": cost.effective_rows,
        "warned": [str(warning.message) for warning in said],
    }


if __name__ == "__main__":
    part, *rest = sys.argv[1:] or ["coverage"]
    {"coverage": coverage, "bandit": bandit}[part](*map(int, rest))
