"""Reductions, bagging and boosting of expected costs as operators of ONNX."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

from stakes.auto import ExpectedCostBoostingClassifier
from stakes.bagging import ArcX4Classifier, BacingClassifier, L1LinearSVC
from stakes.export._foreign import probabilities
from stakes.export._foreign_trees import (
    added_up,
    regression_leaves,
    sklearn_leaves,
    xgboost_scores,
)
from stakes.export._graph import Graph
from stakes.export._learners import Rows, bins_of, by_votes, class_shares, state
from stakes.export._settle import Stated, arg
from stakes.export._trees import (
    MOST_TREES,
    Leaves,
    as_question,
    constant_tree,
    leaf_numbers,
    leaves_of,
    tree_sums,
)
from stakes.export._verify import NotExportable
from stakes.reductions import (
    AverageCostClassifier,
    CostingClassifier,
    CostRegressionClassifier,
    CostSensitiveOneVsOneClassifier,
    DataSpaceExpansionClassifier,
    FilterTreeClassifier,
    GBSEClassifier,
    IterativeWeightingClassifier,
    MetaCostClassifier,
)
from stakes.reductions._members import ConstantMember
from stakes.tree.engine import CostTree, RelationTree
from stakes.utils._optional import import_optional

# -- reductions ----------------------------------------------------------------------------------


def _member_leaves(
    model: Any, value_of: Callable[[Any], np.ndarray], constant: Callable[[int], np.ndarray]
) -> list[Leaves]:
    """Return the members of a reduction over cost trees, with a value for each of their leaves."""
    leaves = []
    for member in model.estimators_:
        if isinstance(member, ConstantMember):
            leaves.append(Leaves(constant_tree(), constant(member.label)[None]))
        elif isinstance(member, CostTree):
            leaves.append(leaves_of(member, value_of(member)))
        else:
            raise NotExportable(
                f"{type(model).__name__} has an export with cost trees as members: leave "
                "`estimator` as it is."
            )
    return leaves


@bins_of.register(AverageCostClassifier)
@bins_of.register(CostingClassifier)
@bins_of.register(CostSensitiveOneVsOneClassifier)
@bins_of.register(DataSpaceExpansionClassifier)
@bins_of.register(FilterTreeClassifier)
@bins_of.register(GBSEClassifier)
@bins_of.register(IterativeWeightingClassifier)
@bins_of.register(MetaCostClassifier)
def _bins_of_members(model: Any) -> Any:
    grower = model._learner_.grower
    return None if grower is None else grower.bins


def _features(model: Any, rows: Rows) -> str:
    """Return X as the members' trees ask about it."""
    bins = bins_of(model)
    return rows.matrix() if bins is None else rows.binned(bins)


def _mean_vote(model: Any, rows: Rows) -> str:
    g, n_decisions = rows.g, model._learner_.n_classes  # of members that predict classes, these
    choice = np.eye(n_decisions)
    if model._learner_.grower is not None:
        hard, shares = model.voting_ == "hard", model._learner_.leaf_shares
        votes = (lambda tree: choice[tree.decisions]) if hard else shares
        members = _member_leaves(model, votes, lambda label: choice[label])
        return g.normalized(
            tree_sums(g, _features(model, rows), members, n_decisions), n_decisions
        )
    total = None
    for member in model.estimators_:
        if isinstance(member, ConstantMember):
            vote = g.repeat(choice[member.label], rows.like)
        else:
            vote = class_shares(member, rows, np.arange(n_decisions))
            if model.voting_ == "hard":
                vote = one_hot(g, arg(g, "ArgMax", vote), n_decisions)
        total = vote if total is None else g.op("Add", total, vote)
    assert total is not None
    return g.normalized(total, n_decisions)


def one_hot(g: Graph, positions: str, n_decisions: int) -> str:
    """Return a row of zeros with a single one for each position, (..., n_decisions)."""
    # onnxruntime has no OneHot in 64 bits
    same = g.op("Equal", g.op("Unsqueeze", positions, np.array([-1])), np.arange(n_decisions))
    return g.cast(same, float)


