"""What the rules share that learn from validation examples: search, costs, shrinking."""

import numbers

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from stakes.costs.arithmetic import shift_rows
from stakes.decision._crossfit import split_folds
from stakes.decision._descent import by_population, descend
from stakes.decision._expected import decide
from stakes.decision._histogram import DEFAULT_BINS
from stakes.decision._rule import BaseRule
from stakes.decision._sweep import Examples
from stakes.utils._sklearn import Interval

SHRINK_FOLDS = 5


class LearnedRule(BaseRule):
    """Base of the rules that learn where to decide from validation examples.

    A subclass writes `_search`, which sets `parameters_` and `partition_`, and `_decide_learned`.
    """

    _parameter_constraints: dict = {
        **BaseRule._parameter_constraints,
        "shrink": ["boolean"],
        "random_state": ["random_state"],
    }

    def _learn(self, proba, training, sample_weight, cost_tensor):
        examples = Examples(training, sample_weight)
        rng = check_random_state(self.random_state)
        self.shrunk_ = False
        self._search(proba, training, examples, cost_tensor, rng)
        self._judge(proba, examples, cost_tensor)
        if self.shrink and not self._gains(proba, training, sample_weight, cost_tensor, rng):
            self.shrunk_ = True
            self.partition_ = self.cost_matrix_
            self.cost_ = self.initial_cost_

    def _search(self, proba, training, examples, cost_tensor, rng):
        raise NotImplementedError

    def _judge(self, proba, examples, cost_tensor):
        """Set the average cost of the plug-in decisions and of the learned ones."""
        self.initial_cost_ = examples.average(self._plug_in(proba, cost_tensor))
        self.cost_ = examples.average(self._decide_learned(proba, cost_tensor))

    def _decide_learned(self, proba, cost_tensor):
        return decide(proba, self.partition_, check=True)

    def _plug_in(self, proba, cost_tensor):
        if cost_tensor is not None and self._takes_cost_tensor:
            return decide(proba, cost_tensor=cost_tensor, check=True)
        return decide(proba, self.cost_matrix_, check=True)

    def _decide(self, proba, cost_tensor):
        if self.shrunk_:
            return self._plug_in(proba, cost_tensor)
        return self._decide_learned(proba, cost_tensor)

    def _gains(self, proba, training, sample_weight, cost_tensor, rng) -> bool:
        """Say whether the rule saves more than one standard error on examples left out."""
        folds = StratifiedKFold(
            SHRINK_FOLDS, shuffle=True, random_state=rng.randint(np.iinfo(np.int32).max)
        )
        gains = np.zeros(len(proba))
        for train, test in split_folds(folds, proba, training.y):
            part = type(self)(**self.get_params(deep=False))
            part.classes_, part.cost_matrix_, part.shrunk_ = (
                self.classes_,
                self.cost_matrix_,
                False,
            )
            weight = None if sample_weight is None else sample_weight[train]
            learned_on, judged_on = training.take(train), training.take(test)
            part._search(
                proba[train],
                learned_on,
                Examples(learned_on, weight),
                None if cost_tensor is None else cost_tensor[train],
                check_random_state(rng.randint(np.iinfo(np.int32).max)),
            )
            here = None if cost_tensor is None else cost_tensor[test]
            before = judged_on.of(part._plug_in(proba[test], here))
            gains[test] = before - judged_on.of(part._decide_learned(proba[test], here))
        mean = _mean(gains, sample_weight)
        share = np.full(len(gains), 1.0) if sample_weight is None else sample_weight
        error = np.sqrt((share**2) @ (gains - mean) ** 2) / share.sum()
        return mean > error


class FamilyRule(LearnedRule):
    """Base of the rules whose parameters a coordinate descent finds."""

    _parameter_constraints: dict = {
        **LearnedRule._parameter_constraints,
        "n_passes": [Interval(numbers.Integral, 1, None, closed="left")],
        "n_restarts": [Interval(numbers.Integral, 0, None, closed="left")],
    }
    # Whether the first pass follows the paper to the letter: sweep without bounds, then clip.
    _literal = False

    def __init__(
        self,
        *,
        cost_matrix=None,
        n_passes=1,
        n_restarts=0,
        shrink=False,
        random_state=None,
        classes=None,
    ):
        self.cost_matrix = cost_matrix
        self.n_passes = n_passes
        self.n_restarts = n_restarts
        self.shrink = shrink
        self.random_state = random_state
        self.classes = classes

    def _family(self, proba, costs, cost_tensor):
        raise NotImplementedError

    def _extra_starts(self, family) -> list:
        return []

    def _search(self, proba, training, examples, cost_tensor, rng):
        family = self._family(proba, shift_rows(self.cost_matrix_), cost_tensor)
        order = by_population(training.y, len(self.classes_))
        found, path = descend(
            family,
            order,
            examples,
            n_passes=self.n_passes,
            starts=self._extra_starts(family),
            n_restarts=self.n_restarts,
            rng=rng,
            literal=self._literal,
        )
        self._set_parameters(family, found)
        self.path_ = np.asarray(path) / examples.total_weight

    def _set_parameters(self, family, found):
        self.parameters_ = family.normalized(found)
        self.partition_ = family.matrix(self.parameters_)

    def fit_chunks(self, chunks, *, n_bins=DEFAULT_BINS):
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
        from stakes.decision._chunks import fit_in_chunks

        self._validate_params()
        return fit_in_chunks(self, chunks, n_bins)


def expected_by_decision(proba, cost_tensor):
    """Return the expected costs of each example's own costs, (n_classes, n_samples).

    Each row of costs is shifted to a least of 0, so that scaling a decision means something.
    """
    shifted = cost_tensor - cost_tensor.min(axis=2, keepdims=True)
    return np.einsum("nt,ntd->dn", proba, shifted)


def _mean(values, weight):
    return float(np.average(values, weights=weight))
