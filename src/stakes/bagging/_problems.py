"""From a cost-sensitive problem of many classes to the linear programmes of an SVM."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from stakes._learning.draws import run_members
from stakes._learning.votes import mean_excess
from stakes.bagging._lp import LPSolution, WarmLP
from stakes.costs import Costs


def pairs_of(n_classes: int, multi_class: str) -> list[tuple[int, ...]]:
    """Return the classes of each binary problem: (negative, positive), or (positive,)."""
    if n_classes == 2 or multi_class == "ovo":
        return [(j, k) for j in range(n_classes) for k in range(j + 1, n_classes)]
    return [(k,) for k in range(n_classes)]


def cost_gaps(costs: np.ndarray, classes: tuple[int, ...]) -> np.ndarray:
    """Return what the positive decision of a binary problem saves, per row of costs.

    Between two classes it is the difference of their costs; one against the rest, the
    cost of the best of the rest minus that of the one. Its sign is the label and its size
    the weight of the example in the binary problem.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.bagging._problems import cost_gaps
    >>> costs = np.array([[0.0, 1.0, 5.0], [7.0, 2.0, 0.0]])
    >>> cost_gaps(costs, (0, 2)), cost_gaps(costs, (1,))
    (array([-5.,  7.]), array([-1., -2.]))
    """
    if len(classes) == 2:
        negative, positive = classes
        return costs[:, negative] - costs[:, positive]
    (one,) = classes
    return np.delete(costs, one, axis=1).min(axis=1) - costs[:, one]


def class_scores(values: np.ndarray, n_classes: int, multi_class: str) -> np.ndarray:
    """Return one score per class from the values of the binary problems; arg max decides.

    One-vs-one: votes, plus the summed values squeezed into (-1/3, 1/3), which settle ties.

    Examples
    --------
    Class 2 beats both others, class 1 beats class 0:

    >>> import numpy as np
    >>> from stakes.bagging._problems import class_scores
    >>> class_scores(np.array([[1.0, 1.0, 1.0]]), 3, "ovo").round(2)
    array([[-0.22,  1.  ,  2.22]])
    """
    if multi_class == "ovr":
        return values
    votes = np.zeros((len(values), n_classes))
    sums = np.zeros((len(values), n_classes))
    for (j, k), value in zip(pairs_of(n_classes, "ovo"), values.T):
        votes[:, k] += value > 0
        votes[:, j] += value <= 0
        sums[:, k] += value
        sums[:, j] -= value
    return votes + sums / (3 * (np.abs(sums) + 1))


def decide(values: np.ndarray, n_classes: int, multi_class: str) -> np.ndarray:
    """Return the decisions, as positions in `classes_`, from the values of the problems."""
    if n_classes == 2:
        return (values[:, 0] > 0).astype(np.intp)
    return class_scores(values, n_classes, multi_class).argmax(axis=1)


class LinearSolution(NamedTuple):
    """What the binary problems of one training set came to."""

    coef: np.ndarray
    intercept: np.ndarray
    objective: float
    gap: float


class LinearProblems:
    """The binary problems of one training set, solved again as the weights change.

    Parameters
    ----------
    svm : L1LinearSVC
        Has the options: `C`, `fit_intercept`, `multi_class` and `n_jobs`.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Examples.
    costs : Costs
        The costs in force.
    """

    def __init__(self, svm: Any, X: Any, costs: Costs):
        self.svm = svm
        self.n_features = X.shape[1]
        self.worth = mean_excess(costs.table)[costs.row_of]
        self.problems: list[tuple[np.ndarray, np.ndarray, WarmLP | None]] = []
        for classes in pairs_of(costs.n_classes, svm.multi_class):
            gaps = cost_gaps(costs.table, classes)[costs.row_of]
            rows = np.flatnonzero(gaps)
            lp = None
            if len(rows):
                part = X if len(rows) == len(gaps) else X[rows]
                lp = WarmLP(part, np.sign(gaps[rows]), fit_intercept=svm.fit_intercept)
            self.problems.append((rows, np.abs(gaps[rows]), lp))

    def solve(self, weight: np.ndarray, step: Callable = WarmLP.solve) -> LinearSolution:
        """Solve every binary problem for these weights of the examples.

        With the step `WarmLP.set_reference` later solves start from here, whatever their order.
        """
        # The costs are in units of what an example is worth on average, so that their
        # scale says nothing and C alone sets the trade with the l1 norm.
        total = weight.sum()
        unit = weight @ self.worth / total if total else 1.0
        factor = self.svm.C / (unit or 1.0)

        def one(rows, gaps, lp):
            if lp is None:
                return LPSolution(np.zeros(self.n_features), 0.0, 0.0, 0.0)
            return step(lp, factor * gaps * weight[rows])

        if len(self.problems) == 1:
            solved = [one(*self.problems[0])]
        else:
            solved = run_members(one, self.problems, n_jobs=self.svm.n_jobs, prefer="threads")
        return LinearSolution(
            coef=np.array([s.coef for s in solved]),
            intercept=np.array([s.intercept for s in solved]),
            objective=float(sum(s.objective for s in solved)),
            gap=float(max((s.objective - s.dual_objective) / (1 + s.objective) for s in solved)),
        )
