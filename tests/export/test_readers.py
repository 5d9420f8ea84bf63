"""The readers of a decision layer in Python, JavaScript and SQL decide alike."""

import json
import sqlite3
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browser import missing, start
from sklearn.linear_model import LogisticRegression

from stakes.decision import (
    BinaryThreshold,
    ClassThresholds,
    ColumnPartition,
    CostDecisionClassifier,
    LachicheFlach,
    MinimumExpectedCost,
    Mossman,
    ParallelPartition,
    ProbabilityCalibrator,
    RowPartition,
)
from stakes.export import NotExportable, decide_layer, reader_source, to_json, to_sql
from stakes.export._layer import calibration_of
from stakes.export.readers import decide as reader

N = 10_000
C2 = np.array([[0.0, 1.0], [7.0, 0.0]])
C3 = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [9.0, 4.0, 0.0]])


def rows(n_classes, n=N, seed=0):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(n_classes, 0.7), n), rng.integers(n_classes, size=n)


def layers():
    """Return a layer of every rule and calibration, some with abstention."""
    found = {}
    for rule in (BinaryThreshold(), MinimumExpectedCost()):
        proba, y = rows(2, 400)
        name = f"two classes, {type(rule).__name__}"
        found[name] = to_json(
            rule.set_params(cost_matrix=C2).fit(proba, np.array(["no", "yes"])[y])
        )
    for rule in (
        ParallelPartition(),
        RowPartition(),
        ColumnPartition(),
        ClassThresholds(),
        LachicheFlach(),
        Mossman(),
    ):
        proba, y = rows(3, 400)
        found[type(rule).__name__] = to_json(rule.set_params(cost_matrix=C3).fit(proba, y))
    for n_classes in (2, 3):
        proba, y = rows(n_classes, 400, seed=3)
        costs = {2: C2, 3: C3}[n_classes]
        for method in ("temperature", "vector", "sigmoid", "isotonic", "binning"):
            calibrator = ProbabilityCalibrator(method).fit(proba, y)
            labels = np.array(["a", "b", "c"])[y]
            layer = to_json(MinimumExpectedCost(cost_matrix=costs).fit(proba, labels))
            layer["calibration"] = calibration_of(calibrator)
            layer["shifts"] = {"factors": [0.5, 2.0, 1.5][:n_classes]}
            layer["abstain"] = {"label": "it's people's", "costs": [0.5] * n_classes}
            found[f"{method}, {n_classes} classes"] = layer
    return found | adapted()


