"""What the default estimator says about itself: a dictionary, and views of it."""

import html
from typing import Any

import numpy as np

from stakes.auto._blend import calibration_error, log_loss_of
from stakes.auto._recipe import honest_blend


def interval(paid: np.ndarray, sample_weight=None) -> dict:
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


def measure(outcome, proba, y, folds, sample_weight, paid, decide) -> dict:
    """Measure members and blend on held-out rows, and split the gain over the best constant.

    Parameters
    ----------
    outcome : Outcome
        The members' held-out log probabilities.
    proba : ndarray of shape (n, n_classes)
        Held-out probabilities of the blend.
    y, folds, sample_weight : ndarray
        Of the held-out rows.
    paid : callable
        From decisions to what each costs.
    decide : callable
        From probabilities to the decisions of least expected cost.

    Returns
    -------
    found : dict
        ``members``, ``costs``, ``steps`` and ``calibration``: plain numbers and text.
    """
    n_samples, n_classes = proba.shape
    constants = [paid(np.full(n_samples, d)) for d in range(n_classes)]
    best_constant = min(constants, key=lambda c: interval(c, sample_weight)["cost"])
    members, tuned_paid, raw_probas, tuned_probas = [], [], [], []
    for member, logs, seconds in zip(outcome.members, outcome.logs, outcome.seconds):
        raw = np.exp(logs)
        tuned = honest_blend(logs[None], y, folds, sample_weight)
        raw_probas.append(raw)
        tuned_probas.append(tuned)
        tuned_paid.append(paid(decide(tuned)))
        members.append(
            {
                "name": member.name,
                "title": member.title,
                "seconds": float(seconds),
                "log_loss": log_loss_of(raw, y, sample_weight),
                "log_loss_calibrated": log_loss_of(tuned, y, sample_weight),
                **interval(tuned_paid[-1], sample_weight),
            }
        )
    best = int(np.argmin([m["log_loss_calibrated"] for m in members]))
    blind = paid(raw_probas[best].argmax(axis=1))
    plain = paid(decide(raw_probas[best]))
    final = paid(decide(proba))

    def mean(values):
        return interval(values, sample_weight)["cost"]

    title = members[best]["title"]
    steps = [
        (f"a model that ignores the costs ({title})", mean(best_constant) - mean(blind)),
        ("decision rule: least expected cost", mean(blind) - mean(plain)),
        ("calibration", mean(plain) - mean(tuned_paid[best])),
        ("better model: the blend", mean(tuned_paid[best]) - mean(final)),
    ]
    costs = [
        {"what": "best constant decision", **interval(best_constant, sample_weight)},
        {
            "what": f"best member, most probable class ({title})",
            **interval(blind, sample_weight),
        },
        *({"what": f"{m['title']}, calibrated", **_only_interval(m)} for m in members),
        {"what": "blend", **interval(final, sample_weight)},
    ]
    calibration = [
        _calibration(f"best member ({title}) as it came", raw_probas[best], y, sample_weight),
        _calibration(f"best member ({title}), calibrated", tuned_probas[best], y, sample_weight),
        _calibration("blend", proba, y, sample_weight),
    ]
    return {
        "members": members,
        "costs": costs,
        "steps": [{"what": what, "gain": float(gain)} for what, gain in steps],
        "calibration": calibration,
    }


def _only_interval(row: dict) -> dict:
    return {key: row[key] for key in ("cost", "low", "high")}


def _calibration(what, proba, y, sample_weight) -> dict:
    return {
        "what": what,
        "log_loss": log_loss_of(proba, y, sample_weight),
        "calibration_error": calibration_error(proba, y, sample_weight),
    }


class Explanation:
    """Where the money is: members and weights, costs with intervals, the split of the gain.

    Printing it gives text, a notebook shows HTML, `to_dict` gives the numbers.

    Parameters
    ----------
    found : dict
        What was measured during `fit`.
    """

    def __init__(self, found: dict):
        self._found = found

    def to_dict(self) -> dict:
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
            if title:
                lines += ["", title]
            if rows:
                table = [head, *rows] if any(head) else rows
                widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
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


def _sections(found: dict):
    """Yield (title, head, rows) of text cells."""
    yield (
        f"Situation {found['situation']}: {found['n_samples']} examples, "
        f"{found['n_classes']} classes; measured on {found['n_held_out']} held-out examples",
        [],
        [],
    )
    yield (
        "Members",
        ["", "weight", "log loss", "calibrated", "cost", "seconds"],
        [
            [
                m["title"],
                number(m["weight"]) if m["weight"] else "-",
                number(m["log_loss"]),
                number(m["log_loss_calibrated"]),
                number(m["cost"]),
                f"{m['seconds']:.1f}",
            ]
            for m in found["members"]
        ],
    )
    if found["trouble"]:
        yield (
            "Left out",
            ["", "reason"],
            [[t["name"], t["reason"]] for t in found["trouble"]],
        )
    if "cost_models" in found:
        yield (
            "Models of the costs",
            ["", "weight", "cost"],
            [
                [m["title"], number(m["weight"]) if m["weight"] else "-", number(m["cost"])]
                for m in found["cost_models"]
            ],
        )
    yield (
        "Cost per example",
        ["", "mean", "95 % interval"],
        [
            [c["what"], number(c["cost"]), f"{number(c['low'])} to {number(c['high'])}"]
            for c in found["costs"]
        ],
    )
    yield (
        "Where the gain over the best constant decision comes from",
        ["", "per example"],
        [[s["what"], number(s["gain"])] for s in found["steps"]],
    )
    yield (
        "Calibration",
        ["", "log loss", "mean gap"],
        [
            [c["what"], number(c["log_loss"]), number(c["calibration_error"])]
            for c in found["calibration"]
        ],
    )
    yield (f"Decision rule: {found['rule']}", [], [])
