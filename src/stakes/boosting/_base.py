"""The boosting loop, written once: rounds, stopping, bookkeeping, votes.

A method is a subclass that says what state is kept between rounds (`_start`): the costs that
the next weak learner minimises, and what a member's vote is worth.
"""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from stakes._base import COST_MATRIX_CONSTRAINT, CostSensitiveMixin
from stakes._learning.draws import tell
from stakes._learning.folds import hold_out, hold_out_places
from stakes._learning.votes import add_votes
from stakes._learning.voting import VotesMixin
from stakes.boosting._equations import SMALLEST_EDGE, loss_factor
from stakes.boosting._exponential import Step
from stakes.boosting._weak import ConstantDecision, Sample, TreeLearner, WeakLearner
from stakes.costs import Costs
from stakes.metrics._imbalance import norm_of_counts
from stakes.tree import CostTreeClassifier
from stakes.tree.engine import (
    BinnedData,
    Share,
    TreeGrower,
    check_features,
    is_cost_tree,
)
from stakes.utils._checks import warn
from stakes.utils._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    num_samples,
    safe_indexing,
    validate_data,
)
from stakes.utils._sums import Sums, exact_total, fixed

# The share of a worker's memory that may be used, and what a worker holds without rows, in bytes.
USED, OWN_MEMORY = 0.9, 410_000_000


class Watch:
    """What the ensemble costs, round after round, on rows that it does not learn from.

    Parameters
    ----------
    metric : {"cost", "confusion_norm"}
        What is watched; lower is better.
    sample : Sample
        The rows.
    patience : int
        Rounds without a new best after which it is over.
    """

    def __init__(self, metric: str, sample: Sample, patience: int):
        self.metric = metric
        self.sample = sample
        self.patience = patience
        self.votes = np.zeros((len(sample.costs), sample.costs.n_classes))
        self.values: list[float] = []
        # what all decisions of all rows could cost: sums of parts of it are exact
        sums, dearest = sample.sums, np.abs(sample.costs.table).max(axis=1, initial=0.0)
        self.bound = (
            exact_total(sample.weight * dearest[sample.costs.row_of], sums) if sums.shared else 0.0
        )

    @property
    def best_round(self) -> int:
        """The first round, counted from 1, whose value is the least."""
        return int(np.argmin(self.values)) + 1

    def is_over(self, member: Any, vote: float) -> bool:
        """Add a member's votes; return whether the rounds should end."""
        costs = self.sample.costs
        add_votes(self.votes, self.sample.learner.decide(member, self.sample.data), vote)
        decisions = self.votes.argmax(axis=1)
        if self.metric == "cost":
            weight = self.sample.weight
            sums = np.array([fixed(weight * costs.of(decisions), self.bound).sum(), weight.sum()])
            self.sample.sums.total(sums)
            value = float(sums[0] / sums[1])
        else:
            k = costs.n_classes
            pairs = costs.y.astype(np.int64) * k + decisions  # none where others hold the rows
            counts = np.bincount(pairs, minlength=k * k).reshape(k, k).astype(np.float64)
            self.sample.sums.total(counts)
            value = norm_of_counts(counts)
        self.values.append(value)
        return len(self.values) - self.best_round >= self.patience


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

    _decides_only_classes = True
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
        return {"max_depth": 3, "min_samples_leaf": 1}

    # -- fitting -----------------------------------------------------------------------------

    def _fit(self, X: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        weight = np.ones(len(costs)) if sample_weight is None else sample_weight
        if not weight.all():  # a row of weight 0 is as good as absent
            rows = np.flatnonzero(weight)
            X, costs, weight = safe_indexing(X, rows), costs.take(rows), weight[rows]
        rng = check_random_state(self.random_state)
        self._learner = self._make_learner(X)
        sample, watch = Sample(self._learner, X, self._learner.prepare(X), costs, weight), None
        if self.early_stopping is not None:
            held_out = hold_out(costs.y, self.validation_fraction, rng, at_least=1)
            if not held_out.any():
                raise ValueError("early_stopping cannot watch: every class has a single example.")
            watched, sample = (sample.take(np.flatnonzero(p)) for p in (held_out, ~held_out))
            watch = Watch(self.early_stopping, watched, self.n_iter_no_change)
        self._boost(sample, rng, watch)
        self._learner.rest()

    def _why_not_shared(self) -> str:
        return "" if self._grows_trees() else "on a cluster it grows cost trees alone"

    def _reader(self, n_rows: int) -> tuple[Self, int]:
        return self, self._member(n_rows).max_bins

    def _learn_share(self, share: Share, sums: Sums) -> None:
        n_rows, weighted = len(share.costs), share.weight is not None
        weight = np.broadcast_to(1.0, n_rows)
        if share.weight is not None:
            weight = fixed(share.weight, exact_total(share.weight, sums))
        rng = check_random_state(self.random_state)
        self._learner = learner = self._make_learner(None, share.binned)
        how = _how_to_keep(share, sums)
        sample = Sample(learner, None, share.binned, share.costs, weight, sums, weighted, *how)
        watch = None
        if self.early_stopping is not None:
            held_out = hold_out_places(share.positions, self.validation_fraction, rng)
            watched = sample.take(np.flatnonzero(held_out & (weight > 0.0)))
            sample = sample.take(np.flatnonzero(~held_out & (weight > 0.0)))
            watch = Watch(self.early_stopping, watched, self.n_iter_no_change)
        elif weighted and not weight.all():  # a row of weight 0 is as good as absent
            sample = sample.take(np.flatnonzero(weight))
        self._boost(sample, rng, watch)
        learner.rest()

    def _member(self, n_samples: int) -> Any:
        """Return the estimator of which members are made."""
        if self.estimator is not None:
            return self.estimator
        return CostTreeClassifier(**self._default_tree(n_samples))

    def _make_learner(self, X: Any, binned: BinnedData | None = None) -> WeakLearner:
        """Return what fits the members; trees place their bins now, once for all rounds.

        Where rows have been `binned`, X is not looked at.
        """
        estimator = self._member(num_samples(X) if binned is None else len(binned))
        if is_cost_tree(estimator):
            estimator = clone(estimator).set_params(n_jobs=self.n_jobs)
            bins = None if binned is None else binned.bins
            grower = TreeGrower(estimator, X, columns=self._columns, bins=bins)
            return TreeLearner(estimator, self.classes_, grower)
        if not any(has_fit_parameter(estimator, name) for name in ("costs", "sample_weight")):
            name = type(estimator).__name__
            raise ValueError(
                f"{name}: its fit takes neither costs nor sample_weight; use another."
            )
        return WeakLearner(estimator, self.classes_)

    def _boost(self, sample: Sample, rng: np.random.RandomState, watch: Watch | None) -> None:
        """Run the rounds."""
        n_rows, sums = len(sample.weight), sample.sums
        state = self._start(sample, rng)
        members: list[Any] = []
        steps: list[Step] = []
        while len(members) < self.n_estimators:
            data, costs, target = self._round_sample(sample, state)
            shared = {"sums": sums, "measured": state.measures} if sums.shared else {}
            member, leaf, decisions = sample.learner.fit(data, costs, target, rng, **shared)
            if not sample.keeps_scores:
                state.recall.members.append(member)
            step = state.advance(leaf[:n_rows], decisions)
            del leaf
            is_useless = not step.edge > SMALLEST_EDGE
            if is_useless and members:
                break
            if is_useless:
                member, step = self._constant(state, sums)
            members.append(member)
            steps.append(step)
            tell(self, f"round {len(members)}: edge {step.edge:.4f}, loss {step.loss:.4g}")
            is_over = watch is not None and watch.is_over(member, step.weight)
            if is_useless or step.is_last or is_over:
                break
        if watch is not None:
            members, steps = members[: watch.best_round], steps[: watch.best_round]
            self.validation_costs_ = np.array(watch.values)
        self.estimators_, self.n_iter_ = members, len(members)
        self.edges_, self.estimator_weights_, self.loss_, _ = map(np.array, zip(*steps))
        self.initial_loss_ = state.initial_loss
        total_weight = np.array([sample.weight.sum()])
        sums.total(total_weight)
        bound = self._error_bound(state.initial_loss, float(total_weight[0]))
        if bound is not None:
            factors = loss_factor(self.edges_, self.estimator_weights_)  # eq. (18)
            self.training_error_bound_ = bound * np.cumprod(factors)

    def _constant(self, state: Any, sums: Sums) -> tuple[ConstantDecision, Step]:
        """Return the best constant decision, in place of a first member that is useless."""
        warn(
            "ST404",
            f"{type(self).__name__}: the first weak learner is no better than guessing, so the "
            "model decides the same for every example.",
            ConvergenceWarning,
            stacklevel=6,
        )
        bound = state.measures.mass if sums.shared else 0.0
        costs = fixed(state.costs, bound).sum(axis=0)
        sums.total(costs)
        decision = int(costs.argmin())
        step = state.advance(np.zeros(len(state.costs), dtype=np.int64), np.array([decision]))
        if step.weight == 0.0 and decision > 0:  # without a weight, its vote would not count
            step = step._replace(weight=1.0)
        return ConstantDecision(self.classes_[decision]), step

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

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        fresh = reset or "_learner" not in vars(self)
        if self._grows_trees() if fresh else isinstance(self._learner, TreeLearner):
            declared = getattr(self.estimator, "categorical_features", "from_dtype")
            return check_features(self, X, reset=reset, categorical_features=declared)
        validate_data(self, X, reset=reset, skip_check_array=True)  # the estimator checks X
        return X

    @property
    def feature_importances_(self) -> np.ndarray:
        """The mean of the members' importances of each feature, weighed by their votes."""
        check_is_fitted(self)
        each = np.array([self._learner.importances(member) for member in self.estimators_])
        return self.estimator_weights_ @ each / (self.estimator_weights_.sum() or 1.0)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self._grows_trees():
            tags.input_tags.allow_nan = True
            tags.input_tags.categorical = True
            tags.input_tags.sparse = True
        else:
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def _how_to_keep(share: Share, sums: Sums) -> tuple[bool, type]:
    """Return whether scores are kept, and in which type the costs of rounds are.

    Scores that are not kept are the same when they are asked again; costs of four bytes are not
    the same as of eight, so all workers have them, or none.
    """
    n_rows, n_classes = len(share.costs), share.costs.n_classes
    if not sums.memory:
        return True, np.float64
    room = USED * sums.memory - OWN_MEMORY
    per_row = share.binned.bins.n_features + 8 * n_classes + 8 + (share.weight is not None) * 24
    if not share.costs.by_class:
        per_row += 16 + 16 * n_classes
    is_tight = np.array([float(n_rows * per_row > room), 0.0])
    sums.greatest(is_tight)
    keeps_scores = n_rows * (per_row + 8 * n_classes) <= room
    return keeps_scores, np.float32 if is_tight[0] else np.float64
