"""Decisions and costs at other prices, from stored probabilities: no fit."""

from dataclasses import dataclass

import numpy as np

from stakes.costs import Costs
from stakes.decision import Policy


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
    policy: Policy, costs: Costs, proba: np.ndarray, *, kept: np.ndarray, baseline: np.ndarray
) -> WhatIf:
    """Return what a policy decides by stored probabilities, and what that costs.

    Parameters
    ----------
    policy : Policy
        At the new prices, and within the new limits.
    costs : Costs
        Of the rows, at the new prices.
    proba : ndarray of shape (n, K)
        Their probabilities.
    kept, baseline : ndarray of shape (n,)
        What was decided at the prices as they were, and by the baseline.
    """
    decided = policy.decide(proba, costs.known)
    confusion, cost_confusion = confusion_of(costs, decided.positions)
    total = float(cost_confusion.sum())
    before, unchanged = (float(confusion_of(costs, d)[1].sum()) for d in (baseline, kept))
    same = [
        float(confusion_of(costs, np.full(len(costs), d))[1].sum()) for d in range(costs.n_classes)
    ]
    return WhatIf(
        decisions=decided.positions,
        total=total,
        baseline_total=before,
        constant_total=min(same),
        constant=int(np.argmin(same)),
        kept_total=unchanged,
        savings=(before - total) / abs(before) if before else 0.0,
        confusion=confusion,
        cost_confusion=cost_confusion,
        shadow_prices=decided.shadow_prices,
    )
