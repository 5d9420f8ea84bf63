"""Is it worth it? Net benefit and costs along a path of prices, as the page draws and tells them."""

from typing import Any

import numpy as np

from stakes.compare import Comparison
from stakes.compare.words import (
    Money,
    abstaining_in_words,
    fixed,
    percent,
    short_label,
    title_of,
)
from stakes.costs import CostMatrix
from stakes.costs.arithmetic import binary_threshold
from stakes.metrics import PriceCurve, brier_curve, cost_curve, decision_curve
from stakes.report._charts import FRAME, nice_ticks, path_of

# Places of a curve, for two classes and for more, and those that are told in numbers.
N_PLACES, N_PLACES_MORE = 101, 41
TOLD, TOLD_MORE = (0.1, 0.25, 0.5, 0.75, 0.9), (0.0, 0.25, 0.5, 0.75, 1.0)


def summarize_worth(comparison: Comparison, method: str | None) -> dict[str, Any] | None:
    """Return what deciding by probabilities is worth: a decision curve, a Brier and a cost curve.

    For two classes over thresholds, each of which stands for the prices at which it is right;
    for more, on the way from equal prices to these. Class costs alone: a path needs two
    matrices.
    """
    if method is None or comparison.kind != "class":
        return None
    proba, title = comparison.probabilities(method), title_of(comparison, method)
    y, matrix = comparison.problem.y[comparison.tested], comparison.cost_matrix
    two = comparison.problem.costs.choices is None and len(comparison.classes) == 2
    if two and comparison.positive == 0:
        y, proba, matrix = 1 - y, proba[:, ::-1], matrix[::-1, ::-1]
    given: dict[str, Any] = {"labels": range(len(comparison.classes)), "random_state": 0}
    banded: dict[str, Any] = {**given, "n_bootstrap": 500}
    path: dict[str, Any] = {"n_points": N_PLACES if two else N_PLACES_MORE}
    if two:
        places = np.linspace(0, 1, N_PLACES)[1:-1]
        benefit = decision_curve(y, proba, thresholds=places, **banded)
        own = _threshold(matrix)
    else:
        path["cost_matrices"] = [
            CostMatrix(prices, range(len(comparison.classes)), range(matrix.shape[1]))
            for prices in (_even(matrix, comparison.right), matrix)
        ]
        benefit = decision_curve(y, proba, **path, **banded)
        own = None
    paid, least = brier_curve(y, proba, **path, **banded), cost_curve(y, proba, **path, **given)
    words = _words(comparison, title, own, two)
    return {
        "text": words["text"],
        "charts": [
            {
                "title": "Net benefit",
                "text": words["benefit"],
                **_chart(benefit, benefit.same_for_all.T if two else [benefit.best_for_all], own),
            },
            {
                "title": "Cost",
                "text": words["cost"],
                **_chart(paid, paid.same_for_all.T if two else [paid.best_for_all], own, least),
            },
        ],
        "xlabel": words["xlabel"],
        "place": words["place"],
        "least": words["least"],
        "rows": _rows(benefit, paid, least, TOLD if two else TOLD_MORE),
    }


def summarize_abstaining(
    comparison: Comparison, abstain_cost: float | None, money: Money
) -> dict[str, Any] | None:
    """Return what leaving cases to somebody else at a price would save, method by method."""
    if abstain_cost is None:
        return None
    return {
        "text": abstaining_in_words(comparison, abstain_cost),
        "rows": [
            {
                "title": title_of(comparison, name),
                "left": percent(row.left),
                "cost": money(row.cost),
                "interval": f"{money(row.low)} to {money(row.high)}",
                "saved": money(row.saved),
                "saved_interval": f"{money(row.saved_low)} to {money(row.saved_high)}",
            }
            for name, row in comparison.abstaining(abstain_cost).iterrows()
        ],
    }


