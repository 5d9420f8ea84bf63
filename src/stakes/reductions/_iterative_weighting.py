r"""Iterative weighting: one weight per example, corrected by the mistakes that are made."""

from dataclasses import dataclass
from itertools import repeat
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from stakes._learning.draws import draw_seeds, tell
from stakes._learning.votes import weighted_problem
from stakes._methods import method
from stakes.costs import Costs
from stakes.reductions._base import COUNT, VotingReduction
from stakes.reductions._members import count_constants
from stakes.reductions._sampling import ExamplePlan
from stakes.utils._sklearn import Interval, StrOptions


def update_weights(
    weights: np.ndarray, labels: np.ndarray, decisions: np.ndarray, paid: np.ndarray, alpha: float
) -> np.ndarray:
    """Mix what each mistake cost into the weights; other weights stay (Figure 1, step c).

    Parameters
    ----------
    weights, labels : ndarray of shape (n,)
        The importance-weighted sample.
    decisions, paid : ndarray of shape (n,)
        What was decided, and what that cost.
    alpha : float
        The mixture weight.

    Examples
    --------
    The first example is right, the second is not; it cost 2 and was taken for 10:

    >>> from stakes.reductions._iterative_weighting import update_weights
    >>> one, two = np.array([10.0, 10.0]), np.array([0.0, 2.0])
    >>> update_weights(one, np.array([0, 1]), np.array([0, 2]), two, alpha=0.25)
    array([10.,  8.])
    """
    return np.where(decisions != labels, alpha * paid + (1.0 - alpha) * weights, weights)


def mixture_weight(alpha: str | float, t: int) -> float:
    """Return alpha_t of round t = 1, 2, ... (Figure 1, step b).

    Examples
    --------
    >>> from stakes.reductions._iterative_weighting import mixture_weight
    >>> [mixture_weight(alpha, 1) for alpha in ("1/t", "1/(t+1)", 0.25)]
    [1.0, 0.5, 0.25]
    """
    if isinstance(alpha, str):
        return 1.0 / (t if alpha == "1/t" else t + 1)
    return float(alpha)


