"""The best single decision: what a model must beat."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from stakes._base import COST_MATRIX_CONSTRAINT, ExpectedCostMixin
from stakes._learning.statement import Statement
from stakes._methods import method
from stakes.costs import Costs
from stakes.utils._sklearn import num_samples, validate_data


@method("constant", family="reference", default=True, fast=True, reference=True, exports=("onnx",))
class ConstantDecisionClassifier(ExpectedCostMixin, BaseEstimator):
    """One decision for all: the best single decision.

    It looks at the costs and at the true classes, never at X: the decision that costs least
    on average if it is taken for every example. A reference for comparisons, as a dummy
    classifier is; not a model. It takes costs of every kind. Given a `cost_tensor`, `predict`
    still takes the one decision, and `expected_costs` says what each would cost.

    Parameters
    ----------
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``. A plain array follows the order of `classes_`. If
        None, the costs given to `fit`, or else 0/1 costs.

    Attributes
    ----------
    decision_ : int
        The decision, as a position in `classes_`.
    mean_costs_ : ndarray of shape (n_classes,)
        What each decision costs on average if it is taken for all training examples.
    class_shares_ : ndarray of shape (n_classes,)
        The share of each class, weighted.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The costs in force.

    Examples
    --------
    Nine of ten are "ok", but missing the "ill" one costs 20:

    >>> from stakes.decision import ConstantDecisionClassifier
    >>> from stakes.costs import CostMatrix
    >>> C = CostMatrix([[0, 20], [1, 0]], labels=["ill", "ok"])
    >>> X, y = [[0]] * 10, ["ill"] + ["ok"] * 9
    >>> model = ConstantDecisionClassifier(C).fit(X, y)
    >>> model.predict([[0]]), model.mean_costs_
    (array(['ill'], dtype='<U3'), array([0.9, 2. ]))
    """

    _weighs_cost_tensor = True
    # The prices of single rows do not move the decision.
    _states_for: ClassVar[dict[str, str]] = {"deciding": "votes"}
    _parameter_constraints: dict = {"cost_matrix": COST_MATRIX_CONSTRAINT}

    def __init__(self, cost_matrix: Any = None):
        self.cost_matrix = cost_matrix

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _fit(self, X: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        counts = np.bincount(costs.y, sample_weight, minlength=costs.n_classes)
        self.class_shares_ = counts / counts.sum()
        self.mean_costs_ = costs.mean_row(sample_weight)
        self.decision_ = int(self.mean_costs_.argmin())

    def _decide(self, X: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        self._check_X(X, reset=False)
        return np.full(num_samples(X), self.decision_)

    def _expected_costs(self, X: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        self._check_X(X, reset=False)
        if cost_tensor is not None:
            return np.einsum("t,ntd->nd", self.class_shares_, cost_tensor)
        return np.tile(self.mean_costs_, (num_samples(X), 1))

    def _state(
        self, X: Any, cost_tensor: np.ndarray | None = None, *, proba: bool = False
    ) -> Statement:
        decided = self._decide(X, cost_tensor)
        if cost_tensor is not None:  # the costs of single examples do not move the decision
            return Statement(decided=decided)
        return Statement(expected=self._expected_costs(X, None), decided=decided)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.no_validation = tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags
