"""The boosting loop, written once: rounds, stopping, bookkeeping, votes.

A method is a subclass that says what state is kept between rounds (`_start`): the costs that
the next weak learner minimises, and what a member's vote is worth.
"""

import warnings
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from stakes._base import COST_MATRIX_CONSTRAINT, CostSensitiveMixin
from stakes.boosting._equations import SMALLEST_EDGE, loss_factor, vote_shares
from stakes.boosting._watch import Watch, stratified_folds, stratified_holdout
from stakes.boosting._weak import ConstantDecision, make_weak_learner
from stakes.costs import Costs
from stakes.tree.engine import check_features, is_cost_tree
from stakes.utils._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    fit_context,
    safe_indexing,
    validate_data,
)


@dataclass
class Rounds:
    """What the loop has learned."""

    members: list = field(default_factory=list)
    weights: list = field(default_factory=list)
    edges: list = field(default_factory=list)
    losses: list = field(default_factory=list)
    initial_loss: float = 0.0

    def append(self, member, step) -> None:
        """Remember a round."""
        self.members.append(member)
        self.weights.append(step.weight)
        self.edges.append(step.edge)
        self.losses.append(step.loss)

    def keep(self, n_rounds: int) -> None:
        """Forget the rounds after the first `n_rounds`."""
        for name in ("members", "weights", "edges", "losses"):
            del getattr(self, name)[n_rounds:]


@dataclass
class Sample:
    """What a run of the loop learns from."""

    learner: Any  # see _weak.py
    X: Any  # as given
    data: Any  # as the learner takes it
    training: Costs
    weight: np.ndarray  # all positive

    def take(self, rows) -> "Sample":
        """Return some of the rows."""
        if len(rows) == len(self.weight):
            return self
        return Sample(
            self.learner,
            safe_indexing(self.X, rows),
            self.learner.take(self.data, rows),
            self.training.take(rows),
            self.weight[rows],
        )


