"""A policy that is held to what was done often enough."""

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from stakes._base import ExpectedCostMixin
from stakes._learning.draws import seeded_clone
from stakes.logged._logs import LoggedCosts
from stakes.logged._nuisance import default_classifier, fit_propensities, propensities_of
from stakes.tables import TablePreparation
from stakes.utils._labels import encode_labels, label_array
from stakes.utils._sklearn import Interval, fit_context


class SupportedPolicy(MetaEstimatorMixin, BaseEstimator):
    """Decide as a method does, but never what was hardly ever done in such a case.

    What was never done for some rows cannot be priced there, so a method that decides it goes by
    guesses. Here a classifier learns what was done; a decision whose probability is less than `support`
    for a row is not taken there. In its place comes the one that the method expects to cost least
    of the others or, where the method states no expected costs, what was mostly done.

    Parameters
    ----------
    estimator : classifier
        Any method for costs known in hindsight.
    support : float, default=0.01
        The least probability with which a decision must have been taken.
    propensities : classifier, default=None
        Learns what was done; None for a logistic regression.
    random_state : int, RandomState instance or None, default=None
        Of that classifier.

    Attributes
    ----------
    estimator_ : classifier
        The method, fitted.
    classifier_ : classifier
        Of what was done.
    decisions_ : ndarray of shape (n_decisions,)
        What may be decided, in the order of the log.

    Notes
    -----
    Where decisions were drawn at random everywhere nothing is held back. It is *not* a guarantee
    about cases unlike all of the log: the classifier then guesses, too.

    Examples
    --------
    The second kind of customers was never called, so nobody knows what a call costs there:

    >>> from stakes.logged import SupportedPolicy, costs_from_logs
    >>> from stakes.tree import CostTreeClassifier
    >>> X = [[0]] * 100 + [[1]] * 100
    >>> done = ["call", "wait"] * 50 + ["wait"] * 100
    >>> paid = [1, 3] * 50 + [2] * 100
    >>> log = costs_from_logs(X, done, paid, support=0.05, random_state=0)
    >>> policy = SupportedPolicy(CostTreeClassifier(), support=0.05).fit(X, costs=log)
    >>> policy.predict([[0], [1]]).tolist(), policy.supported([[1]]).tolist()
    (['call', 'wait'], [[False, True]])
    """

    _parameter_constraints: ClassVar[dict] = {
        "support": [Interval(Real, 0.0, 0.5, closed="both")],
    }

    def __init__(self, estimator, *, support=0.01, propensities=None, random_state=None):
        self.estimator = estimator
        self.support = support
        self.propensities = propensities
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, *, costs: Any) -> Self:
        """Learn the method from a log, and what was done.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            As `costs_from_logs` was given it.
        y : array-like, default=None
            Not used.
        costs : LoggedCosts
            From `costs_from_logs`.
        """
        if not isinstance(costs, LoggedCosts):
            raise ValueError(
                "costs must be what costs_from_logs returned for these very rows: a part of it, or "
                "another table, does not say what was done."
            )
        self.preparation_ = TablePreparation().fit(X)
        table = np.asarray(self.preparation_.transform(X), dtype=np.float64)
        classifier = default_classifier() if self.propensities is None else self.propensities
        self.classifier_ = fit_propensities(
            seeded_clone(classifier, self.random_state), table, costs.decided
        )
        self.estimator_ = clone(self.estimator).fit(X, costs=costs)
        self.decisions_ = label_array(costs.decisions)
        return self

    def _shares(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "classifier_")
        table = np.asarray(self.preparation_.transform(X), dtype=np.float64)
        return propensities_of(self.classifier_, table, len(self.decisions_))

    def supported(self, X: Any) -> np.ndarray:
        """Return which decisions were taken often enough in such cases, (n, n_decisions)."""
        return self._shares(X) >= self.support

    def predict(self, X: Any) -> np.ndarray:
        """Return the decision for each example, never one that was hardly ever taken there.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Examples.
        """
        shares = self._shares(X)
        seen = shares >= self.support
        # A method puts out the decisions of a table of costs in the order of its columns.
        if isinstance(self.estimator_, ExpectedCostMixin):
            expected = np.where(seen, self.estimator_.expected_costs(X), np.inf)
            return self.decisions_[expected.argmin(axis=1)]
        wanted = encode_labels(self.estimator_.predict(X), self.decisions_)[1]
        held = seen[np.arange(len(wanted)), wanted]
        return self.decisions_[np.where(held, wanted, shares.argmax(axis=1))]
