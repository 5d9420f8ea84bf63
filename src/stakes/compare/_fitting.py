"""Fitting one method to a problem: the same for `compare` and `fit_model`."""

import time
import warnings
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.pipeline import Pipeline

from stakes._methods import Method, Setting
from stakes.compare._model import DecisionModel, policy_of
from stakes.compare._plain import Cache, CachedModel, plain_model
from stakes.compare._problem import Problem
from stakes.costs import Costs, CostWarning, UncertainCostMatrix
from stakes.tables import TablePreparation
from stakes.utils._frames import is_frame
from stakes.utils._pipelines import takes


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
    doubt = problem.costs.coded().doubt
    if doubt is not None and not doubt.is_box:  # a model file holds no distributions
        named = doubt.labels, None if doubt.decides_classes else doubt.decisions
        doubt = UncertainCostMatrix.from_samples(doubt.sample(), *named)

    def plain() -> Any:
        model = plain_model(random_state=random_state, n_jobs=n_jobs, n_samples=problem.n_samples)
        return model if cache is None else CachedModel(model, cache)

    return Setting(
        n_classes=problem.n_classes,
        n_samples=problem.n_samples,
        smallest_class=int(np.bincount(problem.y, minlength=problem.n_classes).min()),
        plain_model=plain,
        cost_matrix=problem.costs.matrix,
        choices=problem.costs.choices,
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
    estimator = method.make(setting)
    # A pipeline of the user's sees the table as it is, and may name its columns.
    preparation, X = None, problem.X if isinstance(estimator, Pipeline) else problem.features
    table = X
    if not method.takes_tables:
        if prepared is None:
            preparation = TablePreparation()
            prepared = preparation, preparation.fit_transform(X)
        preparation, table = prepared
    start = time.perf_counter()
    with config_context(enable_metadata_routing=False), warnings.catch_warnings():
        warnings.simplefilter("ignore", CostWarning)  # said once, where the costs came in
        estimator.fit(
            table,
            problem.classes[problem.y] if method.takes_labels else problem.y,
            **_fit_arguments(
                estimator, problem.costs if method.takes_labels else problem.costs.coded()
            ),
        )
    seconds = time.perf_counter() - start
    columns = [str(c) for c in X.columns] if is_frame(X) else None
    counts = np.bincount(problem.y, minlength=problem.n_classes)
    model = DecisionModel(
        method=method.name,
        kind=problem.costs.kind,
        estimator=estimator,
        policy=policy_of(
            estimator, problem.classes, problem.costs.class_matrix(), counts, problem.decisions
        ),
        preparation=preparation,
        columns=columns,
        takes_labels=method.takes_labels,
        n_training=problem.n_samples,
    )
    return model, seconds


def _fit_arguments(estimator: Any, costs: Costs) -> dict:
    """Return the keyword arguments that bring example costs into this estimator's `fit`."""
    given = costs.fit_arguments()
    if not all(takes(estimator, "fit", name) for name in given):
        hindsight = given and takes(estimator, "fit", "costs")
        given = {"costs": costs.named_rows()} if hindsight else {}
    if isinstance(estimator, Pipeline):
        return {f"{estimator.steps[-1][0]}__{name}": value for name, value in given.items()}
    return given
