"""Everything the page says, as one dict: the page, JSON and tests are views of it."""

import time
from typing import Any

import numpy as np

from stakes.compare import Comparison
from stakes.compare.columns import column_names
from stakes.compare.runner import circumstances
from stakes.compare.words import (
    TODAY,
    Money,
    doubts_in_words,
    fixed,
    money_for,
    percent,
    price_digits,
    reference_in_words,
    short_label,
    table_cells,
    title_of,
)
from stakes.costs import KINDS, CostMatrix
from stakes.decision.engine import capacity_bounds
from stakes.report._charts import calibration_chart, interval_chart
from stakes.report._columns import (
    identifier_columns,
    summarize_check,
    summarize_groups,
    summarize_importance,
    summarize_mistakes,
)
from stakes.report._prices import summarize_prices
from stakes.report._what_if import MAX_GRID, most_expensive_price, summarize_what_if
from stakes.report._worth import summarize_abstaining, summarize_worth

MAX_CALIBRATED = 6
# What the rows of a table of prices are, and how one is told of; without classes they are the cheapest.
_TRUTH = {
    True: {"name": "true", "when": "the truth is", "of": "were of the class"},
    False: {"name": "cheapest", "when": "the cheapest is", "of": "had it as the cheapest"},
}
PRICES = {
    "class": "a price for each pair of truth and decision.",
    "deciding": "a price for each example; the matrix shows averages.",
    "hindsight": "a price for each example; the matrix shows averages.",
}


def summarize(
    comparison: Comparison,
    *,
    title: str = "",
    command: str = "",
    image_shape: tuple[int, int] | None = None,
    private: bool | None = None,
    importance: bool = True,
    abstain_cost: float | None = None,
    cases_per_year: float | None = None,
) -> dict[str, Any]:
    """Return what the page of a comparison says.

    Parameters
    ----------
    comparison : Comparison
        The result of `stakes.compare.compare`.
    title : str, default=""
        The page's title; by default made from the data's name.
    command : str, default=""
        The command that reproduces the page.
    image_shape : (int, int), default=None
        Height and width, where the features of an example are the pixels of an image.
    private : bool, default=None
        True leaves out raw rows and row numbers, False shows them whole. None shows them
        without the columns that look like identifiers.
    importance : bool, default=True
        Whether to fit the recommended method once more, to see which columns move the money.
    abstain_cost : float, default=None
        What it costs to leave a case to somebody else; None says nothing of it.
    cases_per_year : float, default=None
        How many cases are decided in a year, for which money is told first; None tells it for
        the cases of the comparison.

    Returns
    -------
    summary : dict
        Numbers as they are printed, and where the page computes with them, as they are.
    """
    money = money_for(comparison)
    labels = [short_label(label) for label in comparison.classes.tolist()]
    decisions = [short_label(label) for label in comparison.decisions]
    # A log knows no truth that probabilities could be of, and no prices to type in.
    focus = comparison.probability_method if comparison.log is None else None
    rows = _method_rows(comparison)
    plain = Money(each=price_digits(comparison.cost_matrix.ravel(), comparison.currency))
    names, identifiers = column_names(comparison.problem.X), identifier_columns(comparison)
    columns = [c for c in range(len(names)) if private is False or c not in identifiers]
    hidden = [short_label(names[c]) for c in identifiers if c not in columns]
    return {
        **_what(comparison),
        "title": title or ": ".join(filter(None, ["What decisions cost", comparison.name])),
        "answer": _answer(comparison, money, cases_per_year),
        "tiles": _tiles(comparison, money, cases_per_year),
        "complaints": _complaints(comparison),
        "methods": rows,
        "interval_chart": interval_chart(comparison, rows, money),
        "labels": labels,
        "decisions": decisions,
        "prices": [[plain(value) for value in row] for row in comparison.cost_matrix.tolist()],
        "picked": most_expensive_price(comparison),
        "grid": max(len(labels), len(decisions)) <= MAX_GRID,
        "what_if": None
        if focus is None
        else summarize_what_if(comparison, focus, money, labels, decisions, private=bool(private)),
        "stands": _STANDS_NOWHERE
        if comparison.log is not None
        else summarize_prices(comparison, money),
        "log": _log(comparison),
        "log_summary": "" if comparison.log is None else comparison.log.summary(),
        "worth": summarize_worth(comparison, focus),
        "abstaining": summarize_abstaining(comparison, abstain_cost, money),
        "calibration": _calibration(comparison, focus, labels),
        "groups": [] if image_shape else summarize_groups(comparison, money, columns),
        "importance": None
        if image_shape or not importance
        else summarize_importance(comparison, money, columns),
        "mistakes": summarize_mistakes(
            *(comparison, money, labels, decisions, columns),
            image_shape=image_shape,
            private=bool(private),
        ),
        "hidden": [] if private else hidden,
        "private": bool(private),
        "check": summarize_check(comparison, private=bool(private)),
        "protocol": _protocol(comparison),
        "command": command,
    }


