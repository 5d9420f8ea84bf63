"""The regions of a rule on the probability simplex of three classes."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np

from stakes.costs import Costs, class_prices
from stakes.costs.arithmetic import equal_risk_point
from stakes.decision._expected import check_proba
from stakes.decision._rule import BaseRule
from stakes.utils._display import Display
from stakes.utils._labels import encode_labels

# Where the corners p = (1, 0, 0), (0, 1, 0) and (0, 0, 1) are drawn.
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
COLOURS = ("#8fb8de", "#f4c095", "#a8d5a2")


@dataclass(eq=False, repr=False)
class SimplexDecisionDisplay(Display):
    """What a rule of three classes decides at every point of the probability simplex.

    Use `from_rule` to make one; `plot` draws on `ax_`, of `figure_`.

    Parameters
    ----------
    grid : ndarray of shape (n_points, 3)
        Probabilities that cover the simplex.
    decisions : ndarray of shape (n_points,)
        The decision at each, as a position in `display_labels`.
    display_labels : array-like of shape (3,)
        The classes, in the order of the columns of the probabilities.
    boundaries : list of ndarray of shape (2, 3), default=None
        The ends of each straight boundary between two regions; known for rules that have a
        `partition_` and for cost matrices.
    equal_risk_point : ndarray of shape (3,), default=None
        Where all decisions cost the same; may lie outside the simplex.
    proba : ndarray of shape (n_samples, 3), default=None
        Examples to draw as points.
    y : ndarray of shape (n_samples,), default=None
        Their classes, as positions in `display_labels`.

    Examples
    --------
    With 0/1 costs the three regions have the same size and meet in the middle:

    >>> from stakes.decision import SimplexDecisionDisplay
    >>> display = SimplexDecisionDisplay.from_rule(
    ...     [[0, 1, 1], [1, 0, 1], [1, 1, 0]], resolution=30, plot=False)
    >>> display.equal_risk_point.round(3)
    array([0.333, 0.333, 0.333])
    >>> display.shares().round(1)
    array([0.3, 0.3, 0.3])
    """

    grid: np.ndarray
    decisions: np.ndarray
    _: KW_ONLY
    display_labels: Any
    boundaries: list[np.ndarray] | None = None
    equal_risk_point: np.ndarray | None = None
    proba: np.ndarray | None = None
    y: np.ndarray | None = None
    proba_decisions: np.ndarray | None = field(default=None, init=False)

    @classmethod
    def from_rule(
        cls,
        rule: Any,
        *,
        proba: Any = None,
        y: Any = None,
        resolution: int = 150,
        display_labels: Any = None,
        **drawing: Any,
    ) -> Self:
        """Ask a rule, or the costs themselves, for its decisions all over the simplex.

        Parameters
        ----------
        rule : fitted rule, CostMatrix or array-like of shape (3, 3)
            A rule of `stakes.decision`; costs stand for the decisions of least expected cost.
        proba : array-like of shape (n_samples, 3), default=None
            Examples to draw as points.
        y : array-like of shape (n_samples,), default=None
            Their true classes: points that are decided otherwise are drawn as crosses.
        resolution : int, default=150
            How many points along each side of the simplex.
        display_labels : array-like of shape (3,), default=None
            Names of the classes; those of the rule if None.
        **drawing
            ``plot=False`` only computes; the rest is for `plot`.
        """
        if not hasattr(rule, "predict"):
            labels = getattr(rule, "labels", None)
            classes = np.arange(len(np.asarray(rule))) if labels is None else np.asarray(labels)
            matrix = class_prices(rule, classes=classes, warn=False, why="to be drawn")
            rule = BaseRule()._fit_checked(None, classes, Costs(np.arange(len(classes)), matrix))
        classes = np.asarray(rule.classes_)
        if len(classes) != 3:
            raise ValueError(
                "SimplexDecisionDisplay draws 3 classes in a triangle, but there are "
                f"{len(classes)}."
            )
        grid = simplex_grid(resolution)
        names = classes if display_labels is None else display_labels
        display = cls(grid, rule.decide(grid), display_labels=names)
        if not hasattr(rule, "deltas_"):
            display.boundaries = boundary_segments(rule.partition_)
            display.equal_risk_point = equal_risk_point(rule.partition_)[0]
        if proba is not None:
            display.proba = check_proba(proba, n_classes=3)
            display.proba_decisions = rule.decide(display.proba)
        if y is not None:
            display.y = encode_labels(y, classes)[1]
        return display._drawn(**drawing)

    def shares(self) -> np.ndarray:
        """Return the share of the simplex that each class is decided on."""
        return np.bincount(self.decisions, minlength=3) / len(self.decisions)

    def plot(
        self,
        *,
        ax: Any = None,
        regions: bool = True,
        linestyle: str = "-",
        color: str = "black",
        label: str | None = None,
    ) -> Self:
        """Draw the regions, their boundaries, the equal risk point and the examples.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a second display on the same axes adds its lines.
        regions : bool, default=True
            Whether to colour the regions.
        linestyle, color, label
            Of the boundaries.
        """
        ax = self._axes(ax)
        if regions:
            colours = np.array(COLOURS)[self.decisions]
            squares = {"s": 9, "marker": "s", "linewidths": 0, "rasterized": True, "zorder": 0}
            ax.scatter(*to_plane(self.grid).T, c=colours, **squares)
        ax.plot(*np.vstack([CORNERS, CORNERS[:1]]).T, color="black", linewidth=1)
        for number, ends in enumerate(self.boundaries or ()):
            once = label if number == 0 else None
            ax.plot(*to_plane(ends).T, linestyle, color=color, linewidth=1.5, label=once)
        point = self.equal_risk_point
        if point is not None and (point >= 0).all():
            ax.plot(*to_plane(point[None])[0], "o", color=color, markersize=5)
        self._draw_examples(ax)
        place = {"textcoords": "offset points", "ha": "center", "va": "center"}
        for corner, name, shift in zip(CORNERS, self.display_labels, ((-6, -6), (6, -6), (0, 6))):
            ax.annotate(str(name), corner, xytext=shift, **place)
        ax.set_aspect("equal")
        ax.axis("off")
        return self

    def _draw_examples(self, ax: Any) -> None:
        if self.proba is None:
            return
        where, decided = to_plane(self.proba), self.proba_decisions
        if self.y is None:
            ax.plot(*where.T, ".", color="black", markersize=3)
            return
        wrong = np.zeros(len(where), dtype=bool) if decided is None else decided != self.y
        for k, marker in enumerate("osv"):
            right = (self.y == k) & ~wrong
            ax.plot(*where[right].T, marker, color="black", markersize=3, mfc="none")
        ax.plot(*where[wrong].T, "x", color="crimson", markersize=4)


def simplex_grid(resolution: int) -> np.ndarray:
    """Return probabilities of three classes that cover the simplex evenly.

    They are the middles of small triangles, so that none lies on the border.
    """
    steps = np.arange(resolution)
    i, j = np.nonzero(np.add.outer(steps, steps) < resolution)
    first, second = (i + 1 / 3) / resolution, (j + 1 / 3) / resolution
    return np.column_stack([first, second, 1.0 - first - second])


def to_plane(proba: np.ndarray) -> np.ndarray:
    """Return where probabilities of three classes are drawn, (n, 2)."""
    return np.asarray(proba) @ CORNERS


def boundary_segments(matrix: np.ndarray) -> list[np.ndarray]:
    """Return the ends of the boundaries that a matrix draws on the simplex.

    Between decisions i and k it lies where eq. (6) of obrien2008 holds and no third
    decision is cheaper.
    """
    segments = []
    for i, k, other in ((1, 0, 2), (2, 0, 1), (2, 1, 0)):
        ends = _line_in_simplex(matrix[:, i] - matrix[:, k])
        # keep the part of the line where the third decision costs more
        further = ends @ (matrix[:, other] - matrix[:, i])
        if len(ends) < 2 or (further < 0).all():
            continue
        if further.min() < 0:
            share = further[0] / (further[0] - further[1])
            ends[further.argmin()] = ends[0] + share * (ends[1] - ends[0])
        segments.append(ends)
    return segments


def _line_in_simplex(difference: np.ndarray) -> np.ndarray:
    """Return the two points where ``p @ difference = 0`` meets the sides; fewer if it misses."""
    corners = np.eye(3)
    ends = []
    for a, b in ((0, 1), (1, 2), (2, 0)):
        if difference[a] * difference[b] < 0:
            share = difference[a] / (difference[a] - difference[b])
            ends.append((1 - share) * corners[a] + share * corners[b])
    ends += list(corners[difference == 0])
    return np.array(ends[:2]).reshape(-1, 3)
