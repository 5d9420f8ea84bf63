"""Which rows are learned from and which are decided, and the decisions taken today."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.model_selection import GroupKFold

from stakes.compare import compare
from stakes.compare._problem import make_problem
from stakes.compare._splits import make_splits

# Missing class 1 costs 8 times a false alarm.
C = np.array([[0.0, 1.0], [8.0, 0.0]])


def problem(y):
    return make_problem(np.arange(len(y))[:, None], y, cost_matrix=C)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [90, 30])
    return rng.normal(size=(120, 3)) + 1.2 * y[:, None], y


def test_time_trains_on_the_past_by_hand():
    # 8 rows in 4 parts: cut where the third, fifth and seventh begin. The fifth is of 2022, as
    # the fourth, so both are tested together.
    when = [2022, 2020, 2027, 2021, 2025, 2022, 2026, 2020]
    splits, described = make_splits(problem([0, 1, 0, 0, 1, 1, 0, 0]), 3, time=when)
    found = [(sorted(when[i] for i in a), sorted(when[i] for i in b)) for a, b in splits]
    assert found == [
        ([2020, 2020], [2021]),
        ([2020, 2020, 2021], [2022, 2022, 2025]),
        ([2020, 2020, 2021, 2022, 2022, 2025], [2026, 2027]),
    ]
    assert described["cv"] == "3 folds forward in time, each decided by what was before it"


def test_dates_order_as_dates():
    when = pd.to_datetime(["2024-10-01", "2024-09-01", "2024-12-01", "2024-11-01"] * 3)
    splits, _ = make_splits(
        problem([0, 1, 0, 1] * 3), 2, time=when + pd.to_timedelta(range(12), "h")
    )
    for train, test in splits:
        assert when[train].max() <= when[test].min()


def test_a_group_is_on_one_side():
    rng = np.random.default_rng(0)
    y, groups = rng.integers(0, 2, 200), rng.integers(0, 25, 200)
    for cv in (4, GroupKFold(4)):
        splits, described = make_splits(problem(y), cv, groups=groups)
        assert described["cv"].endswith("each group on one side")
        assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(200))
        for train, test in splits:
            assert not set(groups[train]) & set(groups[test])


def test_what_came_apart_loses_the_groups_that_are_tested():
    # rows 4 and 5 are tested; row 1 is of the group of row 5 and so is not learned from
    splits, _ = make_splits(
        problem([0, 1, 1, 0, 1, 0]), test=[4, 5], groups=["a", "b", "c", "d", "e", "b"]
    )
    assert [part.tolist() for part in splits[0]] == [[0, 2, 3], [4, 5]]


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"groups": ["a"] * 12}, "5 folds need as many groups, but the data has 1"),
        (
            {"copies": np.zeros(12, int)},
            "5 folds need as many rows that are no copies of each other",
        ),
        ({"groups": ["a"] * 11}, "groups has 11 values, but there are 12 rows"),
        (
            {"groups": [None, *"bcdefghijkl"]},
            "groups is missing in 1 row, the first of them row 1",
        ),
        ({"time": [1, 2] * 6}, "time has 2 different values, which cannot be cut into 6 parts"),
        ({"time": range(12), "cv": GroupKFold(2)}, "With time, cv is a number"),
        ({"time": range(12), "test": [1]}, "Give either time or test"),
        ({"test": range(12)}, "must leave some rows to learn from"),
        ({"test": [True]}, "test has 1 value for 12 rows"),
        ({"test": range(6, 12)}, "The rows to learn from have no example of the class 1"),
        (
            {"time": range(12), "cv": 2},
            "of fold 1 of 2 to learn from have no example of the class 1",
        ),
    ],
)
def test_bad_splits_are_refused(given, match):
    with pytest.raises(ValueError, match=match):
        make_splits(problem([0] * 6 + [1] * 6), **given)


def test_today_by_hand(data):
    X, y = data
    # The first 40 rows, all of class 0, are stopped: 40 false alarms, and 30 misses of 8.
    prices = pd.DataFrame({"good": [0, 8], "bad": [1, 0]}, index=["good", "bad"])
    labels = np.where(y == 1, "bad", "good")
    decided = np.where(np.arange(120) < 40, "bad", "good")
    found = compare(X, labels, cost_matrix=prices, methods=["mec"], baseline=decided, cv=3)
    assert found.baseline == "today"
    assert found.total("today") == 40 * 1 + 30 * 8
    assert list(found.table.index) == ["today", "constant", "plain", "mec"]
    assert found.table.loc["today", "savings"] == 0
    assert found.table.loc["mec", "savings"] == pytest.approx(1 - found.total("mec") / 280)
    assert "less than what is decided today at 2.33" in found.reason
    assert found.what_if(found.cost_matrix).baseline_total == 280


def test_today_is_costed_on_the_tested_rows_alone(data):
    X, y = data
    test = np.arange(120) % 4 == 0  # 30 rows: 23 of class 0, 7 or 8 of class 1
    found = compare(X, y, cost_matrix=C, methods=["mec"], baseline=np.zeros(120, int), test=test)
    assert found.total("today") == 8 * (test & (y == 1)).sum()
    assert len(found.tested) == 30
    assert found.protocol["cv"] == "learned from 90 rows, costed on 30 others that came apart"


@pytest.mark.parametrize(
    ("baseline", "match"),
    [
        ([0, 1], "baseline has shape .2,., but must be the name of a method or one decision"),
        ([7] * 120, "baseline has 7, but the classes are 0, 1"),
        ([None] + [0] * 119, "baseline is missing in 1 row, the first of them row 1"),
    ],
)
def test_bad_decisions_of_today_are_refused(data, baseline, match):
    with pytest.raises(ValueError, match=match):
        compare(*data, cost_matrix=C, methods=["mec"], baseline=baseline)


# -- copies of rows ----------------------------------------------------------------------


def fold_of_each(splits, n):
    """Return the fold in which each row is decided."""
    folds = np.full(n, -1)
    for fold, (_, test) in enumerate(splits):
        folds[test] = fold
    return folds


def test_copies_are_in_one_fold():
    # Rows 20 to 29 are copies of rows 0 to 9.
    copies = np.r_[:20, :10]
    splits, described = make_splits(problem([0, 1] * 15), 5, copies=copies)
    folds = fold_of_each(splits, 30)
    assert_array_equal(folds[20:], folds[:10])
    assert not any(np.isin(copies[train], copies[test]).any() for train, test in splits)
    assert described["cv"] == "5-fold cross-validation, copies of a row on one side"


def test_copies_join_the_groups_that_have_them():
    # Rows 0 and 5 are copies, so that groups 0 and 2 (rows 0, 1 and 4, 5) are on one side.
    groups, copies = [0, 0, 1, 1, 2, 2, 3, 3], np.array([0, 1, 2, 3, 4, 0, 6, 7])
    splits, described = make_splits(problem([0, 1] * 4), 3, groups=groups, copies=copies)
    folds = fold_of_each(splits, 8)
    assert len(set(folds[[0, 1, 4, 5]])) == 1
    assert described["cv"].endswith(", each group on one side, copies of a row on one side")


def test_copies_that_are_tested_later_are_not_learned_from():
    copies = np.r_[:11, 0]
    splits, _ = make_splits(problem([0, 1, 1, 0] * 3), 2, time=np.arange(12), copies=copies)
    assert [0 in train for train, _ in splits] == [True, False]  # row 11 is in the second part


def test_a_class_that_is_one_row_copied_is_spread_all_the_same():
    copies = np.r_[:12, [12] * 6]
    given = problem([0] * 12 + [1] * 6)
    found = make_splits(given, 3, copies=copies)
    assert found[1] == make_splits(given, 3)[1]


def test_a_test_part_is_learned_for_as_it_is_given():
    splits, _ = make_splits(problem([0, 1] * 6), test=[0, 1], copies=np.r_[:6, :6])
    assert len(splits[0][0]) == 10


def test_compare_looks_at_the_table_first(data):
    X, y = data
    X = np.vstack([X, X[:40]])
    y = np.r_[y, y[:40]]
    given = {"cost_matrix": C, "methods": ["mec"], "fast": True, "cv": 3}
    found = compare(X, y, **given)
    assert [f.kind for f in found.check.warnings] == ["copies"]
    assert found.protocol["cv"].endswith("copies of a row on one side")
    assert "Warning ST105: 40 rows of 160 are copies of others." in repr(found)
    assert "Warning ST105: 40 rows of 160" in found._repr_html_()
    assert found.to_dict()["check"]["rows"] == 160
    assert compare(X, y, **given, check=False).check is None
    assert "40 of the 40 rows to decide" in str(compare(X, y, **given, test=range(120, 160)).check)
    assert compare(sparse.csr_array(X), y, **given).check is None
