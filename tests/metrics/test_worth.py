"""Is it worth it: net benefit as others compute it, curves by hand, bands, displays."""

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from stakes.datasets import make_known_posterior
from stakes.metrics import (
    BrierCurveDisplay,
    DecisionCurveDisplay,
    average_cost,
    brier_curve,
    cost_curve,
    decision_curve,
    net_benefit,
)

P = np.array(
    [0.05, 0.12, 0.18, 0.22, 0.27, 0.33, 0.35, 0.41, 0.48, 0.5]
    + [0.55, 0.61, 0.66, 0.72, 0.78, 0.81, 0.88, 0.9, 0.93, 0.97]
)  # fmt: skip
Y = np.array([0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1])
PROBA = np.column_stack([1 - P, P])
# dcurves 1.1.7, dca(data, outcome="y", modelnames=["p"], thresholds=...), column net_benefit.
THRESHOLDS = [0.1, 0.25, 0.35, 0.5, 0.6, 0.75, 0.9]
DCURVES_MODEL = [0.45, 0.33333333333333337, 0.3153846153846154, 0.25]
DCURVES_MODEL += [0.19999999999999998, 0.09999999999999998, 0.15]
DCURVES_ALL = [0.4444444444444444, 0.33333333333333337, 0.23076923076923078, 0.0]
DCURVES_ALL += [-0.2499999999999999, -1.0, -4.000000000000001]

DATA = make_known_posterior(2000, K=3, random_state=0)
ENDS = [[[0, 1, 1], [1, 0, 1], [1, 1, 0]], [[0, 1, 2], [5, 0, 1], [9, 4, 0]]]


def test_two_classes_are_as_in_dcurves():
    curve = decision_curve(Y, PROBA, thresholds=THRESHOLDS)
    assert curve.values == pytest.approx(DCURVES_MODEL, abs=1e-12)
    assert curve.same_for_all[:, 1] == pytest.approx(DCURVES_ALL, abs=1e-12)
    assert not curve.same_for_all[:, 0].any()
    assert curve.best_for_all == pytest.approx(np.maximum(DCURVES_ALL, 0))


def test_a_place_of_the_curve_is_the_net_benefit_of_its_decisions():
    curve = decision_curve(DATA.y, DATA.proba, cost_matrices=ENDS, reference=1, n_points=5)
    C = 0.75 * np.array(ENDS[0], dtype=float) + 0.25 * np.array(ENDS[1])
    decided = (DATA.proba @ C).argmin(axis=1)
    expected = net_benefit(DATA.y, decided, reference=1, cost_matrix=C)
    assert curve.values[1] == pytest.approx(expected)
    same = average_cost(DATA.y, np.ones_like(DATA.y), cost_matrix=C)
    assert expected == pytest.approx(same - average_cost(DATA.y, decided, cost_matrix=C))
    # against the best for all it is worth less, and still something
    best = decision_curve(DATA.y, DATA.proba, cost_matrices=ENDS, n_points=5)
    assert (best.values <= curve.values + 1e-12).all()
    assert (best.values > 0).all()
    assert best.best_for_all == pytest.approx(np.zeros(5))


def test_the_area_under_the_brier_curve_is_the_brier_score():
    curve = brier_curve(Y, PROBA, n_points=200_001)
    assert np.trapezoid(curve.values, curve.positions) == pytest.approx(
        brier_score_loss(Y, P), abs=1e-5
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_the_cost_curve_is_below_every_threshold_and_the_brier_curve(weighted):
    weight = np.random.default_rng(0).random(20) if weighted else None
    low = cost_curve(Y, PROBA, n_points=21, sample_weight=weight)
    plain = brier_curve(Y, PROBA, n_points=21, sample_weight=weight)
    assert (low.values <= plain.values + 1e-12).all()
    assert (low.values <= low.best_for_all + 1e-12).all()
    c = 0.3
    costs = [
        average_cost(
            Y, (t <= P).astype(int), cost_matrix=[[0, 2 * c], [2 - 2 * c, 0]], sample_weight=weight
        )
        for t in [*P, 2.0]
    ]
    assert low.values[6] == pytest.approx(min(costs))
    three = cost_curve(DATA.y, DATA.proba, cost_matrices=ENDS, n_points=11)
    assert (
        three.values
        <= brier_curve(DATA.y, DATA.proba, cost_matrices=ENDS, n_points=11).values + 1e-12
    ).all()


def test_bands_are_those_of_resampled_rows():
    rng = np.random.default_rng(0)
    given = {"thresholds": [0.5], "n_bootstrap": 4000}
    curve = decision_curve(Y, PROBA, **given)
    drawn = []
    for _ in range(4000):
        rows = rng.integers(20, size=20)
        hit, alarm = (Y[rows] == 1) & (P[rows] >= 0.5), (Y[rows] == 0) & (P[rows] >= 0.5)
        drawn.append(hit.mean() - alarm.mean())
    assert [curve.low[0], curve.high[0]] == pytest.approx(
        np.quantile(drawn, [0.025, 0.975]), abs=0.051
    )
    assert (decision_curve(Y, PROBA, **given).low == curve.low).all()


def test_displays_draw_the_curves_and_the_references():
    pytest.importorskip("matplotlib").use("Agg")
    shown = DecisionCurveDisplay.from_predictions(Y, PROBA, n_points=9, name="ours")
    words = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert words == ["ours", "0 for everybody", "1 for everybody"]
    assert shown.ax_.get_ylim()[0] > -1
    three = BrierCurveDisplay.from_predictions(
        DATA.y, DATA.proba, cost_matrices=ENDS, n_points=5, n_bootstrap=50
    )
    assert len(three.ax_.lines) == 5
    assert three.curve.low is not None
    shown.figure_.clear()
    three.figure_.clear()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: decision_curve(Y, PROBA, thresholds=[0.0]), "thresholds must be numbers above 0"),
        (lambda: decision_curve(DATA.y, DATA.proba), "There are 3 classes: say the two cost_"),
        (lambda: decision_curve(Y, PROBA[:5]), r"proba must have shape \(20, 2\)"),
        (lambda: decision_curve(Y, 2 * PROBA), "do not sum to 1"),
        (lambda: brier_curve(DATA.y, DATA.proba, cost_matrices=[np.eye(3)]), "Give two cost_mat"),
        (
            lambda: decision_curve(Y, PROBA, reference="x"),
            "reference='x' is none of the decisions",
        ),
        (lambda: decision_curve(Y, PROBA, level=2.0, n_bootstrap=5), "level=2.0 must be between"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message) as error:
        call()
    assert "\n" not in str(error.value)
