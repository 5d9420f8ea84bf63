"""CostDecisionClassifier: any estimator, any rule, cross-fitted."""

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, column_or_1d

from stakes._base import COST_MATRIX_CONSTRAINT, CostSensitiveMixin
from stakes.costs import check_costs
from stakes.decision._abstention import check_abstention
from stakes.decision._calibration import METHODS, ProbabilityCalibrator
from stakes.decision._crossfit import (
    as_splitter,
    class_probabilities,
    cross_fit,
    split_folds,
    weight_params,
)
from stakes.decision._expected import expected_costs
from stakes.decision._registry import RULES, make_rule
from stakes.decision._rule import BaseRule
from stakes.utils._arrays import quoted
from stakes.utils._labels import encode_labels
from stakes.utils._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
    num_samples,
    raise_for_params,
)


class CostDecisionClassifier(CostSensitiveMixin, MetaEstimatorMixin, BaseEstimator):
    """Put a cost-sensitive decision on top of any probabilistic classifier.

    Three steps: the estimator's probabilities, an optional calibration of them, and a rule
    that turns them into decisions. Whatever the calibration and the rule learn, they learn
    from cross-fitted probabilities: each example's come from a model that has not seen it.
    The final estimator is then fitted on all examples.

    It serves class costs (situation A) and example costs that are known when deciding
    (B1: `cost_tensor` in `predict`). Where example costs are seen in training only (B2)
    it decides by the mean costs of each class: not the one to use then, see
    `stakes.reductions`.

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
        ``"full_partition"``, ``"lachiche_flach"``, ``"mossman"``.
    calibration : {"vector", "temperature", "sigmoid", "isotonic", "binning"}, \
            ProbabilityCalibrator or None, default=None
        How the probabilities are calibrated before the rule sees them.
    cv : int, cross-validation splitter or iterable, default=5
        The folds of the cross-fitting, where a calibration or a rule learns something. A
        number deals the examples out at random, with a fixed seed and classes in proportion;
        pass a splitter where their order matters.
    abstain_cost : float or array-like of shape (n_classes,), default=None
        What it costs not to decide, always or for each true class. Where that is less than
        the expected cost of the decision, `predict` returns `abstain_label`.
    abstain_label : int, float or str, default=None
        The label of an abstention. If None, -1 for number labels and ``"abstain"`` for
        text.
    n_jobs : int, default=None
        Folds fitted at a time.

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
    abstain_label_ : object
        The label of an abstention; only with `abstain_cost`.
    fold_parameters_ : ndarray of shape (n_folds, n_parameters)
        What the rule would have learned from each fold alone; only for rules that learn.
        Folds that lack a class are left out.
    threshold_spread_ : ndarray of shape (n_parameters,)
        The standard deviation of `fold_parameters_` over the folds: how far to trust the
        learned thresholds.

    Examples
    --------
    Priors of 0.7, 0.2 and 0.1, and a third class that is dear to miss:

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

    __metadata_request__predict = {"cost_tensor": True}

    _parameter_constraints: dict = {
        "estimator": [
            HasMethods(["fit", "predict_proba"]),
            HasMethods(["fit", "decision_function"]),
        ],
        "cost_matrix": COST_MATRIX_CONSTRAINT,
        "rule": [StrOptions(set(RULES)), HasMethods(["fit", "predict"])],
        "calibration": [StrOptions(set(METHODS)), HasMethods(["fit", "transform"]), None],
        "cv": ["cv_object"],
        "abstain_cost": [Interval(Real, None, None, closed="neither"), "array-like", None],
        "abstain_label": "no_validation",
        "n_jobs": [int, None],
    }

    def __init__(
        self,
        estimator,
        *,
        cost_matrix=None,
        rule="minimum_expected_cost",
        calibration=None,
        cv=5,
        abstain_cost=None,
        abstain_label=None,
        n_jobs=None,
    ):
        self.estimator = estimator
        self.cost_matrix = cost_matrix
        self.rule = rule
        self.calibration = calibration
        self.cv = cv
        self.abstain_cost = abstain_cost
        self.abstain_label = abstain_label
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None, **params):
        """Fit the estimator; learn the calibration and the rule from cross-fitted probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Examples, in any form that the estimator takes.
        y : array-like of shape (n_samples,)
            Their true classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each example counts, in every step.
        costs : array-like of shape (n_samples, n_classes), default=None
            What each decision costs for each example, instead of `cost_matrix`.
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            [example, true, predicted], instead of `cost_matrix`.
        **params : dict
            Routed to the `fit` of the estimator and the `split` of the splitter, with
            scikit-learn's metadata routing enabled.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        raise_for_params(params, self, "fit")
        (X,) = indexable(X)
        if num_samples(X) == 0:
            raise ValueError("Found array with 0 sample(s): X is empty, there is nothing to fit.")
        X, training, sample_weight = self._validate_training(
            X, y, costs=costs, cost_tensor=cost_tensor, sample_weight=sample_weight, check_X=False
        )
        self._check_calibration()
        self._abstain_costs = None
        if self.abstain_cost is not None:
            self._abstain_costs, self.abstain_label_ = check_abstention(
                self.abstain_cost, self.abstain_label, self.classes_
            )
        rule = make_rule(self.rule)
        labels = self.classes_[training.y]
        routed = process_routing(self, "fit", **params)
        fit_params = dict(routed.estimator.fit)
        frozen = isinstance(self.estimator, FrozenEstimator)
        if frozen:
            self._check_frozen()
        else:
            fit_params |= weight_params(self.estimator, sample_weight)

        learns = getattr(rule, "_learns", True)
        self.estimator_ = clone(self.estimator)
        if not frozen:
            self.estimator_.fit(X, labels, **fit_params)
        proba, folds = None, []
        if learns or self.calibration is not None:
            splitter = as_splitter(self.cv, labels)
            folds = split_folds(splitter, X, labels, **routed.splitter.split)
            if frozen:
                proba = class_probabilities(self.estimator_, X, self.classes_)
            else:
                proba, tested = cross_fit(
                    self.estimator,
                    X,
                    labels,
                    self.classes_,
                    folds,
                    fit_params=fit_params,
                    n_jobs=self.n_jobs,
                )
                self._check_tested(tested, training.y)
        tensor = None
        if cost_tensor is not None:
            tensor = check_costs(
                cost_tensor, n_samples=len(labels), classes=self.classes_, name="cost_tensor"
            )
        proba = self._learn_calibration(proba, training.y, sample_weight, folds, learns)
        self._learn_rule(rule, proba, training, sample_weight, tensor, folds, learns)
        for name in ("n_features_in_", "feature_names_in_"):
            if not hasattr(self, name) and hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    # -- the steps of fit ---------------------------------------------------------------

    def _learn_calibration(self, proba, codes, sample_weight, folds, learns):
        """Fit `calibrator_`; return calibrated probabilities for the rule to learn from."""
        self.calibrator_ = None
        if self.calibration is None:
            return proba
        if isinstance(self.calibration, str):
            calibrator = ProbabilityCalibrator(self.calibration)
        else:
            calibrator = clone(self.calibration)
        fit_map = getattr(calibrator, "_fit_codes", calibrator.fit)
        used = proba.sum(axis=1) > 0
        self.calibrator_ = fit_map(
            proba[used], codes[used], None if sample_weight is None else sample_weight[used]
        )
        if not learns:
            return proba
        # The rule, too, learns from what was held out: each fold's map comes from the others.
        calibrated = np.zeros_like(proba)
        for _, test in folds:
            rest = used.copy()
            rest[test] = False
            part = clone(calibrator)
            weight = None if sample_weight is None else sample_weight[rest]
            getattr(part, "_fit_codes", part.fit)(proba[rest], codes[rest], weight)
            calibrated[test] = part.transform(proba[test])
        return calibrated

    def _learn_rule(self, rule, proba, training, sample_weight, tensor, folds, learns):
        """Fit `rule_` on all held-out probabilities, and once per fold to see the spread."""
        self.rule_ = rule
        if not learns:
            rule._fit_checked(None, self.classes_, training)
            return
        used = proba.sum(axis=1) > 0
        used = slice(None) if used.all() else np.flatnonzero(used)
        _fit_rule(rule, proba, self.classes_, training, sample_weight, tensor, used)
        rows = []
        for _, test in folds:
            if len(np.unique(training.y[test])) == len(self.classes_):
                part = clone(rule)
                _fit_rule(part, proba, self.classes_, training, sample_weight, tensor, test)
                if hasattr(part, "parameters_"):
                    rows.append(part.parameters_)
        if rows:
            self.fold_parameters_ = np.asarray(rows)
            self.threshold_spread_ = self.fold_parameters_.std(axis=0)

    def _check_calibration(self):
        if self.calibration is None and not hasattr(self.estimator, "predict_proba"):
            raise ValueError(
                f"{type(self.estimator).__name__} has no predict_proba, only scores: give a "
                'calibration, such as calibration="sigmoid".'
            )

    def _check_frozen(self):
        known = np.asarray(self.estimator.classes_)
        lacking = sorted(set(known.tolist()) - set(self.classes_.tolist()), key=str)
        strange = sorted(set(self.classes_.tolist()) - set(known.tolist()), key=str)
        if lacking or strange:
            what = f"lacks {quoted(lacking)}" if lacking else f"has {quoted(strange)} beyond"
            raise ValueError(f"y {what} the classes of the frozen estimator: {quoted(known)}.")

    def _check_tested(self, tested, codes):
        lacking = np.setdiff1d(np.arange(len(self.classes_)), codes[tested > 0])
        if len(lacking):
            raise ValueError(
                f"cv holds out no example of {quoted(self.classes_[lacking])}: nothing can be "
                "learned about it."
            )

    # -- deciding -------------------------------------------------------------------------

    def predict_proba(self, X):
        """Return the calibrated class probabilities, (n_samples, n_classes)."""
        check_is_fitted(self)
        proba = class_probabilities(self.estimator_, X, self.classes_)
        return proba if self.calibrator_ is None else self.calibrator_.transform(proba)

    def expected_costs(self, X, *, cost_tensor=None):
        """Return the expected cost of each decision.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Examples.
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            [example, true, predicted], instead of `cost_matrix_`.

        Returns
        -------
        expected : ndarray of shape (n_samples, n_classes) or (n_samples, n_classes + 1)
            In the order of `classes_`; with `abstain_cost`, abstaining comes last.
        """
        proba = self.predict_proba(X)
        expected = self._expected(proba, self._checked_tensor(cost_tensor, len(proba)))
        if self._abstain_costs is None:
            return expected
        return np.column_stack([expected, proba @ self._abstain_costs])

    def predict(self, X, *, cost_tensor=None):
        """Return the decisions of the rule, or `abstain_label_` where abstaining is cheaper.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Examples.
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            The costs of each example, [example, true, predicted], where they are known
            when deciding; otherwise `cost_matrix_`.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
            Class labels.
        """
        proba = self.predict_proba(X)
        tensor = self._checked_tensor(cost_tensor, len(proba))
        handed = {} if tensor is None else {"cost_tensor": tensor}
        if self._abstain_costs is None:
            return self.rule_.predict(proba, **handed)
        decided = np.asarray(self.rule_.predict(proba, **handed))
        codes = encode_labels(decided, self.classes_)[1]
        expected = self._expected(proba, tensor)[np.arange(len(codes)), codes]
        abstains = proba @ self._abstain_costs < expected
        kind = np.result_type(decided, np.asarray(self.abstain_label_))
        decided = decided.astype(kind)
        decided[abstains] = self.abstain_label_
        return decided

    def _expected(self, proba, tensor):
        if tensor is not None:
            return expected_costs(proba, cost_tensor=tensor)
        return expected_costs(proba, self.cost_matrix_)

    def _checked_tensor(self, cost_tensor, n_samples):
        if cost_tensor is None:
            return None
        return check_costs(
            cost_tensor, n_samples=n_samples, classes=self.classes_, name="cost_tensor"
        )

    def score(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        """Return minus the average cost of the decisions on X: higher is better.

        A `cost_tensor` is known when deciding, so `predict` gets it too. An abstention
        costs `abstain_cost`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Examples.
        y : array-like of shape (n_samples,)
            Their true classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each example counts.
        costs : array-like of shape (n_samples, n_classes), default=None
            What each decision costs for each example.
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            [example, true, predicted]. With neither, `cost_matrix_`.

        Returns
        -------
        score : float
            Minus the average cost.
        """
        if costs is not None and cost_tensor is not None:
            raise ValueError("Give either costs or cost_tensor, not both.")
        decided = self.predict(X, cost_tensor=cost_tensor)
        codes = encode_labels(column_or_1d(y), self.classes_)[1]
        rows = np.arange(len(codes))
        if costs is not None:
            table = check_costs(costs, n_samples=len(codes), classes=self.classes_)
        elif cost_tensor is not None:
            table = self._checked_tensor(cost_tensor, len(codes))[rows, codes]
        else:
            table = self.cost_matrix_[codes]
        abstains = np.zeros(len(codes), dtype=bool)
        if self._abstain_costs is not None:
            abstains = decided == self.abstain_label_
        paid = np.empty(len(codes))
        chosen = encode_labels(decided[~abstains], self.classes_)[1]
        paid[~abstains] = table[rows[~abstains], chosen]
        if abstains.any():
            paid[abstains] = self._abstain_costs[codes[abstains]]
        weight = None if sample_weight is None else check_sample_weight(sample_weight, paid)
        return 0.0 - float(np.average(paid, weights=weight))

    # -- scikit-learn's protocols -----------------------------------------------------------

    def get_metadata_routing(self):
        """Ask for the costs here; hand everything else in `fit` to the estimator and splitter."""
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(
            estimator=self.estimator,
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )
        return router.add(
            splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split")
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def _fit_rule(rule, proba, classes, training, sample_weight, tensor, rows):
    """Fit a rule on some of the rows; a rule from elsewhere goes through its public `fit`."""
    weight = None if sample_weight is None else sample_weight[rows]
    part = training.take(rows)
    if isinstance(rule, BaseRule):
        here = None if tensor is None else tensor[rows]
        rule._fit_checked(proba[rows], classes, part, weight, here)
    else:
        rule.fit(proba[rows], classes[part.y], sample_weight=weight, costs=part.rows())
