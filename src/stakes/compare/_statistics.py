"""How sure the differences are: paired bootstrap intervals over examples.

Every example is decided once by every method, in a fold that the method was not fitted
on. Resampling examples, the same ones for all methods, keeps the pairing: a difference of
two methods is far better known than either cost. For cross-validation such intervals are
asymptotically right for the cost of the procedure that was run (Bayle, Bayle, Janson and
Mackey, "Cross-validation confidence intervals for test error", NeurIPS 2020); the t-test
over folds has five numbers to work with and a correction for their overlap that is known
to be rough, so it is not used.
"""

from typing import NamedTuple

import numpy as np

# Above this many examples they are joined at random into as many blocks of equal size: the
# variance is the same, and the time no longer grows with the data.
MAX_BLOCKS = 10_000


class Intervals(NamedTuple):
    """Bootstrap intervals of M methods, in the unit of the costs, per example."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    difference: np.ndarray
    difference_low: np.ndarray
    difference_high: np.ndarray


def paired_intervals(
    paid: np.ndarray,
    baseline: int,
    *,
    level: float = 0.95,
    n_resamples: int = 2000,
    random_state: int = 0,
    max_blocks: int | None = None,
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
    n_resamples : int, default=2000
        Bootstrap resamples.
    random_state : int, default=0
        Seed of the resamples.
    max_blocks : int, default=None
        Above this many examples they are drawn in random blocks; None is 10,000.

    Returns
    -------
    intervals : Intervals
        Those of the means are percentile intervals, one method at a time. Those of the
        differences hold for all methods at once (the largest studentised deviation, of the
        logarithm of the ratio where all costs are positive), so that the best of twelve is
        not called better by luck.

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
    mean = paid.mean(axis=0)
    difference = mean - mean[baseline]
    rng = np.random.default_rng(random_state)
    blocks, sizes = _random_blocks(paid, rng, max_blocks or MAX_BLOCKS)
    means = _resampled_means(blocks, sizes, n_resamples, rng)
    tail = (1 - level) / 2
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)

    deviations = means - means[:, [baseline]] - difference
    error = deviations.std(axis=0, ddof=1)
    # A constant difference is certain, but for rounding; it must not enter the maximum.
    certain = error <= 1e-12 * np.maximum(1.0, np.abs(mean).max())
    # Where costs cannot reach 0 the ratio to the baseline is studied on the log scale, so that
    # no interval speaks of saving more than everything.
    by_ratio = ~certain & (means > 0).all(axis=0) & (mean > 0) & (means[:, baseline] > 0).all()
    by_ratio &= bool(mean[baseline] > 0)
    ratio = np.ones(len(mean))
    if by_ratio.any():
        ratio[by_ratio] = mean[by_ratio] / mean[baseline]
        logs = np.log(means[:, by_ratio] / means[:, [baseline]]) - np.log(ratio[by_ratio])
        deviations[:, by_ratio] = logs
        error[by_ratio] = logs.std(axis=0, ddof=1)
    error[certain] = 0.0
    studentised = np.abs(deviations[:, ~certain]) / error[~certain]
    critical = np.quantile(studentised.max(axis=1), level) if studentised.shape[1] else 0.0
    reach = critical * error
    bounds = [
        np.where(by_ratio, mean[baseline] * (ratio * np.exp(side) - 1.0), difference + side)
        for side in (-reach, reach)
    ]
    return Intervals(mean, low, high, difference, *bounds)


def _random_blocks(paid: np.ndarray, rng, max_blocks: int) -> tuple[np.ndarray, np.ndarray]:
    """Return sums of random blocks of examples and the blocks' sizes."""
    n = len(paid)
    if n <= max_blocks:
        return paid, np.ones(n)
    edges = np.linspace(0, n, max_blocks + 1).astype(int)
    shuffled = paid[rng.permutation(n)]
    return np.add.reduceat(shuffled, edges[:-1], axis=0), np.diff(edges).astype(float)


def _resampled_means(blocks, sizes, n_resamples, rng) -> np.ndarray:
    n = len(blocks)
    means = np.empty((n_resamples, blocks.shape[1]))
    for i in range(n_resamples):
        counts = np.bincount(rng.integers(0, n, n), minlength=n)
        means[i] = counts @ blocks / (counts @ sizes)
    return means
