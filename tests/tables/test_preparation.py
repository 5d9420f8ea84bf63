import os
import pickle
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from stakes.auto import StakesClassifier
from stakes.compare import TablePreparation, compare, fit_model
from stakes.tables import column_kind

COSTS = [[0, 1], [5, 0]]


def texts(n=300, seed=0):
    """Return a column of some 60 different texts."""
    rng = np.random.default_rng(seed)
    parts = ["north", "south", "old", "new", "hill", "field", "bridge", "water"]
    words = [f"{a} {b} {c}" for a in parts for b in parts for c in "xy"][:60]
    return rng.choice(words, n)


def test_text_of_many_values_is_coded_alike_each_time():
    table = pd.DataFrame({"place": texts(), "x": np.arange(300.0)})
    first, second = TablePreparation(), TablePreparation()
    a, b = first.fit_transform(table), second.fit_transform(table)
    assert_array_equal(a, b)
    assert_array_equal(a, first.transform(table))
    alone = np.vstack([first.transform(table.iloc[[i]]) for i in range(5)])
    assert_allclose(alone, a[:5], rtol=1e-12)


def test_one_preparation_for_the_default_and_for_all_others():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.normal(size=120),
            "job": rng.choice(["cook", "smith", None], 120),
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(120), "D"),
            "note": texts(120),
            "paid": rng.random(120) < 0.5,
        }
    )
    y = (table["age"] > 0).astype(int).to_numpy()
    default = StakesClassifier(members=["linear"], cv=2, random_state=0).fit(table, y)
    plain = fit_model(table, y, "mec", cost_matrix=COSTS)
    assert_array_equal(plain.preparation.transform(table), default.encoder_.transform(table))
    kinds = ["number", "category", "date", "text", "boolean"]
    assert [column.kind for column in default.encoder_.prepared_] == kinds
    assert [column_kind(table[name]) for name in table] == kinds


def test_the_order_of_dates_in_text_is_not_guessed():
    local = pd.DataFrame({"since": ["03/04/2024", "05/06/2024"] * 3, "x": np.arange(6.0)})
    found = TablePreparation().fit(local)
    assert [c.kind for c in found.prepared_] == ["category", "number"]
    assert found.transform(local).shape == (6, 3)  # two indicators, no month and day
    iso = local.assign(since=["2024-04-03", "2024-06-05 10:00"] * 3)
    found = TablePreparation().fit(iso)
    # Days since 1970, month, day, weekday and hour: a Wednesday both times.
    assert_allclose(found.transform(iso)[0, :5], [19816, 4, 3, 2, 0])
    assert_allclose(found.transform(iso)[1, 1:5], [6, 5, 2, 10])
    times = iso.assign(since=pd.to_datetime(iso["since"], format="ISO8601"))
    assert_array_equal(found.transform(iso), found.transform(times))


def test_what_cannot_be_read_in_new_rows_is_said():
    table = pd.DataFrame({"n": [1.0, 2.0, 3.0], "d": ["2024-01-01"] * 3, "c": ["u", "v", "u"]})
    found = TablePreparation().fit(table)
    new = table.assign(n=["1", "two", "3"], d="2024-01-01")
    with pytest.warns(UserWarning, match=r"1 cell of 'n' .* such as 'two' in row 2"):
        coded = found.transform(new)
    assert_array_equal(coded[[0, 2]], found.transform(table)[[0, 2]])
    assert np.isnan(coded[1, 0])
    new = table.assign(d=["2024-01-01", "03/04/2024", "2024-01-01"])
    with pytest.warns(UserWarning, match=r"1 cell of 'd' .* such as '03/04/2024' in row 2"):
        found.transform(new)
    numbers = table.assign(c=[1, 2, 3])
    assert found.transform(numbers).shape == (3, coded.shape[1])


@pytest.mark.parametrize("mixed", [True, False])
def test_a_column_that_can_hardly_be_read_any_more_is_refused(mixed):
    table = pd.DataFrame({"amount": [1169.0, 5951.0, 2096.0] * 20, "age": [30.0, 41, 52] * 20})
    table = table.assign(job=["cook", "smith"] * 30) if mixed else table
    y = [0, 1] * 30
    new = table.assign(amount=["1.169,85", "5951", "2.096,10"] * 20)
    for model in (
        TablePreparation().fit(table),
        StakesClassifier(members=["linear"], cv=2, random_state=0).fit(table, y),
        fit_model(table, y, "mec", cost_matrix=COSTS),
        fit_model(table, y, "tree", cost_matrix=COSTS),
    ):
        ask = getattr(model, "predict", None) or model.transform
        with pytest.raises(
            ValueError, match=r"40 cells of 'amount' .* '1.169,85' in row 1 .*Mend"
        ):
            ask(new)
    for method in ("stakes", "mec"):
        quick = StakesClassifier(members=["linear"], cv=2) if method == "stakes" else method
        model = fit_model(table, y, quick, cost_matrix=COSTS)
        with pytest.warns(UserWarning, match="Taken as missing: 40 cells"):
            assert len(model.decide(new, allow_missing=True)) == 60
    with pytest.warns(UserWarning, match="Taken as missing: 40 cells"):
        found = TablePreparation().fit(table).transform(new, allow_missing=True)
    assert np.isnan(found[:, 0]).sum() == 40


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ([1.0, 2.0], pd.to_datetime(["2024-01-01", "2024-01-02"])),
        (pd.to_datetime(["2024-01-01", "2024-01-02"]), [1.0, 2.0]),
        (["2024-01-01", "2024-01-02"], [1.7e15, 1.8e15]),
        ([True, False], pd.to_datetime(["2024-01-01", "2024-01-02"])),
        (["a", "b"], pd.to_datetime(["2024-01-01", "2024-01-02"])),
    ],
)
def test_another_kind_of_column_is_refused(before, now):
    table = pd.DataFrame({"x": before, "z": ["u", "v"]})
    found = TablePreparation().fit(pd.concat([table] * 3, ignore_index=True))
    with pytest.raises(ValueError, match="The column 'x' held .* in training, and holds .* here"):
        found.transform(table.assign(x=now))


def test_a_number_that_became_a_date_is_refused_by_the_default_too():
    table = pd.DataFrame({"x": np.arange(40.0), "z": np.tile([0.5, 1.5], 20)})
    model = StakesClassifier(members=["linear"], cv=2, random_state=0).fit(table, [0, 1] * 20)
    times = table.assign(x=pd.Timestamp("2024-01-01"))
    with pytest.raises(ValueError, match="'x' held numbers in training, and holds dates here"):
        model.predict(times)


def test_numbers_are_read_as_they_are_written_and_in_no_other_way():
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0], "z": list("uvu")})
    found = TablePreparation().fit(table)
    new = pd.DataFrame({"x": ["1e1", " 2.5 ", "-3", "NA", "1_0", "0x10"], "z": "u"})
    with pytest.warns(UserWarning, match="2 cells of 'x' .* such as '1_0' in row 5"):
        assert_array_equal(found.transform(new)[:, 0], [10, 2.5, -3, np.nan, np.nan, np.nan])


def test_a_span_of_time_is_a_number_of_seconds():
    spans = pd.DataFrame({"wait": pd.to_timedelta(["1 min", "2 min"]), "z": ["u", "v"]})
    found = TablePreparation().fit_transform(spans)
    assert_array_equal(found[:, 0], [60, 120])
    assert column_kind(spans["wait"]) == "number"


def test_values_of_few_rows_are_kept_nowhere():
    rng = np.random.default_rng(0)
    names = np.array([f"surname{i:03d}" for i in range(600)])
    table = pd.DataFrame(
        {
            "name": rng.choice(names, 900),
            "town": np.where(np.arange(900) < 4, "hamlet", rng.choice(["york", "bath"], 900)),
        }
    )
    found = pickle.dumps(TablePreparation().fit(table))
    assert b"york" in found
    assert b"hamlet" not in found
    counts = table["name"].value_counts()
    rare = counts.index[counts < 5]
    assert not [name for name in rare if name.encode() in found]


