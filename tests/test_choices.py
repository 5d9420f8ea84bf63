"""Decisions that are not the classes: every method, and what is said of them."""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from stakes._methods import Setting
from stakes.compare import compare, fit_model, list_methods
from stakes.compare._registry import all_methods
from stakes.costs import Choices, CostMatrix, CostTensor
from stakes.decision import (
    ConstantDecisionClassifier,
    CostCurveDisplay,
    CostDecisionClassifier,
    MostProbable,
    Policy,
    RiskControl,
    explain_decision,
)
from stakes.metrics import (
    BrierCurveDisplay,
    CostMatrixDisplay,
    average_cost,
    brier_curve,
    cost_curve,
    cost_interval,
    decision_curve,
    savings_score,
    stochastic_cost,
    total_cost,
)
from stakes.reductions import CostRegressionClassifier, GBSEClassifier
from stakes.tree import CostTreeClassifier

TRUTHS = ("bot", "fraud", "honest")
ACTIONS = ("approve", "ask for a code", "review", "block")
PRICES = np.array([[40.0, 2.0, 9.0, 0.0], [100.0, 35.0, 12.0, 0.0], [0.0, 1.5, 12.0, 30.0]])
MATRIX = CostMatrix(PRICES, TRUTHS, ACTIONS)
RNG = np.random.default_rng(0)
N = 240
CODES = RNG.choice(3, N, p=[0.2, 0.2, 0.6])
Y = np.array(TRUTHS)[CODES]
X = RNG.normal(size=(N, 3)) + 1.5 * np.eye(3)[CODES]
AMOUNTS = RNG.lognormal(0, 0.3, N)
COSTS = pd.DataFrame(PRICES[CODES] * AMOUNTS[:, None], columns=ACTIONS)
SMALL = {"n_estimators": 6, "n_iterations": 3, "members": ["linear", "gaussian"]}
TABLE = list_methods()
UNABLE = [n for n, cannot in TABLE["cannot"].items() if "fit_model" in cannot.get("choices", {})]
ABLE = [name for name in TABLE.index if name not in (*UNABLE, "nearest_mean")]


def plain():
    return LogisticRegression(max_iter=500)


def make(name, cost_matrix=None):
    choices = None if cost_matrix is None else Choices.of(cost_matrix.decisions, TRUTHS)
    values = None if cost_matrix is None else cost_matrix.values
    model = all_methods()[name].make(Setting(3, N, plain, values, choices, fast=True))
    if cost_matrix is not None:
        model.set_params(cost_matrix=cost_matrix)
    known = inspect.signature(type(model)).parameters
    return model.set_params(**{k: v for k, v in SMALL.items() if k in known})


def decisions(name, cost_matrix):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(name, cost_matrix).fit(X, Y).predict(X)


# -- every method --------------------------------------------------------------------------------


def test_those_that_decide_classes_alone_are_known():
    assert set(UNABLE) == {
        *("binary_threshold", "mossman", "thresholds", "lachiche_flach"),
        *("l1_svm", "arcx4", "bacing", "combo", "adaboost_mm", "adaboost_nc", "smoteboost"),
    }


@pytest.mark.parametrize("name", ABLE)
def test_what_is_decided_has_the_names_of_the_decisions(name):
    model = make(name, MATRIX).fit(X, Y)
    assert_array_equal(model.decisions_, ACTIONS)
    assert_array_equal(model.classes_, TRUTHS)
    decided = model.predict(X)
    assert set(decided) <= set(ACTIONS)
    assert model.score(X, Y) == pytest.approx(-average_cost(Y, decided, cost_matrix=MATRIX))
    if name not in ("constant", "plain", "risk_averse"):
        assert -model.score(X, Y) < min(MATRIX.costs_for(Y).mean(axis=0))
    if hasattr(model, "expected_costs"):
        assert model.expected_costs(X).shape == (N, 4)