def adapted():
    """Return layers of models that were fitted for other class frequencies than in training."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    X = rng.normal(size=(300, 2)) + y[:, None]
    found = {}
    for rule, aside in (("minimum_expected_cost", 0.8), ("parallel_partition", None)):
        model = CostDecisionClassifier(
            LogisticRegression(),
            cost_matrix=C3,
            rule=rule,
            priors=[0.8, 0.15, 0.05],
            abstain_cost=aside,
        ).fit(X, y)
        found[f"adapted, {rule}"] = layer = to_json(model)
        assert layer["shifts"] is not None
        proba = model.estimator_.predict_proba(X)
        assert [reader.decide(layer, p)[0] for p in proba.tolist()] == model.predict(X).tolist()
    return found


LAYERS = layers()


# All of them on 10,000 rows is for `make test-slow`.
IN_FULL = ("ParallelPartition", "Mossman", "two classes, BinaryThreshold", "vector, 3 classes")
IN_FULL += ("adapted, minimum_expected_cost",)
SIZES = [
    pytest.param(name, n, marks=[pytest.mark.slow] * (n == N and name not in IN_FULL))
    for name in LAYERS
    for n in ({N} if name in IN_FULL else {500, N})
]


def by_reader(layer, prices=None, n=N):
    proba, _ = rows(len(layer["labels"]), n, seed=9)
    given = [None] * n if prices is None else prices.tolist()
    return proba, [reader.decide(layer, p, c) for p, c in zip(proba.tolist(), given)]


def disagreements(found, others, layer):
    """Return the rows that differ where two decisions are further apart than rounding."""
    labels = [*layer["labels"], (layer["abstain"] or {}).get("label")]
    by_costs = layer["rule"]["parameters"] == layer["cost_matrix"]
    bad = []
    for i, ((label, expected), other) in enumerate(zip(found, others)):
        if label != other:
            gap = abs(expected[labels.index(label)] - expected[labels.index(other)])
            bad += [i] if gap > 1e-9 or not by_costs else []
    return bad


@pytest.mark.parametrize(("name", "n"), SIZES)
def test_sql_decides_as_python_does(name, n):
    layer = LAYERS[name]
    proba, found = by_reader(layer, n=n)
    names = [f"p{k}" for k in range(proba.shape[1])]
    frame = pd.DataFrame(proba, columns=names).assign(id=np.arange(n))
    query = to_sql(layer, keep=["id"]) + " ORDER BY id"
    base = sqlite3.connect(":memory:")
    frame.to_sql("scores", base, index=False)
    said = base.execute(query).fetchall()
    base.close()
    assert disagreements(found, [row[1] for row in said], layer) == []
    np.testing.assert_allclose([row[3] for row in said], [e[0] for _, e in found], atol=1e-9)
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as other:
        other.register("scores", frame)
        said = other.execute(query).fetchall()
    assert disagreements(found, [row[1] for row in said], layer) == []


def test_sql_weighs_prices_of_rows():
    proba, _ = rows(2, seed=9)
    amount = np.random.default_rng(0).lognormal(1, 1, N)
    layer = LAYERS["two classes, MinimumExpectedCost"]
    prices = np.zeros((N, 2, 2))
    prices[:, 0, 1], prices[:, 1, 0] = 1.0, amount
    _, found = by_reader(layer, prices)
    frame = pd.DataFrame({"no": proba[:, 0], "yes": proba[:, 1], "amount": amount})
    base = sqlite3.connect(":memory:")
    frame.to_sql("scores", base, index=False)
    how = {"columns": ["no", "yes"], "prices": [["0", "1"], ["amount", "0"]]}
    said = base.execute(to_sql(layer, **how)).fetchall()
    base.close()
    assert disagreements(found, [row[2] for row in said], layer) == []


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    if missing():
        pytest.skip(missing())
    driver = start()
    driver.get("about:blank")
    driver.execute_script(
        "const s = document.createElement('script'); s.textContent = arguments[0];"
        "document.head.append(s);",
        reader_source("javascript"),
    )
    yield driver
    driver.quit()


@pytest.mark.parametrize(("name", "n"), SIZES)
def test_javascript_decides_as_python_does(page, name, n):
    layer = LAYERS[name]
    proba, found = by_reader(layer, n=n)
    said = page.execute_script(
        "const layer = JSON.parse(arguments[0]), rows = JSON.parse(arguments[1]);"
        "const all = rows.map((p) => decide(layer, p));"
        "return JSON.stringify([all.map((x) => x.decision), all.map((x) => x.expected[0])]);",
        json.dumps(layer),
        json.dumps(proba.tolist()),
    )
    decisions, expected = json.loads(said)
    assert disagreements(found, decisions, layer) == []
    np.testing.assert_allclose(expected, [e[0] for _, e in found], atol=1e-9)


def test_javascript_weighs_prices_as_python_does(page):
    rng = np.random.default_rng(0)
    prices = C3[None] * rng.lognormal(0, 1, (200, 3, 3))
    for name in ("ParallelPartition", "RowPartition", "ColumnPartition"):
        layer = LAYERS[name]
        proba = rows(3, 200)[0].tolist()
        found = [reader.decide(layer, p, c)[0] for p, c in zip(proba, prices.tolist())]
        said = page.execute_script(
            "const [layer, rows, prices] = JSON.parse(arguments[0]);"
            "return rows.map((p, i) => decide(layer, p, prices[i]).decision);",
            json.dumps([layer, proba, prices.tolist()]),
        )
        assert said == found


def test_the_reader_in_python_stands_alone(tmp_path):
    text = reader_source("python")
    imported = [line for line in text.splitlines() if line.startswith(("import", "from"))]
    assert imported == ["import math"]
    space = {}
    exec(compile(text, "decide.py", "exec"), space)
    layer = LAYERS["ParallelPartition"]
    check = layer["check"]
    for p, decision in zip(check["probabilities"], check["decisions"]):
        assert space["decide"](layer, p)[0] == decision


def test_a_file_that_asks_for_more_is_refused_by_every_reader(tmp_path):
    layer = LAYERS["two classes, MinimumExpectedCost"] | {"limits": {"yes": 10}}
    with pytest.raises(ValueError, match="knows no limits"):
        decide_layer(layer, [0.5, 0.5])
    with pytest.raises(NotExportable, match="limits"):
        to_sql(layer)
    with pytest.raises(ValueError, match="no decision layer"):
        decide_layer({"format": "other"}, [0.5, 0.5])


def test_every_layer_keeps_to_the_schema():
    schema = json.loads(reader_source("schema"))
    kinds = set(schema["properties"]["rule"]["properties"]["kind"]["enum"])
    methods = set(schema["properties"]["calibration"]["properties"]["method"]["enum"])
    for layer in LAYERS.values():
        assert (
            set(schema["required"])
            <= layer.keys()
            <= {*schema["properties"], "verification", "versions"}
        )
        assert layer["rule"]["kind"] in kinds
        assert layer["calibration"]["method"] in methods
        assert json.loads(json.dumps(layer)) == layer
    assert {layer["rule"]["kind"] for layer in LAYERS.values()} == kinds


def test_the_file_holds_no_path_and_no_training_row(tmp_path, monkeypatch):
    monkeypatch.setenv("USER", "a_certain_user")
    proba, y = rows(3, 400)
    path = tmp_path / "layer.json"
    to_json(ParallelPartition(cost_matrix=C3).fit(proba, y), path)
    text = path.read_text()
    assert str(tmp_path) not in text
    assert "a_certain_user" not in text
    assert str(Path(sys.prefix)) not in text
    assert not any(repr(p) in text for p in proba[:, 0].tolist())


# What are no probabilities of two classes, as Python, JavaScript and SQL write them.
NONE = [[0.75], [0.2, 0.3, 0.5], [75.0, 25.0], [-0.5, 1.5], [float("nan"), 0.5]]


@pytest.mark.parametrize("name", ["two classes, BinaryThreshold", "isotonic, 2 classes"])
def test_what_are_no_probabilities_is_refused(page, name):
    layer = LAYERS[name]
    for p in NONE:
        with pytest.raises(ValueError, match="Give 2 probabilities, in the order of the labels"):
            decide_layer(layer, p)
    tried = "const tried = %s; return tried.map((p) => {try {return decide(%s, p)} catch (e) {return 0}})"
    assert (
        page.execute_script(tried % (str(NONE).replace("nan", "NaN"), json.dumps(layer)))
        == [0] * 5
    )
    base = sqlite3.connect(":memory:")
    base.execute("create table scores (p0 real, p1 real)")
    base.executemany("insert into scores values (?, ?)", [(None, 0.25), (0.75, None), *NONE[2:4]])
    assert all(row[2:] == (None,) * len(row[2:]) for row in base.execute(to_sql(layer)))
    base.close()


def test_prices_that_are_none_are_refused(page):
    layer = LAYERS["two classes, MinimumExpectedCost"]
    for prices in ([[0, 1]], [[0, 1, 2], [5, 0, 1]], [[0, float("nan")], [5, 0]]):
        with pytest.raises(ValueError, match="2 rows of 2 numbers"):
            decide_layer(layer, [0.5, 0.5], prices)
        code = f"try {{return decide({json.dumps(layer)}, [0.5, 0.5], {prices})}} catch (e) {{return 0}}"
        assert page.execute_script(code.replace("nan", "NaN")) == 0
    base = sqlite3.connect(":memory:")
    base.execute("create table scores (p0 real, p1 real, amount real)")
    base.execute("insert into scores values (0.5, 0.5, null), (0.5, 0.5, 9)")
    query = to_sql(layer, prices=[["0", "1"], ["amount", "0"]])
    assert [row[2] for row in base.execute(query)] == [None, "yes"]
    base.close()
