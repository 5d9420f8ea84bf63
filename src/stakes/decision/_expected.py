"""Expected costs and the decisions of least expected cost: pure functions on arrays."""

from typing import Any

import numpy as np

from stakes._learning.votes import expected_rows
from stakes.utils._arrays import finite_array

# How far the probabilities of a row may be from summing to one: float32 models and tables
# rounded to three digits pass, scores that are no probabilities do not.
SUM_TOLERANCE = 1e-3
NEGATIVE_TOLERANCE = 1e-6
# Rows worked on at a time, so that a block and its expected costs stay in the cache.
BLOCK_ROWS = 4096
# Of fewer rows than these the sums themselves are quicker than to see where they are needed.
FEW_ROWS = 16


def check_proba(proba: Any, *, n_classes: int | None = None) -> np.ndarray:
    """Return class probabilities as a float64 array, refusing what is none.

    Parameters
    ----------
    proba : array-like of shape (n_samples, n_classes)
        Class probabilities, one row per example.
    n_classes : int, default=None
        The number of columns that is expected.

    Returns
    -------
    proba : ndarray of shape (n_samples, n_classes)
        The same numbers.

    Examples
    --------
    >>> from stakes.decision._expected import check_proba
    >>> check_proba([[0.5, 0.4]])
    Traceback (most recent call last):
        ...
    ValueError: proba has a row that sums to 0.9 (row 0): the probabilities of each example must sum to 1.
    """
    proba = _as_table(proba, n_classes=n_classes)
    check_rows(proba)
    return proba


def check_rows(proba: np.ndarray) -> None:
    """Refuse rows that hold no probabilities."""
    for start in range(0, len(proba), BLOCK_ROWS):
        _check_block(proba[start : start + BLOCK_ROWS], start)


def expected_costs(proba: Any, cost_matrix: Any = None, *, cost_tensor: Any = None) -> np.ndarray:
    r"""Return the expected cost of each decision for each example.

    Parameters
    ----------
    proba : array-like of shape (n_samples, n_classes)
        Class probabilities. They are taken at their word, not checked to sum to one.
    cost_matrix : array-like of shape (n_classes, n_decisions), default=None
        ``cost_matrix[true, decision]``; more columns than rows are fine (a decision to
        abstain). If None and there is no `cost_tensor`, every mistake costs 1.
    cost_tensor : array-like of shape (n_samples, n_classes, n_decisions), default=None
        [example, true, decision], instead of the matrix.

    Returns
    -------
    expected : ndarray of shape (n_samples, n_decisions)
        :math:`\sum_t P(t \mid x)\, C[t, d]`, eq. (1) of O'Brien, Gupta and Gray (2008).

    Examples
    --------
    >>> from stakes.decision import expected_costs
    >>> expected_costs([[0.7, 0.2, 0.1]], [[0, 1, 1], [1, 0, 1], [20, 20, 0]]).round(3)
    array([[2.2, 2.7, 0.9]])
    """
    proba = finite_array(_as_table(proba), name="proba", of="probability")
    return expected_rows(proba, _settle_costs(proba, cost_matrix, cost_tensor))


def decide(
    proba: Any, cost_matrix: Any = None, *, cost_tensor: Any = None, check: bool = False
) -> np.ndarray:
    """Return the decision of least expected cost for each example, as a column index.

    Parameters
    ----------
    proba, cost_matrix, cost_tensor
        As in `expected_costs`.
    check : bool, default=False
        Whether to refuse rows that are no probabilities.

    Returns
    -------
    decisions : ndarray of shape (n_samples,)
        Column indices; of equal expected costs the first is taken.

    Examples
    --------
    A third class that is expensive to miss is decided at a probability of 0.1:

    >>> from stakes.decision import decide
    >>> decide([[0.7, 0.2, 0.1]], [[0, 1, 1], [1, 0, 1], [20, 20, 0]])
    array([2])
    """
    proba = _as_table(proba)
    costs = _settle_costs(proba, cost_matrix, cost_tensor)
    if check:
        check_rows(proba)
    else:
        finite_array(proba, name="proba", of="probability")
    return decide_rows(proba, costs)


