"""Escalation: a learned cascade of three models against tuned thresholds and against each model.

    python benchmarks/cascade.py [matrices]

20 data sets, half of the rows to learn from, three splits, since one test set favours whom it likes. Per
split, matrices and prices of asking are drawn; the rival is the best of all pairs of models with a
threshold on the greatest probability, pair and threshold tuned on the same held-out rows. A single
model is chosen on the held-out rows, too, or, as nobody can, on the rows that it is tested on.
"""

import os
import sys
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _results import store
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stakes.compare import TablePreparation
from stakes.datasets import load_dataset
from stakes.decision import CascadeClassifier, ProbabilityCalibrator

SETS = [
    "kdd99_10pct",
    "credit_gmsc",
    "connect4",
    "shuttle",
    "bank_marketing",
    "credit_pakdd",
    "credit_default",
    "letter",
    "nursery",
    "churn_tv",
    "churn_telco",
    "satimage",
    "splice",
    "segmentation",
    "car",
    "yeast",
    "flare",
    "german_credit",
    "annealing",
    "vehicle",
]
MOST_ROWS = 6_000
SPLITS = 3
TRIED = np.unique(np.concatenate([np.linspace(0.0, 0.9, 37), np.linspace(0.9, 1.0, 21), [1.01]]))

warnings.filterwarnings("ignore")


def models():
    line = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(C=0.05))
    forest = make_pipeline(SimpleImputer(), RandomForestClassifier(100, random_state=0))
    boosting = HistGradientBoostingClassifier(max_iter=60, random_state=0)
    return [line, forest, boosting]


def probabilities(name, split):
    """Return calibrated (held-out, test) probabilities of each model, and their truths."""
    data = load_dataset(name)
    rows = np.random.default_rng(split).permutation(len(data.y))[:MOST_ROWS]
    y = np.unique(np.asarray(data.y)[rows], return_inverse=True)[1]
    keep = np.isin(y, np.flatnonzero(np.bincount(y) >= 8))
    rows, y = rows[keep], np.unique(y[keep], return_inverse=True)[1]
    X = TablePreparation().fit_transform(data.X.iloc[rows])
    train, test = train_test_split(
        np.arange(len(y)), test_size=0.5, stratify=y, random_state=split
    )
    held_out, new = [], []
    for model in models():
        proba = cross_val_predict(
            model,
            X[train],
            y[train],
            cv=StratifiedKFold(4, shuffle=True, random_state=0),
            method="predict_proba",
        )
        calibrator = ProbabilityCalibrator("temperature").fit(proba, y[train])
        held_out.append(calibrator.transform(proba))
        new.append(calibrator.transform(model.fit(X[train], y[train]).predict_proba(X[test])))
    return held_out, new, y[train], y[test]


def threshold_costs(first, second, y, C, prices, tried):
    """Return the cost per case of asking the second below each confidence of the first."""
    own, other = (C[y, (p @ C).argmin(axis=1)] for p in (first, second))
    sure = first.max(axis=1)
    asks = sure[None] < np.asarray(tried)[:, None]
    return np.where(asks, other + prices[1], own).mean(axis=1) + prices[0]


def single_costs(probas, y, C, prices):
    """Return what each model alone costs each case, (3, n)."""
    return np.array(
        [C[y, (p @ C).argmin(axis=1)] + c for p, c in zip(probas, prices, strict=True)]
    )


def best_pair(held_out, y, C, prices):
    """Return the two models and the threshold that cost least on held-out rows."""
    best = (np.inf, None)
    for pair in ([0, 1], [0, 2], [1, 2]):
        costs = threshold_costs(*(held_out[m] for m in pair), y, C, prices[pair], TRIED)
        best = min(best, (costs.min(), (pair, TRIED[costs.argmin()])), key=lambda tried: tried[0])
    return best[1]


def costs_of(name, split, matrices):
    """Return what the cascade, the thresholds and a single model cost, (matrices, 4), and gaps.

    The gaps are what the cascade cost each case more than a single model, averaged over matrices, (2, n).
    """
    held_out, new, y, y_test = probabilities(name, split)
    n_classes = held_out[0].shape[1]
    rng = np.random.default_rng(split)
    rows, gaps = [], np.zeros((2, len(y_test)))
    for _ in range(matrices):
        C = rng.uniform(1.0, 10.0, size=(n_classes, n_classes))
        np.fill_diagonal(C, 0.0)
        prices = np.array([0.0, rng.uniform(0.02, 0.5), rng.uniform(0.02, 1.0)])
        stages = [(f"m{i}", None, price) for i, price in enumerate(prices)]
        cascade = CascadeClassifier(stages, cost_matrix=C, calibration=None)
        cascade.fit_proba(held_out, y)
        ours = cascade.costs_paid_from_proba(new, y_test)
        pair, tau = best_pair(held_out, y, C, prices)
        rival = threshold_costs(*(new[m] for m in pair), y_test, C, prices[pair], [tau])[0]
        alone = single_costs(new, y_test, C, prices)
        chosen = single_costs(held_out, y, C, prices).mean(axis=1).argmin()
        singles = alone[[chosen, alone.mean(axis=1).argmin()]]
        rows.append((ours.mean(), rival, *singles.mean(axis=1)))
        gaps += (ours - singles) / matrices
    return rows, gaps


def above(gaps):
    """Return by how many standard errors the mean of gaps is above 0: new cases, not new matrices."""
    spread = np.sqrt(sum(gap.var(ddof=1) / len(gap) for gap in gaps))
    return float(sum(gap.mean() for gap in gaps) / spread) if spread > 0 else 0.0


def main(matrices=300):
    figures, rows = {}, []
    for name in SETS:
        each = matrices // SPLITS
        parts = [costs_of(name, split, each) for split in range(SPLITS)]
        ours, rival, single, hindsight = np.array([row for part, _ in parts for row in part]).T
        row = {
            "over_thresholds": float(ours.mean() / rival.mean()),
            "over_single": float(ours.mean() / single.mean()),
            "above_single_in_standard_errors": above([gaps[0] for _, gaps in parts]),
            "over_best_single_in_hindsight": float(ours.mean() / hindsight.mean()),
            "above_hindsight_in_standard_errors": above([gaps[1] for _, gaps in parts]),
        }
        rows.append(row)
        figures[name] = row
        print(name, row, flush=True)
        ratio = np.array([r["over_thresholds"] for r in rows])
        beyond = [
            np.array([r[f"above_{which}_in_standard_errors"] for r in rows])
            for which in ("single", "hindsight")
        ]
        figures["all"] = {
            "sets": len(rows),
            "at_most_thresholds": float((ratio <= 1.0).mean()),
            "geometric_mean": float(np.exp(np.log(ratio).mean())),
            "sets_above_single_by_two": int((beyond[0] > 2.0).sum()),
            "sets_above_hindsight_by_two": int((beyond[1] > 2.0).sum()),
            "matrices": each * SPLITS,
            "splits": SPLITS,
        }
        store("cascade", figures)
    print(figures["all"])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
