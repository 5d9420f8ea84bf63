"""Fitting the members of an ensemble to changing weights, and counting their votes."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import has_fit_parameter

from stakes._learning.draws import seeded_clone
from stakes._learning.votes import weighted_problem
from stakes.bagging._l1_svm import L1LinearSVC
from stakes.bagging._problems import decide
from stakes.costs import Costs
from stakes.utils._sklearn import safe_indexing

# Decision values computed at a time: 32 MB of them.
_BLOCK = 4_000_000
# What a member that is not fitted by its own `fit` has in common with the ensemble.
_COMMON = (
    *("classes_", "cost_matrix_", "cost_kind_", "_scored_by"),
    *("n_features_in_", "feature_names_in_"),
)


class LinearMembers:
    """Members that are `L1LinearSVC`: one set of linear programmes, solved anew per member.

    Parameters
    ----------
    ensemble : estimator instance
        What the members vote in; its `classes_` and the like are set.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        All training examples, validated.
    costs : Costs
        The costs in force.
    reference : ndarray of shape (n_samples,) or None
        The weights whose solution every solve starts from; if None, a solve starts where
        the last one ended, which is quicker where the weights change little by little.
    """

    def __init__(self, ensemble: Any, X: Any, costs: Costs, reference: np.ndarray | None):
        template = ensemble.estimator_
        # What the members have in common; to clone and validate each takes far longer.
        self.shared = vars(clone(template)) | {
            name: getattr(ensemble, name) for name in _COMMON if hasattr(ensemble, name)
        }
        self.problems = template._problems(X, costs)
        if reference is not None:
            self.problems.set_reference(reference)

    def fit(self, weight: np.ndarray, random_state: np.random.RandomState) -> L1LinearSVC:
        """Return the member for these weights of all training examples."""
        member = L1LinearSVC.__new__(L1LinearSVC)
        member.__dict__.update(self.shared)
        member._keep(self.problems.solve(weight))
        return member


class AnyMembers:
    """Members of any kind that take `sample_weight`, each fitted to its own examples.

    A learner whose `fit` takes `costs` is given the cost rows. Any other is given the best
    decision as the class, and a weight that says how much more the others cost.

    Parameters
    ----------
    ensemble : estimator instance
        What the members vote in.
    X : array-like of shape (n_samples, n_features)
        All training examples.
    costs : Costs
        The costs in force.
    reference : ndarray of shape (n_samples,)
        The weights of the examples before any adaptation.
    """

    def __init__(self, ensemble: Any, X: Any, costs: Costs, reference: np.ndarray):
        self.template, self.classes = ensemble.estimator_, ensemble.classes_
        self.X, self.costs = X, costs
        plain = costs.by_class and np.array_equal(costs.table, 1.0 - np.eye(costs.n_classes))
        self.passes_costs = not plain and has_fit_parameter(self.template, "costs")
        self.codes, self.worth = costs.y, None
        if not plain and not self.passes_costs:
            self.codes, worth = weighted_problem(costs)
            total = reference @ worth
            self.worth = worth * (reference.sum() / total) if total else worth

    def fit(self, weight: np.ndarray, random_state: np.random.RandomState) -> Any:
        """Return the member for these weights; examples of weight 0 are left out."""
        if self.worth is not None:
            weight = weight * self.worth
        rows = np.flatnonzero(weight)
        if not len(rows):  # every decision costs the same in this bag
            rows, weight = np.arange(len(weight)), np.ones(len(weight))
        codes = self.codes[rows]
        present = np.unique(codes)
        arguments: dict[str, Any] = {"sample_weight": weight[rows]}
        choice = len(present) > 1
        if choice and self.passes_costs:
            arguments["costs"] = costs = self.costs.rows(rows)[:, present]
            choice = (costs != costs[:, :1]).any()
        if choice:
            member = seeded_clone(self.template, random_state)
        else:  # one class, or nothing to choose by
            member = DummyClassifier(strategy="most_frequent")
            arguments.pop("costs", None)
        return member.fit(safe_indexing(self.X, rows), self.classes[codes], **arguments)


def is_linear(estimator: Any) -> bool:
    """Say whether members are fitted by re-solving linear programmes."""
    return type(estimator) is L1LinearSVC


def member_codes(member: Any, X: Any, classes: np.ndarray) -> np.ndarray:
    """Return the decisions of one member, as positions in `classes`; X is validated."""
    if is_linear(member):
        values = X @ member.coef_.T + member.intercept_
        return decide(values, len(classes), member.multi_class)
    return np.searchsorted(classes, member.predict(X))


def codes_at(member: Any, X: Any, rows: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the decisions of one member on some rows of X."""
    if is_linear(member):  # a product over all rows costs less than picking some
        return member_codes(member, X, classes)[rows]
    if not len(rows):
        return np.empty(0, dtype=np.intp)
    return member_codes(member, safe_indexing(X, rows), classes)


def all_codes(members: list, X: Any, classes: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the decisions of each member in turn; linear ones are computed together."""
    if not is_linear(members[0]):
        for member in members:
            yield member_codes(member, X, classes)
        return
    n_problems = len(members[0].coef_)
    step = max(1, _BLOCK // max(1, X.shape[0] * n_problems))
    for start in range(0, len(members), step):
        some = members[start : start + step]
        coef = np.concatenate([member.coef_ for member in some])
        values = X @ coef.T + np.concatenate([member.intercept_ for member in some])
        for first in range(0, len(coef), n_problems):
            yield decide(
                values[:, first : first + n_problems], len(classes), members[0].multi_class
            )
