"""Decisions that are not the classes against those that are: the excess over the best possible.

Data of known posterior with 4 classes; prices of 2, 3 and 8 decisions, and of the 4 classes, of one
generator, the same for each row or scaled by what the row's classes are worth. For each method the
excess of its decisions over the least expected cost, at the true probabilities, is divided by that
least cost, and the ratio of the averages over draws is stored with its standard error. Draws are kept
in results/choices.csv as they come; a run goes on where they end, and a summary is in
results/choices.json: ``python benchmarks/choices.py [draws]``.
"""

import csv
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _results import store
from sklearn.linear_model import LogisticRegression

from stakes._methods import Setting
from stakes.compare._registry import all_methods
from stakes.costs import Choices, CostTensor, UncertainCostMatrix
from stakes.datasets import make_known_posterior
from stakes.decision import RiskControl
from stakes.reductions import CostSensitiveOneVsOneClassifier, WeightedAllPairsClassifier

N, N_NEW, K = 800, 3000, 4
DRAWS = Path(__file__).resolve().parent.parent / "results" / "choices.csv"
FIELDS = ("kind", "method", "decisions", "draw", "excess")
# What is measured: a method of the registry and its settings, or the class that is made here.
METHODS = {
    **{name: name for name in ("constant", "plain", "mec", "calibrated", "least_regret")},
    **{name: name for name in ("risk_averse", "partition", "row_partition", "column_partition")},
    **{name: name for name in ("full_partition", "tree", "forest", "weighted", "costing", "iw")},
    **{name: name for name in ("dse", "gbse", "metacost", "csovo", "all_pairs", "filter_tree")},
    **{name: name for name in ("cost_regression", "boosted_cost")},
    "gbse theoretical": "gbse",
    "csovo, logistic": CostSensitiveOneVsOneClassifier,
    "all_pairs, logistic": WeightedAllPairsClassifier,
    "risk control": RiskControl,
    "stakes": "stakes",
}
SMALL = {"n_estimators": 10, "n_iterations": 5, "members": ["linear", "gaussian"]}
# Its steps are small, and the more so the more decisions there are: it needs many rounds.
OWN = {"gbse theoretical": {"variant": "theoretical", "n_estimators": 320}}
ABSTAIN = 2.0
# What a row's classes are worth: the scale of its prices is the exponent of this part of a score.
SPREAD = 0.5


def plain() -> LogisticRegression:
    return LogisticRegression(max_iter=500)


def prices(rng: np.random.Generator, n_decisions: int) -> np.ndarray:
    """Return prices of which each class has a cheap decision, and the others up to ten times that."""
    values = rng.uniform(2.0, 10.0, (K, n_decisions))
    values[np.arange(K), np.arange(K) % n_decisions] = rng.uniform(0.0, 1.0, K)
    return values


def make(name: str, matrix: UncertainCostMatrix, by_class: bool):
    """Return a method, small, at class costs or with none; and the kinds of costs that it takes."""
    made = METHODS[name]
    classes = np.arange(K)
    if not isinstance(made, str):
        return made(plain()), ("class", "hindsight")
    found = all_methods()[made]
    values = matrix.values if by_class else None
    choices = Choices.of(matrix.decisions or classes, classes)
    model = found.make(Setting(K, N, plain, values, choices, fast=True))
    known = model.get_params(deep=False)
    model.set_params(**{k: v for k, v in {**SMALL, **OWN.get(name, {})}.items() if k in known})
    return model, found.kinds


def controlled(data, new, matrix: UncertainCostMatrix) -> np.ndarray:
    """Decide by `RiskControl`: a model of half of the rows, a limit on the others."""
    half = N // 2
    model = plain().fit(data.X[:half], data.y[:half])
    best = (data.proba @ matrix.values).min(axis=1).mean()
    rule = RiskControl(limit=2 * best, abstain_cost=ABSTAIN, cost_matrix=matrix)
    rule.set_params(classes=np.arange(K))
    return rule.fit(model.predict_proba(data.X[half:]), data.y[half:]).predict(
        model.predict_proba(new.X)
    )


