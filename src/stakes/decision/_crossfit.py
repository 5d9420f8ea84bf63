"""Probabilities of examples that their model has not seen."""

from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from stakes._learning.draws import run_members
from stakes.utils._arrays import finite_array, quoted
from stakes.utils._checks import warn
from stakes.utils._sklearn import routing_enabled, safe_indexing


def class_probabilities(estimator: Any, X: Any, classes: np.ndarray) -> np.ndarray:
    """Return the estimator's probabilities with columns in the order of `classes`.

    A class that the estimator never saw has probability 0. An estimator with scores only
    (`decision_function`) gives their softmax: something to calibrate, not probabilities.
    """
    if hasattr(estimator, "predict_proba"):
        proba = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    else:
        scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        proba = softmax(scores, axis=1)
    finite_array(proba, name=f"What {type(estimator).__name__} predicts", of="probability")
    known = np.asarray(estimator.classes_)
    if np.array_equal(known, classes):
        return proba
    strange = set(known.tolist()) - set(classes.tolist())
    if strange:
        raise ValueError(f"The estimator knows {quoted(strange)}, of which y has no example.")
    aligned = np.zeros((len(proba), len(classes)))
    aligned[:, [classes.tolist().index(label) for label in known.tolist()]] = proba
    return aligned


def weight_params(estimator: Any, sample_weight: np.ndarray | None) -> dict:
    """Return the `fit` parameters that hand `sample_weight` to the estimator."""
    if sample_weight is None:
        return {}
    name, last, routed = "sample_weight", estimator, routing_enabled()
    if isinstance(estimator, Pipeline) and not routed:
        step, last = estimator.steps[-1]
        name = f"{step}__sample_weight"
    if has_fit_parameter(last, "sample_weight") or (
        routed and get_routing_for_object(estimator).consumes("fit", ["sample_weight"])
    ):
        return {name: sample_weight}
    warn(
        "ST402",
        f"{type(estimator).__name__} takes no sample_weight: the weights are used in the "
        "calibration and the decision rule only.",
        UserWarning,
        stacklevel=5,
    )
    return {}


def cross_fit(estimator, X, y, classes, folds, *, fit_params=None, n_jobs=None):
    """Return held-out probabilities, and how many folds tested each example.

    Parameters
    ----------
    estimator : estimator
        Cloned for each fold.
    X, y : array-like
        All examples.
    classes : ndarray of shape (n_classes,)
        The order of the columns.
    folds : list of (train, test)
        Row indices.
    fit_params : dict, default=None
        For `fit`; what has one entry per example is split with the rows.
    n_jobs : int, default=None
        Folds fitted at a time.

    Returns
    -------
    proba : ndarray of shape (n_samples, n_classes)
        The mean over the folds that tested the example; 0 where none did.
    tested : ndarray of shape (n_samples,)
        In how many folds the example was held out.
    """
    tasks = ((estimator, X, y, classes, *fold, fit_params or {}) for fold in folds)
    held_out = run_members(_fit_and_predict, tasks, n_jobs=n_jobs)
    proba, tested = np.zeros((len(y), len(classes))), np.zeros(len(y), dtype=np.intp)
    for (_, test), part in zip(folds, held_out):
        proba[test] += part
        tested[test] += 1
    if tested.max() > 1:
        np.divide(proba, tested[:, None], out=proba, where=tested[:, None] > 0)
    return proba, tested


def of_rows(params: dict, rows: np.ndarray, n_rows: int) -> dict:
    """Return parameters of `fit` for some rows: what has one entry for each row is split."""
    here = dict(params)
    for name, value in params.items():
        if hasattr(value, "__len__") and not isinstance(value, str) and len(value) == n_rows:
            here[name] = safe_indexing(value, rows)
    return here


def _fit_and_predict(estimator, X, y, classes, train, test, fit_params):
    here = of_rows(fit_params, train, len(y))
    model = clone(estimator).fit(safe_indexing(X, train), y[train], **here)
    return class_probabilities(model, safe_indexing(X, test), classes)
