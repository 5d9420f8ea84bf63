"""Decisions and costs at other prices, from stored probabilities: no fit."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stakes.compare._problem import Problem
from stakes.costs import check_cost_matrix


@dataclass(frozen=True)
class Prices:
    """The prices of some examples, as class averages and what each example adds to them.

    The page holds the same parts and does the same arithmetic in the same order, so both
    come to the same numbers.

    Parameters
    ----------
    matrix : ndarray of shape (K, K)
        The prices, or their averages by true class.
    y : ndarray of shape (n,)
        The truth.
    tensor : ndarray of shape (n, K, K) or None
        The price of each example, known when deciding (B1).
    costs : ndarray of shape (n, K) or None
        The price of each example, known in hindsight (B2).
    base : ndarray of shape (K, K)
        The averages that `tensor` and `costs` have. A cell of `matrix` that differs from
        its cell here scales each example's price in proportion, or where the average was 0
        is added to it.
    """

    matrix: np.ndarray
    y: np.ndarray
    tensor: np.ndarray | None = None
    costs: np.ndarray | None = None
    base: np.ndarray | None = None

    def at(self, cost_matrix: Any, classes: Any) -> "Prices":
        """Return these prices with other (average) class prices."""
        matrix = check_cost_matrix(cost_matrix, classes=classes, y=None, warn=False)
        return replace(self, matrix=matrix)

    def _cell(self, values: np.ndarray, t: int, d: int) -> np.ndarray:
        """Return one price for each example, moved from `base` to `matrix`."""
        assert self.base is not None
        old, new = self.base[t, d], self.matrix[t, d]
        if new == old:
            return values
        return values * (new / old) if old != 0 else values + new

    def decide(self, proba: np.ndarray) -> np.ndarray:
        """Return the decision of least expected cost, as positions; the first of equals."""
        proba = np.asarray(proba, dtype=np.float64)
        k = self.matrix.shape[0]
        best = np.full(len(proba), np.inf)
        decisions = np.zeros(len(proba), dtype=np.int64)
        for d in range(k):
            expected = np.zeros(len(proba))
            for t in range(k):
                if self.tensor is not None:
                    expected += proba[:, t] * self._cell(self.tensor[:, t, d], t, d)
                else:
                    expected += proba[:, t] * self.matrix[t, d]
            cheaper = expected < best
            decisions[cheaper] = d
            best = np.where(cheaper, expected, best)
        return decisions

    def paid(self, decisions: np.ndarray) -> np.ndarray:
        """Return what the decisions cost, (n,)."""
        n = np.arange(len(self.y))
        if self.tensor is None and self.costs is None:
            return self.matrix[self.y, decisions]
        if self.tensor is not None:
            values = self.tensor[n, self.y, decisions]
        else:
            assert self.costs is not None
            values = self.costs[n, decisions]
        assert self.base is not None
        old, new = self.base[self.y, decisions], self.matrix[self.y, decisions]
        factor = np.divide(new, old, out=np.ones_like(new), where=old != 0)
        return np.where(new == old, values, np.where(old != 0, values * factor, values + new))


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


def prices_of(problem: Problem, rows: np.ndarray) -> Prices:
    """Return the prices of these rows of a problem."""
    matrix = problem.class_matrix()
    return Prices(
        matrix=matrix,
        y=problem.y[rows],
        tensor=None if problem.tensor is None else problem.tensor[rows],
        costs=None if problem.costs is None else problem.costs[rows],
        base=None if problem.matrix is not None else matrix,
    )


def what_if(prices: Prices, proba: np.ndarray, baseline: np.ndarray) -> WhatIf:
    """Decide at these prices, and say what that costs."""
    k = prices.matrix.shape[0]
    decisions = prices.decide(proba)
    cells = prices.y * k + decisions
    confusion = np.bincount(cells, minlength=k * k).reshape(k, k)
    if prices.base is None:
        cost_confusion = confusion * prices.matrix
    else:
        weights = prices.paid(decisions)
        cost_confusion = np.bincount(cells, weights=weights, minlength=k * k).reshape(k, k)
    total = float(cost_confusion.sum())
    before = float(prices.paid(baseline).sum())
    constant = min(float(prices.paid(np.full(len(prices.y), d)).sum()) for d in range(k))
    return WhatIf(
        decisions=decisions,
        total=total,
        baseline_total=before,
        constant_total=constant,
        savings=(before - total) / abs(before) if before else 0.0,
        confusion=confusion,
        cost_confusion=cost_confusion,
    )
