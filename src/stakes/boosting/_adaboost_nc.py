"""AdaBoost.NC: boosting whose members are driven apart."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from stakes._learning.votes import add_votes, normalize_rows, one_hot
from stakes._methods import method
from stakes.boosting._base import BaseCostBoosting
from stakes.boosting._equations import LARGEST_EDGE, SMALLEST_EDGE, vote
from stakes.boosting._exponential import NOTHING_TO_LEARN, Penalty, Step
from stakes.boosting._weak import Sample
from stakes.utils._sklearn import Interval


def ambiguity(ensemble_right: Any, share_right: Any) -> Any:
    """Return amb: how far the ensemble is from its members, as right (1) or wrong (0).

    The mean over the members of [ensemble is right] - [member is right].

    Examples
    --------
    One example that the ensemble gets right though a third of its members do not:

    >>> from stakes.boosting._adaboost_nc import ambiguity
    >>> round(ambiguity(1, 2 / 3), 4)
    0.3333
    """
    return ensemble_right - share_right


def penalty_of(amb: Any) -> Any:
    """Return p = 1 - |amb|: 1 where the members agree, less where they differ."""
    return 1.0 - abs(amb)


def reweighted(
    weight: np.ndarray, penalty: np.ndarray, strength: float, alpha: float, is_right: np.ndarray
) -> np.ndarray:
    """Return the weights of the next round, their sum 1.

    Weights times p^lambda exp(-alpha [member is right]).

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.boosting._adaboost_nc import reweighted
    >>> weight, right = np.array([0.5, 0.5]), np.array([True, False])
    >>> reweighted(weight, np.array([1.0, 1.0]), 2, np.log(3), right)  # 1/6 and 1/2
    array([0.25, 0.75])
    """
    weight = weight * penalty**strength * np.exp(-alpha * is_right)
    return weight / weight.sum()


class NegativeCorrelationWeights:
    """Weights of the rows between rounds, and the votes so far.

    Parameters
    ----------
    penalty : Penalty
        The costs above each row's cheapest decision, and the weights of the rows.
    n_classes : int
        The number of decisions.
    strength : float
        lambda.
    learning_rate : float
        Factor of every vote.
    """

    def __init__(self, penalty: Penalty, n_classes: int, strength: float, learning_rate: float):
        self.target = penalty.target
        self.strength = strength
        self.learning_rate = learning_rate
        rows = penalty.table[penalty.table_row]
        self.relative = normalize_rows(rows)
        weight = penalty.row_weight * rows.sum(axis=1)  # what missing the target costs
        if not weight.any():
            raise ValueError(NOTHING_TO_LEARN)
        self.weight = self.first_weight = weight / weight.sum()
        self.counts = np.zeros((len(rows), n_classes))  # of votes, all members alike
        self.scores = np.zeros((len(rows), n_classes))
        self.initial_loss = 1.0

    @property
    def costs(self) -> np.ndarray:
        """What the next member minimises: the row's weight, spread over the wrong labels."""
        return self.weight[:, None] * self.relative

    def advance(self, leaf: np.ndarray, decisions: np.ndarray) -> Step:
        """Weigh a member and the rows."""
        decided = decisions[leaf]
        is_right = decided == self.target
        counts = self.counts + one_hot(decided, self.counts.shape[1])
        ensemble_right = counts.argmax(axis=1) == self.target
        share_right = normalize_rows(counts)[np.arange(len(counts)), self.target]
        p = penalty_of(ambiguity(ensemble_right, share_right))
        mass = self.weight * p**self.strength
        right, wrong = mass[is_right].sum(), mass[~is_right].sum()
        # 1/2 log(right / wrong) is the vote of the edge (right - wrong) / (right + wrong)
        delta = float((right - wrong) / (right + wrong))
        if not delta > SMALLEST_EDGE:
            return Step(delta, 0.0, self._loss(), True)
        self.counts = counts
        delta = min(delta, LARGEST_EDGE)
        alpha = float(vote(delta)) * self.learning_rate
        add_votes(self.scores, decided, alpha)
        self.weight = reweighted(self.weight, p, self.strength, alpha, is_right)
        # A perfect member after which no weight has moved would only come again.
        return Step(delta, alpha, self._loss(), bool(is_right.all() and (p == 1.0).all()))

    def _loss(self) -> float:
        return float(self.first_weight[self.scores.argmax(axis=1) != self.target].sum())


