"""Learning from Dask collections: what all rows are like, then each learner in its way.

`learn` is what `fit` hands a collection to. What sums up rows through `Sums` learns in one long task
on each worker; others have a function of their own here; whoever has none says so.
"""

from functools import partial, singledispatch
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from stakes._base import CostSensitiveMixin
from stakes._learning.draws import draw_seed, draw_seeds
from stakes.auto import StakesClassifier
from stakes.cluster._split import Labelled, Split
from stakes.cluster._survey import Survey, survey
from stakes.cluster._trees import (
    grow_members,
    join_shares,
    learn_together,
    place_shared_bins,
    take_over,
    unseen_rows,
)
from stakes.cluster._xgboost import fit_xgboost
from stakes.cluster.partitions import Partitions, find_client, gather, need_dask
from stakes.costs import Choices, Costs, check_cost_matrix, check_order, read_cost_matrix
from stakes.decision import (
    BaseRule,
    BinaryThreshold,
    ConstantDecisionClassifier,
    CostDecisionClassifier,
)
from stakes.decision.engine import Chunks, FamilyRule, fit_in_chunks, make_rule
from stakes.tree import CostForestClassifier
from stakes.tree.engine import Limits, calibration_step, n_drawn
from stakes.utils._arrays import quoted
from stakes.utils._frames import is_frame, join_rows
from stakes.utils._optional import import_optional

ONE_MACHINE = "it learns in the memory of one machine"
# Rows of probabilities that are gathered, so that a rule learns from them exactly.
GATHERED = 1_000_000
# Rows from which the default learns all but one member, the blend and the rule.
SAMPLE_ROWS = 100_000
COLUMNS = ("n_features_in_", "feature_names_in_")


def learn(estimator: Any, X: Any, y: Any, **given: Any) -> Any:
    """Fit an estimator or a rule to Dask collections; return it."""
    client = find_client(f"{type(estimator).__name__}.fit on Dask collections")
    if isinstance(estimator, BaseRule):
        _learn_rule(estimator, survey(client, Partitions(proba=X, y=y, **given)))
    else:
        learn_from(estimator, look_at(estimator, client, X, y, **given))
    return estimator


@singledispatch
def why_not(estimator: Any) -> str:
    """Return why an estimator cannot learn from Dask collections, or ""."""
    return "" if _is_of_xgboost(estimator) else ONE_MACHINE


@why_not.register
def _(estimator: CostSensitiveMixin) -> str:
    if learn_from.dispatch(type(estimator)) is not learn_from.dispatch(CostSensitiveMixin):
        return ""
    return estimator._why_not_shared() if estimator._sums_over_workers else ONE_MACHINE


@why_not.register
def _(estimator: CostDecisionClassifier) -> str:
    return why_not(estimator.estimator)


@singledispatch
def learn_from(estimator: Any, rows: Survey) -> None:
    """Fit an estimator to rows whose classes and costs it knows already."""
    reason = why_not(estimator)
    if reason == ONE_MACHINE:
        raise TypeError(
            f"{type(estimator).__name__} learns in the memory of one machine: give it X.compute(), "
            "or use an estimator that learns from Dask collections, such as CostTreeClassifier, "
            "CoMBoClassifier or StakesClassifier."
        )
    if reason:
        raise TypeError(
            f"{type(estimator).__name__} cannot learn from Dask collections so: {reason}; leave "
            "estimator and sampling as they are by default."
        )
    reader, max_bins = estimator._reader(rows.n_rows)
    learn_together(estimator, rows, place_shared_bins(reader, rows, max_bins), reader)
    for name in COLUMNS:
        if hasattr(reader, name):
            setattr(estimator, name, getattr(reader, name))


@learn_from.register
def _(estimator: CostForestClassifier, rows: Survey) -> None:
    """Grow whole trees on workers, each from its sample of all rows, which is sent there."""
    kept = estimator._check_settings()
    if estimator.oob_score:
        raise ValueError(
            "oob_score=True is not for Dask collections: score rows that are held out."
        )
    if not kept:
        estimator.bins_ = place_shared_bins(estimator, rows, estimator.max_bins)
    seeds = draw_seeds(estimator.random_state, estimator.n_estimators).tolist()
    n_rows, drawn = rows.n_weighed, None
    if estimator.bootstrap:
        drawn = n_drawn(estimator.max_samples, n_rows)
    estimator._n_drawn = drawn
    shares = join_shares(estimator, rows)
    draws = [(seed, n_rows, drawn) for seed in seeds]
    grown = grow_members(rows.client, shares, draws[len(kept) :], Limits.of(estimator))
    for tree in grown:
        tree.bins = estimator.bins_
    estimator.estimators_ = [*kept, *grown]
    estimator.calibration_ = None
    if estimator.calibration is not None and estimator.bootstrap:
        step = calibration_step(n_rows)
        unseen = unseen_rows(rows.client, shares, estimator.estimators_, draws, step)
        estimator._learn_sharpness(*unseen)


