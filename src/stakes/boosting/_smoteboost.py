"""SMOTEBoost: boosting whose members also see synthetic examples of the smaller classes."""

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import Tags

from stakes._learning.draws import draw_seed
from stakes._methods import Setting, method, with_options
from stakes.boosting._adaboost_mm import AdaBoostMMClassifier
from stakes.boosting._equations import cost_matrix_of_round
from stakes.boosting._exponential import Penalty
from stakes.boosting._weak import Sample
from stakes.costs import Costs
from stakes.tree.engine import BinnedData
from stakes.utils._optional import import_optional
from stakes.utils._sklearn import Interval

# Synthetic examples are drawn for several rounds at once, up to so many numbers: finding the
# neighbours is what takes time, and they are the same in every round.
MOST_ROUNDS, MOST_NUMBERS = 64, 4_000_000


@dataclass
class SyntheticExamples:
    """Examples made by SMOTE, as many as each class lacks, new ones in every round.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The examples; categories as codes.
    y : ndarray of shape (n_samples,)
        Their classes as positions.
    categorical : ndarray of shape (n_features,), dtype bool
        Which features are categories.
    k_neighbors : int
        Neighbours that an example is joined with; fewer where its class has fewer.
    rng : RandomState
        Where the draws come from.
    """

    X: np.ndarray
    y: np.ndarray
    categorical: np.ndarray
    k_neighbors: int
    rng: np.random.RandomState

    def __post_init__(self) -> None:
        sizes = np.bincount(self.y)
        self.lacking = np.where(sizes > 0, sizes.max() - sizes, 0)  # of each class
        self.labels = np.repeat(np.arange(len(sizes)), self.lacking)
        size = max(1, len(self.labels) * self.X.shape[1])
        self.n_rounds = int(np.clip(MOST_NUMBERS // size, 1, MOST_ROUNDS))
        self._store: list = []

    def draw(self) -> np.ndarray:
        """Return the synthetic examples of one round; their classes are `labels`."""
        if not self._store:
            made = [self._of_class(c, n * self.n_rounds) for c, n in enumerate(self.lacking) if n]
            parts = [np.split(rows, self.n_rounds) for rows in made]
            self._store = [np.concatenate(rows) for rows in zip(*parts)]
        return self._store.pop() if self._store else self.X[:0]

    def _of_class(self, label: int, n_wanted: int) -> np.ndarray:
        own = np.flatnonzero(self.y == label)
        if len(own) == 1:  # it has no neighbour to be joined with
            return np.repeat(self.X[own], n_wanted, axis=0)
        sampler = self._sampler(len(own), n_wanted)
        with warnings.catch_warnings():  # more than the other rows together: so it is meant
            warnings.filterwarnings("ignore", "After over-sampling", UserWarning)
            made, _ = sampler.fit_resample(self.X, self.y == label)
        made = np.asarray(made)[len(self.X) :]
        return made[self.rng.permutation(len(made))]

    def _sampler(self, n_own: int, n_wanted: int) -> Any:
        over_sampling = import_optional(
            "imblearn.over_sampling", extra="imbalance", purpose="SMOTEBoostClassifier"
        )
        options = {
            "sampling_strategy": {True: n_own + n_wanted},
            "k_neighbors": min(self.k_neighbors, n_own - 1),
            "random_state": draw_seed(self.rng),
        }
        if not self.categorical.any():
            return over_sampling.SMOTE(**options)
        if self.categorical.all():
            return over_sampling.SMOTEN(**options)
        return over_sampling.SMOTENC(np.flatnonzero(self.categorical).tolist(), **options)


def filled_in(cls: type, setting: Setting) -> Pipeline:
    """Return the learner behind an imputer: SMOTE cannot interpolate missing values."""
    return make_pipeline(SimpleImputer(strategy="median"), with_options()(cls, setting))


@method("smoteboost", family="boosting", exports=("onnx",), build=filled_in, needs=("imblearn",))
@dataclass(eq=False, repr=False, kw_only=True)
class SMOTEBoostClassifier(AdaBoostMMClassifier):
    r"""SMOTEBoost: boosting on synthetic examples of the rare classes.

    Before each round SMOTE makes, for each class, as many examples as it lacks to the largest
    one, between neighbours of the class; the member is fitted on them and on the training
    examples, and then they are thrown away. Edge, vote and costs are those of the training
    examples alone. It is here because `CoMBoClassifier` was compared with it.

    It takes class costs and costs known in hindsight: a synthetic example costs what an average
    one of its class does. It is not the one to use where the frequencies of the classes should
    count, as in any sum of money: use `AdaBoostMMClassifier`. X must have no missing values,
    which cannot be interpolated.

    Parameters
    ----------
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[t, d]`` is the cost of deciding `d` when the truth is `t`; 0/1 if None.

    estimator : estimator instance, default=None
        The weak learner. If None, ``CostTreeClassifier(max_depth=12)``, whose leaves hold 10
        examples, or a twentieth of all where that is less: trees of depth 3 are too small for
        so many synthetic examples. Categories are understood in a DataFrame with cost trees;
        for any other estimator X must be numeric. See `AdaBoostMMClassifier` for what it is
        handed.

    k_neighbors : int, default=5
        The neighbours of its class that an example is joined with; fewer where the class is
        smaller. A class of one example is repeated.

    n_estimators, learning_rate, early_stopping, validation_fraction, n_iter_no_change
        As in `AdaBoostMMClassifier`.

    random_state : int, RandomState instance or None, default=None
        For the synthetic examples, the weak learner, and the examples set aside.

    n_jobs, verbose
        As in `AdaBoostMMClassifier`.

    Attributes
    ----------
    classes_, cost_matrix_, cost_kind_, estimators_, estimator_weights_, edges_, loss_
        As in `AdaBoostMMClassifier`.

    initial_loss_, training_error_bound_, validation_costs_, n_iter_, feature_importances_
        As in `AdaBoostMMClassifier`.

    Notes
    -----
    The published loop [1]_ is AdaBoost.M2. Where members decide for one label, as they do
    here, its pseudo-loss :math:`\epsilon_t` is :math:`(1 - \delta_t) / 2` and its weights over
    (example, wrong label) are the costs :math:`D_t` of AdaBoost.MM, so that loop is shared. A
    synthetic example has the first round's costs, the costs of all training examples scaled
    to the first round's sum.

    References
    ----------
    .. [1] N. V. Chawla, A. Lazarevic, L. O. Hall and K. W. Bowyer, "SMOTEBoost: Improving
       Prediction of the Minority Class in Boosting", PKDD 2003, 107-119.

    Examples
    --------
    Between 15 and 25 there are ten examples of either class, and SMOTE makes thirty more of
    class 1 there:

    >>> from stakes.boosting import SMOTEBoostClassifier
    >>> X = [[x] for x in range(40)] + [[x + 0.5] for x in range(15, 25)]
    >>> y = [0] * 40 + [1] * 10
    >>> model = SMOTEBoostClassifier(n_estimators=1, random_state=0).fit(X, y)
    >>> model.predict([[5], [20], [35]])
    array([0, 1, 0])
    """

    k_neighbors: int = 5

    _parameter_constraints: ClassVar[dict] = {
        **AdaBoostMMClassifier._parameter_constraints,
        "k_neighbors": [Interval(Integral, 1, None, closed="left")],
    }

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags

    def _default_tree(self, n_samples: int) -> dict[str, Any]:
        return {"max_depth": 12, "min_samples_leaf": max(1, min(10, n_samples // 20))}

    _sums_over_workers = False  # neighbours of a row may lie elsewhere

    def _start(self, sample: Sample, rng: np.random.RandomState) -> Any:
        state, costs = super()._start(sample, rng), sample.costs
        matrix, categorical = sample.learner.as_numbers(sample.X, sample.data)
        if np.isnan(matrix).any():
            raise ValueError(
                "X has missing values (NaN), which SMOTE cannot interpolate: fill them in first."
            )
        state.synthetic = SyntheticExamples(matrix, costs.y, categorical, self.k_neighbors, rng)
        labels = state.synthetic.labels
        per_class = Costs(labels, matrix=costs.class_matrix())
        penalty = Penalty.from_costs(per_class, np.ones(len(labels)))
        state.synthetic_target = penalty.target
        first = cost_matrix_of_round(
            np.zeros((len(labels), costs.n_classes)), penalty.target, penalty.rows()
        )
        state.synthetic_costs = first / state.initial_loss
        return state

    def _prepare(self, X: Any) -> Any:
        data = super()._prepare(X)
        if isinstance(data, BinnedData) and data.has_missing_numbers():
            raise ValueError("X has missing values (NaN), which fit did not take either.")
        return data

    def _round_sample(self, sample: Sample, state: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        data = sample.learner.append(sample.data, state.synthetic.draw())
        costs = np.concatenate([state.costs / state.scaled_loss, state.synthetic_costs])
        return data, costs, np.concatenate([state.target, state.synthetic_target])
