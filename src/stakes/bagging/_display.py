"""How the error falls and the costs settle as an ensemble grows."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from stakes.utils._optional import import_optional


def cost_changes(cost_history: np.ndarray) -> np.ndarray:
    """Return the Euclidean norm of the change of the costs from each round to the next.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.bagging._display import cost_changes
    >>> cost_changes(np.array([[1.0, 1.0], [1.0, 1.5], [1.3, 1.1]]))
    array([0.5, 0.5])
    """
    return np.linalg.norm(np.diff(cost_history, axis=0), axis=1)


@dataclass(kw_only=True, eq=False, repr=False)
class AdaptiveCostDisplay:
    """The error over the rounds, and the change of the costs: Figures 1 and 2 of bacing.

    Make it with `from_estimator`. A second ensemble, such as plain bagging, goes into the
    same axes by ``axes=display.axes_``.

    Parameters
    ----------
    errors : dict of str to ndarray of shape (n_rounds,)
        The error after each round, by what it was measured on.

    changes : ndarray of shape (n_rounds - 1,)
        The Euclidean norm of the change of the costs before each round from the second.

    name : str
        The ensemble, for the legend.

    Attributes
    ----------
    axes_ : ndarray of two Axes
        The errors, and the changes.

    figure_ : Figure
        The figure that contains them.

    lines_ : list of Line2D
        The curves.

    References
    ----------
    Y. Zhang and W. N. Street, "Bagging with Adaptive Costs", ICDM 2005, 825-828.

    Examples
    --------
    >>> from stakes.bagging import AdaptiveCostDisplay, BacingClassifier
    >>> X, y = [[0], [1], [2], [7], [8], [9]], [0, 0, 0, 1, 1, 1]
    >>> model = BacingClassifier(n_estimators=5, random_state=0).fit(X, y)
    >>> display = AdaptiveCostDisplay.from_estimator(model, [[3], [6]], [0, 1], plot=False)
    >>> sorted(display.errors), len(display.changes)
    (['out of bag', 'test'], 4)
    """

    errors: dict[str, np.ndarray]
    changes: np.ndarray
    name: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: Any = None,
        name: str | None = None,
        plot: bool = True,
        axes: Any = None,
    ) -> Self:
        """Measure a fitted ensemble after each round, and draw it unless `plot` is False.

        Parameters
        ----------
        estimator : BacingClassifier or ArcX4Classifier
            A fitted ensemble.
        X, y : array-like, default=None
            Examples that were not trained on, for the test error.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each of them counts.
        name : str, default=None
            For the legend; the name of the class if None.
        plot : bool, default=True
            Whether to draw at once.
        axes : sequence of two Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : AdaptiveCostDisplay
            What was measured.
        """
        check_is_fitted(estimator, "cost_history_")
        if (X is None) != (y is None):
            raise ValueError("Give both X and y for the test error, or neither.")
        known = {"out of bag": "oob_errors_", "training": "training_errors_"}
        errors = {
            measured: getattr(estimator, attribute)
            for measured, attribute in known.items()
            if hasattr(estimator, attribute)
        }
        if X is not None:
            wrong = [decided != np.asarray(y) for decided in estimator.staged_predict(X)]
            errors["test"] = np.average(wrong, axis=1, weights=sample_weight)
        name = type(estimator).__name__ if name is None else name
        display = cls(errors=errors, changes=cost_changes(estimator.cost_history_), name=name)
        return display.plot(axes=axes) if plot else display

    def plot(self, *, axes: Any = None, **kwargs: Any) -> Self:
        """Draw the two curves.

        Parameters
        ----------
        axes : sequence of two Axes, default=None
            Where to draw; a new figure if None.
        **kwargs : dict
            For `matplotlib.axes.Axes.plot`.

        Returns
        -------
        display : AdaptiveCostDisplay
            Itself.
        """
        pyplot = import_optional(
            "matplotlib.pyplot", extra="plot", purpose="AdaptiveCostDisplay.plot"
        )
        if axes is None:
            _, axes = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
        left, right = axes
        curves = [(left, 1, values, f"{self.name}, {by}") for by, values in self.errors.items()]
        curves.append((right, 2, self.changes, self.name))
        self.lines_ = []
        for axis, first, values, label in curves:
            rounds = np.arange(first, first + len(values))
            self.lines_ += axis.plot(rounds, values, label=label, **kwargs)
        for axis, what in ((left, "Error"), (right, "Change of the costs (norm)")):
            axis.set(xlabel="Round", ylabel=what, ylim=(0, None))
            axis.legend()
        self.axes_ = np.asarray([left, right], dtype=object)
        self.figure_ = left.figure
        return self
