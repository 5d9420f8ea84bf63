"""Decisions and costs at other prices, from stored probabilities: no fit."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stakes.costs import Costs
from stakes.decision import decide_within


@dataclass(frozen=True)
class WhatIf:
    """The answer to a what-if: decisions and costs at other prices.

    Attributes
    ----------
    decisions : ndarray of shape (n,)
        Positions in the classes.
    total, kept_total, baseline_total, constant_total : float
        What these decisions, those made for the prices as they were, the baseline's and the
        best constant one cost.
    constant : int
        The best constant decision, as a position.
    savings : float
        Share of the baseline's cost.
    confusion : ndarray of shape (K, K)
        How often each truth met each decision.
    cost_confusion : ndarray of shape (K, K)
        What that cost in sum.
    shadow_prices : ndarray of shape (K,) or None
        With limits: what one place more of each decision is expected to be worth.
    """

    decisions: np.ndarray
    total: float
    kept_total: float
    baseline_total: float
    constant_total: float
    constant: int
    savings: float
    confusion: np.ndarray
    cost_confusion: np.ndarray
    shadow_prices: np.ndarray | None = None


def expected_at(costs: Costs, proba: np.ndarray) -> np.ndarray:
    """Return the expected cost of each decision, (n, K), summed in the order of the classes.

    The page does the same arithmetic in the same order, so both come to the same numbers.
    """
    proba = np.asarray(proba, dtype=np.float64)
    expected = np.zeros((len(proba), costs.n_classes))
    for d, t in np.ndindex(costs.n_classes, costs.n_classes):
        expected[:, d] += proba[:, t] * costs.price(t, d)
    return expected


def decide_at(costs: Costs, proba: np.ndarray) -> np.ndarray:
    """Return the decision of least expected cost, as positions; the first of equals."""
    return expected_at(costs, proba).argmin(axis=1)


def confusion_of(costs: Costs, decisions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how often each truth met each decision, and what that cost in sum, (K, K) each."""
    k = costs.n_classes
    cells = costs.y * k + decisions
    confusion = np.bincount(cells, minlength=k * k).reshape(k, k)
    if costs.by_class:
        return confusion, confusion * costs.table
    paid = np.bincount(cells, weights=costs.of(decisions), minlength=k * k)
    return confusion, paid.reshape(k, k)


def what_if(
    costs: Costs,
    proba: np.ndarray,
    *,
    kept: np.ndarray,
    baseline: np.ndarray,
    capacity: Any = None,
    labels: Any = None,
) -> WhatIf:
    """Decide at these prices and within these limits, and say what that costs."""
    prices = None
    if capacity is None:
        decisions = decide_at(costs, proba)
    else:
        plan = decide_within(expected_at(costs, proba), capacity, labels=labels)
        decisions, prices = plan.decisions, plan.shadow_prices
    confusion, cost_confusion = confusion_of(costs, decisions)
    total = float(cost_confusion.sum())
    before, unchanged = (float(confusion_of(costs, d)[1].sum()) for d in (baseline, kept))
    same = [
        float(confusion_of(costs, np.full(len(costs), d))[1].sum()) for d in range(costs.n_classes)
    ]
    return WhatIf(
        decisions=decisions,
        total=total,
        baseline_total=before,
        constant_total=min(same),
        constant=int(np.argmin(same)),
        kept_total=unchanged,
        savings=(before - total) / abs(before) if before else 0.0,
        confusion=confusion,
        cost_confusion=cost_confusion,
        shadow_prices=prices,
    )
