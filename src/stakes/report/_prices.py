"""Within which prices the recommendation stands, and what doubt about them means, as the page says it."""

from typing import Any

import numpy as np

from stakes.compare import Comparison
from stakes.compare.words import Money, percent, price_digits, short_label, title_of

MAX_CELLS = 12
MIN_CHANCE = 0.001  # methods less likely to be the cheapest are not listed


def summarize_prices(comparison: Comparison, money: Money) -> dict[str, Any]:
    """Return the break-even prices of the recommended method and, where prices are guesses, the rest.

    Parameters
    ----------
    comparison : Comparison
        Finished.
    money : Money
        How amounts are written.
    """
    doubt = comparison.problem.costs.doubt
    known = {}
    if doubt is not None:
        labels, decisions = comparison.classes.tolist(), comparison.decisions
        known = {
            (labels[t], decisions[d]): (doubt.low[t, d], doubt.high[t, d])
            for t, d in np.argwhere(doubt.uncertain)
        }
    table = comparison.break_even()
    off = [true != decided for true, decided in table.index]
    bounded = np.isfinite(table["low"]) | np.isfinite(table["high"])
    shown = table[(np.array(off) | (table["price"] != 0)) & bounded][:MAX_CELLS]
    prices = Money(money.currency, each=max(2, price_digits(table["price"], money.currency)))
    rows = [
        {
            "true": short_label(true),
            "decided": short_label(decided),
            "price": prices(row.price),
            "low": prices(row.low) if np.isfinite(row.low) else "any lower",
            "high": prices(row.high) if np.isfinite(row.high) else "any higher",
            "below": title_of(comparison, row.below) if row.below else "",
            "above": title_of(comparison, row.above) if row.above else "",
            **_picture(row, known.get((true, decided))),
        }
        for (true, decided), row in shown.iterrows()
    ]
    return {
        "title": title_of(comparison, comparison.favourite),
        "rows": rows,
        "left_out": int((np.array(off) & bounded.to_numpy()).sum())
        - sum(row["true"] != row["decided"] for row in rows),
        "doubt": None if doubt is None or not doubt.uncertain.any() else _doubt(comparison, money),
    }


def _picture(row: Any, known: tuple | None) -> dict[str, Any]:
    """Return where a price may be, in percent of a scale that ends at twice what is of interest."""
    points = [abs(v) for v in (row.price, row.low, row.high, *(known or ())) if np.isfinite(v)]
    most = 1.25 * max(points, default=1.0) or 1.0
    least = min(0.0, *(v for v in (row.price, row.low, *(known or ())) if np.isfinite(v)))

    def place(value: float) -> float:
        return round(float(np.clip(100 * (value - least) / (most - least), 0, 100)), 2)

    start, end = place(row.low), place(row.high)
    picture = {
        "at": place(row.price),
        "from": start,
        "width": round(end - start, 2),
        "crossed": False,
    }
    if known is not None:
        picture |= {
            "doubt_from": place(known[0]),
            "doubt_width": round(place(known[1]) - place(known[0]), 2),
        }
        picture["crossed"] = bool(known[0] < row.low or known[1] > row.high)
    return picture


def _doubt(comparison: Comparison, money: Money) -> dict[str, Any]:
    doubt = comparison.price_doubt()
    worth = doubt.cells["value_deciding"].fillna(doubt.cells["value"])
    largest = max(float(worth.max()), 1e-300)
    rows = []
    for (true, decided), row in doubt.cells[:MAX_CELLS].iterrows():
        low, high = money.prices([row.low, row.high])
        rows.append(
            {
                "true": short_label(true),
                "decided": short_label(decided),
                "range": f"{low} to {high}",
                "total": f"{money.sum(row.total_low)} to {money.sum(row.total_high)}",
                "cheapest_low": title_of(comparison, row.cheapest_low),
                "cheapest_high": title_of(comparison, row.cheapest_high),
                "changed": ""
                if not np.isfinite(row.changed_low)
                else f"{row.changed_low:,.0f} or {row.changed_high:,.0f}",
                "value": money.sum(row.value),
                "value_deciding": money.sum(row.value_deciding)
                if np.isfinite(row.value_deciding)
                else "",
                "width": round(100 * worth[(true, decided)] / largest, 2),
            }
        )
    chances = doubt.cheapest[doubt.cheapest >= MIN_CHANCE]
    return {
        "rows": rows,
        "value": money.sum(doubt.value),
        "value_deciding": money.sum(doubt.value_deciding)
        if np.isfinite(doubt.value_deciding)
        else "",
        "chances": [
            {
                "title": title_of(comparison, name),
                "chance": percent(chance),
                "width": round(100 * chance, 2),
                "recommended": name == comparison.favourite,
            }
            for name, chance in chances.items()
        ],
    }
