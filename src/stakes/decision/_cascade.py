"""Escalation: decide now, or pay for a better answer first."""

from collections.abc import Callable
from functools import lru_cache
from itertools import chain, combinations
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import entr, log_softmax, softmax
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import indexable
from sklearn.utils.validation import check_is_fitted

from stakes._base import COST_MATRIX_CONSTRAINT, CostSensitiveMixin
from stakes._learning.folds import as_splitter, split_folds
from stakes.costs import Costs, make_costs
from stakes.decision._calibration import METHODS, ProbabilityCalibrator
from stakes.decision._crossfit import class_probabilities, cross_fit, weight_params
from stakes.decision._expected import check_proba, expected_rows
from stakes.utils._arrays import check_weights, quoted
from stakes.utils._frames import one_column
from stakes.utils._labels import as_labels, encode_labels, label_array
from stakes.utils._sklearn import (
    Interval,
    StrOptions,
    num_samples,
    safe_indexing,
    validate_data,
)

# How strongly the line of what passing on saves is drawn to its mean, in rows.
RIDGE = 30.0
# How strongly the weights of models are drawn to the last one alone, in rows.
PULL = 1.0
# How much what a decision did cost counts in learning; the rest is what all models together expect it to
# cost, which is far less noisy.
SEEN = 0.5
# A threshold other than 0 must be better by this many standard errors.
SURE = 1.0
# More models than this have more orders than can be tried.
MOST_MODELS = 8
# The least probability whose logarithm is taken.
LEAST = 1e-6


class Stage(NamedTuple):
    """When one stage of a cascade passes a case on: where a line through its doubts is high enough.

    Attributes
    ----------
    mean : float
        What passing on saves where the stage's doubts are those at `centre`.
    centre, slopes : ndarray of shape (n_features,)
        How that moves with what the stage's probabilities say (`doubts`).
    threshold : float
        The expected saving from which on a case is passed on.
    """

    mean: float
    centre: np.ndarray
    slopes: np.ndarray
    threshold: float


