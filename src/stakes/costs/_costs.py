"""Costs: what decisions cost, made once where they come in and carried to the end."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from stakes.costs._choices import Choices
from stakes.costs._doubt import UncertainCostMatrix
from stakes.costs._examples import CostTensor, read_costs
from stakes.costs._read import CostWarning
from stakes.costs._validation import check_order, read_cost_matrix
from stakes.costs.arithmetic import average_cost_rows, shift_rows
from stakes.utils._arrays import quoted
from stakes.utils._frames import as_frame, is_frame
from stakes.utils._labels import as_labels, label_array

# The three kinds of costs, and what people call them.
KINDS = {
    "class": "class costs",
    "deciding": "costs known when deciding",
    "hindsight": "costs known in hindsight",
}


class Costs:
    """What each decision costs for some examples whose truth is known.

    One of three kinds. *Class costs*: a matrix, so that nothing of shape (n, K) is kept.
    *Costs known when deciding*: a tensor, of which the truth picks a row. *Costs known in
    hindsight*: a row for each example.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        The true classes as positions.
    matrix : ndarray of shape (n_classes, n_decisions), default=None
        Class costs, ``[true, decided]``.
    costs : ndarray of shape (n_samples, n_decisions), default=None
        Costs known in hindsight.
    tensor : ndarray of shape (n_samples, n_classes, n_decisions), default=None
        Costs known when deciding, ``[example, true, decided]``. Exactly one of the three
        is given.
    moved : tuple of two ndarrays of shape (n_classes, n_decisions), default=None
        The class averages of example costs before and after they were repriced (`at`).
    doubt : UncertainCostMatrix, default=None
        Where class costs are not known for sure: they themselves, in the order of the classes;
        `matrix` is their mean.
    choices : Choices, default=None
        What may be decided; None where that is the classes.
    weight : ndarray of shape (n_samples,), default=None
        How often each example counts in the averages of its class.

    Examples
    --------
    >>> from stakes.costs import Costs
    >>> costs = Costs(np.array([0, 1, 1]), matrix=np.array([[0.0, 1.0], [5.0, 0.0]]))
    >>> costs.kind, costs.of(np.array([1, 0, 1]))
    ('class', array([1., 5., 0.]))
    """

    def __init__(
        self,
        y: np.ndarray,
        matrix: np.ndarray | None = None,
        costs: np.ndarray | None = None,
        tensor: np.ndarray | None = None,
        moved: tuple[np.ndarray, np.ndarray] | None = None,
        doubt: UncertainCostMatrix | None = None,
        choices: Choices | None = None,
        weight: np.ndarray | None = None,
    ):
        self.y = y
        self.matrix = matrix
        self.tensor = tensor
        self.moved = moved
        self.doubt = doubt
        self.choices = choices
        self.weight = weight
        self._costs = costs

    @property
    def kind(self) -> str:
        """One of ``"class"``, ``"deciding"`` and ``"hindsight"``."""
        if self.matrix is not None:
            return "class"
        return "deciding" if self.tensor is not None else "hindsight"

    @property
    def by_class(self) -> bool:
        """Whether the costs depend on the true class alone."""
        return self.matrix is not None

    @property
    def table(self) -> np.ndarray:
        """The distinct cost rows: the matrix, or a row for each example (see `row_of`)."""
        if self.matrix is not None:
            return self.matrix
        if self._costs is None:
            assert self.tensor is not None
            self._costs = self.tensor[np.arange(len(self.y)), self.y]
        return self._costs

    @property
    def costs(self) -> np.ndarray | None:
        """The example costs of the true classes, (n, A); None for class costs."""
        return None if self.by_class else self.table

    @property
    def row_of(self) -> np.ndarray:
        """Where each example's row stands in `table`."""
        return self.y if self.by_class else np.arange(len(self.y))

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.n_decisions if self.choices is None else self.choices.n_classes

    @property
    def n_decisions(self) -> int:
        """The number of decisions."""
        given = self.tensor if self.tensor is not None else self.table
        return given.shape[-1]

    @property
    def decision_of_class(self) -> np.ndarray:
        """For each class the decision of its own name, as a position; -1 where there is none."""
        return np.arange(self.n_decisions) if self.choices is None else self.choices.of_class

    def __len__(self) -> int:
        return len(self.y)

    def rows(self, indices: Any = slice(None)) -> np.ndarray:
        """Return the cost rows of the examples, (n, A), as they were given."""
        return self.table[self.y[indices] if self.by_class else indices]

    def named_rows(self) -> Any:
        """Return `rows`: a DataFrame, where decisions are not classes and must be named."""
        rows = self.rows()
        if self.choices is None:
            return rows
        import pandas as pd

        return pd.DataFrame(rows, columns=list(self.choices.labels))

    def shifted_rows(self, indices: Any = slice(None)) -> np.ndarray:
        """Return the cost rows with the least cost of each row at 0."""
        if self.by_class:
            return shift_rows(self.table)[self.y[indices]]
        return shift_rows(self.table[indices])

    def of(self, decisions: np.ndarray) -> np.ndarray:
        """Return what the decisions (positions) cost, (n,)."""
        if self.by_class:
            return self.table[self.y, decisions]
        rows = np.arange(len(self.y))
        if self.tensor is not None and self._costs is None:
            paid = self.tensor[rows, self.y, decisions]
        else:
            paid = self.table[rows, decisions]
        return self._move(paid, self.y, decisions)

    def price(self, true: int, decision: int) -> Any:
        """Return what deciding so would cost if this were the truth: a number, or one per example.

        Costs known in hindsight are not known for other truths: then it is the class average.
        """
        if self.tensor is None:
            return self.class_matrix()[true, decision]
        return self._move(self.tensor[:, true, decision], true, decision)

    @property
    def known(self) -> np.ndarray | None:
        """The prices known when deciding, [example, true, decided], as they are after `at`, or None."""
        every = slice(None)
        return None if self.tensor is None else self._move(self.tensor, every, every)

    def _move(self, paid: np.ndarray, true: Any, decisions: Any) -> np.ndarray:
        """Return prices of examples as they are after `at`."""
        if self.moved is None:
            return paid
        before, after = (matrix[true, decisions] for matrix in self.moved)
        factor = np.divide(after, before, out=np.ones_like(after), where=before != 0)
        return np.where(after == before, paid, np.where(before != 0, paid * factor, paid + after))

    def extreme(self, of: Callable = np.max) -> np.ndarray:
        """Return what the dearest decision of each example costs; with ``np.min``, the cheapest."""
        if self.moved is None:
            return of(self.table, axis=1)[self.row_of]
        return of([self.of(np.full(len(self), d)) for d in range(self.n_decisions)], axis=0)

    def class_matrix(self) -> np.ndarray:
        """Return the (K, A) costs: the matrix, or the mean row of each true class."""
        if self.moved is not None:
            return self.moved[1]
        if self.by_class:
            return self.table
        return average_cost_rows(self.table, self.y, self.n_classes, self.weight)

    def mean_row(self, weight: np.ndarray | None = None) -> np.ndarray:
        """Return what each decision would cost on average if it were taken for all, (A,)."""
        if self.by_class:
            counts = np.bincount(self.y, weight, minlength=self.n_classes)
            return counts @ self.table / counts.sum()
        return np.average(self.table, axis=0, weights=weight)

    def take(self, indices: Any) -> "Costs":
        """Return the costs of some of the examples."""
        costs = None if self._costs is None else self._costs[indices]
        tensor = None if self.tensor is None else self.tensor[indices]
        taken = self._with(self.y[indices], self.matrix, costs, tensor, self.moved, self.doubt)
        taken.weight = None if self.weight is None else self.weight[indices]
        return taken

    def coded(self) -> "Costs":
        """Return the costs whose decisions have numbers for names; see `Choices.coded`."""
        if self.choices is None:
            return self
        made = self.take(slice(None))
        made.choices = self.choices.coded()
        if made.doubt is not None:
            made.doubt = made.doubt.with_names(range(self.n_classes), made.choices.labels)
        return made

    def _with(self, y: np.ndarray, *given: Any) -> "Costs":
        """Return other costs of the same decisions."""
        made = Costs(y, *given)
        made.choices, made.weight = self.choices, self.weight
        return made

    def at(self, matrix: np.ndarray) -> "Costs":
        """Return the costs at other class prices.

        The costs of examples move in proportion to the averages of their class; where an
        average was 0, the new price is added to each.
        """
        if self.by_class:
            return self._with(self.y, matrix)
        before = self.moved[0] if self.moved is not None else self.class_matrix()
        return self._with(self.y, None, self._costs, self.tensor, (before, matrix))

    def with_table(self, table: np.ndarray) -> "Costs":
        """Return costs with other rows in place of `table`.

        Examples
        --------
        >>> costs = Costs(np.array([1, 1]), np.array([[0.0, 1.0], [5.0, 0.0]]))
        >>> costs.with_table(-costs.table).rows().tolist()
        [[-5.0, -0.0], [-5.0, -0.0]]
        """
        return self._with(self.y, table) if self.by_class else self._with(self.y, None, table)

    def fit_arguments(self) -> dict[str, Any]:
        """Return the example costs as keyword arguments of `fit`; nothing for class costs.

        Decisions that are not the classes are named by them.
        """
        if self.kind == "hindsight":
            return {"costs": self.named_rows()}
        known = self.predict_arguments()
        if self.choices is None:
            return known
        return {name: CostTensor(tensor, self.choices.labels) for name, tensor in known.items()}

    def predict_arguments(self) -> dict[str, np.ndarray]:
        """Return what is known when deciding, as keyword arguments of `predict`."""
        return {} if self.tensor is None else {"cost_tensor": self.tensor}

    def __repr__(self) -> str:
        return f"Costs({KINDS[self.kind]}, {len(self)} examples, {self.n_decisions} decisions)"


