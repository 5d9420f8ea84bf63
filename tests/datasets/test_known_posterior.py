import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from stakes.costs import KINDS
from stakes.datasets import make_known_posterior


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_and_what_each_kind_gives(kind):
    data = make_known_posterior(50, K=4, d=3, cost_kind=kind, random_state=0)
    assert data.X.shape == (50, 3)
    assert data.y.shape == (50,)
    assert data.proba.shape == data.expected_costs.shape == (50, 4)
    assert_allclose(data.proba.sum(axis=1), 1.0)
    assert (data.cost_matrix is not None) == (kind == "class")
    assert (data.cost_tensor is not None) == (kind == "deciding")
    assert (data.costs is not None) == (kind != "class")
    off = data.population.cost_matrix.values[~np.eye(4, dtype=bool)]
    assert (off >= 1).all()
    assert (off <= 10).all()


def test_expected_costs_by_loops():
    # Not proba @ C.T: the sum runs over the truth, the first axis of every cost.
    for kind in KINDS:
        data = make_known_posterior(6, K=3, d=2, cost_kind=kind, random_state=1)
        C = data.population.cost_matrix.values
        amounts = data.population.amounts(data.X)
        for n in range(6):
            for d in range(3):
                price = {
                    "class": lambda t, n=n, d=d, C=C: C[t, d],
                    "deciding": lambda t, n=n, d=d, data=data: data.cost_tensor[n, t, d],
                    "hindsight": lambda t, n=n, d=d, C=C, a=amounts: a[n, t] * C[t, d],
                }[kind]
                hoped = sum(data.proba[n, t] * price(t) for t in range(3))
                assert_allclose(data.expected_costs[n, d], hoped)


def test_costs_are_the_true_row_of_the_tensor():
    data = make_known_posterior(40, K=3, d=2, cost_kind="deciding", random_state=0)
    assert_allclose(data.costs, data.cost_tensor[np.arange(40), data.y])
    assert_allclose(data.costs[np.arange(40), data.y], 0.0)


def deviations(drawn, expected):
    """How many standard errors the mean of what was drawn is from what was claimed."""
    gap = drawn - expected
    return gap.mean(axis=0) / (gap.std(axis=0) / np.sqrt(len(gap)))


@pytest.mark.parametrize("kind", KINDS)
def test_labels_and_costs_are_drawn_from_what_is_claimed(kind):
    data = make_known_posterior(50_000, K=3, d=2, cost_kind=kind, noise=1.0, random_state=1)
    labels = np.eye(3)[data.y]
    costs = data.cost_matrix.costs_for(data.y) if kind == "class" else data.costs
    # Over all rows, and over parts picked by a feature or by the posterior.
    for part in (data.X[:, 0] > -9, data.X[:, 1] > 1, data.proba[:, 0] > 0.5):
        assert np.abs(deviations(labels[part], data.proba[part])).max() < 4
        assert np.abs(deviations(costs[part], data.expected_costs[part])).max() < 4


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_beats_bayes(kind):
    data = make_known_posterior(300, K=3, d=4, cost_kind=kind, random_state=2)
    # By brute force, row by row:
    least = np.mean([min(row) for row in data.expected_costs])
    assert_allclose(data.bayes_cost(), least)
    assert_allclose(data.risk(data.bayes_decisions()), least)
    assert data.excess(data.bayes_decisions()) == 0.0
    rng = np.random.default_rng(0)
    for _ in range(20):
        changed = data.bayes_decisions()
        changed[rng.integers(300, size=5)] = rng.integers(3, size=5)
        assert data.risk(changed) >= least
    assert data.excess(data.proba.argmax(axis=1)) > 0


def test_least_expected_cost_with_the_true_posterior_is_bayes():
    data = make_known_posterior(300, K=5, d=4, random_state=3)
    decisions = (data.proba @ data.cost_matrix.values).argmin(axis=1)
    assert data.risk(decisions) == data.bayes_cost()
    transposed = (data.proba @ data.cost_matrix.values.T).argmin(axis=1)
    assert data.excess(transposed) > 0.01