@state.register(AverageCostClassifier)
@state.register(CostingClassifier)
@state.register(DataSpaceExpansionClassifier)
@state.register(IterativeWeightingClassifier)
def _voting(model: Any, rows: Rows) -> Stated:
    return _largest(rows.g, _mean_vote(model, rows))


def _largest(g: Graph, shares: str) -> Stated:
    """Return shares, and the decision of the largest."""
    return Stated(shares, decided=arg(g, "ArgMax", shares))


@state.register
def _metacost(model: MetaCostClassifier, rows: Rows) -> Stated:
    if model.relabel:
        raise NotExportable("MetaCost has an export with relabel=False alone.")
    return Stated(_mean_vote(model, rows))


@state.register
def _pairs(model: CostSensitiveOneVsOneClassifier, rows: Rows) -> Stated:
    """Return a vote and a margin of each pair, from all pairs' trees at once."""
    g, n_decisions = rows.g, len(model.decisions_)

    def values(margin: np.ndarray, pair: Any) -> np.ndarray:
        j, k = pair
        table, for_k = np.zeros((len(margin), 2 * n_decisions)), margin > 0
        table[:, k], table[:, j] = for_k, ~for_k
        table[:, n_decisions + k], table[:, n_decisions + j] = margin, -margin
        return table

    plain = _member_leaves(
        model,
        lambda tree: (tree.class_shares[:, 1] - tree.class_shares[:, 0])[:, None],
        lambda label: np.array([2.0 * label - 1.0]),
    )
    members = [
        leaves._replace(values=values(leaves.values[:, 0], pair))
        for leaves, pair in zip(plain, model.pairs_)
    ]
    both = tree_sums(g, _features(model, rows), members, 2 * n_decisions)
    votes, margins = g.ops("Split", 2, both, np.full(2, n_decisions), axis=1)
    if model.aggregate != "votes":
        return _by_scores(g, margins, n_decisions, 2.0)
    share = np.full(n_decisions, (n_decisions - 1) / 2.0)  # half a vote of each pair left out
    np.subtract.at(share, model.pairs_.ravel(), 0.5)
    if share.any():
        votes = g.op("Add", votes, share[None])
    return _by_scores(g, _votes_then(g, votes, margins), n_decisions, 2.0)


def _votes_then(g: Graph, votes: str, margins: str) -> str:
    """Return votes, those of equally many told apart by sums of margins that count less than one."""
    size = g.op("Add", g.op("Mul", g.op("Abs", margins), 3.0), 3.0)
    return g.op("Add", votes, g.op("Div", margins, size))


def _by_scores(g: Graph, scores: str, n_decisions: int, unit: float = 1.0) -> Stated:
    """Return the decision of the greatest score; of two classes, the second's lead in this unit."""
    shown = scores
    if n_decisions == 2:
        shown = g.op("Div", g.op("Sub", g.column(scores, 1), g.column(scores, 0)), unit)
    return Stated(decided=arg(g, "ArgMax", scores), scores=shown)


@state.register
def _tournament(model: FilterTreeClassifier, rows: Rows) -> Stated:
    g, n_matches = rows.g, len(model.estimators_)
    members = _member_leaves(
        model, lambda tree: tree.decisions[:, None], lambda label: np.array([label])
    )
    members = [leaves._replace(first=i) for i, leaves in enumerate(members)]
    second_wins = g.op("Greater", tree_sums(g, _features(model, rows), members, n_matches), 0.5)
    players: list[Any] = [np.array([[label]]) for label in model.order_]
    for i, (first, second) in enumerate(model.matches_.tolist()):
        players.append(g.op("Where", g.column(second_wins, i), players[second], players[first]))
    return Stated(decided=g.op("Squeeze", players[-1], np.array([1])))


