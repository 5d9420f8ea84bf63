"""Decisions that are not the classes: in matrices, tables, files and costs of examples."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from stakes.costs import (
    CostMatrix,
    CostTensor,
    CostWarning,
    UncertainCostMatrix,
    check_cost_matrix,
    check_costs,
    churn_costs,
    credit_costs,
    fraud_costs,
    maintenance_costs,
    make_costs,
    triage_costs,
)

# A payment is honest or fraud; it can be approved, looked at, or blocked.
VALUES = np.array([[0.0, 3.0, 9.0], [100.0, 13.0, 0.0]])
TRUTHS, ACTIONS = ("honest", "fraud"), ("approve", "review", "block")
MATRIX = CostMatrix(VALUES, TRUTHS, ACTIONS)


def test_prices_are_read_by_name():
    assert MATRIX.cost(true="fraud", decided="review") == 13
    assert MATRIX.cost(true="fraud", predicted="review") == 13
    assert (MATRIX.n_classes, MATRIX.n_decisions) == (2, 3)
    assert (MATRIX.labels, MATRIX.decisions) == (TRUTHS, ACTIONS)
    assert_array_equal(MATRIX.costs_for(["fraud", "honest"]), VALUES[[1, 0]])
    assert_array_equal(MATRIX.normalized().values, VALUES)
    assert not MATRIX.decides_classes


def test_rows_follow_the_classes_and_columns_stay():
    assert_array_equal(MATRIX.align(["fraud", "honest"]), VALUES[::-1])
    assert_array_equal(check_cost_matrix(MATRIX, classes=["fraud", "honest"]), VALUES[::-1])


def test_columns_that_are_the_classes_are_put_in_their_order():
    turned = CostMatrix([[5, 0], [0, 7]], ["a", "b"], decisions=["b", "a"])
    assert turned.decides_classes
    assert turned == CostMatrix([[0, 5], [7, 0]], ["a", "b"])
    drawn = UncertainCostMatrix([[(4, 6), 0], [0, 7]], ["a", "b"], ["b", "a"])
    assert_array_equal(drawn.low, [[0, 4], [7, 0]])


def test_a_name_that_is_a_class_is_one_label():
    found = make_costs(
        [0, 1],
        classes=[0, 1],
        cost_matrix=pd.DataFrame(
            [[0, 5, 1], [9, 0, 1]], index=["0", "1"], columns=["0", "1", "ask"]
        ),
    )
    assert found.choices.labels == (0, 1, "ask")
    assert_array_equal(found.decision_of_class, [0, 1])


def test_round_trips(tmp_path):
    assert pickle.loads(pickle.dumps(MATRIX)) == MATRIX
    assert CostMatrix.from_frame(MATRIX.to_frame()) == MATRIX
    MATRIX.to_csv(tmp_path / "costs.csv")
    assert CostMatrix.from_csv(tmp_path / "costs.csv") == MATRIX
    assert (tmp_path / "costs.csv").read_text().startswith("true \\ decided,approve,review")
    doubt = UncertainCostMatrix([[0, (2, 4), 9], [100, 13, 0]], TRUTHS, ACTIONS)
    doubt.to_csv(tmp_path / "doubt.csv")
    assert UncertainCostMatrix.from_csv(tmp_path / "doubt.csv") == doubt
    assert pickle.loads(pickle.dumps(doubt)) == doubt
    assert doubt.sample(3).shape == (3, 2, 3)


def test_it_is_shown_with_the_names_of_its_columns():
    assert repr(MATRIX).splitlines()[1].split() == ["true", "\\", "decided", *ACTIONS]
    assert "<th>approve</th>" in MATRIX._repr_html_()


def test_other_constructors_name_decisions():
    gains = CostMatrix.from_benefits(-VALUES, TRUTHS, ACTIONS)
    assert gains == MATRIX
    assert CostMatrix.from_predicted_true(VALUES.T, TRUTHS, ACTIONS) == MATRIX
    costs = pd.DataFrame([[0, 2, 9], [0, 4, 9], [100, 13, 0]], columns=ACTIONS)
    found = CostMatrix.from_examples(costs, ["honest", "honest", "fraud"])
    assert found.cost(true="honest", decided="review") == 3
    assert found.decisions == ACTIONS


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (VALUES, ""),
        # Lending half of it costs 5 on average: never less than the better of the two
        ([[0, 9, 5], [9, 0, 5]], "deciding 'block' is never the cheapest"),
        ([[0, 9, 10], [9, 0, 5]], "'block' costs at least as much as deciding 'review'"),
        ([[3, 3, 3], [9, 5, 0]], "the truth is 'honest' every decision costs the same, 3"),
    ],
)
def test_what_is_unreasonable_is_said(values, said):
    matrix = CostMatrix(values, TRUTHS, ACTIONS)
    assert matrix.is_reasonable() == (not said)
    assert said in "; ".join(matrix.complaints())
    if said:
        with pytest.warns(CostWarning, match="cost_matrix is unreasonable"):
            check_cost_matrix(matrix, classes=TRUTHS)


def test_example_costs_name_their_decisions():
    frame = pd.DataFrame(VALUES, columns=ACTIONS)
    found = make_costs([0, 1], classes=TRUTHS, costs=frame)
    assert (found.n_classes, found.n_decisions, found.choices.labels) == (2, 3, ACTIONS)
    assert_array_equal(found.class_matrix(), VALUES)
    again = make_costs([0, 1], classes=TRUTHS, **found.fit_arguments())
    assert again.choices.labels == ACTIONS
    known = {"n_samples": 2, "classes": TRUTHS, "decisions": ACTIONS}
    assert_array_equal(check_costs(frame[["block", "approve", "review"]], **known), VALUES)


def test_tensors_name_their_decisions():
    tensor = CostTensor(np.stack([VALUES] * 3), ACTIONS)
    found = make_costs([0, 1, 1], classes=TRUTHS, cost_tensor=tensor[[0, 2, 1]])
    assert found.choices.labels == ACTIONS
    assert_array_equal(found.take([1]).rows(), VALUES[[1]])
    assert pickle.loads(pickle.dumps(tensor[1:])).decisions == ACTIONS
    again = make_costs([0, 1, 1], classes=TRUTHS, **found.fit_arguments())
    assert again.choices.labels == ACTIONS
    assert tensor[:, :, 0].decisions is None


def test_square_costs_know_no_other_decisions():
    square = CostMatrix([[0, 1], [5, 0]], ["a", "b"])
    assert square.decisions == ("a", "b")
    assert make_costs([0, 1], classes=["a", "b"], cost_matrix=square).choices is None
    frame = pd.DataFrame([[1.0, 0.0], [0.0, 5.0]], columns=["b", "a"])
    found = make_costs([0, 1], classes=["a", "b"], costs=frame)
    assert found.choices is None
    assert_array_equal(found.rows(), [[0, 1], [5, 0]])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: CostMatrix(VALUES),
            r"shape \(2, 3\). Where decisions .* name them: CostMatrix\(",
        ),
        (lambda: CostMatrix(VALUES, TRUTHS, ACTIONS[:2]), "3 columns, but 2 decisions were given"),
        (lambda: CostMatrix(VALUES, ["honest"], ACTIONS), "2 rows, but 1 labels were given"),
        (lambda: CostMatrix(VALUES, TRUTHS, ["a", "b", "a"]), "more than one column for 'a'"),
        (lambda: CostMatrix(VALUES[:, :1], TRUTHS, ["a"]), "at least 2 decisions, but this one"),
        (lambda: CostMatrix(VALUES[:1], ["a"], ACTIONS), "at least 2 classes, but this one has 1"),
        (lambda: CostMatrix(VALUES[0], TRUTHS, ACTIONS), "has 2 axes"),
        (lambda: MATRIX.cost(true="fraud"), "needs true= and one of"),
        (lambda: MATRIX.cost(true="fraud", decided="shrug"), "no decision 'shrug' .* 'approve'"),
        (
            lambda: MATRIX.threshold(),
            "for decisions that are the classes, but these are 'approve'",
        ),
        (lambda: MATRIX.equal_risk_point(), "for decisions that are the classes"),
        (lambda: MATRIX.align(["approve", "review"]), "Its columns are these classes: turn it"),
        (lambda: MATRIX.align(["yes", "no"]), "it lacks 'yes', 'no', which y has"),
        (
            lambda: check_cost_matrix(VALUES, classes=TRUTHS),
            "3 columns, one per decision, but y has 2 classes.* name them: CostMatrix",
        ),
        (
            lambda: check_cost_matrix(VALUES[:, :2], classes=TRUTHS, decisions=ACTIONS),
            "has 2 columns, one per decision, but there are 3 decisions: 'approve'",
        ),
        (
            lambda: check_cost_matrix(MATRIX, classes=TRUTHS, decisions=["lend", "decline"]),
            "are 'approve', 'review', 'block', but the decisions are 'lend', 'decline'",
        ),
        (
            lambda: check_cost_matrix("rarity", classes=TRUTHS, decisions=ACTIONS),
            "prices decisions that are the classes, but these are 'approve'",
        ),
        (
            lambda: check_costs(VALUES, n_samples=2, classes=TRUTHS),
            "3 columns, .* 2 classes.* give a DataFrame with a column for each decision",
        ),
        (
            lambda: check_costs(
                np.stack([VALUES] * 2), n_samples=2, classes=TRUTHS, name="cost_tensor"
            ),
            r"name them: CostTensor\(cost_tensor, decisions",
        ),
        (
            lambda: check_costs(VALUES, n_samples=2, classes=TRUTHS, decisions=ACTIONS[:2]),
            "has 3 columns, one per decision, but there are 2 decisions",
        ),
        (
            lambda: check_costs(
                pd.DataFrame(VALUES, columns=["a", "a", "b"]), n_samples=2, classes=TRUTHS
            ),
            "costs has more than one column for 'a'",
        ),
        (
            lambda: check_costs(pd.DataFrame({"a": [1, 2]}), n_samples=2, classes=TRUTHS),
            "one column, 'a': with one decision there is nothing to decide",
        ),
        (lambda: CostTensor(VALUES, ACTIONS), "has the axes example, true and decided"),
        (lambda: UncertainCostMatrix([[0, (1, 2), 3], [4, 5, 6]]), "is square"),
    ],
)
def test_bad_names_are_refused_in_one_sentence(make, said):
    with pytest.raises((ValueError, TypeError, KeyError), match=said) as caught:
        make()
    assert len(str(caught.value)) < 320


# -- tables with a name ----------------------------------------------------------------------------------


def test_kinds_are_decided_where_two_are_as_likely():
    matrix = CostMatrix.taxonomy({"animal": {"cat": None, "dog": None}, "car": 3})
    assert matrix.is_reasonable()
    expected = np.array([[0.5, 0.5, 0.0], [0.8, 0.2, 0.0], [0.0, 0.1, 0.9]]) @ matrix.values
    assert [matrix.decisions[d] for d in expected.argmin(axis=1)] == ["animal", "cat", "car"]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: CostMatrix.ordinal(["a", "b"], power=0), "power=0 must be a number above 0"),
        (lambda: CostMatrix.ordinal(["a"]), "at least 2 classes"),
        (lambda: CostMatrix.ordinal(["a", "a"]), "name a class twice: 'a'"),
        (lambda: CostMatrix.taxonomy({"a": {"b": 1}, "b": 1}), "names 'b' twice"),
        (lambda: CostMatrix.taxonomy({"a": {}, "b": 1}), "'a' has nothing below it"),
        (lambda: CostMatrix.taxonomy({"a": "dear", "b": 1}), "a is 'dear': every cost must be"),
    ],
)
def test_bad_orders_and_kinds_are_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.parametrize(
    "template", [credit_costs, fraud_costs, churn_costs, maintenance_costs, triage_costs]
)
def test_templates_are_reasonable(template):
    assert template().complaints() == []
