"""What classifiers share that weigh probabilities with costs: they state, and their policy decides."""

import copy
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from stakes._base import ExpectedCostMixin
from stakes._learning.statement import Statement
from stakes.costs import Costs
from stakes.decision._capacity import CapacityPlan, check_capacity
from stakes.decision._policy import Policy
from stakes.decision._shift import (
    METHODS,
    PriorShift,
    check_priors,
    class_moments,
    estimate_from_moments,
)
from stakes.utils._arrays import quoted
from stakes.utils._labels import as_labels, label_array
from stakes.utils._sklearn import Interval, StrOptions


class PolicyMixin(ExpectedCostMixin):
    """Mixin of classifiers whose decisions a `Policy` takes.

    A subclass has the parameters of `_policy_constraints`, calls `_settle_policy` in `fit`,
    `_learn_from_held_out` where it has held-out probabilities, sets `policy_`'s rule and
    calibration by `_learned_policy`, and writes `_state`.
    """

    capacity: Any
    capacity_mode: str
    abstain_cost: Any
    abstain_label: Any
    priors: Any
    policy_: Policy
    n_training_: int
    held_out_: list | None

    _states = "probabilities"
    _policy_constraints: ClassVar[dict] = {
        "capacity": [dict, None],
        "capacity_mode": [StrOptions({"batch", "stream"})],
        "abstain_cost": [Interval(Real, None, None, closed="neither"), "array-like", None],
        "abstain_label": "no_validation",
        "priors": [dict, "array-like", None],
    }

    # -- fit -------------------------------------------------------------------------------------

    def _settle_policy(self, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        """Check the parameters; set a policy at the prices, with the class frequencies of training."""
        counts = np.bincount(y, sample_weight, minlength=len(self.classes_))
        training = counts / counts.sum()
        policy = Policy(
            classes=self.classes_.tolist(),
            prices=self.cost_matrix_,
            decisions=self._priced_decisions,  # type: ignore[arg-type]
            training_priors=training,
            needs_prices=self.cost_kind_ == "deciding",
            states=self._stated(),
        )
        if self.priors is not None:
            policy = policy.with_priors(self.priors)
        if self.abstain_cost is not None:
            policy = policy.with_abstention(self.abstain_cost, self.abstain_label)
        if self.capacity is not None:
            check_capacity(self.capacity, policy.decisions, stream=self._streams)
        self.policy_, self.n_training_ = policy, len(y)
        if policy.abstains:
            self.decisions_ = label_array(policy.decisions)
        self.held_out_ = None
        self.__dict__.pop("prior_shift_", None)

    def _learned_policy(self, **numbers: Any) -> None:
        """Let the policy have what was learned: its rule, its calibration; then its limits."""
        self.policy_ = self.policy_.having(**numbers)
        if self.capacity is not None and not self._streams:
            self.policy_ = self.policy_.with_limits(self.capacity)

    def _learn_from_held_out(
        self, proba: np.ndarray, y: np.ndarray, cost_tensor: np.ndarray | None
    ) -> None:
        """Keep what held-out probabilities are like, and learn the prices of a stream."""
        self.held_out_ = list(class_moments(proba, y))
        if self._streams:
            expected = self.policy_.having(calibration=None).expected(proba, cost_tensor)
            self.policy_ = self.policy_.with_shares(self.capacity, expected, y)

    @property
    def _needs_prices(self) -> bool:
        return self.policy_.needs_prices

    # -- what the policy is, by name -----------------------------------------------------------

    @property
    def abstain_costs_(self) -> np.ndarray | None:
        """What abstaining costs for each true class; None where it is no decision."""
        return self.policy_.prices[:, -1] if self.policy_.abstains else None

    @property
    def abstain_label_(self) -> Any:
        """The label of an abstention; None where it is no decision."""
        return self.policy_.decisions[-1] if self.policy_.abstains else None

    @property
    def training_priors_(self) -> np.ndarray:
        """The class frequencies of training."""
        return self.policy_.trained_at

    @property
    def priors_(self) -> np.ndarray:
        """The class frequencies that probabilities are stated at."""
        return self.policy_.stated_at

    @property
    def shadow_prices_(self) -> np.ndarray | None:
        """For a stream: what one place more of each decision is worth, per row."""
        return self.policy_.shadow_prices

    @property
    def _streams(self) -> bool:
        return self.capacity is not None and self.capacity_mode == "stream"

    @property
    def _shifts(self) -> bool:
        return not np.array_equal(self.priors_, self.training_priors_)

    # -- deciding ----------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the class probabilities, (n_samples, n_classes)."""
        check_is_fitted(self)
        said = self._state(X, proba=True)
        assert said.proba is not None
        return self.policy_.state(said.proba)

    def plan(self, X: Any, *, cost_tensor: Any = None) -> CapacityPlan:
        """Return the decisions on X within the limits of `capacity`, and what the limits cost.

        Parameters
        ----------
        X, cost_tensor
            As in `predict`; the rows are one batch.

        Returns
        -------
        plan : CapacityPlan
            Its `decisions` are positions in `decisions_`; its
            `shadow_prices` say what one place more would be worth.
        """
        check_is_fitted(self)
        if self.capacity is None:
            raise ValueError(f"This {type(self).__name__} has no capacity: there are no limits.")
        tensor = self._check_cost_tensor(cost_tensor, X)
        policy = self.policy_.with_limits(self.capacity)
        plan = policy.settle(self._state(X, tensor), tensor).plan
        assert plan is not None
        return plan

    def _decide(self, X: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        return self.policy_.settle(self._state(X, cost_tensor), cost_tensor).positions

    def _expected_costs(self, X: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        free = self.policy_.having(capacity=None)
        expected = free.settle(self._state(X, cost_tensor), cost_tensor).expected
        assert expected is not None
        return expected

    def _state(
        self, X: Any, cost_tensor: np.ndarray | None = None, *, proba: bool = False
    ) -> Statement:
        raise NotImplementedError

    def _paid(self, costs: Costs, decided: np.ndarray) -> np.ndarray:
        if not self.policy_.abstains:
            return super()._paid(costs, decided)
        paid = self.policy_.prices[costs.y, -1]
        kept = np.flatnonzero(decided < costs.n_decisions)
        paid[kept] = costs.take(kept).of(decided[kept])
        return paid

    # -- another population ------------------------------------------------------------------------

    def adapt(self, X: Any, *, priors: Any = None, method: str = "em") -> Self:
        """Return a new model for a population of other class frequencies; nothing is fitted again.

        Only the frequencies may have changed, not what rows of a class look like. Where it is
        not clear, at the 5% level, that anything has shifted, the new model decides as this one.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows of the new population, without their classes; some hundreds at least. None
            where `priors` are given.
        priors : dict or array-like of shape (n_classes,), default=None
            The new class frequencies, where they are known.
        method : {"em", "confusion"}, default="em"
            How they are estimated, as in `estimate_priors`. "confusion" needs held-out
            probabilities, which the model has where its `fit` calibrates or learns a rule.

        Returns
        -------
        model : object
            A copy with other `priors_`; its `prior_shift_` is the `PriorShift` that was found.
        """
        check_is_fitted(self)
        proba = self.predict_proba(X) if priors is None else None
        # Moments of held-out rows are those of training.
        moments = None if self._shifts else self.held_out_
        policy, shift = adapt_policy(
            self.policy_, proba, priors, method, moments, self.n_training_
        )
        model = copy.copy(self)
        model.policy_, model.prior_shift_ = policy, shift
        if shift.shifted:
            model.priors = dict(zip(as_labels(self.classes_), shift.priors.tolist()))
        return model


def adapt_policy(
    policy: Policy,
    proba: np.ndarray | None,
    priors: Any,
    method: str,
    moments: Any,
    n_training: int | None,
) -> tuple[Policy, PriorShift]:
    """Return the policy for another population, and what has shifted.

    Parameters
    ----------
    policy : Policy
        As it is.
    proba : ndarray of shape (n_samples, n_classes) or None
        What the model states of rows of the new population, by this policy.
    priors : dict or array-like or None
        The new frequencies, where they are known; then `proba` is not looked at.
    method, moments, n_training
        As in `estimate_from_moments`.
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r} is unknown: the methods are {quoted(METHODS)}.")
    old = policy.stated_at
    if priors is not None:
        new = check_priors(priors, policy.classes)
        shift = PriorShift(new, new, new, old, 0.0, 0, "given")
    else:
        assert proba is not None
        shift = estimate_from_moments(proba, old, method, moments, n_training)
    # Asked even where nothing has shifted: a policy that cannot follow frequencies says so.
    shifted = policy.with_priors(shift.priors)
    return (shifted if shift.shifted else policy), shift
