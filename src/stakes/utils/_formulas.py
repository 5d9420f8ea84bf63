"""Text that a spreadsheet would take for a formula, and run."""

import re

FORMULA = (
    r"^\s*[=+\-@\t\r＝＋－＠]"  # the wide ones, too: some spreadsheets take them for the same
)
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def harmless(text: object) -> object:
    """Return a cell for a spreadsheet: text that would be run gets an apostrophe before it.

    Examples
    --------
    >>> from stakes.utils._formulas import as_written, harmless
    >>> harmless("=1+1"), harmless("-1"), harmless("good"), harmless(3)
    ("'=1+1", '-1', 'good', 3)
    >>> as_written(harmless("=1+1")), as_written("'s"), as_written(harmless("'=1"))
    ('=1+1', "'s", "'=1")
    """
    return f"'{text}" if isinstance(text, str) and _runs(text) else text


def as_written(cell: str) -> str:
    """Return the text that `harmless` made a cell of."""
    return cell[1:] if cell.startswith("'") and _runs(cell) else cell


def _runs(text: str) -> bool:
    bare = text.lstrip("'")
    return re.match(FORMULA, bare) is not None and re.match(NUMBER, bare) is None
