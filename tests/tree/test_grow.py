import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from stakes.costs import Costs
from stakes.tree._binning import Bins
from stakes.tree._grow import Workspace, grow_cost_tree

from ._brute_force import brute_force_tree


def make_problem(seed, *, n_samples=30, n_classes=None, categories=True, missing=True):
    """Return small integers full of ties: features, costs, weights, and which are categories."""
    rng = np.random.default_rng(seed)
    n_classes = n_classes or int(rng.integers(2, 9))
    X = np.column_stack(
        [
            rng.integers(0, 6, n_samples),
            rng.integers(0, 3, n_samples),
            rng.integers(0, 4, n_samples),
            rng.normal(size=n_samples).round(1),
        ]
    ).astype(float)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    costs = rng.integers(-3, 6, (n_samples, n_classes)).astype(float)
    costs[X[:, 0] > 2, 0] -= 2
    categorical = np.array([False, categories, categories, False])
    weight = rng.integers(0, 4, n_samples).astype(float)
    return Bins.fit(X, categorical_features=categorical).transform(X), costs, weight


def leaves_of(leaf_of_row):
    return {
        frozenset(np.flatnonzero(leaf_of_row == leaf).tolist())
        for leaf in np.unique(leaf_of_row[leaf_of_row >= 0])
    }


def oracle(binned, costs, weight=None, **rules):
    return brute_force_tree(
        binned.codes.tolist(),
        costs.tolist(),
        None if weight is None else weight.tolist(),
        missing=binned.bins.n_values.tolist(),
        categorical=binned.bins.is_categorical.tolist(),
        **rules,
    )


@pytest.mark.parametrize("criterion", ["cost", "variance"])
@pytest.mark.parametrize("seed", range(12))
def test_the_tree_is_the_brute_force_tree(seed, criterion):
    binned, costs, weight = make_problem(seed)
    weight = weight if seed % 2 else None
    rules = {"criterion": criterion, "max_depth": 1 + seed % 3, "min_samples_leaf": 1 + seed % 4}
    tree, leaf_of_row = grow_cost_tree(binned, costs, weight, **rules)
    leaves, cost = oracle(binned, costs, weight, **rules)
    paid = costs[np.arange(len(costs)), tree.predict(binned)]
    assert_allclose((paid if weight is None else weight * paid).sum(), float(cost))
    assert leaves_of(leaf_of_row) == leaves


@pytest.mark.parametrize("criterion", ["cost", "variance"])
@pytest.mark.parametrize("seed", range(8))
def test_two_decisions_are_the_brute_force_tree(seed, criterion):
    binned, costs, weight = make_problem(300 + seed, n_classes=2)
    weight = weight if seed % 2 else None
    rules = {"criterion": criterion, "max_depth": 3, "min_samples_leaf": 1 + seed % 3}
    _, leaf_of_row = grow_cost_tree(binned, costs, weight, **rules)
    assert leaves_of(leaf_of_row) == oracle(binned, costs, weight, **rules)[0]


@pytest.mark.parametrize("seed", range(8))
def test_best_first_is_the_brute_force_tree(seed):
    binned, costs, _ = make_problem(100 + seed)
    rules = {"max_depth": 10, "max_leaf_nodes": 2 + seed % 4}
    _, leaf_of_row = grow_cost_tree(binned, costs, **rules)
    assert leaves_of(leaf_of_row) == oracle(binned, costs, **rules)[0]


@pytest.mark.parametrize("seed", range(4))
def test_min_cost_decrease_is_the_brute_force_tree(seed):
    binned, costs, weight = make_problem(200 + seed)
    rules = {"max_depth": 3, "min_cost_decrease": 0.125}
    _, leaf_of_row = grow_cost_tree(binned, costs, weight, **rules)
    assert leaves_of(leaf_of_row) == oracle(binned, costs, weight, **rules)[0]


# -- the same tree by other ways -----------------------------------------------------------


