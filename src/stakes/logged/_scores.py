r"""The estimates of what each decision would have cost: pure functions on arrays.

The letters: **n** rows, **a** decisions. :math:`q(x, a)` is what a regression expects decision a to
cost, :math:`e(a \mid x)` the probability (propensity) with which it was taken, :math:`a_i` and
:math:`c_i` what was done and paid.
"""

import numpy as np


def inverse_weights(decided: np.ndarray, propensities: np.ndarray) -> np.ndarray:
    r"""Return :math:`1 / e(a_i \mid x_i)`, the weight of each row for the decision taken, (n,).

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.logged._scores import inverse_weights
    >>> inverse_weights(np.array([1, 0]), np.array([[0.5, 0.5], [0.25, 0.75]]))
    array([2., 4.])
    """
    return 1.0 / propensities[np.arange(len(decided)), decided]


def direct_costs(predicted: np.ndarray) -> np.ndarray:
    """Return what the regression expects, (n, a): right where the regression is."""
    return predicted


def inverse_propensity_costs(
    decided: np.ndarray, paid: np.ndarray, weights: np.ndarray, n_decisions: int
) -> np.ndarray:
    r"""Return self-normalised inverse propensity estimates, (n, a).

    :math:`1[a_i = a]\, c_i\, w_i / \bar w_a`, where :math:`\bar w_a` is the mean over all rows of
    :math:`1[a_i = a] w_i`, which is 1 where the propensities are right. The mean of a column is an
    average of what was paid.

    Examples
    --------
    Decision 0 was taken twice and cost 1 and 3; its column has their mean, 2:

    >>> import numpy as np
    >>> from stakes.logged._scores import inverse_propensity_costs
    >>> decided, paid, weights = np.array([0, 0, 1, 1]), np.array([1.0, 3, 5, 5]), np.full(4, 2.0)
    >>> inverse_propensity_costs(decided, paid, weights, 2)
    array([[ 2.,  0.],
           [ 6.,  0.],
           [ 0., 10.],
           [ 0., 10.]])
    """
    n = len(decided)
    mean = np.bincount(decided, weights, minlength=n_decisions) / n
    costs = np.zeros((n, n_decisions))
    costs[np.arange(n), decided] = paid * weights / mean[decided]
    return costs


def doubly_robust_costs(
    decided: np.ndarray, paid: np.ndarray, weights: np.ndarray, predicted: np.ndarray
) -> np.ndarray:
    r"""Return doubly robust estimates, (n, a): the regression, corrected where its decision was taken.

    :math:`q(x_i, a) + 1[a_i = a]\, w_i\, (c_i - q(x_i, a))`, equation (1) of Dudik, Langford and Li
    (2011) for each decision. Their mean is right where either the regression or the propensities are.

    Examples
    --------
    Decision 0 was taken with probability 1/2 and cost 3 where the regression expects 2:

    >>> import numpy as np
    >>> from stakes.logged._scores import doubly_robust_costs
    >>> doubly_robust_costs(np.array([0]), np.array([3.0]), np.array([2.0]), np.array([[2.0, 5.0]]))
    array([[4., 5.]])
    """
    rows = np.arange(len(decided))
    costs = np.array(predicted)
    costs[rows, decided] += weights * (paid - predicted[rows, decided])
    return costs


def switched_weights(weights: np.ndarray, greatest: float) -> np.ndarray:
    """Return the weights, 0 where they exceed `greatest`: the regression alone is believed there.

    Wang, Agarwal and Dudik (2017): rows of huge weight make an estimate unbiased and useless.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.logged._scores import switched_weights
    >>> switched_weights(np.array([2.0, 500.0]), 100.0)
    array([2., 0.])
    """
    return np.where(weights > greatest, 0.0, weights)


def effective_rows(weights: np.ndarray) -> float:
    """Return how many rows of equal weight know as much, Kish's (sum w)^2 / sum w^2.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.logged._scores import effective_rows
    >>> effective_rows(np.array([1.0, 1.0, 1.0, 1.0])), effective_rows(np.array([1.0, 0, 0, 0]))
    (4.0, 1.0)
    """
    total = float(np.sum(weights))
    return total**2 / float(np.sum(weights**2)) if total > 0 else 0.0
