"""Classifiers that decide by the votes of their members."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from stakes._learning.statement import Statement
from stakes._learning.votes import normalize_rows


class VotesMixin:
    """Mixin of classifiers that decide by votes; a subclass writes `_votes` and `_staged_votes`.

    It stands left of `CostSensitiveMixin`, whose `_decide` it writes.
    """

    decisions_: np.ndarray

    def _votes(self, X: Any) -> np.ndarray:
        """Return the weight of the votes for each class, (n_samples, n_classes)."""
        raise NotImplementedError

    def _staged_votes(self, X: Any) -> Iterator[np.ndarray]:
        """Yield what `_votes` would return after each round; the array may be written over."""
        raise NotImplementedError

    def _decide(self, X: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        return self._votes(X).argmax(axis=1)

    def _state(
        self, X: Any, cost_tensor: np.ndarray | None = None, *, proba: bool = False
    ) -> Statement:
        votes = self._votes(X)
        return Statement(proba=normalize_rows(votes), decided=votes.argmax(axis=1))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the weight of the votes that each class has won: the largest decides.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            With two classes, the votes for the second less those for the first.
        """
        check_is_fitted(self)
        return _scores(self._votes(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the share of the votes for each class: not calibrated probabilities.

        Shares of votes rank well, but they are not how often a class occurs. For
        probabilities, wrap the estimator in
        ``stakes.decision.CostDecisionClassifier(estimator, calibration="sigmoid")``.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            The examples to vote on.

        Returns
        -------
        shares : ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        check_is_fitted(self)
        return normalize_rows(self._votes(X))

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Yield `decision_function` after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Examples.

        Yields
        ------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            As in `decision_function`.
        """
        check_is_fitted(self)
        for votes in self._staged_votes(X):
            yield _scores(votes.copy())

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield `predict` after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            The examples to decide on.

        Yields
        ------
        y_pred : ndarray of shape (n_samples,)
            Class labels.
        """
        check_is_fitted(self)
        for votes in self._staged_votes(X):
            yield self.decisions_[votes.argmax(axis=1)]

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Yield `predict_proba` after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            What to vote on.

        Yields
        ------
        shares : ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        check_is_fitted(self)
        for votes in self._staged_votes(X):
            yield normalize_rows(votes)


def _scores(votes: np.ndarray) -> np.ndarray:
    return votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes
