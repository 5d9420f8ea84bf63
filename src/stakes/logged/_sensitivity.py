"""How wrong the assumption that cannot be tested would have to be."""

from typing import Any

import numpy as np

from stakes.logged._logs import LoggedCosts
from stakes.logged._value import policy_cost, policy_shares

# An unseen cause that moves odds by more than this is not looked for.
STRONGEST = 1000.0


def extreme_mean(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    r"""Return the greatest weighted mean of values whose weights lie between two bounds.

    :math:`\max_{l \le w \le h} \sum_i w_i v_i / \sum_i w_i`: the dearest rows get their highest weight,
    the others their lowest, and the best place to part them is found by trying each.

    Examples
    --------
    With weights between 1 and 3 the value 1 gets 3 and the value 0 gets 1:

    >>> import numpy as np
    >>> from stakes.logged._sensitivity import extreme_mean
    >>> extreme_mean(np.array([0.0, 1.0]), np.array([1.0, 1.0]), np.array([3.0, 3.0]))
    0.75
    """
    order = np.argsort(-values, kind="stable")
    values, low, high = values[order], low[order], high[order]
    above = (
        np.concatenate([[0.0], np.cumsum(high)]),
        np.concatenate([[0.0], np.cumsum(high * values)]),
    )
    below = np.cumsum(low), np.cumsum(low * values)
    weight = above[0] + (below[0][-1] - np.concatenate([[0.0], below[0]]))
    total = above[1] + (below[1][-1] - np.concatenate([[0.0], below[1]]))
    return float((total[weight > 0] / weight[weight > 0]).max())


def policy_bounds(decided: Any, logged: LoggedCosts, *, strength: float) -> tuple[float, float]:
    r"""Return between which costs a policy lies if an unseen cause moved decisions this much.

    Parameters
    ----------
    decided : array-like or label
        As in `policy_cost`.
    logged : LoggedCosts
        The log.
    strength : float
        By what factor an unseen cause may have moved the odds of what was done, at most: 1 is
        none, 2 doubles or halves them.

    Returns
    -------
    low, high : float
        Bounds of the cost per row, sampling error aside.

    Notes
    -----
    Tan's marginal sensitivity model: with strength :math:`\Lambda` the true weight of a row lies between
    :math:`1 + (w_i - 1) / \Lambda` and :math:`1 + (w_i - 1) \Lambda`. The bounds are of the weighted
    mean of the regression's residuals over all such weights.

    Examples
    --------
    >>> from stakes.logged import costs_from_logs, policy_bounds
    >>> X, done, paid = [[0]] * 40, ["call", "wait"] * 20, [1, 0, 1, 4] * 10
    >>> log = costs_from_logs(X, done, paid, propensities=[[0.5, 0.5]] * 40, random_state=0)
    >>> [round(x, 1) for x in policy_bounds("wait", log, strength=1.0)]
    [2.0, 2.0]
    >>> [round(x, 1) for x in policy_bounds("wait", log, strength=2.0)]
    [1.3, 2.7]
    """
    if strength < 1.0:
        raise ValueError(f"strength must be at least 1, which is none, but it is {strength}.")
    shares = policy_shares(decided, logged)
    rows = np.arange(len(shares))
    taken = shares[rows, logged.decided]
    residual = logged.paid - logged.predicted[rows, logged.decided]
    used = taken > 0
    beyond = logged.weights[used] - 1.0
    low = taken[used] * (1.0 + beyond / strength)
    high = taken[used] * (1.0 + beyond * strength)
    modelled = float((shares * logged.predicted).sum(axis=1).mean())
    least = modelled - extreme_mean(-residual[used], low, high)
    return least, modelled + extreme_mean(residual[used], low, high)


def tipping_strength(decided: Any, logged: LoggedCosts, *, level: float = 0.95) -> float:
    """Return how strong an unseen cause would have to be for a policy to save nothing.

    The least factor on the odds of what was done at which the policy might cost as much as what
    was done, its sampling error included. 1.0 says that it saves nothing for sure as it is; below
    about 1.5 little is needed, above 3 a cause would have to be stronger than most that are known.

    Parameters
    ----------
    decided : array-like or label
        As in `policy_cost`.
    logged : LoggedCosts
        The log.
    level : float, default=0.95
        Of the sampling error.

    Examples
    --------
    Waiting costs 2 on average, calling 1; nobody's decision was anything but a coin's:

    >>> from stakes.logged import costs_from_logs, tipping_strength
    >>> X, done, paid = [[0]] * 400, ["call", "wait"] * 200, [1, 0, 1, 4] * 100
    >>> log = costs_from_logs(X, done, paid, propensities=[[0.5, 0.5]] * 400, random_state=0)
    >>> tipping_strength("call", log), tipping_strength("wait", log)
    (1000.0, 1.0)
    """
    sure = policy_cost(decided, logged, level=level)
    room = sure.saved_interval[0]
    if room <= 0.0:
        return 1.0

    def excess(strength: float) -> float:
        return policy_bounds(decided, logged, strength=strength)[1] - sure.cost

    if excess(STRONGEST) < room:
        return STRONGEST
    low, high = 0.0, np.log(STRONGEST)
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if excess(np.exp(middle)) < room else (low, middle)
    return float(np.exp(low))
