"""Which learner suits an estimator: trees that share bins, or clones of any classifier."""

from typing import Any

import numpy as np

from stakes.reductions._members import EstimatorLearner
from stakes.reductions._pairs import EstimatorPairLearner
from stakes.reductions._tree_members import CostTreeLearner, CostTreePairLearner
from stakes.tree.engine import is_cost_tree


def make_learner(
    estimator: Any,
    X: Any,
    n_classes: int,
    sample_weight: np.ndarray | None = None,
    *,
    smoothing: float = 0.0,
    of_pairs: bool = False,
) -> Any:
    """Return the learner that suits the estimator; `of_pairs`: one of (x, decision) pairs."""
    if is_cost_tree(estimator):
        Learner = CostTreePairLearner if of_pairs else CostTreeLearner
        return Learner(estimator, X, n_classes, sample_weight, smoothing)
    if of_pairs:
        return EstimatorPairLearner(estimator, X.shape[1], n_classes)
    return EstimatorLearner(estimator, n_classes)
