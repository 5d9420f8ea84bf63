"""What the reductions share: fitting members on weighted samples, and joining them."""

from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import check_is_fitted

from stakes._base import COST_MATRIX_CONSTRAINT, CostSensitiveMixin
from stakes.reductions._members import MAX_SEED, ConstantMember, draw_seeds, make_learner
from stakes.utils._sklearn import HasMethods, Interval, StrOptions, fit_context, validate_data


class BaseReduction(CostSensitiveMixin, BaseEstimator):
    """Base of classifiers that learn costs by handing weighted samples to a classifier."""

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "cost_matrix": COST_MATRIX_CONSTRAINT,
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def _estimator(self) -> Any:
        """Return the classifier in use: the one given, or the default tree."""
        return self.estimator if self.estimator is not None else self._default_estimator()

    # The fewest rows in a leaf of the default tree; measured, see the classes' docstrings.
    _default_leaf = 5

    def _default_estimator(self) -> Any:
        from stakes.tree import CostTreeClassifier

        return CostTreeClassifier(criterion="variance", min_samples_leaf=self._default_leaf)

    def _begin(self, X, y, sample_weight, costs, cost_tensor) -> tuple:
        """Validate; return X, the training costs and the sample weights or None."""
        X = self._table(X)
        return self._validate_training(
            X,
            y,
            sample_weight=sample_weight,
            costs=costs,
            cost_tensor=cost_tensor,
            check_X=False,
        )

    def _learner(self, X, n_classes: int, sample_weight=None) -> Any:
        return make_learner(self._estimator(), X, n_classes, sample_weight)

    def _check_sampling(self, learner, sampling: str) -> None:
        if sampling == "weights" and not learner.takes_weights:
            raise ValueError(
                f"{type(learner.estimator).__name__} does not take sample_weight in fit: "
                "use sampling='rejection'."
            )

    def _check_voting(self, learner) -> None:
        if self.voting == "soft" and not learner.gives_proba:
            raise ValueError(
                f"{type(learner.estimator).__name__} has no predict_proba: use voting='hard'."
            )

    def _table(self, X) -> Any:
        """Return X as rows that can be chosen: a DataFrame untouched, else an array."""
        if hasattr(X, "iloc"):
            return X
        return check_array(
            X,
            accept_sparse=["csr"],
            dtype=None,
            ensure_all_finite=False,
            estimator=self,
            input_name="X",
        )

    def _prepared(self, X) -> tuple:
        """Return new examples in the form in which members take them, and their number."""
        check_is_fitted(self)
        X = self._table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return self._learner_.prepare(X), X.shape[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self._estimator()).input_tags
        tags.input_tags.sparse = inner.sparse
        tags.input_tags.allow_nan = inner.allow_nan
        tags.input_tags.categorical = inner.categorical
        tags.input_tags.string = inner.string
        return tags


def fit_member(learner, X, plan, seed: int) -> tuple:
    """Draw one member's sample and fit it; return the member and the sample's size."""
    rng = np.random.RandomState(seed)
    rows, labels, weight = plan.draw(rng)
    if len(labels) == 0:
        return ConstantMember(plan.fallback), 0
    return learner.fit(X, rows, labels, weight, rng.randint(MAX_SEED)), len(labels)


def fit_members(learner, X, plan, seeds, *, n_jobs=None, verbose=0) -> tuple:
    """Fit one member per seed; return the members and the sizes of their samples."""
    fitted = Parallel(n_jobs=n_jobs, verbose=verbose, prefer=learner.prefer)(
        delayed(fit_member)(learner, X, plan, seed) for seed in seeds
    )
    members, sizes = zip(*fitted)
    return list(members), np.array(sizes)


def member_vote(learner, member, X, voting: str) -> np.ndarray:
    """Return a member's probabilities ("soft") or its labels ("hard")."""
    return learner.proba(member, X) if voting == "soft" else learner.predict(member, X)


def mean_vote(learner, members, X, *, voting: str, n_rows: int, n_jobs=None) -> np.ndarray:
    """Return the average of the members, (n_rows, n_classes), summed in their order."""
    total = np.zeros((n_rows, learner.n_classes))
    everyone = np.arange(n_rows)
    votes = Parallel(n_jobs=n_jobs, return_as="generator", prefer=learner.prefer)(
        delayed(member_vote)(learner, member, X, voting) for member in members
    )
    for vote in votes:
        if voting == "soft":
            total += vote
        else:
            total[everyone, vote] += 1.0
    sums = total.sum(axis=1, keepdims=True)
    return np.divide(total, sums, out=np.full_like(total, 1.0 / total.shape[1]), where=sums > 0)


class VotingReduction(BaseReduction):
    """Base of reductions that fit independent members and average their answers."""

    _parameter_constraints: dict = {
        **BaseReduction._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "sampling": [StrOptions({"rejection", "weights"})],
        "voting": [StrOptions({"soft", "hard"})],
    }

    def __init__(
        self,
        estimator=None,
        *,
        cost_matrix=None,
        n_estimators=30,
        sampling="weights",
        voting="soft",
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.cost_matrix = cost_matrix
        self.n_estimators = n_estimators
        self.sampling = sampling
        self.voting = voting
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        """Fit the members, each on its own sample.

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
        X, training, sample_weight = self._begin(X, y, sample_weight, costs, cost_tensor)
        learner = self._learner(X, len(self.classes_), sample_weight)
        self._check_sampling(learner, self.sampling)
        self._check_voting(learner)
        self.estimators_, self.n_samples_used_ = self._fit_members(
            learner, learner.prepare(X), training, sample_weight
        )
        constant = [isinstance(member, ConstantMember) for member in self.estimators_]
        self.n_empty_samples_ = int(np.sum(self.n_samples_used_ == 0))
        self.n_one_label_samples_ = int(np.sum(constant)) - self.n_empty_samples_
        self._learner_ = learner
        return self

    def _fit_members(self, learner, X, training, sample_weight) -> tuple:
        return fit_members(
            learner,
            X,
            self._plan(training, sample_weight),
            draw_seeds(self.random_state, self.n_estimators),
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def _plan(self, training, sample_weight):
        raise NotImplementedError

    def predict_proba(self, X):
        """Return the members' average vote for each decision.

        It says how the ensemble leans between *decisions*; it estimates no probability of
        a class, because the members saw samples that the costs have bent.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        votes : ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        prepared, n_rows = self._prepared(X)
        return mean_vote(
            self._learner_,
            self.estimators_,
            prepared,
            voting=self.voting,
            n_rows=n_rows,
            n_jobs=self.n_jobs,
        )

    def predict(self, X):
        """Return the decision that most votes fall on.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
            Class labels.
        """
        decisions = self.predict_proba(X).argmax(axis=1)
        return self.classes_[decisions]
