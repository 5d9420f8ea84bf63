"""The only places that look at the shapes of costs."""

import warnings
from typing import Any

import numpy as np

from stakes.costs._arrays import finite_array, quoted
from stakes.costs._matrix import (
    CostMatrix,
    CostWarning,
    average_cost_rows,
    complaints,
    imbalance_costs,
    rarity_costs,
    shift_rows,
)

HEURISTICS = ("zero_one", "rarity", "imbalance")


def check_cost_matrix(cost_matrix: Any = None, *, classes: Any, y: Any = None, warn: bool = True):
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
        return _heuristic(cost_matrix or "zero_one", classes, y)
    if hasattr(cost_matrix, "columns") and hasattr(cost_matrix, "index"):
        cost_matrix = CostMatrix.from_frame(cost_matrix)
    if isinstance(cost_matrix, CostMatrix):
        values = cost_matrix.align(classes)
    else:
        values = finite_array(cost_matrix, name="cost_matrix")
        if values.ndim != 2:
            raise ValueError(
                f"cost_matrix must have 2 axes, true and predicted, but it has {values.ndim}"
                + (
                    ": per-example costs go to fit as `costs` or `cost_tensor`."
                    if values.ndim == 3
                    else "."
                )
            )
        for axis, meaning in enumerate(("rows, one per true class", "columns, one per decision")):
            if values.shape[axis] != n_classes:
                raise ValueError(
                    f"cost_matrix has {values.shape[axis]} {meaning}, "
                    f"but y has {n_classes} classes: {quoted(classes)}."
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


def _heuristic(name: str, classes: np.ndarray, y: Any) -> np.ndarray:
    if name not in HEURISTICS:
        raise ValueError(f"cost_matrix={name!r} is unknown: use one of {quoted(HEURISTICS)}.")
    if name == "zero_one":
        return 1.0 - np.eye(len(classes))
    if y is None:
        raise ValueError(f"cost_matrix={name!r} counts the classes of y, but no y is known here.")
    seen, counts = np.unique(np.asarray(y), return_counts=True)
    table = dict(zip(seen.tolist(), counts.tolist()))
    counts = np.array([table.get(c, 0) for c in classes.tolist()])
    if (counts == 0).any():
        raise ValueError(
            f"cost_matrix={name!r} counts the classes of y, but y has no "
            f"{quoted(classes[counts == 0])}."
        )
    return rarity_costs(counts) if name == "rarity" else imbalance_costs(counts)


def check_costs(
    costs: Any, *, n_samples: int, classes: Any, name: str = "costs", columns: int | None = None
):
    """Return per-example costs as a finite float array of the right shape.

    Parameters
    ----------
    costs : array-like or DataFrame
        ``costs`` of shape (n_samples, n_classes): what each decision costs for this
        example; or, with ``name="cost_tensor"``, (n_samples, n_classes, n_classes):
        [example, true, predicted]. The columns of a DataFrame are aligned with `classes`.
    n_samples : int
        The number of rows of X.
    classes : array-like of shape (n_classes,)
        The class labels, as in `classes_`.
    name : {"costs", "cost_tensor"}, default="costs"
        What is checked; it also names the array in error messages.
    columns : int, default=None
        The number of decisions where it is not the number of classes.

    Returns
    -------
    costs : ndarray
        The same, as float64.

    Examples
    --------
    >>> from stakes.costs import check_costs
    >>> check_costs([[0, 2], [5, 0]], n_samples=2, classes=["a", "b"])
    array([[0., 2.],
           [5., 0.]])
    >>> check_costs([[0, 2]], n_samples=2, classes=["a", "b"])
    Traceback (most recent call last):
        ...
    ValueError: costs has 1 rows, one per example, but X has 2.
    """
    classes = np.asarray(classes)
    n_classes = len(classes)
    if hasattr(costs, "columns"):
        costs = _aligned_columns(costs, classes, name)
    array = finite_array(costs, name=name)
    ndim = 3 if name == "cost_tensor" else 2
    if array.ndim != ndim:
        wanted = "(n_samples, n_classes)" if ndim == 2 else "(n_samples, n_classes, n_classes)"
        hint = ""
        if ndim == 2 and array.ndim == 3:
            hint = " Costs by [example, true, predicted] are called cost_tensor."
        elif ndim == 2 and array.ndim == 1:
            hint = " One weight per example is called sample_weight."
        raise ValueError(f"{name} must have shape {wanted}, but it has shape {array.shape}.{hint}")
    if array.shape[0] != n_samples:
        raise ValueError(
            f"{name} has {array.shape[0]} rows, one per example, but X has {n_samples}."
        )
    if ndim == 3 and array.shape[1] != n_classes:
        raise ValueError(
            f"{name} has {array.shape[1]} true classes on its second axis, "
            f"but there are {n_classes}: {quoted(classes)}."
        )
    if array.shape[-1] != (columns or n_classes):
        raise ValueError(
            f"{name} has {array.shape[-1]} columns, one per decision, "
            f"but there are {n_classes} classes: {quoted(classes)}."
        )
    return array


def _aligned_columns(frame, classes: np.ndarray, name: str):
    labels = frame.columns.tolist()
    wanted = classes.tolist()
    if set(labels) == set(wanted):
        return frame[wanted].to_numpy()
    if {str(label) for label in labels} == {str(w) for w in wanted}:
        by_text = {str(label): label for label in labels}
        return frame[[by_text[str(w)] for w in wanted]].to_numpy()
    raise ValueError(
        f"The columns of {name} are {quoted(labels)}, but the classes are {quoted(wanted)}."
    )


class TrainingCosts:
    """The costs that a learner trains on: a class matrix, or one row per example.

    Where class costs suffice nothing of shape (n, K) is kept: `matrix` and `y` say it all.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        The true classes as positions in `classes_`.
    matrix : ndarray of shape (n_classes, n_classes), default=None
        Class costs.
    costs : ndarray of shape (n_samples, n_classes), default=None
        Example costs; exactly one of the two is given.
    """

    def __init__(self, y, matrix=None, costs=None):
        self.y = y
        self.matrix = matrix
        self.costs = costs

    @property
    def by_class(self) -> bool:
        """Whether the costs depend on the true class alone."""
        return self.matrix is not None

    @property
    def n_classes(self) -> int:
        """The number of decisions."""
        return (self.matrix if self.by_class else self.costs).shape[1]

    def __len__(self) -> int:
        return len(self.y)

    def rows(self, indices=None) -> np.ndarray:
        """Return the cost rows of the examples, (n, K), as they were given."""
        if self.by_class:
            return self.matrix[self.y if indices is None else self.y[indices]]
        return self.costs if indices is None else self.costs[indices]

    def shifted_rows(self, indices=None) -> np.ndarray:
        """Return the cost rows with the least cost of each row at 0."""
        if self.by_class:
            return shift_rows(self.matrix)[self.y if indices is None else self.y[indices]]
        return shift_rows(self.rows(indices))

    def of(self, decisions: np.ndarray) -> np.ndarray:
        """Return what the decisions (positions in `classes_`) cost, (n,)."""
        if self.by_class:
            return self.matrix[self.y, decisions]
        return np.take_along_axis(self.costs, np.asarray(decisions)[:, None], axis=1)[:, 0]

    def class_matrix(self) -> np.ndarray:
        """Return the (K, K) costs: the matrix, or the mean row of each true class."""
        if self.by_class:
            return self.matrix
        return average_cost_rows(self.costs, self.y)

    def take(self, indices) -> "TrainingCosts":
        """Return the costs of some of the examples."""
        costs = None if self.costs is None else self.costs[indices]
        return TrainingCosts(self.y[indices], self.matrix, costs)

    def __repr__(self) -> str:
        kind = "class" if self.by_class else "example"
        return f"TrainingCosts({kind} costs, {len(self)} examples, {self.n_classes} classes)"


def resolve_costs(y, *, classes, cost_matrix=None, costs=None, cost_tensor=None) -> TrainingCosts:
    """Settle which costs are in force and check them; `y` holds positions in `classes`.

    At most one of the three may be given; with none of them, 0/1 costs.
    """
    given = [
        name
        for name, value in (
            ("cost_matrix", cost_matrix),
            ("costs", costs),
            ("cost_tensor", cost_tensor),
        )
        if value is not None
    ]
    if len(given) > 1:
        raise ValueError(f"Give either {' or '.join(given)}, not both.")
    classes = np.asarray(classes)
    y = np.asarray(y)
    if costs is not None:
        costs = check_costs(costs, n_samples=len(y), classes=classes)
    elif cost_tensor is not None:
        tensor = check_costs(cost_tensor, n_samples=len(y), classes=classes, name="cost_tensor")
        costs = tensor[np.arange(len(y)), y]
    else:
        matrix = check_cost_matrix(cost_matrix, classes=classes, y=classes[y])
        _refuse_all_equal(matrix, "cost_matrix")
        return TrainingCosts(y, matrix=matrix)
    _refuse_all_equal(costs, given[0])
    return TrainingCosts(y, costs=costs)


def _refuse_all_equal(costs: np.ndarray, name: str) -> None:
    if (costs == costs[:, :1]).all():
        what = (
            "is all zero"
            if not costs.any()
            else "has the same cost for every decision in each row"
        )
        raise ValueError(
            f"{name} {what}: every decision costs the same, so there is nothing to learn."
        )