class BaseCostBoosting(CostSensitiveMixin, BaseEstimator):
    """The loop of all boosting methods here; not to be used on its own."""

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "cost_matrix": COST_MATRIX_CONSTRAINT,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "early_stopping": [StrOptions({"cost", "confusion_norm"}), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "calibrated": ["boolean", StrOptions({"sigmoid", "isotonic"})],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        cost_matrix=None,
        n_estimators=200,
        learning_rate=1.0,
        early_stopping=None,
        validation_fraction=0.1,
        n_iter_no_change=20,
        calibrated=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.cost_matrix = cost_matrix
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.calibrated = calibrated
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- what a method says ------------------------------------------------------------------

    def _start(self, sample, rng):
        """Return the state before the first round.

        Parameters
        ----------
        sample : Sample
            What is learned from.
        rng : RandomState
            For methods that draw.

        Returns
        -------
        state : object
            Has `costs` (n, K), `target` (n,), `initial_loss`, and
            ``advance(leaf, decisions) -> Step``.
        """
        raise NotImplementedError

    def _sample(self, learner, data, state, rng):
        """Return what the weak learner is fitted on: (data, costs, target).

        The first rows must be those of `data`, in their order; a method may add some.
        """
        return data, state.costs, state.target

    def _error_bound(self, initial_loss, total_weight) -> float | None:
        """Return the bound on the training error before the first round, if there is one."""
        return None

    def _default_tree(self, n_samples) -> dict:
        """Return the options of the tree that serves where `estimator` is None."""
        return {"max_depth": 3}

    # -- fitting -----------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        """Fit the ensemble.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training examples. With cost trees a DataFrame may hold categories and missing
            values; any other estimator is handed X as it is.
        y : array-like of shape (n_samples,)
            Their true classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each example counts.
        costs : array-like of shape (n_samples, n_classes), default=None
            What each decision costs for each example, in place of `cost_matrix`.
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            [example, true, predicted]; `y` picks the row.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        given = {"costs": costs, "cost_tensor": cost_tensor, "sample_weight": sample_weight}
        X, training, weight = self._validate_training(X, y, **given)
        if weight is None:
            weight = np.ones(len(training))
        elif not weight.all():  # a row of weight 0 is as good as absent
            rows = np.flatnonzero(weight)
            X, training, weight = safe_indexing(X, rows), training.take(rows), weight[rows]
        rng = check_random_state(self.random_state)
        learner = make_weak_learner(
            self.estimator,
            self._default_tree(len(training)),
            self.classes_,
            self.n_jobs,
        )
        columns = self._columns if self._grows_trees() else None
        sample = Sample(learner, X, learner.fit_prepare(X, columns), training, weight)
        self._learner = learner

        watch = None
        kept = np.arange(len(training))
        if self.early_stopping is not None:
            kept, held = stratified_holdout(training.y, self.validation_fraction, rng)
            watch = Watch(self.early_stopping, sample.take(held), self.n_iter_no_change)
        rounds = self._boost(sample.take(kept), rng, self.n_estimators, watch)
        self._remember(rounds, weight[kept].sum(), watch)
        if self.calibrated:
            self.calibrator_ = self._cross_fit(sample, rng)
        learner.rest()
        return self

    def _boost(self, sample, rng, n_rounds, watch=None) -> Rounds:
        """Run the rounds."""
        learner, n_rows = sample.learner, len(sample.weight)
        state = self._start(sample, rng)
        rounds = Rounds(initial_loss=state.initial_loss)
        for t in range(n_rounds):
            data, costs, target = self._sample(learner, sample.data, state, rng)
            member, leaf, decisions = learner.fit(data, costs, target, rng)
            step = state.advance(leaf[:n_rows], decisions)
            if not step.edge > SMALLEST_EDGE:
                if t == 0:
                    rounds.append(*self._constant(state))
                break
            rounds.append(member, step)
            if self.verbose and (t + 1) % (10 if self.verbose == 1 else 1) == 0:
                print(
                    f"[{type(self).__name__}] round {t + 1}: edge {step.edge:.4f}, "
                    f"loss {step.loss:.4g}"
                )
            is_over = watch is not None and watch.is_over(member, step.weight)
            if step.is_last or is_over:
                break
        if watch is not None:
            rounds.keep(max(1, watch.best_round))
        return rounds

    def _constant(self, state):
        """Return the best constant decision, in place of a first member that is useless."""
        warnings.warn(
            f"{type(self).__name__}: the first weak learner is no better than guessing, so the "
            "model decides the same for every example.",
            ConvergenceWarning,
            stacklevel=4,
        )
        decision = int(state.costs.sum(axis=0).argmin())
        step = state.advance(np.zeros(len(state.costs), dtype=np.int64), np.array([decision]))
        if step.weight == 0.0 and decision > 0:  # its vote must be heard
            step = step._replace(weight=1.0)
        return ConstantDecision(decision, self.classes_[decision]), step

    def _remember(self, rounds, total_weight, watch) -> None:
        self.estimators_ = rounds.members
        self.estimator_weights_ = np.array(rounds.weights)
        self.edges_ = np.array(rounds.edges)
        self.loss_ = np.array(rounds.losses)
        self.initial_loss_ = rounds.initial_loss
        self.n_iter_ = len(rounds.members)
        bound = self._error_bound(rounds.initial_loss, total_weight)
        if bound is not None:
            factors = loss_factor(self.edges_, self.estimator_weights_)  # eq. (18)
            self.training_error_bound_ = bound * np.cumprod(factors)
        if watch is not None:
            self.validation_scores_ = np.array(watch.values)

    def _cross_fit(self, sample, rng):
        """Learn probabilities from vote shares of examples that the voters have not seen."""
        from stakes.boosting._calibration import fit_calibrator

        y, n_classes = sample.training.y, len(self.classes_)
        folds = stratified_folds(y, 5, rng)
        shares = np.empty((len(y), n_classes))
        for fold in np.unique(folds):
            outside = np.flatnonzero(folds == fold)
            rounds = self._boost(sample.take(np.flatnonzero(folds != fold)), rng, self.n_iter_)
            scores = sample.learner.scores(
                rounds.members, rounds.weights, sample.take(outside).data, n_classes
            )
            shares[outside] = vote_shares(scores)
        method = "sigmoid" if self.calibrated is True else self.calibrated
        return fit_calibrator(shares, y, sample.weight, n_classes, method)

    # -- deciding ----------------------------------------------------------------------------

    def decision_function(self, X):
        """Return the scores f: the weight of the votes each class has won.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            With two classes, the score of the second less that of the first.
        """
        return self._as_decision_function(self._scores(X))

    def predict(self, X):
        """Return the class with the largest score; ties go to the first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
            The decisions.
        """
        scores = self._scores(X)
        return self.classes_[scores.argmax(axis=1)]

    def predict_proba(self, X):
        """Return the share of the votes of each class, or calibrated probabilities.

        Shares of votes rank well but are not probabilities; with ``calibrated`` they are
        mapped to probabilities that were learned on examples the voters had not seen.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        shares = vote_shares(self._scores(X))
        return self.calibrator_.predict_proba(shares) if self.calibrated else shares

    def staged_decision_function(self, X):
        """Yield `decision_function` after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Examples.

        Yields
        ------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            As in `decision_function`.
        """
        for scores in self._staged_scores(X):
            yield self._as_decision_function(scores.copy())

    def staged_predict(self, X):
        """Yield `predict` after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Examples.

        Yields
        ------
        y_pred : ndarray of shape (n_samples,)
            The decisions.
        """
        for scores in self._staged_scores(X):
            yield self.classes_[scores.argmax(axis=1)]

    def staged_predict_proba(self, X):
        """Yield the shares of the votes after each round; they are not calibrated.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Examples.

        Yields
        ------
        proba : ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        for scores in self._staged_scores(X):
            yield vote_shares(scores)

    def _scores(self, X) -> np.ndarray:
        data = self._prepare(X)
        return self._learner.scores(
            self.estimators_, self.estimator_weights_, data, len(self.classes_)
        )

    def _staged_scores(self, X):
        data = self._prepare(X)
        scores = None
        for member, weight in zip(self.estimators_, self.estimator_weights_):
            decided = self._learner.decide(member, data)
            if scores is None:
                scores = np.zeros((len(decided), len(self.classes_)))
            scores[np.arange(len(decided)), decided] += weight
            yield scores

    def _prepare(self, X):
        check_is_fitted(self)
        return self._learner.prepare(self._check_X(X, reset=False))

    def _grows_trees(self) -> bool:
        return self.estimator is None or is_cost_tree(self.estimator)

    def _check_X(self, X, *, reset):
        if self._grows_trees():
            declared = getattr(self.estimator, "categorical_features", "from_dtype")
            return check_features(self, X, reset=reset, categorical_features=declared)
        validate_data(self, X, reset=reset, skip_check_array=True)  # the estimator checks X
        return X

    @property
    def bins_(self):
        """Where the features are cut, where the members are cost trees."""
        return self._learner.grower.bins

    @property
    def feature_importances_(self):
        """The mean of the members' importances of each feature, weighed by their votes."""
        check_is_fitted(self)
        found = [self._learner.importances(member) for member in self.estimators_]
        return np.average(found, axis=0, weights=self.estimator_weights_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if self._grows_trees():
            tags.input_tags.allow_nan = True
            tags.input_tags.categorical = True
        else:
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def _as_decision_function(self, scores):
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores
