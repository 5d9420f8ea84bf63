import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_curve
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from stakes.costs import CostMatrix
from stakes.costs.arithmetic import equal_risk_point
from stakes.decision import (
    BinaryThreshold,
    ClassCalibrationDisplay,
    CostCurveDisplay,
    CostDecisionClassifier,
    Mossman,
    ParallelPartition,
    SimplexDecisionDisplay,
    ThresholdCostDisplay,
    decide,
)
from stakes.decision._plot._simplex import boundary_segments, simplex_grid, to_plane

plt = pytest.importorskip("matplotlib.pyplot")

C = np.array([[0.0, 1.0, 2.0], [2.0, 0.0, 1.5], [4.0, 3.0, 0.0]])


@pytest.fixture(autouse=True)
def _close_figures():
    with plt.rc_context({"backend": "agg"}):
        yield
    plt.close("all")


def lines(matrix):
    """Return each boundary by the side(s) of the simplex it reaches: direction and end."""
    return [np.asarray(ends) for ends in boundary_segments(matrix)]


# -- the simplex -----------------------------------------------------------------------------


def test_the_grid_covers_the_simplex():
    grid = simplex_grid(20)
    assert len(grid) == 20 * 21 / 2
    assert_allclose(grid.sum(axis=1), 1)
    assert (grid > 0).all()
    assert_allclose(to_plane(np.eye(3))[:, 1], [0, 0, np.sqrt(3) / 2])


def test_boundaries_of_zero_one_costs_meet_in_the_middle():
    found = lines(1.0 - np.eye(3))
    assert len(found) == 3
    for ends in found:
        assert_allclose(ends.sum(axis=1), 1)
        assert np.isclose(ends, 1 / 3).all(axis=1).any()  # one end in the middle
        assert np.isclose(ends, 0.5).sum() == 2  # the other half way along a side


def test_boundaries_part_the_regions():
    # a small step to either side of the middle of a boundary: two decisions
    for ends in lines(C):
        middle = ends.mean(axis=0)
        expected = np.sort(middle @ C)
        assert_allclose(expected[0], expected[1])
        assert expected[2] > expected[0]


def test_regions_that_do_not_touch_have_no_boundary():
    # deciding 0 twice as expensive: its corner is cut off by region 1, and 0 never meets 2
    raised = C.copy()
    raised[:, 0] *= 2
    assert equal_risk_point(raised)[0].min() < 0  # outside the simplex
    found = lines(raised)
    assert len(found) == 2
    for ends in found:
        two_least = np.argsort(ends.mean(axis=0) @ raised)[:2]
        assert set(two_least) != {0, 2}
        assert_allclose(np.sort(ends.min(axis=1)), 0)  # from side to side


def test_property_5_shifting_the_price_of_a_decision_keeps_boundaries_parallel():
    shifted = C.copy()
    shifted[:, 0] += 0.3
    for before, after in zip(lines(C), lines(shifted)):
        a, b = (np.diff(to_plane(ends), axis=0)[0] for ends in (before, after))
        assert abs(a[0] * b[1] - a[1] * b[0]) < 1e-12  # same direction


def test_property_6_scaling_a_true_class_keeps_the_far_side():
    # the boundaries meet the side p_0 = 0 where they met it, and the equal risk point moves
    # on the line to the corner p_0 = 1
    scaled = C.copy()
    scaled[0] *= 1.7
    before, after = (
        sorted(tuple(p.round(9)) for ends in lines(m) for p in ends if abs(p[0]) < 1e-12)
        for m in (C, scaled)
    )
    assert before
    assert before == after
    old, new = equal_risk_point(C)[0], equal_risk_point(scaled)[0]
    towards = np.eye(3)[0]
    assert_allclose(np.cross((new - old)[:3], (towards - old)[:3]), 0, atol=1e-12)


