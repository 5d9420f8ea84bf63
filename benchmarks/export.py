"""Exports beside their models: 200 random models on 10,000 fresh rows each, and latency.

    python benchmarks/export.py agreement [--models 200] [--rows 10000]
    python benchmarks/export.py latency

Every model is of another method, kind of costs, number of classes (2 to 30), kind of labels and
table. A model that is done is kept in benchmarks/results/export_models.jsonl: the command goes on
where it stopped.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _results import store

from stakes.auto import StakesClassifier
from stakes.compare import fit_model
from stakes.compare._registry import all_methods
from stakes.costs import CostMatrix
from stakes.export import OnnxDecider, to_onnx
from stakes.export._source import Source
from stakes.export._verify import TIE

RESULTS = Path(__file__).parent / "results"
MEMBERS = ["linear", "boosting", "extra_trees", "network", "gaussian", "forest", "small_boosting"]
JOBS = np.array([f"job {i}" for i in range(12)], dtype=object)


def make_table(rng, n, n_classes, centres, mixed, gaps, new=False):
    """Return rows and their classes; new rows may hold categories that training had not."""
    y = rng.permutation(np.arange(n) % n_classes)
    X = centres[y] + rng.normal(size=(n, centres.shape[1])) * 1.5
    if gaps:
        X[rng.random(X.shape) < 0.08] = np.nan
    if not mixed:
        return X, y
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    job = JOBS[(y + rng.integers(0, 5, n)) % len(JOBS)]
    job[rng.random(n) < 0.05] = None
    if new:
        job[rng.random(n) < 0.02] = "a new one"
    return frame.assign(job=job, likes=rng.choice(["yes", "no"], n)), y


def random_model(number):
    """Return a fitted model, fresh rows, their prices and what it is."""
    rng = np.random.default_rng(number)
    names = [n for n, m in all_methods().items() if "onnx" in m.exports]
    name = names[number % len(names)]
    method = all_methods()[name]
    only = {"binary_threshold": 2, "mossman": 3}
    many = (
        [2, 2, 3, 4, 6, 10, 30] if name not in ("boosted_cost", "cost_regression") else [2, 3, 5]
    )
    n_classes = only.get(name, int(rng.choice(many)))
    kind = str(rng.choice(method.kinds))
    mixed, gaps = bool(rng.random() < 0.5), bool(rng.random() < 0.5)
    n = int(max(20 * n_classes, rng.integers(200, 500)))
    centres = rng.normal(size=(n_classes, int(rng.integers(2, 7)))) * 2
    X, y = make_table(rng, n, n_classes, centres, mixed, gaps)
    matrix = rng.uniform(0.5, 10, (n_classes, n_classes)) * (1 - np.eye(n_classes))
    as_text = rng.random() < 0.5
    labels = (
        np.array([f"class {i:02d}" for i in range(n_classes)])
        if as_text
        else np.arange(n_classes) * 3
    )
    amount = rng.lognormal(0, 0.6, n)
    tensor = matrix[None] * amount[:, None, None]
    given = {
        "class": {"cost_matrix": CostMatrix(matrix, labels=labels)},
        "deciding": {"cost_tensor": tensor},
        "hindsight": {"costs": tensor[np.arange(n), y]},
    }[kind]
    about = {"number": number, "method": name, "kind": kind, "classes": n_classes, "mixed": mixed}
    about |= {"gaps": gaps, "labels": "text" if as_text else "numbers"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "stakes":
            some = sorted(rng.choice(MEMBERS, 3, replace=False).tolist())
            own = {"members": some, "random_state": 0}
            own |= {"cost_matrix": given.pop("cost_matrix")} if kind == "class" else {}
            model = StakesClassifier(**own).fit(X, labels[y], **given)
        else:
            model = fit_model(X, labels[y], name, **given)
    return model, (rng, centres, mixed, gaps, matrix, n_classes), about


def agreement(n_models, n_rows):
    path = RESULTS / "export_models.jsonl"
    done = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    known = {row["number"] for row in done if row["rows"] >= n_rows}
    for number in range(n_models):
        if number in known:
            continue
        model, (rng, centres, mixed, gaps, matrix, n_classes), about = random_model(number)
        about["rows"] = n_rows
        started = time.process_time()
        try:
            decider = OnnxDecider(to_onnx(model))
        except ValueError as error:
            about["refused"] = str(error)
            keep(path, about)
            continue
        about["export_seconds"] = round(time.process_time() - started, 2)
        X, _ = make_table(rng, n_rows, n_classes, centres, mixed, gaps, new=True)
        source = Source(model)
        prices = None
        if source.needs_prices or (source.weighs_prices and rng.random() < 0.5):
            prices = matrix[None] * rng.lognormal(0, 0.6, (n_rows, 1, 1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours = source.said(X, prices)
        theirs = decider.run(X, cost_tensor=prices)
        places = {label: i for i, label in enumerate(source.decisions)}
        decided = np.array([places[label] for label in theirs["decision"].tolist()])
        differ = np.flatnonzero(decided != ours.decision)
        about["prices"] = prices is not None
        about["differ"] = len(differ)
        about["gap"] = 0.0
        if len(differ):
            rows = np.arange(len(differ))
            scores = [table[differ] for table, _ in ours.tables]
            gaps_found = [
                np.abs(table[rows, ours.decision[differ]] - table[rows, decided[differ]])
                for table in scores
            ]
            about["gap"] = float(np.min(gaps_found, axis=0).max()) if gaps_found else np.inf
        for name, own in (("probabilities", ours.proba), ("expected_costs", ours.expected)):
            if own is not None and name in theirs:
                about[name] = float(np.abs(own - theirs[name]).max())
        keep(path, about)
    summary(path, n_rows)


def keep(path, about):
    with path.open("a") as file:
        file.write(json.dumps(about) + "\n")
    print(json.dumps(about), flush=True)


def summary(path, n_rows):
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows = [row for row in rows if row["rows"] >= n_rows]
    kept = [row for row in rows if "refused" not in row]
    ties = sum(row["differ"] for row in kept if row["gap"] <= TIE)
    wrong = sum(row["differ"] for row in kept if row["gap"] > TIE)
    found = {
        "models": len(rows),
        "refused": len(rows) - len(kept),
        "decisions": len(kept) * n_rows,
        f"differ at ties within {TIE}": ties,
        "differ otherwise": wrong,
    }
    for name in ("probabilities", "expected_costs"):
        found[f"largest error of {name}"] = max(row.get(name, 0.0) for row in kept)
    store("export_models", found)


def latency():
    """Print the time of one row, and of 100,000, as ratios to `predict` in one run."""
    rng = np.random.default_rng(0)
    n_classes, found = 4, []
    centres = rng.normal(size=(n_classes, 8)) * 2
    matrix = rng.uniform(0.5, 10, (n_classes, n_classes)) * (1 - np.eye(n_classes))
    many, _ = make_table(rng, 100_000, n_classes, centres, False, True)
    for mixed in (False, True):
        X, y = make_table(rng, 2000, n_classes, centres, mixed, True)
        for name in ("tree", "forest", "combo", "mec", "calibrated", "partition", "csovo", "gbse"):
            model = fit_model(X, y, name, cost_matrix=matrix)
            decider = OnnxDecider(to_onnx(model))
            row = {"method": name, "mixed": mixed, "one_row": beside(decider, model, X[:1], 30)}
            if not mixed:
                row["many_rows"] = beside(decider, model, many, 3)
            found.append(row)
            print(json.dumps(row), flush=True)
    store("export_latency", {"time of onnxruntime over that of predict": found})


def beside(decider, model, X, repeats):
    """Return the time of the graph over that of the model on the same rows."""
    feeds = decider._schema.feeds(X)
    return ratio(lambda: decider._session.run(None, feeds), lambda: model.predict(X), repeats)


def ratio(ours, theirs, repeats):
    """Return the best processor time of one over that of the other, run in turns."""
    times = [[], []]
    for _ in range(repeats):
        for kept, run in zip(times, (ours, theirs)):
            start = time.process_time()
            run()
            kept.append(time.process_time() - start)
    return round(min(times[0]) / min(times[1]), 4)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["agreement", "latency"])
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--rows", type=int, default=10_000)
    asked = parser.parse_args()
    if asked.what == "latency":
        latency()
    else:
        agreement(asked.models, asked.rows)
