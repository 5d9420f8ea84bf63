"""Shifted populations: other class frequencies than in training, known or estimated."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import nnls
from scipy.stats import chi2, norm

from stakes.decision._expected import check_proba
from stakes.decision.program import factors, reweight
from stakes.utils._arrays import counted, finite_array, quoted
from stakes.utils._labels import as_labels, label_positions

METHODS = ("em", "confusion")
MAX_STEPS = 5000
TOLERANCE = 1e-9
LEVEL = 0.05


@dataclass(frozen=True)
class PriorShift:
    """The class frequencies of a new population; made by `estimate_priors`.

    Attributes
    ----------
    priors : ndarray of shape (n_classes,)
        The estimated frequencies.
    low, high : ndarray of shape (n_classes,)
        Their 95% intervals.
    training_priors : ndarray of shape (n_classes,)
        Those that the probabilities were learned at.
    p_value : float
        How likely rows as different as these would be if nothing had shifted.
    n_samples : int
        The new rows.
    method : {"em", "confusion", "given"}
        How they were found.
    """

    priors: np.ndarray
    low: np.ndarray
    high: np.ndarray
    training_priors: np.ndarray
    p_value: float
    n_samples: int
    method: str

    @property
    def shifted(self) -> bool:
        """Whether it is clear, at the 5% level, that the frequencies are others."""
        return self.p_value < LEVEL


def check_priors(priors: Any, labels: Any, *, name: str = "priors") -> np.ndarray:
    """Return class frequencies in the order of `labels`, refusing what does not sum to 1.

    Examples
    --------
    >>> from stakes.decision._shift import check_priors
    >>> check_priors({"fraud": 0.01, "ok": 0.99}, ["fraud", "ok"])
    array([0.01, 0.99])
    """
    labels = as_labels(labels)
    if isinstance(priors, Mapping):
        place = label_positions(labels, tuple(priors))
        strange = [label for label in priors if label not in place]
        lacking = [label for i, label in enumerate(labels) if i not in place.values()]
        if strange or lacking:
            wrong = f"names {quoted(strange)}" if strange else f"lacks {quoted(lacking)}"
            raise ValueError(f"{name} {wrong}, but the classes are {quoted(labels)}.")
        priors = [priors[label] for label in sorted(priors, key=place.__getitem__)]
    shares = finite_array(priors, name=name, of="frequency")
    if shares.shape != (len(labels),):
        raise ValueError(
            f"{name} must have one frequency per class ({len(labels)}), but it has shape "
            f"{shares.shape}."
        )
    if (shares < 0).any():
        raise ValueError(f"{name} has a negative frequency, {shares.min():.6g}.")
    if abs(shares.sum() - 1.0) > 1e-6:
        raise ValueError(f"{name} sum to {shares.sum():.6g}: class frequencies must sum to 1.")
    return shares / shares.sum()


def shift_priors(proba: Any, priors: Any, training_priors: Any) -> np.ndarray:
    r"""Return the probabilities in a population of other class frequencies.

    Parameters
    ----------
    proba : array-like of shape (n_samples, n_classes)
        Calibrated probabilities of a model.
    priors : array-like of shape (n_classes,)
        The class frequencies where it is used.
    training_priors : array-like of shape (n_classes,)
        The class frequencies of its training rows. Where rows were sampled by class (as many
        of each), those of the sample.

    Returns
    -------
    proba : ndarray of shape (n_samples, n_classes)
        :math:`p'(t \mid x) \propto p(t \mid x)\, \pi'_t / \pi_t`, eq. (2.4) of [1]_.

    References
    ----------
    .. [1] M. Saerens, P. Latinne and C. Decaestecker, "Adjusting the Outputs of a Classifier to
       New a Priori Probabilities: A Simple Procedure", Neural Computation 14, 2002, 21-41.

    Examples
    --------
    Trained on as many frauds as honest ones, used where 1 of 100 is a fraud. Odds of 9 to 1 are
    odds of 9 to 99:

    >>> from stakes.decision import shift_priors
    >>> shift_priors([[0.1, 0.9]], [0.99, 0.01], [0.5, 0.5]).round(4)
    array([[0.9167, 0.0833]])
    """
    proba = check_proba(proba)
    labels = range(proba.shape[1])
    new, old = check_priors(priors, labels), check_priors(training_priors, labels)
    return reweight(proba, factors(new, old))


def class_moments(proba: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what held-out probabilities are like by true class: counts, means, covariances.

    The means, (K, K), are the confusion matrix of probabilities: [true, stated].
    """
    k = proba.shape[1]
    counts = np.bincount(y, minlength=k)
    means, covariances = np.full((k, k), 1.0 / k), np.zeros((k, k, k))
    for t in range(k):
        if counts[t]:
            own = proba[y == t]
            means[t] = own.mean(axis=0)
            covariances[t] = np.cov(own, rowvar=False) if counts[t] > 1 else 0.0
    return counts, means, covariances