@pytest.mark.parametrize("criterion", ["cost", "variance"])
@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_third_decision_of_the_mean_cost_changes_nothing(criterion, by_class, weighted):
    # Two decisions are judged by one sum d, more of them by theirs. Centred costs are (d, -d),
    # and (d, -d, 0) with the third: the same least cost -|d|, the same squared norm 2 d^2.
    rng = np.random.default_rng(7)
    X = rng.integers(0, [40, 5, 300], (2000, 3)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    binned = Bins.fit(X).transform(X)
    y = (np.nan_to_num(X[:, 0]) + rng.normal(scale=9, size=len(X)) > 20).astype(np.int16)
    matrix = np.array([[0.0, 4.0, 2.0], [7.0, 0.0, 3.5], [1.0, 1.0, 1.0]])
    weight = rng.integers(0, 5, len(X)).astype(float) if weighted else None
    rules = {"criterion": criterion, "max_depth": 12, "min_samples_leaf": 3}
    trees = []
    for n in (2, 3):
        costs = Costs(y, matrix=matrix[:n, :n]) if by_class else matrix[y, :n]
        trees.append(grow_cost_tree(binned, costs, weight, **rules))
    (two, leaf_of_two), (three, leaf_of_three) = trees
    assert two.n_leaves > 30
    assert_array_equal(two.nodes, three.nodes)
    assert_array_equal(leaf_of_two, leaf_of_three)
    assert_allclose(two.gains, three.gains, rtol=1e-6, atol=1e-6)
    assert_array_equal(two.decisions, three.decisions)


def same_tree(a, b):
    assert_array_equal(a.nodes, b.nodes)
    assert_array_equal(a.sets, b.sets)
    assert_array_equal(a.decisions, b.decisions)


@pytest.mark.parametrize("criterion", ["cost", "variance"])
@pytest.mark.parametrize("weighted", [False, True])
def test_class_costs_give_the_tree_of_their_rows(criterion, weighted):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 6)).round(2)
    y = (X[:, 0] + rng.normal(size=3000) > 0).astype(int) + (X[:, 1] > 1)
    C = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [16.0, 8.0, 0.0]])
    weight = rng.integers(0, 3, 3000).astype(float) if weighted else None
    binned = Bins.fit(X).transform(X)
    rules = {"criterion": criterion, "max_depth": 5, "min_samples_leaf": 7}
    by_class, leaves = grow_cost_tree(binned, Costs(y, matrix=C), weight, **rules)
    by_row, same_leaves = grow_cost_tree(binned, C[y], weight, y=y, **rules)
    same_tree(by_class, by_row)
    assert_array_equal(leaves, same_leaves)
    assert_allclose(by_class.values, by_row.values)
    assert_allclose(by_class.class_shares, by_row.class_shares)


@pytest.mark.parametrize(
    "rules",
    [
        {"max_depth": 6},
        {"max_depth": None, "max_leaf_nodes": 90},
        {"max_depth": 6, "shuffle_ties": True, "random_state": 0},
    ],
)
def test_threads_give_the_same_tree(rules):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(160_000, 7))  # more than one block of rows, and enough for threads
    X[rng.random(X.shape) < 0.05] = np.nan
    costs = rng.random((160_000, 3)) + np.abs(np.nan_to_num(X[:, :3]))
    binned = Bins.fit(X, categorical_features=[6]).transform(X)
    one, leaves = grow_cost_tree(binned, costs, n_threads=1, **rules)
    two, same_leaves = grow_cost_tree(binned, costs, n_threads=2, **rules)
    same_tree(one, two)
    assert_array_equal(one.cost_sums, two.cost_sums)
    assert_array_equal(leaves, same_leaves)
    assert_array_equal(one.apply(binned, 2), leaves)


