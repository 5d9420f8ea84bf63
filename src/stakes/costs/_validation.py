"""The class costs that a user may give: an array, labels, a name."""

from collections import Counter
from typing import Any

import numpy as np

from stakes.costs._matrix import CostMatrix, name_decisions
from stakes.costs._read import CostWarning
from stakes.costs.arithmetic import complaints, imbalance_costs, rarity_costs
from stakes.utils import _checks
from stakes.utils._arrays import describe, finite_array, quoted
from stakes.utils._frames import is_frame
from stakes.utils._labels import are_ordered, as_labels

HEURISTICS = ("zero_one", "rarity", "imbalance")


def check_cost_matrix(
    cost_matrix: Any = None,
    *,
    classes: Any,
    y: Any = None,
    warn: bool = True,
    encoded: bool = False,
    counts: Any = None,
    decisions: Any = None,
) -> np.ndarray:
    """Return the costs as an array whose rows follow `classes`.

    Parameters
    ----------
    cost_matrix : array-like, CostMatrix, DataFrame, str or None
        An array in the order of `classes` as they are named here; a `CostMatrix` or a DataFrame (index = true,
        columns = decided), aligned by label; ``"zero_one"``, ``"rarity"`` or
        ``"imbalance"``; None for 0/1 costs.
    classes : array-like of shape (n_classes,)
        The class labels, as in `classes_`.
    y : array-like, default=None
        The true classes, as labels; the heuristics that count classes need it.
    warn : bool, default=True
        Whether an unreasonable matrix raises a `CostWarning`.
    encoded : bool, default=False
        As in `CostMatrix.align`.
    counts : array-like of shape (n_classes,), default=None
        The number of examples of each class, where `y` is not at hand.
    decisions : array-like of shape (n_decisions,), default=None
        The decisions, as in `decisions_`, where they are known already: the costs must be theirs.
        If None, those that the costs name, or the classes.

    Returns
    -------
    values : ndarray of shape (n_classes, n_decisions)
        ``values[true, decided]``.

    Examples
    --------
    >>> from stakes.costs import CostMatrix, check_cost_matrix
    >>> C = CostMatrix([[0, 1], [9, 0]], labels=["no", "ever"])
    >>> check_cost_matrix(C, classes=["ever", "no"])
    array([[0., 9.],
           [1., 0.]])
    """
    how = {"y": y, "warn": warn, "encoded": encoded, "counts": counts, "decisions": decisions}
    return read_cost_matrix(cost_matrix, classes=classes, stacklevel=4, **how)[0]


def read_cost_matrix(
    cost_matrix: Any = None,
    *,
    classes: Any,
    y: Any = None,
    warn: bool = True,
    encoded: bool = False,
    counts: Any = None,
    decisions: Any = None,
    stacklevel: int = 3,
) -> tuple[np.ndarray, tuple]:
    """Return class costs as `check_cost_matrix` does, and the decisions that its columns are."""
    classes = np.asarray(classes)
    labels = as_labels(classes)
    known = labels if decisions is None else as_labels(decisions)
    if cost_matrix is None or isinstance(cost_matrix, str):
        if known != labels:
            raise ValueError(
                f"cost_matrix={cost_matrix!r} prices decisions that are the classes, but these are "
                f"{quoted(known)}: give their prices."
            )
        return _heuristic(cost_matrix or "zero_one", classes, y, counts), labels
    if is_frame(cost_matrix):
        cost_matrix = CostMatrix.from_frame(cost_matrix)
    if isinstance(cost_matrix, CostMatrix):
        how: dict = {"encoded": encoded, "stacklevel": stacklevel + 1}
        rows, columns, known = cost_matrix.places(classes, decisions=decisions, **how)
        values = cost_matrix.values[np.ix_(rows, columns)]
    else:
        values = finite_array(cost_matrix, name="cost_matrix")
        _check_shape(values.shape, labels, known)
    if warn:
        faults = complaints(
            values, list(map(str, labels)), None if known == labels else list(map(str, known))
        )
        if faults:
            more = f" (and {len(faults) - 3} more)" if len(faults) > 3 else ""
            _checks.warn(
                "ST301",
                "cost_matrix is unreasonable: " + "; ".join(faults[:3]) + more + ".",
                CostWarning,
                stacklevel=stacklevel,
            )
    return np.array(values, dtype=np.float64), known


