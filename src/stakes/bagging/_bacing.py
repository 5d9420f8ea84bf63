"""Bagging with adaptive costs."""

from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs

from stakes._learning.draws import bootstrap_counts, draw_seeds, run_members, tell
from stakes._learning.votes import weighted_problem
from stakes._methods import at_most, method
from stakes.bagging._build import standardized
from stakes.bagging._ensemble import BaseVoting, codes_at
from stakes.costs import Costs


def vote_margins(votes: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the votes for the right class minus those for the most voted other one.

    With two classes and only the votes of members that did not train on the example, this
    is the margin (5) of Zhang and Street (2005) with unit votes.

    Parameters
    ----------
    votes : ndarray of shape (n_samples, n_classes)
        The number of votes for each class.
    target : ndarray of shape (n_samples,)
        The right class, as a column of `votes`.

    Returns
    -------
    margins : ndarray of shape (n_samples,)
        Positive where the vote is right.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.bagging._bacing import vote_margins
    >>> vote_margins(np.array([[3, 1], [2, 5], [0, 0]]), np.array([0, 0, 1]))
    array([ 2, -3,  0])
    """
    every = np.arange(len(votes))
    others = votes.copy()
    others[every, target] = -1  # less than any other
    return votes[every, target] - others.max(axis=1)  # eq. (5)


def adaptive_costs(margins: np.ndarray, n_votes: np.ndarray) -> np.ndarray:
    """Return the costs (6) of Zhang and Street (2005): between 0 and 2, and 1 at first.

    Parameters
    ----------
    margins : ndarray of shape (n_samples,)
        The out-of-bag vote margins, (5).
    n_votes : ndarray of shape (n_samples,)
        The number of members that did not train on each example.

    Returns
    -------
    costs : ndarray of shape (n_samples,)
        High where the ensemble errs.

    Examples
    --------
    Three right votes of three, one of each, two wrong of two, and no vote yet:

    >>> import numpy as np
    >>> from stakes.bagging._bacing import adaptive_costs
    >>> adaptive_costs(np.array([3.0, 0.0, -2.0, 0.0]), np.array([3, 2, 2, 0])).round(2)
    array([0.25, 1.  , 1.67, 1.  ])
    """
    return 1.0 - margins / (1.0 + n_votes)  # eq. (6)


def draw_bag(rows: np.ndarray, n_samples: int, rng: np.random.RandomState) -> np.ndarray:
    """Return how often each of all examples is in a bootstrap sample of `rows`, (n_samples,)."""
    bag = np.zeros(n_samples, dtype=np.intp)
    bag[rows] = bootstrap_counts(len(rows), rng)
    return bag


@method(
    "bacing",
    family="bagging",
    exports=("onnx",),
    build=standardized(n_estimators=30),
    default=True,
    limit=at_most(50_000, "its bags are fitted one after the other"),
)
@dataclass(eq=False, repr=False, kw_only=True)
class BacingClassifier(BaseVoting):
    r"""Bagging with adaptive costs: bags whose costs follow what the others got wrong.

    In bagging all members are trained alike. In bacing, an example that the members so far
    get wrong *out of bag*, that is, those of them that did not train on it, costs more for
    the next one. Because these members have not seen the example, the costs settle after
    some rounds where the weights of boosting keep growing, and noisy examples do not take
    over.

    It takes class costs and costs known in hindsight, which multiply the adaptive costs; not
    costs known when deciding. With the default members the boundary is a vote of
    hyperplanes: on large or strongly non-linear data, trees of `stakes.tree` as `estimator`,
    or boosting, are quicker and better.

    Parameters
    ----------
    estimator : estimator instance, default=None
        The learner of the members; its `fit` must take `sample_weight`. None is
        `L1LinearSVC()`, for which one linear programme is built and then re-solved from a
        warm start for each member; beyond 50 classes, whose pairs are too many, a
        `DecisionTreeClassifier` with leaves of 5. A learner whose `fit` takes `costs` is given the cost
        rows; any other, the best decision as class and a weight.

    n_estimators : int, default=100
        The number of members.

    adapt : bool, default=True
        Whether the costs adapt. False is plain bagging, with the very same bags.

    cost_matrix : CostMatrix or array-like of shape (n_classes, n_classes), default=None
        ``cost_matrix[true, predicted]``; None for 0/1 costs.

    n_jobs : int, default=None
        Workers for the members of plain bagging, and for predicting; None is 1, -1 all
        cores. Adaptive rounds depend on one another and are fitted one by one. It never
        changes the result. They are threads, unless `joblib.parallel_config` says otherwise.

    random_state : int, RandomState instance or None, default=None
        Draws the bags, and seeds members that have a `random_state`.

    verbose : int, default=0
        1 prints the out-of-bag error after each round, on standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.

    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The costs in force; with example costs, the mean row of each true class.

    cost_kind_ : {"class", "deciding", "hindsight"}
        Which kind of costs `fit` was given.

    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features_in_,)
        The features seen in `fit`; their names, where X has them.

    estimator_ : estimator instance
        The template of the members.

    estimators_ : list of estimators
        The members, each with one vote.

    estimators_samples_ : list of ndarray
        The rows in the bag of each member, repeated as often as they were drawn.

    cost_history_ : ndarray of shape (n_estimators, n_samples)
        The adaptive costs that each member was trained with, before they are multiplied by
        how often the bag holds the example; ones for plain bagging.

    oob_votes_ : ndarray of shape (n_samples, n_classes)
        The votes of the members that did not train on the example.

    oob_error_ : float
        The share of wrong out-of-bag votes, among examples that have one; NaN if none has.

    oob_errors_ : ndarray of shape (n_estimators,)
        The same after each round.

    See Also
    --------
    ArcX4Classifier : Weights from all votes, not from out-of-bag ones alone.
    AdaptiveCostDisplay : The error over the rounds, and how the costs settle.

    Notes
    -----
    Before each round the margin of example :math:`i` is taken over the members
    :math:`C'_i` that did not train on it, (5) of [1]_ with unit votes, and its cost is (6),

    .. math:: \delta_i = 1 - \frac{m'_i}{1 + |C'_i|} \in (0, 2).

    An example outside the bag has cost 0, one that is in it twice has twice its cost. With
    more than two classes, which the paper leaves open, the margin is the number of votes
    for the true class minus that for the most voted other class; with two classes these
    are the same. Where example costs make another decision than the true class the
    cheapest, that decision counts as the true one in the margin.

    Rows whose `sample_weight` is 0 are never drawn. Each member starts from one solution
    for all examples, so that the same bags and costs give the same member whatever was
    fitted before it and on however many workers.

    References
    ----------
    .. [1] Y. Zhang and W. N. Street, "Bagging with Adaptive Costs", ICDM 2005, 825-828.

    Examples
    --------
    >>> from stakes.bagging import BacingClassifier
    >>> X = [[0], [1], [2], [3], [7], [8], [9], [10]]
    >>> y = ["low"] * 4 + ["high"] * 4
    >>> model = BacingClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> model.predict([[-1], [11]])
    array(['low', 'high'], dtype='<U4')
    >>> model.cost_history_[0].tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    >>> bool((model.cost_history_[-1] < 0.5).all())  # all are voted right by now
    True
    """

    adapt: bool = True

    _parameter_constraints: ClassVar[dict] = BaseVoting._parameter_constraints | {
        "adapt": ["boolean"]
    }

    def _fit_members(self, X: Any, costs: Costs, weight: np.ndarray) -> None:
        self._seeds = draw_seeds(self.random_state, self.n_estimators)
        self._rows = np.flatnonzero(weight)
        self.oob_votes_ = np.zeros((len(costs), len(self.classes_)), dtype=np.int32)
        self.oob_errors_ = np.full(self.n_estimators, np.nan)
        self.cost_history_ = np.ones((self.n_estimators, len(costs)))
        fit_all = self._fit_in_turn if self.adapt else self._fit_at_once
        fit_all(X, costs, weight)
        self.oob_error_ = float(self.oob_errors_[-1])

    def _fit_in_turn(self, X: Any, costs: Costs, weight: np.ndarray) -> None:
        """Fit each member to costs that depend on those before it."""
        members = self._members(X, costs, weight)
        target, _ = weighted_problem(costs)
        for t, seed in enumerate(self._seeds):
            margins = vote_margins(self.oob_votes_, target)
            self.cost_history_[t] = adapted = adaptive_costs(margins, self.oob_votes_.sum(axis=1))
            done = self._fit_round(np.random.RandomState(seed), members, X, weight * adapted)
            self._record(t, done, costs.y, weight)

    def _fit_at_once(self, X: Any, costs: Costs, weight: np.ndarray) -> None:
        """Fit members that know nothing of one another."""

        def fit_some(seeds):
            members = self._members(X, costs, weight)
            states = map(np.random.RandomState, seeds)
            return [self._fit_round(rng, members, X, weight) for rng in states]

        n_jobs = min(effective_n_jobs(self.n_jobs), self.n_estimators)
        shares = [(seeds,) for seeds in np.array_split(self._seeds, n_jobs)]
        parts = run_members(fit_some, shares, n_jobs=n_jobs, prefer="threads")
        for t, done in enumerate(chain.from_iterable(parts)):
            self._record(t, done, costs.y, weight)

    def _fit_round(
        self, rng: np.random.RandomState, members: Any, X: Any, weight: np.ndarray
    ) -> tuple:
        """Return the member of a new bag, the rows that are not in it, and its votes there."""
        bag = draw_bag(self._rows, len(weight), rng)
        member = members.fit(weight * bag, rng)
        out = np.flatnonzero(bag == 0)
        return member, out, codes_at(member, X, out, self.classes_)

    def _record(self, t: int, done: tuple, y: np.ndarray, weight: np.ndarray) -> None:
        member, out, codes = done
        self.estimators_.append(member)
        self.oob_votes_[out, codes] += 1
        voted_weight = weight * self.oob_votes_.any(axis=1)
        total = voted_weight.sum()
        if total:
            self.oob_errors_[t] = voted_weight @ (self.oob_votes_.argmax(axis=1) != y) / total
        error = self.oob_errors_[t]
        tell(self, f"round {t + 1} of {self.n_estimators}, out-of-bag error {error:.4f}")

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The rows in the bag of each member, repeated as often as they were drawn."""
        n_samples = len(self.oob_votes_)
        states = map(np.random.RandomState, self._seeds)
        bags = (draw_bag(self._rows, n_samples, state) for state in states)
        return [np.repeat(np.arange(n_samples), bag) for bag in bags]
