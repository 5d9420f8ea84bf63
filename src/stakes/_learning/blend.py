"""Blending class probabilities: a weighted sum of log probabilities, fitted by log loss.

Everything here is a function on arrays. Letters: m member, n example, t class.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

# A member that says "impossible" is not taken at its word: to the n examples it has learned from
# comes this many more, shared out among the classes by their frequencies. A floor in proportion
# to the frequency hedges the same share of every class; the same floor for all classes would
# make a rare class, whose costs are often the highest, look far too likely.
UNSEEN = 1.0
# The blend itself is doubted likewise, by less; averages of many voices by more.
UNSEEN_BY_BLEND = 0.25
UNSEEN_BY_AVERAGES = 3.0
# Before any evidence the weights sum to about 1, which is a weighted geometric mean: the prior
# of their sum is log-normal with this standard deviation. Where the members separate all
# held-out examples, log loss falls for ever as the sum grows, and only the prior holds it.
SHARPNESS_SPREAD = 0.4
# The posterior of its logarithm is known on a grid (the fit at every eighth value, a spline
# between them), and kept as this many equally likely values.
LOG_SHARPNESS = np.linspace(-3.0, 1.2, 129)
N_SHARPNESS = 15
# Averages of many voices are known to be too smooth: their sharpness may be farther from 1.
SPREAD_OF_AVERAGES = 0.5
# Penalties of the squared distance of the weights from 1 / n_members, and of the squared
# biases; both are divided by the number of examples, so they fade as evidence comes in.
WEIGHT_PENALTY = 0.3
BIAS_PENALTY = 3.0


class Blend(NamedTuple):
    """What `fit_blend` learns.

    Parameters
    ----------
    weights : ndarray of shape (n_members,)
        Not negative; they need not sum to 1 (their sum is an inverse temperature).
    bias : ndarray of shape (n_classes,)
        Added to the score of each class.
    sharpness : ndarray of shape (n_values,)
        Equally likely factors of the scores: how sure the blend may be.
    floor : ndarray of shape (n_classes,)
        What is mixed in of each class, since n examples cannot show that it never comes.
    """

    weights: np.ndarray
    bias: np.ndarray
    sharpness: np.ndarray = np.ones(1)
    floor: np.ndarray = np.zeros(1)


def class_frequencies(
    y: np.ndarray, n_classes: int, sample_weight: np.ndarray | None = None
) -> np.ndarray:
    """Return the share of each class; a class without an example counts as half of one.

    Examples
    --------
    >>> from stakes._learning.blend import class_frequencies
    >>> class_frequencies(np.array([0, 0, 0, 1]), 3).round(3)
    array([0.667, 0.222, 0.111])
    """
    counts = np.bincount(y, weights=sample_weight, minlength=n_classes)
    counts = np.where(counts > 0, counts, 0.5 * counts.sum() / len(y))
    return counts / counts.sum()


def log_probabilities(
    proba: np.ndarray, frequencies: np.ndarray, n_samples: int | np.ndarray
) -> np.ndarray:
    """Return the logarithm of the probabilities, after one example more of no particular class.

    Parameters
    ----------
    proba : ndarray of shape (..., n_classes)
        As a member states them; zeros are fine.
    frequencies : ndarray of shape (n_classes,)
        The share of each class; none is 0.
    n_samples : int
        How many examples there were to learn from.

    Examples
    --------
    Nine examples say "never"; the tenth may be of the second class, one in five times:

    >>> from stakes._learning.blend import log_probabilities
    >>> np.exp(log_probabilities(np.array([[1.0, 0.0]]), np.array([0.8, 0.2]), 9)).round(3)
    array([[0.98, 0.02]])
    """
    return np.log((n_samples * proba + UNSEEN * frequencies) / (n_samples + UNSEEN))


def blend_scores(logs: np.ndarray, blend: Blend) -> np.ndarray:
    """Return the scores of the classes, (n, t), from the members' logs, (m, n, t)."""
    return np.einsum("m,mnt->nt", blend.weights, logs) + blend.bias


