import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from stakes.costs import (
    CostMatrix,
    CostWarning,
    binary_cost_tensor,
    check_cost_matrix,
    check_costs,
    cost_tensor_from_columns,
    make_costs,
    random_abe,
    random_uniform,
)

C = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [64.0, 32.0, 0.0]])
CLASSES = np.array(["a", "b", "c"])


@pytest.mark.parametrize(
    "given",
    [
        C,
        C.tolist(),
        CostMatrix(C),
        CostMatrix(C[::-1, ::-1], labels=["c", "b", "a"]),
        pd.DataFrame(C, index=CLASSES, columns=CLASSES)[["b", "a", "c"]],
    ],
    ids=["array", "list", "matrix", "labelled", "frame"],
)
def test_every_form_of_a_matrix_gives_the_same_array(given):
    assert_array_equal(check_cost_matrix(given, classes=CLASSES), C)


def test_heuristics_by_name():
    y = np.array(["a"] * 6 + ["b"] * 2 + ["c"])
    assert_array_equal(check_cost_matrix(None, classes=CLASSES), 1 - np.eye(3))
    assert_array_equal(check_cost_matrix("zero_one", classes=CLASSES), 1 - np.eye(3))
    assert_allclose(check_cost_matrix("rarity", classes=CLASSES, y=y), CostMatrix.rarity(y).values)
    assert_allclose(
        check_cost_matrix("imbalance", classes=CLASSES, y=y), CostMatrix.imbalance(y).values
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.eye(2), "cost_matrix has 2 rows, one per true class, but y has 3 classes"),
        (C[:, :2], "cost_matrix has 2 columns, one per decision, but y has 3 classes"),
        (C[None], "2 axes, true and decided, but it has 3: per-example costs go to fit"),
        (
            CostMatrix(C, labels=["a", "b", "d"]),
            "it lacks 'c', which y has, and it has 'd', which y",
        ),
        (CostMatrix(np.eye(2)), "has 2 rows, one per true class, but y has 3"),
        ("rare", "cost_matrix='rare' is unknown: use one of 'zero_one', 'rarity', 'imbalance'"),
        ("rarity", "no y is known here"),
    ],
)
def test_bad_matrices_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        check_cost_matrix(given, classes=CLASSES)


def test_a_heuristic_on_a_y_that_lacks_a_class_is_refused():
    with pytest.raises(ValueError, match="y has no 'c'"):
        check_cost_matrix("imbalance", classes=CLASSES, y=["a", "b"])


def test_an_unreasonable_matrix_warns_once_with_its_cells():
    bad = C.copy()
    bad[0, 0] = 1.5
    with pytest.warns(CostWarning, match="deciding 'b' when the truth is 'a' costs 1, less than"):
        check_cost_matrix(bad, classes=CLASSES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_cost_matrix(bad, classes=CLASSES, warn=False)


@pytest.mark.parametrize(
    ("costs", "name", "message"),
    [
        (C, "costs", "costs has 3 rows, one per example, but X has 2"),
        (C[:2, :2], "costs", "costs has 2 columns, one per decision, but there are 3 classes"),
        (
            C[0],
            "costs",
            "shape \\(n_samples, n_decisions\\), .* One weight per example is called sample",
        ),
        (C[None], "costs", "by \\[example, true, decided\\] are called cost_tensor"),
        (C[:2], "cost_tensor", "must have shape \\(n_samples, n_classes, n_decisions\\)"),
        (np.zeros((2, 2, 3)), "cost_tensor", "has 2 true classes on its second axis"),
        (np.zeros((2, 3, 2)), "cost_tensor", "has 2 columns, one per decision"),
        ([[0, 1, np.nan], [0, 1, 2]], "costs", "costs has NaN at row 0, column 2"),
        ([[0, 1, 2], [0, "x", 2]], "costs", "costs has 'x' at row 1, column 1"),
        (np.full((2, 3, 3), np.inf), "cost_tensor", "infinite entry at example 0, true class 0"),
    ],
)
def test_bad_example_costs_are_refused(costs, name, message):
    with pytest.raises(ValueError, match=message):
        check_costs(costs, n_samples=2, classes=CLASSES, name=name)


def test_columns_of_a_frame_are_aligned():
    frame = pd.DataFrame(C, columns=CLASSES)
    assert_array_equal(check_costs(frame[["c", "a", "b"]], n_samples=3, classes=CLASSES), C)
    other = frame.rename(columns={"a": "x"})
    with pytest.raises(ValueError, match="of costs are 'x', 'b', 'c', but the decisions are 'a'"):
        check_costs(other, n_samples=3, classes=CLASSES, decisions=CLASSES)
    with pytest.warns(
        CostWarning, match="classes 'a' have no column of costs, and the columns 'x'"
    ):
        check_costs(other, n_samples=3, classes=CLASSES)


# -- which costs are in force -------------------------------------------------------------------


def test_class_costs_build_nothing_per_example():
    y = np.array([2, 0, 1, 1])
    training = make_costs(y, classes=CLASSES, cost_matrix=C)
    assert training.by_class
    assert training.costs is None
    assert_array_equal(training.rows(), C[y])
    assert_array_equal(training.of(np.array([0, 0, 2, 1])), [64, 0, 1, 0])
    assert_array_equal(training.take([0, 2]).rows(), C[[2, 1]])


def test_example_costs_and_tensor_agree():
    y = np.array([2, 0, 1])
    tensor = np.stack([C, 2 * C, 3 * C])
    by_tensor = make_costs(y, classes=CLASSES, cost_tensor=tensor)
    by_rows = make_costs(y, classes=CLASSES, costs=np.stack([C[2], 2 * C[0], 3 * C[1]]))
    assert_array_equal(by_tensor.rows(), by_rows.rows())
    assert_array_equal(by_rows.shifted_rows().min(axis=1), 0)
    assert_allclose(by_rows.class_matrix(), [2 * C[0], 3 * C[1], C[2]])
    assert not by_rows.by_class


def test_two_sources_of_costs_are_refused():
    with pytest.raises(ValueError, match="Give either cost_matrix or costs, not both"):
        make_costs(np.array([0, 1, 2]), classes=CLASSES, cost_matrix=C, costs=C)


def test_costs_that_say_nothing_are_refused():
    y = np.array([0, 1, 2])
    with pytest.raises(ValueError, match="costs is all zero: every decision costs the same"):
        make_costs(y, classes=CLASSES, costs=np.zeros((3, 3)))
    with pytest.raises(ValueError, match="cost_matrix has the same cost for every decision"):
        make_costs(y, classes=CLASSES, cost_matrix=np.ones((3, 3)) * [[1], [2], [3]])


# -- converters and generators ---------------------------------------------------------------------


def test_binary_tensor_from_scalars_and_arrays():
    tensor = binary_cost_tensor(fp_cost=[2, 3], fn_cost=50, tp_cost=1)
    assert_array_equal(tensor, [[[0, 2], [50, 1]], [[0, 3], [50, 1]]])
    assert binary_cost_tensor(fp_cost=1, fn_cost=2, n_samples=4).shape == (4, 2, 2)
    assert_array_equal(cost_tensor_from_columns([[2, 50, 1, 0], [3, 50, 1, 0]]), tensor)


def test_bad_binary_costs_are_refused():
    with pytest.raises(ValueError, match="different lengths: {'fp_cost': 2, 'fn_cost': 3}"):
        binary_cost_tensor(fp_cost=[1, 2], fn_cost=[1, 2, 3])
    with pytest.raises(ValueError, match="say n_samples, or use CostMatrix.binary"):
        binary_cost_tensor(fp_cost=1, fn_cost=2)
    with pytest.raises(ValueError, match=r"an \(n, 4\) array, but this one has shape \(2, 3\)"):
        cost_tensor_from_columns(np.ones((2, 3)))


def test_a_single_number_has_no_place():
    with pytest.raises(ValueError, match=r"^fp_cost is 1e\+308: give costs in a larger unit"):
        binary_cost_tensor(fp_cost=1e308, fn_cost=[1, 2])
    with pytest.raises(ValueError, match="^fn_cost is NaN: every cost must be a finite number"):
        binary_cost_tensor(fp_cost=1, fn_cost=np.nan, n_samples=2)


def test_random_abe_stays_within_its_bounds_and_repeats():
    y = np.array(["a"] * 60 + ["b"] * 30 + ["c"] * 10)
    draws = np.stack([random_abe(y, random_state=s).values for s in range(300)])
    share = np.array([0.6, 0.3, 0.1])
    high = 2000 * share[None, :] / share[:, None]  # P(predicted) / P(true)
    np.fill_diagonal(high, 0)
    assert (draws <= high).all()
    off = ~np.eye(3, dtype=bool)
    assert_allclose(draws.mean(axis=0)[off], high[off] / 2, rtol=0.12)
    assert random_abe(y, random_state=3) == random_abe(y, random_state=3)


def test_random_uniform_bounds():
    draw = random_uniform(["a", "b", "c"], random_state=0)
    off = ~np.eye(3, dtype=bool)
    assert draw.labels == ("a", "b", "c")
    assert (draw.values[off] >= 1).all()
    assert (draw.values[off] <= 10).all()
    with pytest.raises(ValueError, match="low must not exceed high"):
        random_uniform(3, 5, 1)
