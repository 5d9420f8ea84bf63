"""What each threshold of two classes costs."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from stakes._learning.folds import as_splitter, split_folds
from stakes.costs import CostMatrix, make_costs
from stakes.costs.arithmetic import binary_threshold
from stakes.decision._crossfit import cross_fit
from stakes.decision._rule import check_examples
from stakes.decision._sweep import Examples, best_span, threshold_events
from stakes.utils._display import ProbabilityDisplay


@dataclass(eq=False, repr=False)
class ThresholdCostDisplay(ProbabilityDisplay):
    """The average cost of every threshold, the theoretical and the best one marked.

    Use `from_predictions`, `from_estimator` or `from_cv` to make one; `plot` draws on `ax_`, of
    `figure_`.

    Parameters
    ----------
    thresholds : ndarray of shape (m,)
        Ascending, from 0; ``costs[k]`` holds from ``thresholds[k]`` to the next.
    costs : ndarray of shape (m,)
        The average cost of deciding the second class above the threshold.
    theoretical : float
        The threshold that follows from the costs, c*.
    empirical : float
        The middle of the widest span of least cost.
    span : tuple of float
        That span.
    fold_curves : list of (thresholds, costs), default=()
        The same curve in each fold.
    positive : object, default=None
        The label of the second class.

    Examples
    --------
    >>> from stakes.costs import CostMatrix
    >>> from stakes.decision import ThresholdCostDisplay
    >>> C = CostMatrix.binary(fp=3, fn=1, labels=["bad", "ok"])
    >>> proba = [[0.8, 0.2], [0.5, 0.5], [0.3, 0.7], [0.1, 0.9]]
    >>> display = ThresholdCostDisplay.from_predictions(
    ...     ["bad", "bad", "ok", "ok"], proba, cost_matrix=C, plot=False)
    >>> display.thresholds
    array([0. , 0.2, 0.5, 0.7, 0.9])
    >>> display.costs
    array([1.5 , 0.75, 0.  , 0.25, 0.5 ])
    >>> display.theoretical, round(display.empirical, 3)
    (0.75, 0.6)
    """

    thresholds: np.ndarray
    costs: np.ndarray
    _: KW_ONLY
    theoretical: float
    empirical: float
    span: tuple[float, float]
    fold_curves: Sequence[tuple[np.ndarray, np.ndarray]] = ()
    positive: Any = None

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        proba: Any,
        *,
        cost_matrix: Any = None,
        costs: Any = None,
        sample_weight: Any = None,
        folds: Any = None,
        labels: Any = None,
        **drawing: Any,
    ) -> Self:
        """Compute the curve from held-out probabilities of two classes, and draw it.

        Parameters
        ----------
        y_true, proba, cost_matrix, costs, sample_weight
            As in the `fit` of a rule such as `BinaryThreshold`.
        folds : array-like of shape (n_samples,), default=None
            The fold of each example, to see how far the curve moves between folds.
        labels : array-like of shape (2,), default=None
            The classes in the order of the columns; sorted if None.
        **drawing
            ``plot=False`` only computes; ``ax`` says on which matplotlib Axes to draw.
        """
        if labels is None and isinstance(cost_matrix, CostMatrix) and cost_matrix.labels:
            labels = np.unique(np.asarray(cost_matrix.labels))
        in_order = labels is not None
        labels = np.asarray(labels) if in_order else np.unique(np.asarray(y_true))
        if len(labels) != 2:
            raise ValueError(
                f"ThresholdCostDisplay is for 2 classes, but there are {len(labels)}: "
                "use CostCurveDisplay or SimplexDecisionDisplay."
            )
        proba, codes, weight = check_examples(proba, y_true, labels, sample_weight)
        given = {"cost_matrix": cost_matrix, "costs": costs}
        priced = make_costs(codes, classes=labels, **given, in_order=in_order)

        def curve(rows):
            here = Examples(priced.take(rows), None if weight is None else weight[rows])
            return threshold_curve(proba[rows, 1], here)

        folds = np.zeros(0) if folds is None else np.asarray(folds)
        span = best_span(
            *threshold_events(proba[:, 1], Examples(priced, weight)), low=0.0, high=1.0
        )
        return cls(
            *curve(slice(None)),
            theoretical=binary_threshold(priced.class_matrix()),
            empirical=0.5 * (span.lower + span.upper),
            span=(span.lower, span.upper),
            fold_curves=[curve(np.flatnonzero(folds == fold)) for fold in np.unique(folds)],
            positive=labels[1],
        )._drawn(**drawing)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **params: Any) -> Self:
        """Ask a fitted classifier for probabilities of X, then as `from_predictions`.

        The costs default to the estimator's own `cost_matrix_`.
        """
        if params.get("cost_matrix") is None and params.get("costs") is None:
            params["cost_matrix"] = getattr(estimator, "cost_matrix_", None)
        return super().from_estimator(estimator, X, y, **params)

    @classmethod
    def from_cv(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        cv: Any = 3,
        n_jobs: int | None = None,
        **params: Any,
    ) -> Self:
        """Fit a classifier on folds and draw the curve of what was held out, one per fold too.

        Parameters
        ----------
        estimator : classifier
            Not yet fitted, with `predict_proba`.
        X, y : array-like
            The examples.
        cv : int, splitter or iterable, default=3
            The folds; a number spreads the examples at random, with a fixed seed.
        n_jobs : int, default=None
            Folds fitted at a time.
        **params : dict
            For `from_predictions`.
        """
        y = np.asarray(y)
        classes = np.unique(y)
        splits = split_folds(as_splitter(cv, y), X, y)
        proba, tested = cross_fit(estimator, X, y, classes, splits, n_jobs=n_jobs)
        folds = np.full(len(y), -1)
        for number, (_, test) in enumerate(splits):
            folds[test] = number
        rows = np.flatnonzero(tested)
        for name in ("costs", "sample_weight"):
            if params.get(name) is not None:
                params[name] = np.asarray(params[name])[rows]
        params |= {"folds": folds[rows], "labels": classes}
        return cls.from_predictions(y[rows], proba[rows], **params)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the curve, its folds, and both thresholds."""
        ax = self._axes(ax)
        for number, curve in enumerate(self.fold_curves):
            label = "each fold" if number == 0 else None
            ax.step(*_closed(*curve), where="post", color="silver", linewidth=1, label=label)
        ax.step(*_closed(self.thresholds, self.costs), where="post", color="black", label="cost")
        ax.axvspan(*self.span, color="tab:green", alpha=0.2)
        ax.axvline(self.empirical, color="tab:green", label=f"empirical, {self.empirical:.3g}")
        label = f"theoretical, {self.theoretical:.3g}"
        ax.axvline(self.theoretical, color="tab:red", linestyle="--", label=label)
        name = "" if self.positive is None else f" of {self.positive}"
        ax.set(xlabel=f"threshold on the probability{name}", ylabel="average cost", xlim=(0, 1))
        ax.legend()
        return self


def threshold_curve(p: np.ndarray, examples: Examples) -> tuple[np.ndarray, np.ndarray]:
    """Return the thresholds at which the average cost changes, and the cost from each on."""
    points, jumps, start = threshold_events(p, examples)
    levels, place = np.unique(points, return_inverse=True)
    steps = np.bincount(place, weights=jumps, minlength=len(levels))
    total = np.concatenate([[start], start + np.cumsum(steps)])
    return np.concatenate([[0.0], levels]), total / examples.total_weight


def _closed(thresholds: np.ndarray, costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.append(thresholds, 1.0), np.append(costs, costs[-1])
