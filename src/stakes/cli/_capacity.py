"""Limits as people type them: inspect=100, inspect=5%, inspect=20..100."""

import math
from typing import Any

from stakes.cli._errors import UserError


def read_capacity(given: list[str] | None, classes: Any) -> dict[Any, tuple]:
    """Return the limits by decision: pairs of a minimum and a limit, either of which may be None.

    Examples
    --------
    >>> from stakes.cli._capacity import read_capacity
    >>> read_capacity(["inspect=100", "1=5%..20%"], ["inspect", 1])
    {'inspect': (None, 100), 1: (0.05, 0.2)}
    """
    by_text = {str(label): label for label in classes}
    limits: dict[Any, tuple] = {}
    for text in given or ():
        name, equals, value = text.rpartition("=")
        if not equals or not value.strip():
            raise UserError(
                f"--capacity {text}: write the decision and its limit, as inspect=100."
            )
        if name == "abstain" and name not in by_text:
            raise UserError(f"--capacity {text}: say what abstaining costs, by --abstain-cost.")
        if name not in by_text:
            known = ", ".join(by_text)
            raise UserError(
                f"--capacity {text}: there is no decision {name!r}; there are {known}."
            )
        if by_text[name] in limits:
            raise UserError(f"--capacity {text}: {name!r} is limited twice.")
        low, dots, high = value.partition("..")
        pair = (_amount(low, text), _amount(high, text)) if dots else (None, _amount(value, text))
        if pair == (None, None):
            raise UserError(f"--capacity {text}: say a minimum, a limit or both, as 20..100.")
        limits[by_text[name]] = pair
    return limits


def _amount(text: str, whole: str) -> int | float | None:
    """Return a number of rows, or a share of them; None where nothing is said."""
    text = text.strip()
    if not text:
        return None
    try:
        value = float(text.removesuffix("%").strip())
    except ValueError:
        value = math.nan
    if text.endswith("%") and 0 <= value <= 100:
        return value / 100
    if value == 1 and text != "1" and not text.endswith("%"):
        raise UserError(f"--capacity {whole}: write 1 for one row, or 100% for all of them.")
    if not text.endswith("%") and value >= 0 and value.is_integer():
        return int(value)
    if not text.endswith("%") and 0 < value < 1:
        return value
    raise UserError(
        f"--capacity {whole}: {text!r} is neither a number of rows nor a share such as 5% or 0.05."
    )
