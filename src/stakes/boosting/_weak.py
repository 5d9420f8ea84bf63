"""Weak learners: how the costs of a round become a member of the ensemble.

Three kinds, one face. A cost tree grows on the costs themselves, over bins that are placed
once. An estimator whose `fit` takes `costs` is handed them. One whose `fit` takes
`sample_weight` is handed the nearest weighted problem: each row's cheapest label, weighted by
what missing it costs in sum.
"""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array
from sklearn.utils.validation import has_fit_parameter

from stakes.tree import CostTreeClassifier
from stakes.tree.engine import TreeGrower, Workspace, count_votes, is_cost_tree
from stakes.utils._sklearn import num_samples, safe_indexing

INT_MAX = np.iinfo(np.int32).max


def make_weak_learner(estimator, default_tree, classes, n_jobs):
    """Return the face of the right kind for `estimator`; None is a tree of those options."""
    if estimator is None:
        estimator = CostTreeClassifier(**{"min_samples_leaf": 1, **default_tree})
    if is_cost_tree(estimator):
        return TreeLearner(clone(estimator).set_params(n_jobs=n_jobs))
    if has_fit_parameter(estimator, "costs"):
        return CostsLearner(estimator, classes)
    if has_fit_parameter(estimator, "sample_weight"):
        return WeightsLearner(estimator, classes)
    raise ValueError(
        f"{type(estimator).__name__} cannot serve as a weak learner: its fit takes neither "
        "costs nor sample_weight."
    )


class ConstantDecision:
    """A member that decides the same for every row, where there is nothing else to learn."""

    def __init__(self, decision: int, label: Any):
        self.decision = decision
        self.label = label

    def predict(self, X) -> np.ndarray:
        """Return the label once for each row of X."""
        return np.full(num_samples(X), self.label)

    def feature_importances(self) -> float:
        """Return 0: no feature is asked."""
        return 0.0


class TreeLearner:
    """Grow a cost tree on the costs of the round; rows are bin codes."""

    def __init__(self, estimator):
        self.estimator = estimator
        self._workspace = None  # room that the trees of all rounds use; not part of the model

    def __getstate__(self):
        return {**self.__dict__, "_workspace": None}

    def fit_prepare(self, X, columns):
        """Place the bins, once for all rounds; return the rows as the learner takes them."""
        self.grower = TreeGrower(self.estimator, X, columns=columns)
        return self.prepare(X)

    def prepare(self, X):
        """Return the rows as the learner takes them."""
        return self.grower.bin(X)

    def take(self, data, rows):
        """Return some of the rows."""
        return data.take(rows)

    def as_numbers(self, X, data):
        """Return the rows as numbers, categories as codes, and which features those are."""
        return data.as_numbers(X), self.grower.columns.categorical

    def append(self, data, numbers):
        """Return the rows of `data` and then those of `numbers` (see `as_numbers`)."""
        return data.append(numbers)

    def fit(self, data, costs, target, rng):
        """Return a member, and its decisions on `data` as (leaf of each row, of each leaf)."""
        self._workspace = self._workspace or Workspace()
        seed = rng.randint(INT_MAX) if self.estimator.max_features is not None else None
        tree, leaf = self.grower.grow(
            data, costs, seed=seed, workspace=self._workspace, return_leaves=True
        )
        return tree, leaf, tree.decisions

    def importances(self, member) -> np.ndarray:
        """Return how much each feature has to do with a member's decisions."""
        return member.feature_importances()

    def rest(self) -> None:
        """Give back the room that growing took."""
        self._workspace = None

    def decide(self, member, data) -> np.ndarray:
        """Return the decisions of a member, as positions in `classes_`."""
        if isinstance(member, ConstantDecision):
            return np.full(len(data), member.decision)
        return member.predict(data, self.grower.n_threads)

    def scores(self, members, weights, data, n_classes) -> np.ndarray:
        """Return f, the votes of the members, (n, K)."""
        if isinstance(members[0], ConstantDecision):
            return add_up(self, members, weights, data, n_classes)
        return count_votes(members, weights, data, n_classes, self.grower.n_threads)


