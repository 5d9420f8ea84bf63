"""A policy is a matrix: what the rules define, and what their numbers decide, are one."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from stakes.costs import UncertainCostMatrix
from stakes.datasets import make_known_posterior
from stakes.decision import (
    BinaryThreshold,
    CostDecisionClassifier,
    NoMatrix,
    Partition,
    Policy,
    ProbabilityCalibrator,
    decide_by_costs,
    decide_under_doubt,
    decide_within,
    known_rules,
    program,
)
from stakes.decision._families import ColumnFactors, RowFactors, Shifts
from stakes.decision._rules import _binary, _thresholds
from stakes.decision._rules._mossman import mossman_decisions

# [true, decided], never symmetric: a transposition must break a test.
C = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [64.0, 32.0, 0.0]])
DATA = make_known_posterior(1500, K=3, d=4, noise=0.6, random_state=0)
TWO = make_known_posterior(800, K=2, d=3, noise=0.6, random_state=1)
N_POINTS, TIE = 1_000_000, 1e-12


def fitted(name):
    """Return a rule that has learned from held-out probabilities that are off."""
    rule = known_rules()[name]()
    data, costs = (TWO, C[:2, :2]) if rule._n_classes == 2 else (DATA, C)
    proba = data.proba**1.7 * (1.0 + np.arange(data.proba.shape[1]))
    return rule.set_params(cost_matrix=costs).fit(proba / proba.sum(1, keepdims=True), data.y)


def own_scores(name, rule, p):
    """Return by whose least the rule decides, written as its equation has it."""
    if name == "most_probable":
        return -p
    if name == "binary_threshold":
        return np.column_stack([p[:, 1] - rule.threshold_, np.zeros(len(p))])
    if name == "class_thresholds":
        return -p / rule.thresholds_
    if name == "lachiche_flach":
        return -(np.log(p) + rule.log_weights_)
    families = {
        "parallel_partition": Shifts,
        "row_partition": RowFactors,
        "column_partition": ColumnFactors,
    }
    if name in families:
        return families[name](p, rule.cost_matrix_).scores(rule.parameters_).T
    return p @ rule.partition_


# RiskControl abstains and the rules for prices in doubt are no matrices: below.
MATRICES = sorted(set(known_rules()) - {"mossman", "least_regret", "risk_averse"})


@pytest.mark.parametrize("name", MATRICES)
def test_a_rule_is_its_matrix_on_a_million_points(name):
    rule = fitted(name)
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(len(rule.classes_)), N_POINTS)
    scores = own_scores(name, rule, p)
    decided, meant = rule.decide(p), scores.argmin(axis=1)
    differ = np.flatnonzero(decided != meant)
    gap = scores[differ, decided[differ]] - scores[differ, meant[differ]]
    assert (gap <= TIE * np.abs(scores).max()).all()
    assert len(differ) < 10
    assert_array_equal((p[:9] @ rule.policy_.matrix()).argmin(axis=1), decided[:9])


def test_mossmans_rule_is_its_matrix_on_a_million_points():
    rule = fitted("mossman")
    p = np.random.default_rng(0).dirichlet(np.ones(3), N_POINTS)
    differ = np.flatnonzero(rule.decide(p) != mossman_decisions(p, *rule.deltas_))
    away = [np.abs(p[:, 2] - rule.deltas_[0]), np.abs(p[:, 1] - p[:, 0] - rule.deltas_[1])]
    assert (np.minimum(*away)[differ] < TIE).all()


def test_the_pure_functions_decide_as_their_equations_do():
    # 0.3 / 0.2 is more than 0.7 / 0.5; 0.6 is not above 0.6; the weight 3 lifts 0.3 above 0.7.
    p = np.array([[0.7, 0.3], [0.4, 0.6]])
    assert _thresholds.threshold_decisions(p, np.array([0.5, 0.2])).tolist() == [1, 1]
    assert _binary.threshold_decisions(p, 0.6).tolist() == [0, 0]
    assert _thresholds.weighted_decisions(p, np.log([1.0, 3.0])).tolist() == [1, 1]


@pytest.mark.parametrize("criterion", ["regret", "worst"])
def test_rules_for_prices_in_doubt_say_that_they_are_no_matrix(criterion):
    doubt = UncertainCostMatrix([[0, 1], [(1, 9), 0]])
    name = {"regret": "least_regret", "worst": "risk_averse"}[criterion]
    rule = known_rules()[name](cost_matrix=doubt).fit([[0.5, 0.5]] * 2, [0, 1])
    p = np.random.default_rng(0).dirichlet(np.ones(2), 2000)
    assert_array_equal(rule.decide(p), decide_under_doubt(p, doubt, criterion))
    for asked in (rule.policy_.matrix, rule.policy_.to_dict):
        with pytest.raises(NoMatrix, match="is no matrix: it weighs draws or ranges"):
            asked()
    with pytest.raises(NoMatrix, match="cannot keep to limits"):
        rule.policy_.with_limits({1: 3})


def test_three_rows_by_hand():
    # Expected costs of "no", "yes" and asking a colleague; frequencies of training 3 : 1.
    policy = Policy(
        classes=("no", "yes"),
        prices=[[0.0, 2.0], [8.0, 0.0]],
        training_priors=np.array([0.75, 0.25]),
    )
    proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.25, 0.75]])
    assert_allclose(policy.expected(proba), [[0.8, 1.8], [1.6, 1.6], [6.0, 0.5]])
    decided = policy.decide(proba)
    assert decided.labels.tolist() == ["no", "no", "yes"]  # of equal ones the first
    assert_allclose(decided.expected_cost, [0.8, 1.6, 0.5])
    assert_array_equal(decided.next_best, [1, 1, 0])
    assert_allclose(decided.next_best_cost, [1.8, 1.6, 6.0])
    # Asking costs 1: it is cheaper for the second row alone.
    asking = policy.with_abstention(1.0, "ask")
    assert asking.decide(proba).labels.tolist() == ["no", "ask", "yes"]
    assert policy.decisions == ("no", "yes")  # the first is as it was
    # As many of either now: odds of 1 : 9 become 1 : 3, 8 p = 2 against 1.5; those of the last
    # row, 3 : 1, become 9 : 1.
    even = policy.with_priors({"no": 0.5, "yes": 0.5})
    assert_allclose(even.state(proba)[:, 1], [0.25, 3 / 7, 0.9])
    assert even.decide(proba).labels.tolist() == ["yes", "yes", "yes"]
    assert_allclose(even.matrix(), [[0.0, 4 / 3], [16.0, 0.0]])
    # One "yes": the last row gains 5.5, the others nothing.
    one = policy.with_limits({"yes": (2, 2)}).decide(proba)
    assert (one.labels.tolist(), one.plan.counts.tolist()) == (["no", "yes", "yes"], [1, 2])
    # At other prices, and at the rows' own: a miss of 3, then of 8, then of nothing.
    assert policy.with_prices([[0, 1], [1, 0]]).decide(proba).labels.tolist() == [
        "no",
        "no",
        "yes",
    ]
    own = np.array([[[0.0, 2.0], [miss, 0.0]] for miss in (30.0, 8.0, 0.0)])
    assert policy.decide(proba, own).labels.tolist() == ["yes", "no", "no"]


def random_policy(rng):
    """Return a policy with a bit of everything, and probabilities to decide."""
    k = int(rng.integers(2, 6))
    prices = rng.gamma(1.0, 3.0, (k, k))
    np.fill_diagonal(prices, 0.0)
    shares = rng.dirichlet(np.full(k, 5.0))
    proba = rng.dirichlet(np.full(k, 0.8), 300)
    y = np.concatenate([np.arange(k), rng.integers(0, k, 300 - k)])
    methods = ("temperature", "vector", "matrix", "sigmoid", "isotonic", "binning")
    how = ProbabilityCalibrator(methods[int(rng.integers(6))]).fit(proba, y).numbers()
    rule = None
    if rng.random() < 0.5:
        rule = Partition(rng.uniform(0.5, 2.0, (k, k)), np.tile(rng.normal(size=k), (k, 1)))
    policy = Policy(classes=range(k), prices=prices, rule=rule, training_priors=shares)
    policy = policy.having(calibration=how if rng.random() < 0.7 else None)
    if rng.random() < 0.5:
        policy = policy.with_priors(rng.dirichlet(np.full(k, 5.0)))
    if rng.random() < 0.5:
        policy = policy.with_abstention(float(prices.mean()) / 2)
    return policy, proba


@pytest.mark.parametrize("seed", range(40))
def test_the_matrix_the_policy_and_the_program_decide_alike(seed):
    rng = np.random.default_rng(seed)
    policy, proba = random_policy(rng)
    tensor = policy.prices[:, : len(policy.classes)] * rng.gamma(2.0, 0.5, (300, 1, 1))
    numbers = json.loads(json.dumps(policy.to_dict()))
    again = Policy.from_dict(numbers)
    for prices in (None, tensor):
        decided = policy.decide(proba, prices)
        positions, expected = program.decide(numbers, proba, prices)
        assert_array_equal(positions, decided.positions)
        assert_allclose(expected, decided.expected, rtol=1e-12)
        assert_array_equal(again.decide(proba, prices).positions, decided.positions)
        if policy.rule is None or not policy.abstains:
            matrix = policy.matrix(prices)
            calibrated = program.calibrate(policy.calibration, proba)
            assert_array_equal(program.weigh(calibrated, matrix).argmin(axis=1), decided.positions)


def test_what_a_policy_cannot_do_it_says():
    policy = Policy(classes=("a", "b"), prices=[[0.0, 1.0], [5.0, 0.0]])
    p = np.array([[0.5, 0.5]])
    with pytest.raises(ValueError, match="does not know the class frequencies of training"):
        policy.with_priors([0.5, 0.5])
    with pytest.raises(NoMatrix, match="Limits on a batch are no matrix"):
        policy.with_limits({"a": 1}).matrix()
    learned = policy.having(rule=Partition.fixed(np.array([[0.0, 0.3], [0.7, 0.0]])))
    with pytest.raises(ValueError, match="learned where to decide at the prices as they were"):
        learned.with_prices([[0, 2], [1, 0]])
    with pytest.raises(NoMatrix, match="decisions beside it is no matrix"):
        learned.with_abstention(0.1).matrix()
    with pytest.raises(ValueError, match="cannot keep to limits: the rule's scores"):
        learned.with_abstention(0.1).with_limits({"a": 1})
    with pytest.raises(ValueError, match="proba has a row that sums to 0.8"):
        policy.decide([[0.5, 0.3]])
    needing = policy.having(needs_prices=True)
    with pytest.raises(ValueError, match="decides by the prices of each row"):
        needing.decide(p)
    assert needing.with_prices(policy.prices).decide(p).labels.tolist() == ["b"]
    with pytest.raises(ValueError, match="prices have shape .2, 2., but there are 3 classes"):
        Policy(classes=("a", "b", "c"), prices=[[0.0, 1.0], [5.0, 0.0]])
    with pytest.raises(ValueError, match="no decision policy of this version.*to_json"):
        Policy.from_dict({"format": "stakes-decision-layer-1"})
    for states, message in (
        ("costs", "learns what decisions cost"),
        ("votes", "decides by votes"),
    ):
        with pytest.raises(ValueError, match=message):
            policy.having(states=states).with_prices(policy.prices)


def test_costs_alone_suffice_for_limits_and_the_next_best():
    # 9 against 2, 5 against 2: one inspection saves 7 in the first row.
    expected = np.array([[9.0, 2.0], [5.0, 2.0]])
    decided = decide_by_costs(expected, ("pass", "inspect"), capacity={"inspect": 1})
    assert decided.labels.tolist() == ["inspect", "pass"]
    assert_allclose(decided.next_best_cost, [9.0, 2.0])
    assert decided.shadow_prices.tolist() == [0.0, 3.0]
    assert decided.plan.cost == decide_within(expected, {1: 1}).cost == 7.0


class Counting(LogisticRegression):
    """Counts how often its probabilities are asked for."""

    asked = 0

    def predict_proba(self, X):
        type(self).asked += 1
        return super().predict_proba(X)


@pytest.mark.parametrize("more", [{}, {"abstain_cost": 0.5}, {"capacity": {2: 100}}])
def test_a_model_is_evaluated_once_for_each_call(more):
    from stakes.compare import fit_model

    own = CostDecisionClassifier(Counting(), cost_matrix=C, rule="parallel_partition", **more)
    if "capacity" in more:
        own.set_params(rule="minimum_expected_cost")
    model = fit_model(DATA.X, DATA.y, own)
    calls = [
        lambda: model.predict(DATA.X),
        lambda: model.decide(DATA.X, proba=True),
        lambda: model.predict_proba(DATA.X),
        lambda: model.estimator.predict(DATA.X),
        lambda: model.estimator.expected_costs(DATA.X),
    ]
    if "capacity" in more:
        calls += [lambda: model.plan(DATA.X), lambda: model.estimator.plan(DATA.X)]
    for call in calls:
        Counting.asked = 0
        call()
        assert Counting.asked == 1


def test_a_threshold_that_is_shrunk_weighs_the_prices_themselves():
    rule = BinaryThreshold(method="theoretical", cost_matrix=[[0, 1], [4, 0]])
    rule.fit([[0.5, 0.5]] * 2, [0, 1])
    assert rule.policy_.rule is None
    assert rule.decide([[0.81, 0.19], [0.79, 0.21]]).tolist() == [0, 1]
