r"""An alarm whose rate of false alarms is stated: a two-sided CUSUM chart of batch means.

A batch's mean is compared with the mean of all rows before it, those of the reference first.
Their difference, divided by its standard error (which counts the chance in both), is one draw of
a standard normal variable z; skewed costs are brought to it through a distribution of three
moments. While nothing changes these draws are independent of each other, however small the
reference is, because each batch joins the rows that the next is compared with. The chart adds up
z - k as long as the sum is positive, and so does its mirror image, E. S. Page, "Continuous
Inspection Schemes", Biometrika 41, 1954; it gives an alarm where a sum exceeds h and begins anew.
h is solved from the integral equation of the mean time between alarms.

Rows of a batch have more in common than chance: the clerk, the week, the campaign. What a batch
shares, and what batches share with the ones before, is a variance of its own. Its ratio to that of
a row is estimated from the batches themselves: by how much the squares of z exceed 1, and twice
the products of each z and the one before it, as sums over the batches so far beside those of 15
batches of a variance that is assumed. So z is a draw of Student's t, and is brought to the normal one.
"""

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammainc, ndtr, ndtri, stdtr

from stakes.monitor._estimate import MOST_SKEW

ALLOWANCE = 0.5  # k: changes below half a standard error of a batch do not add up
FARTHEST = 6.0  # z of one batch at most
N_STREAMS, LIMIT = (
    400,
    200,
)  # that are drawn to say when a change is seen, and their batches at most
BETWEEN = 0.14  # standard deviations of a row that batches share, until they themselves tell
PRIOR_BATCHES = 15  # as many batches of that count besides those seen
LARGEST_EVIDENCE = 3.0  # standard deviations: of no batch counts more for what batches share
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
    between : float
        The standard deviation that batches share, in those of a row, until they tell; 0 says
        that rows are independent of each other, whatever batches say.
    own : float
        How much of the variance that one batch has is in the mean of all rows: the sum of the
        squared shares of the batches in them. The reference is one.
    batches, excess, weight, last : float
        The batches so far; by how much their squared distances, and the products of neighbours,
        exceed those of independent rows; what a unit of shared variance would make of that; and
        the last distance.
    """

    n: float
    mean: float
    second: float
    third: float
    least: float = -np.inf
    most: float = np.inf
    up: float = 0.0
    down: float = 0.0
    between: float = BETWEEN
    own: float = 1.0
    batches: int = 0
    excess: float = 0.0
    weight: float = 0.0
    last: float = 0.0

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
        return Chart(*scaled, self.least, self.most, between=self.between)

    def spread(self) -> float:
        """Return the standard deviation of a row."""
        return float(np.sqrt(max(self.second, 0.0) / max(self.n - 1.0, 1.0)))

    def skewness(self) -> float:
        """Return the skewness of a row."""
        return self.third / self.n / self.spread() ** 3 if self.spread() > 0 else 0.0

    def distance(self, values: np.ndarray) -> float:
        """Return how far the mean of new rows is from that of all before, as a normal draw."""
        n, mean, *_ = _moments(values.clip(self.least, self.most))
        return float(self._distance(n, mean)[0])

    def update(self, values: np.ndarray, threshold: float) -> tuple[float, str]:
        """Take a batch; return its distance and "up", "down" or "" for an alarm."""
        z = float(self.add(*_moments(values.clip(self.least, self.most))))
        alarm = "up" if self.up > threshold else ("down" if self.down > threshold else "")
        if alarm:
            self.up = self.down = 0.0
        return z, alarm

    def add(self, n: float, mean: Any, second: float, third: float) -> Any:
        """Take a batch by its moments, or many charts one each, and return its distance."""
        z, alone, rows = self._distance(n, mean)
        most = LARGEST_EVIDENCE * np.sqrt(1 + self.between**2 * rows)
        here = np.clip(alone, -most, most)
        self.excess = self.excess + here**2 - 1 + 2 * here * self.last
        self.weight, self.batches, self.last = self.weight + rows, self.batches + 1, here
        self._join(n, mean, second, third)
        self.up = np.maximum(0.0, self.up + z - ALLOWANCE)
        self.down = np.maximum(0.0, self.down - z - ALLOWANCE)
        return z

    def _distance(self, n: float, mean: Any) -> tuple[Any, Any, float]:
        """Return the distance, what it is if rows are independent, and the rows it is worth."""
        away, chance = mean - self.mean, 1 / n + 1 / self.n
        rows = (1 + self.own) / chance
        row = self.second / max(self.n - 1.0, 1.0)
        variance = row * chance * (1 + self.shared(rows) * rows)
        some = np.where(variance > 0, variance, 1.0)
        skew = self.third / self.n * (1 / n**2 - 1 / self.n**2) / some**1.5
        z = to_normal(away / np.sqrt(some), skew)
        if self.between > 0:
            share = stdtr(PRIOR_BATCHES + self.batches, z)
            z = ndtri(np.clip(share, 1e-15, 1 - 1e-15))
        z = np.where(variance > 0, np.clip(z, -FARTHEST, FARTHEST), FARTHEST * np.sign(away))
        alone = np.where(variance > 0, away / np.sqrt(np.where(row > 0, row * chance, 1.0)), z)
        return z, alone, rows

    def shared(self, rows: float) -> Any:
        """Return the variance that batches share, in that of a row; `rows` as batches are now."""
        if self.between == 0:
            return 0.0
        assumed = PRIOR_BATCHES * rows
        share = (assumed * self.between**2 + self.excess) / (assumed + self.weight)
        return np.maximum(share, 0.0)

    def _join(self, n_new: float, mean: Any, second: float, third: float) -> None:
        """Add the moments of new rows to those so far."""
        n, delta = self.n + n_new, mean - self.mean
        self.own = (self.own * self.n**2 + n_new**2) / n**2
        third = third + self.third + delta**3 * self.n * n_new * (self.n - n_new) / n**2
        third = third + 3 * delta * (self.n * second - n_new * self.second) / n
        self.second = self.second + second + delta**2 * self.n * n_new / n
        self.mean = self.mean + delta * n_new / n
        self.n, self.third = n, third


def _moments(values: np.ndarray, weight: np.ndarray | None = None) -> list[float]:
    """Return the number of rows, their mean, and the sums of squared and cubed distances from it."""
    weight = np.ones(len(values)) if weight is None else weight
    mean = float(np.average(values, weights=weight))
    away = values - mean
    return [len(values), mean, float(weight @ away**2), float(weight @ away**3)]


def to_normal(z: Any, skew: Any) -> Any:
    """Return the normal draw that has the place of z in a shifted gamma of this skewness."""
    skew = np.clip(skew, -MOST_SKEW, MOST_SKEW)
    flat = np.abs(skew) < 1e-4
    shape = 4.0 / np.where(flat, 1.0, skew) ** 2
    below = gammainc(shape, np.maximum(shape + np.sign(skew) * z * np.sqrt(shape), 0.0))
    below = np.where(skew > 0, below, 1.0 - below)
    return np.where(flat, z, ndtri(np.clip(below, 1e-15, 1 - 1e-15)))


def batches_until_seen(
    chart: Chart, shift: float, n_rows: int, threshold: float, *, certainty: float = 0.9
) -> int | None:
    """Return within how many batches a lasting change of the mean cost gives an alarm.

    The chart itself is tried: it goes on from here with 1,000 streams of drawn batches, as long as
    batches share what they seem to. Changes up are looked for by alarms up, and down by down.

    Parameters
    ----------
    chart : Chart
        As it is now.
    shift : float
        By how much the mean changes, per row.
    n_rows : int
        Rows of a batch.
    threshold : float
        Of the sums.
    certainty : float, default=0.9
        In how many cases it is seen by then, at least.

    Returns
    -------
    n_batches : int or None
        None where it is not seen within 200 batches, or not in half the time in which a chart
        gives such an alarm with no change at all.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.monitor._chart import Chart, batches_until_seen, threshold_for
    >>> chart = Chart.of(np.random.default_rng(0).normal(size=1000))
    >>> batches_until_seen(chart, 1.0, 100, threshold_for(0.01))
    2
    >>> batches_until_seen(chart, 0.0001, 100, threshold_for(0.01)) is None
    True
    """
    needed = _batches_needed(chart, shift, n_rows, threshold, certainty)
    if needed is None:
        return None
    quiet = _batches_needed(chart, 0.0, n_rows, threshold, certainty, limit=2 * needed)
    return needed if quiet is None else None


def _batches_needed(
    chart: Chart, shift: float, n_rows: int, threshold: float, certainty: float, limit: int = LIMIT
) -> int | None:
    """Return after how many batches this share of streams had an alarm to the side of the shift."""
    rng, drawn = np.random.default_rng(0), replace(chart)
    spread, skew = chart.spread(), float(np.clip(chart.skewness(), -MOST_SKEW, MOST_SKEW))
    shared = chart.shared((1 + chart.own) / (1 / n_rows + 1 / chart.n)) * spread**2
    moments = n_rows * spread**2, n_rows * skew * spread**3
    shape = 4.0 * n_rows / max(skew**2, 1e-4)
    # What rows cost on average is not known exactly, either.
    unsure = np.sqrt(spread**2 / chart.n + shared * chart.own)
    truth = chart.mean + shift + rng.normal(size=N_STREAMS) * unsure
    seen = np.zeros(N_STREAMS, dtype=bool)
    for batch in range(1, limit + 1):
        chance = (rng.gamma(shape, size=N_STREAMS) - shape) / np.sqrt(shape) * np.sign(skew or 1.0)
        common = rng.normal(size=N_STREAMS) * np.sqrt(shared)
        drawn.add(n_rows, truth + common + chance * spread / np.sqrt(n_rows), *moments)
        seen |= (drawn.down if shift < 0 else drawn.up) > threshold
        if seen.mean() >= certainty:
            return batch
    return None
