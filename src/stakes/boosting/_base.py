"""The boosting loop, written once: rounds, stopping, bookkeeping, votes.

A method is a subclass that says what state is kept between rounds (`_start`): the costs that
the next weak learner minimises, and what a member's vote is worth.
"""

import warnings
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from stakes._base import COST_MATRIX_CONSTRAINT, CostSensitiveMixin
from stakes._learning.draws import tell
from stakes._learning.folds import hold_out
from stakes._learning.voting import VotesMixin
from stakes.boosting._equations import SMALLEST_EDGE, loss_factor
from stakes.boosting._exponential import Step
from stakes.boosting._watch import Watch
from stakes.boosting._weak import ConstantDecision, Sample, TreeLearner, make_weak_learner
from stakes.costs import Costs
from stakes.tree.engine import check_features, is_cost_tree
from stakes.utils._sklearn import HasMethods, Interval, StrOptions, safe_indexing, validate_data


@dataclass(eq=False, repr=False)
class BaseCostBoosting(VotesMixin, CostSensitiveMixin, BaseEstimator):
    """The loop of all boosting methods here; not to be used on its own."""

    # Parameters are fields of a dataclass, which writes the constructor: a subclass adds its own.
    cost_matrix: Any = None
    _: KW_ONLY
    estimator: Any = None
    n_estimators: int = 200
    learning_rate: float = 1.0
    early_stopping: str | None = None
    validation_fraction: float = 0.1
    n_iter_no_change: int = 20
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict] = {
        "cost_matrix": COST_MATRIX_CONSTRAINT,
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "early_stopping": [StrOptions({"cost", "confusion_norm"}), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    # -- what a method says ------------------------------------------------------------------

    def _start(self, sample: Sample, rng: np.random.RandomState) -> Any:
        """Return the state before the first round.

        Parameters
        ----------
        sample : Sample
            What is learned from.
        rng : RandomState
            For methods that draw.

        Returns
        -------
        state : object
            Has `costs` (n, K), `target` (n,), `initial_loss`, and
            ``advance(leaf, decisions) -> Step``.
        """
        raise NotImplementedError

    def _round_sample(self, sample: Sample, state: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return what the weak learner is fitted on: (data, costs, target).

        The first rows must be those of `sample`, in their order; a method may add some.
        """
        return sample.data, state.costs, state.target

    def _error_bound(self, initial_loss: float, total_weight: float) -> float | None:
        """Return the bound on the training error before the first round, if there is one."""
        return None

    def _default_tree(self, n_samples: int) -> dict[str, Any]:
        """Return the options of the tree that serves where `estimator` is None."""
        return {"max_depth": 3}

    # -- fitting -----------------------------------------------------------------------------

    def _fit(self, X: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        weight = np.ones(len(costs)) if sample_weight is None else sample_weight
        if not weight.all():  # a row of weight 0 is as good as absent
            rows = np.flatnonzero(weight)
            X, costs, weight = safe_indexing(X, rows), costs.take(rows), weight[rows]
        rng = check_random_state(self.random_state)
        self._learner = make_weak_learner(
            self.estimator, self._default_tree(len(costs)), self.classes_, self.n_jobs
        )
        columns = self._columns if self._grows_trees() else None
        data = self._learner.fit_prepare(X, columns)
        sample, watch = Sample(self._learner, X, data, costs, weight), None
        if self.early_stopping is not None:
            held_out = hold_out(costs.y, self.validation_fraction, rng, at_least=1)
            if not held_out.any():
                raise ValueError(
                    "early_stopping needs examples to watch, but every class has a single example."
                )
            held_part = sample.take(np.flatnonzero(held_out))
            watch = Watch(self.early_stopping, held_part, self.n_iter_no_change)
            sample = sample.take(np.flatnonzero(~held_out))
        self._boost(sample, rng, watch)
        self._learner.rest()

    def _boost(self, sample: Sample, rng: np.random.RandomState, watch: Watch | None) -> None:
        """Run the rounds."""
        n_rows = len(sample.weight)
        state = self._start(sample, rng)
        members: list[Any] = []
        steps: list[Step] = []
        while len(members) < self.n_estimators:
            data, costs, target = self._round_sample(sample, state)
            member, leaf, decisions = sample.learner.fit(data, costs, target, rng)
            step = state.advance(leaf[:n_rows], decisions)
            is_useless = not step.edge > SMALLEST_EDGE
            if is_useless and members:
                break
            if is_useless:
                member, step = self._constant(state)
            members.append(member)
            steps.append(step)
            tell(self, f"round {len(members)}: edge {step.edge:.4f}, loss {step.loss:.4g}")
            is_over = watch is not None and watch.is_over(member, step.weight)
            if is_useless or step.is_last or is_over:
                break
        n_kept = len(members) if watch is None else max(1, watch.best_round)
        self._remember(members[:n_kept], steps[:n_kept], state.initial_loss, sample.weight.sum())
        if watch is not None:
            self.validation_costs_ = np.array(watch.values)

    def _constant(self, state: Any) -> tuple[ConstantDecision, Step]:
        """Return the best constant decision, in place of a first member that is useless."""
        warnings.warn(
            f"{type(self).__name__}: the first weak learner is no better than guessing, so the "
            "model decides the same for every example.",
            ConvergenceWarning,
            stacklevel=6,
        )
        decision = int(state.costs.sum(axis=0).argmin())
        step = state.advance(np.zeros(len(state.costs), dtype=np.int64), np.array([decision]))
        if step.weight == 0.0 and decision > 0:  # without a weight, its vote would not count
            step = step._replace(weight=1.0)
        return ConstantDecision(decision, self.classes_[decision]), step

    def _remember(
        self, members: list, steps: list[Step], initial_loss: float, total_weight: float
    ) -> None:
        self.estimators_ = members
        self.estimator_weights_ = np.array([step.weight for step in steps])
        self.edges_ = np.array([step.edge for step in steps])
        self.loss_ = np.array([step.loss for step in steps])
        self.initial_loss_ = initial_loss
        self.n_iter_ = len(members)
        bound = self._error_bound(initial_loss, total_weight)
        if bound is not None:
            factors = loss_factor(self.edges_, self.estimator_weights_)  # eq. (18)
            self.training_error_bound_ = bound * np.cumprod(factors)

    # -- deciding ----------------------------------------------------------------------------

    def _votes(self, X: Any) -> np.ndarray:
        return self._learner.votes(self.estimators_, self.estimator_weights_, self._prepare(X))

    def _staged_votes(self, X: Any) -> Iterator[np.ndarray]:
        data = self._prepare(X)
        return self._learner.staged_votes(self.estimators_, self.estimator_weights_, data)

    def _prepare(self, X: Any) -> Any:
        return self._learner.prepare(self._check_X(X, reset=False))

    def _grows_trees(self) -> bool:
        return self.estimator is None or is_cost_tree(self.estimator)

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        if self._grows_trees() if reset else isinstance(self._learner, TreeLearner):
            declared = getattr(self.estimator, "categorical_features", "from_dtype")
            return check_features(self, X, reset=reset, categorical_features=declared)
        validate_data(self, X, reset=reset, skip_check_array=True)  # the estimator checks X
        return X

    @property
    def feature_importances_(self) -> np.ndarray:
        """The mean of the members' importances of each feature, weighed by their votes."""
        check_is_fitted(self)
        found = np.array([self._learner.importances(member) for member in self.estimators_])
        return self.estimator_weights_ @ found / (self.estimator_weights_.sum() or 1.0)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self._grows_trees():
            tags.input_tags.allow_nan = True
            tags.input_tags.categorical = True
        else:
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags
