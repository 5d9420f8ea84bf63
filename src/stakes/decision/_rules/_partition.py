"""Learned partitions of the probability simplex, after O'Brien, Gupta and Gray (2008)."""

import numpy as np

from stakes.decision._declare import LAYER, rule
from stakes.decision._families import ColumnFactors, Entries, Family, RowFactors, Shifts
from stakes.decision._learned import FamilyRule


@rule("parallel_partition", method="partition", exports=LAYER, default=True, fast=True)
class ParallelPartition(FamilyRule):
    r"""Learned partition: where one decision ends and the next begins is learned on held-out probabilities.

    Where a model's probabilities are off in a systematic way, the decisions of least expected
    cost are off with them. This rule shifts the price of each decision, the boundaries
    staying parallel, until the decisions on validation examples cost least: what ROC
    analysis does for two classes.

    It serves class costs and, fitted and asked with `cost_tensor`, costs known when deciding;
    costs known in hindsight count in what is minimised. Not the one to use where a few dozen
    validation examples are all there is, or after a good calibration: it then learns noise
    (see `shrink`).

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
    is taken. A step that costs more than no step once it is clipped is not taken. Later passes
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

    _weighs_cost_tensor = True
    _literal = True
    _family_class = Shifts


@rule("row_partition", method="row_partition", exports=LAYER)
class RowPartition(FamilyRule):
    """Row partition: as `partition`, one factor per decision.

    The paper's row multiply: in our orientation the *columns* of the costs, every cost of a
    decision scaled (Property 7). It serves what `ParallelPartition` serves.

    Parameters
    ----------
    cost_matrix, n_passes, n_restarts, shrink, random_state, classes
        As in `ParallelPartition`.

    Attributes
    ----------
    parameters_ : ndarray of shape (n_classes,)
        The factor of each decision; their geometric mean is 1.
    partition_, initial_cost_, cost_, path_, shrunk_, classes_, cost_matrix_
        As in `ParallelPartition`.

    Examples
    --------
    >>> from stakes.decision import RowPartition
    >>> proba = [[0.6, 0.1, 0.3]] * 4 + [[0.8, 0.1, 0.1]] * 2 + [[0.1, 0.8, 0.1]] * 2
    >>> rule = RowPartition(cost_matrix=[[0, 1, 1], [1, 0, 1], [2, 2, 0]])
    >>> rule.fit(proba, [0, 0, 2, 2, 0, 0, 1, 1]).predict(proba[:1])
    array([2])
    """

    _weighs_cost_tensor = True
    _family_class = RowFactors


@rule("column_partition", method="column_partition", exports=LAYER)
class ColumnPartition(FamilyRule):
    """Column partition: as `partition`, one factor per true class.

    The paper's column multiply: in our orientation the *rows* of the costs, every cost of a
    true class scaled, as if the class were rarer or more common than the model believes
    (Property 6). It serves what `ParallelPartition` serves.

    Parameters
    ----------
    cost_matrix, n_passes, n_restarts, shrink, random_state, classes
        Those of `ParallelPartition`, and so are the attributes; `parameters_` holds the factor
        of each true class, the geometric mean of all being 1.

    Examples
    --------
    >>> from stakes.decision import ColumnPartition
    >>> proba = [[0.6, 0.1, 0.3]] * 4 + [[0.8, 0.1, 0.1]] * 2 + [[0.1, 0.8, 0.1]] * 2
    >>> rule = ColumnPartition(cost_matrix=[[0, 1, 1], [1, 0, 1], [2, 2, 0]])
    >>> rule.fit(proba, [0, 0, 2, 2, 0, 0, 1, 1]).cost_
    0.25
    """

    _weighs_cost_tensor = True
    _family_class = ColumnFactors


@rule("full_partition", method="full_partition", exports=LAYER)
class FullPartition(FamilyRule):
    """Full partition: as `partition`, every cell free.

    All K(K - 1) entries of the partition matrix are learned: the richest of the partitions
    and the easiest to overfit; hundreds of validation examples per entry are not too many.
    It serves class costs; costs known in hindsight count in what is minimised, but `predict`
    cannot weigh the costs of single examples.

    Parameters
    ----------
    cost_matrix, n_passes, n_restarts, shrink, random_state, classes
        See `ParallelPartition`, which has the same attributes, too; `parameters_` holds the
        entries of `partition_`, row by row.

    Examples
    --------
    >>> from stakes.decision import FullPartition
    >>> proba, y = [[0.6, 0.1, 0.3]] * 4 + [[0.1, 0.8, 0.1]] * 2, [0, 0, 2, 2, 1, 1]
    >>> rule = FullPartition(cost_matrix=[[0, 1, 1], [1, 0, 1], [2, 2, 0]]).fit(proba, y)
    >>> rule.predict([[0.6, 0.1, 0.3]])
    array([2])
    """

    _family_class = Entries

    def _set_parameters(self, family: Family, parameters: np.ndarray) -> None:
        super()._set_parameters(family, parameters)
        self.parameters_ = self.partition_.ravel()