def class_prices(cost_matrix: Any, *, classes: Any, why: str, **how: Any) -> np.ndarray:
    """Return class costs of decisions that are the classes; others are refused, and it is said why."""
    values, decisions = read_cost_matrix(cost_matrix, classes=classes, stacklevel=4, **how)
    if decisions != as_labels(classes):
        raise ValueError(
            f"The decisions {quoted(decisions)} are not the classes {quoted(classes)}, as they must "
            f"be {why}."
        )
    return values


def _check_shape(shape: tuple, labels: tuple, known: tuple) -> None:
    """Refuse an array that does not hold a price for each class and decision."""
    if len(shape) != 2:
        hint = ": per-example costs go to fit as `costs` or `cost_tensor`"
        raise ValueError(
            f"cost_matrix must have 2 axes, true and decided, but it has {len(shape)}"
            f"{hint if len(shape) == 3 else ''}."
        )
    if shape[0] != len(labels):
        raise ValueError(
            f"cost_matrix has {shape[0]} rows, one per true class, but y has {len(labels)} classes: "
            f"{quoted(labels)}. Where y may lack a class, as rows of weight 0 are left out, give a "
            "CostMatrix with labels."
        )
    if shape[1] == len(known):
        return
    if known == labels:
        raise ValueError(
            f"cost_matrix has {shape[1]} columns, one per decision, but y has {len(labels)} "
            f"classes: {quoted(labels)}. {name_decisions(shape)}"
        )
    raise ValueError(
        f"cost_matrix has {shape[1]} columns, one per decision, but there are {len(known)} "
        f"decisions: {quoted(known)}."
    )


def check_order(cost_matrix: Any, classes: Any) -> None:
    """Refuse costs without labels where nothing but the alphabet says which class is which.

    Examples
    --------
    >>> from stakes.costs._validation import check_order
    >>> check_order([[0, 1], [5, 0]], [0, 1])
    >>> check_order([[0, 1], [1, 0]], ["bad", "good"])
    >>> check_order([[0, 1], [5, 0]], ["bad", "good"])
    Traceback (most recent call last):
        ...
    ValueError: cost_matrix has no labels, and nothing but the alphabet puts the classes ...
    """
    named = isinstance(cost_matrix, CostMatrix) and cost_matrix.labels is not None
    if cost_matrix is None or isinstance(cost_matrix, str) or is_frame(cost_matrix) or named:
        return
    values = finite_array(cost_matrix, name="cost_matrix")
    known = as_labels(classes)
    decisions = (cost_matrix.decisions if isinstance(cost_matrix, CostMatrix) else None) or known
    if values.shape != (len(known), len(decisions)) or are_ordered(known):
        return
    if decisions == known and _is_symmetric(values):
        return
    at, to = np.unravel_index(values.argmax(), values.shape)
    truth, decision, turned = known[at], decisions[to], ""
    if len(known) == 2 and decisions == known and truth != decision:
        turned = f"; the other way round, deciding {truth!r} when the truth is {decision!r} does"
    raise ValueError(
        "cost_matrix has no labels, and nothing but the alphabet puts the classes "
        f"{quoted(known)} in order: read so, deciding {decision!r} when the truth is "
        f"{truth!r} costs {describe(values[at, to])}{turned}. Name the classes: "
        "CostMatrix(values, labels=[...]), CostMatrix.binary(fp=..., fn=..., labels=[...], "
        "positive=...), or a DataFrame with the truth as its index."
    )


def _is_symmetric(values: np.ndarray) -> bool:
    """Say whether costs are the same in whatever order the classes are."""
    off = values[~np.eye(len(values), dtype=bool)]
    return bool((off == off[0]).all() and (values.diagonal() == values[0, 0]).all())


def _heuristic(name: str, classes: np.ndarray, y: Any, counts: Any) -> np.ndarray:
    if name not in HEURISTICS:
        raise ValueError(f"cost_matrix={name!r} is unknown: use one of {quoted(HEURISTICS)}.")
    if name == "zero_one":
        return 1.0 - np.eye(len(classes))
    if counts is None:
        if y is None:
            raise ValueError(
                f"cost_matrix={name!r} counts the classes of y, but no y is known here."
            )
        seen = Counter(np.asarray(y).tolist())
        counts = [seen[c] for c in classes.tolist()]
    counts = np.asarray(counts)
    if (counts == 0).any():
        raise ValueError(
            f"cost_matrix={name!r} counts the classes of y, but y has no "
            f"{quoted(classes[counts == 0])}."
        )
    return rarity_costs(counts) if name == "rarity" else imbalance_costs(counts)
