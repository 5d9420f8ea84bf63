"""What the default estimator says about itself: a dictionary, and views of it."""

import html
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stakes.auto._blend import calibration_error, log_loss_of
from stakes.auto._recipe import HeldOut, Outcome, honest_blend
from stakes.costs import KINDS


def interval(paid: np.ndarray, sample_weight: np.ndarray | None = None) -> dict[str, float]:
    """Return the mean and its 95 % interval (normal approximation).

    Examples
    --------
    >>> from stakes.auto._explain import interval
    >>> interval(np.array([0.0, 2.0, 0.0, 2.0]))["cost"]
    1.0
    """
    weight = np.ones(len(paid)) if sample_weight is None else sample_weight
    share = weight / weight.sum()
    mean = float(share @ paid)
    error = float(np.sqrt((share**2) @ (paid - mean) ** 2))
    return {"cost": mean, "low": mean - 1.96 * error, "high": mean + 1.96 * error}


def measure(
    outcome: Outcome,
    proba: np.ndarray,
    held_out: HeldOut,
    decide: Callable[[np.ndarray], np.ndarray],
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
    decide : callable
        From probabilities to the decisions of least expected cost.

    Returns
    -------
    found : dict
        ``members``, ``costs``, ``steps`` and ``calibration``: plain numbers and text.
    """
    y, weight = held_out.costs.y, held_out.weight

    def cost_of(decisions: np.ndarray) -> dict[str, float]:
        return interval(held_out.costs.of(decisions), weight)

    def quality(what: str, proba: np.ndarray) -> dict[str, Any]:
        return {
            "what": what,
            "log_loss": log_loss_of(proba, y, weight),
            "calibration_error": calibration_error(proba, y, weight),
        }

    constants = [cost_of(np.full(len(y), d)) for d in range(proba.shape[1])]
    constant = min(constants, key=lambda found: found["cost"])
    raw = [np.exp(logs) for logs in outcome.logs]
    tuned = [honest_blend(logs[None], held_out) for logs in outcome.logs]
    calibrated = [cost_of(decide(p)) for p in tuned]
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
    blind, plain, final = (
        cost_of(decided)
        for decided in (raw[best].argmax(axis=1), decide(raw[best]), decide(proba))
    )
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
            *(
                {"what": f"{m['title']}, calibrated", **cost}
                for m, cost in zip(members, calibrated)
            ),
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


class Explanation:
    """Where the money is: members and weights, costs with intervals, the split of the gain.

    Printing it gives text, a notebook shows HTML, `to_dict` gives the numbers.

    Parameters
    ----------
    found : dict
        What was measured during `fit`.
    """

    def __init__(self, found: dict[str, Any]):
        self._found = found

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers: nested dictionaries and lists, nothing rounded."""
        return self._found

    def __getitem__(self, key: str) -> Any:
        return self._found[key]

    def __repr__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """Return the explanation as plain text."""
        lines = []
        for title, head, rows in _sections(self._found):
            lines += ["", title]
            table = [head, *rows] if rows else []
            widths = [max(map(len, column)) for column in zip(*table)]
            for row in table:
                cells = [row[0].ljust(widths[0])]
                cells += [cell.rjust(w) for cell, w in zip(row[1:], widths[1:])]
                lines.append("  " + "  ".join(cells).rstrip())
        return "\n".join(lines[1:])

    def _repr_html_(self) -> str:
        parts = []
        for title, head, rows in _sections(self._found):
            parts.append(f"<h4>{html.escape(title)}</h4>")
            if not rows:
                continue
            cells = "".join(f'<th scope="col">{html.escape(h)}</th>' for h in head)
            body = "".join(
                f'<tr><th scope="row" style="text-align:left">{html.escape(row[0])}</th>'
                + "".join(
                    f'<td style="text-align:right">{html.escape(cell)}</td>' for cell in row[1:]
                )
                + "</tr>"
                for row in rows
            )
            parts.append(f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>")
        return '<div class="stakes-explanation">' + "".join(parts) + "</div>"


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
