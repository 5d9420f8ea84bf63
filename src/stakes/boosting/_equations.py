"""The equations of boosting on a cost matrix, as functions on arrays.

Letters as in Koço and Capponi (2013): `D` is the matrix of costs that a round minimises,
one row per example; `f` are the scores, the weight of the votes each label has won. The
label that a row works towards is its *target*: the true class under 0/1 costs, and in
general the decision that costs least.
"""

from typing import Any

import numpy as np

# The largest edge that is told from 1: its vote, 18.4, is finite, and outweighs any other.
LARGEST_EDGE = 1.0 - 2.0**-52
# An edge up to here is none: sqrt(1 - delta^2), which the loss falls by, is 1 in floating point.
SMALLEST_EDGE = 1e-8


def cost_matrix_of_round(
    scores: np.ndarray, target: np.ndarray, penalty: np.ndarray
) -> np.ndarray:
    """Return D, the costs that the next weak learner minimises: eq. (13).

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes)
        f, the votes so far.
    target : ndarray of shape (n_samples,)
        The label each row works towards.
    penalty : ndarray of shape (n_samples, n_classes)
        What stands before the exponential: c of section 6, with the row's weight (1 / m_y in
        CoMBo, 1 in AdaBoost.MM). Its entry at the target is not used.

    Returns
    -------
    D : ndarray of shape (n_samples, n_classes)
        The rows sum to 0 and are least at the target.

    Examples
    --------
    A row of the first round, where f is 0, in a class of four examples:

    >>> import numpy as np
    >>> from stakes.boosting._equations import cost_matrix_of_round
    >>> cost_matrix_of_round(np.zeros((1, 3)), np.array([1]), np.full((1, 3), 1 / 4))
    array([[ 0.25, -0.5 ,  0.25]])
    """
    rows = np.arange(len(scores))
    D = penalty * np.exp(scores - scores[rows, target][:, None])  # eq. (13), l != y
    D[rows, target] = 0.0
    D[rows, target] = -D.sum(axis=1)  # eq. (13), l = y
    return D


def loss(D: np.ndarray, target: np.ndarray) -> float:
    """Return L, the exponential loss (11): what D puts off the targets.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.boosting._equations import loss
    >>> float(loss(np.array([[0.25, -0.5, 0.25]]), np.array([1])))
    0.5
    """
    return -D[np.arange(len(D)), target].sum()


def edge(D: np.ndarray, decisions: np.ndarray, target: np.ndarray) -> float:
    """Return delta, the edge of the decisions on D: Algorithm 1.

    It is 1 where every target is met, 0 for a guess that ignores the example.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.boosting._equations import edge
    >>> D = np.array([[-2.0, 1.0, 1.0], [1.0, 1.0, -2.0]])
    >>> float(edge(D, np.array([0, 1]), np.array([0, 2])))  # (2 - 1) / 4
    0.25
    """
    return -D[np.arange(len(D)), decisions].sum() / loss(D, target)


def vote(delta: Any) -> Any:
    """Return alpha, the weight of a member with edge `delta`: Algorithm 1.

    An edge of 1 counts as `LARGEST_EDGE`, so that the vote stays finite.

    Examples
    --------
    >>> from stakes.boosting._equations import vote
    >>> round(float(vote(0.6)), 4)  # log(1.6 / 0.4) / 2 = log 2
    0.6931
    """
    delta = np.clip(delta, -LARGEST_EDGE, LARGEST_EDGE)
    return 0.5 * np.log((1 + delta) / (1 - delta))


def loss_factor(delta: Any, alpha: Any) -> Any:
    """Return the factor that the loss falls by at least: eq. (18).

    With `alpha` as in Algorithm 1 it is sqrt(1 - delta^2); a learning rate changes alpha, and
    the factor with it.

    Examples
    --------
    >>> from stakes.boosting._equations import loss_factor, vote
    >>> round(float(loss_factor(0.6, vote(0.6))), 4)  # sqrt(1 - 0.36)
    0.8
    """
    return (1 - delta) / 2 * np.exp(alpha) + (1 + delta) / 2 * np.exp(-alpha)