def test_columns_that_differ_in_type_alone_are_refused():
    table = pd.DataFrame([[1.0, "u"], [2.0, "v"]], columns=[1, "1"])
    preparation = TablePreparation()
    with pytest.raises(ValueError, match="Two columns are called '1': give them different names"):
        preparation.fit(table)
    with pytest.raises(ValueError, match="Two columns are called '1': give them different names"):
        fit_model(table, [0, 1], "stakes", cost_matrix=COSTS)


def test_numbers_as_names_are_taken_as_text():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({0: rng.normal(size=60), "b": rng.normal(size=60)})
    model = fit_model(table, (table[0] > 0).astype(int), "tree", cost_matrix=COSTS)
    assert model.columns == ["0", "b"]
    assert len(model.decide(table)) == 60


def test_one_row_of_a_mixed_table_is_prepared_at_once():
    rng = np.random.default_rng(0)
    n = 400
    table = pd.DataFrame({f"number{i}": rng.normal(size=n) for i in range(8)})
    for i in range(8):
        table[f"category{i}"] = rng.choice(["low", "middle", "high", "none"], n)
    table["since"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(900, size=n), "D")
    table["day"] = table["since"].dt.strftime("%Y-%m-%d")
    table["note"], table["paid"] = texts(n), rng.random(n) < 0.5
    found, row = TablePreparation().fit(table), table.iloc[[0]]
    found.transform(row)
    seconds = []
    for _ in range(30):
        begun = time.process_time()
        found.transform(row)
        seconds.append(time.process_time() - begun)
    assert min(seconds) < 0.006  # 2 ms where nothing else runs


def test_a_home_that_cannot_be_written_is_enough(tmp_path):
    code = (
        "import pandas as pd\nfrom stakes.compare import fit_model\n"
        "table = pd.DataFrame({'job': ['cook', 'smith', 'baker'] * 9, 'age': [30, 41, 52] * 9})\n"
        "model = fit_model(table, [0, 1, 1] * 9, 'mec', cost_matrix=[[0, 1], [5, 0]])\n"
        "print(len(model.predict(table)))"
    )
    home = {**os.environ, "HOME": "/proc/nowhere", "MPLCONFIGDIR": str(tmp_path)}
    home["NUMBA_CACHE_DIR"] = str(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=home, cwd=tmp_path
    )
    assert done.stdout.strip() == "27", done.stderr


def test_compare_learns_from_text():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    kind, other = (
        np.array(["refund please", "thank you"]),
        ["today", "soon", "now", "sir", "madam"],
    )
    note = [
        f"{kind[label]} {a} {b} {c}" for label, a, b, c in zip(y, *rng.choice(other, (3, 200)))
    ]
    table = pd.DataFrame({"note": note})
    found = compare(table, y, cost_matrix=COSTS, methods=["mec"], cv=2, random_state=0)
    assert found.table.loc["mec", "cost"] < 0.02


def test_values_that_no_two_rows_share_are_nothing_to_learn_from():
    table = pd.DataFrame({"job": ["cook", "smith", "baker", "miller"]})
    with pytest.raises(ValueError, match="No value of 'job' is shared by several rows"):
        TablePreparation().fit(table)


@pytest.mark.parametrize("dtype", [object, "string", "category"])
def test_a_few_rows_are_prepared_as_among_many(dtype):
    rng = np.random.default_rng(0)
    cells = ["cook", "smith", "the cook", None, " cook ", "NaN", "", "spy"]
    X = pd.DataFrame(
        {"job": pd.Series(rng.choice(np.array(cells, dtype=object), 300), dtype=dtype)}
    )
    X["rooms"] = pd.Series(rng.choice(np.array([3.0, 3, True, "3", np.nan, pd.NA], object), 300))
    X["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, 300), "D")
    X.loc[:20, "when"] = pd.NaT
    X["tags"] = [["a"], ("b",), None] * 100
    prepared = TablePreparation().fit(X)
    whole = prepared.transform(X)
    for size in (1, 7):
        parts = [prepared.transform(X.iloc[i : i + size]) for i in range(0, 300, size)]
        np.testing.assert_array_equal(np.vstack(parts), whole)
