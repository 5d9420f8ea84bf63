import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from stakes.costs import CostMatrix, CostWarning
from stakes.costs.arithmetic import equal_risk_point

# Rows are true classes, columns are decisions; nowhere symmetric.
VALUES = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [64.0, 32.0, 0.0]])
NAMES = ["flu", "cold", "sepsis"]


def test_cost_by_label_is_true_then_predicted():
    C = CostMatrix(VALUES, labels=NAMES)
    assert C.cost(true="sepsis", predicted="flu") == 64
    assert C.cost(true="flu", predicted="sepsis") == 2
    assert CostMatrix(VALUES).cost(true=2, predicted=1) == 32


def test_a_paper_matrix_comes_in_transposed():
    # The slides' table: rows Pred., columns Truth; lending to a defaulter costs 1000.
    C = CostMatrix.from_predicted_true([[0, 10], [1000, 0]], labels=["default", "pays"])
    assert C.cost(true="default", predicted="pays") == 1000
    assert C.cost(true="pays", predicted="default") == 10


def test_rarity_of_classes_without_examples_is_a_number():
    # counts 3, 0, 0: taking an absent class for class 0 costs 3 / 3; between the two absent, 0
    from stakes.costs.arithmetic import rarity_costs

    assert_allclose(rarity_costs(np.array([3, 0, 0])), [[0, 0, 0], [1, 0, 0], [1, 0, 0]])


def test_rarity_by_hand():
    # N = (6, 2, 1). C[true j, pred i] = N_i / (N_i + N_j).
    y = ["a"] * 6 + ["b"] * 2 + ["c"]
    expected = [[0, 2 / 8, 1 / 7], [6 / 8, 0, 1 / 3], [6 / 7, 2 / 3, 0]]
    assert_allclose(CostMatrix.rarity(y).values, expected)


def test_imbalance_by_hand():
    # Missing a minority class k as a majority class j costs n_j / n_k, the reverse 1.
    y = ["a"] * 6 + ["b"] * 2 + ["c"]
    assert_allclose(CostMatrix.imbalance(y).values, [[0, 1, 1], [3, 0, 1], [6, 2, 0]])


def test_benefits_become_costs_that_move_no_decision():
    gains = np.array([[5.0, 0.0], [-20.0, 3.0]])
    C = CostMatrix.from_benefits(gains)
    assert_allclose(C.values, [[0, 5], [23, 0]])
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1], size=200)
    assert_array_equal((p @ gains).argmax(axis=1), (p @ C.values).argmin(axis=1))


def test_from_examples_averages_by_true_class():
    costs = [[0, 1], [0, 3], [7, 0]]
    C = CostMatrix.from_examples(costs, ["x", "x", "a"], labels=["x", "a"])
    assert C.cost(true="x", predicted="a") == 2
    assert C.cost(true="a", predicted="x") == 7


def test_costs_for_gives_each_example_its_row():
    C = CostMatrix(VALUES, labels=NAMES)
    assert_array_equal(C.costs_for(["sepsis", "flu"]), VALUES[[2, 0]])
    with pytest.raises(
        ValueError, match="y has 'gout', but the labels are 'flu', 'cold', 'sepsis'"
    ):
        C.costs_for(["gout"])


def test_frames_align_rows_and_columns_by_label():
    frame = pd.DataFrame(VALUES, index=NAMES, columns=NAMES)[["sepsis", "flu", "cold"]]
    C = CostMatrix.from_frame(frame)
    assert C.cost(true="sepsis", predicted="flu") == 64
    assert_array_equal(C.align(["cold", "flu", "sepsis"]), VALUES[np.ix_([1, 0, 2], [1, 0, 2])])


def test_frames_that_may_be_misspelt_are_warned_of():
    frame = pd.DataFrame(np.eye(2), index=["a", "b"], columns=["a", "c"])
    with pytest.warns(
        CostWarning, match="'b' have no column of costs, and the columns 'c' are no"
    ):
        assert CostMatrix.from_frame(frame).decisions == ("a", "c")
    twice = pd.DataFrame(np.eye(2), index=["a", "a"], columns=["a", "b"])
    with pytest.raises(ValueError, match="name a class twice: 'a'"):
        CostMatrix.from_frame(twice)


