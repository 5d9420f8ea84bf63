"""Fetching a data set from OpenML, and putting it into the words of the catalogue."""

import re
import warnings
from typing import Any

import numpy as np

from stakes.datasets._catalogue import TARGET, Entry, Target
from stakes.datasets._files import check_table, how_to_give


def openml_table(entry: Entry) -> Any:
    """Fetch the table of a data set by its id; scikit-learn caches it on disk.

    Column names and class labels may be spelt otherwise there: names are matched by
    their letters or else by position, labels by their letters or else by the number of
    rows they have. The content of each column is checked after that, so a mismatch is
    refused rather than guessed.
    """
    from sklearn.datasets import fetch_openml

    number = entry.openml["id"]
    try:
        with warnings.catch_warnings():
            # scikit-learn warns before it tries again; what counts is how it ends.
            warnings.filterwarnings("ignore", message="A network error occurred")
            fetched = fetch_openml(data_id=number, as_frame=True)
    except OSError as error:  # URLError and time-outs among them
        raise ConnectionError(
            f"{entry.name!r} would come from OpenML (data id {number}), which cannot be reached "
            f"({error}): try again, or {how_to_give(entry)}"
        ) from error
    table = translate(fetched.data, fetched.target, entry)
    required = (*entry.features, *entry.cost_columns, TARGET)
    check_table(table, entry, f"OpenML's data id {number}", required)
    return table


def translate(features: Any, target: Any, entry: Entry) -> Any:
    """Put OpenML's features and target into the catalogue's names, types and labels."""
    features = features.drop(columns=entry.openml.get("drop", []), errors="ignore")
    table = features.set_axis(match_names(list(features.columns), entry.features), axis=1)
    for column in table.columns.intersection(list(entry.features)):
        table[column] = _retyped(table[column], is_category=column in entry.categorical)
    table[TARGET] = match_labels(_retyped(target, is_category=True), entry.targets[TARGET])
    if set(entry.features) <= set(table.columns):
        for column in entry.cost_columns:
            table[column] = _costs(table, **entry.openml[column])
    return table


def match_names(names: list[str], expected: tuple[str, ...]) -> list[str]:
    """Return the expected name of each column: by its letters, or else by position.

    A position counts only where no known name contradicts it. Columns that cannot be
    matched keep their names.

    Examples
    --------
    >>> from stakes.datasets._openml import match_names
    >>> match_names(["AGE", "Blood.Pressure"], ("blood_pressure", "age"))
    ['age', 'blood_pressure']
    >>> match_names(["pres", "AGE"], ("blood_pressure", "age"))
    ['blood_pressure', 'age']
    >>> match_names(["AGE", "pres"], ("blood_pressure", "age"))
    ['AGE', 'pres']
    """
    by_letters = {_letters(name): name for name in expected}
    known = [by_letters.get(_letters(name)) for name in names]
    if len(names) != len(expected):
        return names
    if set(known) == set(expected):
        return [by_letters[_letters(name)] for name in names]
    if all(name in (None, there) for name, there in zip(known, expected)):
        return list(expected)
    return names


def match_labels(labels: Any, target: Target) -> Any:
    """Return the catalogue's label of each row: by its letters, or else by its count."""
    counts = labels.value_counts().to_dict()
    by_letters = {_letters(label): label for label in target.labels}
    if all(_letters(label) in by_letters for label in counts):
        return labels.map({label: by_letters[_letters(label)] for label in counts})
    by_count = {count: label for label, count in target.class_counts().items()}
    if len(by_count) == len(target.labels) and sorted(counts.values()) == sorted(target.counts):
        return labels.map({label: by_count[count] for label, count in counts.items()})
    return labels


def _letters(name: Any) -> str:
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def _retyped(column: Any, *, is_category: bool) -> Any:
    """Return categories as bare text and numbers as numbers; what resists stays text."""
    import pandas as pd

    if not is_category and pd.api.types.is_numeric_dtype(column):
        return column
    codes, values = pd.factorize(column)
    # A missing cell has code -1: the last entry.
    texts = pd.Series([*map(_text, values), None], dtype=object)
    if not is_category:
        numbers = pd.to_numeric(texts, errors="coerce")
        texts = numbers if (numbers.isna() == texts.isna()).all() else texts
    return pd.Series(texts.to_numpy()[codes], index=column.index)


def _text(value: Any) -> str | None:
    """Return the text of a category: 1.0 is "1", quotes go, nothing is None."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip().strip("'\"").strip() or None


def _costs(
    table: Any, column: str | None = None, rate: float = 0.0, least: float = -np.inf
) -> np.ndarray:
    """Return the greater of `least` and `rate` times `column`, row by row."""
    sizes = np.zeros(len(table)) if column is None else table[column].to_numpy(dtype=float)
    return np.maximum(rate * sizes, least)
