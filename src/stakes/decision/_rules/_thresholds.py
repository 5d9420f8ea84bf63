"""One threshold per class: the slides' multi-class thresholds, Lachiche and Flach's weights."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stakes.decision._declare import rule
from stakes.decision._expected import check_proba
from stakes.decision._families import Family, Thresholds
from stakes.decision._learned import FamilyRule


@rule("class_thresholds", method="thresholds", default=True)
@dataclass(eq=False, repr=False, kw_only=True)
class ClassThresholds(FamilyRule):
    r"""Learned thresholds: one threshold per class, learned on held-out probabilities.

    Empirical thresholding for any number of classes: decide the largest ratio of probability
    and threshold, :math:`\arg\max_k p_k / c_k`, the thresholds chosen so that the decisions on
    validation examples cost least, by exact sweeps over one threshold at a time.

    It serves class costs; costs known in hindsight count in what is minimised, but `predict`
    cannot weigh the costs of single examples. Not the one to use where the price of a mistake
    depends much on which wrong class is decided: the thresholds see one number per class;
    `ParallelPartition` keeps the whole matrix.

    Parameters
    ----------
    cost_matrix, shrink, random_state, classes
        As in `ParallelPartition`.
    n_passes : int, default=10
        How often each threshold is visited, at most; the search stops where a pass changes
        nothing.
    n_restarts : int, default=0
        Further searches, each from random thresholds near the cheapest so far. Two are
        always made: from equal thresholds, and from thresholds inverse to the mean cost of
        missing each class.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_classes,)
        They sum to one, so that of two classes the second is decided where its probability
        is above its threshold. `parameters_` is the same.
    partition_ : ndarray of shape (n_classes, n_classes)
        The matrix of the same decisions: ``1 / thresholds_[t]`` for every mistake on class t.
    initial_cost_, cost_, path_, shrunk_, classes_, cost_matrix_
        As in `ParallelPartition`.

    Examples
    --------
    The model says 0.3 where the third class is the truth half of the time:

    >>> from stakes.decision import ClassThresholds
    >>> proba = [[0.6, 0.1, 0.3]] * 4 + [[0.8, 0.1, 0.1]] * 2 + [[0.1, 0.8, 0.1]] * 2
    >>> y = [0, 0, 2, 2, 0, 0, 1, 1]
    >>> rule = ClassThresholds(cost_matrix=[[0, 1, 1], [1, 0, 1], [2, 2, 0]]).fit(proba, y)
    >>> rule.initial_cost_, rule.cost_
    (0.5, 0.25)
    """

    n_passes: int = 10

    _family_class = Thresholds

    def _extra_starts(self, family: Family) -> list:
        missing = family.costs.sum(axis=1)
        return [1.0 / np.where(missing > 0, missing, missing.max())]

    def _set_parameters(self, family: Family, found: np.ndarray) -> None:
        super()._set_parameters(family, found)
        self.thresholds_ = self.parameters_ / self.parameters_.sum()
        self.parameters_ = self.thresholds_

    def _decide_learned(self, proba: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        return (check_proba(proba) / self.thresholds_).argmax(axis=1)


@rule("lachiche_flach", method="lachiche_flach")
class LachicheFlach(FamilyRule):
    r"""Lachiche and Flach's weights: one weight per class on the probabilities.

    The LF method: decide :math:`\arg\max_k w_k p_k`, (4) of O'Brien, Gupta and Gray (2008; see
    `ParallelPartition`), with the weights of least cost on the validation examples, (5). It
    is `ClassThresholds` with ``w = 1 / c``, searched as the paper does: one pass from equal
    weights, classes from most to least populous. The costs enter only in what is minimised;
    it serves the kinds of costs that `ClassThresholds` does. The paper's tables have it far
    behind `ParallelPartition` in its worst cases: not the first choice.

    Parameters
    ----------
    cost_matrix, n_passes, n_restarts, shrink, random_state, classes
        As in `ParallelPartition`; one pass and no restart are the paper's.

    Attributes
    ----------
    weights_ : ndarray of shape (n_classes,)
        The weight of each class, the largest 1. `parameters_` is the same.
    partition_ : ndarray of shape (n_classes, n_classes)
        The matrix of the same decisions: 0/1 costs, each true class's scaled by its weight
        (the paper's column multiply).
    initial_cost_, cost_, path_, shrunk_, classes_, cost_matrix_
        As in `ParallelPartition`; the path begins at the most probable classes.

    References
    ----------
    .. [1] N. Lachiche and P. Flach, "Improving Accuracy and Cost of Two-class and
       Multi-class Probabilistic Classifiers Using ROC Curves", ICML 2003.

    Examples
    --------
    >>> from stakes.decision import LachicheFlach
    >>> proba, y = [[0.6, 0.1, 0.3]] * 4 + [[0.1, 0.8, 0.1]] * 2, [0, 0, 2, 2, 1, 1]
    >>> rule = LachicheFlach(cost_matrix=[[0, 1, 1], [1, 0, 1], [2, 2, 0]]).fit(proba, y)
    >>> rule.weights_[2] > rule.weights_[0]
    np.True_
    """

    _family_class = Thresholds

    def _set_parameters(self, family: Family, found: np.ndarray) -> None:
        super()._set_parameters(family, found)
        weights = 1.0 / self.parameters_
        self.weights_ = self.parameters_ = weights / weights.max()

    def _decide_learned(self, proba: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        return (check_proba(proba) * self.weights_).argmax(axis=1)
