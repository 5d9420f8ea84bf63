"""Numbers and findings as people read them: one place for rounding, signs and sentences."""

import html
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np

SYMBOLS = "€$£¥₹₩₺₽₴₦฿₫₪₱"


@dataclass(frozen=True)
class Money:
    """How amounts are written: currency, and digits after the point.

    Parameters
    ----------
    currency : str
        A symbol goes before the amount, anything else after it.
    each : int
        Digits of an amount per case.
    total : int
        Digits of a sum.

    Examples
    --------
    >>> from stakes.compare.words import Money
    >>> money = Money("€", each=2, total=0)
    >>> money(1.005), money.sum(-1234567.5), Money("kr", 2, 0)(3.0)
    ('€1.00', '−€1,234,568', '3.00 kr')
    """

    currency: str = ""
    each: int = 2
    total: int = 0

    def __call__(self, amount: float) -> str:
        """Write an amount per case."""
        return self._write(amount, fixed(abs(amount), self.each))

    def sum(self, amount: float) -> str:
        """Write a sum."""
        return self._write(amount, fixed(abs(amount), self.total))

    def price(self, amount: float) -> str:
        """Write a single price: at most three digits after the point, none for nothing."""
        text = fixed(abs(amount), 3)
        return self._write(amount, text.rstrip("0").rstrip(".") if "." in text else text)

    def _write(self, amount: float, text: str) -> str:
        if self.currency in SYMBOLS:  # an empty one too
            return _sign(amount, text) + self.currency + text
        return f"{_sign(amount, text)}{text} {self.currency}"


def fixed(value: float, digits: int) -> str:
    """Write a number with fixed digits and thousands, halves away from zero as browsers do.

    Examples
    --------
    >>> from stakes.compare.words import fixed
    >>> fixed(0.125, 2), fixed(2.5, 0), fixed(1234.0, 1)
    ('0.13', '3', '1,234.0')
    """
    if not np.isfinite(value):
        return "∞" if value > 0 else ("−∞" if value < 0 else "–")
    unit = Decimal(1).scaleb(-digits)
    return f"{Decimal(float(value)).quantize(unit, rounding=ROUND_HALF_UP):,}"


def percent(value: float, digits: int = 1) -> str:
    """Write a share as a percentage.

    Examples
    --------
    >>> from stakes.compare.words import percent
    >>> percent(0.2346), percent(-0.05), percent(-0.0001)
    ('23.5%', '−5.0%', '0.0%')
    """
    if not np.isfinite(value):
        return "–"
    text = fixed(abs(value) * 100, digits)
    return f"{_sign(value, text)}{text}%"


def _sign(value: float, text: str) -> str:
    """Return the sign of a number that is written so: none where all its digits are 0."""
    return "−" if value < 0 and text.strip("0,.") else ""


def money_for(comparison: Any) -> Money:
    """Return how this comparison's amounts are written: three digits that count, or more."""
    table = comparison.table
    costs = table["cost"].dropna().abs()
    smallest = min((c for c in costs if c > 0), default=1.0)
    largest = max(costs.max(), smallest)
    # Enough digits to tell the cheap ones apart, but no more than make sense of the most expensive.
    scale = np.floor(np.log10(max(smallest, largest / 1000)))
    each = int(np.clip(2 - scale, 0, 6))
    totals = table["total"].dropna()
    whole = (totals == totals.round()).all() or totals.abs().max() >= 1000
    return Money(comparison.currency, each=each, total=0 if whole else 2)


def reason_in_words(comparison: Any) -> str:
    """Return why the recommended method is recommended, in one sentence."""
    money, table = money_for(comparison), comparison.table
    base = table.loc[comparison.baseline]
    if not comparison.clear:
        cheapest = table.loc[comparison.cheapest]
        if comparison.cheapest == comparison.baseline:
            return (
                f"No method is clearly better: “{base.title}” is the cheapest as it is, at "
                f"{money(base.cost)} per case."
            )
        return (
            f"No method is clearly better than “{base.title}” ({money(base.cost)} per case): the "
            f"cheapest, “{cheapest.title}”, saves {percent(cheapest.savings)}, but the 95% "
            f"interval runs from {percent(cheapest.savings_low)} to "
            f"{percent(cheapest.savings_high)}."
        )
    best = table.loc[comparison.recommended]
    return (
        f"“{best.title}” costs {money(best.cost)} per case, {percent(best.savings)} less than "
        f"“{base.title}” at {money(base.cost)} (95% interval of the saving: "
        f"{percent(best.savings_low)} to {percent(best.savings_high)})."
    )


COLUMNS = (
    "method",
    "cost per case",
    "95% interval",
    "total",
    "saving",
    "95% interval ",
    "seconds",
)


def table_cells(comparison: Any) -> list[tuple[str, list[str]]]:
    """Return (name, cells of `COLUMNS`) for each method, the cheapest first."""
    money, found = money_for(comparison), []
    for name, row in in_order(comparison.table).iterrows():
        cells = [row.title, row.status, row.reason, "", "", "", ""]
        if row.status == "ok":
            cells = [
                row.title,
                money(row.cost),
                f"{money(row.low)} to {money(row.high)}",
                money.sum(row.total),
                percent(row.savings),
                f"{percent(row.savings_low)} to {percent(row.savings_high)}",
                seconds(row.seconds_fit + row.seconds_predict),
            ]
        if name == comparison.baseline:
            cells[4:6] = "–", ""
        found.append((str(name), cells))
    return found


def in_order(table: Any) -> Any:
    """Return the table with the cheapest method first and those without a result last."""
    return table.sort_values("cost", kind="stable", na_position="last")


def seconds(value: float) -> str:
    """Write a duration: two digits that count.

    Examples
    --------
    >>> from stakes.compare.words import seconds
    >>> seconds(0.0123), seconds(4.26), seconds(95.0)
    ('0.01', '4.3', '95')
    """
    return fixed(value, 2 if value < 0.995 else (1 if value < 9.95 else 0))


def text_table(comparison: Any) -> str:
    """Return the comparison as plain text."""
    rows, failed = [list(COLUMNS)], []
    for name, cells in table_cells(comparison):
        mark = "* " if name == comparison.recommended else "  "
        if comparison.results[name].status == "ok":
            rows.append([mark + name, *cells[1:]])
        else:
            failed.append(f"  {name}: {cells[1]} ({cells[2]})")
    first, *widths = [max(map(len, column)) for column in zip(*rows)]
    lines = [
        "  ".join([name.ljust(first), *map(str.rjust, cells, widths)]).rstrip()
        for name, *cells in rows
    ]
    return "\n".join([*lines, *failed, comparison.reason])


def html_table(comparison: Any) -> str:
    """Return the comparison as a plain HTML table, for notebooks."""
    head = "".join(f"<th>{html.escape(c.strip())}</th>" for c in COLUMNS)
    body = ""
    for name, cells in table_cells(comparison):
        strong = ' style="font-weight:bold"' if name == comparison.recommended else ""
        body += f"<tr{strong}>" + "".join(f"<td>{html.escape(c)}</td>" for c in cells) + "</tr>"
    return (
        f"<p>{html.escape(comparison.reason)}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
