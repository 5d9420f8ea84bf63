"""Sparse X decides as the dense X that it stands for; the engine of trees never makes that one."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from stakes.auto import StakesClassifier
from stakes.auto._table import MOST_VALUES
from stakes.boosting import AdaBoostMMClassifier, CoMBoClassifier
from stakes.compare import compare, fit_model
from stakes.reductions import (
    CostingClassifier,
    CostSensitiveOneVsOneClassifier,
    DataSpaceExpansionClassifier,
    GBSEClassifier,
    IterativeWeightingClassifier,
    MetaCostClassifier,
)
from stakes.tree import CostForestClassifier, CostTreeClassifier
from stakes.tree._binning import Bins
from tests.instances import cost_sensitive_estimators, make_instance

# Missing the last class is expensive; never symmetric.
C = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [9.0, 4.0, 0.0]])
N = 90
Y = np.arange(N) % 3
MUST = [
    AdaBoostMMClassifier,
    CoMBoClassifier,
    CostForestClassifier,
    CostSensitiveOneVsOneClassifier,
    CostTreeClassifier,
    CostingClassifier,
    DataSpaceExpansionClassifier,
    GBSEClassifier,
    IterativeWeightingClassifier,
    MetaCostClassifier,
    StakesClassifier,
]
FORMS = {
    "csr_matrix": sparse.csr_matrix,
    "csc_array": sparse.csc_array,
    "coo_matrix": sparse.coo_matrix,
    "coo_array": sparse.coo_array,
    "frame": lambda X: pd.DataFrame.sparse.from_spmatrix(sparse.csc_matrix(X)),
}


def make_data(missing=False):
    """Return fractions of both signs among zeros, and small whole numbers."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(N, 6)) + Y[:, None] * (np.arange(6) < 3)
    X[rng.random_sample(X.shape) < 0.6] = 0.0
    X[:, 5] = rng.randint(0, 3, N)
    if missing:
        X[rng.random_sample(X.shape) < 0.05] = np.nan
    return X


def make(cls):
    model = make_instance(cls).set_params(cost_matrix=C)
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


@pytest.mark.parametrize("cls", cost_sensitive_estimators(), ids=lambda cls: cls.__name__)
@pytest.mark.filterwarnings("ignore")  # tiny data
def test_sparse_decides_as_dense_or_is_refused_in_words(cls):
    X, model = make_data(), make(cls)
    if not get_tags(model).input_tags.sparse:
        assert cls not in MUST
        with pytest.raises(TypeError, match="dense data is required. Use .*toarray"):
            clone(model).fit(sparse.csr_matrix(X), Y)
        return
    wanted = clone(model).fit(X, Y)
    for name, form in FORMS.items():
        fitted = clone(model).fit(form(X), Y)
        assert_array_equal(fitted.predict(form(X)), wanted.predict(X), err_msg=name)
        if cls in MUST and hasattr(model, "predict_proba"):
            assert_array_equal(fitted.predict_proba(form(X)), wanted.predict_proba(X))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("max_bins", [2, 4, 255])
def test_bins_of_a_sparse_matrix_are_those_of_the_dense_one(max_bins, missing):
    X = make_data(missing)
    dense, thin = (Bins.fit(form(X), max_bins) for form in (np.asarray, sparse.csc_array))
    for one, other in zip(dense.edges, thin.edges, strict=True):
        assert_array_equal(one, other)
    new = make_data()[::-1] - 0.01
    for rows in (X, new):
        assert_array_equal(
            dense.transform(rows).codes, thin.transform(sparse.csc_array(rows)).codes
        )


def test_a_sparse_column_by_hand():
    # 0, 0, 3, -1 and a stored gap: cuts at -0.5 and 1.5, the gap in the bin after the last.
    column = sparse.csc_array(([3.0, -1.0, np.nan], ([2, 3, 4], [0, 0, 0])), shape=(5, 1))
    bins = Bins.fit(column)
    assert bins.edges[0].tolist() == [-0.5, 1.5]
    assert bins.transform(column).codes.tolist() == [[1, 1, 2, 0, 3]]


def test_values_stored_in_parts_are_added_up():
    # Row 2 holds 1 + 2, stored twice; the user's matrix stays as it was.
    parts = sparse.csr_array(
        (np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 0, 0, 2, 2])), (4, 1)
    )
    X = sparse.csc_array(parts.shape)
    X.data, X.indices, X.indptr = np.array([1.0, 2.0]), np.array([2, 2]), np.array([0, 2])
    model = CostTreeClassifier(min_samples_leaf=1).fit(X, [0, 0, 1, 0])
    assert model.bins_.edges[0].tolist() == [1.5]
    assert X.nnz == 2


def test_sparse_rows_are_decided_by_a_model_of_dense_ones_and_back():
    X = make_data()
    dense, thin = (
        CostTreeClassifier(C).fit(form(X), Y) for form in (np.asarray, sparse.csr_array)
    )
    wanted = dense.expected_costs(X)
    assert_array_equal(dense.expected_costs(sparse.csr_array(X)), wanted)
    assert_array_equal(thin.expected_costs(X), wanted)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    half = frame.astype(dict.fromkeys("abc", pd.SparseDtype(float, 0.0)))
    mixed = CostTreeClassifier(C).fit(half, Y)
    assert_array_equal(mixed.expected_costs(half), wanted)
    assert_array_equal(mixed.expected_costs(frame), wanted)
    dummies = pd.get_dummies(frame["f"].astype(int), prefix="f", sparse=True)
    one_hot = CostTreeClassifier(C).fit(dummies, Y)
    plain = pd.get_dummies(frame["f"].astype(int), prefix="f")
    assert_array_equal(
        one_hot.predict(dummies), CostTreeClassifier(C).fit(plain, Y).predict(plain)
    )


def test_weights_of_zero_and_declared_categories():
    X, weight = make_data(), (np.arange(N) % 4 > 0).astype(float)
    given = {"categorical_features": [5]}
    one, other = (
        CostTreeClassifier(C, **given)
        .fit(form(X), Y, sample_weight=weight)
        .expected_costs(form(X))
        for form in (np.asarray, sparse.coo_array)
    )
    assert_array_equal(one, other)


def test_trees_do_not_make_the_dense_matrix():
    # 4,000 x 1,000 numbers are 32 MB dense, 4 MB as codes; the sparse matrix has 0.5 MB.
    X = sparse.random_array((4_000, 1_000), density=0.01, format="csr", rng=0)
    y = np.asarray(X[:, [0]].toarray()).ravel() > 0
    model = CostTreeClassifier(max_depth=1)
    model.fit(X[:50], y[:50] | (np.arange(50) == 0))  # kernels are compiled
    tracemalloc.start()
    model.fit(X, y).predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16e6, f"{peak / 1e6:.0f} MB"


def test_a_sparse_matrix_too_large_for_the_default_is_refused():
    X = sparse.csr_array((4, MOST_VALUES // 4 + 1))
    with pytest.raises(ValueError, match="too many for the members, .*: reduce its columns first"):
        StakesClassifier().fit(X, [0, 1, 0, 1])


@pytest.mark.filterwarnings("ignore")  # tiny data
def test_compare_and_fit_take_sparse_rows():
    X = make_data()
    methods = ["tree", "combo", "gbse", "mec"]
    given = {"cost_matrix": C, "methods": methods, "cv": 3, "fast": True}
    dense, thin = (compare(form(X), Y, **given) for form in (np.asarray, sparse.coo_matrix))
    for name in methods:
        assert thin.results[name].status == "ok", thin.results[name].reason
        assert_array_equal(thin.results[name].decisions, dense.results[name].decisions)
    model = fit_model(sparse.csr_array(X), Y, "tree", cost_matrix=C)
    assert_array_equal(
        model.predict(sparse.coo_array(X)), fit_model(X, Y, "tree", cost_matrix=C).predict(X)
    )


@pytest.mark.parametrize("cls", cost_sensitive_estimators(), ids=lambda cls: cls.__name__)
@pytest.mark.filterwarnings("ignore")  # tiny data
def test_prices_when_deciding_are_weighed_or_refused_in_a_sentence(cls):
    X, model = make_data(), make(cls)
    model.fit(X, Y)
    decided = model.predict(X)
    # What would be decided now is made very expensive: weighed, every decision moves.
    tensor = np.tile(C, (N, 1, 1))
    tensor[np.arange(N), :, np.searchsorted(model.classes_, decided)] += 1e6
    if model._weighs_cost_tensor:
        assert (model.predict(X, cost_tensor=tensor) != decided).all()
    else:
        with pytest.raises(
            ValueError, match="cannot weigh the costs of single examples when deciding: leave"
        ):
            model.predict(X, cost_tensor=tensor)
