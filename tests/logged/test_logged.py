"""Costs of logged decisions: by hand, by simulation, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression, LogisticRegression

from stakes.auto import StakesClassifier
from stakes.compare import compare
from stakes.logged import (
    NoOverlapError,
    OverlapWarning,
    SupportedPolicy,
    cost_bounds,
    costs_from_logs,
    policy_bounds,
    policy_cost,
    tipping_strength,
)
from stakes.reductions import CostingClassifier, GBSEClassifier
from stakes.tree import CostTreeClassifier


def clinic(n=4000, seed=0, unseen=0.0):
    """Return a log: treating costs 3, waiting costs 10 if ill, and the frail were treated more often.

    With `unseen`, something that the table does not have moves both what was done and what it cost.
    """
    rng = np.random.default_rng(seed)
    frail = rng.random(n)
    ill = rng.random(n) < 0.8 * frail
    share = 0.2 + 0.6 * frail
    hidden = np.where(rng.random(n) < 0.5, 1.0, -1.0) * unseen
    treated = rng.random(n) < np.clip(share + 0.2 * hidden, 0.02, 0.98)
    paid = np.where(treated, 3.0, 10.0 * ill) + hidden + rng.normal(size=n)
    done = np.where(treated, "treat", "wait")
    shares = pd.DataFrame({"wait": 1 - share, "treat": share})
    return pd.DataFrame({"frail": frail}), done, paid, shares


def always_treat_if(X, above):
    return np.where(X["frail"] > above, "treat", "wait")


def truth_of(above):
    """What treating above a frailty costs: 3 (1 - a) + 10 * 0.8 * a^2 / 2."""
    return 3.0 * (1 - above) + 4.0 * above**2


def test_inverse_propensities_by_hand():
    # "a" with probability 1/4: weights 4 for it, 4/3 for "b". Self-normalised, the mean of what "a" paid
    # is (2 + 4) / 2 = 3, that of "b" 1.
    X, done, paid = [[0]] * 8, ["a", "b", "b", "b"] * 2, [2, 1, 1, 1, 4, 1, 1, 1]
    shares = [[0.25, 0.75]] * 8
    logged = costs_from_logs(
        X, done, paid, propensities=shares, method="ipw", cv=2, random_state=0
    )
    assert_allclose(logged.mean(), [3.0, 1.0])
    assert_allclose(logged.loc[0], [2 * 4.0, 0.0])
    assert_allclose(logged.weights[:2], [4.0, 4.0 / 3.0])


@pytest.mark.parametrize("method", ["dr", "ipw"])
@pytest.mark.parametrize("known", [True, False])
def test_the_interval_holds_the_cost_of_a_fixed_policy(method, known):
    inside, errors = [], []
    for seed in range(40):
        X, done, paid, shares = clinic(1000, seed)
        logged = costs_from_logs(
            X,
            done,
            paid,
            propensities=shares if known else None,
            learner=LinearRegression(),
            method=method,
            random_state=seed,
        )
        cost = policy_cost(always_treat_if(X, 0.4), logged)
        inside.append(cost.interval[0] <= truth_of(0.4) <= cost.interval[1])
        errors.append((cost.cost - truth_of(0.4)) / cost.standard_error)
    assert sum(inside) >= 35  # of 40 at 95%: fewer once in some thousand
    assert abs(np.mean(errors)) < 0.5


def test_what_is_saved_is_surer_than_two_costs():
    X, done, paid, shares = clinic()
    logged = costs_from_logs(X, done, paid, propensities=shares, random_state=0)
    cost = policy_cost(always_treat_if(X, 0.4), logged)
    assert cost.done == pytest.approx(paid.mean())
    assert cost.saved == pytest.approx(cost.done - cost.cost)
    low, high = cost.saved_interval
    assert low < cost.saved < high
    assert high - low < cost.interval[1] - cost.interval[0] + 0.5


def test_doubly_robust_survives_one_wrong_part():
    X, done, paid, shares = clinic(8000)
    wrong = pd.DataFrame({"treat": np.full(len(X), 0.5), "wait": 0.5})
    policy = always_treat_if(X, 0.4)

    def error(**given):
        logged = costs_from_logs(X, done, paid, random_state=0, **given)
        cost = policy_cost(policy, logged)
        return abs(cost.cost - truth_of(0.4)) / cost.standard_error

    assert error(propensities=wrong, learner=LinearRegression()) < 2.5
    assert error(propensities=shares, learner=LinearRegression()) < 2.5
    assert error(propensities=wrong, method="ipw") > 3


def test_columns_follow_names_and_decisions_are_labels():
    X, done, paid, shares = clinic()
    logged = costs_from_logs(X, done, paid, propensities=shares, random_state=0)
    assert list(logged.columns) == ["treat", "wait"]
    assert_allclose(logged.propensities[:, 0], shares["treat"])
    one = policy_cost("treat", logged)
    all_rows = policy_cost(["treat"] * len(X), logged)
    shared = policy_cost(np.tile([1.0, 0.0], (len(X), 1)), logged)
    assert one.cost == all_rows.cost == shared.cost == pytest.approx(3.0, abs=0.15)


def test_rows_of_a_group_are_one_draw():
    X, done, paid, shares = clinic(400)
    twice = [pd.concat([part] * 2, ignore_index=True) for part in (X, shares)]
    again = np.concatenate([done, done]), np.concatenate([paid, paid])
    known = {"random_state": 0, "learner": LinearRegression()}
    once = costs_from_logs(X, done, paid, propensities=shares, **known)
    copies = np.tile(np.arange(400), 2)
    alone = costs_from_logs(twice[0], *again, propensities=twice[1], **known)
    grouped = costs_from_logs(twice[0], *again, propensities=twice[1], groups=copies, **known)
    policy = np.tile(always_treat_if(X, 0.4), 2)
    errors = [policy_cost(policy, log).standard_error for log in (alone, grouped)]
    single = policy_cost(policy[:400], once).standard_error
    assert errors[1] == pytest.approx(single, rel=0.05)
    assert errors[0] == pytest.approx(single / np.sqrt(2), rel=0.05)


def test_the_same_seed_gives_the_same_estimates():
    X, done, paid, _ = clinic(500)
    first, second = (costs_from_logs(X, done, paid, random_state=3) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)


def test_a_classifier_may_estimate_the_propensities():
    X, done, paid, shares = clinic()
    logged = costs_from_logs(X, done, paid, propensities=LogisticRegression(), random_state=0)
    assert logged.estimated
    assert np.abs(logged.propensities[:, 0] - shares["treat"]).mean() < 0.05


def test_bounds_widen_with_the_strength_and_hold_an_unseen_cause():
    X, done, paid, shares = clinic(8000, unseen=1.0)
    logged = costs_from_logs(X, done, paid, propensities=shares, random_state=0)
    policy = always_treat_if(X, 0.4)
    bounds = [policy_bounds(policy, logged, strength=s) for s in (1.0, 1.5, 3.0)]
    widths = [high - low for low, high in bounds]
    assert widths[0] == pytest.approx(0.0, abs=1e-9)
    assert widths[0] < widths[1] < widths[2]
    # 0.2 more or less of a share in the middle is a factor of about 2.3 on its odds
    low, high = bounds[2]
    assert low < truth_of(0.4) < high


def test_the_tipping_strength_is_1_where_nothing_is_saved_for_sure():
    X, done, paid, shares = clinic()
    logged = costs_from_logs(X, done, paid, propensities=shares, random_state=0)
    assert tipping_strength("wait", logged) == 1.0
    strength = tipping_strength(always_treat_if(X, 0.4), logged)
    assert 1.0 < strength < 5.0
    _, high = policy_bounds(always_treat_if(X, 0.4), logged, strength=strength)
    cost = policy_cost(always_treat_if(X, 0.4), logged)
    assert high - cost.cost == pytest.approx(cost.saved_interval[0], rel=1e-3)


def test_a_decision_never_taken_in_a_part_is_refused_and_may_be_held_to_its_region():
    X, done, paid, _ = clinic()
    done = np.where(X["frail"] < 0.3, "wait", done)
    with pytest.raises(NoOverlapError, match="'treat' was never taken for .*% of the rows"):
        costs_from_logs(X, done, paid, propensities=_boosting(), random_state=0)
    held = costs_from_logs(X, done, paid, propensities=_boosting(), support=0.02, random_state=0)
    outside = held.propensities[:, 0] < 0.02
    assert outside.mean() > 0.2
    assert (held.loc[outside, "treat"] >= held.loc[outside, "wait"]).all()


def _boosting():
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=50)


GOOD = {"X": [[0]] * 20, "decisions": ["a", "b"] * 10, "paid": [1.0, 2.0] * 10}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"decisions": ["a"] * 20}, "The log holds one decision, 'a'"),
        ({"decisions": ["a"] * 19 + ["b"]}, "'b' was taken 1 times, less often than"),
        ({"paid": [1.0, np.nan] * 10}, "No cost is known of any of the 10 rows .* 'b'"),
        ({"paid": [1.0] * 19 + [np.nan]}, "paid has NaN at position 19"),
        ({"paid": ["dear"] * 20}, "paid has 'dear' at position 0: every cost must be a number"),
        ({"decisions": ["a", None] * 10}, "not known what was done in 10 rows, row 1 first"),
        ({"propensities": [0.0] * 20}, "of what was done, is 0: it should be above 0"),
        ({"groups": [0] * 20}, "cv=5 folds: at least 2 .* no more than 1 groups"),
        ({"cv": 1}, "cv=1 folds: at least 2 are needed"),
        ({"support": 0.7}, "support must be at least 0 and below 0.5"),
        ({"switch": 0.5}, "switch must be a weight, from 1 on"),
        ({"paid": [1.0] * 19}, "inconsistent numbers of samples"),
        ({"method": "magic"}, "method='magic' is unknown"),
        ({"propensities": [[0.5]] * 20}, "propensities have shape"),
        ({"propensities": [[0.6, 0.6]] * 20}, "sum to 1"),
        ({"propensities": [[1.0, 0.0]] * 20}, "cannot have been impossible"),
        (
            {"propensities": pd.DataFrame({"a": [1.0] * 20})},
            "propensities lack the column 'b'",
        ),
        (
            {"groups": [0] * 10 + [1] * 10, "cv": 2, "decisions": ["a"] * 10 + ["b"] * 10},
            "one fold",
        ),
    ],
)
def test_bad_logs_get_one_sentence(given, message):
    with pytest.raises(ValueError, match=message) as caught:
        costs_from_logs(**(GOOD | {"random_state": 0} | given))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("decided", "message"),
    [
        (["a"] * 19, "19 decisions, but the log has 20 rows"),
        ("c", "'c', which the log does not have"),
        (np.full((20, 2), 0.4), "rows that sum to 1"),
    ],
)
def test_bad_policies_get_one_sentence(decided, message):
    logged = costs_from_logs(**GOOD, propensities=[[0.5, 0.5]] * 20, random_state=0)
    with pytest.raises(ValueError, match=message):
        policy_cost(decided, logged)


def test_paid_the_same_everywhere_is_known_for_sure():
    logged = costs_from_logs(
        [[0]] * 20, ["a", "b"] * 10, [2.0] * 20, propensities=[[0.5, 0.5]] * 20, random_state=0
    )
    assert (logged == 2.0).all(axis=None)
    assert policy_cost("a", logged).interval == (2.0, 2.0)


def test_a_policy_that_never_agrees_has_no_interval():
    X, done, paid, shares = clinic(400)
    logged = costs_from_logs(X, done, paid, propensities=shares, random_state=0)
    other = np.where(np.asarray(done) == "treat", "wait", "treat")
    with pytest.raises(ValueError, match="the log cannot say what it would have cost"):
        policy_cost(other, logged)


@pytest.mark.parametrize(
    "method",
    [
        StakesClassifier(cv=2, random_state=0),
        CostTreeClassifier(max_depth=3),
        GBSEClassifier(n_estimators=5, random_state=0),
        CostingClassifier(n_estimators=5, random_state=0),
    ],
    ids=lambda method: type(method).__name__,
)
def test_a_policy_is_held_to_what_was_done(method):
    X, done, paid, _ = clinic(1000)
    done = np.where(X["frail"] < 0.3, "wait", done)
    cheap = np.where(done == "treat", -5.0, paid)  # all would be treated, if that were known
    log = costs_from_logs(X, done, cheap, propensities=_boosting(), support=0.02, random_state=0)
    policy = SupportedPolicy(method, support=0.02, propensities=_boosting(), random_state=0)
    policy.fit(X, costs=log)
    X_new = clinic(1000, seed=1)[0]
    decided, seen = policy.predict(X_new), policy.supported(X_new)
    assert list(policy.decisions_) == ["treat", "wait"]
    assert seen[np.arange(1000), np.where(decided == "treat", 0, 1)].all()
    assert (decided[X_new["frail"] < 0.25] == "wait").all()
    assert (decided[X_new["frail"] > 0.35] == "treat").mean() > 0.9


def test_a_held_policy_needs_the_log_itself():
    X, done, paid, _ = clinic(200)
    log = costs_from_logs(X, done, paid, random_state=0)
    with pytest.raises(ValueError, match="does not say what was done"):
        SupportedPolicy(CostTreeClassifier()).fit(X[:100], costs=log[:100])


LOANS = {"lend": (-1.0, 5.0), "decline": 0.0}
LENT = ["lend"] * 4 + ["decline"] * 2
BROUGHT = [-1.0, -1.0, -1.0, 5.0, np.nan, np.nan]


def test_bounds_of_what_was_never_seen_by_hand():
    # lending to all: 2 is known of the four, the two others bring 1 or lose 5 each
    bounds = cost_bounds("lend", LENT, BROUGHT, between=LOANS)
    assert (bounds.low, bounds.high, bounds.unseen) == (0.0, 2.0, pytest.approx(1 / 3))
    assert bounds.interval[0] < bounds.low < bounds.high < bounds.interval[1]
    # declining costs nothing, seen or not: known for sure
    none = cost_bounds("decline", LENT, BROUGHT, between=LOANS)
    assert (none.low, none.high, none.interval) == (0.0, 0.0, (0.0, 0.0))
    # amounts: what is lost is another sum for each
    amounts = np.array([1.0, 1.0, 1.0, 1.0, 8.0, 4.0])
    bounds = cost_bounds("lend", LENT, BROUGHT, between={"lend": (-amounts, 5 * amounts)})
    assert (bounds.low, bounds.high) == ((2 - 12) / 6, (2 + 60) / 6)


def test_the_truth_lies_between_the_bounds_whatever_the_lender_saw():
    rng = np.random.default_rng(0)
    seen_by_lender = rng.random(5000)
    defaults = rng.random(5000) < seen_by_lender
    lent = seen_by_lender < 0.5
    brought = np.where(defaults, 5.0, -1.0)
    bounds = cost_bounds(
        np.full(5000, "lend"),
        np.where(lent, "lend", "decline"),
        np.where(lent, brought, np.nan),
        between=LOANS,
    )
    assert bounds.interval[0] < brought.mean() < bounds.interval[1]
    assert bounds.high - bounds.low == pytest.approx(6 * bounds.unseen)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"between": {}}, "The policy takes 'lend': say in `between`"),
        ({"between": {"lend": (1, 0)}}, "is not below the most"),
        ({"policy": ["lend"] * 5}, "inconsistent numbers of samples"),
        ({"level": 95}, "level must lie between 0 and 1"),
    ],
)
def test_bad_bounds_get_one_sentence(given, message):
    asked = {"policy": "lend", "decisions": LENT, "paid": BROUGHT, "between": LOANS} | given
    with pytest.raises(ValueError, match=message) as caught:
        cost_bounds(**asked)
    assert "\n" not in str(caught.value)


def test_costs_of_one_value_leave_nothing_to_learn():
    log = costs_from_logs(**(GOOD | {"paid": [2.0] * 20}), random_state=0)
    with pytest.raises(ValueError, match="nothing to learn") as caught:
        CostTreeClassifier().fit(GOOD["X"], costs=log)
    assert "\n" not in str(caught.value)


def test_groups_of_a_log_stay_together_when_methods_are_compared():
    X, done, paid, _ = clinic(300)
    log = costs_from_logs(X, done, paid, random_state=0)
    with pytest.raises(ValueError, match="groups leak"):
        compare(X, costs=log, groups=np.arange(300) // 2)
    grouped = costs_from_logs(X, done, paid, groups=np.arange(300) // 2, random_state=0)
    found = compare(X, costs=grouped, methods=["constant"], cv=2)
    assert "group" in str(found.protocol)


def test_a_policy_unlike_what_was_done_is_warned_of():
    rng = np.random.default_rng(0)
    shares = np.where(rng.random((2000, 1)) < 0.97, [[0.999, 0.001]], [[0.2, 0.8]])
    done = np.where(rng.random(2000) < shares[:, 0], "a", "b")
    done[:3] = "b"  # by chance of one in a thousand each
    shares[:3] = [0.999, 0.001]
    log = costs_from_logs(
        np.zeros((2000, 1)), done, rng.normal(size=2000), propensities=shares, random_state=0
    )
    with pytest.warns(OverlapWarning, match="a few of them make the estimate"):
        policy_cost(np.full((2000, 2), 0.5), log)
    policy_cost("a", log)


def test_nothing_is_expected_to_cost_more_than_it_ever_did():
    X, done, paid, shares = clinic(400)
    X = X.assign(frail=np.where(np.arange(400) == 7, 1e4, X["frail"]))  # far from all other rows
    known = {"propensities": shares, "learner": LinearRegression(), "random_state": 0}
    log = costs_from_logs(X, done, paid, **known)
    for a, decision in enumerate(log.decisions):
        of_decision = paid[done == decision]
        assert of_decision.min() <= log.predicted[:, a].min()
        assert log.predicted[:, a].max() <= of_decision.max()
