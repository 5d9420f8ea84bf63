"""Numbers and findings as people read them: one place for rounding, signs and sentences."""

import html
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import numpy as np

from stakes.metrics.intervals import FEWEST
from stakes.tables import findings_said
from stakes.utils._arrays import counted
from stakes.utils._labels import label_array

SYMBOLS = "€$£¥₹₩₺₽₴₦฿₫₪₱"
LABEL_LETTERS = 28
# The row of a comparison that holds the decisions taken today, where they are known.
TODAY = "today"


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
        """Write a single price."""
        return self.prices([amount])[0]

    def prices(self, amounts: Any) -> list[str]:
        """Write single prices, all with the same digits after the point."""
        digits = price_digits(amounts, self.currency)
        return [self._write(amount, fixed(abs(amount), digits)) for amount in amounts]

    def _write(self, amount: float, text: str) -> str:
        if self.currency in SYMBOLS:  # an empty one too
            return _sign(amount, text) + self.currency + text
        return f"{_sign(amount, text)}{text} {self.currency}"


def price_digits(amounts: Any, currency: str = "") -> int:
    """Return how many digits after the point tell these prices: cents are two, never one.

    Examples
    --------
    >>> from stakes.compare.words import price_digits
    >>> price_digits([12.0, 1053.0]), price_digits([1471.5, 12.0], "€"), price_digits([4.5, 0.0005])
    (0, 2, 4)
    """
    values = np.abs(np.asarray(list(amounts), dtype=float))
    least = min((v for v in values if v > 0), default=1.0)
    # Averages have digits without end: as many are enough as tell the least price.
    most = int(np.clip(2 - np.floor(np.log10(least)), 2 if currency else 3, 6))
    for digits in range(most):
        exact = np.abs(values - values.round(digits)) <= 1e-9 * np.maximum(values, 1.0)
        if exact.all() and not (currency and digits == 1):
            return digits
    return most


def brief(value: float) -> str:
    """Write a number of the data: whole ones as they are, others with six digits that count.

    Examples
    --------
    >>> from stakes.compare.words import brief
    >>> brief(12000.0), brief(1997.0), brief(0.1234567), brief(-2.5)
    ('12,000', '1997', '0.123457', '−2.5')
    """
    whole = abs(value) >= 1e6 or value == round(value)
    text = f"{abs(value):,.0f}" if whole else f"{abs(value):,.6g}"
    text = text if abs(value) >= 10_000 else text.replace(",", "")  # 1997 may be a year
    return _sign(value, text) + text


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
    with localcontext(prec=400):  # by default numbers of 28 digits are refused
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
    each = 2 if each == 1 and comparison.currency else each  # cents are two digits
    totals = table["total"].dropna()
    whole = (totals == totals.round()).all() or totals.abs().max() >= 1000
    return Money(comparison.currency, each=each, total=0 if whole else 2)


def title_of(comparison: Any, name: str) -> str:
    """Return what to call a method; the one decision for all is named."""
    title = comparison.results[name].title
    if name == "plain" and comparison.problem.costs.choices is not None:
        return f"{title}, then its cheapest decision"
    if name != "constant" or comparison.results[name].status != "ok":
        return title
    label = short_label(comparison.decisions[comparison.constant])["short"]
    return f"{title}: ‘{label}’"


def reference_in_words(comparison: Any) -> str:
    """Return what is compared with, as it stands in a sentence."""
    if comparison.baseline == TODAY:
        return "what is decided today"
    return f"“{title_of(comparison, comparison.baseline)}”"


def short_label(label: Any, letters: int = LABEL_LETTERS) -> dict[str, str]:
    r"""Return a label fit for a page: one line, cut, with a longer form for its tooltip.

    Examples
    --------
    >>> from stakes.compare.words import short_label
    >>> short_label("good\nrisk"), short_label("x" * 99)["short"] == "x" * 27 + "…"
    ({'short': 'good risk', 'full': 'good risk'}, True)
    """
    printable = "".join(c if c.isprintable() else " " for c in str(label))
    text = " ".join(printable.split()) or "(empty)"
    cut = text if len(text) <= letters else text[: letters - 1] + "…"
    return {"short": cut, "full": text if len(text) <= 300 else text[:299] + "…"}


def reason_in_words(comparison: Any) -> str:
    """Return why the recommended method is recommended, in one sentence."""
    money, table = money_for(comparison), comparison.table
    base, against = table.loc[comparison.baseline], reference_in_words(comparison)
    if not comparison.clear:
        cheapest = table.loc[comparison.cheapest]
        if comparison.cheapest == comparison.baseline:
            return (
                f"No method is clearly better: {against} is the cheapest as it is, at "
                f"{money(base.cost)} per case."
            )
        return (
            f"No method is clearly better than {against} ({money(base.cost)} per case): the "
            f"cheapest, “{title_of(comparison, comparison.cheapest)}”, saves "
            f"{percent(cheapest.savings)}, but the 95% interval runs from "
            f"{percent(cheapest.savings_low)} to {percent(cheapest.savings_high)}."
        )
    best = table.loc[comparison.recommended]
    return (
        f"“{title_of(comparison, comparison.recommended)}” costs {money(best.cost)} per case, "
        f"{percent(best.savings)} less than {against} at {money(base.cost)} (95% interval of the "
        f"saving: {percent(best.savings_low)} to {percent(best.savings_high)})."
    )


