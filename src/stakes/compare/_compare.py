"""compare: every method on the same folds of the same data, at the same prices."""

import hashlib
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Any

import joblib
import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv

import stakes
from stakes.compare._comparison import Comparison, MethodResult
from stakes.compare._methods import (
    BASELINE,
    DEFAULT_METHODS,
    FAST_METHODS,
    Method,
    Setting,
    find_method,
    plain_model_name,
)
from stakes.compare._problem import Problem, make_problem
from stakes.compare._runner import execute
from stakes.compare._store import Predictions, Run, RunStore
from stakes.compare._work import FoldWork
from stakes.utils._arrays import quoted

REFERENCES = ("constant", BASELINE)


def compare(
    X: Any,
    y: Any,
    *,
    cost_matrix: Any = None,
    costs: Any = None,
    cost_tensor: Any = None,
    methods: Any = None,
    fast: bool = False,
    baseline: str = BASELINE,
    cv: Any = 5,
    random_state: int = 0,
    n_jobs: int | None = None,
    store: Any = None,
    verbose: int = 0,
    progress: Callable[[int, int, dict], None] | None = None,
    currency: str = "",
    name: str = "",
) -> Comparison:
    """Learn what each method's decisions would cost on these data, and which to use.

    Every example is decided once by every method, by a fit that has not seen it. All
    methods meet the same folds and the same costs.

    Parameters
    ----------
    X : DataFrame, array-like or sparse matrix of shape (n_samples, n_features)
        The examples. A DataFrame may mix numbers, categories, dates and text: named methods
        and bare estimators see it as numbers (`TablePreparation`, fitted on the training
        part of each fold); a `Pipeline` of yours sees it as it is.
    y : array-like of shape (n_samples,)
        Their true classes.
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``: situation A. With no costs at all, 0/1.
    costs : array-like of shape (n_samples, n_classes), default=None
        What each decision costs for each example, known in hindsight only: situation B2.
    cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
        [example, true, predicted], known when deciding: situation B1.
    methods : list or dict, default=None
        Names of `list_methods`, estimators, or both; a dict gives estimators names of your
        own. The best constant decision and the baseline always join. None is a set of
        about twelve that covers every family. An estimator with a parameter `cost_matrix`
        that is None is given the costs; one whose `fit` takes `costs` or `cost_tensor` is
        given those.
    fast : bool, default=False
        A handful of methods, and rules learned on one held-out quarter instead of inner
        folds.
    baseline : str, default="plain"
        The method to compare with; "plain" is the most probable class of a plain model.
    cv : int or splitter, default=5
        The number of stratified folds, or a splitter of scikit-learn's.
    random_state : int, default=0
        Seed of the folds, the methods and the intervals.
    n_jobs : int, default=None
        Fits at a time. None is 1, each with all cores to itself. No figure but the seconds
        depends on it.
    store : path-like or RunStore, default=None
        A folder in which every finished fit is kept: the same call goes on where a killed
        one stopped. None keeps nothing.
    verbose : int, default=0
        1 tells each fit on the standard error stream.
    progress : callable, default=None
        ``progress(done, total, row)`` after each fit.
    currency : str, default=""
        Such as ``"€"`` or ``"EUR"``; for printing.
    name : str, default=""
        What to call the data; for printing.

    Returns
    -------
    comparison : Comparison
        Its `table`, its `recommended` method with the `reason`, `to_html` and more.

    Notes
    -----
    The intervals are those of `stakes.compare._statistics`: a paired bootstrap over
    examples. They say how far the figures would move with other examples of the same kind.

    Examples
    --------
    A plain tree and the decision of least expected cost, on 150 flowers:

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from stakes.compare import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> C = [[0, 1, 1], [1, 0, 1], [20, 20, 0]]
    >>> found = compare(X, y, cost_matrix=C, methods=["mec", DecisionTreeClassifier(max_depth=2)])
    >>> found.table.index.tolist()
    ['constant', 'plain', 'mec', 'DecisionTreeClassifier']
    >>> bool(found.table.loc["mec", "cost"] < found.table.loc["plain", "cost"])
    True
    """
    problem = make_problem(X, y, cost_matrix=cost_matrix, costs=costs, cost_tensor=cost_tensor)
    splits, described = make_splits(problem, cv, random_state)
    chosen, left_out = choose_methods(methods, problem, fast=fast, baseline=baseline)
    stored_as = {name: identity(name, method) for name, method in chosen.items()}
    with tempfile.TemporaryDirectory(prefix="stakes-") as scratch:
        kept = store if isinstance(store, RunStore) else RunStore(store or scratch)
        workers = joblib.effective_n_jobs(n_jobs)
        work = FoldWork(
            problem,
            splits,
            {stored_as[name]: method for name, method in chosen.items()},
            random_state=random_state,
            threads=max(1, joblib.cpu_count() // workers),
            fast=fast,
        )
        units = make_units(
            problem, splits, chosen, stored_as, random_state=random_state, fast=fast
        )
        report = progress or (_tell if verbose else None)
        begun = time.perf_counter()
        rows = execute(units, work, _Score(problem), kept, n_jobs=n_jobs, progress=report)
        seconds = time.perf_counter() - begun
        results = _collect(problem, chosen, stored_as, units, rows, kept)
    return Comparison(
        problem=problem,
        results={**results, **left_out},
        baseline=baseline,
        protocol={
            **described,
            "fast": fast,
            "random_state": random_state,
            "plain_model": plain_model_name(),
            "seconds": seconds,
        },
        currency=currency,
        name=name,
    )


def make_splits(problem: Problem, cv: Any, random_state: int) -> tuple[list, dict]:
    """Return the (train, test) rows of each fold, and the protocol in words."""
    counts = np.bincount(problem.y)
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        if cv < 2:
            raise ValueError(f"cv={cv}: there must be at least 2 folds.")
        if counts.min() < cv:
            rare = problem.classes[counts.argmin()]
            raise ValueError(
                f"The class {quoted([rare])} has {counts.min()} examples, fewer than the {cv} "
                f"folds: use {counts.min()} folds, or leave the class out."
                if counts.min() > 1
                else f"The class {quoted([rare])} has a single example: it cannot be both "
                "learned and tested; leave it out, or join it with another class."
            )
        splitter: Any = StratifiedKFold(int(cv), shuffle=True, random_state=random_state)
        words = f"{cv}-fold stratified cross-validation"
    else:
        splitter = check_cv(cv, problem.y, classifier=True)
        words = str(splitter)
    splits = [
        (np.asarray(train), np.asarray(test))
        for train, test in splitter.split(np.zeros(problem.n_samples), problem.y)
    ]
    tested = np.concatenate([test for _, test in splits])
    repeated = len(np.unique(tested)) < len(tested)
    return splits, {"cv": words, "folds": len(splits), "repeated": repeated}


def choose_methods(methods, problem: Problem, *, fast: bool, baseline: str) -> tuple[dict, dict]:
    """Return name to `Method` or estimator, and results of those left out with the reason."""
    chosen: dict[str, Any] = {}
    left_out: dict[str, MethodResult] = {}
    named: list[tuple[str, Any]] = []
    if methods is None:
        setting = Setting(n_classes=problem.n_classes, n_samples=problem.n_samples, fast=fast)
        for name in FAST_METHODS if fast else DEFAULT_METHODS:
            method = find_method(name)
            reason = method.limit(setting) if method.limit else ""
            if reason:
                left_out[name] = MethodResult.left_out(name, method, reason)
            else:
                named.append((name, method))
    else:
        named = list(_named(methods))
    asked = {name for name, _ in named}
    if baseline not in asked and baseline not in REFERENCES:
        named.append((baseline, find_method(baseline)))
    for name in REFERENCES:
        if name not in asked:
            chosen[name] = find_method(name)
    for name, method in named:
        if name in chosen:
            raise ValueError(f"Two methods are called {name!r}: give a dict with other names.")
        chosen[name] = method
    order = {name: i for i, name in enumerate(REFERENCES)}
    chosen = dict(sorted(chosen.items(), key=lambda item: order.get(item[0], len(order))))
    return chosen, left_out


def _named(methods):
    if isinstance(methods, str):
        methods = [methods]
    if isinstance(methods, Mapping):
        for name, method in methods.items():
            yield str(name), find_method(method) if isinstance(method, str) else _checked(method)
        return
    seen: dict[str, int] = {}
    for method in methods:
        if isinstance(method, str):
            name, value = method, find_method(method)
        elif isinstance(method, tuple) and len(method) == 2:
            name, value = str(method[0]), _checked(method[1])
        else:
            name, value = type(method).__name__, _checked(method)
        seen[name] = seen.get(name, 0) + 1
        yield name if seen[name] == 1 else f"{name}-{seen[name]}", value


def _checked(estimator):
    if isinstance(estimator, type) or not all(hasattr(estimator, m) for m in ("fit", "predict")):
        raise TypeError(
            f"{estimator!r} is neither a method's name nor an estimator with fit and predict."
        )
    return estimator


def make_units(
    problem, splits, chosen, stored_as, *, random_state: int, fast: bool
) -> list[list[Run]]:
    """Return the runs, those that share a fitted model together."""
    digest = hashlib.sha256()
    for train, test in splits:
        digest.update(np.ascontiguousarray(train).tobytes() + b"|")
        digest.update(np.ascontiguousarray(test).tobytes() + b"||")
    task = f"data-{problem.fingerprint()}"
    quick = "-fast" if fast else ""
    version = f"{plain_model_name()}-{stakes.__version__}{quick}"
    protocol = f"{len(splits)}folds-{digest.hexdigest()[:10]}-{version}"
    units: list[list[Run]] = []
    for fold in range(len(splits)):
        shared: list[Run] = []
        alone: list[Run] = []
        for name, method in chosen.items():
            run = Run(task, protocol, fold, stored_as[name], random_state)
            together = isinstance(method, Method) and method.make is None
            (shared if together else alone).append(run)
        if shared:
            units.append(shared)
        units.extend([run] for run in alone)
    return units


def identity(name: str, method: Any) -> str:
    """Return the name under which a method's runs are stored: with its parameters, if any."""
    if isinstance(method, Method):
        return name
    params = method.get_params(deep=True) if hasattr(method, "get_params") else method
    kind = f"{type(method).__module__}.{type(method).__qualname__}"
    return f"{name}={joblib.hash((kind, params))[:12]}"


class _Score:
    """What a run's decisions cost on its fold."""

    def __init__(self, problem: Problem):
        self.problem = problem

    def __call__(self, run: Run, predictions: Predictions) -> dict:
        rows, decisions = predictions.arrays["test"], predictions.arrays["decisions"]
        paid = self.problem.paid(rows, decisions)
        return {
            "n_test": len(rows),
            "cost": float(paid.mean()),
            "error": float((decisions != self.problem.y[rows]).mean()),
        }


def _collect(problem, chosen, stored_as, units, rows, store) -> dict[str, MethodResult]:
    """Join the folds of each method."""
    runs = [run for unit in units for run in unit]
    by_method: dict[str, list] = {stored: [] for stored in stored_as.values()}
    for run, row in zip(runs, rows):
        by_method[run.method].append((run, row))
    results: dict[str, MethodResult] = {}
    shared: list[np.ndarray] = []
    for name, method in chosen.items():
        result = MethodResult.from_runs(name, method, by_method[stored_as[name]], problem, store)
        if result.proba is not None:  # rules on one model: keep its probabilities once
            for known in shared:
                if known.shape == result.proba.shape and np.array_equal(known, result.proba):
                    result.proba = known
                    break
            else:
                shared.append(result.proba)
        results[name] = result
    return results


def _tell(done: int, total: int, row: dict) -> None:
    what = f"{row['method'].partition('=')[0]}, fold {row['fold'] + 1}"
    if row["status"] != "ok":
        what += f": failed ({row['reason']})"
    elif row.get("stored"):
        what += ": stored"
    else:
        what += f": cost {row['cost']:.6g}, {row['seconds_fit']:.1f} s"
    print(f"[{done}/{total}] {what}", file=sys.stderr, flush=True)
