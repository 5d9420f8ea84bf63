"""Fitting and asking the members of a reduction: clones of any classifier.

A learner holds what all members share (the parameters, the bins) and no data. Members
learn positions in `classes_`, never the labels themselves.
"""

from copy import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from stakes._learning.draws import fit_clone
from stakes._learning.votes import mean_one, one_hot
from stakes.utils._sklearn import num_samples, safe_indexing


class ConstantMember:
    """The member of a sample with one label, or with no example at all.

    Parameters
    ----------
    label : int
        What it always answers.
    """

    def __init__(self, label: int):
        self.label = int(label)

    def __repr__(self) -> str:
        return f"ConstantMember({self.label})"


def count_constants(members: list) -> int:
    """Return how many members had nothing to learn from."""
    return sum(isinstance(member, ConstantMember) for member in members)


def fits_every_row(estimator: Any) -> bool:
    """Return whether nothing keeps a tree, or trees of a forest, from leaves of a row or two.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from stakes.reductions._members import fits_every_row
    >>> fits_every_row(DecisionTreeClassifier()), fits_every_row(DecisionTreeClassifier(max_depth=3))
    (True, False)
    """
    while hasattr(estimator, "steps"):  # of a pipeline the last
        estimator = estimator.steps[-1][1]
    known = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    free = {"max_depth": None, "max_leaf_nodes": None, "ccp_alpha": 0.0}
    if any(known.get(name, "absent") != value for name, value in free.items()):
        return False
    return known.get("min_samples_leaf") in (1, 2)


class EstimatorLearner:
    """Fits clones of a scikit-learn classifier on rows of X.

    Parameters
    ----------
    estimator : estimator instance
        The classifier.
    n_classes : int
        The labels are 0, ..., n_classes - 1.
    """

    prefer: str | None = None  # joblib's default
    grower: Any = None  # where the members are cost trees: what grows them

    def __init__(self, estimator: Any, n_classes: int):
        self.estimator = estimator
        self.n_classes = n_classes
        self.takes_weights = has_fit_parameter(estimator, "sample_weight")
        self.gives_proba = hasattr(estimator, "predict_proba")

    def of_labels(self, n_classes: int) -> Any:
        """Return the same learner for another number of labels."""
        other = copy(self)
        other.n_classes = n_classes
        return other

    def prepare(self, X: Any) -> Any:
        """Return X in the form in which members take it."""
        return X.tocsr() if hasattr(X, "tocsr") else X

    def fit(
        self, X: Any, rows: np.ndarray | None, labels: np.ndarray, weight: Any, seed: int
    ) -> Any:
        """Fit one member on `X[rows]` (all of X if None); a lone label needs no fit."""
        if labels[0] == labels[-1] and (labels == labels[0]).all():
            return ConstantMember(labels[0])
        return self._fit(X, rows, labels, weight, seed)

    def predict(self, member: Any, X: Any) -> np.ndarray:
        """Return the member's labels."""
        if isinstance(member, ConstantMember):
            return np.full(num_samples(X), member.label)
        return self._labels(member, X)

    def proba(self, member: Any, X: Any) -> np.ndarray:
        """Return the member's probabilities, (n, n_classes)."""
        if isinstance(member, ConstantMember):
            return one_hot(self.predict(member, X), self.n_classes)
        return self._shares(member, X)

    def vote(self, member: Any, X: Any, voting: str) -> np.ndarray:
        """Return the member's probabilities, or with "hard" 1 for its label, (n, n_classes)."""
        if voting == "soft":
            return self.proba(member, X)
        return one_hot(self.predict(member, X), self.n_classes)

    def margin(self, member: Any, X: Any) -> np.ndarray:
        """Return how much a two-label member leans to label 1; the sign is its answer."""
        if isinstance(member, ConstantMember):
            return np.full(num_samples(X), 2.0 * member.label - 1.0)
        return self._margins(member, X)

    def pack(self, members: list) -> Any:
        """Return two-label members in a form that is asked faster, or None."""
        return None

    def _fit(self, X: Any, rows: Any, labels: np.ndarray, weight: Any, seed: int) -> Any:
        X = X if rows is None else safe_indexing(X, rows)
        weight = None if weight is None else mean_one(weight)
        return fit_clone(self.estimator, seed, X, labels, weight)

    def _labels(self, member: Any, X: Any) -> np.ndarray:
        return np.asarray(member.predict(X))

    def _shares(self, member: Any, X: Any) -> np.ndarray:
        proba = np.asarray(member.predict_proba(X))
        if proba.shape[1] == self.n_classes:
            return proba
        full = np.zeros((len(proba), self.n_classes))
        full[:, member.classes_] = proba
        return full

    def _margins(self, member: Any, X: Any) -> np.ndarray:
        if hasattr(member, "decision_function"):
            return np.asarray(member.decision_function(X), dtype=np.float64)
        if self.gives_proba:
            proba = np.asarray(member.predict_proba(X))
            return proba[:, 1] - proba[:, 0]
        return 2.0 * np.asarray(member.predict(X)) - 1.0