def _rows(
    benefit: PriceCurve, paid: PriceCurve, least: PriceCurve, places: tuple
) -> list[dict[str, str]]:
    """Return the curves in numbers, all of as many digits."""
    largest = max(float(np.abs(curve.values).max()) for curve in (benefit, paid))
    digits = int(np.clip(3 - np.floor(np.log10(largest or 1.0)), 0, 6))

    def told(curve: PriceCurve, what: str, place: float) -> str:
        at = int(np.abs(curve.positions - place).argmin())
        return fixed(float(getattr(curve, what)[at]), digits)

    return [
        {
            "place": percent(place, 0),
            "benefit": told(benefit, "values", place),
            "benefit_band": f"{told(benefit, 'low', place)} to {told(benefit, 'high', place)}",
            "cost": told(paid, "values", place),
            "cost_band": f"{told(paid, 'low', place)} to {told(paid, 'high', place)}",
            "least": told(least, "values", place),
            "same": told(paid, "best_for_all", place),
        }
        for place in places
    ]


def _words(comparison: Comparison, title: str, own: float | None, two: bool) -> dict[str, str]:
    """Return what the pictures mean, in sentences."""
    if two:
        second = short_label(comparison.classes[comparison.positive])["short"]
        marks = " The dashed upright marks the threshold that the prices ask for."
        return {
            "text": f"Deciding “{second}” from each probability on, by the probabilities of “{title}”. "
            "Each threshold is right at some prices: a low one where misses are expensive, a high "
            f"one where false alarms are.{marks if own is not None else ''}",
            "benefit": f"Saved per case against never deciding “{second}”, in units of a missed "
            f"“{second}”. The thin lines decide the same for everybody: above both, the model is "
            "worth it.",
            "cost": "Paid per case, where a false alarm and a miss cost 2 together. The thin lines "
            "decide the same for everybody: below both, the model is worth it.",
            "least": "the least that the same ranking of cases could cost, by the best threshold at "
            "each place",
            "xlabel": "threshold",
            "place": "Threshold",
        }
    return {
        "text": f"Deciding by the probabilities of “{title}”, on the way from mistakes that all cost the "
        "same to the prices as they are.",
        "benefit": "Saved per case against the best single decision for everybody (the thin line): "
        "above it the model is worth it.",
        "cost": "Paid per case. The thin line is the best single decision for everybody: below it the "
        "model is worth it.",
        "least": "the least that decisions taken anywhere on the way could cost at each place",
        "xlabel": "from equal prices (0%) to these (100%)",
        "place": "Prices",
    }


def _threshold(matrix: np.ndarray) -> float | None:
    """Return the threshold that the prices of two classes ask for, where it is on the picture."""
    if matrix.sum() - np.trace(matrix) <= np.trace(matrix):
        return None
    threshold = float(binary_threshold(matrix))
    return threshold if 0.01 <= threshold <= 0.99 else None


def _even(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return prices at which all mistakes cost the same, on average as much as they do."""
    own = matrix[right].sum()
    return np.where(right, own / right.sum(), (matrix.sum() - own) / (~right).sum())


def _chart(
    curve: PriceCurve, same: Any, own: float | None, least: PriceCurve | None = None
) -> dict[str, Any]:
    """Return a curve with its band, the decisions for everybody and the least possible, as paths."""
    low, high = np.asarray(curve.low), np.asarray(curve.high)
    bottom = min(0.0, float(low.min()))
    top = 1.04 * max(float(high.max()), float(curve.best_for_all.max())) or 1.0

    def x(value: Any) -> Any:
        return FRAME["left"] + value * (FRAME["right"] - FRAME["left"])

    def h(value: Any) -> Any:
        share = (value - bottom) / (top - bottom)
        return FRAME["bottom"] - share * (FRAME["bottom"] - FRAME["top"])

    xs = x(curve.positions)
    seen = [(values, (values >= bottom) & (values <= top)) for values in same]
    ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
    return {
        **FRAME,
        "path": path_of(xs, h(curve.values)),
        "band": path_of(np.append(xs, xs[::-1]), h(np.append(high, low[::-1]))) + "Z",
        "references": [path_of(xs[here], h(values[here])) for values, here in seen if here.any()],
        "least": None if least is None else path_of(xs, h(least.values)),
        "marker": None if own is None else round(float(x(own)), 2),
        "x_ticks": [{"at": round(float(x(v)), 2), "text": percent(v, 0)} for v in ticks],
        "y_ticks": [
            {"at": round(float(h(v)), 2), "text": f"{v:.6g}"} for v in nice_ticks(bottom, top)
        ],
    }
