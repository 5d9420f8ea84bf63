"""What one fold of a comparison does: prepare once, fit the plain model once, decide often."""

import importlib
import inspect
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline

from stakes.compare._methods import Method, Setting, plain_model
from stakes.compare._prepare import TablePreparation
from stakes.compare._problem import Problem, take_rows
from stakes.compare._store import Predictions, Run
from stakes.costs import CostMatrix

INNER_FOLDS = 5
INNER_HOLDOUT = 0.25


@dataclass
class FoldWork:
    """The work of a comparison, one call per unit; it travels to joblib's workers.

    Parameters
    ----------
    problem : Problem
        Data and costs.
    splits : list of (train, test)
        Row numbers.
    methods : dict
        Name to `Method`, or to an estimator of the user's.
    random_state : int
        Seed of the methods and of the inner splits.
    threads : int
        Threads for each model.
    fast : bool
        Learn rules on one held-out quarter instead of inner folds.
    """

    problem: Problem
    splits: list
    methods: dict[str, Any]
    random_state: int = 0
    threads: int = 1
    fast: bool = False
    _cached: tuple = field(default=(None, None), repr=False)

    def __getstate__(self):
        return {**self.__dict__, "_cached": (None, None)}

    def __call__(self, unit: Sequence[Run]) -> Iterator[tuple[Run, Predictions | Exception]]:
        """Yield what each run of the unit predicts, or the exception that stopped it."""
        fold = Fold(self, unit[0].fold)
        model = None
        for run in unit:
            method = self.methods[run.method]
            try:
                if isinstance(method, Method) and method.on_probabilities:
                    model = model or ProbabilityModel(fold)
                    yield run, decide_by_rule(method, model)
                elif isinstance(method, Method) and method.make is None:
                    yield run, decide_constant(fold)
                else:
                    yield run, decide_by_learner(method, fold)
            except Exception as error:
                yield run, error

    def prepared(self, fold: int) -> tuple[Any, Any]:
        """Return the fold's training and test examples as numbers; the last one is kept."""
        if self._cached[0] != fold:
            self._cached = (None, None)
            train, test = self.splits[fold]
            preparation = TablePreparation()
            X_train = preparation.fit_transform(take_rows(self.problem.X, train))
            X_test = preparation.transform(take_rows(self.problem.X, test))
            self._cached = (fold, (X_train, X_test))
        return self._cached[1]


class Fold:
    """One split of the problem, as the methods see it."""

    def __init__(self, work: FoldWork, number: int):
        self.work = work
        self.number = number
        self.problem = work.problem
        self.train, self.test = work.splits[number]
        self.y = self.problem.y[self.train]

    def setting(self) -> Setting:
        """Return what a method may want to know."""
        return Setting(
            n_classes=self.problem.n_classes,
            n_samples=len(self.train),
            cost_matrix=self.problem.matrix,
            random_state=self.work.random_state,
            threads=self.work.threads,
            fast=self.work.fast,
        )

    def predictions(self, decisions, proba=None, *, fit: float, predict: float, **info):
        """Wrap up decisions (positions in the classes) and probabilities."""
        arrays: dict[str, np.ndarray] = {
            "test": np.asarray(self.test, dtype=np.int64),
            "decisions": np.asarray(decisions).astype(np.int32),
        }
        if proba is not None:
            arrays["proba"] = np.asarray(proba, dtype=np.float32)
        return Predictions(arrays, {"fit": fit, "predict": predict}, info)


