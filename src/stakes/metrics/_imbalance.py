"""Measures that count every class alike, however rare."""

from itertools import permutations
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix, roc_auc_score
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import check_consistent_length

from stakes.utils._arrays import finite_array
from stakes.utils._collections import cluster, is_collection
from stakes.utils._frames import one_column


def rates_of_counts(counts: np.ndarray) -> np.ndarray:
    """Return a matrix of counts with each row divided by its sum; one without any is 0."""
    counts = counts.astype(float)
    totals = counts.sum(axis=1, keepdims=True)
    return np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)


def confusion_norm(y_true: Any, y_pred: Any, *, labels: Any = None) -> float:
    r"""Return the spectral norm of the confusion rates, the diagonal set to zero.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        The true classes and the decisions.
    labels : array-like, default=None
        The classes; those of `y_true` and `y_pred` if None.

    Returns
    -------
    norm : float
        0 where every decision is right; at most :math:`\sqrt K`.

    Notes
    -----
    Definition 2 of Koço and Capponi (2013). The error rate is at most
    :math:`\sqrt K` times the norm, whatever the class shares (equation 3).

    Examples
    --------
    Half of class 0 is taken for 1, nothing else goes wrong:

    >>> from stakes.metrics import confusion_norm
    >>> confusion_norm([0, 0, 1, 1], [0, 1, 1, 1])
    0.5
    """
    if is_collection(y_true):
        if labels is None:
            raise ValueError("Of Dask collections a partition may lack classes: give labels.")
        given = {"y_true": y_true, "y_pred": y_pred}
        return cluster().lazy_sums(norm_of_counts, _counts_of, np.asarray(labels), **given)
    return norm_of_counts(confusion_matrix(y_true, y_pred, labels=labels))


def _counts_of(labels: np.ndarray, y_true: Any, y_pred: Any) -> np.ndarray:
    return confusion_matrix(one_column(y_true), one_column(y_pred), labels=labels)


def norm_of_counts(counts: np.ndarray) -> float:
    """Return the spectral norm of the rates of a confusion matrix, the diagonal set to zero."""
    rates = rates_of_counts(counts)
    np.fill_diagonal(rates, 0.0)
    return float(np.linalg.norm(rates, 2))


def confusion_norm_bound(
    y_true: Any, y_pred: Any, *, confidence: float = 0.95, labels: Any = None
) -> float:
    r"""Return a bound that the true confusion norm keeps with the given confidence.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        The true classes and the decisions, of a sample the classifier has not seen.
    confidence : float, default=0.95
        :math:`1 - \delta`.
    labels : array-like, default=None
        The classes; those of `y_true` and `y_pred` if None.

    Returns
    -------
    bound : float
        Infinite where a class has no example.

    Notes
    -----
    Corollary 3 of Koço and Capponi (2013),
    :math:`\|C\| \le \|C_S\| + \sqrt{2 K \sum_k \frac{1}{m_k} \log \frac{K}{\delta}}`.

    Examples
    --------
    >>> from stakes.metrics import confusion_norm_bound
    >>> y = [0] * 1000 + [1] * 1000
    >>> round(confusion_norm_bound(y, y), 3)  # sqrt(4 * 2/1000 * log(40))
    0.172
    """
    if not 0.0 <= confidence < 1.0:
        raise ValueError(f"confidence must be in [0, 1), but it is {confidence}.")
    counts = confusion_matrix(y_true, y_pred, labels=labels).sum(axis=1)
    with np.errstate(divide="ignore"):  # infinite where a class has no example
        slack = corollary_3_slack(counts, 1.0 - confidence)
    return confusion_norm(y_true, y_pred, labels=labels) + slack


def corollary_3_slack(counts: np.ndarray, delta: float) -> float:
    """Return the second term of Corollary 3 of koco2013."""
    n_classes = len(counts)
    return float(np.sqrt(2 * n_classes * (1.0 / counts).sum() * np.log(n_classes / delta)))


def geometric_mean_score(y_true: Any, y_pred: Any, *, labels: Any = None) -> float:
    """Return the geometric mean of the recalls of all classes of `y_true`.

    Zero as soon as one class is never recognised.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        The true classes and the decisions.
    labels : array-like, default=None
        The classes to look at; those of `y_true` if None.

    Examples
    --------
    Recalls of 1/2 and 1:

    >>> from stakes.metrics import geometric_mean_score
    >>> round(geometric_mean_score([0, 0, 1, 1], [0, 1, 1, 1]), 4)
    0.7071
    """
    y_true, y_pred = one_column(y_true), one_column(y_pred)
    check_consistent_length(y_true, y_pred)
    labels = unique_labels(y_true) if labels is None else np.asarray(labels)
    recalls = np.array([np.mean(y_pred[y_true == c] == c) for c in labels if (y_true == c).any()])
    if len(recalls) == 0:
        raise ValueError("None of the labels occurs in y_true: there is no recall to average.")
    with np.errstate(divide="ignore"):
        return float(np.exp(np.log(recalls).mean()))


def mauc_score(y_true: Any, scores: Any, *, labels: Any = None) -> float:
    """Return Hand and Till's M: the mean area under the ROC curve over all pairs of classes.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true classes.
    scores : array-like of shape (n_samples, n_classes) or (n_samples,)
        Probabilities or any scores, columns in the order of `labels`. For two classes a
        single column is the score of the second class.
    labels : array-like, default=None
        The classes; those of `y_true`, sorted, if None.

    Returns
    -------
    score : float
        1 is perfect, 1/2 is chance.

    Notes
    -----
    For probabilities this is scikit-learn's ``roc_auc_score(multi_class="ovo")``. That
    function refuses scores that do not sum to one; here they are taken as they are.

    Examples
    --------
    >>> from stakes.metrics import mauc_score
    >>> mauc_score([0, 1, 2], [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]])
    1.0
    """
    y_true = one_column(y_true)
    scores = finite_array(scores, name="scores", of="score")
    labels = unique_labels(y_true) if labels is None else np.asarray(labels)
    check_consistent_length(y_true, scores)
    if len(labels) == 2:
        column = scores if scores.ndim == 1 else scores[:, 1]
        return float(roc_auc_score(y_true == labels[1], column))
    if scores.ndim != 2 or scores.shape[1] != len(labels):
        raise ValueError(
            f"scores must have {len(labels)} columns, one per class, but have shape {scores.shape}."
        )
    absent = [c for c in labels.tolist() if not (y_true == c).any()]
    if absent:
        raise ValueError(
            f"y_true has no example of {absent}: its area under the curve is undefined."
        )
    areas = []
    for (a, one), (_, other) in permutations(enumerate(labels), 2):
        pair = (y_true == one) | (y_true == other)
        areas.append(roc_auc_score(y_true[pair] == one, scores[pair, a]))
    return float(np.mean(areas))
