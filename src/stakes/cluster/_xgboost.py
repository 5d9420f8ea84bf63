"""XGBoost trained where the rows of Dask collections are, in one long task on each worker.

The partitions lie in files of the workers' own while it trains, and are read one at a time. The
bins are those of a sample that depends on the places of rows alone, and are the same everywhere:
so is the model, on any number of workers.
"""

import pickle
import tempfile
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from stakes.cluster._group import Group, worker_folder
from stakes.cluster._survey import Survey
from stakes.cluster._together import (
    LOST,
    WorkerLost,
    again_when_lost,
    place_of,
    run_together,
)
from stakes.cluster.partitions import ask_each, gather, on_rows
from stakes.tree.engine import sample_rows
from stakes.utils._checks import warn
from stakes.utils._frames import as_frame, is_frame, one_column
from stakes.utils._optional import import_optional

# The share of a worker's memory that may be used.
USED = 0.9
# What XGBoost keeps of each row beside its bins, and for each class, in bytes (seen in 3.2).
PER_ROW, PER_CLASS = 33, 12

# The files of partitions that this process holds, by their fit and a name of their own.
_files: dict[tuple[str, str], Any] = {}


@dataclass(frozen=True)
class Spool:
    """Rows of a partition in a file of the worker that wrote it.

    The file is not of this object: Dask moves objects to its own files where memory is short,
    and would read the rows into memory for that.
    """

    fit: str
    name: str
    n_rows: int
    n_columns: int

    @classmethod
    def write(cls, fit: str, content: bytes, n_rows: int, n_columns: int) -> "Spool":
        """Write rows, as `pickle` has them, into a file without a name."""
        spool = cls(fit, uuid.uuid4().hex, n_rows, n_columns)
        file = tempfile.TemporaryFile(dir=worker_folder())  # noqa: SIM115
        _files[fit, spool.name] = file
        file.write(content)
        file.flush()
        return spool

    def read(self) -> dict[str, Any]:
        """Return the rows: data, label and perhaps weight."""
        file = _files.get((self.fit, self.name))
        if file is None:  # Dask has moved this object to another worker
            raise WorkerLost(LOST)
        file.seek(0)
        return pickle.load(file)


def _forget(fit: str) -> None:
    """Remove the files of a fit on this worker."""
    for key in [key for key in _files if key[0] == fit]:
        _files.pop(key).close()


def fit_xgboost(
    estimator: Any, rows: Survey, parts: dict[str, list], has_categories: bool = False
) -> Any:
    """Train XGBoost on all rows of some partitions; return a classifier of 0, 1, ...

    Parameters
    ----------
    estimator : XGBClassifier or DaskXGBClassifier
        Says how.
    rows : Survey
        The client and the classes.
    parts : dict of str to list
        X, y and perhaps sample_weight: delayed partitions, or futures.
    has_categories : bool, default=False
        Whether columns of X may be of pandas' categories, which partitions may know in part.
    """
    xgboost = import_optional(
        "xgboost", extra="dask", purpose="Gradient boosting on Dask collections"
    )
    options = estimator.get_params()
    how = _how(estimator, len(rows.classes))
    raw, share = again_when_lost(lambda: _train(rows, parts, how, has_categories))
    if share < 1.0:
        warn(
            "ST406",
            f"XGBoost has learned from {share:.0%} of the rows: the workers have no memory for "
            "what it keeps of each. Give them more, or more workers.",
            stacklevel=7,
        )
    options.pop("objective", None)
    options.pop("callbacks", None)
    model = xgboost.XGBClassifier(**{**options, "n_jobs": 1})
    model.load_model(bytearray(raw))
    return model