def excess(kind: str, name: str, n_decisions: int, draw: int) -> float | None:
    """Return by which share the decisions cost more than the best possible; None: not of this kind.

    `n_decisions` 0 are the classes.
    """
    data = make_known_posterior(N, K=K, d=4, random_state=draw)
    new = data.sample(N_NEW, random_state=draw + 1000)
    size = n_decisions or K
    rng = np.random.default_rng(draw)
    values = prices(rng, size)
    named = [f"d{i}" for i in range(size)] if n_decisions else list(range(K))
    low, high = 0.8 * values, 1.2 * values
    matrix = UncertainCostMatrix.from_ranges(low, high, range(K), named)
    slopes = np.random.default_rng(draw + 5000).normal(0, SPREAD / 2, (4, K))
    scales = [np.exp(at.X @ slopes) if kind == "rows" else np.ones((len(at.X), K)) for at in (data, new)]  # fmt: skip
    tensors = [CostTensor(scale[:, :, None] * values, named) for scale in scales]
    fits, predicts = {}, {}
    if name == "risk control":
        if kind == "rows":
            return None
        decided = controlled(data, new, matrix)
    else:
        model, kinds = make(name, matrix, kind == "class")
        if kind == "class":
            model.set_params(cost_matrix=matrix)
        elif "deciding" in kinds:
            fits = {"cost_tensor": tensors[0]}
            predicts = {"cost_tensor": tensors[1]}
        elif name in ("least_regret", "risk_averse"):
            return None
        else:
            rows = np.asarray(tensors[0])[np.arange(N), data.y]
            fits = {"costs": pd.DataFrame(rows, columns=named)}
        decided = model.fit(data.X, data.y, **fits).predict(new.X, **predicts)
    expected = np.einsum("nt,ntd->nd", new.proba, np.asarray(tensors[1]))
    if name == "risk control":
        expected = np.column_stack([expected, np.full(N_NEW, ABSTAIN)])
        named = [*named, -1 if not n_decisions else "abstain"]
    place = {label: d for d, label in enumerate(named)}
    taken = expected[np.arange(N_NEW), [place[label] for label in decided.tolist()]]
    best = expected.min(axis=1).mean()
    return float((taken.mean() - best) / best)


def summarize(table: pd.DataFrame) -> list[dict]:
    """Return for each kind and method the ratios to the square case, with standard errors."""
    rows = []
    for (kind, method), part in table.groupby(["kind", "method"], sort=False):
        wide = part.pivot_table(index="draw", columns="decisions", values="excess").dropna()
        if not {0, 2, 3, 8} <= set(wide.columns) or len(wide) < 2:
            continue
        square = wide[0]
        row = {"kind": kind, "method": method, "square": square.mean(), "draws": len(wide)}
        for size in (2, 3, 8):
            ratio = wide[size].mean() / square.mean()
            parts = (wide[size] / wide[size].mean() - square / square.mean()) * ratio
            row |= {f"ratio_{size}": ratio, f"error_{size}": parts.sem()}
        rows.append(row)
    return rows


def main(n_draws: int) -> None:
    warnings.simplefilter("ignore")
    done = set()
    if DRAWS.exists():
        read = pd.read_csv(DRAWS)
        done = set(zip(read["kind"], read["method"], read["decisions"], read["draw"]))
    with DRAWS.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not done:
            writer.writerow(FIELDS)
        for draw in range(n_draws):
            for kind in ("class", "rows"):
                for name in METHODS:
                    for size in (0, 2, 3, 8):
                        if (kind, name, size, draw) in done:
                            continue
                        found = excess(kind, name, size, draw)
                        if found is not None:
                            writer.writerow([kind, name, size, draw, f"{found:.6f}"])
                    file.flush()
    rows = summarize(pd.read_csv(DRAWS))
    for row in rows:
        print({k: v if isinstance(v, str) else round(float(v), 3) for k, v in row.items()})
    store("choices", {"rows": rows})


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
