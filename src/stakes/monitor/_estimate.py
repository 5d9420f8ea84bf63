r"""What decisions will cost before their truth is known: pure functions on arrays.

Of n new rows the probabilities state the expected cost :math:`\bar e`. What will be paid differs
from it for two reasons. The truth of each row is a draw: the sum has the variance and the third
moment that the probabilities themselves state. And the probabilities may be off: on m rows
whose truth is known, which the model has not seen, the mean of what was paid beyond what was
expected is the correction, known up to its standard error. The sum of both is described by a
distribution of three moments (Pearson's third kind, a shifted gamma), since few expensive
mistakes make costs lopsided.

The rows of known truth were mostly stated by models of other folds than the one that decides: by how
much these differ in what they expect is a variance of its own.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaincinv, ndtri

# How much the spread of the truth differs from what the probabilities say is measured on the
# reference, as if so many more of its rows had been as they say; it is not taken to be much less.
PRIOR_ROWS, LEAST_RATIO = 10.0, 0.5
MOST_SKEW = 5.0


class Stated(NamedTuple):
    """What probabilities say of the costs of some rows, one column for each way to decide.

    Attributes
    ----------
    mean, variance, third : ndarray of shape (n_samples, n_ways)
        The expected cost, and the second and third central moments of what will be paid.
    """

    mean: np.ndarray
    variance: np.ndarray
    third: np.ndarray


def state_costs(proba: np.ndarray, prices: np.ndarray, decisions: np.ndarray) -> Stated:
    """Return the moments of what the decisions will cost.

    Parameters
    ----------
    proba : ndarray of shape (n, K)
        Class probabilities.
    prices : ndarray of shape (K, D) or (n, K, D)
        ``[true, decision]``, for all or for each example.
    decisions : ndarray of shape (n, W)
        Column indices, one column for each way to decide.

    Examples
    --------
    A cost of 10 with a probability of 0.1 is 1 on average, with a variance of 9:

    >>> import numpy as np
    >>> from stakes.monitor._estimate import state_costs
    >>> prices = np.array([[0.0, 1.0], [10.0, 0.0]])
    >>> state_costs(np.array([[0.9, 0.1]]), prices, np.array([[0]])).variance.round(6)
    array([[9.]])
    """
    rows = np.arange(len(proba))[:, None]
    if prices.ndim == 2:
        each = np.moveaxis(prices[:, decisions], 0, 1)  # (n, K, W)
    else:
        each = np.moveaxis(prices[rows, :, decisions], 2, 1)
    mean = np.einsum("nt,ntw->nw", proba, each)
    away = each - mean[:, None, :]
    variance = np.einsum("nt,ntw->nw", proba, away**2)
    return Stated(mean, variance, np.einsum("nt,ntw->nw", proba, away**3))


class Residuals(NamedTuple):
    """What was paid beyond what was expected on rows of known truth, one entry per way to decide.

    Attributes
    ----------
    n : float
        The number of rows; where they are weighted, how many equal ones they are worth.
    mean, variance, third : ndarray of shape (n_ways,)
        Moments of the difference.
    ratio : ndarray of shape (n_ways,)
        Its mean square over the variance that the probabilities state.
    between : ndarray of shape (n_ways,) or float
        The variance between the models of several folds in what they expect on average.
    n_models : float
        How many models they are.
    """

    n: float
    mean: np.ndarray
    variance: np.ndarray
    third: np.ndarray
    ratio: np.ndarray
    between: Any = 0.0
    n_models: float = 1.0


def compare_with_truth(
    stated: Stated, paid: np.ndarray, weight: np.ndarray | None = None
) -> Residuals:
    """Return by how much what was paid differs from what was expected.

    Parameters
    ----------
    stated : Stated
        Of the same rows and ways.
    paid : ndarray of shape (n, W)
        What each way to decide cost.
    weight : ndarray of shape (n,), default=None
        How often each row counts.
    """
    beyond = paid - stated.mean
    weight = np.ones(len(beyond)) if weight is None else weight
    share = weight / weight.sum()
    n = 1.0 / (share**2).sum()
    mean = share @ beyond
    away = beyond - mean
    variance = share @ away**2 * (n / max(n - 1.0, 1.0))
    said = share @ stated.variance
    squares = n * (share @ beyond**2) + PRIOR_ROWS * said
    ratio = np.divide(squares, (n + PRIOR_ROWS) * said, out=np.ones_like(said), where=said > 0)
    return Residuals(n, mean, variance, share @ away**3, ratio.clip(LEAST_RATIO))


def vary_between_models(
    expected: np.ndarray, y: np.ndarray, model: np.ndarray, weight: np.ndarray | None = None
) -> np.ndarray:
    """Return the variance between models in what they expect on average, beyond chance.

    Each row is stated by one model. What the rows of a model differ in by their classes says
    nothing of it; of what is left a model's mean varies by chance, and that is taken off.

    Parameters
    ----------
    expected : ndarray of shape (n, W)
        What each way to decide is expected to cost.
    y, model : ndarray of shape (n,)
        The class of each row, and which of several models stated it, from 0.
    weight : ndarray of shape (n,), default=None
        How often each row counts.

    Examples
    --------
    Two models that expect 1 and 3 of each of their rows:

    >>> import numpy as np
    >>> from stakes.monitor._estimate import vary_between_models
    >>> model = np.repeat([0, 1], 50)
    >>> vary_between_models(1.0 + 2.0 * model[:, None], np.zeros(100, dtype=int), model).round(2)
    array([1.98])
    """
    weight = np.ones(len(y)) if weight is None else weight
    own = weight[:, None]

    def means(values: np.ndarray, cells: np.ndarray) -> np.ndarray:
        sums = np.zeros((int(cells.max()) + 1, values.shape[1]))
        np.add.at(sums, cells, own * values)
        return sums / np.maximum(np.bincount(cells, weight), 1e-300)[:, None]

    n_models = int(model.max()) + 1
    if n_models < 2:
        return np.zeros(expected.shape[1])
    away = expected - means(expected, y)[y]
    moved = means(away, model)
    each = np.bincount(model, weight) ** 2 / np.maximum(np.bincount(model, weight**2), 1e-300)
    spread = (own * away**2).sum(axis=0) / weight.sum()
    chance = spread * (1.0 / np.maximum(each, 1.0)).mean()
    return np.maximum(moved.var(axis=0, ddof=1) - chance, 0.0)


class Predicted(NamedTuple):
    """The distribution of a mean cost: three moments, and what it is made of.

    Attributes
    ----------
    mean, variance, third : ndarray of shape (n_ways,)
        Central moments.
    truth, calibration : ndarray of shape (n_ways,)
        The two parts of the variance.
    event : ndarray of shape (n_ways,) or float
        By how much half an expensive mistake more on the reference would move the mean.
    """

    mean: np.ndarray
    variance: np.ndarray
    third: np.ndarray
    truth: np.ndarray
    calibration: np.ndarray
    event: Any = 0.0


def predict_mean_cost(stated: Stated, residuals: Residuals | None) -> Predicted:
    """Return the distribution of what the decisions on new rows will cost on average.

    Parameters
    ----------
    stated : Stated
        Of the new rows.
    residuals : Residuals or None
        Of the reference; None takes the probabilities at their word.
    """
    n = len(stated.mean)
    ratio = 1.0 if residuals is None else residuals.ratio
    truth = ratio * stated.variance.sum(axis=0) / n**2
    third = ratio**1.5 * stated.third.sum(axis=0) / n**3
    mean, calibration = stated.mean.mean(axis=0), np.zeros(stated.mean.shape[1])
    event = np.zeros_like(mean)
    if residuals is not None:
        # The amounts that carry the variance. Of few mistakes on the reference the one more or less
        # is what their own spread does not tell.
        sums = stated.third.sum(axis=0), stated.variance.sum(axis=0)
        size = np.divide(*sums, out=event, where=sums[1] > 0)
        event = 0.5 * size / residuals.n
        mean = mean + residuals.mean
        # The model that decides is one more of several, and is compared with the mean of the others.
        between = residuals.between * (1.0 + 1.0 / residuals.n_models)
        calibration = residuals.variance / residuals.n + between
        third = third + residuals.third / residuals.n**2
    return Predicted(mean, truth + calibration, third, truth, calibration, event)


def interval_of(predicted: Predicted, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the interval: the one that mistakes move counts half of one more.

    Examples
    --------
    With none it is the normal one:

    >>> import numpy as np
    >>> from stakes.monitor._estimate import Predicted, interval_of
    >>> one, no = np.ones(1), np.zeros(1)
    >>> interval_of(Predicted(no, one, no, one, no), 0.95)[1].round(2)
    array([1.96])
    """
    event = np.broadcast_to(predicted.event, predicted.mean.shape)
    more = predicted._replace(
        mean=predicted.mean + event,
        variance=predicted.variance + event**2,
        third=predicted.third + event**3,
    )
    shares = ((1 - level) / 2, (1 + level) / 2)
    (low, high), (low_more, high_more) = (
        [quantile(each, share) for share in shares] for each in (predicted, more)
    )
    return np.where(event < 0, np.fmin(low, low_more), low), np.where(
        event > 0, np.fmax(high, high_more), high
    )


