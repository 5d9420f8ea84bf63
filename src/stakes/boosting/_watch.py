"""Watching the ensemble on rows that it does not learn from."""

from typing import Any

import numpy as np

from stakes._learning.votes import add_votes
from stakes.boosting._weak import Sample
from stakes.metrics import confusion_norm


class Watch:
    """What the ensemble costs, round after round, on rows that it does not learn from.

    Parameters
    ----------
    metric : {"cost", "confusion_norm"}
        What is watched; lower is better.
    sample : Sample
        The rows.
    patience : int
        Rounds without a new best after which it is over.
    """

    def __init__(self, metric: str, sample: Sample, patience: int):
        self.metric = metric
        self.sample = sample
        self.patience = patience
        self.votes = np.zeros((len(sample.costs), sample.costs.n_classes))
        self.values: list[float] = []
        self.best_round = 0

    def is_over(self, member: Any, vote: float) -> bool:
        """Add a member's votes; return whether the rounds should end."""
        costs = self.sample.costs
        add_votes(self.votes, self.sample.learner.decide(member, self.sample.data), vote)
        decisions = self.votes.argmax(axis=1)
        if self.metric == "cost":
            value = float(np.average(costs.of(decisions), weights=self.sample.weight))
        else:
            value = confusion_norm(costs.y, decisions, labels=np.arange(costs.n_classes))
        self.values.append(value)
        if value < min(self.values[:-1], default=np.inf):
            self.best_round = len(self.values)
        return len(self.values) - self.best_round >= self.patience