def _what(comparison: Comparison) -> dict[str, Any]:
    """Return what is compared, and in which order it is shown."""
    return {
        "name": comparison.name,
        "date": time.strftime("%Y-%m-%d"),
        "n": fixed(len(comparison.tested), 0),
        "n_classes": len(comparison.classes),
        "n_decisions": len(comparison.decisions),
        "truth": _TRUTH[comparison.problem.knows_truth],
        "choices": comparison.problem.costs.choices is not None,
        "kind": comparison.kind,
        "currency": comparison.currency,
        "order": comparison.order,
        "positive": comparison.positive,
        "columns": comparison.decision_order,
        "right": comparison.right.tolist(),
        "today": comparison.baseline == TODAY,
        "reference": reference_in_words(comparison),
        "left_out": [
            {"name": name, "title": result.title, "status": result.status, "reason": result.reason}
            for name, result in comparison.results.items()
            if result.status != "ok"
        ],
    }


def _span(comparison: Comparison, cases_per_year: float | None) -> tuple[float, str]:
    """Return for how many cases money is told, and how to say it."""
    n = len(comparison.tested)
    if cases_per_year is None:
        return n, f"on these {fixed(n, 0)} cases"
    return cases_per_year, "a year"


def _answer(
    comparison: Comparison, money: Money, cases_per_year: float | None = None
) -> dict[str, Any]:
    """Return what to do and what it saves in one sentence, and how sure that is in a few."""
    table = comparison.table
    base, best = table.loc[comparison.baseline], table.loc[comparison.cheapest]
    against = reference_in_words(comparison)
    many, span = _span(comparison, cases_per_year)
    as_good = ", ".join(f"“{title_of(comparison, name)}”" for name in comparison.as_good)
    also = f"Not clearly more expensive: {as_good}." if as_good else ""
    if comparison.clear:
        best = table.loc[comparison.recommended]
        what = f"Decide by “{title_of(comparison, comparison.recommended)}”"
        if comparison.recommended == "constant":
            label = short_label(comparison.decisions[comparison.constant])["short"]
            what = f"Decide ‘{label}’ for every case"
        paid = base.cost * many
        saved, low, high = (
            money.sum(_rounded(share * paid)) for share in (best.savings, *_ends(best))
        )
        headline = f"{what}: that saves about {saved} {span}."
        of = "" if cases_per_year is None else f" of {fixed(many, 0)} cases"
        sure = f"The saving lies between {low} and {high} {span}{of}, with 95% confidence."
        also = also or "Every other method is clearly more expensive."
    elif comparison.cheapest == comparison.baseline:
        headline = f"Stay with {against}: nothing that was tried is cheaper."
        sure = f"It costs {money.sum(base.cost * many)} {span}."
    else:
        headline = f"Stay with {against}: nothing that was tried is clearly cheaper."
        title = title_of(comparison, comparison.cheapest)
        low, high = map(percent, _ends(best))
        sure = (
            f"The cheapest, “{title}”, would save {percent(best.savings)}, but the 95% interval "
            f"runs from {low} to {high}: these cases cannot tell."
        )
    also = " ".join([also, *doubts_in_words(comparison)]).strip()
    saves = comparison.recommended != comparison.baseline
    return {"headline": headline, "sure": sure, "also": also, "saves": saves}


def _rounded(amount: float) -> float:
    """Return an amount to three digits, as money that is estimated is told."""
    return float(f"{amount:.3g}")


def _ends(row: Any) -> tuple[float, float]:
    return row.savings_low, row.savings_high


def _tiles(
    comparison: Comparison, money: Money, cases_per_year: float | None = None
) -> list[dict[str, Any]]:
    table = comparison.table
    today = comparison.baseline == TODAY
    many = _span(comparison, cases_per_year)[0]

    def tile(label: str, name: str, note: str = "", **more: Any) -> dict[str, Any]:
        cost = table.loc[name].cost
        note = " · ".join(filter(None, [f"{money(cost)} per case", note]))
        return {"label": label, "value": money.sum(cost * many), "note": note, **more}

    name = comparison.recommended if comparison.clear else comparison.cheapest
    best, reference = table.loc[name], title_of(comparison, comparison.baseline)
    tiles = [tile("Today" if today else f"Compared with: {reference}", comparison.baseline)]
    low, high = map(percent, _ends(best))
    if comparison.clear:
        tiles.append(tile("Recommended", name, strong=True))
        note = f"{low} to {high}, with 95% confidence"
        tiles.append({"label": "Saving", "value": percent(best.savings), "note": note})
    elif name != comparison.baseline:
        tiles.append(tile(f"Cheapest tried: {title_of(comparison, name)}", name))
    return [*tiles, tile(title_of(comparison, "constant"), "constant", "no model at all")]


def _complaints(comparison: Comparison) -> list[str]:
    """Return what looks wrong with the prices, where one price list serves all."""
    if comparison.kind != "class":
        return []
    square = comparison.problem.costs.choices is None
    decisions = None if square else list(comparison.decisions)
    return CostMatrix(comparison.cost_matrix, comparison.classes, decisions).complaints()


