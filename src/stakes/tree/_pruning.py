"""Cost-complexity pruning: which branches save too little for their size."""

import heapq

import numpy as np

from stakes.tree._columns import CUT, FEATURE, LEFT, MISSING, RIGHT
from stakes.tree._structure import CostTree


def weakest_links(tree: CostTree) -> list[tuple[float, int]]:
    r"""Return (alpha, node) in the order in which pruning turns nodes into leaves.

    A node t whose branch T has leaves is worth its size as long as

    .. math:: \alpha < \frac{R(t) - R(T)}{|T| - 1},

    with R the average training cost; the node where this fails first is cut first.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.tree._binning import Bins
    >>> from stakes.tree._grow import grow_cost_tree
    >>> from stakes.tree._pruning import weakest_links
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> costs = np.array([[0.0, 1.0], [0.0, 1.0], [5.0, 0.0], [0.0, 1.0]])
    >>> tree, _ = grow_cost_tree(Bins.fit(X).transform(X), costs, max_depth=2)
    >>> weakest_links(tree)  # the cut at 3.5 saves 1 of 4 rows' cost, that at 2.5 saves 2
    [(0.25, 2), (0.5, 0)]
    """
    left, right = tree.nodes[:, LEFT].tolist(), tree.nodes[:, RIGHT].tolist()
    n_nodes = len(left)
    own = (tree.cost_sums.min(axis=1) / tree.class_sums[0, -1]).tolist()
    parent = [-1] * n_nodes
    branch, n_leaves = own.copy(), [1] * n_nodes
    for node in range(n_nodes - 1, -1, -1):
        if left[node] >= 0:
            parent[left[node]] = parent[right[node]] = node
            branch[node] = branch[left[node]] + branch[right[node]]
            n_leaves[node] = n_leaves[left[node]] + n_leaves[right[node]]

    def strength(node):
        return max(0.0, (own[node] - branch[node]) / (n_leaves[node] - 1))

    heap = [(strength(node), -node) for node in range(n_nodes) if left[node] >= 0]
    heapq.heapify(heap)
    cut = [False] * n_nodes
    links, alpha = [], 0.0
    while heap:
        value, node = heapq.heappop(heap)
        node = -node
        if n_leaves[node] == 1 or value != strength(node) or _is_below_a_cut(node, parent, cut):
            continue
        alpha = max(alpha, value)
        links.append((alpha, node))
        cut[node] = True
        saved, fewer = own[node] - branch[node], n_leaves[node] - 1
        while node >= 0:
            branch[node] += saved
            n_leaves[node] -= fewer
            if n_leaves[node] > 1:
                heapq.heappush(heap, (strength(node), -node))
            node = parent[node]
    return links


def _is_below_a_cut(node, parent, cut) -> bool:
    while node >= 0:
        if cut[node]:
            return True
        node = parent[node]
    return False


def prune(tree: CostTree, ccp_alpha: float) -> CostTree:
    """Return the tree without the branches that save `ccp_alpha` or less for each leaf."""
    cut = [node for alpha, node in weakest_links(tree) if alpha <= ccp_alpha]
    return cut_branches(tree, cut)


def cut_branches(tree: CostTree, cut: list[int]) -> CostTree:
    """Return the tree with the nodes `cut` as leaves."""
    from stakes.tree._leaf_kernels import number_leaves

    nodes = tree.nodes.copy()
    nodes[cut, LEFT] = nodes[cut, RIGHT] = -1
    keep = np.zeros(len(nodes), dtype=bool)
    keep[0] = True
    for node in range(len(nodes)):
        if keep[node] and nodes[node, LEFT] >= 0:
            keep[nodes[node, [LEFT, RIGHT]]] = True
    new = np.cumsum(keep) - 1
    inner = nodes[:, LEFT] >= 0
    for column in (LEFT, RIGHT):
        nodes[inner, column] = new[nodes[inner, column]]
    for column in (FEATURE, CUT, MISSING):
        nodes[~inner, column] = -1
    nodes = np.ascontiguousarray(nodes[keep])
    leaves = np.empty(len(nodes), dtype=np.int32)
    number_leaves(nodes, leaves, np.empty(len(nodes) + 1, np.int64))
    tables = (table[keep] for table in (tree.gains, tree.sets, tree.cost_sums, tree.class_sums))
    gains, sets, cost_sums, class_sums = tables
    return CostTree(nodes, gains, sets, leaves, cost_sums, class_sums, tree.bins)


def choose_alpha(tree: CostTree, cost_sums: np.ndarray) -> float:
    """Return the strength of pruning whose tree costs least on rows that are held out.

    `cost_sums` is what each decision costs those rows in each node. Among equals the strongest,
    hence the smallest tree. The strength lies halfway (in the geometric sense) to the next at
    which the tree would change.
    """
    decided = tree.cost_sums.argmin(axis=1)
    as_leaf = cost_sums[np.arange(len(decided)), decided]
    current = as_leaf.copy()  # cost of the branch as it is pruned so far
    children = tree.nodes[:, [LEFT, RIGHT]]
    parent = np.full(len(children), -1)
    for node in range(len(children) - 1, -1, -1):
        if children[node, 0] >= 0:
            parent[children[node]] = node
            current[node] = current[children[node]].sum()
    links = weakest_links(tree)
    alphas, paid = [0.0], [current[0]]
    for alpha, node in links:
        change = as_leaf[node] - current[node]
        while node >= 0:
            current[node] += change
            node = parent[node]
        if alpha == alphas[-1]:
            paid[-1] = current[0]
        else:
            alphas.append(alpha)
            paid.append(current[0])
    slack = 1e-12 * np.abs(as_leaf).sum()
    best = int(np.flatnonzero(np.array(paid) <= min(paid) + slack)[-1])
    if best + 1 == len(alphas):
        return float(alphas[best])
    return float(np.sqrt(alphas[best] * alphas[best + 1])) if best else 0.0
