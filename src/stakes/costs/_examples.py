"""The costs of single examples: their shape, and nothing else."""

from typing import Any

import numpy as np

from stakes.costs._choices import settle_columns, warn_of_misspelling
from stakes.utils._arrays import finite_array, quoted
from stakes.utils._frames import as_frame, is_frame
from stakes.utils._labels import as_labels


class CostTensor(np.ndarray):
    """Costs by [example, true, decided] whose decisions have names of their own.

    An array that remembers what its last axis is; rows that are taken of it remember, too.

    Parameters
    ----------
    values : array-like of shape (n_samples, n_classes, n_decisions)
        ``values[i, t, d]`` is what deciding ``d`` costs for example ``i`` when the truth is ``t``;
        truths are in the order of `classes_`.
    decisions : array-like of shape (n_decisions,)
        The decisions, in the order of the last axis.

    Examples
    --------
    Two payments, of 50 and 900, that are honest or not; approving a fraud costs the amount:

    >>> from stakes.costs import CostTensor
    >>> tensor = CostTensor([[[0, 3], [50, 3]], [[0, 3], [900, 3]]], ["approve", "review"])
    >>> tensor[1:].shape, tensor[1:].decisions
    ((1, 2, 2), ('approve', 'review'))
    """

    decisions: tuple | None

    def __new__(cls, values: Any, decisions: Any) -> "CostTensor":
        made = np.asarray(values, dtype=np.float64).view(cls)
        made.decisions = as_labels(decisions)
        if made.ndim != 3 or made.shape[2] != len(made.decisions):
            raise ValueError(
                f"A cost tensor has the axes example, true and decided, the last as long as there "
                f"are decisions ({len(made.decisions)}), but this one has shape {made.shape}."
            )
        return made

    def __array_finalize__(self, of: Any) -> None:
        named = getattr(of, "decisions", None)
        whole = named is not None and self.ndim == 3 and self.shape[2] == len(named)
        self.decisions = named if whole else None

    def __reduce__(self) -> tuple:
        return CostTensor, (np.asarray(self), self.decisions)


def check_costs(
    costs: Any,
    *,
    n_samples: int,
    classes: Any,
    name: str = "costs",
    columns: int | None = None,
    decisions: Any = None,
) -> np.ndarray:
    """Return per-example costs as a finite float array of the right shape.

    Parameters
    ----------
    costs : array-like or DataFrame
        ``costs`` of shape (n_samples, n_decisions): what each decision costs for this
        example; or, with ``name="cost_tensor"``, (n_samples, n_classes, n_decisions):
        [example, true, decided]. The columns of a DataFrame, and the last axis of a
        `CostTensor`, are aligned with the decisions.
    n_samples : int
        The number of rows of X.
    classes : array-like of shape (n_classes,)
        The class labels, as in `classes_`.
    name : {"costs", "cost_tensor"}, default="costs"
        What is checked; it also names the array in error messages.
    columns : int, default=None
        The number of decisions of an array, where it is not that of `decisions`.
    decisions : array-like of shape (n_decisions,), default=None
        The decisions, as in `decisions_`. If None, those that the costs name, or the classes.

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
    how: dict = {"n_samples": n_samples, "classes": classes, "decisions": decisions}
    return read_costs(costs, name=name, columns=columns, **how)[0]


def read_costs(
    costs: Any,
    *,
    n_samples: int,
    classes: Any,
    name: str = "costs",
    columns: int | None = None,
    decisions: Any = None,
) -> tuple[np.ndarray, tuple]:
    """Return per-example costs as `check_costs` does, and the decisions that its columns are."""
    ndim = 3 if name == "cost_tensor" else 2
    labels = as_labels(classes)
    known = labels if decisions is None else as_labels(decisions)
    named = costs.decisions if isinstance(costs, CostTensor) else None
    if is_frame(costs):
        costs = as_frame(costs)
        named, costs = costs.columns, costs.to_numpy()
    array = finite_array(costs, name=name)
    if array.ndim != ndim:
        wanted = "(n_samples, n_decisions)" if ndim == 2 else "(n_samples, n_classes, n_decisions)"
        hints = {
            (2, 3): " Costs by [example, true, decided] are called cost_tensor.",
            (2, 1): " One weight per example is called sample_weight.",
        }
        hint = hints.get((ndim, array.ndim), "")
        raise ValueError(f"{name} must have shape {wanted}, but it has shape {array.shape}.{hint}")
    if array.shape[0] != n_samples:
        raise ValueError(
            f"{name} has {array.shape[0]} rows, one per example, but X has {n_samples}."
        )
    if ndim == 3 and array.shape[1] != len(labels):
        raise ValueError(
            f"{name} has {array.shape[1]} true classes on its second axis, "
            f"but there are {len(labels)}: {quoted(labels)}."
        )
    if named is not None:
        order, known = settle_columns(named, labels, decisions, name=name)
        if decisions is None:
            warn_of_misspelling(labels, known)
        return array[..., order], known
    if array.shape[-1] != (columns or len(known)):
        raise ValueError(
            f"{name} has {array.shape[-1]} columns, one per decision, but there are "
            + (
                f"{len(labels)} classes: {quoted(labels)}. {NAME_THEM[name]}"
                if decisions is None
                else f"{len(known)} decisions: {quoted(known)}."
            )
        )
    return np.asarray(array), known


# The line that names the decisions of costs of examples.
NAME_THEM = {
    "costs": "Where decisions are not the classes, name them: give a DataFrame with a column for "
    "each decision.",
    "cost_tensor": "Where decisions are not the classes, name them: CostTensor(cost_tensor, "
    "decisions=[...]).",
}
