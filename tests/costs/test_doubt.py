"""Prices that are guesses: ranges, distributions, samples."""

import pickle

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from stakes.costs import CostMatrix, UncertainCostMatrix, make_costs
from stakes.decision import MinimumExpectedCost


def test_the_mean_of_each_kind_of_cell():
    # (4, 10) is 7 on average, the triangle (0, 3, 9) is (0 + 3 + 9) / 3 = 4.
    C = UncertainCostMatrix([[0, (4, 10), 1], [(0, 3, 9), 0, 2], [stats.norm(5, 1), 2, 0]])
    assert C.values.tolist() == [[0, 7, 1], [4, 0, 2], [5, 2, 0]]
    assert C.low[0, 1] == 4
    assert C.high[0, 1] == 10
    assert C.low[1, 0] == 0
    assert C.high[1, 0] == 9
    assert C.uncertain.tolist() == [[0, 1, 0], [1, 0, 0], [1, 0, 0]]
    drawn = C.sample(2000)
    assert np.allclose(drawn.mean(axis=0), C.values, atol=0.02)
    assert (drawn[:, 0, 1] >= 4).all()
    assert (drawn[:, 0, 1] <= 10).all()
    triangle = stats.triang(1 / 3, 0, 9)
    assert stats.kstest(drawn[:, 1, 0], triangle.cdf).statistic < 0.005
    assert np.array_equal(drawn, C.sample(2000))
    assert not np.array_equal(drawn, C.sample(2000, 1))


def test_samples_keep_what_hangs_together():
    rng = np.random.default_rng(0)
    size = rng.lognormal(size=500)
    samples = np.zeros((500, 2, 2))
    samples[:, 0, 1], samples[:, 1, 0] = size, 3 * size
    C = UncertainCostMatrix.from_samples(samples)
    drawn = C.sample(100, random_state=1)
    assert drawn.shape == (100, 2, 2)
    assert np.allclose(drawn[:, 1, 0], 3 * drawn[:, 0, 1])
    assert not C.independent
    assert not C.is_box


def test_labels_are_aligned_and_copies_are_equal():
    C = UncertainCostMatrix([[0, 1], [(5, 15), 0]], labels=["no", "ever"])
    turned = C.aligned(["ever", "no"])
    assert turned.values.tolist() == [[0, 10], [1, 0]]
    assert turned.low.tolist() == [[0, 5], [1, 0]]
    assert pickle.loads(pickle.dumps(C)) == C
    assert hash(pickle.loads(pickle.dumps(C))) == hash(C)
    assert UncertainCostMatrix([[0, 1], [(4, 16), 0]], labels=["no", "ever"]) != C
    drawn = UncertainCostMatrix.from_samples(C.sample(5), labels=["no", "ever"])
    assert pickle.loads(pickle.dumps(drawn)) == drawn
    assert clone(MinimumExpectedCost(cost_matrix=C)).cost_matrix == C
    costs = make_costs(np.array([0, 1]), classes=["ever", "no"], cost_matrix=C)
    assert costs.doubt.high.tolist() == [[0, 15], [1, 0]]
    assert costs.take([0]).doubt is costs.doubt
    assert costs.matrix.tolist() == [[0, 10], [1, 0]]


def test_a_table_of_ranges_goes_to_a_file_and_back(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text("true \\ predicted,yes,no\nno,5..20,0\nyes,0,100 to 300\n")
    C = UncertainCostMatrix.from_csv(path)
    assert C.labels == ("no", "yes")
    assert C.low.tolist() == [[0, 5], [100, 0]]
    assert C.high.tolist() == [[0, 20], [300, 0]]
    C = UncertainCostMatrix([[0, (5, 8, 20)], [7, 0]], labels=["=no", "yes"])
    C.to_csv(path)
    assert UncertainCostMatrix.from_csv(path) == C
    path.write_text("predicted \\ true,a,b\na,0,1..2\nb,5,0\n")
    with pytest.warns(UserWarning, match="rows were read as the decisions"):
        turned = UncertainCostMatrix.from_csv(path)
    assert turned.high.tolist() == [[0, 5], [2, 0]]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: UncertainCostMatrix([[0, (20, 5)], [1, 0]], labels=["a", "b"]),
            "The range at row 'a', column 'b' is upside down, 20..5: give the lowest price",
        ),
        (lambda: UncertainCostMatrix.from_ranges([[0, 9], [1, 0]], [[0, 5], [1, 0]]), "upside"),
        (lambda: UncertainCostMatrix([[0, (1, 2, 3, 4)], [1, 0]]), "has 4 numbers"),
        (lambda: UncertainCostMatrix([[0, (1, np.inf)], [1, 0]]), "must be a finite number"),
        (lambda: UncertainCostMatrix([[0, 1], [1]]), "as many cells in each row"),
        (lambda: UncertainCostMatrix([[0, stats.cauchy()], [1, 0]]), "no finite mean"),
        (lambda: UncertainCostMatrix.from_samples([[0, 1], [1, 0]]), "must have shape"),
        (lambda: UncertainCostMatrix.from_ranges([[0, 1]], [[0, 1], [1, 0]]), "of one size"),
        (
            lambda: UncertainCostMatrix([[0, stats.norm()], [1, 0]]).to_csv(),
            "Only ranges can be written",
        ),
    ],
)
def test_bad_ranges_are_refused_in_one_sentence(make, said):
    with pytest.raises(ValueError, match=said) as caught:
        make()
    assert str(caught.value).count(". ") == 0


def test_a_file_with_a_range_upside_down_is_named(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text(",a,b\na,0,20..5\nb,1,0\n")
    with pytest.raises(ValueError, match=r"prices.csv: the range at row 'a', column 'b' is ups"):
        UncertainCostMatrix.from_csv(path)
    with pytest.raises(ValueError, match=r"has '20..5' at row 'a', column 'b'"):
        CostMatrix.from_csv(path)
