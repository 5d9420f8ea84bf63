r"""What decisions will cost where class frequencies are others, estimated from the new rows.

Only the frequencies have changed: held-out rows of a class are like new rows of it. So nothing is
asked of the probabilities. Let :math:`s(x)` be what the model states of a row, :math:`e(x)` the cost
that it expects of its decision, and :math:`h_t(x)` what is paid beyond it if the class is t. The
shares :math:`\pi` of the classes among the new rows are those at which the means of s over
held-out rows of each class mix to the mean over the new rows, and the estimate is
:math:`\bar e + \sum_t \pi_t \bar h_t`. An error of the mixture moves it by :math:`\eta^\top` times the
error of the mean of s, with :math:`\eta = B^\top \bar h` and B the inverse of the mixing. All errors
together are those of the means of one number per row, :math:`u_t(x) = h_t(x) - \eta^\top s(x)`,
over the m held-out and the n new rows of each class:

.. math:: \sum_t \pi_t^2 \, \mathrm{var}_t(u) / m_t + \sum_t \pi_t \, \mathrm{var}_t(u) / n.

That counts the truth of the new rows, the doubt about the frequencies, that about the
calibration, and what they have in common. Held-out rows are stated by models of other folds:
by how much these differ beyond chance is the last part.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import null_space

from stakes.decision.engine import class_moments, mixture_of
from stakes.monitor._estimate import Predicted, Stated


class ByClass(NamedTuple):
    """What held-out rows of each class are like: K classes, W ways to decide, G models.

    Attributes
    ----------
    counts : ndarray of shape (K,)
        Held-out rows of each class.
    frequencies : ndarray of shape (K,)
        Their shares.
    means : ndarray of shape (K, K)
        What is stated of them on average, ``[true, stated]``.
    beyond : ndarray of shape (K, W)
        What is paid beyond what is expected, on average.
    variance, third : ndarray of shape (K, W)
        Central moments of u, as the module has it.
    by_model : ndarray of shape (G, K, W)
        How far the mean of u over the rows of each model is from that over all.
    counts_by_model : ndarray of shape (G, K)
        The rows of each model.
    """

    counts: np.ndarray
    frequencies: np.ndarray
    means: np.ndarray
    beyond: np.ndarray
    variance: np.ndarray
    third: np.ndarray
    by_model: np.ndarray
    counts_by_model: np.ndarray


def summarize_classes(
    proba: np.ndarray, beyond: np.ndarray, y: np.ndarray, model: np.ndarray
) -> ByClass:
    """Return what held-out rows tell of each class.

    Parameters
    ----------
    proba : ndarray of shape (m, K)
        What is stated of them.
    beyond : ndarray of shape (m, W)
        What each way to decide cost beyond what was expected.
    y : ndarray of shape (m,)
        Their classes, as positions.
    model : ndarray of shape (m,)
        Which of several models stated it, from 0.
    """
    k = proba.shape[1]
    counts, means, _ = class_moments(proba, y)
    paid = _means(beyond, y, k)
    free = null_space(np.ones((1, k)))  # shares sum to 1
    back = free @ np.linalg.pinv(means.T @ free)
    u = beyond - proba @ (back.T @ paid)
    away = u - _means(u, y, k)[y]
    # Of a class with one row no spread is known: it is taken to be that of all.
    spread = _means(away**2, y, k) * (counts / np.maximum(counts - 1, 1))[:, None]
    spread[counts < 2] = (away**2).mean(axis=0)
    cells = model * k + y
    n_models = int(model.max()) + 1
    by_model = _means(away, cells, n_models * k).reshape(n_models, k, -1)
    each = np.bincount(cells, minlength=n_models * k).reshape(n_models, k)
    third = _means(away**3, y, k)
    return ByClass(counts, counts / counts.sum(), means, paid, spread, third, by_model, each)


def _means(values: np.ndarray, cells: np.ndarray, n_cells: int) -> np.ndarray:
    """Return the mean of the rows in each cell, (n_cells, W); 0 where there are none."""
    sums = np.zeros((n_cells, values.shape[1]))
    np.add.at(sums, cells, values)
    return sums / np.maximum(np.bincount(cells, minlength=n_cells), 1)[:, None]


def predict_shifted_cost(stated: Stated, proba: np.ndarray, known: ByClass) -> Predicted:
    """Return the distribution of what decisions on new rows will cost, whatever the frequencies.

    Parameters
    ----------
    stated : Stated
        Of the new rows.
    proba : ndarray of shape (n, K)
        What the model states of them, in the same way as of the held-out rows.
    known : ByClass
        Of the held-out rows.
    """
    n = len(proba)
    shares = mixture_of(proba.mean(axis=0), known.means)
    mean = stated.mean.mean(axis=0) + shares @ known.beyond
    # As if one more row was like those held out: no class is quite impossible.
    shares = (n * shares + known.frequencies) / (n + 1.0)
    rows = np.maximum(known.counts, 1)
    truth = shares @ known.variance / n
    calibration = (shares**2 / rows) @ known.variance + _between_models(known, shares)
    # Of what will be paid less its estimate: the held-out rows count the other way round.
    third = shares @ known.third / n**2 - (shares**3 / rows**2) @ known.third
    return Predicted(mean, truth + calibration, third, truth, calibration)


def _between_models(known: ByClass, shares: np.ndarray) -> np.ndarray:
    """Return the variance of a model's mean, beyond chance, and of the mean over the models."""
    n_models = len(known.by_model)
    if n_models < 2:
        return np.zeros(known.by_model.shape[2])
    means = np.einsum("t,gtw->gw", shares, known.by_model)
    there = known.counts_by_model > 0
    weight = there * shares**2 / np.maximum(known.counts_by_model, 1)
    chance = (weight @ known.variance).mean(axis=0)
    return np.maximum(means.var(axis=0, ddof=1) - chance, 0.0) * (1.0 + 1.0 / n_models)
