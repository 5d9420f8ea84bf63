"""What the rules share that learn from validation examples: search, costs, shrinking."""

import copy
import numbers
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from stakes._learning.draws import draw_seed
from stakes._learning.folds import as_splitter, split_folds
from stakes.costs import Costs
from stakes.costs.arithmetic import shift_rows
from stakes.decision._descent import by_population, descend
from stakes.decision._families import Family
from stakes.decision._histogram import DEFAULT_BINS, Chunks, fit_in_chunks
from stakes.decision._numbers import Partition, decide_by
from stakes.decision._rule import BaseRule
from stakes.decision._sweep import Examples
from stakes.utils._sklearn import Interval

SHRINK_FOLDS = 5


@dataclass(eq=False, repr=False, kw_only=True)
class LearnedRule(BaseRule):
    """Base of the rules that learn where to decide from validation examples.

    A subclass writes `_search`, which sets `parameters_` and `partition_`, and `_learned`.
    """

    shrink: bool = False
    random_state: Any = None

    _parameter_constraints: ClassVar[dict] = {
        **BaseRule._parameter_constraints,
        "shrink": ["boolean"],
        "random_state": ["random_state"],
    }

    _decides_by = "learned"

    def _search(self, proba, examples: Examples, cost_tensor, rng) -> None:
        raise NotImplementedError

    def _learned(self) -> Partition:
        """Return the numbers of what `_search` has learned."""
        raise NotImplementedError

    def _numbers(self) -> Partition | None:
        return None if self.shrunk_ else self._learned()

    def _learn(self, proba: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        rng = check_random_state(self.random_state)
        self.shrunk_ = False
        # A rule that cannot weigh the costs of each example learns what they are on average.
        tensor = costs.tensor if self._can_weigh() else None
        examples = Examples(costs, sample_weight)
        self._search(proba, examples, tensor, rng)
        prices = self.cost_matrix_
        self.initial_cost_ = examples.average(decide_by(None, proba, prices, tensor))
        self.cost_ = examples.average(decide_by(self._learned(), proba, prices, tensor))
        if self.shrink and not self._gains(proba, costs, sample_weight, rng):
            self.shrunk_ = True
            self.partition_ = self.cost_matrix_
            self.cost_ = self.initial_cost_

    def _gains(self, proba, costs: Costs, sample_weight, rng) -> bool:
        """Say whether the rule saves more than one standard error on examples left out."""
        splitter = as_splitter(SHRINK_FOLDS, costs.y, random_state=draw_seed(rng))
        weight = np.ones(len(proba)) if sample_weight is None else sample_weight
        gains = np.zeros(len(proba))
        for train, test in split_folds(splitter, proba, costs.y):
            part = copy.copy(self)
            seen, unseen = costs.take(train), costs.take(test)
            known = [c.tensor if self._can_weigh() else None for c in (seen, unseen)]
            examples = Examples(seen, None if sample_weight is None else weight[train])
            part._search(proba[train], examples, known[0], check_random_state(draw_seed(rng)))
            asked = proba[test], self.cost_matrix_, known[1]
            before = unseen.of(decide_by(None, *asked))
            gains[test] = before - unseen.of(decide_by(part._learned(), *asked))
        mean = np.average(gains, weights=weight)
        error = np.sqrt((weight**2) @ (gains - mean) ** 2) / weight.sum()
        return bool(mean > error)


@dataclass(eq=False, repr=False, kw_only=True)
class FamilyRule(LearnedRule):
    """Base of the rules whose parameters a coordinate descent finds."""

    n_passes: int = 1
    n_restarts: int = 0

    _parameter_constraints: ClassVar[dict] = {
        **LearnedRule._parameter_constraints,
        "n_passes": [Interval(numbers.Integral, 1, None, closed="left")],
        "n_restarts": [Interval(numbers.Integral, 0, None, closed="left")],
    }
    # How the scores of the decisions depend on the parameters.
    _family_class: ClassVar[type[Family]]
    # Whether the first pass follows the paper to the letter: sweep without bounds, then clip.
    _literal = False

    def _family(self, proba: np.ndarray, cost_tensor: np.ndarray | None = None) -> Family:
        right = None if self._choices is None else self.cost_matrix_.argmin(axis=1)
        return self._family_class(proba, shift_rows(self.cost_matrix_), cost_tensor, right)

    def _extra_starts(self, family: Family) -> list:
        return []

    def _search(self, proba, examples, cost_tensor, rng):
        family = self._family(proba, cost_tensor)
        order = by_population(examples.y, len(self.classes_))
        how = {"n_passes": self.n_passes, "n_restarts": self.n_restarts, "literal": self._literal}
        starts = self._extra_starts(family)
        best, path = descend(family, order, examples, starts=starts, rng=rng, **how)
        self._set_parameters(family, best)
        self.path_ = np.asarray(path) / examples.total_weight

    def _set_parameters(self, family: Family, parameters: np.ndarray) -> None:
        self.parameters_ = family.normalized(parameters)
        self.partition_ = family.matrix(self.parameters_)

    def _learned(self) -> Partition:
        return self._family_class.partition(self.parameters_, self.cost_matrix_.shape)

    def fit_chunks(self, chunks: Any, *, n_bins: int = DEFAULT_BINS) -> Self:
        """Learn the rule from validation examples that do not fit in memory.

        For each parameter all chunks are read once and a histogram of fixed size stands in
        for the exact sweep, so the memory used is that of one chunk.

        Parameters
        ----------
        chunks : iterable or callable
            Yields ``(proba, y)`` or ``(proba, y, {"sample_weight": ..., "costs": ...})``. It
            is read several times: a list, an object whose ``__iter__`` begins anew, or a
            function that returns a fresh iterator.
        n_bins : int, default=65536
            How finely each parameter is tried.

        Returns
        -------
        self : object
            The fitted rule.
        """
        self._validate_params()
        fit_in_chunks(self, Chunks(chunks), n_bins)
        return self
