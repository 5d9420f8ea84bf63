"""Probabilities of examples that their model has not seen."""

import warnings
from numbers import Integral

import numpy as np
from joblib import Parallel, delayed
from scipy.special import softmax
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from stakes.utils._arrays import quoted
from stakes.utils._sklearn import routing_enabled, safe_indexing


def class_probabilities(estimator, X, classes):
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
    known = np.asarray(estimator.classes_)
    if len(known) == len(classes) and (known == classes).all():
        return proba
    position = {label: k for k, label in enumerate(known.tolist())}
    strange = [label for label in known.tolist() if label not in set(classes.tolist())]
    if strange:
        raise ValueError(f"The estimator knows {quoted(strange)}, which y lacks.")
    aligned = np.zeros((len(proba), len(classes)))
    for k, label in enumerate(classes.tolist()):
        if label in position:
            aligned[:, k] = proba[:, position[label]]
    return aligned


def weight_params(estimator, sample_weight):
    """Return the `fit` parameters that hand `sample_weight` to the estimator."""
    if sample_weight is None:
        return {}
    if routing_enabled():
        routed = get_routing_for_object(estimator).consumes("fit", ["sample_weight"])
        if routed or (
            not isinstance(estimator, Pipeline) and has_fit_parameter(estimator, "sample_weight")
        ):
            return {"sample_weight": sample_weight}
    elif isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        if has_fit_parameter(last, "sample_weight"):
            return {f"{name}__sample_weight": sample_weight}
    elif has_fit_parameter(estimator, "sample_weight"):
        return {"sample_weight": sample_weight}
    warnings.warn(
        f"{type(estimator).__name__} takes no sample_weight: the weights are used in the "
        "calibration and the decision rule only.",
        UserWarning,
        stacklevel=4,
    )
    return {}


def as_splitter(cv, y):
    """Return the splitter that `cv` stands for; a number deals the examples out at random.

    Tables are often sorted, and folds cut from a sorted table hold out what the others have
    not seen: on Nursery three such folds are predicted with an accuracy of 0.74 instead of
    0.9994, and a calibration learns to doubt everything. The seed is fixed.
    """
    if cv is None or isinstance(cv, Integral):
        return StratifiedKFold(5 if cv is None else int(cv), shuffle=True, random_state=0)
    return check_cv(cv, y, classifier=True)


def split_folds(splitter, X, y, **params):
    """Return the (train, test) index pairs of a splitter.

    A class rarer than the number of folds is no obstacle here: a fold's model that has
    not seen a class gives it probability 0.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class in y")
        return list(splitter.split(X, y, **params))


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
    n_samples = len(y)
    fit_params = fit_params or {}
    held_out = Parallel(n_jobs=n_jobs)(
        delayed(_fit_and_predict)(estimator, X, y, classes, train, test, fit_params)
        for train, test in folds
    )
    proba = np.zeros((n_samples, len(classes)))
    tested = np.zeros(n_samples, dtype=np.intp)
    for (_, test), part in zip(folds, held_out):
        proba[test] += part
        tested[test] += 1
    if tested.max() > 1:
        np.divide(proba, tested[:, None], out=proba, where=tested[:, None] > 0)
    return proba, tested


def _fit_and_predict(estimator, X, y, classes, train, test, fit_params):
    here = {
        name: safe_indexing(value, train) if _is_per_row(value, len(y)) else value
        for name, value in fit_params.items()
    }
    model = clone(estimator).fit(safe_indexing(X, train), y[train], **here)
    return class_probabilities(model, safe_indexing(X, test), classes)


def _is_per_row(value, n_samples):
    return hasattr(value, "__len__") and not isinstance(value, str) and len(value) == n_samples
