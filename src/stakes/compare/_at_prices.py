"""What a comparison says at other prices: in what it recommends, decides, and would pay.

Functions of a `Comparison`, which has them as methods. Nothing is fitted: they weigh what is stored.
"""

from typing import Any

import numpy as np

from stakes.compare._prices import Lines, PriceDoubt, find_doubt, price_lines, standing
from stakes.compare._statistics import LEVEL, paired_intervals
from stakes.compare._whatif import WhatIf, decide_again
from stakes.costs import KINDS, check_cost_matrix
from stakes.decision import as_uncertain, break_even_prices
from stakes.decision.program import or_beside
from stakes.utils._arrays import quoted


def what_if(
    comparison: Any, cost_matrix: Any, method: str | None = None, *, capacity: Any = None
) -> WhatIf:
    """Return what would be decided, and what it would cost, at other prices or within limits.

    Nothing is fitted: the stored probabilities of `method` are weighed with the new
    prices. The page does the same arithmetic.

    Parameters
    ----------
    cost_matrix : array-like, CostMatrix or DataFrame
        The new prices. Where prices are per example, the new averages: each example's
        price changes in proportion.
    method : str, default=None
        Whose probabilities; None is `probability_method`.
    capacity : dict, default=None
        Limits by decision, as in `stakes.decision.decide_within`, for all tested rows
        together; None is without.

    Returns
    -------
    answer : WhatIf
        With `total`, `baseline_total`, `savings`, `confusion` and `decisions`.
    """
    method = method or comparison.probability_method
    if method is None or comparison.results[method].proba is None:
        raise ValueError("No method here has probabilities that decide by expected cost.")
    proba = comparison.results[method].proba[comparison.tested]
    prices = prices_of(comparison, cost_matrix)
    return decide_again(
        comparison.policy.with_prices(prices).with_limits(capacity),
        comparison.tested_costs.at(prices),
        proba,
        kept=comparison.policy.decide(proba, comparison.tested_costs.known).positions,
        baseline_total=comparison.total(comparison.baseline, prices),
    )


def break_even(comparison: Any, method: str | None = None) -> Any:
    """Return within which prices a method stays the cheapest, one price at a time moving.

    Every method keeps its decisions, so that totals are straight lines in each price. Methods
    that cost less already, but not clearly, are no rivals here.

    Parameters
    ----------
    method : str, default=None
        None is `favourite`.

    Returns
    -------
    table : DataFrame
        One row per cell, indexed by `true` and `decided`: the `price`, `low` and `high`
        between which it may move, and the methods that are cheaper `below` and `above`; the
        cell whose end is nearest, in proportion, first. A price that is no gain does not
        become one: it has no end below 0.
    """
    import pandas as pd

    name, lines = method or comparison.favourite, lines_of(comparison)
    if name not in comparison.finished:
        raise ValueError(f"There is no method {name!r}: they are {quoted(comparison.finished)}.")
    doubt = comparison.problem.costs.doubt
    ends = standing(lines, comparison.finished.index(name), None if doubt is None else doubt.low)
    known = [*comparison.finished, ""]
    labels, cells = comparison.classes.tolist(), list(np.ndindex(lines.prices.shape))
    decisions = comparison.decisions
    rows = [
        [
            lines.prices[c],
            ends.low[c],
            ends.high[c],
            known[ends.below[c]],
            known[ends.above[c]],
        ]
        for c in cells
    ]
    index = pd.MultiIndex.from_tuples(
        [(labels[t], decisions[d]) for t, d in cells], names=["true", "decided"]
    )
    table = pd.DataFrame(rows, index, columns=["price", "low", "high", "below", "above"])
    scale = np.abs(lines.prices).max()
    room = np.fmin(table["high"] - table["price"], table["price"] - table["low"])
    nearest = (room / np.maximum(table["price"].abs(), 0.01 * scale)).argsort(kind="stable")
    return table.iloc[nearest]


