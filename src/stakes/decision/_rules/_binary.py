"""The threshold of two classes, in theory and on data."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from stakes.costs import Costs, make_costs
from stakes.costs.arithmetic import binary_threshold
from stakes.decision._declare import LAYER, exactly, rule
from stakes.decision._histogram import DEFAULT_BINS, SweepHistogram
from stakes.decision._learned import LearnedRule
from stakes.decision._numbers import Partition
from stakes.decision._rule import check_examples
from stakes.decision._sweep import Examples, Span, best_span, threshold_events
from stakes.utils._arrays import quoted
from stakes.utils._sklearn import StrOptions


@rule("binary_threshold", method="binary_threshold", exports=LAYER, only=exactly(2))
@dataclass(eq=False, repr=False, kw_only=True)
class BinaryThreshold(LearnedRule):
    r"""Learned threshold: one threshold, learned on held-out probabilities; two classes only.

    The second class is decided where its probability is above the threshold. The theoretical
    threshold follows from the costs alone and is right
    where the probabilities are; the empirical one costs least on validation examples, and
    is what ROC analysis finds.

    It serves class costs; costs known in hindsight count in what is minimised. Costs known
    when deciding (`cost_tensor` at `predict`) are weighed by the theoretical threshold, which
    then differs from example to example, and refused by the empirical one.

    Parameters
    ----------
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``. A plain array follows the order of `classes_`. If
        None, the class means of the costs given to `fit`, or else 0/1 costs.
    method : {"empirical", "theoretical"}, default="empirical"
        Which threshold to decide by.
    shrink : bool, default=False
        Whether to fall back to the theoretical threshold where the gain on examples left out
        (5 folds) is less than one standard error.
    random_state : int, RandomState or None, default=None
        For the folds of `shrink`.
    classes : array-like of shape (2,), default=None
        The classes in the order of the columns of the probabilities.

    Attributes
    ----------
    threshold_ : float
        The threshold in force.
    theoretical_threshold_ : float
        c* of the costs.
    span_ : tuple of float
        The span of thresholds that cost the least on the validation examples; `threshold_`
        is its middle. Only for ``method="empirical"``.
    parameters_ : ndarray of shape (1,)
        The threshold.
    partition_ : ndarray of shape (2, 2)
        The matrix of the same decisions.
    initial_cost_, cost_ : float
        The average cost on the validation examples at the theoretical threshold, and at the
        threshold in force.
    classes_, cost_matrix_, shrunk_
        As in `ParallelPartition`.

    Notes
    -----
    With all four costs, :math:`c^* = \frac{C[0,1] - C[0,0]}{C[0,1] - C[0,0] + C[1,0] -
    C[1,1]}`: (2) of O'Brien, Gupta and Gray (2008), and the slides. Of several spans with
    the least cost the widest is taken, and its middle.

    Examples
    --------
    A false alarm costs 3 and a miss 1, so the theory asks for 3/4. On these examples every
    threshold between 0.5 and 0.7 is free of cost:

    >>> from stakes.costs import CostMatrix
    >>> from stakes.decision import BinaryThreshold
    >>> C = CostMatrix.binary(fp=3, fn=1, labels=["bad", "ok"])
    >>> proba = [[0.8, 0.2], [0.5, 0.5], [0.3, 0.7], [0.1, 0.9]]
    >>> rule = BinaryThreshold(cost_matrix=C).fit(proba, ["bad", "bad", "ok", "ok"])
    >>> rule.theoretical_threshold_, round(rule.threshold_, 3)
    (0.75, 0.6)
    >>> rule.initial_cost_, rule.cost_
    (0.25, 0.0)
    """

    method: str = "empirical"

    _n_classes = 2
    _decides_only_classes = True
    _parameter_constraints: ClassVar[dict] = {
        **LearnedRule._parameter_constraints,
        "method": [StrOptions({"empirical", "theoretical"})],
    }

    @property
    def _learns(self) -> bool:  # type: ignore[override]
        return self.method == "empirical"

    def _can_weigh(self) -> bool:
        return self.method == "theoretical"

    def _learn(self, proba: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        self.__dict__.pop("histogram_", None)  # a second fit forgets the first
        self.theoretical_threshold_ = binary_threshold(self.cost_matrix_)
        self.shrunk_ = False
        if self._learns:
            super()._learn(proba, costs, sample_weight)
        if self.shrunk_ or not self._learns:
            self._set_threshold(self.theoretical_threshold_)

    def _set_threshold(self, threshold: float) -> None:
        self.threshold_ = float(threshold)
        self.parameters_ = np.array([self.threshold_])
        self.partition_ = np.array([[0.0, self.threshold_], [1.0 - self.threshold_, 0.0]])

    def _search(self, proba, examples, cost_tensor, rng):
        span = best_span(*threshold_events(proba[:, 1], examples), low=0.0, high=1.0)
        # Below a threshold of 1, a probability of 1 is always decided positive: try that, too.
        never = examples.total(np.repeat([[0.0], [1.0]], len(proba), axis=1))
        if never < span.cost - 1e-12 * abs(span.cost):
            span = Span(1.0, 1.0, never)
        self.span_ = span[:2]
        self._set_threshold(0.5 * (span.lower + span.upper))

    def partial_fit(
        self,
        proba: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        classes: Any = None,
        costs: Any = None,
        n_bins: int = DEFAULT_BINS,
    ) -> Self:
        """Learn the empirical threshold from one more chunk of validation examples.

        A histogram on a grid even in the log odds adds up the chunks; its size does
        not depend on how many there are.

        Parameters
        ----------
        proba : array-like of shape (n_samples, 2)
            Class probabilities of the chunk.
        y : array-like of shape (n_samples,)
            Their true classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each example counts.
        classes : array-like of shape (2,), default=None
            The classes; needed at the first call unless the rule has `classes` or the first
            chunk holds both.
        costs : array-like of shape (n_samples, 2), default=None
            What each decision costs for each example, instead of `cost_matrix`.
        n_bins : int, default=65536
            The size of the grid; looked at in the first call only.

        Returns
        -------
        self : object
            The rule, fitted on all chunks so far.
        """
        if self.method != "empirical" or self.shrink:
            raise ValueError('partial_fit needs method="empirical" and shrink=False.')
        if isinstance(self.cost_matrix, str) and self.cost_matrix != "zero_one":
            raise ValueError(
                f"cost_matrix={self.cost_matrix!r} counts the classes of y: give the matrix itself."
            )
        if not hasattr(self, "histogram_"):
            if classes is None:
                classes = self.classes if self.classes is not None else np.unique(y)
            self._set_classes(classes)
            self.histogram_ = SweepHistogram(n_bins=n_bins, spacing="probability")
            self._sums = np.zeros((2, 3))  # for each true class: costs of decisions, and weight
        proba, codes, sample_weight = check_examples(proba, y, self.classes_, sample_weight)
        given = {"cost_matrix": self.cost_matrix, "costs": costs}
        priced = make_costs(
            codes, classes=self.classes_, **given, in_order=self.classes is not None
        )
        self.histogram_.add(*threshold_events(proba[:, 1], Examples(priced, sample_weight)))
        weight = np.ones(len(codes)) if sample_weight is None else sample_weight
        rows = np.column_stack([priced.rows(), np.ones(len(codes))])
        np.add.at(self._sums, codes, rows * weight[:, None])
        return self._from_histogram()

    def merge(self, other: Self) -> Self:
        """Return a rule fitted on the examples of two rules that `partial_fit` has fitted."""
        if not (hasattr(self, "histogram_") and hasattr(other, "histogram_")):
            raise ValueError("Only rules fitted by partial_fit can be merged.")
        if self.classes_.tolist() != other.classes_.tolist():
            classes = f"{quoted(self.classes_)} and {quoted(other.classes_)}"
            raise ValueError(f"The rules have different classes: {classes}.")
        both = type(self)(**self.get_params(deep=False))
        both.classes_ = self.classes_
        both.histogram_ = self.histogram_.merge(other.histogram_)
        both._sums = self._sums + other._sums
        return both._from_histogram()

    def _from_histogram(self) -> Self:
        self.shrunk_ = False
        counts, total = self._sums[:, 2:], self._sums[:, 2].sum()
        self.cost_matrix_ = self._sums[:, :2] / np.where(counts > 0, counts, 1.0)
        threshold, cost = self.histogram_.best_value()
        self._set_threshold(threshold)
        self.cost_ = cost / total
        self.span_ = self.histogram_.best()[:2]
        if (counts > 0).all():
            self.theoretical_threshold_ = binary_threshold(self.cost_matrix_)
            at = int(np.searchsorted(self.histogram_.values, self.theoretical_threshold_))
            costs = self.histogram_.costs()
            self.initial_cost_ = float(costs[min(at, len(costs) - 1)] / total)
        self._settle_policy()
        return self

    def _numbers(self) -> Partition | None:
        return self._learned() if self._learns and not self.shrunk_ else None

    def _learned(self) -> Partition:
        return Partition.fixed(self.partition_)


def threshold_decisions(proba: np.ndarray, threshold: float) -> np.ndarray:
    """Return the decisions by one threshold on the second class, as column indices."""
    return (proba[:, 1] > threshold).astype(np.intp)