def _how(estimator: Any, n_classes: int) -> dict[str, Any]:
    """Return how XGBoost trains, as its classifiers settle it."""
    if estimator.early_stopping_rounds is not None:
        raise ValueError(
            "early_stopping_rounds is not for Dask collections: XGBoost would need rows to watch, "
            "which fit does not take; set n_estimators."
        )
    given = estimator.get_xgb_params()
    given.pop("n_jobs", None)
    objective = given.get("objective") or ""
    if callable(objective):
        raise ValueError("objective is a function: on Dask collections give the name of one.")
    if n_classes > 2:
        given["num_class"] = n_classes
        objective = objective if objective.startswith("multi:") else "multi:softprob"
    given["objective"] = objective or "binary:logistic"
    return {
        "parameters": given,
        "n_rounds": estimator.get_num_boosting_rounds(),
        "missing": estimator.missing,
        "categorical": bool(estimator.enable_categorical),
        "callbacks": estimator.callbacks or [],
    }


def _train(rows: Survey, parts: dict[str, list], how: dict, has_categories: bool) -> tuple:
    """Train once; return the model as XGBoost writes it, and from which share of the rows."""
    fit = uuid.uuid4().hex
    try:
        return _train_on_files(fit, rows, parts, how, has_categories)
    finally:
        rows.client.run(_forget, fit, on_error="ignore")


def _train_on_files(
    fit: str, survey: Survey, parts: dict[str, list], how: dict, has_categories: bool
) -> tuple:
    from dask import delayed

    client = survey.client
    categories = _categories(client, parts["X"]) if has_categories else {}
    spool, known = delayed(_spool_part, pure=False), delayed((fit, survey.classes, categories))
    spools = client.compute(
        [spool(dict(zip(parts, each)), known) for each in zip(*parts.values())]
    )
    held = place_of(client, spools)
    there = {f.key: {"workers": [w], "allow_other_workers": True} for w in held for f in held[w]}
    counts = [client.submit(_n_rows, f, pure=False, **there[f.key]) for f in spools]
    sizes = np.array(gather(client, counts))
    wanted, stops = sample_rows(int(sizes.sum())), np.cumsum(sizes)
    pieces = []
    for future, stop, size in zip(spools, stops, sizes):
        if isinstance(wanted, slice):
            rows: Any = wanted
        else:
            low, high = np.searchsorted(wanted, [stop - size, stop])
            rows = wanted[low:high] - (stop - size)
        if size:
            only = {**there[future.key], "allow_other_workers": False}  # nobody else can read it
            pieces.append(client.submit(_some, future, rows, pure=False, **only))
    sample = client.submit(_joined, pieces, pure=False)
    filled = {f.key for f, size in zip(spools, sizes) if size}
    shares = {w: [f for f in own if f.key in filled] for w, own in held.items()}
    shares = {worker: own for worker, own in shares.items() if own}
    return run_together(client, _train_share, shares, sample, how)


def _categories(client: Any, parts: list) -> dict[str, Any]:
    """Return the categories of the columns that have some, those of all partitions."""
    seen: dict[str, Any] = {}
    for part in ask_each(client, _categories_of, parts):
        for name, values in part.items():
            seen[name] = seen[name].union(values, sort=False) if name in seen else values
    return seen


def _categories_of(X: Any) -> dict[str, Any]:
    X = as_frame(X)
    if not is_frame(X) or not len(X):
        return {}
    return {name: X[name].cat.categories for name in X if str(X[name].dtype) == "category"}


@on_rows
def _spool_part(given: dict, known: tuple) -> Spool:
    """Write a partition into a file: numbers of four bytes, as XGBoost keeps them."""
    fit, classes, categories = known
    X = as_frame(given["X"])
    if is_frame(X):
        kinds = {n: np.float32 for n, kind in X.dtypes.items() if kind == np.float64}
        X = X.astype(kinds).reset_index(drop=True)
        for name, values in categories.items():
            X[name] = X[name].cat.set_categories(values)
    else:
        X = np.asarray(X)
        X = np.ascontiguousarray(X, dtype=np.float32 if X.dtype == np.float64 else None)
    label = np.searchsorted(classes, one_column(given["y"])).astype(np.float32)
    content = {"data": X, "label": label}
    if "sample_weight" in given:
        content["weight"] = np.asarray(one_column(given["sample_weight"]), dtype=np.float32)
    return Spool.write(fit, pickle.dumps(content, protocol=5), len(label), X.shape[1])


