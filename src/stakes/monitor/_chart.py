r"""An alarm whose rate of false alarms is stated: a two-sided CUSUM chart of batch means.

A batch's mean is compared with the mean of all rows before it, those of the reference first.
Their difference, divided by its standard error (which counts the chance in both), is one draw of
a standard normal variable z; skewed costs are brought to it through a distribution of three
moments. While nothing changes these draws are independent of each other, however small the
reference is, because each batch joins the rows that the next is compared with. The chart adds up
z - k as long as the sum is positive, and so does its mirror image, E. S. Page, "Continuous
Inspection Schemes", Biometrika 41, 1954; it gives an alarm where a sum exceeds h and begins anew.
h is solved from the integral equation of the mean time between alarms.
"""

import functools
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammainc, ndtr, ndtri

from stakes.monitor._estimate import MOST_SKEW

ALLOWANCE = 0.5  # k: changes below half a standard error of a batch do not add up
FARTHEST = 6.0  # z of one batch at most
REACH = 4.0  # rows count at most so many standard deviations of the reference from its mean


@functools.cache
def threshold_for(false_alarms: float, allowance: float = ALLOWANCE) -> float:
    """Return h, at which a quiet chart gives this many alarms per batch in the long run.

    Examples
    --------
    One alarm in 168 quiet batches is the textbook's h = 4 at k = 0.5:

    >>> from stakes.monitor._chart import threshold_for
    >>> round(threshold_for(1 / 168), 2)
    4.0
    """
    if not 1e-6 <= false_alarms <= 0.2:
        raise ValueError(
            f"false_alarms={false_alarms!r} must be a share of the batches between 0.000001 and 0.2."
        )
    aim = np.log(2 / false_alarms)  # each of the two sides gives half of the alarms
    return float(brentq(lambda h: np.log(quiet_batches(h, allowance)) - aim, 1e-3, 15.0))


def quiet_batches(threshold: float, allowance: float = ALLOWANCE) -> float:
    r"""Return the mean number of quiet batches until a one-sided sum exceeds the threshold.

    It solves :math:`L(u) = 1 + L(0)\,\Phi(k - u) + \int_0^h L(x)\,\varphi(x + k - u)\,dx` at the
    nodes of a Gauss-Legendre rule.
    """
    nodes, weights = np.polynomial.legendre.leggauss(60)
    x, w = (nodes + 1) * threshold / 2, weights * threshold / 2
    density = np.exp(-0.5 * (x[None, :] + allowance - x[:, None]) ** 2) / np.sqrt(2 * np.pi)
    size = len(x) + 1  # the last unknown is L(0)
    system = np.eye(size)
    system[:-1, :-1] -= density * w
    system[:-1, -1] -= ndtr(allowance - x)
    system[-1, :-1] -= np.exp(-0.5 * (x + allowance) ** 2) / np.sqrt(2 * np.pi) * w
    system[-1, -1] -= ndtr(allowance)
    return float(np.linalg.solve(system, np.ones(size))[-1])


@dataclass
class Chart:
    """One chart: the moments of all rows so far, and two sums.

    Parameters
    ----------
    n, mean, second, third : float
        The rows so far: their number, mean, and the sums of their squared and cubed distances
        from it.
    least, most : float
        Rows beyond count as these: single ones of an extreme cost must not give alarms.
    up, down : float
        The two sums.
    """

    n: float
    mean: float
    second: float
    third: float
    least: float = -np.inf
    most: float = np.inf
    up: float = 0.0
    down: float = 0.0

    @classmethod
    def of(cls, values: np.ndarray, weight: np.ndarray | None = None) -> "Chart":
        """Return a chart that begins with these rows, those of the reference."""
        weight = np.ones(len(values)) if weight is None else weight * (len(values) / weight.sum())
        mean = np.average(values, weights=weight)
        reach = REACH * np.sqrt(np.average((values - mean) ** 2, weights=weight))
        least, most = float(mean - reach), float(mean + reach)
        n, centre, second, third = _moments(values.clip(least, most), weight)
        return cls(n, centre, second, third, least, most)

    def worth(self, n: float) -> "Chart":
        """Return the chart as if the rows so far were no more than n."""
        share = min(1.0, n / self.n)
        scaled = (share * self.n, self.mean, share * self.second, share * self.third)
        return Chart(*scaled, self.least, self.most)

    def spread(self) -> float:
        """Return the standard deviation of a row."""
        return float(np.sqrt(max(self.second, 0.0) / max(self.n - 1.0, 1.0)))

    def skewness(self) -> float:
        """Return the skewness of a row."""
        return self.third / self.n / self.spread() ** 3 if self.spread() > 0 else 0.0

    def distance(self, values: np.ndarray) -> float:
        """Return how far the mean of new rows is from that of all before, as a normal draw."""
        values = values.clip(self.least, self.most)
        n, before = len(values), self.n
        variance = self.second / max(before - 1.0, 1.0) * (1 / n + 1 / before)
        away = float(values.mean()) - self.mean
        if variance <= 0:
            return 0.0 if away == 0 else float(np.sign(away)) * FARTHEST
        z = away / np.sqrt(variance)
        skew = self.third / before * (1 / n**2 - 1 / before**2) / variance**1.5
        return float(np.clip(to_normal(z, skew), -FARTHEST, FARTHEST))

    def update(self, values: np.ndarray, threshold: float) -> tuple[float, str]:
        """Take a batch; return its distance and "up", "down" or "" for an alarm."""
        z = self.distance(values)
        self._join(*_moments(values.clip(self.least, self.most)))
        self.up = max(0.0, self.up + z - ALLOWANCE)
        self.down = max(0.0, self.down - z - ALLOWANCE)
        alarm = "up" if self.up > threshold else ("down" if self.down > threshold else "")
        if alarm:
            self.up = self.down = 0.0
        return z, alarm

    def _join(self, n_new: float, mean: float, second: float, third: float) -> None:
        """Add the moments of new rows to those so far."""
        n, delta = self.n + n_new, mean - self.mean
        third += self.third + delta**3 * self.n * n_new * (self.n - n_new) / n**2
        third += 3 * delta * (self.n * second - n_new * self.second) / n
        self.second += second + delta**2 * self.n * n_new / n
        self.mean += delta * n_new / n
        self.n, self.third = n, third


