"""A model learned from Dask collections, and the rows held out from it, gathered in one place."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from stakes._learning.folds import hold_out_places
from stakes.cluster._survey import Survey
from stakes.cluster.partitions import gather, on_rows
from stakes.utils._frames import as_frame, is_pandas, join_rows, one_column

# Rows that are held out and gathered, and the fewest of a class among them, if it has twice as many.
HELD_OUT = 200_000
FEWEST = 100


class Split:
    """Which rows of Dask collections are held out: a bounded number, chosen by their place.

    Parameters
    ----------
    found : Survey
        The collections.
    seed : int
        Chooses the rows.
    most : int
        How many are held out, of a fifth of the rows at most.
    fewest : int
        Of each class so many, if it has twice as many; 0: all classes alike.
    """

    def __init__(self, rows: Survey, seed: int, most: int = HELD_OUT, fewest: int = FEWEST):
        self.found, self.seed = rows, seed
        self.share = min(0.2, most / rows.n_rows)
        self.rates = np.clip(fewest / rows.counts, self.share, max(0.5, self.share))
        self.firsts = np.cumsum(rows.sizes) - rows.sizes

    def held_out(self) -> dict[str, Any]:
        """Return the rows held out, by name, each class weighed by what was left behind."""
        rows = self.found
        tasks = rows.data.map(rows.client, _take_part, self._rule(), True, numbers=rows.filled)
        parts = gather(rows.client, tasks)
        joined = {name: join_rows([part[name] for part in parts]) for name in parts[0]}
        if (self.rates != self.share).any():
            codes = np.searchsorted(rows.classes, joined["y"])
            weight = self.share / self.rates[codes]
            joined["sample_weight"] = joined.get("sample_weight", 1.0) * weight
        return joined

    def sample(self, most: int) -> Any:
        """Return X of about so many of the other rows, chosen by their place."""
        rows, rate = self.found, min(1.0, most / self.found.n_rows)
        names = ("X", "y")
        tasks = rows.data.map(
            rows.client, _sample_part, self._rule(), rate, names=names, numbers=rows.filled
        )
        parts = gather(rows.client, tasks)
        return join_rows([part for part in parts if len(part)] or parts[:1])

    def rest(self, names: tuple[str, ...] = ("X", "y", "sample_weight")) -> dict[str, list]:
        """Return futures of the other rows, by name, a list of partitions each."""
        from dask import delayed

        data, rule = self.found.data, delayed(self._rule(), pure=False, traverse=False)
        take = delayed(_take_part, pure=False, nout=1)
        used = [name for name in names if name in data.parts]
        parts = [
            take(i, {name: p[i] for name, p in data.parts.items()}, rule, False)
            for i in self.found.filled
        ]
        return {name: [part[name] for part in parts] for name in used}

    def _rule(self) -> tuple:
        return self.found.classes, self.rates, self.seed, self.firsts


@on_rows
def _take_part(number: int, given: dict, rule: tuple, held: bool) -> dict:
    """Return the rows of a partition that are held out, or the others."""
    y, _, out = _held_out_part(number, given, rule)
    rows = np.flatnonzero(out == held)
    others = {name: _rows(data, rows) for name, data in given.items() if name != "y"}
    return {**others, "y": y[rows]}


@on_rows
def _sample_part(number: int, given: dict, rule: tuple, rate: float) -> Any:
    """Return X of some of the rows of a partition that are not held out."""
    _, places, out = _held_out_part(number, given, rule)
    seen = hold_out_places(places, rate, rule[2] + 1) if rate < 1.0 else ~out
    return _rows(given["X"], np.flatnonzero(seen & ~out))


def _held_out_part(number: int, given: dict, rule: tuple) -> tuple:
    """Return the classes of a partition, the places of its rows, and which are held out."""
    classes, rates, seed, firsts = rule
    y = np.asarray(one_column(given["y"]))
    places = firsts[number] + np.arange(len(y))
    codes = np.searchsorted(classes, y)
    out = np.zeros(len(y), dtype=bool)
    for k in np.unique(codes):
        rows = np.flatnonzero(codes == k)
        out[rows] = hold_out_places(places[rows], float(rates[k]), seed)
    return y, places, out


def _rows(data: Any, rows: np.ndarray) -> Any:
    data = as_frame(data)
    return data.iloc[rows] if is_pandas(data) else np.asarray(data)[rows]


class Labelled(ClassifierMixin, BaseEstimator):
    """A model of classes as positions, as one of their labels.

    Parameters
    ----------
    model : classifier
        Fitted on 0, 1, ...
    classes : ndarray of shape (n_classes,)
        The labels.
    """

    def __init__(self, model: Any, classes: np.ndarray):
        self.model = model
        self.classes = classes

    @property
    def classes_(self) -> np.ndarray:
        """The labels."""
        return self.classes

    def fit(self, X: Any, y: Any) -> Any:
        """Learn nothing: the model has been fitted."""
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the model."""
        return self.model.predict_proba(X)

    def __sklearn_is_fitted__(self) -> bool:
        return True