def quantile(predicted: Predicted, share: float) -> np.ndarray:
    """Return a quantile of a distribution of three moments (a shifted gamma, or normal).

    Examples
    --------
    Without skew it is the normal one:

    >>> import numpy as np
    >>> from stakes.monitor._estimate import Predicted, quantile
    >>> one, no = np.ones(1), np.zeros(1)
    >>> quantile(Predicted(no, one, no, one, no), 0.975).round(2)
    array([1.96])
    """
    sd = np.sqrt(predicted.variance)
    return predicted.mean + sd * standard_quantile(skewness(predicted), share)


def skewness(predicted: Predicted) -> np.ndarray:
    """Return the third standardised moment, within reason."""
    cubed = predicted.variance**1.5
    skew = np.divide(predicted.third, cubed, out=np.zeros_like(cubed), where=cubed > 0)
    return skew.clip(-MOST_SKEW, MOST_SKEW)


def standard_quantile(skew: np.ndarray, share: Any) -> np.ndarray:
    """Return a quantile of a shifted gamma of mean 0, variance 1 and this skewness."""
    skew, share = np.broadcast_arrays(np.asarray(skew, float), np.asarray(share, float))
    flat = np.abs(skew) < 1e-4
    shape = 4.0 / np.where(flat, 1.0, skew) ** 2
    drawn = gammaincinv(shape, np.where(skew > 0, share, 1 - share))
    gamma = np.sign(skew) * (drawn - shape) / np.sqrt(shape)
    return np.where(flat, ndtri(share), gamma)


