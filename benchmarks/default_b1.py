"""The default estimator where each example's costs are known when deciding.

Six sets with costs per row, beside the estimators of `empulse` (binary, per-example costs),
which is used where it can be imported; it is no dependency of this package. A stratified split
seeded by (set, repeat), at most `--train-rows` training rows and 20,000 test rows; savings are
those over the best constant decision of the test rows.

    python benchmarks/default_b1.py run --train-rows 4000
    python benchmarks/default_b1.py show

Rows are stored in results/default_b1.csv as they come; a run goes on where they end.
"""

import argparse
import csv
import datetime
import hashlib
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _bank import one_hot
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stakes.metrics import savings_score

STORE = Path(__file__).resolve().parent.parent / "results" / "default_b1.csv"
SETS = (
    *("churn_telco", "churn_tv", "credit_default"),
    *("credit_pakdd", "bank_marketing", "credit_gmsc"),
)
OURS = "StakesClassifier"
RIVALS = (
    "empulse CSLogit",
    "empulse CSBoost",
    "empulse CSForest",
    "empulse CSBagging",
    "empulse CSThreshold, logistic regression",
    "empulse CSThreshold, XGBoost",
)
FIELDS = (
    *("set", "repeat", "method", "n_train", "n_test", "savings", "seconds"),
    *("status", "reason", "date"),
)


def split(name, repeat, train_rows):
    from stakes.datasets import load_dataset

    data = load_dataset(name)
    seed = int(hashlib.sha256(f"{name}/{repeat}".encode()).hexdigest()[:8], 16)
    y = np.searchsorted(data.classes, data.y)
    size = min(train_rows, int(2 / 3 * len(y)))
    train, test = train_test_split(
        np.arange(len(y)), train_size=size, stratify=y, random_state=seed
    )
    test = test[:20_000]
    parts = [(data.X.iloc[rows], y[rows], data.cost_tensor[rows]) for rows in (train, test)]
    return *parts, seed % 2**31


def ours(train, test, seed):
    from stakes.auto import StakesClassifier

    (X, y, tensor), (X_test, _, tensor_test) = train, test
    model = StakesClassifier(random_state=seed, n_jobs=1).fit(X, y, cost_tensor=tensor)
    return model.predict(X_test, cost_tensor=tensor_test)


def four(tensor):
    """Return the costs by the names that empulse gives them."""
    return {
        "tn_cost": tensor[:, 0, 0],
        "fp_cost": tensor[:, 0, 1],
        "fn_cost": tensor[:, 1, 0],
        "tp_cost": tensor[:, 1, 1],
    }


def rival(name, train, test, seed):
    from empulse import models
    from xgboost import XGBClassifier

    (X, y, tensor), (X_test, _, tensor_test) = train, test
    X, X_test = one_hot(X, X_test)
    scaler = make_pipeline(SimpleImputer(), StandardScaler()).fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    kind = name.removeprefix("empulse ")
    if kind.startswith("CSThreshold"):
        base = (
            XGBClassifier(n_jobs=1, random_state=seed)
            if "XGBoost" in kind
            else LogisticRegression(max_iter=1000)
        )
        model = models.CSThresholdClassifier(base, random_state=seed)
        model.fit(X, y, **four(tensor))
        return model.predict(X_test, **four(tensor_test))
    model = {
        "CSLogit": lambda: models.CSLogitClassifier(),
        "CSBoost": lambda: models.CSBoostClassifier(XGBClassifier(n_jobs=1, random_state=seed)),
        "CSForest": lambda: models.CSForestClassifier(random_state=seed),
        "CSBagging": lambda: models.CSBaggingClassifier(random_state=seed),
    }[kind]()
    return model.fit(X, y, **four(tensor)).predict(X_test)


def run(sets, methods, repeats, train_rows, store):
    known = set()
    if store.exists():
        with store.open() as file:
            known = {
                (row["set"], int(row["repeat"]), row["method"], int(row["n_train"]))
                for row in csv.DictReader(file)
                if row["status"] == "ok"
            }
    store.parent.mkdir(parents=True, exist_ok=True)
    for repeat in range(repeats):
        for name in sets:
            train, test, seed = split(name, repeat, train_rows)
            for method in methods:
                if (name, repeat, method, len(train[1])) in known:
                    continue
                row = {
                    "set": name,
                    "repeat": repeat,
                    "method": method,
                    "n_train": len(train[1]),
                    "n_test": len(test[1]),
                    "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
                }
                start = time.perf_counter()
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        if method == OURS:
                            decided = ours(train, test, seed)
                        else:
                            decided = rival(method, train, test, seed)
                    decided = np.asarray(decided).astype(int)
                    savings = savings_score(test[1], decided, cost_tensor=test[2], labels=[0, 1])
                    row |= {"savings": savings, "status": "ok"}
                except ImportError:
                    continue
                except Exception as error:  # a failure is a row, not the end
                    row |= {"status": "failed", "reason": f"{type(error).__name__}: {error}"[:300]}
                row["seconds"] = round(time.perf_counter() - start, 2)
                new = not store.exists()
                with store.open("a", newline="") as file:
                    writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                    if new:
                        writer.writeheader()
                    writer.writerow(row)
                print({k: row.get(k) for k in ("set", "method", "savings", "seconds", "reason")})


def show(store):
    rows = pd.read_csv(store)
    rows = rows[rows["status"] == "ok"]
    print(rows.pivot_table(index="method", columns="set", values="savings").round(4).to_string())


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("command", choices=("run", "show"), nargs="?", default="show")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--methods", default="all", choices=("all", "ours", "rivals"))
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--train-rows", type=int, default=4000)
    parser.add_argument("--store", type=Path, default=STORE)
    given = parser.parse_args()
    if given.command == "show":
        show(given.store)
        return
    methods = {"all": (OURS, *RIVALS), "ours": (OURS,), "rivals": RIVALS}[given.methods]
    run(given.sets.split(","), methods, given.repeats, given.train_rows, given.store)


if __name__ == "__main__":
    main()
