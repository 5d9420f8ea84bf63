"""What has to be known of all rows before learning begins: how many, of which classes."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets

from stakes.cluster.partitions import Partitions, gather, on_rows
from stakes.costs import Choices, settle_columns
from stakes.utils._arrays import check_weights
from stakes.utils._frames import as_frame, is_frame, one_column
from stakes.utils._labels import as_labels

# Of a row: its class, its weight, its costs.
FACTS = ("y", "sample_weight", "costs", "cost_tensor")
# Whole numbers that lie no further apart are counted in a table.
MOST_COUNTED = 2**16


class Part(NamedTuple):
    """What is known of a partition."""

    n_rows: int
    n_weighed: int
    labels: np.ndarray
    counts: np.ndarray
    weights: np.ndarray
    cost_sums: np.ndarray | None
    columns: tuple | None
    all_same: bool


@dataclass
class Survey:
    """Collections to learn from, and what is known of their rows.

    Attributes
    ----------
    client : distributed.Client
        Of the cluster.
    data : Partitions
        X, y and what else was given.
    sizes, weighed : ndarray of shape (n_parts,)
        Rows of each partition, and those whose weight is not 0.
    classes : ndarray of shape (n_classes,)
        The class labels.
    counts, weights : ndarray of shape (n_classes,)
        Rows of each class, and their weight.
    class_matrix : ndarray of shape (n_classes, n_decisions) or None
        The mean costs of the rows of each class, if rows have costs.
    all_same : bool
        Whether every decision costs the same in each row.
    columns : list of int or None
        Where the columns of named costs stand in the order of the decisions.
    choices : Choices or None
        What may be decided, where costs name something else than the classes.
    """

    client: Any
    data: Partitions
    sizes: np.ndarray
    weighed: np.ndarray
    classes: np.ndarray
    counts: np.ndarray
    weights: np.ndarray
    class_matrix: np.ndarray | None
    all_same: bool
    columns: list[int] | None = None
    choices: Choices | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.sizes.sum())

    @property
    def n_weighed(self) -> int:
        """The number of rows whose weight is not 0."""
        return int(self.weighed.sum())

    @property
    def filled(self) -> list[int]:
        """The partitions that have rows."""
        return np.flatnonzero(self.sizes).tolist()


def survey(client: Any, data: Partitions) -> Survey:
    """Look at the classes, weights and costs of all rows, each partition where it is."""
    parts: list[Part] = gather(client, data.map(client, _survey_part, names=FACTS))
    sizes = np.array([part.n_rows for part in parts])
    if not sizes.any():
        raise ValueError("Every partition of y is empty: there is nothing to learn from.")
    filled = [part for part in parts if part.n_rows]
    classes = np.unique(np.concatenate([part.labels for part in filled]))
    counts, weights = np.zeros(len(classes), dtype=np.int64), np.zeros(len(classes))
    sums, named = None, filled[0].columns
    for part in filled:
        if part.columns != named:
            raise ValueError(
                "The partitions of costs have other columns, or another order of them."
            )
        at = np.searchsorted(classes, part.labels)
        counts[at] += part.counts
        weights[at] += part.weights
        if part.cost_sums is not None:
            brought = part.cost_sums
            sums = np.zeros((len(classes), brought.shape[-1])) if sums is None else sums
            sums[at] += brought if brought.ndim == 2 else brought[np.arange(len(at)), at]
    weighed = np.array([part.n_weighed for part in parts])
    if not weighed.any():
        raise ValueError("sample_weight is all zero: no example counts.")
    means = None
    if sums is not None:
        weighs = weights[:, None] > 0
        means = np.divide(sums, weights[:, None], out=np.zeros_like(sums), where=weighs)
    all_same = all(part.all_same for part in filled)
    seen = Survey(client, data, sizes, weighed, classes, counts, weights, means, all_same)
    if named is not None and means is not None:
        seen.columns, decisions = settle_columns(named, classes)
        seen.choices = Choices.of(decisions, classes)
        seen.class_matrix = means[:, seen.columns]
    return seen


@on_rows
def _survey_part(number: int, given: dict) -> Part:
    y = one_column(given["y"])
    if not len(y):
        nothing = np.empty(0, dtype=np.int64)
        return Part(0, 0, y, nothing, nothing, None, None, True)
    assert_all_finite(y, input_name="y")
    labels, counts = count_labels(y)
    check_classification_targets(labels)
    for name, values in given.items():
        if len(values) != len(y):
            raise ValueError(
                f"Partition {number} of {name} has {len(values)} rows, but that of y has {len(y)}."
            )
    weight = read_weights(given, y)
    n_weighed, weights = len(y), counts
    places = label_positions(labels, y)
    if weight is not None:
        n_weighed = int(np.count_nonzero(weight))
        weights = np.bincount(places, weight, minlength=len(labels))
    rows = cost_rows(given, None)
    if rows is None:
        return Part(len(y), n_weighed, labels, counts, weights, None, None, False)
    named = given.get("costs")
    columns = as_labels(as_frame(named).columns) if is_frame(named) else None
    # of a tensor the class picks the row, but its place among all classes is not known yet
    sums = np.zeros((len(labels), *rows.shape[1:]))
    counted = rows if weight is None else rows * weight.reshape(-1, *[1] * (rows.ndim - 1))
    np.add.at(sums, places, counted)
    all_same = bool((rows == rows[..., :1]).all())
    return Part(len(y), n_weighed, labels, counts, weights, sums, columns, all_same)


def count_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels in order, and how often they occur.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.cluster._survey import count_labels
    >>> count_labels(np.array([7, -3, 7], dtype=np.int8))
    (array([-3,  7], dtype=int8), array([1, 2]))
    """
    import pandas as pd

    if y.dtype.kind == "i":
        low, high = int(y.min()), int(y.max())
        if high - low < MOST_COUNTED:
            counts = np.bincount(np.subtract(y, low, dtype=np.int64))
            filled = np.flatnonzero(counts)
            return (filled + low).astype(y.dtype), counts[filled]
    codes, given = pd.factorize(y)
    if codes.min() < 0:  # something is missing: it is told as always
        return np.unique(y, return_counts=True)
    labels, places = np.unique(np.asarray(given, dtype=y.dtype), return_inverse=True)
    return labels, np.bincount(places[codes])