@method("adaboost_nc", family="boosting", exports=("onnx",))
@dataclass(eq=False, repr=False, kw_only=True)
class AdaBoostNCClassifier(BaseCostBoosting):
    r"""AdaBoost.NC: boosting that rewards disagreement among members.

    An example on which the members so far agree counts more in the next round than one on
    which they differ, whether they are right or wrong. Classes are first oversampled to equal
    size, at random. It is here because `CoMBoClassifier` was compared with it.

    It takes class costs and costs known in hindsight, which the published method did not have:
    an example starts with the weight of what missing its cheapest decision costs, and the
    member minimises costs. Under 0/1 costs it is the published method. It is not the one to
    use where the frequencies of the classes should count (``oversample=False``, or better
    `AdaBoostMMClassifier`), nor for costs known when deciding. With many classes it needs
    strong members: one that is wrong for half of the weight ends the loop.

    Parameters
    ----------
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``; None for 0/1 costs.

    estimator : estimator instance, default=None
        The weak learner. If None, ``CostTreeClassifier(max_depth=12, min_samples_leaf=5)``, in
        the place of the paper's C4.5 (a leaf holds a twentieth of the examples where that is
        less); see `AdaBoostMMClassifier` for what other estimators are handed.

    penalty_strength : float, default=2.0
        :math:`\lambda`; 0 is AdaBoost without the second aim.

    oversample : bool, default=True
        Whether examples of the smaller classes are drawn again until the classes are equal.
        The copies are weights: nothing is copied.

    n_estimators, learning_rate, early_stopping, validation_fraction, n_iter_no_change
        As in `AdaBoostMMClassifier`.

    random_state : int, RandomState instance or None, default=None
        For the oversampling, the weak learner, and the examples set aside.

    n_jobs, verbose
        As in `AdaBoostMMClassifier`.

    Attributes
    ----------
    edges_ : ndarray of shape (n_iter_,)
        (right - wrong) / (right + wrong), of the penalised weights.

    loss_ : ndarray of shape (n_iter_,)
        The share of the first weights that the vote gets wrong after each round.

    initial_loss_ : float
        1: no vote has been cast.

    classes_, cost_matrix_, cost_kind_, estimators_, estimator_weights_, validation_costs_
        As in `AdaBoostMMClassifier`.

    n_iter_, feature_importances_
        As in `AdaBoostMMClassifier`.

    Notes
    -----
    After round :math:`t` with :math:`H_t` the plurality of the members so far,

    .. math::

        amb_t = \frac1t \sum_{s \le t} ([H_t = y] - [h_s = y]), \qquad p_t = 1 - |amb_t|,

        \alpha_t = \frac12 \log \frac{\sum_{h_t = y} w p_t^\lambda}{\sum_{h_t \ne y} w
        p_t^\lambda}, \qquad w \leftarrow w\, p_t^\lambda \exp(-\alpha_t [h_t = y]) / Z_t.

    The members are weighed alike in :math:`H_t`, since :math:`\alpha_t` is not known before
    :math:`p_t`. The loop ends where :math:`\alpha_t` is not positive.

    References
    ----------
    .. [1] S. Wang and X. Yao, "Multiclass Imbalance Problems: Analysis and Potential
       Solutions", IEEE Transactions on Systems, Man and Cybernetics B 42(4), 2012, 1119-1130.
    .. [2] S. Wang, H. Chen and X. Yao, "Negative correlation learning for classification
       ensembles", IJCNN 2010.

    Examples
    --------
    A fifth of the examples are of class 1; drawn again, they count as much as the others:

    >>> from stakes.boosting import AdaBoostNCClassifier
    >>> X = [[0]] * 20 + [[1]] * 20 + [[0]] * 10
    >>> y = [0] * 40 + [1] * 10
    >>> model = AdaBoostNCClassifier(n_estimators=1, random_state=0).fit(X, y)
    >>> model.predict([[0], [1]])
    array([1, 0])
    >>> model.set_params(oversample=False).fit(X, y).predict([[0], [1]])
    array([0, 0])
    """

    penalty_strength: float = 2.0
    oversample: bool = True

    _parameter_constraints: ClassVar[dict] = {
        **BaseCostBoosting._parameter_constraints,
        "penalty_strength": [Interval(Real, 0, None, closed="left")],
        "oversample": ["boolean"],
    }

    def _default_tree(self, n_samples: int) -> dict[str, Any]:
        return {"max_depth": 12, "min_samples_leaf": max(1, min(5, n_samples // 20))}

    def _start(self, sample: Sample, rng: np.random.RandomState) -> Any:
        weight = sample.weight
        if self.oversample:
            weight = weight * oversampling_counts(sample.costs.y, rng)
        penalty = Penalty.from_costs(sample.costs, weight)
        return NegativeCorrelationWeights(
            penalty, sample.costs.n_classes, self.penalty_strength, self.learning_rate
        )


def oversampling_counts(y: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Return how often each row occurs once the classes are oversampled to equal size.

    Every row stays; the rest of a class's share is drawn from it with replacement.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.boosting._adaboost_nc import oversampling_counts
    >>> y = np.array([0, 0, 0, 0, 1, 1])
    >>> counts = oversampling_counts(y, np.random.RandomState(0))
    >>> counts[:4], int(counts[4:].sum())
    (array([1, 1, 1, 1]), 4)
    """
    sizes = np.bincount(y)
    counts = np.ones(len(y), dtype=np.int64)
    for label in np.flatnonzero(sizes):
        rows = np.flatnonzero(y == label)
        drawn = rng.choice(rows, size=sizes.max() - len(rows))
        counts += np.bincount(drawn, minlength=len(y))
    return counts
