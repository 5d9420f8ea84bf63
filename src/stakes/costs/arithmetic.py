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


def average_cost_rows(
    costs: np.ndarray, codes: np.ndarray, n_classes: int, weight: np.ndarray | None = None
) -> np.ndarray:
    """Mean cost row of each true class; a class without an example that counts is refused."""
    counts = np.bincount(codes, weight, minlength=n_classes)
    if (counts == 0).any():
        empty = np.flatnonzero(counts == 0).tolist()
        raise ValueError(
            f"No example of the classes at positions {empty}: their costs are unknown."
        )
    sums = np.zeros((n_classes, costs.shape[1]))
    np.add.at(sums, codes, costs if weight is None else costs * weight[:, None])
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


def complaints(
    values: np.ndarray, names: list[str], decisions: list[str] | None = None
) -> list[str]:
    """Elkan's two conditions of reasonableness, each violation in words.

    `decisions` are those that are not the classes, in the order of the columns. Of them each is to
    be the cheapest somewhere, and each truth is to tell some apart.
    """
    faults = []
    own = {
        t: t if decisions is None else decisions.index(name)
        for t, name in enumerate(names)
        if decisions is None or name in decisions
    }
    named = names if decisions is None else decisions
    right = np.array([values[t, own[t]] if t in own else np.inf for t in range(len(names))])
    for t, d in zip(*np.nonzero(np.isfinite(right)[:, None] & (values < right[:, None]))):
        faults.append(
            f"deciding {named[d]!r} when the truth is {names[t]!r} costs {describe(values[t, d])}, "
            f"less than deciding {names[t]!r} rightly ({describe(right[t])})"
        )
    truth_of = {d: t for t, d in own.items()}
    for d, name in enumerate(named):
        # Few rivals cost no more where d is right; with many classes all pairs would take long.
        row = values[truth_of.get(d, 0)]
        for other in np.flatnonzero(row <= row[d]):
            costs_more = values[:, d] >= values[:, other]
            if other != d and costs_more.all() and (values[:, d] > values[:, other]).any():
                faults.append(
                    f"deciding {name!r} costs at least as much as deciding {named[other]!r} "
                    "whatever the truth, so it never pays"
                )
                break
        else:
            if decisions is not None and excess_at_best(values, d) > 0.0:
                faults.append(f"deciding {name!r} is never the cheapest, whatever is how probable")
    if decisions is not None:
        for t in np.flatnonzero((values == values[:, :1]).all(axis=1)):
            faults.append(
                f"when the truth is {names[t]!r} every decision costs the same, "
                f"{describe(values[t, 0])}: its rows teach nothing"
            )
    return faults


def excess_at_best(values: np.ndarray, d: int) -> float:
    """Return by how much a decision is dearer than the cheapest where it comes nearest to that.

    It is a linear programme over the probabilities of the truths; rounding counts as 0.

    Examples
    --------
    Half of each kind is the best that can be said for the third, which then costs 6 and not 5:

    >>> import numpy as np
    >>> from stakes.costs.arithmetic import excess_at_best
    >>> round(excess_at_best(np.array([[0.0, 10.0, 6.0], [10.0, 0.0, 6.0]]), 2), 9)
    1.0
    """
    from scipy.optimize import linprog

    n_classes = len(values)
    scale = float(np.ptp(values)) or 1.0
    gaps = np.delete((values[:, [d]] - values) / scale, d, axis=1)
    solved = linprog(
        np.append(np.zeros(n_classes), 1.0),
        A_ub=np.column_stack([gaps.T, -np.ones(gaps.shape[1])]),
        b_ub=np.zeros(gaps.shape[1]),
        A_eq=np.append(np.ones(n_classes), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0.0, None)] * n_classes + [(None, None)],
    )
    least = float(np.asarray(solved.x)[-1])
    return least * scale if least > 1e-9 else 0.0