def label_positions(labels: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return where each of y stands among labels, which are in order and lack none.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.cluster._survey import label_positions
    >>> label_positions(np.array([2, 5]), np.array([5, 5, 2]))
    array([1, 1, 0])
    """
    import pandas as pd

    if labels.dtype.kind != "i" or y.dtype.kind != "i":
        return np.searchsorted(labels, y)
    places = pd.Index(labels).get_indexer(y)  # four times as fast
    if (places < 0).any():
        raise ValueError(
            f"y has the label {y[places < 0][0]}, which it had not when its classes were counted: "
            "its partitions must be the same each time that they are made. Persist it first."
        )
    return places


def read_weights(given: dict, y: np.ndarray) -> np.ndarray | None:
    """Return the weights of a partition's rows, checked; here all may be 0."""
    if "sample_weight" not in given:
        return None
    weight = np.asarray(one_column(given["sample_weight"]), dtype=np.float64)
    return check_weights(weight, y) if weight.any() else weight


def cost_rows(
    given: dict, codes: np.ndarray | None, columns: list[int] | None = None
) -> np.ndarray | None:
    """Return the costs of a partition's rows as an array: of a tensor, those that `codes` pick."""
    if "costs" in given:
        rows = np.asarray(as_frame(given["costs"]), dtype=np.float64)
        return rows if columns is None else rows[:, columns]
    if "cost_tensor" not in given:
        return None
    tensor = np.asarray(given["cost_tensor"], dtype=np.float64)
    return tensor if codes is None else tensor[np.arange(len(codes)), codes]
