"""Data sets that need no file: scikit-learn's own, and those made from a rule."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stakes.datasets._catalogue import TARGET, Entry


def builtin_table(entry: Entry) -> Any:
    """Return the features and the target of a built-in set as one DataFrame."""
    import pandas as pd

    values, labels = _MAKERS[entry.name]()
    table = pd.DataFrame(values, columns=list(entry.features))
    table[TARGET] = pd.Series(labels, dtype=str)
    return table


def balance_scale() -> tuple[np.ndarray, np.ndarray]:
    """Weigh every combination of weights and distances from 1 to 5: 625 rows.

    The side with the greater weight times distance goes down.

    Examples
    --------
    Weight 1 at distance 2 on the left against weight 1 at distance 1: the left goes down.

    >>> from stakes.datasets._builtin import balance_scale
    >>> rows, sides = balance_scale()
    >>> sides[(rows == [1, 2, 1, 1]).all(axis=1)]
    array(['L'], dtype='<U1')
    """
    steps = np.arange(1, 6)
    grid = np.stack(np.meshgrid(steps, steps, steps, steps, indexing="ij"), axis=-1)
    rows = grid.reshape(-1, 4)
    tilt = np.sign(rows[:, 0] * rows[:, 1] - rows[:, 2] * rows[:, 3])
    return rows.astype(float), np.array(["R", "B", "L"])[tilt + 1]


def cheque_costs(n_amounts: int = 10) -> np.ndarray:
    """Return what it costs to read the amount d where t was written, ``[t, d]``.

    Paying too much loses the difference; paying too little costs a complaint: 0.3 of
    the difference and a flat 0.5.

    Examples
    --------
    A 1 read as 3 loses 2; a 3 read as 1 costs 0.3 * 2 + 0.5.

    >>> from stakes.datasets._builtin import cheque_costs
    >>> cheque_costs(4)[[1, 3], [3, 1]]
    array([2. , 1.1])
    """
    amounts = np.arange(n_amounts, dtype=float)
    over = amounts[None, :] - amounts[:, None]
    # Multiples of 0.1: rounding rids them of the noise of binary fractions.
    return np.where(over >= 0, over, np.round(0.5 - 0.3 * over, 1))


def _from_sklearn(name: str, labels: list) -> tuple[np.ndarray, np.ndarray]:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    return bunch.data, np.array(labels)[bunch.target]


_MAKERS: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "balance": balance_scale,
    "cheques": partial(_from_sklearn, "digits", list(range(10))),
    "digits": partial(_from_sklearn, "digits", list(range(10))),
    "iris": partial(_from_sklearn, "iris", ["setosa", "versicolor", "virginica"]),
    "wdbc": partial(_from_sklearn, "breast_cancer", ["M", "B"]),
    "wine": partial(_from_sklearn, "wine", [1, 2, 3]),
}
