import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.tree import DecisionTreeClassifier

from stakes.reductions import CostSensitiveOneVsOneClassifier, WeightedAllPairsClassifier
from stakes.reductions._all_pairs import all_pairs_values

C = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [64.0, 32.0, 0.0]])


def test_values_by_hand():
    # Sorted costs 0, 1, 3, 3: up to 1 one decision is that cheap, from 1 to 3 two are.
    # Equal costs have equal values, wherever they stand.
    costs = np.array([[3.0, 0.0, 3.0, 1.0]])
    assert_allclose(all_pairs_values(costs), [[2, 0, 2, 1]])


def test_values_are_the_integral():
    costs = np.array([[0.0, 2.5, 0.5, 4.0, 0.5]])
    t = (np.arange(400_000) + 0.5) * 1e-5
    density = 1.0 / (costs[0][:, None] <= t).sum(axis=0)
    slow = [density[t < c].sum() * 1e-5 for c in costs[0]]
    assert_allclose(all_pairs_values(costs)[0], slow, atol=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_no_tournament_costs_more_than_twice_what_its_pairs_lose(seed):
    # The inequality behind the bound, for one example and any outcome of the pairs.
    rng = np.random.default_rng(seed)
    n_classes = rng.integers(2, 7)
    costs = rng.exponential(size=n_classes) * rng.integers(0, 2, size=n_classes)
    costs -= costs.min()
    v = all_pairs_values(costs[None])[0]
    wins, lost = np.zeros(n_classes), 0.0
    for j in range(n_classes):
        for k in range(j + 1, n_classes):
            winner, loser = (j, k) if rng.uniform() < 0.5 else (k, j)
            wins[winner] += 1
            lost += max(v[winner] - v[loser], 0.0)
    assert costs[wins == wins.max()].max() <= 2 * lost + 1e-12


def test_the_bound_holds_on_training_data():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(150, 3)), rng.randint(4, size=150)
    X[:, 0] += y
    costs = rng.exponential(size=(150, 4)) * (np.arange(4) != y[:, None])
    model = WeightedAllPairsClassifier(DecisionTreeClassifier(max_depth=2), random_state=0)
    model.fit(X, y, costs=costs)
    assert 0 < model.training_cost_ <= model.bound_
    decisions = model.predict(X)
    assert_allclose(model.training_cost_, costs[np.arange(150), decisions].mean())


def test_with_two_classes_it_is_one_versus_one():
    rng = np.random.RandomState(1)
    X, y = rng.normal(size=(80, 2)), rng.randint(2, size=80)
    matrix = [[0, 1], [7, 0]]
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    ours = WeightedAllPairsClassifier(tree, cost_matrix=matrix, random_state=0).fit(X, y)
    plain = CostSensitiveOneVsOneClassifier(tree, cost_matrix=matrix, random_state=0).fit(X, y)
    assert_array_equal(ours.predict(X), plain.predict(X))


def test_class_costs_and_example_costs_agree():
    rng = np.random.RandomState(2)
    X, y = rng.normal(size=(90, 3)), rng.randint(3, size=90)
    tree = DecisionTreeClassifier(max_depth=3)
    by_class = WeightedAllPairsClassifier(tree, cost_matrix=C, random_state=0).fit(X, y)
    by_row = WeightedAllPairsClassifier(tree, random_state=0).fit(X, y, costs=C[y] + 5.0)
    assert_array_equal(by_class.predict(X), by_row.predict(X))
    assert_array_equal(by_class.cost_matrix_, C)  # the costs, not their transform
