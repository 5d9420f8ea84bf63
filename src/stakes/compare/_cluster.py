"""Fitting and comparing methods where the rows lie on a Dask cluster.

A comparison holds out a bounded number of rows, which are gathered here and decided by every
method; all others are learned from where they lie. Everything after that is as with any table.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stakes._dask._collections import Partitions, find_client, need_dask
from stakes._dask._survey import Survey, survey
from stakes._methods import Method, Setting
from stakes.compare._fitting import UnfitMethodError
from stakes.compare._model import DecisionModel, column_quantiles, policy_of
from stakes.compare._problem import Problem
from stakes.compare._registry import find_method
from stakes.compare._work import FoldWork
from stakes.compare.runner import Predictions, Run, versions_key
from stakes.costs import check_cost_matrix, make_costs
from stakes.decision.engine import Split, why_not_spread
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
    found : Survey
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

    found: Survey
    cost_matrix: Any
    random_state: int
    fast: bool
    tested: bool

    def __post_init__(self) -> None:
        found = self.found
        if len(found.classes) < 2:
            raise ValueError(
                f"The target has only one class, {quoted(found.classes)}: nothing to decide."
            )
        self.split = Split(found, self.random_state, TESTED if self.tested else 0, fewest=0)

    @property
    def workers(self) -> str:
        """How many workers there are, in words."""
        return counted(len(self.found.client.nthreads()), "Dask worker")

    @cached_property
    def problem(self) -> Problem:
        """The rows held out, with their classes and costs."""
        held = self.split.held_out()
        found, X = self.found, as_frame(held["X"])
        codes = np.searchsorted(found.classes, held["y"])
        counts = np.bincount(codes, minlength=len(found.classes))
        for k in np.flatnonzero((counts == 0) | (counts == found.counts)):
            raise ValueError(
                f"The class {found.classes[k]!r} has {counted(found.counts[k], 'row')}, of which "
                f"{counts[k]} fell among those held out: too few to learn from and to test; give "
                "another random_state, or leave that class out."
            )
        if is_frame(X):
            X = X.reset_index(drop=True)
        return Problem(X, found.classes, self._costs(codes, held))

    def _costs(self, codes: np.ndarray, given: dict) -> Any:
        matrix = self.cost_matrix
        if isinstance(matrix, str):  # by the frequencies of all rows
            matrix = check_cost_matrix(
                matrix, classes=self.found.classes, counts=self.found.counts
            )
        return make_costs(
            codes,
            classes=self.found.classes,
            cost_matrix=matrix,
            costs=given.get("costs"),
            cost_tensor=given.get("cost_tensor"),
            in_order=matrix is not self.cost_matrix,
        )

    @cached_property
    def setting(self) -> Setting:
        """What methods may want to know of the rows."""
        found = self.found
        known = self._costs(np.arange(len(found.classes)), {}) if self._by_class else None
        return Setting(
            n_classes=len(found.classes),
            n_samples=found.n_rows,
            plain_model=self._plain_model,
            cost_matrix=None if known is None else known.matrix,
            choices=found.choices if known is None else known.choices,
            random_state=self.random_state,
            fast=self.fast,
            smallest_class=int(found.counts.min()),
        )

    @property
    def _by_class(self) -> bool:
        return not {"costs", "cost_tensor"} & self.found.data.parts.keys()

    @property
    def kind(self) -> str:
        """The kind of costs."""
        if self._by_class:
            return "class"
        return "deciding" if "cost_tensor" in self.found.data.parts else "hindsight"

    def _plain_model(self) -> Any:
        purpose = "A plain model on a cluster"
        xgboost = import_optional("xgboost", extra="dask", purpose=purpose)
        return xgboost.XGBClassifier(tree_method="hist", random_state=self.random_state)

    def why_not(self, method: Method) -> str:
        """Return why a method cannot learn from these rows, or ""."""
        return method.unfit(self.setting, self.kind) or why_not_spread(method.make(self.setting))

    @cached_property
    def sample(self) -> Any:
        """Some of the rows to learn from, as they are."""
        return as_frame(self.split.sample(LOOKED_AT))

    @cached_property
    def preparation(self) -> TablePreparation:
        """Turns the table into numbers; it has looked at the sample alone."""
        return TablePreparation().fit(self.sample)

    @cached_property
    def rows(self) -> dict[str, list]:
        """The rows to learn from, prepared: a list of delayed partitions each."""
        dask = need_dask("Learning on a cluster")
        if self.tested:
            parts = self.split.rest(("X", *FACTS))
        else:
            parts = self.found.data.filled_parts(self.found.filled, ("X", *FACTS))
        prepare, encode = (dask.delayed(f, pure=False) for f in (_prepare_part, _encode_part))
        known = dask.delayed(self.preparation, pure=False, traverse=False)
        parts["X"] = [prepare(known, part) for part in parts["X"]]
        parts["y"] = [encode(self.found.classes, part) for part in parts["y"]]
        if "costs" in parts and self.found.columns is not None:
            choices = self.setting.choices
            coded = range(len(self.found.classes)) if choices is None else choices.coded().labels
            name = dask.delayed(_name_costs, pure=False)
            parts["costs"] = [name(self.found.columns, list(coded), p) for p in parts["costs"]]
        if self._can_stay():
            names = list(parts)
            kept = self.found.client.persist([p for name in names for p in parts[name]])
            n = len(parts["X"])
            parts = {name: kept[i * n : (i + 1) * n] for i, name in enumerate(names)}
        return parts

    def _can_stay(self) -> bool:
        """Say whether the prepared rows leave the workers room enough to learn."""
        width = self.preparation.transform(self.sample[:1]).shape[1]
        info = self.found.client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [worker["memory_limit"] for worker in info]
        if not all(limits):
            return False
        return 8.0 * self.found.n_rows * (width + len(self.found.classes)) < KEPT * sum(limits)

    def fit(self, method: Method) -> DecisionModel:
        """Return a method, fitted on the rows to learn from."""
        reason = self.why_not(method)
        if reason:
            raise UnfitMethodError(
                f"{method.title} ({method.name}) cannot be fitted on a cluster: {reason}."
            )
        estimator = method.make(self.setting)
        estimator.fit(**self.rows)
        sample, choices = self.sample, self.setting.choices
        return DecisionModel(
            method=method.name,
            kind=self.kind,
            estimator=estimator,
            policy=policy_of(
                estimator,
                self.found.classes,
                estimator.cost_matrix_,
                self.found.counts,
                None if choices is None else choices.labels,
            ),
            preparation=self.preparation,
            columns=[str(c) for c in sample.columns] if is_frame(sample) else None,
            n_training=self.found.n_rows,
        )


def look_at_cluster(
    X: Any, y: Any, cost_matrix: Any, costs: Any, cost_tensor: Any, **how: Any
) -> Cluster:
    """Return Dask collections as rows on a cluster; prices are given in one way."""
    given = {"cost_matrix": cost_matrix, "costs": costs, "cost_tensor": cost_tensor}
    several = [name for name, value in given.items() if value is not None]
    if len(several) > 1:
        raise ValueError(f"Give either {' or '.join(several)}, not both.")
    client = find_client("Comparing or fitting methods on Dask collections")
    found = survey(client, Partitions(X=X, y=y, costs=costs, cost_tensor=cost_tensor))
    return Cluster(found, cost_matrix, **how)


def fit_on_cluster(
    X: Any,
    y: Any,
    method: Any,
    cost_matrix: Any,
    costs: Any,
    cost_tensor: Any,
    random_state: int,
    fast: bool,
) -> DecisionModel:
    """Fit one method on all rows of Dask collections; see `stakes.compare.fit_model`."""
    if not isinstance(method, str):
        raise TypeError("On Dask collections a method is named; fit an estimator of yours itself.")
    how = {"random_state": random_state, "fast": fast, "tested": False}
    cluster = look_at_cluster(X, y, cost_matrix, costs, cost_tensor, **how)
    model = cluster.fit(find_method(method))
    model.quantiles = column_quantiles(cluster.sample)
    if is_frame(cluster.sample):
        model.profiles = profile_columns(cluster.sample)
    return model


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


def cluster_units(cluster: Cluster, methods: dict[str, Method], limited: str) -> list[list[Run]]:
    """Return the runs of a comparison on a cluster."""
    import dask.base

    token = dask.base.tokenize(*cluster.found.data.collections.values())
    task = f"data-{cluster.problem.fingerprint()}-{token[:10]}"
    quick = "-fast" if cluster.fast else ""
    protocol = f"cluster-{cluster.found.n_rows}-XGBoost-{versions_key()}-2{quick}{limited}"
    return [[Run(task, protocol, 0, name, cluster.random_state)] for name in methods]


def _prepare_part(preparation: TablePreparation, X: Any) -> Any:
    return preparation.transform(X)


def _name_costs(columns: list[int], coded: list, costs: Any) -> Any:
    """Return costs with the numbers that the learners here know classes and decisions by."""
    import pandas as pd

    return pd.DataFrame(np.asarray(as_frame(costs))[:, columns], columns=coded)


def _encode_part(classes: np.ndarray, y: Any) -> np.ndarray:
    return np.searchsorted(classes, one_column(y))
