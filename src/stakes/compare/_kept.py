"""What a model keeps of the rows that it was fitted on: to be read before it is handed on."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from stakes.auto import StakesClassifier
from stakes.compare._model import DecisionModel
from stakes.tables import PreparedColumn
from stakes.utils._pipelines import last_step

# Where estimators of scikit-learn keep rows, prepared as numbers.
ROWS = ("_fit_X", "support_vectors_", "X_train_")


class Kept(NamedTuple):
    """One thing that a model keeps of its training rows.

    Attributes
    ----------
    where : str
        The part of the model.
    what : str
        What it is.
    size : int
        How many values.
    values : list
        Values that stand in rows as they are kept; empty where they are sums or shares of many.
    """

    where: str
    what: str
    size: int
    values: list


def kept_of_rows(model: DecisionModel) -> list[Kept]:
    """Return all that a model keeps of the rows that it was fitted on.

    Values of columns are named; of what is learned from all rows together (coefficients, trees and the
    places where they cut) nothing is said.

    Parameters
    ----------
    model : DecisionModel
        As `fit_model` or `load_model` returns it.

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.compare import fit_model, kept_of_rows
    >>> table = pd.DataFrame({"job": ["cook", "smith"] * 10, "age": [20.5, 30, 40, 50] * 5})
    >>> model = fit_model(table, [0, 1] * 10, "tree", cost_matrix=[[0, 1], [5, 0]])
    >>> for kept in kept_of_rows(model)[:2]:
    ...     print(kept.where, "|", kept.what, "|", kept.values)
    preparation | 'job': values by name | ['cook', 'smith']
    profile | 'job': values and their shares | ['cook', 'smith']
    """
    last = last_step(model.estimator)[0]
    preparation = model.preparation
    if preparation is None and isinstance(last, StakesClassifier):
        preparation = last.encoder_
    kept: list[Kept] = []
    for column in (preparation.prepared_ or []) if preparation is not None else []:
        kept += _of_column(column)
    for profile in model.profiles:
        if profile.values:
            what = f"{profile.name!r}: values and their shares"
            kept.append(Kept("profile", what, len(profile.values), list(profile.values)))
        if profile.low is not None:
            ends = [profile.low, *profile.edges, profile.high]
            what = f"{profile.name!r}: least, greatest and tenths"
            kept.append(Kept("profile", what, len(ends), ends))
    for name, percentiles in (model.quantiles or {}).items():
        kept.append(Kept("quantiles", f"{name!r}: percentiles", len(percentiles), percentiles))
    if model.reference is not None:
        reference = model.reference
        what = "probabilities, classes and prices of held-out rows, no column"
        kept.append(Kept("reference", what, len(reference.y), []))
        for one in reference.columns:
            values = one.get("values", one.get("edges", []))
            kept.append(Kept("reference", f"{one['name']!r}: histogram", len(values), values))
    return kept + list(_rows_in(model.estimator))


def _of_column(column: PreparedColumn) -> Iterator[Kept]:
    known = [value for value in column.known_values() if value]
    if known:
        yield Kept("preparation", f"{column.name!r}: values by name", len(known), known)
    if column.text is not None:
        terms = [*column.text.words.tolist(), *column.text.letters.tolist()]
        yield Kept("preparation", f"{column.name!r}: words and letters", len(terms), terms)


def _rows_in(estimator: Any) -> Iterator[Kept]:
    """Find the rows that estimators keep to compare new ones with, wherever they are held."""
    seen, waiting = set(), [estimator]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, (str, bytes, np.ndarray, int, float)):
            continue
        seen.add(id(part))
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, (list, tuple)):
            waiting += part
        elif isinstance(getattr(part, "__dict__", None), dict) and not isinstance(part, type):
            kind = type(part).__name__
            for name, value in vars(part).items():
                sampled = kind == "Nystroem" and name == "components_"
                if (name in ROWS or sampled) and np.ndim(value) == 2:
                    yield Kept("estimator", f"{kind}: training rows, as numbers", len(value), [])
                else:
                    waiting.append(value)
