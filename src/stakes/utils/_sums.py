"""Sums over several processes: the same to the last bit, however the rows are spread over them.

Numbers that are added up across processes are rounded first to multiples of one small power of
two: fixed point, carried in float64. If no sum of them can exceed 2**53 of those multiples, every
sum is exact, so that neither the order of the rows nor the number of processes is felt.
"""

from typing import Any

import numpy as np


class Sums:
    """The sums that a learner takes: by default those of the rows at hand, which are all rows.

    A subclass with ``shared = True`` lets several processes learn one model, each from its own
    rows. They take the same steps, since every number that a step depends on has been handed to
    `total` or `greatest` in all of them.
    """

    shared = False
    memory = 0  # bytes that this process may use; 0: no limit is known

    def total(self, array: np.ndarray) -> None:
        """Replace the numbers of an array by their sums over all processes, in place."""

    def greatest(self, array: np.ndarray) -> None:
        """Replace the numbers of an array by the greatest of all processes, in place."""


def rounder(bound: float) -> float:
    """Return r, such that ``(x + r) - r`` rounds x to fixed point.

    Sums of such numbers are exact as long as the sum of their absolute values is at most
    `bound`; x is moved by at most ``bound / 2**50``. For a bound of 0 nothing is rounded.

    Examples
    --------
    >>> from stakes.utils._sums import rounder
    >>> r = rounder(0.7)
    >>> x, y, z = ((x + r) - r for x in (0.1, 0.2, 0.3))
    >>> 0.1 + 0.2 + 0.3 == 0.3 + 0.2 + 0.1, x + y + z == z + y + x
    (False, True)
    """
    return 6.0 * float(2.0 ** np.frexp(bound)[1]) if bound > 0.0 else 0.0


def fixed(values: Any, bound: float) -> Any:
    """Return numbers in fixed point, so that their sums up to `bound` are exact."""
    r = rounder(bound)
    return (values + r) - r


def exact_total(values: np.ndarray, sums: Sums) -> float:
    """Return the sum, over all processes, of numbers that are not negative: exact and the same.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.utils._sums import Sums, exact_total
    >>> exact_total(np.array([0.5, 0.25]), Sums())
    0.75
    """
    if not sums.shared:
        return float(np.sum(values))
    most = np.array([values.max(initial=0.0), 0.0])
    size = np.array([float(len(values))])
    sums.greatest(most)
    sums.total(size)
    total = np.array([fixed(values, most[0] * size[0]).sum()])
    sums.total(total)
    return float(total[0])
