"""The most probable class: the decision that most people take today."""

from typing import Any

import numpy as np

from stakes.costs import Costs
from stakes.decision._declare import rule
from stakes.decision._expected import check_proba
from stakes.decision._rule import BaseRule


@rule(
    "most_probable",
    method="plain",
    family="reference",
    title="Plain model, most probable class",
    note="What people do today: costs play no part.",
    default=True,
    fast=True,
    reference=True,
)
class MostProbable(BaseRule):
    """Most probable class: costs play no part.

    The reference that every other rule is compared with. It takes costs of every kind, so
    that it can stand beside any rule, and by definition decides by none of them: not the one
    to use where mistakes have different prices.

    Parameters
    ----------
    cost_matrix, classes
        As in `MinimumExpectedCost`; the costs move no decision.

    Attributes
    ----------
    partition_ : ndarray of shape (n_classes, n_classes)
        The matrix of the same decisions: 0/1 costs.
    classes_, cost_matrix_
        As in `MinimumExpectedCost`.

    Examples
    --------
    Missing the third class costs 20, but the first is more probable:

    >>> from stakes.decision import MostProbable
    >>> rule = MostProbable(cost_matrix=[[0, 1, 1], [1, 0, 1], [20, 20, 0]])
    >>> rule.fit([[0.7, 0.2, 0.1]] * 3, [0, 1, 2]).predict([[0.7, 0.2, 0.1]])
    array([0])
    """

    _weighs_cost_tensor = True
    _learns = False

    def _learn(self, proba: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        self.partition_ = 1.0 - np.eye(len(self.classes_))

    def _decide(self, proba: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        return check_proba(proba).argmax(axis=1)