@pytest.mark.parametrize("by_class", [False, True])
def test_a_node_of_many_rows_is_counted_in_pieces_by_any_number_of_threads(monkeypatch, by_class):
    from stakes.tree import _count_kernels, _growth

    rng = np.random.default_rng(5)
    X = rng.normal(size=(160_000, 3))
    y = rng.integers(0, 3, 160_000)
    matrix = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [64.0, 32.0, 0.0]])
    costs = matrix[y] + rng.random((160_000, 1)) * np.abs(X[:, :1])
    binned = Bins.fit(X).transform(X)
    given = Costs(y, matrix) if by_class else costs
    counted = []
    real = _count_kernels.count
    monkeypatch.setattr(
        _count_kernels,
        "count",
        lambda *some: counted.extend((some[2][:, :2]).tolist()) or real(*some),
    )
    one, leaves = grow_cost_tree(binned, given, max_depth=3)
    thirds = [[0, 53_333], [53_333, 106_666], [106_666, 160_000]]  # each of at least 50,000 rows
    assert all(piece in counted for piece in thirds)
    three, same_leaves = grow_cost_tree(binned, given, max_depth=3, n_threads=3)
    same_tree(one, three)
    assert_array_equal(one.cost_sums, three.cost_sums)
    assert_array_equal(leaves, same_leaves)
    monkeypatch.setattr(_growth, "PIECE", 10**9)
    whole, same_leaves = grow_cost_tree(binned, given, max_depth=3)
    same_tree(one, whole)
    assert_array_equal(leaves, same_leaves)


def test_histograms_that_run_out_are_counted_anew(monkeypatch):
    from stakes.tree import _growth

    rng = np.random.default_rng(6)
    X = rng.normal(size=(30_000, 4)).round(1)
    costs = rng.random((30_000, 3)) + np.abs(X[:, :1]) * [1, 0, 2]
    binned = Bins.fit(X).transform(X)
    for rules in ({"max_depth": 8}, {"max_depth": None, "max_leaf_nodes": 60}):
        many, leaves = grow_cost_tree(binned, costs, **rules)
        with monkeypatch.context() as patch:
            patch.setattr(_growth.Growth, "_family_of", _forgetful(_growth))
            few, same_leaves = grow_cost_tree(binned, costs, **rules)
        same_tree(many, few)
        assert_array_equal(leaves, same_leaves)


def _forgetful(growth):
    """Return how families are made where no histogram of a parent is kept."""
    real = growth.Growth._family_of

    def family_of(self, node, histogram):
        self.most_waiting = 0
        return real(self, node, histogram)

    return family_of


def test_a_workspace_changes_nothing():
    rng = np.random.default_rng(3)
    room = Workspace()
    for n_samples, n_classes in ((3000, 3), (500, 7), (4000, 2)):
        X = rng.normal(size=(n_samples, 4))
        costs = rng.normal(size=(n_samples, n_classes)) + X[:, :1] * np.arange(n_classes)
        binned = Bins.fit(X).transform(X)
        fresh, leaves = grow_cost_tree(binned, costs, max_depth=6)
        used, same_leaves = grow_cost_tree(binned, costs, max_depth=6, workspace=room)
        same_tree(fresh, used)
        assert_array_equal(leaves, same_leaves)


def test_more_leaves_than_histograms_are_kept():
    # 200 leaves of 50,000 rows: some nodes are counted anew, the tree is the same as when it
    # grows without end and saves are made in another order
    rng = np.random.default_rng(4)
    X = rng.integers(0, 40, (50_000, 3)).astype(float)
    costs = rng.random((50_000, 2))
    costs[:, 0] += np.sin(X[:, 0]) + np.cos(X[:, 1])
    binned = Bins.fit(X).transform(X)
    tree, leaves = grow_cost_tree(binned, costs, max_depth=None, max_leaf_nodes=200)
    assert tree.n_leaves == 200
    assert_array_equal(tree.apply(binned), leaves)
    fewer, _ = grow_cost_tree(binned, costs, max_depth=None, max_leaf_nodes=100)
    paid = [costs[np.arange(50_000), t.predict(binned)].sum() for t in (fewer, tree)]
    assert paid[1] < paid[0]


