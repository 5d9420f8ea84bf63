"""A tree grown the plain way: every split of every feature, sums taken afresh each time.

Costs and weights are integers and sums are exact, so that a tie is a tie.
"""

from fractions import Fraction
from itertools import combinations


def brute_force_tree(
    codes,
    costs,
    weight=None,
    *,
    missing,
    categorical,
    criterion="cost",
    max_depth=2,
    max_leaf_nodes=None,
    min_samples_leaf=1,
    min_cost_decrease=0,
):
    """Return the leaves as a set of frozensets of rows, and the total cost of their decisions.

    codes[f][i] is the bin of row i on feature f; missing[f] the bin of missing values.
    """
    n_rows, n_classes = len(costs), len(costs[0])
    weight = [1] * n_rows if weight is None else [int(w) for w in weight]
    rows_sum = [sum(int(c) for c in row) for row in costs]
    exact = [[int(c) * n_classes - s for c in row] for row, s in zip(costs, rows_sum)]  # centred
    total_weight = sum(weight)

    def sums(rows):
        return [sum(weight[i] * exact[i][k] for i in rows) for k in range(n_classes)]

    def cost(rows):
        return Fraction(min(sums(rows)), n_classes)

    def kept(rows):
        return Fraction(sum(c * c for c in sums(rows)), sum(weight[i] for i in rows))

    def candidates(rows):
        """Yield the left sides in the order that decides ties."""
        for f in range(len(codes)):
            seen = sorted({codes[f][i] for i in rows})
            if categorical[f]:
                others = seen[1:]
                for size in range(1, len(others) + 1):
                    for chosen in combinations(others, size):
                        yield [i for i in rows if codes[f][i] in chosen]
                continue
            values = [b for b in seen if b != missing[f]]
            for missing_left in (False, True):
                if missing_left and missing[f] not in seen:
                    continue
                for b in values:
                    yield [
                        i
                        for i in rows
                        if (missing_left if codes[f][i] == missing[f] else codes[f][i] <= b)
                    ]

    def best_split(rows):
        found = None
        for left in candidates(rows):
            inside = set(left)
            right = [i for i in rows if i not in inside]
            if min(len(left), len(right)) < min_samples_leaf:
                continue
            saved = cost(rows) - cost(left) - cost(right)
            gained = kept(left) + kept(right) - kept(rows)
            if saved < min_cost_decrease * total_weight or (saved <= 0 and gained <= 0):
                continue
            key = (saved, gained) if criterion == "cost" else (gained,)
            if found is None or key > found[0]:
                found = (key, left, right, saved, gained)
        return found

    start = [i for i in range(n_rows) if weight[i] > 0]
    leaves, open_nodes = [], [(start, 0)]
    while open_nodes:
        splits = []
        for rows, depth in open_nodes:
            split = best_split(rows) if depth < max_depth else None
            if split is None:
                leaves.append(rows)
            else:
                splits.append((rows, depth, split))
        if not splits:
            break
        if max_leaf_nodes is None:
            chosen = splits
        else:
            if len(leaves) + len(splits) >= max_leaf_nodes:
                leaves += [rows for rows, _, _ in splits]
                break
            chosen = [max(splits, key=lambda s: (s[2][3], s[2][4]))]
        open_nodes = [
            (rows, depth)
            for rows, depth, _ in splits
            if (rows, depth) not in [(r, d) for r, d, _ in chosen]
        ]
        for _, depth, (_, left, right, _, _) in chosen:
            open_nodes += [(left, depth + 1), (right, depth + 1)]
    constant = Fraction(sum(w * s for w, s in zip(weight, rows_sum)), n_classes)
    return {frozenset(rows) for rows in leaves}, constant + sum(cost(rows) for rows in leaves)
