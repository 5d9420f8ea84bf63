"""Reading a data set from the user's folder, and refusing one that is not what it should be."""

import os
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

from stakes.datasets._catalogue import COST_COLUMNS, Entry
from stakes.utils._arrays import quoted

FOLDER_VARIABLE = "STAKES_DATA"
_SUFFIXES = (".csv.gz", ".csv")


def find_file(entry: Entry) -> Path | None:
    """Return the file of a data set in the folder that STAKES_DATA names, or None."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return None
    paths = (Path(folder) / f"{entry.name}{suffix}" for suffix in _SUFFIXES)
    return next((path for path in paths if path.is_file()), None)


def how_to_give(entry: Entry) -> str:
    """Say how to give the file of a data set, and what STAKES_DATA names now."""
    folder = os.environ.get(FOLDER_VARIABLE)
    now = "it is not set"
    if folder:
        fault = "has no such file" if os.path.isdir(folder) else "is no folder"
        now = f"it names {folder}, which {fault}"
    return (
        f"put {entry.name}.csv.gz in a folder and name that folder in the environment variable "
        f"{FOLDER_VARIABLE} ({now})."
    )


def read_table(path: Path, entry: Entry) -> Any:
    """Read the file of a data set; a damaged one is refused with what is wrong."""
    import pandas as pd

    as_text = [*entry.categorical, *(target.column for target in entry.targets.values())]
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


def _wrong_columns(table: Any, entry: Entry, required: tuple[str, ...]) -> list[str]:
    differences = {
        "lacks the columns": [c for c in required if c not in table.columns],
        "has the unknown columns": [c for c in table.columns if c not in entry.columns],
    }
    return [f"it {what} {quoted(which, 5)}" for what, which in differences.items() if which]


def _wrong_rows(table: Any, entry: Entry) -> list[str]:
    differ = len(table) != entry.rows
    return [f"it has {len(table)} rows instead of {entry.rows}"] if differ else []


def _wrong_numbers(table: Any, entry: Entry) -> list[str]:
    import pandas as pd

    wrong = []
    costs = COST_COLUMNS if entry.costs_per_row else ()
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
        found, expected = Counter(table[target.column].dropna()), Counter(target.class_counts())
        wrong += [
            f"class {label!r} of {target.column!r} has {found[label]} rows "
            f"instead of {expected[label]}"
            for label in sorted({*found, *expected})
            if found[label] != expected[label]
        ]
    return wrong


def _wrong_missing(table: Any, entry: Entry) -> list[str]:
    missing = int(table[list(entry.features)].isna().sum().sum())
    if missing == entry.missing:
        return []
    return [f"it has {missing} empty feature cells instead of {entry.missing}"]


def _wrong_content(table: Any, entry: Entry) -> list[str]:
    """Compare the mean of |x| of the numbers and the number of levels of the categories."""
    means = {column: float(table[column].abs().mean()) for column in entry.mean_abs}
    levels = {column: table[column].nunique() for column in entry.levels}
    return [
        f"mean |x| of column {column!r} is {means[column]:.6g} instead of {expected:g}"
        for column, expected in entry.mean_abs.items()
        if not abs(means[column] - expected) <= 1e-4 * expected
    ] + [
        f"column {column!r} has {levels[column]} values instead of {expected}"
        for column, expected in entry.levels.items()
        if levels[column] != expected
    ]
