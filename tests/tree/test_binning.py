import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from stakes.tree._binning import MAX_BINS, SUBSAMPLE, Bins, numeric_cuts


def test_few_values_are_kept_exactly():
    X = np.array([[3.0], [1.0], [1.0], [10.0]])
    bins = Bins.fit(X)
    # halfway between 1, 3 and 10
    assert_array_equal(bins.edges[0], [2.0, 6.5])
    assert_array_equal(bins.transform(X).codes, [[1, 0, 0, 2]])
    assert_array_equal(bins.transform(np.array([[2.0], [2.1], [99.0]])).codes, [[0, 1, 2]])


def test_many_values_are_cut_at_quantiles():
    values = np.random.default_rng(0).permutation(1000).astype(float)
    bins = Bins.fit(values[:, None], max_bins=10)
    codes = bins.transform(values[:, None]).codes[0]
    assert_array_equal(np.bincount(codes), np.full(10, 100))
    assert_array_equal(codes, values // 100)


def test_a_value_that_fills_several_quantiles_has_one_bin():
    values = np.concatenate([np.zeros(900), np.arange(1, 401)])[:, None]
    bins = Bins.fit(values, max_bins=50)
    codes = bins.transform(values).codes[0]
    assert (codes[:900] == 0).all()
    assert codes[900] == 1
    assert codes.max() == bins.n_values[0] - 1 < 50


@pytest.mark.parametrize("n_values", [254, 255, 256, 5000])
def test_no_more_than_255_bins(n_values):
    values = np.arange(n_values, dtype=float)[:, None]
    bins = Bins.fit(values)
    codes = bins.transform(values).codes[0].astype(int)
    assert bins.n_values[0] == min(n_values, MAX_BINS)
    assert_array_equal(np.unique(codes), np.arange(bins.n_values[0]))
    assert (np.diff(codes) >= 0).all()


def test_missing_values_have_the_last_bin():
    X = np.array([[np.nan, 1.0], [5.0, 1.0], [7.0, np.nan]])
    bins = Bins.fit(X)
    assert_array_equal(bins.transform(X).codes, [[2, 0, 1], [0, 0, 1]])
    # never missing in fit, missing later; and a column that is missing throughout
    assert_array_equal(Bins.fit(X[1:2]).transform(X).codes, [[1, 0, 0], [0, 0, 1]])
    assert_array_equal(Bins.fit(X[:1]).transform(X).codes[0], [1, 0, 0])


def test_neighbours_that_floats_cannot_part_are_parted():
    low = 1.0
    high = np.nextafter(low, 2.0)
    (cut,), _, _ = numeric_cuts(np.array([low, high]), 255)
    assert low <= cut < high
    huge = np.array([-1.7e308, 1.7e308])
    assert_array_equal(numeric_cuts(huge, 255)[0], [0.0])


def test_a_large_column_is_cut_by_a_sample_of_its_rows():
    values = np.random.default_rng(0).normal(size=3 * SUBSAMPLE)[:, None]
    codes = Bins.fit(values).transform(values).codes[0]
    counts = np.bincount(codes, minlength=255)
    assert counts.min() > 0.25 * len(values) / 255
    assert counts.max() < 2.5 * len(values) / 255


@pytest.mark.parametrize("as_frame", [False, True])
def test_rare_values_of_a_large_column_have_bins_of_their_own(as_frame):
    # of 20,000 rows, 4,096 are looked at first, and miss the one 7 of the first column
    values = np.zeros((20_000, 2))
    values[::2, 0], values[1234, 0] = 1.0, 7.0
    values[:, 1] = np.random.default_rng(0).normal(size=20_000)
    X = pd.DataFrame(values) if as_frame else values
    bins = Bins.fit(X)
    assert_array_equal(bins.edges[0], [0.5, 4.0])
    assert len(bins.edges[1]) == 254
    assert_array_equal(bins.edges[1], Bins.fit(np.asarray(values, dtype=np.float64)).edges[1])


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_array_of_numbers_gives_the_same_codes(dtype, order):
    X = np.random.default_rng(0).integers(0, 100, (50, 3))
    bins = Bins.fit(X.astype(float))
    expected = bins.transform(X.astype(float)).codes
    X = np.asarray(X, dtype=dtype, order=order)
    X.setflags(write=False)
    assert_array_equal(Bins.fit(X).transform(X).codes, expected)


def test_threads_change_nothing():
    X = np.random.default_rng(0).normal(size=(30_000, 3))
    one, two = Bins.fit(X, n_threads=1), Bins.fit(X, n_threads=2)
    assert_array_equal(one.flat_edges, two.flat_edges)
    assert_array_equal(one.transform(X, 1).codes, one.transform(X, 2).codes)


def test_columns_of_a_frame_by_their_type():
    frame = pd.DataFrame(
        {
            "size": [1.5, np.nan, 2.5],
            "colour": pd.Categorical(["red", None, "blue"], categories=["red", "green", "blue"]),
            "text": ["b", "a", "b"],
            "flag": [True, False, True],
            "count": pd.array([3, None, 4], dtype="Int64"),
        }
    )
    bins = Bins.fit(frame)
    assert_array_equal(bins.is_categorical, [False, True, True, True, False])
    # categories in their order among those seen: blue, red; a, b; False, True
    expected = [[0, 2, 1], [1, 2, 0], [1, 0, 1], [1, 0, 1], [0, 2, 1]]
    assert_array_equal(bins.transform(frame).codes, expected)


def test_a_category_not_seen_in_fit_is_missing():
    frame = pd.DataFrame({"colour": ["red", "blue"]})
    bins = Bins.fit(frame)
    later = pd.DataFrame({"colour": ["green", "red", None]})
    assert_array_equal(bins.transform(later).codes, [[2, 1, 2]])


def test_a_thousand_categories_leave_the_rarest_in_one_bin():
    names = [f"c{i:04d}" for i in range(1000)]
    # the first 300 names occur three times, the others once
    column = names + names[:300] + names[:300]
    bins = Bins.fit(pd.DataFrame({"code": column}))
    codes = bins.transform(pd.DataFrame({"code": column})).codes[0]
    assert bins.n_values[0] == 255
    assert_array_equal(codes[:254], np.arange(254))  # each of the commonest has its own
    assert (codes[300:1000] == 254).all()
    assert bins.category_names(0)[-2:] == ["any rarer one", "missing"]


def test_declared_categories_of_an_array():
    X = np.array([[7.0, 1.0], [3.0, 2.0], [np.nan, 3.0], [7.0, 4.0]])
    for declared in ([True, False], [0], np.array([0])):
        bins = Bins.fit(X, categorical_features=declared)
        assert_array_equal(bins.is_categorical, [True, False])
        assert_array_equal(bins.transform(X).codes[0], [1, 0, 2, 1])


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("all", "must be 'from_dtype', None, a mask, positions or names, but it is 'all'"),
        ([True], "a mask of 1, but X has 2 columns"),
        ([2], "positions outside 0 to 1"),
        (["colour"], "names 'colour', which is no column of X"),
    ],
)
def test_wrong_declarations_are_named(declared, message):
    X = np.zeros((3, 2))
    with pytest.raises(ValueError, match=message):
        Bins.fit(X, categorical_features=declared)


