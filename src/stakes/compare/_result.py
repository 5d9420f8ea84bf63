"""One method's decisions on every tested example, or why there are none."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stakes._methods import Method
from stakes.compare._problem import Problem
from stakes.compare._whatif import paid_for


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
        Positions in the classes, and beyond them in `beside`; -1 where an example was in no test
        fold.
    proba : ndarray of shape (n_samples, n_classes) or None
        Probabilities, as float32.
    paid : ndarray of shape (n_samples,) or None
        What each decision cost; its mean where an example was tested more than once.
    seconds_fit, seconds_predict : float
        In sum over the folds.
    fold_costs : list of float
        The mean cost of each fold.
    by_prices : bool
        Whether its decisions are those of least expected cost at its probabilities, limits aside.
    beside : ndarray of shape (n_classes, n_more) or None
        The prices of decisions that it has besides the classes: to leave a case to somebody else.
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
    by_prices: bool = False
    beside: Any = None

    @classmethod
    def of(cls, method: Method, status: str = "ok", reason: str = "") -> "MethodResult":
        """Return the result of a method, as yet without decisions."""
        return cls(method.name, method.title, method.family, method.note, status, reason)

    @classmethod
    def from_runs(
        cls, method: Method, runs_and_rows: list, problem: Problem, store: Any
    ) -> "MethodResult":
        """Join the runs of a method over its folds."""
        failed = [row for _, row in runs_and_rows if row["status"] != "ok"]
        if failed:
            return cls.of(method, "failed", failed[0]["reason"])
        result, n = cls.of(method), problem.n_samples
        decisions = np.full(n, -1, dtype=np.int32)
        paid, times = np.zeros(n), np.zeros(n)
        proba, result.by_prices = None, True
        for run, row in runs_and_rows:
            predictions = store.read_predictions(run)
            arrays = predictions.arrays
            result.by_prices &= predictions.info["by_prices"]
            test = arrays["test"]
            decisions[test] = arrays["decisions"]
            result.beside = np.array(predictions.info["beside"])
            here = problem.costs.take(test)
            paid[test] += paid_for(here, arrays["decisions"], result.beside)
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
