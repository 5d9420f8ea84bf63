"""A model that decides: one method, fitted, with its preparation. `compare` and `fit` make it here."""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.pipeline import Pipeline

from stakes._methods import Method, Setting
from stakes.compare._plain import Cache, CachedModel, plain_model
from stakes.compare._prepare import TablePreparation, columns_by_name
from stakes.compare._problem import Problem, make_problem
from stakes.compare._registry import find_method, own_method
from stakes.costs import Costs
from stakes.utils._pipelines import last_step, takes


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

    def predict(self, X: Any, *, cost_tensor: Any = None) -> np.ndarray:
        """Return the decision for each row, as class labels."""
        return np.asarray(self.classes)[self.positions(self.prepare(X), cost_tensor)]

    def decide(self, X: Any, *, cost_tensor: Any = None) -> Any:
        """Return for each row the decision and, where the method knows it, what it will cost.

        Parameters
        ----------
        X : DataFrame or array-like
            As in `fit_model`; columns are found by name.
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            The prices of these rows, where they are known when deciding.

        Returns
        -------
        table : DataFrame
            The column `decision`; and where the method has expected costs, `expected_cost`,
            `next_best` and `next_best_cost`.
        """
        import pandas as pd

        prepared = self.prepare(X)
        decisions = self.positions(prepared, cost_tensor)
        labels = np.asarray(self.classes)
        table = pd.DataFrame({"decision": labels[decisions]})
        expected = self._expected_costs(prepared, cost_tensor)
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

    def prepare(self, X: Any) -> Any:
        """Return new rows in the form in which the estimator takes them."""
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
        return proba

    def _expected_costs(self, prepared: Any, cost_tensor: Any) -> np.ndarray | None:
        if not hasattr(last_step(self.estimator)[0], "expected_costs"):
            return None
        last, X = last_step(self.estimator, prepared)
        known = {} if cost_tensor is None else {"cost_tensor": cost_tensor}
        return np.asarray(last.expected_costs(X, **known), dtype=float)

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
    cache: Cache | None = None,
) -> Setting:
    """Return what methods may want to know of a problem.

    With a `cache`, methods that wrap the plain model share its fits.
    """

    def plain() -> Any:
        model = plain_model(random_state=random_state, n_jobs=n_jobs, n_samples=problem.n_samples)
        return model if cache is None else CachedModel(model, cache)

    return Setting(
        n_classes=problem.n_classes,
        n_samples=problem.n_samples,
        smallest_class=int(np.bincount(problem.y, minlength=problem.n_classes).min()),
        plain_model=plain,
        cost_matrix=problem.costs.matrix,
        random_state=random_state,
        n_jobs=n_jobs,
        fast=fast,
    )


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
        raise ValueError(f"{method.title} ({method.name}) cannot be fitted here: {unfit}.")
    preparation, table = None, problem.X
    if not method.takes_tables:
        if prepared is None:
            preparation = TablePreparation()
            prepared = preparation, preparation.fit_transform(problem.X)
        preparation, table = prepared
    estimator = method.make(setting)
    start = time.perf_counter()
    with config_context(enable_metadata_routing=False):
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


def fit_model(
    X: Any,
    y: Any,
    method: Any = "stakes",
    *,
    cost_matrix: Any = None,
    costs: Any = None,
    cost_tensor: Any = None,
    random_state: int = 0,
    n_jobs: int = 1,
    fast: bool = False,
) -> DecisionModel:
    """Fit one method of `compare` on all rows.

    Parameters
    ----------
    X, y, cost_matrix, costs, cost_tensor
        As in `stakes.compare.compare`.
    method : str or estimator, default="stakes"
        A name of `list_methods`, or an estimator.
    random_state : int, default=0
        Seed.
    n_jobs : int, default=1
        Cores that the method may use.
    fast : bool, default=False
        Learn rules on one held-out quarter instead of inner folds, as ``compare(fast=True)``.

    Returns
    -------
    model : DecisionModel
        Takes the table as it is, and says what to decide.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stakes.compare import fit_model
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> C = [[0, 1, 1], [1, 0, 1], [20, 20, 0]]
    >>> model = fit_model(X, y, "mec", cost_matrix=C)
    >>> model.decide(X.iloc[[0, 149]])["decision"].tolist()
    [0, 2]
    """
    problem = make_problem(X, y, cost_matrix=cost_matrix, costs=costs, cost_tensor=cost_tensor)
    if isinstance(method, str):
        found = find_method(method)
    else:
        found = own_method(type(method).__name__, method, problem.classes)
    setting = make_setting(problem, random_state=random_state, n_jobs=n_jobs, fast=fast)
    return fit_method(found, problem, setting)[0]