def estimate_priors(
    proba: Any,
    training_priors: Any,
    *,
    method: str = "em",
    held_out: Any = None,
    n_training: int | None = None,
) -> PriorShift:
    r"""Estimate the class frequencies of a population from the probabilities of unlabelled rows.

    Only the frequencies may have changed; what rows of each class look like must not. Not the
    one to use where new kinds of rows appear within a class: no model of the old rows knows them.

    Parameters
    ----------
    proba : array-like of shape (n_samples, n_classes)
        What a model states of the new rows, calibrated on its own population.
    training_priors : array-like of shape (n_classes,)
        The class frequencies that it was trained at.
    method : {"em", "confusion"}, default="em"
        "em": the likeliest frequencies [1]_, if the probabilities are calibrated. "confusion": those
        at which the mean probabilities of held-out rows of each class mix to those of the new
        rows [2]_; less precise, but no calibration is assumed.
    held_out : (proba, y), default=None
        Probabilities of rows that the model has not seen, from its own population, and their
        classes as positions. "confusion" needs it; with it, the test assumes no calibration.
    n_training : int, default=None
        The rows that `training_priors` were counted on: they are a sample, too. None takes
        them for exact.

    Returns
    -------
    shift : PriorShift
        With `priors`, intervals, and the test's `p_value`.

    Notes
    -----
    EM repeats :math:`\pi_t \leftarrow \frac1n \sum_i p_\pi(t \mid x_i)`, eq. (2.9) of [1]_. Its
    interval is that of the observed information, and its test asks whether the estimate is
    further from the frequencies of training than chance in both explains. The other
    method solves :math:`M^\top \pi = \bar p` over frequencies, M being the mean probabilities by
    true class; interval and test (of equal mean probabilities, chi-squared with K - 1 degrees)
    count the chance in both samples. Both add one pseudo-row with the class frequencies of
    training: a few dozen rows without a class do not prove that there is none.

    References
    ----------
    .. [1] M. Saerens, P. Latinne and C. Decaestecker, "Adjusting the Outputs of a Classifier to
       New a Priori Probabilities: A Simple Procedure", Neural Computation 14, 2002, 21-41.
    .. [2] Z. Lipton, Y.-X. Wang and A. Smola, "Detecting and Correcting for Label Shift with
       Black Box Predictors", ICML 2018.

    Examples
    --------
    A model that is always sure: three of four new rows are of the second class, which was one
    of two. With one row more, half of either, that is 3.5 of 5.

    >>> from stakes.decision import estimate_priors
    >>> estimate_priors([[1, 0], [0, 1], [0, 1], [0, 1]], [0.5, 0.5]).priors.round(6)
    array([0.3, 0.7])
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r} is unknown: the methods are {quoted(METHODS)}.")
    proba = check_proba(proba)
    old = check_priors(training_priors, range(proba.shape[1]), name="training_priors")
    moments = None
    if held_out is not None:
        known, y = check_proba(held_out[0], n_classes=len(old)), np.asarray(held_out[1])
        moments = class_moments(known, y)
    return estimate_from_moments(proba, old, method, moments, n_training)


def estimate_from_moments(
    proba: np.ndarray,
    old: np.ndarray,
    method: str,
    moments: Any = None,
    n_training: int | None = None,
) -> PriorShift:
    """Estimate frequencies where held-out rows are known by their moments (`class_moments`)."""
    n = len(proba)
    if method == "confusion" and moments is None:
        raise ValueError(
            'method="confusion" needs probabilities of rows that the model has not seen, with '
            'their classes (held_out); use method="em", or a model with a calibration.'
        )
    if method == "em":
        priors, covariance = likeliest_priors(proba, old)
    else:
        priors, covariance = mixed_priors(proba, *moments)
        priors = (n * priors + old) / (n + 1.0)  # as in `likeliest_priors`
    # The frequencies of training are a sample's, too.
    n_training = n_training or (None if moments is None else int(moments[0].sum()))
    counting = (np.diag(old) - np.outer(old, old)) / (n_training or np.inf)
    if moments is not None:
        counts, means, covariances = moments
        noise = _noise(proba) + _mixed_noise(old, counts, covariances) + means.T @ counting @ means
        p_value = _p_value(proba.mean(axis=0) - old @ means, noise)
    else:
        p_value = _p_value(priors - old, covariance + counting)
    if method == "em":
        covariance = covariance * _learned_from(priors, n, old, moments, n_training)
    error = norm.ppf(0.975) * np.sqrt(np.clip(np.diag(covariance), 0.0, None))
    low, high = (np.clip(priors + side * error, 0.0, 1.0) for side in (-1, 1))
    return PriorShift(priors, low, high, old, float(p_value), n, method)


def likeliest_priors(proba: np.ndarray, old: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the likeliest frequencies by EM, and their covariance.

    One row more, of the old frequencies, keeps a class that some dozens of rows lack possible; the
    covariance does not count it as known.
    """
    n, k = proba.shape
    ratio = np.divide(proba, old, out=np.zeros_like(proba), where=old > 0)
    priors = old.copy()
    for _ in range(MAX_STEPS):
        mixed = ratio @ priors
        after = priors * (ratio / mixed[:, None]).mean(axis=0)  # eq. (2.9)
        after = (n * after + old) / (n + 1.0)
        step = np.abs(after - priors).max()
        priors = after / after.sum()
        if step < TOLERANCE:
            break
    mixed = ratio @ priors
    scaled = ratio / mixed[:, None]
    free = null_space(np.ones((1, k)))  # frequencies sum to 1
    information = free.T @ (scaled.T @ scaled) @ free
    covariance = free @ np.linalg.pinv(information) @ free.T
    return priors, covariance


