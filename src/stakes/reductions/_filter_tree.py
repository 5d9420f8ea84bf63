r"""The filter tree: a knock-out tournament of K - 1 weighted binary classifiers."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from stakes._learning.draws import draw_seeds
from stakes._learning.votes import undominated
from stakes._methods import method
from stakes.costs import Costs
from stakes.reductions._base import SAMPLING, BaseReduction
from stakes.reductions._sampling import ExamplePlan
from stakes.utils._sklearn import num_samples

# -- the tournament --------------------------------------------------------------------------


def tournament(n_classes: int) -> np.ndarray:
    """Return the matches in the order in which they are played, (n_classes - 1, 2).

    Players 0 to K - 1 are the classes, player K + i is the winner of match i.

    Examples
    --------
    Five classes: 0-1 and 2-3 play, 4 has a bye; the winners of both play; then 4 joins.

    >>> from stakes.reductions._filter_tree import tournament
    >>> tournament(5).tolist()
    [[0, 1], [2, 3], [5, 6], [7, 4]]
    """
    players = list(range(n_classes))
    matches: list[tuple[int, int]] = []
    while len(players) > 1:
        winners = []
        for first, second in zip(players[::2], players[1::2]):
            winners.append(n_classes + len(matches))
            matches.append((first, second))
        players = winners + ([players[-1]] if len(players) % 2 else [])
    return np.array(matches, dtype=np.intp).reshape(-1, 2)


def match_problem(costs: np.ndarray, first: np.ndarray, second: np.ndarray) -> tuple:
    """Return who of two decisions is cheaper for each example, and by how much.

    Parameters
    ----------
    costs : ndarray of shape (n, K)
        The cost of each decision.
    first, second : ndarray of shape (n,)
        The decision that reached this match from either side, for each example.

    Returns
    -------
    is_second : ndarray of shape (n,), dtype int
        1 where the second is cheaper, else 0.
    weights : ndarray of shape (n,)
        The difference; a tie has weight 0 here but may well count in a later match.

    Examples
    --------
    >>> from stakes.reductions._filter_tree import match_problem
    >>> costs = np.array([[0.0, 2.0, 5.0], [4.0, 1.0, 1.0]])
    >>> match_problem(costs, np.array([0, 0]), np.array([2, 1]))
    (array([0, 1]), array([5., 3.]))
    """
    rows = np.arange(len(costs))
    difference = costs[rows, first] - costs[rows, second]
    return (difference > 0).astype(np.intp), np.abs(difference)


# -- the estimator ---------------------------------------------------------------------------


@method("filter_tree", family="reduction", exports=("onnx",))
@dataclass(eq=False, repr=False, kw_only=True)
class FilterTreeClassifier(BaseReduction):
    r"""Filter tree: a knock-out tournament of the classes, each match a binary classifier.

    A match learns which of its two sides is cheaper from *all* examples: each example is
    shown the decisions that the classifiers below predict for it (the filter), with the
    difference of their costs as weight. K - 1 classifiers, and log K of them decide an
    example. The cost regret is at most the regret of the binary classifiers times the
    depth of the tree.

    It serves class costs and costs known in hindsight. It is the one to use with very many
    classes; with few, `CostSensitiveOneVsOneClassifier` and above all least expected cost are
    cheaper, because a class is out after one wrong match.

    Parameters
    ----------
    estimator : estimator instance, default=None
        A binary classifier; if None, a `stakes.tree.CostTreeClassifier`.
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``; None for 0/1.
    sampling : {"weights", "rejection"}, default="weights"
        Hand the weights to the classifier, whose `fit` must take `sample_weight` then, or keep
        an example with probability weight / greatest weight.
    shuffle : bool, default=False
        Draw the order of the classes at random rather than pairing neighbours.
    random_state : int, RandomState instance or None, default=None
        Seeds the order and the matches.
    n_jobs : int, default=None
        Matches fitted at once, of those whose sides are known; no effect on the result.
    verbose : int, default=0
        With 1, a line per match.

    Attributes
    ----------
    estimators_ : list
        The classifier of each match; they answer 0 for the first side and 1 for the second.
    matches_ : ndarray of shape (n_classes - 1, 2)
        Who plays: numbers below n_classes are positions in `order_`, number n_classes + i is
        the winner of match i.
    order_ : ndarray of shape (n_classes,)
        The positions in `decisions_` in the order in which they enter. A decision that is no class
        and dearer than another one for each example does not.
    n_samples_used_ : ndarray of shape (n_classes - 1,)
        The number of examples that each match's classifier saw.
    n_empty_samples_, n_one_label_samples_ : int
        How many matches had no example to learn from, or examples of one label only.
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The class costs in force; of example costs, their averages.
    classes_ : ndarray of shape (n_classes,)
        The class labels.

    References
    ----------
    .. [1] A. Beygelzimer, J. Langford and P. Ravikumar, "Error-Correcting Tournaments",
       ALT 2009.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from stakes.reductions import FilterTreeClassifier
    >>> X, y = [[0], [1], [2], [3], [4]], list("abcde")
    >>> tree = FilterTreeClassifier(DecisionTreeClassifier()).fit(X, y)
    >>> "".join(tree.predict(X))
    'abcde'
    >>> len(tree.estimators_)
    4
    """

    sampling: str = "weights"
    shuffle: bool = False

    _binary_members = True

    _parameter_constraints: ClassVar[dict] = {
        **BaseReduction._parameter_constraints,
        "sampling": SAMPLING,
        "shuffle": ["boolean"],
    }

    def _fit_members(self, X: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        *seeds, order_seed = draw_seeds(self.random_state, costs.n_decisions)
        self.order_ = np.arange(costs.n_decisions)
        if costs.choices is not None:
            # One that is dearer everywhere could only win against the mistakes of others.
            self.order_ = undominated(costs.table)
        if self.shuffle:
            self.order_ = np.random.RandomState(order_seed).permutation(self.order_)
        self.matches_ = tournament(len(self.order_))
        rows, players = costs.rows(), self._entrants(X)

        def plan(i: int) -> ExamplePlan:
            is_second, weights = match_problem(rows, *(players[p] for p in self.matches_[i]))
            if sample_weight is not None:
                weights = weights * sample_weight
            return ExamplePlan(weights, is_second, self.sampling_)

        members: list = []
        sizes: list = []
        while len(members) < len(self.matches_):
            known = (self.matches_ < len(players)).all(axis=1)
            ready = range(len(members), int(known.sum()))
            numbers: dict = {"named": "match", "first": ready.start + 1}
            new, used = self._fit_each(X, map(plan, ready), seeds[ready.start :], **numbers)
            for i, member in zip(ready, new):
                players.append(self._winner(member, X, players, i))
            members += new
            sizes += used.tolist()
        self._keep(members, np.array(sizes))

    def _entrants(self, X: Any) -> list[np.ndarray]:
        return [np.full(num_samples(X), label) for label in self.order_]

    def _winner(self, member: Any, X: Any, players: list, i: int) -> np.ndarray:
        """Return who wins match i, for each example."""
        first, second = (players[p] for p in self.matches_[i])
        return np.where(self._learner_.predict(member, X) == 1, second, first)

    def _decide(self, X: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        prepared = self._prepared(X)
        players = self._entrants(prepared)
        for i, member in enumerate(self.estimators_):
            players.append(self._winner(member, prepared, players, i))
        return players[-1]
