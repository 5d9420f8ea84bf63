"""What is learned from a log before costs are estimated: expected costs, and propensities."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, VotingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stakes._learning.draws import seeded_clone

# With fewer rows than this of a decision, its mean is all that is learned of it.
FEW_ROWS = 10
# Estimated propensities are kept this far from 0: a weight of a thousand says nothing.
LEAST_PROPENSITY = 1e-3


def default_regressor() -> VotingRegressor:
    """Return what predicts costs where nothing else is asked for: a line and trees, averaged."""
    line = make_pipeline(
        SimpleImputer(keep_empty_features=True), StandardScaler(), RidgeCV(np.logspace(-2, 4, 13))
    )
    trees = HistGradientBoostingRegressor(learning_rate=0.05, min_samples_leaf=20)
    return VotingRegressor([("line", line), ("trees", trees)])


def default_classifier() -> Any:
    """Return what estimates propensities where they are not known."""
    return make_pipeline(
        SimpleImputer(keep_empty_features=True),
        StandardScaler(),
        LogisticRegression(max_iter=1000),
    )


def cross_fitted_costs(
    X: np.ndarray,
    decided: np.ndarray,
    paid: np.ndarray,
    folds: list,
    learner: Any,
    n_decisions: int,
    seed: int,
) -> np.ndarray:
    """Return what a regression expects each decision to cost, (n, a), from other folds' rows alone.

    Nothing is expected to cost less or more than it ever did.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Numbers.
    decided : ndarray of shape (n_samples,)
        What was done, as positions.
    paid : ndarray of shape (n_samples,)
        What it cost.
    folds : list of (train, test)
        Every row is tested once.
    learner : regressor
        Fitted on the rows of each decision.
    n_decisions : int
        How many decisions there are.
    seed : int
        Of the regressors.
    """
    predicted = np.empty((len(X), n_decisions))
    for train, test in folds:
        for a in range(n_decisions):
            rows = train[decided[train] == a]
            if len(rows) < FEW_ROWS or np.ptp(paid[rows]) == 0.0:
                predicted[test, a] = paid[rows].mean()
            else:
                model = seeded_clone(learner, seed).fit(X[rows], paid[rows])
                seen = (
                    paid[rows].min(),
                    paid[rows].max(),
                )  # a line goes far beyond, far from its rows
                predicted[test, a] = np.clip(model.predict(X[test]), *seen)
    return predicted


def cross_fitted_propensities(
    X: np.ndarray, decided: np.ndarray, folds: list, classifier: Any, n_decisions: int, seed: int
) -> np.ndarray:
    """Return estimated probabilities of what was done, (n, a), from other folds' rows alone."""
    propensities = np.empty((len(X), n_decisions))
    for train, test in folds:
        model = seeded_clone(clone(classifier), seed)
        fit_propensities(model, X[train], decided[train])
        propensities[test] = propensities_of(model, X[test], n_decisions)
    return propensities


def fit_propensities(classifier: Any, X: np.ndarray, decided: np.ndarray) -> Any:
    """Return the classifier, fitted to what was done; one that has not converged is near enough."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*failed to converge.*")
        return classifier.fit(X, decided)


def propensities_of(classifier: Any, X: np.ndarray, n_decisions: int) -> np.ndarray:
    """Return the probabilities of what is done, (n, a), each at least `LEAST_PROPENSITY`."""
    shares = np.zeros((len(X), n_decisions))
    shares[:, classifier.classes_] = classifier.predict_proba(X)
    kept = np.maximum(shares, LEAST_PROPENSITY)
    return kept / kept.sum(axis=1, keepdims=True)
