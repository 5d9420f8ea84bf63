"""What the experiments share: splits, tables of numbers, timed fits."""

import time
import tomllib
from collections.abc import Callable, Iterable
from functools import partial, wraps
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import OneHotEncoder

from stakes.compare.runner import Predictions
from stakes.datasets import load_dataset
from stakes.decision import CostDecisionClassifier
from stakes.reproduce._experiment import Split
from stakes.reproduce._published import read_lines

Tables = tuple[Any, Any]  # the features of the training and of the test part


def tasks_of(
    paper: str, tasks: Iterable[str] | None = None, **changes: Any
) -> dict[str, Callable]:
    """Return the loaders of a paper's tasks, as ``tasks.toml`` has them, in its order.

    Parameters
    ----------
    paper : str
        Such as ``"abe2004"``.
    tasks : iterable of str, default=None
        Some of them; all if None.
    **changes
        Arguments of `load_task` in place of those of the file.

    Examples
    --------
    >>> from stakes.reproduce._common import tasks_of
    >>> tasks_of("koco2013")["ecoli5"].keywords
    {'name': 'ecoli', 'variant': 'ecoli5'}
    """
    known = tomllib.loads("\n".join(read_lines("tasks.toml")))[paper]
    return {
        task: partial(load_task, **{"name": task, **known[task], **changes})
        for task in (known if tasks is None else tasks)
    }


