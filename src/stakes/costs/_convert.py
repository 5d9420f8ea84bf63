"""Converters from the forms in which people already have per-example costs."""

from typing import Any

import numpy as np

from stakes.utils._arrays import finite_array


def binary_cost_tensor(
    *,
    fp_cost: Any,
    fn_cost: Any,
    tp_cost: Any = 0.0,
    tn_cost: Any = 0.0,
    n_samples: int | None = None,
) -> np.ndarray:
    """Build the `cost_tensor` of a two-class problem; the second class is the positive one.

    Parameters
    ----------
    fp_cost, fn_cost, tp_cost, tn_cost : float or array-like of shape (n_samples,)
        The cost of a false positive, false negative, true positive and true negative,
        for all examples or for each.
    n_samples : int, default=None
        The number of examples; needed only where all four are numbers.

    Returns
    -------
    cost_tensor : ndarray of shape (n_samples, 2, 2)
        [example, true, predicted].

    Examples
    --------
    A false alarm costs 2; a missed fraud costs the amount:

    >>> from stakes.costs import binary_cost_tensor
    >>> binary_cost_tensor(fp_cost=2, fn_cost=[50, 900])
    array([[[  0.,   2.],
            [ 50.,   0.]],
           [[  0.,   2.],
            [900.,   0.]]])
    """
    given = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
    arrays = {name: finite_array(value, name=name) for name, value in given.items()}
    for name, array in arrays.items():
        if array.ndim > 1:
            raise ValueError(
                f"{name} must be a number or one number per example, but has shape {array.shape}."
            )
    lengths = {name: len(a) for name, a in arrays.items() if a.ndim == 1}
    if n_samples is not None:
        lengths["n_samples"] = n_samples
    if not lengths:
        raise ValueError(
            "All four costs are single numbers: say n_samples, or use CostMatrix.binary."
        )
    if len(set(lengths.values())) > 1:
        raise ValueError(f"The costs have different lengths: {lengths}.")
    order = ("tn_cost", "fp_cost", "fn_cost", "tp_cost")
    n = next(iter(lengths.values()))
    columns = [np.broadcast_to(arrays[name], n) for name in order]
    return np.stack(columns, axis=1).reshape(n, 2, 2)


def cost_tensor_from_columns(columns: Any) -> np.ndarray:
    """Build the `cost_tensor` from (n, 4) columns in the order FP, FN, TP, TN.

    Examples
    --------
    >>> from stakes.costs import cost_tensor_from_columns
    >>> cost_tensor_from_columns([[2, 50, 1, 0]])
    array([[[ 0.,  2.],
            [50.,  1.]]])
    """
    array = finite_array(columns, name="columns")
    if array.ndim != 2 or array.shape[1] != 4:
        raise ValueError(
            f"The columns FP, FN, TP, TN make an (n, 4) array, but this one has shape {array.shape}."
        )
    fp, fn, tp, tn = array.T
    return binary_cost_tensor(fp_cost=fp, fn_cost=fn, tp_cost=tp, tn_cost=tn)