@learn_from.register
def _(estimator: ConstantDecisionClassifier, rows: Survey) -> None:
    if "sample_weight" in rows.data.parts:
        raise TypeError(
            "ConstantDecisionClassifier counts each row of Dask collections once: leave "
            "sample_weight out."
        )
    estimator.class_shares_ = rows.counts / rows.n_rows
    estimator.mean_costs_ = estimator.class_shares_ @ estimator.cost_matrix_
    estimator.decision_ = int(estimator.mean_costs_.argmin())


@learn_from.register
def _(estimator: CostDecisionClassifier, rows: Survey) -> None:
    """Fit the estimator on all rows but some, from which the rest is learned here."""
    rule = estimator.rule_ = make_rule(estimator.rule)
    learns = getattr(rule, "_learns", True) or estimator.calibration is not None
    if not learns and not estimator._streams:
        parts = rows.data.filled_parts(rows.filled, ("X", "y", "sample_weight"))
        estimator.calibrator_ = None
        estimator.estimator_ = _fit_plain(estimator.estimator, rows, parts)
        one_each = np.arange(len(estimator.classes_))
        estimator._settle_policy(one_each, rows.counts)
        estimator.n_training_ = rows.n_rows
        costs = Costs(one_each, estimator.cost_matrix_, choices=rows.choices)
        rule._fit_checked(None, estimator.classes_, costs)
        estimator._take_over()
        return
    split = Split(rows, 0)
    held_out = split.held_out()
    model = _fit_plain(estimator.estimator, rows, split.rest())
    frozen = type(estimator)(**estimator.get_params(deep=False))
    frozen.set_params(estimator=FrozenEstimator(model))
    if isinstance(estimator.cost_matrix, str):
        frozen.set_params(cost_matrix=estimator.cost_matrix_)
    take_over(estimator, frozen.fit(**held_out))
    estimator.estimator_, estimator.n_training_ = model, rows.n_rows


@learn_from.register
def _(estimator: StakesClassifier, rows: Survey) -> None:
    """Train gradient boosting on all rows but a sample, from which everything else is learned."""
    seed = draw_seed(estimator.random_state)
    split = Split(rows, seed, SAMPLE_ROWS)
    held_out, parts = split.held_out(), split.rest()
    dask = need_dask("StakesClassifier on Dask")
    encode = dask.delayed(estimator._encoder_of(held_out["X"]), pure=False)
    parts["X"] = [encode(part) for part in parts["X"]]
    xgboost = import_optional("xgboost", extra="dask", purpose="StakesClassifier on Dask")
    boosting = xgboost.XGBClassifier(
        n_estimators=200, learning_rate=0.1, max_depth=6, max_bin=64, random_state=seed
    )
    model = fit_xgboost(boosting, rows, parts)
    take_over(estimator, estimator._fit_around(model, seed, **held_out))
    estimator.explanation_["n_samples"] = rows.n_rows


def _is_of_xgboost(estimator: Any) -> bool:
    return type(estimator).__module__.partition(".")[0] == "xgboost"


def _fit_plain(estimator: Any, rows: Survey, parts: dict[str, list]) -> Any:
    """Fit a classifier on partitions; return it as one that needs no Dask.

    XGBoost's classifiers, of `xgboost` and of `xgboost.dask`, are trained by `fit_xgboost`; any
    other estimator must take lists of partitions itself, as those of this library do.
    """
    if not _is_of_xgboost(estimator):
        return clone(estimator).fit(**parts)
    meta = getattr(rows.data.collections["X"], "_meta", None)
    kinds = getattr(meta, "dtypes", ())
    has_categories = meta is None or any(str(kind) == "category" for kind in kinds)
    return Labelled(fit_xgboost(estimator, rows, parts, has_categories), rows.classes)


# -- what all rows are like ------------------------------------------------------------------------


