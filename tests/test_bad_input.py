"""Bad input gets one clear sentence from every cost-sensitive estimator."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from stakes.costs import CostMatrix
from stakes.decision import CostDecisionClassifier
from tests.instances import cost_sensitive_estimators, make_instance

C = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [64.0, 32.0, 0.0]])
rng = np.random.RandomState(0)
Y = np.arange(30) % 3
X = rng.normal(size=(30, 2)) + Y[:, None]
NAMES = np.array(["a", "b", "c"])

CLASSES = cost_sensitive_estimators()


def with_entry(value):
    bad = C.astype(object)
    bad[0, 1] = value
    return bad.tolist()


BAD_MATRICES = {
    "nan": (with_entry(np.nan), Y, "cost_matrix has NaN at row 0, column 1"),
    "infinity": (with_entry(np.inf), Y, "cost_matrix has an infinite entry at row 0, column 1"),
    "text": (with_entry("costly"), Y, "cost_matrix has 'costly' at row 0, column 1"),
    "rows": (C[:2, :2], Y, "cost_matrix has 2 rows, one per true class, but y has 3 classes"),
    "columns": (C[:, :2], Y, "cost_matrix has 2 columns, one per decision, but y has 3 classes"),
    "labels": (
        CostMatrix(C, labels=["x", "y", "z"]),
        NAMES[Y],
        "lacks 'a', 'b', 'c', which y has",
    ),
    "class missing": (CostMatrix(C[:2, :2], labels=["a", "b"]), NAMES[Y], "it lacks 'c', which y"),
    "all equal": (np.zeros((3, 3)), Y, "cost_matrix is all zero: every decision costs the same"),
}
BAD_COSTS = {
    "nan": (np.where(np.eye(30, 3), np.nan, 1.0), "costs has NaN at row 0, column 0"),
    "text": ([["x", 1, 2]] * 30, "costs has 'x' at row 0, column 0"),
    "rows": (C[Y][:20], "costs has 20 rows, one per example, but X has 30"),
    "columns": (C[Y][:, :2], "costs has 2 columns, one per decision, but there are 3 classes"),
    "all zero": (np.zeros((30, 3)), "costs is all zero: every decision costs the same"),
}


@pytest.mark.parametrize("case", BAD_MATRICES)
@pytest.mark.parametrize("cls", CLASSES)
def test_bad_cost_matrix(cls, case):
    matrix, y, message = BAD_MATRICES[case]
    model = make_instance(cls).set_params(cost_matrix=matrix)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


@pytest.mark.parametrize("case", BAD_COSTS)
@pytest.mark.parametrize("cls", CLASSES)
def test_bad_costs(cls, case):
    costs, message = BAD_COSTS[case]
    model = make_instance(cls)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y, costs=costs)


@pytest.mark.parametrize("cls", CLASSES)
def test_matrix_and_costs_together(cls):
    model = make_instance(cls).set_params(cost_matrix=C)
    with pytest.raises(ValueError, match="Give either cost_matrix or costs, not both"):
        model.fit(X, Y, costs=C[Y])


@pytest.mark.parametrize("cls", CLASSES)
def test_one_class(cls):
    model = make_instance(cls)
    with pytest.raises(
        ValueError, match="y has only one class, .*: a classifier needs at least 2"
    ):
        model.fit(X, np.zeros(30, dtype=int))


@pytest.mark.parametrize("cls", CLASSES)
def test_empty_x(cls):
    model = make_instance(cls)
    with pytest.raises(ValueError, match="0 (sample|example)"):
        model.fit(np.empty((0, 2)), np.empty(0))


def test_sparse_x_is_served_where_the_base_learner_serves_it():
    model = CostDecisionClassifier(LogisticRegression(), cost_matrix=C)
    dense = model.fit(X, Y).predict(X)
    assert (model.fit(sparse.csr_matrix(X), Y).predict(sparse.csr_matrix(X)) == dense).all()
