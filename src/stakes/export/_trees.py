"""Trees of any library as one operator of ONNX, whose sums are exact.

The operator answers in float32. Values of leaves are therefore written as digits: whole numbers
whose sum over all trees stays below 2**24, in a coarse unit and in one or two finer ones. Each sum
is exact in float32, whatever its order, and the digits are put together in float64.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stakes.export._graph import ML, Graph
from stakes.tree.engine import Questions

# Sums of digits stay below this: every whole number up to 2**24 is a float32.
MOST = 2.0**23
# Digits are added until what they leave out is below this share of the largest sum.
PRECISION = 1e-14
MOST_DIGITS = 3


class Leaves(NamedTuple):
    """A tree, and what each of its leaves adds to the targets.

    Parameters
    ----------
    tree : Questions
        The nodes.
    values : ndarray of shape (n_leaves, n_values)
        What each leaf adds.
    first : int
        The target of the first value; the others follow.
    """

    tree: Questions
    values: np.ndarray
    first: int = 0


def tree_sums(
    g: Graph, X: str, members: Sequence[Leaves], n_targets: int, *, below: bool = False
) -> str:
    """Return the sums of the values of each row's leaves, (n, n_targets), in float64.

    Parameters
    ----------
    g : Graph
        Is added to.
    X : str
        The features, (n, n_features), categories as their bins.
    members : sequence of Leaves
        The trees.
    n_targets : int
        The number of sums.
    below : bool, default=False
        Whether a row goes left where it is *below* the threshold, and not where it equals it.
    """
    zero = all(not np.any(m.values) for m in members)
    if zero or all(len(m.tree.leaf) == 1 for m in members):  # nothing is asked: a constant
        total = np.zeros(n_targets)
        for m in members:
            total[m.first : m.first + m.values.shape[1]] += m.values[0]
        return g.repeat(total, X)
    g.asked += [(g.origin(X), m.tree) for m in members]
    digits, units = split_digits([m.values for m in members])
    nodes = _Nodes(below)
    for t, member in enumerate(members):
        nodes.add(member.tree, t)
    columns: dict[str, list] = {"trees": [], "nodes": [], "targets": [], "weights": []}
    for t, (member, parts) in enumerate(zip(members, digits)):
        at_leaf = np.flatnonzero(member.tree.leaf >= 0)
        order = member.tree.leaf[at_leaf]
        for d, part in enumerate(parts):
            rows, values = np.nonzero(part[order])
            columns["trees"].append(np.full(len(rows), t))
            columns["nodes"].append(at_leaf[rows])
            columns["targets"].append(d * n_targets + member.first + values)
            columns["weights"].append(part[order][rows, values])
    found = {name: np.concatenate(parts) for name, parts in columns.items()}
    from_array = g._tensor
    sums = g.op(
        "TreeEnsembleRegressor",
        X,
        domain=ML,
        n_targets=n_targets * len(units),
        target_treeids=found["trees"].tolist(),
        target_nodeids=found["nodes"].tolist(),
        target_ids=found["targets"].tolist(),
        target_weights_as_tensor=from_array(found["weights"].astype(np.float64), "weights"),
        nodes_values_as_tensor=from_array(np.array(nodes.values, dtype=np.float64), "values"),
        **nodes.attributes(),
    )
    sums = g.cast(sums, float)
    if len(units) == 1:
        return g.op("Mul", sums, units[0])
    by_digit = g.ops("Split", len(units), sums, np.full(len(units), n_targets), axis=1)
    sums = g.op("Mul", by_digit[-1], units[-1])
    for digit, unit in zip(by_digit[-2::-1], units[-2::-1]):
        sums = g.op("Add", g.op("Mul", digit, unit), sums)
    return sums


def split_digits(values: Sequence[np.ndarray]) -> tuple[list[list[np.ndarray]], list[float]]:
    """Return each array as whole numbers times common units, the coarsest first.

    Sums of one digit over all arrays stay below 2**24, so that float32 holds them exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.export._trees import split_digits
    >>> digits, units = split_digits([np.array([[1.0, 0.0]]), np.array([[3.0, 2.0]])])
    >>> len(units), [(part[0] * units[0]).tolist() for part in digits]
    (1, [[[1.0, 0.0]], [[3.0, 2.0]]])
    """
    rest = [np.array(v, dtype=np.float64) for v in values]
    largest = sum(float(np.abs(v).max(initial=0.0)) for v in rest)
    if not np.isfinite(largest):
        raise ValueError("A leaf holds a number that is not finite: this cannot be exported.")
    units: list[float] = []
    digits: list[list[np.ndarray]] = [[] for _ in rest]
    bound = largest
    while not units or (bound > PRECISION * largest and len(units) < MOST_DIGITS):
        unit = 2.0 ** np.ceil(np.log2(bound / MOST)) if bound > 0.0 else 1.0
        for part, found in zip(rest, digits):
            whole = np.round(part / unit)
            found.append(whole)
            part -= whole * unit
        units.append(float(unit))
        bound = sum(float(np.abs(v).max(initial=0.0)) for v in rest)
        if bound == 0.0:
            break
    return digits, units


class _Nodes:
    """The table of nodes that the operator asks for."""

    def __init__(self, below: bool):
        self.mode = b"BRANCH_LT" if below else b"BRANCH_LEQ"
        self.values: list[float] = []
        self._columns: dict[str, list] = {
            name: []
            for name in (
                "treeids",
                "nodeids",
                "featureids",
                "modes",
                "truenodeids",
                "falsenodeids",
            )
        }
        self._missing: list[int] = []

    def attributes(self) -> dict[str, list]:
        """Return the table as attributes of the operator."""
        found = {f"nodes_{name}": column for name, column in self._columns.items()}
        return found | {"nodes_missing_value_tracks_true": self._missing}

    def _node(self, tree, node, feature, mode, value, yes, no, missing=0) -> None:
        row = (tree, node, feature, mode, yes, no)
        for column, cell in zip(self._columns.values(), row):
            column.append(int(cell) if not isinstance(cell, bytes) else cell)
        self.values.append(float(value))
        self._missing.append(int(missing))

    def add(self, tree: Questions, number: int) -> None:
        """Add a tree; a question about a category becomes a chain of comparisons of its bins."""
        n_nodes, extra = len(tree.leaf), len(tree.leaf)
        for node in range(n_nodes):
            if tree.leaf[node] >= 0:
                self._node(number, node, 0, b"LEAF", 0.0, 0, 0)
                continue
            left, right, feature = tree.left[node], tree.right[node], tree.feature[node]
            if node not in tree.categories:
                how = (tree.threshold[node], left, right, tree.missing_left[node])
                self._node(number, node, feature, self.mode, *how)
                continue
            # Bins are whole numbers: where the side changes, ask whether the bin is before it.
            goes_left = tree.categories[node]
            ends = np.flatnonzero(goes_left[1:] != goes_left[:-1])
            if not len(ends):  # all on one side
                ends = np.array([len(goes_left)])
                goes_left = np.append(goes_left, [goes_left[-1], not goes_left[-1]])
            here = node
            for i, end in enumerate(ends):
                yes = left if goes_left[end] else right
                last = i == len(ends) - 1
                no = (right if goes_left[end] else left) if last else extra
                self._node(number, here, feature, b"BRANCH_LEQ", end + 0.5, yes, no)
                if not last:
                    here, extra = extra, extra + 1


def leaves_of(tree: Any, values: np.ndarray, first: int = 0) -> Leaves:
    """Return a cost tree with values of its leaves, which are numbered from left to right."""
    return Leaves(tree.questions(), np.asarray(values, dtype=np.float64), first)


def constant_tree() -> Questions:
    """Return a tree of one leaf."""
    none, nowhere = np.zeros(1), np.full(1, -1)
    return Questions(nowhere, none, none.astype(bool), {}, nowhere, nowhere, none.astype(np.int64))
