"""What decisions cost."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import check_consistent_length

from stakes.costs import CostMatrix, Costs, CostTensor, check_order, make_costs, settle_columns
from stakes.metrics.intervals import FEWEST, Sums, expensive, interval_of, interval_sums
from stakes.utils._arrays import check_weights, counted, finite_array, quoted
from stakes.utils._checks import warn
from stakes.utils._collections import cluster, is_collection
from stakes.utils._frames import as_frame, check_index, is_frame, one_column
from stakes.utils._labels import as_labels, encode_labels


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
    if is_collection(y_true):
        rows = (y_true, y_pred, labels, sample_weight)
        return cluster().measure(_total_of, _sums_of_paid, _costs_of, *rows, **given)
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
    if is_collection(y_true):
        rows, serve = (y_true, y_pred, labels, sample_weight), cluster()
        return serve.measure(serve.mean_of, _sums_of_paid, _costs_of, *rows, **given)
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
    y_true = one_column(y_true)
    proba = finite_array(proba, name="proba", of="probability")
    given = {"cost_matrix": cost_matrix, "costs": costs, "cost_tensor": cost_tensor}
    labels, decisions = _settle_axes(labels, y_true, [], **given)
    width, what = len(labels), "class"
    if decisions is not None:
        width, what = len(decisions), "decision"
    if proba.shape != (len(y_true), width):
        raise ValueError(
            f"proba must have shape ({len(y_true)}, {width}), one row per example and one "
            f"column per {what}, but it has shape {proba.shape}."
        )
    check_distributions(proba)
    labels, true = encode_labels(y_true, labels)
    known: dict[str, Any] = {"to_learn": False, "in_order": True, "decisions": decisions}
    rows = make_costs(true, classes=labels, **given, **known).rows()
    paid = np.einsum("nd,nd->n", proba, rows)
    return float(np.average(paid, weights=check_weights(sample_weight, y_true)))


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
    given = {"cost_matrix": cost_matrix, "costs": costs, "cost_tensor": cost_tensor}
    if is_collection(y_true):
        serve, sums_of = cluster(), _sums_of_each if constant else _sums_of_paid
        rows = (y_true, y_pred if constant else baseline, labels, sample_weight)
        before = serve.measure(_least_mean, sums_of, _costs_of, *rows, **given)
        rows = (y_true, y_pred, labels, sample_weight)
        after = serve.measure(serve.mean_of, _sums_of_paid, _costs_of, *rows, **given)
        return serve.combine(_saved, before, after)
    y_true = one_column(y_true)
    seen = [y_pred] if constant else [y_pred, baseline]
    labels, decisions = _settle_axes(labels, y_true, [one_column(y) for y in seen], **given)
    among = labels if decisions is None else decisions
    rivals = [np.full(len(y_true), label) for label in among] if constant else [baseline]
    given |= {"sample_weight": sample_weight, "labels": labels}
    before = min(average_cost(y_true, rival, **given) for rival in rivals)
    return _saved(before, average_cost(y_true, y_pred, **given))


def cost_interval(
    y_true: Any,
    y_pred: Any,
    *,
    confidence: float = 0.95,
    cost_matrix: Any = None,
    costs: Any = None,
    cost_tensor: Any = None,
    sample_weight: Any = None,
    labels: Any = None,
) -> np.ndarray:
    r"""Return an interval for the average cost, which holds for few expensive mistakes too.

    Parameters
    ----------
    y_true, y_pred, cost_matrix, costs, cost_tensor, sample_weight, labels
        As in `total_cost`.
    confidence : float, default=0.95
        How often such intervals hold the average cost of all examples of this kind.

    Returns
    -------
    interval : ndarray of shape (2,)
        Its ends; of Dask collections lazy, to be computed.

    Notes
    -----
    Mistakes come as a Poisson variable; the upper end counts one mistake more, of the amount that
    most of the variance of these examples' dearest decisions comes from. Where fewer than five
    examples can be expensive it warns: then no interval can be trusted. From five mistakes on a 95%
    interval held in 93 to 99% of 500 simulations each, with equal amounts, log-normal ones of
    :math:`\sigma` = 1 and 1.5 and Pareto's of shape 2.5 and 1.5; with two mistakes in 88 to 99%.

    Examples
    --------
    Where every example costs the same there is no doubt:

    >>> from stakes.metrics import cost_interval
    >>> cost_interval([0, 0, 1, 1] * 5, [1, 1, 0, 0] * 5, cost_matrix=[[0, 2], [2, 0]])
    array([2., 2.])

    No mistake in 300 examples is no proof that there are none: three in a hundred, by a rule
    of thumb 3 / n, is the one-sided 95% end, and this is the two-sided one.

    >>> cost_interval([0, 1] * 150, [0, 1] * 150).round(4)
    array([0.    , 0.0123])
    """
    given = {"cost_matrix": cost_matrix, "costs": costs, "cost_tensor": cost_tensor}
    finish = partial(_interval_of, confidence=confidence)
    if is_collection(y_true):
        rows = (y_true, y_pred, labels, sample_weight)
        return cluster().measure(finish, _interval_sums, _costs_of, *rows, **given)
    read = _costs_of(y_true, y_pred, labels, sample_weight, **given)
    n_expensive = int(expensive(read[0].extreme(), read[2]).sum())
    if 0 < n_expensive < FEWEST:
        warn(
            "ST501",
            f"Only {counted(n_expensive, 'example')} can be expensive: with fewer than {FEWEST}, no "
            "interval of the cost can be trusted.",
            UserWarning,
            stacklevel=2,
        )
    return finish(_interval_sums(*read))


def _interval_sums(costs: Costs, decided: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Return the sums of what was paid, of the dearest decisions, and of what the cheapest earn."""
    each = (costs.of(decided), costs.extreme(), -costs.extreme(np.min))
    return np.array([interval_sums(values, weight) for values in each])


