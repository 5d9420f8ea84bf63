"""The page of a monitor: what it says as one dict, and the file made from it."""

import time
from typing import Any

import numpy as np

from stakes.compare.words import Money, brief, fixed, percent, price_digits, short_label
from stakes.monitor import Monitor
from stakes.report._charts import CALIBRATION, nice_ticks, wilson

FRAME = {"width": 900, "height": 320, "left": 84, "right": 884, "top": 16, "bottom": 262}
MAX_LABELS = 12
MAX_COLUMNS = 12
MAX_CALIBRATED = 6
CHANGES = (0.1, 0.25, 0.5, 1.0)  # of the mean cost, in the table of what is seen when


def summarize_monitor(
    monitor: Monitor, *, title: str = "", currency: str = "", command: str = ""
) -> dict[str, Any]:
    """Return what the page of a monitor says.

    Parameters
    ----------
    monitor : Monitor
        With one batch or more.
    title : str, default=""
        The page's title.
    currency : str, default=""
        For printing.
    command : str, default=""
        The command that reproduces the page.
    """
    if not monitor.batches:
        raise ValueError("The monitor has seen no batch: call update before to_html.")
    money = _money(monitor, currency)
    last, known = monitor.batches[-1], monitor.reference
    labels = [short_label(label) for label in known.classes]
    return {
        "title": title or "What the decisions cost now",
        "date": time.strftime("%Y-%m-%d"),
        "headline": _headline(monitor, money),
        "n": fixed(sum(batch["n"] for batch in monitor.batches), 0),
        "n_batches": len(monitor.batches),
        "n_reference": fixed(known.residuals.n, 0),
        "tiles": _tiles(monitor, money),
        "chart": _chart(monitor, money),
        "batches": [_row(batch, money) for batch in monitor.batches],
        "truth": any(batch["n_truth"] for batch in monitor.batches),
        "alarms": monitor.alarms,
        "others": [
            {"label": short_label(name), "cost": money(cost)}
            for name, cost in last["others"].items()
        ],
        "last": last["label"],
        "frequencies": _frequencies(monitor, labels),
        "columns": _columns(monitor),
        "n_columns": len(known.columns),
        "calibration": _calibration(monitor, labels),
        "false_alarms": percent(monitor.false_alarms, 1),
        "one_in": fixed(1 / monitor.false_alarms, 0),
        "level": percent(monitor.level, 0),
        "between": brief(monitor.between),
        "seen": _seen(monitor, money),
        "command": command,
    }


def _money(monitor: Monitor, currency: str) -> Money:
    costs = [abs(batch["expected"]) for batch in monitor.batches if batch["expected"]]
    typical = float(np.median(costs)) if costs else 1.0
    each = int(np.clip(2 - np.floor(np.log10(typical)), 0, 6)) if typical > 0 else 2
    each = 2 if each == 1 and currency else each
    digits = price_digits(monitor.reference.cost_matrix.ravel(), currency)
    return Money(currency, each=max(each, min(digits, 2)), total=0)


def _headline(monitor: Monitor, money: Money) -> str:
    last, alarms = monitor.batches[-1], monitor.alarms
    said = (
        f"In “{last['label']}” the decisions are expected to cost {money(last['expected'])} per case "
        f"({money(last['low'])} to {money(last['high'])})."
    )
    if not alarms:
        return said + " No alarm."
    latest = alarms[-1]
    when = "now" if latest["label"] == last["label"] else f"last in “{latest['label']}”"
    return f"{said} Alarm, {when}: {latest['alarm']}."


def _tiles(monitor: Monitor, money: Money) -> list[dict]:
    last, known = monitor.batches[-1], monitor.reference
    before = known.expected.mean + float(known.residuals.mean[0])
    tiles = [
        {
            "label": "Expected now",
            "value": money(last["expected"]),
            "note": f"{money(last['low'])} to {money(last['high'])} per case",
            "strong": False,
        },
        {
            "label": "When it was fitted",
            "value": money(before),
            "note": f"per case, on {fixed(known.residuals.n, 0)} rows not seen",
            "strong": False,
        },
    ]
    true = [batch for batch in monitor.batches if batch["n_truth"]]
    if true:
        n = sum(batch["n_truth"] for batch in true)
        paid, told = (
            sum(batch[name] * batch["n_truth"] for batch in true) / n
            for name in ("realised", "expected_there")
        )
        note = f"per case, where {money(told)} was expected · {fixed(n, 0)} rows"
        tiles.append({"label": "Paid so far", "value": money(paid), "note": note, "strong": False})
    alarms = monitor.alarms
    said = alarms[-1]["alarm"] if alarms else "nothing has changed clearly"
    n_alarms = fixed(len(alarms), 0)
    return [*tiles, {"label": "Alarms", "value": n_alarms, "note": said, "strong": bool(alarms)}]


def _row(batch: dict, money: Money) -> dict[str, Any]:
    known = batch["n_truth"] > 0
    return {
        "label": short_label(batch["label"]),
        "n": fixed(batch["n"], 0),
        "expected": money(batch["expected"]),
        "interval": f"{money(batch['low'])} to {money(batch['high'])}",
        "total": money.sum(batch["expected"] * batch["n"]),
        "realised": money(batch["realised"]) if known else "",
        "n_truth": fixed(batch["n_truth"], 0) if known else "",
        "there": money(batch["expected_there"]) if known else "",
        "alarm": batch["alarm"],
        "notice": batch["notice"],
    }