def test_property_7_scaling_a_decision_slides_along_the_other_boundary():
    scaled = C.copy()
    scaled[:, 0] *= 1.4
    point = equal_risk_point(scaled)[0]
    # the other decisions still cost the same there
    assert (point @ C)[1] == pytest.approx((point @ C)[2])


def test_a_learned_rule_on_the_simplex():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    proba = cross_val_predict(LogisticRegression(C=0.01), X, y, method="predict_proba")
    rule = ParallelPartition(cost_matrix=CostMatrix(C, labels=names)).fit(proba, names[y])
    display = SimplexDecisionDisplay.from_rule(rule, proba=proba, y=names[y], resolution=40)
    assert_array_equal(display.decisions, decide(display.grid, rule.partition_))
    assert_array_equal(display.proba_decisions, rule.decide(proba))
    assert display.shares().sum() == pytest.approx(1)
    texts = [t.get_text() for t in display.ax_.texts]
    assert texts == list(names)
    # a second display adds its lines to the same axes
    n_lines = len(display.ax_.lines)
    other = SimplexDecisionDisplay.from_rule(
        CostMatrix(C, labels=names), ax=display.ax_, regions=False, linestyle="--", label="costs"
    )
    assert other.ax_ is display.ax_
    assert len(display.ax_.lines) > n_lines


def test_mossmans_regions_have_no_matrix():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), size=200)
    y = proba.argmax(axis=1)
    display = SimplexDecisionDisplay.from_rule(Mossman().fit(proba, y), plot=False)
    assert display.boundaries is None
    assert display.equal_risk_point is None
    assert display.plot().ax_ is not None


def test_the_simplex_has_three_corners():
    with pytest.raises(ValueError, match="3 classes in a triangle, but there are 2"):
        SimplexDecisionDisplay.from_rule([[0, 1], [2, 0]])


# -- thresholds ------------------------------------------------------------------------------


def test_the_cost_of_each_threshold():
    rng = np.random.default_rng(0)
    p = np.round(rng.random(80), 2)
    y = (rng.random(80) < p).astype(int)
    weight = rng.integers(1, 4, size=80)
    costs = np.array([[0.0, 3.0], [1.0, 0.5]])
    proba = np.column_stack([1 - p, p])
    display = ThresholdCostDisplay.from_predictions(
        y, proba, cost_matrix=costs, sample_weight=weight, plot=False
    )
    for threshold, cost in zip(display.thresholds, display.costs):
        decided = (p > threshold).astype(int)
        assert np.average(costs[y, decided], weights=weight) == pytest.approx(cost)
    rule = BinaryThreshold(cost_matrix=costs).fit(proba, y, sample_weight=weight)
    assert display.empirical == rule.threshold_
    assert display.theoretical == rule.theoretical_threshold_
    assert display.costs.min() == pytest.approx(rule.cost_)


def test_curves_of_the_folds():
    X, y = make_classification(n_samples=300, weights=[0.8], flip_y=0.2, random_state=0)
    costs = CostMatrix.binary(fp=1, fn=5, labels=[0, 1])
    display = ThresholdCostDisplay.from_cv(LogisticRegression(), X, y, cv=3, cost_matrix=costs)
    assert len(display.fold_curves) == 3
    folds = StratifiedKFold(3, shuffle=True, random_state=0)  # what a number stands for
    held_out = cross_val_predict(LogisticRegression(), X, y, cv=folds, method="predict_proba")
    whole = ThresholdCostDisplay.from_predictions(y, held_out, cost_matrix=costs, plot=False)
    assert_allclose(display.costs, whole.costs)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels[:2] == ["each fold", "cost"]
    assert labels[3] == "theoretical, 0.167"
    assert display.ax_.get_xlabel() == "threshold on the probability of 1"
    model = CostDecisionClassifier(LogisticRegression(), cost_matrix=costs).fit(X, y)
    fitted = ThresholdCostDisplay.from_estimator(model, X, y, plot=False)
    assert fitted.theoretical == pytest.approx(1 / 6)


