"""Reading a data set from the user's folder, and refusing one that is not what it should be."""

import os
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stakes.datasets._catalogue import Entry
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
    fault = "has no such file" if os.path.isdir(folder or "") else "is no folder"
    now = f"it names {folder}, which {fault}" if folder else "it is not set"
    return (
        f"put {entry.name}.csv.gz in a folder and name that folder in the environment variable "
        f"{FOLDER_VARIABLE} ({now})."
    )


def read_table(path: Path, entry: Entry) -> Any:
    """Read the file of a data set; a damaged one is refused with what is wrong."""
    import pandas as pd

    targets = [target.column for target in entry.targets.values()]
    types = dict.fromkeys([*entry.categorical, *targets], str)
    try:
        return pd.read_csv(
            path, dtype=types, keep_default_na=False, na_values=[""], low_memory=False
        )
    except (OSError, EOFError, zlib.error, ValueError) as error:
        # pandas' own parser errors are ValueErrors.
        raise ValueError(f"{path} is damaged and cannot be read: {error}") from error


def check_table(table: Any, entry: Entry, where: str, required: tuple[str, ...] = ()) -> None:
    """Refuse a table that is not what the catalogue says, with what differs.

    Columns, rows, numbers, classes, empty cells and the content of each feature are
    looked at. `required` are the columns that must be there, by default all.
    """
    wrong = (
        _wrong_columns(table, entry, required or entry.columns)
        or _wrong_rows(table, entry)
        # What follows would only echo a lost row or a word among the numbers.
        or _wrong_content(table, entry)
    )
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
    """Compare the number of rows, and look for words among the numbers."""
    import pandas as pd

    differ = len(table) != entry.rows
    wrong = [f"it has {len(table)} rows instead of {entry.rows}"] if differ else []
    for column in (*entry.features, *entry.cost_columns):
        if column in entry.categorical or pd.api.types.is_numeric_dtype(table[column]):
            continue
        known = table[column].dropna()
        strange = known[pd.to_numeric(known, errors="coerce").isna()]
        first = f"row {int(strange.index[0]) + 1} has {strange.iloc[0]!r}"
        wrong.append(f"column {column!r} should hold numbers, but {first}")
    return wrong


def _wrong_content(table: Any, entry: Entry) -> list[str]:
    """Compare what is counted, and the mean of |x| of the numbers."""
    means = {column: float(table[column].abs().mean()) for column in entry.mean_abs}
    return [
        f"{what} has {seen} {things} instead of {expected}"
        for what, things, seen, expected in _counts(table, entry)
        if seen != expected
    ] + [
        f"mean |x| of column {column!r} is {means[column]:.6g} instead of {expected:g}"
        for column, expected in entry.mean_abs.items()
        if not abs(means[column] - expected) <= 1e-4 * expected
    ]


def _counts(table: Any, entry: Entry) -> Iterator[tuple[str, str, int, int]]:
    """Yield what is counted: in what, which things, how many there are and should be."""
    for target in entry.targets.values():
        if target.column in table:
            counts = Counter(table[target.column].dropna())
            expected = Counter(target.class_counts())
            for label in sorted({*counts, *expected}):
                what = f"class {label!r} of {target.column!r}"
                yield what, "rows", counts[label], expected[label]
    yield "it", "empty feature cells", table[[*entry.features]].isna().sum().sum(), entry.missing
    for column, n_levels in entry.levels.items():
        yield f"column {column!r}", "values", table[column].nunique(), n_levels
