"""How far the probabilities of each class can be taken at their word."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from stakes.decision._expected import check_proba
from stakes.utils._display import ProbabilityDisplay
from stakes.utils._labels import encode_labels


@dataclass(eq=False, repr=False)
class ClassCalibrationDisplay(ProbabilityDisplay):
    """One reliability curve per class: what was said, and how often it came true.

    Use `from_predictions` or `from_estimator` to make one; `plot` draws on `ax_`, of `figure_`.

    Parameters
    ----------
    said : list of ndarray
        For each class, the mean probability in each bin.
    came_true : list of ndarray
        For each class, its share among the examples of each bin.
    display_labels : array-like of shape (n_classes,)
        The class labels.

    Examples
    --------
    A model that says 0.9 and is right half of the time:

    >>> from stakes.decision import ClassCalibrationDisplay
    >>> display = ClassCalibrationDisplay.from_predictions(
    ...     [0, 1, 1, 0], [[0.9, 0.1]] * 2 + [[0.1, 0.9]] * 2, n_bins=2, plot=False)
    >>> display.said[1], display.came_true[1]
    (array([0.1, 0.9]), array([0.5, 0.5]))
    """

    said: list[np.ndarray]
    came_true: list[np.ndarray]
    _: KW_ONLY
    display_labels: Any

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        proba: Any,
        *,
        n_bins: int = 10,
        strategy: str = "quantile",
        labels: Any = None,
        **drawing: Any,
    ) -> Self:
        """Compute the curves from true classes and probabilities, and draw them.

        Parameters
        ----------
        y_true, proba : array-like of shape (n_samples,) and (n_samples, n_classes)
            The true classes, and what was said of them.
        n_bins : int, default=10
            Bins per class.
        strategy : {"quantile", "uniform"}, default="quantile"
            Bins of equal count or of equal width.
        labels : array-like of shape (n_classes,), default=None
            The classes in the order of the columns; sorted if None.
        **drawing
            ``plot=False`` only computes; ``ax`` says on which matplotlib Axes to draw.
        """
        from sklearn.calibration import calibration_curve

        labels, codes = encode_labels(y_true, labels)
        proba = np.clip(check_proba(proba, n_classes=len(labels)), 0.0, 1.0)
        how = {"n_bins": n_bins, "strategy": strategy}
        curves = [calibration_curve(codes == k, p, **how) for k, p in enumerate(proba.T)]
        came_true, said = (list(part) for part in zip(*curves))
        return cls(said, came_true, display_labels=labels)._drawn(**drawing)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw one curve per class; on the diagonal what was said came true."""
        ax = self._axes(ax)
        ax.plot([0, 1], [0, 1], ":", color="gray", label="perfectly calibrated")
        for name, mean, share in zip(self.display_labels, self.said, self.came_true):
            ax.plot(mean, share, "o-", markersize=4, label=str(name))
        ax.set(xlabel="probability said", ylabel="share that came true")
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        ax.legend()
        return self
