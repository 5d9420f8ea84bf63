"""What the default estimator says about itself: a dictionary, and views of it."""

import html
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import numpy as np

from stakes._learning.blend import calibration_error, log_loss_of
from stakes._learning.votes import decisions_for_likeliest, expected_rows
from stakes.auto._recipe import HeldOut, Outcome, honest_blend
from stakes.costs import KINDS


def measure(
    outcome: Outcome, proba: np.ndarray, held_out: HeldOut, prices: np.ndarray
) -> dict[str, Any]:
    """Measure members and blend on held-out rows, and split the gain over the best constant.

    Parameters
    ----------
    outcome : Outcome
        The members' held-out log probabilities.
    proba : ndarray of shape (n, n_classes)
        Held-out probabilities of the blend.
    held_out : HeldOut
        The held-out rows.
    prices : ndarray of shape (n_classes, n_classes) or (n, n_classes, n_classes)
        What mistakes cost, on all rows or on each.

    Returns
    -------
    found : dict
        ``members``, ``costs``, ``steps`` and ``calibration``: plain numbers and text.
    """
    y, weight = held_out.costs.y, held_out.weight

    def least_cost(proba: np.ndarray) -> dict[str, float]:
        return held_out.cost_of(expected_rows(proba, prices).argmin(axis=1))

    def quality(what: str, proba: np.ndarray) -> dict[str, Any]:
        return {
            "what": what,
            "log_loss": log_loss_of(proba, y, weight),
            "calibration_error": calibration_error(proba, y, weight),
        }

    constants = [held_out.cost_of(np.full(len(y), d)) for d in range(held_out.costs.n_decisions)]
    constant = min(constants, key=itemgetter("cost"))
    raw = [np.exp(logs) for logs in outcome.logs]
    tuned = [honest_blend(logs[None], held_out) for logs in outcome.logs]
    calibrated = [least_cost(p) for p in tuned]
    members: list[dict[str, Any]] = [
        {
            "name": member.name,
            "title": member.title,
            "seconds": float(seconds),
            "log_loss": log_loss_of(before, y, weight),
            "log_loss_calibrated": log_loss_of(after, y, weight),
            **cost,
        }
        for member, seconds, before, after, cost in zip(
            outcome.members, outcome.seconds, raw, tuned, calibrated
        )
    ]
    best = int(np.argmin([m["log_loss_calibrated"] for m in members]))
    title = members[best]["title"]
    square = held_out.costs.choices is None
    likeliest = raw[best].argmax(axis=1) if square else decisions_for_likeliest(raw[best], prices)
    blind = held_out.cost_of(likeliest)
    plain, final = least_cost(raw[best]), least_cost(proba)
    stations = [found["cost"] for found in (constant, blind, plain, calibrated[best], final)]
    steps = (
        f"a model that ignores the costs ({title})",
        "decision rule: least expected cost",
        "calibration",
        "better model: the blend",
    )
    return {
        "members": members,
        "costs": [
            {"what": "best constant decision", **constant},
            {"what": f"best member, most probable class ({title})", **blind},
            *({"what": f"{m['title']}, calibrated"} | c for m, c in zip(members, calibrated)),
            {"what": "blend", **final},
        ],
        "steps": [
            {"what": what, "gain": before - after}
            for what, before, after in zip(steps, stations, stations[1:])
        ],
        "calibration": [
            quality(f"best member ({title}) as it came", raw[best]),
            quality(f"best member ({title}), calibrated", tuned[best]),
            quality("blend", proba),
        ],
    }


class Explanation(dict):
    """Where the money is: members and weights, costs with intervals, the split of the gain.

    A dictionary of what was measured during `fit`. Printing it gives text, a notebook shows
    HTML, `to_dict` gives the bare numbers.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers: nested dictionaries and lists, nothing rounded."""
        return dict(self)

    def to_text(self) -> str:
        """Return the explanation as plain text."""
        lines = []
        for title, head, rows in _sections(self):
            lines += ["", title]
            table = [head, *rows] if rows else []
            widths = [max(map(len, column)) for column in zip(*table)]
            for row in table:
                cells = [row[0].ljust(widths[0])]
                cells += [cell.rjust(w) for cell, w in zip(row[1:], widths[1:])]
                lines.append("  " + "  ".join(cells).rstrip())
        return "\n".join(lines[1:])

    __repr__ = to_text

    def _repr_html_(self) -> str:
        parts = []
        for title, head, rows in _sections(self):
            parts.append(f"<h4>{html.escape(title)}</h4>")
            if rows:
                heads = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in head)
                body = "".join(map(_html_row, rows))
                table = f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody>"
                parts.append(f"<table>{table}</table>")
        return '<div class="stakes-explanation">' + "".join(parts) + "</div>"


def _html_row(row: list[str]) -> str:
    first, *others = map(html.escape, row)
    cells = "".join(f'<td style="text-align:right">{cell}</td>' for cell in others)
    return f'<tr><th scope="row" style="text-align:left">{first}</th>{cells}</tr>'


def number(value: float) -> str:
    """Return a number with four significant digits, never in powers of ten unless tiny."""
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


# The tables of an explanation: title, key, and the key of each column by its heading.
TABLES = (
    (
        "Members",
        "members",
        {
            "": "title",
            "weight": "weight",
            "log loss": "log_loss",
            "calibrated": "log_loss_calibrated",
            "cost": "cost",
            "seconds": "seconds",
        },
    ),
    ("Left out", "left_out", {"": "name", "reason": "reason"}),
    ("Models of the costs", "cost_models", {"": "title", "weight": "weight", "cost": "cost"}),
    ("Cost per example", "costs", {"": "what", "mean": "cost", "95 % interval": "interval"}),
    (
        "Where the gain over the best constant decision comes from",
        "steps",
        {"": "what", "per example": "gain"},
    ),
    (
        "Calibration",
        "calibration",
        {"": "what", "log loss": "log_loss", "mean gap": "calibration_error"},
    ),
)


def _cell(row: dict[str, Any], key: str) -> str:
    if key == "interval":
        return f"{number(row['low'])} to {number(row['high'])}"
    if isinstance(row[key], str):
        return row[key]
    if key == "seconds":
        return f"{row[key]:.1f}"
    return "-" if key == "weight" and not row[key] else number(row[key])


def _sections(found: dict[str, Any]) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Yield (title, head, rows) of text cells."""
    yield (
        f"{KINDS[found['cost_kind']].capitalize()}: {found['n_samples']} examples, "
        f"{found['n_classes']} classes; measured on {found['n_held_out']} held-out examples",
        [],
        [],
    )
    for title, key, columns in TABLES:
        if found.get(key):
            rows = [[_cell(row, column) for column in columns.values()] for row in found[key]]
            yield title, list(columns), rows
    yield f"Decision rule: {found['rule']}", [], []