class EstimatorLearner:
    """What the two kinds over any estimator share: clones, seeds, labels."""

    def __init__(self, estimator, classes):
        self.estimator = estimator
        self.classes = classes

    def fit_prepare(self, X, columns):
        """Return the rows as the learner takes them; nothing is shared between rounds."""
        return X

    def prepare(self, X):
        """Return the rows as the learner takes them."""
        return X

    def take(self, data, rows):
        """Return some of the rows."""
        return safe_indexing(data, rows)

    def as_numbers(self, X, data):
        """Return the rows as numbers, and which features are categories: none."""
        numbers = check_array(data, dtype=np.float64, ensure_all_finite="allow-nan")
        return numbers, np.zeros(numbers.shape[1], dtype=bool)

    def append(self, data, numbers):
        """Return the rows of `data` and then those of `numbers`."""
        if hasattr(data, "iloc"):
            import pandas as pd

            return pd.concat([data, pd.DataFrame(numbers, columns=data.columns)])
        return np.concatenate([np.asarray(data, dtype=np.float64), numbers])

    def fit(self, data, costs, target, rng):
        """Return a member, and its decisions on `data` as (leaf of each row, of each leaf)."""
        member = clone(self.estimator)
        seeds = {
            name: rng.randint(INT_MAX)
            for name in sorted(member.get_params(deep=True))
            if name == "random_state" or name.endswith("__random_state")
        }
        member = self._fit(member.set_params(**seeds), data, costs, target)
        return member, self.decide(member, data), np.arange(len(self.classes))

    def importances(self, member) -> np.ndarray:
        """Return how much each feature has to do with a member's decisions, if it says so."""
        return member.feature_importances_

    def rest(self) -> None:
        """Give back the room that fitting took: none."""

    def decide(self, member, data) -> np.ndarray:
        """Return the decisions of a member, as positions in `classes_`."""
        return np.searchsorted(self.classes, member.predict(data))

    def scores(self, members, weights, data, n_classes) -> np.ndarray:
        """Return f, the votes of the members, (n, K)."""
        return add_up(self, members, weights, data, n_classes)

    def _fit(self, member, data, costs, target) -> Any:
        raise NotImplementedError


class CostsLearner(EstimatorLearner):
    """Hand the costs of the round to an estimator whose `fit` takes `costs`."""

    def _fit(self, member, data, costs, target):
        return member.fit(data, self.classes[target], costs=costs)


class WeightsLearner(EstimatorLearner):
    """Hand the nearest weighted problem to an estimator whose `fit` takes `sample_weight`."""

    def _fit(self, member, data, costs, target):
        label, weight = weighted_problem(costs)
        # Rows that say nothing are left out: many estimators take a weight of 0 ill.
        heard = weight > 0
        if (label[heard] == label[heard][0]).all():
            return ConstantDecision(label[heard][0], self.classes[label[heard][0]])
        if not heard.all():
            data, label, weight = safe_indexing(data, heard), label[heard], weight[heard]
        return member.fit(data, self.classes[label], sample_weight=weight)


def weighted_problem(costs):
    """Return the label and the importance of each row: the argmin-label reduction.

    The label is the decision of least cost; the importance is how much the other decisions
    cost above it on average, scaled to mean 1. With two classes nothing is lost; with more,
    the differences between wrong labels are.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.boosting._weak import weighted_problem
    >>> weighted_problem(np.array([[-2.0, 1.0, 1.0], [0.0, 2.0, 7.0]]))
    (array([0, 0]), array([0.8, 1.2]))
    """
    label = costs.argmin(axis=1)
    least = costs[np.arange(len(costs)), label]
    weight = costs.sum(axis=1) - costs.shape[1] * least
    return label, weight / weight.mean()


def add_up(learner, members, weights, data, n_classes):
    """Return the votes of the members one by one, (n, K)."""
    scores = None
    for member, weight in zip(members, weights):
        decided = learner.decide(member, data)
        if scores is None:
            scores = np.zeros((len(decided), n_classes))
        scores[np.arange(len(decided)), decided] += weight
    return scores
