"""Weak learners: how the costs of a round become a member of the ensemble.

A cost tree grows on the costs themselves, over bins that are placed once. An estimator whose
`fit` takes `costs` is handed them. One whose `fit` takes `sample_weight` is handed the nearest
weighted problem: each row's cheapest label, weighted by what the other labels cost above it on
average.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import has_fit_parameter

from stakes._learning.draws import draw_seed, seeded_clone
from stakes._learning.votes import mean_one, running_votes, weighted_problem
from stakes.costs import Costs
from stakes.tree.engine import BinnedData, CostTree, TreeGrower, Workspace, count_votes
from stakes.utils._sklearn import num_samples, safe_indexing
from stakes.utils._sums import Sums


@dataclass
class ConstantDecision:
    """A member that decides the same for every row, where there is nothing else to learn."""

    label: Any

    def predict(self, X: Any) -> np.ndarray:
        """Return the label once for each row of X."""
        return np.full(num_samples(X), self.label)


@dataclass(eq=False)
class WeakLearner:
    """Fits members to costs, and asks them; here over any estimator, a clone for each round.

    Parameters
    ----------
    estimator : estimator instance
        The template.
    classes : ndarray of shape (n_classes,)
        The class labels.
    """

    estimator: Any
    classes: np.ndarray

    def prepare(self, X: Any) -> Any:
        """Return the rows as the learner takes them."""
        return X

    def take(self, data: Any, rows: np.ndarray) -> Any:
        """Return some of the rows."""
        return safe_indexing(data, rows)

    def as_numbers(self, X: Any, data: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows as numbers, categories as codes, and which features those are."""
        numbers = check_array(data, dtype=np.float64, ensure_all_finite="allow-nan")
        return numbers, np.zeros(numbers.shape[1], dtype=bool)

    def append(self, data: Any, numbers: np.ndarray) -> Any:
        """Return the rows of `data` and then those of `numbers` (see `as_numbers`)."""
        if hasattr(data, "iloc"):
            import pandas as pd

            return pd.concat([data, pd.DataFrame(numbers, columns=data.columns)])
        return np.concatenate([np.asarray(data, dtype=np.float64), numbers])

    def fit(
        self,
        data: Any,
        costs: np.ndarray,
        target: np.ndarray,
        rng: np.random.RandomState,
        **more: Any,
    ) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return a member, and its decisions on `data` as (leaf of each row, of each leaf).

        More is for trees, where the rows are spread over processes.
        """
        member = seeded_clone(self.estimator, rng)
        if has_fit_parameter(member, "costs"):
            member.fit(data, self.classes[target], costs=costs)
        else:
            member = self._fit_weighted(member, data, Costs(target, costs=costs))
        return member, self.decide(member, data), np.arange(len(self.classes))

    def _fit_weighted(self, member: Any, data: Any, costs: Costs) -> Any:
        label, weight = weighted_problem(costs)
        weight = mean_one(weight)
        # Rows that say nothing are left out: many estimators mishandle a weight of 0.
        heard = np.flatnonzero(weight)
        if len(heard) < len(label):
            data, label, weight = safe_indexing(data, heard), label[heard], weight[heard]
        if (label == label[0]).all():
            return ConstantDecision(self.classes[label[0]])
        return member.fit(data, self.classes[label], sample_weight=weight)

    def importances(self, member: Any) -> np.ndarray:
        """Return how much each feature has to do with a member's decisions, if it says so."""
        return member.feature_importances_

    def rest(self) -> None:
        """Give back the room that fitting took."""

    def decide(self, member: Any, data: Any) -> np.ndarray:
        """Return the decisions of a member, as positions in `classes_`."""
        return np.searchsorted(self.classes, member.predict(data))

    def staged_votes(self, members: list, weights: np.ndarray, data: Any) -> Iterator[np.ndarray]:
        """Yield f, the votes of the members so far, (n, K)."""
        decisions = (self.decide(member, data) for member in members)
        return running_votes(decisions, len(self.classes), weights)

    def votes(self, members: list, weights: np.ndarray, data: Any) -> np.ndarray:
        """Return f, the votes of all members, (n, K)."""
        *_, votes = self.staged_votes(members, weights, data)
        return votes


@dataclass(eq=False)
class TreeLearner(WeakLearner):
    """Grow a cost tree on the costs of the round; rows are bin codes."""

    grower: TreeGrower
    _workspace: Workspace | None = None  # room that all rounds use; not part of the model

    def prepare(self, X: Any) -> BinnedData:
        """Return the bin codes of X."""
        return self.grower.bin(X)

    def take(self, data: BinnedData, rows: np.ndarray) -> BinnedData:
        """Return some of the rows."""
        return data.take(rows)

    def as_numbers(self, X: Any, data: BinnedData) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers, categories as their codes."""
        return data.as_numbers(X), self.grower.columns.categorical

    def append(self, data: BinnedData, numbers: np.ndarray) -> BinnedData:
        """Return all rows, those of `numbers` in the same bins."""
        return data.append(numbers)

    def fit(self, data: Any, costs: Any, target: Any, rng: Any, **more: Any) -> tuple:
        """Return a tree and where it puts the rows."""
        self._workspace = self._workspace or Workspace()
        seed = None if self.estimator.max_features is None else draw_seed(rng)
        tree, leaf = self.grower.grow(
            data, costs, seed=seed, workspace=self._workspace, return_leaves=True, **more
        )
        return tree, leaf, tree.decisions

    def importances(self, member: CostTree | ConstantDecision) -> np.ndarray:
        """Return what splits on each feature have saved; nothing for a constant decision."""
        if isinstance(member, ConstantDecision):
            return np.zeros(len(self.grower.columns.categorical))
        return member.feature_importances()

    def rest(self) -> None:
        """Give back the room that growing took."""
        self._workspace = None

    def decide(self, member: CostTree | ConstantDecision, data: BinnedData) -> np.ndarray:
        """Return the decisions of a tree."""
        if isinstance(member, ConstantDecision):
            return super().decide(member, data)
        return member.predict(data, self.grower.n_threads)

    def votes(self, members: list, weights: np.ndarray, data: BinnedData) -> np.ndarray:
        """Return the votes of all trees, asked in one pass."""
        if isinstance(members[0], ConstantDecision):
            return super().votes(members, weights, data)
        return count_votes(members, weights, data, len(self.classes), self.grower.n_threads)


@dataclass
class Sample:
    """What a run of the loop learns from."""

    learner: WeakLearner
    X: Any  # as given
    data: Any  # as the learner takes it
    costs: Costs
    weight: np.ndarray  # all positive
    sums: Sums = field(default_factory=Sums)  # over all processes, if rows are spread over them
    weighted: bool = True  # False: every weight is 1
    keeps_scores: bool = True  # False: memory is scarce, and members are asked again
    dtype: Any = np.float64  # of the costs of rounds: four bytes where memory is scarcer still

    def take(self, rows: np.ndarray) -> "Sample":
        """Return some of the rows."""
        return Sample(
            self.learner,
            None if self.X is None else safe_indexing(self.X, rows),
            self.learner.take(self.data, rows),
            self.costs.take(rows),
            self.weight[rows],
            self.sums,
            self.weighted,
            self.keeps_scores,
            self.dtype,
        )
