"""Rules for prices that are not known for sure: least regret, and averse to risk."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from stakes.costs import Costs, UncertainCostMatrix
from stakes.decision._declare import rule
from stakes.decision._numbers import Doubt
from stakes.decision._rule import BaseRule
from stakes.utils._sklearn import Interval

DRAWS = "it weighs draws of prices in doubt, for which the files have no place"


@dataclass(eq=False, repr=False, kw_only=True)
class _DoubtRule(BaseRule):
    """What the two share: the prices, as ranges or as draws."""

    _learns = False
    _decides_by = "doubt"

    def _learn(self, proba: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        self.partition_ = self.cost_matrix_
        doubt = costs.doubt
        if doubt is None:
            named = None if costs.choices is None else costs.choices.labels
            doubt = UncertainCostMatrix(self.cost_matrix_.tolist(), decisions=named)
        self.low_, self.high_ = doubt.low, doubt.high
        self.draws_: Any = None if self._exact(doubt) else doubt.sample()

    def _exact(self, doubt: UncertainCostMatrix) -> bool:
        return False


@rule("least_regret", method="least_regret", no_export=DRAWS)
class LeastRegret(_DoubtRule):
    """Least regret: the most that can be lost by not knowing the prices is as little as it can be.

    For an `UncertainCostMatrix`; with prices known for sure it is least expected cost, and with
    ranges of two classes the same as at the middle of each range. It needs no belief about which
    prices in a range are likely. Not the one to use where there is such a
    belief and many cases: the mean price costs less on average.

    Parameters
    ----------
    cost_matrix, classes
        As in `MinimumExpectedCost`.

    Attributes
    ----------
    low_, high_ : ndarray of shape (n_classes, n_classes)
        The lowest and highest prices.
    draws_ : ndarray of shape (n_draws, n_classes, n_classes) or None
        The prices over which the largest regret is looked for; None for ranges, where it is
        exact.
    partition_ : ndarray of shape (n_classes, n_classes)
        The mean prices.
    classes_, cost_matrix_
        As in `MinimumExpectedCost`.

    Examples
    --------
    A miss costs 1 to 9, a false alarm 1. At 0.18, "no" may cost 9 x 0.18 - 0.82 = 0.8 too much,
    "yes" 0.82 - 0.18 = 0.64:

    >>> from stakes.costs import UncertainCostMatrix
    >>> from stakes.decision import LeastRegret
    >>> rule = LeastRegret(cost_matrix=UncertainCostMatrix([[0, 1], [(1, 9), 0]]))
    >>> rule.fit([[0.5, 0.5]] * 2, [0, 1]).predict([[0.82, 0.18], [0.9, 0.1]])
    array([1, 0])
    """

    def _exact(self, doubt: UncertainCostMatrix) -> bool:
        return doubt.is_box

    def _numbers(self) -> Doubt:
        return Doubt("regret", self.low_, self.high_, self.draws_)


@rule("risk_averse", method="risk_averse", no_export=DRAWS)
@dataclass(eq=False, repr=False, kw_only=True)
class RiskAverse(_DoubtRule):
    """Averse to risk: the worst share of outcomes costs as little as it can.

    An outcome is a truth and, for an `UncertainCostMatrix`, a draw of the prices; costs count
    from the best decision for that truth. Not the one to use where many small cases add up: the
    mean is what is paid then.

    Parameters
    ----------
    cost_matrix, classes
        As in `MinimumExpectedCost`.
    share : float, default=0.1
        The share of outcomes that counts; 1 is least expected cost.

    Attributes
    ----------
    low_, high_, draws_, partition_, classes_, cost_matrix_
        As in `LeastRegret`.

    Examples
    --------
    At a probability of 0.05 a miss of 10 costs 0.5 on average, a false alarm 0.95. Of the worst
    tenth of outcomes half are misses, at 5 on average:

    >>> from stakes.decision import RiskAverse
    >>> rule = RiskAverse(cost_matrix=[[0, 1], [10, 0]]).fit([[0.5, 0.5]] * 2, [0, 1])
    >>> rule.predict([[0.95, 0.05]])
    array([1])
    """

    share: float = 0.1

    _parameter_constraints: ClassVar[dict] = {
        **BaseRule._parameter_constraints,
        "share": [Interval(Real, 0, 1, closed="right")],
    }

    def _numbers(self) -> Doubt:
        return Doubt("worst", self.low_, self.high_, self.draws_, self.share)
