"""What a model says of rows, before anything is decided by prices."""

from typing import NamedTuple

import numpy as np

# What a model states of rows, and so what can be asked of it.
STATES = ("probabilities", "both", "costs", "votes")
# Why something cannot be had of what is stated; said wherever it is asked for, and in the tables.
NO_COSTS = "decides by votes, not by expected costs"
NOT_FOLLOWING = {
    "costs": "learns what decisions cost, which does not follow prices or class frequencies",
    "votes": "decides by votes, which follow neither prices nor class frequencies",
}
NO_SUMS = "weighs by its rule what are no costs to add up"
NO_MATRIX = "weighs draws or ranges of the prices"
LIKELIEST = (
    "decides the most probable class, followed by its cheapest decision, which is no matrix"
)
NO_POLICY = (
    "does not decide by probabilities and a rule, but by costs or votes that it has learned from the "
    "table itself"
)
TOGETHER_ONLY = "keeps to limits, for which rows are decided together"
NOT_LEAST = "decides by what its rule has learned, not by least expected cost"
MAYBE_NOT_LEAST = "decides, where it has learned a rule, by that and not by least expected cost"


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
