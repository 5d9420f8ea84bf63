"""CostDecisionClassifier: any estimator, any rule, cross-fitted."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from stakes._base import COST_MATRIX_CONSTRAINT
from stakes._learning.folds import as_splitter, folds_of_rows, split_folds
from stakes._learning.statement import Statement
from stakes.costs import Costs
from stakes.decision._calibration import METHODS, ProbabilityCalibrator
from stakes.decision._crossfit import class_probabilities, cross_fit, of_rows, weight_params
from stakes.decision._expected import check_proba
from stakes.decision._mixin import PolicyMixin
from stakes.decision._numbers import Elsewhere, follows_prices
from stakes.decision._rule import BaseRule, make_rule
from stakes.decision.program import factors
from stakes.utils._arrays import check_is_table, quoted
from stakes.utils._collections import cluster, is_collection
from stakes.utils._frames import as_frame
from stakes.utils._pipelines import takes
from stakes.utils._sklearn import (
    HasMethods,
    StrOptions,
    fit_context,
    num_samples,
    raise_for_params,
    validate_data,
)


@dataclass(eq=False, repr=False, kw_only=True)
class CostDecisionClassifier(PolicyMixin, MetaEstimatorMixin, BaseEstimator):
    """Put a cost-sensitive decision on top of any probabilistic classifier.

    Three steps: the estimator's probabilities, an optional calibration of them, and a rule
    that turns them into decisions. Whatever the calibration and the rule learn, they learn
    from cross-fitted probabilities: each example's come from a model that has not seen it.
    The final estimator is then fitted on all examples.

    It serves class costs and, if its rule does, costs known when deciding (`cost_tensor` in
    `predict`). Where costs are known in hindsight alone it decides by the mean costs of each
    class: not the one to use then, see `stakes.reductions`.

    Parameters
    ----------
    estimator : estimator
        A classifier with `predict_proba`, or with `decision_function` if `calibration` is
        given. A `FrozenEstimator` is not fitted again: the X given to `fit` should then be
        examples that it has not seen.
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``. A plain array follows the order of `classes_`. If
        None, the class means of the costs given to `fit`, or else 0/1 costs.
    rule : str or rule, default="minimum_expected_cost"
        The rule that decides, by name or as an object (without a cost matrix of its own):
        ``"minimum_expected_cost"``, ``"binary_threshold"``, ``"class_thresholds"``,
        ``"parallel_partition"``, ``"column_partition"``, ``"row_partition"``,
        ``"full_partition"``, ``"lachiche_flach"``, ``"mossman"``, ``"least_regret"``,
        ``"risk_averse"``, ``"most_probable"``.
    calibration : {"vector", "matrix", "temperature", "sigmoid", "isotonic", "binning"}, \
            ProbabilityCalibrator or None, default=None
        How the probabilities are calibrated before the rule sees them.
    cv : int, cross-validation splitter or iterable, default=5
        The folds of the cross-fitting, where a calibration or a rule learns something. A
        number spreads the examples at random, with a fixed seed and classes in proportion;
        pass a splitter where their order matters.
    abstain_cost : float or array-like of shape (n_classes,), default=None
        What it costs not to decide, always or for each true class. Where that is less than
        the expected cost of the decision, `predict` returns `abstain_label`; `expected_costs`
        has a last column for it, and `score` counts it.
    abstain_label : int, float or str, default=None
        The label of an abstention. If None, -1 for number labels and ``"abstain"`` for
        text.
    capacity : dict, default=None
        Limits of decisions, as in `decide_within`: ``{"inspect": 100}`` or ``{"inspect": 0.05}``;
        abstaining can be limited too, by its label. Only with the rule of least expected cost.
    capacity_mode : {"batch", "stream"}, default="batch"
        "batch": the rows given to `predict` are decided together, at the exact optimum. "stream":
        each row is decided alone, with prices learned in `fit` from held-out rows that keep to
        the shares on average; see `CapacityStream` for prices that follow what happens.
    priors : dict or array-like of shape (n_classes,), default=None
        The class frequencies of the population to decide on, where training rows are of
        another, or were sampled by class. None are those of training. See also `adapt`.
    n_jobs : int, default=None
        Folds fitted at a time; -1 for as many as there are cores.

    Attributes
    ----------
    estimator_ : estimator
        Fitted on all examples.
    calibrator_ : ProbabilityCalibrator or None
        Fitted on the cross-fitted probabilities.
    rule_ : rule
        Fitted on the calibrated cross-fitted probabilities.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The costs in force, in the order of `classes_`.
    cost_kind_ : {"class", "deciding", "hindsight"}
        Which kind of costs it was fitted with.
    abstain_costs_ : ndarray of shape (n_classes,) or None
        What abstaining costs for each true class; None without `abstain_cost`.
    abstain_label_ : object
        The label of an abstention; None without `abstain_cost`.
    training_priors_, priors_ : ndarray of shape (n_classes,)
        The class frequencies of training, and those that probabilities are stated at.
    n_training_ : int
        The rows that the former were counted on.
    policy_ : Policy
        What decides: prices, calibration, rule, frequencies and limits, as numbers.
    shadow_prices_ : ndarray of shape (n_decisions,) or None
        For ``capacity_mode="stream"``: what one place more of each decision is worth, per row.
    held_out_ : list
        What held-out probabilities are like by true class; where `fit` has any.
    fold_parameters_ : ndarray of shape (n_folds, n_parameters)
        What the rule would have learned from each fold alone; only for rules that learn, and
        for more than one fold. Folds that lack a class are left out.
    threshold_spread_ : ndarray of shape (n_parameters,)
        The standard deviation of `fold_parameters_` over the folds: how far to trust the
        learned thresholds.

    Examples
    --------
    Priors of 0.7, 0.2 and 0.1, and a third class that is expensive to miss:

    >>> from sklearn.dummy import DummyClassifier
    >>> from stakes.decision import CostDecisionClassifier
    >>> X, y = [[0]] * 10, [0] * 7 + [1] * 2 + [2]
    >>> C = [[0, 1, 1], [1, 0, 1], [20, 20, 0]]
    >>> model = CostDecisionClassifier(DummyClassifier(), cost_matrix=C).fit(X, y)
    >>> model.expected_costs([[0]]).round(3)
    array([[2.2, 2.7, 0.9]])
    >>> model.predict([[0]])
    array([2])

    Asking a human costs 0.5, less than the best decision:

    >>> model.set_params(abstain_cost=0.5).fit(X, y).predict([[0]])
    array([-1])
    """

    estimator: Any = field(kw_only=False)
    cost_matrix: Any = None
    rule: Any = "minimum_expected_cost"
    calibration: Any = None
    cv: Any = 5
    abstain_cost: Any = None
    abstain_label: Any = None
    capacity: Any = None
    capacity_mode: str = "batch"
    priors: Any = None
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [
            HasMethods(["fit", name]) for name in ("predict_proba", "decision_function")
        ],
        "cost_matrix": COST_MATRIX_CONSTRAINT,
        "rule": [str, HasMethods(["fit", "predict"])],
        "calibration": [StrOptions(set(METHODS)), HasMethods(["fit", "transform"]), None],
        "cv": ["cv_object"],
        **PolicyMixin._policy_constraints,
        "n_jobs": [int, None],
    }

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        costs: Any = None,
        cost_tensor: Any = None,
        **params: Any,
    ) -> Self:
        """Fit the estimator; learn the calibration and the rule from cross-fitted probabilities.

        Parameters
        ----------
        X, y, sample_weight, costs, cost_tensor
            As in the `fit` of every other classifier here; X in any form that the estimator
            takes; a DataFrame of polars or pyarrow reaches a Pipeline as it is, any other
            estimator as one of pandas. The weights count in every step.
        **params : dict
            Routed to the `fit` of the estimator and the `split` of the splitter, with
            scikit-learn's metadata routing enabled.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        if "cost_matrix" in params:
            raise TypeError(
                "cost_matrix is a parameter of the classifier, not of fit: "
                "CostDecisionClassifier(estimator, cost_matrix=C).fit(X, y)."
            )
        raise_for_params(params, self, "fit")
        given = {"costs": costs, "cost_tensor": cost_tensor, "sample_weight": sample_weight}
        if is_collection(X):
            return cluster().learn(self, X, y, **given)
        n_given = num_samples(X)
        X, priced, sample_weight = self._validate_training(X, y, **given)
        cv = self.cv
        if len(priced) < n_given:
            rows = np.flatnonzero(np.asarray(given["sample_weight"]))
            params, cv = of_rows(params, rows, n_given), folds_of_rows(cv, rows, n_given)
        if self.calibration is None and not hasattr(self.estimator, "predict_proba"):
            raise ValueError(
                f"{type(self.estimator).__name__} has no predict_proba, only scores: give a "
                'calibration, such as calibration="sigmoid".'
            )
        self._settle_policy(priced.y, sample_weight)
        self.rule_ = make_rule(self.rule)
        if getattr(self.rule_, "_abstains", False):
            raise ValueError(
                f"{type(self.rule_).__name__} guarantees nothing on rows that a model was fitted "
                "on: give it the probabilities of other rows itself."
            )
        learns = getattr(self.rule_, "_learns", True)
        routed = process_routing(self, "fit", **params)
        labels = self.classes_[priced.y]
        fit_params = self._fit_estimator(X, labels, sample_weight, routed.estimator.fit)
        proba, folds = None, []
        if learns or self.calibration is not None or self._streams:
            splitter = as_splitter(cv, labels)
            folds = split_folds(splitter, X, labels, **routed.splitter.split)
            proba = self._held_out(X, labels, folds, fit_params)
        proba = self._learn_calibration(proba, priced.y, sample_weight, folds)
        if learns:
            self._learn_rule(proba, priced, sample_weight, folds)
        else:
            self.rule_._fit_checked(None, self.classes_, priced)
        self._take_over()
        if proba is not None:
            used = np.flatnonzero(proba.sum(axis=1) > 0)
            here = priced.take(used)
            self._learn_from_held_out(proba[used], here.y, here.tensor)
        for name in ("n_features_in_", "feature_names_in_"):
            if not hasattr(self, name) and hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    # -- the steps of fit ---------------------------------------------------------------

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        """Leave X to the estimator; it must only have rows that can be picked."""
        check_is_table(X)
        (X,) = indexable(self._as_taken(X))
        if num_samples(X) == 0:
            raise ValueError("Found array with 0 sample(s): X is empty, there is nothing to fit.")
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _as_taken(self, X: Any) -> Any:
        """Return X for the estimator: a Pipeline takes any table as it is, others pandas'."""
        inner = self.estimator
        while hasattr(inner, "estimator"):  # of a search, or frozen
            inner = inner.estimator
        return X if isinstance(inner, Pipeline) else as_frame(X)

    def _fit_estimator(self, X, labels, sample_weight, fit_params: dict) -> dict:
        """Fit `estimator_` on all examples, unless it is frozen; return what its `fit` was given."""
        self.estimator_ = clone(self.estimator)
        if isinstance(self.estimator, FrozenEstimator):
            self._check_frozen()
            return {}
        fit_params = {**fit_params, **weight_params(self.estimator, sample_weight)}
        self.estimator_.fit(X, labels, **fit_params)
        return fit_params

    def _held_out(self, X, labels, folds, fit_params: dict) -> np.ndarray:
        """Return probabilities by models that have not seen the example; rows of 0 without one."""
        if isinstance(self.estimator, FrozenEstimator):
            return class_probabilities(self.estimator_, X, self.classes_)
        how = {"fit_params": fit_params, "n_jobs": self.n_jobs}
        return cross_fit(self.estimator, X, labels, self.classes_, folds, **how)[0]

    def _learn_calibration(self, proba, codes, sample_weight, folds) -> Any:
        """Fit `calibrator_`; return calibrated probabilities of what was held out."""
        self.calibrator_: Any = None
        if self.calibration is None:
            return proba
        given = self.calibration
        calibrator = ProbabilityCalibrator(given) if isinstance(given, str) else clone(given)
        used = proba.sum(axis=1) > 0
        if getattr(calibrator, "_by_class", True):
            self._check_held_out(codes[used])

        def fit(one: Any, rows: np.ndarray) -> Any:
            weight = None if sample_weight is None else sample_weight[rows]
            return getattr(one, "_fit_codes", one.fit)(proba[rows], codes[rows], weight)

        self.calibrator_ = fit(calibrator, used)
        # The rule, too, learns from what was held out: each fold's map comes from the others.
        calibrated = np.zeros_like(proba)
        for _, test in folds:
            rest = used.copy()
            rest[test] = False
            # Of a single fold nothing is left over; its map comes from itself.
            part = fit(clone(calibrator), rest) if rest.any() else self.calibrator_
            calibrated[test] = part.transform(proba[test])
        return calibrated

    def _learn_rule(self, proba, costs: Costs, sample_weight, folds) -> None:
        """Fit `rule_` on all held-out probabilities, and once per fold to see the spread."""

        def fit(rule: Any, rows: Any) -> Any:
            weight = None if sample_weight is None else sample_weight[rows]
            here = costs.take(rows)
            if isinstance(rule, BaseRule):
                return rule._fit_checked(proba[rows], self.classes_, here, weight)
            labels = self.classes_[here.y]
            return rule.fit(proba[rows], labels, sample_weight=weight, costs=here.named_rows())

        used = proba.sum(axis=1) > 0
        self._check_held_out(costs.y[used])
        if self._shifts:  # each example stands for as many as there are of its class now
            by = factors(self.priors_, self.training_priors_)[costs.y]
            sample_weight = by if sample_weight is None else sample_weight * by
            proba = self.policy_.state(proba)
        fit(self.rule_, slice(None) if used.all() else np.flatnonzero(used))
        complete = [test for _, test in folds if len(np.unique(costs.y[test])) == costs.n_classes]
        if len(folds) > 1 and complete and hasattr(self.rule_, "parameters_"):
            parts = [fit(clone(self.rule_), test).parameters_ for test in complete]
            self.fold_parameters_ = np.asarray(parts)
            self.threshold_spread_ = self.fold_parameters_.std(axis=0)

    def _take_over(self) -> None:
        """Let the policy have what the calibration and the rule have learned."""
        rule, calibrator = self.rule_, self.calibrator_
        weighs = self._weighs_cost_tensor
        ours = isinstance(rule, BaseRule)
        named = self._priced_decisions or self.policy_.classes
        numbers = rule._numbers() if ours else Elsewhere(rule, named, weighs)
        if self._streams and numbers is not None:
            raise ValueError(
                'capacity_mode="stream" needs the rule of least expected cost, but '
                f"rule={self.rule!r} decides by what it has learned: leave one of them out."
            )
        ours = isinstance(calibrator, ProbabilityCalibrator)
        calibration = calibrator.numbers() if ours else None
        needs = self.cost_kind_ == "deciding" and follows_prices(numbers, weighs)
        learned = {"rule": numbers, "calibration": calibration}
        self._learned_policy(**learned, weighs_prices=weighs, needs_prices=needs)

    def _check_frozen(self) -> None:
        known, ours = (
            set(np.asarray(self.estimator.classes_).tolist()),
            set(self.classes_.tolist()),
        )
        lacking, strange = (sorted(part, key=str) for part in (known - ours, ours - known))
        if lacking:
            raise ValueError(
                f"y has no example of {quoted(lacking)}, which the frozen estimator knows: "
                "give examples of each of its classes."
            )
        if strange:
            raise ValueError(
                f"y has {quoted(strange)}, which the frozen estimator does not know: "
                "leave such examples out."
            )

    def _check_held_out(self, codes: np.ndarray) -> None:
        lacking = np.setdiff1d(np.arange(len(self.classes_)), codes)
        if len(lacking):
            raise ValueError(
                f"cv holds out no example of {quoted(self.classes_[lacking])}: nothing can be "
                "learned about it."
            )

    # -- deciding -------------------------------------------------------------------------

    @property
    def _weighs_cost_tensor(self) -> bool:  # type: ignore[override]
        """As its rule does; a rule from elsewhere if its `predict` takes a `cost_tensor`."""
        rule = getattr(self, "rule_", None) or make_rule(self.rule)
        if isinstance(rule, BaseRule):
            return rule._can_weigh()
        return takes(rule, "predict", "cost_tensor")

    def _check_cost_tensor(self, cost_tensor: Any, X: Any) -> np.ndarray | None:
        if isinstance(self.rule_, BaseRule) and cost_tensor is not None:
            return self.rule_._check_cost_tensor(cost_tensor, X)
        return super()._check_cost_tensor(cost_tensor, X)

    def _state(
        self, X: Any, cost_tensor: np.ndarray | None = None, *, proba: bool = False
    ) -> Statement:
        stated = class_probabilities(self.estimator_, self._as_taken(X), self.classes_)
        if self.calibrator_ is not None and self.policy_.calibration is None:  # the user's own
            stated = self.calibrator_.transform(stated)
        return Statement(proba=check_proba(stated, n_classes=len(self.classes_)))

    # -- scikit-learn's protocols -----------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRouter:
        """Ask for the costs here; hand everything else in `fit` to the estimator and splitter."""
        to_fit, to_split = (MethodMapping().add(caller="fit", callee=c) for c in ("fit", "split"))
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(estimator=self.estimator, method_mapping=to_fit)
        return router.add(splitter=self.cv, method_mapping=to_split)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags
