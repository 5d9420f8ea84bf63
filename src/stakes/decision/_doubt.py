"""Decisions at prices that are not known for sure: pure functions on probabilities and prices."""

from typing import Any, NamedTuple

import numpy as np

from stakes._learning.votes import expected_rows
from stakes.costs import UncertainCostMatrix, read_cost_matrix
from stakes.decision._expected import check_proba, expected_costs
from stakes.utils._labels import as_labels

CRITERIA = ("mean", "regret", "worst")
# Probabilities looked at in one go: with a thousand draws of the prices they stay small.
BLOCK = 512
NODES = 50  # quantiles of one price, in the middle of shares of the same size


def decide_under_doubt(
    proba: Any,
    cost_matrix: UncertainCostMatrix,
    criterion: str = "mean",
    *,
    share: float = 0.1,
    n_draws: int = 1000,
    random_state: Any = 0,
) -> np.ndarray:
    r"""Return the decision for each example, as a column index, at prices that are guesses.

    Parameters
    ----------
    proba : array-like of shape (n_samples, n_classes)
        Class probabilities.
    cost_matrix : UncertainCostMatrix
        The prices, in the order of the columns of `proba`.
    criterion : {"mean", "regret", "worst"}, default="mean"
        ``"mean"``: least expected cost at the mean prices; no other rule pays less on average.
        ``"regret"``: the largest regret is least, whatever the prices turn out to be; the
        regret is what is paid, in expectation over the truth, beyond the decision that would
        have been best at those prices. ``"worst"``: the average of the worst `share` of
        outcomes is least; an outcome is a truth and a draw of the prices, and its cost counts
        from the best decision for that truth.
    share : float, default=0.1
        The share of outcomes that counts for ``"worst"``; 1 is ``"mean"``.
    n_draws : int, default=1000
        Draws of the prices, where the answer is not exact.
    random_state : int, RandomState instance or None, default=0
        Seeds the draws.

    Returns
    -------
    decisions : ndarray of shape (n_samples,)
        Of equally good decisions the first is taken.

    Notes
    -----
    For independent ranges the regret is exact: the largest regret of d against e is
    :math:`\sum_t p_t (high_{td} - low_{te})`, and the regret of d the largest over e.

    Examples
    --------
    A miss costs between 1 and 9, a false alarm 1. At a probability of 0.15 the mean price, 5,
    says "no" (0.75 against 0.85). Saying "no" may cost 9 x 0.15 - 0.85 = 0.5 too much, saying
    "yes" 0.85 - 0.15 = 0.7:

    >>> from stakes.costs import UncertainCostMatrix
    >>> from stakes.decision import decide_under_doubt
    >>> C = UncertainCostMatrix([[0, 1], [(1, 9), 0]])
    >>> decide_under_doubt([[0.85, 0.15]], C), decide_under_doubt([[0.85, 0.15]], C, "regret")
    (array([0]), array([0]))
    >>> decide_under_doubt([[0.85, 0.15]], C, "worst")
    array([1])
    """
    proba = check_proba(proba, n_classes=cost_matrix.n_classes)
    if criterion not in CRITERIA:
        raise ValueError(f"criterion={criterion!r} must be one of {', '.join(CRITERIA)}.")
    if criterion == "mean":
        return expected_rows(proba, cost_matrix.values).argmin(axis=1)
    if criterion == "regret" and cost_matrix.is_box:
        return range_regrets(proba, cost_matrix.low, cost_matrix.high).argmin(axis=1)
    draws = cost_matrix.sample(n_draws, random_state)
    if criterion == "regret":
        return sampled_regrets(proba, draws).argmin(axis=1)
    return worst_costs(proba, draws, share).argmin(axis=1)


def range_regrets(proba: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the largest regret of each decision, (n, D), over all prices between low and high.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.decision._doubt import range_regrets
    >>> low, high = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [9.0, 0.0]])
    >>> range_regrets(np.array([[0.85, 0.15]]), low, high).round(2)
    array([[0.5, 0.7]])
    """
    most, least = expected_rows(proba, high), expected_rows(proba, low)
    regrets = np.zeros_like(most)
    for d in range(most.shape[1]):
        others = np.delete(least, d, axis=1).min(axis=1)
        regrets[:, d] = np.maximum(most[:, d] - others, 0.0)
    return regrets


def sampled_regrets(proba: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Return the largest regret of each decision, (n, D), over some draws of the prices."""
    regrets = np.empty((len(proba), draws.shape[2]))
    for start in range(0, len(proba), BLOCK):
        rows = slice(start, start + BLOCK)
        expected = np.einsum("nt,std->snd", proba[rows], draws)
        regrets[rows] = (expected - expected.min(axis=2, keepdims=True)).max(axis=0)
    return regrets


def worst_costs(proba: np.ndarray, draws: np.ndarray, share: float) -> np.ndarray:
    """Return the average cost of the worst share of outcomes of each decision, (n, D).

    Costs count from the least of their row, so that a constant added to a row, which no
    decision can avoid, changes nothing.

    Examples
    --------
    With a probability of 0.1 a cost of 5: the worst fifth of outcomes costs 2.5 on average.

    >>> import numpy as np
    >>> from stakes.decision._doubt import worst_costs
    >>> worst_costs(np.array([[0.9, 0.1]]), np.array([[[0.0, 1.0], [5.0, 0.0]]]), 0.2)
    array([[2.5, 1. ]])
    """
    if not 0 < share <= 1:
        raise ValueError(f"share={share!r} must be above 0 and at most 1.")
    draws = draws - draws.min(axis=2, keepdims=True)
    worst = np.empty((len(proba), draws.shape[2]))
    for d in range(draws.shape[2]):
        truths, prices, chances = _outcomes(draws[:, :, d])
        for start in range(0, len(proba), BLOCK):
            rows = slice(start, start + BLOCK)
            mass = proba[rows][:, truths] * chances
            before = np.cumsum(mass, axis=1) - mass
            counted = np.clip(share - before, 0.0, mass)  # what of each outcome is in the share
            # one after the other: the last bits of other sums depend on the rows beside
            worst[rows, d] = np.cumsum(counted * prices, axis=1)[:, -1] / share
    return worst


