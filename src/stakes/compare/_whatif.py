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
        Positions in the decisions.
    total, kept_total, baseline_total, constant_total : float
        What these decisions, those made for the prices as they were, the baseline's and the
        best constant one cost.
    constant : int
        The best constant decision, as a position.
    savings : float
        Share of the baseline's cost.
    confusion : ndarray of shape (K, A)
        How often each truth met each decision.
    cost_confusion : ndarray of shape (K, A)
        What that cost in sum.
    shadow_prices : ndarray of shape (A,) or None
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


def paid_for(costs: Costs, decisions: np.ndarray, beside: np.ndarray) -> np.ndarray:
    """Return what decisions cost, (n,): positions in those of `costs`, then those `beside`.

    Parameters
    ----------
    costs : Costs
        What decisions cost that all methods have.
    decisions : ndarray of shape (n,)
        Positions.
    beside : ndarray of shape (n_classes, n_more)
        The prices of decisions that one method has besides: to leave a case to somebody else.
    """
    first, paid = costs.n_decisions, np.zeros(len(decisions))
    common = np.flatnonzero(decisions < first)
    paid[common] = costs.take(common).of(decisions[common])
    more = np.flatnonzero(decisions >= first)
    paid[more] = beside[costs.y[more], decisions[more] - first]
    return paid


def confusion_of(
    costs: Costs, decisions: np.ndarray, beside: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return how often each truth met each decision, and what that cost in sum."""
    beside = np.empty((len(costs.class_matrix()), 0)) if beside is None else beside
    shape = len(beside), costs.n_decisions + beside.shape[1]
    cells = costs.y * shape[1] + decisions
    confusion = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
    if costs.by_class:
        return confusion, confusion * np.hstack([costs.table, beside])
    paid = paid_for(costs, decisions, beside)
    return confusion, np.bincount(cells, paid, minlength=confusion.size).reshape(shape)


def wrongly(costs: Costs, decisions: np.ndarray) -> np.ndarray:
    """Return which decisions are mistakes: not the true class or, of choices, not the cheapest.

    A case that is left to somebody else is none.
    """
    here = decisions < costs.n_decisions
    if costs.choices is None:
        return (decisions != costs.y) & here
    wrong = np.zeros(len(costs), dtype=bool)
    some = costs.take(np.flatnonzero(here))
    wrong[here] = some.of(decisions[here]) > some.rows().min(axis=1)
    return wrong


def decide_again(
    policy: Policy, costs: Costs, proba: np.ndarray, *, kept: np.ndarray, baseline_total: float
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
    kept : ndarray of shape (n,)
        What was decided at the prices as they were.
    baseline_total : float
        What the baseline's decisions cost at the new prices.
    """
    decided = policy.decide(proba, costs.known)
    confusion, cost_confusion = confusion_of(costs, decided.positions)
    total = float(cost_confusion.sum())
    same = [
        float(confusion_of(costs, np.full(len(costs), d))[1].sum())
        for d in range(costs.n_decisions)
    ]
    return WhatIf(
        decisions=decided.positions,
        total=total,
        baseline_total=baseline_total,
        constant_total=min(same),
        constant=int(np.argmin(same)),
        kept_total=float(confusion_of(costs, kept)[1].sum()),
        savings=(baseline_total - total) / abs(baseline_total) if baseline_total else 0.0,
        confusion=confusion,
        cost_confusion=cost_confusion,
        shadow_prices=decided.shadow_prices,
    )
