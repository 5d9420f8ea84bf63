"""The costs of single examples: their shape, and nothing else."""

from typing import Any

import numpy as np

from stakes.utils._arrays import finite_array, quoted
from stakes.utils._frames import as_frame, is_frame
from stakes.utils._labels import as_labels, label_positions


def check_costs(
    costs: Any, *, n_samples: int, classes: Any, name: str = "costs", columns: int | None = None
) -> np.ndarray:
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
    if is_frame(costs):
        costs = _aligned_columns(as_frame(costs), classes, name)
    array = finite_array(costs, name=name)
    ndim = 3 if name == "cost_tensor" else 2
    if array.ndim != ndim:
        wanted = "(n_samples, n_classes)" if ndim == 2 else "(n_samples, n_classes, n_classes)"
        hints = {
            (2, 3): " Costs by [example, true, predicted] are called cost_tensor.",
            (2, 1): " One weight per example is called sample_weight.",
        }
        hint = hints.get((ndim, array.ndim), "")
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


def _aligned_columns(frame: Any, classes: np.ndarray, name: str) -> np.ndarray:
    labels, wanted = as_labels(frame.columns), as_labels(classes)
    position = label_positions(labels, wanted)
    if len(labels) != len(wanted) or len(position) < len(wanted):
        raise ValueError(
            f"The columns of {name} are {quoted(labels)}, but the classes are {quoted(wanted)}."
        )
    return frame.to_numpy()[:, [position[w] for w in wanted]]
