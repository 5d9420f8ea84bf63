"""What bacing and Arc-x4 share: members of one vote each."""

from collections.abc import Iterator

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from stakes._base import CostSensitiveMixin
from stakes.bagging._l1_svm import L1LinearSVC
from stakes.bagging._members import AnyMembers, LinearMembers, all_codes, is_linear
from stakes.utils._sklearn import validate_data


class BaseVoting(CostSensitiveMixin, BaseEstimator):
    """An ensemble whose members each have one vote; a subclass writes `fit`."""

    def _begin(self, X, y, sample_weight, costs, cost_tensor):
        """Check what `fit` was given; return X, the costs, the weights and a template."""
        template = L1LinearSVC() if self.estimator is None else self.estimator
        name = type(self).__name__
        if not has_fit_parameter(template, "sample_weight"):
            raise ValueError(
                f"{name} weighs examples, but the fit of {type(template).__name__} takes no "
                "sample_weight: use an estimator that does."
            )
        if template.get_params(deep=False).get("cost_matrix") is not None:
            raise ValueError(
                f"Give cost_matrix to {name}, not to its estimator: a bag may lack a class."
            )
        self.estimator_ = template
        given = {"costs": costs, "cost_tensor": cost_tensor, "sample_weight": sample_weight}
        if _is_frame(X) and not is_linear(template):
            given["check_X"] = False
        else:
            given |= self._checks()
        X, training, weight = self._validate_training(X, y, **given)
        self._plain_costs = self.cost_matrix is None and costs is None and cost_tensor is None
        if weight is None:
            weight = np.ones(len(training))
        return X, training, weight

    def _members(self, X, training, weight, *, from_reference: bool):
        """Return what fits members to weights."""
        if is_linear(self.estimator_):
            names = getattr(self, "feature_names_in_", None)
            reference = weight if from_reference else None
            return LinearMembers(self.estimator_, X, self.classes_, training, names, reference)
        return AnyMembers(
            self.estimator_, X, self.classes_, training, weight, plain=self._plain_costs
        )

    def _validate_new(self, X):
        check_is_fitted(self, "estimators_")
        if _is_frame(X) and not is_linear(self.estimator_):
            validate_data(self, X, reset=False, skip_check_array=True)
            return X
        return validate_data(self, X, reset=False, **self._checks())

    def _checks(self) -> dict:
        """Say what X must be: numbers for the linear programmes, else what a member takes."""
        if is_linear(self.estimator_):
            return {"accept_sparse": "csr", "dtype": np.float64}
        return {"accept_sparse": "csr", "dtype": None, "ensure_all_finite": False}

    def _votes(self, X) -> np.ndarray:
        """Return the number of votes for each class, (n_samples, n_classes)."""
        X = self._validate_new(X)
        members = self.estimators_
        n_jobs = 1 if is_linear(self.estimator_) else effective_n_jobs(self.n_jobs)
        parts = np.array_split(np.arange(len(members)), min(n_jobs, len(members)))
        tallies = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_tally)([members[i] for i in part], X, self.classes_) for part in parts
        )
        return sum(tallies)

    def predict(self, X):
        """Return the class with the most votes; ties go to the first class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        decisions : ndarray of shape (n_samples,)
            Class labels.
        """
        votes = self._votes(X)
        return self.classes_[votes.argmax(axis=1)]

    def predict_proba(self, X):
        """Return the share of the votes for each class: not calibrated probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        shares : ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        return self._votes(X) / len(self.estimators_)

    def decision_function(self, X):
        """Return the vote margin: the largest decides.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, the share of the votes for the second minus that for the
            first; with more, the share of the votes for each.
        """
        shares = self.predict_proba(X)
        return shares[:, 1] - shares[:, 0] if shares.shape[1] == 2 else shares

    def staged_predict(self, X):
        """Yield the decisions of the first member, of the first two, and so on.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Examples.

        Yields
        ------
        decisions : ndarray of shape (n_samples,)
            Class labels.
        """
        X = self._validate_new(X)
        for votes in running_votes(self.estimators_, X, self.classes_):
            yield self.classes_[votes.argmax(axis=1)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        base = get_tags(L1LinearSVC() if self.estimator is None else self.estimator)
        tags.input_tags.sparse = base.input_tags.sparse
        tags.input_tags.allow_nan = base.input_tags.allow_nan
        return tags


def _is_frame(X) -> bool:
    """Say whether X is a table with named columns, which members get to see as it is."""
    return hasattr(X, "columns")


def running_votes(members: list, X, classes: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the votes for each class after the first member, the first two, and so on."""
    votes, every = np.zeros((0, 0)), np.arange(0)
    for codes in all_codes(members, X, classes):
        if not len(votes):
            votes = np.zeros((len(codes), len(classes)), dtype=np.int32)
            every = np.arange(len(codes))
        votes[every, codes] += 1
        yield votes


def _tally(members: list, X, classes: np.ndarray) -> np.ndarray:
    *_, votes = running_votes(members, X, classes)
    return votes
