"""A stand-in for C4.5: an entropy tree with C4.5's pruning, and its splits by category."""

from typing import Any

import numpy as np
from scipy.stats import beta
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state


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
    min_samples_leaf, random_state
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
        self, *, confidence: float = 0.25, min_samples_leaf: int = 2, random_state: Any = None
    ):
        super().__init__(
            criterion="entropy",
            min_samples_leaf=min_samples_leaf,
            random_state=random_state,
        )
        self.confidence = confidence

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True
    ) -> "PessimisticTreeClassifier":
        """Grow the tree, then prune it."""
        super().fit(X, y, sample_weight=sample_weight, check_input=check_input)
        tree = self.tree_
        left, right, counts = tree.children_left, tree.children_right, tree.weighted_n_node_samples
        for node in prunable_nodes(left, right, counts, tree.value[:, 0, :], self.confidence):
            left[node] = right[node] = -1
            tree.feature[node] = tree.threshold[node] = -2
        return self


class DecisionTreePerValue(ClassifierMixin, BaseEstimator):
    """Split first by the value of a categorical feature, as C4.5 can, then grow `tree`.

    The feature comes as indicator columns, the last ones of X. GBSE's learner gets the decision
    in this form; a binary tree must take decisions apart one by one, C4.5 does it at once.

    Parameters
    ----------
    tree : estimator instance
        What is grown below each value.
    n_values : int
        The number of indicator columns.
    random_state : int, default=None
        For the trees.

    Examples
    --------
    Accept decision 0 where x is 0 and decision 1 where x is 1:

    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from stakes.reproduce._c45 import DecisionTreePerValue
    >>> X = np.array([[0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1]])  # x, then the decision
    >>> model = DecisionTreePerValue(DecisionTreeClassifier(), 2).fit(X, [1, 0, 0, 1])
    >>> model.predict(X), len(model.estimators_)
    (array([1, 0, 0, 1]), 2)
    """

    def __init__(self, tree: Any, n_values: int, *, random_state: int | None = None):
        self.tree = tree
        self.n_values = n_values
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: Any) -> "DecisionTreePerValue":
        """Grow a tree for each value; the most frequent class answers for an absent one."""
        y = np.asarray(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        features, values = self._parts(X)
        self.estimators_ = []
        for value in range(self.n_values):
            of_value = values == value
            here = codes[of_value]
            if len(np.unique(here)) > 1:
                tree = clone(self.tree).set_params(random_state=self.random_state)
                tree.fit(features[of_value], here)
            else:
                answer = here[0] if len(here) else np.bincount(codes).argmax()
                tree = DummyClassifier(strategy="constant", constant=answer).fit([[0]], [answer])
            self.estimators_.append(tree)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Ask the tree of each row's value."""
        features, values = self._parts(X)
        codes = np.empty(len(features), dtype=np.intp)
        for value in np.unique(values):
            of_value = values == value
            codes[of_value] = self.estimators_[value].predict(features[of_value])
        return self.classes_[codes]

    def _parts(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return X[:, : -self.n_values], X[:, -self.n_values :].argmax(axis=1)


class ShareOfRows(ClassifierMixin, BaseEstimator):
    """Fit a classifier to a random share of the rows it is given.

    Parameters
    ----------
    estimator : estimator instance
        The classifier.
    share : float
        The share of the rows; at least one is kept.
    random_state : int, default=None
        For the draw and the classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from stakes.reproduce._c45 import ShareOfRows
    >>> model = ShareOfRows(DummyClassifier(), 0.1, random_state=0).fit(np.zeros((50, 1)), [7] * 50)
    >>> model.n_rows_, model.predict([[0]])
    (5, array([7]))
    """

    def __init__(self, estimator: Any, share: float, *, random_state: int | None = None):
        self.estimator = estimator
        self.share = share
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: Any) -> "ShareOfRows":
        """Draw the rows without replacement and fit the classifier to them."""
        y = np.asarray(y)
        self.n_rows_ = max(1, round(self.share * len(y)))
        rows = check_random_state(self.random_state).permutation(len(y))[: self.n_rows_]
        model = clone(self.estimator)
        if "random_state" in model.get_params():
            model.set_params(random_state=self.random_state)
        self.estimator_ = model.fit(X[rows], y[rows])
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Ask the classifier."""
        return self.estimator_.predict(X)


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


def prunable_nodes(
    left: np.ndarray, right: np.ndarray, counts: np.ndarray, shares: np.ndarray, confidence: float
) -> list[int]:
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
