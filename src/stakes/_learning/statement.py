"""What a model says of rows, before anything is decided by prices."""

from typing import NamedTuple

import numpy as np


class Statement(NamedTuple):
    """What a fitted model says of rows, before anything is decided by prices.

    Attributes
    ----------
    proba : ndarray of shape (n_samples, n_classes) or None
        Class probabilities, at the class frequencies of training; of voters, shares of votes.
    expected : ndarray of shape (n_samples, n_decisions) or None
        The cost of each decision, where it has learned what decisions cost.
    decided : ndarray of shape (n_samples,) or None
        Positions of decisions, where it decides by votes alone.
    """

    proba: np.ndarray | None = None
    expected: np.ndarray | None = None
    decided: np.ndarray | None = None
