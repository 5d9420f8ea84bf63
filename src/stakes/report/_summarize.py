"""Everything the page says, as one dict: the page, JSON and tests are views of it."""

import time
from typing import Any

import numpy as np

from stakes.compare import Comparison
from stakes.compare.runner import circumstances
from stakes.compare.words import Money, fixed, money_for, percent, table_cells
from stakes.costs import KINDS
from stakes.costs.arithmetic import binary_threshold
from stakes.report._charts import (
    calibration_chart,
    interval_chart,
    pair_threshold,
    pair_thresholds,
    simplex_chart,
    threshold_chart,
)
from stakes.report._images import image_uri
from stakes.report._payload import make_payload
from stakes.utils._arrays import describe

MAX_MISTAKES = 12
MAX_FEATURES = 8
MAX_GRID = 12
MAX_CALIBRATED = 6
LABEL_LETTERS = 28
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

    Returns
    -------
    summary : dict
        Numbers as they are printed, and where the page computes with them, as they are.
    """
    money = money_for(comparison)
    labels = [short_label(label) for label in comparison.classes.tolist()]
    focus = comparison.probability_method
    rows = _method_rows(comparison)
    return {
        "title": title or ": ".join(filter(None, ["What decisions cost", comparison.name])),
        "name": comparison.name,
        "date": time.strftime("%Y-%m-%d"),
        "n": fixed(len(comparison.tested), 0),
        "n_classes": len(labels),
        "kind": comparison.kind,
        "currency": comparison.currency,
        "answer": _answer(comparison, money),
        "tiles": _tiles(comparison, money),
        "methods": rows,
        "left_out": [
            {"name": name, "title": result.title, "status": result.status, "reason": result.reason}
            for name, result in comparison.results.items()
            if result.status != "ok"
        ],
        "interval_chart": interval_chart(comparison, rows, money),
        "labels": labels,
        "prices": [[describe(value) for value in row] for row in comparison.cost_matrix.tolist()],
        "grid": len(labels) <= MAX_GRID,
        "what_if": None if focus is None else _what_if(comparison, focus, money, labels),
        "calibration": _calibration(comparison, focus, labels),
        "mistakes": _mistakes(comparison, money, labels, image_shape),
        "protocol": _protocol(comparison),
        "command": command,
    }


def short_label(label: Any, letters: int = LABEL_LETTERS) -> dict[str, str]:
    r"""Return a label fit for a page: one line, cut, with a longer form for its tooltip.

    Examples
    --------
    >>> from stakes.report._summarize import short_label
    >>> short_label("good\nrisk"), short_label("x" * 99)["short"] == "x" * 27 + "…"
    ({'short': 'good risk', 'full': 'good risk'}, True)
    """
    printable = "".join(c if c.isprintable() else " " for c in str(label))
    text = " ".join(printable.split()) or "(empty)"
    cut = text if len(text) <= letters else text[: letters - 1] + "…"
    return {"short": cut, "full": text if len(text) <= 300 else text[:299] + "…"}


def _answer(comparison: Comparison, money: Money) -> dict[str, str]:
    table = comparison.table
    base, best = table.loc[comparison.baseline], table.loc[comparison.recommended]
    cases = f"these {fixed(len(comparison.tested), 0)} cases"
    as_good = ", ".join(f"“{table.loc[name].title}”" for name in comparison.as_good)
    also = f"Not clearly more expensive: {as_good}." if as_good else ""
    if comparison.clear:
        headline = (
            f"“{best.title}” would cost {money.sum(best.total)} instead of "
            f"{money.sum(base.total)}: {money.sum(base.total - best.total)} saved "
            f"({percent(best.savings)}) over {cases}."
        )
        also = also or (
            "Every other method is clearly more expensive, or not clearly better than today's."
        )
    elif comparison.cheapest == comparison.baseline:
        headline = (
            f"No method is clearly better: “{base.title}” is the cheapest as it is, at "
            f"{money.sum(base.total)} over {cases}."
        )
    else:
        headline = (
            f"No method is clearly better than “{base.title}”, which costs "
            f"{money.sum(base.total)} over {cases}."
        )
    return {"headline": headline, "reason": comparison.reason, "also": also}


def _tiles(comparison: Comparison, money: Money) -> list[dict[str, Any]]:
    table = comparison.table

    def tile(label: str, name: str, note: str = "", **more: Any) -> dict[str, Any]:
        row = table.loc[name]
        note = f"{money(row.cost)} per case · {note or row.title}"
        return {"label": label, "value": money.sum(row.total), "note": note, **more}

    found = table.loc[comparison.recommended if comparison.clear else comparison.cheapest]
    saving = f"{percent(found.savings_low)} to {percent(found.savings_high)}"
    tiles = [tile("Today", comparison.baseline)]
    if comparison.clear:
        tiles.append(tile("Recommended", comparison.recommended, strong=True))
        note = f"95% interval {saving}"
        tiles.append({"label": "Saving", "value": percent(found.savings), "note": note})
    else:
        note = f"{found.title} · saving {percent(found.savings)} ({saving})"
        value = money.sum(found.total)
        tiles.append({"label": "Cheapest tried", "value": value, "note": note})
    return [*tiles, tile("One decision for all", "constant", "no model at all")]


def _method_rows(comparison: Comparison) -> list[dict[str, Any]]:
    columns = ("title", "cost", "interval", "total", "saving", "saving_interval", "seconds")
    return [
        {
            "name": name,
            **dict(zip(columns, cells)),
            "note": comparison.results[name].note,
            "error": percent(comparison.table.loc[name].error),
            "recall": [percent(value) for value in comparison.recall(name)],
            "recommended": name == comparison.recommended and comparison.clear,
            "baseline": name == comparison.baseline,
        }
        for name, cells in table_cells(comparison)
        if comparison.results[name].status == "ok"
    ]


def _what_if(comparison: Comparison, focus: str, money: Money, labels: list[dict]) -> dict:
    """Everything the reader can change, as it stands before any change."""
    answer = comparison.what_if(comparison.cost_matrix, focus)
    payload = make_payload(comparison, focus, money, labels)
    cells = confusion_cells(answer.confusion, answer.cost_confusion, money)
    k = len(labels)
    found: dict[str, Any] = {
        "title": comparison.results[focus].title,
        "total": money.sum(answer.total),
        "each": money(answer.total / len(answer.decisions)),
        "saving": percent(answer.savings),
        "bars": _bars(answer, money),
        "confusion": cells,
        "payload": payload,
        "sampled": payload["n"] < len(comparison.tested),
        "n_page": fixed(payload["n"], 0),
    }
    if k == 2:
        threshold = binary_threshold(comparison.cost_matrix)
        found["threshold"] = percent(threshold) if 0 < threshold <= 1 else "–"
        found["chart"] = threshold_chart(comparison, focus, money, payload)
    elif k == 3:
        found["chart"] = simplex_chart(comparison, focus, labels, payload)
    elif k <= MAX_GRID:
        found["pairs"] = pair_thresholds(comparison.cost_matrix)
    else:
        found["most_expensive"] = [
            {
                "t": t,
                "d": d,
                **cells[t][d],
                "threshold": pair_threshold(comparison.cost_matrix, t, d),
            }
            for t, d in _most_expensive(answer)
        ]
    return found


def _most_expensive(answer: Any, n: int = 20) -> list[tuple[int, int]]:
    """Return the kinds of mistake that cost most in sum: for many classes, in place of a grid."""
    k = len(answer.confusion)
    taken = (answer.confusion > 0) & ~np.eye(k, dtype=bool)
    order = np.argsort(-np.where(taken, answer.cost_confusion, -np.inf), axis=None, kind="stable")
    return [divmod(int(cell), k) for cell in order[: min(n, int(taken.sum()))]]


def _bars(answer: Any, money: Money) -> list[dict]:
    amounts = [
        ("today", "Most probable class (today)", answer.baseline_total),
        ("constant", "Best single decision for all", answer.constant_total),
        ("kept", "Decisions made for the original prices", answer.total),
        ("total", "Decided again at these prices", answer.total),
    ]
    largest = max(*(amount for *_, amount in amounts), 1e-300)

    def bar(key: str, label: str, amount: float) -> dict[str, Any]:
        width = round(100 * max(0.0, amount) / largest, 2)
        return {"key": key, "label": label, "amount": money.sum(amount), "width": width}

    return [bar(*entry) for entry in amounts]


def confusion_cells(confusion: np.ndarray, costs: np.ndarray, money: Money) -> list[list[dict]]:
    """Return the confusion matrix in currency, cell by cell, with a shade from 0 to 1."""
    largest = max(float(np.abs(costs).max()), 1e-300)

    def cell(count: int, cost: float) -> dict[str, Any]:
        shade = round(abs(cost) / largest, 3)
        return {"amount": money.sum(cost), "count": fixed(count, 0), "shade": shade}

    rows = zip(confusion.tolist(), costs.tolist())
    return [[cell(*pair) for pair in zip(counts, paid)] for counts, paid in rows]


def _calibration(comparison: Comparison, focus: str | None, labels: list[dict]) -> dict | None:
    name = focus or comparison.baseline
    proba = comparison.results[name].proba
    if proba is None:
        return None
    rows, shown = comparison.tested, [1]
    if len(labels) > 2:
        burden = comparison.cost_confusion(comparison.recommended).sum(axis=1)
        shown = sorted(np.argsort(-burden, kind="stable")[:MAX_CALIBRATED].tolist())
    p, y = proba[rows].astype(float), comparison.problem.y[rows]
    return {
        "title": comparison.results[name].title,
        "charts": [{"label": labels[c], **calibration_chart(p[:, c], y == c)} for c in shown],
        "left_out": len(labels) - len(shown) if len(labels) > 2 else 0,
    }


def _mistakes(
    comparison: Comparison, money: Money, labels: list[dict], image_shape: tuple[int, int] | None
) -> dict[str, Any]:
    result = comparison.results[comparison.recommended]
    y, X = comparison.problem.y, comparison.problem.X
    rows = comparison.tested
    wrong = rows[result.decisions[rows] != y[rows]]
    order = wrong[np.argsort(-result.paid[wrong], kind="stable")][:MAX_MISTAKES]
    cells = X.iloc if hasattr(X, "iloc") else X
    width = X.shape[1] if len(X.shape) > 1 else 1
    columns = [] if image_shape else list(range(min(width, MAX_FEATURES)))
    items = [
        {
            "row": fixed(row, 0),
            "truth": labels[y[row]],
            "decided": labels[result.decisions[row]],
            "cost": money.price(result.paid[row]),
            "believed": "" if result.proba is None else percent(result.proba[row, y[row]]),
            "features": [_value(cells[row, c]) for c in columns],
            "image": image_uri(cells[row], image_shape) if image_shape else "",
        }
        for row in order.tolist()
    ]
    names = X.columns if hasattr(X, "columns") else [f"feature {c}" for c in range(width)]
    return {
        "title": result.title,
        "n_wrong": fixed(len(wrong), 0),
        "items": items,
        "columns": [short_label(names[c], 20) for c in columns],
        "more": 0 if image_shape else width - len(columns),
    }


def _value(value: Any) -> str:
    if value is None or value != value:
        return "missing"
    if isinstance(value, (float, np.floating)):
        return describe(float(value))
    return short_label(value, 40)["short"]


def _protocol(comparison: Comparison) -> dict[str, str]:
    counts = np.bincount(comparison.problem.y)
    shown = zip(comparison.classes.tolist()[:30], counts)
    classes = ", ".join(f"{short_label(label)['short']}: {fixed(n, 0)}" for label, n in shown)
    kind = KINDS[comparison.kind].capitalize()
    versions = ", ".join(f"{k} {v}" for k, v in circumstances()["versions"].items())
    protocol = comparison.protocol
    return {
        "Data": f"{fixed(comparison.problem.n_samples, 0)} examples; {classes}",
        "Prices": f"{kind}: {PRICES[comparison.kind]}",
        "Testing": f"{protocol['cv']}, seed {protocol['random_state']}: every example is decided by "
        "a fit that has not seen it, and all methods meet the same folds.",
        "Today": f"The most probable class of {protocol['plain_model']} with its default settings, "
        "but for one that keeps a rare class from distorting the others.",
        "Intervals": "Paired bootstrap over examples, 2,000 resamples. The intervals of the savings "
        "hold for all methods at once, so the best of many is not called better by luck.",
        "Versions": versions,
    }