def test_csv_round_trip_with_number_labels(tmp_path):
    C = CostMatrix(VALUES, labels=[10, 20, 30])
    C.to_csv(tmp_path / "costs.csv")
    back = CostMatrix.from_csv(tmp_path / "costs.csv")
    assert back.labels == ("10", "20", "30")
    # Text labels of a file meet the numbers of y by their text.
    assert_array_equal(back.align(np.array([20, 10, 30])), VALUES[np.ix_([1, 0, 2], [1, 0, 2])])


@pytest.mark.parametrize(
    "text", ["\ufefft;a;b\na;0;1.5\nb;2;0\n", "t\ta\tb\r\n a\t0\t1.5\r\nb \t2\t0\r\n"]
)
def test_csv_dialects(tmp_path, text):
    path = tmp_path / "costs.csv"
    path.write_text(text, newline="")
    assert CostMatrix.from_csv(path).to_frame().to_numpy().tolist() == [[0, 1.5], [2, 0]]
    assert CostMatrix.from_csv(path).labels == ("a", "b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "costs.csv is empty"),
        ("x,a,b\na,0,1,5,6\nb,2,0\n", "costs.csv is not a table"),
        ("x,a\na,0\n", "costs.csv: a cost matrix needs at least 2 classes"),
        (
            "x,a,b\na,0,one\nb,2,0\n",
            "has 'one' at row 'a', column 'b': every cost must be a number",
        ),
        ("x,a,b\na,0,\nb,2,0\n", "has '' at row 'a', column 'b'"),
        ("x,a,b\na,0,nan\nb,2,0\n", "NaN at row 'a', column 'b'"),
        ("x,a,b\na,0,1\n", "needs at least 2 classes, but this one has 1"),
    ],
)
def test_bad_csv_says_what_and_where(tmp_path, text, message):
    path = tmp_path / "costs.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        CostMatrix.from_csv(path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[0, np.nan], [1, 0]], "NaN at row 0, column 1"),
        ([[0, 1], [np.inf, 0]], "an infinite entry at row 1, column 0"),
        ([[0, "dear"], [1, 0]], "'dear' at row 0, column 1: every cost must be a number"),
        ([[0, 1, 2], [1, 0, 2]], "square, .* has shape \\(2, 3\\)"),
        ([0, 1], "has shape \\(2,\\)"),
        ([[1]], "at least 2 classes"),
    ],
)
def test_bad_values_are_refused_with_their_place(values, message):
    with pytest.raises(ValueError, match=message):
        CostMatrix(values)


def test_bad_labels_are_refused():
    with pytest.raises(ValueError, match="3 rows, but 2 labels"):
        CostMatrix(VALUES, labels=["a", "b"])
    with pytest.raises(ValueError, match="name a class twice: 'a'"):
        CostMatrix(VALUES, labels=["a", "a", "b"])
    with pytest.raises(KeyError, match="no class 'gout'"):
        CostMatrix(VALUES, labels=NAMES).cost(true="gout", predicted="flu")
    with pytest.raises(
        ValueError, match="it lacks 'gout', which y has, and it has 'sepsis', which"
    ):
        CostMatrix(VALUES, labels=NAMES).align(["flu", "cold", "gout"])


def test_it_is_immutable_and_survives_copies():
    C = CostMatrix(VALUES, labels=NAMES)
    with pytest.raises(ValueError, match="read-only"):
        C.values[0, 1] = 5
    with pytest.raises(AttributeError, match="immutable"):
        C._values = np.eye(3)
    for other in (pickle.loads(pickle.dumps(C)), copy.deepcopy(C), clone(C, safe=False)):
        assert other == C
        assert hash(other) == hash(C)
    assert CostMatrix(VALUES) != C


def test_the_source_array_may_change_later():
    source = VALUES.copy()
    C = CostMatrix(source)
    source[0, 1] = 99
    assert C.cost(true=0, predicted=1) == 1


