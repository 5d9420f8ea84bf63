"""What the reader can change, as it stands before any change; the script goes on from there."""

from typing import Any

import numpy as np

from stakes.compare import Comparison
from stakes.compare.words import TODAY, Money, fixed, percent, reference_in_words, title_of
from stakes.report._charts import how_sure, own_threshold, simplex_chart, threshold_chart
from stakes.report._payload import make_payload

# Up to this many classes and decisions prices stand in a grid; beyond, one is picked at a time.
MAX_GRID = 12


def summarize_what_if(
    comparison: Comparison,
    focus: str,
    money: Money,
    labels: list[dict],
    decisions: list[dict],
    *,
    private: bool = False,
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
    labels, decisions : list of dict
        Short labels of the classes and of the decisions.
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
    leaves = bool((recommended[rows] >= len(decisions)).any())
    known = alone or leaves or comparison.recommended == comparison.baseline
    extra = not (same or known)
    # By the name of the line that they have on the page: the method whose decisions stay.
    kept = {"today": comparison.baseline}
    if extra:
        kept["recommended"] = comparison.recommended
    others = set(comparison.finished) - {comparison.baseline, focus}
    if comparison.problem.costs.choices is not None and "plain" in others:
        kept["plain"] = "plain"
    stay = {key: comparison.results[name].decisions for key, name in kept.items()}
    payload = make_payload(comparison, focus, money, labels, decisions, kept=stay, private=private)
    options = _options(comparison, focus, answer, money, decisions, kept)
    # The page begins with the decisions that the headline speaks of.
    key = "recommended" if extra else ("constant" if alone else "total")
    shown = answer.confusion, answer.cost_confusion
    if key != "total":
        best = comparison.recommended
        shown = comparison.confusion(best), comparison.cost_confusion(best)
    cells = confusion_cells(*shown, money)
    total = float(shown[1].sum())
    before = answer.baseline_total
    grid = max(len(labels), len(decisions)) <= MAX_GRID
    pictured: dict[str, Any] = {
        "title": title_of(comparison, focus),
        "recommended": title_of(comparison, comparison.recommended) if extra else "",
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
    pictured |= _picture(comparison, focus, money, labels, payload, grid)
    if not grid:
        sure = how_sure(comparison)
        pictured["most_expensive"] = [
            {"t": t, "d": d, **cells[t][d], "sure": sure[t][d]}
            for t, d in _most_expensive(*shown, comparison.right)
        ]
    payload["picture"], payload["positive"] = pictured["picture"], comparison.positive
    return pictured


def _picture(
    comparison: Comparison, focus: str, money: Money, labels: list, payload: dict, grid: bool
) -> dict[str, Any]:
    """Return what shows where decisions change: a threshold, a triangle, or how sure they are."""
    k = len(labels)
    if k == 2 and comparison.problem.costs.choices is None:
        threshold = own_threshold(comparison)
        return {
            "picture": "threshold",
            "threshold": percent(threshold) if 0 < threshold <= 1 else "–",
            "chart": threshold_chart(comparison, focus, money, payload),
        }
    if k == 3 and grid:
        return {"picture": "simplex", "chart": simplex_chart(comparison, focus, labels, payload)}
    return {"picture": "sure"} | ({"sure": how_sure(comparison)} if grid else {})


def most_expensive_price(comparison: Comparison) -> tuple[int, int]:
    """Return where the highest price stands, the first of equals as the page shows them."""
    rows, columns = comparison.order, comparison.decision_order
    shown = comparison.cost_matrix[np.ix_(rows, columns)]
    t, d = divmod(int(shown.argmax()), len(columns))
    return rows[t], columns[d]


def _most_expensive(
    confusion: np.ndarray, costs: np.ndarray, right: np.ndarray, n: int = 20
) -> list[tuple]:
    """Return the kinds of mistake that cost most in sum: for many classes, in place of a grid."""
    taken = (confusion > 0) & ~right
    order = np.argsort(-np.where(taken, costs, -np.inf), axis=None, kind="stable")
    return [divmod(int(cell), right.shape[1]) for cell in order[: min(n, int(taken.sum()))]]


def _options(
    comparison: Comparison,
    focus: str,
    answer: Any,
    money: Money,
    decisions: list[dict],
    kept: dict[str, str],
) -> list[dict[str, Any]]:
    """Return the ways to decide that the page puts side by side, with their totals."""
    title = title_of(comparison, focus)
    today = comparison.baseline == TODAY
    base = "What is decided today" if today else reference_in_words(comparison)
    amounts = [
        ("today", base, "" if today else "compared with", answer.baseline_total),
        (
            "constant",
            f"“{decisions[answer.constant]['short']}” for everybody",
            "one decision for all",
            answer.constant_total,
        ),
        ("kept", f"“{title}”, kept", "", answer.kept_total),
        ("total", f"“{title}”, decided again at these prices", "", answer.total),
    ]
    for key, name in list(kept.items())[1:]:
        paid = comparison.total(name, comparison.cost_matrix)
        badge = "recommended" if key == "recommended" else ""
        amounts.insert(2, (key, f"“{title_of(comparison, name)}”, kept", badge, paid))
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