@pytest.mark.parametrize("max_bins", [1, 256, 2.5])
def test_wrong_max_bins_is_named(max_bins):
    with pytest.raises(ValueError, match="max_bins must be an integer from 2 to 255, but it is"):
        Bins.fit(np.zeros((3, 1)), max_bins=max_bins)


def test_other_columns_are_refused():
    bins = Bins.fit(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="X has 3 features, but the bins were placed for 2"):
        bins.transform(np.zeros((3, 3)))


@pytest.mark.parametrize("n_rows", [300, 5_000, 20_000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_columns_cut_at_once_are_cut_as_one_by_one(n_rows, dtype):
    rng = np.random.default_rng(n_rows)
    X = rng.normal(size=(n_rows, 6)).astype(dtype)
    X[:, 1] = np.round(X[:, 1], 2)  # values come several times
    X[rng.random(n_rows) < 0.1, 2] = np.nan
    X[:, 3] = np.where(rng.random(n_rows) < 0.3, 0.5, X[:, 3])
    X[: n_rows // 100, 4] = X[0, 4]
    kept = X.copy()
    for order in "CF":
        given = np.array(X, order=order)
        together = Bins.fit(given)
        assert_array_equal(given, kept)  # nothing of the user's is put in order
        for f in range(6):  # a frame is cut column by column
            alone = Bins.fit(pd.DataFrame({"a": X[:, f]}))
            assert_array_equal(together.edges[f], alone.edges[0])
            codes = np.searchsorted(alone.edges[0], X[:, f].astype(np.float64))
            codes = np.where(np.isnan(X[:, f]), alone.n_values[0], codes)
            assert_array_equal(together.transform(given).codes[f], codes)


@pytest.mark.parametrize("values", [["b", "a", "c", "b"], [3, 1, 2, 3], [2.5, 1.0, 9.0, 1.0]])
def test_categories_are_looked_up_as_their_values_are(values):
    column = pd.Series(np.tile(values, 30))
    column[7] = column[11] = None
    declared = column.astype("category").cat.add_categories([values[0] * 2])  # one without a row
    as_values = Bins.fit(pd.DataFrame({"a": column}), categorical_features=[0])
    as_categories = Bins.fit(pd.DataFrame({"a": declared}), categorical_features=[0])
    assert list(as_categories.categories[0]) == list(as_values.categories[0])
    new = declared.copy()
    new[0] = values[0] * 2  # not seen in fit
    codes = as_categories.transform(pd.DataFrame({"a": new})).codes
    plain = new.astype(new.cat.categories.dtype)
    assert_array_equal(codes, as_values.transform(pd.DataFrame({"a": plain})).codes)
    assert codes[0, 0] == codes[0, 7] == 3
