"""Tables of costs in files: which axis is which, and the names beside the numbers."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stakes.utils import _checks
from stakes.utils._arrays import describe
from stakes.utils._csv import read_rows
from stakes.utils._formulas import as_written

# A number that can be read in two ways.
GROUPED = re.compile(r"^[+-]?[1-9]\d{0,2}\.\d{3}$")
# How the words for the two axes of a cost table begin.
TRUTH = ("tru", "actual", "real", "observed", "reference")
DECISION = ("predict", "deci", "estimat", "forecast", "classified", "assigned")


class CostWarning(UserWarning):
    """A legal but unreasonable statement about costs."""


def read_labelled(
    path: str | os.PathLike, *, warn: bool = True
) -> tuple[list[str], list[str], list[list[str]]]:
    """Return the names of the rows (true), of the columns (predicted), and the cells of a table."""
    (corner, *columns), *rows = [[c.strip() for c in row] for row in read_rows(path)]
    names = [as_written(row[0]) for row in rows]
    columns = [as_written(name) for name in columns]
    for axis, labels in (("row", names), ("column", columns)):
        if not all(labels):
            raise ValueError(f"{path}: a {axis} has no name.")
    cells = [row[1:] for row in rows]
    odd = [cell for row in cells for cell in row if GROUPED.match(cell)]
    if warn and odd:
        _checks.warn(
            "ST302",
            f"{path}: {odd[0]!r} is read with a decimal point, as {describe(float(odd[0]))}: write "
            f"{odd[0].replace('.', '')} if the point is between thousands.",
            CostWarning,
            stacklevel=3,
        )
    if not _rows_are_decisions(corner):
        return names, columns, cells
    if warn:
        _checks.warn(
            "ST303",
            f"{path}: its corner says {corner!r}, so its rows were read as the decisions and "
            "its columns as the truth.",
            CostWarning,
            stacklevel=3,
        )
    return columns, names, [list(row) for row in zip(*cells)]


@contextmanager
def said_of(path: str | os.PathLike) -> Iterator[None]:
    """Put the name of a file before what is wrong with its table."""
    try:
        yield
    except ValueError as error:
        text = str(error)
        raise ValueError(f"{path}: {text[:1].lower()}{text[1:]}") from error


def rows_are_named_decisions(rows: Any, columns: Any) -> bool:
    """Say whether the names of the two axes of a table, if they are text, turn it round.

    Examples
    --------
    >>> from stakes.costs._read import rows_are_named_decisions
    >>> rows_are_named_decisions("predicted", None), rows_are_named_decisions(None, "true")
    (True, True)
    >>> rows_are_named_decisions("true", "predicted"), rows_are_named_decisions(None, "client")
    (False, False)
    """
    said = {"rows": rows, "columns": columns}
    return any(
        isinstance(name, str) and _rows_are_decisions(f"{axis} {name}")
        for axis, name in said.items()
    )


def _rows_are_decisions(corner: str) -> bool:
    r"""Say whether the first cell of a cost table names the decisions before the truth.

    Examples
    --------
    >>> from stakes.costs._read import _rows_are_decisions
    >>> _rows_are_decisions("predicted \\ true"), _rows_are_decisions("truth / decided")
    (True, False)
    """
    words = ["", *re.findall(r"[a-z]+", corner.lower()), ""]
    for before, word, after in zip(words, words[1:], words[2:]):
        if word.startswith((*TRUTH, *DECISION)):
            axis = before if before.startswith(("row", "col")) else after
            return word.startswith(DECISION) != axis.startswith("col")
    return False