def _n_rows(spool: Spool) -> int:
    return spool.n_rows


def _some(spool: Spool, rows: Any) -> dict:
    """Return the rows of a partition that place the bins."""
    return {
        name: values.iloc[rows] if is_frame(values) else values[rows]
        for name, values in spool.read().items()
    }


def _joined(pieces: list[dict]) -> dict:
    def join(parts: list) -> Any:
        if not is_frame(parts[0]):
            return np.concatenate(parts)
        import pandas as pd

        return pd.concat(parts, ignore_index=True)

    return {name: join([piece[name] for piece in pieces]) for name in pieces[0]}


def _train_share(sums: Group, spools: list[Spool], sample: dict, how: dict) -> tuple:
    """Train on the rows of this worker and, through the collective, on those of all others."""
    import xgboost

    parameters = {**how["parameters"], "nthread": sums.n_threads}
    reading = {
        "missing": how["missing"],
        "nthread": sums.n_threads,
        "max_bin": parameters.get("max_bin") or 256,
        "enable_categorical": how["categorical"],
    }

    class Reader(xgboost.DataIter):
        """Hands over one partition after the other."""

        def __init__(self, cache: str | None):
            self.at = 0
            super().__init__(cache_prefix=cache)

        def next(self, take: Any) -> bool:
            sums.check()
            if self.at == len(spools):
                return False
            given = spools[self.at].read()
            take(**given if share == 1.0 else _thinned(given, share))
            self.at += 1
            return True

        def reset(self) -> None:
            self.at = 0

    class Stop(xgboost.callback.TrainingCallback):
        """Ends the training where the fit was given up."""

        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            sums.check()
            return False

    def try_out() -> Any:
        bins = xgboost.QuantileDMatrix(**sample, **reading)
        xgboost.train({**parameters, "max_depth": 1}, bins, 1)
        return bins

    with tempfile.TemporaryDirectory(dir=sums.folder) as folder:
        try:
            # the collective is known to the thread that entered it alone: each bins for itself
            with ThreadPoolExecutor(1) as elsewhere:
                bins = elsewhere.submit(try_out).result()
        except xgboost.core.XGBoostError as error:
            raise ValueError(f"XGBoost cannot be trained so: {error}") from error
        fits, share = _room(spools, parameters.get("num_class", 1), sums)
        with sums.collective():
            make = xgboost.QuantileDMatrix if fits else xgboost.ExtMemQuantileDMatrix
            rows = make(Reader(None if fits else f"{folder}/bins"), ref=bins, **reading)
            del bins
            trained = xgboost.train(
                parameters, rows, how["n_rounds"], callbacks=[*how["callbacks"], Stop()]
            )
        raw = bytes(trained.save_raw("ubj"))
        del rows, trained  # before the files are removed
        return raw, share


def _thinned(given: dict, share: float) -> dict:
    """Return a share of the rows, at even steps."""
    steps = np.floor(np.arange(len(given["label"]) + 1) * share)
    rows = np.flatnonzero(np.diff(steps))
    return {n: v.iloc[rows] if is_frame(v) else v[rows] for n, v in given.items()}


def _room(spools: list[Spool], n_classes: int, sums: Group) -> tuple[bool, float]:
    """Return whether the bins fit in memory here, and for which share of all rows there is room."""
    if not sums.memory:
        return True, 1.0
    n_rows, room = sum(spool.n_rows for spool in spools), USED * sums.memory - sums.memory_held()
    beside = PER_ROW + PER_CLASS * n_classes
    lacking = np.array([1.0 - room / (n_rows * beside), 0.0])  # of this worker; then of any
    sums.greatest(lacking)
    fits = n_rows * (beside + 2 * spools[0].n_columns + 24) < room
    return fits, 1.0 - min(max(float(lacking[0]), 0.0), 0.99)
