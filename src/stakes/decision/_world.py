"""What deciding meets in the world: abstaining, limits, other class frequencies. For classifiers."""

import copy
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from stakes._base import ExpectedCostMixin
from stakes._learning.votes import expected_rows
from stakes.costs import Costs
from stakes.decision._capacity import (
    CapacityPlan,
    capacity_shares,
    check_capacity,
    decide_within,
    stream_prices,
)
from stakes.decision._shift import (
    PriorShift,
    check_priors,
    class_moments,
    estimate_from_moments,
    prior_factors,
    reweighted,
)
from stakes.utils._arrays import finite_array, quoted
from stakes.utils._labels import abstain_label, as_labels
from stakes.utils._sklearn import Interval, StrOptions

METHODS = ("em", "confusion")


class WorldMixin(ExpectedCostMixin):
    """Mixin of classifiers that weigh probabilities with costs, and what the world adds to that.

    A subclass has the parameters of `_world_constraints`, calls `_settle_world` in `fit`,
    `_learn_from_held_out` where it has held-out probabilities, and writes `_raw_proba`,
    `_expected_at` and, where something else than least expected cost decides, `_decide_each`.
    """

    capacity: Any
    capacity_mode: str
    abstain_cost: Any
    abstain_label: Any
    priors: Any
    abstain_costs_: np.ndarray | None
    abstain_label_: Any
    priors_: np.ndarray
    training_priors_: np.ndarray
    n_training_: int
    shadow_prices_: np.ndarray

    _world_constraints: ClassVar[dict] = {
        "capacity": [dict, None],
        "capacity_mode": [StrOptions({"batch", "stream"})],
        "abstain_cost": [Interval(Real, None, None, closed="neither"), "array-like", None],
        "abstain_label": "no_validation",
        "priors": [dict, "array-like", None],
    }

    # -- what a subclass writes ----------------------------------------------------------------

    def _raw_proba(self, X: Any) -> Any:
        """Return what is known of X: the probabilities at the frequencies of training, or more."""
        raise NotImplementedError

    def _expected_at(self, proba: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        """Return the expected cost of each class as a decision; `proba` as of `_at_priors`."""
        raise NotImplementedError

    def _decide_each(
        self, proba: Any, expected: np.ndarray, cost_tensor: np.ndarray | None
    ) -> np.ndarray:
        """Return the decisions without limits, as positions in `classes_`."""
        return expected.argmin(axis=1)

    # -- fit -------------------------------------------------------------------------------------

    def _settle_world(self, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        """Check the parameters; know the class frequencies of training."""
        self.abstain_costs_, self.abstain_label_ = self._check_abstention()
        counts = np.bincount(y, sample_weight, minlength=len(self.classes_))
        self.training_priors_, self.n_training_ = counts / counts.sum(), len(y)
        self.priors_ = self.training_priors_
        if self.priors is not None:
            self.priors_ = check_priors(self.priors, self.classes_)
        for name in ("shadow_prices_", "held_out_", "prior_shift_"):
            if hasattr(self, name):
                delattr(self, name)
        if self.capacity is not None:
            check_capacity(self.capacity, self._decisions, stream=self._streams)

    def _learn_from_held_out(
        self, proba: np.ndarray, y: np.ndarray, cost_tensor: np.ndarray | None
    ) -> None:
        """Keep what held-out probabilities are like, and learn the prices of a stream."""
        self.held_out_ = list(class_moments(proba, y))
        if self._streams:
            now = self._at_priors(proba)
            expected = self._with_abstention(now, self._expected_at(now, cost_tensor))
            shares = capacity_shares(self.capacity, self._decisions)
            self.shadow_prices_ = stream_prices(expected[self._as_now(y)], shares)

    def _as_now(self, y: np.ndarray) -> Any:
        """Return row numbers that stand for the frequencies of `priors_`, in fixed proportions."""
        if not self._shifts:
            return slice(None)
        factors = prior_factors(self.priors_, self.training_priors_)[y]
        rows = np.searchsorted(
            np.cumsum(factors), (np.arange(len(y)) + 0.5) / len(y) * factors.sum()
        )
        return np.minimum(rows, len(y) - 1)

    def _check_abstention(self) -> tuple[np.ndarray | None, Any]:
        """Return what abstaining costs for each true class, and the label it is returned as."""
        if self.abstain_cost is None:
            return None, None
        n_classes = len(self.classes_)
        costs = finite_array(self.abstain_cost, name="abstain_cost")
        if costs.shape not in ((), (n_classes,)):
            raise ValueError(
                f"abstain_cost must be a number or one number per class ({n_classes}), "
                f"but it has shape {costs.shape}."
            )
        text = self.classes_.dtype.kind in "OUS"
        label = abstain_label(self.classes_, self.abstain_label)
        if isinstance(label, str) != text and self.classes_.dtype.kind != "O":
            raise ValueError(
                f"abstain_label={label!r} is not of the kind of the classes, {quoted(self.classes_)}."
            )
        return np.full(n_classes, costs), label

    @property
    def _decisions(self) -> tuple:
        """The labels of the decisions: the classes, and abstaining where it has a price."""
        extra = () if self.abstain_costs_ is None else (self.abstain_label_,)
        return (*as_labels(self.classes_), *extra)

    @property
    def _streams(self) -> bool:
        return self.capacity is not None and self.capacity_mode == "stream"

    @property
    def _shifts(self) -> bool:
        return not np.array_equal(self.priors_, self.training_priors_)

    # -- deciding ----------------------------------------------------------------------------------

    def _at_priors(self, proba: np.ndarray) -> np.ndarray:
        """Return probabilities of training as they are at the frequencies in force."""
        if not self._shifts:
            return proba
        return reweighted(proba, prior_factors(self.priors_, self.training_priors_))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the class probabilities, (n_samples, n_classes)."""
        check_is_fitted(self)
        return self._at_priors(self._raw_proba(X))

    def predict(self, X: Any, *, cost_tensor: Any = None) -> np.ndarray:
        """Return the decisions, or `abstain_label_` where abstaining costs less.

        The parameters are those of every classifier here: X, and the costs of each example
        where they are known when deciding. With a `capacity` in its mode "batch" the rows of
        X are decided together, within the limits.
        """
        check_is_fitted(self)
        decided = self._decide(X, self._check_cost_tensor(cost_tensor, X))
        if self.abstain_costs_ is None:
            return self.classes_[decided]
        return np.append(self.classes_, self.abstain_label_)[decided]

    def plan(self, X: Any, *, cost_tensor: Any = None) -> CapacityPlan:
        """Return the decisions on X within the limits of `capacity`, and what the limits cost.

        Parameters
        ----------
        X, cost_tensor
            As in `predict`; the rows are one batch.

        Returns
        -------
        plan : CapacityPlan
            Its `decisions` are positions in `classes_` (one beyond them is an abstention); its
            `shadow_prices` say what one place more would be worth.
        """
        check_is_fitted(self)
        if self.capacity is None:
            raise ValueError(f"This {type(self).__name__} has no capacity: there are no limits.")
        expected = self._expected_costs(X, self._check_cost_tensor(cost_tensor, X))
        return decide_within(expected, self.capacity, labels=self._decisions)

    def _decide(self, X: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        """Return positions in `classes_`; the number of classes stands for an abstention."""
        proba, expected = self._weighed(X, cost_tensor)
        if self._streams:
            return (expected + self.shadow_prices_).argmin(axis=1)
        if self.capacity is not None:
            return decide_within(expected, self.capacity, labels=self._decisions).decisions
        k = len(self.classes_)
        decided = self._decide_each(proba, expected[:, :k], cost_tensor)
        if self.abstain_costs_ is None:
            return decided
        abstains = expected[:, k] < expected[np.arange(len(decided)), decided]
        return np.where(abstains, k, decided)

    def _expected_costs(self, X: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        return self._weighed(X, cost_tensor)[1]

    def _weighed(self, X: Any, cost_tensor: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the probabilities of X and the expected costs of all decisions."""
        proba = self.predict_proba(X)
        return proba, self._with_abstention(proba, self._expected_at(proba, cost_tensor))

    def _with_abstention(self, proba: np.ndarray, expected: np.ndarray) -> np.ndarray:
        if self.abstain_costs_ is None:
            return expected
        aside = expected_rows(proba, self.abstain_costs_[:, None])
        return np.column_stack([expected, aside])

    def _paid(self, costs: Costs, decided: np.ndarray) -> np.ndarray:
        if self.abstain_costs_ is None:
            return super()._paid(costs, decided)
        paid = self.abstain_costs_[costs.y]
        kept = np.flatnonzero(decided != self.abstain_label_)
        paid[kept] = super()._paid(costs.take(kept), decided[kept])
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
        if method not in METHODS:
            raise ValueError(f"method={method!r} is unknown: the methods are {quoted(METHODS)}.")
        self._check_can_shift()
        if priors is not None:
            new = check_priors(priors, self.classes_)
            shift = PriorShift(new, new, new, self.priors_, 0.0, 0, "given")
        else:
            # Moments of held-out rows are those of training.
            moments = None if self._shifts else getattr(self, "held_out_", None)
            shift = estimate_from_moments(
                self.predict_proba(X), self.priors_, method, moments, self.n_training_
            )
        model = copy.copy(self)
        model.prior_shift_ = shift
        if shift.shifted:
            model.priors_ = shift.priors
            model.priors = dict(zip(as_labels(self.classes_), shift.priors.tolist()))
        return model

    def _check_can_shift(self) -> None:
        """Refuse where what was learned does not follow class frequencies."""
