"""Votes of members, and what costs say about single rows: pure functions on arrays."""

from collections.abc import Iterable, Iterator
from itertools import repeat

import numpy as np

from stakes.costs import Costs


def one_hot(labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Return a row of zeros with a single one per label.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes._learning.votes import one_hot
    >>> one_hot(np.array([1, 0]), 3)
    array([[0., 1., 0.],
           [1., 0., 0.]])
    """
    table = np.zeros((len(labels), n_classes))
    add_votes(table, labels)
    return table


def add_votes(votes: np.ndarray, decisions: np.ndarray, weight: float = 1.0) -> None:
    """Add one member's votes, one decision per row, to `votes` (n, K)."""
    votes[np.arange(len(votes)), decisions] += weight


def running_votes(
    decisions: Iterable[np.ndarray], n_classes: int, weights: Iterable[float] | None = None
) -> Iterator[np.ndarray]:
    """Yield the votes (n, K) after each member; the array is written over by the next.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes._learning.votes import running_votes
    >>> for votes in running_votes([np.array([0, 1]), np.array([1, 1])], 2, [1.0, 0.5]):
    ...     print(votes.tolist())
    [[1.0, 0.0], [0.0, 1.0]]
    [[1.0, 0.5], [0.0, 1.5]]
    """
    votes = None
    for decided, weight in zip(decisions, repeat(1.0) if weights is None else weights):
        if votes is None:
            votes = np.zeros((len(decided), n_classes))
        add_votes(votes, decided, weight)
        yield votes


def normalize_rows(table: np.ndarray) -> np.ndarray:
    """Scale rows to sum to 1; a row without a vote is spread evenly.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes._learning.votes import normalize_rows
    >>> normalize_rows(np.array([[3.0, 1.0], [0.0, 0.0]]))
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    sums = table.sum(axis=1, keepdims=True)
    even = np.full_like(table, 1.0 / table.shape[1])
    return np.divide(table, sums, out=even, where=sums > 0)


def expected_rows(proba: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """Return the expected cost of each decision, (n, A).

    The sums are taken in the order of the classes, so that a row's costs are the same to the last
    bit alone and in any batch; a matrix product's are not.

    Parameters
    ----------
    proba : ndarray of shape (n, K)
        Class probabilities.
    prices : ndarray of shape (K, A) or (n, K, A)
        ``[true, decided]`` for all examples, or for each its own.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes._learning.votes import expected_rows
    >>> expected_rows(np.array([[0.75, 0.25]]), np.array([[0.0, 1.0], [8.0, 0.0]]))
    array([[2.  , 0.75]])
    """
    return np.einsum("nt,td->nd" if prices.ndim == 2 else "nt,ntd->nd", proba, prices)


def decisions_for_likeliest(proba: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """Return the cheapest decision for the most probable class of each row, as positions.

    Examples
    --------
    The first row is most probably of class 1, for which decision 2 is the cheapest:

    >>> import numpy as np
    >>> from stakes._learning.votes import decisions_for_likeliest
    >>> prices = np.array([[0.0, 3.0, 9.0], [90.0, 13.0, 0.0]])
    >>> decisions_for_likeliest(np.array([[0.4, 0.6], [0.9, 0.1]]), prices)
    array([2, 0])
    """
    likeliest = proba.argmax(axis=1)
    if prices.ndim == 2:
        return prices.argmin(axis=1)[likeliest]
    return prices[np.arange(len(proba)), likeliest].argmin(axis=1)


def mean_one(weight: np.ndarray) -> np.ndarray:
    """Rescale weights to mean 1, so that a member's regularisation keeps its meaning."""
    return weight * (len(weight) / weight.sum())


def cheapest_decisions(costs: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return each row's decision of least cost, that of the true class where it is among them.

    `y` holds, for each row, the decision of its class's own name, or -1 where there is none.

    Examples
    --------
    The first row has two decisions of cost 0, and 2 is the true class:

    >>> import numpy as np
    >>> from stakes._learning.votes import cheapest_decisions
    >>> cheapest_decisions(np.array([[0, 3, 0], [1, 0, 5]]), np.array([2, 0]))
    array([2, 1])
    """
    best = costs.argmin(axis=1)
    rows = np.arange(len(costs))
    return np.where((y >= 0) & (costs[rows, y] <= costs[rows, best]), y, best)


def mean_excess(costs: np.ndarray) -> np.ndarray:
    """Return how much more than the best the other decisions cost, on average, per row.

    It is what an example is worth to a learner that only takes one weight per example:
    1 under 0/1 costs, and the difference of the two costs where there are two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes._learning.votes import mean_excess
    >>> mean_excess(np.array([[0.0, 1.0, 1.0], [6.0, 2.0, 4.0]]))
    array([1., 3.])
    """
    # Shifted first: the excess of a row of equal costs is 0, and never a little less.
    above = costs - costs.min(axis=1, keepdims=True)
    return above.sum(axis=1) / (costs.shape[1] - 1)


def undominated(costs: np.ndarray) -> np.ndarray:
    """Return the decisions, as positions, that are somewhere cheaper than each other one, or equal.

    Examples
    --------
    The last is dearer than the second in both rows:

    >>> import numpy as np
    >>> from stakes._learning.votes import undominated
    >>> undominated(np.array([[0.0, 3.0, 4.0], [9.0, 3.0, 4.0]]))
    array([0, 1])
    """
    everything = range(costs.shape[1])
    never = [
        any(
            (costs[:, d] >= costs[:, other]).all() and (costs[:, d] > costs[:, other]).any()
            for other in everything
        )
        for d in everything
    ]
    return np.flatnonzero(~np.array(never))


def weighted_problem(costs: Costs) -> tuple[np.ndarray, np.ndarray]:
    """Return a label and a weight for each example: its cheapest decision, its mean excess.

    With two classes nothing is lost; with more, the differences between wrong decisions are.
    Class costs are read once per class.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes._learning.votes import weighted_problem
    >>> from stakes.costs import Costs
    >>> weighted_problem(Costs(np.array([0, 1, 1]), np.array([[0.0, 1.0], [5.0, 0.0]])))
    (array([0, 1, 1]), array([1., 5., 5.]))
    """
    own = costs.decision_of_class
    if costs.by_class:
        labels = cheapest_decisions(costs.table, own)
        return labels[costs.y], mean_excess(costs.table)[costs.y]
    return cheapest_decisions(costs.table, own[costs.y]), mean_excess(costs.table)
