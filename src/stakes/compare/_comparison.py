"""Comparison: what every method would cost, which to use, and how sure that is."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from stakes.compare import _at_prices, _views
from stakes.compare._problem import Problem
from stakes.compare._result import MethodResult
from stakes.compare._statistics import (
    LEVEL,
    Intervals,
    cost_when_chosen,
    paired_intervals,
    share,
)
from stakes.compare._whatif import confusion_of, wrongly
from stakes.compare.columns import (
    column_importance,
    column_names,
    column_values,
    cost_by_group,
    group_rows,
)
from stakes.compare.words import html_table, in_order, reason_in_words, text_table
from stakes.costs import CostMatrix, Costs
from stakes.decision import Policy
from stakes.utils._arrays import quoted
from stakes.utils._frames import is_frame, is_sparse
from stakes.utils._labels import as_labels, label_positions


@dataclass(eq=False, repr=False, kw_only=True)
class Comparison:
    """What each method would cost, which to use, and how sure that is.

    Made by `compare`. All costs are per example unless their name says `total`.

    Attributes
    ----------
    table : DataFrame
        One row per method, indexed by name: `cost` with `low` and `high` (its 95%
        interval), `total`, the paired `difference` to the baseline with
        `difference_low` and `difference_high`, `savings` (share of the baseline's cost)
        with `savings_low` and `savings_high`, `savings_constant` (share of the best
        constant decision's cost), `error` (share of wrong decisions; a case that is left to
        somebody else is none), `seconds_fit`,
        `seconds_predict`, `status`, `reason`, and one `recall` per class.
    recommended : str
        The method to use.
    reason : str
        Why, in one sentence.
    clear : bool
        Whether some method is clearly cheaper than the baseline.
    as_good : list of str
        Methods whose cost is not clearly above the recommended one's, whether or not it is
        clearly below the baseline's: in 95% of cases the truly best one is the recommended one
        or among them.
    chosen_cost : tuple of float
        What the recommended method costs per case, and the ends of its 95% interval, counting
        that it was chosen among many; the costs in `table` don't.
    finished : list of str
        The methods that have a result.
    tested : ndarray
        The rows that were in some test fold.
    classes : ndarray
        The class labels.
    decisions : tuple
        The labels of what can be decided: the classes, unless the costs name others.
    cost_matrix : ndarray of shape (n_classes, n_decisions)
        The prices; averages by true class where they are per example.
    kind : {"class", "deciding", "hindsight"}
        The kind of the costs; see `stakes.costs.KINDS`.
    order : list of int
        Positions of the classes as people expect them: in the order of the price table.
    check : TableCheck or None
        What is odd about the table; see `stakes.tables.check_table`.
    """

    problem: Problem
    results: dict[str, MethodResult]
    baseline: str
    protocol: dict
    currency: str = ""
    name: str = ""
    order: list[int] = field(default_factory=list)
    work: Any = None
    capacity: Any = None
    check: Any = None
    log: Any = None
    positive: int = field(init=False)

    def __post_init__(self) -> None:
        base = self.results[self.baseline]
        if base.status != "ok":
            raise ValueError(f"The baseline {self.baseline!r} failed: {base.reason}")
        if base.beside is not None and base.beside.size:
            raise ValueError(
                f"The baseline {self.baseline!r} leaves cases to somebody else: choose one that "
                "decides all of them."
            )
        self.classes, self.kind = self.problem.classes, self.problem.costs.kind
        self.cost_matrix = self.problem.costs.class_matrix()
        self.decisions = self.problem.decisions
        self.finished = [name for name, result in self.results.items() if result.status == "ok"]
        self.tested = np.flatnonzero(base.decisions >= 0)
        self.order = self.order or list(range(len(self.classes)))
        missed = np.ptp(self.cost_matrix, axis=1)
        self.positive = int(
            missed[1] >= missed[0]
        )  # of two classes the one that is dearer to miss

    # -- reading -----------------------------------------------------------------------

    @cached_property
    def shares(self) -> np.ndarray:
        """How frequent each class is among the tested cases."""
        return np.bincount(self.tested_costs.y, minlength=len(self.classes)) / len(self.tested)

    @property
    def decision_order(self) -> list[int]:
        """Positions of the decisions as people expect them: as classes, or as they were named."""
        if self.problem.costs.choices is None:
            return self.order
        return list(range(len(self.decisions)))

    @cached_property
    def right(self) -> np.ndarray:
        """Which decision is right for which truth: its own or, of choices, those that cost least."""
        if self.problem.costs.choices is None:
            return np.eye(len(self.classes), dtype=bool)
        return self.cost_matrix == self.cost_matrix.min(axis=1, keepdims=True)

    @cached_property
    def tested_costs(self) -> Costs:
        """The costs of the rows that were in some test fold."""
        return self.problem.costs.take(self.tested)

    @cached_property
    def intervals(self) -> Intervals:
        """The intervals of the finished methods, in their order."""
        return self._compare_with(self.baseline, self.finished)

    def _compare_with(self, reference: str, methods: list[str]) -> Intervals:
        paid = np.column_stack([self.results[m].paid[self.tested] for m in methods])
        seed = self.protocol["random_state"]
        return paired_intervals(paid, methods.index(reference), level=LEVEL, random_state=seed)

    @cached_property
    def _span(self) -> np.ndarray:
        """By how much the methods' decisions differ for each tested case."""
        return np.ptp([self.results[m].paid[self.tested] for m in self.finished], axis=0)

    @cached_property
    def table(self) -> Any:
        """One row per method; see the class."""
        import pandas as pd

        names, sure = self.finished, self.intervals
        done = [self.results[name] for name in names]
        constant = sure.mean[names.index("constant")]
        recalls = np.array([self.recall(name) for name in names])
        figures = {
            "cost": sure.mean,
            "low": sure.low,
            "high": sure.high,
            "total": [self.total(name) for name in names],
            "difference": sure.difference,
            "difference_low": sure.difference_low,
            "difference_high": sure.difference_high,
            "savings": sure.savings,
            "savings_low": sure.savings_low,
            "savings_high": sure.savings_high,
            "savings_constant": share(constant - sure.mean, constant),
            "error": [self.wrong(name).mean() for name in names],
            "seconds_fit": [r.seconds_fit for r in done],
            "seconds_predict": [r.seconds_predict for r in done],
            **{f"recall {c}": recall for c, recall in zip(self.classes.tolist(), recalls.T)},
        }
        words = pd.DataFrame(
            [[r.title, r.family, r.status, r.reason] for r in self.results.values()],
            columns=["title", "family", "status", "reason"],
            index=pd.Index(self.results, name="method"),
        )
        table = words[["title", "family"]].join(pd.DataFrame(figures, index=names))
        return table.join(words[["status", "reason"]])

    def wrong(self, method: str) -> np.ndarray:
        """Return which of the tested cases a method decides wrongly; one that it leaves is not."""
        return wrongly(self.tested_costs, self.results[method].decisions[self.tested])

    @cached_property
    def _better(self) -> dict[str, float]:
        """The cost of each method that is clearly cheaper than the baseline."""
        costs = zip(self.finished, self.intervals.mean, self.intervals.difference_high)
        return {name: cost for name, cost, high in costs if high < 0 and name != self.baseline}

    @property
    def recommended(self) -> str:
        """The method to use."""
        return min(self._better, key=lambda name: self._better[name], default=self.baseline)

    @property
    def clear(self) -> bool:
        """Whether some method is clearly cheaper than the baseline."""
        return bool(self._better)

    @cached_property
    def as_good(self) -> list[str]:
        """Methods whose cost is not clearly above the recommended one's, the cheapest first."""
        if not self.clear:
            return []
        best = self.recommended
        beside = self._compare_with(best, self.finished)
        as_good = [m for m, low in zip(self.finished, beside.difference_low) if low <= 0]
        costs = dict(zip(self.finished, beside.mean))
        return sorted(set(as_good) - {best}, key=lambda method: (costs[method], method))

    @cached_property
    def chosen_cost(self) -> tuple[float, float, float]:
        """What the recommended method costs per case, with its interval, its being chosen counted.

        The cheapest of many was partly lucky: on these very examples it looks cheaper than it
        is. On each tenth of them the method pays that is cheapest on the others. Where none is
        clearly better than the baseline it is the cheapest of all.
        """
        methods = list(self._better) if self.clear else self.finished
        paid = np.column_stack([self.results[m].paid[self.tested] for m in methods])
        seed = self.protocol["random_state"]
        return cost_when_chosen(paid, level=LEVEL, random_state=seed, span=self._span)

    @property
    def cheapest(self) -> str:
        """The method of least cost, clearly or not."""
        return self.finished[int(np.argmin(self.intervals.mean))]

    @property
    def favourite(self) -> str:
        """The recommended method or, where none is clearly better, the cheapest."""
        return self.recommended if self.clear else self.cheapest

    @property
    def reason(self) -> str:
        """Why the recommended method is recommended, in one sentence."""
        return reason_in_words(self)

    def recall(self, method: str) -> np.ndarray:
        """Return the share of each class that the method decides rightly."""
        costs = self.tested_costs
        counts = np.bincount(costs.y, minlength=costs.n_classes)
        if costs.choices is None:
            right = np.diag(self.confusion(method))
        else:  # what cost least, for each of them
            decided = self.results[method].decisions[self.tested]
            well = (decided < costs.n_decisions) & ~self.wrong(method)
            right = np.bincount(costs.y, well, minlength=costs.n_classes)
        return np.divide(right, counts, out=np.full(len(counts), np.nan), where=counts > 0)

    def confusion(self, method: str) -> np.ndarray:
        """Return how often each truth met each decision, (n_classes, n_decisions).

        A method that may leave cases to somebody else has a last column for them.
        """
        return self._confusions(self.tested_costs, method)[0]

    def cost_confusion(self, method: str) -> np.ndarray:
        """Return what each truth and decision cost in sum: the confusion matrix in currency."""
        return self._confusions(self.tested_costs, method)[1]

    def _confusions(self, costs: Costs, method: str) -> tuple[np.ndarray, np.ndarray]:
        result = self.results[method]
        return confusion_of(costs, result.decisions[self.tested], result.beside)

    def total(self, method: str, cost_matrix: Any = None) -> float:
        """Return what the method's decisions cost in sum over the tested examples.

        With a `cost_matrix`, what the same decisions would cost at those prices, as in `what_if`.
        """
        if cost_matrix is not None:
            costs = self.tested_costs.at(_at_prices.prices_of(self, cost_matrix))
            return float(self._confusions(costs, method)[1].sum())
        if self.protocol.get("repeated"):  # decided more than once: the mean of those
            return float(self.results[method].paid[self.tested].sum())
        return float(self.cost_confusion(method).sum())

    # -- what if the prices were others ------------------------------------------------

    @cached_property
    def probability_method(self) -> str | None:
        """The cheapest method whose decisions are those of least expected cost.

        Its stored probabilities answer what would be decided at other prices; None where
        no method has such probabilities.
        """
        ranked = in_order(self.table).index
        return next((name for name in ranked if self.results[name].by_prices), None)

    @cached_property
    def policy(self) -> Policy:
        """The policy of least expected cost at the prices as they are, for stored probabilities."""
        named: Any = {"classes": self.classes.tolist(), "decisions": self.decisions}
        return Policy(prices=self.cost_matrix, **named)

    def probabilities(self, method: str | None = None) -> np.ndarray:
        """Return the stored probabilities of the tested cases, (n_tested, n_classes).

        Parameters
        ----------
        method : str, default=None
            Whose; None is `probability_method`.
        """
        method = method or self.probability_method
        if method is None or self.results[method].proba is None:
            raise ValueError("No method here has probabilities that decide by expected cost.")
        proba = self.results[method].proba[self.tested].astype(np.float64)
        return proba / proba.sum(axis=1, keepdims=True)

    what_if = _at_prices.what_if
    break_even = _at_prices.break_even
    break_even_decisions = _at_prices.break_even_decisions
    price_doubt = _at_prices.price_doubt
    abstaining = _at_prices.abstaining

    # -- which cases, which columns ----------------------------------------------------

    @property
    def constant(self) -> int:
        """The one decision for all, as a position; the most frequent where folds differ."""
        return int(np.bincount(self.results["constant"].decisions[self.tested]).argmax())

    def by_group(self, column: str, method: str | None = None) -> Any:
        """Return what the method's decisions cost by groups of a column's values.

        Few values are a group each; many numbers or dates are cut into fifths. Groups of
        fewer than ten examples are joined.

        Parameters
        ----------
        column : str
            A column of X.
        method : str, default=None
            Whose decisions; None is `recommended`.

        Returns
        -------
        table : DataFrame
            One row per group: `n`, `cost` with `low` and `high` (its 95% interval), `total`,
            the baseline's cost `reference`, and the paired `difference` to it with
            `difference_low` and `difference_high`.
        """
        names = column_names(self.problem.X)
        if column not in names:
            raise ValueError(f"There is no column {column!r}: the columns are {quoted(names)}.")
        values = column_values(self.problem.X, names.index(column), self.tested)
        if values is None:
            raise ValueError("A sparse table has no columns to make groups of.")
        both = (self.baseline, method or self.recommended)
        paid = np.column_stack([self.results[m].paid[self.tested] for m in both])
        return cost_by_group(paid, *group_rows(values), self._span, self.protocol["random_state"])

    def importance(self, method: str | None = None) -> Any:
        """Return which columns move the money: what decisions cost more without each.

        The method is fitted once more, on one fold, and decides that fold's test rows with the
        values of one column shuffled among them, one column after the other. Reproducible:
        the work is bounded by counts, not by the clock.

        Parameters
        ----------
        method : str, default=None
            Whose decisions; None is `recommended`.

        Returns
        -------
        table : DataFrame
            Indexed by column, the one that moves most money first: `cost`, by how much more a
            decision costs on average, with `low` and `high`, its 95% interval.
        """
        known = {} if self.work is None else {m.name: m for m in self.work.methods.values()}
        method = method or self.recommended
        if method not in known:
            raise ValueError(f"{method!r} is no method that can be fitted again.")
        if is_sparse(self.problem.X):
            raise ValueError("The columns of a sparse table are not shuffled.")
        work = self.work
        return column_importance(known[method], work.problem, work.splits[0], work.given)

    # -- views -------------------------------------------------------------------------

    to_html = _views.to_html
    to_dict = _views.to_dict
    to_json = _views.to_json
    to_csv = _views.to_csv

    def __repr__(self) -> str:
        return text_table(self)

    def _repr_html_(self) -> str:
        return html_table(self)


def label_order(cost_matrix: Any, classes: np.ndarray) -> list[int]:
    """Return the positions of the classes in the order of the price table, where it has labels.

    Examples
    --------
    >>> from stakes.compare._comparison import label_order
    >>> from stakes.costs import CostMatrix
    >>> C = CostMatrix([[0, 1, 1], [2, 0, 1], [9, 9, 0]], labels=["low", "middle", "high"])
    >>> label_order(C, np.array(["high", "low", "middle"]))
    [1, 2, 0]
    """
    if is_frame(cost_matrix):
        cost_matrix = CostMatrix.from_frame(cost_matrix)
    labels = getattr(cost_matrix, "labels", None)
    if labels is None:
        return list(range(len(classes)))
    known = as_labels(classes)
    place = label_positions(as_labels(labels), known)
    return sorted(range(len(known)), key=lambda c: place[known[c]])