def blend_probabilities(logs: np.ndarray, blend: Blend) -> np.ndarray:
    """Return the blended probabilities, (n, t), from the members' logs, (m, n, t).

    Examples
    --------
    Two members that agree, each with half a weight, change nothing:

    >>> from stakes._learning.blend import Blend, blend_probabilities
    >>> logs = np.log(np.array([[[0.8, 0.2]], [[0.8, 0.2]]]))
    >>> half = Blend(np.array([0.5, 0.5]), np.zeros(2))
    >>> blend_probabilities(logs, half).round(3)
    array([[0.8, 0.2]])
    """
    scores = blend_scores(logs, blend)
    proba = np.zeros_like(scores)
    for sharpness in blend.sharpness:
        proba += softmax(sharpness * scores, axis=1)
    return (1.0 - blend.floor.sum()) / len(blend.sharpness) * proba + blend.floor


def sharpness_posterior(
    scores: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    total: float,
    spread: float = SHARPNESS_SPREAD,
) -> np.ndarray:
    """Return equally likely factors of the scores, given held-out examples and the prior.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes)
        Of the blend, for examples that its members were not trained on.
    y : ndarray of shape (n_samples,)
        The true classes as positions.
    weight : ndarray of shape (n_samples,)
        How often each example counts.
    total : float
        The sum of the blend's weights; factor times total is about 1 before any evidence.
    spread : float
        The standard deviation of its logarithm before any evidence.

    Examples
    --------
    Two examples, both right by a wide margin, fit the better the sharper the scores are. They
    say so little that the blend is trusted hardly more than before:

    >>> from stakes._learning.blend import sharpness_posterior
    >>> scores = np.log(np.array([[0.99, 0.01], [0.01, 0.99]]))
    >>> found = sharpness_posterior(scores, np.array([0, 1]), np.ones(2), 1.0)
    >>> bool(found.min() > 0.4), bool(found.max() < 2.5)
    (True, True)
    """
    everyone = np.arange(len(y))
    some = LOG_SHARPNESS[::8]
    fit = [weight @ log_softmax(np.exp(s) * scores, axis=1)[everyone, y] for s in some]
    away = (LOG_SHARPNESS + np.log(max(total, 1e-9))) / spread
    posterior = softmax(CubicSpline(some, fit)(LOG_SHARPNESS) - 0.5 * away**2)
    below = np.cumsum(posterior) - posterior / 2.0
    middles = (np.arange(N_SHARPNESS) + 0.5) / N_SHARPNESS
    return np.exp(np.interp(middles, below, LOG_SHARPNESS))


def blend_loss(
    parameters: np.ndarray,
    logs: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    centre: np.ndarray,
    weight_penalty: float,
    bias_penalty: float,
) -> tuple[float, np.ndarray]:
    """Return the penalised mean log loss of (weights, bias), and its gradient."""
    n_members, n_samples, _ = logs.shape
    weights, bias = parameters[:n_members], parameters[n_members:]
    log_p = log_softmax(blend_scores(logs, Blend(weights, bias)), axis=1)
    everyone = np.arange(n_samples)
    away = weights - centre
    loss = -(weight @ log_p[everyone, y])
    loss += weight_penalty * (away @ away)
    loss += bias_penalty * (bias @ bias)
    slope = np.exp(log_p)
    slope[everyone, y] -= 1.0
    slope *= weight[:, None]
    by_weight = np.einsum("mnt,nt->m", logs, slope) + 2.0 * weight_penalty * away
    by_bias = slope.sum(axis=0) + 2.0 * bias_penalty * bias
    return loss, np.concatenate([by_weight, by_bias])


