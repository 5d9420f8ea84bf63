"""Escalation: decide now, or pay for a better answer first."""

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from stakes._learning.folds import as_splitter, split_folds
from stakes.costs import check_cost_matrix
from stakes.decision._calibration import ProbabilityCalibrator
from stakes.decision._crossfit import class_probabilities, cross_fit
from stakes.decision._expected import check_proba
from stakes.utils._arrays import quoted
from stakes.utils._frames import as_frame, one_column
from stakes.utils._labels import encode_labels
from stakes.utils._sklearn import num_samples, safe_indexing

# How strongly the regression of what comes next is drawn to its mean, in rows.
RIDGE = 10.0
# A threshold other than 0 must be better by this many standard errors.
SURE = 1.0


class Stage(NamedTuple):
    """When one stage of a cascade passes a case on.

    Attributes
    ----------
    centre, scale, slopes : ndarray of shape (n_features,)
    mean : float
        What the rest of the cascade is expected to cost, prices of asking included, as a line in
        what the stage's probabilities say.
    threshold : float
        The expected saving from which on a case is passed on.
    """

    centre: np.ndarray
    scale: np.ndarray
    slopes: np.ndarray
    mean: float
    threshold: float


def doubts(expected: np.ndarray) -> np.ndarray:
    """Return what a stage's expected costs say of what a better answer would bring, (n, 2 A + 1).

    The least and its square root, how far the others are above it, and each decision's own cost.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.decision._cascade import doubts
    >>> doubts(np.array([[4.0, 5.0]]))
    array([[4., 2., 1., 4., 5.]])
    """
    ordered = np.sort(expected, axis=1)
    least = ordered[:, :1]
    root = np.sqrt(np.maximum(least - min(0.0, float(least.min())), 0.0))
    return np.hstack([least, root, ordered[:, 1:] - least, expected])


def learn_stage(expected: np.ndarray, stops: np.ndarray, goes_on: np.ndarray) -> Stage:
    """Learn from held-out rows when a stage should pass a case on.

    Parameters
    ----------
    expected : ndarray of shape (n_samples, n_decisions)
        What the stage expects each decision to cost.
    stops : ndarray of shape (n_samples,)
        What its own decision did cost.
    goes_on : ndarray of shape (n_samples,)
        What passing it on did cost in all, asking included.

    Examples
    --------
    A stage that is sure or not; where it is not, going on costs 1 instead of 5 on average:

    >>> import numpy as np
    >>> from stakes.decision._cascade import learn_stage, savings
    >>> expected = np.array([[0.1, 9.9], [5.0, 5.0]] * 50)
    >>> stops = np.array([0.0, 10.0, 0.0, 0.0] * 25)
    >>> stage = learn_stage(expected, stops, np.ones(100))
    >>> (savings(stage, expected[:2]) > stage.threshold).tolist()
    [False, True]
    """
    features = doubts(expected)
    centre, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale == 0.0] = 1.0
    z = (features - centre) / scale
    mean = float(goes_on.mean())
    gram = z.T @ z + RIDGE * np.eye(z.shape[1])
    slopes = np.linalg.solve(gram, z.T @ (goes_on - mean))
    stage = Stage(centre, scale, slopes, mean, 0.0)
    return stage._replace(threshold=best_threshold(savings(stage, expected), stops - goes_on))


def savings(stage: Stage, expected: np.ndarray) -> np.ndarray:
    """Return what passing each case on is expected to save, (n,)."""
    line = (doubts(expected) - stage.centre) / stage.scale @ stage.slopes
    return expected.min(axis=1) - (stage.mean + line)


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


def learn_stages(
    probas: list[np.ndarray], y: np.ndarray, C: np.ndarray, prices: np.ndarray, last: float | None
) -> list[Stage]:
    """Learn all stages of a cascade, from the last to the first.

    Parameters
    ----------
    probas : list of ndarray of shape (n_samples, n_classes)
        Held-out, calibrated probabilities of each model.
    y : ndarray of shape (n_samples,)
        The truth, as positions.
    C : ndarray of shape (n_classes, n_decisions)
        What decisions cost.
    prices : ndarray of shape (n_models,)
        What asking each model costs.
    last : float or None
        What leaving a case to people costs, after the last model; None where nobody is there.
    """
    stages: list[Stage] = []
    onwards = None if last is None else np.full(len(y), float(last))
    for proba, price in zip(reversed(probas), reversed(prices)):
        expected = proba @ C
        stops = C[y, expected.argmin(axis=1)]
        paid = stops
        if onwards is not None:
            stage = learn_stage(expected, stops, onwards)
            stages.insert(0, stage)
            paid = np.where(savings(stage, expected) > stage.threshold, onwards, stops)
        onwards = paid + price
    return stages


class CascadeClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Decide with a cheap model, and pay for a better one where it is expected to save its price.

    The first stage is asked about every case. Each stage decides, or passes the case on where what
    it expects its own decision to cost exceeds, by more than what was learned on held-out rows, what
    the rest of the cascade will cost, prices of asking included. The usual way, a confidence of
    0.7 set by hand, knows neither prices.

    Parameters
    ----------
    stages : list of tuple
        ``(name, model, price)`` in the order in which they are asked; the price of asking the
        first is paid for every case. The last may be ``(name, price)``: whoever decides whatever is
        left, at that price in all; its name is then a decision.
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``; None for 0/1.
    calibration : str or None, default="temperature"
        Of each model's probabilities, by `ProbabilityCalibrator`; None takes them at their word.
    cv : int, splitter or iterable, default=5
        How held-out probabilities are had. A model within a `FrozenEstimator` is not fitted again;
        the rows must then be new to it.
    n_jobs : int, default=None
        Folds fitted at a time.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The costs in force.
    estimators_, calibrators_ : list
        The models, fitted on all rows, and their calibrations.
    stages_ : list of Stage
        When each passes a case on.

    Notes
    -----
    With :math:`e_s(x)` the least expected cost of stage s and :math:`V_{s+1}` what the rest of the cascade
    cost on held-out rows, a case is passed on where

    .. math:: e_s(x) - \big(\pi_{s+1} + \mathrm{E}[V_{s+1} \mid p_s(x)]\big) > \theta_s,

    :math:`\pi` being prices and the expectation a ridge regression on what the stage expects. Stages are
    learned from the last to the first (backward induction). :math:`\theta_s` is 0 unless another
    threshold is better on held-out rows by more than a standard error.

    It serves class costs alone.

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

    def __init__(
        self, stages, *, cost_matrix=None, calibration="temperature", cv=5, n_jobs=None
    ):
        self.stages = stages
        self.cost_matrix = cost_matrix
        self.calibration = calibration
        self.cv = cv
        self.n_jobs = n_jobs

    # -- fit -----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the models; learn from held-out rows when each passes a case on.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Examples, in a form that every model takes.
        y : array-like of shape (n_samples,)
            Their true classes.
        """
        models, X = self._check_stages()[0], as_frame(X)
        labels, codes = encode_labels(one_column(y, warn=True))
        classes = np.asarray(labels)
        folds = split_folds(as_splitter(self.cv, codes), X, codes)
        probas = []
        for model in models:
            given = model, X, classes[codes], classes, folds
            proba, tested = cross_fit(*given, n_jobs=self.n_jobs)
            if not tested.all():
                raise ValueError("cv leaves rows untested: every row must be held out once.")
            probas.append(proba)
        self.fit_proba(probas, y)
        self.estimators_ = [clone(model).fit(X, classes[codes]) for model in models]
        return self

    def fit_proba(self, probas: list, y: Any) -> Self:
        """Learn from stored probabilities of models from anywhere, held out; nothing is fitted.

        Parameters
        ----------
        probas : list of array-like of shape (n_samples, n_classes)
            One for each stage that has a model, which may be None then.
        y : array-like of shape (n_samples,)
            The true classes, whose sorted order is that of the columns.
        """
        models, prices, last = self._check_stages()
        if len(probas) != len(models):
            raise ValueError(f"There are {len(models)} models, but {len(probas)} probabilities.")
        labels, codes = encode_labels(one_column(y, warn=True))
        self.classes_ = np.asarray(labels)
        self.cost_matrix_ = check_cost_matrix(self.cost_matrix, classes=self.classes_, y=y)
        held_out = [check_proba(proba, n_classes=len(labels)) for proba in probas]
        self.calibrators_: list = []
        for i, proba in enumerate(held_out):
            calibrator = None
            if self.calibration is not None:
                calibrator = ProbabilityCalibrator(self.calibration).fit(proba, codes)
                held_out[i] = calibrator.transform(proba)
            self.calibrators_.append(calibrator)
        self.prices_, self.last_price_ = prices, last
        self.stages_ = learn_stages(held_out, codes, self.cost_matrix_, prices, last)
        return self

    def _check_stages(self) -> tuple[list, np.ndarray, float | None]:
        """Return the models, what asking each costs, and what people cost or None."""
        stages = list(self.stages)
        last = None
        if stages and len(stages[-1]) == 2:
            last = float(stages.pop()[1])
        names = [stage[0] for stage in self.stages]
        if not stages or any(len(stage) != 3 for stage in stages):
            raise ValueError(
                'stages must be (name, model, price), such as ("rules", model, 0.0); only the last '
                'may be (name, price), such as ("human", 5.0).'
            )
        if len(set(names)) < len(names):
            raise ValueError(f"The names of stages must differ, but they are {quoted(names)}.")
        prices = np.array([float(price) for _, _, price in stages])
        if not np.isfinite(prices).all() or (prices < 0).any():
            raise ValueError(f"Prices of asking must be numbers from 0 on, but are {prices}.")
        return [model for _, model, _ in stages], prices, last

    # -- deciding ------------------------------------------------------------------------------

    def _run(self, ask: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the stage that decided each case and its decision, as positions.

        `ask` returns the probabilities of a stage for some rows; only those that reach it.
        """
        check_is_fitted(self)
        stage_of, decided = np.zeros(n, dtype=np.intp), np.zeros(n, dtype=np.intp)
        left = np.arange(n)
        for s, calibrator in enumerate(self.calibrators_):
            proba = ask(s, left)
            if calibrator is not None:
                proba = calibrator.transform(proba)
            expected = proba @ self.cost_matrix_
            stage_of[left], decided[left] = s, expected.argmin(axis=1)
            if s >= len(self.stages_):
                return stage_of, decided
            stage = self.stages_[s]
            left = left[savings(stage, expected) > stage.threshold]
            if len(left) == 0:
                return stage_of, decided
        stage_of[left], decided[left] = len(self.calibrators_), self.cost_matrix_.shape[1]
        return stage_of, decided

    def _decided(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        X = as_frame(X)

        def ask(s: int, rows: np.ndarray) -> np.ndarray:
            return class_probabilities(self.estimators_[s], safe_indexing(X, rows), self.classes_)

        return self._run(ask, num_samples(X))

    def _decided_by(self, probas: list) -> tuple[np.ndarray, np.ndarray]:
        tables = [check_proba(proba, n_classes=len(self.classes_)) for proba in probas]
        return self._run(lambda s, rows: tables[s][rows], len(tables[0]))

    def _labels(self, decided: np.ndarray) -> np.ndarray:
        if self.last_price_ is None:
            return self.classes_[decided]
        name = self.stages[-1][0]
        return np.append(self.classes_.astype(object), name)[decided]

    def predict(self, X: Any) -> np.ndarray:
        """Return the decisions; the name of the last stage for what is left to it."""
        return self._labels(self._decided(X)[1])

    def predict_from_proba(self, probas: list) -> np.ndarray:
        """Return the decisions from stored probabilities, one table for each model."""
        return self._labels(self._decided_by(probas)[1])

    def asked(self, X: Any) -> np.ndarray:
        """Return the position of the stage that decided each case: those before it were asked, too."""
        return self._decided(X)[0]

    def costs_paid(self, X: Any, y: Any) -> np.ndarray:
        """Return what each case cost in all, mistakes and asking, (n,)."""
        return self._paid(y, *self._decided(X))

    def costs_paid_from_proba(self, probas: list, y: Any) -> np.ndarray:
        """Return what each case cost in all, from stored probabilities."""
        return self._paid(y, *self._decided_by(probas))

    def _paid(self, y: Any, stage_of: np.ndarray, decided: np.ndarray) -> np.ndarray:
        codes = encode_labels(one_column(y), self.classes_)[1]
        table = self.cost_matrix_
        if self.last_price_ is not None:
            table = np.column_stack([table, np.full(len(table), self.last_price_)])
        asking = np.append(np.cumsum(self.prices_), self.prices_.sum())
        return table[codes, decided] + asking[stage_of]

    def score(self, X: Any, y: Any) -> float:
        """Return minus the average cost per case, mistakes and asking: higher is better."""
        return -float(self.costs_paid(X, y).mean())
