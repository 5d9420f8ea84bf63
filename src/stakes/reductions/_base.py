"""What the reductions share: a learner, members fitted on weighted samples, their votes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import repeat
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from stakes._base import COST_MATRIX_CONSTRAINT, CostSensitiveMixin
from stakes._learning.draws import bootstrap_counts_at, draw_seeds, iter_members, tell
from stakes._learning.statement import Statement
from stakes._learning.votes import mean_excess, normalize_rows, weighted_problem
from stakes.costs import Costs, CostWarning
from stakes.reductions._members import EstimatorLearner, count_constants, fits_every_row
from stakes.reductions._sampling import ExamplePlan, fit_member
from stakes.reductions._tree_members import CostTreeLearner
from stakes.tree import CostTreeClassifier
from stakes.tree.engine import (
    Share,
    Sums,
    TreeGrower,
    is_cost_tree,
)
from stakes.utils._checks import warn
from stakes.utils._sklearn import HasMethods, Interval, StrOptions, num_samples, validate_data

# What parameters of several reductions may be.
COUNT = [Interval(Integral, 1, None, closed="left")]
SAMPLING = [StrOptions({"rejection", "weights"})]
VOTING = [StrOptions({"soft", "hard"})]
# What "auto" stands for: what abe2004 did with C4.5, and what was measured best with cost trees.
PUBLISHED = {"sampling": "rejection", "voting": "hard"}
MEASURED = {"sampling": "weights", "voting": "soft"}
AUTO = StrOptions({"auto"})


@dataclass
class Everyone:
    """All rows, of which some are here: those at some places, each (first, size)."""

    places: list[tuple[int, int]]
    n_rows: int
    sums: Sums = field(default_factory=Sums)

    def bootstrap(self, rng: np.random.RandomState) -> np.ndarray:
        """Return how often each row that is here was drawn."""
        return bootstrap_counts_at(self.places, self.n_rows, rng)

    def total(self, *numbers: float) -> list[float]:
        """Return sums over all processes."""
        sums = np.array(numbers, dtype=np.float64)
        self.sums.total(sums)
        return sums.tolist()


@dataclass(eq=False, repr=False, kw_only=True)
class BaseReduction(CostSensitiveMixin, BaseEstimator):
    """Base of classifiers that learn costs by handing weighted samples to a classifier.

    A subclass writes `_fit_members`, and `_scores` or `_decide`; where its members learn
    something else than the classes, it says so below. Its parameters are the fields of a
    dataclass, which writes `__init__`.
    """

    estimator: Any = field(default=None, kw_only=False)
    cost_matrix: Any = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "cost_matrix": COST_MATRIX_CONSTRAINT,
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    # The fewest rows in a leaf of the default tree; measured, see the classes' docstrings.
    _default_leaf = 5
    # Whether members tell two labels apart instead of all classes, and what fits and asks them.
    _binary_members = False
    _estimator_learner: ClassVar[type] = EstimatorLearner
    _tree_learner: ClassVar[type] = CostTreeLearner

    # -- what a subclass writes ------------------------------------------------------------

    def _fit_members(self, X: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        """Fit the members on X, which the learner has prepared, and `_keep` them."""
        raise NotImplementedError

    def _scores(self, X: Any) -> np.ndarray:
        """Return a score of each decision on prepared X, (n, A): the greatest wins."""
        raise NotImplementedError

    def _fit_share(self, X: Any, costs: Costs, sample_weight: Any, everyone: Everyone) -> None:
        """Fit the members on the rows that are here and, through its sums, on all others."""
        raise NotImplementedError

    @property
    def _n_member_labels(self) -> int:
        """How many labels members tell apart: the decisions, as a rule."""
        return self.cost_matrix_.shape[1]

    # -- over rows that are spread -------------------------------------------------------------

    def _why_not_shared(self) -> str:
        by_weights = getattr(self, "sampling", "auto") in ("auto", "weights")
        if is_cost_tree(self._estimator()) and by_weights:
            return ""
        return "on a cluster it grows cost trees by weights alone"

    def _reader(self, n_rows: int) -> tuple[Any, int]:
        self._settle()
        reader = clone(self._estimator())
        return reader, reader.max_bins

    def _learn_share(self, share: Share, sums: Sums) -> None:
        estimator = clone(self._estimator()).set_params(n_jobs=self.n_jobs)
        grower = TreeGrower(estimator, None, columns=share.columns, bins=share.binned.bins)
        grower.checks = True  # of what is decided later
        self._learner_ = self._make_learner(None, None, grower=grower)
        everyone = Everyone(share.places, share.n_rows, sums)
        self._fit_share(share.binned, share.costs, share.weight, everyone)

    # -- the way of X ------------------------------------------------------------------------

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        """Return X as rows that can be chosen: a DataFrame untouched, else an array."""
        checks: dict = {"accept_sparse": ["csr"], "dtype": None, "ensure_all_finite": False}
        if hasattr(X, "iloc"):
            checks = {"skip_check_array": True}
        return validate_data(self, X, reset=reset, **checks)

    def _prepared(self, X: Any) -> Any:
        """Return new examples in the form in which members take them."""
        check_is_fitted(self)
        return self._learner_.prepare(self._check_X(X, reset=False))

    def _decide(self, X: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        return self._scores(self._prepared(X)).argmax(axis=1)

    # -- members -------------------------------------------------------------------------------

    def _fit(self, X: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        self._settle()
        learner = self._learner_ = self._make_learner(X, sample_weight)
        name = type(learner.estimator).__name__
        if getattr(self, "sampling_", None) == "weights" and not learner.takes_weights:
            raise ValueError(
                f"{name} does not take sample_weight in fit: use sampling='rejection'."
            )
        if getattr(self, "voting_", None) == "soft" and not learner.gives_proba:
            raise ValueError(f"{name} has no predict_proba: use voting='hard'.")
        self._fit_members(learner.prepare(X), costs, sample_weight)

    def _settle(self) -> None:
        """Set `sampling_` and `voting_`: what was asked for, or what "auto" stands for here."""
        estimator = self._estimator()
        ours = is_cost_tree(estimator)
        automatic = MEASURED if ours else PUBLISHED
        for name, value in automatic.items():
            asked = getattr(self, name, None)
            if asked is not None:
                setattr(self, f"{name}_", value if asked == "auto" else asked)
        if not ours and self._warns_of_weights() and fits_every_row(estimator):
            warn(
                "ST405",
                f"{type(estimator).__name__} can give each row a leaf of its own, where its weight "
                f"says nothing: use sampling='rejection' in {type(self).__name__}, or greater "
                "leaves.",
                CostWarning,
                stacklevel=2,
            )

    def _warns_of_weights(self) -> bool:
        """Return whether weights were asked for where the default is another."""
        return False

    def _make_learner(
        self, X: Any, sample_weight: np.ndarray | None, grower: TreeGrower | None = None
    ) -> Any:
        """Return what fits and asks the members: trees that share bins, or clones."""
        estimator = self._estimator()
        n_labels = 2 if self._binary_members else self._n_member_labels
        if not is_cost_tree(estimator):
            return self._estimator_learner(estimator, n_labels)
        smoothing = getattr(self, "smoothing", 0.0)
        return self._tree_learner(estimator, X, n_labels, sample_weight, smoothing, grower)

    def _estimator(self) -> Any:
        """Return the classifier in use: the one given, or the default tree."""
        return self.estimator if self.estimator is not None else self._default_estimator()

    def _default_estimator(self) -> Any:
        leaf = self._default_leaf
        return CostTreeClassifier(criterion="variance", max_depth=None, min_samples_leaf=leaf)

    def _fit_each(
        self,
        X: Any,
        plans: Iterable,
        seeds: Iterable,
        *,
        fit: Callable = fit_member,
        named: str = "member",
        first: int = 1,
        n_jobs: int | str | None = "own",
    ) -> tuple[list, np.ndarray]:
        """Return a member for each plan and seed, and the sizes of their samples.

        A line is told of each as it ends, with its name and its number from `first`; none
        where there is no name. `n_jobs` is the parameter, unless another is given.
        """
        tasks = ((self._learner_, X, plan, seed) for plan, seed in zip(plans, seeds))
        members, sizes = [], []
        n_jobs = self.n_jobs if isinstance(n_jobs, str) else n_jobs
        done = iter_members(fit, tasks, n_jobs=n_jobs, prefer=self._learner_.prefer)
        for i, (member, size) in enumerate(done, start=first):
            members.append(member)
            sizes.append(size)
            if named:
                tell(self, f"{named} {i}: fitted on a sample of {size}")
        return members, np.array(sizes, dtype=np.intp)

    def _keep(self, members: list, sizes: np.ndarray, n_constant: int | None = None) -> None:
        """Set the members, and how many of all that were fitted had nothing to learn from."""
        self.estimators_ = members
        self.n_samples_used_ = sizes
        self.n_empty_samples_ = int(np.sum(sizes == 0))
        if n_constant is None:
            n_constant = count_constants(members)
        self.n_one_label_samples_ = n_constant - self.n_empty_samples_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._estimator()).input_tags
        for name in ("sparse", "allow_nan", "categorical", "string"):
            setattr(tags.input_tags, name, getattr(inner, name))
        return tags


class LeaningReduction(BaseReduction):
    """Base of reductions whose scores say how the ensemble leans between decisions."""

    def _state(
        self, X: Any, cost_tensor: np.ndarray | None = None, *, proba: bool = False
    ) -> Statement:
        scores = self._scores(self._prepared(X))
        # Votes for decisions say nothing of classes that these are not.
        shares = scores if self._priced_decisions is None else None
        return Statement(proba=shares, decided=scores.argmax(axis=1))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return how the ensemble leans between *decisions*; `predict` is the greatest.

        It estimates no probability of a class: the members saw samples that follow the costs.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            What is to be decided, an example in each row.

        Returns
        -------
        ndarray of shape (n_samples, n_decisions)
            Rows sum to 1.
        """
        return self._scores(self._prepared(X))


@dataclass(eq=False, repr=False, kw_only=True)
class VotingReduction(LeaningReduction):
    """Base of reductions that fit independent members and average their answers."""

    n_estimators: int = 30
    sampling: str = "auto"
    voting: str = "auto"

    _parameter_constraints: ClassVar[dict] = {
        **BaseReduction._parameter_constraints,
        "n_estimators": COUNT,
        "sampling": [*SAMPLING, AUTO],
        "voting": [*VOTING, AUTO],
    }

    def _warns_of_weights(self) -> bool:
        # A lone member is the classifier itself with weights, which is what many want.
        return self.sampling == "weights" and self.n_estimators > 1

    def _plan(self, costs: Costs, sample_weight: np.ndarray | None) -> Any:
        """Return what each member is to see: examples by their importance, if nothing else."""
        labels, _ = weighted_problem(costs)
        weights = self._importance(costs.table)[costs.row_of]
        if sample_weight is not None:
            weights = weights * sample_weight
        return ExamplePlan(weights, labels, self.sampling_, bootstrap=self.n_estimators > 1)

    def _importance(self, costs: np.ndarray) -> np.ndarray:
        """Return one weight for each row of costs."""
        return mean_excess(costs)

    def _fit_members(self, X: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        seeds = draw_seeds(self.random_state, self.n_estimators)
        self._keep(*self._fit_each(X, repeat(self._plan(costs, sample_weight)), seeds))

    def _scores(self, X: Any) -> np.ndarray:
        return self._mean_vote(self.estimators_, X)

    def _mean_vote(self, members: list, X: Any) -> np.ndarray:
        """Return the average answer of members, (n, A), summed in their order."""
        learner = self._learner_
        total = np.zeros((num_samples(X), learner.n_classes))
        tasks = ((member, X, self.voting_) for member in members)
        for vote in iter_members(learner.vote, tasks, n_jobs=self.n_jobs, prefer=learner.prefer):
            total += vote
        return normalize_rows(total)
