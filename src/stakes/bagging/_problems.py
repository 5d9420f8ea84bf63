"""From a cost-sensitive problem of many classes to the linear programmes of an SVM."""

from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from stakes.bagging._lp import LPSolution, _WarmLP
from stakes.costs import Costs


def mean_excess(costs: np.ndarray) -> np.ndarray:
    """Return how much dearer than the best the other decisions are, on average, per row.

    It is what an example is worth to a learner that only takes one weight per example:
    1 under 0/1 costs, and the difference of the two costs where there are two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.bagging._problems import mean_excess
    >>> mean_excess(np.array([[0.0, 1.0, 1.0], [6.0, 2.0, 4.0]]))
    array([1., 3.])
    """
    least = costs.min(axis=1)
    return (costs - least[:, None]).sum(axis=1) / (costs.shape[1] - 1)


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
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Examples.
    training : Costs
        The costs in force.
    C : float
        The scale of the costs in the linear programmes.
    fit_intercept : bool
        Whether the hyperplanes have an offset.
    multi_class : {"ovo", "ovr"}
        How more than two classes are split.
    n_jobs : int or None
        Threads over the binary problems.
    """

    def __init__(
        self,
        X,
        training: Costs,
        *,
        C=1.0,
        fit_intercept=True,
        multi_class="ovo",
        n_jobs=None,
    ):
        self.C = C
        self.n_jobs = n_jobs
        self.n_features = X.shape[1]
        # A row per class where that is all there is to know, else a row per example.
        table = training.matrix if training.by_class else training.costs
        row_of = training.y if training.by_class else slice(None)
        self.worth = mean_excess(table)[row_of]
        self.problems: list[tuple[np.ndarray, np.ndarray, _WarmLP | None]] = []
        for classes in pairs_of(training.n_classes, multi_class):
            gaps = cost_gaps(table, classes)[row_of]
            rows = np.flatnonzero(gaps)
            lp = None
            if len(rows):
                part = X if len(rows) == len(gaps) else X[rows]
                lp = _WarmLP(part, np.sign(gaps[rows]), fit_intercept=fit_intercept)
            self.problems.append((rows, np.abs(gaps[rows]), lp))

    def set_reference(self, weight: np.ndarray) -> LinearSolution:
        """Solve for `weight`; later solves start from here, whatever their order."""
        return self._gather(weight, _WarmLP.set_reference)

    def solve(self, weight: np.ndarray) -> LinearSolution:
        """Solve every binary problem for these weights of the examples."""
        return self._gather(weight, _WarmLP.solve)

    def _gather(self, weight, step) -> LinearSolution:
        # The costs are in units of what an example is worth on average, so that their
        # scale says nothing and C alone sets the trade with the l1 norm.
        total = weight.sum()
        unit = weight @ self.worth / total if total else 1.0
        factor = self.C / unit if unit else self.C

        def one(rows, gaps, lp):
            if lp is None:
                return LPSolution(np.zeros(self.n_features), 0.0, 0.0, 0.0)
            return step(lp, factor * gaps * weight[rows])

        if len(self.problems) == 1:
            solved = [one(*self.problems[0])]
        else:
            solved = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(one)(*problem) for problem in self.problems
            )
        return LinearSolution(
            coef=np.array([s.coef for s in solved]),
            intercept=np.array([s.intercept for s in solved]),
            objective=float(sum(s.objective for s in solved)),
            gap=float(max((s.objective - s.dual_objective) / (1 + s.objective) for s in solved)),
        )