@state.register
def _gbse(model: GBSEClassifier, rows: Rows) -> Stated:
    """Return H_T: what each round accepts, weighed by what later rounds leave of it."""
    g, n_decisions = rows.g, len(model.decisions_)
    alphas, members = np.asarray(model.estimator_weights_, dtype=float), model.estimators_
    uniform = np.full((1, n_decisions), 1.0 / n_decisions)
    if not len(members):
        return _largest(g, g.repeat(uniform, rows.like))
    X, accepted = _features(model, rows), []
    for member in members:
        if isinstance(member, ConstantMember):
            fires = np.full((1, n_decisions), float(member.label == 1))
            accepted.append(Leaves(constant_tree(), fires))
        elif isinstance(member, RelationTree):
            accepted.append(leaves_of(member.tree, member.fires))
        else:
            raise NotExportable("GBSE has an export with cost trees as members.")
    shares = [m.values / np.maximum(m.values.sum(axis=1, keepdims=True), 1.0) for m in accepted]
    heard = [m.values.any(axis=1) for m in accepted]
    if all(h.all() or not h.any() for h in heard):  # a round is heard in all leaves, or in none
        steps = np.array([a * h.any() for a, h in zip(alphas, heard)])
        left = np.append(np.cumprod((1.0 - steps)[::-1])[::-1], 1.0)  # of what came before t
        weights = steps * left[1:]
        trees = [m._replace(values=w * s) for m, w, s in zip(accepted, weights, shares)]
        return _largest(g, g.op("Add", tree_sums(g, X, trees, n_decisions), left[0] * uniform))
    asked = [m if len(m.values) > 1 else as_question(m) for m in accepted]
    shares = [s if len(s) > 1 else np.repeat(s, 2, axis=0) for s in shares]
    with np.errstate(divide="ignore"):  # a round of step 1 leaves nothing of what came before
        kept = [np.log1p(-a * m.values.any(axis=1)) for a, m in zip(alphas, asked)]
    numbers = leaf_numbers(g, X, [m.tree for m in asked], MOST_TREES)
    parts: list[str] = []
    after: Any = np.zeros((1, 1))  # the logarithm of what later rounds leave, (n, 1)
    for i in reversed(range(len(numbers))):
        at = slice(i * MOST_TREES, (i + 1) * MOST_TREES)
        logs = g.op("Gather", np.concatenate(kept[at]), numbers[i])
        later = g.op("Add", g.op("CumSum", logs, np.array(1), exclusive=1, reverse=1), after)
        weight = g.op("Unsqueeze", g.op("Exp", later), np.array([1]))
        steps = np.concatenate([a * s for a, s in zip(alphas[at], shares[at])])
        mixed = g.op("MatMul", weight, g.op("Gather", steps, numbers[i]))
        parts.append(g.op("Squeeze", mixed, np.array([1])))
        after = g.op("Add", g.sum(logs), after)
    return _largest(g, g.add_up([*parts, g.op("Mul", g.op("Exp", after), uniform)]))


@state.register
def _cost_regression(model: CostRegressionClassifier, rows: Rows) -> Stated:
    g, n_decisions, X = rows.g, len(model.decisions_), rows.matrix()
    step = 1.0 if model.loss == "squared" else float(model.learning_rate)
    leaves, start = [], np.zeros(n_decisions)
    for members in model.estimators_:
        for k, member in enumerate(members):
            own, base = regression_leaves(member)
            leaves += [m._replace(values=step * m.values, first=m.first + k) for m in own]
            start[k : k + len(base)] += step * base
    sums = added_up(g, model.estimators_[0][0], X, leaves, n_decisions)
    predicted = g.op("Add", sums, (start + model.start_)[None])
    return Stated(expected=g.op("Mul", predicted, float(model.cost_scale_)))


# -- bagging ---------------------------------------------------------------------------------------


