"""Decisions that are not the classes against those that are: the excess over the best possible.

Data of known posterior with 4 classes; prices of 2, 3 and 8 decisions, and of the 4 classes, of one
generator. For each method the excess of its decisions over the least expected cost, at the true
probabilities, is divided by that least cost, and the ratio of the two averages is stored with its
standard error over draws: ``python benchmarks/choices.py [draws]``.
"""

import sys
import warnings

import numpy as np
from _results import store
from sklearn.linear_model import LogisticRegression

from stakes._methods import Setting
from stakes.compare._registry import all_methods
from stakes.costs import Choices, CostMatrix
from stakes.datasets import make_known_posterior

N, N_NEW, K = 800, 3000, 4
METHODS = (
    *("mec", "calibrated", "partition", "row_partition", "column_partition", "full_partition"),
    *("tree", "forest", "costing", "dse", "gbse", "metacost", "csovo", "all_pairs", "filter_tree"),
    *("weighted", "iw"),
)
SMALL = {"n_estimators": 10, "n_iterations": 5}


def prices(rng: np.random.Generator, n_decisions: int) -> np.ndarray:
    """Return prices of which each class has a cheap decision, and the others up to ten times that."""
    values = rng.uniform(2.0, 10.0, (K, n_decisions))
    values[np.arange(K), np.arange(K) % n_decisions] = rng.uniform(0.0, 1.0, K)
    return values


def excess(name: str, draw: int, n_decisions: int, named: bool) -> float:
    """Return by which share the decisions of a method cost more than the best possible."""
    data = make_known_posterior(N, K=K, d=4, random_state=draw)
    new = data.sample(N_NEW, random_state=draw + 1000)
    values = prices(np.random.default_rng(draw), n_decisions)
    classes = np.unique(data.y)
    decisions = [f"d{i}" for i in range(n_decisions)] if named else classes
    matrix = CostMatrix(values, classes, decisions)
    choices = Choices.of(matrix.decisions, classes)

    def plain() -> LogisticRegression:
        return LogisticRegression(max_iter=500)

    setting = Setting(K, N, plain, values, choices, fast=True)
    model = all_methods()[name].make(setting)
    known = model.get_params(deep=False)
    model.set_params(cost_matrix=matrix, **{k: v for k, v in SMALL.items() if k in known})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        decided = model.fit(data.X, data.y).predict(new.X)
    place = {label: d for d, label in enumerate(np.asarray(decisions).tolist())}
    expected = new.proba @ values
    taken = expected[np.arange(N_NEW), [place[label] for label in decided.tolist()]]
    best = expected.min(axis=1).mean()
    return float((taken.mean() - best) / best)


def main(n_draws: int) -> None:
    rows = []
    for name in METHODS:
        square = np.array([excess(name, draw, K, False) for draw in range(n_draws)])
        row = {"method": name, "square": square.mean(), "draws": n_draws}
        for n_decisions in (2, 3, 8):
            other = np.array([excess(name, draw, n_decisions, True) for draw in range(n_draws)])
            ratio = other.mean() / square.mean()
            parts = (other / other.mean() - square / square.mean()) * ratio
            row |= {
                f"ratio_{n_decisions}": ratio,
                f"error_{n_decisions}": parts.std(ddof=1) / np.sqrt(n_draws),
            }
        print(
            {k: v if isinstance(v, str) else round(float(v), 3) for k, v in row.items()},
            flush=True,
        )
        rows.append(row)
    store("choices", {"rows": rows})


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