def test_a_constant_added_to_rows_and_a_factor_change_no_split():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2000, 5)).round(1)
    costs = rng.integers(0, 8, (2000, 4)) + np.where(X[:, :1] > 0, [0, 3, 0, 1], [2, 0, 1, 0])
    moved = 4.0 * costs + rng.integers(-64, 64, (2000, 1))
    binned = Bins.fit(X).transform(X)
    for criterion in ("cost", "variance"):
        plain, _ = grow_cost_tree(binned, costs, max_depth=5, criterion=criterion)
        other, _ = grow_cost_tree(binned, moved, max_depth=5, criterion=criterion)
        same_tree(plain, other)


def test_weights_are_repeated_rows():
    binned, costs, weight = make_problem(6, n_samples=60)
    repeated = np.repeat(np.arange(60), weight.astype(int))
    weighted, leaves = grow_cost_tree(binned, costs, weight, max_depth=4)
    unrolled, _ = grow_cost_tree(binned.take(repeated), costs[repeated], max_depth=4)
    assert_array_equal(weighted.predict(binned), unrolled.predict(binned))
    assert_allclose(weighted.values, unrolled.values)
    assert_array_equal(leaves == -1, weight == 0)


@pytest.mark.parametrize("seed", range(6))
def test_theorem_2_the_tree_on_costs_is_the_tree_on_the_expanded_sample(seed):
    # abe2004, Theorem 2: the expanded sample has a row (x, k) of weight max C - C_k for each
    # label k. Its weighted 0/1 costs, summed over the copies of a row, are the row's costs
    # and a constant: sum_k (m - C_k) [d != k] = sum_k (m - C_k) - m + C_d. The variances, which
    # break ties, are weighted otherwise: costs without ties, and no split that saves nothing.
    binned, costs, _ = make_problem(seed)
    costs += np.random.default_rng(seed).random(costs.shape)
    n_samples, n_classes = costs.shape
    costs = costs - costs.min(axis=1, keepdims=True)
    row, label = np.divmod(np.arange(n_samples * n_classes), n_classes)
    weight = costs.max() - costs[row, label]
    expanded = Costs(label, matrix=1.0 - np.eye(n_classes))
    rules = {"max_depth": 3, "min_cost_decrease": 1e-9}
    direct, _ = grow_cost_tree(binned, costs, **rules)
    by_expansion, _ = grow_cost_tree(binned.take(row), expanded, weight, **rules)
    assert direct.n_leaves > 2
    assert_array_equal(direct.apply(binned), by_expansion.apply(binned))
    assert_array_equal(direct.decisions, by_expansion.decisions)


# -- single cases ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_depth_0_decides_the_cheapest_constant(seed):
    binned, costs, weight = make_problem(seed)
    for w in (None, weight):
        tree, _ = grow_cost_tree(binned, costs, w, max_depth=0)
        total = (costs if w is None else w[:, None] * costs).sum(axis=0)
        assert tree.n_leaves == 1
        assert_array_equal(tree.predict(binned), np.full(len(costs), total.argmin()))
        assert_allclose(tree.cost_sums[0], total)


def test_ties_of_cost_go_to_the_variance_then_to_the_first_feature():
    # Both features part the rows without saving anything at once: 0 is decided everywhere.
    # Feature 1 parts costs (0, 1) from (0, 9), feature 0 mixes them; 2 repeats 1.
    X = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 1], [1, 1, 1]], dtype=float)
    costs = np.array([[0, 1], [0, 1], [0, 9], [0, 9]], dtype=float)
    tree, _ = grow_cost_tree(Bins.fit(X).transform(X), costs, max_depth=1)
    assert tree.nodes[0, 0] == 1
    tree, _ = grow_cost_tree(Bins.fit(X).transform(X), costs, max_depth=1, min_cost_decrease=0.001)
    assert tree.n_leaves == 1  # nothing is saved


