"""A model that decides: one method, fitted, with its preparation. `compare` and `fit` make it here."""

import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.pipeline import Pipeline

from stakes._learning.votes import expected_rows
from stakes._methods import Method, Setting
from stakes.compare._plain import Cache, CachedModel, plain_model
from stakes.compare._prepare import TablePreparation
from stakes.compare._problem import Problem
from stakes.compare.runner import one_sentence
from stakes.costs import KINDS, Costs, CostWarning, UncertainCostMatrix
from stakes.decision import CapacityPlan, PriorShift, decide_within
from stakes.decision._shift import (
    check_priors,
    class_moments,
    estimate_from_moments,
    prior_factors,
    reweighted,
    shift_in_words,
)
from stakes.tables import (
    ColumnProfile,
    Finding,
    find_differences,
    new_values,
)
from stakes.utils._arrays import columns_by_name, is_table
from stakes.utils._frames import as_frame, index_of, is_frame, numbers_of
from stakes.utils._labels import abstain_label
from stakes.utils._pipelines import last_step, takes

# The percentiles of columns are taken of about so many rows.
QUANTILE_ROWS = 10_000


def is_reference(found: Any, n_classes: int) -> bool:
    """Return whether this is what `make_reference` makes, for so many classes."""
    if not isinstance(found, dict) or not isinstance(found.get("y"), np.ndarray):
        return False
    m = len(found["y"])
    parts = {
        "y": (np.int32, (m,)),
        "decisions": (np.int32, (m,)),
        "proba": (np.float32, (m, n_classes)),
        "expected": (np.float64, (m, n_classes)),
        "costs": (np.float64, (m, n_classes)),
        "cost_tensor": (np.float64, (m, n_classes, n_classes)),
        "frequencies": (np.float64, (n_classes,)),
        "fold": (np.int32, (m,)),
    }
    optional = ("proba", "expected", "costs", "cost_tensor", "fold")
    return (
        {*parts, "columns"} == found.keys()
        and isinstance(found["columns"], str)
        and all(
            (name in optional and found[name] is None) or is_table(found[name], *how)
            for name, how in parts.items()
        )
        and all(
            ((found[name] >= 0) & (found[name] < n_classes)).all() for name in ("y", "decisions")
        )
    )


# How the reason begins why a method is left out of a comparison under limits.
NO_LIMITS = "it cannot keep to limits"


