"""How far the probabilities of each class can be taken at their word."""

from typing import Any

import numpy as np

from stakes.decision._expected import check_proba
from stakes.utils._labels import encode_labels
from stakes.utils._optional import import_optional


class ClassCalibrationDisplay:
    """One reliability curve per class: what was said, and how often it came true.

    Use `from_predictions` or `from_estimator` to make one.

    Parameters
    ----------
    said : list of ndarray
        For each class, the mean probability in each bin.
    came_true : list of ndarray
        For each class, its share among the examples of each bin.
    display_labels : array-like of shape (n_classes,)
        The class labels.

    Attributes
    ----------
    ax_, figure_
        What `plot` drew on.

    Examples
    --------
    A model that says 0.9 and is right half of the time:

    >>> from stakes.decision import ClassCalibrationDisplay
    >>> display = ClassCalibrationDisplay.from_predictions(
    ...     [0, 1, 1, 0], [[0.9, 0.1]] * 2 + [[0.1, 0.9]] * 2, n_bins=2, plot=False)
    >>> display.said[1], display.came_true[1]
    (array([0.1, 0.9]), array([0.5, 0.5]))
    """

    def __init__(self, said, came_true, *, display_labels):
        self.said = said
        self.came_true = came_true
        self.display_labels = display_labels

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        proba: Any,
        *,
        n_bins: int = 10,
        strategy: str = "quantile",
        labels: Any = None,
        plot: bool = True,
        ax: Any = None,
    ) -> "ClassCalibrationDisplay":
        """Compute the curves from probabilities, and draw them unless `plot` is False.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            The true classes.
        proba : array-like of shape (n_samples, n_classes)
            Class probabilities.
        n_bins : int, default=10
            Bins per class.
        strategy : {"quantile", "uniform"}, default="quantile"
            Bins of equal count or of equal width.
        labels : array-like of shape (n_classes,), default=None
            The classes in the order of the columns; sorted if None.
        plot : bool, default=True
            Whether to draw at once.
        ax : matplotlib Axes, default=None
            Where to draw.
        """
        from sklearn.calibration import calibration_curve

        labels, codes = encode_labels(y_true, labels)
        proba = np.clip(check_proba(proba, n_classes=len(labels)), 0.0, 1.0)
        said, came_true = [], []
        for k in range(len(labels)):
            share, mean = calibration_curve(
                codes == k, proba[:, k], n_bins=n_bins, strategy=strategy
            )
            said.append(mean)
            came_true.append(share)
        display = cls(said, came_true, display_labels=labels)
        return display.plot(ax=ax) if plot else display

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **params) -> "ClassCalibrationDisplay":
        """Ask a fitted classifier for probabilities of X, then as `from_predictions`."""
        params.setdefault("labels", estimator.classes_)
        return cls.from_predictions(y, estimator.predict_proba(X), **params)

    def plot(self, *, ax: Any = None) -> "ClassCalibrationDisplay":
        """Draw one curve per class; on the diagonal what was said came true."""
        plt = import_optional(
            "matplotlib.pyplot", extra="plot", purpose="ClassCalibrationDisplay.plot"
        )
        if ax is None:
            _, ax = plt.subplots()
        ax.plot([0, 1], [0, 1], ":", color="gray", label="perfectly calibrated")
        for name, mean, share in zip(self.display_labels, self.said, self.came_true):
            ax.plot(mean, share, "o-", markersize=4, label=str(name))
        ax.set(
            xlabel="probability said",
            ylabel="share that came true",
            xlim=(0, 1),
            ylim=(0, 1),
            aspect="equal",
        )
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