def load_task(
    name: str,
    *,
    first_rows: int | None = None,
    min_class_size: int = 1,
    complete: bool = False,
    **which: Any,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the (X, y) of a task; rows without a target are left out.

    Parameters
    ----------
    name, **which
        As in `load_dataset`, such as the target.
    first_rows : int, default=None
        Take so many rows only: the training file of a set whose two files were joined.
    min_class_size : int, default=1
        Leave out classes with fewer examples (among those rows).
    complete : bool, default=False
        Leave out rows with a missing value.
    """
    data = load_dataset(name, **which)
    X, y = data.X.iloc[:first_rows], np.asarray(data.y)[:first_rows]
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    kept = (counts >= min_class_size)[codes]
    if complete:
        kept &= X.notna().all(axis=1).to_numpy()
    return X[kept].reset_index(drop=True), y[kept]


def stratified_fold(n_splits: int) -> Callable[..., Tables]:
    """Return a split into `n_splits` folds of the same class shares, where classes allow it.

    A class with fewer examples than folds is spread over as many folds as it has examples.
    """

    def split(X: Any, y: np.ndarray, rng: np.random.RandomState, part: int) -> Tables:
        order = rng.permutation(len(y))
        folds = np.empty(len(y), dtype=int)
        counts = np.unique(y, return_counts=True)[1]
        if counts.min() >= n_splits:
            splitter = StratifiedKFold(n_splits, shuffle=True, random_state=rng)
            for number, (_, test) in enumerate(splitter.split(order, y)):
                folds[test] = number
        else:
            # the shuffled examples of each class go to the folds in turn, beginning where the
            # last class ended, so that folds stay of one size
            position = 0
            for label in np.unique(y):
                members = order[y[order] == label]
                folds[members] = (position + np.arange(len(members))) % n_splits
                position += len(members)
        test = folds == part
        return np.flatnonzero(~test), np.flatnonzero(test)

    return split


def random_two_thirds(X: Any, y: np.ndarray, rng: np.random.RandomState, part: int) -> Tables:
    """Return a random two thirds for training, drawn anew until it holds every class."""
    n_train = round(2 * len(y) / 3)
    n_classes = len(np.unique(y))
    for _ in range(1000):
        order = rng.permutation(len(y))
        train, test = np.sort(order[:n_train]), np.sort(order[n_train:])
        if len(np.unique(y[train])) == n_classes:
            return train, test
    raise ValueError("No random two thirds of the examples hold every class.")


def numeric_table(X_train: pd.DataFrame, X_test: pd.DataFrame) -> Tables:
    """Return both parts as numbers: codes for categories, training means for missing values."""
    columns = []
    for name in X_train.columns:
        pair = []
        for part in (X_train[name], X_test[name]):
            if isinstance(part.dtype, pd.CategoricalDtype):
                as_number = pd.to_numeric(part.astype(object), errors="coerce")
                if as_number.notna().sum() < part.notna().sum():  # text: the category's number
                    as_number = part.cat.codes.astype(float).where(part.notna())
                part = as_number
            pair.append(part.to_numpy(dtype=float))
        mean = np.nanmean(pair[0]) if np.isfinite(pair[0]).any() else 0.0
        columns.append([np.where(np.isnan(values), mean, values) for values in pair])
    train, test = zip(*columns)
    return np.column_stack(train), np.column_stack(test)


def one_hot_table(X_train: pd.DataFrame, X_test: pd.DataFrame) -> Tables:
    """Return both parts with a column per category (missing is one); numbers stay, with NaN."""
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False, dtype=np.float32)
    categories = make_column_selector(dtype_include="category")
    encoder = make_column_transformer((one_hot, categories), remainder="passthrough")
    train = np.asarray(encoder.fit_transform(X_train), dtype=np.float32)
    return train, np.asarray(encoder.transform(X_test), dtype=np.float32)


def as_they_are(split: Split) -> Tables:
    """Return both parts as they were loaded."""
    return split.X_train, split.X_test


def fits(
    tables: Callable[[Split], Tables] = as_they_are, *, scores: str | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Predictions]]:
    """Make a method of a function that builds its classifier for a split.

    The method fits the classifier, decides on the test part, and keeps the decisions, the time
    and, where the classifier tells, how many examples its members were fitted on.

    Parameters
    ----------
    tables : callable
        ``tables(split)`` returns the features of both parts in the form that the classifier takes.
    scores : str, default=None
        A method such as ``"decision_function"`` whose result to keep.
    """

    def decorate(build: Callable[..., Any]) -> Callable[..., Predictions]:
        @wraps(build)
        def run(split: Split, **settings: Any) -> Predictions:
            X_train, X_test = tables(split)
            model = build(split, **settings)
            start = time.perf_counter()
            model.fit(X_train, split.y_train)
            fitted = time.perf_counter()
            decided = model.predict(X_test)
            seconds = {"fit": fitted - start, "predict": time.perf_counter() - fitted}
            arrays = {
                "decisions": np.searchsorted(model.classes_, decided),
                "classes": model.classes_.astype(str),
            }
            if scores is not None:
                arrays["scores"] = getattr(model, scores)(X_test)
            used = getattr(model, "n_samples_used_", None)
            info = {} if used is None else {"n_samples_used": int(np.sum(used))}
            return Predictions(arrays, seconds, info)

        return run

    return decorate


def calibrated_boosting(split: Split, costs: Any) -> CostDecisionClassifier:
    """Return calibrated gradient boosting that decides at least expected cost."""
    model = HistGradientBoostingClassifier(
        categorical_features="from_dtype", random_state=split.seed % 2**31
    )
    return CostDecisionClassifier(model, cost_matrix=costs, calibration="temperature", cv=3)


def by_labels(function: Callable, split: Split, predictions: Predictions, **given: Any) -> float:
    """Return a metric of true and decided labels, both as text, on stored predictions."""
    return float(function(true_labels(split), decided_labels(predictions), **given))


def by_costs(function: Callable, split: Split, predictions: Predictions) -> float:
    """Return a metric of the labels and of the costs of the run."""
    return by_labels(function, split, predictions, cost_matrix=split.cost_matrix)


def decided_labels(predictions: Predictions) -> np.ndarray:
    """Return the decisions as labels, in text form: see `true_labels`."""
    return predictions.arrays["classes"].astype(str)[predictions.arrays["decisions"]]


def true_labels(split: Split) -> np.ndarray:
    """Return the true classes of the test part as text, to be compared with decisions."""
    return split.y_test.astype(str)
