"""Probabilities of a hundred bagged members at once: MetaCost's first half."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import clone

from stakes._learning.draws import bootstrap_counts

MEMBERS_AT_ONCE = 25


def member_counts(n_samples: int, n_members: int, rng: np.random.RandomState) -> np.ndarray:
    """Return how often each member draws each example, (n_members, n_samples)."""
    return np.array([bootstrap_counts(n_samples, rng) for _ in range(n_members)])


def average_members(
    proba: Iterator[np.ndarray], counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean over all members, and over those that did not draw the example.

    Parameters
    ----------
    proba : iterator of ndarray of shape (members, n_samples, n_classes)
        The members' probabilities, some members at a time.
    counts : ndarray of shape (n_members, n_samples)
        How often each member drew each example.

    Returns
    -------
    inclusive, out_of_bag : ndarray of shape (n_samples, n_classes)
        An example that every member drew has the inclusive mean in both.
    """
    unseen = counts == 0
    first = 0
    total: Any = 0.0
    apart: Any = 0.0
    for part in proba:
        out = unseen[first : first + len(part)]
        total = total + part.sum(axis=0)
        apart = apart + np.einsum("mn,mnk->nk", out.astype(float), part)
        first += len(part)
    inclusive = total / len(counts)
    n_unseen = unseen.sum(axis=0)[:, None]
    return inclusive, np.where(n_unseen > 0, apart / np.maximum(n_unseen, 1), inclusive)


def bayes_members(
    codes: np.ndarray, labels: np.ndarray, n_classes: int, counts: np.ndarray, alpha: float = 1.0
) -> Iterator[np.ndarray]:
    """Yield the probabilities of naive Bayes members, each fitted to its drawn examples.

    Equal to fitting `sklearn.naive_bayes.CategoricalNB` on each sample, whose `min_categories`
    are those of all examples; the counts of all members come from one product per class.

    Parameters
    ----------
    codes : ndarray of shape (n_samples, n_features), int
        The number of each feature's value.
    labels : ndarray of shape (n_samples,), int
        Classes 0, ..., n_classes - 1.
    n_classes : int
        A class that a member did not draw has probability 0 there.
    counts : ndarray of shape (n_members, n_samples)
        How often each member drew each example.
    alpha : float
        Laplace's correction.
    """
    n_values = codes.max(axis=0) + 1
    starts = np.concatenate([[0], np.cumsum(n_values)[:-1]])
    indicators = np.zeros((len(codes), n_values.sum()))
    np.put_along_axis(indicators, codes + starts, 1.0, axis=1)
    of_class = [np.flatnonzero(labels == k) for k in range(n_classes)]
    for first in range(0, len(counts), MEMBERS_AT_ONCE):
        drawn = counts[first : first + MEMBERS_AT_ONCE].astype(float)
        log_joint = np.empty((len(drawn), len(codes), n_classes))
        for k, rows in enumerate(of_class):
            mass = drawn[:, rows].sum(axis=1)
            seen = drawn[:, rows] @ indicators[rows]
            table = np.log(seen + alpha) - np.log(
                mass[:, None] + alpha * np.repeat(n_values, n_values)
            )
            with np.errstate(divide="ignore"):
                log_joint[:, :, k] = table @ indicators.T + np.log(mass)[:, None]
        yield softmax(log_joint, axis=2)


def fitted_members(
    model: Any, X: np.ndarray, labels: np.ndarray, n_classes: int, counts: np.ndarray
) -> Iterator[np.ndarray]:
    """Yield the probabilities of clones of any classifier, each fitted to its drawn examples."""
    for drawn in counts:
        rows = np.repeat(np.arange(len(X)), drawn)
        member = clone(model).fit(X[rows], labels[rows])
        proba = np.zeros((1, len(X), n_classes))
        proba[0][:, member.classes_] = member.predict_proba(X)
        yield proba
