"""The data check: planted faults are named, and clean tables are left in peace."""

import json
import os
import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from tests.tables.faults import FAULTS, loans

from stakes.datasets import load_dataset
from stakes.tables import (
    check_table,
    findings_said,
    looks_like_identifier,
    read_table,
    readings_of,
)
from stakes.tables._evidence import are_copies, duplicate_groups, tells_class

IN_FILES = ("dates", "local numbers")  # found when a file is read: tests/cli/test_check.py


def kinds(check):
    return [(finding.kind, finding.column) for finding in check.findings]


def test_a_clean_table_has_no_findings():
    check = check_table(loans(), "risk")
    assert check.findings == []
    assert check.groups is None
    assert [c.read_as for c in check.columns] == ["number"] * 3 + ["category", "number"]


@pytest.mark.parametrize("fault", [name for name in FAULTS if name not in IN_FILES])
def test_a_planted_fault_is_named(fault):
    plant, kind, column = FAULTS[fault]
    check = check_table(plant(loans()), "risk")
    assert (kind, column) in kinds(check)
    # And nothing else is, but for what the fault brings with it.
    others = set(kinds(check)) - {(kind, column)}
    assert others <= {("identifier", "nr"), ("odd names", 'âge "exact"')}, others


def test_drops_are_one_command():
    table = loans().assign(**{"the id": range(600), "it's": 1})
    check = check_table(table, "risk")
    assert check.drop == ["the id", "it's"]
    assert check.drop_options == ["--drop", "the id,it's"]
    check = check_table(table.assign(**{"a,b": 2}), "risk")
    assert check.drop_options == ["--drop", "the id", "--drop", "it's", "--drop", "a,b"]


def test_it_is_small_and_goes_into_json():
    check = check_table(FAULTS["copied rows with new numbers"][0](loans()), "risk")
    found = json.loads(json.dumps(check.to_dict()))
    assert (found["drop"], found["rows"]) == (["nr"], 660)
    assert found["columns"][0] == {
        "name": "age", "read_as": "number", "missing": 0.0, "distinct": 62, "notes": "",
        "truth": "",
    }  # fmt: skip
    assert [f["kind"] for f in found["findings"]] == ["identifier", "copies"]


def test_many_alike_are_one_sentence():
    table = loans().assign(**{f"c{i}": 1 for i in range(4)})
    (said,) = findings_said(check_table(table, "risk").findings)
    assert said == (
        "ST103: 4 columns have the same value in every row: 'c0', 'c1', 'c2', 'c3'. Leave them out."
    )


@pytest.mark.parametrize(
    ("values", "name", "expected"),
    [
        (range(100), "", True),
        (range(500, 0, -5), "", True),
        ([f"a{i}" for i in range(100)], "", True),
        (np.random.default_rng(0).permutation(100), "", True),
        (np.random.default_rng(0).integers(0, 80, 100), "userId", True),
        ([str(10**6 + i) for i in range(100)], "", True),
        (np.random.default_rng(0).normal(size=100), "", False),
        (np.random.default_rng(0).normal(size=100), "id", False),
        (np.sort(np.random.default_rng(0).normal(size=100)), "", False),
        (np.random.default_rng(0).permutation(90_000)[:100], "amount", False),
        (pd.date_range("2024-01-01", periods=100), "", False),
        ([f"it was paid late by {i} days" for i in range(100)], "", False),
        ([0, 1] * 50, "paid", False),
        (range(10), "", False),
    ],
)  # fmt: skip
def test_identifiers(values, name, expected):
    assert looks_like_identifier(pd.Series(values), name) is expected


def test_a_column_is_judged_by_rows_that_were_not_looked_at():
    # 40 rows, 20 of each class. "a" and "b" tell the class but for 2 rows: 1 - 2/20 = 0.9.
    y = np.repeat([0, 1], 20)
    word = np.where(y == 1, "b", "a")
    word[[0, 39]] = "b", "a"
    assert tells_class(pd.Series(word), y, 2, enough=0.5) == pytest.approx(0.9)
    # A word of its own for each row tells all of the rows looked at, and none of the others.
    assert tells_class(pd.Series([f"w{i}" for i in range(40)]), y, 2) == 0


def test_a_strong_honest_column_is_no_leak():
    # Petals alone tell 91% of what the most frequent flower leaves untold.
    flowers = load_dataset("iris")
    assert [k for k, _ in kinds(check_table(flowers.X, flowers.y))] == ["equal rows"]


def test_equal_rows_are_copies_unless_others_are_nearly_equal():
    rng = np.random.default_rng(0)
    few = pd.DataFrame(rng.integers(0, 4, (300, 4)))  # 256 possible rows
    groups = duplicate_groups(few)
    assert len(np.unique(groups)) < 250
    assert not are_copies(few, np.arange(300))
    ages = pd.DataFrame({"age": rng.integers(18, 80, 600)})
    assert check_table(ages).groups is None
    many = pd.DataFrame(rng.integers(0, 4, (300, 12)))
    assert not (duplicate_groups(many) != np.arange(300)).any()
    copied = pd.concat([many, many.iloc[:9]], ignore_index=True)
    assert are_copies(copied, np.arange(309))
    assert duplicate_groups(copied)[300:].tolist() == list(range(9))


def test_rows_that_are_learned_from_and_decided_are_a_warning():
    check = check_table(FAULTS["copied rows"][0](loans()), "risk")
    test = np.arange(660) >= 650  # ten of the sixty copies
    finding = check.with_test(test).warnings[0]
    assert str(finding).startswith(
        "10 of the 10 rows to decide are also among those to learn from"
    )
    assert check.with_test(None) is check
    assert check.with_test(np.arange(660) == 300) is check  # no copy


