r"""Cost-sensitive one-versus-one (CSOVO): a weighted binary problem for each pair of classes."""

from itertools import combinations
from numbers import Real

import numpy as np
from joblib import Parallel, delayed

from stakes.reductions._base import BaseReduction, fit_member
from stakes.reductions._members import ConstantMember, draw_seeds, make_learner
from stakes.reductions._sampling import ExamplePlan
from stakes.tree.engine import resolve_threads
from stakes.utils._sklearn import Interval, StrOptions, fit_context

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


class CostSensitiveOneVsOneClassifier(BaseReduction):
    r"""Let pairs of classes compete, each example weighted by the difference of their costs.

    For each pair of classes a binary classifier learns which of the two is cheaper, from
    *all* examples, whatever their own class, weighted by :math:`|c_j - c_k|`; ties say
    nothing and are dropped. Every pair has a vote. The cost of the winner is at most twice
    the summed cost of the pairs.

    It serves situations A (class matrix) and B2 (example costs seen in training only). It
    is *not* the one to use with very many classes: K (K - 1) / 2 classifiers on all
    examples.

    Parameters
    ----------
    estimator : estimator instance, default=None
        A binary classifier whose `fit` takes `sample_weight`, or any one with
        ``sampling="rejection"``. If None, a `stakes.tree.CostTreeClassifier`
        (``criterion="variance"``, unlimited depth, 2 examples per leaf at least), whose bins
        are computed once for all pairs.

    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``; None for 0/1.

    aggregate : {"votes", "margins"}, default="votes"
        Count votes (of equal ones the greater sum of margins wins), or sum the margins.

    sampling : {"weights", "rejection"}, default="weights"
        Hand the weights to the classifier, or keep an example with probability weight /
        greatest weight of its pair, which any classifier allows.

    smoothing : float, default=1.0
        Where the classifier is a `stakes.tree.CostTreeClassifier`: so many average examples of a
        pair are added to each leaf before it votes. A few examples without a rare and dear
        class do not prove that it is absent there. Other classifiers are left as they are.

    random_state : int, RandomState instance or None, default=None
        Seeds the pairs.

    n_jobs : int, default=None
        Pairs fitted at once. The result does not depend on it.

    verbose : int, default=0
        Passed to joblib.

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
        How many pairs drew no example, or examples of one label only; they answer a
        constant.

    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The costs in force, averaged by class where they were given per example.

    classes_ : ndarray of shape (n_classes,)
        The class labels.

    Notes
    -----
    Defaults were chosen on nine data sets (Balance, Car, Dermatology, Ecoli, Solar flare, Glass,
    New-thyroid, Vehicle, Yeast), three splits of 2/3 and `random_abe` costs each; factors are
    geometric means of the test cost relative to the default's. Without smoothing, leaves of 20
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

    _default_leaf = 2

    _parameter_constraints: dict = {
        **BaseReduction._parameter_constraints,
        "aggregate": [StrOptions({"votes", "margins"})],
        "sampling": [StrOptions({"weights", "rejection"})],
        "smoothing": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        estimator=None,
        *,
        cost_matrix=None,
        aggregate="votes",
        sampling="weights",
        smoothing=1.0,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.cost_matrix = cost_matrix
        self.aggregate = aggregate
        self.sampling = sampling
        self.smoothing = smoothing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        """Fit a weighted binary classifier for each pair of classes.

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
        n_classes = len(self.classes_)
        learner = make_learner(self._estimator(), X, 2, counts, self.smoothing)
        self._check_sampling(learner, self.sampling)
        prepared = learner.prepare(X)
        pairs = [p for p in combinations(range(n_classes), 2) if self._differ(training, *p)]
        seeds = draw_seeds(self.random_state, len(pairs))
        fitted = Parallel(n_jobs=self.n_jobs, verbose=self.verbose, prefer=learner.prefer)(
            delayed(_fit_pair)(learner, prepared, training, counts, j, k, self.sampling, seed)
            for (j, k), seed in zip(pairs, seeds)
        )
        self.estimators_, sizes = (list(column) for column in zip(*fitted))
        self.pairs_ = np.array(pairs)
        self.n_samples_used_ = np.array(sizes)
        self.n_empty_samples_ = int(np.sum(self.n_samples_used_ == 0))
        constant = sum(isinstance(member, ConstantMember) for member in self.estimators_)
        self.n_one_label_samples_ = constant - self.n_empty_samples_
        self._learner_ = learner
        self._packed_ = learner.pack(self.estimators_)
        self._measure(prepared, training, counts)
        return self

    @staticmethod
    def _differ(training, j: int, k: int) -> bool:
        table = training.matrix if training.by_class else training.costs
        return bool((table[:, j] != table[:, k]).any())

    def _measure(self, prepared, training, counts) -> None:
        """Set the two sides of the bound, on the training data."""
        n_samples = len(training)
        leaning = np.empty((len(self.pairs_), n_samples), dtype=bool)
        scores = self._scores(prepared, n_samples, leaning)
        paid = training.of(scores.argmax(axis=1)) - training.rows().min(axis=1)
        lost = np.empty(len(self.pairs_))
        for i, (j, k) in enumerate(self.pairs_):
            is_k, weights = _pair_of_training(training, counts, j, k)
            lost[i] = weights @ (leaning[i] != is_k)
        self.pair_costs_ = lost / (n_samples if counts is None else counts.sum())
        self.training_cost_ = float(np.average(paid, weights=counts))
        self.bound_ = float(2.0 * self.pair_costs_.sum())

    def _scores(self, prepared, n_rows: int, leaning=None) -> np.ndarray:
        """Return each class's score, (n_rows, n_classes); `leaning` takes the pairs' answers."""
        n_classes = len(self.classes_)
        if self._packed_ is not None:
            votes, margins = self._packed_.vote(
                prepared,
                self.pairs_,
                n_classes,
                n_threads=resolve_threads(self.n_jobs),
                leaning=leaning,
            )
        else:
            votes, margins = self._ask_each(prepared, n_rows, leaning)
        if len(self.pairs_) < n_classes * (n_classes - 1) // 2:
            votes += _shared_votes(self.pairs_, n_classes)[:, None]
        scores = decide_by_votes(votes, margins) if self.aggregate == "votes" else margins
        return scores.T

    def _ask_each(self, prepared, n_rows: int, leaning) -> tuple:
        """Return the votes and margins of each class, summed in the order of the pairs."""
        learner = self._learner_
        votes = np.zeros((len(self.classes_), n_rows))  # a class is contiguous
        margins = np.zeros_like(votes)
        answers = Parallel(n_jobs=self.n_jobs, return_as="generator", prefer=learner.prefer)(
            delayed(learner.margin)(member, prepared) for member in self.estimators_
        )
        for i, ((j, k), margin) in enumerate(zip(self.pairs_, answers)):
            for_k = margin > 0
            votes[k] += for_k
            votes[j] += ~for_k
            margins[k] += margin
            margins[j] -= margin
            if leaning is not None:
                leaning[i] = for_k
        return votes, margins

    def decision_function(self, X):
        """Return each class's votes, or the sum of its margins.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            Higher is better. Votes have a fraction below 1/3 added, which orders equal
            ones by their margins. With two classes, the second's lead over the first.
        """
        prepared, n_rows = self._prepared(X)
        scores = self._scores(prepared, n_rows)
        if len(self.classes_) == 2:
            return (scores[:, 1] - scores[:, 0]) / 2.0
        return scores

    def predict(self, X):
        """Return the class that wins most of its pairs.

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
        decisions = self._scores(prepared, n_rows).argmax(axis=1)
        return self.classes_[decisions]


def _shared_votes(pairs: np.ndarray, n_classes: int) -> np.ndarray:
    """Return half a vote for each class of each pair that was left out."""
    share = np.full(n_classes, (n_classes - 1) / 2.0)
    np.subtract.at(share, pairs.ravel(), 0.5)
    return share


def _pair_of_training(training, counts, j: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    if training.by_class:
        is_k, weights = pair_problem(training.matrix, j, k)
        is_k, weights = is_k[training.y], weights[training.y]
    else:
        is_k, weights = pair_problem(training.costs, j, k)
    return is_k, weights if counts is None else weights * counts


def _fit_pair(learner, X, training, counts, j, k, sampling, seed) -> tuple:
    is_k, weights = _pair_of_training(training, counts, j, k)
    return fit_member(learner, X, ExamplePlan(weights, is_k, sampling), seed)
