import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from stakes.auto._table import SQUEEZE, TableEncoder, check_table


def test_mixed_columns_by_hand():
    X = pd.DataFrame(
        {
            "size": [1.0, np.nan, 3.0, 4.0],
            "colour": pd.Categorical(["red", "blue", None, "red"]),
            "flag": [True, False, True, True],
        }
    )
    encoder = TableEncoder().fit(X)
    trees = encoder.for_trees(X)
    # Categories seen twice or more have a column: only "red" here (a gap is a category too).
    expected = [[1, 1, 1], [np.nan, 0, 0], [3, 0, 1], [4, 1, 1]]
    assert_array_equal(trees, expected)
    distances = encoder.for_distances(trees)
    assert distances.shape == (4, 4)  # the gap in "size" is marked
    assert np.isfinite(distances).all()


def test_a_category_that_training_never_saw_has_no_column_set():
    X = pd.DataFrame({"c": ["a", "a", "b", "b"]})
    encoder = TableEncoder().fit(X)
    new = pd.DataFrame({"c": ["z", "b", None]})
    assert_array_equal(encoder.for_trees(new), [[0, 0], [0, 1], [0, 0]])


def test_a_wild_number_is_squeezed():
    X = np.zeros((1000, 1))
    X[:500] = 1.0
    encoder = TableEncoder().fit(X)
    far = encoder.for_distances(encoder.for_trees(np.array([[1e9], [0.5]])))
    assert_allclose(far, [[SQUEEZE], [0.0]], atol=1e-6)
    # No power of it overflows.
    far = encoder.for_distances(encoder.for_trees(np.array([[1e300], [-1e300]])))
    assert_allclose(far, [[SQUEEZE], [-SQUEEZE]], atol=1e-6)


def test_ordinary_numbers_are_not_squeezed():
    # 1 to 5, as often each: at most 1.41 standard deviations from 3. What a product of two such
    # columns says must not bend.
    X = np.repeat(np.arange(1.0, 6.0), 20)[:, None]
    encoder = TableEncoder().fit(X)
    found = encoder.for_distances(encoder.for_trees(X))
    assert_allclose(found, (X - 3.0) / np.sqrt(2.0), rtol=2e-3)


def test_times_become_their_parts_and_object_numbers_numbers():
    X = pd.DataFrame(
        {
            "when": pd.to_datetime(["2024-01-01", "2024-01-03", None]),
            "number": np.array([1, 2.5, None], dtype=object),
        }
    )
    trees = TableEncoder().fit(X).for_trees(X)
    # Days since 1970, month, day and weekday; 2024 began on a Monday.
    assert_array_equal(trees[0, :4], [19723, 1, 1, 0])
    assert_array_equal(trees[1, :4], [19725, 1, 3, 2])
    assert np.isnan(trees[2, :4]).all()
    assert_array_equal(trees[:, 4], [1, 2.5, np.nan])


def test_arrays_with_text_are_tables_too():
    X = np.array([["a", 1.0], ["b", 2.0], ["a", 3.0], ["b", 4.0]], dtype=object)
    trees = TableEncoder().fit(X).for_trees(X)
    assert_array_equal(trees, [[1, 0, 1], [0, 1, 2], [1, 0, 3], [0, 1, 4]])


@pytest.mark.parametrize("as_frame", [True, False])
def test_infinity_is_refused(as_frame):
    X = np.array([[1.0, 2.0], [np.inf, 3.0]])
    X = pd.DataFrame(X, columns=["a", "b"]) if as_frame else X
    with pytest.raises(ValueError, match="Input X contains infinity"):
        check_table(X)


def test_an_empty_table_is_refused():
    with pytest.raises(ValueError, match="0 sample"):
        check_table(pd.DataFrame({"a": []}))