def look_at(estimator: Any, client: Any, X: Any, y: Any, **given: Any) -> Survey:
    """Look at collections, and let an estimator know their classes and costs, or refuse them."""
    name = type(estimator).__name__
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but y is None.")
    several = ["cost_matrix"] if estimator.cost_matrix is not None else []
    several += [name for name in ("costs", "cost_tensor") if given[name] is not None]
    if len(several) > 1:
        raise ValueError(f"Give either {' or '.join(several)}, not both.")
    rows = survey(client, Partitions(X=X, y=y, **given))
    classes = rows.classes
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class, {quoted(classes)}: a classifier needs at least 2 classes."
        )
    if given["costs"] is None and given["cost_tensor"] is None:
        estimator.cost_kind_ = "class"
        check_order(estimator.cost_matrix, classes)
        matrix, named = read_cost_matrix(
            estimator.cost_matrix, classes=classes, counts=rows.weights, stacklevel=5
        )
        rows.choices = Choices.of(named, classes)
        rows.all_same = bool((matrix == matrix[:, :1]).all())
    else:
        estimator.cost_kind_ = "hindsight" if given["costs"] is not None else "deciding"
        assert rows.class_matrix is not None
        matrix = rows.class_matrix
        if rows.choices is None and matrix.shape != (len(classes),) * 2:
            raise ValueError(
                f"{several[0]} has {matrix.shape[-1]} columns, one per decision, "
                f"but y has {len(classes)} classes: {quoted(classes)}."
            )
    if rows.all_same:
        raise ValueError(
            f"{(several or ['cost_matrix'])[0]} has the same cost for every decision in each "
            "row: every decision costs the same, so there is nothing to learn."
        )
    estimator.cost_matrix_ = estimator._scored_by = matrix
    estimator.classes_ = classes
    estimator._set_decisions(None if rows.choices is None else rows.choices.labels)
    return rows


# -- rules -----------------------------------------------------------------------------------------


class SpreadChunks(Chunks):
    """Validation examples that are partitions of Dask collections, looked at where they are.

    Parameters
    ----------
    rows : Survey
        The collections, among them `proba`.
    """

    def __init__(self, rows: Survey):
        self.rows = rows

    def map(self, function: Any, *more: Any) -> list:
        """Return ``function(proba, y, given, *more)`` of each partition that has rows."""
        client, data = self.rows.client, self.rows.data
        tasks = data.map(client, _on_partition, function, more, numbers=self.rows.filled)
        return gather(client, tasks)


def _on_partition(number: int, given: dict, function: Any, more: tuple) -> Any:
    return function(given.pop("proba"), given.pop("y"), given, *more)


def _learn_rule(rule: Any, rows: Survey) -> None:
    """Learn a rule exactly from rows that fit here, else by histograms."""
    if not rule._learns:
        _settle_rule(rule, rows)
    elif rows.n_rows <= GATHERED:
        tasks = rows.data.map(rows.client, _as_arrays, numbers=rows.filled)
        parts = gather(rows.client, tasks)
        joined = {name: join_rows([part[name] for part in parts]) for name in rows.data.parts}
        rule.fit(joined.pop("proba"), joined.pop("y"), **joined)
    elif isinstance(rule, FamilyRule):
        fit_in_chunks(rule, SpreadChunks(rows))
    elif isinstance(rule, BinaryThreshold):
        _learn_threshold(rule, rows)
    else:
        raise ValueError(
            f"{type(rule).__name__} learns from at most {GATHERED:,} rows, but there are "
            f"{rows.n_rows:,}: give a sample, or use a rule that adds up histograms, such as "
            "ParallelPartition or BinaryThreshold."
        )


def _settle_rule(rule: BaseRule, rows: Survey) -> None:
    """Set the prices of a rule that learns nothing of probabilities."""
    proba = rows.data.collections["proba"]
    stub = proba._meta if is_frame(proba._meta) else np.empty((0, proba.shape[1]))
    classes, matrix = rule._settle_classes(stub, rows.classes), rows.class_matrix
    choices = rows.choices
    if matrix is None:
        counts = None if len(classes) > len(rows.counts) else rows.weights
        if rule.classes is None:
            check_order(rule.cost_matrix, classes)
        matrix, named = read_cost_matrix(rule.cost_matrix, classes=classes, counts=counts)
        choices = Choices.of(named, classes)
    rule._fit_checked(None, classes, Costs(np.arange(len(classes)), matrix, choices=choices))
    rule._settle_policy(deciding="cost_tensor" in rows.data.parts)


def _learn_threshold(rule: BinaryThreshold, rows: Survey) -> None:
    both = rows.classes if rule.classes is None else np.asarray(rule.classes)
    shell = clone(rule).set_params(classes=both)
    if isinstance(rule.cost_matrix, str):
        matrix = check_cost_matrix(rule.cost_matrix, classes=both, counts=rows.counts)
        shell.set_params(cost_matrix=matrix)
    learned, *others = SpreadChunks(rows).map(partial(_threshold_of_part, rule=shell))
    for other in others:
        learned = learned.merge(other)
    take_over(rule, learned)


def _threshold_of_part(proba: Any, y: Any, given: dict, rule: BinaryThreshold) -> BinaryThreshold:
    """Return the rule that has seen one partition."""
    if "cost_tensor" in given:
        raise ValueError("BinaryThreshold learns from costs of rows, not from a cost_tensor.")
    return clone(rule).partial_fit(np.asarray(proba), y, **given)


def _as_arrays(number: int, given: dict) -> dict:
    return {name: data if is_frame(data) else np.asarray(data) for name, data in given.items()}
