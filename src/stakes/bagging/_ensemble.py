"""What bacing and Arc-x4 share: members of one vote each, fitted to changing weights."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import has_fit_parameter

from stakes._base import COST_MATRIX_CONSTRAINT, CostSensitiveMixin
from stakes._learning.draws import run_members, seeded_clone
from stakes._learning.votes import running_votes, weighted_problem
from stakes._learning.voting import VotesMixin
from stakes.bagging._build import member_tree
from stakes.bagging._l1_svm import L1LinearSVC
from stakes.bagging._lp import WarmLP
from stakes.bagging._problems import LinearProblems, decide
from stakes.costs import Costs
from stakes.utils._sklearn import HasMethods, Interval, safe_indexing, validate_data

# Beyond so many classes the members are trees: a hyperplane for each pair takes hours.
MOST_LINEAR_CLASSES = 50
# Decision values computed at a time: 32 MB of them.
_BLOCK = 4_000_000
# What a member that is not fitted by its own `fit` has in common with the ensemble.
_COMMON = (
    *("classes_", "decisions_", "cost_matrix_", "cost_kind_", "_scored_by"),
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
        self.problems = LinearProblems(template, X, costs)
        if reference is not None:
            self.problems.solve(reference, WarmLP.set_reference)

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
        for part in np.split(values, len(some), axis=1):
            yield decide(part, len(classes), members[0].multi_class)


@dataclass(eq=False, repr=False)
class BaseVoting(VotesMixin, CostSensitiveMixin, BaseEstimator):
    """An ensemble whose members each have one vote; a subclass writes `_fit_members`."""

    # Parameters are fields of a dataclass, which writes the constructor: a subclass adds its own.
    estimator: Any = None
    _: KW_ONLY
    n_estimators: int = 100
    cost_matrix: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    _decides_only_classes = True
    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "cost_matrix": COST_MATRIX_CONSTRAINT,
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def _fit_members(self, X: Any, costs: Costs, weight: np.ndarray) -> None:
        """Set `estimators_`, and what is known of each round."""
        raise NotImplementedError

    def _fit(self, X: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        self.estimator_ = self._template()
        self.estimators_: list[Any] = []
        weight = np.ones(len(costs)) if sample_weight is None else sample_weight
        self._fit_members(X, costs, weight)

    def _template(self) -> Any:
        """Return the learner of the members; refuse one that cannot serve."""
        template = self.estimator
        if template is None:
            many = len(getattr(self, "classes_", ())) > MOST_LINEAR_CLASSES
            template = member_tree() if many else L1LinearSVC()
        name = type(self).__name__
        if not has_fit_parameter(template, "sample_weight"):
            raise ValueError(
                f"{name} weighs examples, but the fit of {type(template).__name__} takes no "
                "sample_weight: use an estimator that does."
            )
        if template.get_params(deep=False).get("cost_matrix") is not None:
            raise ValueError(
                f"Give cost_matrix to {name}, not to its estimator: a bag may lack a class."
            )
        return template

    def _members(
        self, X: Any, costs: Costs, weight: np.ndarray, *, from_reference: bool = True
    ) -> LinearMembers | AnyMembers:
        """Return what fits members to weights."""
        if is_linear(self.estimator_):
            return LinearMembers(self, X, costs, weight if from_reference else None)
        return AnyMembers(self, X, costs, weight)

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        """Return numbers for the linear programmes, else what a member takes; tables as given."""
        if reset:
            self._template()  # refused before X is looked at
        if self.estimator is None or is_linear(self.estimator):
            return validate_data(self, X, reset=reset, **L1LinearSVC._X_checks)
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=None, ensure_all_finite=False
        )

    def _votes(self, X: Any) -> np.ndarray:
        X = self._check_X(X, reset=False)
        members = self.estimators_
        n_jobs = 1 if is_linear(self.estimator_) else effective_n_jobs(self.n_jobs)
        parts = np.array_split(np.arange(len(members)), min(n_jobs, len(members)))
        tasks = [([members[i] for i in part], X, self.classes_) for part in parts]
        return sum(run_members(_tally, tasks, n_jobs=n_jobs, prefer="threads")) / len(members)

    def _staged_votes(self, X: Any) -> Iterator[np.ndarray]:
        X = self._check_X(X, reset=False)
        codes = all_codes(self.estimators_, X, self.classes_)
        for t, votes in enumerate(running_votes(codes, len(self.classes_)), start=1):
            yield votes / t

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        base = get_tags(L1LinearSVC() if self.estimator is None else self.estimator)
        tags.input_tags.sparse = base.input_tags.sparse
        tags.input_tags.allow_nan = base.input_tags.allow_nan
        return tags


def _tally(members: list, X: Any, classes: np.ndarray) -> np.ndarray:
    *_, votes = running_votes(all_codes(members, X, classes), len(classes))
    return votes
