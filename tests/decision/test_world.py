"""Limits, abstention and other populations in the classifiers, and through model files."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from stakes.auto import StakesClassifier
from stakes.costs import CostMatrix
from stakes.datasets import make_known_posterior
from stakes.decision import CostDecisionClassifier, decide_within

C = np.array([[0.0, 1.0, 3.0], [4.0, 0.0, 2.0], [9.0, 6.0, 0.0]])
DATA = make_known_posterior(600, K=3, d=4, random_state=0)
LABELS = np.array(["ask", "pass", "stop"])
Y = LABELS[DATA.y]
COSTS = CostMatrix(C, labels=LABELS)


def make(name, **given):
    if name == "stakes":
        return StakesClassifier(COSTS, members=["linear"], cv=3, random_state=0, **given)
    return CostDecisionClassifier(LogisticRegression(), cost_matrix=COSTS, **given)


BOTH = pytest.mark.parametrize("name", ["decision", "stakes"])


@BOTH
def test_a_batch_keeps_to_its_limits_at_least_cost(name):
    capacity = {"stop": 40, "ask": (0.2, 0.3), "abstain": 25}
    model = make(name, capacity=capacity, abstain_cost=0.5).fit(DATA.X, Y)
    decided = model.predict(DATA.X)
    plan = model.plan(DATA.X)
    best = decide_within(model.expected_costs(DATA.X), capacity, labels=[*LABELS, "abstain"])
    assert plan.cost == best.cost
    assert (np.append(LABELS, "abstain")[plan.decisions] == decided).all()
    counts = {label: int((decided == label).sum()) for label in [*LABELS, "abstain"]}
    assert counts["stop"] <= 40
    assert counts["abstain"] <= 25
    assert 120 <= counts["ask"] <= 180
    assert model.score(DATA.X, Y) < 0


@BOTH
def test_limits_that_are_wide_change_nothing(name):
    free = make(name).fit(DATA.X, Y)
    wide = make(name, capacity={"stop": 0.99}).fit(DATA.X, Y)
    if getattr(free, "rule_", None) is None or name == "decision":
        assert (free.predict(DATA.X) == wide.predict(DATA.X)).all()
    assert not wide.plan(DATA.X).shadow_prices.any()


@BOTH
def test_a_stream_decides_each_row_alone(name):
    free = make(name).fit(DATA.X, Y)
    used = (free.predict(DATA.X) == "stop").mean()
    share = round(float(used) / 2, 3)
    model = make(name, capacity={"stop": share}, capacity_mode="stream").fit(DATA.X, Y)
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
    model = make(name, **held_out).fit(DATA.X, Y)
    X, y = shifted(10, 3000, 2)
    adapted = model.adapt(X)
    assert adapted.prior_shift_.shifted
    assert adapted.priors_[1] < 0.5 * model.priors_[1]
    assert adapted.score(X, LABELS[y]) > model.score(X, LABELS[y])
    same = model.adapt(DATA.sample(1500, random_state=5).X)
    assert not same.prior_shift_.shifted
    assert (make(name, priors=adapted.priors).fit(DATA.X, Y).priors_ == adapted.priors_).all()


def test_adapt_by_the_confusion_of_held_out_rows():
    model = make("decision", calibration="temperature", cv=3).fit(DATA.X, Y)
    X, y = shifted(10, 3000, 2)
    adapted = model.adapt(X, method="confusion")
    share = np.bincount(y) / len(y)
    assert (adapted.prior_shift_.low <= share + 0.02).all()
    assert (adapted.prior_shift_.high >= share - 0.02).all()
    with pytest.raises(ValueError, match="needs probabilities of rows that the model has not"):
        make("decision").fit(DATA.X, Y).adapt(X, method="confusion")


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
        make(name, **given).fit(DATA.X, Y)
    assert "\n" not in str(error.value)


def test_streams_need_least_expected_cost_and_hindsight_no_shift():
    learned = {"capacity": {"stop": 0.1}, "rule": "parallel_partition", "cv": 3}
    with pytest.raises(ValueError, match="rule='parallel_partition' decides by what it has"):
        make("decision", capacity_mode="stream", **learned).fit(DATA.X, Y)
    model = make("decision", **learned).fit(DATA.X, Y)
    assert (model.predict(DATA.X) == "stop").sum() <= 0.1 * len(Y)
    hindsight = StakesClassifier(members=["linear"], cv=3, random_state=0)
    hindsight.fit(DATA.X, Y, costs=C[DATA.y])
    with pytest.raises(
        ValueError, match="learns what decisions cost, which does not follow prices"
    ):
        hindsight.adapt(DATA.X)
    with pytest.raises(ValueError, match="has no capacity: there are no limits"):
        make("decision").fit(DATA.X, Y).plan(DATA.X)
    with pytest.raises(ValueError, match="method='magic' is unknown"):
        make("decision").fit(DATA.X, Y).adapt(DATA.X, method="magic")


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
    inner = LogisticRegression().fit(DATA.X, Y)
    model = CostDecisionClassifier(FrozenEstimator(inner), cost_matrix=COSTS, capacity={"stop": 5})
    assert (model.fit(DATA.X, Y).predict(DATA.X) == "stop").sum() == 5
