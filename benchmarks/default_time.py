"""Seconds of the default estimator over those of LightGBM + temperature + minimum expected cost.

100,000 x 30, five classes, one thread. Seconds are processor seconds of this process, which
with one thread are the wall seconds of an idle machine. Predicting is compared with the sum
of what its members take. Stored in benchmarks/results/default_time.json.

    python benchmarks/default_time.py [--rows 100000]
"""

import argparse
import json
import time
import warnings

import numpy as np
from _results import store
from sklearn.calibration import CalibratedClassifierCV

from stakes.auto import StakesClassifier
from stakes.auto._members import make_tables
from stakes.datasets import make_known_posterior


def seconds(function):
    start = time.process_time()
    value = function()
    return time.process_time() - start, value


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    given = parser.parse_args()
    from lightgbm import LGBMClassifier

    warnings.simplefilter("ignore")
    data = make_known_posterior(given.rows, K=5, d=30, random_state=0)
    test = data.sample(20_000, random_state=1)
    C = data.cost_matrix.values
    base = LGBMClassifier(n_jobs=1, verbose=-1, random_state=0)

    def theirs():
        return CalibratedClassifierCV(base, method="temperature").fit(data.X, data.y)

    def ours():
        return StakesClassifier(cost_matrix=C, random_state=0, n_jobs=1).fit(data.X, data.y)

    their_fit, rival = seconds(theirs)
    print(f"LightGBM + temperature: {their_fit:.1f} s", flush=True)
    our_fit, model = seconds(ours)
    print(f"StakesClassifier: {our_fit:.1f} s, ratio {our_fit / their_fit:.2f}", flush=True)
    for member in model.explanation_["members"]:
        print(f"  {member['name']:14} {member['seconds']:8.1f} s, weight {member['weight']:.3f}")

    def members_alone():
        tables = make_tables(model.encoder_, test.X)
        return [member.predict_proba(tables) for member in model.estimators_]

    model.predict(test.X[:100])
    rounds = [
        (seconds(lambda: model.predict(test.X))[0], seconds(members_alone)[0]) for _ in range(7)
    ]
    whole, parts = (min(column) for column in zip(*rounds))
    found = {
        "rows": given.rows,
        "fit_seconds": our_fit,
        "fit_seconds_lightgbm_temperature": their_fit,
        "fit_ratio": our_fit / their_fit,
        "predict_seconds": whole,
        "predict_seconds_of_members": parts,
        "predict_ratio": whole / parts,
        "excess": test.excess(model.predict(test.X)),
        "excess_lightgbm_temperature": test.excess(
            np.argmin(rival.predict_proba(test.X) @ C, axis=1)
        ),
    }
    print(json.dumps(found, indent=2))
    store("default_time", found)


if __name__ == "__main__":
    main()
