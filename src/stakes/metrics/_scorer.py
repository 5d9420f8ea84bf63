"""A scorer in the currency of the costs, which hands the costs to `predict` as well."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import UNUSED

from stakes.metrics._cost import average_cost, total_cost
from stakes.utils._labels import encode_labels
from stakes.utils._sklearn import MetadataRequester


def make_cost_scorer(
    cost_matrix: Any = None, *, cost_tensor: Callable | None = None
) -> "CostScorer":
    """Make a scorer that returns minus the average cost of an estimator's decisions.

    Parameters
    ----------
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        The class costs to score by. If None, the `costs` or `cost_tensor` routed to the
        scorer; without them, the `cost_matrix_` of the estimator.
    cost_tensor : callable, default=None
        ``cost_tensor(X)`` returns the example costs, (n_samples, n_classes, n_classes), of
        the rows of X. Where the price of a mistake is written in X (an amount), this needs
        no metadata routing at all.

    Returns
    -------
    scorer : CostScorer
        A callable ``scorer(estimator, X, y, sample_weight=None, *, costs=None,
        cost_tensor=None)``. `costs` and `cost_tensor` are requested by default, so with
        ``sklearn.set_config(enable_metadata_routing=True)`` they reach it through
        `GridSearchCV` and `cross_validate`. A `cost_tensor` is also handed to `predict`
        where `predict` takes it.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from stakes.metrics import make_cost_scorer
    >>> X, y = [[0]] * 4, [0, 0, 0, 1]
    >>> make_cost_scorer([[0, 1], [20, 0]])(DummyClassifier().fit(X, y), X, y)
    -5.0
    """
    if cost_tensor is not None and not callable(cost_tensor):
        raise TypeError(
            "cost_tensor must be a callable of X: an array belongs to fit and score, where "
            "cross-validation can split it with the rows."
        )
    if cost_matrix is not None and cost_tensor is not None:
        raise ValueError("Give either cost_matrix or cost_tensor, not both.")
    return CostScorer(cost_matrix, cost_tensor)


class CostScorer(MetadataRequester):
    """Minus the average cost of an estimator's decisions; made by `make_cost_scorer`."""

    __metadata_request__score = {"estimator": UNUSED, "costs": True, "cost_tensor": True}

    def __init__(self, cost_matrix: Any = None, cost_tensor: Callable | None = None):
        self.cost_matrix = cost_matrix
        self.cost_tensor = cost_tensor

    def __call__(self, estimator, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        """Score an estimator, as scikit-learn calls a scorer: see `score`."""
        return self.score(estimator, X, y, sample_weight, costs=costs, cost_tensor=cost_tensor)

    def score(self, estimator, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        """Return minus the average cost of ``estimator.predict(X)``: higher is better."""
        if self.cost_tensor is not None:
            cost_tensor = self.cost_tensor(X)
        hand_on = cost_tensor is not None and _predict_takes_cost_tensor(estimator)
        decided = (
            estimator.predict(X, cost_tensor=cost_tensor) if hand_on else estimator.predict(X)
        )
        matrix = self.cost_matrix
        if matrix is not None:
            costs = cost_tensor = None
        elif costs is not None:
            cost_tensor = None
        elif cost_tensor is None:
            matrix = _own_costs(estimator)
        final = _final(estimator)
        return -_average_with_abstentions(
            np.asarray(y),
            np.asarray(decided),
            getattr(final, "abstain_label_", None),
            getattr(final, "_abstain_costs", None),
            cost_matrix=matrix,
            costs=costs,
            cost_tensor=cost_tensor,
            sample_weight=sample_weight,
            labels=getattr(estimator, "classes_", None),
        )

    def __repr__(self) -> str:
        return (
            "make_cost_scorer()" if self.cost_matrix is None else "make_cost_scorer(cost_matrix)"
        )


def _average_with_abstentions(y, decided, label, abstain_costs, *, sample_weight, **given):
    """Return the average cost where some decisions may be abstentions, at their own price."""
    abstains = np.zeros(len(y), dtype=bool) if abstain_costs is None else decided == label
    if not abstains.any():
        return average_cost(y, decided, sample_weight=sample_weight, **given)
    _, codes = encode_labels(y, given["labels"])
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    paid = float(abstain_costs[codes[abstains]] @ weight[abstains])
    if not abstains.all():
        for name in ("costs", "cost_tensor"):
            if given[name] is not None:
                given[name] = np.asarray(given[name])[~abstains]
        paid += total_cost(
            y[~abstains], decided[~abstains], sample_weight=weight[~abstains], **given
        )
    return paid / weight.sum()


def _final(estimator):
    """Return the last step of a pipeline, or the best estimator of a search."""
    while True:
        if isinstance(estimator, Pipeline):
            estimator = estimator.steps[-1][1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            return estimator


def _predict_takes_cost_tensor(estimator) -> bool:
    predict = getattr(_final(estimator), "predict", None)
    if predict is None:
        return False
    return "cost_tensor" in inspect.signature(predict).parameters


def _own_costs(estimator):
    final = _final(estimator)
    if getattr(final, "_fitted_on_example_costs", False):
        raise ValueError(
            f"{type(final).__name__} was fitted with example costs, but none reached the scorer: "
            "call sklearn.set_config(enable_metadata_routing=True), or give make_cost_scorer a "
            "cost_matrix or a callable cost_tensor."
        )
    return getattr(final, "cost_matrix_", None)
