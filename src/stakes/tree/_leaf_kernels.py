"""Numba kernels that read a grown tree; imported on use."""

import numba as nb
import numpy as np

from stakes.tree._kernels import BLOCK, CUT, FEATURE, LEFT, MISSING, RIGHT

jit = nb.njit(nogil=True, cache=True)


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
    """Give the leaves numbers from left to right, other nodes -1; return how many."""
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
    return n_leaves


@jit
def sum_nodes(
    nodes, runs, local, leaves, costs, y, weight, by_class, cost_sums, class_sums, leaf_of_row
):
    """Sum the costs and the class weights (the last column: all of them) of every node.

    `cost_sums` is zero where costs are by class; `class_sums` has one column if `y` is empty;
    `leaf_of_row` may be empty.
    """
    n_classes = costs.shape[1]
    n_shares = class_sums.shape[1] - 1
    for node in range(nodes.shape[0] - 1, -1, -1):
        if leaves[node] < 0:
            left, right = nodes[node, LEFT], nodes[node, RIGHT]
            for k in range(n_shares + 1):
                class_sums[node, k] = class_sums[left, k] + class_sums[right, k]
            for k in range(n_classes):
                cost_sums[node, k] = cost_sums[left, k] + cost_sums[right, k]
            continue
        for k in range(n_shares + 1):
            class_sums[node, k] = 0.0
        for k in range(n_classes):
            cost_sums[node, k] = 0.0
        for block in range(runs.shape[1] // 2):
            base = block * BLOCK
            for i in range(runs[node, 2 * block], runs[node, 2 * block + 1]):
                r = base + np.int64(local[i])
                w = weight[r] if len(weight) > 0 else 1.0
                if n_shares > 0:
                    class_sums[node, y[r]] += w
                class_sums[node, n_shares] += w
                if not by_class:
                    for k in range(n_classes):
                        cost_sums[node, k] += w * costs[r, k]
                if len(leaf_of_row) > 0:
                    leaf_of_row[r] = leaves[node]


@jit
def sum_up(nodes, leaves, table):
    """Write into the rows of inner nodes the sums of their children's rows."""
    for node in range(nodes.shape[0] - 1, -1, -1):
        if leaves[node] < 0:
            for k in range(table.shape[1]):
                table[node, k] = table[nodes[node, LEFT], k] + table[nodes[node, RIGHT], k]


@jit
def find_leaf(codes, nodes, sets, leaves, missing, categorical, i):
    """Return the leaf of row i."""
    node = 0
    while nodes[node, LEFT] >= 0:
        f = nodes[node, FEATURE]
        b = np.int64(codes[f, i])
        if categorical[f]:
            goes = (sets[node, b >> 6] >> np.uint64(b & 63)) & np.uint64(1) == np.uint64(1)
        elif b == missing[f]:
            goes = nodes[node, MISSING] == 1
        else:
            goes = b <= nodes[node, CUT]
        node = nodes[node, LEFT] if goes else nodes[node, RIGHT]
    return leaves[node]


@jit
def find_leaves(codes, nodes, sets, leaves, missing, categorical, first, stop, out):
    """Write the leaves of the rows first:stop into `out`."""
    for i in range(first, stop):
        out[i - first] = find_leaf(codes, nodes, sets, leaves, missing, categorical, i)


@jit
def add_leaf_values(
    codes, nodes, sets, leaves, missing, categorical, values, skipped, first, stop, out
):
    """Add the values of the leaves of the rows first:stop to `out`, but not where `skipped`."""
    for i in range(first, stop):
        if len(skipped) > 0 and skipped[i]:
            continue
        leaf = find_leaf(codes, nodes, sets, leaves, missing, categorical, i)
        for k in range(values.shape[1]):
            out[i, k] += values[leaf, k]
