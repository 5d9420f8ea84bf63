"""What may be done where that is not to name a class: decisions, and which of them is a class."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from stakes.costs._read import CostWarning
from stakes.utils._arrays import quoted
from stakes.utils._checks import warn
from stakes.utils._labels import as_labels, label_positions

# Why a method is left out where decisions are not the classes.
ONLY_CLASSES = "decides the classes alone"


@dataclass(frozen=True, eq=False)
class Choices:
    """What may be done, where that is not to name a class.

    Attributes
    ----------
    labels : tuple
        The decisions, in the order of the columns of their costs.
    of_class : ndarray of shape (n_classes,)
        For each class the position of the decision of the same name; -1 where there is none.

    Examples
    --------
    >>> from stakes.costs._choices import Choices
    >>> Choices.of(["lend", "ask", "bad"], ["bad", "good"]).of_class
    array([ 2, -1])
    >>> Choices.of(["good", "bad"], ["bad", "good"]) is None
    True
    """

    labels: tuple
    of_class: np.ndarray

    @classmethod
    def of(cls, labels: Any, classes: Any) -> Self | None:
        """Return the choices among these decisions; None where they are the classes."""
        labels, classes = as_labels(labels), as_labels(classes)
        if set(labels) == set(classes):
            return None
        place = {label: i for i, label in enumerate(labels)}
        return cls(labels, np.array([place.get(c, -1) for c in classes], dtype=np.intp))

    def coded(self) -> Self:
        """Return the choices with numbers for names, for classes that are 0, 1, ...

        A decision that is a class has its number, the others go on from there.

        Examples
        --------
        >>> from stakes.costs import Choices
        >>> Choices.of(["lend", "ask", "bad"], ["bad", "good"]).coded().labels
        (2, 3, 0)
        """
        labels = [self.n_classes + d for d in range(len(self.labels))]
        for t, d in enumerate(self.of_class.tolist()):
            if d >= 0:
                labels[d] = t
        return type(self)(tuple(labels), self.of_class)

    @property
    def n_classes(self) -> int:
        """How many things may be true."""
        return len(self.of_class)


def settle_columns(
    named: Any, classes: Any, decisions: Any = None, *, name: str = "costs"
) -> tuple[list[int], tuple]:
    """Return which columns to take, in order, and the decisions that they stand for.

    A name that is both a class and a decision is one label, the class's own ("1" in a file meets
    1). Where all classes are named and nothing else, the decisions are the classes, in their order.

    Parameters
    ----------
    named : sequence
        The names of the columns.
    classes : sequence
        The classes.
    decisions : tuple, default=None
        The decisions, where they are known already: the columns must then be these.
    name : str, default="costs"
        What has the columns, for messages.

    Examples
    --------
    >>> from stakes.costs._choices import settle_columns
    >>> settle_columns(["1", "0"], [0, 1])
    ([1, 0], (0, 1))
    >>> settle_columns(["1", "0", "wait"], [0, 1])
    ([0, 1, 2], (1, 0, 'wait'))
    """
    named, classes = as_labels(named), as_labels(classes)
    twice = repeated(named)
    if twice:
        raise ValueError(f"{name} has more than one column for {quoted(twice)}.")
    known = classes if decisions is None else as_labels(decisions)
    place = label_positions(named, known)
    if len(place) == len(known) == len(named):
        return [place[label] for label in known], known
    if decisions is not None:
        raise ValueError(
            f"The columns of {name} are {quoted(named)}, but the decisions are {quoted(known)}."
        )
    if len(named) < 2:
        raise ValueError(
            f"{name} has one column, {quoted(named)}: with one decision there is nothing to decide."
        )
    of_class = {i: label for label, i in place.items()}
    return list(range(len(named))), tuple(of_class.get(i, d) for i, d in enumerate(named))


def repeated(labels: tuple) -> list[str]:
    """Return the labels that come more than once, as text."""
    return sorted({str(label) for label in labels if labels.count(label) > 1})


def warn_of_misspelling(classes: tuple, columns: tuple) -> None:
    """Warn of as many decisions as classes of which some have the same name, and some not."""
    alone = [label for label in classes if label not in columns]
    strange = [label for label in columns if label not in classes]
    if len(classes) == len(columns) and 0 < len(alone) < len(classes):
        warn(
            "ST307",
            f"The classes {quoted(alone)} have no column of costs, and the columns {quoted(strange)} "
            "are no classes: they are taken for decisions of their own. If a name is misspelt, mend "
            "it.",
            CostWarning,
            stacklevel=3,
        )
