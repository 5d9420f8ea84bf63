"""What each threshold of two classes costs."""

from typing import Any

import numpy as np

from stakes._learning.folds import as_splitter, split_folds
from stakes.costs import CostMatrix, make_costs
from stakes.costs.arithmetic import binary_threshold
from stakes.decision._crossfit import cross_fit
from stakes.decision._expected import check_proba
from stakes.decision._sweep import Examples, best_span, threshold_events
from stakes.utils._labels import encode_labels
from stakes.utils._optional import import_optional
from stakes.utils._sklearn import check_sample_weight


class ThresholdCostDisplay:
    """The average cost of every threshold, the theoretical and the best one marked.

    Use `from_predictions`, `from_estimator` or `from_cv` to make one.

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

    Attributes
    ----------
    ax_, figure_
        What `plot` drew on.

    Examples
    --------
    >>> from stakes.decision import ThresholdCostDisplay
    >>> proba = [[0.8, 0.2], [0.5, 0.5], [0.3, 0.7], [0.1, 0.9]]
    >>> display = ThresholdCostDisplay.from_predictions(
    ...     ["bad", "bad", "ok", "ok"], proba, cost_matrix=[[0, 3], [1, 0]], plot=False)
    >>> display.thresholds
    array([0. , 0.2, 0.5, 0.7, 0.9])
    >>> display.costs
    array([1.5 , 0.75, 0.  , 0.25, 0.5 ])
    >>> display.theoretical, round(display.empirical, 3)
    (0.75, 0.6)
    """

    def __init__(
        self, thresholds, costs, *, theoretical, empirical, span, fold_curves=(), positive=None
    ):
        self.thresholds = thresholds
        self.costs = costs
        self.theoretical = theoretical
        self.empirical = empirical
        self.span = span
        self.fold_curves = fold_curves
        self.positive = positive

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
        plot: bool = True,
        ax: Any = None,
    ) -> "ThresholdCostDisplay":
        """Compute the curve from probabilities of examples, and draw it unless `plot` is False.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            The true classes.
        proba : array-like of shape (n_samples, 2)
            Probabilities of examples that their model has not seen.
        cost_matrix, costs, sample_weight
            As in the `fit` of a rule.
        folds : array-like of shape (n_samples,), default=None
            The fold of each example, to see how far the curve moves between folds.
        labels : array-like of shape (2,), default=None
            The classes in the order of the columns; sorted if None.
        plot : bool, default=True
            Whether to draw at once.
        ax : matplotlib Axes, default=None
            Where to draw.
        """
        if labels is None and isinstance(cost_matrix, CostMatrix) and cost_matrix.labels:
            labels = np.unique(np.asarray(cost_matrix.labels))
        labels, codes = encode_labels(y_true, labels)
        if len(labels) != 2:
            raise ValueError(
                f"ThresholdCostDisplay is for 2 classes, but there are {len(labels)}: "
                "use CostCurveDisplay or SimplexDecisionDisplay."
            )
        proba = check_proba(proba, n_classes=2)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, proba, ensure_non_negative=True)
        training = make_costs(
            codes, classes=np.asarray(labels), cost_matrix=cost_matrix, costs=costs
        )

        def of_rows(rows):
            weight = None if sample_weight is None else sample_weight[rows]
            return Examples(training.take(rows), weight)

        everything = np.arange(len(codes))
        examples = of_rows(everything)
        thresholds, average = threshold_curve(proba[:, 1], examples)
        span = best_span(*threshold_events(proba[:, 1], examples), low=0.0, high=1.0)
        parts = []
        if folds is not None:
            folds = np.asarray(folds)
            for fold in np.unique(folds):
                rows = np.flatnonzero(folds == fold)
                parts.append(threshold_curve(proba[rows, 1], of_rows(rows)))
        display = cls(
            thresholds,
            average,
            theoretical=binary_threshold(training.class_matrix()),
            empirical=0.5 * (span.lower + span.upper),
            span=(span.lower, span.upper),
            fold_curves=parts,
            positive=labels[1],
        )
        return display.plot(ax=ax) if plot else display

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **params) -> "ThresholdCostDisplay":
        """Ask a fitted classifier for probabilities of X, then as `from_predictions`.

        The costs default to the estimator's own `cost_matrix_`.
        """
        if params.get("cost_matrix") is None and params.get("costs") is None:
            params["cost_matrix"] = getattr(estimator, "cost_matrix_", None)
        params.setdefault("labels", estimator.classes_)
        return cls.from_predictions(y, estimator.predict_proba(X), **params)

    @classmethod
    def from_cv(
        cls, estimator: Any, X: Any, y: Any, *, cv: Any = 3, n_jobs: int | None = None, **params
    ) -> "ThresholdCostDisplay":
        """Fit a classifier on folds and draw the curve of what was held out, one per fold too.

        Parameters
        ----------
        estimator : classifier
            Not yet fitted, with `predict_proba`.
        X, y : array-like
            The examples.
        cv : int, splitter or iterable, default=3
            The folds; a number deals the examples out at random, with a fixed seed.
        n_jobs : int, default=None
            Folds fitted at a time.
        **params : dict
            For `from_predictions`.
        """
        classes, codes = np.unique(np.asarray(y), return_inverse=True)
        labels = classes[codes]
        splits = split_folds(as_splitter(cv, labels), X, labels)
        proba, tested = cross_fit(estimator, X, labels, classes, splits, n_jobs=n_jobs)
        folds = np.full(len(labels), -1)
        for number, (_, test) in enumerate(splits):
            folds[test] = number
        rows = np.flatnonzero(tested)
        for name in ("costs", "sample_weight"):
            if params.get(name) is not None:
                params[name] = np.asarray(params[name])[rows]
        return cls.from_predictions(
            labels[rows], proba[rows], folds=folds[rows], labels=classes, **params
        )

    def plot(self, *, ax: Any = None) -> "ThresholdCostDisplay":
        """Draw the curve, its folds, and both thresholds."""
        plt = import_optional(
            "matplotlib.pyplot", extra="plot", purpose="ThresholdCostDisplay.plot"
        )
        if ax is None:
            _, ax = plt.subplots()
        for number, (thresholds, costs) in enumerate(self.fold_curves):
            ax.step(
                *_closed(thresholds, costs),
                where="post",
                color="silver",
                linewidth=1,
                label="each fold" if number == 0 else None,
            )
        ax.step(*_closed(self.thresholds, self.costs), where="post", color="black", label="cost")
        ax.axvspan(*self.span, color="tab:green", alpha=0.2)
        ax.axvline(self.empirical, color="tab:green", label=f"empirical, {self.empirical:.3g}")
        ax.axvline(
            self.theoretical,
            color="tab:red",
            linestyle="--",
            label=f"theoretical, {self.theoretical:.3g}",
        )
        name = "" if self.positive is None else f" of {self.positive}"
        ax.set(xlabel=f"threshold on the probability{name}", ylabel="average cost", xlim=(0, 1))
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self


def threshold_curve(p: np.ndarray, examples: Examples) -> tuple[np.ndarray, np.ndarray]:
    """Return the thresholds at which the average cost changes, and the cost from each on."""
    points, jumps, start = threshold_events(p, examples)
    levels, place = np.unique(points, return_inverse=True)
    steps = np.bincount(place, weights=jumps, minlength=len(levels))
    total = np.concatenate([[start], start + np.cumsum(steps)])
    return np.concatenate([[0.0], levels]), total / examples.total_weight


def _closed(thresholds, costs):
    return np.append(thresholds, 1.0), np.append(costs, costs[-1])
