import numpy as np
import pandas as pd
import pytest

from stakes.compare import TablePreparation, fit_model


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
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(a, first.transform(table))
    assert (TablePreparation(random_state=1).fit_transform(table) != a).any()


def test_the_order_of_dates_in_text_is_not_guessed():
    local = pd.DataFrame({"since": ["03/04/2024", "05/06/2024"] * 3, "x": np.arange(6.0)})
    found = TablePreparation().fit(local)
    assert found.kinds_ == {"since": "category", "x": "number"}
    assert found.transform(local).shape == (6, 2)  # one indicator, no year, month and day
    iso = local.assign(since=["2024-04-03", "2024-06-05 10:00"] * 3)
    found = TablePreparation().fit(iso)
    assert found.kinds_["since"] == "date"
    assert 2024 in found.transform(iso)[0]
    np.testing.assert_array_equal(
        found.transform(iso),
        found.transform(iso.assign(since=pd.to_datetime(iso["since"], format="ISO8601"))),
    )


def test_what_cannot_be_read_in_new_rows_is_said():
    table = pd.DataFrame({"n": [1.0, 2.0, 3.0], "d": ["2024-01-01"] * 3, "c": ["u", "v", "u"]})
    found = TablePreparation().fit(table)
    new = table.assign(n=["1", "two", "3"], d="2024-01-01")
    with pytest.warns(UserWarning, match=r"1 cell of 'n' .* such as 'two' in row 2"):
        coded = found.transform(new)
    np.testing.assert_array_equal(coded[[0, 2]], found.transform(table)[[0, 2]])
    assert np.isnan(coded[1, 0])
    new = table.assign(d=["2024-01-01", "03/04/2024", "04/04/2024"])
    with pytest.warns(UserWarning, match=r"2 cells of 'd' .* such as '03/04/2024' in row 2"):
        found.transform(new)
    numbers = table.assign(c=[1, 2, 3])
    assert found.transform(numbers).shape == (3, coded.shape[1])


def test_columns_that_differ_in_type_alone_are_refused():
    table = pd.DataFrame([[1.0, "u"], [2.0, "v"]], columns=[1, "1"])
    preparation = TablePreparation()
    with pytest.raises(ValueError, match="Two columns are called '1': give them different names"):
        preparation.fit(table)
    with pytest.raises(ValueError, match="Two columns are called '1': give them different names"):
        fit_model(table, [0, 1], "stakes", cost_matrix=[[0, 1], [5, 0]])


def test_numbers_as_names_are_taken_as_text():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({0: rng.normal(size=60), "b": rng.normal(size=60)})
    model = fit_model(table, (table[0] > 0).astype(int), "tree", cost_matrix=[[0, 1], [5, 0]])
    assert model.columns == ["0", "b"]
    assert len(model.decide(table)) == 60


def test_no_step_is_kept_twice():
    table = pd.DataFrame({"age": [30, 41, 52] * 9, "job": ["cook", "smith", "baker"] * 9})
    vectorizer = TablePreparation().fit(table).vectorizer_
    steps = [step for _, step in vectorizer._pipeline.steps]
    held = [value for name, value in vars(vectorizer).items() if name != "_pipeline"]
    listed = [x for v in held if isinstance(v, list) for x in v]
    listed += [x for v in held if isinstance(v, dict) for x in v.values()]
    assert not any(x is step for x in listed for step in steps)