def decide_rows(proba: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Return the decisions of least ``proba @ costs``, or by a matrix for each row, block by block.

    A learned matrix need not hold prices: one that serves rows of probability 1e-100 is as large as
    1e100.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.decision._expected import decide_rows
    >>> decide_rows(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.0, 1.0], [1e180, 0.0]]))
    array([0, 1])
    """
    if len(proba) < FEW_ROWS:
        return expected_rows(proba, costs).argmin(axis=1)
    decisions = np.empty(len(proba), dtype=np.intp)
    # A bound of what the order of a sum can change.
    far = 8 * proba.shape[1] * np.finfo(np.float64).eps * np.abs(proba).max() * np.abs(costs).max()
    for start in range(0, len(proba), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        if costs.ndim == 2:
            _decide_block(proba[rows], costs, far, decisions[rows])
        else:
            expected_rows(proba[rows], costs[rows]).argmin(axis=1, out=decisions[rows])
    return decisions


def _decide_block(block: np.ndarray, matrix: np.ndarray, far: float, out: np.ndarray) -> None:
    """Write the decisions of least expected cost into `out`.

    A matrix product is quick, but its last bits depend on the rows beside. Where two decisions
    are not `far` from each other, the sums of `expected_rows` decide, which do not.
    """
    expected = matrix.T @ block.T
    near = expected <= expected.min(axis=0) + far
    last = len(near) - 1
    out.fill(last)
    for decision in range(last - 1, -1, -1):
        np.copyto(out, decision, where=near[decision])
    if np.count_nonzero(near) > len(out):
        several = np.flatnonzero(np.count_nonzero(near, axis=0) > 1)
        out[several] = expected_rows(block[several], matrix).argmin(axis=1)


def _as_table(proba: Any, *, n_classes: int | None = None) -> np.ndarray:
    array = np.asarray(proba)
    if array.dtype.kind not in "fiub":
        array = finite_array(array, name="proba", of="probability")
    if array.ndim != 2:
        hint = " Stack 1 - p and p for two classes." if array.ndim == 1 else ""
        raise ValueError(
            f"proba must have shape (n_samples, n_classes), but it has shape {array.shape}.{hint}"
        )
    if array.shape[0] == 0:
        raise ValueError("proba has 0 rows: there is no example to decide.")
    if n_classes is not None and array.shape[1] != n_classes:
        raise ValueError(
            f"proba has {array.shape[1]} columns, one per class, but there are {n_classes} classes."
        )
    # in one order: the last bits of sums and powers depend on it, and one row has only one
    return np.ascontiguousarray(array, dtype=np.float64)


def _check_block(block: np.ndarray, start: int) -> None:
    """Refuse a block of rows that holds no probabilities; NaN fails both comparisons."""
    away = np.abs(block @ np.ones(block.shape[1]) - 1.0)
    if away.max() <= SUM_TOLERANCE and block.min() >= -NEGATIVE_TOLERANCE:
        return
    bad = ~np.isfinite(block) | (block < -NEGATIVE_TOLERANCE)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        value = block[row, column]
        kind = "NaN" if np.isnan(value) else "an infinite entry"
        kind = f"a negative entry, {value:.6g}," if np.isfinite(value) else kind
        raise ValueError(
            f"proba has {kind} at row {start + row}, column {column}: "
            "give probabilities, not scores."
        )
    row = int(away.argmax())
    raise ValueError(
        f"proba has a row that sums to {block[row].sum():.6g} (row {start + row}): "
        "the probabilities of each example must sum to 1."
    )


def _settle_costs(proba: np.ndarray, cost_matrix: Any, cost_tensor: Any) -> np.ndarray:
    """Return the matrix, (n_classes, n_decisions), or the tensor with a row for each example."""
    n_samples, n_classes = proba.shape
    if cost_tensor is None:
        given = 1.0 - np.eye(n_classes) if cost_matrix is None else cost_matrix
        matrix = finite_array(given, name="cost_matrix")
        if matrix.ndim != 2 or len(matrix) != n_classes:
            raise ValueError(
                f"cost_matrix must have {n_classes} rows, one per column of proba, "
                f"but it has shape {matrix.shape}."
            )
        return matrix
    if cost_matrix is not None:
        raise ValueError("Give either cost_matrix or cost_tensor, not both.")
    tensor = finite_array(cost_tensor, name="cost_tensor")
    if tensor.ndim != 3 or tensor.shape[:2] != proba.shape:
        raise ValueError(
            "cost_tensor must have shape (n_samples, n_classes, n_decisions) with "
            f"{n_samples} examples and {n_classes} classes, but it has shape {tensor.shape}."
        )
    return tensor
