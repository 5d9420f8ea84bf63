"""A confusion matrix in currency."""

from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from stakes.metrics._cost import _paid, _settle_labels
from stakes.utils._arrays import describe
from stakes.utils._labels import encode_labels
from stakes.utils._optional import import_optional


class CostMatrixDisplay:
    """Where the money goes: what the decisions of each kind cost in sum.

    Use `from_predictions` or `from_estimator` to make one.

    Parameters
    ----------
    costs : ndarray of shape (n_classes, n_classes)
        What the examples of true class t that were decided d cost in sum.
    counts : ndarray of shape (n_classes, n_classes)
        How many there are: the plain confusion matrix.
    display_labels : array-like of shape (n_classes,)
        The class labels.
    currency : str, default=""
        Written before each amount.

    Attributes
    ----------
    im_, ax_, figure_, text_
        What `plot` drew.

    Examples
    --------
    >>> from stakes.metrics import CostMatrixDisplay
    >>> display = CostMatrixDisplay.from_predictions(
    ...     [0, 0, 1, 1], [0, 1, 0, 0], cost_matrix=[[0, 10], [1000, 0]], plot=False)
    >>> display.costs
    array([[   0.,   10.],
           [2000.,    0.]])
    """

    def __init__(self, costs, counts, *, display_labels, currency=""):
        self.costs = costs
        self.counts = counts
        self.display_labels = display_labels
        self.currency = currency

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        cost_matrix: Any = None,
        costs: Any = None,
        cost_tensor: Any = None,
        sample_weight: Any = None,
        labels: Any = None,
        currency: str = "",
        plot: bool = True,
        ax: Any = None,
    ) -> "CostMatrixDisplay":
        """Compute the costs from decisions, and draw them unless `plot` is False.

        Parameters
        ----------
        y_true, y_pred, cost_matrix, costs, cost_tensor, sample_weight, labels
            As in `stakes.metrics.total_cost`.
        currency : str, default=""
            Written before each amount.
        plot : bool, default=True
            Whether to draw at once.
        ax : matplotlib Axes, default=None
            Where to draw.
        """
        labels = _settle_labels(labels, cost_matrix, y_true, y_pred)
        given = {"cost_matrix": cost_matrix, "costs": costs, "cost_tensor": cost_tensor}
        paid, weight = _paid(y_true, y_pred, labels, sample_weight, **given)
        if weight is not None:
            paid = paid * weight
        _, true = encode_labels(y_true, labels)
        _, decided = encode_labels(y_pred, labels)
        sums = np.zeros((len(labels), len(labels)))
        np.add.at(sums, (true, decided), paid)
        counts = confusion_matrix(
            true, decided, labels=np.arange(len(labels)), sample_weight=weight
        )
        display = cls(sums, counts, display_labels=labels, currency=currency)
        return display.plot(ax=ax) if plot else display

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **params) -> "CostMatrixDisplay":
        """Decide on X by `estimator`, then as `from_predictions`.

        The costs default to the estimator's own `cost_matrix_`.
        """
        given = ("cost_matrix", "costs", "cost_tensor")
        if all(params.get(name) is None for name in given):
            params["cost_matrix"] = getattr(estimator, "cost_matrix_", None)
        params.setdefault("labels", getattr(estimator, "classes_", None))
        return cls.from_predictions(y, estimator.predict(X), **params)

    def plot(self, *, ax: Any = None, cmap: str = "Reds") -> "CostMatrixDisplay":
        """Draw the matrix: amounts, and the number of examples beneath them."""
        plt = import_optional("matplotlib.pyplot", extra="plot", purpose="CostMatrixDisplay.plot")
        if ax is None:
            _, ax = plt.subplots()
        n_classes = len(self.display_labels)
        self.im_ = ax.imshow(self.costs, cmap=cmap)
        middle = (self.costs.min() + self.costs.max()) / 2
        self.text_ = np.empty((n_classes, n_classes), dtype=object)
        for t in range(n_classes):
            for d in range(n_classes):
                self.text_[t, d] = ax.text(
                    d,
                    t,
                    f"{self.currency}{describe(self.costs[t, d])}\n{self.counts[t, d]:g}",
                    ha="center",
                    va="center",
                    color="white" if self.costs[t, d] > middle else "black",
                )
        ax.set(
            xticks=np.arange(n_classes),
            yticks=np.arange(n_classes),
            xticklabels=self.display_labels,
            yticklabels=self.display_labels,
            xlabel="predicted",
            ylabel="true",
            title=f"cost {self.currency}{describe(self.costs.sum())}",
        )
        ax.figure.colorbar(self.im_, ax=ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
