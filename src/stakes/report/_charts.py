"""The page's pictures as plain geometry; the templates draw it, the script redraws it."""

from typing import Any

import numpy as np
from scipy.special import expit, logit

from stakes.compare import Comparison
from stakes.compare.words import Money, percent
from stakes.costs.arithmetic import binary_threshold
from stakes.report._payload import sample_rows

# The frame of the threshold picture, in the units of its viewBox.
FRAME = {"width": 530, "height": 300, "left": 96, "right": 508, "top": 14, "bottom": 252}
N_THRESHOLDS = 201
SIMPLEX = {"width": 460, "height": 420, "corners": [[50, 370], [410, 370], [230, 58]]}
MAX_POINTS = 500
CALIBRATION = {"size": 200, "left": 36, "right": 184, "top": 8, "bottom": 166}


def nice_ticks(low: float, high: float, n: int = 5) -> list[float]:
    """Return round numbers that cover a range.

    Examples
    --------
    >>> from stakes.report._charts import nice_ticks
    >>> nice_ticks(0, 87)
    [0.0, 20.0, 40.0, 60.0, 80.0]
    """
    raw = (high - low) / n
    if not raw > 0:
        return [low]
    power = 10.0 ** np.floor(np.log10(raw))
    step = power * next((m for m in (1, 2, 2.5, 5) if m * power >= raw * 0.999), 10)
    first = np.ceil(low / step - 1e-9) * step
    return [float(round(v, 12)) + 0.0 for v in np.arange(first, high + step * 1e-9, step)]


def interval_chart(comparison: Comparison, rows: list[dict], money: Money) -> dict[str, Any]:
    """Return the rows with each mean cost and interval, in percent of the picture's width."""
    table = comparison.table.loc[[row["name"] for row in rows]]
    high, low = float(table["high"].max()), float(table["low"].min())
    low = 0.0 if 0 <= low < 0.6 * high else low - 0.05 * (high - low or 1.0)
    high += 0.03 * (high - low or 1.0)

    def place(value: float) -> float:
        return round(100 * (value - low) / (high - low or 1.0), 3)

    return {
        "ticks": [{"at": place(v), "text": money(v)} for v in nice_ticks(low, high, 4)],
        "baseline": place(table.loc[comparison.baseline].cost),
        "rows": [
            {
                **row,
                "low": place(figures.low),
                "width": round(place(figures.high) - place(figures.low), 3),
                "mean": place(figures.cost),
            }
            for row, figures in zip(rows, table.itertuples())
        ],
    }


def positive_last(comparison: Comparison) -> slice:
    """Return the order of two classes in which the positive one is the second."""
    return slice(None, None, 2 * comparison.positive - 1)


def own_threshold(comparison: Comparison) -> float:
    """Return the probability of the positive class from which the prices ask to decide it."""
    order = positive_last(comparison)
    return float(binary_threshold(comparison.cost_matrix[order, order]))


def threshold_chart(
    comparison: Comparison, method: str, money: Money, payload: dict[str, Any]
) -> dict[str, Any]:
    """Return the total cost of one threshold for all, against the threshold (two classes).

    The thresholds are even on the axis, which is linear, or logistic where the prices ask
    for a threshold near 0 or 1.
    """
    best = float(np.clip(own_threshold(comparison), 0.0, 1.0))
    place = np.linspace(0, 1, N_THRESHOLDS)
    xs = FRAME["left"] + place * (FRAME["right"] - FRAME["left"])
    if 0.05 <= best <= 0.95:
        thresholds, shares = place, np.array([0, 0.25, 0.5, 0.75, 1])
        ticks = np.interp(shares, thresholds, xs)
    else:  # 0.09% to 99.91%
        thresholds = expit(7.0 * (2 * place - 1))
        shares = np.array([0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999])
        ticks = np.interp(logit(shares), logit(thresholds), xs)
    proba = comparison.results[method].proba[comparison.tested, comparison.positive].astype(float)
    rows = comparison.tested_costs.rows()[:, positive_last(comparison)]
    costs = threshold_costs(proba, rows, thresholds)
    payload["chart"] = {
        "thresholds": thresholds.tolist(),
        "xs": np.round(xs, 2).tolist(),
        **{key: FRAME[key] for key in ("left", "right", "top", "bottom")},
    }
    top = float(costs.max()) or 1.0
    return {
        **FRAME,
        "path": path_of(xs, _height(costs, top)),
        "x_ticks": [
            {"at": round(float(at), 2), "text": percent(s, 1 if s in (0.001, 0.999) else 0)}
            for at, s in zip(ticks, shares)
        ],
        "y_ticks": [
            {"at": round(float(_height(v, top)), 2), "text": money.sum(v)}
            for v in nice_ticks(0, top)
        ],
        "marker": round(float(np.interp(best, thresholds, xs)), 2),
    }


def threshold_costs(proba: np.ndarray, rows: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return the total cost of deciding the second class from each threshold on.

    Examples
    --------
    Of two examples the second is of the second class; a false alarm costs 1, a miss 5:

    >>> import numpy as np
    >>> from stakes.report._charts import threshold_costs
    >>> rows = np.array([[0.0, 1.0], [5.0, 0.0]])
    >>> threshold_costs(np.array([0.2, 0.6]), rows, np.array([0.0, 0.5, 1.0])).tolist()
    [1.0, 0.0, 5.0]
    """
    # Example i decides the first class at every threshold above its probability.
    first = np.searchsorted(thresholds, proba, side="right")
    n = len(thresholds) + 1
    below = np.bincount(first, weights=rows[:, 0], minlength=n).cumsum()[:-1]
    above = rows[:, 1].sum() - np.bincount(first, weights=rows[:, 1], minlength=n).cumsum()[:-1]
    return below + above


def _height(values: Any, top: float) -> np.ndarray:
    return FRAME["bottom"] - np.asarray(values) / top * (FRAME["bottom"] - FRAME["top"])


def path_of(xs: np.ndarray, ys: np.ndarray) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in zip(xs, ys))


def simplex_chart(
    comparison: Comparison, method: str, labels: list[dict], payload: dict[str, Any]
) -> dict[str, Any]:
    """Return the regions of the decisions and some examples, in the triangle (three classes)."""
    corners = np.array(SIMPLEX["corners"], dtype=float)
    square = comparison.problem.costs.choices is None
    rows = sample_rows(comparison, MAX_POINTS)
    places = comparison.results[method].proba[rows].astype(float) @ corners
    payload["simplex"] = {"corners": SIMPLEX["corners"]}
    return {
        **SIMPLEX,
        "outline": _points(corners),
        "regions": [
            {
                "d": d,
                "colour": d if square else 3 + d % 5,
                "points": _points(region @ corners) if len(region) else "",
            }
            for d, region in enumerate(decision_regions(comparison.cost_matrix))
        ],
        "points": [
            {"x": round(float(x), 1), "y": round(float(y), 1), "t": int(t)}
            for (x, y), t in zip(places, comparison.problem.y[rows])
        ],
        "labels": labels,
    }


def decision_regions(matrix: np.ndarray) -> list[np.ndarray]:
    """Return for each decision the corners, in probabilities of three classes, of where it is cheapest.

    Examples
    --------
    With 0/1 costs each decision has a kite of four corners, the centre among them:

    >>> import numpy as np
    >>> from stakes.report._charts import decision_regions
    >>> [len(region) for region in decision_regions(1 - np.eye(3))]
    [4, 4, 4]
    """
    regions = []
    for d in range(matrix.shape[1]):
        region = np.eye(3)
        for other in range(matrix.shape[1]):
            region = _clip(region, matrix[:, d] - matrix[:, other])
        regions.append(region)
    return regions


def _clip(region: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Keep the part of a convex region where ``p @ normal <= 0``."""
    kept: list[np.ndarray] = []
    for here, there in zip(region, np.roll(region, -1, axis=0)):
        a, b = float(here @ normal), float(there @ normal)
        if a <= 0:
            kept.append(here)
        if (a < 0 < b) or (b < 0 < a):
            kept.append(here + (there - here) * (a / (a - b)))
    return np.array(kept).reshape(-1, 3)


def _points(places: np.ndarray) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def how_sure(comparison: Comparison) -> list[list[str]]:
    """Return for each truth and decision how sure one must be.

    Where decisions are the classes: how probable the column must be to be decided over the row, as
    if only these two were possible. Of choices: at which probabilities of the truth each is decided,
    the other classes being as frequent among each other as they are.
    """
    matrix, cells = comparison.cost_matrix, np.ndindex(comparison.cost_matrix.shape)
    if comparison.problem.costs.choices is None:
        said = ["" if t == d else pair_threshold(matrix, t, d) for t, d in cells]
    else:
        said = [decision_range(matrix, comparison.shares, t, d) for t, d in cells]
    return np.reshape(np.array(said, dtype=object), matrix.shape).tolist()


def decision_range(matrix: np.ndarray, shares: np.ndarray, t: int, d: int) -> str:
    """Return at which probabilities of a class a decision is the cheapest.

    Examples
    --------
    To approve costs 10p, to ask 1 - p + 3p, to block 5(1 - p): to ask is the cheapest between the
    probabilities of fraud of 1 in 8 and 4 in 7.

    >>> import numpy as np
    >>> from stakes.report._charts import decision_range
    >>> matrix = np.array([[0.0, 1.0, 5.0], [10.0, 3.0, 0.0]])
    >>> [decision_range(matrix, np.array([0.5, 0.5]), 1, d) for d in range(3)]
    ['up to 12.5%', '12.5% to 57.1%', 'from 57.1%']
    """
    rest = np.where(np.arange(len(shares)) == t, 0.0, shares)
    without, certain = rest @ matrix / (rest.sum() or 1.0), matrix[t]
    low, high = 0.0, 1.0
    for other in range(matrix.shape[1]):
        start, end = without[d] - without[other], certain[d] - certain[other]
        if (start > 0 and end > 0) or (start == end == 0 and other < d):
            return "never"
        if start > 0:
            low = max(low, start / (start - end))
        elif end > 0:
            high = min(high, start / (start - end))
    if low >= high:
        return "never"
    if low == 0:
        return "always" if high == 1 else f"up to {percent(high)}"
    return f"from {percent(low)}" if high == 1 else f"{percent(low)} to {percent(high)}"


def pair_threshold(matrix: np.ndarray, t: int, d: int) -> str:
    """Return one entry of `how_sure`, where decisions are the classes.

    Examples
    --------
    Missing the second class costs 9 times a false alarm, so 10% is enough:

    >>> import numpy as np
    >>> from stakes.report._charts import pair_threshold
    >>> pair_threshold(np.array([[0.0, 1.0], [9.0, 0.0]]), 0, 1)
    '10.0%'
    """
    alarm = matrix[t, d] - matrix[t, t]  # deciding d costs this much more when t is true
    miss = matrix[d, t] - matrix[d, d]  # deciding t costs this much more when d is true
    if alarm <= 0:
        return "always" if alarm < 0 or miss > 0 else "–"
    if miss <= 0:
        return "never"
    return percent(alarm / (alarm + miss))


def calibration_chart(p: np.ndarray, hit: np.ndarray, n_bins: int = 10) -> dict[str, Any]:
    """Return predicted against observed shares in bins of equal count, with 95% intervals."""
    order = np.argsort(p, kind="stable")
    left, right = CALIBRATION["left"], CALIBRATION["right"]
    top, bottom = CALIBRATION["top"], CALIBRATION["bottom"]

    def x(v: float) -> float:
        return round(left + v * (right - left), 2)

    def y(v: float) -> float:
        return round(bottom - v * (bottom - top), 2)

    bins, gap = [], 0.0
    for part in np.array_split(order, min(n_bins, len(p))):
        mean, share, n = float(p[part].mean()), float(hit[part].mean()), len(part)
        gap += abs(mean - share) * n / len(p)
        low, high = wilson(share, n)
        text = f"predicted {percent(mean)}, observed {percent(share)}"
        bins.append({"x": x(mean), "y": y(share), "low": y(low), "high": y(high), "text": text})
    return {
        **CALIBRATION,
        "bins": bins,
        "ticks": [{"x": x(v), "y": y(v), "text": percent(v, 0)} for v in (0.0, 0.5, 1.0)],
        "gap": percent(gap),
    }


def wilson(share: float, n: float, z: float = 1.96) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share."""
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, float(centre - reach)), min(1.0, float(centre + reach))
