"""A method of another package: what a few lines suffice for."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from stakes.plugins import ExpectedCostMixin, method


def filled_first(cls, setting):
    """Return the classifier behind an imputer, since it cannot take gaps."""
    return make_pipeline(SimpleImputer(), cls(cost_matrix=setting.cost_matrix))


@method("nearest_mean", family="example", build=filled_first)
class NearestMeanClassifier(ExpectedCostMixin, BaseEstimator):
    """Nearest mean: the expected costs of classes as likely as their means are near.

    Parameters
    ----------
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``.
    """

    _parameter_constraints: dict = {"cost_matrix": "no_validation"}
    _weighs_cost_tensor = True

    def __init__(self, cost_matrix=None):
        self.cost_matrix = cost_matrix

    def _fit(self, X, costs, sample_weight):
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        shares = np.bincount(costs.y, weight, minlength=len(self.classes_))
        members = np.eye(len(self.classes_))[costs.y] * weight[:, None]
        self.means_ = members.T @ X / np.maximum(shares, 1e-12)[:, None]
        self.log_shares_ = np.log(np.maximum(shares / shares.sum(), 1e-12))

    def predict_proba(self, X):
        """Return probabilities that fall with the squared distance to the means."""
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        distances = ((X[:, None, :] - self.means_) ** 2).sum(axis=2)
        scores = self.log_shares_ - distances / 2
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return scores / scores.sum(axis=1, keepdims=True)

    def _expected_costs(self, X, cost_tensor):
        proba = self.predict_proba(X)
        if cost_tensor is None:
            return proba @ self.cost_matrix_
        return np.einsum("nt,ntd->nd", proba, cost_tensor)
