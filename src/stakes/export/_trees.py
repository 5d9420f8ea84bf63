"""Trees of any library as operators of ONNX, whose sums are those of float64.

The operator for trees answers in float32, which holds whole numbers up to 2**24. Where leaves add to
several sums, it is asked for the number of each row's leaf, and what the leaf adds is looked up in a
table of float64. Where a leaf adds to one sum, its value is written as digits: whole numbers in a
coarse unit and in one or two finer ones, whose sums are exact and are put together in float64.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from stakes.export._graph import ML, Graph
from stakes.tree.engine import Questions

# Trees that are asked by one operator, and values that are looked up at a time for one row: few enough
# for 100,000 rows of them to take 25 MB.
MOST_TREES = 8
MOST_VALUES = 32
# Sums of digits stay below this: every whole number up to 2**24 is a float32.
MOST = 2.0**23
# Digits are added until what they leave out is below this share of the largest sum.
PRECISION = 1e-9
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
    constant, asked = np.zeros(n_targets), []
    for m in members:
        if len(m.tree.leaf) == 1 or not np.any(m.values):  # nothing is asked
            constant[m.first : m.first + m.values.shape[1]] += m.values[0]
        else:
            asked.append(m)
    if not asked:
        return g.repeat(constant, X)
    one_each = all((np.count_nonzero(m.values, axis=1) <= 1).all() for m in asked)
    sums = (_sums_of_digits if one_each else _sums_of_rows)(g, X, asked, n_targets, below)
    return g.op("Add", sums, constant[None]) if constant.any() else sums


def _sums_of_digits(
    g: Graph, X: str, members: Sequence[Leaves], n_targets: int, below: bool
) -> str:
    """Return the sums of trees whose leaves add to one target each."""
    digits, units = split_digits([m.values for m in members])
    n_digits = len(units)

    def weights(t: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        stacked = np.stack(digits[t], axis=1)  # (leaves, digits, values)
        leaf, digit, value = np.nonzero(stacked)
        targets = digit * n_targets + members[t].first + value
        return leaf, targets, stacked[leaf, digit, value]

    X, places = _without_missing(g, X, [m.tree for m in members])
    trees = [m.tree for m in members]
    sums = g.cast(_asked(g, X, trees, weights, n_digits * n_targets, below, places), float)
    if n_digits == 1:
        return g.op("Mul", sums, units[0])
    by_digit = g.ops("Split", n_digits, sums, np.full(n_digits, n_targets), axis=1)
    sums = g.op("Mul", by_digit[-1], units[-1])
    for digit, unit in zip(by_digit[-2::-1], units[-2::-1]):
        sums = g.op("Add", g.op("Mul", digit, unit), sums)
    return sums


def _sums_of_rows(g: Graph, X: str, members: Sequence[Leaves], n_targets: int, below: bool) -> str:
    """Return the sums of trees whose leaves hold a value for each target."""
    n_together = max(1, min(MOST_TREES, MOST_VALUES // n_targets))
    parts, leaves = [], leaf_numbers(g, X, [m.tree for m in members], n_together, below)
    for at, numbers in zip(_groups(len(members), n_together), leaves):
        group = members[at]
        table = np.zeros((sum(len(m.values) for m in group), n_targets))
        start = 0
        for m in group:
            stop = start + len(m.values)
            table[start:stop, m.first : m.first + m.values.shape[1]] = m.values
            start = stop
        if len(group) == 1:
            parts.append(g.op("Gather", table, g.op("Squeeze", numbers, np.array([1]))))
            continue
        # trees first: so their rows are added up in one piece, which is four times as fast
        by_tree = g.op("Gather", table, g.op("Transpose", numbers, perm=[1, 0]))
        parts.append(g.sum(by_tree, axis=0, keep=False))
    return g.add_up(parts)


def _groups(n_trees: int, size: int) -> list[slice]:
    return [slice(first, first + size) for first in range(0, n_trees, size)]


def leaf_numbers(
    g: Graph, X: str, trees: Sequence[Questions], n_together: int, below: bool = False
) -> list[str]:
    """Return the leaf of each row in each tree, for so many trees at a time, (n, n_together).

    Leaves are counted through the trees of a group: the first leaf of its second tree follows the
    last one of its first.

    Parameters
    ----------
    g : Graph
        Is added to.
    X : str
        The features, (n, n_features), categories as their bins.
    trees : sequence of Questions
        The trees, each with a question.
    n_together : int
        The trees of a group.
    below : bool, default=False
        Whether a row goes left where it is *below* the threshold, and not where it equals it.
    """
    X, places = _without_missing(g, X, trees)
    numbers = []
    for at in _groups(len(trees), n_together):
        group = trees[at]
        starts = np.cumsum([0, *(int(tree.leaf.max()) + 1 for tree in group)])

        def weights(t: int, starts: np.ndarray = starts) -> tuple[np.ndarray, ...]:
            leaves = np.arange(starts[t + 1] - starts[t])
            return leaves, np.full(len(leaves), t), starts[t] + leaves

        numbers.append(g.cast(_asked(g, X, group, weights, len(group), below, places), int))
    return numbers


def _without_missing(
    g: Graph, X: str, trees: Sequence[Questions]
) -> tuple[str, dict[int, int] | None]:
    """Return X with more columns, in which -inf stands for what is missing; and where they are.

    NaN goes right by itself, and -inf left: so nothing need be asked about missing values, which is
    a tenth of the time of many trees, and not worth the copy for few: then it is None.
    """
    g.asked += [(g.origin(X), tree) for tree in trees]
    left = sorted({int(f) for tree in trees for f in tree.feature[_goes_left(tree)]})
    if len(trees) < MOST_TREES or not left:
        return X, None
    used = int(max(tree.feature.max() for tree in trees)) + 1
    columns = g.op("Gather", X, np.array(left), axis=1)
    filled = g.op("Where", g.op("IsNaN", columns), -np.inf, columns)
    asked = g.op("Slice", X, np.array([0]), np.array([used]), np.array([1]))
    return g.concat([asked, filled]), {f: used + i for i, f in enumerate(left)}


def _goes_left(tree: Questions) -> np.ndarray:
    """Return which nodes send missing numbers to the left."""
    goes = (tree.leaf < 0) & tree.missing_left.astype(bool)
    goes[list(tree.categories)] = False
    return goes


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
        for part, digit in zip(rest, digits):
            whole = np.round(part / unit)
            digit.append(whole)
            part -= whole * unit
        units.append(float(unit))
        bound = sum(float(np.abs(v).max(initial=0.0)) for v in rest)
        if bound == 0.0:
            break
    return digits, units


def _asked(
    g: Graph,
    X: str,
    trees: Sequence[Questions],
    weights: Callable[[int], tuple[np.ndarray, ...]],
    n_targets: int,
    below: bool,
    places: dict[int, int] | None,
) -> str:
    """Return the sums of whole numbers, (n, n_targets), in float32.

    `weights` says of a tree which leaves add what to which target.
    """
    nodes = _Nodes(below, places)
    columns: tuple[list[np.ndarray], ...] = ([], [], [], [])
    for t, tree in enumerate(trees):
        nodes.add(tree, t)
        at_leaf = np.flatnonzero(tree.leaf >= 0)
        at_leaf = at_leaf[np.argsort(tree.leaf[at_leaf])]
        leaves, targets, values = weights(t)
        cells = (np.full(len(leaves), t), at_leaf[leaves], targets, values)
        for column, cell in zip(columns, cells):
            column.append(cell)
    treeids, nodeids, targets, values = (np.concatenate(column) for column in columns)
    return g.op(
        "TreeEnsembleRegressor",
        X,
        domain=ML,
        n_targets=n_targets,
        target_treeids=treeids.tolist(),
        target_nodeids=nodeids.tolist(),
        target_ids=targets.tolist(),
        target_weights_as_tensor=g.tensor(values.astype(np.float64), "weights"),
        nodes_values_as_tensor=g.tensor(np.array(nodes.values, dtype=np.float64), "values"),
        **nodes.attributes(),
    )


class _Nodes:
    """The table of nodes that the operator asks for.

    Parameters
    ----------
    below : bool
        Whether a row goes left where it is below the threshold, and not where it equals it.
    places : dict or None
        For features whose missing values go left in some node: where -inf stands for them. None
        where the nodes themselves say where missing values go.
    """

    def __init__(self, below: bool, places: dict[int, int] | None):
        self.mode = b"BRANCH_LT" if below else b"BRANCH_LEQ"
        self.places = places
        self._missing: list[int] = []
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

    def attributes(self) -> dict[str, list]:
        """Return the table as attributes of the operator."""
        columns = {f"nodes_{name}": column for name, column in self._columns.items()}
        return columns | (
            {"nodes_missing_value_tracks_true": self._missing} if any(self._missing) else {}
        )

    def _node(self, tree, node, feature, mode, value, yes, no, missing=False) -> None:
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
                missing = bool(tree.missing_left[node])
                if missing and self.places is not None:
                    feature, missing = self.places[int(feature)], False
                how = (tree.threshold[node], left, right, missing)
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


def as_question(leaves: Leaves) -> Leaves:
    """Return a tree of one leaf as one of two leaves that hold the same."""
    none, last = np.array([-1, -1]), np.zeros(3)
    tree = Questions(
        np.append(0, none),
        last,
        last.astype(bool),
        {},
        np.append(1, none),
        np.append(2, none),
        np.array([-1, 0, 1]),
    )
    return leaves._replace(tree=tree, values=np.repeat(leaves.values, 2, axis=0))
