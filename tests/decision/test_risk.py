"""A guarantee: bets by hand, how often it is broken, what it leaves undecided, what is refused."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from stakes.datasets import make_known_posterior
from stakes.decision import CostDecisionClassifier, RiskControl
from stakes.decision._risk import betting_p_values

DATA = make_known_posterior(20_000, K=3, random_state=0)
C = np.asarray(DATA.cost_matrix)


def test_bets_by_hand():
    # Two rows, losses 0 and 1, limit 0.5, doubt 0.5: log(1/doubt) = 0.6931. The first bet is
    # min(1, sqrt(2 * 0.6931 / (2 * 0.25))) = 1, which wins: wealth 1 - (0 - 0.5) = 1.5. Whatever the
    # second bet is, it loses, so that the most there ever was is 1.5.
    assert betting_p_values(np.array([[0.0], [1.0]]), 0.5, 0.5) == pytest.approx([1 / 1.5])
    assert betting_p_values(np.array([[1.0], [1.0]]), 0.5, 0.5).tolist() == [1.0]


def test_p_values_are_no_smaller_than_chance_makes_them():
    # The mean is exactly the limit: at most 10% of the p-values may be below 0.1.
    rng = np.random.default_rng(0)
    losses = (rng.random((300, 2000)) < 0.2).astype(float)
    assert (betting_p_values(losses, 0.2, 0.1) <= 0.1).mean() <= 0.1 + 2 * np.sqrt(0.09 / 2000)


@pytest.mark.parametrize("abstain_cost", [None, 0.2])
def test_the_limit_is_broken_no_more_often_than_stated(abstain_cost):
    limit, broken, undecided = 0.6, [], []
    rng = np.random.default_rng(0)
    for _ in range(80):
        rows = rng.choice(len(DATA.y), 600)
        rule = RiskControl(
            limit=limit,
            confidence=0.9,
            cost_matrix=C,
            classes=[0, 1, 2],
            abstain_cost=abstain_cost,
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "ST403")
            decided = rule.fit(DATA.proba[rows], DATA.y[rows]).decide(DATA.proba)
        taken = decided < 3
        paid = DATA.expected_costs[np.flatnonzero(taken), decided[taken]]
        mean = paid.mean() if len(paid) else 0.0
        if abstain_cost is not None:
            mean = paid.sum() / len(decided) + abstain_cost * (1 - taken.mean())
        broken.append(mean > limit)
        undecided.append(1 - taken.mean())
    assert np.mean(broken) <= 0.1 + 2 * np.sqrt(0.09 / 80)
    assert np.mean(undecided) < 0.7  # it is not vacuous


def test_more_confidence_leaves_more_undecided():
    given = {"limit": 0.8, "cost_matrix": C}
    part = DATA.proba[:1500], DATA.y[:1500]
    bold = RiskControl(confidence=0.6, **given).fit(*part)
    wary = RiskControl(confidence=0.99, **given).fit(*part)
    assert bold.abstains_ < wary.abstains_ < 1
    assert bold.cost_ < 0.8
    assert RiskControl(confidence=0.6, **given).fit(*part).threshold_ == bold.threshold_


def test_a_limit_above_every_cost_decides_all_and_one_below_none():
    part = DATA.proba[:300], DATA.y[:300]
    easy = RiskControl(limit=C.max(), cost_matrix=C).fit(*part)
    assert easy.guaranteed_
    assert (easy.predict(DATA.proba[:50]) >= 0).all()
    with pytest.warns(
        UserWarning, match=r"at most 0.01 cannot be guaranteed with confidence 0.95"
    ):
        hard = RiskControl(limit=0.01, cost_matrix=C).fit(*part)
    assert not hard.guaranteed_
    assert (hard.predict(DATA.proba[:50]) == -1).all()


def test_example_costs_with_a_ceiling():
    data = make_known_posterior(3000, K=3, cost_kind="deciding", random_state=1)
    tensor = np.minimum(data.cost_tensor, 20.0)
    rule = RiskControl(limit=1.0, confidence=0.9, ceiling=20.0)
    rule.fit(data.proba, data.y, cost_tensor=tensor)
    decided = rule.predict(data.proba, cost_tensor=tensor)
    taken = decided >= 0
    assert taken.mean() == pytest.approx(1 - rule.abstains_)
    assert tensor[taken, data.y[taken], decided[taken]].mean() < 1.0
    with pytest.raises(ValueError, match="give the ceiling of costs known when deciding"):
        RiskControl(limit=1.0).fit(data.proba, data.y, cost_tensor=tensor)
    with pytest.raises(ValueError, match=r"more than ceiling=5: raise the ceiling"):
        RiskControl(limit=1.0, ceiling=5.0).fit(data.proba, data.y, cost_tensor=tensor)


def test_text_labels_and_what_is_refused():
    labels = np.array(["a", "b", "c"])
    rule = RiskControl(limit=0.8, cost_matrix=C).fit(DATA.proba[:800], labels[DATA.y[:800]])
    assert set(rule.predict(DATA.proba[:500])) <= {"a", "b", "c", "abstain"}
    part = DATA.proba[:300], DATA.y[:300]
    with pytest.raises(ValueError, match="counts every calibration row once"):
        RiskControl(cost_matrix=C).fit(*part, sample_weight=np.ones(300))
    with pytest.raises(ValueError, match="give a cost_matrix or a cost_tensor, not costs"):
        RiskControl().fit(*part, costs=C[DATA.y[:300]])
    with pytest.raises(ValueError, match=r"abstain_label=1 is decided already, as one of 0, 1, 2"):
        RiskControl(cost_matrix=C, abstain_label=1).fit(*part)
    with pytest.raises(ValueError, match="guarantees nothing on rows that a model was fitted on"):
        CostDecisionClassifier(LogisticRegression(), rule=RiskControl()).fit(DATA.X[:300], part[1])


def test_the_check_is_a_promise_for_fits_that_decide():
    # The limit is the true cost of a row: every fit that decides breaks the promise, though few do.
    rng, kept, passed = np.random.default_rng(0), 0, 0
    n_fits = 0
    for seed in range(120):
        y = (rng.random(1200) < 0.11).astype(int)
        proba = np.tile([0.89, 0.11], (1200, 1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rule = RiskControl(limit=0.11, confidence=0.8, random_state=seed).fit(
                proba[:600], y[:600]
            )
        if rule.guaranteed_:
            n_fits += 1
            passed += rule.check(proba[600:], y[600:]) <= 0.2
        else:
            kept += 1
            assert rule.check(proba[600:], y[600:]) == 1
    assert n_fits > 0
    assert kept >= 0.8 * 120  # the marginal promise
    assert passed <= 0.35 * n_fits + 1  # of the fits that decide, the check sees most
