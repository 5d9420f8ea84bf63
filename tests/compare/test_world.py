"""Limits and other class frequencies in models, comparisons and files."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from stakes.compare import compare, fit_model, load_model, save_model
from stakes.compare.words import abstaining_in_words, money_for
from stakes.costs import CostMatrix
from stakes.decision import CostDecisionClassifier

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
