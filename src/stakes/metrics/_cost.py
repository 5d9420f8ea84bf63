"""What decisions cost."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import check_consistent_length, column_or_1d

from stakes.costs import CostMatrix, make_costs
from stakes.utils._arrays import quoted
from stakes.utils._labels import encode_labels
from stakes.utils._sklearn import check_sample_weight


def total_cost(
    y_true: Any,
    y_pred: Any,
    *,
    cost_matrix: Any = None,
    costs: Any = None,
    cost_tensor: Any = None,
    sample_weight: Any = None,
    labels: Any = None,
) -> float:
    """Return what the decisions cost in sum.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true classes.
    y_pred : array-like of shape (n_samples,)
        The decisions.
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``. A plain array follows the order of `labels`.
        With neither `cost_matrix` nor example costs every mistake costs 1.
    costs : array-like of shape (n_samples, n_classes), default=None
        What each decision costs for each example.
    cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
        [example, true, predicted].
    sample_weight : array-like of shape (n_samples,), default=None
        How often each example counts.
    labels : array-like of shape (n_classes,), default=None
        The classes in the order of the costs. If None, the labels of `cost_matrix` where
        it has them, else the sorted classes of `y_true` and `y_pred`.

    Returns
    -------
    cost : float
        Lower is better.

    Examples
    --------
    One loan to a defaulter (1000) and one good client turned away (10):

    >>> from stakes.metrics import total_cost
    >>> total_cost([0, 0, 1, 1], [0, 1, 0, 1], cost_matrix=[[0, 10], [1000, 0]])
    1010.0
    """
    given = {"cost_matrix": cost_matrix, "costs": costs, "cost_tensor": cost_tensor}
    paid, weight = _paid(y_true, y_pred, labels, sample_weight, **given)
    return float(paid.sum() if weight is None else paid @ weight)


def average_cost(
    y_true: Any,
    y_pred: Any,
    *,
    cost_matrix: Any = None,
    costs: Any = None,
    cost_tensor: Any = None,
    sample_weight: Any = None,
    labels: Any = None,
) -> float:
    """Return what the decisions cost per example; the parameters are those of `total_cost`.

    Examples
    --------
    >>> from stakes.metrics import average_cost
    >>> average_cost([0, 0, 1, 1], [0, 1, 0, 1], cost_matrix=[[0, 10], [1000, 0]])
    252.5
    """
    given = {"cost_matrix": cost_matrix, "costs": costs, "cost_tensor": cost_tensor}
    paid, weight = _paid(y_true, y_pred, labels, sample_weight, **given)
    return float(np.average(paid, weights=weight))


def stochastic_cost(
    y_true: Any,
    proba: Any,
    *,
    cost_matrix: Any = None,
    costs: Any = None,
    cost_tensor: Any = None,
    sample_weight: Any = None,
    labels: Any = None,
) -> float:
    """Return the expected cost per example of deciding at random with probabilities `proba`.

    A stochastic hypothesis decides class ``k`` for example ``i`` with probability
    ``proba[i, k]``: section 2.2 of Abe, Zadrozny and Langford (2004). A plain classifier is
    the special case of probabilities 0 and 1.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true classes.
    proba : array-like of shape (n_samples, n_classes)
        The probability of each decision, columns in the order of `labels`.
    cost_matrix, costs, cost_tensor, sample_weight, labels
        As in `total_cost`; `labels` default to the sorted classes of `y_true`.

    Examples
    --------
    >>> from stakes.metrics import stochastic_cost
    >>> stochastic_cost([0, 1], [[0.5, 0.5], [0.25, 0.75]], cost_matrix=[[0, 2], [8, 0]])
    1.5
    """
    y_true = column_or_1d(y_true)
    proba = np.asarray(proba, dtype=float)
    labels = _settle_labels(labels, cost_matrix, y_true)
    if proba.shape != (len(y_true), len(labels)):
        raise ValueError(
            f"proba must have shape ({len(y_true)}, {len(labels)}), one row per example and one "
            f"column per class, but it has shape {proba.shape}."
        )
    labels, true = encode_labels(y_true, labels)
    given = {"cost_matrix": cost_matrix, "costs": costs, "cost_tensor": cost_tensor}
    rows = make_costs(true, classes=labels, **given, to_learn=False).rows()
    paid = np.einsum("nd,nd->n", proba, rows)
    return float(np.average(paid, weights=_weight(sample_weight, y_true)))


def savings_score(
    y_true: Any,
    y_pred: Any,
    *,
    baseline: Any = "constant",
    cost_matrix: Any = None,
    costs: Any = None,
    cost_tensor: Any = None,
    sample_weight: Any = None,
    labels: Any = None,
) -> float:
    """Return the share of a baseline's cost that the decisions save.

    Parameters
    ----------
    y_true, y_pred, cost_matrix, costs, cost_tensor, sample_weight, labels
        As in `total_cost`.
    baseline : "constant" or array-like of shape (n_samples,), default="constant"
        What to compare with: the best single decision for all examples, or other
        predictions, such as the most probable classes of the same model.

    Returns
    -------
    savings : float
        1 is free of cost, 0 costs as much as the baseline, negative more. Where both cost
        nothing it is 0; where only the baseline costs nothing it is minus infinity.

    Examples
    --------
    Always deciding 1 would cost 20, the decisions cost 10:

    >>> from stakes.metrics import savings_score
    >>> savings_score([0, 0, 1, 1], [0, 1, 1, 1], cost_matrix=[[0, 10], [1000, 0]])
    0.5
    """
    constant = isinstance(baseline, str)
    if constant and baseline != "constant":
        raise ValueError(
            f"baseline={baseline!r} is unknown: use 'constant', or give predictions to compare with."
        )
    y_true = column_or_1d(y_true)
    labels = _settle_labels(labels, cost_matrix, y_true, y_pred, *([] if constant else [baseline]))
    rivals = [np.full(len(y_true), label) for label in labels] if constant else [baseline]
    given = {"cost_matrix": cost_matrix, "costs": costs, "cost_tensor": cost_tensor}
    given |= {"sample_weight": sample_weight, "labels": labels}
    before = min(average_cost(y_true, rival, **given) for rival in rivals)
    after = average_cost(y_true, y_pred, **given)
    if before == 0:
        return 0.0 if after == 0 else -np.inf
    return float((before - after) / abs(before))


def _settle_labels(labels: Any, cost_matrix: Any, *ys: Any) -> np.ndarray:
    if labels is not None:
        return np.asarray(labels)
    if hasattr(cost_matrix, "columns") and hasattr(cost_matrix, "index"):
        cost_matrix = CostMatrix.from_frame(cost_matrix)
    if isinstance(cost_matrix, CostMatrix) and cost_matrix.labels is not None:
        # A matrix read from a file has text labels: keep those of y where they meet.
        seen = unique_labels(*ys)
        by_text = {str(s): s for s in seen.tolist()}
        return np.asarray([by_text.get(str(label), label) for label in cost_matrix.labels])
    return unique_labels(*ys)


def _paid(
    y_true: Any, y_pred: Any, labels: Any, sample_weight: Any, **given: Any
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return what each decision cost, (n,), and the weights (or None)."""
    y_true, y_pred = column_or_1d(y_true), column_or_1d(y_pred)
    check_consistent_length(y_true, y_pred)
    if len(y_true) == 0:
        raise ValueError("There are 0 examples: nothing was decided.")
    labels = _settle_labels(labels, given["cost_matrix"], y_true, y_pred)
    labels, true = encode_labels(y_true, labels)
    try:
        _, decided = encode_labels(y_pred, labels)
    except ValueError:
        strange = sorted(set(np.unique(y_pred).tolist()) - set(labels), key=str)
        raise ValueError(
            f"y_pred has {quoted(strange)}, but the classes are {quoted(labels)}."
        ) from None
    paid = make_costs(true, classes=labels, **given, to_learn=False).of(decided)
    return paid, _weight(sample_weight, y_true)


def _weight(sample_weight: Any, y: np.ndarray) -> np.ndarray | None:
    return None if sample_weight is None else check_sample_weight(sample_weight, y)