def _learned_from(
    priors: np.ndarray, n: int, old: np.ndarray, moments: Any, n_training: int | None
) -> float:
    """Return by how much the model's own error makes the variance of the likeliest frequencies larger.

    What it states of a class it has learned from some rows of it. They err like new rows, each class
    weighing as its share now, so that the variance is that of n rows plus that of those.
    """
    if moments is None and n_training is None:
        return 1.0
    counts = n_training * old if moments is None else moments[0]
    return 1.0 + n * float((priors**2 / np.maximum(counts, 1.0)).sum())


def mixed_priors(
    proba: np.ndarray, counts: np.ndarray, means: np.ndarray, covariances: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the frequencies at which held-out means mix to the new ones, and their covariance."""
    priors = mixture_of(proba.mean(axis=0), means)
    back = np.linalg.pinv(means.T)
    noise = _noise(proba) + _mixed_noise(priors, counts, covariances)
    return priors, back @ noise @ back.T


def mixture_of(mean: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return the shares at which the rows of `means` mix to `mean`, or as near as shares can.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.decision._shift import mixture_of
    >>> mixture_of(np.array([0.5, 0.5]), np.array([[0.8, 0.2], [0.4, 0.6]])).round(6)
    array([0.25, 0.75])
    """
    system = np.vstack([means.T, np.full(len(mean), 1e3)])  # the last row: they sum to 1
    shares = nnls(system, np.append(mean, 1e3))[0]
    return shares / shares.sum()


def _noise(proba: np.ndarray) -> np.ndarray:
    """Return the covariance of mean probabilities."""
    n, k = proba.shape
    return np.cov(proba, rowvar=False) / n if n > 1 else np.eye(k)


def _mixed_noise(priors: np.ndarray, counts: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    """Return the covariance of a mixture of the means of classes."""
    share = np.divide(priors**2, counts, out=np.zeros(len(counts)), where=counts > 0)
    return np.einsum("t,tij->ij", share, covariances)


def _p_value(difference: np.ndarray, covariance: np.ndarray) -> float:
    """Return how likely chance is to make a difference as large, of frequencies or their like."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > 1e-10 * max(float(values.max()), 1e-300)  # they sum to 0: one less is free
    statistic = ((vectors.T @ difference)[kept] ** 2 / values[kept]).sum()
    return float(chi2.sf(statistic, max(int(kept.sum()), 1)))


def shift_in_words(shift: PriorShift, labels: Any) -> str:
    """Return what has shifted, in one sentence.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.decision._shift import PriorShift, shift_in_words
    >>> old, new = np.array([0.9, 0.1]), np.array([0.8, 0.2])
    >>> shift_in_words(PriorShift(new, new - 0.01, new + 0.01, old, 0.0, 500, "em"), ["ok", "bad"])
    "Class frequencies have shifted (p < 0.001, 500 rows): 'ok' 90.0% -> 80.0% (79.0% to 81.0%), \
'bad' 10.0% -> 20.0% (19.0% to 21.0%)."
    """
    p = "p < 0.001" if shift.p_value < 0.001 else f"p = {shift.p_value:.2g}"
    rows = counted(shift.n_samples, "row")
    if not shift.shifted:
        return f"Class frequencies have not clearly shifted ({p}, {rows}): nothing is changed."
    parts = [
        f"{quoted([label])} {old:.1%} -> {new:.1%} ({low:.1%} to {high:.1%})"
        for label, old, new, low, high in zip(
            as_labels(labels), shift.training_priors, shift.priors, shift.low, shift.high
        )
    ]
    return f"Class frequencies have shifted ({p}, {rows}): {', '.join(parts)}."