def test_shuffled_ties_take_each_of_equal_features_and_no_worse_one():
    X = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 1], [1, 1, 1]], dtype=float)  # as above
    costs = np.array([[0, 1], [0, 1], [0, 9], [0, 9]], dtype=float)
    binned = Bins.fit(X).transform(X)

    def first_question(seed):
        rules = {"max_depth": 1, "shuffle_ties": True, "random_state": seed}
        return grow_cost_tree(binned, costs, **rules)[0].nodes[0, 0]

    asked = [first_question(seed) for seed in range(40)]
    assert asked == [first_question(seed) for seed in range(40)]
    assert set(asked) == {1, 2}  # the equal ones, never the worse
    assert 10 <= asked.count(1) <= 30


def test_missing_values_go_to_the_better_side():
    X = np.array([[1.0], [2.0], [np.nan], [np.nan], [3.0]])
    for costly in (0, 1):
        costs = np.array([[0.0, 1.0], [0.0, 1.0], [0, 0], [0, 0], [1.0, 0.0]])
        costs[2:4, costly] = 5.0
        binned = Bins.fit(X).transform(X)
        tree, _ = grow_cost_tree(binned, costs, max_depth=1)
        assert_array_equal(tree.predict(binned), [0, 0, 1 - costly, 1 - costly, 1])


def test_a_missing_value_that_was_never_seen_follows_the_larger_child():
    X = np.array([[1.0], [2.0], [3.0], [4.0], [5.0]])
    costs = np.array([[0.0, 1.0]] * 2 + [[1.0, 0.0]] * 3)
    bins = Bins.fit(X)
    tree, _ = grow_cost_tree(bins.transform(X), costs, max_depth=1)
    assert tree.predict(bins.transform(np.array([[np.nan]])))[0] == 1
    tree, _ = grow_cost_tree(bins.transform(6 - X), costs, max_depth=1)  # larger child left
    assert tree.predict(bins.transform(np.array([[np.nan]])))[0] == 1


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_many_categories_are_parted_at_least_cost(seed, n_classes):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 10, 80)
    costs = rng.integers(0, 9, (80, n_classes)).astype(float)
    binned = Bins.fit(codes[:, None].astype(float), categorical_features=[0]).transform(
        codes[:, None].astype(float)
    )
    tree, _ = grow_cost_tree(binned, costs, max_depth=1)
    sums = np.array([costs[codes == c].sum(axis=0) for c in range(10)])
    least = min(
        sums[chosen].sum(axis=0).min() + sums[~chosen].sum(axis=0).min()
        for chosen in (np.array([(s >> c) & 1 for c in range(10)], bool) for s in range(1, 1023))
    )
    assert costs[np.arange(80), tree.predict(binned)].sum() == least


def test_a_cut_lies_halfway_between_the_rows_of_the_node():
    # rows of weight zero have bins inside the gap, from 1 to 9, but no say
    X = np.array([[0.0], [1.0], [1.1], [1.2], [9.0], [10.0]])
    costs = np.array([[0.0, 1.0]] * 4 + [[1.0, 0.0]] * 2)
    weight = np.array([1.0, 1.0, 0, 0, 1.0, 1.0])
    bins = Bins.fit(X)
    tree, _ = grow_cost_tree(bins.transform(X), costs, weight, max_depth=1)
    assert bins.edges[0][tree.nodes[0, 1]] == pytest.approx(5.1)


def test_max_features_are_drawn_by_the_seed_and_found_if_only_one_is_of_use():
    rng = np.random.default_rng(7)
    X = np.zeros((50, 30))
    X[:, 13] = rng.normal(size=50)
    costs = np.column_stack([X[:, 13], -X[:, 13]])
    binned = Bins.fit(X).transform(X)
    tree, _ = grow_cost_tree(binned, costs, max_depth=1, max_features=2, random_state=0)
    assert tree.nodes[0, 0] == 13
    X = rng.normal(size=(500, 30))
    costs = rng.normal(size=(500, 3))
    binned = Bins.fit(X).transform(X)

    def draw(seed):
        tree, _ = grow_cost_tree(
            binned, costs, max_depth=4, max_features="sqrt", random_state=seed
        )
        return tree.nodes[:, 0].tolist()

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_costs_that_are_not_finite_are_refused(bad):
    binned, costs, _ = make_problem(0)
    costs[3, 1] = bad
    with pytest.raises(ValueError, match="every cost must be a finite number"):
        grow_cost_tree(binned, costs)


