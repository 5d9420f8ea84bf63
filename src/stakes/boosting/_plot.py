"""How an ensemble came about: loss, edges, confusion norm and recalls, round by round."""

from typing import Any

import numpy as np

from stakes.metrics import confusion_norm
from stakes.utils._optional import import_optional
from stakes.utils._sklearn import num_samples


class BoostingDisplay:
    """Loss, edges, confusion norm and recalls of a boosted ensemble over its rounds.

    Use `from_estimator` or `plot_boosting` to make one.

    Parameters
    ----------
    loss : ndarray of shape (n_rounds,)
        The training loss after each round.
    edges : ndarray of shape (n_rounds,)
        The edge of each member.
    confusion_norms : ndarray of shape (n_rounds,)
        The confusion norm of the vote after each round, on the examples given.
    recalls : ndarray of shape (n_rounds, n_classes)
        The share of each class that the vote recognises after each round.
    display_labels : array-like of shape (n_classes,)
        The class labels.

    Attributes
    ----------
    axes_ : ndarray of shape (2, 2)
        What `plot` drew on: loss, edges; confusion norm, recalls.
    figure_ : matplotlib Figure
        The figure.
    """

    def __init__(self, loss, edges, confusion_norms, recalls, *, display_labels):
        self.loss = loss
        self.edges = edges
        self.confusion_norms = confusion_norms
        self.recalls = recalls
        self.display_labels = display_labels

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, plot: bool = True, axes: Any = None
    ) -> "BoostingDisplay":
        """Follow the vote on X round by round, and draw it unless `plot` is False.

        Parameters
        ----------
        estimator : estimator instance
            A fitted ensemble of `stakes.boosting`.
        X : array-like of shape (n_samples, n_features)
            Examples, better not those it was fitted on.
        y : array-like of shape (n_samples,)
            Their true classes.
        plot : bool, default=True
            Whether to draw at once.
        axes : array-like of four matplotlib Axes, default=None
            Where to draw.
        """
        y = np.asarray(y)
        if len(y) != num_samples(X):
            raise ValueError(f"y has {len(y)} classes, but X has {num_samples(X)} examples.")
        labels = estimator.classes_
        of_class = [y == label for label in labels]
        norms, recalls = [], []
        for decided in estimator.staged_predict(X):
            norms.append(confusion_norm(y, decided, labels=labels))
            recalls.append(
                [
                    np.mean(decided[rows] == label) if rows.any() else np.nan
                    for rows, label in zip(of_class, labels)
                ]
            )
        display = cls(
            estimator.loss_,
            estimator.edges_,
            np.array(norms),
            np.array(recalls),
            display_labels=labels,
        )
        return display.plot(axes=axes) if plot else display

    def plot(self, *, axes: Any = None) -> "BoostingDisplay":
        """Draw the four curves."""
        plt = import_optional("matplotlib.pyplot", extra="plot", purpose="BoostingDisplay.plot")
        if axes is None:
            _, axes = plt.subplots(2, 2, sharex=True, figsize=(9, 6), layout="constrained")
        axes = np.asarray(axes)
        rounds = np.arange(1, len(self.edges) + 1)
        loss, edges, norm, recall = axes.ravel()
        loss.plot(rounds, self.loss)
        if (self.loss > 0).all():
            loss.set_yscale("log")
        edges.plot(rounds, self.edges, ".", markersize=3)
        norm.plot(rounds, self.confusion_norms)
        for label, curve in zip(self.display_labels, self.recalls.T):
            recall.plot(rounds, curve, label=str(label))
        recall.legend(fontsize="small", ncols=max(1, len(self.display_labels) // 8))
        loss.set(title="training loss")
        edges.set(title="edge")
        norm.set(title="confusion norm", xlabel="round")
        recall.set(title="recall of each class", xlabel="round", ylim=(-0.02, 1.02))
        self.axes_, self.figure_ = axes, loss.figure
        return self


def plot_boosting(estimator: Any, X: Any, y: Any, *, axes: Any = None) -> BoostingDisplay:
    """Draw loss, edges, confusion norm and recalls of a fitted ensemble over its rounds.

    Parameters
    ----------
    estimator : estimator instance
        A fitted ensemble of `stakes.boosting`.
    X : array-like of shape (n_samples, n_features)
        Examples, better not those it was fitted on.
    y : array-like of shape (n_samples,)
        Their true classes.
    axes : array-like of four matplotlib Axes, default=None
        Where to draw.

    Returns
    -------
    display : BoostingDisplay
        The curves, and what they are drawn on.
    """
    return BoostingDisplay.from_estimator(estimator, X, y, axes=axes)
