r"""Cost-sensitive one-versus-one (CSOVO): a weighted binary problem for each pair of classes."""

from dataclasses import dataclass
from itertools import combinations
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from stakes._learning.draws import draw_seeds, iter_members
from stakes._methods import Setting, method
from stakes.costs import Costs
from stakes.reductions._base import SAMPLING, BaseReduction
from stakes.reductions._sampling import ExamplePlan
from stakes.tree.engine import resolve_threads
from stakes.utils._sklearn import Interval, StrOptions, num_samples

# Trees that fit every row, for each two of more classes, take gigabytes: 5.7 at 500 classes and
# 1,500 rows.
MANY_CLASSES = 200

# -- the equations -------------------------------------------------------------------------


def pair_problem(costs: np.ndarray, j: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return who of classes j and k is cheaper for each example, and by how much.

    Parameters
    ----------
    costs : ndarray of shape (n, K)
        The cost of each decision.
    j, k : int
        Two classes, j < k.

    Returns
    -------
    is_k : ndarray of shape (n,), dtype int
        1 where k is the cheaper one, else 0.
    weights : ndarray of shape (n,)
        The difference; 0 for a tie, which is to be dropped.

    Examples
    --------
    >>> from stakes.reductions._one_vs_one import pair_problem
    >>> pair_problem(np.array([[0.0, 2, 3], [1, 0, 1], [2, 0, 3]]), 0, 2)
    (array([0, 0, 0]), array([3., 0., 1.]))
    """
    difference = costs[:, j] - costs[:, k]
    return (difference > 0).astype(np.intp), np.abs(difference)


def decide_by_votes(votes: np.ndarray, margins: np.ndarray) -> np.ndarray:
    """Return scores whose arg max has the most votes, and of equal ones the most margin.

    Examples
    --------
    Classes 0 and 2 have two votes each; the margins speak for 2:

    >>> from stakes.reductions._one_vs_one import decide_by_votes
    >>> decide_by_votes(np.array([[2.0, 0, 2]]), np.array([[0.5, -2, 1.5]])).argmax()
    np.int64(2)
    """
    return votes + margins / (3.0 * (np.abs(margins) + 1.0))


# -- the estimator -------------------------------------------------------------------------


def pairs_limit(setting: Setting) -> str:
    """Say whether there are too many pairs of classes for the default set of methods."""
    pairs = setting.n_classes * (setting.n_classes - 1) // 2
    if pairs * setting.n_samples <= 5_000_000:
        return ""
    return f"left out of the default set ({pairs} pairs of classes); name it to run it"


@method("csovo", family="reduction", exports=("onnx",), default=True, limit=pairs_limit)
@dataclass(eq=False, repr=False, kw_only=True)
class CostSensitiveOneVsOneClassifier(BaseReduction):
    r"""Cost-sensitive one-vs-one: a weighted vote between every two decisions.

    For each pair of classes a binary classifier learns which of the two is cheaper, from
    *all* examples, whatever their own class, weighted by :math:`|c_j - c_k|`; ties say
    nothing and are dropped. Every pair has a vote. The cost of the winner is at most twice
    the summed cost of the pairs.

    It serves class costs and costs known in hindsight. It is *not* the one to use with very
    many classes: K (K - 1) / 2 classifiers on all examples.

    Parameters
    ----------
    estimator : estimator instance, default=None
        A binary classifier whose `fit` takes `sample_weight`, or any one with
        ``sampling="rejection"``. If None, a `stakes.tree.CostTreeClassifier`
        (``criterion="variance"``, unlimited depth, 2 examples per leaf at least), whose bins
        are computed once for all pairs; with more than 200 classes it must be given.

    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``; None for 0/1.

    aggregate : {"votes", "margins"}, default="votes"
        Count votes (of equal ones the greater sum of margins wins), or sum the margins.

    sampling : {"weights", "rejection"}, default="weights"
        Hand the weights to the classifier, or keep an example with probability weight /
        greatest weight of its pair, which any classifier allows.

    smoothing : float, default=1.0
        Where the classifier is a `stakes.tree.CostTreeClassifier`: so many average examples of a
        pair are added to each leaf before it votes. A few examples without a rare and expensive
        class do not prove that it is absent there. Other classifiers are left as they are.

    random_state : int, RandomState instance or None, default=None
        Seeds the pairs.

    n_jobs : int, default=None
        Pairs fitted at once (or rows asked at once, where they are cost trees).

    verbose : int, default=0
        Whether to print a line for each pair, on standard error.

    Attributes
    ----------
    estimators_ : list
        The classifier of each pair; they answer 0 for the first class of the pair and 1 for
        the second.

    pairs_ : ndarray of shape (n_pairs, 2)
        The classes of each pair, as positions in `classes_`. A pair that costs the same for
        every example is left out; its two classes share its vote.

    pair_costs_ : ndarray of shape (n_pairs,)
        The average weighted training error of each pair's classifier.

    training_cost_ : float
        The average cost of the decisions on the training data, each row's least cost at 0.

    bound_ : float
        ``2 * pair_costs_.sum()``, which `training_cost_` does not exceed (with
        ``aggregate="votes"``).

    n_samples_used_ : ndarray of shape (n_pairs,)
        The number of examples that each pair's classifier saw.

    n_empty_samples_, n_one_label_samples_ : int
        How many pairs drew no example, or examples of one label only: a constant answer.

    classes_ : ndarray of shape (n_classes,)
        The class labels.

    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The costs in force, averaged by class where they were given per example.

    Notes
    -----
    Factors of the cost, as explained in `stakes.reductions`: without smoothing, leaves of 20
    examples cost 1.35 times as much (7 times on Solar flare, 0.7 on Glass) and leaves of 1
    3.5 times; with it, leaves of 1 and 5 cost 1.04, ``smoothing=0.5`` 1.13, ``smoothing=2`` 0.97,
    ``aggregate="margins"`` 1.02. ``sampling="rejection"`` is not the default because on small
    data it can leave a class out of a sample.

    References
    ----------
    .. [1] H.-T. Lin, "A Simple Cost-Sensitive Multiclass Classification Algorithm Using
       One-versus-one Comparisons", National Taiwan University, 2010.

    Examples
    --------
    Two that look alike, of classes 0 and 2: class 1 is one away from both of them, and wins
    against each by 3 to 1.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from stakes.reductions import CostSensitiveOneVsOneClassifier
    >>> X, y = [[0], [0], [1]], [0, 2, 1]
    >>> C = [[0, 1, 4], [1, 0, 1], [4, 1, 0]]
    >>> csovo = CostSensitiveOneVsOneClassifier(DecisionTreeClassifier(), cost_matrix=C)
    >>> csovo.fit(X, y).predict([[0], [1]])
    array([1, 1])
    >>> round(csovo.training_cost_, 3), round(csovo.bound_, 3)
    (0.667, 4.0)
    """

    aggregate: str = "votes"
    sampling: str = "weights"
    smoothing: float = 1.0

    _default_leaf = 2
    _binary_members = True

    _parameter_constraints: ClassVar[dict] = {
        **BaseReduction._parameter_constraints,
        "aggregate": [StrOptions({"votes", "margins"})],
        "sampling": SAMPLING,
        "smoothing": [Interval(Real, 0, None, closed="left")],
    }

    def _compared(self, costs: Costs) -> Costs:
        """Return the costs whose differences weigh the pairs."""
        return costs

    def _fit_members(self, X: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        n_classes = costs.n_decisions
        if self.estimator is None and n_classes > MANY_CLASSES:
            raise ValueError(
                f"{type(self).__name__} would grow {n_classes * (n_classes - 1) // 2:,} deep trees, "
                f"one for each two of {n_classes:,} classes, in gigabytes of memory: use "
                f"FilterTreeClassifier, which grows {n_classes - 1:,}, or name a smaller estimator, "
                "such as CostTreeClassifier(max_depth=2)."
            )
        compared = self._compared(costs)
        table = compared.table
        pairs = [
            (j, k)
            for j, k in combinations(range(costs.n_decisions), 2)
            if (table[:, j] != table[:, k]).any()
        ]
        seeds = draw_seeds(self.random_state, len(pairs))
        problems = (_problem_of(compared, sample_weight, pair) for pair in pairs)
        plans = (ExamplePlan(weights, is_k, self.sampling_) for is_k, weights in problems)
        self._keep(*self._fit_each(X, plans, seeds, named="pair"))
        self.pairs_ = np.array(pairs)
        self._packed_ = self._learner_.pack(self.estimators_)
        self._measure(X, costs, compared, sample_weight)

    def _measure(
        self, X: Any, costs: Costs, compared: Costs, sample_weight: np.ndarray | None
    ) -> None:
        """Set the two sides of the bound, on the training data."""
        leaning = np.empty((len(self.pairs_), len(costs)), dtype=bool)
        decisions = self._scores(X, leaning).argmax(axis=1)
        paid = costs.of(decisions) - costs.table.min(axis=1)[costs.row_of]
        lost = np.empty(len(self.pairs_))
        for i, pair in enumerate(self.pairs_):
            is_k, weights = _problem_of(compared, sample_weight, pair)
            lost[i] = weights @ (leaning[i] != is_k)
        self.pair_costs_ = lost / (len(costs) if sample_weight is None else sample_weight.sum())
        self.training_cost_ = float(np.average(paid, weights=sample_weight))
        self.bound_ = float(2.0 * self.pair_costs_.sum())

    def _scores(self, X: Any, leaning: np.ndarray | None = None) -> np.ndarray:
        """Return each class's score, (n, K); `leaning` takes the pairs' answers."""
        n_classes = self.cost_matrix_.shape[1]
        if self._packed_ is not None:
            votes, margins = self._packed_.vote(
                X,
                self.pairs_,
                n_classes,
                n_threads=resolve_threads(self.n_jobs),
                leaning=leaning,
            )
        else:
            votes, margins = self._ask_each(X, leaning)
        if len(self.pairs_) < n_classes * (n_classes - 1) // 2:
            votes += _shared_votes(self.pairs_, n_classes)[:, None]
        scores = decide_by_votes(votes, margins) if self.aggregate == "votes" else margins
        return scores.T

    def _ask_each(self, X: Any, leaning: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the votes and margins of each class, summed in the order of the pairs."""
        learner = self._learner_
        votes = np.zeros((self.cost_matrix_.shape[1], num_samples(X)))  # a class is contiguous
        margins = np.zeros_like(votes)
        tasks = ((member, X) for member in self.estimators_)
        answers = iter_members(learner.margin, tasks, n_jobs=self.n_jobs, prefer=learner.prefer)
        for i, ((j, k), margin) in enumerate(zip(self.pairs_, answers)):
            for_k = margin > 0
            votes[k] += for_k
            votes[j] += ~for_k
            margins[k] += margin
            margins[j] -= margin
            if leaning is not None:
                leaning[i] = for_k
        return votes, margins

    def decision_function(self, X: Any) -> np.ndarray:
        """Return each class's votes, or the sum of its margins.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Examples; columns as in `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            Higher is better. Votes have a fraction below 1/3 added, which orders equal
            ones by their margins. With two classes, the second's lead over the first.
        """
        scores = self._scores(self._prepared(X))
        if scores.shape[1] == 2:
            return (scores[:, 1] - scores[:, 0]) / 2.0
        return scores


def _shared_votes(pairs: np.ndarray, n_classes: int) -> np.ndarray:
    """Return half a vote for each class of each pair that was left out."""
    share = np.full(n_classes, (n_classes - 1) / 2.0)
    np.subtract.at(share, pairs.ravel(), 0.5)
    return share


def _problem_of(
    costs: Costs, counts: np.ndarray | None, pair: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return the binary problem of two classes, example by example."""
    is_k, weights = pair_problem(costs.table, *pair)
    if costs.by_class:
        is_k, weights = is_k[costs.y], weights[costs.y]
    return is_k, weights if counts is None else weights * counts
