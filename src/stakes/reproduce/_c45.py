"""A stand-in for C4.5: an entropy tree with C4.5's error-based pruning."""

import numpy as np
from scipy.stats import beta
from sklearn.tree import DecisionTreeClassifier


class PessimisticTreeClassifier(DecisionTreeClassifier):
    """Grow a CART tree by entropy, then prune it as C4.5 does.

    The papers used C4.5. What differs here: splits are binary and chosen by entropy rather
    than gain ratio, and a subtree is never raised. What is kept is what mattered when it
    was measured: leaves of at least two examples and the pessimistic estimate of a leaf's
    errors, the upper end of a binomial interval at the confidence `confidence`.

    Parameters
    ----------
    confidence : float, default=0.25
        C4.5's confidence factor: lower prunes more.
    min_samples_leaf, random_state, max_features
        As in `sklearn.tree.DecisionTreeClassifier`.

    Examples
    --------
    Pure noise is pruned to a single leaf:

    >>> import numpy as np
    >>> from stakes.reproduce._c45 import PessimisticTreeClassifier
    >>> rng = np.random.RandomState(0)
    >>> X, y = rng.normal(size=(100, 1)), rng.randint(2, size=100)
    >>> tree = PessimisticTreeClassifier(random_state=0).fit(X, y)
    >>> len(np.unique(tree.apply(X))) < len(np.unique(y)) * 10
    True
    """

    _parameter_constraints: dict = {
        **DecisionTreeClassifier._parameter_constraints,
        "confidence": "no_validation",
    }

    def __init__(
        self, *, confidence=0.25, min_samples_leaf=2, max_features=None, random_state=None
    ):
        super().__init__(
            criterion="entropy",
            min_samples_leaf=min_samples_leaf,
            max_features=max_features,
            random_state=random_state,
        )
        self.confidence = confidence

    def fit(self, X, y, sample_weight=None, check_input=True):
        """Grow the tree, then prune it."""
        super().fit(X, y, sample_weight=sample_weight, check_input=check_input)
        tree = self.tree_
        for node in prunable_nodes(
            tree.children_left,
            tree.children_right,
            tree.weighted_n_node_samples,
            tree.value[:, 0, :],
            self.confidence,
        ):
            tree.children_left[node] = tree.children_right[node] = -1
            tree.feature[node] = tree.threshold[node] = -2
        return self


def pessimistic_errors(errors: np.ndarray, counts: np.ndarray, confidence: float) -> np.ndarray:
    """Return N times the upper end of the binomial interval for E errors among N examples.

    Examples
    --------
    Without an error it is N (1 - CF ** (1 / N)): 6 (1 - 0.25 ** (1 / 6)) = 1.238.

    >>> import numpy as np
    >>> from stakes.reproduce._c45 import pessimistic_errors
    >>> pessimistic_errors(np.array([0.0]), np.array([6.0]), 0.25).round(3)
    array([1.238])
    """
    errors = np.minimum(errors, counts)
    with np.errstate(invalid="ignore"):
        upper = beta.ppf(1.0 - confidence, errors + 1.0, np.maximum(counts - errors, 1e-9))
    return counts * np.where(counts - errors < 1e-9, 1.0, upper)


def prunable_nodes(left, right, counts, shares, confidence: float) -> list[int]:
    """Return the inner nodes that are better leaves: pessimistic errors no higher (+ 0.1)."""
    as_leaf = pessimistic_errors(counts * (1.0 - shares.max(axis=1)), counts, confidence)
    best = as_leaf.copy()
    pruned = []
    for node in range(len(left) - 1, -1, -1):  # children come after their parent
        if left[node] < 0:
            continue
        below = best[left[node]] + best[right[node]]
        if as_leaf[node] <= below + 0.1:
            pruned.append(node)
        else:
            best[node] = below
    return pruned
