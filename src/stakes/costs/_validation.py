"""The class costs that a user may give: an array, labels, a name."""

import warnings
from collections import Counter
from typing import Any

import numpy as np

from stakes.costs._matrix import CostMatrix, CostWarning
from stakes.costs.arithmetic import complaints, imbalance_costs, rarity_costs
from stakes.utils._arrays import finite_array, quoted
from stakes.utils._frames import is_frame

HEURISTICS = ("zero_one", "rarity", "imbalance")


def check_cost_matrix(
    cost_matrix: Any = None,
    *,
    classes: Any,
    y: Any = None,
    warn: bool = True,
    encoded: bool = False,
    counts: Any = None,
) -> np.ndarray:
    """Return the costs as an array whose rows and columns follow `classes`.

    Parameters
    ----------
    cost_matrix : array-like, CostMatrix, DataFrame, str or None
        An array in the order of `classes`; a `CostMatrix` or a DataFrame (index = true,
        columns = predicted), aligned by label; ``"zero_one"``, ``"rarity"`` or
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

    Returns
    -------
    values : ndarray of shape (n_classes, n_classes)
        ``values[true, predicted]``.

    Examples
    --------
    >>> from stakes.costs import CostMatrix, check_cost_matrix
    >>> C = CostMatrix([[0, 1], [9, 0]], labels=["no", "ever"])
    >>> check_cost_matrix(C, classes=["ever", "no"])
    array([[0., 9.],
           [1., 0.]])
    """
    classes = np.asarray(classes)
    n_classes = len(classes)
    if cost_matrix is None or isinstance(cost_matrix, str):
        return _heuristic(cost_matrix or "zero_one", classes, y, counts)
    if is_frame(cost_matrix):
        cost_matrix = CostMatrix.from_frame(cost_matrix)
    if isinstance(cost_matrix, CostMatrix):
        values = cost_matrix.align(classes, encoded=encoded)
    else:
        values = finite_array(cost_matrix, name="cost_matrix")
        if values.ndim != 2:
            hint = ": per-example costs go to fit as `costs` or `cost_tensor`"
            raise ValueError(
                f"cost_matrix must have 2 axes, true and predicted, but it has {values.ndim}"
                f"{hint if values.ndim == 3 else ''}."
            )
        for axis, meaning in enumerate(("rows, one per true class", "columns, one per decision")):
            if values.shape[axis] != n_classes:
                raise ValueError(
                    f"cost_matrix has {values.shape[axis]} {meaning}, "
                    f"but y has {n_classes} classes: {quoted(classes)}. Where y may lack a "
                    "class, give a CostMatrix with labels."
                )
    if warn:
        found = complaints(values, [str(c) for c in classes])
        if found:
            more = f" (and {len(found) - 3} more)" if len(found) > 3 else ""
            warnings.warn(
                "cost_matrix is unreasonable: " + "; ".join(found[:3]) + more + ".",
                CostWarning,
                stacklevel=3,
            )
    return np.array(values, dtype=np.float64)


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