def fit_blend(
    logs: np.ndarray,
    y: np.ndarray,
    sample_weight: np.ndarray | None = None,
    *,
    weight_penalty: float = WEIGHT_PENALTY,
    bias_penalty: float = BIAS_PENALTY,
    spread: float = SHARPNESS_SPREAD,
    unseen: float = UNSEEN_BY_BLEND,
    max_iter: int = 200,
) -> Blend:
    """Choose one weight per member and a shrunk bias per class by log loss, and doubt them.

    How sharp the blend may be is not one number: all values that the examples and the prior
    allow are kept (`sharpness_posterior`), and their probabilities averaged.

    Parameters
    ----------
    logs : ndarray of shape (n_members, n_samples, n_classes)
        Log probabilities of examples that the members were *not* trained on.
    y : ndarray of shape (n_samples,)
        The true classes as positions.
    sample_weight : ndarray of shape (n_samples,), default=None
        How often each example counts.
    weight_penalty, bias_penalty : float
        Both are divided by the number of examples.
    spread : float
        Of the sharpness before any evidence: see `sharpness_posterior`.
    unseen : float
        So many examples of no particular class are mixed in.
    max_iter : int
        Of L-BFGS.

    Returns
    -------
    blend : Blend
        The weights and biases.

    Examples
    --------
    The first member knows the class, the second tosses a coin:

    >>> from stakes._learning.blend import fit_blend
    >>> y = np.tile([0, 1], 50)
    >>> knows = np.where(np.eye(2)[y] == 1, 0.9, 0.1)
    >>> coin = np.full((100, 2), 0.5)
    >>> blend = fit_blend(np.log(np.array([knows, coin])), y)
    >>> bool(blend.weights[0] > 1)
    True
    """
    weights, bias, _ = fit_weights(logs, y, sample_weight, weight_penalty, bias_penalty, max_iter)
    n_samples, n_classes = logs.shape[1:]
    counted = np.ones(n_samples) if sample_weight is None else sample_weight
    scores = blend_scores(logs, Blend(weights, bias))
    sharpness = sharpness_posterior(scores, y, counted, weights.sum(), spread)
    frequencies = class_frequencies(y, n_classes, counted)
    floor = unseen * frequencies / (counted.sum() + unseen)
    return Blend(weights, bias, sharpness, floor)


