"""Fitting and asking the members of a reduction: any classifier, or trees that share bins.

A learner holds what all members share (the parameters, the bins) and no data. Members
learn positions in `classes_`, never the labels themselves.
"""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from stakes.tree.engine import is_cost_tree
from stakes.utils._sklearn import safe_indexing

MAX_SEED = np.iinfo(np.int32).max


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


def seeded_clone(estimator: Any, seed: int) -> Any:
    """Clone with every `random_state`, nested ones too, drawn from `seed`."""
    copy = clone(estimator)
    rng = np.random.RandomState(seed)
    seeds = {
        key: rng.randint(MAX_SEED)
        for key in sorted(copy.get_params(deep=True))
        if key == "random_state" or key.endswith("__random_state")
    }
    return copy.set_params(**seeds) if seeds else copy


def draw_seeds(random_state: Any, n: int) -> np.ndarray:
    """Draw one seed per member, so that results don't depend on who fits which."""
    return check_random_state(random_state).randint(MAX_SEED, size=n)


def mean_one(weight: np.ndarray) -> np.ndarray:
    """Rescale weights to mean 1, so that a member's regularisation keeps its meaning."""
    return weight * (len(weight) / weight.sum())


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

    def __init__(self, estimator: Any, n_classes: int):
        self.estimator = estimator
        self.n_classes = n_classes
        self.takes_weights = has_fit_parameter(estimator, "sample_weight")
        self.gives_proba = hasattr(estimator, "predict_proba")

    def prepare(self, X: Any) -> Any:
        """Return X in the form in which members take it."""
        return X.tocsr() if hasattr(X, "tocsr") else X

    def fit(self, X: Any, rows, labels: np.ndarray, weight, seed: int) -> Any:
        """Fit one member on `X[rows]` (all of X if None); a lone label needs no fit."""
        if labels[0] == labels[-1] and (labels == labels[0]).all():
            return ConstantMember(labels[0])
        X = X if rows is None else safe_indexing(X, rows)
        params = {} if weight is None else {"sample_weight": mean_one(weight)}
        return seeded_clone(self.estimator, seed).fit(X, labels, **params)

    def predict(self, member: Any, X: Any) -> np.ndarray:
        """Return the member's labels."""
        if isinstance(member, ConstantMember):
            return np.full(_n_rows(X), member.label)
        return np.asarray(member.predict(X))

    def proba(self, member: Any, X: Any) -> np.ndarray:
        """Return the member's probabilities, (n, n_classes)."""
        if isinstance(member, ConstantMember):
            return one_hot(self.predict(member, X), self.n_classes)
        proba = np.asarray(member.predict_proba(X))
        if proba.shape[1] == self.n_classes:
            return proba
        full = np.zeros((len(proba), self.n_classes))
        full[:, member.classes_] = proba
        return full

    def pack(self, members: list) -> Any:
        """Return two-label members in a form that is asked faster, or None."""
        return None

    def margin(self, member: Any, X: Any) -> np.ndarray:
        """Return how much a two-label member leans to label 1; the sign is its answer."""
        if isinstance(member, ConstantMember):
            return np.full(_n_rows(X), 2.0 * member.label - 1.0)
        if hasattr(member, "decision_function"):
            return np.asarray(member.decision_function(X), dtype=np.float64)
        if self.gives_proba:
            proba = np.asarray(member.predict_proba(X))
            return proba[:, 1] - proba[:, 0]
        return 2.0 * np.asarray(member.predict(X)) - 1.0


def one_hot(labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Return a row of zeros with a single one per label.

    Examples
    --------
    >>> from stakes.reductions._members import one_hot
    >>> one_hot(np.array([1, 0]), 3)
    array([[0., 1., 0.],
           [1., 0., 0.]])
    """
    table = np.zeros((len(labels), n_classes))
    table[np.arange(len(labels)), labels] = 1.0
    return table


def _n_rows(X: Any) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)


def make_learner(
    estimator: Any, X: Any, n_classes: int, sample_weight=None, smoothing: float = 0.0
) -> Any:
    """Return the learner that suits the estimator."""
    if is_cost_tree(estimator):
        from stakes.reductions._tree_members import CostTreeLearner

        return CostTreeLearner(estimator, X, n_classes, sample_weight, smoothing)
    return EstimatorLearner(estimator, n_classes)