def test_other_bad_input_is_named():
    binned, costs, _ = make_problem(0)
    with pytest.raises(ValueError, match="criterion='gini' is unknown"):
        grow_cost_tree(binned, costs, criterion="gini")
    with pytest.raises(ValueError, match="costs are not of 30 rows"):
        grow_cost_tree(binned, costs[1:])
    with pytest.raises(ValueError, match=r"sample_weight has shape \(29,\), but X has 30 rows"):
        grow_cost_tree(binned, costs, np.ones(29))


@pytest.mark.parametrize("n_samples", [1, 2])
def test_hardly_any_rows(n_samples):
    X = np.arange(n_samples, dtype=float)[:, None]
    costs = np.array([[0.0, 1.0], [3.0, 0.0]])[:n_samples]
    tree, leaves = grow_cost_tree(Bins.fit(X).transform(X), costs, max_depth=None)
    assert_array_equal(leaves, np.arange(n_samples))
    assert_array_equal(tree.decisions, np.arange(n_samples))


def test_constant_features_and_equal_costs_make_one_leaf():
    X = np.ones((20, 2))
    costs = np.random.default_rng(0).random((20, 3))
    assert grow_cost_tree(Bins.fit(X).transform(X), costs)[0].n_leaves == 1
    X = np.arange(20.0)[:, None]
    costs = np.tile([2.0, 1.0, 3.0], (20, 1)) + np.arange(20.0)[:, None]
    tree, _ = grow_cost_tree(Bins.fit(X).transform(X), costs)
    assert tree.n_leaves == 1  # each row costs the same but for a constant
    assert tree.decisions[0] == 1


def test_trees_grown_at_the_same_time_are_the_same():
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng(8)
    X = rng.normal(size=(90_000, 6))
    costs = rng.random((90_000, 3)) + np.abs(X[:, :3])
    binned = Bins.fit(X).transform(X)
    alone, _ = grow_cost_tree(binned, costs, max_depth=5)
    with ThreadPoolExecutor(3) as pool:
        grown = list(
            pool.map(lambda _: grow_cost_tree(binned, costs, max_depth=5, n_threads=2), range(6))
        )
    for tree, _ in grown:
        same_tree(alone, tree)


def test_read_only_input_is_not_compiled_for():
    from stakes.tree import _count_kernels, _split_kernels

    binned, costs, weight = make_problem(9)
    tree, _ = grow_cost_tree(binned, costs, weight)
    kernels = _count_kernels.count, _split_kernels.split
    n_compiled = [len(kernel.signatures) for kernel in kernels]
    for array in (binned.codes, costs, weight):
        array.setflags(write=False)
    same, _ = grow_cost_tree(binned, costs, weight, max_depth=np.int32(3))
    same_tree(tree, same)
    assert [len(kernel.signatures) for kernel in kernels] == n_compiled


@pytest.mark.parametrize("n_classes", [255, 256, 300])
def test_classes_of_one_byte_and_of_two_are_counted_alike(n_classes):
    y = np.repeat(np.arange(n_classes), 3)
    X = np.column_stack([y, np.tile([0.0, 1.0, 2.0], n_classes)])
    binned = Bins.fit(X).transform(X)
    tree, leaves = grow_cost_tree(binned, Costs(y, 1.0 - np.eye(n_classes)), max_depth=2)
    assert tree.n_leaves > 1
    for leaf in range(tree.n_leaves):
        counts = np.bincount(y[leaves == leaf], minlength=n_classes)
        assert_array_equal(tree.class_sums[tree.leaf_nodes[leaf], :-1], counts)