@pytest.mark.parametrize("name", ABLE)
def test_decisions_follow_their_columns(name):
    # Least expected cost and what sums over decisions do not look at their order; others may
    # meet ties and draws in another order, and then decide nearly the same.
    order = [2, 0, 3, 1]
    renamed = [f"{i} {action}" for i, action in enumerate(ACTIONS)]
    turned = CostMatrix(PRICES[:, order], TRUTHS, [renamed[d] for d in order])
    before, after = decisions(name, MATRIX), decisions(name, turned)
    back = dict(zip(renamed, ACTIONS))
    same = np.mean([back[label] for label in after] == before)
    assert same > 0.65
    again = CostMatrix(PRICES, TRUTHS, renamed)
    assert_array_equal([back[label] for label in decisions(name, again)], before)


# What weighs all decisions at once does not look at the order of their columns.
IN_ANY_ORDER = (
    *("constant", "plain", "mec", "calibrated", "least_regret", "metacost", "cost_regression"),
    *("forest", "tree", "dse"),
)


@pytest.mark.parametrize("name", IN_ANY_ORDER)
def test_the_order_of_columns_is_not_felt(name):
    order = [2, 0, 3, 1]
    turned = CostMatrix(PRICES[:, order], TRUTHS, [ACTIONS[d] for d in order])
    assert_array_equal(decisions(name, turned), decisions(name, MATRIX))


@pytest.mark.parametrize("name", list(TABLE.index))
def test_decisions_that_are_the_classes_are_nothing_new(name):
    # in whatever order their columns stand: to the last bit
    k = 2 if name == "binary_threshold" else 3
    rows, truths = (k > CODES), TRUTHS[:k]
    square = np.array([[0.0, 3.0, 9.0], [5.0, 0.0, 2.0], [1.0, 8.0, 0.5]])[:k, :k]
    order = [2, 0, 1] if k == 3 else [1, 0]
    turned = CostMatrix(square[:, order], truths, [truths[d] for d in order])
    said = []
    for matrix in (CostMatrix(square, truths), turned):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make(name).set_params(**matrix_of(name, matrix))
            model.fit(X[rows], Y[rows])
        asked = ("predict", "predict_proba", "expected_costs", "decision_function")
        said.append([getattr(model, ask)(X) for ask in asked if hasattr(model, ask)])
    for first, second in zip(*said):
        assert_array_equal(first, second)


@pytest.mark.parametrize("name", ABLE)
def test_one_decision_more_costs_no_more(name):
    # of each a half and an afterthought: cheaper than others for some rows
    few, more = MATRIX, np.column_stack([PRICES, [3.0, 20.0, 0.5]])
    wide = CostMatrix(more, TRUTHS, [*ACTIONS, "call"])
    before = total_cost(Y, decisions(name, few), cost_matrix=few)
    after = total_cost(Y, decisions(name, wide), cost_matrix=wide)
    assert after <= 1.1 * before
    if name == "constant":
        assert after <= before


