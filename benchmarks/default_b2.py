"""The default estimator where example costs are known in hindsight.

`make_known_posterior(cost_kind="hindsight")` knows the least possible cost, so the excess over it has no
label noise. Beside the single candidates: the cost forest, cost regression, probabilities times
amounts with one model each, cost-sensitive one-versus-one, expected-cost boosting.

    python benchmarks/default_b2.py [--rows 2000] [--seeds 3]

Stored in benchmarks/results/default_b2.json.
"""

import argparse
import json
import warnings

import numpy as np
from _results import store
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from stakes.auto import ExpectedCostBoostingClassifier, StakesClassifier
from stakes.datasets import make_known_posterior
from stakes.reductions import CostRegressionClassifier, CostSensitiveOneVsOneClassifier
from stakes.tree import CostForestClassifier


def two_models(data, X_test):
    """One classifier for the class, one regression per class for its costs."""
    proba = RandomForestClassifier(random_state=0).fit(data.X, data.y).predict_proba(X_test)
    expected = np.zeros_like(proba)
    for label in range(proba.shape[1]):
        own = data.y == label
        forest = RandomForestRegressor(min_samples_leaf=3, random_state=0)
        forest.fit(data.X[own], data.costs[own])
        expected += proba[:, [label]] * forest.predict(X_test)
    return expected.argmin(axis=1)


def candidates():
    return {
        "StakesClassifier": StakesClassifier(random_state=0),
        "cost forest": CostForestClassifier(random_state=0),
        "cost regression": CostRegressionClassifier(random_state=0),
        "one-versus-one, random forest": CostSensitiveOneVsOneClassifier(
            RandomForestClassifier(random_state=0), random_state=0
        ),
        "expected-cost boosting": ExpectedCostBoostingClassifier(random_state=0),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    excess: dict = {}
    for seed in range(given.seeds):
        data = make_known_posterior(
            given.rows, K=3, d=10, cost_kind="hindsight", random_state=seed
        )
        test = data.sample(10_000, random_state=seed + 100)
        for name, model in candidates().items():
            decided = model.fit(data.X, data.y, costs=data.costs).predict(test.X)
            excess.setdefault(name, []).append(test.excess(decided))
            print(f"{seed} {name:32} {excess[name][-1]:.3f}", flush=True)
        excess.setdefault("two models", []).append(test.excess(two_models(data, test.X)))
        print(f"{seed} {'two models':32} {excess['two models'][-1]:.3f}", flush=True)
    found = {
        "rows": given.rows,
        "excess": excess,
        "mean_excess": {name: float(np.mean(values)) for name, values in excess.items()},
    }
    print(json.dumps(found["mean_excess"], indent=2))
    store("default_b2", found)


if __name__ == "__main__":
    main()
