"""A guarantee: decide or abstain such that the average cost stays under a limit, with confidence."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from stakes._learning.votes import expected_rows
from stakes.costs import Costs
from stakes.decision._expected import check_proba
from stakes.decision._rule import BaseRule
from stakes.utils._arrays import describe, finite_array
from stakes.utils._checks import warn
from stakes.utils._labels import abstain_label, encode_labels, label_array
from stakes.utils._sklearn import Interval

# Thresholds that are tried from each start, and the starts with their shares of the doubt: a model
# that is too sure of itself states small costs where large ones are.
N_STEPS = 100
STARTS = ((1.0, 0.6), (1 / 4, 0.1), (1 / 16, 0.1), (1 / 64, 0.1), (1 / 256, 0.1))
COLUMNS = 10
# What stands for a threshold without end.
LARGE = 1e50


def betting_p_values(losses: np.ndarray, limit: float, doubt: float) -> np.ndarray:
    r"""Return p-values of "the mean loss is at least the limit", by betting against it.

    Parameters
    ----------
    losses : ndarray of shape (n, m)
        Losses between 0 and 1 of n rows in random order, of m ways to decide.
    limit : float
        Between 0 and 1.
    doubt : float
        The level at which the p-values will be looked at; the bets are sized for it.

    Returns
    -------
    p : ndarray of shape (m,)
        :math:`1 / \max_t \prod_{i \le t} (1 - \nu_i (L_i - \alpha))`, the bets :math:`\nu_i` depending
        on rows before i alone: section 3.1 of [1]_ as used for risk control in [2]_. Valid for
        any bounded loss, and sharp where its variance is small.

    References
    ----------
    .. [1] I. Waudby-Smith and A. Ramdas, "Estimating Means of Bounded Random Variables by
       Betting", JRSS B 86, 2024, 1-27.
    .. [2] S. Bates, A. Angelopoulos, L. Lei, J. Malik and M. Jordan, "Distribution-Free,
       Risk-Controlling Prediction Sets", JACM 68, 2021.

    Examples
    --------
    A hundred rows without any loss make a mean of 10% unlikely, and do not exclude 1%:

    >>> import numpy as np
    >>> from stakes.decision._risk import betting_p_values
    >>> free = np.zeros((100, 1))
    >>> betting_p_values(free, 0.1, 0.05)[0] < 0.05, betting_p_values(free, 0.01, 0.05)[0] < 0.05
    (np.True_, np.False_)
    """
    n = len(losses)
    t = np.arange(1, n + 1)[:, None]
    mean = (0.5 + losses.cumsum(axis=0)) / (1 + t)
    variance = (0.25 + ((losses - mean) ** 2).cumsum(axis=0)) / (1 + t)
    before = np.vstack([np.full((1, losses.shape[1]), 0.25), variance[:-1]])
    bets = np.minimum(1.0, np.sqrt(2 * np.log(1 / doubt) / (n * before)))
    wealth = np.log1p(-bets * (losses - limit)).cumsum(axis=0)
    return np.exp(-np.maximum(wealth.max(axis=0), 0.0))


@dataclass(eq=False, repr=False, kw_only=True)
class RiskControl(BaseRule):
    r"""Decide or abstain such that the average cost stays under a limit, with a stated confidence.

    Each row's decision is that of least expected cost; it is taken where its expected cost is
    at most `threshold_`, else the rule abstains. The threshold is the largest at which tests on
    calibration rows show that the average cost is below the limit (Learn then Test [1]_). The
    guarantee holds whatever the model is worth, for rows exchangeable with the calibration rows,
    which neither the model nor its calibration may have seen. Not the one to use where
    the population shifts: no past row speaks for another population.

    Parameters
    ----------
    limit : float, default=1.0
        What a row may cost on average.
    confidence : float, default=0.95
        The probability, over calibration samples, with which the limit is kept. Samples on which
        nothing is decided count as kept: of the fits that do decide, more may break it.
    abstain_cost : float, default=None
        What abstaining costs; the limit is then one on the average of all rows. If None, it is
        one on the average of the rows that are decided.
    abstain_label : int, float or str, default=None
        The label of an abstention. If None, -1 for number labels and ``"abstain"`` for text.
    ceiling : float, default=None
        The largest cost that a row can have, for costs known when deciding (`cost_tensor`);
        class costs say it themselves. Costs above it are refused.
    cost_matrix, classes
        As in `MinimumExpectedCost`.
    random_state : int, RandomState instance or None, default=0
        Shuffles the calibration rows, whose order the tests go by.

    Attributes
    ----------
    guaranteed_ : bool
        Whether the limit can be guaranteed; if not, `fit` warns and the rule abstains always.
    threshold_ : float
        The largest expected cost that is decided; -inf where nothing is guaranteed.
    p_value_ : float
        Of the test at this threshold.
    abstains_ : float
        The share of the calibration rows that is left undecided.
    cost_ : float
        What the calibration rows cost on average: those decided, or all of them with an
        `abstain_cost`. NaN where none is decided.
    abstain_label_ : object
        The label of an abstention.
    classes_, cost_matrix_, partition_
        As in `MinimumExpectedCost`.

    Notes
    -----
    An abstention counts as `abstain_cost`, or as the limit itself: the mean of
    :math:`c\,1_{decided} + \alpha\,1_{abstained}` is below :math:`\alpha` if and only if the mean
    cost of the decided rows is. Thresholds are tested in a fixed order, upwards from the limit
    (or from `abstain_cost`, if larger), until the first that fails; this has 60% of the doubt. For
    models that are too sure of themselves the same is done from 1/4, 1/16, 1/64 and 1/256 of it,
    with a tenth of the doubt each.

    The promise is *marginal*: with a confidence of 0.95 at most one fit in twenty breaks the limit,
    those that abstain always among them. Where the limit can barely be reached most fits abstain,
    and of the few that decide nearly all may be among those that break it. `check` is the
    promise for one fit, whatever it went through: a test of its threshold on rows that it has
    not seen.

    References
    ----------
    .. [1] A. Angelopoulos, S. Bates, E. Candès, M. Jordan and L. Lei, "Learn then Test:
       Calibrating Predictive Algorithms to Achieve Risk Control", Annals of Applied Statistics
       19, 2025.

    Examples
    --------
    Half of the rows are sure and always right, half are a coin toss. With a limit of 0.1 per
    decided row the sure ones are decided:

    >>> import numpy as np
    >>> from stakes.decision import RiskControl
    >>> proba = np.array([[0.99, 0.01], [0.5, 0.5]] * 200)
    >>> y = np.where(proba[:, 0] > 0.9, 0, np.arange(400) // 2 % 2)
    >>> rule = RiskControl(limit=0.1).fit(proba, y)
    >>> rule.predict([[0.98, 0.02], [0.5, 0.5]]), rule.abstains_
    (array([ 0, -1]), 0.5)
    """

    limit: float = 1.0
    confidence: float = 0.95
    abstain_cost: float | None = None
    abstain_label: Any = None
    ceiling: float | None = None
    random_state: Any = 0

    _weighs_cost_tensor = True
    _abstains = True
    _parameter_constraints: ClassVar[dict] = {
        **BaseRule._parameter_constraints,
        "limit": [Interval(Real, None, None, closed="neither")],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "abstain_cost": [Interval(Real, None, None, closed="neither"), None],
        "abstain_label": "no_validation",
        "ceiling": [Interval(Real, None, None, closed="neither"), None],
        "random_state": ["random_state"],
    }

    def _learn(self, proba: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        if sample_weight is not None:
            raise ValueError(
                "RiskControl counts every calibration row once: give no sample_weight."
            )
        if costs.kind == "hindsight":
            raise ValueError(
                "RiskControl needs to know what a decision may cost before it is taken: give a "
                "cost_matrix or a cost_tensor, not costs."
            )
        self.partition_ = self.cost_matrix_
        choices = costs.choices
        labels = self.classes_ if choices is None else label_array(choices.labels)
        self.abstain_label_ = abstain_label(labels, self.abstain_label)
        order = check_random_state(self.random_state).permutation(len(costs))
        proba, costs = proba[order], costs.take(order)
        decided, expected = self._least(proba, costs.tensor)
        paid = costs.of(decided)
        price = self.limit if self.abstain_cost is None else float(self.abstain_cost)
        low, high = self._bounds(costs, paid, price)
        self.threshold_, self.p_value_ = self._search(expected, paid, price, low, high)
        self.guaranteed_ = bool(self.threshold_ > -np.inf)
        taken = expected <= self.threshold_
        self.abstains_ = float(1 - taken.mean())
        of_all = np.where(taken, paid, price)
        shown = paid[taken] if self.abstain_cost is None else of_all
        self.cost_ = float(shown.mean()) if len(shown) else float("nan")
        if not self.guaranteed_:
            warn(
                "ST403",
                f"An average cost of at most {describe(self.limit)} cannot be guaranteed with "
                f"confidence {self.confidence:g} on these {len(paid):,} rows: RiskControl abstains "
                "always; give more rows, a higher limit or less confidence.",
                UserWarning,
                stacklevel=4,
            )

    def check(self, proba: Any, y: Any, *, cost_tensor: Any = None) -> float:
        """Return how likely fresh rows would look this good if this very fit broke its limit.

        Below ``1 - confidence`` the limit is kept by this fit with that confidence: the
        conditional form of the promise, which holds for fits that decide, too.

        Parameters
        ----------
        proba : array-like of shape (n_samples, n_classes)
            Of rows that neither the model nor this rule has seen.
        y : array-like of shape (n_samples,)
            Their classes.
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            Their prices, where they are known when deciding.

        Returns
        -------
        p_value : float
            1 where nothing is decided, and the promise says nothing.
        """
        check_is_fitted(self)
        proba = check_proba(proba, n_classes=len(self.classes_))
        codes = encode_labels(y, self.classes_)[1]
        if cost_tensor is not None:
            costs = Costs(codes, tensor=finite_array(cost_tensor, name="cost_tensor"))
        else:
            costs = Costs(codes, self.cost_matrix_)
        decided, expected = self._least(proba, costs.tensor)
        paid = costs.of(decided)
        price = self.limit if self.abstain_cost is None else float(self.abstain_cost)
        low, high = self._bounds(costs, paid, price)
        taken = expected <= self.threshold_
        if self.limit >= high or not taken.any():
            return 0.0 if self.limit >= high else 1.0
        losses = (np.where(taken, paid, price)[:, None] - low) / (high - low)
        order = check_random_state(self.random_state).permutation(len(losses))
        limit = (self.limit - low) / (high - low)
        return float(betting_p_values(losses[order], limit, 1 - self.confidence)[0])

    def _bounds(self, costs: Costs, paid: np.ndarray, price: float) -> tuple[float, float]:
        """Return the least and the largest loss that a row can have."""
        if costs.matrix is not None:
            low, high = float(costs.matrix.min()), float(costs.matrix.max())
        elif self.ceiling is None:
            raise ValueError(
                "RiskControl needs to know how much a row can cost at most: give the ceiling of "
                "costs known when deciding."
            )
        else:
            low, high = min(0.0, float(costs.tensor.min())), float(self.ceiling)  # type: ignore
            if paid.max() > high:
                raise ValueError(
                    f"A row costs {describe(paid.max())}, more than ceiling={describe(high)}: "
                    "raise the ceiling, or cut the costs."
                )
        return min(low, price), max(high, price)

    def _search(
        self, expected: np.ndarray, paid: np.ndarray, price: float, low: float, high: float
    ) -> tuple[float, float]:
        """Return the largest threshold that is shown to keep the limit, and its p-value."""
        if self.limit >= high:
            return np.inf, 0.0
        if self.limit <= low:
            return -np.inf, 1.0
        span, begin = high - low, max(self.limit, price) - low
        best, p_value = -np.inf, 1.0
        for factor, share in STARTS:
            doubt = share * (1 - self.confidence)
            # Fixed before any row is seen: from the start to all there can be.
            steps = np.geomspace(factor * begin, span, N_STEPS) + low
            for first in range(0, N_STEPS, COLUMNS):
                some = steps[first : first + COLUMNS]
                losses = np.where(expected[:, None] <= some, paid[:, None], price)
                p_values = betting_p_values(
                    (losses - low) / span, (self.limit - low) / span, doubt
                )
                fails = np.flatnonzero(p_values > doubt)
                passed = fails[0] if len(fails) else len(some)
                if passed and some[passed - 1] > best:
                    best, p_value = float(some[passed - 1]), float(p_values[passed - 1])
                if len(fails):
                    break
        return best, p_value

    def _least(
        self, proba: np.ndarray, cost_tensor: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        expected = expected_rows(proba, self.cost_matrix_ if cost_tensor is None else cost_tensor)
        return expected.argmin(axis=1), expected.min(axis=1)

    def _settle_policy(self, *, deciding: bool = False) -> None:
        """Leave a row undecided where its least expected cost is above the threshold."""
        super()._settle_policy(deciding=deciding)
        threshold = np.clip(self.threshold_, -LARGE, LARGE)
        self.policy_ = self.policy_.with_abstention(threshold, self.abstain_label_)
