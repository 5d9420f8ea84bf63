import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from stakes.decision import (
    BinaryThreshold,
    ClassThresholds,
    ColumnPartition,
    FullPartition,
    LachicheFlach,
    ParallelPartition,
    RowPartition,
)
from stakes.decision._histogram import SweepHistogram

C = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [20.0, 10.0, 0.0]])
C2 = np.array([[0.0, 3.0], [1.0, 0.0]])


def draw(seed=0, n=4000, n_classes=3):
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.full(n_classes, 0.7), size=n)
    y = (rng.random(n)[:, None] > true[:, :-1].cumsum(axis=1)).sum(axis=1)
    said = true**0.4
    return said / said.sum(axis=1, keepdims=True), y


@pytest.mark.parametrize("spacing", ["linear", "factor", "probability"])
def test_the_cost_at_each_value_is_exact(spacing):
    rng = np.random.default_rng(0)
    points, jumps = rng.random(300), rng.integers(-3, 4, size=300)
    histogram = SweepHistogram(0.0, 1.0, n_bins=500, spacing=spacing)
    histogram.add(points[:100], jumps[:100], 40.0).add(points[100:], jumps[100:], 60.0)
    exact = [100.0 + jumps[points <= value].sum() for value in histogram.values]
    assert_allclose(histogram.costs(), exact)
    value, cost = histogram.best_value()
    assert cost == min(exact) == 100.0 + jumps[points <= value].sum()


def test_points_beyond_the_grid():
    histogram = SweepHistogram(0.0, 1.0, n_bins=4)
    histogram.add([-np.inf, -3.0, 0.5, 2.0, np.inf], [1.0, 2.0, 4.0, 8.0, 16.0], 0.0)
    assert_array_equal(histogram.values, [0, 0.25, 0.5, 0.75, 1])
    assert_array_equal(histogram.costs(), [3, 3, 7, 7, 7])


def test_halves_merge_to_the_whole():
    proba, y = draw(n_classes=2)
    whole = BinaryThreshold(cost_matrix=C2).partial_fit(proba, y)
    halves = [BinaryThreshold(cost_matrix=C2) for _ in range(2)]
    halves[0].partial_fit(proba[:1000], y[:1000]).partial_fit(proba[1000:1500], y[1000:1500])
    halves[1].partial_fit(proba[1500:], y[1500:])
    for merged in (halves[0].merge(halves[1]), halves[1].merge(halves[0])):
        assert merged.threshold_ == whole.threshold_
        assert merged.cost_ == whole.cost_
        assert merged.initial_cost_ == whole.initial_cost_
        assert_allclose(merged.cost_matrix_, C2)
        assert_array_equal(merged.histogram_.jumps, whole.histogram_.jumps)


def test_chunks_come_near_the_exact_threshold():
    proba, y = draw(n=20_000, n_classes=2)
    weight = np.random.default_rng(0).integers(1, 4, size=20_000)
    exact = BinaryThreshold(cost_matrix=C2).fit(proba, y, sample_weight=weight)
    chunked = BinaryThreshold(cost_matrix=C2)
    for part in np.array_split(np.arange(20_000), 7):
        chunked.partial_fit(proba[part], y[part], weight[part])
    assert exact.cost_ <= chunked.cost_ <= exact.cost_ * 1.001
    # what is said of the cost is what the decisions cost
    paid = C2[y, chunked.decide(proba)]
    assert np.average(paid, weights=weight) == pytest.approx(chunked.cost_)
    assert chunked.initial_cost_ == pytest.approx(exact.initial_cost_, rel=1e-3)


def test_example_costs_in_chunks():
    proba, y = draw(n_classes=2)
    costs = C2[y] * np.random.default_rng(1).lognormal(size=(len(y), 1))
    exact = BinaryThreshold().fit(proba, y, costs=costs)
    chunked = BinaryThreshold()
    for part in np.array_split(np.arange(len(y)), 3):
        chunked.partial_fit(proba[part], y[part], costs=costs[part])
    assert exact.cost_ <= chunked.cost_ <= exact.cost_ * 1.001
    assert_allclose(chunked.cost_matrix_, exact.cost_matrix_)


@pytest.mark.parametrize(
    "rule",
    [
        ParallelPartition,
        RowPartition,
        ColumnPartition,
        FullPartition,
        ClassThresholds,
        LachicheFlach,
    ],
)
def test_a_partition_from_chunks(rule):
    proba, y = draw(n=6000)
    parts = np.array_split(np.arange(len(y)), 5)
    chunks = [(proba[part], y[part]) for part in parts]
    fitted = rule(cost_matrix=C, n_passes=2).fit_chunks(chunks)
    exact = rule(cost_matrix=C, n_passes=2).fit(proba, y)
    assert fitted.initial_cost_ == pytest.approx(exact.initial_cost_)
    assert fitted.cost_ == pytest.approx(exact.cost_, rel=0.005)
    assert C[y, fitted.decide(proba)].mean() == pytest.approx(fitted.cost_)
    assert (np.diff(fitted.path_) <= 1e-12).all()


def test_chunks_may_be_a_function_and_carry_weights_and_costs():
    proba, y = draw(n=3000)
    weight = np.random.default_rng(0).integers(1, 4, size=3000)

    def read():
        for part in np.array_split(np.arange(3000), 3):
            yield proba[part], y[part], {"sample_weight": weight[part], "costs": C[y[part]]}

    fitted = ParallelPartition().fit_chunks(read)
    assert_allclose(fitted.cost_matrix_, C)
    paid = np.average(C[y, fitted.decide(proba)], weights=weight)
    assert fitted.cost_ == pytest.approx(paid)
    rarity = ParallelPartition(cost_matrix="rarity").fit_chunks([(proba, y)])
    whole = ParallelPartition(cost_matrix="rarity").fit(proba, y)
    assert_allclose(rarity.cost_matrix_, whole.cost_matrix_)


def test_bad_input():
    proba, y = draw(n=30)
    with pytest.raises(ValueError, match="spacing='even' is unknown"):
        SweepHistogram(spacing="even")
    with pytest.raises(ValueError, match="finite ends"):
        SweepHistogram(0.0, np.inf)
    with pytest.raises(ValueError, match="of one grid"):
        SweepHistogram(n_bins=4).merge(SweepHistogram(n_bins=5))
    with pytest.raises(ValueError, match="There are no chunks"):
        ParallelPartition().fit_chunks([])
    with pytest.raises(ValueError, match="set shrink=False"):
        ParallelPartition(shrink=True).fit_chunks([(proba, y)])
    with pytest.raises(ValueError, match="no validation example of 3"):
        ParallelPartition(classes=[0, 1, 3]).fit_chunks([(proba, np.minimum(y, 1))])
    with pytest.raises(ValueError, match="fitted by partial_fit can be merged"):
        BinaryThreshold().merge(BinaryThreshold())
    proba, y = draw(n=30, n_classes=2)
    with pytest.raises(ValueError, match="counts the classes of y"):
        BinaryThreshold(cost_matrix="rarity").partial_fit(proba, y)
    with pytest.raises(ValueError, match="needs method="):
        BinaryThreshold(method="theoretical").partial_fit(proba, y)
    first = BinaryThreshold().partial_fit(proba[y == 1], y[y == 1], classes=[0, 1])
    other = BinaryThreshold().partial_fit(proba, np.array(["a", "b"])[y])
    with pytest.raises(ValueError, match="different classes"):
        first.merge(other)