def test_printing_names_the_axes():
    C = CostMatrix([[0, 10], [1000, 0]], labels=["<pays>", "defaults"])
    lines = repr(C).splitlines()
    assert lines[1].startswith("true \\ predicted")
    assert lines[3].split() == ["defaults", "1000", "0"]
    page = C._repr_html_()
    assert "&lt;pays&gt;" in page
    assert "<pays>" not in page
    assert page.index("predicted") < page.index("true")


# -- reasonableness ---------------------------------------------------------------------------


def test_reasonable_matrices_have_no_complaints():
    assert CostMatrix(VALUES).is_reasonable()
    assert CostMatrix.zero_one(4).is_reasonable()


def test_complaints_say_which_cells():
    C = CostMatrix([[5, 1, 6], [4, 0, 7], [9, 8, 0]], labels=NAMES)
    assert C.complaints() == [
        "deciding 'cold' when the truth is 'flu' costs 1, less than deciding 'flu' rightly (5)",
        "deciding 'flu' costs at least as much as deciding 'cold' whatever the truth, "
        "so it never pays",
    ]
    assert not C.is_reasonable()


# -- thresholds -------------------------------------------------------------------------------


def test_threshold_in_the_general_form():
    # fp=10, tn=2, fn=50, tp=1: (10 - 2) / (10 - 2 + 50 - 1) = 8 / 57.
    C = CostMatrix.binary(fp=10, fn=50, tp=1, tn=2)
    assert C.threshold() == pytest.approx(8 / 57)
    p = 8 / 57
    assert (1 - p) * 2 + p * 50 == pytest.approx((1 - p) * 10 + p * 1)


def test_the_slides_german_credit_threshold():
    # Rows Pred., columns True class: predicting good when bad costs 3, the reverse 1.
    C = CostMatrix.from_predicted_true([[0, 3], [1, 0]], labels=["good", "bad"])
    # c* for the class good: C(good, bad) / (C(bad, good) + C(good, bad)) = 3/4.
    assert 1 - C.threshold() == pytest.approx(3 / 4)


def test_threshold_without_sense_is_refused():
    with pytest.raises(ValueError, match=r"\(fp - tn\) \+ \(fn - tp\) = -2"):
        CostMatrix.binary(fp=0, fn=0, tp=1, tn=1).threshold()
    with pytest.raises(ValueError, match="for 2 classes, but this matrix has 3"):
        CostMatrix(VALUES).threshold()


# -- obrien2008, properties 1 to 7, in our orientation (their c is C transposed) ----------------


def decisions(proba, C):
    return (proba @ C).argmin(axis=1)


def random_reasonable(rng, n_classes=3):
    C = rng.uniform(1, 10, size=(n_classes, n_classes))
    np.fill_diagonal(C, 0)
    return C


@pytest.mark.parametrize("seed", range(5))
def test_properties_1_and_3_scale_and_row_shifts_change_nothing(seed):
    rng = np.random.default_rng(seed)
    C, proba = random_reasonable(rng), rng.dirichlet(np.ones(3), size=500)
    assert_array_equal(decisions(proba, C), decisions(proba, 4 * C))
    assert_array_equal(decisions(proba, C), decisions(proba, C + rng.normal(size=(3, 1))))
    # Property 4: so every matrix can be given a zero diagonal.
    assert_array_equal(decisions(proba, C), decisions(proba, C - np.diag(C)[:, None]))


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_property_2_all_decisions_cost_the_same_at_the_equal_risk_point(n_classes):
    rng = np.random.default_rng(n_classes)
    C = random_reasonable(rng, n_classes)
    point = CostMatrix(C).equal_risk_point()
    assert point.sum() == pytest.approx(1)
    assert_allclose(point @ C, np.full(n_classes, (point @ C)[0]))
    # The closed form for full rank, c^{-1} 1 normalised to sum to one.
    direct = np.linalg.solve(C.T, np.ones(n_classes))
    assert_allclose(point, direct / direct.sum())


def test_equal_risk_point_of_zero_one_costs_is_the_centre():
    assert_allclose(CostMatrix.zero_one(4).equal_risk_point(), np.full(4, 0.25))


def test_equal_risk_point_where_the_matrix_is_not_full_rank():
    # Rank 1, yet unique: p1 * 1 + p2 * 2 = p1 * 3 + p2 * 6 with p1 + p2 = 1 at p = (2, -1).
    assert np.linalg.matrix_rank([[1, 3], [2, 6]]) == 1
    assert_allclose(CostMatrix([[1, 3], [2, 6]]).equal_risk_point(), [2, -1])


