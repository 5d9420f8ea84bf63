"""What the classifiers of this library state, as operators of ONNX: one function for each kind."""

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from stakes._learning.blend import Blend
from stakes.auto import StakesClassifier
from stakes.boosting import AdaBoostMMClassifier, AdaBoostNCClassifier
from stakes.boosting._weak import ConstantDecision
from stakes.decision import ConstantDecisionClassifier, CostDecisionClassifier
from stakes.export._foreign import keeps_rows, probabilities, transformed, values
from stakes.export._graph import Graph
from stakes.export._settle import Prices, Stated, arg, branch, by_rows, in_force, weighed
from stakes.export._tables import Table, encoded
from stakes.export._trees import leaves_of, tree_sums
from stakes.export._verify import NotExportable
from stakes.tree import CostForestClassifier, CostTreeClassifier
from stakes.tree.engine import CostTree
from stakes.utils._pipelines import last_step


class Rows:
    """What a classifier is given in a graph: the table as it is, or an array of numbers.

    Parameters
    ----------
    g : Graph
        Is added to.
    given : Table or str
        The table, or the name of an array (n, n_features).
    prices : Prices or None
        The input of prices of single rows.
    training_rows : bool
        Whether estimators that keep training rows may be exported.
    """

    def __init__(self, g: Graph, given: Table | str, prices: Prices | None, training_rows: bool):
        self.g, self.given, self.prices = g, given, prices
        self.training_rows = training_rows

    @property
    def like(self) -> str:
        """A tensor with as many rows as there are."""
        return self.given if isinstance(self.given, str) else self.given.any_input

    def matrix(self) -> str:
        """Return an array of numbers."""
        return self.given if isinstance(self.given, str) else self.given.matrix()

    def binned(self, bins: Any) -> str:
        """Return the features as cost trees ask about them."""
        if not isinstance(self.given, str):
            return self.given.binned(bins)
        if bins.is_categorical.any():
            raise NotExportable("Categories behind another step have no export.")
        return self.given

    def after(self, step: Any) -> "Rows":
        """Return the rows behind a transformer."""
        X = transformed(self.g, step, self.matrix(), self.training_rows)
        return Rows(self.g, X, self.prices, self.training_rows)


@singledispatch
def state(model: Any, rows: Rows) -> Stated:
    """Return what a fitted classifier says of rows, before its policy decides."""
    proba = probabilities(rows.g, model, rows.matrix(), rows.training_rows)
    return Stated(proba, decided=arg(rows.g, "ArgMax", proba))


def class_shares(model: Any, rows: Rows, classes: np.ndarray) -> str:
    """Return the probabilities of a classifier, a column for each of `classes`, (n, n_classes)."""
    proba = state(model, Rows(rows.g, rows.given, None, rows.training_rows)).proba
    if proba is None:
        raise NotExportable(f"{type(model).__name__} gives no probabilities in an export.")
    last = last_step(model)[0]
    if isinstance(last, CostDecisionClassifier | StakesClassifier):  # not yet as it states them
        policy = last.policy_.having(rule=None, capacity=None, shadow_prices=None)
        proba = in_force(rows.g, proba, policy.to_dict())
    known = classes.tolist()
    codes = np.array([known.index(label) for label in np.asarray(model.classes_).tolist()])
    return rows.g.scatter(proba, codes, len(known))


@state.register
def _pipeline(model: Pipeline, rows: Rows) -> Stated:
    for _, step in model.steps[:-1]:
        rows = rows.after(step)
    return state(model.steps[-1][1], rows)


@singledispatch
def bins_of(model: Any) -> Any:
    """Return the bins that the trees of a classifier were grown on, or None."""
    return None


@bins_of.register(CostTreeClassifier)
@bins_of.register(CostForestClassifier)
def _bins_of_trees(model: Any) -> Any:
    return model.bins_


# -- trees --------------------------------------------------------------------------------------


@state.register(CostTreeClassifier)
@state.register(CostForestClassifier)
def _cost_trees(model: Any, rows: Rows) -> Stated:
    g, trees, n_classes = rows.g, model._trees, len(model.classes_)
    X, share = rows.binned(model.bins_), 1.0 / len(trees)

    def sums(values_of: Callable, n_values: int) -> str:
        return tree_sums(g, X, [leaves_of(t, share * values_of(t)) for t in trees], n_values)

    def calibrated(shares: str) -> str:
        calibration = getattr(model, "calibration_", None)
        if calibration is None:
            return shares
        logs = _unseen_log(g, shares, calibration.frequencies, float(calibration.size))
        return _blended(
            g, g.op("Mul", logs, float(calibration.blend.weights[0])), calibration.blend
        )

    if model.cost_kind_ != "hindsight":  # costs of leaves are their shares times class costs
        proba = calibrated(sums(lambda t: t.class_shares, n_classes))
        return Stated(proba, weighed(g, proba, model.cost_matrix_, rows.prices))
    widths = np.array([n_classes, len(model.decisions_)])
    both = sums(lambda t: np.hstack([t.class_shares, t.values]), widths.sum())
    shares, learned = g.ops("Split", 2, both, widths, axis=1)
    proba = calibrated(shares)
    if proba != shares:
        gained = g.op("Sub", proba, shares)
        learned = g.op("Add", learned, g.op("MatMul", gained, model.cost_matrix_))
    return Stated(proba, _unless_given(g, proba, rows.prices, lambda: learned))


def _unless_given(g: Graph, proba: str, prices: Prices | None, learned: Callable[[], str]) -> str:
    """Return learned costs, or those by the prices of each row where they are given."""
    return branch(g, prices, lambda name: by_rows(g, proba, name), learned)


@bins_of.register(AdaBoostMMClassifier)
@bins_of.register(AdaBoostNCClassifier)
def _bins_of_boosting(model: Any) -> Any:
    trees = [member for member in model.estimators_ if isinstance(member, CostTree)]
    return trees[0].bins if trees else None


@state.register(AdaBoostMMClassifier)
@state.register(AdaBoostNCClassifier)
def _boosting(model: Any, rows: Rows) -> Stated:
    """Return the votes of cost trees, or of one constant decision."""
    g, n_classes, members = rows.g, len(model.classes_), model.estimators_
    choice = np.eye(n_classes)
    if isinstance(members[0], ConstantDecision):
        code = int(np.searchsorted(model.classes_, members[0].label))
        votes = g.repeat(model.estimator_weights_[0] * choice[code], rows.like)
        return by_votes(g, votes, n_classes)
    if not all(isinstance(member, CostTree) for member in members):
        raise NotExportable(
            f"{type(model).__name__} has an export with cost trees as members: leave `estimator` "
            "as it is."
        )
    leaves = [
        leaves_of(tree, weight * choice[tree.decisions])
        for tree, weight in zip(members, model.estimator_weights_)
    ]
    X = rows.binned(members[0].bins)
    return by_votes(g, tree_sums(g, X, leaves, n_classes), n_classes)


def by_votes(g: Graph, votes: str, n_classes: int) -> Stated:
    """Return the decision of most votes, and their shares."""
    return Stated(g.normalized(votes, n_classes), decided=arg(g, "ArgMax", votes))


# -- decisions ------------------------------------------------------------------------------------


@state.register
def _constant(model: ConstantDecisionClassifier, rows: Rows) -> Stated:
    g = rows.g
    shares, mean = (g.repeat(row, rows.like) for row in (model.class_shares_, model.mean_costs_))
    expected = _unless_given(g, shares, rows.prices, lambda: mean)
    decided = g.op("Expand", np.array([model.decision_]), g.n_rows(rows.like))
    return Stated(expected=expected, decided=decided)


def check_calibration(model: Any) -> None:
    """Refuse a calibration of the user's own, whose numbers no policy holds."""
    if not isinstance(model, CostDecisionClassifier) or model.calibrator_ is None:
        return
    if model.policy_.calibration is None:
        raise NotExportable(
            f"The calibration {type(model.calibrator_).__name__} has no export: use "
            "ProbabilityCalibrator."
        )


@state.register
def _decision(model: CostDecisionClassifier, rows: Rows) -> Stated:
    check_calibration(model)
    return Stated(class_shares(model.estimator_, rows, model.classes_))


@state.register
def _frozen(model: FrozenEstimator, rows: Rows) -> Stated:
    return state(model.estimator, rows)


# -- the default -----------------------------------------------------------------------------------