def test_thresholds_are_for_two_classes():
    with pytest.raises(ValueError, match="is for 2 classes, but there are 3"):
        ThresholdCostDisplay.from_predictions([0, 1, 2], np.full((3, 3), 1 / 3))


# -- cost curves -----------------------------------------------------------------------------


def test_the_curve_of_drummond_and_holte():
    rng = np.random.default_rng(1)
    p = np.round(rng.random(200), 2)
    y = (rng.random(200) < p**2).astype(int)
    display = CostCurveDisplay.from_predictions(y, np.column_stack([1 - p, p]), n_points=11)
    fpr, tpr, _ = roc_curve(y, p, drop_intermediate=False)
    for x, least in zip(display.positions, display.curves["best threshold"]):
        assert least == pytest.approx(((1 - tpr) * x + fpr * (1 - x)).min())
    decided = p > 0.5
    fp, fn = decided[y == 0].mean(), (~decided[y == 1]).mean()
    straight = fn * display.positions + fp * (1 - display.positions)
    assert_allclose(display.curves["most probable class"], straight)
    assert_allclose(
        display.curves["best constant decision"],
        np.minimum(display.positions, 1 - display.positions),
    )
    assert (
        display.curves["best threshold"] <= display.curves["least expected cost"] + 1e-12
    ).all()
    assert display.ax_.get_ylabel() == "normalised expected cost"


def test_between_two_matrices_of_three_classes():
    rng = np.random.default_rng(2)
    proba = rng.dirichlet(np.ones(3), size=500)
    y = (rng.random(500)[:, None] > proba[:, :-1].cumsum(axis=1)).sum(axis=1)
    rule = ParallelPartition(cost_matrix=C).fit(proba, y)
    display = CostCurveDisplay.from_predictions(
        y,
        proba,
        cost_matrices=("zero_one", C),
        rules={"partition for C": rule},
        n_points=3,
    )
    at_c = {name: curve[-1] for name, curve in display.curves.items()}
    assert at_c["partition for C"] == pytest.approx(rule.cost_)
    assert at_c["least expected cost"] == pytest.approx(C[y, decide(proba, C)].mean())
    assert at_c["most probable class"] == pytest.approx(C[y, proba.argmax(axis=1)].mean())
    assert display.curves["most probable class"][0] == pytest.approx(
        (proba.argmax(axis=1) != y).mean()
    )
    assert at_c["least expected cost"] < at_c["best constant decision"]
    with pytest.raises(ValueError, match="say the two cost_matrices"):
        CostCurveDisplay.from_predictions(y, proba)


def test_a_cost_curve_from_an_estimator():
    X, y = make_classification(n_samples=200, random_state=0)
    model = LogisticRegression().fit(X, y)
    display = CostCurveDisplay.from_estimator(model, X, np.asarray(y), plot=False)
    assert set(display.curves) == {
        "most probable class",
        "least expected cost",
        "best constant decision",
        "best threshold",
    }


# -- calibration -----------------------------------------------------------------------------


def test_one_calibration_curve_per_class():
    rng = np.random.default_rng(3)
    proba = rng.dirichlet(np.ones(3), size=20_000)
    y = (rng.random(20_000)[:, None] > proba[:, :-1].cumsum(axis=1)).sum(axis=1)
    names = np.array(["a", "b", "c"])
    display = ClassCalibrationDisplay.from_predictions(names[y], proba)
    for said, came_true in zip(display.said, display.came_true):
        assert len(said) == 10
        assert_allclose(said, came_true, atol=0.04)  # true probabilities come true
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["perfectly calibrated", "a", "b", "c"]
    sharp = proba**3 / (proba**3).sum(axis=1, keepdims=True)
    display = ClassCalibrationDisplay.from_predictions(names[y], sharp, plot=False)
    assert display.said[0][-1] > display.came_true[0][-1] + 0.02  # too sure