def test_equal_risk_point_at_infinity():
    # Deciding 1 costs 1 more than deciding 0 whatever the truth: never equal.
    assert CostMatrix([[0, 1], [2, 3]]).equal_risk_point() is None


def test_a_line_of_equal_risk_points_warns():
    # Decisions 1 and 2 cost the same whatever the truth.
    C = CostMatrix([[0, 1, 1], [4, 0, 0], [6, 0, 0]])
    with pytest.warns(CostWarning, match="space of dimension 1"):
        point = C.equal_risk_point()
    assert point.sum() == pytest.approx(1)
    assert_allclose(np.ptp(point @ C.values), 0, atol=1e-12)


def test_property_5_adding_to_a_decision_gives_parallel_boundaries():
    # The boundary between decisions i and k has normal C[:, i] - C[:, k]; adding a constant
    # to column i moves it without turning it within the simplex.
    rng = np.random.default_rng(0)
    C = random_reasonable(rng)
    moved = C.copy()
    moved[:, 1] += 0.5
    for k in (0, 2):
        before, after = C[:, 1] - C[:, k], moved[:, 1] - moved[:, k]
        assert_allclose(after - after.mean(), before - before.mean())  # same in-plane normal
        assert_allclose(after, before + 0.5)


@pytest.mark.parametrize("seed", range(5))
def test_property_6_scaling_a_true_class_moves_the_point_towards_its_corner(seed):
    rng = np.random.default_rng(seed)
    C = random_reasonable(rng, 4)
    point, _ = equal_risk_point(C)
    scaled = C.copy()
    scaled[2] *= 2.5
    moved, _ = equal_risk_point(scaled)
    corner = np.eye(4)[2]
    # moved = b * point + (1 - b) * corner for one b.
    b = (moved[0] - corner[0]) / (point[0] - corner[0])
    assert_allclose(moved, b * point + (1 - b) * corner)
    # Boundaries within the face p_2 = 0 stay.
    face = rng.dirichlet(np.ones(3), size=200)
    face = np.insert(face, 2, 0.0, axis=1)
    assert_array_equal(decisions(face, C), decisions(face, scaled))


@pytest.mark.parametrize("seed", range(5))
def test_property_7_scaling_a_decision_keeps_the_others_equal(seed):
    rng = np.random.default_rng(seed)
    C = random_reasonable(rng, 4)
    scaled = C.copy()
    scaled[:, 1] *= 1.7
    moved, _ = equal_risk_point(scaled)
    others = np.delete(moved @ C, 1)  # under the old costs the others are still equal
    assert_allclose(others, np.full(3, others[0]))


@pytest.mark.parametrize(
    ("corner", "turned"),
    [
        (r"predicted \ true", True),
        ("decided/truth", True),
        ("Prediction vs. actual", True),
        ("predicted", True),
        ("columns: true, rows: predicted", True),
        ("rows predicted columns true", True),
        (r"true \ predicted", False),
        ("actual (down), predicted (across)", False),
        ("columns: predicted, rows: true", False),
        ("predicted (columns), true (rows)", False),
        ("true", False),
        ("", False),
        ("risk", False),
    ],
)
def test_a_corner_that_names_the_decisions_first_turns_the_table_round(tmp_path, corner, turned):
    path = tmp_path / "costs.csv"
    path.write_text(f'"{corner}",bad,good\nbad,0,1\ngood,5,0\n')
    if turned:
        with pytest.warns(CostWarning, match=r"costs.csv: its corner says .* as the decisions"):
            matrix = CostMatrix.from_csv(path)
        assert matrix.cost(true="bad", predicted="good") == 5
    else:
        assert CostMatrix.from_csv(path).cost(true="bad", predicted="good") == 1


def test_a_ragged_cost_table_is_refused(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text("true,bad,good\nbad,0,1,\ngood,5,0,\n")
    with pytest.raises(ValueError, match="header has 3 columns, but line 2 has 4"):
        CostMatrix.from_csv(path)
