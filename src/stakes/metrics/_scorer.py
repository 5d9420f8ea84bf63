"""A scorer in the currency of the costs, which hands the costs to `predict` as well."""

from collections.abc import Callable
from typing import Any

from sklearn.utils.metadata_routing import UNUSED

from stakes.costs import check_order
from stakes.metrics._cost import average_cost
from stakes.utils._pipelines import last_step, takes
from stakes.utils._sklearn import MetadataRequester


def make_cost_scorer(
    cost_matrix: Any = None, *, cost_tensor: Callable | None = None
) -> "CostScorer":
    """Make a scorer that returns minus the average cost of an estimator's decisions.

    Parameters
    ----------
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        The class costs to score by. If None, the `costs` or `cost_tensor` routed to the
        scorer; without them, those by which the estimator's own `score` goes.
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

    # What scikit-learn's `TunedThresholdClassifierCV` asks of a scorer: decisions at thresholds of one
    # model's probabilities are scored without asking the model again.
    _sign, _response_method = -1, "predict"

    @property
    def _score_func(self) -> Callable:
        if self.cost_matrix is None:
            raise TypeError("Thresholds are tuned at class costs: make_cost_scorer(cost_matrix).")
        return average_cost

    @property
    def _kwargs(self) -> dict[str, Any]:
        return {"cost_matrix": self.cost_matrix}

    def __call__(self, estimator: Any, X: Any, y: Any, *given: Any, **named: Any) -> float:
        """Score an estimator, as scikit-learn calls a scorer: see `score`."""
        return self.score(estimator, X, y, *given, **named)

    def score(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        costs: Any = None,
        cost_tensor: Any = None,
    ) -> float:
        """Return minus the average cost of ``estimator.predict(X)``: higher is better."""
        if self.cost_tensor is not None:
            cost_tensor = self.cost_tensor(X)
        given = {"cost_matrix": self.cost_matrix, "costs": None, "cost_tensor": None}
        if self.cost_matrix is None:  # the scorer's own costs count before those routed to it
            given |= {"costs": costs} if costs is not None else {"cost_tensor": cost_tensor}
        last, X_last = last_step(estimator, X)
        if takes(last, "score", "cost_matrix"):
            return last.score(X_last, y, sample_weight, **given)
        weighs = cost_tensor is not None and takes(last, "predict", "cost_tensor")
        known = {"cost_tensor": cost_tensor} if weighs else {}
        labels = getattr(estimator, "classes_", None)
        if labels is not None:
            check_order(self.cost_matrix, labels)
        decided = last.predict(X_last, **known)
        return -average_cost(y, decided, sample_weight=sample_weight, labels=labels, **given)

    def __repr__(self) -> str:
        return f"make_cost_scorer({'' if self.cost_matrix is None else 'cost_matrix'})"
