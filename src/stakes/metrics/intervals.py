r"""Intervals of mean costs that hold where few rows carry the money: pure functions on arrays.

The money of n decisions mostly comes from a few expensive mistakes, whose number is a Poisson
variable. A sum of m equal amounts w has the exact interval of that variable, between quantiles of
two gamma distributions, of shape m and m + 1 and scale w. Amounts that differ are taken for equal
ones of the same sum S and sum of squares V [1]_: shape :math:`S^2 / V` and scale :math:`V / S`, and for
the upper end the same with one amount more, the `event`: that of a row which the variance comes
from, since few large amounts are seen too rarely. What is gained and what is lost have an
interval each, and their difference lies as far from each end as both are from theirs, squared
and added up [2]_. What all rows have in common moves no mean: both ways are shortened by the share
of the standard deviation in the root of the mean square, which for rare mistakes is 1.

References
----------
.. [1] M. Fay and E. Feuer, "Confidence intervals for directly standardized rates: a method based
   on the gamma distribution", Statistics in Medicine 16, 1997, 791-801.
.. [2] G. Zou and A. Donner, "Construction of confidence limits about effect measures: a general
   approach", Statistics in Medicine 27, 2008, 1693-1702.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaincinv

# A spread this small beside the amounts, squared, is rounding.
ROUNDING = 1e-12
# An interval rests on fewer rows than anything can be said of.
FEWEST = 5


class Sums(NamedTuple):
    """All that an interval takes of some rows: sums, so that those of parts add up.

    Attributes
    ----------
    weight, squared_weight, weighted : float or ndarray of shape (m,)
        The sums of w, of w² and of w²x over the rows.
    lost, lost_squares, lost_cubes, gained, gained_squares, gained_cubes : float or ndarray (m,)
        The sums of wx, (wx)² and |wx|³ over rows above 0, and over those below.
    """

    weight: Any
    squared_weight: Any
    weighted: np.ndarray
    lost: np.ndarray
    lost_squares: np.ndarray
    lost_cubes: np.ndarray
    gained: np.ndarray
    gained_squares: np.ndarray
    gained_cubes: np.ndarray

    def unit(self) -> Any:
        """Return the amount that a unit of what is lost belongs to, on average; 0 without any."""
        return _quotient(self.lost_squares, self.lost)

    def event(self) -> Any:
        """Return the amount that a unit of the variance of what is lost belongs to; 0 without any."""
        return _quotient(self.lost_cubes, self.lost_squares)


def _quotient(part: Any, whole: Any) -> Any:
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), 0.0)


def interval_sums(values: np.ndarray, weight: np.ndarray | None = None) -> Sums:
    """Return the sums of rows, (n,) or (n, m), that `interval_of` needs."""
    weight = np.ones(len(values)) if weight is None else weight
    one, lost, gained = np.ones(values.shape[1:]), np.maximum(values, 0.0), np.minimum(values, 0.0)
    powers = [weight**k @ np.abs(part) ** k for part in (lost, gained) for k in (1, 2, 3)]
    sums = (weight.sum(), (weight**2).sum(), weight**2 @ values, *powers)
    return Sums(*(one * each for each in sums))


def interval_of(
    sums: Sums, event: tuple[np.ndarray, np.ndarray], level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the interval of a mean.

    Parameters
    ----------
    sums : Sums
        Of the rows.
    event : tuple of two floats or ndarrays of shape (m,)
        The amount that one mistake more would cost, and one gain more would earn.
    level : float
        The confidence level.

    Examples
    --------
    Of 100 rows 2 cost 10: the exact interval of a Poisson variable at 2 is 0.242 to 7.225.

    >>> import numpy as np
    >>> from stakes.metrics.intervals import interval_of, interval_sums
    >>> sums = interval_sums(np.repeat([10.0, 0.0], [2, 10_000]))
    >>> [round(float(end) * 1000.2, 2) for end in interval_of(sums, (10.0, 0.0), 0.95)]
    [0.24, 7.22]
    """
    upper = (1 + level) / 2
    spans = []
    pairs = ((sums.lost, sums.lost_squares), (sums.gained, sums.gained_squares))
    for (total, squares), more in zip(pairs, event):
        ends = _gamma(total, squares, 1 - upper), _gamma(total + more, squares + more**2, upper)
        spans.append((total - ends[0], ends[1] - total))
    squares, mean = (
        sums.lost_squares + sums.gained_squares,
        (sums.lost - sums.gained) / sums.weight,
    )
    n = sums.weight**2 / sums.squared_weight
    spread = squares - 2 * mean * sums.weighted + mean**2 * sums.squared_weight
    share = np.divide(spread, squares, out=np.ones_like(spread), where=squares > 0)
    share = np.where(share > ROUNDING, share * n / np.maximum(n - 1.0, 1.0), 0.0)
    reach = np.sqrt(share) / sums.weight
    (lost_low, lost_high), (gained_low, gained_high) = spans
    return (
        mean - reach * np.hypot(lost_low, gained_high),
        mean + reach * np.hypot(lost_high, gained_low),
    )


def _gamma(total: np.ndarray, squares: np.ndarray, share: float) -> np.ndarray:
    """Return a quantile of the gamma distribution of this mean and variance; 0 at a mean of 0."""
    there = total > 0
    mean, variance = np.where(there, total, 1.0), np.where(there, squares, 1.0)
    return np.where(there, gammaincinv(mean**2 / variance, share) * variance / mean, 0.0)


def expensive(amounts: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Return which rows are expensive: at least half of what a unit of money belongs to.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.metrics.intervals import expensive
    >>> int(expensive(np.repeat([1.0, 1000.0], [200, 3])).sum())
    3
    """
    own = amounts if weight is None else amounts * weight
    return (own > 0) & (own >= 0.5 * interval_sums(amounts, weight).unit())


def usual_event(amounts: np.ndarray) -> Any:
    """Return what one expensive row more would cost: cheap ones, however many, don't hide it.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.metrics.intervals import usual_event
    >>> float(usual_event(np.repeat([1.0, 1000.0], [200, 3])).round(1))
    999.9
    """
    return interval_sums(amounts).event()
