"""The decision of least expected cost."""

from stakes.decision._declare import rule
from stakes.decision._rule import BaseRule


@rule(
    "minimum_expected_cost",
    method="calibrated",
    calibration="temperature",
    title="Calibrated model, least expected cost",
    note="Temperature scaling on held-out rows, then the decision of least expected cost.",
    default=True,
    fast=True,
)
@rule(
    "minimum_expected_cost",
    method="mec",
    title="Plain model, least expected cost",
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
    >>> from stakes.decision import MinimumExpectedCost
    >>> C = [[0, 1, 1], [1, 0, 1], [20, 20, 0]]
    >>> proba = [[0.7, 0.2, 0.1], [0.9, 0.08, 0.02], [0.5, 0.5, 0.0]]
    >>> rule = MinimumExpectedCost(cost_matrix=C).fit(proba, ["cold", "flu", "sepsis"])
    >>> rule.predict(proba)
    array(['sepsis', 'cold', 'cold'], dtype='<U6')
    """

    _weighs_cost_tensor = True
    _learns = False
