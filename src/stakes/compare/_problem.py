"""The data and the costs that a comparison is about."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from stakes.costs import Costs, make_costs, truth_of_costs
from stakes.tables import TableWarning, find_identifiers
from stakes.utils._arrays import check_is_table, columns_by_name, counted, quoted
from stakes.utils._checks import warn
from stakes.utils._frames import as_frame, check_index, is_frame, is_sparse, one_column
from stakes.utils._labels import as_labels
from stakes.utils._sklearn import num_samples


@dataclass
class Problem:
    """Examples, the classes, and what decisions about the examples cost.

    Parameters
    ----------
    X : DataFrame, array or sparse matrix
        The examples; None where their costs alone are of interest.
    classes : ndarray of shape (n_classes,)
        The class labels.
    costs : Costs
        The costs; ``costs.y`` are the true classes as positions.
    left_out : tuple of str
        Columns of X that no method learns from: they tell rows apart.
    knows_truth : bool
        Whether the classes were given; if not, the cheapest decision of each row stands for its class.
    """

    X: Any
    classes: np.ndarray
    costs: Costs
    left_out: tuple[str, ...] = ()
    knows_truth: bool = True

    @property
    def features(self) -> Any:
        """The table without the columns that are left out."""
        if self.X is None or not self.left_out:
            return self.X
        return self.X.drop(columns=list(self.left_out))

    @property
    def y(self) -> np.ndarray:
        """The true classes as positions in `classes`."""
        return self.costs.y

    @property
    def decisions(self) -> tuple:
        """The labels of what can be decided: the classes, where nothing else was said."""
        choices = self.costs.choices
        return as_labels(self.classes) if choices is None else choices.labels

    @property
    def n_samples(self) -> int:
        """The number of examples."""
        return len(self.costs)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.classes)

    def take(self, rows: np.ndarray) -> "Problem":
        """Return some of the examples."""
        return replace(self, X=self.table_of(rows), costs=self.costs.take(rows))

    def table_of(self, rows: np.ndarray) -> Any:
        """Return the table of some of the examples."""
        return self.X.iloc[rows] if is_frame(self.X) else self.X[rows]

    def fingerprint(self) -> str:
        """Return a short name of exactly these data and costs."""
        digest = hashlib.sha256()
        _feed(digest, self.X)
        costs = self.costs
        example_costs = costs.table if costs.kind == "hindsight" else None
        for part in (costs.y, costs.matrix, costs.tensor, example_costs):
            digest.update(b"-" if part is None else np.ascontiguousarray(part).tobytes())
        if costs.doubt is not None:
            digest.update(np.ascontiguousarray(costs.doubt.sample()).tobytes())
        digest.update(repr(self.classes.tolist()).encode())
        if self.left_out:
            digest.update(repr(self.left_out).encode())
        if costs.choices is not None:
            digest.update(repr(costs.choices.labels).encode())
        return digest.hexdigest()[:16]


def make_problem(
    X: Any,
    y: Any = None,
    *,
    cost_matrix: Any = None,
    costs: Any = None,
    cost_tensor: Any = None,
    keep_identifiers: bool = True,
) -> Problem:
    """Check what the user gave and return it as a `Problem`.

    Columns that tell rows apart are left out of fits, and named in a warning, unless
    `keep_identifiers`.

    With costs known in hindsight, y may be left out: the cheapest decision of each row stands for it.

    Examples
    --------
    >>> from stakes.compare._problem import make_problem
    >>> problem = make_problem([[1], [2], [3]], ["a", "b", "a"], cost_matrix=[[0, 1], [9, 0]])
    >>> problem.costs.kind, problem.costs.of(np.array([1, 0, 0])).tolist()
    ('class', [1.0, 9.0, 0.0])
    """
    check_index(X=X, y=y, costs=costs)
    X, decisions, knows_truth = as_frame(X), None, y is not None
    if not knows_truth:
        if costs is None:
            raise ValueError("There is no y: give the true classes, or the costs of each row.")
        y, decisions = truth_of_costs(costs, num_samples(X))
    y = one_column(y)
    if is_frame(X):
        X = columns_by_name(X, [str(c) for c in X.columns])
    else:
        # A matrix: LightGBM and others do not know scipy's sparse arrays.
        X = sparse.csr_matrix(X) if is_sparse(X) else _as_array(X)
    check_consistent_length(X, y)
    if num_samples(X) == 0:
        raise ValueError("There are 0 examples: nothing to compare on.")
    missing = y != y if y.dtype.kind == "f" else np.zeros(len(y), dtype=bool)
    if y.dtype.kind not in "fiubUS":
        missing = np.array([v is None or v != v for v in y.tolist()])
    if missing.any():
        raise ValueError(
            f"The target is missing in {counted(missing.sum(), 'row')}, the first of them row "
            f"{int(missing.argmax()) + 1}: leave those rows out."
        )
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"The target has only one class, {quoted(classes)}: there is nothing to decide."
        )
    given = {"cost_matrix": cost_matrix, "costs": costs, "cost_tensor": cost_tensor}
    left_out = () if keep_identifiers else _identifiers(X)
    priced = make_costs(codes, classes=classes, decisions=decisions, **given)
    return Problem(X, classes, priced, left_out, knows_truth)


def _identifiers(X: Any) -> tuple[str, ...]:
    """Return the columns that tell rows apart, and warn of them; refuse a table of no others."""
    if not is_frame(X):
        return ()
    names = tuple(find_identifiers(X))
    if len(names) == X.shape[1]:
        raise ValueError(
            f"Every column tells rows apart: {quoted(names)}. Nothing is left to learn from; if they "
            "are measurements, say keep_identifiers=True (--keep-identifiers)."
        )
    if names:
        warn(
            "ST117",
            f"Not learned from, as {'it tells' if len(names) == 1 else 'they tell'} rows apart: "
            f"{quoted(names)}. If {'it is a measurement' if len(names) == 1 else 'they are measurements'}, "
            "say keep_identifiers=True (--keep-identifiers).",
            TableWarning,
            stacklevel=4,
        )
    return names


def _as_array(X: Any) -> np.ndarray:
    """Return rows and columns of numbers, or refuse what has none."""
    check_is_table(X)
    array = np.asarray(X)
    if array.ndim != 2:
        shape = f"X has the shape {array.shape}, but a table has rows and columns: "
        raise ValueError(
            f"{shape}give X.reshape(-1, 1) if it is one column, X.reshape(1, -1) if it is one row."
            if array.ndim == 1
            else f"{shape}give X.reshape(len(X), -1)."
        )
    if array.dtype.kind == "c":
        raise ValueError("X has complex numbers: give their parts as two columns.")
    return array


def fingerprint(X: Any, y: np.ndarray) -> str:
    """Return a short name of exactly these examples and classes.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.compare._problem import fingerprint
    >>> X = np.array([[1.0], [2.0]])
    >>> fingerprint(X, np.array(["a", "b"])) == fingerprint(X, np.array(["b", "a"]))
    False
    """
    digest = hashlib.sha256()
    _feed(digest, X)
    digest.update(repr(np.asarray(y).tolist()).encode())
    return digest.hexdigest()[:16]


def _feed(digest: Any, X: Any) -> None:
    if hasattr(X, "iloc"):
        import pandas as pd

        frame = X if hasattr(X, "columns") else X.to_frame()
        digest.update(repr([(str(c), str(t)) for c, t in frame.dtypes.items()]).encode())
        for column in range(frame.shape[1]):  # one at a time: no second copy of the frame
            series = frame.iloc[:, column]
            try:
                hashed = pd.util.hash_pandas_object(series, index=False).to_numpy()
            except TypeError:
                hashed = pd.util.hash_pandas_object(series.astype(str), index=False).to_numpy()
            digest.update(hashed.tobytes())
    elif is_sparse(X):
        matrix = X.tocsr()
        digest.update(repr(matrix.shape).encode())
        for part in (matrix.indptr, matrix.indices, matrix.data):
            digest.update(np.ascontiguousarray(part).tobytes())
    elif X.dtype.kind == "O":
        digest.update(repr(X.tolist()).encode())
    else:
        digest.update(repr((X.shape, str(X.dtype))).encode())
        digest.update(np.ascontiguousarray(X).tobytes())