def initial_weights(costs: Costs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return each example's greatest cost, its cheapest label and its least cost."""
    least = costs.table.min(axis=1)
    greatest = costs.table.max(axis=1) - least
    return greatest[costs.row_of], weighted_problem(costs)[0], least[costs.row_of]


@method("iw", family="reduction", exports=("onnx",))
@dataclass(eq=False, repr=False, kw_only=True)
class IterativeWeightingClassifier(VotingReduction):
    r"""Iterative weighting: weights that follow the costs of the current mistakes.

    Every example starts with its greatest cost as weight. Each round fits the component
    learner to the weighted sample and moves the weight of each mistake towards what that
    mistake cost. Where this converges, the weighted error of the last hypothesis *is* its
    cost (Theorem 1 of [1]_). The component learner is `CostingClassifier`'s ensemble.

    It serves class costs and costs known in hindsight. It is *not* the one to use as a rule:
    with more than two classes it often does not converge (`converged_` says so) and the last
    hypothesis is returned whatever it costs; it is here because `GBSEClassifier`, which does
    not have this fault, is built on its idea.

    Parameters
    ----------
    estimator : estimator instance, default=None
        The classifier of the component ensemble. If None, a
        `stakes.tree.CostTreeClassifier` (``criterion="variance"``, unlimited depth, 10
        examples per leaf at least), whose bins are computed once.

    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``; None for 0/1.

    n_iterations : int, default=30
        The greatest number of rounds.

    n_estimators : int, default=10
        Members of the component ensemble in each round.

    alpha : "1/t", "1/(t+1)" or float, default="1/t"
        The mixture weight of round t. [1]_ sets 1/t for all its experiments, although Figure 1
        asks for weights below 1: with 1/t the first round forgets the greatest costs of its
        mistakes, with 1/(t+1) it keeps half of them.

    tol : float, default=1e-9
        Converged when no mistake's weight is further from its cost than this share of the
        greatest cost.

    sampling : {"auto", "weights", "rejection"}, default="auto"
        As in `AverageCostClassifier`, for each member of each round.

    voting : {"auto", "soft", "hard"}, default="auto"
        What the members of a round give: probabilities, or votes (the paper's). "auto" is "hard"
        over a classifier that is given, and "soft" over cost trees.

    random_state : int, RandomState instance or None, default=None
        Seeds the samples and members of all rounds.

    n_jobs : int, default=None
        Members of a round fitted at once. Rounds depend on each other.

    verbose : int, default=0
        With 1, a line per round: the two sides of Theorem 1.

    Attributes
    ----------
    estimators_ : list
        The component ensemble of the last round.

    converged_ : bool
        Whether a fixed point was met.

    n_iter_ : int
        The number of rounds.

    weights_ : ndarray of shape (n_samples,)
        The weights that the last hypothesis was fitted to.

    weighted_errors_, training_costs_ : ndarray of shape (n_iter_,)
        The two sides of Theorem 1 in each round: the average weighted error of the
        hypothesis, and its average cost (least cost at 0). Equal in the last round where
        `converged_`.

    sampling_, voting_ : str
        What was used.

    n_samples_used_ : ndarray of shape (n_iter_, n_estimators)
        The size of each member's sample.

    n_empty_samples_, n_one_label_samples_ : int
        How many members of all rounds drew nothing, or one label only.

    classes_ : ndarray of shape (n_classes,)
        The class labels.

    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The class costs in force, averages of example costs where those were given.

    Notes
    -----
    Leaves of 5 instead of 10 examples cost 1.20 times as much. Rejection (leaves of 5) costs
    0.70 on these skewed costs; that it can leave a class out of every sample of small data is
    the only reason why it is not the default of cost trees.

    With rejection, ten members that vote, 30 rounds and an entropy tree pruned as C4.5 prunes,
    it costs 98 on Annealing (standard error 18, 20 runs), and in 5 runs each 70 on Solar flare
    (45), 61 on Splice (6) and 112 on Satimage (10), where [1]_ reports 67 (9), 174 (33), 67 (4)
    and 140 (18). Single runs on Annealing lie between 17 and 309. ``alpha="1/(t+1)"`` gives 95,
    69, 60 and 113. Correcting the weights of right answers as well, down towards 0, which is how
    the text of [1]_ likens it to GBSE, gives 70, 377 and 129 on the first three: Figure 1 leaves
    them alone, and so does this class.

    An unpruned tree of scikit-learn with leaves of 2 costs 96 on Annealing by default (standard
    error 9; four seeds on 20 splits: 89 to 104), and 336 (104) with weights and averaged
    probabilities.

    References
    ----------
    .. [1] Abe, Zadrozny and Langford (2004), as in `AverageCostClassifier`; Figure 1.

    Examples
    --------
    Three look alike, two of class 0. They start with a weight of 2 each, their greatest
    cost, and lose to the 6 of class 1. But deciding 1 costs each only 1: so much they weigh
    from now on, and with the next round nothing moves any more.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from stakes.reductions import IterativeWeightingClassifier
    >>> X, y = [[0], [0], [0], [9]], [0, 0, 1, 2]
    >>> C = [[0, 1, 2], [2, 0, 6], [1, 1, 0]]
    >>> iw = IterativeWeightingClassifier(
    ...     DecisionTreeClassifier(), cost_matrix=C, n_estimators=1, sampling="weights")
    >>> iw.fit(X, y).predict([[0], [9]])
    array([1, 2])
    >>> iw.converged_, iw.n_iter_, iw.weighted_errors_, iw.training_costs_
    (True, 2, array([1. , 0.5]), array([0.5, 0.5]))
    """

    n_iterations: int = 30
    n_estimators: int = 10
    alpha: str | float = "1/t"
    tol: float = 1e-9

    _default_leaf = 10

    _parameter_constraints: ClassVar[dict] = {
        **VotingReduction._parameter_constraints,
        "n_iterations": COUNT,
        "alpha": [StrOptions({"1/t", "1/(t+1)"}), Interval(Real, 0, 1, closed="right")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def _fit_members(self, X: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        counts = np.ones(len(costs)) if sample_weight is None else sample_weight
        weights, labels, least = initial_weights(costs)
        tol = self.tol * weights.max()
        self.converged_ = False
        errors: list[float] = []
        paid_on_average, sizes, n_constant = [], [], 0
        seeds = draw_seeds(self.random_state, self.n_iterations * self.n_estimators)
        for t, round_seeds in enumerate(seeds.reshape(self.n_iterations, -1), start=1):
            if t > 1 and not (weights * counts).any():  # every mistake was free: nothing to learn
                self.converged_, self.weights_, errors[-1] = True, weights, 0.0
                break
            plan = ExamplePlan(weights * counts, labels, self.sampling_, self.n_estimators > 1)
            members, used = self._fit_each(X, repeat(plan), round_seeds, named="")
            decisions = self._mean_vote(members, X).argmax(axis=1)
            self.weights_ = weights
            paid = costs.of(decisions) - least
            wrong = decisions != labels
            errors.append(np.average(weights * wrong, weights=counts))
            paid_on_average.append(np.average(paid, weights=counts))
            sizes.append(used)
            n_constant += count_constants(members)
            figures = f"weighted error {errors[-1]:.6g}, cost {paid_on_average[-1]:.6g}"
            tell(self, f"round {t}: {figures}")
            if (np.abs(paid - weights)[wrong] <= tol).all():  # Theorem 1's fixed point
                self.converged_ = True
                break
            alpha = mixture_weight(self.alpha, t)
            weights = update_weights(weights, labels, decisions, paid, alpha)

        self.n_iter_ = len(errors)
        self.weighted_errors_ = np.array(errors)
        self.training_costs_ = np.array(paid_on_average)
        self._keep(members, np.array(sizes), n_constant)
