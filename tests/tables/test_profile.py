"""What columns were like, and how those of a new table differ."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.tables.faults import loans

from stakes.tables import ColumnProfile, find_differences, new_values, profile_columns


def wide(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return loans(n, seed).assign(
        member=rng.random(n) < 0.3,
        since=pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        rate=np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        remark=[f"paid late by {i} days, again" for i in rng.integers(0, 90, n)],
        nr=np.arange(n) + 7000 * seed,
    )


def kinds(findings):
    return [(finding.kind, finding.column) for finding in findings]


def test_a_profile_by_hand():
    table = pd.DataFrame({"a": [1.0, 2.0, 2.0, 4.0, None], "b": ["x", "y", "x", "x", "x"]})
    a, b = profile_columns(table)
    # Tenths of 1, 2, 2, 4: cut at 1 and at 2; the greatest value cuts nothing.
    assert (a.low, a.high, a.edges, a.shares, a.missing) == (1, 4, (1, 2), (0.2, 0.4, 0.2), 0.2)
    assert (b.kind, b.values, b.shares) == ("category", ("x", "y"), (0.8, 0.2))


def test_it_is_small_and_goes_through_json():
    found = profile_columns(wide(5000))
    text = json.dumps([profile.to_dict() for profile in found])
    assert len(text) < 250 * len(found)
    assert [ColumnProfile.from_dict(p) for p in json.loads(text)] == found
    kept = {p.name: p for p in found}
    assert kept["remark"].values == kept["nr"].shares == ()
    assert "paid late" not in text
    with pytest.raises(ValueError, match="shares of 'a' are not"):
        ColumnProfile("a", "number", 3, low=0.0, high=1.0)
    with pytest.raises(ValueError, match="no 'secret'"):
        ColumnProfile("a", "secret", 3)


@pytest.mark.parametrize("seed", range(1, 6))
def test_other_rows_of_the_same_kind_give_no_warning(seed):
    before = profile_columns(wide(1000))
    after = wide(300, seed)
    assert [f for f in find_differences(after, before) if f.warning] == []


DIFFERENCES = {
    "new values": (lambda t: t.assign(job=t["job"].where(t.index > 4, "spy")), "job",
                   "'job' has a value in 5 rows that was not there in training: 'spy'."),
    "outside": (lambda t: t.assign(age=t["age"].where(t.index > 9, 130)), "age",
                "'age' is outside of the range of training in 10 rows: up to 130, and there from"),
    "shifted": (lambda t: t.assign(amount=t["amount"] // 2), "amount", "'amount' has shifted: "),
    "another kind": (lambda t: t.assign(age="old"), "age", "'age' held numbers in training, but"),
    "missing columns": (lambda t: t.drop(columns="age"), "age", "Missing columns: 'age'."),
    "new columns": (lambda t: t.assign(height=1.8), "height",
                    "Not used, as training did not have it: the column 'height'."),
}  # fmt: skip


@pytest.mark.parametrize("kind", DIFFERENCES)
def test_a_difference_is_named(kind):
    change, column, sentence = DIFFERENCES[kind]
    before = profile_columns(wide(1000))
    found = find_differences(change(wide(300)), before)
    (named,) = [f for f in found if (f.kind, f.column) == (kind, column)]
    assert str(named).startswith(sentence)
    assert named.warning is (kind != "new columns")


def test_a_shift_is_told_in_its_greatest_part():
    before = profile_columns(pd.DataFrame({"a": [0.0] * 90 + [1.0] * 10, "b": ["x"] * 100}))
    after = pd.DataFrame({"a": [0.0] * 40 + [1.0] * 60, "b": ["x"] * 50 + [None] * 50})
    assert [str(f) for f in find_differences(after, before)] == [
        "'a' has shifted: 40% of the rows are up to 0, in training 90%.",
        "'b' has shifted: 50% of the rows are 'x', in training 100%.",
    ]
    # A few rows prove no shift.
    assert find_differences(after.iloc[30:55], before) == []


def test_a_greatest_value_by_chance_is_no_warning():
    before = profile_columns(pd.DataFrame({"a": np.arange(400) / 7}))
    (finding,) = find_differences(pd.DataFrame({"a": [*np.arange(200) / 3.5, 70.0]}), before)
    assert (finding.kind, finding.warning) == ("outside", False)


def test_later_dates_are_no_warning():
    before = profile_columns(wide(1000)[["since"]])
    after = wide(300)[["since"]] + pd.Timedelta(days=2000)
    found = find_differences(after, before)
    assert [f.kind for f in found] == ["outside", "shifted"]
    assert not any(f.warning for f in found)
    assert "from 2020-01-02 to 2022-06" in str(found[0])


def test_known_columns_are_not_new():
    before = profile_columns(wide()[["age"]])
    assert find_differences(wide()[["age", "risk"]], before, known=["risk"]) == []


def test_one_missing_value_in_a_few_rows_is_no_shift():
    rng = np.random.default_rng(0)
    before = profile_columns(pd.DataFrame({"amount": rng.normal(size=900)}))
    for _ in range(20):
        few = pd.DataFrame({"amount": rng.normal(size=40)})
        few.loc[3, "amount"] = np.nan
        assert [f for f in find_differences(few, before) if f.warning] == []
    few.loc[:9, "amount"] = np.nan  # a quarter is
    assert any("has shifted" in str(f) for f in find_differences(few, before))


def test_new_values_of_a_few_rows_are_those_of_many():
    (job,) = profile_columns(pd.DataFrame({"job": ["cook", "cook", "smith", None]}))
    cells = ["cook", None, np.nan, pd.NA, "spy"]
    for kind in (object, "string", "category"):  # "str" of pandas 2 makes words of what is missing
        few = pd.Series(cells[:4], dtype=object).astype(kind)
        assert new_values(job, few) is None
        assert new_values(job, pd.concat([few] * 50)) is None
        said = str(new_values(job, pd.Series(cells, dtype=object).astype(kind)))
        assert "'job' has a value in 1 row that was not there in training: 'spy'" in said
    # text that looks like a missing cell is text
    assert new_values(job, pd.Series(["nan"])) is not None
