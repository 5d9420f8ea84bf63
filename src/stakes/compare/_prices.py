"""Within which prices does a recommendation stand? Totals are straight lines in every price."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stakes.costs import Costs, UncertainCostMatrix
from stakes.decision import conditional_means, value_of_knowing

# The value of knowing a price is taken from so many cases at most.
MAX_VALUED = 5000


class Lines(NamedTuple):
    """What several methods' decisions cost in sum, and by how much each price moves it.

    Attributes
    ----------
    totals : ndarray of shape (n_methods,)
        At the prices as they are.
    slopes : ndarray of shape (n_methods, n_classes, n_classes)
        What the total changes by, for each unit of the price of ``[true, decided]``.
    prices : ndarray of shape (n_classes, n_classes)
        The prices as they are; averages by true class where they are per example.
    """

    totals: np.ndarray
    slopes: np.ndarray
    prices: np.ndarray

    def at(self, matrices: np.ndarray) -> np.ndarray:
        """Return the totals at other prices, (n, n_methods)."""
        moved = np.asarray(matrices) - self.prices
        return self.totals + np.einsum("mtd,std->sm", self.slopes, moved)


def price_lines(costs: Costs, confusions: list[tuple[np.ndarray, np.ndarray]]) -> Lines:
    """Return the totals of several ways to decide as straight lines in the prices.

    Decisions stay as they are, and so do the prices of those that one way has besides. Where prices are per example, a price is the average of its
    class, and those of the examples move in proportion, as in `Costs.at`.

    Examples
    --------
    Two examples of class 0 and one of class 1; the second way takes all for 1:

    >>> import numpy as np
    >>> from stakes.compare._prices import price_lines
    >>> from stakes.costs import Costs
    >>> costs = Costs(np.array([0, 0, 1]), np.array([[0.0, 2.0], [9.0, 0.0]]))
    >>> counts = [np.array([[2, 0], [1, 0]]), np.array([[0, 2], [0, 1]])]
    >>> lines = price_lines(costs, [(n, n * costs.matrix) for n in counts])
    >>> lines.totals.tolist(), lines.slopes[1].tolist()
    ([9.0, 4.0], [[0.0, 2.0], [0.0, 1.0]])
    """
    prices, totals, slopes = costs.class_matrix(), [], []
    for confusion, cost_confusion in confusions:
        totals.append(cost_confusion.sum())
        counts, paid = (part[:, : costs.n_decisions] for part in (confusion, cost_confusion))
        if costs.by_class:
            slopes.append(counts.astype(float))
        else:
            slopes.append(np.divide(paid, prices, out=counts.astype(float), where=prices != 0))
    return Lines(np.array(totals), np.array(slopes), prices)


class Standing(NamedTuple):
    """Between which prices of each cell one method costs no more than its rivals.

    Attributes
    ----------
    low, high : ndarray of shape (n_classes, n_classes)
        The ends; infinite where no price changes it.
    below, above : ndarray of shape (n_classes, n_classes)
        The rival that is cheaper beyond each end, as a position; -1 without one.
    """

    low: np.ndarray
    high: np.ndarray
    below: np.ndarray
    above: np.ndarray


def standing(lines: Lines, method: int, floor: np.ndarray | None = None) -> Standing:
    """Return within which prices a method stands, one price at a time moving.

    Rivals that cost less already are left out: they cannot overtake. A price that is no gain, and
    is not doubted to be one (`floor`, the least that prices may be), does not become one: there
    is no end below 0.

    Examples
    --------
    The first way misses one of class 1 at 9, the second raises two false alarms at 2. They
    break even where a miss costs 4, or a false alarm 4.5:

    >>> import numpy as np
    >>> from stakes.compare._prices import price_lines, standing
    >>> from stakes.costs import Costs
    >>> costs = Costs(np.array([0, 0, 1]), np.array([[0.0, 2.0], [9.0, 0.0]]))
    >>> counts = [np.array([[2, 0], [1, 0]]), np.array([[0, 2], [0, 1]])]
    >>> lines = price_lines(costs, [(n, n * costs.matrix) for n in counts])
    >>> found = standing(lines, 1)
    >>> float(found.low[1, 0]), float(found.high[0, 1])
    (4.0, 4.5)
    """
    shape = lines.prices.shape
    low, high = np.full(shape, -np.inf), np.full(shape, np.inf)
    below, above = np.full(shape, -1), np.full(shape, -1)
    floor = lines.prices if floor is None else np.minimum(floor, lines.prices)
    for rival in range(len(lines.totals)):
        gap = lines.totals[rival] - lines.totals[method]
        if rival == method or gap < 0:
            continue
        rise = lines.slopes[method] - lines.slopes[rival]
        with np.errstate(divide="ignore", invalid="ignore"):
            price = lines.prices + gap / rise
        up, down = (rise > 0) & (price < high), (rise < 0) & (price > low)
        down &= (price >= 0) | (floor < 0)
        high[up], above[up] = price[up], rival
        low[down], below[down] = price[down], rival
    return Standing(low, high, below, above)


@dataclass(frozen=True)
class PriceDoubt:
    """What it means that the prices are guesses; made by `Comparison.price_doubt`.

    All decisions stay as they are, and the examples are taken as they are: the doubt is that of
    the prices alone.

    Attributes
    ----------
    cheapest : Series
        How likely each method is to be the cheapest, the likeliest first.
    cells : DataFrame
        One row per price that is not known, that which matters most first: `low`, `price` and
        `high`; the favourite's total at both ends, `total_low` and `total_high`; the
        cheapest method there, `cheapest_low` and `cheapest_high`; `value`, what it would be
        worth to know this price before choosing the method; `changed_low` and `changed_high`,
        how many cases the probabilities would decide otherwise at the ends; and `value_deciding`, what it
        would be worth to know it before every case is decided.
    value : float
        What it would be worth, over all tested cases, to know all prices before a method is
        chosen: the expected value of perfect information.
    value_deciding : float
        The same where every case is decided again at the prices known, from the probabilities
        of `Comparison.probability_method`; NaN without one.
    """

    cheapest: Any
    cells: Any
    value: float
    value_deciding: float


def chance_of_cheapest(lines: Lines, draws: np.ndarray) -> np.ndarray:
    """Return in what share of the draws each method is the cheapest; equals share.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.compare._prices import Lines, chance_of_cheapest
    >>> lines = Lines(np.array([1.0, 2.0]), np.array([[[0, 1.0], [0, 0]], np.zeros((2, 2))]),
    ...               np.zeros((2, 2)))
    >>> chance_of_cheapest(lines, np.array([[[0, price], [0, 0]] for price in (0.0, 1.0, 3.0)]))
    array([0.5, 0.5])
    """
    totals = lines.at(draws)
    scale = np.abs(totals).max() or 1.0
    best = totals <= totals.min(axis=1, keepdims=True) + 1e-12 * scale
    return (best / best.sum(axis=1, keepdims=True)).mean(axis=0)


def value_of_choosing(lines: Lines, doubt: UncertainCostMatrix, draws: np.ndarray) -> tuple:
    """Return what it is worth to know the prices before a method is chosen: all, and each alone."""
    blind = lines.at(draws).mean(axis=0).min()
    whole = max(blind - lines.at(draws).min(axis=1).mean(), 0.0)
    cells = np.zeros(lines.prices.shape)
    for t, d in np.argwhere(doubt.uncertain):
        told, weight = conditional_means(doubt, draws, t, d)
        totals = lines.at(told)
        cells[t, d] = max((weight @ totals).min() - weight @ totals.min(axis=1), 0.0)
    return float(whole), cells


def find_doubt(
    comparison: Any, lines: Lines, doubt: UncertainCostMatrix, n_draws: int, random_state: int
) -> PriceDoubt:
    """Return what doubt about the prices means for a comparison."""
    import pandas as pd

    names, labels = comparison.finished, comparison.classes.tolist()
    draws = doubt.sample(n_draws, random_state)
    chance = pd.Series(chance_of_cheapest(lines, draws), pd.Index(names, name="method"))
    value, values = value_of_choosing(lines, doubt, draws)
    method, n = comparison.probability_method, len(comparison.tested)
    deciding, again = np.nan, np.full(values.shape, np.nan)
    if method is not None:
        some = np.linspace(0, n - 1, min(n, MAX_VALUED)).round().astype(int)
        known = value_of_knowing(
            comparison.probabilities(method)[some],
            doubt,
            n_draws=n_draws,
            random_state=random_state,
        )
        deciding, again = n * known.total, n * known.cells
        tipping = comparison.break_even_decisions(method)
        now = comparison.what_if(lines.prices, method).decisions
    rows = []
    for t, d in np.argwhere(doubt.uncertain):
        ends = np.repeat(lines.prices[None], 2, axis=0)
        ends[:, t, d] = doubt.low[t, d], doubt.high[t, d]
        totals = lines.at(ends)
        row = {"true": labels[t], "decided": comparison.decisions[d]}
        row |= {"low": ends[0, t, d], "price": doubt.values[t, d], "high": ends[1, t, d]}
        for end, total, price in zip(("low", "high"), totals, ends[:, t, d]):
            row[f"total_{end}"] = total[names.index(comparison.favourite)]
            row[f"cheapest_{end}"] = names[int(total.argmin())]
            row[f"changed_{end}"] = np.nan
            if method is not None:
                taken = price <= tipping[:, t, d]  # whether d is decided at this price
                row[f"changed_{end}"] = int((taken != (now == d)).sum())
        rows.append({**row, "value": values[t, d], "value_deciding": again[t, d]})
    table = pd.DataFrame(rows).set_index(["true", "decided"])
    swing = (table["total_high"] - table["total_low"]).abs()
    order = np.lexsort([-swing, -table["value"], -table["value_deciding"].fillna(0)])
    return PriceDoubt(
        cheapest=chance.sort_values(ascending=False, kind="stable"),
        cells=table.iloc[order],
        value=value,
        value_deciding=float(deciding),
    )
