"""compare: every method on the same folds of the same data, at the same prices."""

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import joblib
import numpy as np

from stakes._learning.folds import hold_out
from stakes._methods import Method, Setting
from stakes.compare._clock import OUT_OF_TIME, Board, Clock
from stakes.compare._comparison import Comparison, label_order
from stakes.compare._fitting import make_setting
from stakes.compare._plain import plain_model, plain_model_name
from stakes.compare._problem import Problem, make_problem
from stakes.compare._registry import all_methods, find_method, own_method, stored_name
from stakes.compare._result import MethodResult
from stakes.compare._splits import make_splits, thinned
from stakes.compare._whatif import paid_for, wrongly
from stakes.compare._work import FoldWork
from stakes.compare.runner import Predictions, Run, RunStore, execute, versions_key
from stakes.compare.words import TODAY
from stakes.decision.engine import NO_LIMITS, capacity_bounds
from stakes.logged import LoggedCosts
from stakes.tables import TablePreparation, check_table
from stakes.utils._arrays import counted, quoted
from stakes.utils._collections import or_on_cluster
from stakes.utils._frames import as_column, check_index, is_sparse
from stakes.utils._labels import label_array, label_positions
from stakes.utils._workers import Attached

BASELINE = "plain"
# What a short time is spent on: an answer that is always there, and the default with the rest.
ALWAYS, IN_TIME = "calibrated", ("calibrated", "stakes")
# A time is short below this many seconds, and so many more for each cell of the table: so that
# which methods are tried is known from the limit, and the same from run to run.
SHORT, SHORT_PER_CELL = 120.0, 0.002
# Under a time limit, so many rows show how long a fit on all of them takes, where there are more.
PROBE = 20_000


@or_on_cluster(lambda cluster: cluster.compare)
def compare(
    X: Any,
    y: Any = None,
    *,
    cost_matrix: Any = None,
    costs: Any = None,
    cost_tensor: Any = None,
    methods: Any = None,
    fast: bool = False,
    baseline: Any = BASELINE,
    groups: Any = None,
    time: Any = None,
    test: Any = None,
    check: Any = True,
    cv: Any = 5,
    random_state: int = 0,
    n_jobs: int | None = None,
    capacity: Any = None,
    time_limit: float | None = None,
    store: Any = None,
    verbose: int = 0,
    progress: Callable[[int, int, dict], None] | None = None,
    currency: str = "",
    name: str = "",
    keep_identifiers: bool = False,
) -> Comparison:
    """Learn what each method's decisions would cost on these data, and which to use.

    Every example is decided once by every method, by a fit that has not seen it. All
    methods meet the same folds and the same costs.

    Parameters
    ----------
    X : DataFrame, array-like, sparse matrix or Dask collection of shape (n_samples, n_features)
        The examples. Dask collections stay where they lie: a bounded number of rows is held out
        and decided, and what cannot learn on a cluster is left out with the reason. A DataFrame may mix numbers, categories, dates and text: named methods
        and bare estimators see it as numbers (`TablePreparation`, fitted on the training
        part of each fold); a `Pipeline` of yours sees it as it is.
    y : array-like of shape (n_samples,), default=None
        Their true classes; with `costs` they may be left out.
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, decided]``: class costs. With no costs at all, 0/1. A `CostMatrix`
        may name decisions that are not the classes.
    costs : array-like or DataFrame of shape (n_samples, n_decisions), default=None
        What each decision costs for each example, known in hindsight only.
    cost_tensor : array-like of shape (n_samples, n_classes, n_decisions), default=None
        [example, true, decided], known when deciding.
    methods : list, dict or "all", default=None
        Names of `list_methods`, estimators, or both; a dict gives estimators names of your
        own; "all" is every method that can serve. The best constant decision and the baseline always join. None is a set of
        about twelve that covers every family. An estimator with a parameter `cost_matrix`
        that is None is given the costs; one whose `fit` takes `costs` or `cost_tensor` is
        given those.
    fast : bool, default=False
        A handful of methods, and rules learned on one held-out quarter instead of inner
        folds.
    baseline : str or array-like of shape (n_samples,), default="plain"
        What to compare with: a method by name, "plain" being the most probable class of a
        plain model; or the class that was decided for each example, which becomes the row
        "today" of the table.
    groups : array-like of shape (n_samples,), default=None
        Such as the client: rows of one group are never both learned from and tested.
    time : array-like of shape (n_samples,), default=None
        When each example was known: numbers or dates, as text only as in 2024-12-31. Each
        fold is then decided by what was learned from the rows before it; the earliest are
        only learned from.
    test : array-like of bool or int, default=None
        A mask or the numbers of the rows to decide; the others are learned from, once.
    check : bool or TableCheck, default=True
        Look for what is odd about the table first (`stakes.tables.check_table`), and keep rows
        that are copies of each other in one fold. What was found is `Comparison.check`.
    cv : int or splitter, default=5
        The number of folds, stratified unless `groups` or `time` are given; or a splitter
        of scikit-learn's, which is handed the groups.
    random_state : int, default=0
        Seed of the folds, the methods and the intervals.
    n_jobs : int, default=None
        Fits at a time. None is 1, each with all cores to itself. No figure but the seconds
        depends on it.
    capacity : dict, default=None
        Limits of decisions, as in `stakes.decision.decide_within`; a number of rows is one of all
        rows of X, of which each fold has its share. Methods that decide by expected costs keep to
        them at least cost, so do the references; others are left out with the reason.
    time_limit : float, default=None
        Seconds that the fits may take in all, kept to within a fifth. Where no methods are named and
        the time is short for the table, it goes to ``"calibrated"``, which is always run, and to the
        default: the same methods from run to run. Folds share the time
        alike; the first shows which methods it suffices for, and the others are left out
        with the reason. The best constant decision and the baseline are always run, on one
        fold where there is no time for more, and from a part of the rows where a single fit
        would take too long. What is found then depends on the machine.
    store : path-like or RunStore, default=None
        A folder in which every finished fit is kept: the same call, with the same versions of
        the libraries, goes on where a killed one stopped. None keeps nothing.
    verbose : int, default=0
        1 tells each fit on the standard error stream.
    progress : callable, default=None
        ``progress(done, total, row)`` after each fit. Where it has a method
        ``watch(board, runs, workers)``, it is given all runs before the first, and a board
        whose ``running()`` tells what runs at any moment.
    currency : str, default=""
        Such as ``"€"`` or ``"EUR"``; for printing.
    name : str, default=""
        What to call the data; for printing.
    keep_identifiers : bool, default=False
        As in `fit_model`.

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
    log, groups = _log_of(costs, groups)
    mask = test if len(np.shape(test)) == 1 and len(test) == len(y) else None
    check_index(X=X, y=y, groups=groups, time=time, test=mask, baseline=baseline)
    prices = {"cost_matrix": cost_matrix, "costs": costs, "cost_tensor": cost_tensor}
    problem = make_problem(X, y, **prices, keep_identifiers=keep_identifiers)
    check, splits, words = _settle_splits(problem, check, cv, random_state, groups, time, test)
    today = None if isinstance(baseline, str) else decided_today(baseline, problem)
    reference = baseline if today is None else BASELINE
    workers, n_cores = _shared_cores(n_jobs)
    given: dict[str, Any] = {"random_state": random_state, "n_jobs": n_cores, "fast": fast}
    shares = None if capacity is None else capacity_of_folds(capacity, problem)
    setting = make_setting(problem, **given)
    chosen, left_out = _settle_methods(methods, problem, setting, baseline, time_limit)
    clock = None
    if time_limit is not None:
        splits, left, for_time = _in_time(problem, splits, setting, time_limit, (n_jobs, workers))
        words["cv"] += for_time
        clock = Clock(
            left, len(splits), chosen, reference, () if methods is not None else (ALWAYS,)
        )
        given["time_limit"] = clock.granted
        setting = replace(setting, time_limit=clock.granted)
    stored = _as_stored(chosen, setting, clock)
    units = make_units(problem, splits, stored, setting, shares)
    work = FoldWork(problem, splits, stored, given, clock, capacity=shares)
    report = progress or (tell if verbose else None)
    results, units, seconds = run_units(work, units, store, report, n_jobs, workers)
    splits, words = _folds_run(splits, words, units)
    if today is not None:
        results = {TODAY: result_of_today(today, problem, splits, log), **results}
    how = {"fast": fast, "random_state": random_state, "plain_model": plain_model_name()}
    return Comparison(
        problem=problem,
        results={**results, **left_out},
        baseline=baseline if today is None else TODAY,
        protocol={**words, **how, "seconds": seconds},
        currency=currency,
        name=name,
        order=label_order(cost_matrix, problem.classes),
        work=FoldWork(problem, splits[-1:], stored, given, capacity=shares),
        capacity=capacity,
        check=check or None,
        log=log,
    )


def _log_of(costs: Any, groups: Any) -> tuple[LoggedCosts | None, Any]:
    """Return the log that costs come from, and which rows belong together: there, so here."""
    if not isinstance(costs, LoggedCosts):
        return None, groups
    if groups is not None and costs.groups is None:
        raise ValueError(
            "groups leak: what a row of the log is estimated to have cost comes from other rows of its "
            "group; give groups= to costs_from_logs, too."
        )
    return costs, costs.groups if groups is None else groups


def _shared_cores(n_jobs: int | None) -> tuple[int, int]:
    """Return how many workers there are, and how many cores each has."""
    workers = joblib.effective_n_jobs(n_jobs)
    return workers, max(1, joblib.cpu_count() // workers)


def _settle_methods(
    methods: Any, problem: Problem, setting: Setting, baseline: Any, time_limit: float | None
) -> tuple[dict[str, Method], dict[str, MethodResult]]:
    """Return the methods to run, and those left out: for time too, where none are named."""
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit={time_limit!r} must be a number of seconds above 0.")
    reference = baseline if isinstance(baseline, str) else BASELINE
    how: dict[str, Any] = {"baseline": reference}
    if methods is None:
        limit = None if setting.fast else time_limit
        how["why_not"] = _why_not_in_time(problem, limit, reference)
    chosen, left_out = choose_methods(methods, problem, setting, **how)
    if reference is not baseline and (TODAY in chosen or TODAY in left_out):
        raise ValueError(f"A method is called {TODAY!r}, as the baseline: rename it.")
    return chosen, left_out


def _as_stored(
    chosen: dict[str, Method], setting: Setting, clock: Clock | None
) -> dict[str, Method]:
    """Return methods by the names that their runs are stored under; what ends soon comes first."""
    stored = {stored_name(method, setting): method for method in chosen.values()}
    if clock is not None:
        stored = dict(sorted(stored.items(), key=lambda pair: _expected_order(pair[1])))
        clock.methods = stored
    return stored


def _folds_run(splits: list, described: dict, units: list) -> tuple[list, dict]:
    """Return the folds that there was time for, and these in words."""
    n_folds = 1 + max(unit[0].fold for unit in units)
    if n_folds == len(splits):
        return splits, described
    words = f"{described['cv']} ({n_folds} of {len(splits)} folds, for time)"
    return splits[:n_folds], {**described, "cv": words, "folds": n_folds}


def _settle_splits(
    problem: Problem, check: Any, cv: Any, random_state: int, groups: Any, time: Any, test: Any
) -> tuple[Any, list, dict]:
    """Return what is odd about the examples, their folds, and the folds in words."""
    own = check is True
    if own:
        check = look_at(problem, cv)
    apart = {"groups": groups, "time": time, "test": test}
    copies = check.groups if check else None
    splits, described = make_splits(problem, cv, random_state, **apart, copies=copies)
    if own and check and test is not None:
        check = check.with_test(np.isin(np.arange(problem.n_samples), splits[0][1]))
    return check, splits, described


def _in_time(
    problem: Problem, splits: list, setting: Setting, limit: float, jobs: tuple
) -> tuple[list, float, str]:
    """Return folds of as many rows as there is time for, the seconds left, and that in words."""
    begun, words = perf_counter(), ""
    _load_libraries(problem, *jobs)
    share = _affordable(problem, splits, limit, setting.n_jobs)
    if share < 1:
        splits = thinned(splits, problem.y, share, setting.random_state)
        words = f", learned from {share:.1%} of the rows, for time"
    left = limit - (perf_counter() - begun)
    return splits, max(left, 0.1 * limit), words


def run_units(
    work: FoldWork,
    units: list[list[Run]],
    store: Any,
    report: Callable | None,
    n_jobs: int | None = 1,
    workers: int = 1,
) -> tuple[dict[str, MethodResult], list[list[Run]], float]:
    """Run what is not stored yet; return the results, what there was time for, and the seconds."""
    with tempfile.TemporaryDirectory(prefix="stakes-") as scratch:
        kept = store if isinstance(store, RunStore) else RunStore(store or Path(scratch, "runs"))
        work.board = _watched(report, units, workers, Path(scratch))
        score = partial(_score, work.problem)
        run = partial(execute, work=work, score=score, store=kept, n_jobs=n_jobs)
        begun = perf_counter()
        if work.clock is None:
            rows = run(units, progress=report)
        else:
            units, rows = _run_in_time(run, units, work.clock, report)
        seconds = perf_counter() - begun
        return _collect(work.problem, work.methods, units, rows, kept), units, seconds


def look_at(problem: Problem, cv: Any = 5) -> Any:
    """Return what is odd about the examples; None where they are a sparse matrix."""
    if is_sparse(problem.X):
        return None
    folds = cv if isinstance(cv, int) else 2
    labels, tensor = problem.classes[problem.y], problem.costs.tensor
    return check_table(problem.X, labels, folds=folds, cost_tensor=tensor)


def _expected_order(method: Method) -> tuple:
    """Sort methods by how soon they are expected to end; what uses the time it is given is last."""
    return (not method.reference, method.keeps_time, not method.fast, not method.default)


def _load_libraries(problem: Problem, n_jobs: int | None, workers: int) -> None:
    """Load what the fits need, here or in the workers, so that none of them waits for it."""
    few = problem.take(np.arange(min(20, problem.n_samples))).features
    ready = joblib.delayed(Attached(_make_ready))
    joblib.Parallel(n_jobs=n_jobs if workers > 1 else 1)(ready(few) for _ in range(workers))


def _make_ready(few: Any) -> None:
    all_methods()
    with suppress(Exception):  # what is wrong with the table is told by the fits
        table = TablePreparation().fit_transform(few)
        plain_model().fit(table, np.arange(table.shape[0]) % 2)


def _affordable(problem: Problem, splits: list, limit: float, n_jobs: int) -> float:
    """Return the share of the rows on which one fit of the plain model takes a quarter of the limit.

    One digit that counts: fits are stored by it, and the next command finds them.
    """
    train = splits[0][0]
    if len(train) <= 2 * PROBE:
        return 1.0
    part = problem.take(train[hold_out(problem.y[train], PROBE / len(train), 0, at_least=1)])
    begun = perf_counter()
    model = plain_model(n_jobs=n_jobs, n_samples=problem.n_samples)
    model.fit(TablePreparation().fit_transform(part.features), part.y)
    seconds = (perf_counter() - begun) * len(train) / part.n_samples
    return float(f"{min(0.25 * limit / seconds, 1.0):.1g}")


def _watched(report: Any, units: list, workers: int, scratch: Path) -> Board | None:
    """Return a board to tell what runs, where somebody watches it."""
    if not hasattr(report, "watch"):
        return None
    folder = scratch / "running"
    folder.mkdir()
    board = Board(folder, getattr(report, "compiling", None))
    report.watch(board, [run for unit in units for run in unit], workers)
    return board


def _run_in_time(
    run: Callable, units: list[list[Run]], clock: Clock, report: Callable | None
) -> tuple[list, list[dict]]:
    """Run the first fold, then as many methods and folds as there is time for."""
    total, offset = sum(map(len, units)), 0

    def tell(done: int, _: int, row: dict) -> None:
        if report is not None:
            report(done + offset, total, row)

    first = [unit for unit in units if unit[0].fold == 0]
    rows = run(first, progress=tell)
    going_on, n_folds = clock.after_first(rows)
    rest = [
        [one for one in unit if one.method in going_on]
        for unit in units
        if 0 < unit[0].fold < n_folds
    ]
    rest = [unit for unit in rest if unit]
    offset = sum(map(len, first))
    total = offset + sum(map(len, rest))
    return [*first, *rest], [*rows, *run(rest, progress=tell)]


def decided_today(decisions: Any, problem: Problem) -> np.ndarray:
    """Return the decisions that the user takes today as positions in the classes."""
    decisions = np.asarray(as_column(decisions))
    if decisions.shape != (problem.n_samples,):
        raise ValueError(
            f"baseline has shape {decisions.shape}, but must be the name of a method or one "
            f"decision for each of {counted(problem.n_samples, 'row')}."
        )
    missing = np.array([v is None or v != v for v in decisions.tolist()])
    if missing.any():
        raise ValueError(
            f"baseline is missing in {counted(missing.sum(), 'row')}, the first of them row "
            f"{int(missing.argmax()) + 1}: every row needs the decision taken today."
        )
    seen = tuple(dict.fromkeys(decisions.tolist()))
    position = label_positions(problem.decisions, seen)
    strange = [label for label in seen if label not in position]
    if strange:
        what = "classes" if problem.costs.choices is None else "decisions"
        raise ValueError(
            f"baseline has {quoted(strange)}, but the {what} are {quoted(problem.decisions)}."
        )
    return np.array([position[label] for label in decisions.tolist()], dtype=np.int32)


def result_of_today(
    taken: np.ndarray, problem: Problem, splits: list, log: LoggedCosts | None
) -> MethodResult:
    """Return the decisions that the user takes today as the result of a method.

    Of a log what was paid for them is known: it stands for the estimate of the same cell.
    """
    result = MethodResult(TODAY, "Today's decisions", note="The decisions as they are taken now.")
    paid = problem.costs.of(taken)
    if log is not None:
        done = np.array([problem.decisions.index(label) for label in log.decisions])[log.decided]
        paid = np.where(taken == done, log.paid, paid)
    tested = np.unique(np.concatenate([test for _, test in splits]))
    result.decisions = np.full(problem.n_samples, -1, dtype=np.int32)
    result.decisions[tested], result.paid = taken[tested], paid
    result.fold_costs = [float(paid[test].mean()) for _, test in splits]
    return result


def choose_methods(
    methods: Any,
    problem: Problem,
    setting: Setting,
    *,
    baseline: str,
    why_not: Callable[[Method], str] = lambda method: "",
) -> tuple[dict[str, Method], dict[str, MethodResult]]:
    """Return the methods to run by name, and results of those left out with the reason."""
    known = all_methods().values()
    if isinstance(methods, str) and methods == "all":
        named = [m for m in known if not m.reference]
    elif methods is None:
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
        reason = method.unfit(setting, problem.costs.kind) or why_not(method)
        if methods is None:
            reason = reason or method.limit(setting)
        if reason:
            left_out[method.name] = MethodResult.of(method, "left out", reason)
        else:
            chosen[method.name] = method
    if baseline in left_out:
        raise ValueError(f"The baseline {baseline!r} cannot serve: {left_out[baseline].reason}.")
    return chosen, left_out


def _why_not_in_time(
    problem: Problem, time_limit: float | None, baseline: str
) -> Callable[[Method], str]:
    """Return a function that tells why a method is not tried in a short time, or ""."""
    n_rows, n_columns = problem.X.shape
    short = time_limit is not None and time_limit < SHORT + SHORT_PER_CELL * n_rows * n_columns
    always = (baseline, *IN_TIME)
    reason = f"{OUT_OF_TIME}: {time_limit or 0:.3g} s go to {' and '.join(IN_TIME)}; name it to have it tried"
    return lambda method: (
        reason if short and not (method.reference or method.name in always) else ""
    )


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


def capacity_of_folds(capacity: Any, problem: Problem) -> dict:
    """Return limits as shares: a number of rows is one of all rows."""
    n = problem.n_samples
    bounds = capacity_bounds(capacity, label_array(problem.decisions), n)
    place = label_positions(problem.decisions, tuple(capacity))
    return {label: tuple(float(bound[d]) / n for bound in bounds) for label, d in place.items()}


def make_units(
    problem: Problem,
    splits: list,
    methods: dict[str, Method],
    setting: Setting,
    capacity: dict | None = None,
) -> list[list[Run]]:
    """Return the runs, those that share fits of the plain model together."""
    task = f"data-{problem.fingerprint()}"
    quick = "-fast" if setting.fast else ""
    limited = "" if capacity is None else f"-places{joblib.hash(capacity)[:8]}"
    version = f"{plain_model_name()}-{versions_key()}-2{quick}{limited}"
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
    paid = paid_for(problem.costs.take(rows), decisions, np.array(predictions.info["beside"]))
    return {
        "n_test": len(rows),
        "cost": float(paid.mean()),
        "error": float(wrongly(problem.costs.take(rows), decisions).mean()),
    }


def _collect(problem, methods, units, rows, store) -> dict[str, MethodResult]:
    """Join the folds of each method."""
    done = list(zip((run for unit in units for run in unit), rows))
    results: dict[str, MethodResult] = {}
    for stored, method in methods.items():
        own = [(run, row) for run, row in done if run.method == stored]
        result = MethodResult.from_runs(method, own, problem, store)
        if OUT_OF_TIME in result.reason or NO_LIMITS in result.reason:
            result.status = "left out"
        for known in results.values():  # rules on one model: keep its probabilities once
            if np.array_equal(known.proba, result.proba):
                result.proba = known.proba
                break
        results[method.name] = result
    return results


def tell(done: int, total: int, row: dict) -> None:
    what = f"{row['method'].partition('=')[0]}, fold {row['fold'] + 1}"
    if row["status"] != "ok":
        what += f": failed ({row['reason']})"
    elif row.get("stored"):
        what += ": stored"
    else:
        what += f": cost {row['cost']:.6g}, {row['seconds_fit']:.1f} s"
    print(f"[{done}/{total}] {what}", file=sys.stderr, flush=True)