class ProbabilityModel:
    """The plain model on one fold: its probabilities, and held-out ones to learn rules on.

    Probabilities are rounded to float32 before any rule sees them, because that is what is
    stored: a decision made again from the stored ones is the same decision.
    """

    def __init__(self, fold: Fold):
        self.fold = fold
        X_train, X_test = fold.work.prepared(fold.number)
        start = time.perf_counter()
        model = plain_model(fold.setting()).fit(X_train, fold.y)
        self.seconds_fit = time.perf_counter() - start
        start = time.perf_counter()
        self.proba = self._proba(model, X_test)
        self.seconds_predict = time.perf_counter() - start
        self._held_out: tuple | None = None
        self.seconds_held_out = 0.0

    def held_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Return rows of the training part and their probabilities by models that lack them."""
        if self._held_out is None:
            start = time.perf_counter()
            fold = self.fold
            X_train, _ = fold.work.prepared(fold.number)
            seed = fold.work.random_state
            # A class with fewer examples than folds is missing from some: no reason to stop.
            parts = 1 / INNER_HOLDOUT if fold.work.fast else INNER_FOLDS
            folds = min(int(parts), max(2, int(np.bincount(fold.y).min())))
            splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="The least populated class")
                inner = list(splitter.split(np.zeros(len(fold.y)), fold.y))
            if fold.work.fast:
                inner = inner[:1]
            rows = np.concatenate([right for _, right in inner])
            proba = np.concatenate(
                [
                    self._proba(
                        plain_model(fold.setting()).fit(X_train[left], fold.y[left]),
                        X_train[right],
                    )
                    for left, right in inner
                ]
            )
            self._held_out = (rows, proba)
            self.seconds_held_out = time.perf_counter() - start
        return self._held_out

    def _proba(self, model, X) -> np.ndarray:
        proba = np.zeros((X.shape[0], self.fold.problem.n_classes), dtype=np.float32)
        proba[:, model.classes_] = model.predict_proba(X)
        return proba.astype(np.float64)


def decide_constant(fold: Fold) -> Predictions:
    """Decide for all what would have cost least on the training part."""
    start = time.perf_counter()
    best = int(fold.problem.cost_rows(fold.train).mean(axis=0).argmin())
    seconds = time.perf_counter() - start
    return fold.predictions(np.full(len(fold.test), best), fit=seconds, predict=0.0)


def decide_by_rule(method: Method, model: ProbabilityModel) -> Predictions:
    """Decide from the plain model's probabilities, mended and turned into decisions."""
    fold, problem, proba = model.fold, model.fold.problem, model.proba
    if method.rule == "argmax":
        return fold.predictions(
            proba.argmax(axis=1), proba, fit=model.seconds_fit, predict=model.seconds_predict
        )
    decision = importlib.import_module("stakes.decision")
    seconds_fit = model.seconds_fit
    if method.learns_rule:
        rows, held_out = model.held_out()
        seconds_fit += model.seconds_held_out
    else:  # nothing is learned from the probabilities; the rule only wants to see the classes
        rows = np.arange(len(fold.y))
        held_out = np.full((len(rows), problem.n_classes), 1.0 / problem.n_classes)
    y, train = fold.y[rows], fold.train[rows]
    start = time.perf_counter()
    if method.calibration is not None:
        calibrator = decision.ProbabilityCalibrator(method.calibration).fit(held_out, y)
        held_out, proba = calibrator.transform(held_out), calibrator.transform(proba)
        proba = proba.astype(np.float32).astype(np.float64)
    rule = getattr(decision, str(method.rule))(
        cost_matrix=problem.matrix, classes=np.arange(problem.n_classes)
    )
    rule.fit(held_out, y, **problem.training(train))
    seconds_fit += time.perf_counter() - start
    start = time.perf_counter()
    known = {}
    if problem.tensor is not None and getattr(rule, "_takes_cost_tensor", False):
        known = {"cost_tensor": problem.tensor[fold.test]}
    decisions = rule.predict(proba, **known)
    seconds = model.seconds_predict + time.perf_counter() - start
    return fold.predictions(decisions, proba, fit=seconds_fit, predict=seconds)


def decide_by_learner(method: Any, fold: Fold) -> Predictions:
    """Fit an estimator with the costs it can take, and let it decide."""
    problem = fold.problem
    named = isinstance(method, Method)
    if named:
        estimator = method.make(fold.setting())  # type: ignore[misc]
        y_train, classes = fold.y, np.arange(problem.n_classes)
    else:
        classes = problem.classes
        estimator = with_costs(clone(method), problem)
        y_train = classes[fold.y]
    if method.takes_tables if named else isinstance(method, Pipeline):
        # it brings its own preparation
        X_train = take_rows(problem.X, fold.train)
        X_test = take_rows(problem.X, fold.test)
    else:
        X_train, X_test = fold.work.prepared(fold.number)
    given = fit_costs(estimator, problem, fold.train)
    start = time.perf_counter()
    estimator.fit(X_train, y_train, **given)
    seconds_fit = time.perf_counter() - start
    start = time.perf_counter()
    known = {}
    if problem.tensor is not None and _takes(estimator, "predict", "cost_tensor"):
        known = {"cost_tensor": problem.tensor[fold.test]}
    decisions = _positions(classes, estimator.predict(X_test, **known))
    seconds = time.perf_counter() - start
    proba = None
    if hasattr(estimator, "predict_proba"):
        proba = np.zeros((len(fold.test), problem.n_classes))
        columns = _positions(classes, estimator.classes_)
        proba[:, columns] = estimator.predict_proba(X_test)
    return fold.predictions(decisions, proba, fit=seconds_fit, predict=seconds)


def with_costs(estimator: Any, problem: Problem) -> Any:
    """Give a user's estimator the cost matrix where it has a place for one, still empty."""
    if problem.matrix is None or not hasattr(estimator, "get_params"):
        return estimator
    empty = [
        key
        for key, value in estimator.get_params(deep=True).items()
        if key.rpartition("__")[2] == "cost_matrix" and value is None
    ]
    matrix = CostMatrix(problem.matrix, labels=problem.classes)
    return estimator.set_params(**dict.fromkeys(empty, matrix)) if empty else estimator


def fit_costs(estimator: Any, problem: Problem, rows: np.ndarray) -> dict:
    """Return the keyword arguments that bring example costs into this estimator's `fit`."""
    given = problem.training(rows)
    if not given:
        return {}
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return {f"{name}__{key}": value for key, value in fit_costs(last, problem, rows).items()}
    if all(_takes(estimator, "fit", key) for key in given):
        return given
    if "cost_tensor" in given and _takes(estimator, "fit", "costs"):
        return {"costs": problem.cost_rows(rows)}
    return {}


def _takes(estimator: Any, method: str, name: str) -> bool:
    if isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return name in inspect.signature(getattr(estimator, method)).parameters


def _positions(classes: np.ndarray, labels: Any) -> np.ndarray:
    labels = np.asarray(labels)
    found = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    if not (classes[found] == labels).all():
        strange = labels[classes[found] != labels][0]
        raise ValueError(f"The estimator decided {strange!r}, which is none of the classes.")
    return found
