"""Decisions under limits: the best assignment of a batch, and prices that keep a stream to a share."""

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from stakes.costs import CostWarning
from stakes.utils._arrays import counted, finite_array, quoted
from stakes.utils._checks import warn
from stakes.utils._labels import as_labels, label_positions

# From so many rows on a sample of them says first where about the prices are.
SAMPLED_FROM = 20_000
SAMPLE_STEP = 32
# Rows that may change their decision, for each one that has to.
ACTIVE_FACTOR = 6


@dataclass(frozen=True)
class CapacityPlan:
    """The decisions of least cost in sum that keep to the limits; made by `decide_within`.

    Attributes
    ----------
    decisions : ndarray of shape (n_samples,)
        Column indices of the expected costs.
    cost : float
        The expected cost of these decisions, in sum.
    free_cost : float
        What it would be without any limit.
    shadow_prices : ndarray of shape (n_decisions,)
        By how much the cost in sum would fall if the limit of a decision were one higher. 0
        where the limit is not reached. Negative for a minimum that costs something: what one
        more would cost. (Where every other decision is at its minimum no row can move: any
        price that keeps all in place stands for it.) Added to the expected costs, they make the least of each row its
        decision, ties aside.
    counts : ndarray of shape (n_decisions,)
        How often each decision is taken.
    lower, upper : ndarray of shape (n_decisions,)
        The limits in rows.
    """

    decisions: np.ndarray
    cost: float
    free_cost: float
    shadow_prices: np.ndarray
    counts: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def capacity_bounds(capacity: Any, labels: Any, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest number of rows of each decision.

    Parameters
    ----------
    capacity : dict
        As in `decide_within`.
    labels : array-like of shape (n_decisions,)
        The decisions.
    n_samples : int
        The rows to decide; shares are taken of them.

    Returns
    -------
    lower, upper : ndarray of shape (n_decisions,)
        Whole numbers.

    Examples
    --------
    At most 3 inspections, and at least a quarter of 10 rows let pass:

    >>> from stakes.decision._capacity import capacity_bounds
    >>> capacity_bounds({"inspect": 3, "pass": (0.25, None)}, ["inspect", "pass", "stop"], 10)
    (array([0, 3, 0]), array([ 3, 10, 10]))
    """
    labels = as_labels(labels)
    place = check_capacity(capacity, labels)
    lower = np.zeros(len(labels), dtype=np.int64)
    upper = np.full(len(labels), n_samples, dtype=np.int64)
    for label, given in capacity.items():
        low, high = _pair(given)
        d = place[label]
        if low is not None:
            lower[d] = _as_rows(low, label, n_samples, math.ceil)
        if high is not None:
            wanted = _as_rows(high, label, n_samples, math.floor)
            upper[d] = min(wanted, n_samples)
            if wanted > n_samples:
                warn(
                    "ST308",
                    f"capacity of {label!r} is {wanted:,}, but there are only "
                    f"{counted(n_samples, 'row')}: it limits nothing here.",
                    CostWarning,
                    stacklevel=3,
                )
        if low is not None and high is not None and lower[d] > upper[d]:
            raise ValueError(
                f"capacity of {label!r} asks for at least {lower[d]:,} and at most {upper[d]:,} of "
                f"{counted(n_samples, 'row')}: the minimum is above the limit."
            )
    if lower.sum() > n_samples:
        raise ValueError(
            f"capacity asks for at least {lower.sum():,} decisions in sum, but there are only "
            f"{counted(n_samples, 'row')}: lower a minimum."
        )
    if upper.sum() < n_samples:
        raise ValueError(
            f"capacity leaves room for {upper.sum():,} decisions in sum, but there are "
            f"{counted(n_samples, 'row')}: raise a limit, or leave one decision without."
        )
    return lower, upper


def check_capacity(capacity: Any, labels: tuple, *, stream: bool = False) -> dict:
    """Return where each limited decision stands among `labels`; refuse what is no capacity."""
    if not isinstance(capacity, Mapping):
        raise ValueError(
            f"capacity must be a dict of decisions and limits, such as {{{labels[0]!r}: 100}}, "
            f"but it is a {type(capacity).__name__}."
        )
    if len(set(labels)) < len(labels):
        raise ValueError(
            f"Two decisions have one label among {quoted(labels)}: name each its own."
        )
    place = label_positions(labels, tuple(capacity))
    strange = [label for label in capacity if label not in place]
    if strange:
        raise ValueError(
            f"capacity names {quoted(strange)}, but the decisions are {quoted(labels)}."
        )
    for label, given in capacity.items():
        for value in _pair(given):
            if value is None:
                continue
            _as_rows(value, label, 1, math.floor)
            if stream and (isinstance(value, numbers.Integral) or value > 1):
                raise ValueError(
                    f"capacity of {label!r} is {given!r}: in a stream, whose rows have no number, "
                    "give a share of them between 0.0 and 1.0."
                )
    return place


def _pair(given: Any) -> tuple:
    """Return the minimum and the limit that are given; a single number is the limit."""
    return tuple(given) if isinstance(given, tuple | list) and len(given) == 2 else (None, given)


def _as_rows(value: Any, label: Any, n_samples: int, whole: Any) -> int:
    """Return a count as it is, and a share of the rows as a count."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    amount = float(value) if real else math.nan
    if not isinstance(value, numbers.Integral) and 0 <= amount <= 1:
        return int(whole(round(amount * n_samples, 6)))  # 0.07 * 100 is a little more than 7
    if amount >= 0 and amount.is_integer():
        return int(amount)
    raise ValueError(
        f"capacity of {label!r} is {value!r}: give a whole number of rows from 0 on, a share "
        "between 0.0 and 1.0, or a pair of a minimum and a limit."
    )


def decide_within(expected: Any, capacity: Any, *, labels: Any = None) -> CapacityPlan:
    r"""Return the decisions of least expected cost in sum that keep to limits: the exact optimum.

    All rows are decided together, as one batch: which rows get the few places depends on the
    others. Of rows that are equally good any may get one.

    Parameters
    ----------
    expected : array-like of shape (n_samples, n_decisions)
        The expected cost of each decision for each row: `expected_costs` of an estimator, or of
        `stakes.decision.expected_costs`. A column for abstaining is a decision like others.
    capacity : dict
        A limit by decision: a whole number of rows, a share between 0.0 and 1.0 of the rows, or a
        pair of a minimum and a limit, either of which may be None.
    labels : array-like of shape (n_decisions,), default=None
        The decisions; the column numbers if None.

    Returns
    -------
    plan : CapacityPlan
        With `decisions`, `cost`, `shadow_prices` and `counts`.

    Notes
    -----
    The linear programme

    .. math:: \min_{x \ge 0} \sum_{i,d} e_{id} x_{id}, \quad \sum_d x_{id} = 1, \quad
        l_d \le \sum_i x_{id} \le u_d,

    whose vertices are whole numbers. One limit needs a sort of what each row would gain. More
    are solved by shortest paths between the decisions, from the prices that a sample of the rows
    suggests; that no cheaper path is left at the end proves the optimum.

    Examples
    --------
    An inspection costs 2 and saves the damage, of 9, 5 and 6. There is time for one: it goes
    where it saves 7, and one more would save 4.

    >>> from stakes.decision import decide_within
    >>> expected = [[9.0, 2.0], [5.0, 2.0], [6.0, 2.0]]
    >>> plan = decide_within(expected, {"inspect": 1}, labels=["pass", "inspect"])
    >>> plan.decisions, plan.cost, plan.shadow_prices
    (array([1, 0, 0]), 13.0, array([0., 4.]))
    """
    expected = finite_array(expected, name="expected", of="expected cost")
    if expected.ndim != 2 or expected.shape[1] == 0:
        raise ValueError(
            "expected must have shape (n_samples, n_decisions), one expected cost per decision, "
            f"but it has shape {expected.shape}."
        )
    n, n_decisions = expected.shape
    if labels is None:
        labels = np.arange(n_decisions)
    if len(labels) != n_decisions:
        raise ValueError(
            f"There are {counted(len(labels), 'label')}, but expected has "
            f"{counted(n_decisions, 'column')}, one per decision."
        )
    return _plan(expected, *capacity_bounds(capacity, labels, n))


def _plan(expected: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> CapacityPlan:
    """Return the plan for checked costs and limits that can be kept."""
    n, n_decisions = expected.shape
    limited = (lower > 0) | (upper < n)
    bound = np.flatnonzero(limited)
    prices, free_cost = np.zeros(n_decisions), None
    if len(bound) == 0 or n == 0:
        decisions = expected.argmin(axis=1)
    elif len(bound) == 1 and n_decisions > 1:
        decisions, prices[bound] = _one_limit(expected, bound[0], lower, upper)
    else:
        from stakes.decision._capacity_kernels import merge_free, paid_for

        # Between decisions without limits nothing is to be weighed: they are one.
        all_bound = len(bound) == n_decisions
        merged = np.empty((n, len(bound) + (not all_bound)))
        free = np.empty(n, dtype=np.intp)
        expected = np.ascontiguousarray(expected)
        free_cost = merge_free(expected, limited, merged, free)
        low, high = lower[bound], upper[bound]
        if not all_bound:
            low, high = np.append(low, 0), np.append(high, n)
        chosen, shadow = _assign(merged, low, high)
        prices[bound] = shadow[: len(bound)]
        decisions = free if not all_bound else np.empty(n, dtype=np.intp)
        taken = chosen < len(bound)
        decisions[taken] = bound[chosen[taken]]
        cost = paid_for(expected, decisions)
    if free_cost is None:
        cost = float(expected[np.arange(n), decisions].sum())
        free_cost = float(expected.min(axis=1).sum()) if n else 0.0
    counts = np.bincount(decisions, minlength=n_decisions)
    return CapacityPlan(decisions, cost, free_cost, prices, counts, lower, upper)


def _one_limit(
    expected: np.ndarray, d: int, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return the best decisions where only `d` is limited, and its shadow price: a sort."""
    n, n_decisions = expected.shape
    others = np.delete(np.arange(n_decisions), d)
    decisions = others[expected[:, others].argmin(axis=1)]
    saved = expected[np.arange(n), decisions] - expected[:, d]
    # Of equal rows the decision goes to the earlier ones, and of equal decisions to the first.
    gains = (saved > 0) | ((saved == 0) & (d < decisions))
    wanted = np.count_nonzero(gains)
    count = int(min(max(wanted, lower[d]), upper[d]))
    if count == wanted:
        decisions[gains] = d
        return decisions, 0.0
    order = np.argsort(-saved, kind="stable")
    decisions[order[:count]] = d
    price = saved[order[min(count, n - 1)]]
    return decisions, float(max(price, 0.0) if count == upper[d] < wanted else min(price, 0.0))


def _assign(
    expected: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the decisions of least cost in sum within the limits, and the shadow prices."""
    from stakes.decision._capacity_kernels import cheapest, least_steps, swap_equals

    n, n_decisions = expected.shape
    prices = np.zeros(n_decisions)
    if n > SAMPLED_FROM:
        part = np.ascontiguousarray(expected[::SAMPLE_STEP])
        share = len(part) / n
        low, high = np.floor(lower * share), np.ceil(upper * share)
        prices = _assign(part, low.astype(np.int64), high.astype(np.int64))[1]
    scale = max(float(expected.max()), -float(expected.min()), 1e-300)
    chosen, gap = np.empty(n, dtype=np.intp), np.empty(n)
    active = ACTIVE_FACTOR
    while True:
        counts = cheapest(expected, prices, chosen, gap)
        sent = np.where(prices > 0, upper, np.where(prices < 0, lower, counts.clip(lower, upper)))
        excess = np.append(counts - sent, sent.sum() - n)
        swap_equals(expected, prices, chosen, gap, (excess, sent, lower, upper))
        rows = _nearest(gap, min(active * int(np.abs(excess).sum()) + 1000, n))
        potential = np.append(-prices, 0.0)
        even = _route(expected, rows, chosen, (potential, excess, sent, lower, upper))
        steps = least_steps(expected, chosen)
        potential = potential[:-1] - potential[-1]
        short = np.min(steps + potential[:, None] - potential)
        if even and (short >= -1e-12 * scale or len(rows) == n):
            return chosen, _shadow_prices(steps, sent, lower, upper)
        prices, active = -potential, active * 8
        prices[(prices > 0) & (upper == n) | (prices < 0) & (lower == 0)] = 0.0


def _nearest(gap: np.ndarray, near: int) -> np.ndarray:
    """Return some `near` rows of least gap; of those at the edge, where many are equal, every so many."""
    if near == len(gap):
        return np.arange(near)
    edge = np.partition(gap, near)[near]
    within = np.flatnonzero(gap <= edge)
    if len(within) <= 2 * near:
        return within
    equal = gap[within] == edge
    step = -(-int(equal.sum()) // near)
    return np.sort(np.concatenate([within[~equal], within[equal][::step]]))


def _route(expected: np.ndarray, rows: np.ndarray, chosen: np.ndarray, state: tuple) -> bool:
    """Move rows until every decision sends on what it has; say whether there was a way."""
    from stakes.decision._capacity_kernels import route

    n_decisions = expected.shape[1]
    status = 1
    while status == 1:
        counts = np.bincount(chosen[rows], minlength=n_decisions)
        room = np.repeat(counts + len(rows) // 8 + 1000, n_decisions + 1)
        start = np.append(0, room.cumsum()[:-1]).reshape(n_decisions, n_decisions + 1)
        keys, entries = np.empty(room.sum()), np.empty(room.sum(), dtype=np.int64)
        heaps = keys, entries, start, np.zeros((n_decisions, n_decisions), dtype=np.int64)
        status = route(expected, rows, chosen, state, heaps)
    return status == 0


def _shadow_prices(
    steps: np.ndarray, sent: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """Return what one place more is worth: minus the shortest way of a row from the pool to it.

    `steps` are the least costs of moving a row, [from, to]. Where there is no such way (every
    other decision is at its minimum) the price is the nearest to 0 at which nothing would move.
    """

    def shortest(length: np.ndarray, ways: np.ndarray) -> np.ndarray:
        for _ in range(len(ways)):
            length = np.minimum(length, (length[:, None] + ways).min(axis=0))
        return length

    length = shortest(np.where(sent > lower, 0.0, np.inf), steps)
    cut = np.isinf(length)
    if cut.any():
        # Among themselves, and no less than ways out of them ask for.
        inner = shortest(np.zeros(int(cut.sum())), steps[np.ix_(cut, cut)])
        out = np.where(sent < upper, 0.0, -np.inf)
        if not cut.all():
            out = np.maximum(out, (length[~cut] - steps[:, ~cut]).max(axis=1))
        least = (out[cut] - inner).max()
        length[cut] = inner + (least if np.isfinite(least) else 0.0)
    prices = 0.0 - length
    return np.where(lower == 0, np.maximum(prices, 0.0), prices)  # no minimum, no price of it


# How often prices are learned anew while the window passes by.
LESSONS = 50


class CapacityStream:
    """Keep to shares over time where rows come one after the other: prices that learn.

    Each row is decided alone, at its expected costs plus one price per limited decision. The
    prices are the shadow prices of recent rows, at first of validation rows; what was used too
    much or too little is made up for over the next rows, so that the share holds over time
    whatever happens to the population.

    Parameters
    ----------
    capacity : dict
        As in `decide_within`; shares alone, since a stream has no number of rows.
    labels : array-like of shape (n_decisions,), default=None
        The decisions; the column numbers if None.
    window : int, default=10000
        How many of the last rows the prices are learned from.

    Attributes
    ----------
    shadow_prices_ : ndarray of shape (n_decisions,)
        What one place more is worth now, in currency.
    n_seen_ : int
        The rows decided so far.
    counts_ : ndarray of shape (n_decisions,)
        How often each decision was taken.

    Examples
    --------
    At most a quarter may be inspected. Of the four rows of yesterday one was worth more than 3:

    >>> from stakes.decision import CapacityStream
    >>> stream = CapacityStream({"inspect": 0.25}, labels=["pass", "inspect"])
    >>> stream = stream.fit([[9.0, 2.0], [5.0, 2.0], [4.0, 2.0], [3.0, 2.0]])
    >>> stream.shadow_prices_
    array([0., 3.])
    >>> stream.decide([[6.0, 2.0], [4.5, 2.0], [3.0, 2.0]])
    array([1, 0, 0])
    """

    def __init__(self, capacity: Any, *, labels: Any = None, window: int = 10_000):
        self.capacity = capacity
        self.labels = labels
        self.window = window

    def fit(self, expected: Any) -> Self:
        """Learn the first prices from the expected costs of validation rows, (n, n_decisions)."""
        expected = finite_array(expected, name="expected", of="expected cost")
        labels = np.arange(expected.shape[1]) if self.labels is None else self.labels
        self.shares_ = capacity_shares(self.capacity, labels)
        self.n_seen_ = 0
        self.counts_ = np.zeros(len(labels), dtype=np.int64)
        self._recent = expected[-self.window :]
        self._since = 0
        self._learn()
        return self

    def decide(self, expected: Any) -> np.ndarray:
        """Return the decision of each row, as column indices, and learn from them."""
        expected = finite_array(expected, name="expected", of="expected cost")
        decided, first = np.empty(len(expected), dtype=np.intp), 0
        while first < len(expected):
            # As if the rows came one after the other: no more at old prices than between two lessons.
            until = max(len(self._recent) // LESSONS - self._since, 1)
            some = slice(first, first + until)
            decided[some] = (expected[some] + self.shadow_prices_).argmin(axis=1)
            self._take(expected[some], decided[some])
            first += until
        return decided

    def _take(self, expected: np.ndarray, decided: np.ndarray) -> None:
        """Count what was decided, and learn from it where it is time to."""
        self.n_seen_ += len(decided)
        self.counts_ += np.bincount(decided, minlength=len(self.counts_))
        self._recent = np.concatenate([self._recent, expected])[-self.window :]
        self._since += len(decided)
        if self._since >= len(self._recent) // LESSONS:
            self._since = 0
            self._learn()

    def _learn(self) -> None:
        """Find the prices at which the recent rows would make up for what went wrong so far."""
        missing = self.shares_ * self.n_seen_ - self.counts_
        # What is missing is spread over a tenth of the window.
        wanted = np.clip(self.shares_ + missing / max(len(self._recent) / 10, 1.0), 0.0, 1.0)
        wanted = np.where([self.shares_[0] > 0, self.shares_[1] < 1], wanted, self.shares_)
        if wanted[0].sum() > 1 or wanted[1].sum() < 1:  # too much to make up for at once
            wanted = self.shares_
        self.shadow_prices_ = stream_prices(self._recent, wanted)


def capacity_shares(capacity: Any, labels: Any) -> np.ndarray:
    """Return the least and the largest share of each decision, (2, n_decisions)."""
    labels = as_labels(labels)
    check_capacity(capacity, labels, stream=True)
    size = 1_000_000_000  # rows, of which shares are whole numbers
    return np.array(capacity_bounds(capacity, labels, size)) / size


def stream_prices(expected: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the shadow prices at which rows like these keep to shares, each decided alone."""
    n = len(expected)
    low = np.floor(n * shares[0]).astype(np.int64)
    high = np.maximum(np.ceil(n * shares[1]).astype(np.int64), low)
    return _plan(expected, low, high).shadow_prices