def make_costs(
    y: Any,
    *,
    classes: Any,
    cost_matrix: Any = None,
    costs: Any = None,
    cost_tensor: Any = None,
    encoded: bool = False,
    to_learn: bool = True,
    decisions: Any = None,
    in_order: bool = False,
    sample_weight: np.ndarray | None = None,
) -> Costs:
    """Check what the user gave and return it as `Costs`.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The true classes as positions in `classes`.
    classes : array-like of shape (n_classes,)
        The class labels.
    cost_matrix, costs, cost_tensor : array-like or None
        At most one of them; with none, 0/1 costs.
    encoded : bool, default=False
        As in `CostMatrix.align`.
    to_learn : bool, default=True
        Whether something is to be learned from them: costs that are equal for every decision
        are then refused, and an unreasonable matrix is warned of.
    decisions : array-like of shape (n_decisions,), default=None
        The decisions, where they are known already; None takes those that the costs name.
    in_order : bool, default=False
        Whether whoever gives a matrix without labels knows that it is in the order of `classes`;
        else it is refused where nothing but the alphabet would say so (`check_order`).
    sample_weight : ndarray of shape (n_samples,), default=None
        How often each example counts, already checked, where classes are counted or averaged.
    """
    given = {"cost_matrix": cost_matrix, "costs": costs, "cost_tensor": cost_tensor}
    several = [name for name, value in given.items() if value is not None]
    if len(several) > 1:
        raise ValueError(f"Give either {' or '.join(several)}, not both.")
    classes, y = np.asarray(classes), np.asarray(y)
    if decisions is not None and set(as_labels(decisions)) == set(as_labels(classes)):
        decisions = None  # the classes, whose order is that of the columns then
    name = several[0] if several else "cost_matrix"
    if name == "cost_matrix":
        if not in_order:
            check_order(cost_matrix, classes)
        matrix, named = read_cost_matrix(
            cost_matrix,
            classes=classes,
            counts=np.bincount(y, sample_weight, minlength=len(classes)),
            warn=to_learn,
            encoded=encoded,
            decisions=decisions,
        )
        doubt = None
        if isinstance(cost_matrix, UncertainCostMatrix):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CostWarning)  # said just now
                doubt = cost_matrix.aligned(classes, encoded=encoded, decisions=decisions)
        made = Costs(y, matrix, doubt=doubt, choices=Choices.of(named, classes))
    else:
        how = {"n_samples": len(y), "classes": classes, "decisions": decisions}
        array, named = read_costs(given[name], name=name, **how)
        places = Choices.of(named, classes)
        of_examples: dict = {"costs" if name == "costs" else "tensor": array}
        made = Costs(y, **of_examples, choices=places, weight=sample_weight)
    if to_learn and (made.table == made.table[:, :1]).all():
        same = "has the same cost for every decision in each row"
        raise ValueError(
            f"{name} {same if made.table.any() else 'is all zero'}: every decision costs the "
            "same, so there is nothing to learn."
        )
    return made


def truth_of_costs(costs: Any, n_samples: int) -> tuple[np.ndarray, tuple]:
    """Return the cheapest decision of each row of costs, as a label, and all decisions.

    Where no class was given it stands for the truth. The decisions are the columns of a DataFrame;
    of an array they are 0, 1, ...

    Examples
    --------
    >>> from stakes.costs._costs import truth_of_costs
    >>> truth_of_costs([[5, 0, 9], [1, 2, 3]], 2)
    (array([1, 0]), (0, 1, 2))
    """
    width = np.shape(costs)[1] if np.ndim(costs) == 2 else 0
    named = as_labels(as_frame(costs).columns) if is_frame(costs) else tuple(range(width))
    rows, decisions = read_costs(costs, n_samples=n_samples, classes=named)
    labels = label_array(decisions)[rows.argmin(axis=1)]
    if (labels == labels[0]).all():
        raise ValueError(
            f"The decision {quoted(labels[:1])} is the cheapest in each row of costs: there is "
            "nothing to learn."
        )
    return labels, decisions