def _pair_signs(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which class of each pair is the negative and which the positive one, (pairs, K)."""
    pairs = [(j, k) for j in range(n_classes) for k in range(j + 1, n_classes)]
    eye = np.eye(n_classes)
    return np.array([eye[j] for j, _ in pairs]), np.array([eye[k] for _, k in pairs])


def _linear_scores(g: Graph, values: str, n_classes: int, multi_class: str) -> str:
    """Return one score for each class from the values of the binary problems, (..., K)."""
    if n_classes == 2:
        above = g.cast(g.op("Greater", values, 0.0), float)
        return g.op("Concat", g.op("Sub", 1.0, above), above, axis=-1)
    if multi_class == "ovr":
        return values
    negative, positive = _pair_signs(n_classes)
    above = g.cast(g.op("Greater", values, 0.0), float)
    for_positive = g.op("MatMul", above, positive)
    for_negative = g.op("MatMul", g.op("Sub", 1.0, above), negative)
    sums = g.op("MatMul", values, positive - negative)
    return _votes_then(g, g.op("Add", for_positive, for_negative), sums)


def _linear_values(g: Graph, X: str, members: list) -> str:
    coef = np.concatenate([m.coef_ for m in members])
    intercept = np.concatenate([m.intercept_ for m in members])
    return g.op("Add", g.op("MatMul", X, np.ascontiguousarray(coef.T)), intercept[None])


@state.register
def _l1_svm(model: L1LinearSVC, rows: Rows) -> Stated:
    g = rows.g
    values = _linear_values(g, rows.matrix(), [model])
    scores = _linear_scores(g, values, len(model.classes_), model.multi_class)
    shown = values if len(model.classes_) == 2 else scores
    return Stated(decided=arg(g, "ArgMax", scores), scores=shown)


@state.register(BacingClassifier)
@state.register(ArcX4Classifier)
def _bagging(model: Any, rows: Rows) -> Stated:
    g, n_classes, members = rows.g, len(model.classes_), model.estimators_
    X, known = rows.matrix(), model.classes_.tolist()
    if isinstance(members[0], L1LinearSVC):
        values = _linear_values(g, X, members)
        shape = np.array([-1, len(members), len(members[0].coef_)])
        scores = _linear_scores(
            g, g.op("Reshape", values, shape), n_classes, members[0].multi_class
        )
        each = one_hot(g, g.op("ArgMax", scores, axis=2, keepdims=0), n_classes)
        return by_votes(
            g, g.op("Div", g.sum(each, axis=1, keep=False), float(len(members))), n_classes
        )
    leaves = []
    for member in members:
        codes = [known.index(label) for label in np.asarray(member.classes_).tolist()]
        if isinstance(member, DecisionTreeClassifier):
            leaves.append(sklearn_leaves(member, hard=(codes, n_classes)))
        elif isinstance(member, DummyClassifier):
            usual = codes[int(np.argmax(member.class_prior_))]
            leaves.append(Leaves(constant_tree(), np.eye(n_classes)[[usual]]))
        else:
            raise NotExportable(
                f"{type(model).__name__} has an export with linear members or trees of "
                "scikit-learn."
            )
    votes = tree_sums(g, g.as_float32(X), leaves, n_classes)
    return by_votes(g, g.op("Div", votes, float(len(members))), n_classes)


# -- boosting of expected costs ---------------------------------------------------------------------


@state.register
def _boosted_cost(model: ExpectedCostBoostingClassifier, rows: Rows) -> Stated:
    g, n_decisions, X = rows.g, len(model.decisions_), rows.matrix()
    if model.estimator_ is None:
        scores = g.repeat(np.zeros(n_decisions), X)
    else:
        proba = probabilities(g, model.estimator_, X)
        if model.start == "log_probability":
            scores = g.op("Log", g.op("Max", proba, 1e-6))
        else:
            expected = g.op("MatMul", proba, model.cost_matrix_)
            least = g.op("ReduceMin", expected, axes=[1], keepdims=1)
            scores = g.op("Div", g.op("Sub", least, expected), float(model.start_gap_))
    if model.n_iter_:
        xgboost: Any = import_optional("xgboost", extra="boost", purpose="This model")
        booster = xgboost.Booster()
        booster.load_model(bytearray(model.booster_.tobytes()))
        scores = g.op("Add", scores, xgboost_scores(g, booster, X, n_decisions))
    return _by_scores(g, scores, n_decisions)
