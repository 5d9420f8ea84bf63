"""What a model file holds of the rows it was fitted on: nobody's name."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier
from tests.cli.commands import run

from stakes.compare import add_reference, compare, fit_model, load_model, save_model
from stakes.export import to_json, to_onnx
from stakes.tables import find_identifiers

COSTS = [[0, 1], [5, 0]]
NAMES = [f"Ann{i:03d} Smith{(7 * i) % 600:03d}" for i in range(600)]


def people(n=600):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"name": NAMES[:n], "age": rng.normal(50, 9, n), "customer": range(n)})
    table["town"] = rng.choice(["york", "bath", "ely"], n)
    table.loc[:1, "town"] = "hamlet of two"
    return table, (table["age"] > 50).astype(int).to_numpy()


def contents(path):
    """Return all bytes of a file, of an archive those that are packed in it."""
    if not zipfile.is_zipfile(path):
        return path.read_bytes()
    with zipfile.ZipFile(path) as opened:
        return b"".join(opened.read(name) for name in opened.namelist())


def names_in(data):
    """Return the names, and rare values, that bytes hold in any usual encoding."""
    codings = ("utf-8", "utf-16-le", "utf-32-le")
    return [n for n in [*NAMES, "hamlet of two"] if any(n.encode(c) in data for c in codings)]


@pytest.mark.parametrize("method", ["stakes", "mec", "tree"])
@pytest.mark.parametrize("keep", [False, True])
def test_no_name_is_in_any_file(tmp_path, method, keep):
    X, y = people()
    if keep:
        model = fit_model(X, y, method, cost_matrix=COSTS, keep_identifiers=True)
    else:
        with pytest.warns(UserWarning, match=r"they tell rows apart: 'name', 'customer'\. If"):
            model = fit_model(X, y, method, cost_matrix=COSTS)
        assert model.info["left_out"] == ["name", "customer"]
        assert model.columns == ["age", "town"]
    add_reference(model, X, y, cost_matrix=COSTS)
    save_model(model, tmp_path / "model.skops")
    files = [tmp_path / "model.skops"]
    if method != "tree":
        to_json(model, tmp_path / "layer.json")
        files.append(tmp_path / "layer.json")
    if not keep:
        to_onnx(model, tmp_path / "model.onnx", training_rows=True)
        files.append(tmp_path / "model.onnx")
    for file in files:
        assert names_in(contents(file)) == [], file
    again = load_model(tmp_path / "model.skops")
    new = X[2:].drop(columns=[] if keep else ["name", "customer"])  # they need not be there
    assert again.predict(new).tolist() == model.predict(new).tolist()
    assert not [f for f in again.differences(X) if f.kind == "new columns"]


def test_a_comparison_leaves_them_out_of_fits_too():
    X, y = people(200)
    X["told"] = [f"{label}{i}" for i, label in enumerate(y)]  # whoever learns it errs on new rows
    with pytest.warns(UserWarning, match="Not learned from"):
        found = compare(X, y, cost_matrix=COSTS, methods=["mec"], cv=2, check=False)
    without = compare(X[["age", "town"]], y, cost_matrix=COSTS, methods=["mec"], cv=2, check=False)
    assert found.table.loc["mec", "cost"] == without.table.loc["mec", "cost"]


def test_the_command_leaves_them_out_and_says_so(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = people(200)
    X.assign(risk=np.where(y, "bad", "good"), code=[f"0{i:05d}" for i in range(200)]).to_csv(
        "people.csv", index=False
    )
    prices = ["--target", "risk", "--fp", 1, "--fn", 5, "--positive", "bad"]
    how = ["--method", "mec", "--fast"]
    _, err = run(capsys, "fit", "people.csv", *prices, *how)
    assert "they tell rows apart: 'name', 'customer', 'code'" in err
    data = contents(tmp_path / "model.skops")
    assert names_in(data) == []
    assert b"000017" not in data
    _, err = run(capsys, "predict", "model.skops", "people.csv")
    assert "Not used" not in err
    _, err = run(capsys, "fit", "people.csv", *prices, *how, "--keep-identifiers", "--force")
    assert "Not learned from" not in err
    assert names_in(contents(tmp_path / "model.skops")) == []


def test_a_table_of_nothing_else_is_refused():
    X, y = people(100)
    with pytest.raises(ValueError, match="Every column tells rows apart: 'name', 'customer'"):
        fit_model(X[["name", "customer"]], y, "mec", cost_matrix=COSTS)


def test_measurements_are_no_identifiers():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "time": np.arange(100.0),
            "amount": rng.integers(0, 10**6, 100),
            "note": [f"the parcel of {i} was late" for i in range(100)],
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(100), "D"),
            "client_id": np.where(np.arange(100) % 7, np.arange(100.0), np.nan),
        }
    )
    assert find_identifiers(table) == ["client_id"]


def test_a_profile_says_so_where_a_value_was_too_rare_to_keep():
    X, y = people()
    with pytest.warns(UserWarning, match="Not learned from"):
        model = fit_model(X, y, "mec", cost_matrix=COSTS)
    (finding,) = [f for f in model.differences(X[:2]) if f.kind == "new values"]
    assert "not there in training, or in hardly a row: 'hamlet of two'" in str(finding)
    assert json.dumps([p.to_dict() for p in model.profiles]).count("hamlet") == 0


def test_what_a_file_keeps_is_listed(capsys, tmp_path):
    X, y = people()
    X["note"] = [f"the parcel of {name} was late" for name in X["name"]]
    with pytest.warns(UserWarning, match="Not learned from"):
        model = fit_model(X, y, KNeighborsClassifier(), cost_matrix=COSTS)
    add_reference(model, X, y, cost_matrix=COSTS)
    save_model(model, tmp_path / "model.skops")
    out, _ = run(capsys, "inspect", tmp_path / "model.skops")
    assert "fitted on 600 rows" in out
    assert "they tell rows apart: 'name', 'customer'" in out
    found = json.loads(run(capsys, "inspect", tmp_path / "model.skops", "--json")[0])
    kept = {(one["where"], one["what"]): one for one in found["kept"]}
    assert kept["preparation", "'town': values by name"]["values"] == ["bath", "ely", "york"]
    words = kept["preparation", "'note': words and letters"]["values"]
    assert "parcel" in words
    assert not [word for word in words if word.startswith("smith")]
    assert kept["estimator", "KNeighborsClassifier: training rows, as numbers"]["size"] == 600
    assert kept["reference", "'age': histogram"]["size"] == 9
    assert not names_in(json.dumps(found).encode())