def _moments(values: np.ndarray, weight: np.ndarray | None = None) -> list[float]:
    """Return the number of rows, their mean, and the sums of squared and cubed distances from it."""
    weight = np.ones(len(values)) if weight is None else weight
    mean = float(np.average(values, weights=weight))
    away = values - mean
    return [len(values), mean, float(weight @ away**2), float(weight @ away**3)]


def to_normal(z: float, skew: float) -> float:
    """Return the normal draw that has the place of z in a shifted gamma of this skewness."""
    skew = float(np.clip(skew, -MOST_SKEW, MOST_SKEW))
    if abs(skew) < 1e-4:
        return z
    shape = 4.0 / skew**2
    below = gammainc(shape, max(shape + np.sign(skew) * z * np.sqrt(shape), 0.0))
    below = below if skew > 0 else 1.0 - below
    return float(ndtri(np.clip(below, 1e-15, 1 - 1e-15)))


def batches_until_seen(
    shift: float,
    spread: float,
    n_rows: int,
    *,
    n_before: float,
    false_alarms: float,
    skew: float = 0.0,
    certainty: float = 0.9,
    limit: int = 1000,
) -> int | None:
    r"""Return within how many batches a lasting change of the mean cost gives an alarm.

    Parameters
    ----------
    shift : float
        By how much the mean changes, per row.
    spread : float
        The standard deviation of a row.
    n_rows : int
        Rows of a batch.
    n_before : float
        Rows before the change: those of the reference, and of quiet batches since.
    false_alarms : float
        Of the chart.
    skew : float, default=0
        The skewness of a row's cost; rises of lopsided costs are seen a little later.
    certainty : float, default=0.9
        In how many cases it is seen by then, at least.
    limit : int, default=1000
        Batches after which it counts as not seen.

    Returns
    -------
    n_batches : int or None
        None where it is too small to be seen.

    Notes
    -----
    The sum is at least a random walk whose j-th step is :math:`\delta_j - k` on average with
    variance 1, with :math:`\delta_j` the shift, less what the batches since have moved the mean,
    over its standard error. The batch is the first at which that walk exceeds h with the certainty
    asked for.

    Examples
    --------
    >>> from stakes.monitor._chart import batches_until_seen
    >>> batches_until_seen(0.2, 1.0, 100, n_before=1000, false_alarms=0.01)
    7
    """
    threshold, quantile = threshold_for(false_alarms), float(ndtri(certainty))
    total = 0.0
    for j in range(1, limit + 1):
        left = abs(shift) * n_before / (n_before + (j - 1) * n_rows)
        before = n_before + (j - 1) * n_rows
        error = spread * np.sqrt(1 / n_rows + 1 / before)
        lopsided = skew * (1 / n_rows**2 - 1 / before**2) / (1 / n_rows + 1 / before) ** 1.5
        z = np.sign(shift) * left / error if error > 0 else FARTHEST
        step = min(abs(to_normal(z, lopsided)), FARTHEST) - ALLOWANCE
        if step <= 0:
            return None
        total += step
        if total - quantile * np.sqrt(j) > threshold:
            return j
    return None
