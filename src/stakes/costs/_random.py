"""Seeded cost matrices of the published protocols."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from stakes.costs._matrix import CostMatrix


def random_abe(y: Any, *, scale: float = 2000.0, random_state: Any = None) -> CostMatrix:
    """Draw costs uniformly from [0, scale P(predicted) / P(true)], 0 on the diagonal.

    The protocol of Abe, Zadrozny and Langford (2004): mistaking a rare class for a common
    one is expensive on average.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels; their shares are the class probabilities.
    scale : float, default=2000
        The upper end for two classes of the same size.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.

    Examples
    --------
    >>> from stakes.costs import random_abe
    >>> C = random_abe(["a"] * 3 + ["b"], random_state=0)
    >>> C.cost(true="b", predicted="a") <= 6000 and C.cost(true="a", predicted="b") <= 2000 / 3
    True
    """
    rng = check_random_state(random_state)
    labels, counts = np.unique(np.asarray(y), return_counts=True)
    share = counts / counts.sum()
    high = scale * share[None, :] / share[:, None]
    values = rng.uniform(0.0, 1.0, size=high.shape) * high
    np.fill_diagonal(values, 0.0)
    return CostMatrix(values, labels)


def random_uniform(
    labels: Any, low: float = 1.0, high: float = 10.0, *, random_state: Any = None
) -> CostMatrix:
    """Draw costs uniformly from [low, high], 0 on the diagonal.

    The second protocol of O'Brien, Gupta and Gray (2008).

    Parameters
    ----------
    labels : int or array-like of shape (n_classes,)
        The number of classes, or their labels.
    low, high : float, default=1 and 10
        The ends of the interval.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.

    Examples
    --------
    >>> from stakes.costs import random_uniform
    >>> random_uniform(3, random_state=0).values.diagonal()
    array([0., 0., 0.])
    """
    if not low <= high:
        raise ValueError(f"low must not exceed high, but low={low} and high={high}.")
    rng = check_random_state(random_state)
    zero_one = CostMatrix.zero_one(labels)
    values = rng.uniform(low, high, size=zero_one.values.shape) * zero_one.values
    return CostMatrix(values, zero_one.labels)