def test_rows_can_be_picked():
    data = make_known_posterior(10, K=3, d=2, random_state=0)
    rows = [1, 4, 7]
    assert_allclose(data.bayes_cost(rows), data.expected_costs[rows].min(axis=1).mean())
    mask = np.isin(np.arange(10), rows)
    assert data.bayes_cost(mask) == data.bayes_cost(rows)
    assert data.risk([0, 1, 2], rows=rows) == pytest.approx(
        np.mean([data.expected_costs[1, 0], data.expected_costs[4, 1], data.expected_costs[7, 2]])
    )


def test_stochastic_decisions_average():
    data = make_known_posterior(10, K=3, d=2, random_state=0)
    half = np.tile([0.5, 0.5, 0.0], (10, 1))
    both = [data.risk(np.zeros(10, dtype=int)), data.risk(np.ones(10, dtype=int))]
    assert data.risk(half) == pytest.approx(np.mean(both))


def test_new_rows_come_from_the_same_posterior():
    data = make_known_posterior(50, K=3, d=4, cost_kind="hindsight", random_state=0)
    test = data.sample(80, random_state=1)
    assert test.X.shape == (80, 4)
    assert_allclose(test.proba, data.population.proba(test.X))
    assert_allclose(test.expected_costs, data.population.expected_costs(test.X))
    assert not np.isin(test.X, data.X).any()
    assert_array_equal(data.sample(80, random_state=1).y, test.y)


def test_same_seed_same_data_even_pickled():
    one, two = (make_known_posterior(20, cost_kind="deciding", random_state=5) for _ in range(2))
    other = make_known_posterior(20, cost_kind="deciding", random_state=6)
    assert_array_equal(one.cost_tensor, two.cost_tensor)
    assert not np.allclose(one.proba, other.proba)
    back = pickle.loads(pickle.dumps(one))
    assert back.bayes_cost() == one.bayes_cost()
    assert_array_equal(back.sample(7, random_state=0).costs, one.sample(7, random_state=0).costs)


def test_sharper_posteriors_leave_less_to_lose():
    dull, sharp = (
        make_known_posterior(2000, sharpness=s, random_state=0).bayes_cost() for s in (1.0, 10.0)
    )
    assert sharp < dull / 3


def test_one_feature_and_two_classes_are_enough():
    data = make_known_posterior(100, K=2, d=1, cost_kind="hindsight", random_state=0)
    assert set(data.y) == {0, 1}
    assert data.bayes_cost() > 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"n": 0}, "n must be a whole number from 1 on, but is 0"),
        ({"K": 1}, "K must be a whole number from 2 on, but is 1"),
        ({"d": 2.5}, "d must be a whole number from 1 on, but is 2.5"),
        (
            {"cost_kind": "C"},
            "cost_kind must be one of 'class', 'deciding', 'hindsight', but is 'C'",
        ),
        ({"noise": -1.0}, "noise must be a finite number from 0 on, but is -1.0"),
        ({"sharpness": np.nan}, "sharpness must be a finite number"),
    ],
)
def test_bad_arguments_are_named(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        make_known_posterior(**arguments)


def test_bad_decisions_are_named():
    data = make_known_posterior(10, K=3, d=2, random_state=0)
    with pytest.raises(ValueError, match="3 decisions for 10 rows"):
        data.risk([0, 1, 2])
    with pytest.raises(ValueError, match="classes are 0 to 2, but some decisions are 3"):
        data.risk([3] * 10)
    with pytest.raises(ValueError, match=r"need shape \(10, 3\) and rows that sum to 1"):
        data.risk(np.ones((10, 3)))
    known_costs = make_known_posterior(10, cost_kind="deciding", random_state=0)
    with pytest.raises(ValueError, match="The costs of the rows are known when deciding"):
        known_costs.population.expected_costs(known_costs.X)
