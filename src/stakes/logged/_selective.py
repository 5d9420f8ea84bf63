"""Costs that nobody has seen: between which a policy lies whatever they are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.utils import check_consistent_length

from stakes.logged._value import standard_error
from stakes.utils._arrays import quoted
from stakes.utils._frames import one_column
from stakes.utils._labels import encode_labels


@dataclass(frozen=True, kw_only=True)
class CostBounds:
    """Between which costs per row a policy lies, whatever was not seen.

    Attributes
    ----------
    low, high : float
        What it costs if all that was not seen went as well as it can, and as badly.
    interval : tuple of (float, float)
        From `low` to `high` with the sampling error of each beyond it.
    unseen : float
        The share of rows whose cost was not seen; `high` - `low` comes from these alone.
    level : float
        Of the interval.
    """

    low: float
    high: float
    interval: tuple[float, float]
    unseen: float
    level: float


def cost_bounds(
    policy: Any,
    decisions: Any,
    paid: Any,
    *,
    between: Mapping,
    groups: Any = None,
    level: float = 0.95,
) -> CostBounds:
    """Return between which costs a policy lies, assuming nothing of what was not seen.

    A bank that declines never sees what lending would have brought. Where the policy does what was
    done its cost is known; elsewhere it may be anything between the least and the most that such a
    decision can cost. `policy_cost` says more, but assumes that rows alike were treated alike but
    for chance.

    Parameters
    ----------
    policy : array-like of shape (n_samples,) or label
        What the policy decides; or one decision for all.
    decisions : array-like of shape (n_samples,)
        What was done.
    paid : array-like of shape (n_samples,)
        What that cost; NaN where it was not seen.
    between : dict
        For each decision of the policy the least and the most that it can cost, a pair of numbers or
        of arrays of shape (n_samples,); one number where its cost is known.
    groups : array-like of shape (n_samples,), default=None
        Rows that belong together, one draw for the interval.
    level : float, default=0.95
        Of the interval.

    References
    ----------
    .. [1] C. F. Manski, "Nonparametric Bounds on Treatment Effects", American Economic Review 80,
       1990.

    Examples
    --------
    Four of six applicants got a loan; three brought 1, one lost 5. Declining costs nothing. Had all
    six got one, the two others would have brought 1 or lost 5 each:

    >>> from stakes.logged import cost_bounds
    >>> done, paid = ["lend"] * 4 + ["decline"] * 2, [-1, -1, -1, 5, 0, 0]
    >>> may = {"lend": (-1, 5), "decline": 0}
    >>> bounds = cost_bounds("lend", done, paid, between=may)
    >>> bounds.low, bounds.high, round(bounds.unseen, 2)
    (0.0, 2.0, 0.33)

    Who lends to no more than was lent to, is known for sure:

    >>> fewer = cost_bounds(["lend"] * 3 + ["decline"] * 3, done, paid, between=may)
    >>> fewer.low, fewer.high
    (-0.5, -0.5)
    """
    done = one_column(decisions)
    taken = one_column([policy] * len(done) if np.ndim(policy) == 0 else policy)
    paid = np.asarray(one_column(paid), dtype=np.float64)
    check_consistent_length(done, taken, paid)
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, such as 0.95, but it is {level}.")
    labels, places = encode_labels(taken)
    strange = [label for label in labels if label not in between]
    if strange:
        raise ValueError(
            f"The policy takes {quoted(strange)}: say in `between` the least and the most that it can cost."
        )
    low, high = np.empty(len(done)), np.empty(len(done))
    for a, label in enumerate(labels):
        ends = between[label] if np.ndim(between[label]) else (between[label],) * 2
        rows = places == a
        for bound, end in zip((low, high), ends, strict=True):
            bound[rows] = np.broadcast_to(np.asarray(end, dtype=np.float64), len(done))[rows]
    if not (low <= high).all():
        row = int(np.argmin(low <= high))
        raise ValueError(
            f"In `between` the least that {quoted([taken[row]])} can cost in row {row}, {low[row]:g}, is "
            f"not below the most, {high[row]:g}."
        )
    seen = (taken == done) & np.isfinite(paid)
    low, high = np.where(seen, paid, low), np.where(seen, paid, high)
    together = None if groups is None else encode_labels(one_column(groups))[1]
    wide = float(stats.norm.ppf(0.5 + level / 2.0))
    least, most = float(low.mean()), float(high.mean())
    return CostBounds(
        low=least,
        high=most,
        interval=(
            least - wide * standard_error(low - least, together),
            most + wide * standard_error(high - most, together),
        ),
        unseen=float(1.0 - seen.mean()),
        level=level,
    )
