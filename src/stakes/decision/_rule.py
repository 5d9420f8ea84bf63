"""What every decision rule shares: it is fitted on probabilities alone, and has a name."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from stakes._base import COST_MATRIX_CONSTRAINT, NoPrices, tensor_of
from stakes.costs import CostMatrix, Costs, make_costs
from stakes.decision._expected import check_proba
from stakes.decision._numbers import Doubt, Likeliest, Partition, follows_prices
from stakes.decision._policy import Policy
from stakes.utils._arrays import check_weights, quoted, rows_with_weight
from stakes.utils._collections import cluster, is_collection, lazily
from stakes.utils._frames import check_index, one_column
from stakes.utils._labels import encode_labels, label_array
from stakes.utils._pickles import PickledByVersion
from stakes.utils._sklearn import fit_context, num_samples


@dataclass(eq=False, repr=False, kw_only=True)
class BaseRule(PickledByVersion, BaseEstimator):
    """Base of the rules that turn class probabilities into decisions.

    As it stands it decides at least expected cost. A subclass that learns writes `_learn`,
    which sets `partition_` and whatever else it learns, and `_numbers`, which returns what it
    weighs in the place of the prices; its `policy_` decides. Its parameters are the fields of a
    dataclass, which writes `__init__`.
    """

    cost_matrix: Any = None
    classes: Any = None

    __metadata_request__fit = {"costs": True, "cost_tensor": True}
    __metadata_request__predict = {"cost_tensor": True}

    _parameter_constraints: ClassVar[dict] = {
        "cost_matrix": COST_MATRIX_CONSTRAINT,
        "classes": ["array-like", None],
    }

    # Whether decisions can weigh the costs of each example, where they are known when deciding.
    _weighs_cost_tensor = False
    # A rule is asked about probabilities, whatever kind the costs are of.
    _states: ClassVar[str] = "probabilities"
    _states_for: ClassVar[dict[str, str]] = {}
    # What it decides by: the "prices" themselves, what it has "learned", or prices in "doubt".
    _decides_by: ClassVar[str] = "prices"
    _decides_by_for: ClassVar[dict[str, str]] = {}
    # The only number of classes that the rule is for, if there is one.
    _n_classes: ClassVar[int | None] = None
    # What may be decided, a `Choices`, where that is not the classes.
    _choices = None
    _pickled: ClassVar[tuple[str, str]] = ("classes_", "policy_")
    # Whether it can decide nothing but the classes.
    _decides_only_classes = False
    # Whether the rule learns from `y`, so that a class without an example is an error.
    _learns = True

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        proba: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        costs: Any = None,
        cost_tensor: Any = None,
    ) -> Self:
        """Learn the rule from class probabilities and the true classes.

        Parameters
        ----------
        proba : array-like of shape (n_samples, n_classes)
            Probabilities of examples that their model was *not* trained on; columns in
            the order of `classes_`. A DataFrame whose columns are the class labels says
            the order itself.
        y : array-like of shape (n_samples,)
            Their true classes.
        sample_weight, costs, cost_tensor : array-like, default=None
            As in the `fit` of a classifier such as `CostDecisionClassifier`.

        Returns
        -------
        self : object
            The fitted rule.
        """
        if is_collection(proba):
            more = {"sample_weight": sample_weight, "costs": costs, "cost_tensor": cost_tensor}
            return cluster().learn(self, proba, y, **more)
        check_index(proba=proba, y=y, sample_weight=sample_weight, costs=costs)
        classes = self._settle_classes(proba, y)
        proba, codes, sample_weight = check_examples(proba, y, classes, sample_weight)
        given = {"codes": codes, "costs": costs, "cost_tensor": cost_tensor}
        proba, given, sample_weight = rows_with_weight(proba, given, sample_weight)
        priced = make_costs(
            given.pop("codes"),
            classes=classes,
            cost_matrix=self.cost_matrix,
            **given,
            in_order=self.classes is not None,
            sample_weight=sample_weight,
        )
        return self._fit_checked(proba, classes, priced, sample_weight)

    def _fit_checked(self, proba, classes, costs: Costs, sample_weight=None) -> Self:
        """Learn from what has been checked; a rule that learns nothing needs no `proba`."""
        self._set_classes(classes)
        if costs.choices is not None and self._decides_only_classes:
            raise ValueError(
                f"{type(self).__name__} decides the classes {quoted(self.classes_)} alone, but the "
                f"costs are those of {quoted(costs.choices.labels)}: use a rule for any decisions, "
                "such as MinimumExpectedCost or ParallelPartition."
            )
        self._choices = costs.choices  # type: ignore[assignment]
        if self._learns:
            self._check_all_seen(np.bincount(costs.y, minlength=len(classes)))
        self.cost_matrix_ = costs.class_matrix()
        self._learn(proba, costs, sample_weight)
        self._settle_policy(deciding=costs.kind == "deciding")
        return self

    def _settle_policy(self, *, deciding: bool = False) -> None:
        """Set `policy_`, by which it decides, from the numbers that it has learned."""
        numbers, weighs = self._numbers(), self._can_weigh()
        self.policy_ = Policy(
            classes=self.classes_.tolist(),
            prices=self.cost_matrix_,
            decisions=None if self._choices is None else self._choices.labels,  # type: ignore[arg-type]
            rule=numbers,
            weighs_prices=weighs,
            needs_prices=deciding and follows_prices(numbers, weighs),
        )

    @property
    def decisions_(self) -> np.ndarray:
        """What `predict` returns, in the order of the prices: the classes, or what costs name."""
        labels = self.policy_.decisions
        return self.classes_ if labels == self.policy_.classes else label_array(labels)

    def _learn(self, proba: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        self.partition_ = self.cost_matrix_

    def _numbers(self) -> Partition | Doubt | Likeliest | None:
        """Return what it has learned to weigh in the place of the prices; None is nothing."""
        return None

    def _can_weigh(self) -> bool:
        """Say whether this very rule, with its parameters, can weigh a `cost_tensor`."""
        return self._weighs_cost_tensor

    @lazily
    def predict(self, proba: Any, *, cost_tensor: Any = None) -> np.ndarray:
        """Return the decision for each row of probabilities.

        Parameters
        ----------
        proba : array-like of shape (n_samples, n_classes)
            Class probabilities, columns in the order of `classes_`.
        cost_tensor : array-like of shape (n_samples, n_classes, n_decisions), default=None
            The costs of each example, [example, true, decided], where they are known
            when deciding.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
            Labels of `decisions_`: those of classes, where nothing else was said.
        """
        decided = self.decide(proba, cost_tensor=cost_tensor)
        return self.decisions_[decided]

    def decide(self, proba: Any, *, cost_tensor: Any = None) -> np.ndarray:
        """Return the decisions as positions in `decisions_`; the parameters are those of `predict`."""
        check_is_fitted(self)
        proba = self._in_order(proba)
        tensor = self._check_cost_tensor(cost_tensor, proba)
        return self.policy_.decide(proba, tensor).positions

    def _check_cost_tensor(self, cost_tensor: Any, X: Any) -> np.ndarray | None:
        """Return the costs known when deciding, checked; refuse them where they are of no use."""
        if cost_tensor is None:
            if self.policy_.needs_prices:
                raise NoPrices(self)
            return None
        if not self._can_weigh():
            raise ValueError(
                f"{type(self).__name__} learns where to decide and cannot weigh the costs of "
                "single examples when deciding: leave cost_tensor out of predict, or use a rule "
                "such as MinimumExpectedCost or ParallelPartition."
            )
        named = None if self._choices is None else self._choices.labels
        return tensor_of(cost_tensor, num_samples(X), self.classes_, named)

    def _set_classes(self, classes: Any) -> None:
        self.classes_ = np.asarray(classes)
        if self._n_classes not in (None, len(self.classes_)):
            raise ValueError(
                f"{type(self).__name__} is for {self._n_classes} classes, but there are "
                f"{len(self.classes_)}: use ParallelPartition."
            )

    def _check_all_seen(self, counts: np.ndarray) -> None:
        if (counts == 0).any():
            raise ValueError(
                f"There is no validation example of {quoted(self.classes_[counts == 0])}: "
                f"{type(self).__name__} cannot learn where to decide it."
            )

    def _in_order(self, proba: Any) -> np.ndarray:
        """Put the columns of a DataFrame in the order of `classes_`; check the number of columns."""
        n_classes = len(self.classes_)
        columns = getattr(proba, "columns", None)
        if columns is not None and set(columns) == set(self.classes_.tolist()):
            proba = proba[self.classes_.tolist()]
        proba = np.asarray(proba)
        if proba.ndim == 2 and proba.shape[1] != n_classes:
            raise ValueError(
                f"proba has {proba.shape[1]} columns, one per class, but the rule was fitted with "
                f"{n_classes} classes: {quoted(self.classes_)}."
            )
        return proba

    def _settle_classes(self, proba: Any, y: Any) -> np.ndarray:
        """Return the classes in the order of the columns of `proba`."""
        check_classification_targets(y)
        classes, seen = self.classes, np.unique(np.asarray(y))
        labels = self.cost_matrix.labels if isinstance(self.cost_matrix, CostMatrix) else None
        in_order = None if labels is None else np.unique(np.asarray(labels))
        for known in (getattr(proba, "columns", None), in_order):
            if classes is None and known is not None and set(seen.tolist()) <= set(known):
                classes = known
        if classes is None:
            classes = seen
            width = np.shape(proba)[1] if np.ndim(proba) == 2 else len(classes)
            if width != len(classes):
                raise ValueError(
                    f"proba has {width} columns, one per class, but y has {len(classes)} classes: "
                    f"{quoted(classes)}. If a class has no example in y, name all of them in `classes`."
                )
        classes = np.asarray(classes)
        if len(classes) < 2:
            raise ValueError(f"y has only one class, {quoted(classes)}: a rule needs 2 or more.")
        return classes


def check_examples(proba: Any, y: Any, classes: Any, sample_weight: Any = None) -> tuple:
    """Return probabilities, the true classes as positions in `classes`, and weights, checked."""
    proba = check_proba(proba, n_classes=len(classes))
    _, codes = encode_labels(one_column(y, warn=True), classes)
    check_consistent_length(proba, codes)
    return proba, codes, check_weights(sample_weight, proba)


# -- rules by name -----------------------------------------------------------------------------

_rules: dict[str, type] = {}


def enter_rule(name: str, cls: type) -> None:
    """Make a rule known under a name."""
    known = _rules.setdefault(name, cls)
    if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(
            f"Two rules are called {name!r}: {known.__qualname__} and {cls.__qualname__}."
        )


def known_rules() -> dict[str, type]:
    """Return the rules by name."""
    return dict(_rules)


def make_rule(rule: Any) -> Any:
    """Return a new, unfitted rule from its name or from an object.

    A rule inside a classifier decides by the classifier's costs.
    """
    if isinstance(rule, str):
        if rule not in _rules:
            raise ValueError(f"There is no rule {rule!r}: the rules are {quoted(_rules, 99)}.")
        return _rules[rule]()
    if getattr(rule, "cost_matrix", None) is not None:
        raise ValueError(
            f"The rule {type(rule).__name__} has a cost_matrix of its own: give it to the "
            "classifier instead, whose costs its rule decides by."
        )
    return clone(rule)
