"""What a model says of rows that it has not seen, with their truth: to know later how far to trust it."""

from typing import Any

import numpy as np
from sklearn.base import clone

from stakes._learning.folds import deal_folds, hold_out
from stakes._methods import Method, Setting
from stakes.auto import StakesClassifier
from stakes.compare._fitting import fit_method, make_setting
from stakes.compare._held_out import HeldOutRows, joined
from stakes.compare._model import DecisionModel
from stakes.compare._problem import Problem, make_problem
from stakes.compare._registry import all_methods, find_method, own_method
from stakes.compare.columns import column_names, column_values
from stakes.tables import column_histograms
from stakes.utils._frames import is_frame, is_sparse

# Up to so many rows each is held out once, by folds; beyond, a fifth of the rows is.
MAX_FOLDED, N_FOLDS, SHARE = 5000, 5, 0.2
MAX_ROWS = 5000  # that are kept


def add_reference(
    model: DecisionModel,
    X: Any,
    y: Any,
    *,
    cost_matrix: Any = None,
    costs: Any = None,
    cost_tensor: Any = None,
    random_state: int = 0,
    n_jobs: int = 1,
    fast: bool = False,
    time_limit: float | None = None,
) -> DecisionModel:
    """Keep in a model what it says of rows that it has not seen, for `stakes.monitor`.

    At most 5,000 rows are kept, as probabilities, classes and histograms of the columns, not
    themselves. The default method has such probabilities from fitting; any other is fitted again
    for each of five folds or, beyond 5,000 rows, once without a fifth of them.

    Parameters
    ----------
    model : DecisionModel
        Of `fit_model`.
    X, y, cost_matrix, costs, cost_tensor, random_state, n_jobs, fast, time_limit
        As they were given to `fit_model`.

    Returns
    -------
    model : DecisionModel
        The same.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stakes.compare import add_reference, fit_model
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = add_reference(fit_model(X, y, "mec"), X, y)
    >>> model.reference.proba.shape
    (150, 3)
    """
    problem = make_problem(X, y, cost_matrix=cost_matrix, costs=costs, cost_tensor=cost_tensor)
    if is_frame(problem.X):
        names = map(str, problem.X.columns)
        problem.left_out = tuple(c for c in names if c not in (model.columns or ()))
    if model.method in all_methods():
        method = find_method(model.method)
    else:
        method = own_method(model.method, clone(model.estimator), problem.classes)
    how: dict[str, Any] = {"random_state": random_state, "n_jobs": n_jobs, "fast": fast}
    setting = make_setting(problem, **how, time_limit=time_limit)
    model.reference = make_reference(model, method, problem, setting)
    return model


def make_reference(
    model: DecisionModel, method: Method, problem: Problem, setting: Setting
) -> HeldOutRows:
    """Return what a model says of held-out rows.

    A method that keeps such probabilities of its own is asked for them; any other is fitted once
    more for each of five folds, or, where there are more than 5,000 rows, once without a fifth of
    them.
    """
    counts = np.bincount(problem.y, minlength=problem.n_classes)
    whole = {"frequencies": counts / counts.sum(), "columns": _columns(problem.features)}
    kept = _kept(model, problem, whole)
    if kept is None:
        # One that holds out rows itself takes some dozens of fits: once more is enough.
        own = isinstance(model.estimator, StakesClassifier)
        folded = problem.n_samples <= MAX_FOLDED and not own
        kept = _held_out(method, problem, setting, folded, whole)
    n = len(kept.y)
    return kept.take(np.linspace(0, n - 1, min(n, MAX_ROWS)).round().astype(int))


def _kept(model: DecisionModel, problem: Problem, whole: dict) -> HeldOutRows | None:
    """Return what the estimator itself has kept of held-out rows, where it has."""
    estimator = model.estimator
    if not isinstance(estimator, StakesClassifier) or problem.costs.kind == "hindsight":
        return None  # in hindsight it expects costs, not probabilities
    proba = np.asarray(estimator.held_out_proba_, dtype=np.float64)
    costs = problem.costs.take(estimator.held_out_rows_)
    decisions = estimator.decide_probabilities(proba, costs.tensor)
    return _rows(costs, decisions, proba, None, None, whole)


def _held_out(
    method: Method, problem: Problem, setting: Setting, folded: bool, whole: dict
) -> HeldOutRows:
    seed = setting.random_state
    if folded:
        folds = deal_folds(problem.y, N_FOLDS, seed)
    else:
        folds = np.where(hold_out(problem.y, SHARE, seed, at_least=1), 0, -1)
    parts = []
    for fold in range(folds.max() + 1):
        test = np.flatnonzero(folds == fold)
        model, _ = fit_method(method, problem.take(np.flatnonzero(folds != fold)), setting)
        part = problem.take(test)
        prepared, tensor = model.prepare(part.X), part.costs.tensor
        said = model.say(prepared, tensor, proba=True)
        decided = model.settle(said, prepared, tensor)
        proba = model.stated(said)
        # Of costs that are known in hindsight, or learned, nothing else says what is expected.
        keeps = part.costs.kind == "hindsight" or proba is None
        given = part.costs, decided.positions, proba, decided.expected if keeps else None, fold
        parts.append(_rows(*given, whole))
    return joined(parts)


def _rows(
    costs: Any, decisions: np.ndarray, proba: Any, expected: Any, fold: int | None, whole: dict
) -> HeldOutRows:
    return HeldOutRows(
        y=costs.y.astype(np.int32),
        decisions=decisions.astype(np.int32),
        proba=None if proba is None else proba.astype(np.float32),
        expected=expected,
        cost_tensor=costs.tensor,
        costs=costs.table if costs.kind == "hindsight" else None,
        fold=None if fold is None else np.full(len(costs.y), fold, dtype=np.int32),
        **whole,
    )


def _columns(X: Any) -> list[dict]:
    import pandas as pd

    if is_sparse(X):
        return []
    rows = np.arange(X.shape[0])
    names = column_names(X)
    columns = [column_values(X, c, rows) for c in range(len(names))]
    return column_histograms(pd.concat(columns, axis=1, keys=names))
