"""What a member sees: samples in proportion to weights, and (row, label) pairs as numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stakes._learning.draws import MAX_SEED, bootstrap_counts, rejection_sample
from stakes.reductions._members import ConstantMember


def pair_of(indices: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the label of positions in a flattened (n, n_classes) table.

    The expanded sample of `n * n_classes` pairs is never built: a pair is a number.

    Examples
    --------
    >>> from stakes.reductions._sampling import pair_of
    >>> pair_of(np.array([0, 4, 5]), n_classes=3)
    (array([0, 1, 1]), array([0, 1, 2]))
    """
    rows, labels = np.divmod(np.asarray(indices), n_classes)
    return rows, labels


@dataclass(frozen=True)
class ExamplePlan:
    """What each member sees where every example has one label and one weight.

    Parameters
    ----------
    weights, labels : ndarray of shape (n_samples,)
        The importance and the label of each example.
    sampling : {"rejection", "weights"}
        Keep examples by their weight, or hand the weights on.
    bootstrap : bool, default=False
        With "weights", hand on a bootstrap sample, so that members differ.
    """

    weights: np.ndarray
    labels: np.ndarray
    sampling: str
    bootstrap: bool = False

    @property
    def fallback(self) -> int:
        """The label of the greatest total weight: the answer of an empty sample."""
        return int(np.bincount(self.labels, weights=self.weights).argmax())

    def draw(self, rng: np.random.RandomState) -> tuple:
        """Return the rows (None: all), labels and weights (None: equal) of one member."""
        if self.sampling == "rejection":
            rows = rejection_sample(self.weights, rng)
            return rows, self.labels[rows], None
        weight = self.weights
        if self.bootstrap:
            weight = weight * bootstrap_counts(len(weight), rng)
        rows = np.flatnonzero(weight)
        if len(rows) == len(weight):
            return None, self.labels, weight
        return rows, self.labels[rows], weight[rows]


@dataclass(frozen=True)
class PairPlan:
    """What each member sees where every (row, label) pair has a weight.

    Pairs are drawn one label at a time, so that nothing of shape (n_samples, n_classes) is
    built where the weights of a row depend on its class alone.

    Parameters
    ----------
    weights : ndarray of shape (n_groups, n_classes)
        The weight of each label for each group of rows.
    group : ndarray of shape (n_samples,)
        Each row's group: its class, or the row itself.
    factor : ndarray of shape (n_samples,) or None
        Multiplies the weights of a row; None is 1.
    sampling, bootstrap : str and bool
        As in `ExamplePlan`.
    """

    weights: np.ndarray
    group: np.ndarray
    factor: np.ndarray | None
    sampling: str
    bootstrap: bool = False

    def column(self, label: int) -> np.ndarray:
        """Return the weight of each row's pair with `label`."""
        return self.weights[self.group, label] * self._factor

    @property
    def fallback(self) -> int:
        """The label of the greatest total weight: the answer of an empty sample."""
        n_classes = self.weights.shape[1]
        return int(np.argmax([self.column(label).sum() for label in range(n_classes)]))

    def draw(self, rng: np.random.RandomState) -> tuple:
        """Return the rows, labels and weights (None: equal) of one member's pairs."""
        n_samples, n_classes = len(self.group), self.weights.shape[1]
        weight = None
        if self.sampling == "rejection":
            top = self.max_weight()
            kept = [
                rejection_sample(self.column(label), rng, max_weight=top)
                for label in range(n_classes)
            ]
        else:
            counts = bootstrap_counts(n_samples, rng) if self.bootstrap else 1
            columns = [self.column(label) * counts for label in range(n_classes)]
            kept = [np.flatnonzero(column) for column in columns]
            weight = np.concatenate([column[rows] for column, rows in zip(columns, kept)])
        labels = np.repeat(np.arange(n_classes), [len(rows) for rows in kept])
        return np.concatenate(kept), labels, weight

    def max_weight(self) -> float:
        """Return the greatest weight of a pair."""
        return float((self.weights.max(axis=1)[self.group] * self._factor).max())

    @property
    def _factor(self) -> Any:
        return 1.0 if self.factor is None else self.factor


def fit_member(learner: Any, X: Any, plan: Any, seed: int) -> tuple[Any, int]:
    """Draw one member's sample and fit it; return the member and the sample's size."""
    rng = np.random.RandomState(seed)
    rows, labels, weight = plan.draw(rng)
    if len(labels) == 0:
        return ConstantMember(plan.fallback), 0
    return learner.fit(X, rows, labels, weight, rng.randint(MAX_SEED)), len(labels)
