"""Drawing samples in proportion to weights, and (row, label) pairs as index arithmetic."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from stakes.utils._arrays import finite_array


def rejection_sample(
    weights: Any, random_state: Any = None, *, max_weight: float | None = None
) -> np.ndarray:
    """Draw examples by their weight: one pass, no replacement.

    Each example is kept with probability ``weight / max_weight``, independently of the
    others, so none comes twice. A learner that knows nothing of weights, fitted on what
    was kept, minimises the weighted loss in expectation; a sample drawn *with* replacement
    would give trees exact copies to overfit.

    Parameters
    ----------
    weights : array-like
        Non-negative weights, of any shape.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.
    max_weight : float, default=None
        The weight that is always kept; no weight may exceed it. If None, the greatest
        weight. A larger value thins the sample.

    Returns
    -------
    indices : ndarray of shape (n_kept,)
        Positions in the flattened weights, increasing. Empty where all weights are zero.
        For (n, K) weights, `pair_of` turns them into rows and labels.

    References
    ----------
    .. [1] B. Zadrozny, J. Langford, N. Abe, "Cost-Sensitive Learning by
       Cost-Proportionate Example Weighting", ICDM 2003.

    Examples
    --------
    The greatest weight is always kept, a weight of zero never:

    >>> from stakes.reductions import rejection_sample
    >>> rejection_sample([2, 0, 2, 0, 2], random_state=0)
    array([0, 2, 4])
    >>> sum(len(rejection_sample([1, 1, 4], random_state=s)) for s in range(1000)) / 1000
    1.5...
    """
    weights = finite_array(weights, name="weights").ravel()
    if weights.size and weights.min() < 0:
        raise ValueError(
            f"A weight is negative ({weights.min():.6g} at position {int(weights.argmin())}): "
            "rejection sampling keeps an example with probability weight / max_weight."
        )
    greatest = weights.max() if weights.size else 0.0
    if max_weight is None:
        max_weight = greatest
    elif not max_weight >= greatest:
        raise ValueError(f"max_weight is {max_weight:.6g}, less than the weight {greatest:.6g}.")
    if greatest == 0.0:
        return np.empty(0, dtype=np.intp)
    draw = check_random_state(random_state).uniform(size=weights.size)
    draw *= max_weight
    return np.flatnonzero(draw < weights)


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


def cheapest_labels(costs: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the label of least cost of each row; the true class where it is among them.

    Examples
    --------
    The first row has two labels of cost 0, and 2 is the true class:

    >>> from stakes.reductions._sampling import cheapest_labels
    >>> cheapest_labels(np.array([[0, 3, 0], [1, 0, 5]]), y=np.array([2, 0]))
    array([2, 1])
    """
    labels = costs.argmin(axis=1)
    rows = np.arange(len(costs))
    return np.where(costs[rows, y] <= costs[rows, labels], y, labels)


class ExamplePlan:
    """What each member sees where every example has one label and one weight.

    Parameters
    ----------
    weights : ndarray of shape (n_samples,)
        Importance of each example.
    labels : ndarray of shape (n_samples,)
        Its label.
    sampling : {"rejection", "weights"}
        Keep examples by their weight, or hand the weights on.
    bootstrap : bool, default=False
        With "weights", hand on a bootstrap sample, so that members differ.
    """

    def __init__(self, weights, labels, sampling: str, bootstrap: bool = False):
        self.weights = weights
        self.labels = labels
        self.sampling = sampling
        self.bootstrap = bootstrap

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
        Multiplies the weights of a row.
    sampling, bootstrap : str and bool
        As in `ExamplePlan`.
    """

    def __init__(self, weights, group, factor, sampling: str, bootstrap: bool = False):
        self.weights = weights
        self.group = group
        self.factor = factor
        self.sampling = sampling
        self.bootstrap = bootstrap

    def column(self, label: int) -> np.ndarray:
        """Return the weight of each row's pair with `label`."""
        weight = self.weights[self.group, label]
        return weight if self.factor is None else weight * self.factor

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
        row_max = self.weights.max(axis=1)[self.group]
        return float((row_max if self.factor is None else row_max * self.factor).max())


def bootstrap_counts(n_samples: int, rng: np.random.RandomState) -> np.ndarray:
    """Return how often each example comes in a draw of n_samples with replacement."""
    return np.bincount(rng.randint(n_samples, size=n_samples), minlength=n_samples)
