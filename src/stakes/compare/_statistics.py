"""How sure the differences are: paired intervals over examples.

Every example is decided once by every method, in a fold that the method was not fitted on, and
what two methods paid for it is subtracted before anything else: a difference is far better
known than either cost. For cross-validation such intervals are asymptotically right for the cost
of the procedure that was run (Bayle, Bayle, Janson and Mackey, "Cross-validation confidence
intervals for test error", NeurIPS 2020); the t-test over folds has five numbers to work with and
a correction for their overlap that is known to be rough, so it is not used. The intervals are
those of `stakes.metrics.intervals`, which hold where few examples carry the money.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from stakes.metrics.intervals import expensive, interval_of, interval_sums, usual_event

# How sure intervals are.
LEVEL = 0.95
# Draws of what chance does to all differences together.
N_DRAWS = 10_000
# The most that a method can cost, as a multiple of the baseline, before it counts as without end.
FARTHEST = 1e6
# A method is chosen on all parts but one, and pays on that one; so many times.
N_PARTS, N_TIMES = 10, 10


class Intervals(NamedTuple):
    """Intervals of M methods: costs and differences per example, savings as shares.

    `n_expensive` is the number of examples on which a decision is expensive.
    """

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    difference: np.ndarray
    difference_low: np.ndarray
    difference_high: np.ndarray
    savings: np.ndarray
    savings_low: np.ndarray
    savings_high: np.ndarray
    n_expensive: int


def paired_intervals(
    paid: np.ndarray,
    baseline: int,
    *,
    level: float = 0.95,
    random_state: int = 0,
    span: np.ndarray | None = None,
) -> Intervals:
    """Return the mean cost of each method and its difference to the baseline, with intervals.

    Parameters
    ----------
    paid : ndarray of shape (n_samples, n_methods)
        What each method's decision cost for each example.
    baseline : int
        The column to compare with.
    level : float, default=0.95
        The confidence level.
    random_state : int, default=0
        Seed of the draws that tell how far the largest of all deviations goes.
    span : ndarray of shape (n_samples,), default=None
        By how much decisions can differ for each example; None takes it from these methods.

    Returns
    -------
    intervals : Intervals
        Those of the means hold one method at a time. Those of differences and savings hold for
        all methods at once, so that the best of twelve is not called better by luck. A saving
        is at an end of its interval where the method less that share of the baseline is at an
        end of its own: it is above 0 where the difference is below.

    Examples
    --------
    The second method always pays 1 less, so there is nothing to be unsure about:

    >>> import numpy as np
    >>> from stakes.compare._statistics import paired_intervals
    >>> paid = np.array([[3.0, 2.0], [5.0, 4.0], [9.0, 8.0]])
    >>> found = paired_intervals(paid, baseline=0)
    >>> found.difference, found.difference_high
    (array([ 0., -1.]), array([ 0., -1.]))
    """
    paid = np.asarray(paid, dtype=float)
    base, differences = paid[:, baseline], paid - paid[:, [baseline]]
    mean = paid.mean(axis=0)
    span = np.ptp(paid, axis=1) if span is None else span
    more, events = usual_event(span), _events(paid, span)
    low, high = _intervals(paid, len(paid), events, level)
    together = 2 * ndtr(_largest_deviation(differences, level, random_state)) - 1
    sides = _intervals(differences, len(paid), (more, more), together)
    saved = np.array([_savings(column, base, more, together) for column in paid.T])
    same = ~differences.any(axis=0)  # as the baseline is itself, whatever the rows
    for ends in (*sides, *saved.T):
        ends[same] = 0.0
    return Intervals(
        mean=mean,
        low=low,
        high=high,
        difference=mean - mean[baseline],
        difference_low=sides[0],
        difference_high=sides[1],
        savings=share(mean[baseline] - mean, mean[baseline]),
        savings_low=saved[:, 0],
        savings_high=saved[:, 1],
        n_expensive=int(expensive(span).sum()),
    )


def _events(paid: np.ndarray, span: np.ndarray) -> tuple[Any, Any]:
    """Return what one mistake more would cost, and one gain more earn, whatever is decided."""
    least = paid.min(axis=1)
    return usual_event(np.maximum(paid.max(axis=1), least + span)), usual_event(-least)


def share(part: np.ndarray, whole: float) -> np.ndarray:
    """Return part / |whole|; 0 where both are 0, infinite where only the whole is.

    Examples
    --------
    >>> from stakes.compare._statistics import share
    >>> share([1.0, -2.0], 4.0), share([0.0, -1.0], 0.0)
    (array([ 0.25, -0.5 ]), array([  0., -inf]))
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.divide(part, abs(whole))
    return np.where(np.isnan(shares), 0.0, shares)


