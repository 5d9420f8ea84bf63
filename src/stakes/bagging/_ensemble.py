"""What bacing and Arc-x4 share: members of one vote each."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import has_fit_parameter

from stakes._base import COST_MATRIX_CONSTRAINT, CostSensitiveMixin
from stakes._learning.draws import run_members
from stakes._learning.votes import running_votes
from stakes._learning.voting import VotesMixin
from stakes.bagging._l1_svm import L1LinearSVC
from stakes.bagging._members import AnyMembers, LinearMembers, all_codes, is_linear
from stakes.costs import Costs
from stakes.utils._sklearn import HasMethods, Interval, validate_data


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
        template = L1LinearSVC() if self.estimator is None else self.estimator
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

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        """Return numbers for the linear programmes, else what a member takes; tables as given."""
        if is_linear(self._template() if reset else self.estimator_):
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