def _outcomes(prices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return truths, prices, and chances given their truth, of what a decision may cost.

    The dearest comes first. A truth whose price (draws, truths) never changes is one outcome.
    """
    n_draws, fixed = len(prices), (prices == prices[0]).all(axis=0)
    moving = np.flatnonzero(~fixed)
    truths = np.concatenate([np.flatnonzero(fixed), np.tile(moving, n_draws)])
    outcomes = np.concatenate([prices[0, fixed], prices[:, moving].ravel()])
    chances = np.repeat([1.0, 1.0 / n_draws], [fixed.sum(), n_draws * len(moving)])
    order = np.argsort(-outcomes, kind="stable")
    return truths[order], outcomes[order], chances[order]


# -- within which prices does a decision stand? ------------------------------------------------


def break_even_prices(
    proba: Any, cost_matrix: Any = None, *, cost_tensor: Any = None
) -> np.ndarray:
    r"""Return the price of each cell at which the decision of each example changes.

    One price at a time moves, the others stay. For the cells of the decision that is taken it
    is the price *above* which another is taken; for the cells of any other decision the price
    *below* which that one is taken.

    Parameters
    ----------
    proba : array-like of shape (n_samples, n_classes)
        Class probabilities.
    cost_matrix : array-like of shape (n_classes, n_decisions), default=None
        ``cost_matrix[true, decision]``; 0/1 costs if None and there is no `cost_tensor`.
    cost_tensor : array-like of shape (n_samples, n_classes, n_decisions), default=None
        [example, true, decision], instead of the matrix.

    Returns
    -------
    prices : ndarray of shape (n_samples, n_classes, n_decisions)
        Infinite, with the sign of the direction, where no price changes the decision because
        the truth has probability 0. A price below 0 says that the decision would have to bring
        something in.

    Notes
    -----
    Only the expected cost of d moves, by :math:`p_t` for each unit, so the price is
    :math:`C_{td} + (\min_{e \ne d} E_e - E_d) / p_t`.

    Examples
    --------
    At a probability of 0.1, a miss of 20 is avoided (2 against 0.9). From 9 downwards, or if a
    false alarm cost more than 2.22, it would not be:

    >>> from stakes.decision import break_even_prices
    >>> break_even_prices([[0.9, 0.1]], [[0, 1], [20, 0]])[0].round(2)
    array([[-1.22,  2.22],
           [ 9.  , 11.  ]])
    """
    proba = check_proba(proba)
    expected = expected_costs(proba, cost_matrix, cost_tensor=cost_tensor)
    n_decisions = expected.shape[1]
    if cost_tensor is not None:
        prices = np.asarray(cost_tensor, dtype=float)
    else:
        prices = np.asarray(1.0 - np.eye(proba.shape[1]) if cost_matrix is None else cost_matrix)
        prices = np.broadcast_to(prices.astype(float), (len(proba), *prices.shape))
    others = np.column_stack(
        [np.delete(expected, d, axis=1).min(axis=1) for d in range(n_decisions)]
    )
    room = (others - expected)[:, None, :]
    # A tie goes to the first decision: one before the others stands at a room of 0.
    ahead = expected.argmin(axis=1)[:, None] == np.arange(n_decisions)
    never = np.where(ahead, np.inf, -np.inf)[:, None, :]
    p = np.broadcast_to(proba[:, :, None], prices.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > 0, prices + room / p, never)


# -- what would it be worth to know the prices? ------------------------------------------------


class ValueOfKnowing(NamedTuple):
    """What it would be worth, per example, to know the prices before deciding.

    Attributes
    ----------
    total : float
        To know all of them.
    cells : ndarray of shape (n_classes, n_decisions)
        To know one of them alone.
    """

    total: float
    cells: np.ndarray


def value_of_knowing(
    proba: Any, cost_matrix: UncertainCostMatrix, *, n_draws: int = 1000, random_state: Any = 0
) -> ValueOfKnowing:
    """Return the expected value of perfect information about the prices, per example.

    Who does not know the prices decides at their mean; who knows them decides at each price
    what is best there. The difference, on average over the doubt, is what to pay at most for
    finding out.

    Parameters
    ----------
    proba : array-like of shape (n_samples, n_classes)
        Class probabilities.
    cost_matrix : UncertainCostMatrix
        The prices, in the order of the columns of `proba`.
    n_draws, random_state
        As in `decide_under_doubt`.

    Returns
    -------
    value : ValueOfKnowing
        With `total` and `cells`, in the unit of the costs.

    Examples
    --------
    A miss costs 1 or 9, a false alarm 1, and the probability is 0.15. Not knowing, "no" costs
    0.75 on average. Knowing, "no" at 1 (0.15) and "yes" at 9 (0.85): 0.5 on average.

    >>> from stakes.costs import UncertainCostMatrix
    >>> from stakes.decision import value_of_knowing
    >>> C = UncertainCostMatrix.from_samples([[[0, 1], [1, 0]], [[0, 1], [9, 0]]])
    >>> round(value_of_knowing([[0.85, 0.15]], C).total, 6)
    0.25
    """
    proba = check_proba(proba, n_classes=cost_matrix.n_classes)
    draws = cost_matrix.sample(n_draws, random_state)
    mean = draws.mean(axis=0)
    blind = float(expected_rows(proba, mean).min(axis=1).mean())
    known = np.zeros(len(draws))
    for start in range(0, len(proba), BLOCK):
        expected = np.einsum("nt,std->snd", proba[start : start + BLOCK], draws)
        known += expected.min(axis=2).sum(axis=1)
    cells = np.zeros(mean.shape)
    for t, d in np.argwhere(cost_matrix.uncertain):
        if cost_matrix.independent:
            cells[t, d] = _value_of_one(proba, cost_matrix, t, d)
            continue
        told, weight = conditional_means(cost_matrix, draws, t, d)
        seen = weight @ [expected_rows(proba, matrix).min(axis=1).mean() for matrix in told]
        mixed = np.tensordot(weight, told, axes=1)
        before = expected_rows(proba, mixed).min(axis=1).mean()
        cells[t, d] = max(before - seen, 0.0)
    return ValueOfKnowing(max(blind - float(known.mean()) / len(proba), 0.0), cells)


def _value_of_one(proba: np.ndarray, cost_matrix: UncertainCostMatrix, t: int, d: int) -> float:
    """Return what it is worth to know one price that is independent of the others."""
    expected = expected_rows(proba, cost_matrix.values)
    others = np.delete(expected, d, axis=1).min(axis=1)
    prices = cost_matrix.quantiles(t, d, (np.arange(NODES) + 0.5) / NODES)
    own = expected[:, d] - proba[:, t] * cost_matrix.values[t, d]
    seen = np.mean([np.minimum(others, own + proba[:, t] * price).mean() for price in prices])
    return max(float(np.minimum(others, own + proba[:, t] * prices.mean()).mean() - seen), 0.0)


def conditional_means(
    cost_matrix: UncertainCostMatrix, draws: np.ndarray, true: int, decision: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix for each of some values of one price, and how likely each is.

    A matrix holds what the others are on average when that price is known: their means where
    prices are independent; where they are samples, the means of samples with about that price.
    """
    if not cost_matrix.independent:
        price = draws[:, true, decision]
        values, code = np.unique(price, return_inverse=True)
        if len(values) > NODES:
            code = np.argsort(np.argsort(price, kind="stable")) * NODES // len(price)
        counts = np.bincount(code)
        sums = np.zeros((len(counts), *draws.shape[1:]))
        np.add.at(sums, code, draws)
        return sums / counts[:, None, None], counts / len(price)
    shares = (np.arange(NODES) + 0.5) / NODES
    told = np.repeat(cost_matrix.values[None], NODES, axis=0)
    told[:, true, decision] = cost_matrix.quantiles(true, decision, shares)
    return told, np.full(NODES, 1 / NODES)


def as_uncertain(cost_matrix: Any, classes: Any) -> UncertainCostMatrix:
    """Return prices in the order of the classes; those known for sure, too."""
    if isinstance(cost_matrix, UncertainCostMatrix):
        return cost_matrix.aligned(classes)
    values, decisions = read_cost_matrix(cost_matrix, classes=classes)
    same = values.shape[0] == values.shape[1] and decisions == as_labels(classes)
    return UncertainCostMatrix(values.tolist(), decisions=None if same else decisions)
