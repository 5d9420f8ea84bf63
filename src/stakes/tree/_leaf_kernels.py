"""Numba kernels that read a grown tree; imported on use."""

from typing import NamedTuple

import numpy as np

from stakes.tree._columns import CUT, FEATURE, LEFT, MISSING, RIGHT
from stakes.tree._histogram_kernels import BLOCK
from stakes.tree._jit import cached_jit as jit


@jit
def measure(costs, y, weight, by_class):
    """Return the sum of |centred cost| (not finite if a cost is not) and of the weights."""
    n_classes = costs.shape[1]
    n_samples = len(y) if by_class else costs.shape[0]
    mass, total_weight = 0.0, 0.0
    for i in range(n_samples):
        r = np.int64(y[i]) if by_class else i
        w = weight[i] if len(weight) > 0 else 1.0
        total = 0.0
        for k in range(n_classes):
            total += costs[r, k]
        mean = total / n_classes
        deviation = 0.0
        for k in range(n_classes):
            deviation += abs(costs[r, k] - mean)
        mass += w * deviation
        total_weight += w
    return mass, total_weight


@jit
def number_leaves(nodes, leaves):
    """Give the leaves numbers from left to right, other nodes -1."""
    stack = np.empty(nodes.shape[0] + 1, np.int64)
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
def sum_leaves(local, runs, leaves, costs, y, weight, sums, leaf_of_row):
    """Add up the rows of each leaf: their costs, the weights of their classes, all weights.

    `costs` and `y` may be empty, and then have no columns in `sums`; so may `leaf_of_row`.
    """
    n_costs = 0 if len(costs) == 0 else costs.shape[1]
    last = sums.shape[1] - 1
    for node in range(len(leaves)):
        if leaves[node] < 0:
            continue
        for block in range(runs.shape[1] // 2):
            base = block * BLOCK
            for i in range(runs[node, 2 * block], runs[node, 2 * block + 1]):
                r = base + np.int64(local[i])
                w = weight[r] if len(weight) > 0 else 1.0
                if len(y) > 0:
                    sums[node, n_costs + y[r]] += w
                sums[node, last] += w
                for k in range(n_costs):
                    sums[node, k] += w * costs[r, k]
                if len(leaf_of_row) > 0:
                    leaf_of_row[r] = leaves[node]


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