def doubts_in_words(comparison: Any) -> list[str]:
    """Return what to expect of the recommended method, and whether there is enough to go by."""
    money, said = money_for(comparison), []
    if comparison.clear:
        cost, low, high = map(money, comparison.chosen_cost)
        said.append(
            "The cheapest of several was partly lucky: counting that it was chosen on these cases, "
            f"expect {cost} per case (95% interval: {low} to {high})."
        )
    n_expensive = comparison.intervals.n_expensive
    if n_expensive < FEWEST:
        said.append(
            f"Only {counted(n_expensive, 'case')} can be expensive here: with fewer than {FEWEST}, no "
            "interval can be trusted."
        )
    return [*said, *log_in_words(comparison)]


def log_in_words(comparison: Any) -> list[str]:
    """Return how strong an unseen cause would have to be to undo a saving estimated from a log."""
    from stakes.logged import tipping_strength
    from stakes.logged._sensitivity import STRONGEST

    log, name = comparison.log, comparison.recommended
    if log is None or not comparison.clear or len(comparison.tested) < len(log):
        return []
    decided = label_array(log.decisions)[comparison.results[name].decisions]
    strength, title = tipping_strength(decided, log), comparison.results[name].title
    if strength >= STRONGEST:
        return [f"No unseen cause, however strong, would undo the saving of “{title}”."]
    return [
        f"The saving of “{title}” would be in doubt if something that is not in the table moved the odds "
        f"of what was done by a factor of {strength:.2f}."
    ]


def break_even_ends(row: Any, money: Money) -> list[str]:
    """Return up to which prices a method stays the cheapest."""
    sides = (("above", row.low, row.below), ("below", row.high, row.above))
    return [f"{side} {money(end)} (then {rival})" for side, end, rival in sides if rival]


def standing_in_words(comparison: Any) -> list[str]:
    """Return within which prices the recommendation stands, and what doubt about them means."""
    if comparison.log is not None:  # estimates stand for prices, each with its own noise
        return []
    money = Money(
        comparison.currency,
        each=max(2, price_digits(comparison.cost_matrix.ravel(), comparison.currency)),
    )
    sentences = []
    table = comparison.break_even()
    near = [
        (cell, row.price, break_even_ends(row, money))
        for cell, row in table.iterrows()
        if cell[0] != cell[1] and break_even_ends(row, money)
    ]
    if near:
        (true, decided), price, ends = near[0]
        sentences.append(
            f"{comparison.favourite} stays the cheapest while deciding {str(decided)!r} when the "
            f"truth is {str(true)!r} costs {' and '.join(ends)}; it costs {money(price)} now."
        )
    doubt = comparison.problem.costs.doubt
    if doubt is not None and doubt.uncertain.any():
        doubtful, sums = comparison.price_doubt(), money_for(comparison)
        likely = ", ".join(
            f"{name} {percent(chance, 0)}"
            for name, chance in doubtful.cheapest.items()
            if chance >= 0.005
        )
        true, decided = doubtful.cells.index[0]
        sentences.append(f"The prices are guesses. How likely to be the cheapest: {likely}.")
        sentences.append(
            f"To know all prices would be worth {sums.sum(doubtful.value)} for choosing a method; the "
            f"one that matters most is that of deciding {str(decided)!r} when the truth is "
            f"{str(true)!r}."
        )
    return sentences


def abstaining_in_words(comparison: Any, abstain_cost: float) -> str:
    """Return what leaving cases to somebody else at a price would save, in one sentence."""
    money, table = money_for(comparison), comparison.abstaining(abstain_cost)
    name, row = table.index[0], table.iloc[0]
    price = Money(comparison.currency, each=price_digits([abstain_cost], comparison.currency))
    if row.left == 0:
        return f"At {price(abstain_cost)} no case is worth leaving to somebody else ({name})."
    return (
        f"Leaving {percent(row.left)} of the cases to somebody else at {price(abstain_cost)} each, "
        f"{name} would cost {money(row.cost)} per case, {money(row.saved)} less than deciding all "
        f"(95% interval: {money(row.saved_low)} to {money(row.saved_high)})."
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
    money, rows = money_for(comparison), []
    for name, row in in_order(comparison.table).iterrows():
        title = title_of(comparison, name)
        cells = [title, row.status, row.reason, "", "", "", ""]
        if row.status == "ok":
            cells = [
                title,
                money(row.cost),
                f"{money(row.low)} to {money(row.high)}",
                money.sum(row.total),
                percent(row.savings),
                f"{percent(row.savings_low)} to {percent(row.savings_high)}",
                seconds(row.seconds_fit + row.seconds_predict),
            ]
        if name == comparison.baseline or (row.status == "ok" and not np.isfinite(row.savings)):
            cells[4:6] = "–", ""  # nothing is saved where the baseline costs nothing
        rows.append((str(name), cells))
    return rows


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
    said = [comparison.reason, *doubts_in_words(comparison), *warnings_of(comparison)]
    return "\n".join([*lines, *failed, *said])


def warnings_of(comparison: Any) -> list[str]:
    """Return what the data check warns of, in sentences."""
    warned = [] if comparison.check is None else comparison.check.warnings
    return [f"Warning {said}" for said in findings_said(warned)]


def html_table(comparison: Any) -> str:
    """Return the comparison as a plain HTML table, for notebooks."""
    head = "".join(f"<th>{html.escape(c.strip())}</th>" for c in COLUMNS)
    body = ""
    for name, cells in table_cells(comparison):
        strong = ' style="font-weight:bold"' if name == comparison.recommended else ""
        body += f"<tr{strong}>" + "".join(f"<td>{html.escape(c)}</td>" for c in cells) + "</tr>"
    sentences = [comparison.reason, *doubts_in_words(comparison), *warnings_of(comparison)]
    said = "<br>".join(map(html.escape, sentences))
    return f"<p>{said}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
