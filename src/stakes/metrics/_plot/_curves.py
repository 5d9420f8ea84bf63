"""Displays of what decisions are worth along a path of prices."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from stakes.metrics._worth import PriceCurve, brier_curve, cost_curve, decision_curve
from stakes.utils._display import ProbabilityDisplay


@dataclass(eq=False, repr=False)
class PriceCurveDisplay(ProbabilityDisplay):
    """Base of the displays of curves along a path of prices.

    Parameters
    ----------
    curve : PriceCurve
        What to draw.
    name : str, default="model"
        What to call it.
    """

    curve: PriceCurve
    name: str = "model"

    _compute: ClassVar[Callable[..., PriceCurve]]

    @classmethod
    def from_predictions(
        cls, y_true: Any, proba: Any, *, name: str = "model", plot: bool = True, ax: Any = None,
        **params: Any,
    ) -> Self:  # fmt: skip
        """Compute the curve, with a band of 500 resamples unless told otherwise, and draw it.

        Parameters
        ----------
        y_true, proba
            As in the function of the curve.
        name : str, default="model"
            What to call it.
        plot : bool, default=True
            Whether to draw.
        ax : matplotlib Axes, default=None
            Where to.
        **params
            Those of the function of the curve.
        """
        params.setdefault("n_bootstrap", 500)
        display = cls(cls._compute(y_true, proba, **params), name)
        return display.plot(ax=ax) if plot else display

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the curve with its band, and deciding the same for all."""
        ax, curve = self._axes(ax), self.curve
        (line,) = ax.plot(curve.positions, curve.values, label=self.name)
        if curve.low is not None:
            ax.fill_between(
                curve.positions, curve.low, curve.high, alpha=0.2, color=line.get_color()
            )
        for label, values in zip(curve.labels, curve.same_for_all.T):
            ax.plot(curve.positions, values, ":", label=f"{label} for everybody")
        ax.set(xlabel=curve.xlabel, ylabel=self._ylabel(), xlim=curve.positions[[0, -1]])
        ax.set_ylim(*self._limits())
        ax.legend()
        return self

    def _ylabel(self) -> str:
        return "net benefit" if self.curve.kind == "net benefit" else "average cost"

    def _limits(self) -> tuple[float, float]:
        """Return the range of what matters: a decision for everybody may be worth minus anything."""
        shown = [self.curve.values, self.curve.best_for_all]
        shown += [band for band in (self.curve.low, self.curve.high) if band is not None]
        low, high = min(v.min() for v in shown), max(v.max() for v in shown)
        margin = 0.05 * (high - low or 1.0)
        return float(low - margin), float(high + margin)


class DecisionCurveDisplay(PriceCurveDisplay):
    """Net benefit of deciding by probabilities, beside deciding the same for all.

    Use `from_predictions` or `from_estimator` to make one; `plot` draws on `ax_`, of `figure_`. The
    parameters are those of `stakes.metrics.decision_curve`.

    Parameters
    ----------
    curve : PriceCurve
        What to draw.
    name : str, default="model"
        What to call it.

    Examples
    --------
    >>> from stakes.metrics import DecisionCurveDisplay
    >>> proba = [[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]]
    >>> display = DecisionCurveDisplay.from_predictions([0, 0, 1, 1], proba, n_points=3, plot=False)
    >>> display.curve.values.round(3)
    array([0.417, 0.5  , 0.25 ])
    """

    _compute = staticmethod(decision_curve)


class BrierCurveDisplay(PriceCurveDisplay):
    """What decisions of least expected cost really cost, beside the best and the same for all.

    Use `from_predictions` or `from_estimator` to make one; `plot` draws on `ax_`, of `figure_`. The
    parameters are those of `stakes.metrics.brier_curve`. The dashed line is `cost_curve`: the
    least that the same probabilities, better calibrated, could cost.

    Parameters
    ----------
    curve : PriceCurve
        What to draw.
    name : str, default="model"
        What to call it.
    least : PriceCurve, default=None
        The cost curve.

    Examples
    --------
    >>> from stakes.metrics import BrierCurveDisplay
    >>> y, proba = [0, 0, 1, 1], [[0.9, 0.1], [0.9, 0.1], [0.7, 0.3], [0.7, 0.3]]
    >>> display = BrierCurveDisplay.from_predictions(y, proba, n_points=3, plot=False)
    >>> display.curve.values, display.least.values
    (array([0. , 0.5, 0. ]), array([0., 0., 0.]))
    """

    _compute = staticmethod(brier_curve)

    def __init__(self, curve: PriceCurve, name: str = "model", least: PriceCurve | None = None):
        super().__init__(curve, name)
        self.least = least

    @classmethod
    def from_predictions(
        cls, y_true: Any, proba: Any, *, plot: bool = True, **params: Any
    ) -> Self:
        """Compute the Brier curve and the cost curve, and draw them; see `PriceCurveDisplay`."""
        ax = params.pop("ax", None)
        display = super().from_predictions(y_true, proba, plot=False, **params)
        params.pop("name", None)
        display.least = cost_curve(y_true, proba, **{**params, "n_bootstrap": 0})
        return display.plot(ax=ax) if plot else display

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the curves."""
        super().plot(ax=ax)
        if self.least is not None:
            self.ax_.plot(
                self.least.positions, self.least.values, "--", label="better calibrated, at best"
            )
            self.ax_.legend()
        return self