def _interval_of(sums: np.ndarray, confidence: float) -> np.ndarray:
    paid, dearest, cheapest = (Sums(*part) for part in sums)
    return np.array(interval_of(paid, (dearest.event(), cheapest.event()), confidence))


def _saved(before: float, after: float) -> float:
    """Return the share of a baseline's cost that is saved."""
    if before == 0:
        return 0.0 if after == 0 else -np.inf
    return float((before - after) / abs(before))


def _total_of(sums: np.ndarray) -> float:
    return float(sums[0])


def _sums_of_paid(costs: Costs, decided: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Return what decisions cost in sum, and their weight."""
    return _weighed(costs.of(decided)[None], weight)


def _sums_of_each(costs: Costs, _: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Return what each decision would cost if it were always taken, and the weight."""
    return _weighed(costs.rows().T, weight)


def _weighed(paid: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    if weight is None:
        return np.array([*paid.sum(axis=1), float(paid.shape[1])])
    return np.array([*(paid @ weight), weight.sum()])


def _least_mean(sums: np.ndarray) -> float:
    return float(sums[:-1].min() / sums[-1])


def check_distributions(proba: np.ndarray) -> None:
    """Refuse rows that are no probabilities, such as percentages."""
    if np.abs(proba.sum(axis=1) - 1).max(initial=0.0) > 1e-3 or proba.min(initial=0.0) < -1e-6:
        raise ValueError(
            "proba has rows that do not sum to 1, or negative ones: give probabilities."
        )


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
    labels = unique_labels(*ys)
    check_order(cost_matrix, labels)
    return labels


def _paid(
    y_true: Any, y_pred: Any, labels: Any, sample_weight: Any, **given: Any
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return what each decision cost, (n,), and the weights (or None)."""
    costs, decided, weight = _costs_of(y_true, y_pred, labels, sample_weight, **given)
    return costs.of(decided), weight


def _costs_of(
    y_true: Any, y_pred: Any, labels: Any, sample_weight: Any, **given: Any
) -> tuple[Costs, np.ndarray, np.ndarray | None]:
    """Return the costs, what was decided as positions, and the weights (or None)."""
    check_index(y_true=y_true, y_pred=y_pred, sample_weight=sample_weight, costs=given["costs"])
    y_true, y_pred = one_column(y_true), one_column(y_pred)
    check_consistent_length(y_true, y_pred)
    if len(y_true) == 0:
        raise ValueError("There are 0 examples: nothing was decided.")
    labels, decisions = _settle_axes(labels, y_true, [y_pred], **given)
    labels, true = encode_labels(y_true, labels)
    known = labels if decisions is None else decisions
    try:
        _, decided = encode_labels(y_pred, known)
    except ValueError:
        strange = sorted(set(y_pred.tolist()) - set(known), key=str)
        what = "classes" if decisions is None else "decisions"
        raise ValueError(
            f"y_pred has {quoted(strange)}, but the {what} are {quoted(known)}."
        ) from None
    weight = check_weights(sample_weight, y_true)
    how: dict[str, Any] = {"to_learn": False, "in_order": True, "sample_weight": weight}
    costs = make_costs(true, classes=labels, decisions=decisions, **given, **how)
    return costs, decided, weight


def _settle_axes(
    labels: Any, y_true: Any, decided: list, *, cost_matrix: Any, costs: Any, cost_tensor: Any
) -> tuple[np.ndarray, tuple | None]:
    """Return the classes, and the decisions where the costs name others; else None."""
    named = None
    if is_frame(cost_matrix):
        cost_matrix = CostMatrix.from_frame(cost_matrix)
    if isinstance(cost_matrix, CostMatrix):
        named = None if cost_matrix.decides_classes else cost_matrix.decisions
    elif is_frame(costs):
        named = as_labels(as_frame(costs).columns)
    elif isinstance(cost_tensor, CostTensor):
        named = cost_tensor.decisions
    if named is not None:
        classes = _settle_labels(labels, cost_matrix, y_true)
        known = settle_columns(named, classes)[1]
        seen = {str(label) for each in (y_true, *decided) for label in np.asarray(each).tolist()}
        if known != as_labels(classes) and set(map(str, named)) != seen:
            return classes, known
    return _settle_labels(labels, cost_matrix, y_true, *decided), None
