"""A model that decides: one method, fitted on all rows, with its preparation and prices."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline

from stakes.compare._methods import Method, Setting, find_method, plain_model
from stakes.compare._prepare import TablePreparation, columns_by_name
from stakes.compare._problem import Problem, make_problem
from stakes.compare._work import INNER_FOLDS, _takes, fit_costs, with_costs

# The rules of `stakes.decision` by the names that `CostDecisionClassifier` knows.
RULE_NAMES = {
    "MinimumExpectedCost": "minimum_expected_cost",
    "BinaryThreshold": "binary_threshold",
    "ClassThresholds": "class_thresholds",
    "ParallelPartition": "parallel_partition",
    "ColumnPartition": "column_partition",
    "RowPartition": "row_partition",
    "FullPartition": "full_partition",
    "LachicheFlach": "lachiche_flach",
    "Mossman": "mossman",
}


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
    situation : {"A", "B1", "B2"}
        Which prices it was fitted with.
    cost_matrix : ndarray of shape (n_classes, n_classes)
        The prices, or their averages by true class.
    info : dict
        Whatever the maker wants to keep: target, currency, where prices come from.
    """

    method: str
    classes: list
    situation: str
    cost_matrix: np.ndarray
    estimator: Any
    preparation: TablePreparation | None = None
    # Probabilities for the expected costs, where the method itself has none.
    adviser: Any = None
    columns: list[str] | None = None
    info: dict = field(default_factory=dict)

    def predict(self, X: Any, *, cost_tensor: Any = None) -> np.ndarray:
        """Return the decision for each row, as class labels."""
        return np.asarray(self.classes)[self._decide(self._prepared(X), cost_tensor)]

    def decide(self, X: Any, *, cost_tensor: Any = None) -> Any:
        """Return for each row the decision, its expected cost, and the next best.

        Parameters
        ----------
        X : DataFrame or array-like
            As in `fit_model`; columns are found by name.
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            The prices of these rows, where they are known when deciding.

        Returns
        -------
        table : DataFrame
            Columns `decision`, `expected_cost`, `next_best`, `next_best_cost`.
        """
        import pandas as pd

        prepared = self._prepared(X)
        decisions = self._decide(prepared, cost_tensor)
        expected = self._expected(prepared, cost_tensor)
        rows = np.arange(len(decisions))
        others = expected.copy()
        others[rows, decisions] = np.inf
        second = others.argmin(axis=1)
        labels = np.asarray(self.classes)
        return pd.DataFrame(
            {
                "decision": labels[decisions],
                "expected_cost": expected[rows, decisions],
                "next_best": labels[second],
                "next_best_cost": expected[rows, second],
            }
        )

    def _prepared(self, X: Any) -> Any:
        if self.preparation is not None:
            return self.preparation.transform(X)
        return X if self.columns is None else columns_by_name(X, self.columns)

    def _decide(self, X: Any, cost_tensor: Any) -> np.ndarray:
        known = {}
        if cost_tensor is not None and _takes(self.estimator, "predict", "cost_tensor"):
            known = {"cost_tensor": cost_tensor}
        return np.asarray(self.estimator.predict(X, **known)).astype(np.intp)

    def _expected(self, X: Any, cost_tensor: Any) -> np.ndarray:
        source = self.estimator if self.adviser is None else self.adviser
        if isinstance(source, Pipeline):
            X, source = source[:-1].transform(X), source[-1]
        if hasattr(source, "expected_costs"):
            known = {}
            if cost_tensor is not None and _takes(source, "expected_costs", "cost_tensor"):
                known = {"cost_tensor": cost_tensor}
            return np.asarray(source.expected_costs(X, **known), dtype=float)
        proba = np.zeros((len(X), len(self.classes)))
        proba[:, source.classes_] = source.predict_proba(X)
        if cost_tensor is not None:
            return np.einsum("nt,ntd->nd", proba, cost_tensor)
        return proba @ self.cost_matrix


def fit_model(
    X: Any,
    y: Any,
    method: Any = "stakes",
    *,
    cost_matrix: Any = None,
    costs: Any = None,
    cost_tensor: Any = None,
    random_state: int = 0,
    threads: int = 1,
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
    threads : int, default=1
        Threads for each model.

    Returns
    -------
    model : DecisionModel
        A method without expected costs of its own is given a calibrated plain model as
        its adviser: it decides nothing, it only says what decisions are expected to cost.

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
    named = find_method(method) if isinstance(method, str) else None
    setting = Setting(
        n_classes=problem.n_classes,
        n_samples=problem.n_samples,
        cost_matrix=problem.matrix,
        random_state=random_state,
        threads=threads,
    )
    estimator = (
        with_costs(method, problem) if named is None else _estimator(named, setting, problem)
    )
    raw = (named is not None and named.takes_tables) or (
        named is None and isinstance(method, Pipeline)
    )
    preparation = None if raw else TablePreparation()
    table = problem.X if preparation is None else preparation.fit_transform(problem.X)
    rows = np.arange(problem.n_samples)
    estimator.fit(table, problem.y, **fit_costs(estimator, problem, rows))
    model = DecisionModel(
        method=method if isinstance(method, str) else type(method).__name__,
        classes=problem.classes.tolist(),
        situation=problem.situation,
        cost_matrix=problem.class_matrix(),
        estimator=estimator,
        preparation=preparation,
        columns=[str(c) for c in problem.X.columns] if hasattr(problem.X, "columns") else None,
    )
    speaks = hasattr(estimator, "expected_costs") or (
        named is not None and (named.name == "constant" or named.rule == "argmax")
    )
    if not speaks:
        adviser = _estimator(find_method("calibrated"), setting, problem)
        if preparation is None:
            adviser = make_pipeline(TablePreparation(), adviser)
        model.adviser = adviser.fit(table, problem.y, **fit_costs(adviser, problem, rows))
    return model


def _estimator(method: Method, setting: Setting, problem: Problem) -> Any:
    if method.make is not None:
        return method.make(setting)
    if method.rule is None:
        best = int(problem.cost_rows().mean(axis=0).argmin())
        return ConstantDecision(best, problem.class_matrix(), np.bincount(problem.y))
    if method.rule == "argmax":
        return plain_model(setting)
    from stakes.decision import CostDecisionClassifier

    folds = int(min(INNER_FOLDS, np.bincount(problem.y).min()))
    if method.learns_rule and folds < 2:
        raise ValueError("A class has a single example: no probabilities can be held out.")
    return CostDecisionClassifier(
        plain_model(setting),
        cost_matrix=setting.cost_matrix,
        rule=RULE_NAMES[method.rule],
        calibration=method.calibration,
        cv=StratifiedKFold(max(2, folds), shuffle=True, random_state=setting.random_state),
    )


class ConstantDecision(DummyClassifier):
    """The best single decision, with the expected cost of every other."""

    def __init__(self, decision=0, cost_matrix=None, counts=None):
        super().__init__(strategy="constant", constant=decision)
        self.decision = decision
        self.cost_matrix = cost_matrix
        self.counts = counts

    def expected_costs(self, X):
        """Return the mean cost of each decision, the same for every row."""
        return np.tile(self.counts / self.counts.sum() @ self.cost_matrix, (len(X), 1))