def fit_weights(
    logs: np.ndarray,
    y: np.ndarray,
    sample_weight: np.ndarray | None = None,
    weight_penalty: float = WEIGHT_PENALTY,
    bias_penalty: float = BIAS_PENALTY,
    max_iter: int = 200,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the weights, the biases and the penalised log loss, summed over the examples."""
    n_members, n_samples, n_classes = logs.shape
    if sample_weight is None:
        weight, size = np.full(n_samples, 1.0 / n_samples), float(n_samples)
    else:
        size = float(sample_weight.sum())  # a weight of 2 is an example seen twice
        weight = sample_weight / size
    centre = np.full(n_members, 1.0 / n_members)
    best = minimize(
        blend_loss,
        np.concatenate([centre, np.zeros(n_classes)]),
        args=(logs, y, weight, centre, weight_penalty / size, bias_penalty / size),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * n_members + [(None, None)] * n_classes,
        options={"maxiter": max_iter},
    )
    return best.x[:n_members], best.x[n_members:], size * float(best.fun)


def who_matters(
    logs: np.ndarray,
    y: np.ndarray,
    order: Iterable[int],
    sample_weight: np.ndarray | None = None,
) -> list[int]:
    """Return the members that the blend of some held-out examples cannot do without.

    Members are tried one after the other, and go where the log loss without all that have gone
    grows by no more than chance gives a weight to fit: one example's worth, within 0.3 and 1 %
    of the whole.

    Parameters
    ----------
    logs : ndarray of shape (n_members, n_samples, n_classes)
        Log probabilities of examples that the members were not trained on.
    y : ndarray of shape (n_samples,)
        The true classes as positions.
    order : iterable of int
        The members, first those that one would rather do without.
    sample_weight : ndarray of shape (n_samples,), default=None
        How often each example counts.

    Examples
    --------
    The first member is right four times of five, the second tosses a coin, the third is the
    first again:

    >>> from stakes._learning.blend import who_matters
    >>> y = np.tile([0, 1], 50)
    >>> said = np.where(np.arange(100) % 5 == 0, 1 - y, y)
    >>> knows = np.where(np.eye(2)[said] == 1, 0.8, 0.2)
    >>> who_matters(np.log([knows, np.full((100, 2), 0.5), knows]), y, [2, 1, 0])
    [0]
    """
    kept = list(range(len(logs)))
    least = fit_weights(logs, y, sample_weight)[2]
    most = least + min(max(1.0, 0.003 * least), 0.01 * least)
    for member in order:
        others = [i for i in kept if i != member]
        if others and fit_weights(logs[others], y, sample_weight)[2] <= most:
            kept = others
    return kept


def cross_fitted(
    logs: np.ndarray, y: np.ndarray, folds: np.ndarray, sample_weight: np.ndarray | None = None
) -> np.ndarray:
    """Return blended probabilities, each fold's by a blend fitted on the other folds."""
    proba = np.empty(logs.shape[1:])
    for fold in np.unique(folds):
        inside, outside = folds != fold, folds == fold
        weight = None if sample_weight is None else sample_weight[inside]
        blend = fit_blend(logs[:, inside], y[inside], weight)
        proba[outside] = blend_probabilities(logs[:, outside], blend)
    return proba


def log_loss_of(
    proba: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None
) -> float:
    """Return the mean log loss; nothing is taken to be less likely than 1e-12."""
    losses = -np.log(np.clip(proba[np.arange(len(y)), y], 1e-12, None))
    return float(np.average(losses, weights=sample_weight))


def calibration_error(
    proba: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None, n_bins: int = 15
) -> float:
    """Return the mean gap between stated and observed frequency, over classes and bins.

    Bins hold equal numbers of examples; the gap is averaged over bins and then over classes,
    each class by its frequency.
    """
    n_samples, n_classes = proba.shape
    weight = np.ones(n_samples) if sample_weight is None else sample_weight
    n_bins = max(1, min(n_bins, n_samples // 10))
    total = 0.0
    share = np.bincount(y, weights=weight, minlength=n_classes) / weight.sum()
    for label in range(n_classes):
        order = np.argsort(proba[:, label], kind="stable")
        gaps = [
            abs(weight[part] @ ((y[part] == label) - proba[part, label]))
            for part in np.array_split(order, n_bins)
        ]
        total += share[label] * sum(gaps) / weight.sum()
    return float(total)


@dataclass(frozen=True)
class Calibration:
    """What rows that a model has not seen say of its probabilities: a blend of one member.

    Attributes
    ----------
    blend : Blend
        How sharp they may be, and how likely each class is beside what they say.
    frequencies : ndarray of shape (n_classes,)
        The share of each class.
    size : int
        How many voices the probabilities are averages of: to them comes one more, of no
        particular class.
    """

    blend: Blend
    frequencies: np.ndarray
    size: int

    @classmethod
    def fit(
        cls, proba: np.ndarray, y: np.ndarray, weight: np.ndarray, heard: np.ndarray, size: int
    ) -> "Calibration":
        """Learn from the probabilities of rows that they were not learned from.

        Parameters
        ----------
        proba : ndarray of shape (n_samples, n_classes)
            What the model says.
        y : ndarray of shape (n_samples,)
            The true classes as positions.
        weight : ndarray of shape (n_samples,)
            How often each row counts.
        heard : ndarray of shape (n_samples,)
            How many voices the probabilities of each row are averages of.
        size : int
            How many they are for new rows.
        """
        frequencies = class_frequencies(y, proba.shape[1], weight)
        logs = log_probabilities(proba, frequencies, heard[:, None])
        blend = fit_blend(
            logs[None], y, weight, spread=SPREAD_OF_AVERAGES, unseen=UNSEEN_BY_AVERAGES
        )
        return cls(blend, frequencies, size)

    def apply(self, proba: np.ndarray) -> np.ndarray:
        """Return calibrated probabilities, (n_samples, n_classes)."""
        logs = log_probabilities(proba, self.frequencies, self.size)
        return blend_probabilities(logs[None], self.blend)
