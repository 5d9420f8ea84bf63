"""A confusion matrix in currency."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from stakes.costs import CostMatrix
from stakes.metrics._cost import _paid, _settle_axes
from stakes.utils._arrays import describe
from stakes.utils._display import Display
from stakes.utils._frames import one_column
from stakes.utils._labels import encode_labels


@dataclass(eq=False, repr=False)
class CostMatrixDisplay(Display):
    """Where the money goes: what the decisions of each kind cost in sum.

    Use `from_predictions` or `from_estimator` to make one.

    Parameters
    ----------
    costs : ndarray of shape (n_classes, n_decisions)
        What the examples of true class t that were decided d cost in sum.
    counts : ndarray of shape (n_classes, n_decisions)
        How many there are: the plain confusion matrix.
    display_labels : array-like of shape (n_classes,)
        The class labels.
    display_decisions : array-like of shape (n_decisions,), default=None
        The decisions, where these are not the classes.
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

    costs: np.ndarray
    counts: np.ndarray
    _: KW_ONLY
    display_labels: Any
    display_decisions: Any = None
    currency: str = ""

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
        **drawing: Any,
    ) -> Self:
        """Compute the costs from decisions, and draw them.

        Parameters
        ----------
        y_true, y_pred, cost_matrix, costs, cost_tensor, sample_weight, labels
            As in `stakes.metrics.total_cost`.
        currency : str, default=""
            Written before each amount.
        **drawing
            ``plot=False`` only computes; ``ax`` says on which matplotlib Axes to draw.
        """
        given = {"cost_matrix": cost_matrix, "costs": costs, "cost_tensor": cost_tensor}
        y_true, y_pred = one_column(y_true), one_column(y_pred)
        labels, decisions = _settle_axes(labels, y_true, [y_pred], **given)
        paid, weight = _paid(y_true, y_pred, labels, sample_weight, **given)
        columns = labels if decisions is None else decisions
        true, decided = encode_labels(y_true, labels)[1], encode_labels(y_pred, columns)[1]
        counts = np.zeros((len(labels), len(columns)), dtype=int if weight is None else float)
        np.add.at(counts, (true, decided), 1 if weight is None else weight)
        sums = np.zeros(counts.shape)
        np.add.at(sums, (true, decided), paid if weight is None else paid * weight)
        shown: dict = {"display_labels": labels, "display_decisions": decisions}
        return cls(sums, counts, **shown, currency=currency)._drawn(**drawing)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **params: Any) -> Self:
        """Decide on X by `estimator`, then as `from_predictions`.

        The costs default to the estimator's own `cost_matrix_`.
        """
        given = ("cost_matrix", "costs", "cost_tensor")
        if all(params.get(name) is None for name in given):
            params["cost_matrix"] = _own_prices(estimator)
        params.setdefault("labels", getattr(estimator, "classes_", None))
        return cls.from_predictions(y, estimator.predict(X), **params)

    def plot(self, *, ax: Any = None, cmap: str = "Reds") -> Self:
        """Draw the matrix: amounts, and the number of examples beneath them."""
        ax = self._axes(ax)
        self.im_ = ax.imshow(self.costs, cmap=cmap)
        middle = (self.costs.min() + self.costs.max()) / 2
        self.text_ = np.empty(self.costs.shape, dtype=object)
        for (t, d), cost in np.ndenumerate(self.costs):
            text = f"{self.currency}{describe(cost)}\n{self.counts[t, d]:g}"
            color = "white" if cost > middle else "black"
            self.text_[t, d] = ax.text(d, t, text, ha="center", va="center", color=color)
        square = self.display_decisions is None
        columns = self.display_labels if square else self.display_decisions
        ax.set_yticks(np.arange(len(self.costs)), self.display_labels)
        ax.set_xticks(np.arange(self.costs.shape[1]), columns)
        title = f"cost {self.currency}{describe(self.costs.sum())}"
        ax.set(xlabel="predicted" if square else "decided", ylabel="true", title=title)
        ax.figure.colorbar(self.im_, ax=ax)
        return self


def _own_prices(estimator: Any) -> Any:
    """Return the class costs of an estimator, with the names of decisions that are no classes."""
    prices = getattr(estimator, "cost_matrix_", None)
    named = getattr(estimator, "_priced_decisions", None)
    return prices if named is None else CostMatrix(prices, estimator.classes_, named)
