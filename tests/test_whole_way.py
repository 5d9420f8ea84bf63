"""One model goes the whole way: leaving rows to people, limits, adapting, what-if, watching, files."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import stakes
from stakes.compare import add_reference, fit_model, load_model, save_model
from stakes.decision import CostDecisionClassifier, Policy, program
from stakes.monitor import Monitor, estimate_cost

N = 400
PRICES = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [5.0, 2.0, 0.0]])
NAMES = {"text": np.array(["a", "b", "c"]), "numbers": np.array([0, 1, 2])}
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(N, 3)), columns=["x", "y", "z"])
CODES = (X["x"] + RNG.normal(size=N) > 0).to_numpy().astype(int) + (X["y"] > 1).to_numpy()
LEFT = {"text": "abstain", "numbers": -1}


@pytest.fixture(scope="module", params=NAMES)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def estimator():
    return CostDecisionClassifier(LogisticRegression(), cost_matrix=PRICES, abstain_cost=0.3)


@pytest.fixture(scope="module")
def model(kind, estimator):
    y = NAMES[kind][CODES]
    return add_reference(fit_model(X, y, estimator, cost_matrix=PRICES), X, y, cost_matrix=PRICES)


def test_an_estimator_that_abstains_decides_and_plans_as_a_model(model, kind):
    table = model.decide(X)
    left = table["decision"] == LEFT[kind]
    assert 0.1 < left.mean() < 0.9
    assert (table.loc[left, "expected_cost"] == 0.3).all()
    assert (table.loc[~left, "expected_cost"] <= 0.3).all()
    proba = model.predict_proba(X)
    assert np.allclose(table.loc[~left, "expected_cost"], (proba @ PRICES).min(axis=1)[~left])
    plan = model.plan(X, {LEFT[kind]: 5})
    assert (plan.decisions == 3).sum() == 5
    assert plan.shadow_prices[3] > 0


def test_it_is_compared_at_what_its_decisions_cost(kind, estimator):
    y = NAMES[kind][CODES]
    found = stakes.compare(X, y, methods={"own": estimator}, cost_matrix=PRICES, cv=2)
    assert found.results["own"].status == "ok"
    confusion = found.confusion("own")
    assert confusion.shape == (3, 4)
    assert found.total("own") == pytest.approx((confusion * np.c_[PRICES, [0.3] * 3]).sum())


def test_it_is_watched(model, kind, tmp_path):
    y = NAMES[kind][CODES]
    monitor = Monitor(model)
    batch = monitor.update(X[:100], y[:100], label="first")
    decided = model.predict(X[:100])
    prices = pd.DataFrame(np.c_[PRICES, [0.3] * 3], NAMES[kind], model.decisions)
    paid = [prices.loc[truth, decision] for truth, decision in zip(y, decided, strict=False)]
    assert batch["realised"] == pytest.approx(np.mean(paid))
    assert batch["decided"] == pytest.approx([(decided == d).mean() for d in model.decisions])
    found = estimate_cost(model, X)
    assert found.low < model.decide(X)["expected_cost"].mean() < found.high
    monitor.save(tmp_path / "state.json")
    again = Monitor.load(tmp_path / "state.json", model)
    assert again.batches[0]["realised"] == batch["realised"]


def test_what_is_changed_later_is_what_is_watched(model, kind):
    """A price of abstaining, or a stream's, moves the decisions on the rows that are kept, too."""
    y = NAMES[kind][CODES]
    known = {"cost_matrix": PRICES}
    plain = add_reference(fit_model(X, y, "mec", **known), X, y, **known)
    asking = plain.with_abstention(0.3)
    assert (plain.reference.decisions < 3).all()
    rows = plain.reference.proba.astype(float) @ PRICES
    expected = np.where(rows.min(axis=1) <= 0.3, rows.argmin(axis=1), 3)
    assert (asking.reference.decisions == expected).mean() > 0.99  # but for ties by rounding
    before = asking.predict(X)
    few = asking.with_shares({LEFT[kind]: 0.05})
    share = (few.predict(X) == LEFT[kind]).mean()
    assert share < 0.08 < (before == LEFT[kind]).mean()
    # Each row alone: what is decided of one does not depend on the others.
    alone = [few.predict(X[i : i + 1])[0] for i in range(20)]
    assert alone == few.predict(X)[:20].tolist()


def test_it_adapts_and_answers_what_if(model, kind):
    labels = NAMES[kind].tolist()
    rare = model.adapt(None, priors=dict(zip(labels, [0.05, 0.05, 0.9], strict=True)))
    assert (rare.predict(X) == labels[2]).mean() > (model.predict(X) == labels[2]).mean()
    odds = model.predict_proba(X) * (np.array([0.05, 0.05, 0.9]) / np.bincount(CODES) * N)
    assert np.allclose(rare.predict_proba(X), odds / odds.sum(axis=1, keepdims=True))
    dear = model.policy.with_prices(PRICES * 10)
    proba = model.predict_proba(X)
    assert (dear.decide(proba).positions == 3).sum() > (model.predict(X) == LEFT[kind]).sum()


def test_it_is_saved_and_taken_elsewhere(model, tmp_path):
    first = model.decisions[0]
    for one in (model, model.with_limits({first: 20}), model.with_shares({first: 0.1})):
        save_model(one, tmp_path / "m.skops")
        again = load_model(tmp_path / "m.skops")
        pd.testing.assert_frame_equal(again.decide(X), one.decide(X))
    numbers = json.loads(json.dumps(model.policy.to_dict()))
    proba = model.predict_proba(X)
    assert (Policy.from_dict(numbers).decide(proba).labels == model.predict(X)).all()
    positions, expected = program.decide(numbers, proba)
    assert (np.array(model.decisions)[positions] == model.predict(X)).all()
    assert np.allclose(expected.min(axis=1), model.decide(X)["expected_cost"])
