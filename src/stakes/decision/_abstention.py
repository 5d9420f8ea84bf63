"""Not to decide, as one more decision."""

from typing import Any

import numpy as np

from stakes.utils._arrays import finite_array, quoted


def check_abstention(cost: Any, label: Any, classes: np.ndarray) -> tuple[np.ndarray, Any]:
    """Return what abstaining costs for each true class, and the label it is returned as.

    Parameters
    ----------
    cost : float or array-like of shape (n_classes,)
        What it costs not to decide, always or for each true class.
    label : object or None
        The label of an abstention; None for -1 among numbers and ``"abstain"`` among text.
    classes : ndarray of shape (n_classes,)
        The class labels; the label must be of their kind and none of them.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.decision._abstention import check_abstention
    >>> check_abstention(0.5, None, np.array([0, 1]))
    (array([0.5, 0.5]), -1)
    """
    n_classes = len(classes)
    costs = finite_array(cost, name="abstain_cost")
    if costs.ndim > 1 or (costs.ndim == 1 and len(costs) != n_classes):
        raise ValueError(
            f"abstain_cost must be a number or one number per class ({n_classes}), "
            f"but it has shape {costs.shape}."
        )
    text = classes.dtype.kind in "OUS"
    if label is None:
        label = "abstain" if text else -1
    if label in classes.tolist():
        raise ValueError(f"abstain_label={label!r} is a class of y: choose a label that is none.")
    if isinstance(label, str) != text and classes.dtype.kind != "O":
        raise ValueError(
            f"abstain_label={label!r} is not of the kind of the classes, {quoted(classes)}."
        )
    return np.broadcast_to(costs, (n_classes,)).astype(np.float64), label
