"""What a policy would have cost, and how sure that is."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from stakes.logged._logs import LoggedCosts
from stakes.logged._overlap import OverlapWarning
from stakes.logged._scores import effective_rows
from stakes.utils._arrays import finite_array, quoted
from stakes.utils._checks import warn
from stakes.utils._frames import one_column
from stakes.utils._labels import label_positions

# Fewer rows of equal weight than this are no ground for an interval.
LEAST_ROWS = 10.0
# Where rows count as less than this share of them, a few of them make the estimate.
THIN = 0.1


@dataclass(frozen=True, kw_only=True)
class PolicyCost:
    """What a policy would have cost per row, beside what was done.

    Attributes
    ----------
    cost : float
        The estimate.
    interval : tuple of (float, float)
        Of `cost`.
    standard_error : float
        Of `cost`.
    done : float
        What was paid per row for what was done.
    saved : float
        ``done - cost``.
    saved_interval : tuple of (float, float)
        Of `saved`; the same rows are in both, so that it is narrower than two intervals.
    effective_rows : float
        How many rows of equal weight the correction rests on.
    level : float
        Of the intervals.
    """

    cost: float
    interval: tuple[float, float]
    standard_error: float
    done: float
    saved: float
    saved_interval: tuple[float, float]
    effective_rows: float
    level: float


def policy_shares(decided: Any, logged: LoggedCosts) -> np.ndarray:
    """Return what a policy does as the probability of each decision in each row, (n, a).

    Parameters
    ----------
    decided : array-like of shape (n_samples,) or (n_samples, n_decisions), or label
        Decisions, one for each row; or their probabilities, columns in the order of
        ``logged.decisions``; or one decision that is taken for all.
    logged : LoggedCosts
        The log.

    Examples
    --------
    >>> from stakes.logged import costs_from_logs
    >>> from stakes.logged._value import policy_shares
    >>> coin = [[0.5, 0.5]] * 12
    >>> log = costs_from_logs([[0]] * 12, ["a", "b"] * 6, [1, 2] * 6, propensities=coin, random_state=0)
    >>> policy_shares("b", log)[:1]
    array([[0., 1.]])
    """
    n, n_decisions = logged.shape
    if np.ndim(decided) == 0:
        decided = [decided] * n
    if np.ndim(decided) == 2:
        shares = finite_array(decided, name="decided", of="probability")
        if shares.shape != (n, n_decisions) or np.abs(shares.sum(axis=1) - 1.0).max() > 1e-3:
            raise ValueError(
                f"Probabilities of decisions must have shape {(n, n_decisions)}, rows that sum to 1, "
                f"and columns in the order of {quoted(logged.decisions)}."
            )
        return shares
    column = one_column(decided)
    if len(column) != n:
        raise ValueError(f"There are {len(column):,} decisions, but the log has {n:,} rows.")
    seen, inverse = np.unique(column, return_inverse=True)
    place = label_positions(logged.decisions, tuple(seen.tolist()))
    strange = [label for label in seen.tolist() if label not in place]
    if strange:
        raise ValueError(
            f"The policy takes {quoted(strange)}, which the log does not have: nothing is known of it."
        )
    shares = np.zeros((n, n_decisions))
    shares[np.arange(n), np.array([place[label] for label in seen.tolist()])[inverse]] = 1.0
    return shares


def value_and_influence(
    shares: np.ndarray,
    decided: np.ndarray,
    paid: np.ndarray,
    weights: np.ndarray,
    predicted: np.ndarray,
) -> tuple[float, np.ndarray]:
    r"""Return the self-normalised doubly robust cost of a policy, and what each row adds to it.

    With :math:`\omega_i = \pi(a_i \mid x_i) / e(a_i \mid x_i)` and :math:`r_i = c_i - q(x_i, a_i)`,

    .. math:: \hat V = \frac1n \sum_i \sum_a \pi(a \mid x_i) q(x_i, a) + \frac{\sum_i \omega_i r_i}{\sum_i \omega_i}.

    The influence of a row is what it would change if it counted a little more, times n. A regression
    of zeros everywhere gives self-normalised inverse propensity weighting.

    Examples
    --------
    Nothing is predicted; the policy agrees with rows 0 and 2, which paid 1 and 3:

    >>> import numpy as np
    >>> from stakes.logged._value import value_and_influence
    >>> always = np.array([[1.0, 0.0]] * 3)
    >>> decided, paid = np.array([0, 1, 0]), np.array([1.0, 7.0, 3.0])
    >>> value, influence = value_and_influence(always, decided, paid, np.full(3, 2.0), np.zeros((3, 2)))
    >>> value, influence.tolist()
    (2.0, [-1.5, 0.0, 1.5])
    """
    rows = np.arange(len(decided))
    modelled = (shares * predicted).sum(axis=1)
    ratio = shares[rows, decided] * weights
    residual = paid - predicted[rows, decided]
    total = ratio.sum()
    correction = float(ratio @ residual / total) if total > 0 else 0.0
    scaled = ratio / ratio.mean() if total > 0 else ratio
    influence = modelled - modelled.mean() + scaled * (residual - correction)
    return float(modelled.mean()) + correction, influence


def policy_cost(decided: Any, logged: LoggedCosts, *, level: float = 0.95) -> PolicyCost:
    """Estimate what a policy would have cost on the rows of a log, with an interval.

    Parameters
    ----------
    decided : array-like of shape (n_samples,) or (n_samples, n_decisions), or label
        What the policy decides about the rows of the log: labels, or probabilities of the
        decisions in the order of ``logged.decisions``, or one decision for all. A policy that was
        *learned* from these very rows looks better than it is: decide by cross-validation.
    logged : LoggedCosts
        The log, as `costs_from_logs` returns it.
    level : float, default=0.95
        Of the intervals.

    Returns
    -------
    cost : PolicyCost
        The cost per row and what is saved against what was done, with intervals.

    Warns
    -----
    OverlapWarning
        Where the log was made by a policy so unlike this one that few rows carry most of the weight.

    Notes
    -----
    Propensities that were estimated by cross-fitting beside a regression change the doubly robust
    estimate by less than its standard error shows; so its influences serve "ipw" there, too. Those
    of "direct" are no more than that: an interval for it is right only if the regression is.

    Examples
    --------
    >>> from stakes.logged import costs_from_logs, policy_cost
    >>> X, done, paid = [[0]] * 20 + [[1]] * 20, ["call", "wait"] * 20, [1, 0] * 10 + [1, 4] * 10
    >>> log = costs_from_logs(X, done, paid, propensities=[[0.5, 0.5]] * 40, random_state=0)
    >>> best = policy_cost(["wait"] * 20 + ["call"] * 20, log)
    >>> round(best.cost, 6), best.done, round(best.saved, 6)
    (0.5, 1.5, 1.0)
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, such as 0.95, but it is {level}.")
    shares = policy_shares(decided, logged)
    weights = logged.weights
    ratio = shares[np.arange(len(shares)), logged.decided] * weights
    known = effective_rows(ratio)
    if known < LEAST_ROWS and logged.method != "direct":
        raise ValueError(
            f"What was done agrees with the policy in rows that count as {known:.0f} of equal weight, "
            f"fewer than {LEAST_ROWS:.0f}: the log cannot say what it would have cost."
        )
    agreeing = int((ratio > 0.0).sum())
    if known < THIN * agreeing and logged.method != "direct":
        warn(
            "ST502",
            f"The {agreeing:,} rows in which the policy might have done the same count as {known:,.0f} of "
            "equal weight: a few of them make the estimate, and its interval may be too narrow.",
            OverlapWarning,
            stacklevel=2,
        )
    log = logged.decided, logged.paid, weights
    cost, influence = value_and_influence(shares, *log, logged.predicted)
    if logged.method == "direct":
        cost = float((shares * logged.predicted).sum(axis=1).mean())
    elif logged.method == "ipw":
        cost, own = value_and_influence(shares, *log, np.zeros_like(logged.predicted))
        influence = influence if logged.estimated else own
    done = float(logged.paid.mean())
    against = logged.paid - done - influence
    return PolicyCost(
        cost=cost,
        interval=_interval(cost, influence, logged.groups, known, level),
        standard_error=standard_error(influence, logged.groups),
        done=done,
        saved=done - cost,
        saved_interval=_interval(done - cost, against, logged.groups, known, level),
        effective_rows=known,
        level=level,
    )


def standard_error(influence: np.ndarray, groups: np.ndarray | None) -> float:
    """Return the standard error of a mean of influences; rows of a group are one draw.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.logged._value import standard_error
    >>> one_by_one = standard_error(np.array([-1.0, -1.0, 1.0, 1.0]), None)
    >>> in_pairs = standard_error(np.array([-1.0, -1.0, 1.0, 1.0]), np.array([0, 0, 1, 1]))
    >>> round(one_by_one, 4), in_pairs
    (0.5774, 1.0)
    """
    n = len(influence)
    sums = influence if groups is None else np.bincount(groups, influence)
    m = len(sums)
    if m < 2:
        raise ValueError("All rows are in one group: nothing can be said of how sure a cost is.")
    return float(np.sqrt(m / (m - 1) * (sums**2).sum()) / n)


def _interval(
    estimate: float, influence: np.ndarray, groups: np.ndarray | None, known: float, level: float
) -> tuple[float, float]:
    free = min(known, len(influence) if groups is None else groups.max() + 1) - 1.0
    half = float(stats.t.ppf(0.5 + level / 2.0, max(free, 1.0))) * standard_error(
        influence, groups
    )
    return estimate - half, estimate + half
