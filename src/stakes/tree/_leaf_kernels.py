"""Numba kernels that read a grown tree; imported on use."""

from typing import NamedTuple

import numpy as np

from stakes.tree._columns import CUT, FEATURE, LEFT, MISSING, RIGHT
from stakes.tree._jit import jit


@jit
def measure(costs, y, weight, by_class, r, r_raw):
    """Return the sums of |centred cost|, of |cost| and of the weights, and the most of a row.

    The first two are in fixed point (`stakes.utils._sums`) by `r` and `r_raw`, or 0. They are not
    finite if a cost is not.
    """
    n_classes = costs.shape[1]
    n_samples = len(y) if by_class else costs.shape[0]
    mass, raw, total_weight, most, most_raw = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n_samples):
        row = np.int64(y[i]) if by_class else i
        w = weight[i] if len(weight) > 0 else 1.0
        total = 0.0
        for k in range(n_classes):
            total += costs[row, k]
        mean = total / n_classes
        deviation, size = 0.0, 0.0
        for k in range(n_classes):
            deviation += abs(costs[row, k] - mean)
            size += abs(costs[row, k])
        mass += (w * deviation + r) - r
        raw += (w * size + r_raw) - r_raw
        most, most_raw = max(most, w * deviation), max(most_raw, w * size)
        total_weight += w
    return mass, raw, total_weight, most, most_raw


@jit
def number_leaves(nodes, leaves, stack):
    """Give the leaves numbers from left to right, other nodes -1; `stack` has room for a node more."""
    stack[0] = 0
    n_stack, n_leaves = 1, 0
    while n_stack > 0:
        n_stack -= 1
        node = stack[n_stack]
        leaves[node] = -1
        if nodes[node, LEFT] < 0:
            leaves[node] = n_leaves
            n_leaves += 1
        else:
            stack[n_stack] = nodes[node, RIGHT]
            stack[n_stack + 1] = nodes[node, LEFT]
            n_stack += 2


@jit
def sum_leaves(grown, leaves, problem, r, low, high, sums, leaf_of_row):
    """Add up the rows of the leaves among nodes low:high: costs, weights of classes, all weights.

    `grown` are the rows in their order, and where those of each node begin and end. Class costs and
    an empty `y` have no columns in `sums`; `leaf_of_row` may be empty too. Costs are added up in
    fixed point by `r`, if that is not 0.
    """
    costs, y, weight = problem.costs, problem.y, problem.weight
    order, places = grown
    most = places.shape[1] - 1
    n_costs = 0 if problem.by_class else costs.shape[1]
    last = sums.shape[1] - 1
    w = 1.0
    for node in range(low, high):
        if leaves[node] < 0:
            continue
        for i in range(places[node, 0], places[node, most]):
            row = order[i]
            if len(weight) > 0:
                w = weight[row]
            if len(y) > 0:
                sums[node, n_costs + y[row]] += w
            sums[node, last] += w
            for k in range(n_costs):
                sums[node, k] += (w * costs[row, k] + r) - r
            if len(leaf_of_row) > 0:
                leaf_of_row[row] = leaves[node]


@jit
def sum_up(nodes, leaves, table):
    """Write into the rows of inner nodes the sums of their children's rows."""
    for node in range(nodes.shape[0] - 1, -1, -1):
        if leaves[node] < 0:
            for k in range(table.shape[1]):
                table[node, k] = table[nodes[node, LEFT], k] + table[nodes[node, RIGHT], k]


class TreeArrays(NamedTuple):
    """A tree, and binned rows to take through it."""

    codes: np.ndarray  # (n_features, n_samples) uint8
    nodes: np.ndarray
    sets: np.ndarray
    leaves: np.ndarray
    missing: np.ndarray  # (n_features,) the bin of missing values
    categorical: np.ndarray  # (n_features,) bool


@jit
def find_leaf(tree, i):
    """Return the leaf of row i."""
    nodes, node = tree.nodes, 0
    while nodes[node, LEFT] >= 0:
        f = nodes[node, FEATURE]
        b = np.int64(tree.codes[f, i])
        if tree.categorical[f]:
            goes = (tree.sets[node, b >> 6] >> np.uint64(b & 63)) & np.uint64(1) == np.uint64(1)
        elif b == tree.missing[f]:
            goes = nodes[node, MISSING] == 1
        else:
            goes = b <= nodes[node, CUT]
        node = nodes[node, LEFT] if goes else nodes[node, RIGHT]
    return tree.leaves[node]


@jit
def find_leaves(tree, first, stop, out):
    """Write the leaves of the rows first:stop into `out`."""
    for i in range(first, stop):
        out[i - first] = find_leaf(tree, i)


@jit
def add_leaf_values(tree, values, skipped, first, stop, out):
    """Add the values of the leaves of the rows first:stop to `out`, but not where `skipped`."""
    for i in range(first, stop):
        if len(skipped) > 0 and skipped[i]:
            continue
        leaf = find_leaf(tree, i)
        for k in range(values.shape[1]):
            out[i, k] += values[leaf, k]