def doubts(proba: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return what a stage says of what a better answer would bring, (n, 2 A + 5).

    Of the expected costs the least and its square root, how far the others are above it, and each
    decision's own; of the probabilities how far the greatest is from 1, its square root, how far
    the second is below it, and the entropy.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.decision._cascade import doubts
    >>> doubts(np.array([[1.0, 0.0]]), np.array([[4.0, 5.0]])).round(3)
    array([[4., 2., 1., 4., 5., 0., 0., 1., 0.]])
    """
    ordered = np.sort(expected, axis=1)
    least = ordered[:, :1]
    likeliest = np.sort(proba, axis=1)
    open_to = np.maximum(1.0 - likeliest[:, -1:], 0.0)
    lead = likeliest[:, -1:] - likeliest[:, -2:-1]
    entropy = entr(proba).sum(axis=1, keepdims=True)
    of_costs = [least, np.sqrt(np.maximum(least, 0.0)), ordered[:, 1:] - least, expected]
    return np.hstack([*of_costs, open_to, np.sqrt(open_to), lead, entropy])


def savings(stage: Stage, proba: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return what passing each case on is expected to save, (n,)."""
    return stage.mean + (doubts(proba, expected) - stage.centre) @ stage.slopes


def learn_stage(
    proba: np.ndarray,
    expected: np.ndarray,
    stops: np.ndarray,
    onwards: np.ndarray,
    weight: np.ndarray | None = None,
) -> tuple[Stage, np.ndarray]:
    """Learn from held-out rows when a stage should pass a case on; return which it passes.

    Two ways are tried: what the stage expects its decision to cost less what passing on costs on average;
    and a ridge regression of what passing on did save, whose predictions are of rows left out. The
    one that costs less is taken.

    Parameters
    ----------
    proba : ndarray of shape (n_samples, n_classes)
        The stage's probabilities.
    expected : ndarray of shape (n_samples, n_decisions)
        What it expects each decision to cost.
    stops : ndarray of shape (n_samples,)
        What its own decision did cost.
    onwards : ndarray of shape (n_samples,)
        What passing it on did cost in all, asking included.
    weight : ndarray of shape (n_samples,), default=None
        How often each row counts.

    Examples
    --------
    A stage that is sure or not; where it is not, going on costs 1 instead of 5 on average:

    >>> import numpy as np
    >>> from stakes.decision._cascade import learn_stage
    >>> proba = np.array([[0.99, 0.01], [0.5, 0.5]] * 50)
    >>> stops = np.array([0.0, 10.0, 0.0, 0.0] * 25)
    >>> stage, passed = learn_stage(proba, 10 * (1 - proba), stops, np.ones(100))
    >>> passed[:2].tolist()
    [False, True]
    """
    features = doubts(proba, expected)
    weight = np.ones(len(onwards)) if weight is None else weight
    saved = stops - onwards
    centre = np.average(features, axis=0, weights=weight)
    rest, usual = np.average(onwards, weights=weight), np.average(saved, weights=weight)
    least = np.zeros(features.shape[1])
    least[0] = 1.0  # the first feature is the least expected cost
    line, left_out = _ridge(features - centre, saved - usual, weight)
    tried = []
    for mean, slopes, expects in [
        (centre[0] - rest, least, features[:, 0] - rest),
        (usual, line, usual + left_out),
    ]:
        threshold = best_threshold(expects, saved * weight)
        passed = expects > threshold
        stage = Stage(float(mean), centre, slopes, threshold)
        tried.append((float(weight @ np.where(passed, onwards, stops)), stage, passed))
    _, stage, passed = min(tried, key=lambda way: way[0])
    return stage, passed


def _ridge(
    deviations: np.ndarray, saved: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the slopes of a ridge regression without a constant, and what the other rows say of each."""
    scale = np.sqrt(np.average(deviations**2, axis=0, weights=weight))
    scale[scale == 0.0] = 1.0
    z = deviations / scale
    weighted = z.T * weight
    inverse = np.linalg.inv(weighted @ z + RIDGE * np.eye(z.shape[1]))
    slopes = inverse @ (weighted @ saved) / scale
    own = weight * (np.einsum("ni,ij,nj->n", z, inverse, z) + 1.0 / weight.sum())
    return slopes, (deviations @ slopes - own * saved) / (1.0 - own)


def best_threshold(expected: np.ndarray, gained: np.ndarray) -> float:
    """Return from which expected saving on passing on gained most; 0 unless another is surely better.

    Parameters
    ----------
    expected : ndarray of shape (n_samples,)
        The expected savings.
    gained : ndarray of shape (n_samples,)
        What passing on did save.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.decision._cascade import best_threshold
    >>> best_threshold(np.array([-1.0, 1.0] * 50), np.array([-3.0, 3.0] * 50))
    0.0
    >>> best_threshold(np.array([1.0, 2.0] * 50), np.array([-3.0, 3.0] * 50))
    1.5
    """
    order = np.argsort(-expected, kind="stable")
    ordered, gains = expected[order], gained[order]
    totals = np.concatenate([[0.0], np.cumsum(gains)])
    ends = np.flatnonzero(np.append(ordered[:-1] > ordered[1:], True)) + 1
    places = np.concatenate([[0], ends])  # ties go one way
    best = int(places[totals[places].argmax()])
    moved = (expected > 0.0).astype(float)
    chosen = np.zeros(len(expected))
    chosen[order[:best]] = 1.0
    differences = (chosen - moved) * gained
    error = float(np.sqrt((differences**2).sum()))
    if differences.sum() <= SURE * error:
        return 0.0
    if best == 0:
        return np.inf
    if best == len(expected):
        return -np.inf
    return float((ordered[best - 1] + ordered[best]) / 2.0)


class Route(NamedTuple):
    """Which stages are asked, in which order, and when each passes a case on.

    Attributes
    ----------
    models : tuple of int
        Positions of the models.
    weights : tuple of ndarray
        For each model the weights of it and those asked before it, on the logarithms of their
        probabilities.
    stages : tuple of Stage
        One for each model that has something after it.
    cost : float
        What it is taken to have cost on held-out rows.
    """

    models: tuple[int, ...]
    weights: tuple[np.ndarray, ...]
    stages: tuple[Stage, ...]
    cost: float


def pooled(probas: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """Return what several models say together: a weighted geometric mean of their probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.decision._cascade import pooled
    >>> pooled([np.array([[0.5, 0.5]]), np.array([[0.8, 0.2]])], np.array([1.0, 1.0])).round(3)
    array([[0.8, 0.2]])
    """
    if len(probas) == 1:
        return probas[0]
    logs = (w * np.log(np.maximum(p, LEAST)) for w, p in zip(weights, probas, strict=True))
    return softmax(sum(logs), axis=1)


def pool_weights(
    probas: list[np.ndarray], y: np.ndarray, weight: np.ndarray | None = None
) -> np.ndarray:
    """Return with which weights models say together what is most likely, on held-out rows.

    The logarithmic loss, drawn to the last model alone as by `PULL` rows; no weight is negative.

    Examples
    --------
    A model that knows nothing counts for nothing:

    >>> import numpy as np
    >>> from stakes.decision._cascade import pool_weights
    >>> y = np.array([0, 1] * 50)
    >>> wrong_once_in_ten = np.where(np.arange(100) % 10 < 1, 1 - y, y)
    >>> knows = np.where(wrong_once_in_ten[:, None] == [0, 1], 0.9, 0.1)
    >>> pool_weights([np.full((100, 2), 0.5), knows], y).round(2)
    array([0., 1.])
    """
    last = np.eye(len(probas))[-1]
    if len(probas) == 1:
        return last
    logs = np.stack([np.log(np.maximum(p, LEAST)) for p in probas])
    rows = np.arange(len(y))
    counts = np.ones(len(y)) if weight is None else weight
    total = counts.sum()

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        together = log_softmax(np.tensordot(w, logs, 1), axis=1)
        off = np.exp(together)
        off[rows, y] -= 1.0
        away = w - last
        value = -float(counts @ together[rows, y]) + PULL * float(away @ away)
        slope = np.tensordot(logs, off * counts[:, None], ((1, 2), (0, 1))) + 2.0 * PULL * away
        return value / total, slope / total

    bounds = [(0.0, None)] * len(probas)
    return minimize(loss, last, jac=True, bounds=bounds, method="L-BFGS-B").x


# What the first models of a route say together of held-out rows: weights, probabilities, expected costs.
Said = Callable[[tuple[int, ...]], tuple[np.ndarray, np.ndarray, np.ndarray]]


def learn_route(
    said: Said,
    costs: Costs,
    prices: np.ndarray,
    last: float | None,
    models: tuple[int, ...],
    weight: np.ndarray | None = None,
) -> Route:
    """Learn one route from its last stage to its first.

    Parameters
    ----------
    said : callable
        Of models, what they say together of held-out rows.
    costs : Costs
        What decisions do cost there.
    prices : ndarray of shape (n_models,)
        What asking each model costs.
    last : float or None
        What leaving a case to people costs, after the last model; None where nobody is there.
    models : tuple of int
        The models of the route.
    weight : ndarray of shape (n_samples,), default=None
        How often each row counts.
    """
    stages: list[Stage] = []
    weights: list[np.ndarray] = []
    rows = np.arange(len(costs))
    seen = (
        1.0 if costs.kind == "hindsight" else SEEN
    )  # no truth but the row's own has a price there
    by_all = said(tuple(range(len(prices))))[2]
    onwards = None if last is None else np.full(len(costs), last)
    for i in reversed(range(len(models))):
        together, proba, expected = said(models[: i + 1])
        weights.insert(0, together)
        decided = expected.argmin(axis=1)
        paid = seen * costs.of(decided) + (1.0 - seen) * by_all[rows, decided]
        if onwards is not None:
            stage, passed = learn_stage(proba, expected, paid, onwards, weight)
            stages.insert(0, stage)
            paid = np.where(passed, onwards, paid)
        onwards = paid + prices[models[i]]
    assert onwards is not None
    cost = float(np.average(onwards, weights=weight))
    return Route(models, tuple(weights), tuple(stages), cost)


def best_route(
    said: Said,
    costs: Costs,
    prices: np.ndarray,
    last: float | None,
    weight: np.ndarray | None = None,
) -> Route:
    """Return the route that cost least on held-out rows: of models in their order, some left out."""
    each = range(len(prices))
    routes = chain.from_iterable(combinations(each, size) for size in range(1, len(each) + 1))
    tried = (
        learn_route(said, costs, prices, end, models, weight)
        for models in routes
        for end in ([None] if last is None else [None, last])
    )
    return min(tried, key=lambda route: route.cost)


class CascadeClassifier(MetaEstimatorMixin, CostSensitiveMixin, BaseEstimator):
    r"""Decide with a cheap model, and pay for a better one where it is expected to save its price.

    Each stage decides, or passes the case on where what it expects its own decision to cost exceeds
    what the rest of the cascade is expected to cost, prices of asking included. Which stages are
    asked at all is learned on held-out rows, too. The usual way, a confidence of 0.7 set by hand,
    knows neither the prices of mistakes nor those of asking.

    Parameters
    ----------
    stages : list of tuple
        ``(name, model, price)`` in the order in which they are asked, each with the price of asking
        it; at most 8 models. The last may be ``(name, price)``: whoever decides whatever is
        left, at that price in all; its name is then a decision.
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, decided]``; None for 0/1.
    calibration : str or None, default="temperature"
        Of each model's probabilities, by `ProbabilityCalibrator`; None takes them at their word.
    cv : int, default=5
        How many folds held-out probabilities come from. A model within a `FrozenEstimator` is not
        fitted again; the rows must then be new to it. Folds of another kind: hold out the
        probabilities yourself and give them to `fit_proba`.
    n_jobs : int, default=None
        Folds fitted at a time.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    decisions_ : ndarray of shape (n_decisions,)
        What may be decided: those of the costs, and the name of the last stage if it has no model.
    cost_matrix_ : ndarray of shape (n_classes, n_decisions)
        The costs in force; without the last stage's.
    estimators_, calibrators_ : list
        The models, fitted on all rows, and their calibrations.
    route_ : Route
        Which stages are asked, and when each passes a case on.

    Notes
    -----
    With :math:`e_s(x)` the least expected cost of stage s and :math:`V_{s+1}` what the rest of the cascade
    cost on held-out rows, a case is passed on where

    .. math:: \mathrm{E}[e_s(x) - (\pi_{s+1} + V_{s+1}) \mid p_s(x)] > \theta_s,

    :math:`\pi` being prices and the expectation a ridge regression on what the stage expects, or
    :math:`e_s(x)` less the mean of the rest. Stages are learned from the last to the first (backward
    induction), for each choice of stages; the one that cost least on held-out rows is taken.
    :math:`\theta_s` is 0 unless another threshold is better there by more than a standard error. What a
    decision cost there is, half and half, what it did cost and what all models together expect it to
    have cost; of costs known in hindsight alone, what it did cost.

    What was paid for is not thrown away: a stage decides by its own probabilities and those of the stages
    asked before it, a geometric mean whose weights are learned on held-out rows, none of them negative.

    What each decision is expected to cost comes from the class costs, or from the prices of each row
    where they are known when deciding; what it did cost, from the costs of each row.

    Examples
    --------
    The first model knows nothing and is free; the second is always right and costs 0.1:

    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from stakes.decision import CascadeClassifier
    >>> X, y = [[i % 2] for i in range(40)], ["no", "yes"] * 20
    >>> guess, tree = DummyClassifier(), DecisionTreeClassifier()
    >>> stages = [("guess", guess, 0.0), ("tree", tree, 0.1)]
    >>> cascade = CascadeClassifier(stages, cost_matrix=[[0, 1], [1, 0]], calibration=None).fit(X, y)
    >>> cascade.predict([[0], [1]]).tolist(), cascade.asked([[0], [1]]).tolist()
    (['no', 'yes'], [1, 1])
    >>> cascade.set_params(stages=[("guess", guess, 0.0), ("tree", tree, 0.9)]).fit(X, y).asked([[0]])
    array([0])
    """

    _parameter_constraints: ClassVar[dict] = {
        "stages": [list, tuple],
        "cost_matrix": COST_MATRIX_CONSTRAINT,
        "calibration": [StrOptions(set(METHODS)), None],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "n_jobs": [int, None],
    }
    _weighs_cost_tensor = True

    def __init__(self, stages, *, cost_matrix=None, calibration="temperature", cv=5, n_jobs=None):
        self.stages = stages
        self.cost_matrix = cost_matrix
        self.calibration = calibration
        self.cv = cv
        self.n_jobs = n_jobs

    # -- fit -----------------------------------------------------------------------------------

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        """Leave X to the models; it must only have rows that can be picked."""
        (X,) = indexable(X)
        if np.ndim(X) == 1:
            raise ValueError("X has one axis. Reshape your data: X.reshape(1, -1) is one example.")
        if num_samples(X) == 0:
            raise ValueError("Found array with 0 sample(s): X is empty, there is nothing to fit.")
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _fit(self, X: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        models, y = self._check_stages()[0], self.classes_[costs.y]
        folds = split_folds(as_splitter(self.cv, costs.y), X, costs.y)
        held_out = []
        for model in models:
            params = weight_params(model, sample_weight)
            given = model, X, y, self.classes_, folds
            held_out.append(cross_fit(*given, fit_params=params, n_jobs=self.n_jobs)[0])
        self._learn(held_out, costs, sample_weight)
        self.estimators_ = [
            clone(model).fit(X, y, **weight_params(model, sample_weight)) for model in models
        ]

    def fit_proba(
        self,
        probas: list,
        y: Any,
        sample_weight: Any = None,
        *,
        costs: Any = None,
        cost_tensor: Any = None,
    ) -> Self:
        """Learn from stored probabilities of models from anywhere, held out; nothing is fitted.

        Parameters
        ----------
        probas : list of array-like of shape (n_samples, n_classes)
            One for each stage that has a model, which may be None then.
        y : array-like of shape (n_samples,)
            The true classes, whose sorted order is that of the columns.
        sample_weight, costs, cost_tensor : array-like, default=None
            As in `fit`.
        """
        models = self._check_stages()[0]
        if len(probas) != len(models):
            raise ValueError(f"There are {len(models)} models, but {len(probas)} probabilities.")
        labels, codes = encode_labels(one_column(y, warn=True))
        self.classes_ = label_array(labels)
        weight = check_weights(sample_weight, codes)
        given = {"costs": costs, "cost_tensor": cost_tensor, "sample_weight": weight}
        known = make_costs(
            codes, classes=self.classes_, cost_matrix=self.cost_matrix, encoded=False, **given
        )
        self._set_decisions(None if known.choices is None else known.choices.labels)
        self.cost_matrix_, self.cost_kind_ = known.class_matrix(), known.kind
        self._scored_by = self.cost_matrix_
        held_out = [check_proba(proba, n_classes=len(labels)) for proba in probas]
        self._learn(held_out, known, weight)
        return self

    def _learn(self, held_out: list, costs: Costs, weight: np.ndarray | None) -> None:
        """Learn the calibrations and the route from held-out probabilities."""
        _, self.prices_, self.last_price_ = self._check_stages()
        self.calibrators_: list = [
            None
            if self.calibration is None
            else ProbabilityCalibrator(self.calibration).fit(proba, costs.y, weight)
            for proba in held_out
        ]
        calibrated = [self._calibrated(m, proba) for m, proba in enumerate(held_out)]

        @lru_cache(maxsize=64)
        def said(models: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            asked = [calibrated[m] for m in models]
            weights = pool_weights(asked, costs.y, weight)
            proba = pooled(asked, weights)
            return weights, proba, self._expect(proba, costs.tensor)

        self.route_ = best_route(said, costs, self.prices_, self.last_price_, weight)
        if self.last_price_ is not None:
            labels = as_labels(self.decisions_)
            if self.stages[-1][0] in labels:
                raise ValueError(
                    f"{self.stages[-1][0]!r} is the last stage and a decision of the costs: give "
                    "the stage another name."
                )
            self.decisions_ = label_array((*labels, self.stages[-1][0]))

    def _check_stages(self) -> tuple[list, np.ndarray, float | None]:
        """Return the models, what asking each costs, and what people cost or None."""
        stages = list(self.stages)
        last = None
        if stages and len(stages[-1]) == 2 and isinstance(stages[-1][1], Real):
            last = float(stages.pop()[1])
        names = [stage[0] for stage in self.stages]
        if not stages or any(len(stage) != 3 for stage in stages):
            raise ValueError(
                'stages must be (name, model, price), such as ("rules", model, 0.0); only the last '
                'may be (name, price), such as ("human", 5.0).'
            )
        if len(stages) > MOST_MODELS:
            raise ValueError(
                f"A cascade has at most {MOST_MODELS} models, but there are {len(stages)}."
            )
        if len(set(names)) < len(names):
            raise ValueError(f"The names of stages must differ, but they are {quoted(names)}.")
        prices = np.array([float(price) for _, _, price in stages])
        if not np.isfinite(prices).all() or (prices < 0).any():
            raise ValueError(f"Prices of asking must be numbers from 0 on, but are {prices}.")
        return [model for _, model, _ in stages], prices, last

    # -- deciding ------------------------------------------------------------------------------

    def _calibrated(self, m: int, proba: np.ndarray) -> np.ndarray:
        calibrator = self.calibrators_[m]
        return proba if calibrator is None else calibrator.transform(proba)

    def _expect(self, proba: np.ndarray, tensor: np.ndarray | None) -> np.ndarray:
        """Return what each decision is expected to cost, (n, A)."""
        return expected_rows(proba, self.cost_matrix_ if tensor is None else tensor)

    def _run(
        self, ask: Any, n: int, tensor: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return for each case the stage that decided, its decision, and what asking cost.

        `ask` returns the probabilities of a model for some rows: those that reach it.
        """
        stage_of, decided, asking = np.empty(n, dtype=int), np.empty(n, dtype=int), np.zeros(n)
        left = np.arange(n)
        models, weights, stages, _ = self.route_
        asked: list[np.ndarray] = []
        for i, m in enumerate(models):
            if len(left) == 0:
                return stage_of, decided, asking
            asked.append(self._calibrated(m, ask(m, left)))
            proba = pooled(asked, weights[i])
            expected = self._expect(proba, None if tensor is None else tensor[left])
            stage_of[left], decided[left] = m, expected.argmin(axis=1)
            asking[left] += self.prices_[m]
            if i == len(stages):
                return stage_of, decided, asking
            passed = savings(stages[i], proba, expected) > stages[i].threshold
            left, asked = left[passed], [p[passed] for p in asked]
        stage_of[left], decided[left] = len(self.calibrators_), self.cost_matrix_.shape[1]
        return stage_of, decided, asking

    def _run_on(
        self, X: Any, tensor: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        check_is_fitted(self, "estimators_")
        X = self._check_X(X, reset=False)

        def ask(m: int, rows: np.ndarray) -> np.ndarray:
            return class_probabilities(self.estimators_[m], safe_indexing(X, rows), self.classes_)

        return self._run(ask, num_samples(X), tensor)

    def _run_on_proba(self, probas: list) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        check_is_fitted(self, "route_")
        tables = [check_proba(proba, n_classes=len(self.classes_)) for proba in probas]
        return self._run(lambda m, rows: tables[m][rows], len(tables[0]))

    def _decide(self, X: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        return self._run_on(X, cost_tensor)[1]

    def predict_from_proba(self, probas: list) -> np.ndarray:
        """Return the decisions from stored probabilities, one table for each model."""
        return self.decisions_[self._run_on_proba(probas)[1]]

    def asked(self, X: Any, *, cost_tensor: Any = None) -> np.ndarray:
        """Return the position in `stages` of the one that decided each case."""
        check_is_fitted(self, "estimators_")
        return self._run_on(X, self._check_cost_tensor(cost_tensor, X))[0]

    def costs_paid(self, X: Any, y: Any = None, **given: Any) -> np.ndarray:
        """Return what each case cost in all, mistakes and asking, (n,).

        Parameters
        ----------
        X, y
            As in `score`.
        **given : array-like
            `cost_matrix`, `costs` or `cost_tensor`, as in `score`.
        """
        check_is_fitted(self, "estimators_")
        none = dict.fromkeys(("cost_matrix", "costs", "cost_tensor", "sample_weight"))
        return self._paid_for(X, y, **(none | given))[0]

    def costs_paid_from_proba(self, probas: list, y: Any) -> np.ndarray:
        """Return what each case cost in all at the class costs, from stored probabilities."""
        codes = encode_labels(one_column(y), self.classes_)[1]
        return self._paid_in_all(Costs(codes, self.cost_matrix_), *self._run_on_proba(probas))

    def _paid_on(self, X: Any, costs: Costs, cost_tensor: np.ndarray | None) -> np.ndarray:
        return self._paid_in_all(costs, *self._run_on(X, self._check_cost_tensor(cost_tensor, X)))

    def _paid_in_all(
        self, costs: Costs, stage_of: np.ndarray, decided: np.ndarray, asking: np.ndarray
    ) -> np.ndarray:
        """Return what decisions and asking cost, (n,)."""
        left = stage_of == len(self.calibrators_)
        paid = costs.of(np.where(left, 0, decided))
        return np.where(left, self.last_price_ or 0.0, paid) + asking