@state.register
def _stakes(model: StakesClassifier, rows: Rows) -> Stated:
    g, n_classes = rows.g, len(model.classes_)
    if isinstance(rows.given, str):
        raise NotExportable("A StakesClassifier behind another step has no export.")
    forms = {m.table for m in model.estimators_}
    if model.cost_models_ is not None:
        forms = {"trees", "distances"}
    tables = encoded(rows.given, model.encoder_, forms)
    n, scores = float(model.n_samples_fit_), None
    if not rows.training_rows:
        _check_members(model)
    for member, weight in zip(model.estimators_, model.estimator_weights_):
        if member.estimator is None:
            proba = g.repeat(np.eye(n_classes)[member.codes[0]], rows.like)
        else:
            stated = probabilities(g, member.estimator, tables[member.table], rows.training_rows)
            proba = g.scatter(stated, member.codes, n_classes)
        logs = _unseen_log(g, proba, model.class_frequencies_, n)
        part = g.op("Mul", logs, float(weight))
        scores = part if scores is None else g.op("Add", scores, part)
    if scores is None:
        raise NotExportable("The model has no member.")
    blend = Blend(model.estimator_weights_, model.bias_, model.sharpness_, model.floor_)
    proba = _blended(g, scores, blend)
    if model.cost_kind_ != "hindsight":
        return Stated(proba)
    if model.cost_models_ is None:
        return Stated(proba, weighed(g, proba, model.cost_matrix_, rows.prices))
    costs = _unless_given(g, proba, rows.prices, lambda: _learned_costs(g, model, tables, proba))
    return Stated(proba, costs)


def _check_members(model: StakesClassifier) -> None:
    """Refuse members that keep training rows; say which, and what to do instead."""
    names = [m.name for m in model.estimators_]
    keeping = [m.name for m in model.estimators_ if keeps_rows(m.estimator)]
    if keeping:
        raise NotExportable(
            f"The model compares with training rows in {' and '.join(keeping)}, of its members "
            f"{', '.join(names)}, and the file would hold them: fit with other `members`, or say "
            "training_rows=True (--training-rows) if those who get the file may see them."
        )


def _unseen_log(g: Graph, proba: str, frequencies: np.ndarray, n: float) -> str:
    """Return log probabilities after one example more of no particular class."""
    mixed = g.op("Add", g.op("Mul", proba, n / (n + 1.0)), frequencies / (n + 1.0))
    return g.op("Log", mixed)


def _blended(g: Graph, weighed: str, blend: Blend) -> str:
    """Return the probabilities of a blend from its members' weighed log probabilities."""
    scores = g.op("Add", weighed, blend.bias[None])
    # one softmax for each sharpness, all at once: (n, values, classes)
    sharp = np.asarray(blend.sharpness, dtype=float)[None, :, None]
    every = g.op("Softmax", g.op("Mul", g.op("Unsqueeze", scores, np.array([1])), sharp), axis=2)
    kept = (1.0 - blend.floor.sum()) / len(blend.sharpness)
    proba = g.op("Mul", g.sum(every, axis=1, keep=False), float(kept))
    return g.op("Add", proba, np.broadcast_to(blend.floor, (1, len(blend.bias))))


def _learned_costs(g: Graph, model: StakesClassifier, tables: dict[str, str], proba: str) -> str:
    """Return the blend of the four predictions of costs known in hindsight."""
    models, weights = model.cost_models_, model.cost_weights_
    assert models is not None
    assert weights is not None
    profiles, trees = models.profiles_, tables["trees"]
    by_profile = g.op("MatMul", proba, profiles)
    by_amount = by_profile
    if models.amounts_ is not None and weights[1]:
        unit = profiles.mean(axis=1, keepdims=True)
        shape = profiles / np.where(unit > 0, unit, 1.0)
        amounts = _amounts(g, models.amounts_, tables)
        by_amount = g.op("MatMul", g.op("Mul", proba, amounts), shape)
    parts = [g.op("Mul", by_profile, float(weights[0])), g.op("Mul", by_amount, float(weights[1]))]
    if weights[2]:
        for label, forest in enumerate(models.by_class_):
            row = profiles[[label]] if forest is None else values(g, forest, trees)
            own = g.op("Mul", g.column(proba, label), row)
            parts.append(g.op("Mul", own, float(weights[2])))
    if weights[3]:
        parts.append(g.op("Mul", values(g, models.forest_, trees), float(weights[3])))
    return g.op("Sum", *parts)


def _amounts(g: Graph, model: Any, tables: dict[str, str]) -> str:
    """Return the amounts that a row would have if it were of each class, (n, n_classes)."""
    columns = []
    for label in range(model.n_classes):
        is_class = g.repeat(np.eye(model.n_classes)[label], tables["trees"])
        given = {form: g.concat([table, is_class]) for form, table in tables.items()}
        logs = None
        for fitted, form, weight in zip(
            model.models_, ("trees", "trees", "distances"), model.weights_
        ):
            away = g.op("Sub", values(g, fitted, given[form]), float(model.centre_))
            part = g.op("Mul", away, float(weight))
            logs = part if logs is None else g.op("Add", logs, part)
        assert logs is not None
        amount = g.op("Exp", g.op("Add", logs, float(model.centre_)))
        columns.append(g.op("Mul", amount, float(model.smear_)))
    return g.concat(columns)
