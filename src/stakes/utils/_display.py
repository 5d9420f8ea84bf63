"""What the displays share: they compute first, and draw when asked to."""

from typing import Any, Self

from stakes.utils._optional import import_optional


class Display:
    """Base of the displays; a subclass writes `plot`."""

    ax_: Any
    figure_: Any

    def plot(self, *, ax: Any = None) -> Self:
        """Draw on `ax`, or on new axes."""
        raise NotImplementedError

    def _axes(self, ax: Any) -> Any:
        """Return where to draw: `ax`, or new axes; they are kept as `ax_` and `figure_`."""
        purpose = f"{type(self).__name__}.plot"
        plt = import_optional("matplotlib.pyplot", extra="plot", purpose=purpose)
        self.ax_ = plt.subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_

    def _drawn(self, plot: bool = True, **style: Any) -> Self:
        """Draw, unless `plot` is False: what a class method does in the end."""
        return self.plot(**style) if plot else self


class ProbabilityDisplay(Display):
    """Base of the displays of class probabilities; a subclass writes `from_predictions`."""

    @classmethod
    def from_predictions(cls, y_true: Any, proba: Any, **params: Any) -> Self:
        """Compute from probabilities, and draw unless ``plot=False`` is given."""
        raise NotImplementedError

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **params: Any) -> Self:
        """Ask a fitted classifier for probabilities of X, then as `from_predictions`."""
        params.setdefault("labels", estimator.classes_)
        return cls.from_predictions(y, estimator.predict_proba(X), **params)
