"""How people write numbers, dates and truth values: recognised by proof, never by a guess."""

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

# What counts as missing in columns of numbers, dates and truth values, in any case. In text these
# words are values as any other.
MISSING_WORDS = (
    "na", "n/a", "nan", "-nan", "null", "none", "nil", "<na>", "nat", "#na", "?", "-", ".",
    "#n/a", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!",
)  # fmt: skip
TRUTH_WORDS = {"true": True, "yes": True, "y": True, "t": True, "1": True, "1.0": True} | {
    "false": False, "no": False, "n": False, "f": False, "0": False, "0.0": False
}  # fmt: skip
PAIRS = (("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"))
# Characters that are written for a space, or for an apostrophe, between thousands.
ALIKE = {" ": "[\u00a0\u202f\u2009]", "'": "’"}


@dataclass(frozen=True)
class NumberForm:
    """How numbers are written.

    Examples
    --------
    >>> import re
    >>> from stakes.tables._forms import NumberForm
    >>> german = NumberForm(decimal=",", thousands=".")
    >>> [bool(re.match(german.pattern, t)) for t in ("1.234,56", "1234,5", "1.23", "0.123")]
    [True, True, False, False]
    """

    decimal: str = "."
    thousands: str = ""

    @property
    def pattern(self) -> str:
        """What a number of this form looks like."""
        point, digits = re.escape(self.decimal), r"\d+"
        if self.thousands:
            digits = rf"(?:\d+|[1-9]\d{{0,2}}(?:{re.escape(self.thousands)}\d{{3}})+)"
        return rf"^[+-]?(?:{digits}(?:{point}\d*)?|{point}\d+|(?i:inf|infinity))(?:[eE][+-]?\d+)?$"

    def words(self, used: Iterable[str]) -> str:
        """Say in words what is not the plain form; `used` are the characters that occur."""
        parts = ["decimal comma"] if self.decimal == "," and "," in used else []
        if self.thousands and self.thousands in used:
            parts.append(f"thousands as 1{self.thousands}200{self.decimal}50")
        return ", ".join(parts)


FORMS = tuple(
    NumberForm(decimal, thousands)
    for decimal in ".,"
    for thousands in ("", ",", ".", " ", "'")
    if decimal != thousands
)

_TIME = r"(?:[T ,]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*([AaPp][Mm])?\s*(Z|[+-]\d{2}:?\d{2})?)?"
ISO_DATE = rf"^(\d{{4}})[-/.](\d{{1,2}})[-/.](\d{{1,2}}){_TIME}$"
LOCAL_DATE = rf"^(\d{{1,2}})[-/.](\d{{1,2}})[-/.](\d{{4}}|\d{{2}}){_TIME}$"
_iso, _local = re.compile(ISO_DATE), re.compile(LOCAL_DATE)


def parse_date(text: str, order: str) -> datetime.datetime | None:
    """Return a date; None where it is not written so.

    Year-month-day is always read; `order` is for the others, and zones become UTC.

    Examples
    --------
    >>> from stakes.tables._forms import parse_date
    >>> parse_date("03/04/2024", "day-first").isoformat()
    '2024-04-03T00:00:00'
    >>> parse_date("2024-04-03 10:30", "day-first").isoformat()
    '2024-04-03T10:30:00'
    >>> parse_date("31/02/2024", "day-first")
    """
    match = _iso.match(text)
    if match:
        year, month, day = map(int, match.groups()[:3])
    else:
        match = _local.match(text)
        if match is None or order not in ("day-first", "month-first"):
            return None
        first, second, year = map(int, match.groups()[:3])
        day, month = (first, second) if order == "day-first" else (second, first)
        if len(match[3]) == 2:
            year += 1900 if year > 68 else 2000  # as the C library reads two digits
    hour, minute, seconds, fraction, half, zone = match.groups()[3:]
    try:
        date = datetime.datetime(year, month, day, int(hour or 0), int(minute or 0))
        date += datetime.timedelta(
            seconds=_in_range(int(seconds or 0), 60),
            microseconds=int((fraction or "0")[:6].ljust(6, "0")),
        )
        if half:
            hours = _in_range(date.hour, 13) % 12 + 12 * (half.lower() == "pm")
            date = date.replace(hour=hours)
        if zone and zone != "Z":
            sign = -1 if zone[0] == "+" else 1
            date += sign * datetime.timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    except (ValueError, OverflowError):
        return None
    return date


def _in_range(value: int, end: int) -> int:
    if value >= end:
        raise ValueError(value)
    return value


def date_order(texts: Iterable[str]) -> str | None:
    """Return how dates are written: "iso", "day-first", "month-first", "ambiguous", "mixed" or None.

    An order is proved by a part over 12. None: these are no dates.

    Examples
    --------
    >>> from stakes.tables._forms import date_order
    >>> date_order(["03/04/2024", "13/04/2024"]), date_order(["03/04/2024", "04/05/2024"])
    ('day-first', 'ambiguous')
    >>> date_order(["13/04/2024", "04/13/2024"]), date_order(["3 April"])
    ('mixed', None)
    """
    day_first = month_first = local = False
    for text in texts:
        if _iso.match(text):
            continue
        match: Any = _local.match(text)
        if match is None:
            return None
        first, second = int(match[1]), int(match[2])
        if max(first, second) > 31 or min(first, second) > 12:
            return None
        local = True
        day_first |= first > 12
        month_first |= second > 12
    if day_first and month_first:
        return "mixed"
    if not local:
        return "iso"
    return "day-first" if day_first else "month-first" if month_first else "ambiguous"