def _intervals(
    values: np.ndarray, n: int, event: tuple, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return intervals of the means of columns over n rows, of which those left out are 0."""
    sums = interval_sums(values)._replace(weight=np.float64(n), squared_weight=np.float64(n))
    largest = values.max(axis=0, initial=0.0), -values.min(axis=0, initial=0.0)
    return interval_of(sums, tuple(map(np.maximum, event, largest)), level)


def _largest_deviation(differences: np.ndarray, level: float, seed: int) -> float:
    """Return how many standard errors the largest of all deviations stays within."""
    away = differences - differences.mean(axis=0)
    spread = np.sqrt((away**2).sum(axis=0))
    away = away[:, spread > 1e-9 * np.abs(differences).sum(axis=0)]
    if not away.shape[1]:
        return 0.0
    away = away / np.sqrt((away**2).sum(axis=0))
    values, vectors = np.linalg.eigh(away.T @ away)
    draws = np.random.default_rng(seed).standard_normal((N_DRAWS, len(values)))
    drawn = draws @ (vectors * np.sqrt(values.clip(0.0))).T
    return float(np.quantile(np.abs(drawn).max(axis=1), level))


def _savings(paid: np.ndarray, base: np.ndarray, more: Any, level: float) -> tuple[float, float]:
    """Return the shares at which the method less what is left of the baseline is at an end."""
    whole, sign, n = base.mean(), np.sign(base.mean()), len(base)
    if whole == 0:
        same = float(share(-paid.mean(), 0.0))
        return same, same
    there = (paid != 0) | (base != 0)
    some, rest = paid[there], base[there]

    def end(saved: float, side: int) -> float:
        return float(_intervals(some - (1.0 - sign * saved) * rest, n, (more, more), level)[side])

    middle = (whole - paid.mean()) / abs(whole)
    most = 1.0 if min(paid.min(), base.min()) >= 0 else FARTHEST
    return _root(end, 1, middle, -FARTHEST), _root(end, 0, middle, most)


def _root(end: Callable, side: int, begin: float, limit: float) -> float:
    """Return where an end of an interval becomes 0, on the way from one place to a limit."""
    value, step, here = end(begin, side), np.sign(limit - begin), begin
    while value != 0 and np.sign(end(here, side)) == np.sign(value):
        if here == limit:
            return limit if abs(limit) < FARTHEST else limit * np.inf
        before, here = here, step * min(step * begin + 2 * abs(here - begin) + 0.5, step * limit)
    return begin if value == 0 else float(brentq(end, before, here, args=(side,), xtol=1e-7))


def cost_when_chosen(
    paid: np.ndarray,
    *,
    level: float = 0.95,
    random_state: int = 0,
    span: np.ndarray | None = None,
) -> tuple[float, float, float]:
    """Return what the cheapest of several methods costs, its having been chosen counted.

    Parameters
    ----------
    paid : ndarray of shape (n_samples, n_methods)
        What each method's decision cost for each example.
    level : float, default=0.95
        The confidence level.
    random_state : int, default=0
        Parts the examples.
    span : ndarray of shape (n_samples,), default=None
        By how much decisions can differ for each example; None takes it from these methods.

    Returns
    -------
    cost, low, high : float
        The mean over many partings of the examples in ten: the method that is cheapest on nine
        parts pays on the tenth, which it was not chosen by.

    Examples
    --------
    Neither of two methods is cheaper; whichever seems so was lucky:

    >>> import numpy as np
    >>> from stakes.compare._statistics import cost_when_chosen
    >>> paid = np.array([[0.0, 2.0], [2.0, 0.0]] * 50)
    >>> cost, low, high = cost_when_chosen(paid)
    >>> bool(low < 1 < cost < high)
    True
    """
    paid = np.asarray(paid, dtype=float)
    n, totals = len(paid), paid.sum(axis=0)
    rng, sums = np.random.default_rng(random_state), []
    for _ in range(N_TIMES):
        parts = np.array_split(rng.permutation(n), min(N_PARTS, n))
        chosen = [(totals - paid[rows].sum(axis=0)).argmin() for rows in parts]
        taken = [paid[rows, method] for rows, method in zip(parts, chosen)]
        sums.append(interval_sums(np.concatenate(taken)))
    first = paid[:, totals.argmin()]
    pooled = type(sums[0])(*np.mean(sums, axis=0))
    up, down = _events(paid, np.ptp(paid, axis=1) if span is None else span)
    event = np.maximum(up, first.max()), np.maximum(down, -first.min())
    low, high = interval_of(pooled, event, level)
    alone = interval_of(interval_sums(first), event, level)[0]
    cost = float((pooled.lost - pooled.gained) / pooled.weight)
    return cost, float(min(low, alone)), float(high)
