"""Everything the page says, as one dict: the page, JSON and tests are views of it."""

import time
from typing import Any

import numpy as np

from stakes.compare._comparison import Comparison
from stakes.compare.words import (
    Money,
    fixed,
    in_order,
    money_for,
    percent,
    seconds,
)
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
    prices = comparison.cost_matrix
    n_classes = len(labels)
    return {
        "title": title or _title(comparison),
        "name": comparison.name,
        "date": time.strftime("%Y-%m-%d"),
        "n": fixed(len(comparison.tested), 0),
        "n_classes": n_classes,
        "situation": comparison.situation,
        "currency": comparison.currency,
        "answer": _answer(comparison, money),
        "tiles": _tiles(comparison, money),
        "methods": _method_rows(comparison, money),
        "left_out": [
            {"name": name, "title": result.title, "status": result.status, "reason": result.reason}
            for name, result in comparison.results.items()
            if result.status != "ok"
        ],
        "interval_chart": interval_chart(comparison, money),
        "labels": labels,
        "recall": _recall(comparison),
        "prices": [[describe(value) for value in row] for row in prices.tolist()],
        "grid": n_classes <= MAX_GRID,
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
    text = (
        " ".join("".join(c if c.isprintable() else " " for c in str(label)).split()) or "(empty)"
    )
    cut = text if len(text) <= letters else text[: letters - 1] + "…"
    return {"short": cut, "full": text if len(text) <= 300 else text[:299] + "…"}


def _title(comparison: Comparison) -> str:
    return f"What decisions cost: {comparison.name}" if comparison.name else "What decisions cost"


def _answer(comparison: Comparison, money: Money) -> dict:
    table = comparison.table
    base, best = table.loc[comparison.baseline], table.loc[comparison.recommended]
    n = len(comparison.tested)
    as_good = [table.loc[name].title for name in comparison.as_good]
    if comparison.clear:
        saved = base.total - best.total
        headline = (
            f"“{best.title}” would cost {money.sum(best.total)} instead of "
            f"{money.sum(base.total)}: {money.sum(saved)} saved ({percent(best.savings)}) "
            f"over these {fixed(n, 0)} cases."
        )
    elif comparison.cheapest == comparison.baseline:
        headline = (
            f"No method is clearly better: “{base.title}” is the cheapest as it is, at "
            f"{money.sum(base.total)} over these {fixed(n, 0)} cases."
        )
    else:
        headline = (
            f"No method is clearly better than “{base.title}”, which costs "
            f"{money.sum(base.total)} over these {fixed(n, 0)} cases."
        )
    also = ""
    if as_good:
        names = ", ".join(f"“{title}”" for title in as_good)
        verb = "is" if len(as_good) == 1 else "are"
        also = f"Not clearly dearer {verb} {names}."
    elif comparison.clear:
        also = "Every other method is clearly dearer, or not clearly better than today's."
    return {"headline": headline, "reason": comparison.reason, "also": also}


def _tiles(comparison: Comparison, money: Money) -> list[dict]:
    table = comparison.table
    base, best = table.loc[comparison.baseline], table.loc[comparison.recommended]
    tiles: list[dict] = [
        {
            "label": "Today",
            "value": money.sum(base.total),
            "note": f"{money(base.cost)} per case · {base.title}",
        }
    ]
    if comparison.clear:
        tiles += [
            {
                "label": "Recommended",
                "value": money.sum(best.total),
                "note": f"{money(best.cost)} per case · {best.title}",
                "strong": True,
            },
            {
                "label": "Saving",
                "value": percent(best.savings),
                "note": f"95% interval {percent(best.savings_low)} to {percent(best.savings_high)}",
            },
        ]
    else:
        cheapest = table.loc[comparison.cheapest]
        tiles.append(
            {
                "label": "Cheapest tried",
                "value": money.sum(cheapest.total),
                "note": f"{cheapest.title} · saving {percent(cheapest.savings)} "
                f"({percent(cheapest.savings_low)} to {percent(cheapest.savings_high)})",
            }
        )
    constant = table.loc["constant"]
    tiles.append(
        {
            "label": "One decision for all",
            "value": money.sum(constant.total),
            "note": f"{money(constant.cost)} per case · no model at all",
        }
    )
    return tiles


def _method_rows(comparison: Comparison, money: Money) -> list[dict]:
    rows = []
    for name, row in in_order(comparison.table).iterrows():
        if row.status != "ok":
            continue
        is_base = name == comparison.baseline
        rows.append(
            {
                "name": name,
                "title": row.title,
                "family": row.family,
                "note": comparison.results[str(name)].note,
                "cost": money(row.cost),
                "interval": f"{money(row.low)} to {money(row.high)}",
                "total": money.sum(row.total),
                "saving": "–" if is_base else percent(row.savings),
                "saving_interval": ""
                if is_base
                else f"{percent(row.savings_low)} to {percent(row.savings_high)}",
                "error": percent(row.error),
                "seconds": seconds(row.seconds_fit + row.seconds_predict),
                "recommended": name == comparison.recommended and comparison.clear,
                "baseline": is_base,
            }
        )
    return rows


def _recall(comparison: Comparison) -> list[dict]:
    order = [name for name in in_order(comparison.table).index if name in comparison.finished]
    return [
        {
            "title": comparison.results[name].title,
            "cells": [percent(value) for value in comparison.recall(name)],
        }
        for name in order
    ]


def _what_if(comparison: Comparison, focus: str, money: Money, labels: list[dict]) -> dict:
    """Everything the reader can change, as it stands before any change."""
    answer = comparison.what_if(comparison.cost_matrix, focus)
    payload = make_payload(comparison, focus, money, labels)
    k = len(labels)
    found: dict[str, Any] = {
        "title": comparison.results[focus].title,
        "total": money.sum(answer.total),
        "each": money(answer.total / len(answer.decisions)),
        "saving": percent(answer.savings),
        "baseline_title": comparison.results[comparison.baseline].title,
        "bars": _bars(answer, money),
        "confusion": confusion_cells(answer.confusion, answer.cost_confusion, money),
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
    if k > MAX_GRID:
        found["dearest"] = _dearest(answer, comparison.cost_matrix, money)
    return found


def _dearest(answer, matrix: np.ndarray, money: Money, n: int = 20) -> list[dict]:
    """Return the kinds of mistake that cost most in sum: for many classes, in place of a grid."""
    k = len(matrix)
    taken = (answer.confusion > 0) & ~np.eye(k, dtype=bool)
    order = np.argsort(-np.where(taken, answer.cost_confusion, -np.inf), axis=None, kind="stable")
    return [
        {
            "t": int(cell // k),
            "d": int(cell % k),
            "amount": money.sum(answer.cost_confusion.flat[cell]),
            "count": fixed(answer.confusion.flat[cell], 0),
            "threshold": pair_threshold(matrix, int(cell // k), int(cell % k)),
        }
        for cell in order[: min(n, int(taken.sum()))]
    ]


def _bars(answer, money: Money) -> list[dict]:
    amounts = [
        ("today", "Most probable class (today)", answer.baseline_total),
        ("constant", "Best single decision for all", answer.constant_total),
        ("kept", "Decisions made for the original prices", answer.total),
        ("total", "Decided again at these prices", answer.total),
    ]
    largest = max(max(amount for *_, amount in amounts), 1e-300)
    return [
        {
            "key": key,
            "label": label,
            "amount": money.sum(amount),
            "width": round(100 * max(0.0, amount) / largest, 2),
        }
        for key, label, amount in amounts
    ]


def confusion_cells(confusion: np.ndarray, costs: np.ndarray, money: Money) -> list[list[dict]]:
    """Return the confusion matrix in currency, cell by cell, with a shade from 0 to 1."""
    largest = max(float(np.abs(costs).max()), 1e-300)
    return [
        [
            {
                "amount": money.sum(costs[t, d]),
                "count": fixed(confusion[t, d], 0),
                "shade": round(float(abs(costs[t, d])) / largest, 3),
                "right": t == d,
            }
            for d in range(len(confusion))
        ]
        for t in range(len(confusion))
    ]


def _calibration(comparison: Comparison, focus: str | None, labels: list[dict]) -> dict | None:
    name = focus or comparison.baseline
    proba = comparison.results[name].proba
    if proba is None:
        return None
    rows = comparison.tested
    k = len(labels)
    if k == 2:
        shown = [1]
    else:
        burden = comparison.cost_confusion(comparison.recommended).sum(axis=1)
        shown = sorted(np.argsort(-burden, kind="stable")[:MAX_CALIBRATED].tolist())
    charts = []
    for c in shown:
        chart = calibration_chart(proba[rows, c].astype(float), comparison.problem.y[rows] == c)
        charts.append({"label": labels[c], **chart})
    return {
        "title": comparison.results[name].title,
        "charts": charts,
        "left_out": k - len(shown) if k > 2 else 0,
    }


def _mistakes(comparison: Comparison, money: Money, labels, image_shape) -> dict:
    method = comparison.recommended
    result = comparison.results[method]
    rows = comparison.tested
    wrong = rows[result.decisions[rows] != comparison.problem.y[rows]]
    order = wrong[np.argsort(-result.paid[wrong], kind="stable")][:MAX_MISTAKES]
    X = comparison.problem.X
    columns, names = _shown_columns(X)
    items = []
    for row in order.tolist():
        truth, decided = int(comparison.problem.y[row]), int(result.decisions[row])
        items.append(
            {
                "row": fixed(row, 0),
                "truth": labels[truth],
                "decided": labels[decided],
                "cost": money.price(result.paid[row]),
                "believed": ""
                if result.proba is None
                else percent(float(result.proba[row, truth])),
                "features": [] if image_shape else _features(X, row, columns),
                "image": image_uri(_pixels(X, row), image_shape) if image_shape else "",
            }
        )
    return {
        "title": result.title,
        "n_wrong": fixed(len(wrong), 0),
        "items": items,
        "columns": [] if image_shape else names,
        "more": 0 if image_shape else max(0, _width(X) - len(names)),
    }


def _width(X) -> int:
    return X.shape[1] if len(X.shape) > 1 else 1


def _shown_columns(X) -> tuple[list[int], list[dict]]:
    columns = list(range(min(_width(X), MAX_FEATURES)))
    if hasattr(X, "columns"):
        names = [short_label(X.columns[c], 20) for c in columns]
    else:
        names = [short_label(f"feature {c}") for c in columns]
    return columns, names


def _features(X, row: int, columns: list[int]) -> list[str]:
    if hasattr(X, "iloc"):
        values = [X.iloc[row, c] for c in columns]
    else:
        values = [X[row, c] for c in columns]
    return [_value(value) for value in values]


def _value(value: Any) -> str:
    if value is None or value != value:
        return "missing"
    if isinstance(value, (float, np.floating)):
        return describe(float(value))
    return short_label(value, 40)["short"]


def _pixels(X, row: int) -> np.ndarray:
    return np.asarray(X.iloc[row] if hasattr(X, "iloc") else X[row], dtype=float)


def _protocol(comparison: Comparison) -> list[tuple[str, str]]:
    from stakes.compare.runner import circumstances

    counts = np.bincount(comparison.problem.y)
    situations = {
        "A": "A price for each pair of truth and decision.",
        "B1": "A price for each example, known when deciding; the matrix shows averages.",
        "B2": "A price for each example, known in hindsight only; the matrix shows averages.",
    }
    classes = ", ".join(
        f"{short_label(label)['short']}: {fixed(count, 0)}"
        for label, count in list(zip(comparison.classes.tolist(), counts))[:30]
    )
    versions = ", ".join(f"{k} {v}" for k, v in circumstances()["versions"].items())
    protocol = comparison.protocol
    return [
        ("Data", f"{fixed(comparison.problem.n_samples, 0)} examples; {classes}"),
        ("Prices", situations[comparison.situation]),
        (
            "Testing",
            f"{protocol['cv']}, seed {protocol['random_state']}: every example is decided by a "
            "fit that has not seen it, and all methods meet the same folds.",
        ),
        (
            "Today",
            f"The most probable class of {protocol['plain_model']} with its default settings, but "
            "for one that keeps rare classes from upsetting the others.",
        ),
        (
            "Intervals",
            "Paired bootstrap over examples, 2,000 resamples. The intervals of the savings hold "
            "for all methods at once, so the best of many is not called better by luck.",
        ),
        ("Versions", versions),
    ]