def test_copies_are_found_whatever_the_types():
    table = pd.DataFrame(
        {
            "number": [1.5, np.nan, -0.0, 1.5, np.nan, 0.0],
            "whole": pd.array([1, None, 3, 1, None, 3], dtype="Int64"),
            "word": pd.Categorical(["a", None, "b", "a", None, "b"]),
            "date": pd.to_datetime(["2024-01-01", None, "2024-01-02"] * 2),
            "list": [[1], None, [2], [1], None, [2]],
        }
    )
    assert duplicate_groups(table).tolist() == [0, 1, 2, 0, 1, 2]
    assert duplicate_groups(table[["number", "whole"]].rename(columns=str.upper)).tolist() == [
        0, 1, 2, 0, 1, 2
    ]  # fmt: skip
    # The same values in other columns are another row.
    assert duplicate_groups(pd.DataFrame({"a": [1, 2], "b": [2, 1]})).tolist() == [0, 1]


def test_long_tables_are_sampled_and_rare_classes_are_not_missed():
    n = 60_000
    rng = np.random.default_rng(0)
    y = np.zeros(n, dtype=int)
    y[rng.choice(n, 30, replace=False)] = 1  # about 10 of them would be in the sample
    table = pd.DataFrame(
        {"a": rng.normal(size=n), "leak": y * rng.uniform(1, 2, n), "nr": range(n)}
    )
    check = check_table(table, y)
    assert set(kinds(check)) == {("leak", "leak"), ("identifier", "nr")}
    assert 20_000 <= check.looked_at <= 20_030
    assert check.rows == n


def test_a_value_outside_the_sample_is_not_constant():
    table = pd.DataFrame({"a": np.zeros(50_000), "b": np.arange(50_000) % 7 + 0.5})
    table.loc[17, "a"] = 1
    assert check_table(table).warnings == []


def test_arrays_and_odd_columns_are_looked_at():
    array = np.random.default_rng(0).normal(size=(50, 3))
    array[:, 1] = 2
    assert kinds(check_table(array)) == [("constant", "1")]
    table = pd.DataFrame({1: [[i] for i in range(9)], "b": [None] * 8 + [{"x": 1}]})
    assert check_table(table).warnings == []
    assert check_table(pd.DataFrame({"a": []})).rows == 0


# Sets with rows that were entered twice: as long as these rows are, none is so by chance. In bupa,
# yeast and segmentation all copies have the class of their originals, in splice all but one; in
# horse_colic they are horses with two lesions, eleven of twelve with 14 measurements or more.
COPIED = {"bupa", "horse_colic", "segmentation", "splice", "yeast"}


def facts(X, y, folds=5):
    """What is true of a table and worth a warning, counted in another way."""
    columns = [X.iloc[:, c] for c in range(X.shape[1])]
    found = {
        "empty": any(column.isna().all() for column in columns),
        "constant": any(len(set(column)) == 1 and column.notna().all() for column in columns),
        "rare classes": min(Counter(np.asarray(y).tolist()).values()) < folds,
    }
    return {kind for kind, is_so in found.items() if is_so}


BUILT_IN = ["balance", "cheques", "digits", "iris", "wdbc", "wine"]
SHARED = [
    "annealing", "audiology", "auto_mpg", "bridges2", "bupa", "car", "churn_telco", "dermatology",
    "ecoli", "flags", "flare2", "german_credit", "glass", "haberman", "heart_cleveland", "hepatitis",
    "horse_colic", "housing", "ionosphere", "new_thyroid", "nursery", "pima", "segmentation", "sonar",
    "splice", "vehicle", "yeast",
]  # fmt: skip
LARGE = [
    "bank_marketing",
    "churn_tv",
    "connect4",
    "credit_default",
    "credit_gmsc",
    "satimage",
    "shuttle",
]


@pytest.mark.parametrize(
    "name", BUILT_IN + SHARED + [pytest.param(name, marks=pytest.mark.slow) for name in LARGE]
)
def test_data_sets_give_no_false_alarm(name):
    if name not in BUILT_IN and not os.environ.get("STAKES_DATA"):
        pytest.skip("the data set is in the folder named by STAKES_DATA")
    data = load_dataset(name)
    check = check_table(data.X, data.y, readings_of(data.X))
    told = facts(data.X, data.y) | ({"copies"} if name in COPIED else set())
    assert {finding.kind for finding in check.warnings} == told


def test_figures_of_some_rows_are_not_said_of_all():
    rng = np.random.default_rng(0)
    n = 60_000
    y = rng.integers(2, size=n)
    table = pd.DataFrame({"x": rng.normal(size=n), "told": y + 0.1 * rng.random(n)})
    table["note"] = [f"the {i} th of many notes" for i in range(n)]
    check = check_table(table, y)
    assert check.sampled
    said = " ".join(map(str, check.findings))
    assert "'told' alone tells the class of all of the 20,000 rows looked at." in said
    assert "'note' holds many different sentences." in said
    assert not check_table(table[:500], y[:500]).sampled


def test_a_wide_table_takes_a_time_that_grows_with_its_columns(tmp_path):
    rng = np.random.default_rng(0)
    seconds = []
    for n in (500, 4000):
        table = pd.DataFrame(rng.normal(size=(50, n))).add_prefix("c").assign(risk=["a", "b"] * 25)
        table.to_csv(tmp_path / "wide.csv", index=False)
        begun = time.process_time()
        found = read_table(tmp_path / "wide.csv", target="risk")
        check_table(found.frame, "risk", found.readings)
        seconds.append(time.process_time() - begun)
    assert seconds[1] < 20 * seconds[0]  # eight times the columns; their square would be 64
