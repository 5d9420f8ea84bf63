"""What the reader can change, as it stands before any change; the script goes on from there."""

from typing import Any

import numpy as np

from stakes.compare import Comparison
from stakes.compare.words import TODAY, Money, fixed, percent, reference_in_words, title_of
from stakes.costs.arithmetic import binary_threshold
from stakes.report._charts import (
    pair_threshold,
    pair_thresholds,
    simplex_chart,
    threshold_chart,
)
from stakes.report._payload import make_payload

# Up to this many classes prices stand in a grid; beyond, one is picked at a time.
MAX_GRID = 12


def summarize_what_if(
    comparison: Comparison, focus: str, money: Money, labels: list[dict], *, private: bool = False
) -> dict[str, Any]:
    """Return the totals of several ways to decide, and where the money of each goes.

    Parameters
    ----------
    comparison : Comparison
        Finished.
    focus : str
        The method whose probabilities decide again at other prices.
    money : Money
        How amounts are written.
    labels : list of dict
        Short labels.
    private : bool, default=False
        As in `make_payload`.
    """
    answer = comparison.what_if(comparison.cost_matrix, focus)
    recommended = comparison.results[comparison.recommended].decisions
    # The recommended decisions stand beside those of the probabilities where they are others.
    rows = comparison.tested
    same = np.array_equal(recommended[rows], answer.decisions)
    # They have a line of their own too where they are the reference's, or one decision for all.
    alone = comparison.recommended == "constant" and (recommended[rows] == answer.constant).all()
    leaves = bool((recommended[rows] >= len(labels)).any())
    known = alone or leaves or comparison.recommended == comparison.baseline
    extra = None if same or known else recommended
    payload = make_payload(comparison, focus, money, labels, recommended=extra, private=private)
    options = _options(comparison, focus, answer, money, labels, extra=extra is not None)
    # The page begins with the decisions that the headline speaks of.
    key = "recommended" if extra is not None else ("constant" if alone else "total")
    shown = answer.confusion, answer.cost_confusion
    if key != "total":
        best = comparison.recommended
        shown = comparison.confusion(best), comparison.cost_confusion(best)
    cells = confusion_cells(*shown, money)
    total = float(shown[1].sum())
    before, k = answer.baseline_total, len(labels)
    found: dict[str, Any] = {
        "title": title_of(comparison, focus),
        "recommended": title_of(comparison, comparison.recommended) if extra is not None else "",
        "same_method": comparison.recommended == focus,
        "selected": key,
        "total": money.sum(total),
        "each": money(total / len(answer.decisions)),
        "saving": percent((before - total) / abs(before)) if before else "–",
        "options": options,
        "confusion": cells,
        "payload": payload,
        "sampled": payload["n"] < len(comparison.tested),
        "repeated": bool(comparison.protocol.get("repeated")),
        "n_page": fixed(payload["n"], 0),
        "n_tested": len(comparison.tested),
        "limited": comparison.capacity is not None,
        "leaves": title_of(comparison, comparison.recommended) if leaves else "",
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
            for t, d in _most_expensive(*shown)
        ]
    return found


def most_expensive_price(comparison: Comparison) -> tuple[int, int]:
    """Return where the highest price stands, the first of equals as the page shows them."""
    order = comparison.order
    shown = comparison.cost_matrix[np.ix_(order, order)]
    t, d = divmod(int(shown.argmax()), len(order))
    return order[t], order[d]


def _most_expensive(confusion: np.ndarray, costs: np.ndarray, n: int = 20) -> list[tuple]:
    """Return the kinds of mistake that cost most in sum: for many classes, in place of a grid."""
    k = len(confusion)
    taken = (confusion > 0) & ~np.eye(k, dtype=bool)
    order = np.argsort(-np.where(taken, costs, -np.inf), axis=None, kind="stable")
    return [divmod(int(cell), k) for cell in order[: min(n, int(taken.sum()))]]


def _options(
    comparison: Comparison,
    focus: str,
    answer: Any,
    money: Money,
    labels: list[dict],
    *,
    extra: bool,
) -> list[dict[str, Any]]:
    """Return the ways to decide that the page puts side by side, with their totals."""
    title, best = title_of(comparison, focus), title_of(comparison, comparison.recommended)
    today = comparison.baseline == TODAY
    base = "What is decided today" if today else reference_in_words(comparison)
    amounts = [
        ("today", base, "" if today else "compared with", answer.baseline_total),
        (
            "constant",
            f"“{labels[answer.constant]['short']}” for everybody",
            "one decision for all",
            answer.constant_total,
        ),
        ("kept", f"“{title}”, kept", "", answer.kept_total),
        ("total", f"“{title}”, decided again at these prices", "", answer.total),
    ]
    if extra:
        paid = comparison.total(comparison.recommended, comparison.cost_matrix)
        amounts.insert(2, ("recommended", f"“{best}”, kept", "recommended", paid))
    largest = max(*(amount for *_, amount in amounts), 1e-300)

    def option(key: str, label: str, badge: str, amount: float) -> dict[str, Any]:
        width = round(100 * max(0.0, amount) / largest, 2)
        return {
            "key": key,
            "label": label,
            "badge": badge,
            "amount": money.sum(amount),
            "width": width,
        }

    return [option(*entry) for entry in amounts]


def confusion_cells(confusion: np.ndarray, costs: np.ndarray, money: Money) -> list[list[dict]]:
    """Return the confusion matrix in currency, cell by cell, with a shade from 0 to 1."""
    largest = max(float(np.abs(costs).max()), 1e-300)

    def cell(count: int, cost: float) -> dict[str, Any]:
        shade = round(abs(cost) / largest, 3)
        return {"amount": money.sum(cost), "count": fixed(count, 0), "shade": shade}

    rows = zip(confusion.tolist(), costs.tolist())
    return [[cell(*pair) for pair in zip(counts, paid)] for counts, paid in rows]
