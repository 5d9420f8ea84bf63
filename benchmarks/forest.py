"""The cost forest beside a plain forest with calibration: costs of decisions, and seconds.

The rival is scikit-learn's random forest, temperature scaling in three folds and minimum expected
cost, on one-hot categories. Both have one thread and their default settings. On each split of a
set (stratified, a third held out) a cost forest is fitted to each of a few matrices and decides
by its own; its probabilities are also weighed by a hundred other matrices, for which nothing is
fitted anew. The rival is fitted once: its probabilities do not depend on costs. Matrices are of
three kinds in turn: Abe's, rarity, and uniform from 1 to 10.

    python benchmarks/forest.py run                    # goes on where the store ends
    python benchmarks/forest.py run --sets wine glass  # some of the sets
    python benchmarks/forest.py show                   # ratios, and results/forest.json

What a matrix costs is divided by the best constant decision's, so that all matrices weigh alike.
Seconds are those of the processor, of one fit. Needs the data sets that STAKES_DATA names.
"""

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _bank import SETS, load, one_hot, seed_of
from _results import RESULTS, store
from scipy import stats
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from stakes.costs import CostMatrix, random_abe, random_uniform
from stakes.tree import CostForestClassifier

STORE = RESULTS / "forest.csv"
SPLITS = 3
OWN = 4  # matrices that a forest is fitted to, on each split
OTHERS = 100  # matrices that its probabilities are weighed by
FIELDS = ("set", "split", "matrices", "ours", "rival", "seconds_ours", "seconds_rival")


def make_matrix(y, seed):
    """Return one matrix of the three kinds, as an array in the order of the labels."""
    labels = np.unique(y)
    if seed % 3 == 0:
        return random_abe(y, random_state=seed).align(labels)
    if seed % 3 == 1:
        return random_uniform(len(labels), random_state=seed).align(labels)
    # rarity has no chance in it: the same matrix, each price up to a half dearer
    dearer = 1.0 + 0.5 * np.random.default_rng(seed).random((len(labels), len(labels)))
    return CostMatrix.rarity(y).align(labels) * dearer


def paid(proba, codes, C):
    """Return what minimum expected cost pays, over what the best constant decision pays."""
    decided = (proba @ C).argmin(axis=1)
    return C[codes, decided].mean() / C[codes].mean(axis=0).min()


def measure(name, split):
    """Return the two rows of a split: costs by own matrices and by others."""
    X, y = load(name)
    codes = np.unique(y, return_inverse=True)[1]
    seed = seed_of(name, split) % 2**31
    train, test = train_test_split(
        np.arange(len(y)), test_size=1 / 3, stratify=y, random_state=seed
    )
    matrices = [make_matrix(y, seed - seed % 3 + i) for i in range(OWN + OTHERS)]
    X_train, X_test = one_hot(X.iloc[train], X.iloc[test])
    start = time.process_time()
    model = RandomForestClassifier(random_state=seed)
    model = CalibratedClassifierCV(model, method="temperature", cv=3).fit(X_train, codes[train])
    seconds = {"rival": time.process_time() - start, "ours": 0.0}
    rival = model.predict_proba(X_test)
    own, others = [], []
    for C in matrices[:OWN]:
        start = time.process_time()
        forest = CostForestClassifier(C, random_state=seed).fit(X.iloc[train], codes[train])
        seconds["ours"] += (time.process_time() - start) / OWN
        ours = forest.predict_proba(X.iloc[test])
        decided = forest.predict(X.iloc[test])
        assert (decided == (ours @ C).argmin(axis=1)).mean() > 0.999, "decides by probabilities"
        own.append((paid(ours, codes[test], C), paid(rival, codes[test], C)))
        others += [
            (paid(ours, codes[test], M), paid(rival, codes[test], M)) for M in matrices[OWN:]
        ]
    return [
        {
            "set": name,
            "split": split,
            "matrices": kind,
            "ours": np.mean(found, axis=0)[0],
            "rival": np.mean(found, axis=0)[1],
            "seconds_ours": seconds["ours"],
            "seconds_rival": seconds["rival"],
        }
        for kind, found in (("own", own), ("others", others))
    ]


def run(sets, splits):
    """Measure what the store lacks, one split of every set after the other."""
    rng = np.random.default_rng(0)  # compiled code is no part of a fit
    CostForestClassifier(n_estimators=2).fit(rng.random((50, 2)), np.arange(50) % 3)
    for split in range(splits):
        for name in sets:
            if STORE.exists():
                rows = pd.read_csv(STORE)
                if ((rows["set"] == name) & (rows["split"] == split)).any():
                    continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rows = measure(name, split)
            new = not STORE.exists()
            with STORE.open("a", newline="") as file:
                writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                if new:
                    writer.writeheader()
                writer.writerows(rows)
            print(name, split, [round(row["ours"] / row["rival"], 3) for row in rows], flush=True)


def geometric_mean(ratios):
    """Return the geometric mean of the ratios of sets, and its 95% interval."""
    logs = np.log(ratios)
    mean, error = logs.mean(), stats.sem(logs)
    reach = stats.t.ppf(0.975, len(logs) - 1) * error
    return [float(np.exp(mean + t)) for t in (0.0, -reach, reach)]


def show(path: Path = STORE):
    """Print the ratio of each set, and of all; store the latter."""
    rows = pd.read_csv(path)
    by_set = rows.groupby(["matrices", "set"]).mean(numeric_only=True)
    ratio = (by_set["ours"] / by_set["rival"]).unstack("matrices")
    faster = (by_set["seconds_rival"] / by_set["seconds_ours"]).loc["own"]
    ratio["times faster"] = faster
    ratio["splits"] = rows.groupby("set")["split"].nunique()
    ratio = ratio.loc[[name for name in SETS if name in ratio.index]]
    print(ratio.round(3).to_string())
    figures = {
        "sets": len(ratio),
        "cost over the rival's, fitted to the matrix (mean, 95% interval)": geometric_mean(
            ratio["own"]
        ),
        "cost over the rival's, other matrices (mean, 95% interval)": geometric_mean(
            ratio["others"]
        ),
        "times faster (geometric mean)": geometric_mean(ratio["times faster"])[0],
        "times faster (least)": float(ratio["times faster"].min()),
        "by set": ratio.round(4).to_dict("index"),
    }
    for name, value in figures.items():
        if name != "by set":
            print(f"{name}: {np.round(value, 3)}")
    store("forest", figures)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--splits", type=int, default=SPLITS)
    given = parser.parse_args()
    if given.what == "run":
        run(given.sets, given.splits)
    show()


if __name__ == "__main__":
    main()