def _method_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Return a row for each method; those that decide every case alike share one."""
    columns = ("title", "cost", "interval", "total", "saving", "saving_interval", "seconds")
    own = {comparison.baseline, comparison.recommended, "constant"}
    cells_of = {
        name: cells
        for name, cells in table_cells(comparison)
        if comparison.results[name].status == "ok"
    }
    alike: dict[bytes, list[str]] = {}
    for name in sorted(cells_of, key=lambda name: name not in own):
        decided = comparison.results[name].decisions[comparison.tested]
        alike.setdefault(decided.tobytes(), []).append(name)
    same = {names[0]: [n for n in names[1:] if n not in own] for names in alike.values()}
    told = {name for names in same.values() for name in names}
    return [
        {
            "name": name,
            **dict(zip(columns, cells)),
            "note": comparison.results[name].note,
            "error": percent(comparison.table.loc[name].error),
            "recall": [percent(value) for value in comparison.recall(name)[comparison.order]],
            "recommended": name == comparison.recommended and comparison.clear,
            "baseline": name == comparison.baseline,
            "same": [title_of(comparison, n) for n in same.get(name, ())],
        }
        for name, cells in cells_of.items()
        if name not in told
    ]


# What a log estimates are no prices that could move.
_STANDS_NOWHERE: dict[str, Any] = {"rows": [], "doubt": None}


def _log(comparison: Comparison) -> list[dict[str, Any]]:
    """Return of each decision of a log how many rows it is known from, and where it was rare."""
    if comparison.log is None:
        return []
    table = comparison.log.overlap
    return [
        {
            "label": short_label(label),
            "rows": fixed(row.rows, 0),
            "effective": fixed(row.effective_rows, 0),
            "width": round(100.0 * row.effective_rows / table["rows"].max(), 2),
            "rare": percent(row.share_hardly_taken),
        }
        for label, row in zip(table.index.tolist(), table.itertuples())
    ]


def _calibration(comparison: Comparison, focus: str | None, labels: list[dict]) -> dict | None:
    name = focus or comparison.baseline
    proba = comparison.results[name].proba
    if proba is None:
        return None
    rows, shown = comparison.tested, [comparison.positive]
    if len(labels) > 2:
        burden = comparison.cost_confusion(comparison.recommended).sum(axis=1)
        most = np.argsort(-burden, kind="stable")[:MAX_CALIBRATED].tolist()
        shown = [c for c in comparison.order if c in most]
    p, y = proba[rows].astype(float), comparison.problem.y[rows]
    return {
        "title": comparison.results[name].title,
        "charts": [{"label": labels[c], **calibration_chart(p[:, c], y == c)} for c in shown],
        "left_out": len(labels) - len(shown) if len(labels) > 2 else 0,
    }


def _protocol(comparison: Comparison) -> dict[str, str]:
    counts = np.bincount(comparison.problem.y)
    names, shown = comparison.classes.tolist(), comparison.order[:30]
    classes = ", ".join(f"{short_label(names[c])['short']}: {fixed(counts[c], 0)}" for c in shown)
    if not comparison.problem.knows_truth:
        classes = (
            f"no truth is given, so that the cheapest decision of each stands for it; {classes}"
        )
    kind = KINDS[comparison.kind].capitalize()
    versions = ", ".join(f"{k} {v}" for k, v in circumstances()["versions"].items())
    protocol = comparison.protocol
    return {
        "Data": f"{fixed(comparison.problem.n_samples, 0)} examples; {classes}",
        "Prices": f"{kind}: {PRICES[comparison.kind]}",
        "Testing": f"{protocol['cv']}, seed {protocol['random_state']}: every example is decided by "
        "a fit that has not seen it, and all methods meet the same folds.",
        "Compared with": _reference(comparison),
        "Intervals": "Paired bootstrap over examples, 2,000 resamples. The intervals of the savings "
        "hold for all methods at once, so the best of many is not called better by luck.",
        "Versions": versions,
        **_limits(comparison),
    }


def _limits(comparison: Comparison) -> dict[str, str]:
    """Return the limits that all methods kept to, where there are some."""
    if comparison.capacity is None:
        return {}
    n = comparison.problem.n_samples
    labels = comparison.decisions
    lower, upper = capacity_bounds(comparison.capacity, labels, n)
    parts = [
        f"{short_label(label)['short']}: {low:,} to {high:,}"
        for label, low, high in zip(labels, lower, upper)
        if low > 0 or high < n
    ]
    return {"Limits": f"Of {n:,} rows, {'; '.join(parts)}; each fold has its share."}


def _reference(comparison: Comparison) -> str:
    """Return what the savings are counted against."""
    if comparison.baseline == TODAY:
        return "The decisions taken today, as the data has them."
    if comparison.baseline == "plain":
        follows = (
            "" if comparison.problem.costs.choices is None else "then its cheapest decision, "
        )
        return (
            f"The most probable class of {comparison.protocol['plain_model']} with its default "
            f"settings, {follows}but for one that keeps a rare class from distorting the others: what "
            "a model without prices would decide. What is decided today is not known here."
        )
    return f"{title_of(comparison, comparison.baseline)}. What is decided today is not known here."