@pytest.mark.parametrize("name", ["mec", "calibrated", "least_regret", "metacost", "stakes"])
def test_one_decision_more_raises_no_expected_cost(name):
    wide = CostMatrix(np.column_stack([PRICES, [3.0, 20.0, 0.5]]), TRUTHS, [*ACTIONS, "call"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few, more = (make(name, matrix).fit(X, Y).expected_costs(X) for matrix in (MATRIX, wide))
    np.testing.assert_allclose(more[:, :4], few, rtol=1e-12)
    assert (more.min(axis=1) <= few.min(axis=1) * (1 + 1e-12)).all()


@pytest.mark.parametrize("name", ABLE)
def test_what_is_dearer_everywhere_is_never_decided(name):
    worse = CostMatrix(np.column_stack([PRICES, PRICES[:, 2] + 1]), TRUTHS, [*ACTIONS, "worse"])
    assert "worse" not in decisions(name, worse)


@pytest.mark.parametrize("name", ABLE)
def test_a_column_that_is_there_twice_costs_no_more(name):
    twice = CostMatrix(np.column_stack([PRICES, PRICES[:, 2]]), TRUTHS, [*ACTIONS, "review too"])
    decided = decisions(name, twice)
    decided[decided == "review too"] = "review"
    before = total_cost(Y, decisions(name, MATRIX), cost_matrix=MATRIX)
    assert total_cost(Y, decided, cost_matrix=MATRIX) < 1.25 * before


@pytest.mark.parametrize("name", UNABLE)
def test_others_refuse_in_one_sentence(name):
    data, y, matrix = X, Y, MATRIX
    if name == "binary_threshold":
        data, y = X[CODES > 0], Y[CODES > 0]
        matrix = CostMatrix(PRICES[1:], TRUTHS[1:], ACTIONS)
    with pytest.raises(
        ValueError, match="decides the classes .* alone, but the costs are those of"
    ):
        make(name).set_params(**matrix_of(name, matrix)).fit(data, y)
    with pytest.raises(ValueError, match="cannot be fitted here: it decides the classes alone"):
        fit_model(data, y, name, cost_matrix=matrix)


def matrix_of(name, matrix):
    model = make(name)
    steps = getattr(model, "steps", None)
    return {f"{steps[-1][0]}__cost_matrix" if steps else "cost_matrix": matrix}


HINDSIGHT = ("gbse", "iw", "dse", "csovo", "costing", "tree", "forest", "cost_regression")


@pytest.mark.parametrize("name", HINDSIGHT)
def test_without_y_the_cheapest_decision_stands_for_it(name):
    cheapest = np.array(ACTIONS)[COSTS.to_numpy().argmin(axis=1)]
    alone = make(name).fit(X, costs=COSTS)
    beside = make(name).fit(X, cheapest, costs=COSTS)
    assert_array_equal(alone.predict(X), beside.predict(X))
    assert_array_equal(alone.decisions_, beside.decisions_)
    assert alone.score(X, costs=COSTS) == beside.score(X, cheapest, costs=COSTS)
    assert set(alone.predict(X)) <= set(ACTIONS)


@pytest.mark.parametrize("order", [["ship", "hold"], ["hold", "ship"]])
def test_without_y_columns_may_stand_in_any_order(order):
    x = np.arange(8.0)[:, None]
    costs = pd.DataFrame({"ship": [1, 2, 1, 2, 9, 9, 9, 9], "hold": [5] * 8})[order]
    model = CostTreeClassifier(min_samples_leaf=1).fit(x, costs=costs)
    assert model.predict([[0], [7]]).tolist() == ["ship", "hold"]
    assert model.score(x, costs=costs) == pytest.approx(-(6 + 20) / 8)
    found = compare(x.repeat(9, axis=0), costs=costs.loc[costs.index.repeat(9)], methods=["tree"])
    assert found.total("tree") == pytest.approx(9 * (6 + 20))


def test_an_array_without_y_names_decisions_by_number():
    model = CostTreeClassifier().fit(X, costs=COSTS.to_numpy())
    assert model.decisions_.tolist() == [0, 1, 2, 3]
    assert model.classes_.tolist() == [0, 3]  # the cheapest of some row
    named = CostTreeClassifier().fit(X, costs=COSTS)
    assert_array_equal(np.array(ACTIONS)[model.predict(X)], named.predict(X))


# -- costs of rows, abstaining, rules by hand -------------------------------------------------------


def test_prices_of_rows_decide_by_hand():
    # One row, half fraud and half honest: at a price of 100 review costs 12, at 10 approval 5
    proba = np.array([[0.0, 0.5, 0.5]] * 2)
    tensor = np.stack([PRICES, PRICES])
    tensor[1, 1, 0] = 10.0
    rule = MostProbable(cost_matrix=MATRIX).fit(np.eye(3), list(TRUTHS))
    assert rule.predict(np.array([[0.0, 0.6, 0.4]])).tolist() == ["block"]
    from stakes.decision import MinimumExpectedCost

    least = MinimumExpectedCost(cost_matrix=MATRIX).fit(np.eye(3), list(TRUTHS))
    assert least.predict(proba, cost_tensor=tensor).tolist() == ["review", "approve"]
    named = CostTensor(tensor[:, :, ::-1], ACTIONS[::-1])
    assert least.predict(proba, cost_tensor=named).tolist() == ["review", "approve"]


def test_abstaining_is_one_column_more():
    few = CostMatrix(PRICES[:, [0, 1, 3]], TRUTHS, ["approve", "ask for a code", "block"])
    asking = [*few.decisions, "abstain"]
    wide = CostMatrix(np.column_stack([few.values, np.full(3, 10.0)]), TRUTHS, asking)
    short = CostDecisionClassifier(plain(), cost_matrix=few, abstain_cost=10.0).fit(X, Y)
    long = CostDecisionClassifier(plain(), cost_matrix=wide).fit(X, Y)
    assert_array_equal(short.predict(X), long.predict(X))
    assert_array_equal(short.decisions_, long.decisions_)
    assert short.score(X, Y) == pytest.approx(long.score(X, Y))
    assert "abstain" in short.predict(X)


def test_limits_and_risk_control_know_the_decisions():
    model = CostDecisionClassifier(plain(), cost_matrix=MATRIX, capacity={"review": 5}).fit(X, Y)
    assert (model.predict(X) == "review").sum() <= 5
    proba = plain().fit(X, Y).predict_proba(X)
    rule = RiskControl(cost_matrix=MATRIX, limit=8.0).fit(proba, Y)
    assert set(rule.predict(proba)) <= {*ACTIONS, "abstain"}


# -- scikit-learn -------------------------------------------------------------------------------------


def test_searches_and_pipelines_know_the_decisions():
    model = make_pipeline(StandardScaler(), CostTreeClassifier(MATRIX))
    found = GridSearchCV(model, {"costtreeclassifier__max_depth": [0, 3]}, cv=3).fit(X, Y)
    assert found.best_params_ == {"costtreeclassifier__max_depth": 3}
    assert set(found.predict(X)) <= set(ACTIONS)
    scores = cross_val_score(ConstantDecisionClassifier(MATRIX), X, Y, cv=3)
    assert scores.mean() == pytest.approx(-min(PRICES[CODES].mean(axis=0)), rel=0.05)


def test_costs_without_y_go_through_a_search():
    from sklearn import config_context

    with config_context(enable_metadata_routing=True):
        found = GridSearchCV(CostTreeClassifier(), {"max_depth": [0, 3]}, cv=3)
        found.fit(X, costs=COSTS)
    assert found.best_params_ == {"max_depth": 3}


# -- metrics ------------------------------------------------------------------------------------------


def test_metrics_by_hand():
    truth, decided = ["bot", "fraud", "honest"], ["ask for a code", "block", "review"]
    given = {"cost_matrix": MATRIX}
    assert total_cost(truth, decided, **given) == 2 + 0 + 12
    # For all the same: 140, 38.5, 33, 30
    assert savings_score(truth, decided, **given) == pytest.approx(1 - 14 / 30)
    today = ["review"] * 3
    assert savings_score(truth, decided, baseline=today, **given) == pytest.approx(1 - 14 / 33)
    assert stochastic_cost(truth, np.full((3, 4), 0.25), **given) == pytest.approx(
        PRICES.mean(axis=1).mean()
    )
    low, high = cost_interval(truth * 20, decided * 20, **given)
    assert low < 14 / 3 < high
    costs = pd.DataFrame(PRICES, columns=ACTIONS)
    assert total_cost(truth, decided, costs=costs) == 14
    tensor = CostTensor(np.stack([PRICES] * 3), ACTIONS)
    assert total_cost(truth, decided, cost_tensor=tensor) == 14
    with pytest.raises(ValueError, match="y_pred has 'shrug', but the decisions are 'approve'"):
        total_cost(truth, ["shrug"] * 3, **given)


def test_confusion_is_truth_by_decision():
    truth, decided = ["bot", "fraud", "honest"], ["ask for a code", "block", "review"]
    given = {"cost_matrix": MATRIX, "plot": False}
    display = CostMatrixDisplay.from_predictions(truth, decided, **given)
    assert_array_equal(display.costs, [[0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 12, 0]])
    assert_array_equal(display.counts.sum(axis=0), [0, 1, 1, 1])
    assert tuple(display.display_decisions) == ACTIONS
    model = CostTreeClassifier(MATRIX).fit(X, Y)
    own = CostMatrixDisplay.from_estimator(model, X, Y, plot=False)
    assert own.costs.sum() == pytest.approx(-model.score(X, Y) * N)


def test_why_one_decision_and_not_another_by_hand():
    # Half of all is fraud and half honest, whatever is known: review costs 12, a code 18.25
    fraud = np.tile(["fraud", "honest"], 20)
    known = CostMatrix(PRICES[1:], TRUTHS[1:], ACTIONS)
    model = CostDecisionClassifier(DummyClassifier(), cost_matrix=known).fit(X[:40], fraud)
    told = str(explain_decision(model, X[:1], X[:5]))
    assert "Decided 'review'" in told
    assert "'review' 12, 'block' 15, 'ask for a code' 18.25, 'approve' 50" in told


def test_curves_go_between_two_tables_of_the_same_decisions():
    proba = plain().fit(X, Y).predict_proba(X)
    dear = CostMatrix(3 * PRICES, TRUTHS, ACTIONS)
    given = {"cost_matrices": [dear, MATRIX], "n_points": 2}
    curve = brier_curve(Y, proba, **given)
    decided = np.array(ACTIONS)[(proba @ PRICES).argmin(axis=1)]
    paid = average_cost(Y, decided, cost_matrix=MATRIX)
    np.testing.assert_allclose(curve.values, [3 * paid, paid])
    np.testing.assert_allclose(curve.same_for_all[1], MATRIX.costs_for(Y).mean(axis=0))
    assert curve.labels == ACTIONS
    assert (cost_curve(Y, proba, **given).values <= curve.values + 1e-12).all()
    benefit = decision_curve(Y, proba, reference="block", **given)
    same = MATRIX.costs_for(Y).mean(axis=0)[3]
    np.testing.assert_allclose(benefit.values, [3 * (same - paid), same - paid])
    drawn = BrierCurveDisplay.from_predictions(Y, proba, **given, plot=False)
    np.testing.assert_allclose(drawn.curve.values, curve.values)
    lines = CostCurveDisplay.from_predictions(Y, proba, **given, plot=False).curves
    np.testing.assert_allclose(lines["least expected cost"], curve.values)
    np.testing.assert_allclose(lines["best constant decision"], curve.best_for_all)
    likeliest = np.array(ACTIONS)[PRICES.argmin(axis=1)[proba.argmax(axis=1)]]
    usual = average_cost(Y, likeliest, cost_matrix=MATRIX)
    np.testing.assert_allclose(lines["most probable class"], [3 * usual, usual])
    square = 1 - np.eye(3)
    with pytest.raises(ValueError, match="3 columns, one per decision, but there are 4 decisions"):
        brier_curve(Y, proba, cost_matrices=[MATRIX, square])


# -- compare -------------------------------------------------------------------------------------------

METHODS = ["mec", "tree", "gbse", "combo", DecisionTreeClassifier(max_depth=3)]


def test_compare_decides_and_leaves_out_with_the_reason():
    today = np.where(CODES == 2, "approve", "review")
    found = compare(X, Y, cost_matrix=MATRIX, methods=METHODS, baseline=today, cv=3, fast=True)
    table = found.table
    assert found.decisions == ACTIONS
    assert table.loc["today", "cost"] == pytest.approx(
        total_cost(Y, today, cost_matrix=MATRIX) / N
    )
    decided = np.array(ACTIONS)[found.results["mec"].decisions]
    assert table.loc["mec", "total"] == pytest.approx(total_cost(Y, decided, cost_matrix=MATRIX))
    assert table.loc["combo", "reason"] == "it decides the classes alone"
    assert found.confusion("mec").shape == (3, 4)
    assert found.total("mec") == pytest.approx(table.loc["mec", "cost"] * N)
    likeliest = found.results["plain"].proba.argmax(axis=1)
    assert_array_equal(found.results["plain"].decisions, PRICES.argmin(axis=1)[likeliest])
    known = found.what_if(MATRIX)
    assert known.total == pytest.approx(found.total(found.probability_method))


def test_compare_without_y():
    found = compare(X, costs=COSTS, methods=["tree", "gbse", "dse"], cv=3, fast=True)
    best = COSTS.to_numpy().mean(axis=0).min()
    assert found.table.loc["constant", "cost"] == pytest.approx(best, rel=0.05)
    assert found.table.loc["tree", "cost"] < best
    assert set(found.decisions) == set(ACTIONS)


def test_models_say_what_to_do(tmp_path):
    from stakes.compare import load_model, save_model

    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for method in ("calibrated", "gbse"):
        model = fit_model(frame, Y, method, cost_matrix=MATRIX, fast=True)
        assert model.decisions == list(ACTIONS)
        table = model.decide(frame)
        assert set(table["decision"]) <= set(ACTIONS)
        save_model(model, tmp_path / "m.skops")
        again = load_model(tmp_path / "m.skops").decide(frame)
        pd.testing.assert_frame_equal(again, table)


def test_regressions_of_costs_alone_are_of_all_decisions():
    model = CostRegressionClassifier(random_state=0).fit(X, costs=COSTS)
    assert model.expected_costs(X).shape == (N, 4)
    shares = GBSEClassifier(n_estimators=3, random_state=0).fit(X, costs=COSTS).predict_proba(X)
    assert shares.shape == (N, 4)
    assert shares.sum(axis=1) == pytest.approx(1.0)


# -- bad input, one sentence each ----------------------------------------------------------------------

PROBA = RNG.dirichlet(np.ones(3), N)
OTHER = CostTensor(np.tile(PRICES, (N, 1, 1)), ["lend", "ask", "decline", "wait"])


def tree(matrix=MATRIX):
    return CostTreeClassifier(matrix)


def mec(**given):
    return CostDecisionClassifier(plain(), cost_matrix=MATRIX, **given)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: tree(None).fit(X, None), "requires y to be passed"),
        (lambda: tree().fit(X, Y, costs=COSTS), "Give either cost_matrix or costs, not both"),
        (lambda: tree(None).fit(X, costs=COSTS[:70]), "costs has 70 rows, one per example"),
        (lambda: tree(None).fit(X, costs=COSTS * np.nan), "costs has NaN at row 0, column 0"),
        (lambda: tree(None).fit(X, costs=COSTS.assign(block="dear")), "costs has 'dear' at row 0"),
        (lambda: tree(None).fit(X, costs=COSTS["block"]), r"must have shape \(n_samples, n_dec"),
        (
            lambda: tree(None).fit(X, costs=COSTS.assign(block=-1)),
            "'block' is the cheapest in each",
        ),
        (
            lambda: tree(None).fit(X, Y, costs=COSTS.to_numpy()),
            "give a DataFrame with a column for",
        ),
        (lambda: tree(PRICES).fit(X, Y), "name them: CostMatrix"),
        (lambda: tree(CostMatrix(PRICES.T, ACTIONS, TRUTHS)).fit(X, Y), "turn it round"),
        (
            lambda: tree().fit(X, Y).score(X, Y, costs=COSTS[["review", "block"]]),
            "but the decisions",
        ),
        (lambda: mec().fit(X, Y).predict(X, cost_tensor=OTHER), "are 'lend', 'ask', 'decline'"),
        (lambda: mec().fit(X, Y).predict(X, cost_tensor=OTHER[:, :, :2]), "there are 4 decisions"),
        (lambda: mec(capacity={"call": 3}).fit(X, Y).predict(X), "capacity names 'call', but the"),
        (lambda: mec(abstain_cost=1, abstain_label="review").fit(X, Y), "is decided already"),
        (lambda: Policy(classes=TRUTHS, prices=PRICES), "there are 3 classes and 3 decisions"),
        (
            lambda: Policy(classes=TRUTHS, prices=PRICES[:, :2], decisions=("a", "a")),
            "decisions has 'a' more than once",
        ),
        (lambda: total_cost(Y, ["shrug"] * N, cost_matrix=MATRIX), "y_pred has 'shrug', but the"),
        (lambda: compare(X, cost_matrix=MATRIX), "There is no y: give the true classes, or the"),
        (
            lambda: compare(X, Y, cost_matrix=MATRIX, baseline=["lend"] * N),
            "baseline has 'lend', but the decisions are",
        ),
        (
            lambda: compare(X, Y, cost_matrix=MATRIX, capacity={"call": 3}, methods=["mec"]),
            "capacity names 'call', but the decisions are",
        ),
        (lambda: fit_model(X, Y, "bacing", cost_matrix=MATRIX), "it decides the classes alone"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, said):
    with pytest.raises((ValueError, TypeError), match=said) as caught:
        call()
    assert len(str(caught.value)) < 320
