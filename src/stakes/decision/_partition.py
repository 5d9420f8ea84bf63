"""Learned partitions of the probability simplex, after O'Brien, Gupta and Gray (2008)."""

import numpy as np

from stakes.decision._expected import check_proba
from stakes.decision._families import ColumnFactors, Entries, RowFactors, Shifts
from stakes.decision._learned import FamilyRule, expected_by_decision


class ParallelPartition(FamilyRule):
    r"""Learn a partition of the simplex parallel to that of the costs.

    Where a model's probabilities are off in a systematic way, the decisions of least expected
    cost are off with them. This rule shifts the price of each decision, the boundaries
    staying parallel, until the decisions on validation examples cost least: what ROC
    analysis does for two classes.

    It serves class costs (situation A) and, fitted and asked with `cost_tensor`, example
    costs that are known when deciding (B1); `costs` of examples count in what is minimised.
    Not the one to use where a few dozen validation examples are all there is, or after a
    good calibration: it then learns noise (see `shrink`).

    Parameters
    ----------
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``. A plain array follows the order of `classes_`. If
        None, the class means of the costs given to `fit`, or else 0/1 costs.
    n_passes : int, default=1
        How often each parameter is visited; 1 is the paper's. The search stops early where a
        pass changes nothing.
    n_restarts : int, default=0
        Further searches, each from random parameters near the cheapest so far.
    shrink : bool, default=False
        Whether to fall back to the decisions of least expected cost where the gain on
        examples left out (5 folds) is less than one standard error.
    random_state : int, RandomState or None, default=None
        For the restarts and the folds of `shrink`.
    classes : array-like of shape (n_classes,), default=None
        The classes in the order of the columns of the probabilities. If None, the columns
        of a DataFrame, or else the sorted classes of `y`.

    Attributes
    ----------
    partition_ : ndarray of shape (n_classes, n_classes)
        Decisions are those of least ``proba @ partition_``.
    parameters_ : ndarray of shape (n_classes,)
        The shift of each decision's price; they sum to 0.
    initial_cost_, cost_ : float
        The average cost on the validation examples of the decisions of least expected cost,
        and of this rule's.
    path_ : ndarray
        The average cost before the first pass and after each.
    shrunk_ : bool
        Whether the rule fell back.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The costs in force.

    Notes
    -----
    Section 5 of [1]_: ``a = c`` with :math:`\alpha_i` added to the price of deciding
    :math:`i` and taken from every cost of the truth :math:`i`, in our orientation
    ``partition_[t, d] = C[t, d] + alpha[d] - alpha[t]``. One pass is section 5.1: classes
    from most to least populous; the changepoint of each example; the cheapest gap of (14),
    the widest of several; 0 if it lies inside, otherwise the geometric mean of the gap's
    ends, clipped so that no mistake becomes cheaper than the right decision. Where an end of
    the gap is infinite, the bound of the clipping takes its place; where it is 0, the middle
    is taken. A step that clipping has made dearer than no step is not taken. Later passes
    and restarts look inside the bounds only.

    References
    ----------
    .. [1] D. B. O'Brien, M. R. Gupta and R. M. Gray, "Cost-sensitive Multi-class
       Classification from Probability Estimates", ICML 2008.

    Examples
    --------
    The model says 0.3 where the third class is the truth half of the time:

    >>> from stakes.decision import ParallelPartition
    >>> proba = [[0.6, 0.1, 0.3]] * 4 + [[0.8, 0.1, 0.1]] * 2 + [[0.1, 0.8, 0.1]] * 2
    >>> y = [0, 0, 2, 2, 0, 0, 1, 1]
    >>> rule = ParallelPartition(cost_matrix=[[0, 1, 1], [1, 0, 1], [2, 2, 0]])
    >>> rule.fit(proba, y).predict([[0.6, 0.1, 0.3]])
    array([2])
    >>> rule.initial_cost_, rule.cost_
    (0.5, 0.25)
    """

    _takes_cost_tensor = True
    _literal = True

    def _family(self, proba, costs, cost_tensor):
        if cost_tensor is None:
            return Shifts(proba, costs)
        return Shifts(proba, costs, expected_by_decision(proba, cost_tensor))

    def _decide_learned(self, proba, cost_tensor):
        if cost_tensor is None:
            return super()._decide_learned(proba, cost_tensor)
        expected = expected_by_decision(check_proba(proba), cost_tensor)
        return (expected + self.parameters_[:, None]).argmin(axis=0)


class RowPartition(FamilyRule):
    """Learn a partition that scales every cost of a decision.

    The paper's row multiply: in our orientation the *columns* of the costs, one factor per
    decision (Property 7). Where to use it, the parameters and the attributes are those of
    `ParallelPartition`; `parameters_` holds the factors, their geometric mean 1.

    Parameters
    ----------
    cost_matrix, n_passes, n_restarts, shrink, random_state, classes
        As in `ParallelPartition`.

    Examples
    --------
    >>> from stakes.decision import RowPartition
    >>> proba = [[0.6, 0.1, 0.3]] * 4 + [[0.8, 0.1, 0.1]] * 2 + [[0.1, 0.8, 0.1]] * 2
    >>> y = [0, 0, 2, 2, 0, 0, 1, 1]
    >>> rule = RowPartition(cost_matrix=[[0, 1, 1], [1, 0, 1], [2, 2, 0]]).fit(proba, y)
    >>> rule.initial_cost_, rule.cost_
    (0.5, 0.25)
    """

    _takes_cost_tensor = True

    def _family(self, proba, costs, cost_tensor):
        if cost_tensor is None:
            return RowFactors(proba, costs)
        return RowFactors(proba, costs, expected_by_decision(proba, cost_tensor))

    def _decide_learned(self, proba, cost_tensor):
        if cost_tensor is None:
            return super()._decide_learned(proba, cost_tensor)
        expected = expected_by_decision(check_proba(proba), cost_tensor)
        return (expected * self.parameters_[:, None]).argmin(axis=0)


class ColumnPartition(FamilyRule):
    """Learn a partition that scales every cost of a true class.

    The paper's column multiply: in our orientation the *rows* of the costs, one factor per
    true class, as if the class were rarer or more common than the model believes
    (Property 6). Where to use it, the parameters and the attributes are those of
    `ParallelPartition`; `parameters_` holds the factors, their geometric mean 1.

    Parameters
    ----------
    cost_matrix, n_passes, n_restarts, shrink, random_state, classes
        As in `ParallelPartition`.

    Examples
    --------
    >>> from stakes.decision import ColumnPartition
    >>> proba = [[0.6, 0.1, 0.3]] * 4 + [[0.8, 0.1, 0.1]] * 2 + [[0.1, 0.8, 0.1]] * 2
    >>> y = [0, 0, 2, 2, 0, 0, 1, 1]
    >>> rule = ColumnPartition(cost_matrix=[[0, 1, 1], [1, 0, 1], [2, 2, 0]]).fit(proba, y)
    >>> rule.initial_cost_, rule.cost_
    (0.5, 0.25)
    """

    _takes_cost_tensor = True

    def _family(self, proba, costs, cost_tensor):
        if cost_tensor is not None:
            cost_tensor = cost_tensor - cost_tensor.min(axis=2, keepdims=True)
        return ColumnFactors(proba, costs, cost_tensor)

    def _decide_learned(self, proba, cost_tensor):
        if cost_tensor is None:
            return super()._decide_learned(proba, cost_tensor)
        weighted = check_proba(proba) * self.parameters_
        return np.einsum("nt,ntd->nd", weighted, cost_tensor).argmin(axis=1)


class FullPartition(FamilyRule):
    """Learn all K(K - 1) entries of the partition matrix.

    The richest of the partitions and the easiest to overfit: hundreds of validation examples
    per entry are not too many. It serves class costs (situation A); example costs given to
    `fit` count in what is minimised, but `predict` cannot weigh them. The parameters and the
    attributes are those of `ParallelPartition`; `parameters_` is the matrix itself.

    Parameters
    ----------
    cost_matrix, n_passes, n_restarts, shrink, random_state, classes
        As in `ParallelPartition`.

    Examples
    --------
    >>> from stakes.decision import FullPartition
    >>> proba = [[0.6, 0.1, 0.3]] * 4 + [[0.8, 0.1, 0.1]] * 2 + [[0.1, 0.8, 0.1]] * 2
    >>> y = [0, 0, 2, 2, 0, 0, 1, 1]
    >>> rule = FullPartition(cost_matrix=[[0, 1, 1], [1, 0, 1], [2, 2, 0]]).fit(proba, y)
    >>> rule.initial_cost_, rule.cost_
    (0.5, 0.25)
    """

    def _family(self, proba, costs, cost_tensor):
        return Entries(proba, costs)

    def _set_parameters(self, family, found):
        super()._set_parameters(family, found)
        self.parameters_ = self.partition_.ravel()
