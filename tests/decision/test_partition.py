from decimal import Decimal, localcontext
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import clone
from sklearn.metrics import roc_curve

from stakes.costs import CostMatrix
from stakes.decision import (
    BinaryThreshold,
    ClassThresholds,
    ColumnPartition,
    FullPartition,
    LachicheFlach,
    MinimumExpectedCost,
    Mossman,
    ParallelPartition,
    RowPartition,
    decide,
)
from stakes.decision._mossman_kernel import best_cut
from stakes.decision._rules._mossman import mossman_decisions, mossman_matrix
from stakes.decision._rules._thresholds import weighted_decisions

C = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [20.0, 10.0, 0.0]])
LEARNED = [
    ParallelPartition,
    RowPartition,
    ColumnPartition,
    FullPartition,
    ClassThresholds,
    LachicheFlach,
    Mossman,
]


def distorted(seed=0, n=2000, n_classes=3, power=0.4):
    """Draw probabilities, classes, and what an oversmoothed or undersmoothed model says."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.full(n_classes, 0.7), size=n)
    y = (rng.random(n)[:, None] > true[:, :-1].cumsum(axis=1)).sum(axis=1)
    said = true**power
    return true, y, said / said.sum(axis=1, keepdims=True)


def section_5_1(proba, y, c):
    """Learn the shifts as section 5.1 writes it, in its orientation: a[i, j], predicted i."""
    n_classes = len(c)
    a = c.copy()
    total = np.zeros(n_classes)
    for i in np.argsort(-np.bincount(y), kind="stable"):
        risk = proba @ a.T  # sum_j a_{k|j} p_j
        others = [k for k in range(n_classes) if k != i]
        g = np.array(others)[risk[:, others].argmin(axis=1)]
        alpha = risk[np.arange(len(y)), g] - risk[:, i]
        edges = np.concatenate([[-np.inf], np.unique(alpha), [np.inf]])
        costs = [
            np.where(alpha <= lower, c[g, y], c[i, y]).sum() for lower in edges[:-1]
        ]  # (14): decided i where alpha_in is above the gap
        best = np.flatnonzero(np.isclose(costs, min(costs)))
        assert len(best) == 1, "the case must not depend on how equal minima are broken"
        lower, upper = edges[best[0]], edges[best[0] + 1]
        if lower < 0 < upper:
            continue
        low = max(a[j, j] - a[i, j] for j in others)
        high = min(a[k, i] - a[i, i] for k in others)
        lower, upper = max(lower, low), min(upper, high)
        step = np.sign(upper) * np.sqrt(lower * upper)
        step = min(max(step, low), high)
        a[i, :] += step
        a[:, i] -= step
        total[i] = step
    return a, total


@pytest.mark.parametrize("seed", [0, 1, 3, 4, 6, 8])
def test_one_pass_is_section_5_1(seed):
    _, y, said = distorted(seed, n=150)
    costs = np.random.default_rng(seed).uniform(1, 10, size=(3, 3))
    np.fill_diagonal(costs, 0)
    a, alpha = section_5_1(said, y, costs.T)
    rule = ParallelPartition(cost_matrix=costs).fit(said, y)
    assert_allclose(rule.parameters_, alpha - alpha.mean(), atol=1e-7)
    assert_allclose(rule.partition_, a.T, atol=1e-7)
    assert np.abs(alpha).max() > 0


@pytest.mark.parametrize("rule", LEARNED)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_learned_is_what_is_decided(rule, seed):
    _, y, said = distorted(seed, n=400)
    fitted = rule(cost_matrix=C).fit(said, y)
    decisions = fitted.decide(said)
    assert C[y, decisions].mean() == pytest.approx(fitted.cost_)
    assert C[y, decide(said, C)].mean() == pytest.approx(fitted.initial_cost_)
    same = (decide(said, fitted.partition_) == decisions).mean()
    assert same > 0.995  # the matrix and the rule agree, up to ties (and L, for Mossman)


@pytest.mark.parametrize("rule", LEARNED[:4])
@pytest.mark.parametrize("power", [0.4, 2.5])
def test_partitions_undo_a_distortion(rule, power):
    # smoothing moves the decisions that costs ask for; what is learned on one half saves
    # money on the other, whose classes are scored by their true probabilities
    true, y, said = distorted(1, n=6000, power=power)
    fitted = rule(cost_matrix=C, n_passes=5).fit(said[:3000], y[:3000])
    rows = np.arange(3000)

    def risk(decisions):
        return (true[3000:] @ C)[rows, decisions].mean()

    assert fitted.cost_ < fitted.initial_cost_
    assert risk(fitted.decide(said[3000:])) < risk(decide(said[3000:], C))


@pytest.mark.parametrize("rule", LEARNED[:6])
def test_passes_and_restarts_never_cost_more(rule):
    _, y, said = distorted(2, n=300)
    path = rule(cost_matrix=C, n_passes=5).fit(said, y).path_
    assert (np.diff(path) <= 1e-12).all()
    costs = [
        rule(cost_matrix=C, n_passes=5, n_restarts=m, random_state=0).fit(said, y).cost_
        for m in (0, 2, 6)
    ]
    assert costs[0] >= costs[1] >= costs[2]


def test_two_classes_are_roc_analysis():
    costs = np.array([[0.0, 3.0], [1.0, 0.0]])
    for seed in range(5):
        rng = np.random.default_rng(seed)
        p = np.round(rng.beta(2, 2, size=200), 2)
        y = (rng.random(200) < p**2).astype(int)
        proba = np.column_stack([1 - p, p])
        fpr, tpr, _ = roc_curve(y, p, drop_intermediate=False)
        least = (3 * fpr * (y == 0).sum() + (1 - tpr) * (y == 1).sum()).min() / 200
        threshold = BinaryThreshold(cost_matrix=costs).fit(proba, y)
        assert threshold.cost_ == pytest.approx(least)
        # the shifts stay where no mistake is cheaper than the right decision, that is where
        # the threshold is between 0 and 1
        for rule in (ParallelPartition, ClassThresholds, LachicheFlach, ColumnPartition):
            fitted = rule(cost_matrix=costs).fit(proba, y)
            assert fitted.cost_ == pytest.approx(least)
            a = fitted.partition_
            cut = a[0, 1] / (a[0, 1] + a[1, 0])
            assert (p > cut).astype(int).tolist() == fitted.decide(proba).tolist()
            if threshold.span_[0] < cut < threshold.span_[1]:
                assert_array_equal(fitted.decide(proba), threshold.decide(proba))


def test_lachiche_flach_scales_the_columns_of_zero_one_costs():
    _, y, said = distorted(3, n=300)
    fitted = LachicheFlach(cost_matrix=C).fit(said, y)
    assert fitted.weights_.max() == 1
    # (4), and a_{i|j} = w_j z_{i|j}; ours is the transpose
    assert_array_equal(fitted.decide(said), (said * fitted.weights_).argmax(axis=1))
    scaled = fitted.weights_[:, None] * (1 - np.eye(3))
    assert_allclose(fitted.partition_ / fitted.partition_.max(), scaled)
    assert_array_equal(decide(said, scaled), fitted.decide(said))


def class_by_class(proba, y, costs):
    """Learn Lachiche and Flach's weights literally: all gaps, in 60 digits and no underflow.

    Returns the weights, None for a class that has not joined, and the cost by the last sweep.
    """
    p = [[Decimal(float(value)) for value in row] for row in proba]
    first, *later = np.argsort(-np.bincount(y), kind="stable")
    weights = {first: Decimal(1)}
    paid = costs[y, first].sum()
    for k in later:
        cost, points = 0.0, []  # as class k loses one example after the other
        for row, price in zip(p, costs[y]):
            score, before = max((w * row[j], -j) for j, w in weights.items())
            if score > 0 and row[k] > 0:
                points.append((row[k] / score, price[-before] - price[k]))
            decided = row[k] > 0 or (score == 0 and k < -before)  # with the largest weight
            cost += price[k if decided else -before]
        points.sort()
        edges = [Decimal(0), *(point for point, _ in points), Decimal("Infinity")]
        totals = cost + np.concatenate([[0], np.cumsum([jump for _, jump in points])])
        gaps = [
            (total, lower, upper)
            for total, (lower, upper) in zip(totals, pairwise(edges))
            if upper.is_infinite() or upper - lower > Decimal("1e-12") * lower
        ]
        least = min(total for total, *_ in gaps)
        if least < paid * (1 - 1e-12):
            best = [(lower, upper) for total, lower, upper in gaps if total <= least + 1e-9]
            closed = [(up / low, low, up) for low, up in best if low > 0 and up.is_finite()]
            if closed:
                _, lower, upper = max(closed)
                weights[k] = 1 / (lower * upper).sqrt()
            else:
                lower, upper = best[0]
                lone = 2 * lower if lower > 0 else upper / 2
                weights[k] = 1 / lone if lone.is_finite() else Decimal(1)
            paid = least
    return weights, paid / len(y)


def hard_case(seed):
    """Draw probabilities down to 1e-300 and 0, some rows alike, as naive Bayes and QDA say them."""
    rng = np.random.default_rng(seed)
    n_classes, n = rng.integers(3, 9), rng.integers(20, 150)
    some = rng.choice(n_classes, n - n_classes, p=rng.dirichlet(np.ones(n_classes)))
    y = rng.permutation(np.concatenate([np.arange(n_classes), some]))
    scale = (3, 40, 250, 900)[seed % 4]
    scores = scale * (rng.normal(size=(n, n_classes)) + 1.5 * rng.random() * np.eye(n_classes)[y])
    if seed % 3 == 0:
        scores = scores[rng.integers(0, n // 3, n)]
    costs = rng.uniform(1, 10, size=(n_classes, n_classes))
    np.fill_diagonal(costs, 0)
    return softmax(scores, axis=1), y, costs


@pytest.mark.parametrize("seed", range(24))
def test_lachiche_flach_lets_classes_join_in_turn(seed):
    proba, y, costs = hard_case(seed)
    with localcontext(prec=60, Emin=-(10**9), Emax=10**9):
        weights, cost = class_by_class(proba, y, costs)
        largest = max(weights.values())
        logs = {k: float((w / largest).ln()) for k, w in weights.items()}
        scores = [[(w * Decimal(float(row[k])), -k) for k, w in weights.items()] for row in proba]
    rule = LachicheFlach(cost_matrix=costs).fit(proba, y)
    expected = [logs.get(k, -np.inf) for k in range(len(costs))]
    assert_allclose(rule.log_weights_, expected, atol=1e-9)
    right = np.array([-max(row)[1] for row in scores])
    assert_array_equal(weighted_decisions(proba, rule.log_weights_), right)
    # as a matrix, as far as the product that decides is a number at all
    reach = min(-min(logs.values()), 690.0)
    held = np.array([float((max(row)[0] / largest).ln()) + reach > -700 for row in scores])
    assert held.mean() > 0.5
    assert_array_equal(rule.decide(proba)[held], right[held])
    if held.all():
        assert rule.cost_ == pytest.approx(cost)


def test_a_class_that_saves_nothing_when_it_joins_is_never_decided():
    # Class 0 has three rows and begins. Class 1 joins: where it has its two rows, a row of class 0
    # has the same probabilities, whose mistake costs 3 and saves 1 each: nothing. Class 2 joins.
    proba = [[0.8, 0.1, 0.1]] * 2 + [[0.3, 0.6, 0.1]] * 3 + [[0.2, 0.1, 0.7]]
    y = [0, 0, 0, 1, 1, 2]
    rule = LachicheFlach(cost_matrix=[[0, 3, 9], [1, 0, 9], [1, 1, 0]]).fit(proba, y)
    assert rule.weights_[1] == 0
    assert rule.weights_[2] > 0
    assert rule.predict([[0.0, 1.0, 0.0]]) == [0]  # not even where nothing else can be
    assert rule.path_.tolist() == [3 / 6, 2 / 6]


def test_examples_of_classes_to_come_part_the_gaps():
    # 1 meets 0 at a weight of 8 in the rows of 0, of 1/8 in its own, and of 2/3 in the row of 2,
    # who is not there yet and to whom both are equally wrong. The widest gap of least cost is that
    # between 2/3 and 8, not all from 1/8 to 8: the weight is sqrt(2/3 * 8).
    proba = [[0.8, 0.1, 0.1]] * 3 + [[0.1, 0.8, 0.1]] * 2 + [[0.2, 0.3, 0.5]]
    weights = LachicheFlach().fit(proba, [0, 0, 0, 1, 1, 2]).weights_
    assert weights[1] / weights[0] == pytest.approx(np.sqrt(2 / 3 * 8))


def test_of_equal_classes_the_earlier_joins_first():
    # 50 : 50 and one of them too many: who comes first keeps it
    proba = [[0.5, 0.5, 0.0]] * 2 + [[0.0, 0.0, 1.0]] * 3
    y = ["a", "b", "c", "c", "c"]
    ab = LachicheFlach(classes=["a", "b", "c"]).fit(proba, y)
    ba = LachicheFlach(classes=["b", "a", "c"]).fit(np.array(proba)[:, [1, 0, 2]], y)
    assert (ab.predict(proba[:1]), ba.predict(proba[:1])) == (["a"], ["b"])


@pytest.mark.parametrize(("delta_1", "delta_2"), [(0.3, 0.1), (0.6, -0.4), (0.45, 0.8)])
def test_mossmans_matrix_is_mossmans_rule(delta_1, delta_2):
    proba = np.random.default_rng(0).dirichlet(np.ones(3), size=2000)
    near = np.abs(proba[:, 2] - delta_1) < 1e-5  # L is large, not infinite
    by_matrix = decide(proba, mossman_matrix(delta_1, delta_2))
    assert_array_equal(by_matrix[~near], mossman_decisions(proba, delta_1, delta_2)[~near])


@pytest.mark.parametrize("seed", range(6))
def test_mossmans_thresholds_are_the_best_pair(seed):
    rng = np.random.default_rng(seed)
    proba = rng.multinomial(8, [0.4, 0.3, 0.3], size=40) / 8  # ties
    y = rng.integers(3, size=40)
    weight = rng.integers(1, 4, size=40)
    fitted = Mossman(cost_matrix=C).fit(proba, y, sample_weight=weight)
    grid_1 = np.arange(-1, 9) / 8 + 1 / 16
    grid_2 = np.arange(-9, 9) / 8 + 1 / 16
    least = min(
        np.average(C[y, mossman_decisions(proba, a, b)], weights=weight)
        for a in grid_1[1:]
        for b in grid_2
    )
    assert fitted.cost_ == pytest.approx(least)


@pytest.mark.parametrize("seed", range(6))
def test_the_cut_of_mossmans_rule_is_exact(seed):
    rng = np.random.default_rng(seed)
    n = 30
    third = rng.integers(0, 8, size=n) / 8
    place = rng.integers(0, 6, size=n)
    place[:6] = np.arange(6)
    paid = rng.integers(0, 9, size=(n, 3)).astype(float)
    order = np.argsort(third, kind="stable")

    def cost(n_below, split):
        decided = np.full(n, 2)
        below = order[:n_below]
        decided[below] = np.where(place[below] < split, 0, 1)
        return paid[np.arange(n), decided].sum()

    ends = [k for k in range(n + 1) if k in (0, n) or third[order[k - 1]] < third[order[k]]]
    least = min(cost(k, split) for k in ends for split in range(7))
    n_below, split = best_cut(third, order, place, 6, paid)
    assert n_below in ends
    assert cost(n_below, split) == least


def test_the_slides_thresholds():
    # German credit: accepting a bad client costs 3, turning a good one away 1. The slides
    # take "good" as the class of the score: accept where P(good) >= 3/4.
    costs = CostMatrix.from_predicted_true([[0, 3], [1, 0]], labels=["good", "bad"])
    proba = np.array([[0.2, 0.8], [0.3, 0.7], [0.9, 0.1]])  # columns bad, good
    rule = BinaryThreshold(cost_matrix=costs, method="theoretical")
    rule.fit(proba, ["good", "bad", "bad"])
    assert rule.threshold_ == 0.75
    assert_array_equal(rule.predict(proba), ["good", "bad", "bad"])
    plug_in = MinimumExpectedCost(cost_matrix=costs).fit(proba, ["good", "bad", "bad"])
    assert_array_equal(plug_in.predict(proba), rule.predict(proba))


def test_the_middle_of_the_widest_span():
    # 0/1 costs; positives at .2 and .9, negatives at .1, .3 and .4. One mistake is the least:
    # between .4 and .9 (width .5) and between .1 and .2 two and one: the former is taken
    p = np.array([0.2, 0.9, 0.1, 0.3, 0.4])
    rule = BinaryThreshold().fit(np.column_stack([1 - p, p]), [1, 1, 0, 0, 0])
    assert rule.span_ == pytest.approx((0.4, 0.9))
    assert rule.threshold_ == pytest.approx(0.65)
    assert rule.cost_ == pytest.approx(0.2)


def test_the_slides_example_costs():
    # c[0], c[1] = (1, 1), (1, 2), (7, 3): classes 0, 0, 1 and weights 0, 1, 4. The first
    # example, at 0.9, is ignored: the widest span reaches from 0.3 to 0.6 whatever it says
    p = np.array([0.9, 0.3, 0.6])
    costs = [[1, 1], [1, 2], [7, 3]]
    rule = BinaryThreshold().fit(np.column_stack([1 - p, p]), [0, 0, 1], costs=costs)
    assert rule.span_ == pytest.approx((0.3, 0.6))
    assert rule.cost_ == pytest.approx((1 + 1 + 3) / 3)


@pytest.mark.parametrize("rule", [*LEARNED, BinaryThreshold])
def test_example_costs_and_weights_count(rule):
    _, y, said = distorted(4, n=300, n_classes=2 if rule is BinaryThreshold else 3)
    costs = C[:2, :2] if rule is BinaryThreshold else C
    # class costs written out per example change nothing
    by_class = rule(cost_matrix=costs).fit(said, y)
    by_example = rule().fit(said, y, costs=costs[y])
    assert_allclose(by_example.parameters_, by_class.parameters_, atol=1e-9)
    # a weight of 3 is three examples
    weight = np.random.default_rng(0).integers(1, 4, size=300)
    weighted = rule(cost_matrix=costs).fit(said, y, sample_weight=weight)
    repeated = rule(cost_matrix=costs).fit(np.repeat(said, weight, axis=0), np.repeat(y, weight))
    if rule in (ClassThresholds, BinaryThreshold, Mossman):  # no order by population in one pass
        assert weighted.cost_ == pytest.approx(repeated.cost_, rel=0.02)
    scaled = rule().fit(said, y, costs=costs[y] * weight[:, None])
    assert scaled.cost_ * 300 == pytest.approx(weighted.cost_ * weight.sum(), rel=0.02)


@pytest.mark.parametrize("rule", [ParallelPartition, RowPartition, ColumnPartition])
def test_example_costs_at_predict(rule):
    _, y, said = distorted(5, n=600)
    amount = np.random.default_rng(0).lognormal(size=600)
    tensor = C * amount[:, None, None]
    fitted = rule(n_passes=3).fit(said, y, cost_tensor=tensor)
    decisions = fitted.decide(said, cost_tensor=tensor)
    paid = tensor[np.arange(600), y, decisions]
    assert paid.mean() == pytest.approx(fitted.cost_)
    assert fitted.cost_ < fitted.initial_cost_
    # the same costs for all are class costs
    flat = np.broadcast_to(C, (600, 3, 3))
    by_class = rule(cost_matrix=C).fit(said, y)
    assert_array_equal(by_class.decide(said, cost_tensor=flat), by_class.decide(said))


def test_rules_that_cannot_weigh_a_tensor_learn_from_what_the_truth_picks():
    rng = np.random.default_rng(0)
    for rule in (BinaryThreshold, FullPartition, ClassThresholds, LachicheFlach, Mossman):
        n_classes = 2 if rule is BinaryThreshold else 3
        _, y, said = distorted(4, n=300, n_classes=n_classes)
        tensor = C[:n_classes, :n_classes] * rng.lognormal(size=300)[:, None, None]
        costs = tensor[np.arange(300), y]
        fitted = rule(shrink=True, random_state=0).fit(said, y, cost_tensor=tensor)
        by_rows = rule(shrink=True, random_state=0).fit(said, y, costs=costs)
        assert_array_equal(fitted.parameters_, by_rows.parameters_)
        # what is said of the cost is what the decisions cost
        assert costs[np.arange(300), fitted.decide(said)].mean() == pytest.approx(fitted.cost_)


def test_rules_that_cannot_weigh_example_costs_say_so():
    _, y, said = distorted(0, n=100)
    for rule in (FullPartition, ClassThresholds, LachicheFlach, Mossman):
        fitted = rule(cost_matrix=C).fit(said, y)
        with pytest.raises(ValueError, match="cannot weigh the costs of single examples"):
            fitted.predict(said, cost_tensor=np.broadcast_to(C, (100, 3, 3)))


@pytest.mark.parametrize("rule", [*LEARNED, BinaryThreshold])
def test_shrinking_keeps_the_plug_in_where_nothing_is_gained(rule):
    # true probabilities: whatever is learned is noise
    true, y, _ = distorted(8, n=300, n_classes=2 if rule is BinaryThreshold else 3)
    costs = C[:2, :2] if rule is BinaryThreshold else C
    fitted = rule(cost_matrix=costs, shrink=True, random_state=0).fit(true, y)
    assert fitted.shrunk_
    assert fitted.cost_ == fitted.initial_cost_
    assert_array_equal(fitted.decide(true), decide(true, costs))
    assert not rule(cost_matrix=costs).fit(true, y).shrunk_
    if rule in (ParallelPartition, RowPartition, ColumnPartition, BinaryThreshold):
        _, y, said = distorted(6, n=4000, n_classes=len(costs), power=0.2)
        fitted = clone(fitted).fit(said, y)
        assert not fitted.shrunk_
        assert fitted.cost_ < fitted.initial_cost_


def test_one_seed_one_result():
    _, y, said = distorted(7, n=200)
    rule = ParallelPartition(cost_matrix=C, n_passes=3, n_restarts=4, random_state=5)
    assert_array_equal(clone(rule).fit(said, y).parameters_, clone(rule).fit(said, y).parameters_)


@pytest.mark.parametrize("rule", [*LEARNED, BinaryThreshold, MinimumExpectedCost])
def test_what_is_no_probability_is_refused(rule):
    _, y, said = distorted(0, n=60, n_classes=2 if rule is BinaryThreshold else 3)
    for bad, message in [
        (said * 1.1, "sums to 1.1"),
        (np.where(said == said.max(), np.nan, said), "NaN"),
        (np.column_stack([-said[:, 0], said[:, 1:]]), "negative entry"),
        (np.column_stack([said, np.zeros(60)]), "columns, one per class, but y has"),
    ]:
        with pytest.raises(ValueError, match=message):
            rule().fit(bad, y)
    fitted = rule().fit(said, y)
    with pytest.raises(ValueError, match="sums to 1.1"):
        fitted.predict(said * 1.1)
    with pytest.raises(ValueError, match="but the rule was fitted with"):
        fitted.predict(np.full((3, 5), 0.2))


def test_bad_input():
    _, y, said = distorted(0, n=60)
    with pytest.raises(ValueError, match="no validation example of 2"):
        ParallelPartition(classes=[0, 1, 2]).fit(said[y < 2], y[y < 2])
    with pytest.raises(ValueError, match="Mossman is for 3 classes, but there are 4"):
        Mossman().fit(np.full((8, 4), 0.25), [0, 1, 2, 3] * 2)
    with pytest.raises(ValueError, match="BinaryThreshold is for 2 classes, but there are 3"):
        BinaryThreshold().fit(said, y)
    with pytest.raises(ValueError, match="'n_passes' parameter"):
        ParallelPartition(n_passes=0).fit(said, y)
    with pytest.raises(ValueError, match="(is all zero|at least one non-zero)"):
        ParallelPartition().fit(said, y, sample_weight=np.zeros(60))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ParallelPartition().fit(said, y[:50])
    with pytest.raises(ValueError, match="costs has 60 rows, one per example, but X has 50"):
        ParallelPartition().fit(said[:50], y[:50], costs=C[y])


def test_thresholds_stay_numbers_where_probabilities_hardly_are():
    # log odds of hundreds, as quadratic discriminants give; warnings are errors here
    rng = np.random.RandomState(0)
    for _ in range(100):
        scores = rng.normal(size=(30, 3)) * rng.choice([1, 100, 600])
        proba = np.exp(scores - scores.max(axis=1, keepdims=True))
        proba /= proba.sum(axis=1, keepdims=True)
        y = np.concatenate([[0, 1, 2], rng.randint(3, size=27)])
        rule = LachicheFlach(cost_matrix=[[0, 1, 2], [5, 0, 1], [9, 3, 0]], n_passes=3)

        rule.fit(proba, y)

        assert np.isfinite(rule.partition_).all()
        assert rule.path_[-1] <= rule.path_[0]


def test_a_model_that_is_far_too_sure_is_no_reason_to_refuse():
    # entries that serve rows of probability 1e-200 are as large as no price may be
    rng = np.random.default_rng(0)
    y, logits = np.arange(60) % 3, 150 * rng.normal(size=(60, 3))
    proba = softmax(logits, axis=1)
    matrix = np.array([[0, 1, 7], [4, 0, 2], [9, 5, 0]], dtype=float)
    rule = FullPartition(cost_matrix=matrix).fit(proba, y)
    assert rule.partition_.max() > 1e60
    assert_allclose(matrix[y, rule.predict(proba)].mean(), rule.cost_)
    assert rule.cost_ < matrix[y, decide(proba, matrix)].mean()
