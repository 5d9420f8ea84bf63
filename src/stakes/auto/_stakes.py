"""StakesClassifier: the default."""

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from stakes._base import COST_MATRIX_CONSTRAINT, CostSensitiveMixin
from stakes.auto._blend import (
    Blend,
    blend_probabilities,
    class_frequencies,
    log_probabilities,
)
from stakes.auto._cost_models import TITLES, fit_cost_models
from stakes.auto._explain import Explanation, interval, measure
from stakes.auto._members import FORMS, NAMES, make_tables
from stakes.auto._recipe import (
    Clock,
    choose_blend,
    honest_blend,
    plan_folds,
    refit_members,
    run_members,
)
from stakes.auto._table import TableEncoder, check_table, take_rows
from stakes.costs import CostWarning, check_costs
from stakes.decision import ParallelPartition
from stakes.metrics import average_cost
from stakes.utils._sklearn import Interval, fit_context, validate_data

# With fewer held-out examples a learned partition is not even tried.
MIN_RULE_ROWS = 100


class StakesClassifier(CostSensitiveMixin, BaseEstimator):
    r"""The default: a blend of calibrated probabilities, decided at least expected cost.

    A small, fixed recipe. Eleven different classifiers give out-of-fold class probabilities;
    a little of the classes' frequencies is mixed in, so that nothing is impossible; their
    logarithms are blended with one weight each and a shrunk bias per class, chosen by log
    loss; the decision is the one of least expected cost. Members without weight are dropped,
    the others fitted again on all rows. The costs are not needed to choose the blend, so the
    same model serves any costs.

    It serves all three situations. A: a `cost_matrix`. B1, costs of each example known
    when deciding: `cost_tensor` in `predict`. B2, costs of each example seen in training
    only: `costs` in `fit`; the blend then predicts the expected cost of each decision. It is
    *not* the one to use where fitting must take less than some dozens of fits of a single
    model, or where the model must be simple: take `stakes.decision.CostDecisionClassifier`
    around one estimator then.

    Parameters
    ----------
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``; a plain array follows the order of `classes_`. 0/1
        costs if None and no costs are given to `fit`.
    members : list of str, default=None
        Names of the members to try; all of them if None: "linear", "boosting",
        "extra_trees", "network", "gaussian", "wide_network", "forest", "slow_boosting",
        "kernel", "neighbours", "small_boosting".
    cv : int, default=5
        Folds, up to 20,000 rows, dealt out twice up to 2,000 rows. Beyond, one part of at most
        20,000 rows is held out instead.
    time_limit : float, default=None
        Seconds after which no further member is begun; the best so far is kept. Members
        that would not end in time are left out, so results then depend on the machine.
    random_state : int, RandomState instance or None, default=None
        Seeds folds and members.
    n_jobs : int, default=None
        Fits side by side. The result does not depend on it.
    verbose : int, default=0
        Print each member as it ends.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The costs in force, in the order of `classes_`; the mean row of each class where
        they were given per example.
    situation_ : {"A", "B1", "B2"}
        Which costs `fit` was given.
    members_ : list
        The fitted members that are kept.
    weights_ : ndarray
        Their weights.
    bias_ : ndarray of shape (n_classes,)
        Added to the blended log probability of each class.
    class_frequencies_ : ndarray of shape (n_classes,)
        The share of each class in training.
    n_samples_fit_ : int
        Examples of the training data with a weight.
    cost_weights_ : ndarray of shape (4,) or None
        Situation B2: the weights of the four models of costs.
    rule_ : rule or None
        The learned partition, where it has beaten least expected cost by more than a
        standard error; else None.

    Notes
    -----
    With :math:`q_m(t \mid x)` what member m states of held-out examples, n examples and class
    frequencies :math:`\pi_t`, the blend of :math:`p_m = (n q_m + \pi) / (n + 1)` is

    .. math:: p(t \mid x) \propto \exp\Big(\sum_m w_m \log p_m(t \mid x) + b_t\Big),
        \qquad w_m \ge 0,

    fitted by log loss. Rules of size: members learn from samples above 20,000 to 200,000 rows (each has its own limit), trees
    from 50,000 rows each; beyond 30 classes boosting takes fewer and larger steps.

    Examples
    --------
    A rare class that is dear to miss is decided long before it is the likelier one:

    >>> import numpy as np
    >>> from stakes.auto import StakesClassifier
    >>> rng = np.random.RandomState(0)
    >>> y = np.repeat([0, 1], [160, 40])
    >>> X = rng.normal(size=(200, 1)) + y[:, None]
    >>> quick = {"members": ["linear"], "random_state": 0}
    >>> blind = StakesClassifier(**quick).fit(X, y)
    >>> dear = StakesClassifier(cost_matrix=[[0, 1], [20, 0]], **quick).fit(X, y)
    >>> blind.predict([[0.5]]), dear.predict([[0.5]])
    (array([0]), array([1]))
    """

    __metadata_request__predict = {"cost_tensor": True}

    _parameter_constraints: dict = {
        "cost_matrix": COST_MATRIX_CONSTRAINT,
        "members": ["array-like", None],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        cost_matrix=None,
        *,
        members=None,
        cv=5,
        time_limit=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.cost_matrix = cost_matrix
        self.members = members
        self.cv = cv
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        """Fit the members, the blend and what decides.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers, categories, text or times; gaps are fine.
        y : array-like of shape (n_samples,)
            The true classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each example counts.
        costs : array-like of shape (n_samples, n_classes), default=None
            What each decision costs for each example, seen in training only: situation B2.
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            [example, true, predicted]: situation B1, where `predict` is given it too.

        Returns
        -------
        self : StakesClassifier
            Fitted.
        """
        clock = Clock(self.time_limit)
        wanted = self._wanted()
        X = check_table(X, self)
        X, training, weight = self._validate_training(
            X, y, costs=costs, cost_tensor=cost_tensor, sample_weight=sample_weight, check_X=False
        )
        tensor = None
        if cost_tensor is not None:
            tensor = check_costs(
                cost_tensor, n_samples=len(training), classes=self.classes_, name="cost_tensor"
            )
        self.situation_ = "A" if training.by_class else "B1" if tensor is not None else "B2"
        if weight is not None:
            rows = np.flatnonzero(weight > 0)
            X, training, weight = take_rows(X, rows), training.take(rows), weight[rows]
            tensor = None if tensor is None else tensor[rows]
            if np.ptp(weight) == 0:
                weight = None

        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        n_classes = len(self.classes_)
        self.encoder_ = TableEncoder().fit(X)
        tables = make_tables(self.encoder_, X)
        self.class_frequencies_ = class_frequencies(training.y, n_classes, weight)
        self.n_samples_fit_ = len(training)
        deals = plan_folds(training.y, self.cv, seed)
        outcome = run_members(
            wanted,
            tables,
            training.y,
            deals,
            weight,
            n_classes=n_classes,
            seed=seed,
            clock=clock,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        folds = deals[0]
        rows = np.flatnonzero(folds >= 0)
        y_out, folds_out = training.y[rows], folds[rows]
        weight_out = None if weight is None else weight[rows]
        kept, blend, trouble = self._settle_blend(
            outcome, y_out, weight_out, tables, training.y, weight, seed
        )
        self.weights_, self.bias_ = blend
        outcome = outcome.first_deal(len(rows))  # what follows measures, once for each row
        proba = honest_blend(outcome.logs[kept], y_out, folds_out, weight_out)
        self.cost_models_ = self.cost_weights_ = self.rule_ = held_out_costs = None
        if self.situation_ == "B2" and clock.left() <= 0:
            trouble.append(("models of the costs", "time limit: mean costs of each class instead"))
        elif self.situation_ == "B2":
            held_out_costs = self._fit_cost_models(tables, training, proba, folds, weight, seed)
        else:
            tensor_out = None if tensor is None else tensor[rows]
            self._fit_rule(proba, training.take(rows), tensor_out, weight_out, seed)
        self._explain(
            *(outcome, kept, trouble, proba, training, tensor, rows, folds_out, weight_out),
            held_out_costs,
        )
        return self

    def _fit_cost_models(self, tables, training, proba, folds, weight, seed) -> np.ndarray:
        """Learn what decisions will cost; return the held-out predictions."""
        everyone = np.zeros((len(training), len(self.classes_)))
        everyone[folds >= 0] = proba
        self.cost_models_, self.cost_weights_, held_out = fit_cost_models(
            tables,
            training.y,
            training.shifted_rows(),
            everyone,
            folds,
            weight,
            n_classes=len(self.classes_),
            seed=seed,
            n_jobs=self.n_jobs,
        )
        return held_out

    def _fit_rule(self, proba, held_out, tensor, weight, seed) -> None:
        """Learn a partition; keep it where it gains more than one standard error."""
        if len(np.unique(held_out.y)) < len(self.classes_) or len(held_out) < MIN_RULE_ROWS:
            return
        given = {"cost_tensor": tensor} if tensor is not None else {}
        matrix = self.cost_matrix_ if tensor is None else None
        rule = ParallelPartition(cost_matrix=matrix, shrink=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CostWarning)  # said once already
            rule.fit(proba, held_out.y, weight, **given)
        if not rule.shrunk_ and np.any(rule.parameters_):
            self.rule_ = rule

    def _wanted(self) -> list:
        if self.members is None:
            return list(NAMES)
        wanted = list(self.members)
        unknown = [name for name in wanted if name not in NAMES]
        if unknown or not wanted:
            raise ValueError(
                f"members={wanted!r} should name some of {', '.join(map(repr, NAMES))}."
            )
        return wanted

    def _settle_blend(self, outcome, y_out, weight_out, tables, y, weight, seed):
        """Choose who stays, fit them on all rows; leave out those that fail then."""
        able = list(range(len(outcome.members)))
        trouble = list(outcome.trouble)
        while True:
            kept, blend = choose_blend(outcome.logs[able], y_out, weight_out)
            kept = [able[i] for i in kept]
            models, failed = refit_members(
                outcome,
                kept,
                tables,
                y,
                weight,
                n_classes=len(self.classes_),
                seed=seed,
                n_jobs=self.n_jobs,
            )
            trouble += failed
            able = [i for i in able if i not in kept or models[i] is not None]
            if not failed:
                self.members_ = [models[i] for i in kept]
                return kept, blend, trouble
            if not able:
                raise RuntimeError(f"No member could be fitted: {trouble}")

    def _explain(
        self, outcome, kept, trouble, proba, training, tensor, rows, folds, weight, costs
    ):
        held_out = training.take(rows)
        tensor = None if tensor is None else tensor[rows]

        def decide(p):
            if tensor is not None:
                return np.einsum("nt,ntd->nd", p, tensor).argmin(axis=1)
            return (p @ self.cost_matrix_).argmin(axis=1)

        found = measure(outcome, proba, held_out.y, folds, weight, held_out.of, decide)
        given = dict(zip(kept, self.weights_.tolist()))
        for i, member in enumerate(found["members"]):
            member["weight"] = given.get(i, 0.0)
        final = found["costs"][-1]
        if costs is not None:
            best = np.einsum("m,mnd->nd", self.cost_weights_, costs).argmin(axis=1)
            found["cost_models"] = [
                {"title": title, "weight": float(own), **interval(held_out.of(own_costs), weight)}
                for title, own, own_costs in zip(
                    TITLES.values(), self.cost_weights_, costs.argmin(axis=2)
                )
            ]
            after = interval(held_out.of(best), weight)
            found["costs"].append({"what": "blend of learned costs", **after})
            found["steps"].append(
                {"what": "costs learned per example", "gain": final["cost"] - after["cost"]}
            )
        if self.rule_ is not None:
            found["steps"].append(
                {
                    "what": "learned partition (on the examples it was learned from)",
                    "gain": float(self.rule_.initial_cost_ - self.rule_.cost_),
                }
            )
        found |= {
            "situation": self.situation_,
            "n_samples": len(training),
            "n_classes": len(self.classes_),
            "n_held_out": len(rows),
            "trouble": [{"name": name, "reason": reason} for name, reason in trouble],
            "rule": "least expected cost" if self.rule_ is None else "learned partition",
        }
        self.explanation_ = found

    def _tables(self, X) -> dict:
        check_is_fitted(self)
        X = check_table(X, self)
        validate_data(self, X, reset=False, skip_check_array=True)
        kinds = {member.table for member in self.members_}
        return make_tables(self.encoder_, X, kinds if self.cost_models_ is None else FORMS)

    def predict_proba(self, X):
        """Return the blended class probabilities, (n_samples, n_classes)."""
        return self._proba(self._tables(X))

    def _proba(self, tables) -> np.ndarray:
        given = self.class_frequencies_, self.n_samples_fit_
        logs = np.array(
            [log_probabilities(m.predict_proba(tables), *given) for m in self.members_]
        )
        return blend_probabilities(logs, Blend(self.weights_, self.bias_))

    def expected_costs(self, X, *, cost_tensor=None):
        """Return the expected cost of each decision, (n_samples, n_classes).

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Examples.
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            Their costs, [example, true, predicted], where they are known (situation B1).
        """
        tables = self._tables(X)
        return self._expected(tables, self._proba(tables), cost_tensor)

    def _expected(self, tables, proba, cost_tensor) -> np.ndarray:
        if cost_tensor is not None:
            tensor = check_costs(
                cost_tensor, n_samples=len(proba), classes=self.classes_, name="cost_tensor"
            )
            return np.einsum("nt,ntd->nd", proba, tensor)
        if self.cost_models_ is not None:
            found = self.cost_models_.predict(tables, proba)
            return np.einsum("m,mnd->nd", self.cost_weights_, found)
        return proba @ self.cost_matrix_

    def predict(self, X, *, cost_tensor=None):
        """Return the decision of least expected cost for each example.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Examples.
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            Their costs, [example, true, predicted], where they are known (situation B1).

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
            Class labels.
        """
        tables = self._tables(X)
        proba = self._proba(tables)
        if self.rule_ is not None:
            decisions = self.rule_.decide(proba, cost_tensor=cost_tensor)
        else:
            decisions = self._expected(tables, proba, cost_tensor).argmin(axis=1)
        return self.classes_[decisions]

    def score(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        """Return minus the average cost of the decisions on X: higher is better.

        A `cost_tensor` is known when deciding (situation B1), so `predict` gets it too.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
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
        matrix = self.cost_matrix_ if costs is None and cost_tensor is None else None
        return -average_cost(
            y,
            self.predict(X, cost_tensor=cost_tensor),
            cost_matrix=matrix,
            costs=costs,
            cost_tensor=cost_tensor,
            sample_weight=sample_weight,
            labels=self.classes_,
        )

    def explain(self):
        """Return where the money is: members, weights, costs with intervals, the gain's split.

        Returns
        -------
        explanation : Explanation
            Prints as text, shows as HTML in a notebook; ``to_dict()`` has the numbers. All
            costs are of held-out examples.
        """
        check_is_fitted(self)
        return Explanation(self.explanation_)

    def _html_repr(self):
        """Show the estimator as scikit-learn does, and once fitted what it found."""
        page = estimator_html_repr(self)
        if hasattr(self, "explanation_"):
            page += self.explain()._repr_html_()
        return page

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
