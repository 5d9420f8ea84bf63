"""Fitting and comparing methods where the rows lie on a Dask cluster.

A comparison holds out a bounded number of rows, which are gathered here and decided by every
method; all others are learned from where they lie. Everything after that is as with any table.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import joblib
import numpy as np

from stakes._methods import Method, Setting
from stakes.cluster._learn import why_not
from stakes.cluster._split import Split
from stakes.cluster._survey import Survey, survey
from stakes.cluster.partitions import Partitions, find_client, need_dask
from stakes.compare import Comparison, DecisionModel
from stakes.compare.engine import (
    FoldWork,
    Problem,
    UnfitMethodError,
    capacity_of_folds,
    choose_methods,
    column_quantiles,
    find_method,
    label_order,
    policy_of,
    run_units,
    tell,
)
from stakes.compare.runner import Predictions, Run, versions_key
from stakes.costs import check_cost_matrix, make_costs
from stakes.tables import TablePreparation, profile_columns
from stakes.utils._arrays import counted, quoted
from stakes.utils._frames import as_frame, is_frame, one_column
from stakes.utils._optional import import_optional

# Rows that are decided in a comparison, and rows that show what the columns hold.
TESTED, LOOKED_AT = 200_000, 100_000
# Of the memory of all workers, the share up to which the prepared rows stay there between fits.
KEPT = 0.25
FACTS = ("y", "costs", "cost_tensor")


@dataclass
class Cluster:
    """Rows on a cluster, and how methods learn from them.

    Parameters
    ----------
    rows : Survey
        The collections: X, y and perhaps costs.
    cost_matrix : object
        Class costs, as the user gave them; None where rows have costs.
    random_state : int
        Seed of methods, and of what is held out.
    fast : bool
        As in `compare`.
    tested : bool
        Whether rows are held out from learning.
    """

    rows: Survey
    cost_matrix: Any
    random_state: int
    fast: bool
    tested: bool

    def __post_init__(self) -> None:
        rows = self.rows
        if len(rows.classes) < 2:
            raise ValueError(
                f"The target has only one class, {quoted(rows.classes)}: nothing to decide."
            )
        self.split = Split(rows, self.random_state, TESTED if self.tested else 0, fewest=0)

    @property
    def workers(self) -> str:
        """How many workers there are, in words."""
        return counted(len(self.rows.client.nthreads()), "Dask worker")

    @cached_property
    def problem(self) -> Problem:
        """The rows held out, with their classes and costs."""
        held = self.split.held_out()
        rows, X = self.rows, as_frame(held["X"])
        codes = np.searchsorted(rows.classes, held["y"])
        counts = np.bincount(codes, minlength=len(rows.classes))
        for k in np.flatnonzero((counts == 0) | (counts == rows.counts)):
            raise ValueError(
                f"The class {rows.classes[k]!r} has {counted(rows.counts[k], 'row')}, of which "
                f"{counts[k]} fell among those held out: too few to learn from and to test; give "
                "another random_state, or leave that class out."
            )
        if is_frame(X):
            X = X.reset_index(drop=True)
        return Problem(X, rows.classes, self._costs(codes, held))

    def _costs(self, codes: np.ndarray, given: dict) -> Any:
        matrix = self.cost_matrix
        if isinstance(matrix, str):  # by the frequencies of all rows
            matrix = check_cost_matrix(matrix, classes=self.rows.classes, counts=self.rows.counts)
        return make_costs(
            codes,
            classes=self.rows.classes,
            cost_matrix=matrix,
            costs=given.get("costs"),
            cost_tensor=given.get("cost_tensor"),
            in_order=matrix is not self.cost_matrix,
        )

    @cached_property
    def setting(self) -> Setting:
        """What methods may want to know of the rows."""
        rows = self.rows
        known = self._costs(np.arange(len(rows.classes)), {}) if self._by_class else None
        return Setting(
            n_classes=len(rows.classes),
            n_samples=rows.n_rows,
            plain_model=self._plain_model,
            cost_matrix=None if known is None else known.matrix,
            choices=rows.choices if known is None else known.choices,
            random_state=self.random_state,
            fast=self.fast,
            smallest_class=int(rows.counts.min()),
        )

    @property
    def _by_class(self) -> bool:
        return not {"costs", "cost_tensor"} & self.rows.data.parts.keys()

    @property
    def kind(self) -> str:
        """The kind of costs."""
        if self._by_class:
            return "class"
        return "deciding" if "cost_tensor" in self.rows.data.parts else "hindsight"

    def _plain_model(self) -> Any:
        purpose = "A plain model on a cluster"
        xgboost = import_optional("xgboost", extra="dask", purpose=purpose)
        return xgboost.XGBClassifier(tree_method="hist", random_state=self.random_state)

    def why_not(self, method: Method) -> str:
        """Return why a method cannot learn from these rows, or ""."""
        return method.unfit(self.setting, self.kind) or why_not(method.make(self.setting))

    @cached_property
    def sample(self) -> Any:
        """Some of the rows to learn from, as they are."""
        return as_frame(self.split.sample(LOOKED_AT))

    @cached_property
    def preparation(self) -> TablePreparation:
        """Turns the table into numbers; it has looked at the sample alone."""
        return TablePreparation().fit(self.sample)

    @cached_property
    def learned(self) -> dict[str, list]:
        """The rows to learn from, prepared: a list of delayed partitions each."""
        dask = need_dask("Learning on a cluster")
        if self.tested:
            parts = self.split.rest(("X", *FACTS))
        else:
            parts = self.rows.data.filled_parts(self.rows.filled, ("X", *FACTS))
        prepare, encode = (dask.delayed(f, pure=False) for f in (_prepare_part, _encode_part))
        known = dask.delayed(self.preparation, pure=False, traverse=False)
        parts["X"] = [prepare(known, part) for part in parts["X"]]
        parts["y"] = [encode(self.rows.classes, part) for part in parts["y"]]
        if "costs" in parts and self.rows.columns is not None:
            choices = self.setting.choices
            coded = range(len(self.rows.classes)) if choices is None else choices.coded().labels
            name = dask.delayed(_name_costs, pure=False)
            parts["costs"] = [name(self.rows.columns, list(coded), p) for p in parts["costs"]]
        if self._can_stay():
            names = list(parts)
            kept = self.rows.client.persist([p for name in names for p in parts[name]])
            n = len(parts["X"])
            parts = {name: kept[i * n : (i + 1) * n] for i, name in enumerate(names)}
        return parts

    def _can_stay(self) -> bool:
        """Say whether the prepared rows leave the workers room enough to learn."""
        width = self.preparation.transform(self.sample[:1]).shape[1]
        info = self.rows.client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [worker["memory_limit"] for worker in info]
        if not all(limits):
            return False
        return 8.0 * self.rows.n_rows * (width + len(self.rows.classes)) < KEPT * sum(limits)

    def fit(self, method: Method) -> DecisionModel:
        """Return a method, fitted on the rows to learn from."""
        reason = self.why_not(method)
        if reason:
            raise UnfitMethodError(
                f"{method.title} ({method.name}) cannot be fitted on a cluster: {reason}."
            )
        estimator = method.make(self.setting)
        estimator.fit(**self.learned)
        sample, choices = self.sample, self.setting.choices
        return DecisionModel(
            method=method.name,
            kind=self.kind,
            estimator=estimator,
            policy=policy_of(
                estimator,
                self.rows.classes,
                estimator.cost_matrix_,
                self.rows.counts,
                None if choices is None else choices.labels,
            ),
            preparation=self.preparation,
            columns=[str(c) for c in sample.columns] if is_frame(sample) else None,
            n_training=self.rows.n_rows,
        )


def _look_at(given: dict[str, Any], tested: bool) -> Cluster:
    """Return Dask collections as rows on a cluster; prices are given in one way."""
    known = ("cost_matrix", "costs", "cost_tensor")
    several = [name for name in known if given[name] is not None]
    if len(several) > 1:
        raise ValueError(f"Give either {' or '.join(several)}, not both.")
    client = find_client("Comparing or fitting methods on Dask collections")
    data = Partitions(**{name: given[name] for name in ("X", *FACTS)})
    how = {name: given[name] for name in ("cost_matrix", "random_state", "fast")}
    return Cluster(survey(client, data), **how, tested=tested)


def fit_model(given: dict[str, Any]) -> DecisionModel:
    """Fit one method on all rows of Dask collections; see `stakes.compare.fit_model`."""
    if given["time_limit"] is not None:
        raise ValueError("Fits on Dask collections take as long as they take: no time_limit.")
    if not isinstance(given["method"], str):
        raise TypeError("On Dask collections a method is named; fit an estimator of yours itself.")
    cluster = _look_at(given, tested=False)
    model = cluster.fit(find_method(given["method"]))
    model.quantiles = column_quantiles(cluster.sample)
    if is_frame(cluster.sample):
        model.profiles = profile_columns(cluster.sample)
    return model


def compare(given: dict[str, Any]) -> Comparison:
    """Compare methods that learn from Dask collections, on rows held out; see `stakes.compare`."""
    for option in ("groups", "time", "test", "time_limit"):
        if given[option] is not None:
            raise ValueError(f"{option} cannot be given with Dask collections.")
    baseline, capacity, check = given["baseline"], given["capacity"], given["check"]
    if not isinstance(baseline, str):
        raise ValueError("With Dask collections the baseline is a method, by name.")
    cluster = _look_at(given, tested=True)
    problem = cluster.problem
    chosen, left_out = choose_methods(
        given["methods"], problem, cluster.setting, baseline=baseline, why_not=cluster.why_not
    )
    shares = None if capacity is None else capacity_of_folds(capacity, problem)
    limited = "" if shares is None else f"-within{joblib.hash(shares)[:8]}"
    rows = np.arange(problem.n_samples)
    how = {"random_state": given["random_state"], "fast": given["fast"]}
    work = ClusterWork(problem, [(rows[:0], rows)], chosen, how, capacity=shares, cluster=cluster)
    report = given["progress"] or (tell if given["verbose"] else None)
    results, _, seconds = run_units(work, _units(cluster, chosen, limited), given["store"], report)
    n_learned = cluster.rows.n_rows - problem.n_samples
    return Comparison(
        problem=problem,
        results={**results, **left_out},
        baseline=baseline,
        protocol={
            "cv": f"{problem.n_samples:,} rows held out and decided, learned from the other "
            f"{n_learned:,} on {cluster.workers}",
            "folds": 1,
            "repeated": False,
            **how,
            "plain_model": "XGBoost",
            "seconds": seconds,
        },
        currency=given["currency"],
        name=given["name"],
        order=label_order(given["cost_matrix"], problem.classes),
        work=replace(work, methods={}, cluster=None, board=None),
        capacity=capacity,
        check=None if isinstance(check, bool) else check,
    )


@dataclass
class ClusterWork(FoldWork):
    """The work of a comparison on a cluster: fits there, decisions here."""

    cluster: Any = None
    _table: Any = None

    def _run(
        self, run: Run, parts: Sequence[Problem], setting: Setting, cache: Any
    ) -> Predictions:
        start = time.perf_counter()
        model = self.cluster.fit(self.methods[run.method])
        seconds = time.perf_counter() - start
        if self._table is None:
            self._table = self.cluster.preparation.transform(self.problem.X)
        return self._decide(run, model, self._table, parts[1], seconds, cache)


def _units(cluster: Cluster, methods: dict[str, Method], limited: str) -> list[list[Run]]:
    """Return the runs of a comparison on a cluster."""
    import dask.base

    token = dask.base.tokenize(*cluster.rows.data.collections.values())
    task = f"data-{cluster.problem.fingerprint()}-{token[:10]}"
    quick = "-fast" if cluster.fast else ""
    protocol = f"cluster-{cluster.rows.n_rows}-XGBoost-{versions_key()}-2{quick}{limited}"
    return [[Run(task, protocol, 0, name, cluster.random_state)] for name in methods]


def _prepare_part(preparation: TablePreparation, X: Any) -> Any:
    return preparation.transform(X)


def _name_costs(columns: list[int], coded: list, costs: Any) -> Any:
    """Return costs with the numbers that the learners here know classes and decisions by."""
    import pandas as pd

    return pd.DataFrame(np.asarray(as_frame(costs))[:, columns], columns=coded)


def _encode_part(classes: np.ndarray, y: Any) -> np.ndarray:
    return np.searchsorted(classes, one_column(y))
