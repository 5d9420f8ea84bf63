"""Rules that learn nothing: the decision of least expected cost, and the most probable class."""

from typing import Any, ClassVar

import numpy as np

from stakes.costs import Costs
from stakes.decision._declare import LAYER, rule
from stakes.decision._numbers import Likeliest, Partition
from stakes.decision._rule import BaseRule


@rule(
    "minimum_expected_cost",
    method="calibrated",
    exports=LAYER,
    calibration="temperature",
    title="Calibrated model with your prices",
    note="Temperature scaling on held-out rows, then the decision of least expected cost.",
    default=True,
    fast=True,
)
@rule(
    "minimum_expected_cost",
    method="mec",
    exports=LAYER,
    title="Model with your prices",
    note="The plain model's probabilities, taken at their word.",
    default=True,
    fast=True,
)
class MinimumExpectedCost(BaseRule):
    r"""Least expected cost: the probabilities are taken at their word.

    The plug-in rule: nothing is learned but the costs, so no validation data are wasted.
    With 0/1 costs it is the most probable class. It serves class costs and, with
    `cost_tensor` at `predict`, costs known when deciding. Not the one to use where the
    probabilities are badly off and cannot be calibrated: learn a partition then.

    Parameters
    ----------
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``. A plain array follows the order of `classes_`.
        If None, the class means of the costs given to `fit`, or else 0/1 costs.
    classes : array-like of shape (n_classes,), default=None
        The classes in the order of the columns of the probabilities. If None, the columns
        of a DataFrame, or else the sorted classes of `y`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The costs in force, in the order of `classes_`.
    partition_ : ndarray of shape (n_classes, n_classes)
        The same: this rule partitions the simplex by the costs themselves.

    Notes
    -----
    Eq. (1) of O'Brien, Gupta and Gray (2008; see `ParallelPartition`),
    :math:`\arg\min_d \sum_t P(t \mid x)\, C[t, d]`. The paper writes :math:`c_{i|j}` for
    predicting :math:`i` when the truth is :math:`j`; that is ``cost_matrix[j, i]`` here.

    Examples
    --------
    >>> from stakes.costs import CostMatrix
    >>> from stakes.decision import MinimumExpectedCost
    >>> C = CostMatrix([[0, 1, 1], [1, 0, 1], [20, 20, 0]], labels=["cold", "flu", "sepsis"])
    >>> proba = [[0.7, 0.2, 0.1], [0.9, 0.08, 0.02], [0.5, 0.5, 0.0]]
    >>> rule = MinimumExpectedCost(cost_matrix=C).fit(proba, ["cold", "flu", "sepsis"])
    >>> rule.predict(proba)
    array(['sepsis', 'cold', 'cold'], dtype='<U6')
    """

    _weighs_cost_tensor = True
    _learns = False


@rule(
    "most_probable",
    method="plain",
    exports=LAYER,
    family="reference",
    title="Model without prices",
    note="What a model decides without prices.",
    default=True,
    fast=True,
    reference=True,
)
class MostProbable(BaseRule):
    """Most probable class: costs play no part.

    Where decisions are not classes it is followed by the decision that is the cheapest for that
    class. The reference that every other rule is compared with. It takes costs of every kind, so
    that it can stand beside any rule, and by definition decides by none of them: not the one
    to use where mistakes have different prices.

    Parameters
    ----------
    cost_matrix, classes
        As in `MinimumExpectedCost`; the costs move no decision.

    Attributes
    ----------
    partition_ : ndarray of shape (n_classes, n_classes)
        The matrix of the same decisions: 0/1 costs; the prices, where decisions are not classes.
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
    _decides_by = "learned"
    _decides_by_for: ClassVar[dict[str, str]] = {"choices": "likeliest"}

    def _learn(self, proba: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        square = costs.choices is None
        self.partition_ = 1.0 - np.eye(len(self.classes_)) if square else self.cost_matrix_

    def _numbers(self) -> Partition | Likeliest:
        if self._choices is not None:
            return Likeliest(self.cost_matrix_.shape[1])
        return Partition.fixed(-np.eye(len(self.classes_)))
