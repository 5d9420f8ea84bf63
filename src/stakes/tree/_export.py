"""A tree to be read: as text, and as a drawing."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from stakes.tree._columns import CUT, DEPTH, FEATURE, LEFT, MISSING, N_ROWS, RIGHT
from stakes.tree._structure import CostTree
from stakes.utils._arrays import describe
from stakes.utils._optional import import_optional

# Categories that are written out in one question.
MOST_CATEGORIES = 4


def export_cost_tree(
    classifier: Any, *, feature_names: Any = None, max_depth: int | None = None, currency: str = ""
) -> str:
    """Return the questions and decisions of a cost tree as text.

    Parameters
    ----------
    classifier : CostTreeClassifier
        Fitted.
    feature_names : array-like of str, default=None
        Names of the features. If None, those seen in `fit`, or x0, x1, ...
    max_depth : int, default=None
        Questions to show; deeper branches are only counted.
    currency : str, default=""
        Written before each amount.

    Returns
    -------
    text : str
        A line for each question and each leaf: the decision, what it costs a training row on
        average, and how many rows there are. A missing value answers no, except where the
        question says "or missing".

    Examples
    --------
    >>> from stakes.costs import CostMatrix
    >>> from stakes.tree import CostTreeClassifier, export_cost_tree
    >>> X, y = [[1], [2], [3], [4], [3], [4]], ["ok", "ok", "ok", "ok", "fraud", "fraud"]
    >>> C = CostMatrix([[0, 5], [1, 0]], labels=["fraud", "ok"])
    >>> tree = CostTreeClassifier(C, min_samples_leaf=2).fit(X, y)
    >>> print(export_cost_tree(tree, feature_names=["amount"], currency="$"))
    amount <= 2.5
        decide 'ok': $0 a row, 2 rows
    amount > 2.5
        decide 'fraud': $0.5 a row, 4 rows
    """
    check_is_fitted(classifier)
    tree = classifier.tree_
    names = _feature_names(classifier, feature_names)
    labels = classifier.classes_.tolist()
    lines: list[str] = []
    stack: list[tuple[int, int, str]] = [(0, 0, "")]
    while stack:
        node, depth, question = stack.pop()
        if question:
            lines.append("    " * (depth - 1) + question)
        indent = "    " * depth
        if tree.leaves[node] >= 0:
            lines.append(indent + _describe_leaf(tree, node, labels, currency))
        elif max_depth is not None and depth >= max_depth:
            lines.append(f"{indent}... {_n_leaves_below(tree, node)} leaves")
        else:
            left, right = describe_split(tree, node, names)
            stack.append((int(tree.nodes[node, RIGHT]), depth + 1, right))
            stack.append((int(tree.nodes[node, LEFT]), depth + 1, left))
    return "\n".join(lines)


def plot_cost_tree(
    classifier: Any,
    *,
    feature_names: Any = None,
    max_depth: int | None = None,
    currency: str = "",
    ax: Any = None,
    fontsize: float | None = None,
) -> Any:
    """Draw a cost tree: a question in each node, decision and cost in each leaf.

    Parameters
    ----------
    classifier : CostTreeClassifier
        Fitted.
    feature_names, max_depth, currency
        As in `export_cost_tree`.
    ax : matplotlib Axes, default=None
        Where to draw.
    fontsize : float, default=None
        Size of the text. If None, it is chosen by the number of leaves.

    Returns
    -------
    ax : matplotlib Axes
        With the drawing; the colour of a leaf is its decision.
    """
    check_is_fitted(classifier)
    pyplot = import_optional("matplotlib.pyplot", extra="plot", purpose="plot_cost_tree")
    tree = classifier.tree_
    names = _feature_names(classifier, feature_names)
    labels = classifier.classes_.tolist()
    places = _places(tree, max_depth)
    n_ends = 1 + max(x for x, _ in places.values())
    deepest = max(depth for _, depth in places.values())
    if ax is None:
        _, ax = pyplot.subplots(
            figsize=(max(4.0, 2.2 * n_ends), 1.6 * (deepest + 1)), layout="constrained"
        )
    fontsize = fontsize or float(np.clip(40 / n_ends, 6, 10))
    colours = pyplot.get_cmap("tab10" if len(labels) <= 10 else "tab20")
    for node, (x, depth) in places.items():
        children = _shown_children(tree, node, places)
        if tree.leaves[node] >= 0:
            text = _describe_leaf(tree, node, labels, currency).replace(": ", "\n")
            text = text.replace(", ", "\n")
        elif not children:
            text = f"{_n_leaves_below(tree, node)} leaves"
        else:
            text = describe_split(tree, node, names)[0]
            for child, answer in zip(children, ("yes", "no")):
                x_child, depth_child = places[child]
                ax.plot([x, x_child], [-depth, -depth_child], color="0.6", linewidth=1, zorder=1)
                ax.text(
                    (x + x_child) / 2,
                    -(depth + depth_child) / 2,
                    answer,
                    fontsize=fontsize,
                    color="0.35",
                    ha="center",
                    va="center",
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
                )
        decision = int(tree.cost_sums[node].argmin())
        face = "white" if children else _pale(colours(decision % colours.N))
        ax.text(
            x,
            -depth,
            text,
            fontsize=fontsize,
            ha="center",
            va="center",
            zorder=2,
            bbox={"boxstyle": "round,pad=0.4", "facecolor": face, "edgecolor": "0.4"},
        )
    ax.set_xlim(-0.6, n_ends - 0.4)
    ax.set_ylim(-deepest - 0.5, 0.5)
    ax.set_axis_off()
    return ax


def describe_split(tree: CostTree, node: int, names: list[str]) -> tuple[str, str]:
    """Return the question of a node as it reads for its left and for its right child."""
    f, cut = int(tree.nodes[node, FEATURE]), int(tree.nodes[node, CUT])
    bins, name = tree.bins, names[f]
    if bins.is_categorical[f]:
        words = tree.sets[node]
        goes_left = [
            bool((int(words[b >> 6]) >> (b & 63)) & 1) for b in range(int(bins.n_values[f]) + 1)
        ]
        known = bins.category_names(f)
        chosen = [label for label, left in zip(known, goes_left) if left]
        others = [label for label, left in zip(known, goes_left) if not left]
        if len(chosen) <= len(others):
            return f"{name} in {_listed(chosen)}", f"{name} not in {_listed(chosen)}"
        return f"{name} not in {_listed(others)}", f"{name} in {_listed(others)}"
    if cut >= len(bins.edges[f]):  # all values against the missing ones
        return f"{name} is known", f"{name} is missing"
    value = describe(float(bins.edges[f][cut]))
    if tree.nodes[node, MISSING] == 1:
        return f"{name} <= {value} or missing", f"{name} > {value}"
    return f"{name} <= {value}", f"{name} > {value}"


def _listed(labels) -> str:
    shown = [str(label) for label in labels[:MOST_CATEGORIES]]
    if len(labels) > MOST_CATEGORIES:
        shown.append(f"{len(labels) - MOST_CATEGORIES} more")
    return "{" + ", ".join(shown) + "}"


def _describe_leaf(tree, node: int, labels, currency: str) -> str:
    sums = tree.cost_sums[node]
    decision = int(sums.argmin())
    cost = describe(float(sums[decision] / tree.class_sums[node, -1]))
    n_rows = int(tree.nodes[node, N_ROWS])
    rows = "1 row" if n_rows == 1 else f"{n_rows:,} rows"
    return f"decide {labels[decision]!r}: {currency}{cost} a row, {rows}"


def _feature_names(classifier, feature_names) -> list[str]:
    n_features = classifier.n_features_in_
    if feature_names is None:
        default = [f"x{f}" for f in range(n_features)]
        names = getattr(classifier, "feature_names_in_", default)
        units = classifier._columns.units
        return [
            f"{name} ({units[f]})" if f in units else str(name) for f, name in enumerate(names)
        ]
    if len(feature_names) != n_features:
        raise ValueError(
            f"feature_names has {len(feature_names)} names, but the tree was fitted on "
            f"{n_features} features."
        )
    return [str(name) for name in feature_names]


def _n_leaves_below(tree, node: int) -> int:
    count, stack = 0, [node]
    while stack:
        at = stack.pop()
        if tree.leaves[at] >= 0:
            count += 1
        else:
            stack += [int(tree.nodes[at, LEFT]), int(tree.nodes[at, RIGHT])]
    return count


def _places(tree, max_depth) -> dict[int, tuple[float, int]]:
    """Return (x, depth) of each node that is drawn: ends side by side, parents between."""
    places: dict[int, tuple[float, int]] = {}
    n_ends = 0
    stack = [(0, False)]
    while stack:
        node, placed = stack.pop()
        depth = int(tree.nodes[node, DEPTH])
        left, right = int(tree.nodes[node, LEFT]), int(tree.nodes[node, RIGHT])
        if left < 0 or (max_depth is not None and depth >= max_depth):
            places[node] = (float(n_ends), depth)
            n_ends += 1
        elif placed:
            places[node] = ((places[left][0] + places[right][0]) / 2, depth)
        else:
            stack += [(node, True), (right, False), (left, False)]
    return places


def _shown_children(tree, node: int, places) -> list[int]:
    children = [int(tree.nodes[node, LEFT]), int(tree.nodes[node, RIGHT])]
    return children if children[0] in places else []


def _pale(colour) -> tuple[float, ...]:
    return tuple(0.75 + 0.25 * part for part in colour[:3])
