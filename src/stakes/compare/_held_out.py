"""Rows that a model has not seen, with their truth: what it said of them, and what they cost."""

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

# What is known of all the rows together.
WHOLE = ("frequencies", "columns")


@dataclass
class HeldOutRows:
    """What a model says of some rows that it has not seen; no row of the data is kept.

    Attributes
    ----------
    y, decisions : ndarray of shape (m,)
        Positions in the classes, and in the decisions.
    frequencies : ndarray of shape (n_classes,)
        The share of each class in training.
    columns : list of dict
        Histograms of the columns of the whole table.
    proba : ndarray of shape (m, n_classes) or None
        Probabilities.
    expected : ndarray of shape (m, n_decisions) or None
        The costs that it expects of each decision, where it has learned them in hindsight.
    costs : ndarray of shape (m, n_decisions) or None
        What each decision cost, where that is known in hindsight.
    cost_tensor : ndarray of shape (m, n_classes, n_decisions) or None
        The prices of the rows, where they are known when deciding.
    fold : ndarray of shape (m,) or None
        Which of several models said it.
    """

    y: np.ndarray
    decisions: np.ndarray
    frequencies: np.ndarray
    columns: list
    proba: np.ndarray | None = None
    expected: np.ndarray | None = None
    costs: np.ndarray | None = None
    cost_tensor: np.ndarray | None = None
    fold: np.ndarray | None = None

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.frequencies)

    def take(self, rows: np.ndarray) -> Self:
        """Return some of the rows."""
        parts = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in WHOLE}
        picked: dict[str, Any] = {
            name: None if part is None else np.ascontiguousarray(part[rows])
            for name, part in parts.items()
        }
        return replace(self, **picked)

    def _check_structure(self) -> None:
        """Refuse rows, read from a file, whose parts are not about the same rows."""
        k, m = len(self.frequencies), len(self.y)
        rows = (self.y, self.decisions, self.proba, self.expected, self.costs, self.cost_tensor)
        known = [part for part in (*rows, self.fold) if part is not None]
        numbers = all(isinstance(part, np.ndarray) and part.dtype.kind in "if" for part in known)
        if not numbers or any(len(part) != m for part in known):
            raise ValueError("its held-out rows do not belong together")
        positions = self.y.dtype.kind == self.decisions.dtype.kind == "i"
        if not positions or self.y.min(initial=0) < 0 or self.y.max(initial=0) >= k:
            raise ValueError("its held-out rows are of classes that there are not")
        if self.proba is not None and self.proba.shape != (m, k):
            raise ValueError("its held-out probabilities are not those of its classes")


def joined(parts: list) -> HeldOutRows:
    """Return the rows of several parts as one."""
    if len(parts) == 1:
        return parts[0]
    names = [f.name for f in fields(HeldOutRows) if f.name not in WHOLE]
    kept = {name: [getattr(part, name) for part in parts] for name in names}
    whole: dict[str, Any] = {
        name: None if each[0] is None else np.concatenate(each) for name, each in kept.items()
    }
    return replace(parts[0], **whole)
