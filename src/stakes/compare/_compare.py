"""compare: every method on the same folds of the same data, at the same prices."""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any

import joblib
import numpy as np

import stakes
from stakes._learning.folds import as_splitter
from stakes._methods import Method, Setting
from stakes.compare._comparison import Comparison, MethodResult
from stakes.compare._model import make_setting
from stakes.compare._plain import plain_model_name
from stakes.compare._problem import Problem, make_problem
from stakes.compare._registry import all_methods, find_method, own_method, stored_name
from stakes.compare._work import FoldWork
from stakes.compare.runner import Predictions, Run, RunStore, execute
from stakes.utils._arrays import quoted

BASELINE = "plain"


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
        ``cost_matrix[true, predicted]``: class costs. With no costs at all, 0/1.
    costs : array-like of shape (n_samples, n_classes), default=None
        What each decision costs for each example, known in hindsight only.
    cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
        [example, true, predicted], known when deciding.
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
    workers = joblib.effective_n_jobs(n_jobs)
    given = {
        "random_state": random_state,
        "n_jobs": max(1, joblib.cpu_count() // workers),
        "fast": fast,
    }
    setting = make_setting(problem, **given)
    chosen, left_out = choose_methods(methods, problem, setting, baseline=baseline)
    stored = {stored_name(method, setting): method for method in chosen.values()}
    with tempfile.TemporaryDirectory(prefix="stakes-") as scratch:
        kept = store if isinstance(store, RunStore) else RunStore(store or scratch)
        units = make_units(problem, splits, stored, setting)
        work, score = FoldWork(problem, splits, stored, given), partial(_score, problem)
        report = progress or (_tell if verbose else None)
        begun = time.perf_counter()
        rows = execute(units, work, score, kept, n_jobs=n_jobs, progress=report)
        seconds = time.perf_counter() - begun
        results = _collect(problem, stored, units, rows, kept)
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
    numbered = isinstance(cv, Integral)
    if numbered:
        counts = np.bincount(problem.y)
        rare = quoted([problem.classes[counts.argmin()]])
        if cv < 2:
            raise ValueError(f"cv={cv}: there must be at least 2 folds.")
        if counts.min() == 1:
            raise ValueError(
                f"The class {rare} has a single example: it cannot be both learned and tested; "
                "leave it out, or join it with another class."
            )
        if counts.min() < cv:
            raise ValueError(
                f"The class {rare} has {counts.min()} examples, fewer than the {cv} folds: use "
                f"{counts.min()} folds, or leave the class out."
            )
    splitter = as_splitter(cv, problem.y, random_state=random_state)
    words = f"{cv}-fold stratified cross-validation" if numbered else str(splitter)
    splits = list(splitter.split(np.zeros(problem.n_samples), problem.y))
    tested = np.concatenate([test for _, test in splits])
    repeated = len(np.unique(tested)) < len(tested)
    return splits, {"cv": words, "folds": len(splits), "repeated": repeated}


def choose_methods(
    methods: Any, problem: Problem, setting: Setting, *, baseline: str
) -> tuple[dict[str, Method], dict[str, MethodResult]]:
    """Return the methods to run by name, and results of those left out with the reason."""
    known = all_methods().values()
    if methods is None:
        named = [m for m in known if (m.fast if setting.fast else m.default)]
    else:
        named = list(_named(methods, problem.classes))
    asked = {method.name for method in named}
    joining = dict.fromkeys([*(m.name for m in known if m.reference), baseline])
    named = [find_method(name) for name in joining if name not in asked] + named
    chosen: dict[str, Method] = {}
    left_out: dict[str, MethodResult] = {}
    for method in sorted(named, key=lambda method: not method.reference):
        if method.name in chosen or method.name in left_out:
            raise ValueError(
                f"Two methods are called {method.name!r}: give a dict with other names."
            )
        reason = method.unfit(setting, problem.costs.kind)
        if methods is None:
            reason = reason or method.limit(setting)
        if reason:
            left_out[method.name] = MethodResult.of(method, "left out", reason)
        else:
            chosen[method.name] = method
    if baseline in left_out:
        raise ValueError(f"The baseline {baseline!r} cannot serve: {left_out[baseline].reason}.")
    return chosen, left_out


def _named(methods: Any, classes: np.ndarray) -> Iterator[Method]:
    if isinstance(methods, str):
        methods = [methods]
    if isinstance(methods, Mapping):
        for name, method in methods.items():
            if isinstance(method, str):
                yield replace(find_method(method), name=str(name))
            else:
                yield own_method(str(name), method, classes)
        return
    seen: dict[str, int] = {}
    for method in methods:
        if isinstance(method, str):
            yield find_method(method)
            continue
        name, estimator = type(method).__name__, method
        if isinstance(method, tuple) and len(method) == 2:
            name, estimator = str(method[0]), method[1]
        seen[name] = seen.get(name, 0) + 1
        yield own_method(name if seen[name] == 1 else f"{name}-{seen[name]}", estimator, classes)


def make_units(
    problem: Problem, splits: list, methods: dict[str, Method], setting: Setting
) -> list[list[Run]]:
    """Return the runs, those that share fits of the plain model together."""
    task = f"data-{problem.fingerprint()}"
    quick = "-fast" if setting.fast else ""
    version = f"{plain_model_name()}-{stakes.__version__}{quick}"
    protocol = f"{len(splits)}folds-{joblib.hash(splits)[:10]}-{version}"
    shared = [name for name, method in methods.items() if method.shares_plain_model]
    groups = [shared, *([name] for name in methods if name not in shared)]
    return [
        [Run(task, protocol, fold, name, setting.random_state) for name in group]
        for fold in range(len(splits))
        for group in groups
    ]


def _score(problem: Problem, run: Run, predictions: Predictions) -> dict:
    """Return what a run's decisions cost on its fold."""
    rows, decisions = predictions.arrays["test"], predictions.arrays["decisions"]
    return {
        "n_test": len(rows),
        "cost": float(problem.costs.take(rows).of(decisions).mean()),
        "error": float((decisions != problem.y[rows]).mean()),
    }


def _collect(problem, methods, units, rows, store) -> dict[str, MethodResult]:
    """Join the folds of each method."""
    found = list(zip((run for unit in units for run in unit), rows))
    results: dict[str, MethodResult] = {}
    for stored, method in methods.items():
        own = [(run, row) for run, row in found if run.method == stored]
        result = MethodResult.from_runs(method, own, problem, store)
        for known in results.values():  # rules on one model: keep its probabilities once
            if np.array_equal(known.proba, result.proba):
                result.proba = known.proba
                break
        results[method.name] = result
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
