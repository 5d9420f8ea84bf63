"""Cost curves: how decisions fare as the costs change."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from stakes.costs import Choices, read_cost_matrix
from stakes.decision._expected import check_proba, decide
from stakes.utils._display import ProbabilityDisplay
from stakes.utils._labels import encode_labels
from stakes.utils._sklearn import check_sample_weight


@dataclass(eq=False, repr=False)
class CostCurveDisplay(ProbabilityDisplay):
    """The cost of several ways to decide, all the way between two cost matrices.

    For two classes this is the cost curve of Drummond and Holte: from false alarms alone to
    misses alone, the class shares taken into the axis. For more classes it runs along the
    line between any two matrices. Use `from_predictions` or `from_estimator` to make one; `plot`
    draws on `ax_`, of `figure_`.

    Parameters
    ----------
    positions : ndarray of shape (m,)
        From 0, the first matrix, to 1, the second.
    curves : dict of str to ndarray of shape (m,)
        The average cost of each way to decide.
    xlabel, ylabel : str
        What the axes mean.

    References
    ----------
    .. [1] C. Drummond and R. C. Holte, "Cost Curves: An Improved Method for Visualizing
       Classifier Performance", Machine Learning 65, 2006, 95-130.

    Examples
    --------
    One of two negatives and none of the positives is mistaken at 0.5, so deciding the most
    probable class costs half the price of a false alarm:

    >>> from stakes.decision import CostCurveDisplay
    >>> proba = [[0.4, 0.6], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]]
    >>> display = CostCurveDisplay.from_predictions([0, 0, 1, 1], proba, n_points=3, plot=False)
    >>> display.curves["most probable class"]
    array([0.5 , 0.25, 0.  ])
    >>> display.curves["best threshold"]
    array([0., 0., 0.])
    >>> display.curves["best constant decision"]
    array([0. , 0.5, 0. ])
    """

    positions: np.ndarray
    curves: dict[str, np.ndarray]
    _: KW_ONLY
    xlabel: str
    ylabel: str = "average cost"

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        proba: Any,
        *,
        cost_matrices: Any = None,
        rules: dict | None = None,
        labels: Any = None,
        sample_weight: Any = None,
        n_points: int = 101,
        **drawing: Any,
    ) -> Self:
        """Compute what each way to decide costs along the line, and draw it.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            The true classes.
        proba : array-like of shape (n_samples, n_classes)
            Class probabilities.
        cost_matrices : pair of cost matrices, default=None
            Where the line begins and ends. If None, for two classes only: false alarms alone,
            then misses alone, each as a share of its class.
        rules : dict of str to fitted rule, default=None
            Rules whose decisions, fixed, are drawn as further curves.
        labels : array-like of shape (n_classes,), default=None
            The classes in the order of the columns; sorted if None.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each example counts.
        n_points : int, default=101
            Places along the line.
        **drawing
            ``plot=False`` only computes; ``ax`` says on which matplotlib Axes to draw.
        """
        labels, codes = encode_labels(y_true, labels)
        n_classes, choices = len(labels), None
        proba = check_proba(proba, n_classes=n_classes)
        weight = check_sample_weight(sample_weight, proba, ensure_non_negative=True)
        if cost_matrices is None:
            if n_classes != 2:
                raise ValueError(
                    f"There are {n_classes} classes: say the two cost_matrices to go between."
                )
            # each class counts 1 in sum: the shares of the classes are in the axis
            weight = weight / np.bincount(codes, weights=weight, minlength=2)[codes]
            ends = [np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]])]
            axes = [f"probability cost of {labels[1]}", "normalised expected cost"]
            total = 1.0
        else:
            how: dict[str, Any] = {"classes": np.asarray(labels), "y": y_true, "warn": False}
            first, named = read_cost_matrix(cost_matrices[0], **how)
            ends = [first, read_cost_matrix(cost_matrices[1], **how, decisions=named)[0]]
            choices = Choices.of(named, labels)
            axes = ["from the first matrix (0) to the second (1)", "average cost"]
            total = weight.sum()
        positions = np.linspace(0.0, 1.0, n_points)
        prices = np.multiply.outer(1 - positions, ends[0]) + np.multiply.outer(positions, ends[1])

        def along(decided, prices=prices):
            """Return what decisions cost at each place of the line."""
            paid = np.zeros(prices.shape[-2:])
            np.add.at(paid, (codes, decided), weight / total)
            return np.einsum("td,...td->...", paid, prices)

        plug_in = [along(_decide(proba, matrix, codes, weight), matrix) for matrix in prices]
        constant = [along(np.full(len(codes), d)) for d in range(prices.shape[2])]
        likeliest = proba.argmax(axis=1)
        if choices is None:
            usual = along(likeliest)
        else:  # each followed by its cheapest decision
            usual = np.array([along(m.argmin(axis=1)[likeliest], m) for m in prices])
        curves = {
            "most probable class": usual,
            "least expected cost": np.array(plug_in),
            "best constant decision": np.min(constant, axis=0),
        }
        if n_classes == 2 and choices is None:
            curves["best threshold"] = _lower_envelope(proba[:, 1], codes, weight / total, prices)
        for name, rule in (rules or {}).items():
            curves[name] = along(rule.decide(proba))
        return cls(positions, curves, xlabel=axes[0], ylabel=axes[1])._drawn(**drawing)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the curves."""
        ax = self._axes(ax)
        for name, costs in self.curves.items():
            dotted = name == "best constant decision"
            ax.plot(self.positions, costs, ":" if dotted else "-", label=name)
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel, xlim=(0, 1))
        ax.set_ylim(bottom=0 if min(c.min() for c in self.curves.values()) >= 0 else None)
        ax.legend()
        return self


def _decide(proba, costs, codes, weight):
    """Decide at least expected cost, the shares of the classes being those of the weights.

    On the axis of Drummond and Holte every class counts the same: the probabilities are
    reweighted to that, as they would be for a population of such shares.
    """
    share = np.bincount(codes, minlength=len(costs)) / len(codes)
    counted = np.bincount(codes, weights=weight, minlength=len(costs)) / weight.sum()
    factor = np.divide(counted, share, out=np.ones_like(share), where=share > 0)
    return decide(proba * factor, costs)


def _lower_envelope(p, codes, weight, prices):
    """Return the least cost over all thresholds for each matrix."""
    levels, place = np.unique(p, return_inverse=True)
    negative = np.zeros((len(levels) + 1, 2))  # [threshold, true]: decided negative
    np.add.at(negative, (place + 1, codes), weight)
    negative = negative.cumsum(axis=0)
    counts = np.stack([negative, negative[-1] - negative], axis=2)  # [threshold, true, decided]
    return np.einsum("ktd,mtd->mk", counts, prices).min(axis=1)