def break_even_decisions(comparison: Any, method: str | None = None) -> np.ndarray:
    """Return the price of each cell at which the decision of each tested case changes.

    Parameters
    ----------
    method : str, default=None
        Whose probabilities; None is `probability_method`.

    Returns
    -------
    prices : ndarray of shape (n_tested, n_classes, n_classes)
        As in `stakes.decision.break_even_prices`.
    """
    proba = comparison.probabilities(method)
    costs = comparison.tested_costs
    if costs.tensor is not None:
        return break_even_prices(proba, cost_tensor=costs.tensor)
    return break_even_prices(proba, comparison.cost_matrix)


def price_doubt(
    comparison: Any, cost_matrix: Any = None, *, n_draws: int = 1000, random_state: int = 0
) -> PriceDoubt:
    """Return what it means for the choice of a method that the prices are guesses.

    Parameters
    ----------
    cost_matrix : UncertainCostMatrix, default=None
        The prices; None takes those that were given to `compare`.
    n_draws : int, default=1000
        Draws of the prices.
    random_state : int, default=0
        Seeds them.

    Returns
    -------
    doubt : PriceDoubt
        With `cheapest`, `cells`, `value` and `value_deciding`.
    """
    doubt = comparison.problem.costs.doubt
    if cost_matrix is not None:
        doubt = as_uncertain(cost_matrix, comparison.classes)
    if doubt is None or not doubt.uncertain.any():
        raise ValueError(
            "All prices are known for sure: give an UncertainCostMatrix, with ranges, "
            "distributions or samples, to compare or to price_doubt."
        )
    if comparison.kind != "class":
        raise ValueError(
            f"The doubt is one of class costs, but here are {KINDS[comparison.kind]}."
        )
    return find_doubt(comparison, lines_of(comparison), doubt, n_draws, random_state)


def abstaining(comparison: Any, abstain_cost: float) -> Any:
    """Return what methods would cost if they left cases to somebody else at a price.

    A case is left where its decision is expected to cost more than that.

    Parameters
    ----------
    abstain_cost : float
        What it costs to leave a case.

    Returns
    -------
    table : DataFrame
        One row per method with probabilities, the cheapest first: `cost` per case with `low`
        and `high` (its 95% interval), `left`, the share of cases that are left, and `saved`
        against deciding all, with `saved_low` and `saved_high`.
    """
    import pandas as pd

    if not np.isfinite(abstain_cost):
        raise ValueError(f"abstain_cost={abstain_cost!r} must be a finite number.")
    if comparison.kind == "hindsight":
        raise ValueError(
            "The costs are known in hindsight: what a decision is expected to cost, and so where "
            "to abstain, is not stored."
        )
    rows = {}
    beside = np.full((len(comparison.tested), 1), float(abstain_cost))
    for name in comparison.finished:
        result = comparison.results[name]
        if result.proba is None or name == "constant":
            continue
        expected = comparison.policy.expected(
            comparison.probabilities(name), comparison.tested_costs.known
        )
        decided, k = result.decisions[comparison.tested], expected.shape[1]
        leaves = or_beside(decided, np.hstack([expected, beside]), k) == k
        paid = result.paid[comparison.tested]
        both = np.column_stack([paid, np.where(leaves, abstain_cost, paid)])
        seed = comparison.protocol["random_state"]
        sure = paired_intervals(both, 0, level=LEVEL, random_state=seed, span=comparison._span)
        rows[name] = {
            "cost": sure.mean[1],
            "low": sure.low[1],
            "high": sure.high[1],
            "left": leaves.mean(),
            "saved": -sure.difference[1],
            "saved_low": -sure.difference_high[1],
            "saved_high": -sure.difference_low[1],
        }
    if not rows:
        raise ValueError("No method here has probabilities: none can tell where to abstain.")
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")
    return table.sort_values("cost", kind="stable")


def lines_of(comparison: Any) -> Lines:
    """Return the totals of the finished methods as straight lines in the prices."""
    confusions = [
        comparison._confusions(comparison.tested_costs, name) for name in comparison.finished
    ]
    return price_lines(comparison.tested_costs, confusions)


def prices_of(comparison: Any, cost_matrix: Any) -> np.ndarray:
    """Return class prices that a user has given, in the order of the comparison."""
    named = None if comparison.problem.costs.choices is None else comparison.decisions
    return check_cost_matrix(cost_matrix, classes=comparison.classes, warn=False, decisions=named)
