"""StakesClassifier: the default."""

import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from stakes._base import COST_MATRIX_CONSTRAINT
from stakes._learning.blend import Blend, blend_probabilities, class_frequencies, log_probabilities
from stakes._learning.draws import draw_seed, tell
from stakes._learning.statement import Statement
from stakes._methods import method, with_options
from stakes.auto._cost_models import TITLES, CostModels, fit_cost_models
from stakes.auto._explain import Explanation, measure
from stakes.auto._members import (
    ALL_ROWS,
    FORMS,
    FittedMember,
    Sample,
    choose_members,
)
from stakes.auto._recipe import (
    HeldOut,
    honest_blend,
    plan_folds,
    settle_blend,
    try_members,
    with_member,
)
from stakes.auto._table import TableEncoder, check_table
from stakes.costs import Costs
from stakes.decision import ParallelPartition
from stakes.decision.engine import PolicyMixin
from stakes.decision.program import weigh
from stakes.utils._frames import as_frame
from stakes.utils._sklearn import Interval, safe_indexing, validate_data

# With fewer held-out examples a learned partition is not even tried.
MIN_RULE_ROWS = 100
# So many held-out rows are remembered.
MAX_KEPT = 5000


@method(
    "stakes",
    family="default",
    default=True,
    takes_tables=True,
    build=with_options(heavy=True),
    exports=("onnx", "json", "sql"),
)
@dataclass(eq=False, repr=False)
class StakesClassifier(PolicyMixin, BaseEstimator):
    r"""Stakes default: a calibrated blend of models, then the decision of least expected cost.

    A small, fixed recipe. Nine different classifiers give out-of-fold class probabilities;
    a little of the classes' frequencies is mixed in, so that nothing is impossible; their
    logarithms are blended with one weight each and a shrunk bias per class, chosen by log
    loss; the decision is the one of least expected cost. Members without weight are dropped, the
    others fitted again on all rows. The costs are not needed to choose the blend, so the
    same model serves any costs.

    It serves all three kinds of costs. Class costs: a `cost_matrix`. Costs known when
    deciding: `cost_tensor` in `fit` and `predict`. Costs known in hindsight: `costs` in
    `fit`; the blend then predicts the expected cost of each decision. X may hold numbers,
    categories, text and times, with gaps, prepared as by `stakes.compare.TablePreparation`; a
    sparse X is made dense. It is *not* the one to use
    where fitting must take less than some dozens of fits of a single model, or where the model
    must be simple: take `stakes.decision.CostDecisionClassifier` around one estimator then.

    Parameters
    ----------
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``; a plain array follows the order of `classes_`. 0/1
        costs if None and no costs are given to `fit`.
    members : list of str or (str, classifier) pairs, default=None
        What to blend: names of the recipe ("linear", "boosting", "extra_trees", "network",
        "gaussian", "deep_network", "forest", "small_boosting", "products"; of tables with text
        "words", "word_counts"), of others ("slow_boosting", "kernel", "neighbours"), and
        classifiers of your own, like ``("bayes", GaussianNB())``. "all", and None, stand for the
        recipe. The last two of the others compare with training rows, and keep them. A classifier
        of your own is cloned, seeded, and given the classes as 0, 1, ... and the table as numbers
        without gaps: categories as columns of 0 and 1, all columns of about variance 1. It needs
        `predict_proba`, and sits out a weighted fit where its `fit` takes no `sample_weight`.
    cv : int, default=5
        Folds, up to 20,000 rows; up to 2,000 rows all of it is repeated with other folds. Of
        more than 8,000 rows, only as many folds are held out as hold 8,000. Beyond 20,000,
        one part of at most 20,000 rows is held out instead.
    time_limit : float, default=None
        Seconds after which no further member is begun; the best so far is kept. Members
        that would not end in time are left out, so results then depend on the machine.
    random_state : int, RandomState instance or None, default=None
        Seeds folds and members.
    n_jobs : int, default=None
        Fits side by side; None is 1, -1 all cores. The result does not depend on it.
    verbose : int, default=0
        1 prints a line on standard error for each member as it ends.
    abstain_cost, abstain_label, capacity, capacity_mode, priors
        Not to decide, limits of decisions and other class frequencies: as in
        `stakes.decision.CostDecisionClassifier`. With limits no partition is learned; `priors`
        are not for costs known in hindsight, which are learned row by row.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The costs in force, in the order of `classes_`; the mean row of each class where
        they were given per example.
    cost_kind_ : {"class", "deciding", "hindsight"}
        Which kind of costs `fit` was given.
    estimators_ : list
        The fitted members that are kept.
    estimator_weights_ : ndarray
        Their weights.
    bias_ : ndarray of shape (n_classes,)
        Added to the blended log probability of each class.
    sharpness_ : ndarray of shape (n_values,)
        Equally likely factors of the blended log probabilities: how sure the blend may be.
    floor_ : ndarray of shape (n_classes,)
        The least probability of each class: what the examples cannot exclude.
    class_frequencies_ : ndarray of shape (n_classes,)
        The share of each class in training.
    n_samples_fit_ : int
        Examples of the training data with a weight.
    held_out_rows_ : ndarray of shape (n_held_out,)
        Some of the training rows, 5,000 at most, by their number.
    held_out_proba_ : ndarray of shape (n_held_out, n_classes)
        What the blend says of them without having seen them.
    cost_weights_ : ndarray of shape (4,) or None
        For costs known in hindsight: the weights of the four models of costs.
    training_priors_, n_training_, priors_, shadow_prices_, abstain_costs_, abstain_label_, held_out_
        As in `stakes.decision.CostDecisionClassifier`.
    rule_ : rule or None
        The learned partition, where it has beaten least expected cost by more than a
        standard error; else None.

    Notes
    -----
    With :math:`q_m(t \mid x)` what member m states of held-out examples, n examples and class
    frequencies :math:`\pi_t`, the blend of :math:`p_m = (n q_m + \pi) / (n + 1)` is

    .. math:: p_s(t \mid x) \propto \exp\Big(s \sum_m w_m \log p_m(t \mid x) + s b_t\Big),
        \qquad w_m \ge 0,

    with w and b fitted by log loss at s = 1, averaged over the posterior of the sharpness s: its
    prior says that the weights' sum, :math:`s \sum w_m`, is about 1 (log-normal, 0.4). 0.25
    examples of no particular class are then mixed in. Where members separate all
    held-out examples a single fitted s would be as large as it may, and a rare class
    missed with certainty costs a fortune. Rules of size: from 1,000 rows those of the
    slow members that add nothing to the blend are dropped (and, without a `time_limit`, asked no
    further after the first fold); members learn from samples above 20,000 to 200,000 rows
    (each has its own limit), trees from 50,000 rows each; beyond 30 classes boosting takes
    fewer and larger steps.

    Examples
    --------
    A rare class that is expensive to miss is decided long before it is the likelier one:

    >>> import numpy as np
    >>> from stakes.auto import StakesClassifier
    >>> rng = np.random.RandomState(0)
    >>> y = np.repeat([0, 1], [160, 40])
    >>> X = rng.normal(size=(200, 1)) + y[:, None]
    >>> quick = {"members": ["linear"], "random_state": 0}
    >>> blind = StakesClassifier(**quick).fit(X, y)
    >>> aware = StakesClassifier(cost_matrix=[[0, 1], [20, 0]], **quick).fit(X, y)
    >>> blind.predict([[0.5]]), aware.predict([[0.5]])
    (array([0]), array([1]))
    """

    cost_matrix: Any = None
    _: KW_ONLY
    members: Any = None
    cv: int = 5
    time_limit: float | None = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0
    abstain_cost: Any = None
    abstain_label: Any = None
    capacity: Any = None
    capacity_mode: str = "batch"
    priors: Any = None

    _weighs_cost_tensor = True
    # A member that was trained on all rows of Dask collections, while the others are fitted.
    _from_all_rows = None
    _parameter_constraints: ClassVar[dict] = {
        "cost_matrix": COST_MATRIX_CONSTRAINT,
        "members": ["array-like", None],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        **PolicyMixin._policy_constraints,
    }

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        X = check_table(X, self)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _encoder_of(self, X: Any) -> Callable:
        """Return what turns rows such as these into numbers for trees, in half of the room."""
        encoder = TableEncoder().fit(self._check_X(X, reset=True))
        return partial(_encode_part, encoder)

    def _fit_around(self, model: Any, seed: int, **given: Any) -> Self:
        """Return a copy fitted on these rows, one member of which is `model`, fitted on others."""
        n_classes = len(self.classes_)
        copy = type(self)(**self.get_params(deep=False)).set_params(random_state=seed)
        everyone = np.arange(n_classes)
        copy._from_all_rows = FittedMember("all_rows", "trees", model, everyone, n_classes)
        if isinstance(self.cost_matrix, str):
            copy.set_params(cost_matrix=self.cost_matrix_)
        copy.fit(**given)
        del copy._from_all_rows
        return copy

    def _fit(self, X: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        deadline = np.inf if self.time_limit is None else time.perf_counter() + self.time_limit
        wanted = choose_members(self.members)
        given = None
        if sample_weight is not None:
            given = np.flatnonzero(sample_weight > 0)
            X, costs = safe_indexing(X, given), costs.take(given)
            sample_weight = sample_weight[given]
            if np.ptp(sample_weight) == 0:
                sample_weight = None
        self._settle_policy(costs.y, sample_weight)
        if self._streams and self.cost_kind_ == "hindsight":
            raise ValueError(
                'capacity_mode="stream" is not for costs known in hindsight: decide in batches.'
            )
        self.encoder_ = TableEncoder()
        n_classes, seed = len(self.classes_), draw_seed(self.random_state)
        tables = self.encoder_.fit_forms(X, FORMS)
        wanted = [member for member in wanted if member.table in tables]
        if not wanted:
            raise ValueError("The members are for text, and the table has none.")
        sample = Sample(tables, costs.y, sample_weight, n_classes, seed)
        self.class_frequencies_ = class_frequencies(costs.y, n_classes, sample_weight)
        self.n_samples_fit_ = len(costs)
        repeats = plan_folds(costs.y, self.cv, seed)
        outcome = try_members(
            wanted,
            sample,
            repeats,
            deadline=deadline,
            n_jobs=self.n_jobs,
            report=partial(tell, self),
        )
        folds = repeats[0]
        rows = np.flatnonzero(folds >= 0)
        if self._from_all_rows is not None:
            outcome = with_member(outcome, ALL_ROWS, self._from_all_rows, sample, rows)
        held_out = HeldOut(costs.take(rows), folds[rows], sample.take_weight(rows))
        kept, self.estimators_, blend = settle_blend(outcome, sample, held_out, self.n_jobs)
        self.estimator_weights_, self.bias_, self.sharpness_, self.floor_ = blend
        # What follows measures, each row once, as the first repeat of the folds has it.
        outcome = outcome._replace(logs=outcome.logs[:, : len(rows)])
        proba = honest_blend(outcome.logs[kept], held_out)
        some = np.linspace(0, len(rows) - 1, min(len(rows), MAX_KEPT)).round().astype(int)
        self.held_out_rows_ = (rows if given is None else given[rows])[some]
        self.held_out_proba_ = proba[some].astype(np.float32)
        self.rule_: ParallelPartition | None = None
        self.cost_models_: CostModels | None = None
        self.cost_weights_: np.ndarray | None = None
        tensor = held_out.costs.tensor
        prices = self.cost_matrix_ if tensor is None else tensor
        self.explanation_ = measure(outcome, proba, held_out, prices)
        for i, member in enumerate(self.explanation_["members"]):
            member["weight"] = float(self.estimator_weights_[kept.index(i)]) if i in kept else 0.0
        in_time = time.perf_counter() < deadline
        if self.cost_kind_ != "hindsight":
            # A partition of one population is none of another, and knows no limits.
            if in_time and self.capacity is None and not self._shifts:
                self._fit_rule(proba, held_out, seed)
        elif in_time:
            self._fit_cost_models(sample, costs, proba, folds, held_out)
        else:
            reason = "time limit: mean costs of each class instead"
            outcome.left_out.append(("models of the costs", reason))
        self._learned_policy(rule=None if self.rule_ is None else self.rule_._numbers())
        if self.cost_kind_ != "hindsight":
            self._learn_from_held_out(proba, held_out.costs.y, tensor)
        self.explanation_ |= {
            "cost_kind": self.cost_kind_,
            "n_samples": len(costs),
            "n_classes": n_classes,
            "n_held_out": len(rows),
            "left_out": [{"name": name, "reason": reason} for name, reason in outcome.left_out],
            "rule": "least expected cost" if self.rule_ is None else "learned partition",
        }

    def _fit_rule(self, proba: np.ndarray, held_out: HeldOut, seed: int) -> None:
        """Learn a partition; keep it where it gains more than one standard error."""
        costs = held_out.costs
        if len(np.unique(costs.y)) < len(self.classes_) or len(costs) < MIN_RULE_ROWS:
            return
        rule = ParallelPartition(shrink=True, random_state=seed)
        rule._fit_checked(proba, self.classes_, costs, held_out.weight)
        if not rule.shrunk_ and np.any(rule.parameters_):
            self.rule_ = rule
            what = "learned partition (on the examples it was learned from)"
            gain = float(rule.initial_cost_ - rule.cost_)
            self.explanation_["steps"].append({"what": what, "gain": gain})

    def _fit_cost_models(
        self, sample: Sample, costs: Costs, proba: np.ndarray, folds: np.ndarray, held_out: HeldOut
    ) -> None:
        """Learn what decisions will cost, and say what that is worth on held-out rows."""
        self.cost_models_, weights, found = fit_cost_models(
            sample, costs.shifted_rows(), proba, folds, self.n_jobs
        )
        self.cost_weights_ = weights
        self.explanation_["cost_models"] = [
            {"title": title, "weight": float(weight), **held_out.cost_of(expected.argmin(axis=1))}
            for title, weight, expected in zip(TITLES.values(), weights, found)
        ]
        before = self.explanation_["costs"][-1]["cost"]
        after = held_out.cost_of(_weighted(weights, found).argmin(axis=1))
        self.explanation_["costs"].append({"what": "blend of learned costs", **after})
        step = {"what": "costs learned per example", "gain": before - after["cost"]}
        self.explanation_["steps"].append(step)

    _states_for: ClassVar[dict[str, str]] = {"hindsight": "costs"}
    _decides_by = "either"

    def _ask(self, X: Any) -> tuple[dict, np.ndarray]:
        """Return the tables of X that are needed, and the blended probabilities."""
        forms = {member.table for member in self.estimators_}
        X = self._check_X(X, reset=False)
        tables = self.encoder_.forms(X, forms if self.cost_models_ is None else FORMS)
        given = self.class_frequencies_, self.n_samples_fit_
        logs = [log_probabilities(m.predict_proba(tables), *given) for m in self.estimators_]
        blend = Blend(self.estimator_weights_, self.bias_, self.sharpness_, self.floor_)
        return tables, blend_probabilities(np.array(logs), blend)

    def _state(
        self, X: Any, cost_tensor: np.ndarray | None = None, *, proba: bool = False
    ) -> Statement:
        tables, stated = self._ask(X)
        if self.cost_kind_ != "hindsight":
            return Statement(proba=stated)
        if cost_tensor is None and self.cost_models_ is not None:
            learned = self.cost_models_.predict(tables, stated)
            return Statement(proba=stated, expected=_weighted(self.cost_weights_, learned))
        prices = self.cost_matrix_ if cost_tensor is None else cost_tensor
        return Statement(proba=stated, expected=weigh(stated, prices))

    def decide_probabilities(self, proba: Any, cost_tensor: Any = None) -> np.ndarray:
        """Return the decisions at some class probabilities, as positions in `classes_`.

        Parameters
        ----------
        proba : ndarray of shape (n_samples, n_classes)
            Class probabilities.
        cost_tensor : ndarray of shape (n_samples, n_classes, n_classes), default=None
            The costs of each example, as in `predict`.
        """
        check_is_fitted(self)
        policy = self.policy_.stated().with_limits(None).having(states="probabilities")
        return policy.decide(proba, cost_tensor).positions

    def explain(self) -> Explanation:
        """Return where the money is: members, weights, costs with intervals, the gain's split.

        Returns
        -------
        explanation : Explanation
            Prints as text, shows as HTML in a notebook; ``to_dict()`` has the numbers. All
            costs are of held-out examples.
        """
        check_is_fitted(self)
        return Explanation(self.explanation_)

    def _html_repr(self) -> str:
        """Show the estimator as scikit-learn does, and once fitted what it found."""
        page = estimator_html_repr(self)
        if hasattr(self, "explanation_"):
            page += self.explain()._repr_html_()
        return page

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags


def _weighted(weights: Any, predictions: np.ndarray) -> np.ndarray:
    """Return the weighted sum of several predictions of costs, (m, n, d)."""
    return np.einsum("m,mnd->nd", weights, predictions)


def _encode_part(encoder: TableEncoder, X: Any) -> np.ndarray:
    """Return a partition in the form for trees, in half of the room."""
    return encoder.for_trees(check_table(as_frame(X))).astype(np.float32)
