"""Limits: the linear programme, cases by hand, streams, and what is refused."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from stakes.datasets import make_known_posterior
from stakes.decision import CapacityStream, decide_within
from stakes.decision._capacity import _nearest, _plan
from stakes.decision._capacity_kernels import swap_equals


def linear_programme(expected, lower, upper):
    """Return the least cost in sum, by HiGHS."""
    n, k = expected.shape
    each = sparse.kron(sparse.eye_array(n), np.ones((1, k)))
    all_ = sparse.kron(np.ones((1, n)), sparse.eye_array(k))
    found = linprog(
        expected.ravel(),
        A_ub=sparse.vstack([all_, -all_]),
        b_ub=np.concatenate([upper, -lower]),
        A_eq=each,
        b_eq=np.ones(n),
        bounds=(0, 1),
        method="highs",
    )
    return found.fun if found.status == 0 else None


def random_problem(rng):
    n, k = int(rng.integers(1, 40)), int(rng.integers(2, 6))
    expected = rng.normal(size=(n, k)) * 10
    if rng.random() < 0.4:  # ties
        expected = rng.integers(0, 4, size=(n, k)).astype(float)
    lower, upper = np.zeros(k, dtype=int), np.full(k, n)
    for d in range(k):
        if rng.random() < 0.6:
            upper[d] = rng.integers(0, n + 1)
        if rng.random() < 0.3:
            lower[d] = rng.integers(0, upper[d] + 1)
    return expected, lower, upper


def agrees_with_the_programme(seed):
    """Check one random problem; say whether it could be solved."""
    expected, lower, upper = random_problem(np.random.default_rng(seed))
    n, k = expected.shape
    capacity = {d: (int(lower[d]), int(upper[d])) for d in range(k)}
    least = linear_programme(expected, lower, upper)
    if least is None:
        with pytest.raises(ValueError, match=r"lower a minimum|raise a limit"):
            decide_within(expected, capacity)
        return False
    plan = decide_within(expected, capacity)
    assert plan.cost == pytest.approx(least, rel=1e-9, abs=1e-9)
    assert plan.cost == pytest.approx(expected[np.arange(n), plan.decisions].sum())
    assert (plan.counts >= lower).all()
    assert (plan.counts <= upper).all()
    # the prices prove it: no row would rather move, and the dual costs as much
    prices = plan.shadow_prices
    priced = expected + prices
    assert (priced[np.arange(n), plan.decisions] <= priced.min(axis=1) + 1e-9).all()
    dual = priced.min(axis=1).sum() - np.where(prices > 0, prices * upper, prices * lower).sum()
    assert dual == pytest.approx(plan.cost, rel=1e-9, abs=1e-9)
    return True


def test_it_is_the_optimum_of_the_linear_programme():
    solved = [agrees_with_the_programme(seed) for seed in range(100)]
    assert 30 < sum(solved) < 100


@pytest.mark.slow
def test_it_is_the_optimum_of_the_linear_programme_a_thousand_times():
    solved = [agrees_with_the_programme(seed) for seed in range(1000)]
    assert 300 < sum(solved) < 1000


def test_one_more_place_saves_its_shadow_price():
    tried = 0
    for seed in range(60):
        expected, _, upper = random_problem(np.random.default_rng(seed))
        n, k = expected.shape
        upper[k - 1] = n
        plan = _plan(expected, np.zeros(k, dtype=int), upper)
        for d in np.flatnonzero(upper < n):
            more = upper.copy()
            more[d] += 1
            after = _plan(expected, np.zeros(k, dtype=int), more)
            assert plan.cost - after.cost == pytest.approx(plan.shadow_prices[d], abs=1e-9)
            tried += 1
    assert tried > 50


def test_by_hand_two_limits():
    # Decisions a, b, c. Free, all three rows take a (costs 0). One a and one b may be taken:
    # a goes to the row that loses most without it (row 2: 5 by b), b to the next (row 1 saves
    # 9 - 4 = 5, row 0 saves 3 - 2 = 1). One more a would save row 1's 4 for b, and hand that b
    # to row 0, which saves 1: 5 in sum.
    expected = [[0.0, 2.0, 3.0], [0.0, 4.0, 9.0], [0.0, 5.0, 20.0]]
    plan = decide_within(expected, {"a": 1, "b": 1}, labels=["a", "b", "c"])
    assert plan.decisions.tolist() == [2, 1, 0]
    assert (plan.cost, plan.free_cost) == (7.0, 0.0)
    assert plan.shadow_prices.tolist() == [5.0, 1.0, 0.0]


def test_a_minimum_costs_its_price():
    # Nobody would inspect; two must be: the cheapest are rows 1 (costs 1) and 2 (costs 2), and
    # a third would cost 4.
    expected = [[0.0, 4.0], [0.0, 1.0], [0.0, 2.0], [0.0, 9.0]]
    plan = decide_within(expected, {1: (2, None)})
    assert plan.decisions.tolist() == [0, 1, 1, 0]
    assert plan.shadow_prices.tolist() == [0.0, -4.0]
    assert decide_within(expected, {1: (0.5, 0.5)}).decisions.tolist() == [0, 1, 1, 0]


def test_prices_stand_where_no_row_can_move():
    # All rows are bound by minima: the prices are those at which none would rather move.
    for lower, upper in (
        ([5, 0, 0, 5], [7, 1, 0, 10]),
        ([0, 10, 0, 0], [10] * 4),
        ([5, 5, 0, 0],) * 2,
    ):
        expected = np.random.default_rng(0).normal(size=(10, 4))
        plan = _plan(expected, np.array(lower), np.array(upper))
        priced = expected + plan.shadow_prices
        chosen = priced[np.arange(10), plan.decisions]
        assert chosen == pytest.approx(priced.min(axis=1))


@pytest.mark.parametrize("kind", ["smooth", "ties"])
def test_many_rows_agree_with_few(kind):
    # Sampled prices and a few active rows give what shortest paths over all rows give.
    rng = np.random.default_rng(1)
    expected = rng.gamma(2.0, size=(60_000, 4))
    if kind == "ties":
        expected = np.round(expected)
    plan = decide_within(expected, {0: 3000, 1: (0.3, 0.4), 2: 9000})
    n = len(expected)
    assert plan.counts.sum() == n
    prices = plan.shadow_prices
    least = (expected + prices).min(axis=1).sum()
    least -= np.where(prices > 0, prices * plan.upper, prices * plan.lower).sum()
    assert plan.cost == pytest.approx(least, rel=1e-9)
    assert (plan.counts[:3] <= [3000, 24_000, 9000]).all()
    assert plan.counts[1] >= 18_000


def test_without_a_binding_limit_nothing_changes():
    expected = np.random.default_rng(0).normal(size=(50, 3))
    plan = decide_within(expected, {0: 0.9, 2: (0, 50)})
    assert (plan.decisions == expected.argmin(axis=1)).all()
    assert not plan.shadow_prices.any()
    assert plan.cost == plan.free_cost


def test_a_stream_keeps_to_its_share_at_little_cost():
    data = make_known_posterior(4000, K=3, random_state=0)
    rows = data.sample(20_000, random_state=1)
    dear = int(np.bincount(data.bayes_decisions(), minlength=3).argmax())
    share = 0.1
    stream = CapacityStream({dear: share}).fit(data.expected_costs)
    parts = np.array_split(rows.expected_costs, 40)
    decided = np.concatenate([stream.decide(part) for part in parts])
    used = (decided == dear).mean()
    assert abs(used - share) <= 2 * np.sqrt(share * (1 - share) / len(decided))
    best = decide_within(rows.expected_costs, {dear: share}).cost / len(decided)
    assert rows.risk(decided) <= 1.01 * best
    assert stream.n_seen_ == 20_000
    assert stream.counts_.tolist() == np.bincount(decided, minlength=3).tolist()


def test_a_stream_follows_a_population_that_moves():
    rng = np.random.default_rng(0)
    stream = CapacityStream({"inspect": 0.2}, labels=["pass", "inspect"], window=2000)

    def rows(n, height):
        return np.column_stack([rng.gamma(2.0, height, n), np.ones(n)])

    stream.fit(rows(2000, 1.0))
    decided = np.concatenate([stream.decide(rows(250, 3.0)) for _ in range(80)])
    assert decided.mean() == pytest.approx(0.2, abs=2 * np.sqrt(0.16 / len(decided)))


@pytest.mark.parametrize(
    ("capacity", "message"),
    [
        ({"x": 3}, r"capacity names 'x', but the decisions are 'pass', 'inspect'"),
        ({"inspect": -1}, r"capacity of 'inspect' is -1: give a whole number"),
        ({"inspect": 1.5}, r"capacity of 'inspect' is 1.5: give a whole number"),
        ({"inspect": float("nan")}, r"capacity of 'inspect' is nan"),
        ({"inspect": True}, r"capacity of 'inspect' is True"),
        ({"inspect": "many"}, r"capacity of 'inspect' is 'many'"),
        ({"inspect": (3, 2)}, r"at least 3 and at most 2 of 4 rows: the minimum is above"),
        ({"inspect": (5, None)}, r"at least 5 decisions in sum, but there are only 4 rows"),
        ({"inspect": 1, "pass": 2}, r"leaves room for 3 decisions in sum, but there are 4 rows"),
        ([1, 2], r"capacity must be a dict of decisions and limits, such as \{'pass': 100\}"),
    ],
)
def test_limits_that_make_no_sense_are_refused_in_one_sentence(capacity, message):
    with pytest.raises(ValueError, match=message) as error:
        decide_within(np.ones((4, 2)), capacity, labels=["pass", "inspect"])
    assert "\n" not in str(error.value)


def test_a_limit_above_the_rows_is_said():
    expected = [[1.0, 0.0], [0.0, 1.0]]
    with pytest.warns(UserWarning, match="is 100, but there are only 2 rows: it limits nothing"):
        plan = decide_within(expected, {1: 100})
    assert plan.decisions.tolist() == [1, 0]


def test_what_is_no_table_and_counts_in_a_stream_are_refused():
    with pytest.raises(ValueError, match="expected must have shape"):
        decide_within([1.0, 2.0], {0: 1})
    with pytest.raises(ValueError, match="There are 3 labels, but expected has 2 columns"):
        decide_within([[1.0, 2.0]], {0: 1}, labels="abc")
    with pytest.raises(ValueError, match="in a stream, whose rows have no number"):
        CapacityStream({0: 5}).fit([[1.0, 2.0]])


def test_rows_that_are_equally_good_are_swapped_before_any_is_routed():
    # Six rows at 1 for either; all were given the first, which has room for two. The other has
    # no limit and no price: the pool takes what it sends.
    expected, prices = np.ones((6, 2)), np.zeros(2)
    chosen, gap = np.zeros(6, dtype=np.intp), np.zeros(6)
    excess, sent = np.array([4, 0, -4]), np.array([2, 0])
    state = (excess, sent, np.array([0, 0]), np.array([2, 6]))
    swap_equals(expected, prices, chosen, gap, state)
    assert chosen.tolist() == [1, 1, 1, 1, 0, 0]
    assert excess.tolist() == [0, 0, 0]
    assert sent.tolist() == [2, 4]
    # A row that would lose by it stays.
    worse = (np.array([4, 0, -4]), np.array([2, 0]), np.array([0, 0]), np.array([2, 6]))
    stays = np.zeros(6, dtype=np.intp)
    swap_equals(expected, prices, stays, gap + 0.5, worse)
    assert not stays.any()


def test_of_many_equal_rows_some_are_routed():
    gap = np.where(np.arange(10_000) < 5, 0.1, 0.5)
    rows = _nearest(gap, 1000)
    assert rows[:5].tolist() == [0, 1, 2, 3, 4]
    assert 900 < len(rows) <= 2000
    assert np.ptp(rows) > 9000  # from everywhere
    assert len(_nearest(np.arange(50.0), 10)) == 11
    assert len(_nearest(gap, 10_000)) == 10_000


def test_a_stream_fed_in_one_call_decides_as_if_fed_row_by_row():
    # The population drifts: all of the new rows would be inspected at yesterday's price.
    rng = np.random.default_rng(0)
    old, new = rng.normal(0, 1, 2000), rng.normal(3, 1, 3000)
    rows = np.column_stack([new, np.zeros(3000)])
    streams = [
        CapacityStream({"inspect": 0.05}, labels=["pass", "inspect"]).fit(
            np.column_stack([old, np.zeros(2000)])
        )
        for _ in range(2)
    ]
    at_once = streams[0].decide(rows)
    one_by_one = np.concatenate([streams[1].decide(row[None]) for row in rows])
    assert (at_once == one_by_one).all()
    assert at_once.mean() <= 0.06
