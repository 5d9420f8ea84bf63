"""Reading a data set from the user's folder, and refusing one that is not what it should be."""

import os
import zlib
from pathlib import Path
from typing import Any

from stakes.datasets._catalogue import COST_COLUMNS, Entry

FOLDER_VARIABLE = "STAKES_DATA"
_SUFFIXES = (".csv.gz", ".csv")


def find_file(entry: Entry) -> Path | None:
    """Return the file of a data set in the folder that STAKES_DATA names, or None."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return None
    paths = (Path(folder) / f"{entry.name}{suffix}" for suffix in _SUFFIXES)
    return next((path for path in paths if path.is_file()), None)


def describe_folder() -> str:
    """Say in a few words what STAKES_DATA names now."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return "it is not set"
    return f"it names {folder}, which " + (
        "has no such file" if os.path.isdir(folder) else "is no folder"
    )


def read_table(path: Path, entry: Entry) -> Any:
    """Read the file of a data set; a damaged one is refused with what is wrong."""
    import pandas as pd

    as_text = [column for column in entry.columns if _is_text(column, entry)]
    try:
        return pd.read_csv(
            path,
            dtype=dict.fromkeys(as_text, str),
            keep_default_na=False,
            na_values=[""],
            low_memory=False,
        )
    except (OSError, EOFError, zlib.error, ValueError) as error:
        # pandas' own parser errors are ValueErrors.
        raise ValueError(f"{path} is damaged and cannot be read: {error}") from error


def check_table(table: Any, entry: Entry, where: str, required: tuple[str, ...] = ()) -> None:
    """Refuse a table that is not what the catalogue says, with what differs.

    Columns, rows, numbers, classes, empty cells and the content of each feature are
    looked at. `required` are the columns that must be there, by default all.
    """
    wrong = _wrong_columns(table, entry, required or entry.columns) or [
        *_wrong_rows(table, entry),
        *_wrong_numbers(table, entry),
    ]
    # What follows would only echo a lost row or a word among the numbers.
    wrong = wrong or [
        *_wrong_classes(table, entry),
        *_wrong_missing(table, entry),
        *_wrong_content(table, entry),
    ]
    if wrong:
        more = [f"and {len(wrong) - 3} more such differences"] if len(wrong) > 3 else []
        raise ValueError(
            f"{where} is not the data set {entry.name!r}: {'; '.join(wrong[:3] + more)}."
        )


def _is_text(column: str, entry: Entry) -> bool:
    targets = {target.column for target in entry.targets.values()}
    return column in entry.categorical or column in targets


def _wrong_columns(table: Any, entry: Entry, required: tuple[str, ...]) -> list[str]:
    found, wrong = list(table.columns), []
    lacking = [column for column in required if column not in found]
    foreign = [column for column in found if column not in entry.columns]
    if lacking:
        wrong.append(f"it lacks the columns {_some(lacking)}")
    if foreign:
        wrong.append(f"it has the unknown columns {_some(foreign)}")
    return wrong


def _wrong_rows(table: Any, entry: Entry) -> list[str]:
    if len(table) == entry.rows:
        return []
    return [f"it has {len(table)} rows instead of {entry.rows}"]


def _wrong_numbers(table: Any, entry: Entry) -> list[str]:
    import pandas as pd

    wrong = []
    costs = [column for column in COST_COLUMNS if entry.costs_per_row]
    for column in (*entry.features, *costs):
        if column in entry.categorical or pd.api.types.is_numeric_dtype(table[column]):
            continue
        strange = table[column][
            pd.to_numeric(table[column], errors="coerce").isna() & table[column].notna()
        ]
        row = int(strange.index[0]) + 1
        wrong.append(
            f"column {column!r} should hold numbers, but row {row} has {strange.iloc[0]!r}"
        )
    return wrong


def _wrong_classes(table: Any, entry: Entry) -> list[str]:
    wrong = []
    for target in entry.targets.values():
        if target.column not in table:
            continue
        found, expected = table[target.column].value_counts().to_dict(), target.class_counts()
        for label in sorted({*found, *expected}):
            if found.get(label, 0) != expected.get(label, 0):
                wrong.append(
                    f"class {label!r} of {target.column!r} has {found.get(label, 0)} rows "
                    f"instead of {expected.get(label, 0)}"
                )
    return wrong


def _wrong_missing(table: Any, entry: Entry) -> list[str]:
    missing = int(table[list(entry.features)].isna().sum().sum())
    if missing == entry.missing:
        return []
    return [f"it has {missing} empty feature cells instead of {entry.missing}"]


def _wrong_content(table: Any, entry: Entry) -> list[str]:
    """Compare the mean of |x| of the numbers and the number of levels of the categories."""
    wrong = []
    for column, expected in entry.mean_abs.items():
        found = float(table[column].abs().mean())
        if not abs(found - expected) <= 1e-4 * expected:
            wrong.append(f"mean |x| of column {column!r} is {found:.6g} instead of {expected:g}")
    for column, expected in entry.levels.items():
        if table[column].nunique() != expected:
            wrong.append(
                f"column {column!r} has {table[column].nunique()} values instead of {expected}"
            )
    return wrong


def _some(names: list[str], limit: int = 5) -> str:
    shown = ", ".join(repr(name) for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"
