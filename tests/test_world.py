"""Limits, abstention and other populations: in classifiers, models, comparisons and files."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from stakes.auto import StakesClassifier
from stakes.compare import compare, fit_model, load_model, save_model
from stakes.compare.words import abstaining_in_words, money_for
from stakes.costs import CostMatrix
from stakes.datasets import make_known_posterior
from stakes.decision import CostDecisionClassifier, decide_within

# -- classifiers ----------------------------------------------------------------------------------

PRICES = np.array([[0.0, 1.0, 3.0], [4.0, 0.0, 2.0], [9.0, 6.0, 0.0]])
DATA = make_known_posterior(600, K=3, d=4, random_state=0)
NAMES = np.array(["ask", "pass", "stop"])
TRUTH = NAMES[DATA.y]
COSTS = CostMatrix(PRICES, labels=NAMES)


def make(name, **given):
    if name == "stakes":
        return StakesClassifier(COSTS, members=["linear"], cv=3, random_state=0, **given)
    return CostDecisionClassifier(LogisticRegression(), cost_matrix=COSTS, **given)


BOTH = pytest.mark.parametrize("name", ["decision", "stakes"])


@BOTH
def test_a_batch_keeps_to_its_limits_at_least_cost(name):
    capacity = {"stop": 40, "ask": (0.2, 0.3), "abstain": 25}
    model = make(name, capacity=capacity, abstain_cost=0.5).fit(DATA.X, TRUTH)
    decided = model.predict(DATA.X)
    plan = model.plan(DATA.X)
    best = decide_within(model.expected_costs(DATA.X), capacity, labels=[*NAMES, "abstain"])
    assert plan.cost == best.cost
    assert (np.append(NAMES, "abstain")[plan.decisions] == decided).all()
    counts = {label: int((decided == label).sum()) for label in [*NAMES, "abstain"]}
    assert counts["stop"] <= 40
    assert counts["abstain"] <= 25
    assert 120 <= counts["ask"] <= 180
    assert model.score(DATA.X, TRUTH) < 0


@BOTH
def test_limits_that_are_wide_change_nothing(name):
    free = make(name).fit(DATA.X, TRUTH)
    wide = make(name, capacity={"stop": 0.99}).fit(DATA.X, TRUTH)
    if getattr(free, "rule_", None) is None or name == "decision":
        assert (free.predict(DATA.X) == wide.predict(DATA.X)).all()
    assert not wide.plan(DATA.X).shadow_prices.any()


@BOTH
def test_a_stream_decides_each_row_alone(name):
    free = make(name).fit(DATA.X, TRUTH)
    used = (free.predict(DATA.X) == "stop").mean()
    share = round(float(used) / 2, 3)
    model = make(name, capacity={"stop": share}, capacity_mode="stream").fit(DATA.X, TRUTH)
    test = DATA.sample(4000, random_state=1)
    decided = model.predict(test.X)
    assert (model.predict(test.X[:7]) == decided[:7]).all()
    assert model.shadow_prices_[2] > 0
    assert not model.shadow_prices_[:2].any()
    assert abs((decided == "stop").mean() - share) < 0.05 < abs(used - share)


def test_priors_by_hand():
    # Trained on half and half; used where the second class is one of five. Missing it costs 3,
    # a false alarm 1: expected costs 0.6 and 0.8 instead of 1.5 and 0.5.
    X, y, ill = [[0]] * 4, ["ok", "ill"] * 2, CostMatrix([[0, 3], [1, 0]], ["ill", "ok"])
    model = CostDecisionClassifier(DummyClassifier(), cost_matrix=ill)
    assert model.fit(X, y).expected_costs([[0]]).tolist() == [[0.5, 1.5]]
    rare = clone(model).set_params(priors={"ok": 0.8, "ill": 0.2}).fit(X, y)
    assert rare.predict_proba([[0]]) == pytest.approx(np.array([[0.2, 0.8]]))
    assert rare.expected_costs([[0]]) == pytest.approx(np.array([[0.8, 0.6]]))
    assert rare.predict([[0]]) == ["ok"]
    told = model.adapt(None, priors={"ok": 0.8, "ill": 0.2})
    assert told.predict([[0]]) == ["ok"]
    assert model.predict([[0]]) == ["ill"]  # as it was
    assert clone(told).fit(X, y).predict([[0]]) == ["ok"]  # and remembered by its clone


def shifted(factor, n, seed):
    """Return rows of a population in which class 1 is `factor` times as rare."""
    pool = DATA.sample(12 * n, random_state=seed)
    keep = (pool.y != 1) | (np.random.default_rng(seed).random(len(pool.y)) < 1 / factor)
    return pool.X[keep][:n], pool.y[keep][:n]


@BOTH
def test_adapt_saves_where_the_population_has_shifted(name):
    held_out = {} if name == "stakes" else {"calibration": "temperature", "cv": 3}
    model = make(name, **held_out).fit(DATA.X, TRUTH)
    X, y = shifted(10, 3000, 2)
    adapted = model.adapt(X)
    assert adapted.prior_shift_.shifted
    assert adapted.priors_[1] < 0.5 * model.priors_[1]
    assert adapted.score(X, NAMES[y]) > model.score(X, NAMES[y])
    same = model.adapt(DATA.sample(1500, random_state=5).X)
    assert not same.prior_shift_.shifted
    assert (make(name, priors=adapted.priors).fit(DATA.X, TRUTH).priors_ == adapted.priors_).all()


def test_adapt_by_the_confusion_of_held_out_rows():
    model = make("decision", calibration="temperature", cv=3).fit(DATA.X, TRUTH)
    X, y = shifted(10, 3000, 2)
    adapted = model.adapt(X, method="confusion")
    share = np.bincount(y) / len(y)
    assert (adapted.prior_shift_.low <= share + 0.02).all()
    assert (adapted.prior_shift_.high >= share - 0.02).all()
    with pytest.raises(ValueError, match="needs probabilities of rows that the model has not"):
        make("decision").fit(DATA.X, TRUTH).adapt(X, method="confusion")


def test_rules_learn_at_the_frequencies_in_force():
    # With priors, what a threshold costs is counted at those, not at the sample's.
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 300)
    X = rng.normal(size=(600, 1)) + y[:, None]
    given = {"cost_matrix": [[0, 1], [4, 0]], "rule": "binary_threshold", "cv": 3}
    balanced = CostDecisionClassifier(LogisticRegression(), **given).fit(X, y)
    rare = CostDecisionClassifier(LogisticRegression(), priors=[0.95, 0.05], **given).fit(X, y)
    assert 0 < rare.predict(X).mean() < balanced.predict(X).mean()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"capacity": {"x": 3}},
            "capacity names 'x', but the decisions are 'ask', 'pass', 'stop'",
        ),
        ({"capacity": {"abstain": 3}}, "capacity names 'abstain'"),
        ({"capacity": {"stop": 3}, "capacity_mode": "stream"}, "in a stream, whose rows have no"),
        ({"priors": [0.5, 0.4, 0.2]}, "priors sum to 1.1: class frequencies must sum to 1"),
        ({"priors": [0.5, 0.5]}, "one frequency per class"),
        ({"priors": {"ask": 0.5, "stop": 0.5}}, "priors lacks 'pass'"),
        ({"priors": {"ask": 0.5, "go": 0.5}}, "priors names 'go'"),
        ({"priors": [1.2, -0.2, 0.0]}, "negative frequency, -0.2"),
    ],
)
@BOTH
def test_what_makes_no_sense_is_refused_at_fit(name, given, message):
    with pytest.raises(ValueError, match=message) as error:
        make(name, **given).fit(DATA.X, TRUTH)
    assert "\n" not in str(error.value)


def test_streams_need_least_expected_cost_and_hindsight_no_shift():
    learned = {"capacity": {"stop": 0.1}, "rule": "parallel_partition", "cv": 3}
    with pytest.raises(ValueError, match="rule='parallel_partition' decides by what it has"):
        make("decision", capacity_mode="stream", **learned).fit(DATA.X, TRUTH)
    model = make("decision", **learned).fit(DATA.X, TRUTH)
    assert (model.predict(DATA.X) == "stop").sum() <= 0.1 * len(TRUTH)
    hindsight = StakesClassifier(members=["linear"], cv=3, random_state=0)
    hindsight.fit(DATA.X, TRUTH, costs=PRICES[DATA.y])
    with pytest.raises(
        ValueError, match="learns what decisions cost, which does not follow prices"
    ):
        hindsight.adapt(DATA.X)
    with pytest.raises(ValueError, match="has no capacity: there are no limits"):
        make("decision").fit(DATA.X, TRUTH).plan(DATA.X)
    with pytest.raises(ValueError, match="method='magic' is unknown"):
        make("decision").fit(DATA.X, TRUTH).adapt(DATA.X, method="magic")


def test_undersampled_rows_are_corrected():
    # One of twenty is positive; a model of as many negatives as positives, told so, decides about
    # as the one trained on all.
    rng = np.random.default_rng(0)
    y = (rng.random(20_000) < 0.05).astype(int)
    X = rng.normal(size=(20_000, 2)) + 1.2 * y[:, None]
    positive = np.flatnonzero(y == 1)
    rows = np.concatenate([positive, rng.choice(np.flatnonzero(y == 0), len(positive), False)])
    given = {"cost_matrix": [[0, 1], [8, 0]]}
    whole = CostDecisionClassifier(LogisticRegression(), **given).fit(X, y)
    part = CostDecisionClassifier(LogisticRegression(), priors=[0.95, 0.05], **given)
    part.fit(X[rows], y[rows])
    blind = CostDecisionClassifier(LogisticRegression(), **given).fit(X[rows], y[rows])
    assert part.score(X, y) > 1.01 * whole.score(X, y)
    assert blind.score(X, y) < 1.5 * whole.score(X, y)


def test_a_frozen_model_can_be_limited_without_being_fitted_again():
    inner = LogisticRegression().fit(DATA.X, TRUTH)
    model = CostDecisionClassifier(FrozenEstimator(inner), cost_matrix=COSTS, capacity={"stop": 5})
    assert (model.fit(DATA.X, TRUTH).predict(DATA.X) == "stop").sum() == 5


# -- models, comparisons and files ----------------------------------------------------------------
LABELS = np.array(["inspect", "pass", "stop"])
C = CostMatrix([[0, 5, 2], [1, 0, 3], [4, 20, 0]], labels=LABELS)
RNG = np.random.default_rng(0)
CODES = RNG.choice(3, 400, p=[0.3, 0.6, 0.1])
X = pd.DataFrame({"a": RNG.normal(size=400) + CODES, "b": RNG.normal(size=400) - CODES % 2})
Y = LABELS[CODES]


@pytest.fixture(scope="module")
def models():
    return {name: fit_model(X, Y, name, cost_matrix=C) for name in ("mec", "tree", "plain")}


@pytest.mark.parametrize("name", ["mec", "tree", "plain"])
def test_every_method_that_weighs_costs_keeps_to_limits(models, name, tmp_path):
    model = models[name]
    plan = model.plan(X, {"inspect": 40, "stop": (0.05, 0.1)})
    assert plan.counts[0] == 40
    assert 20 <= plan.counts[2] <= 40
    wide = model.plan(X, {"inspect": 400}).decisions
    assert (LABELS[wide] == model.predict(X)).all()
    limited = model.with_limits({"inspect": 40})
    save_model(limited, tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops")
    assert (again.predict(X) == limited.predict(X)).all()
    assert (again.predict(X) == "inspect").sum() == 40
    assert (again.decide(X)["decision"] == again.predict(X)).all()


@pytest.mark.parametrize("name", ["mec", "tree"])
def test_every_method_that_weighs_probabilities_adapts(models, name, tmp_path):
    model = models[name]
    rare = (CODES != 1) | (np.arange(400) % 6 == 0)
    adapted = model.adapt(X[rare])
    assert adapted.info["shift"].startswith("Class frequencies have shifted (p < 0.001")
    assert (adapted.predict(X) == "pass").sum() <= (model.predict(X) == "pass").sum()
    save_model(adapted, tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops")
    assert (again.predict(X) == adapted.predict(X)).all()
    told = model.adapt(None, priors={"inspect": 0.3, "pass": 0.1, "stop": 0.6})
    prepared = told.prepare(X)
    assert told.proba(prepared)[:, 2].mean() > model.proba(prepared)[:, 2].mean()
    assert np.allclose(told.decided(prepared).expected, told.proba(prepared) @ C.values)
    table = told.decide(X)
    assert (table["expected_cost"] <= table["next_best_cost"]).all()


@pytest.fixture(scope="module")
def found():
    return compare(X, Y, cost_matrix=C, methods=["mec"], fast=True, cv=2)


def test_a_comparison_keeps_to_limits_and_says_who_cannot():
    capacity = {"inspect": 40, "stop": 0.05}
    found = compare(X, Y, cost_matrix=C, methods=["mec", "gbse"], capacity=capacity, cv=2)
    assert found.results["gbse"].status == "left out"
    assert found.results["gbse"].reason.endswith("so that it cannot keep to limits.")
    for name in ("constant", "plain", "mec"):
        counts = np.bincount(found.results[name].decisions, minlength=3)
        assert counts[0] <= 40
        assert counts[2] <= 20
    assert found.probability_method == "mec"
    limited = found.what_if(C, capacity={"inspect": 40})
    free = found.what_if(C)
    assert (limited.decisions == 0).sum() == 40 < (free.decisions == 0).sum()
    assert limited.shadow_prices[0] > 0
    assert free.shadow_prices is None


def test_a_row_is_left_where_deciding_it_is_expected_to_cost_more(models):
    model = models["mec"]
    free, table = model.decide(X), model.decide(X, abstain_cost=1.0)
    left = table["decision"] == "abstain"
    assert 0 < left.sum() < 400
    assert (left == (free["expected_cost"] > 1.0)).all()
    assert (table["expected_cost"][left] == 1.0).all()
    assert (table["next_best"][left] == free["decision"][left]).all()
    assert (table["decision"][~left] == free["decision"][~left]).all()
    # Dear to abstain, it is never done; and it may have a limit, like any other decision.
    assert not (model.decide(X, abstain_cost=100.0)["decision"] == "abstain").any()
    plan = model.plan(X, {"abstain": 10, "inspect": 40}, abstain_cost=1.0)
    assert plan.counts[3] == 10
    assert plan.counts[0] <= 40
    assert plan.shadow_prices[3] > 0


def test_a_comparison_says_what_leaving_cases_would_save(found):
    table = found.abstaining(1.0)
    rows, result = found.tested, found.results["mec"]
    expected = (found.probabilities("mec") @ found.cost_matrix)[
        np.arange(len(rows)), result.decisions[rows]
    ]
    paid = np.where(expected > 1.0, 1.0, result.paid[rows])
    row = table.loc["mec"]
    assert row.cost == pytest.approx(paid.mean())
    assert row.left == pytest.approx((expected > 1.0).mean())
    assert row.saved == pytest.approx(result.paid[rows].mean() - paid.mean())
    assert row.low <= row.cost <= row.high
    assert row.saved_low <= row.saved <= row.saved_high
    assert found.abstaining(1e6).loc["mec", "left"] == 0
    assert "no case is worth leaving" in abstaining_in_words(found, 1e6)
    page = found.to_html(abstain_cost=1.0, importance=False)
    assert abstaining_in_words(found, 1.0) in page
    first = money_for(found)(table.iloc[0].cost)
    assert f'<td data-k="cost">{first}</td>' in page.split('id="abstaining"')[1]
    assert "Leave the hard cases" not in found.to_html(importance=False)


def test_what_makes_no_sense_is_refused_before_any_fit():
    with pytest.raises(ValueError, match="capacity names 'x', but the decisions are 'inspect'"):
        compare(X, Y, cost_matrix=C, methods=["mec"], capacity={"x": 3})
    with pytest.raises(ValueError, match="at least 500 decisions in sum, but there are only 400"):
        compare(X, Y, cost_matrix=C, methods=["mec"], capacity={"stop": (500, None)})


def test_a_model_says_why_it_cannot(models):
    with pytest.raises(ValueError, match="has no capacity: say which decisions are limited"):
        models["mec"].plan(X)
    with pytest.raises(ValueError, match="priors sum to 1.5"):
        models["mec"].adapt(None, priors=[0.5, 0.5, 0.5])
    votes = fit_model(X, Y, "csovo", cost_matrix=C)
    with pytest.raises(
        ValueError, match="csovo: the method decides by votes.* cannot keep to limits"
    ):
        votes.plan(X, {"stop": 3})


def test_an_estimator_that_abstains_goes_the_whole_way():
    given = {"cost_matrix": C, "abstain_cost": 0.3}
    own = CostDecisionClassifier(LogisticRegression(), **given)
    found = compare(X, Y, cost_matrix=C, methods={"own": own, "mec": "mec"}, cv=3)
    result, counts = found.results["own"], found.confusion("own")
    assert result.status == "ok", result.reason
    left = result.decisions == 3
    assert 20 < left.sum() < 380
    assert (result.paid[left] == 0.3).all()
    assert counts.shape == (3, 4)
    assert counts[:, 3].sum() == left.sum()
    assert found.total("own") == pytest.approx(result.paid.sum())
    # At other prices of the classes, what leaving costs stays.
    assert found.total("own", 10 * C.values) == pytest.approx(
        10 * result.paid[~left].sum() + 0.3 * left.sum()
    )
    row = found.table.loc["own"]
    truth = found.problem.y
    assert row.error == pytest.approx(((result.decisions != truth) & ~left).mean())
    assert found.recommended == "own"
    assert found.probability_method != "own"
    assert "leaves some cases to somebody else" in found.to_html()
    with pytest.raises(ValueError, match="'own' leaves cases to somebody else"):
        compare(X, Y, cost_matrix=C, methods={"own": own}, baseline="own", cv=3)