@dataclass
class DecisionModel:
    """A fitted method that takes the table as it is and says what to decide.

    Made by `fit_model`; saved and loaded by `save_model` and `load_model`.

    Attributes
    ----------
    method : str
        The method's name.
    classes : list
        The class labels.
    kind : {"class", "deciding", "hindsight"}
        Which kind of costs it was fitted with; see `stakes.costs.KINDS`.
    cost_matrix : ndarray of shape (n_classes, n_classes)
        The prices, or their averages by true class.
    estimator : estimator
        Fitted on the prepared table.
    preparation : TablePreparation or None
        None where the estimator takes the table as it is.
    columns : list of str or None
        The columns of the table.
    takes_labels : bool
        Whether the estimator knows the class labels, and not their positions.
    info : dict
        Whatever the maker wants to keep: target, currency, where prices come from.
    profiles : list of ColumnProfile
        What the columns of the table were like; see `differences`.
    reference : dict or None
        What it says of rows that it has not seen, with their truth; see `add_reference`.
    source : str or None
        The file that it was read from.
    quantiles : dict of str to list of float, or None
        The percentiles of each column of numbers in training: what an export is tried on.
    class_counts : list of int or None
        How many rows of each class it was fitted on.
    capacity : dict or None
        Limits of decisions, as in `stakes.decision.decide_within`: rows are then decided together.
    priors : list of float or None
        The class frequencies in force where they are not those of training; see `adapt`.
    adapted : dict or None
        Where it was adapted: `before`, the class frequencies that it was fitted for, and
        `estimated`, whether those in force were estimated from rows without truth.
    """

    method: str
    classes: list
    kind: str
    cost_matrix: np.ndarray
    estimator: Any
    preparation: TablePreparation | None = None
    columns: list[str] | None = None
    takes_labels: bool = False
    info: dict = field(default_factory=dict)
    profiles: list[ColumnProfile] = field(default_factory=list)
    reference: dict | None = None
    source: str | None = None
    quantiles: dict | None = None
    class_counts: list | None = None
    capacity: dict | None = None
    priors: list | None = None
    adapted: dict | None = None

    def check(self) -> None:
        """Refuse a model, read from a file, whose parts do not belong together."""
        n_classes = len(self.classes)
        holds = (
            isinstance(self.classes, list)
            and n_classes > 1
            and isinstance(self.method, str)
            and self.kind in KINDS
            and isinstance(self.info, dict)
            and isinstance(self.takes_labels, bool)
            and (self.quantiles is None or isinstance(self.quantiles, dict))
            and all(isinstance(profile, ColumnProfile) for profile in self.profiles)
            and (self.preparation is None or isinstance(self.preparation, TablePreparation))
            and (self.columns is None or isinstance(self.columns, list))
            and hasattr(self.estimator, "predict")
            and is_table(self.cost_matrix, np.float64, (n_classes, n_classes))
            and np.isfinite(self.cost_matrix).all()
            and len(self.estimator.classes_) == n_classes
            and (self.reference is None or is_reference(self.reference, n_classes))
            and (self.capacity is None or isinstance(self.capacity, dict))
            and (self.adapted is None or {"before", "estimated"} == self.adapted.keys())
            and all(
                part is None or (isinstance(part, list) and len(part) == n_classes)
                for part in (self.class_counts, self.priors, (self.adapted or {}).get("before"))
            )
        )
        if not holds:
            raise ValueError("its classes, costs and estimator do not belong together")

    def predict(self, X: Any, *, cost_tensor: Any = None) -> np.ndarray:
        """Return the decision for each row, as class labels."""
        with self._named():
            self._warn_of_new_values(X)
            return np.asarray(self.classes)[self.positions(self.prepare(X), cost_tensor)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes, (n_samples, n_classes)."""
        with self._named():
            proba = self.proba(self.prepare(X))
        if proba is None:
            raise AttributeError(f"The method {self.method!r} gives no probabilities.")
        return proba

    def decide(self, X: Any, *, cost_tensor: Any = None, abstain_cost: float | None = None) -> Any:
        """Return for each row the decision and, where the method knows it, what it will cost.

        Parameters
        ----------
        X : DataFrame or array-like
            As in `fit_model`; columns are found by name.
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            The prices of these rows, where they are known when deciding.
        abstain_cost : float, default=None
            What it costs to leave a row to somebody else: "abstain" (-1 among numbers) is then
            decided where it is expected to cost less, and may have a limit in `capacity`.

        Returns
        -------
        table : DataFrame
            The column `decision`; and where the method decides what is expected to cost least,
            `expected_cost`, `next_best` and `next_best_cost`. With a `capacity` the next best may
            cost less: it was full. The index is that of X where X is a DataFrame of pandas.
        """
        with self._named():
            self._warn_of_new_values(X)
            return self._decide(X, cost_tensor, abstain_cost)

    def differences(self, X: Any, known: Iterable[str] = ()) -> list[Finding]:
        """Return in what a table differs from the one that the model was fitted on.

        Columns that are missing, new or of another kind, values that were not there, values outside
        the range, columns whose values lie elsewhere now; see `stakes.tables.find_differences`.

        Parameters
        ----------
        X : DataFrame
            A new table.
        known : iterable of str
            More columns that are not new.
        """
        X = as_frame(X)
        return find_differences(X, self.profiles, known) if is_frame(X) else []

    def _warn_of_new_values(self, X: Any) -> None:
        X = as_frame(X)
        for profile in self.profiles:
            if profile.values and is_frame(X) and profile.name in X.columns:
                finding = new_values(profile, X[profile.name])
                if finding is not None:
                    warnings.warn(str(finding), UserWarning, stacklevel=3)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Say of which file a model was read that cannot decide: it may hold anything."""
        try:
            yield
        except (ImportError, ValueError):
            raise
        except Exception as error:
            if self.source is None:
                raise
            raise ValueError(
                f"The model in {self.source} cannot decide these rows: {one_sentence(error)}"
            ) from error

    def _decide(self, X: Any, cost_tensor: Any, abstain_cost: float | None) -> Any:
        import pandas as pd

        prepared = self.prepare(X)
        if abstain_cost is None:
            decisions = self.positions(prepared, cost_tensor)
            expected = self.expected_costs(prepared, cost_tensor)
        else:
            decisions, expected = self._or_abstain(prepared, cost_tensor, abstain_cost)
        labels = np.asarray(self.decisions(abstain_cost))
        table = pd.DataFrame({"decision": labels[decisions]}, index=index_of(X))
        if expected is None:
            return table
        rows = np.arange(len(decisions))
        others = expected.copy()
        others[rows, decisions] = np.inf
        second = others.argmin(axis=1)
        return table.assign(
            expected_cost=expected[rows, decisions],
            next_best=labels[second],
            next_best_cost=expected[rows, second],
        )

    def decisions(self, abstain_cost: float | None = None) -> list:
        """Return the labels of what can be decided: the classes, and abstaining at a price."""
        return self.classes + ([] if abstain_cost is None else [abstain_label(self.classes)])

    def _or_abstain(
        self, prepared: Any, cost_tensor: Any, abstain_cost: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return decisions and expected costs with abstaining as one more decision, the last."""
        if not np.isfinite(abstain_cost):
            raise ValueError(f"abstain_cost={abstain_cost!r} must be a finite number.")
        if self.capacity is not None:
            plan, expected = self._plan(prepared, cost_tensor, abstain_cost)
            return plan.decisions, expected
        decided = self.positions(prepared, cost_tensor)
        expected = self._with_abstaining(self.expected_costs(prepared, cost_tensor), abstain_cost)
        leaves = expected[np.arange(len(decided)), decided] > abstain_cost
        return np.where(leaves, len(self.classes), decided), expected

    def _with_abstaining(self, expected: np.ndarray | None, abstain_cost: float) -> np.ndarray:
        if expected is None:
            raise ValueError(
                f"{self.method} does not decide by expected costs, so that it cannot abstain at a "
                "price: fit a method that does, such as mec or stakes."
            )
        return np.column_stack([expected, np.full(len(expected), float(abstain_cost))])

    def prepare(self, X: Any) -> Any:
        """Return new rows in the form in which the estimator takes them."""
        X = as_frame(X)
        if self.preparation is not None:
            return self.preparation.transform(X)
        return X if self.columns is None else columns_by_name(X, self.columns)

    def positions(self, prepared: Any, cost_tensor: Any = None) -> np.ndarray:
        """Return the decisions on prepared rows, as positions in `classes`."""
        if self.kind == "deciding" and cost_tensor is None:
            raise ValueError(
                "The model was fitted with costs known when deciding: give the cost_tensor of "
                "these rows."
            )
        if self.capacity is not None:
            return self._plan(prepared, cost_tensor)[0].decisions
        if self.priors is not None:
            return self.expected_costs(prepared, cost_tensor).argmin(axis=1)  # type: ignore[union-attr]
        return self._freely(prepared, cost_tensor)

    def _freely(self, prepared: Any, cost_tensor: Any) -> np.ndarray:
        """Return the decisions of the estimator itself, as positions in `classes`."""
        weighs = cost_tensor is not None and takes(self.estimator, "predict", "cost_tensor")
        known = {"cost_tensor": cost_tensor} if weighs else {}
        with config_context(enable_metadata_routing=False):
            return self._as_positions(self.estimator.predict(prepared, **known))

    def proba(self, prepared: Any) -> np.ndarray | None:
        """Return the probabilities of the classes on prepared rows, where the method has any."""
        if not hasattr(self.estimator, "predict_proba"):
            return None
        found = np.asarray(self.estimator.predict_proba(prepared), dtype=np.float64)
        proba = np.zeros((len(found), len(self.classes)))
        proba[:, self._as_positions(self.estimator.classes_)] = found
        if self.priors is None:
            return proba
        old = np.array(self.class_counts, dtype=float)
        return reweighted(proba, prior_factors(np.array(self.priors), old / old.sum()))

    def expected_costs(self, prepared: Any, cost_tensor: Any) -> np.ndarray | None:
        """Return the costs at which the decisions were taken; None where they were not by costs."""
        if self.priors is not None:
            return expected_rows(
                self.proba(prepared),  # type: ignore[arg-type]
                self.cost_matrix if cost_tensor is None else np.asarray(cost_tensor),
            )
        by_costs = getattr(last_step(self.estimator)[0], "_decides_by_expected_costs", None)
        if by_costs is None or not by_costs(cost_tensor):
            return None
        last, X = last_step(self.estimator, prepared)
        known = {} if cost_tensor is None else {"cost_tensor": cost_tensor}
        return np.asarray(last.expected_costs(X, **known), dtype=float)

    # -- in the world --------------------------------------------------------------------------

    def plan(
        self,
        X: Any,
        capacity: dict | None = None,
        *,
        cost_tensor: Any = None,
        abstain_cost: float | None = None,
    ) -> CapacityPlan:
        """Return the decisions on these rows within limits, and what the limits cost.

        Parameters
        ----------
        X, cost_tensor, abstain_cost
            As in `decide`; the rows are one batch.
        capacity : dict, default=None
            Limits by decision, as in `stakes.decision.decide_within`; None is the model's own.

        Returns
        -------
        plan : CapacityPlan
            Its `decisions` are positions in `decisions`; its `shadow_prices` say what one place
            more of each decision would be worth.
        """
        with self._named():
            model = self if capacity is None else replace(self, capacity=capacity)
            if model.capacity is None:
                raise ValueError("The model has no capacity: say which decisions are limited.")
            return model._plan(model.prepare(X), cost_tensor, abstain_cost)[0]

    def _plan(
        self, prepared: Any, cost_tensor: Any, abstain_cost: float | None = None
    ) -> tuple[CapacityPlan, np.ndarray]:
        """Return the plan, and the costs that it was made by."""
        costs = self.expected_costs(prepared, cost_tensor)
        if abstain_cost is not None:
            costs = self._with_abstaining(costs, abstain_cost)
        elif costs is None:
            costs = self._partition_costs(prepared, cost_tensor)
        return decide_within(costs, self.capacity, labels=self.decisions(abstain_cost)), costs

    def _partition_costs(self, prepared: Any, cost_tensor: Any) -> np.ndarray:
        """Return the costs that a rule puts in the place of the prices, if it decides by them."""
        partition = getattr(getattr(self.estimator, "rule_", None), "partition_", None)
        proba = self.proba(prepared)
        if partition is not None and proba is not None:
            costs = expected_rows(proba, np.asarray(partition, dtype=float))
            if (costs.argmin(axis=1) == self._freely(prepared, cost_tensor)).mean() > 0.999:
                return costs
        raise ValueError(f"{NO_LIMITS}: {self.method} does not decide by expected costs.")

    def adapt(self, X: Any, *, priors: Any = None, method: str = "em") -> "DecisionModel":
        """Return a model for a population of other class frequencies; nothing is fitted again.

        As `stakes.decision.CostDecisionClassifier.adapt`, for every method that weighs
        probabilities with prices. Where it is not clear that anything has shifted, the new model
        decides as this one.

        Parameters
        ----------
        X : DataFrame or array-like
            Rows of the new population, without their classes; None where `priors` are given.
        priors : dict or array-like of shape (n_classes,), default=None
            The new class frequencies, where they are known.
        method : {"em", "confusion"}, default="em"
            As in `stakes.decision.estimate_priors`.

        Returns
        -------
        model : DecisionModel
            With ``info["shift"]``, a sentence on what was found.
        """
        with self._named():
            return self._adapt(X, priors, method)

    def _adapt(self, X: Any, priors: Any, method: str) -> "DecisionModel":
        if self.class_counts is None:
            raise ValueError("The model does not know its class frequencies: fit it again.")
        prepared = None if X is None else self.prepare(X)
        counts = np.array(self.class_counts)
        inside = getattr(self.estimator, "priors_", counts / counts.sum())
        old = np.array(inside if self.priors is None else self.priors)
        if priors is not None:
            new = check_priors(priors, self.classes)
            shift = PriorShift(new, new, new, old, 0.0, 0, "given")
        else:
            proba = self.proba(prepared)
            if proba is None:
                raise ValueError(f"{self.method} has no probabilities that could be adapted.")
            moments = self._moments() if self.adapted is None else None
            shift = estimate_from_moments(proba, old, method, moments, int(counts.sum()))
        before = old.tolist() if self.adapted is None else self.adapted["before"]
        model = replace(
            self,
            info={**self.info, "shift": shift_in_words(shift, self.classes)},
            adapted={"before": before, "estimated": priors is None},
        )
        if not shift.shifted:
            return model
        if hasattr(self.estimator, "adapt"):
            model.estimator = self.estimator.adapt(None, priors=shift.priors)
            return model
        model.priors = shift.priors.tolist()
        if prepared is not None:
            self._check_weighs(prepared)
        return model

    def proba_before(self, prepared: Any) -> np.ndarray | None:
        """Return the probabilities that the model stated before it was adapted."""
        if self.adapted is None:
            return self.proba(prepared)
        before = self.adapted["before"]
        if hasattr(self.estimator, "adapt"):
            return replace(self, estimator=self.estimator.adapt(None, priors=before)).proba(
                prepared
            )
        return replace(self, priors=None).proba(prepared)

    def _check_weighs(self, prepared: Any) -> None:
        """Refuse a method whose expected costs are not probabilities weighed with prices."""
        found, proba = self.expected_costs(prepared, None), self.proba(prepared)
        weighed = None if proba is None else expected_rows(proba, self.cost_matrix)
        if found is None or weighed is None or not np.allclose(found, weighed):
            raise ValueError(
                f"{self.method} learns what decisions cost, which does not follow class "
                "frequencies: fit again with rows of the new population."
            )

    def _moments(self) -> Any:
        """Return what held-out probabilities are like by true class, where they are known."""
        if self.reference is not None and self.reference.get("proba") is not None:
            proba = np.asarray(self.reference["proba"], dtype=float)
            return class_moments(proba, np.asarray(self.reference["y"]))
        return getattr(self.estimator, "held_out_", None)

    def _as_positions(self, labels: Any) -> np.ndarray:
        labels = np.asarray(labels)
        known = np.asarray(self.classes) if self.takes_labels else np.arange(len(self.classes))
        found = np.minimum(np.searchsorted(known, labels), len(known) - 1)
        if not (known[found] == labels).all():
            strange = labels[known[found] != labels][0]
            raise ValueError(f"The estimator decided {strange!r}, which is none of the classes.")
        return found


def make_setting(
    problem: Problem,
    *,
    random_state: int = 0,
    n_jobs: int = 1,
    fast: bool = False,
    time_limit: float | None = None,
    cache: Cache | None = None,
) -> Setting:
    """Return what methods may want to know of a problem.

    With a `cache`, methods that wrap the plain model share its fits.
    """
    doubt = problem.costs.doubt
    if doubt is not None and not doubt.is_box:  # a model file holds no distributions
        doubt = UncertainCostMatrix.from_samples(doubt.sample())

    def plain() -> Any:
        model = plain_model(random_state=random_state, n_jobs=n_jobs, n_samples=problem.n_samples)
        return model if cache is None else CachedModel(model, cache)

    return Setting(
        n_classes=problem.n_classes,
        n_samples=problem.n_samples,
        smallest_class=int(np.bincount(problem.y, minlength=problem.n_classes).min()),
        plain_model=plain,
        cost_matrix=problem.costs.matrix,
        doubt=doubt,
        random_state=random_state,
        n_jobs=n_jobs,
        fast=fast,
        time_limit=time_limit,
    )


class UnfitMethodError(ValueError):
    """A method is not for this problem or these costs, or a library that it needs is absent."""


def fit_method(
    method: Method, problem: Problem, setting: Setting, prepared: tuple | None = None
) -> tuple[DecisionModel, float]:
    """Fit a method to a problem; return the model and the seconds that fitting took.

    Parameters
    ----------
    method : Method
        Of the registry, or the user's.
    problem : Problem
        What to learn from.
    setting : Setting
        Of this problem.
    prepared : tuple of (TablePreparation, table), default=None
        The preparation fitted on ``problem.X`` and what it made of it, if already known.
    """
    unfit = method.unfit(setting, problem.costs.kind)
    if unfit:
        raise UnfitMethodError(f"{method.title} ({method.name}) cannot be fitted here: {unfit}.")
    preparation, table = None, problem.X
    if not method.takes_tables:
        if prepared is None:
            preparation = TablePreparation()
            prepared = preparation, preparation.fit_transform(problem.X)
        preparation, table = prepared
    estimator = method.make(setting)
    start = time.perf_counter()
    with config_context(enable_metadata_routing=False), warnings.catch_warnings():
        warnings.simplefilter("ignore", CostWarning)  # said once, where the costs came in
        estimator.fit(
            table,
            problem.classes[problem.y] if method.takes_labels else problem.y,
            **_fit_arguments(estimator, problem.costs),
        )
    seconds = time.perf_counter() - start
    columns = [str(c) for c in problem.X.columns] if hasattr(problem.X, "columns") else None
    model = DecisionModel(
        method=method.name,
        classes=problem.classes.tolist(),
        kind=problem.costs.kind,
        cost_matrix=problem.costs.class_matrix(),
        estimator=estimator,
        preparation=preparation,
        columns=columns,
        takes_labels=method.takes_labels,
        class_counts=np.bincount(problem.y, minlength=problem.n_classes).tolist(),
    )
    return model, seconds


def _fit_arguments(estimator: Any, costs: Costs) -> dict:
    """Return the keyword arguments that bring example costs into this estimator's `fit`."""
    given = costs.fit_arguments()
    if not all(takes(estimator, "fit", name) for name in given):
        hindsight = given and takes(estimator, "fit", "costs")
        given = {"costs": costs.table} if hindsight else {}
    if isinstance(estimator, Pipeline):
        return {f"{estimator.steps[-1][0]}__{name}": value for name, value in given.items()}
    return given


def column_quantiles(X: Any) -> dict[str, list[float]]:
    """Return the percentiles 1 to 99 of each column of numbers, by its name or position.

    They say what rows look like without being any; of more than 10,000 rows, every so many counts.

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.compare._model import column_quantiles
    >>> found = column_quantiles(pd.DataFrame({"age": range(101), "job": ["cook"] * 101}))
    >>> list(found), found["age"][0], found["age"][-1]
    (['age'], 1.0, 99.0)
    """
    if hasattr(X, "tocsr"):
        return {}
    step = max(1, len(X) // QUANTILE_ROWS)
    some = X[::step]
    if hasattr(X, "columns"):
        columns = {str(c): some.iloc[:, i] for i, c in enumerate(X.columns)}
    else:
        columns = {str(i): column for i, column in enumerate(np.asarray(some).T)}
    found = {}
    for name, column in columns.items():
        if getattr(column.dtype, "kind", "O") in "fiub":
            values = numbers_of(column) if hasattr(column, "iloc") else column.astype(np.float64)
            values = values[np.isfinite(values)]
            if len(values):
                found[name] = np.quantile(values, np.arange(1, 100) / 100.0).tolist()
    return found
