"""Fitting the members of an ensemble to changing weights, and counting their votes."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import has_fit_parameter

from stakes.bagging._l1_svm import L1LinearSVC
from stakes.bagging._problems import decide, mean_excess
from stakes.costs import Costs
from stakes.utils._sklearn import safe_indexing

# Decision values computed at a time: 32 MB of them.
_BLOCK = 4_000_000


def cheapest_decisions(training: Costs) -> np.ndarray:
    """Return the best decision for each example; the truth, unless another costs less.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.bagging._members import cheapest_decisions
    >>> from stakes.costs import Costs
    >>> costs = np.array([[0.0, 2.0], [0.0, 2.0], [3.0, 3.0]])
    >>> cheapest_decisions(Costs(np.array([0, 1, 1]), costs=costs))
    array([0, 0, 1])
    """
    table = training.matrix if training.by_class else training.costs
    row_of = training.y if training.by_class else np.arange(len(training))
    best = table.argmin(axis=1)[row_of]
    return np.where(training.of(training.y) <= table[row_of, best], training.y, best)


class LinearMembers:
    """Members that are `L1LinearSVC`: one set of linear programmes, solved anew per member.

    Parameters
    ----------
    estimator : L1LinearSVC
        The template.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        All training examples, validated.
    classes : ndarray of shape (n_classes,)
        The class labels.
    training : Costs
        The costs in force.
    names : ndarray of shape (n_features,) or None
        The names of the features.
    reference : ndarray of shape (n_samples,) or None
        The weights whose solution every solve starts from; if None, a solve starts where
        the last one ended, which is quicker where the weights change little by little.
    """

    def __init__(self, estimator: L1LinearSVC, X, classes, training: Costs, names, reference):
        # What the members have in common; to clone and validate each takes far longer.
        self.shared = vars(clone(estimator)) | {
            "classes_": classes,
            "n_features_in_": X.shape[1],
            "cost_matrix_": training.class_matrix(),
        }
        if names is not None:
            self.shared["feature_names_in_"] = names
        self.problems = estimator._problems(X, training)
        if reference is not None:
            self.problems.set_reference(reference)

    def fit(self, weight: np.ndarray, random_state=None) -> L1LinearSVC:
        """Return the member for these weights of all training examples."""
        member = L1LinearSVC.__new__(L1LinearSVC)
        member.__dict__.update(self.shared)
        member._keep(self.problems.solve(weight))
        return member


class AnyMembers:
    """Members of any kind that take `sample_weight`, each fitted to its own examples.

    A learner whose `fit` takes `costs` is given the cost rows. Any other is given the best
    decision as the class, and a weight that says how much dearer the others are.

    Parameters
    ----------
    estimator : estimator instance
        The template.
    X : array-like of shape (n_samples, n_features)
        All training examples.
    classes : ndarray of shape (n_classes,)
        The class labels.
    training : Costs
        The costs in force.
    reference : ndarray of shape (n_samples,)
        The weights of the examples before any adaptation.
    plain : bool
        Whether the costs are 0/1, so that nothing need be said of them.
    """

    def __init__(self, estimator, X, classes, training: Costs, reference, *, plain: bool):
        self.template = estimator
        self.X, self.classes = X, classes
        self.training = training
        self.passes_costs = not plain and has_fit_parameter(estimator, "costs")
        self.codes, self.worth = training.y, None
        if not plain and not self.passes_costs:
            table = training.matrix if training.by_class else training.costs
            self.codes = cheapest_decisions(training)
            worth = mean_excess(table)[training.y if training.by_class else slice(None)]
            total = reference @ worth
            self.worth = worth * (reference.sum() / total) if total else worth

    def fit(self, weight: np.ndarray, random_state=None):
        """Return the member for these weights; examples of weight 0 are left out."""
        if self.worth is not None:
            weight = weight * self.worth
        rows = np.flatnonzero(weight)
        if not len(rows):  # nothing at stake in this bag
            rows, weight = np.arange(len(weight)), np.ones(len(weight))
        codes = self.codes[rows]
        present = np.unique(codes)
        arguments: dict[str, Any] = {"sample_weight": weight[rows]}
        choice = len(present) > 1
        if choice and self.passes_costs:
            arguments["costs"] = costs = self.training.rows(rows)[:, present]
            choice = (costs != costs[:, :1]).any()
        if choice:
            member = clone(self.template)
            _set_random_states(member, random_state)
        else:  # one class, or nothing to choose by
            member = DummyClassifier(strategy="most_frequent")
            arguments.pop("costs", None)
        return member.fit(safe_indexing(self.X, rows), self.classes[codes], **arguments)


def _set_random_states(estimator, random_state: np.random.RandomState) -> None:
    """Give every `random_state` in the estimator a seed of its own."""
    names = [
        name
        for name in sorted(estimator.get_params(deep=True))
        if name == "random_state" or name.endswith("__random_state")
    ]
    seeds = random_state.randint(np.iinfo(np.int32).max, size=len(names))
    estimator.set_params(**{name: int(seed) for name, seed in zip(names, seeds)})


def is_linear(estimator) -> bool:
    """Say whether members are fitted by re-solving linear programmes."""
    return type(estimator) is L1LinearSVC


def member_codes(member, X, classes: np.ndarray) -> np.ndarray:
    """Return the decisions of one member, as positions in `classes`; X is validated."""
    if is_linear(member):
        values = X @ member.coef_.T + member.intercept_
        return decide(values, len(classes), member.multi_class)
    return np.searchsorted(classes, member.predict(X))


def codes_at(member, X, rows: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the decisions of one member on some rows of X."""
    if is_linear(member):  # a product over all rows costs less than picking some
        return member_codes(member, X, classes)[rows]
    if not len(rows):
        return np.empty(0, dtype=np.intp)
    return member_codes(member, safe_indexing(X, rows), classes)


def all_codes(members: list, X, classes: np.ndarray) -> Iterator[np.ndarray]:
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