def _chart(monitor: Monitor, money: Money) -> dict[str, Any]:
    """Return the expected cost over the batches with its band, what was paid, and the alarms."""
    batches = monitor.batches
    drawn = [batch[name] for batch in batches for name in ("low", "high")]
    drawn += [batch["realised"] for batch in batches if batch["n_truth"]]
    low, high = min(0.0, *drawn), max(drawn)
    high += 0.05 * (high - low or 1.0)
    left, right, top, bottom = (FRAME[side] for side in ("left", "right", "top", "bottom"))

    def x(i: int) -> float:
        return round(left + (right - left) * (i + 0.5) / len(batches), 1)

    def y(value: float) -> float:
        return round(bottom - (value - low) / (high - low) * (bottom - top), 1)

    points = [(x(i), y(batch["expected"])) for i, batch in enumerate(batches)]
    upper = [(x(i), y(batch["high"])) for i, batch in enumerate(batches)]
    lower = [(x(i), y(batch["low"])) for i, batch in enumerate(batches)]
    every = max(1, int(np.ceil(len(batches) / MAX_LABELS)))
    return {
        **FRAME,
        "line": "M" + "L".join(f"{a} {b}" for a, b in points),
        "band": " ".join(f"{a},{b}" for a, b in [*upper, *reversed(lower)]),
        "points": [
            {"x": a, "y": b, "low": lower[i][1], "high": upper[i][1], "text": batches[i]["label"]}
            for i, (a, b) in enumerate(points)
        ],
        "paid": [
            {"x": x(i), "y": y(batch["realised"]), "text": money(batch["realised"])}
            for i, batch in enumerate(batches)
            if batch["n_truth"]
        ],
        "alarms": [
            {"x": x(i), "text": batch["alarm"]}
            for i, batch in enumerate(batches)
            if batch["alarm"]
        ],
        "y_ticks": [{"at": y(v), "text": money(v)} for v in nice_ticks(low, high, 4)],
        "x_ticks": [
            {"at": x(i), "text": short_label(batch["label"], 12)["short"]}
            for i, batch in enumerate(batches)
            if i % every == 0
        ],
    }


def _frequencies(monitor: Monitor, labels: list[dict]) -> list[dict]:
    last, known = monitor.batches[-1], monitor.reference
    stated = last["frequencies"]
    return [
        {
            "label": label,
            "before": percent(known.frequencies[c]),
            "now": percent(stated[c]) if stated is not None else "",
            "decided": percent(last["decided"][c]),
            "width_before": round(100 * float(known.frequencies[c]), 2),
            "width_now": round(100 * float(stated[c]), 2) if stated is not None else 0,
        }
        for c, label in enumerate(labels)
    ]


def _columns(monitor: Monitor) -> list[dict]:
    """Return the columns that moved in the last batch, and in how many batches they did."""
    moved = monitor.batches[-1]["moved"][:MAX_COLUMNS]
    largest = max([column["moved"] for column in moved], default=1.0)
    times = [column["column"] for batch in monitor.batches for column in batch["moved"]]
    return [
        {
            "column": short_label(column["column"]),
            "moved": percent(column["moved"]),
            "width": round(100 * column["moved"] / largest, 2),
            "times": fixed(times.count(column["column"]), 0),
        }
        for column in moved
    ]


def _calibration(monitor: Monitor, labels: list[dict]) -> list[dict]:
    """Return stated against observed shares of each class, then and now."""
    table = monitor.calibration()
    if len(table) == 0:
        return []
    shown = list(range(len(labels)))[1:] if len(labels) == 2 else list(range(len(labels)))
    shown = sorted(shown, key=lambda c: -monitor.reference.cost_matrix[c].max())[:MAX_CALIBRATED]
    left, right, top, bottom = (CALIBRATION[side] for side in ("left", "right", "top", "bottom"))

    def place(stated: float, observed: float, n: float) -> dict[str, Any]:
        low, high = wilson(observed, n)

        def y(v: float) -> float:
            return round(bottom - v * (bottom - top), 1)

        text = f"stated {percent(stated)}, observed {percent(observed)}"
        x = round(left + stated * (right - left), 1)
        return {"x": x, "y": y(observed), "low": y(low), "high": y(high), "text": text}

    charts = []
    for c in sorted(shown):
        rows = table[table["class"] == monitor.reference.classes[c]]
        then = [place(r.stated, r.observed, r.n) for r in rows.itertuples() if r.n]
        now = [place(r.stated_now, r.observed_now, r.n_now) for r in rows.itertuples() if r.n_now]
        ticks = [
            {
                "x": round(left + v * (right - left), 1),
                "y": round(bottom - v * (bottom - top), 1),
                "text": percent(v, 0),
            }
            for v in (0.0, 0.5, 1.0)
        ]
        charts.append(
            {**CALIBRATION, "label": labels[c], "then": then, "now": now, "ticks": ticks}
        )
    return charts


def _seen(monitor: Monitor, money: Money) -> list[dict]:
    """Return within how many batches like the last one changes of the cost are seen."""
    n, base = monitor.batches[-1]["n"], abs(monitor.reference.expected.mean)
    rows = []
    for share in CHANGES:
        told = [
            monitor.batches_until_seen(share * base, n, truth=truth) for truth in (False, True)
        ]
        words = ["not seen" if found_in is None else fixed(found_in, 0) for found_in in told]
        change = f"{percent(share, 0)}, {money(share * base)} per case"
        rows.append({"change": change, "expected": words[0], "paid": words[1]})
    return rows
