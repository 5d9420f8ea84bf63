"""The data and the prices that a comparison is about."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from stakes.costs import check_cost_matrix, check_costs
from stakes.costs.arithmetic import average_cost_rows
from stakes.utils._arrays import quoted
from stakes.utils._sklearn import num_samples


@dataclass
class Problem:
    """Examples, their classes as positions, and the costs of one of three situations.

    ``matrix`` (K, K) is situation A; ``tensor`` (n, K, K) is B1, costs known when deciding;
    ``costs`` (n, K) is B2, costs seen in training only. Exactly one of them is set.
    """

    X: Any
    y: np.ndarray
    classes: np.ndarray
    matrix: np.ndarray | None = None
    tensor: np.ndarray | None = None
    costs: np.ndarray | None = None

    @property
    def situation(self) -> str:
        """A, B1 or B2."""
        if self.matrix is not None:
            return "A"
        return "B1" if self.tensor is not None else "B2"

    @property
    def n_samples(self) -> int:
        """The number of examples."""
        return len(self.y)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.classes)

    def cost_rows(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Return what each decision costs for these examples, their truth known, (n, K)."""
        rows = np.arange(self.n_samples) if rows is None else rows
        if self.matrix is not None:
            return self.matrix[self.y[rows]]
        if self.tensor is not None:
            return self.tensor[rows, self.y[rows]]
        assert self.costs is not None
        return self.costs[rows]

    def paid(self, rows: np.ndarray, decisions: np.ndarray) -> np.ndarray:
        """Return what these decisions cost, (n,)."""
        if self.matrix is not None:
            return self.matrix[self.y[rows], decisions]
        if self.tensor is not None:
            return self.tensor[rows, self.y[rows], decisions]
        assert self.costs is not None
        return self.costs[rows, decisions]

    def class_matrix(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the (K, K) costs: the matrix, or the mean cost row of each true class."""
        if self.matrix is not None:
            return self.matrix
        rows = np.arange(self.n_samples) if rows is None else rows
        return average_cost_rows(self.cost_rows(rows), self.y[rows])

    def training(self, rows: np.ndarray) -> dict:
        """Return the costs of these examples as keyword arguments of `fit`."""
        if self.tensor is not None:
            return {"cost_tensor": self.tensor[rows]}
        if self.costs is not None:
            return {"costs": self.costs[rows]}
        return {}

    def fingerprint(self) -> str:
        """Return a short name of exactly these data and costs."""
        digest = hashlib.sha256()
        _feed(digest, self.X)
        for part in (self.y, self.matrix, self.tensor, self.costs):
            digest.update(b"-" if part is None else np.ascontiguousarray(part).tobytes())
        digest.update(repr(self.classes.tolist()).encode())
        return digest.hexdigest()[:16]


def make_problem(X, y, *, cost_matrix=None, costs=None, cost_tensor=None) -> Problem:
    """Check what the user gave and return it as a `Problem`.

    Examples
    --------
    >>> from stakes.compare._problem import make_problem
    >>> problem = make_problem([[1], [2], [3]], ["a", "b", "a"], cost_matrix=[[0, 1], [9, 0]])
    >>> problem.situation, problem.paid([0, 1], [1, 0]).tolist()
    ('A', [1.0, 9.0])
    """
    y = column_or_1d(y)
    if not hasattr(X, "iloc") and not hasattr(X, "tocsr"):
        X = np.asarray(X)
    check_consistent_length(X, y)
    if num_samples(X) == 0:
        raise ValueError("There are 0 examples: nothing to compare on.")
    missing = np.array([v is None or v != v for v in y.tolist()])
    if missing.any():
        raise ValueError(
            f"The target is missing in {missing.sum()} rows, the first of them row "
            f"{int(missing.argmax())}: leave those rows out."
        )
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"The target has only one class, {quoted(classes)}: there is nothing to decide."
        )
    given = {"cost_matrix": cost_matrix, "costs": costs, "cost_tensor": cost_tensor}
    several = [name for name, value in given.items() if value is not None]
    if len(several) > 1:
        raise ValueError(f"Give either {' or '.join(several)}, not both.")
    n = len(codes)
    if cost_tensor is not None:
        tensor = check_costs(cost_tensor, n_samples=n, classes=classes, name="cost_tensor")
        return _not_all_equal(Problem(X, codes, classes, tensor=tensor))
    if costs is not None:
        rows = check_costs(costs, n_samples=n, classes=classes)
        return _not_all_equal(Problem(X, codes, classes, costs=rows))
    matrix = check_cost_matrix(cost_matrix, classes=classes, y=y)
    return _not_all_equal(Problem(X, codes, classes, matrix=matrix))


def _not_all_equal(problem: Problem) -> Problem:
    rows = problem.cost_rows() if problem.matrix is None else problem.matrix
    if (rows == rows[:, :1]).all():
        raise ValueError("Every decision costs the same: there is nothing to decide by cost.")
    return problem


def take_rows(X, rows):
    """Return these rows of an array, a sparse matrix or a DataFrame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _feed(digest, X) -> None:
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
    elif hasattr(X, "tocsr"):
        matrix = X.tocsr()
        digest.update(repr(matrix.shape).encode())
        for part in (matrix.indptr, matrix.indices, matrix.data):
            digest.update(np.ascontiguousarray(part).tobytes())
    elif X.dtype.kind == "O":
        digest.update(repr(X.tolist()).encode())
    else:
        digest.update(repr((X.shape, str(X.dtype))).encode())
        digest.update(np.ascontiguousarray(X).tobytes())
