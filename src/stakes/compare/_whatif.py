"""Decisions and costs at other prices, from stored probabilities: no fit."""

from dataclasses import dataclass

import numpy as np

from stakes.costs import Costs


@dataclass(frozen=True)
class WhatIf:
    """The answer to a what-if: decisions and costs at other prices.

    Attributes
    ----------
    decisions : ndarray of shape (n,)
        Positions in the classes.
    total, baseline_total, constant_total : float
        What these decisions, the baseline's and the best constant one cost.
    savings : float
        Share of the baseline's cost.
    confusion : ndarray of shape (K, K)
        How often each truth met each decision.
    cost_confusion : ndarray of shape (K, K)
        What that cost in sum.
    """

    decisions: np.ndarray
    total: float
    baseline_total: float
    constant_total: float
    savings: float
    confusion: np.ndarray
    cost_confusion: np.ndarray


def decide_at(costs: Costs, proba: np.ndarray) -> np.ndarray:
    """Return the decision of least expected cost, as positions; the first of equals.

    The page does the same arithmetic in the same order, so both come to the same numbers.
    """
    proba = np.asarray(proba, dtype=np.float64)
    best = np.full(len(proba), np.inf)
    decisions = np.zeros(len(proba), dtype=np.int64)
    for d in range(costs.n_classes):
        expected = np.zeros(len(proba))
        for t in range(costs.n_classes):
            expected += proba[:, t] * costs.price(t, d)
        cheaper = expected < best
        decisions[cheaper] = d
        best = np.where(cheaper, expected, best)
    return decisions


def confusion_of(costs: Costs, decisions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how often each truth met each decision, and what that cost in sum, (K, K) each."""
    k = costs.n_classes
    cells = costs.y * k + decisions
    confusion = np.bincount(cells, minlength=k * k).reshape(k, k)
    if costs.by_class:
        return confusion, confusion * costs.table
    paid = np.bincount(cells, weights=costs.of(decisions), minlength=k * k)
    return confusion, paid.reshape(k, k)


def what_if(costs: Costs, proba: np.ndarray, baseline: np.ndarray) -> WhatIf:
    """Decide at these prices, and say what that costs."""
    decisions = decide_at(costs, proba)
    confusion, cost_confusion = confusion_of(costs, decisions)
    total = float(cost_confusion.sum())
    before = float(costs.of(baseline).sum())
    same = (np.full(len(costs), d) for d in range(costs.n_classes))
    return WhatIf(
        decisions=decisions,
        total=total,
        baseline_total=before,
        constant_total=min(float(costs.of(decision).sum()) for decision in same),
        savings=(before - total) / abs(before) if before else 0.0,
        confusion=confusion,
        cost_confusion=cost_confusion,
    )
