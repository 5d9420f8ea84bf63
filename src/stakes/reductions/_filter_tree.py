r"""The filter tree: a knock-out tournament of K - 1 weighted binary classifiers."""

import numpy as np

from stakes.reductions._base import BaseReduction, fit_member
from stakes.reductions._members import ConstantMember, draw_seeds
from stakes.reductions._sampling import ExamplePlan
from stakes.utils._sklearn import StrOptions, fit_context

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


class FilterTreeClassifier(BaseReduction):
    r"""Let classes play a knock-out tournament whose every match is a binary classifier.

    A match learns which of its two sides is cheaper from *all* examples: each example is
    shown the decisions that the classifiers below predict for it (the filter), with the
    difference of their costs as weight. K - 1 classifiers, and log K of them decide an
    example. The cost regret is at most the regret of the binary classifiers times the
    depth of the tree.

    It serves situations A (class matrix) and B2 (example costs seen in training only). It is
    the one to use with very many classes; with few, `CostSensitiveOneVsOneClassifier` and
    above all least expected cost are cheaper, because one wrong match ends a class's hopes.

    Parameters
    ----------
    estimator : estimator instance, default=None
        A binary classifier whose `fit` takes `sample_weight`, or any one with
        ``sampling="rejection"``. If None, a `stakes.tree.CostTreeClassifier`.
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``; None for 0/1.
    sampling : {"weights", "rejection"}, default="weights"
        Hand the weights to the classifier, or keep an example with probability weight /
        greatest weight.
    shuffle : bool, default=False
        Draw the order of the classes at random rather than pairing neighbours.
    random_state : int, RandomState instance or None, default=None
        Seeds the order and the matches.
    n_jobs : int, default=None
        Accepted like everywhere; the matches build on each other and run one by one.
    verbose : int, default=0
        Passed on.

    Attributes
    ----------
    estimators_ : list
        The classifier of each match; they answer 0 for the first side and 1 for the second.
    matches_ : ndarray of shape (n_classes - 1, 2)
        Who plays: numbers below n_classes are positions in `order_`, number n_classes + i is
        the winner of match i.
    order_ : ndarray of shape (n_classes,)
        The positions in `classes_` in the order in which they enter.
    n_samples_used_ : ndarray of shape (n_classes - 1,)
        The number of examples that each match's classifier saw.
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The costs in force, averaged by class where they were given per example.
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

    _parameter_constraints: dict = {
        **BaseReduction._parameter_constraints,
        "sampling": [StrOptions({"weights", "rejection"})],
        "shuffle": ["boolean"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        cost_matrix=None,
        sampling="weights",
        shuffle=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.cost_matrix = cost_matrix
        self.sampling = sampling
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        """Fit the matches, from the leaves of the tree to its root.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Training examples.
        y : array-like of shape (n_samples,)
            Their true classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each example counts.
        costs : array-like of shape (n_samples, n_classes), default=None
            What each decision costs for each example, in place of `cost_matrix`.
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            [example, true, predicted], in place of `cost_matrix`; `y` picks the row.

        Returns
        -------
        self : object
            Fitted.
        """
        X, training, counts = self._begin(X, y, sample_weight, costs, cost_tensor)
        n_classes, n_samples = len(self.classes_), len(training)
        learner = self._learner(X, 2)
        self._check_sampling(learner, self.sampling)
        prepared = learner.prepare(X)
        seeds = draw_seeds(self.random_state, n_classes)
        self.order_ = np.arange(n_classes)
        if self.shuffle:
            self.order_ = np.random.RandomState(seeds[-1]).permutation(n_classes)
        self.matches_ = tournament(n_classes)
        self._learner_ = learner
        self.estimators_, sizes = [], []
        rows = training.rows()
        players = self._entrants(n_samples)
        for i, (first, second) in enumerate(self.matches_):
            is_second, weights = match_problem(rows, players[first], players[second])
            if counts is not None:
                weights = weights * counts
            plan = ExamplePlan(weights, is_second, self.sampling)
            member, size = fit_member(learner, prepared, plan, seeds[i])
            self.estimators_.append(member)
            sizes.append(size)
            players.append(self._play(member, prepared, players[first], players[second]))
        self.n_samples_used_ = np.array(sizes)
        self.n_empty_samples_ = int(np.sum(self.n_samples_used_ == 0))
        constant = sum(isinstance(member, ConstantMember) for member in self.estimators_)
        self.n_one_label_samples_ = constant - self.n_empty_samples_
        return self

    def _entrants(self, n_rows: int) -> list:
        return [np.full(n_rows, label) for label in self.order_]

    def _play(self, member, prepared, first, second) -> np.ndarray:
        wins = self._learner_.predict(member, prepared) == 1
        return np.where(wins, second, first)

    def predict(self, X):
        """Return the winner of the tournament for each example.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
            Class labels.
        """
        prepared, n_rows = self._prepared(X)
        players = self._entrants(n_rows)
        for member, (first, second) in zip(self.estimators_, self.matches_):
            players.append(self._play(member, prepared, players[first], players[second]))
        return self.classes_[players[-1]]
