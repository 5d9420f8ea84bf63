"""What a user writes, checked by `mypy --strict`: every type named here is one that we promise."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from stakes import CostDecisionClassifier, CostMatrix, StakesClassifier, make_cost_scorer
from stakes.compare import (
    Comparison,
    DecisionModel,
    compare,
    fit_model,
    load_model,
    save_model,
)
from stakes.decision import MinimumExpectedCost, Policy
from stakes.metrics import average_cost, savings_score
from stakes.monitor import CostEstimate, Monitor, estimate_cost
from stakes.tree import CostForestClassifier, CostTreeClassifier

Labels = npt.NDArray[np.str_]
Paid = list[float]


def prices() -> CostMatrix:
    return CostMatrix.binary(fp=1.0, fn=5.0, labels=["good", "bad"])


def cheapest(X: pd.DataFrame, y: Labels) -> str:
    comparison: Comparison = compare(X, y, methods=["plain", "tree"], cost_matrix=prices())
    return str(comparison.recommended)


def fit(X: pd.DataFrame, y: Labels, path: Path) -> DecisionModel:
    model = fit_model(X, y, cheapest(X, y), cost_matrix=prices())
    save_model(model, path)
    again: DecisionModel = load_model(path)
    table: pd.DataFrame = again.decide(X)
    print(table["decision"].value_counts())
    policy: Policy = again.policy
    print(policy.prices.sum(), [str(label) for label in again.classes])
    return again


def watch(model: DecisionModel, X: pd.DataFrame, y: Labels) -> float:
    estimate: CostEstimate = estimate_cost(model, X, reference=(X, y))
    monitor = Monitor(model, reference=(X, y))
    found = monitor.update(X, y, label="May")
    return estimate.cost + float(found["expected"])


def costs_of(X: pd.DataFrame, y: Labels) -> Paid:
    classifiers = [
        StakesClassifier(cost_matrix=prices(), members=["linear"], random_state=0),
        CostTreeClassifier(cost_matrix=prices(), max_depth=3),
        CostForestClassifier(cost_matrix=prices(), n_estimators=10),
        CostDecisionClassifier(CostTreeClassifier(), cost_matrix=prices()),
    ]
    decided = [classifier.fit(X, y).predict(X) for classifier in classifiers]
    scorer = make_cost_scorer(prices())
    scores: list[float] = [scorer(classifier, X, y) for classifier in classifiers]
    paid = [average_cost(y, one, cost_matrix=prices()) for one in decided]
    return [*scores, *paid, savings_score(y, decided[0], cost_matrix=prices())]


def decide(proba: npt.NDArray[np.float64], y: Labels) -> Labels:
    return MinimumExpectedCost(cost_matrix=prices()).fit(proba, y).predict(proba)
