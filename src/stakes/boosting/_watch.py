"""Parting rows by class, and watching the ensemble on rows that it does not learn from."""

import numpy as np

from stakes.metrics import confusion_norm


def stratified_holdout(y, fraction, rng):
    """Part rows into those to learn from and those to watch, each class by itself.

    A class keeps at least one row to learn from; one with a single row has none to watch.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.boosting._watch import stratified_holdout
    >>> y = np.array([0] * 8 + [1] * 4 + [2])
    >>> kept, held = stratified_holdout(y, 0.25, np.random.RandomState(0))
    >>> np.bincount(y[kept]), np.bincount(y[held])
    (array([6, 3, 1]), array([2, 1]))
    """
    held = []
    for label in np.unique(y):
        of_class = rng.permutation(np.flatnonzero(y == label))
        n_held = min(max(1, round(fraction * len(of_class))), len(of_class) - 1)
        held.append(of_class[:n_held])
    held = np.sort(np.concatenate(held))
    if len(held) == 0:
        raise ValueError(
            "early_stopping needs examples to watch, but every class has a single example."
        )
    return np.setdiff1d(np.arange(len(y)), held), held


def stratified_folds(y, n_folds, rng):
    """Return the fold of each row; every class is dealt out evenly.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.boosting._watch import stratified_folds
    >>> folds = stratified_folds(np.array([0] * 6 + [1] * 3), 3, np.random.RandomState(0))
    >>> np.bincount(folds[:6]), np.bincount(folds[6:])
    (array([2, 2, 2]), array([1, 1, 1]))
    """
    folds = np.empty(len(y), dtype=np.int64)
    dealt = 0  # go on where the last class stopped, so that the folds are of one size
    for label in np.unique(y):
        of_class = rng.permutation(np.flatnonzero(y == label))
        folds[of_class] = (dealt + np.arange(len(of_class))) % n_folds
        dealt += len(of_class)
    return folds


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

    def __init__(self, metric, sample, patience):
        self.metric = metric
        self.sample = sample
        self.patience = patience
        self.scores = np.zeros((len(sample.training), sample.training.n_classes))
        self.values: list[float] = []
        self.best_round = 0

    def is_over(self, member, vote) -> bool:
        """Add a member's votes; return whether the rounds should end."""
        training = self.sample.training
        decided = self.sample.learner.decide(member, self.sample.data)
        self.scores[np.arange(len(decided)), decided] += vote
        decisions = self.scores.argmax(axis=1)
        if self.metric == "cost":
            value = float(np.average(training.of(decisions), weights=self.sample.weight))
        else:
            labels = np.arange(training.n_classes)
            value = confusion_norm(training.y, decisions, labels=labels)
        self.values.append(value)
        if value < min(self.values[:-1], default=np.inf):
            self.best_round = len(self.values)
        return len(self.values) - self.best_round >= self.patience
