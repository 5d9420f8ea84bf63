"""The arithmetic of costs on plain arrays, which nobody checks again here."""

import numpy as np

from stakes.utils._arrays import describe


def shift_rows(costs: np.ndarray) -> np.ndarray:
    """Shift each row so that its least cost is 0."""
    return costs - costs.min(axis=-1, keepdims=True)


def rarity_costs(counts: np.ndarray) -> np.ndarray:
    """C[true j, pred i] = N_i / (N_i + N_j), 0 on the diagonal: obrien2008, section 6.

    Between two classes without examples it is 0.
    """
    n = np.asarray(counts, dtype=float)
    both = n[None, :] + n[:, None]
    costs = n[None, :] / np.where(both > 0, both, 1.0)
    np.fill_diagonal(costs, 0.0)
    return costs


def imbalance_costs(counts: np.ndarray) -> np.ndarray:
    """C[true k, pred j] = max(1, n_j / n_k) off the diagonal: slides, "cost matrix"."""
    n = np.asarray(counts, dtype=float)
    costs = np.maximum(1.0, n[None, :] / n[:, None])
    np.fill_diagonal(costs, 0.0)
    return costs


def average_cost_rows(costs: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Mean cost row of each true class; a class without an example is refused."""
    n_classes = costs.shape[1]
    counts = np.bincount(codes, minlength=n_classes)
    if (counts == 0).any():
        empty = np.flatnonzero(counts == 0).tolist()
        raise ValueError(
            f"No example of the classes at positions {empty}: their costs are unknown."
        )
    sums = np.zeros((n_classes, n_classes))
    np.add.at(sums, codes, costs)
    return sums / counts[:, None]


def binary_threshold(values: np.ndarray) -> float:
    """P(second class) from which deciding it is cheapest: eq. (2) of obrien2008."""
    (tn, fp), (fn, tp) = values
    rise, total = fp - tn, fp - tn + fn - tp
    if total <= 0:
        # Right decisions cost as much as wrong ones: no threshold, one decision or the
        # reverse of the usual rule.
        raise ValueError(
            "threshold() needs wrong decisions to cost more than right ones in sum, but here "
            f"(fp - tn) + (fn - tp) = {describe(total)}."
        )
    return float(rise / total)


def equal_risk_point(values: np.ndarray) -> tuple[np.ndarray | None, int]:
    """Solve Property 2's system; return the point (or None) and the dimension of the solutions.

    In our orientation the expected cost of decision d is sum_t p_t C[t, d], so the paper's
    matrix c is ``values.T``.
    """
    n = values.shape[0]
    scale = np.abs(values).max() or 1.0
    system = np.ones((n + 1, n + 1))
    system[:n] = np.column_stack([values.T / scale, np.full(n, -1.0)])
    system[n, n] = 0.0
    right = np.append(np.zeros(n), 1.0)
    rank = np.linalg.matrix_rank(system)
    if rank == n + 1:
        return np.linalg.solve(system, right)[:n], 0
    if np.linalg.matrix_rank(np.column_stack([system, right])) > rank:
        return None, 0  # no solution: the point is at infinity, or there is none
    # Least-norm step from the centre of the simplex: the nearest of the solutions.
    centre = np.append(np.full(n, 1.0 / n), 0.0)
    centre[n] = (values.T @ centre[:n]).mean() / scale
    step = np.linalg.lstsq(system, right - system @ centre, rcond=None)[0]
    return (centre + step)[:n], int(n + 1 - rank)


def complaints(values: np.ndarray, names: list[str]) -> list[str]:
    """Elkan's two conditions of reasonableness, each violation in words."""
    found = []
    right = np.diag(values)
    for t, d in zip(*np.nonzero(values < right[:, None])):
        found.append(
            f"deciding {names[d]!r} when the truth is {names[t]!r} costs {describe(values[t, d])}, "
            f"less than deciding {names[t]!r} rightly ({describe(right[t])})"
        )
    for d in range(len(names)):
        # Few rivals cost no more where d is right; with many classes all pairs would take long.
        for other in np.flatnonzero(values[d] <= right[d]):
            costs_more = values[:, d] >= values[:, other]
            if other != d and costs_more.all() and (values[:, d] > values[:, other]).any():
                found.append(
                    f"deciding {names[d]!r} costs at least as much as deciding {names[other]!r} "
                    "whatever the truth, so it never pays"
                )
                break
    return found
