"""What every cost-sensitive classifier shares: the way of its costs through fit, predict, score."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from stakes._learning.capabilities import states_of
from stakes._learning.statement import Statement
from stakes.costs import (
    CostMatrix,
    Costs,
    check_cost_matrix,
    check_costs,
    make_costs,
    truth_of_costs,
)
from stakes.utils._arrays import check_is_table, check_weights, quoted, rows_with_weight
from stakes.utils._blas import process_kept
from stakes.utils._collections import cluster, is_collection, lazily, serve_collections
from stakes.utils._frames import as_frame, check_index, one_column
from stakes.utils._labels import as_labels, encode_labels, label_array
from stakes.utils._pickles import PickledByVersion
from stakes.utils._sklearn import (
    clone_parametrized,
    fit_context,
    num_samples,
    validate_data,
)

# The values that the parameter `cost_matrix` may take, for `_parameter_constraints`;
# what is inside is checked by `check_cost_matrix`, whose messages are better.
COST_MATRIX_CONSTRAINT = ["array-like", CostMatrix, str, None]


class CostSensitiveMixin(PickledByVersion, ClassifierMixin):
    """Mixin of classifiers that have a `cost_matrix` and take costs in `fit`.

    It owns `fit`, `predict` and `score`; a subclass writes `_fit` and `_decide`, and where X
    is more than numbers `_validate_X`. Costs are checked here, once, and handed on as `Costs`.
    They are requested from scikit-learn's metadata routing by default, so that a Pipeline or
    a grid search hands them on without any `set_*_request`.
    """

    __metadata_request__fit = {"costs": True, "cost_tensor": True}
    __metadata_request__predict = {"cost_tensor": True}
    __metadata_request__score = {"costs": True, "cost_tensor": True}

    # Whether decisions can weigh the costs of each example, where they are known when deciding.
    _weighs_cost_tensor = False
    # Whether it can decide nothing but the classes.
    _decides_only_classes = False
    # What it says of rows: "probabilities", "costs", "both" of them, or "votes" alone; and for
    # which kinds of costs something else.
    _states: ClassVar[str] = "votes"
    _states_for: ClassVar[dict[str, str]] = {}
    # What it decides by: least expected cost, or "either" that or a rule that it has learned.
    _decides_by: ClassVar[str] = "prices"
    _decides_by_for: ClassVar[dict[str, str]] = {}
    # How `validate_data` is to check X.
    _X_checks: dict[str, Any] = {}

    # What `__init__` and `fit` of every subclass set.
    cost_matrix: Any
    classes_: np.ndarray
    decisions_: np.ndarray
    cost_matrix_: np.ndarray
    cost_kind_: str

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        serve_collections(cls)

    # -- what a subclass writes --------------------------------------------------------------

    def _fit(self, X: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        """Learn from checked examples; ``costs.y`` are the classes as positions in `classes_`."""
        raise NotImplementedError

    def _decide(self, X: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        """Return the decisions on X, not yet checked, as positions in `decisions_`."""
        raise NotImplementedError

    def _stated(self) -> str:
        """Return what it says of rows as it was fitted; `_states` is what it may say at most."""
        return states_of(type(self), self.cost_kind_)

    def _state(
        self, X: Any, cost_tensor: np.ndarray | None = None, *, proba: bool = False
    ) -> Statement:
        """Say of X what `_stated` announces, from one evaluation of the model.

        Parameters
        ----------
        X, cost_tensor
            As in `_decide`.
        proba : bool, default=False
            Whether probabilities are wanted where decisions do not need them.
        """
        return Statement(decided=self._decide(X, cost_tensor))

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        """Return X in the form in which `_fit` takes it; `reset` is True in `fit` alone.

        A table of whatever library is a pandas DataFrame here; see `stakes.utils._frames`.
        """
        return validate_data(self, X, reset=reset, **self._X_checks)

    # Whether every sum over rows goes through `Sums`, so that they may be spread over processes.
    _sums_over_workers: ClassVar[bool] = False

    def _why_not_shared(self) -> str:
        """Return why, with its parameters, it cannot learn from spread rows all the same, or ""."""
        return ""

    def _reader(self, n_rows: int) -> tuple[Any, int]:
        """Return who checks columns before they are binned, and the most bins of one."""
        raise NotImplementedError

    def _learn_share(self, share: Any, sums: Any) -> None:
        """Learn from the rows of one of several processes, a `Share`, and through `sums` from all."""
        raise NotImplementedError

    # -- scikit-learn's protocol ---------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        costs: Any = None,
        cost_tensor: Any = None,
    ) -> Self:
        """Learn to decide from examples, their true classes and the costs.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Training examples. A table of polars or pyarrow is the same as one of pandas. What
            learns from dense numbers alone refuses a sparse matrix.
        y : array-like of shape (n_samples,), default=None
            Their true classes. With `costs` they may be left out: the cheapest decision of each
            example then stands for its class.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each example counts.
        costs : array-like or DataFrame of shape (n_samples, n_decisions), default=None
            What each decision costs for each example, in place of `cost_matrix`: costs known
            in hindsight. The columns of a DataFrame name the decisions; those of an array are the
            classes or, without `y`, 0, 1, ...
        cost_tensor : array-like of shape (n_samples, n_classes, n_decisions), default=None
            [example, true, decided], in place of `cost_matrix`; `y` picks the row. Where
            such costs are known when deciding, `predict` is given them too. A
            `stakes.costs.CostTensor` names decisions that are not the classes.

        Returns
        -------
        self : object
            Fitted.
        """
        given = {"costs": costs, "cost_tensor": cost_tensor, "sample_weight": sample_weight}
        if is_collection(X):
            return cluster().learn(self, X, y, **given)
        self._fit(*self._validate_training(X, y, **given))
        return self

    @lazily
    def predict(self, X: Any, *, cost_tensor: Any = None) -> np.ndarray:
        """Return the decision for each example; of equally good ones the first.

        For a Dask collection it is a collection, lazy, with the index or chunks of X.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Examples.
        cost_tensor : array-like of shape (n_samples, n_classes, n_decisions), default=None
            The costs of each example, [example, true, decided], where they are known when
            deciding. A method that cannot weigh them refuses them.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
            Labels of `decisions_`: those of classes, where nothing else was said.
        """
        decided = self._positions(X, cost_tensor)
        return self.decisions_[decided]

    def _positions(self, X: Any, cost_tensor: Any) -> np.ndarray:
        """Return the decisions on X, all of it checked, as positions in `decisions_`."""
        check_is_fitted(self)
        with process_kept():
            return self._decide(X, self._check_cost_tensor(cost_tensor, X))

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        cost_matrix: Any = None,
        costs: Any = None,
        cost_tensor: Any = None,
    ) -> float:
        """Return minus the average cost of the decisions on X: higher is better.

        Costs known when deciding (`cost_tensor`) are given to `predict` too, if the method can
        weigh them. With no costs given, those that the estimator was made with count: a clone
        whose `cost_matrix` was changed afterwards, as a search over `cost_matrix` does, is
        still scored by the matrix of what it was cloned from, so that candidates compare.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Examples.
        y : array-like of shape (n_samples,), default=None
            Their true classes; with `costs` they may be left out.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each example counts.
        cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
            Class costs to score by.
        costs : array-like of shape (n_samples, n_decisions), default=None
            What each decision costs for each example.
        cost_tensor : array-like of shape (n_samples, n_classes, n_decisions), default=None
            [example, true, decided].

        Returns
        -------
        score : float
            Minus the average cost; of Dask collections a lazy one, to be computed.
        """
        check_is_fitted(self)
        none = cost_matrix is None and costs is None and cost_tensor is None
        if none and self.cost_kind_ != "class":
            raise ValueError(
                f"{type(self).__name__} was fitted with costs of examples, but none reached "
                "its score: give costs or cost_tensor. In cross-validation and searches call "
                "sklearn.set_config(enable_metadata_routing=True), or give make_cost_scorer "
                "a cost_matrix or a callable cost_tensor."
            )
        given = {"sample_weight": sample_weight, "costs": costs, "cost_tensor": cost_tensor}
        if is_collection(X):
            return cluster().score(self, cost_matrix, X=X, y=y, **given)
        paid, weight = self._paid_for(X, y, cost_matrix, **given)
        return 0.0 - float(np.average(paid, weights=weight))

    def _paid_for(
        self, X: Any, y: Any, cost_matrix: Any, *, costs: Any, cost_tensor: Any, sample_weight: Any
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return what the decisions on X cost, (n,), and the weights, checked."""
        check_index(X=X, y=y, sample_weight=sample_weight, costs=costs)
        if y is None:
            if costs is None:
                raise ValueError("score needs y, the true classes, or the costs of each example.")
            codes = np.zeros(num_samples(X), dtype=np.intp)  # costs in hindsight ask for no class
        else:
            codes = encode_labels(one_column(y), self.classes_)[1]
        own = cost_matrix is None and costs is None and cost_tensor is None
        weight = check_weights(sample_weight, codes)
        paid_at = make_costs(
            codes,
            classes=self.classes_,
            cost_matrix=self._scored_by if own else cost_matrix,
            costs=costs,
            cost_tensor=cost_tensor,
            encoded=True,
            to_learn=False,
            decisions=self._priced_decisions,
            in_order=own,
            sample_weight=weight,
        )
        known = paid_at.predict_arguments() if self._weighs_cost_tensor else {}
        if self.cost_kind_ == "deciding" and self._weighs_cost_tensor and paid_at.by_class:
            known = {"cost_tensor": paid_at.class_matrix()}  # what it is scored by is the price
        return self._paid_on(X, paid_at, known.get("cost_tensor")), weight

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy that remembers which costs it was cloned with.

        A search changes parameters of clones, and meta-estimators hand clones encoded labels.
        """
        copy = clone_parametrized(self)
        copy._cloned_with = (copy.cost_matrix,)
        return copy

    # -- checks ----------------------------------------------------------------------------------

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        """Return X, checked, in the form in which the learner takes it: the door of every X."""
        check_is_table(X)
        return self._validate_X(as_frame(X), reset=reset)

    def _validate_training(
        self, X: Any, y: Any, *, costs: Any, cost_tensor: Any, sample_weight: Any
    ) -> tuple[Any, Costs, np.ndarray | None]:
        """Check everything `fit` was given; set `classes_`, `cost_matrix_` and `cost_kind_`."""
        if y is None and costs is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        check_index(X=X, y=y, sample_weight=sample_weight, costs=costs)
        X = self._check_X(X, reset=True)
        decisions = None
        if y is None:
            y, decisions = truth_of_costs(costs, num_samples(X))
        y = one_column(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_consistent_length(X, y)
        check_classification_targets(y)
        given = {"y": y, "costs": costs, "cost_tensor": cost_tensor}
        sample_weight = check_weights(sample_weight, X)
        X, given, sample_weight = rows_with_weight(X, given, sample_weight)
        y = given.pop("y")
        self.classes_ = np.unique(y)
        codes = np.searchsorted(self.classes_, y)  # np.unique's inverse takes five times the room
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has only one class, {quoted(self.classes_)}: a classifier needs at least 2 "
                "classes."
            )
        cloned_with = getattr(self, "_cloned_with", None)
        known_costs = make_costs(
            codes,
            classes=self.classes_,
            cost_matrix=self.cost_matrix,
            **given,
            encoded=cloned_with is not None,
            decisions=decisions,
            sample_weight=sample_weight,
        )
        self._set_decisions(None if known_costs.choices is None else known_costs.choices.labels)
        self.cost_matrix_, self.cost_kind_ = known_costs.class_matrix(), known_costs.kind
        self._scored_by = self.cost_matrix_
        if cloned_with is not None and cloned_with[0] is not self.cost_matrix:
            self._scored_by = check_cost_matrix(
                cloned_with[0],
                classes=self.classes_,
                counts=np.bincount(codes, sample_weight),
                warn=False,
                encoded=True,
                decisions=self._priced_decisions,
            )
        return X, known_costs, sample_weight

    def _set_decisions(self, labels: tuple | None) -> None:
        """Set `decisions_`: these, or the classes; refuse what cannot be decided."""
        if labels is not None and self._decides_only_classes:
            raise ValueError(
                f"{type(self).__name__} decides the classes {quoted(self.classes_)} alone, but the "
                f"costs are those of {quoted(labels)}: use a method for any decisions, such as "
                "CostDecisionClassifier or GBSEClassifier."
            )
        self.decisions_ = self.classes_ if labels is None else label_array(labels)

    @property
    def _priced_decisions(self) -> tuple | None:
        """The decisions that costs are given for; None where these are the classes."""
        labels = as_labels(self.decisions_[: self.cost_matrix_.shape[1]])
        return None if labels == as_labels(self.classes_) else labels

    @property
    def _needs_prices(self) -> bool:
        """Whether it decides by the prices of each row, so that it cannot do without them."""
        return self.cost_kind_ == "deciding" and self._weighs_cost_tensor

    def _check_cost_tensor(self, cost_tensor: Any, X: Any) -> np.ndarray | None:
        """Return the costs known when deciding, checked; refuse them where they are of no use."""
        if cost_tensor is None:
            if self._needs_prices:
                raise NoPrices(self)
            return None
        if not self._weighs_cost_tensor:
            raise ValueError(
                f"{type(self).__name__} learns what to decide and cannot weigh the costs of single "
                "examples when deciding: leave cost_tensor out of predict, or use a method for "
                "costs known when deciding, such as CostDecisionClassifier or StakesClassifier."
            )
        return tensor_of(cost_tensor, num_samples(X), self.classes_, self._priced_decisions)

    def _paid_on(self, X: Any, costs: Costs, cost_tensor: Any) -> np.ndarray:
        """Return what the decisions on X cost, (n,)."""
        return self._paid(costs, self._positions(X, cost_tensor))

    def _paid(self, costs: Costs, decided: np.ndarray) -> np.ndarray:
        """Return what decisions (positions) cost, (n,)."""
        return costs.of(decided)


class NoPrices(ValueError):
    """What was learned at the prices of each row is to decide rows whose prices are not known."""

    def __init__(self, model: Any):
        super().__init__(
            f"{type(model).__name__} was fitted with costs known when deciding: give the "
            "cost_tensor of these rows. To decide all of them at average prices, give one "
            "price table for all, such as cost_tensor=model.cost_matrix_."
        )


def tensor_of(
    cost_tensor: Any, n_samples: int, classes: np.ndarray, decisions: tuple | None = None
) -> np.ndarray:
    """Return the prices of each row, checked; one table, (n_classes, n_decisions), is for all."""
    how: dict = {"classes": classes, "decisions": decisions}
    if np.ndim(cost_tensor) == 2:
        table = check_cost_matrix(cost_tensor, warn=False, **how)
        return np.broadcast_to(table, (n_samples, *table.shape))
    return check_costs(cost_tensor, n_samples=n_samples, name="cost_tensor", **how)


class ExpectedCostMixin(CostSensitiveMixin):
    """Mixin of classifiers that decide what is expected to cost least; they write `_expected_costs`."""

    def _expected_costs(self, X: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        """Return the expected cost of each decision, (n_samples, n_decisions)."""
        raise NotImplementedError

    _states = "costs"

    def _state(
        self, X: Any, cost_tensor: np.ndarray | None = None, *, proba: bool = False
    ) -> Statement:
        return Statement(expected=self._expected_costs(X, cost_tensor))

    def _decide(self, X: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        return self._expected_costs(X, cost_tensor).argmin(axis=1)

    def expected_costs(self, X: Any, *, cost_tensor: Any = None) -> np.ndarray:
        """Return the expected cost of each decision.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Examples.
        cost_tensor : array-like of shape (n_samples, n_classes, n_decisions), default=None
            The costs of each example, as in `predict`.

        Returns
        -------
        expected : ndarray of shape (n_samples, n_decisions)
            Columns in the order of `decisions_`.
        """
        check_is_fitted(self)
        return self._expected_costs(X, self._check_cost_tensor(cost_tensor, X))
