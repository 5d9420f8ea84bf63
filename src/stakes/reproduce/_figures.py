"""The figures of zhang2005 and obrien2008, drawn from this library's own results."""

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import multivariate_normal
from sklearn.neighbors import KNeighborsClassifier

from stakes.decision import SimplexDecisionDisplay, decide
from stakes.decision._plot._simplex import to_plane
from stakes.utils._arrays import quoted
from stakes.utils._files import write_atomically
from stakes.utils._optional import import_optional

ZERO_ONE = 1.0 - np.eye(3)


def draw_figure(paper: str, name: str) -> Any:
    """Return a figure of a paper as a matplotlib Figure.

    Parameters
    ----------
    paper : str
        Such as ``"obrien2008"``.
    name : str
        Such as ``"figure1"``.
    """
    there = FIGURES.get(paper, {})
    if name not in there:
        known = f"it has {quoted(there)}" if there else "it has none"
        raise ValueError(f"{paper} has no figure {name!r} here: {known}.")
    return there[name]()


def figure_files(paper: str, folder: str | os.PathLike) -> dict[str, Path]:
    """Return where `draw_figures` draws each figure of a paper.

    Examples
    --------
    >>> from stakes.reproduce._figures import figure_files
    >>> print(*figure_files("zhang2005", "figures").values())
    figures/zhang2005_figures1and2.png
    """
    return {name: Path(folder) / f"{paper}_{name}.png" for name in FIGURES.get(paper, {})}


def draw_figures(paper: str, folder: str | os.PathLike) -> list[Path]:
    """Draw the figures of a paper into a folder; return the files, none where it has none.

    Parameters
    ----------
    paper : str
        Such as ``"zhang2005"``.
    folder : path-like
        Made where it is missing.
    """
    paths = figure_files(paper, folder)
    for name, path in paths.items():
        figure, drawn = draw_figure(paper, name), io.BytesIO()
        figure.savefig(drawn, dpi=120)
        _pyplot().close(figure)
        write_atomically(path, drawn.getvalue())
    return list(paths.values())


def bacing_rounds() -> Any:
    """Return zhang2005's Figures 1 and 2: errors over the rounds, and changes of the costs.

    Housing, the first fold of the first run; bagging draws the same bags.
    """
    from stakes.bagging import AdaptiveCostDisplay, BacingClassifier
    from stakes.reproduce import zhang2005

    split = zhang2005.EXPERIMENTS[0].make_split("housing", 0)
    X_train, X_test = zhang2005.numbers(split)
    figure, axes = _pyplot().subplots(1, 2, figsize=(10, 4), layout="constrained")
    for name, adapt in (("bacing", True), ("bagging", False)):
        settings = {"n_estimators": zhang2005.ROUNDS, "random_state": split.seed}
        model = BacingClassifier(adapt=adapt, **settings).fit(X_train, split.y_train)
        AdaptiveCostDisplay.from_estimator(model, X_test, split.y_test, name=name, axes=axes)
    return figure


def smoothing() -> Any:
    """Return obrien2008's Figure 1: probabilities pushed off, harmless under 0/1 costs alone.

    Naive Bayes sees one feature twice; nearest neighbours average over most of the sample.
    """
    rng = np.random.RandomState(3)
    figure, (left, right) = _pyplot().subplots(1, 2, figsize=(11, 5), layout="constrained")
    _draw_moves(left, *twice_the_same_feature(rng), "naive Bayes, undersmoothed")
    _draw_moves(right, *too_many_neighbours(rng), "nearest neighbours, oversmoothed")
    return figure


def partitions() -> Any:
    """Return obrien2008's Figure 2: three ways to move the boundaries (Properties 5 to 7)."""
    asymmetric = np.array([[0.0, 1.0, 2.0], [2.0, 0.0, 1.5], [4.0, 3.0, 0.0]])
    changes = {
        "the costs": lambda costs: costs,
        "deciding 1: plus 0.3": lambda costs: costs + [0.3, 0.0, 0.0],
        "being 1: times 2": lambda costs: costs * [[2.0], [1.0], [1.0]],
        "deciding 1: times 2": lambda costs: costs * [2.0, 1.0, 1.0],
    }
    figure, axes = _pyplot().subplots(4, 2, figsize=(7, 12), layout="constrained")
    for column, (kind, costs) in enumerate((("0/1", ZERO_ONE), ("asymmetric", asymmetric))):
        for ax, (title, change) in zip(axes[:, column], changes.items()):
            _draw_boundaries(ax, change(costs), regions=True)
            _draw_boundaries(ax, costs, dashed=True)
            ax.set_title(f"{kind} costs; {title}", fontsize=9)
    return figure


def twice_the_same_feature(rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Return true probabilities and those of naive Bayes that sees a feature twice."""
    given_class = rng.dirichlet(np.ones(40), size=3)  # P(value | class), classes equally likely
    twice = given_class**2
    return (given_class / given_class.sum(axis=0)).T, (twice / twice.sum(axis=0)).T


def too_many_neighbours(rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Return true probabilities and those of 2000 neighbours out of 3000 examples."""
    means = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.7]])
    y = np.repeat([0, 1, 2], 1000)
    X = rng.normal(size=(3000, 2)) + means[y]
    asked = rng.normal(size=(40, 2)) + means[rng.randint(3, size=40)]
    density = np.column_stack([multivariate_normal(m).pdf(asked) for m in means])
    said = KNeighborsClassifier(n_neighbors=2000).fit(X, y).predict_proba(asked)
    return density / density.sum(axis=1, keepdims=True), said


def _draw_moves(ax: Any, true: np.ndarray, said: np.ndarray, title: str) -> None:
    """Draw both partitions, and a line from each true probability to the estimate."""
    # class 1 is expensive to miss
    asymmetric = np.array([[0.0, 5.0, 4.0], [1.0, 0.0, 1.5], [1.0, 1.0, 0.0]])
    _draw_boundaries(ax, ZERO_ONE, dashed=True)
    _draw_boundaries(ax, asymmetric)
    for ends in zip(to_plane(true), to_plane(said)):
        ax.plot(*zip(*ends), color="tab:blue", linewidth=0.5)
    ax.plot(*to_plane(true).T, "o", color="tab:blue", markersize=4, label="true")
    ax.plot(*to_plane(said).T, "^", color="tab:orange", markersize=4, label="estimated")
    moved = [np.mean(decide(true, c) != decide(said, c)) for c in (ZERO_ONE, asymmetric)]
    ax.set_title(
        f"{title}: {moved[0]:.0%} decided otherwise\nunder 0/1 costs, {moved[1]:.0%} under asymmetric"
    )
    ax.legend(loc="upper right")


def _draw_boundaries(
    ax: Any, costs: np.ndarray, *, dashed: bool = False, regions: bool = False
) -> None:
    """Draw where the decisions change under these costs."""
    style: dict[str, Any] = {"display_labels": ("1", "2", "3")}
    if dashed:  # over another one, which has the names
        style = {"linestyle": "--", "color": "gray", "display_labels": ("", "", "")}
    SimplexDecisionDisplay.from_rule(costs, ax=ax, regions=regions, **style)


def _pyplot() -> Any:
    return import_optional("matplotlib.pyplot", extra="plot", purpose="the papers' figures")


FIGURES = {
    "zhang2005": {"figures1and2": bacing_rounds},
    "obrien2008": {"figure1": smoothing, "figure2": partitions},
}
