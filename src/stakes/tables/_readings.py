"""How each column was read: found once, kept with a model, applied to new tables."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stakes.utils._csv import CsvError as TableError

KINDS = ("number", "category", "text", "date", "boolean")
DATES = ("day-first", "month-first", "text")
# Text with as many different values as this is text, with fewer a category.
MANY_VALUES = 40


class TableWarning(UserWarning):
    """What of a table is left out, or taken as missing."""


def truth_words(how: str) -> dict[bool, str]:
    """Return what stood in the file for true and false, from how truth values are read.

    Examples
    --------
    >>> from stakes.tables import truth_words
    >>> truth_words("Yes/No"), truth_words("")
    ({True: 'Yes', False: 'No'}, {})
    """
    return dict(zip((True, False), how.split("/"))) if how else {}


@dataclass(frozen=True)
class ColumnReading:
    """How a column is read.

    Parameters
    ----------
    name : str
        The column.
    kind : {"number", "category", "text", "date", "boolean"}
        What it holds.
    how : str
        What is not plain about it, in words: "decimal comma", "dates day/month/year".
    decimal, thousands : str
        How its numbers are written.
    dates : {"", "iso", "day-first", "month-first"}
        How its dates are written; year-month-day is always read.
    missing : tuple of str
        Texts that the user called missing.

    Examples
    --------
    >>> from stakes.tables import ColumnReading
    >>> reading = ColumnReading("rate", "number", how="decimal comma", decimal=",")
    >>> ColumnReading.from_dict(reading.to_dict()) == reading
    True
    """

    name: str
    kind: str
    how: str = ""
    decimal: str = "."
    thousands: str = ""
    dates: str = ""
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"A column is one of {', '.join(KINDS)}, not {self.kind!r}.")

    @property
    def in_words(self) -> str:
        """What is not plain about it, in a sentence; empty where nothing is."""
        return self.how and f"{self.name!r} is read as {self.kind}: {self.how}."

    def written(self, value: Any) -> Any:
        """Return a value as it stood in the file: a truth value by its word there.

        Examples
        --------
        >>> from stakes.tables import ColumnReading
        >>> ColumnReading("night", "boolean", how="Yes/No").written(False)
        'No'
        """
        return truth_words(self.how).get(value, value) if self.kind == "boolean" else value

    def to_dict(self) -> dict[str, Any]:
        """Return it in a form that JSON can hold."""
        return {**dataclasses.asdict(self), "missing": list(self.missing)}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> "ColumnReading":
        """Return what `to_dict` was made from."""
        return cls(**{**state, "missing": tuple(state.get("missing", ()))})


@dataclass(frozen=True)
class Unreadable:
    """The cells of a column that hold something which cannot be read as what it should be.

    Parameters
    ----------
    count : int
        How many.
    example : str
        The first of them.
    row : int
        Where it is; rows count from 1, the header not counted.
    kind : str
        What the column should hold.
    """

    count: int
    example: str
    row: int
    kind: str


@dataclass(frozen=True)
class Hints:
    """What the user says about how a table is written; None is what the table itself proves."""

    decimal: str | None = None
    thousands: str | None = None
    dates: str | None = None
    na_values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "na_values", tuple(self.na_values or ()))
        if self.dates not in (None, *DATES):
            raise TableError(f"dates must be one of {', '.join(DATES)}, not {self.dates!r}.")
        for mark, what in ((self.decimal, "decimal"), (self.thousands, "thousands")):
            if mark is not None and (len(mark) != 1 or mark.isalnum()):
                raise TableError(f"The {what} mark must be one character, not {mark!r}.")
        if self.decimal is not None and self.decimal == self.thousands:
            raise TableError(
                f"The decimal and the thousands mark cannot both be {self.decimal!r}."
            )