@dataclass(frozen=True)
class CostEstimate:
    """What decisions are expected to cost per case, before the truth is known.

    Attributes
    ----------
    cost, low, high : float
        The mean cost per case, and its interval: it holds what will have been paid on average
        on these rows in as many cases as `level` says.
    level : float
        Of the interval.
    n : int
        The number of rows.
    stated : float
        What the probabilities say, taken at their word.
    correction : float
        By how much more was paid than they said on rows of known truth.
    share_of_truth : float
        The share of the variance that comes from the truth of these very rows, which no better
        calibration could take away.
    others : DataFrame
        What other decisions would cost on the same rows: `cost`, `low` and `high`, indexed by
        what is decided.
    """

    cost: float
    low: float
    high: float
    level: float
    n: int
    stated: float
    correction: float
    share_of_truth: float
    others: Any = field(repr=False, default=None)

    @property
    def total(self) -> float:
        """The cost of all rows in sum."""
        return self.n * self.cost

    @property
    def total_low(self) -> float:
        """The lower end of the interval of the sum."""
        return self.n * self.low

    @property
    def total_high(self) -> float:
        """The upper end of the interval of the sum."""
        return self.n * self.high


def summarize_estimate(
    stated: Stated,
    estimate: Predicted,
    *,
    names: list,
    level: float = 0.95,
    bounds: tuple[np.ndarray, np.ndarray] | None = None,
) -> CostEstimate:
    """Return the estimate of the first way to decide, beside those of the others.

    Parameters
    ----------
    stated : Stated
        Of the new rows.
    estimate : Predicted
        What they will cost on average.
    names : list
        What to call the other ways.
    level : float, default=0.95
        Of the intervals.
    bounds : (low, high), default=None
        The least and the most that each way can cost on average.
    """
    import pandas as pd

    low, high = interval_of(estimate, level)
    cost = estimate.mean
    if bounds is not None:
        low, cost, high = (np.clip(part, *bounds) for part in (low, cost, high))
    others = pd.DataFrame(
        {"cost": cost[1:], "low": low[1:], "high": high[1:]}, index=pd.Index(names, name="decided")
    )
    whole, said = estimate.variance[0], float(stated.mean[:, 0].mean())
    return CostEstimate(
        cost=float(cost[0]),
        low=float(low[0]),
        high=float(high[0]),
        level=level,
        n=len(stated.mean),
        stated=said,
        correction=float(estimate.mean[0]) - said,
        share_of_truth=float(estimate.truth[0] / whole) if whole > 0 else 1.0,
        others=others,
    )
