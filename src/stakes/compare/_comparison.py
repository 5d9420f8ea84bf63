"""Comparison: what every method would cost, which to use, and how sure that is."""

import json
import os
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import entry_points
from typing import Any

import numpy as np

from stakes._methods import Method
from stakes.compare._problem import Problem
from stakes.compare._statistics import Intervals, paired_intervals
from stakes.compare._whatif import WhatIf, confusion_of, decide_at, what_if
from stakes.compare.words import html_table, reason_in_words, text_table
from stakes.costs import Costs, check_cost_matrix
from stakes.utils._files import write_atomically

LEVEL = 0.95
# Ways to show a comparison; the page of `stakes.report` is entered under "html".
VIEWS = "stakes.views"


@dataclass
class MethodResult:
    """One method's decisions on every tested example, or why there are none.

    Parameters
    ----------
    name, title, family, note : str
        As in `list_methods`; an estimator's title is its class.
    status : {"ok", "failed", "left out"}
        Whether there is a result.
    reason : str
        Why not.
    decisions : ndarray of shape (n_samples,) or None
        Positions in the classes; -1 where an example was in no test fold.
    proba : ndarray of shape (n_samples, n_classes) or None
        Probabilities, as float32.
    paid : ndarray of shape (n_samples,) or None
        What each decision cost; its mean where an example was tested more than once.
    seconds_fit, seconds_predict : float
        In sum over the folds.
    fold_costs : list of float
        The mean cost of each fold.
    """

    name: str
    title: str
    family: str = "yours"
    note: str = ""
    status: str = "ok"
    reason: str = ""
    decisions: Any = None
    proba: Any = None
    paid: Any = None
    seconds_fit: float = 0.0
    seconds_predict: float = 0.0
    fold_costs: list[float] = field(default_factory=list)

    @classmethod
    def left_out(cls, name: str, method: Method, reason: str) -> "MethodResult":
        """Return the result of a method that was not run."""
        return cls(name, method.title, method.family, method.note, "left out", reason)

    @classmethod
    def from_runs(
        cls, name: str, method: Method, runs_and_rows: list, problem: Problem, store: Any
    ) -> "MethodResult":
        """Join the runs of a method over its folds."""
        result = cls(name, method.title, method.family, method.note)
        failed = [row for _, row in runs_and_rows if row["status"] != "ok"]
        if failed:
            result.status, result.reason = "failed", failed[0]["reason"]
            return result
        n = problem.n_samples
        decisions = np.full(n, -1, dtype=np.int32)
        paid, times = np.zeros(n), np.zeros(n)
        proba = None
        for run, row in runs_and_rows:
            arrays = store.load_predictions(run).arrays
            test = arrays["test"]
            decisions[test] = arrays["decisions"]
            paid[test] += problem.costs.take(test).of(arrays["decisions"])
            times[test] += 1
            if "proba" in arrays:
                if proba is None:
                    proba = np.full((n, problem.n_classes), np.nan, dtype=np.float32)
                proba[test] = arrays["proba"]
            result.seconds_fit += row["seconds_fit"]
            result.seconds_predict += row["seconds_predict"]
            result.fold_costs.append(row["cost"])
        result.decisions, result.proba = decisions, proba
        result.paid = np.divide(paid, times, out=paid, where=times > 0)
        return result


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
        constant decision's cost), `error` (share of wrong decisions), `seconds_fit`,
        `seconds_predict`, `status`, `reason`, and one `recall` per class.
    recommended : str
        The method to use.
    reason : str
        Why, in one sentence.
    clear : bool
        Whether some method is clearly cheaper than the baseline.
    classes : ndarray
        The class labels.
    cost_matrix : ndarray of shape (n_classes, n_classes)
        The prices; averages by true class where they are per example.
    kind : {"class", "deciding", "hindsight"}
        The kind of the costs; see `stakes.costs.KINDS`.
    """

    def __init__(
        self,
        *,
        problem: Problem,
        results: dict[str, MethodResult],
        baseline: str,
        protocol: dict,
        currency: str = "",
        name: str = "",
    ):
        self.problem = problem
        self.results = results
        self.baseline = baseline
        self.protocol = protocol
        self.currency = currency
        self.name = name
        if results[baseline].status != "ok":
            raise ValueError(
                f"The baseline {baseline!r} failed, so there is nothing to compare with: "
                f"{results[baseline].reason}"
            )

    # -- reading -----------------------------------------------------------------------

    @property
    def classes(self) -> np.ndarray:
        """The class labels."""
        return self.problem.classes

    @property
    def kind(self) -> str:
        """The kind of the costs."""
        return self.problem.costs.kind

    @cached_property
    def cost_matrix(self) -> np.ndarray:
        """The prices, or their averages by true class."""
        return self.problem.costs.class_matrix()

    @cached_property
    def tested(self) -> np.ndarray:
        """The rows that were in some test fold."""
        return np.flatnonzero(self.results[self.baseline].decisions >= 0)

    @cached_property
    def tested_costs(self) -> Costs:
        """The costs of the rows that were in some test fold."""
        return self.problem.costs.take(self.tested)

    @cached_property
    def finished(self) -> list[str]:
        """The methods that have a result."""
        return [name for name, result in self.results.items() if result.status == "ok"]

    @cached_property
    def intervals(self) -> Intervals:
        """The intervals of the finished methods, in their order."""
        paid = np.column_stack([self.results[m].paid[self.tested] for m in self.finished])
        return paired_intervals(
            paid,
            self.finished.index(self.baseline),
            level=LEVEL,
            random_state=self.protocol["random_state"],
        )

    @cached_property
    def table(self) -> Any:
        """One row per method; see the class."""
        import pandas as pd

        found = self.intervals
        base = found.mean[self.finished.index(self.baseline)]
        constant = found.mean[self.finished.index("constant")]
        rows = {}
        for name, result in self.results.items():
            row: dict[str, Any] = {"title": result.title, "family": result.family}
            if result.status == "ok":
                i = self.finished.index(name)
                row |= {
                    "cost": found.mean[i],
                    "low": found.low[i],
                    "high": found.high[i],
                    "total": self.total(name),
                    "difference": found.difference[i],
                    "difference_low": found.difference_low[i],
                    "difference_high": found.difference_high[i],
                    "savings": share(-found.difference[i], base),
                    "savings_low": share(-found.difference_high[i], base),
                    "savings_high": share(-found.difference_low[i], base),
                    "savings_constant": share(constant - found.mean[i], constant),
                    "error": float((result.decisions != self.problem.y)[self.tested].mean()),
                    "seconds_fit": result.seconds_fit,
                    "seconds_predict": result.seconds_predict,
                }
                for label, recall in zip(self.classes.tolist(), self.recall(name)):
                    row[f"recall {label}"] = recall
            row |= {"status": result.status, "reason": result.reason}
            rows[name] = row
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")

    @cached_property
    def _choice(self) -> tuple[str, bool, list[str]]:
        """The recommended method, whether it is clearly cheaper, and those as good as it."""
        found = self.intervals
        better = [
            i
            for i, name in enumerate(self.finished)
            if found.difference_high[i] < 0 and name != self.baseline
        ]
        if not better:
            return self.baseline, False, []
        best = min(better, key=lambda i: found.mean[i])
        paid = np.column_stack(
            [self.results[self.finished[i]].paid[self.tested] for i in [best, *better]]
        )
        rivals = paired_intervals(paid, 0, level=LEVEL, random_state=self.protocol["random_state"])
        as_good = [
            self.finished[i]
            for j, i in enumerate(better, start=1)
            if i != best and rivals.difference_low[j] <= 0
        ]
        return self.finished[best], True, as_good

    @property
    def recommended(self) -> str:
        """The method to use."""
        return self._choice[0]

    @property
    def clear(self) -> bool:
        """Whether some method is clearly cheaper than the baseline."""
        return self._choice[1]

    @property
    def as_good(self) -> list[str]:
        """Methods whose cost is not clearly above the recommended one's."""
        return self._choice[2]

    @property
    def cheapest(self) -> str:
        """The method of least cost, clearly or not."""
        return self.finished[int(np.argmin(self.intervals.mean))]

    @property
    def reason(self) -> str:
        """Why the recommended method is recommended, in one sentence."""
        return reason_in_words(self)

    def recall(self, method: str) -> np.ndarray:
        """Return the share of each class that the method decides rightly."""
        confusion = self.confusion(method)
        counts = confusion.sum(axis=1)
        return np.divide(
            np.diag(confusion), counts, out=np.full(len(counts), np.nan), where=counts > 0
        )

    def confusion(self, method: str) -> np.ndarray:
        """Return how often each truth met each decision, (n_classes, n_classes)."""
        return confusion_of(self.tested_costs, self.results[method].decisions[self.tested])[0]

    def cost_confusion(self, method: str) -> np.ndarray:
        """Return what each truth and decision cost in sum: the confusion matrix in currency."""
        return confusion_of(self.tested_costs, self.results[method].decisions[self.tested])[1]

    def total(self, method: str) -> float:
        """Return what the method's decisions cost in sum over the tested examples."""
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
        order = sorted(self.finished, key=lambda m: self.table.loc[m, "cost"])
        for name in order:
            result = self.results[name]
            if result.proba is None or name == "constant":
                continue
            decided = decide_at(self.tested_costs, result.proba[self.tested])
            same = (decided == result.decisions[self.tested]).mean()
            # Probabilities are stored rounded, so that ties may break another way; and of costs
            # known in hindsight each fold has averages of its own.
            if same >= (0.95 if self.kind == "hindsight" else 0.999):
                return name
        return None

    def what_if(self, cost_matrix: Any, method: str | None = None) -> WhatIf:
        """Return what would be decided, and what it would cost, at other prices.

        Nothing is fitted: the stored probabilities of `method` are weighed with the new
        prices. The page does the same arithmetic.

        Parameters
        ----------
        cost_matrix : array-like, CostMatrix or DataFrame
            The new prices. Where prices are per example, the new averages: each example's
            price changes in proportion.
        method : str, default=None
            Whose probabilities; None is `probability_method`.

        Returns
        -------
        answer : WhatIf
            With `total`, `baseline_total`, `savings`, `confusion` and `decisions`.
        """
        method = method or self.probability_method
        if method is None or self.results[method].proba is None:
            raise ValueError("No method here has probabilities that decide by expected cost.")
        matrix = check_cost_matrix(cost_matrix, classes=self.classes, warn=False)
        return what_if(
            self.tested_costs.at(matrix),
            self.results[method].proba[self.tested],
            self.results[self.baseline].decisions[self.tested],
        )

    # -- views -------------------------------------------------------------------------

    def to_html(self, path: str | os.PathLike | None = None, **options: Any) -> str | None:
        """Write the page that a manager can play with, or return it as text.

        Parameters
        ----------
        path : path-like, default=None
            Where to; None returns the page.
        **options : dict
            Those of `stakes.report.render_page`: `command`, `image_shape`, `title`.
        """
        # The report reads comparisons and not the other way round: it enters itself as a view.
        views = list(entry_points(group=VIEWS, name="html"))
        if not views:
            raise RuntimeError("The page is not installed: install stakes itself, by pip.")
        return _written(views[0].load()(self, **options), path)

    def to_dict(self) -> dict:
        """Return everything worth keeping as plain values."""
        table = self.table
        rows = [{"method": name, **row} for name, row in table.to_dict(orient="index").items()]
        return _plain(
            {
                "name": self.name,
                "kind": self.kind,
                "n_examples": len(self.tested),
                "classes": self.classes.tolist(),
                "class_counts": np.bincount(self.problem.y).tolist(),
                "cost_matrix": self.cost_matrix.tolist(),
                "currency": self.currency,
                "baseline": self.baseline,
                "recommended": self.recommended,
                "clear": self.clear,
                "as_good": self.as_good,
                "reason": self.reason,
                "methods": rows,
                "confusion": {m: self.confusion(m).tolist() for m in self.finished},
                "protocol": self.protocol,
            }
        )

    def to_json(self, path: str | os.PathLike | None = None) -> str | None:
        """Write `to_dict` as JSON, or return it."""
        return _written(json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n", path)

    def to_csv(self, path: str | os.PathLike | None = None) -> str | None:
        """Write the table, unrounded, or return it."""
        return _written(self.table.to_csv(), path)

    def __repr__(self) -> str:
        return text_table(self)

    def _repr_html_(self) -> str:
        return html_table(self)


def _written(text: str, path: str | os.PathLike | None) -> str | None:
    """Write a text, or return it where there is no path."""
    if path is None:
        return text
    write_atomically(path, text)
    return None


def share(part: float, whole: float) -> float:
    """Return part / |whole|; 0 where both are 0, infinite where only the whole is.

    Examples
    --------
    >>> from stakes.compare._comparison import share
    >>> share(1.0, 4.0), share(0.0, 0.0), share(-1.0, 0.0)
    (0.25, 0.0, -inf)
    """
    if whole == 0:
        return 0.0 if part == 0 else float(np.copysign(np.inf, part))
    return float(part / abs(whole))


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold: NaN and infinity become None."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
