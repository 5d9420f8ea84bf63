"""One policy, four programs: Python's, JavaScript's, SQL's and the graph decide alike."""

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from stakes.compare import DecisionModel
from stakes.costs import CostMatrix
from stakes.decision import (
    CostDecisionClassifier,
    Partition,
    Policy,
    ProbabilityCalibrator,
    known_rules,
    program,
)
from stakes.export import (
    ExportRefused,
    NotExportable,
    OnnxDecider,
    from_json,
    reader_source,
    to_json,
    to_onnx,
    to_sql,
)

N = 10_000
C2 = np.array([[0.0, 1.0], [7.0, 0.0]])
C3 = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [9.0, 4.0, 0.0]])
CALIBRATIONS = ("temperature", "vector", "matrix", "sigmoid", "isotonic", "binning")
PRICED = ("minimum_expected_cost", "parallel_partition", "row_partition", "column_partition")


def rows(n_classes, n=N, seed=0):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n_classes, 0.7), n)
    even = proba**0.7  # the truth is less sure than what is stated
    even /= even.sum(axis=1, keepdims=True)
    return proba, (even.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)


def policies():
    """Return the file of every rule that is a matrix, and of every calibration with all the rest."""
    files = {}
    for name, rule in known_rules().items():
        if name in ("least_regret", "risk_averse"):
            continue
        k = rule._n_classes or 3
        proba, y = rows(k, 400)
        costs = {2: C2, 3: C3}[k]
        files[name] = to_json(rule(cost_matrix=costs).fit(proba, np.array(["a", "b", "c"])[y]))
    for k, costs in ((2, C2), (3, C3)):
        proba, y = rows(k, 400, seed=3)
        for method in CALIBRATIONS:
            policy = Policy(
                classes=("a", "b", "c")[:k],
                prices=costs,
                calibration=ProbabilityCalibrator(method).fit(proba, y).numbers(),
                training_priors=np.full(k, 1.0 / k),
                rule=Partition(np.full((k, k), 0.5), np.tile(np.arange(k) / 9, (k, 1))),
            )
            policy = policy.with_priors(np.arange(1.0, k + 1) / np.arange(1.0, k + 1).sum())
            if method == "isotonic":  # as on a stream, whose first decision has too few places
                policy = policy.having(rule=None, shadow_prices=np.eye(k)[0])
            files[f"{method}, {k} classes"] = to_json(policy.with_abstention(0.7, "it's people's"))
    return files


FILES = policies()
# All of them on 10,000 rows is for `make test-slow`.
IN_FULL = ("parallel_partition", "mossman", "binary_threshold", "vector, 3 classes")
SIZES = [
    pytest.param(name, n, marks=[pytest.mark.slow] * (n == N and name not in IN_FULL))
    for name in FILES
    for n in ({N} if name in IN_FULL else {500, N})
]


def decided(file, n=N, prices=None):
    """Return rows, and what the program in Python decides of them."""
    proba, _ = rows(len(file["classes"]), n, seed=9)
    positions, expected = program.decide(file, proba, prices)
    return proba, [file["decisions"][i] for i in positions], expected


def row_prices(file, n, seed=0):
    costs = np.array(file["prices"])[:, : len(file["classes"])]
    rng = np.random.default_rng(seed)
    return costs * rng.lognormal(0, 1, (n, *costs.shape)) + rng.random((n, len(costs), 1))


# -- SQL -------------------------------------------------------------------------------------------


def in_sqlite(query, frame):
    base = sqlite3.connect(":memory:")
    frame.to_sql("scores", base, index=False)
    found = base.execute(query).fetchall()
    base.close()
    return found


def in_duckdb(query, frame):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with duckdb.connect() as base:
        base.register("scores", frame)
        return base.execute(query).fetchall()


@pytest.fixture(scope="module")
def in_postgres(tmp_path_factory):
    """A server of PostgreSQL in a folder of its own, or the reason why there is none."""
    from tests.export import postgres

    if postgres.missing():
        pytest.skip(postgres.missing())
    with postgres.server() as ask:
        yield ask


@pytest.mark.parametrize(("name", "n"), SIZES)
def test_sql_decides_as_python_does(name, n):
    file = FILES[name]
    proba, labels, expected = decided(file, n)
    frame = pd.DataFrame(proba, columns=[f"p{k}" for k in range(proba.shape[1])])
    frame["id"] = np.arange(n)
    for run, dialect in ((in_sqlite, "sqlite"), (in_duckdb, "duckdb")):
        said = run(to_sql(file, keep=["id"], dialect=dialect) + " ORDER BY id", frame)
        assert [row[1] for row in said] == labels
        np.testing.assert_allclose([row[3:] for row in said], expected, atol=1e-9)


@pytest.mark.parametrize("name", PRICED)
def test_sql_weighs_prices_of_rows(name):
    file, n = FILES[name], 500
    prices = row_prices(file, n)
    proba, labels, _ = decided(file, n, prices)
    frame = pd.DataFrame(proba, columns=["a", "b", "c"]).assign(id=np.arange(n))
    cells = [[f"c{t}{d}" for d in range(3)] for t in range(3)]
    for t, d in np.ndindex(3, 3):
        frame[f"c{t}{d}"] = prices[:, t, d]
    query = to_sql(file, columns=["a", "b", "c"], prices=cells, keep=["id"]) + " ORDER BY id"
    assert [row[1] for row in in_sqlite(query, frame)] == labels
    assert [row[1] for row in in_duckdb(query, frame)] == labels


@pytest.mark.parametrize("name", FILES)
def test_postgres_decides_as_python_does(in_postgres, name):
    file, n = FILES[name], 200
    proba, labels, expected = decided(file, n)
    proba[:2] = np.eye(proba.shape[1])[:2]  # logarithms of the floor, exponents of its size
    labels[:2], expected[:2] = (part for part in by_python(file, proba[:2]))
    k = proba.shape[1]
    values = ", ".join(f"({i}, {', '.join(map(repr, p))})" for i, p in enumerate(proba.tolist()))
    names = ", ".join(f"p{t}" for t in range(k))
    table = f"(SELECT * FROM (VALUES {values}) AS v (id, {names}))"
    query = to_sql(file, table=table, keep=["id"], dialect="postgres") + " ORDER BY id"
    said = in_postgres(query)
    assert [row[1] for row in said] == labels
    found = np.array([[float(v) for v in row[3:]] for row in said])
    np.testing.assert_allclose(found, expected, atol=1e-9)


def by_python(file, proba):
    positions, expected = program.decide(file, proba)
    return [file["decisions"][i] for i in positions], expected


def test_what_each_dialect_writes():
    policy = Policy(classes=("it's \\", "b"), prices=C2)
    file = to_json(policy)
    for dialect, double, name, text in (
        ("sqlite", "AS DOUBLE)", '"a ""1"""', "'it''s \\'"),
        ("postgres", "AS DOUBLE PRECISION)", '"a ""1"""', "'it''s \\'"),
        ("mysql", "AS DOUBLE)", '`a "1"`', "'it\\'s \\\\'"),
        ("bigquery", "AS FLOAT64)", '`a "1"`', "'it\\'s \\\\'"),
    ):
        query = to_sql(file, columns=['a "1"', "p1"], dialect=dialect)
        assert double in query
        assert name in query
        assert text in query
        assert ("MATERIALIZED" in query) == (dialect in ("sqlite", "postgres"))
    with pytest.raises(ValueError, match="no dialect 'oracle': choose one of"):
        to_sql(file, dialect="oracle")
    for nul in ({"model": to_json(policy.named(("a\0b", "c")))}, {"model": file, "keep": ["\0"]}):
        with pytest.raises(NotExportable, match="holds the character NUL"):
            to_sql(**nul)
    with pytest.raises(ValueError, match="decides by the prices of each row: give prices"):
        to_sql(policy.having(needs_prices=True))


def test_sql_works_out_prices_as_a_graph_does():
    frame = pd.DataFrame({"p0": [0.75, 0.75], "p1": [0.25, 0.25], "amount": [2.0, 40.0]})
    cells = [[0, 1], [lambda column: np.maximum(column("amount"), 3) + 2, 0]]
    query = to_sql(Policy(classes=("no", "yes"), prices=C2), prices=cells)
    # 0.25 * (3 + 2) = 1.25 and 0.25 * 42 = 10.5, against 0.75 * 1
    assert [row[4:] for row in in_sqlite(query, frame)] == [(1.25, 0.75), (10.5, 0.75)]


# -- JavaScript ------------------------------------------------------------------------------------


def in_node(code, *data):
    """Run JavaScript behind the reader on data; return what it returns."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    program_js = reader_source("javascript")
    body = f"{program_js}\nconst data = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
    body += f"console.log(JSON.stringify((() => {{ {code} }})()));"
    done = subprocess.run(
        ["node", "-e", body], input=json.dumps(data), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


ALL = "const [file, rows, prices] = data; return rows.map((p, i) => decide(file, p, prices && prices[i]));"


@pytest.mark.parametrize(("name", "n"), SIZES)
def test_javascript_decides_as_python_does(name, n):
    file = FILES[name]
    proba, labels, expected = decided(file, n)
    said = in_node(ALL, file, proba.tolist(), None)
    assert [row["decision"] for row in said] == labels
    assert [file["decisions"][row["position"]] for row in said] == labels
    np.testing.assert_allclose([row["expected"] for row in said], expected, atol=1e-9)


@pytest.mark.parametrize("name", PRICED)
def test_javascript_weighs_prices_as_python_does(name):
    file = FILES[name]
    prices = row_prices(file, 200)
    proba, labels, _ = decided(file, 200, prices)
    said = in_node(ALL, file, proba.tolist(), prices.tolist())
    assert [row["decision"] for row in said] == labels


def test_javascript_refuses_labels_that_it_would_merge():
    big = 2**53
    file = to_json(Policy(classes=(big, big + 1), prices=C2))
    assert from_json(file).decide([[0.0, 1.0]]).labels.tolist() == [big + 1]
    said = in_node("try { return decide(data[0], [0, 1]) } catch (e) { return e.message }", file)
    assert "does not tell whole numbers beyond 2^53 apart" in said


# -- what is no policy, and what are no probabilities ----------------------------------------------


def test_the_reader_in_python_needs_numpy_alone():
    text = reader_source("python")
    imported = [line for line in text.splitlines() if line.startswith(("import", "from"))]
    assert imported == ["import numpy as np"]
    space = {}
    exec(compile(text, "decide.py", "exec"), space)
    file = FILES["parallel_partition"]
    check = file["check"]
    positions, expected = space["decide"](file, check["probabilities"])
    assert [file["decisions"][i] for i in positions] == check["decisions"]
    assert expected.tolist() == check["expected_costs"]


def broken():
    """Yield a policy's file that does not hold together, and the name of the part."""
    file = FILES["matrix, 3 classes"]
    changes = {
        "classes": [["a"], ["a", "a", "b"], None],
        "decisions": [["a", "b"], []],
        "prices": [
            [[0, 1], [1, 0]],
            [[0, 1, 2, 3]] * 2,
            [[0, "1", 2, 3]] * 3,
            [[0, None, 1, 2]] * 3,
        ],
        "rule": [{"scale": [[1, 1]] * 3}, {"scale": [[1]] * 2, "offset": [[1]] * 2}, [], {}],
        "calibration": [
            {"method": "none"},
            {"method": "softmax", "slopes": [1, 2], "biases": [0], "added": 0},
            {"method": "binning", "maps": [{"edges": [0.5, 0.2], "shares": [0, 0.5, 1]}] * 3},
            {"method": "isotonic", "maps": [{"x": [0, 1], "y": [0]}] * 3},
            {"method": "sigmoid", "maps": [{"slope": 1, "bias": True}] * 3},
        ],
        "priors": [[[1, 2]], [[1, 2, 3]], True],
        "limits": [{"a": 1}],
        "shadow_prices": [[1, 2], "none"],
        "states": ["guesses"],
        "weighs_prices": [None, 1],
        "abstains": ["no"],
    }
    for name, values in changes.items():
        yield name, {part: value for part, value in file.items() if part != name}
        for value in values:
            # prices are looked at with the decisions that they should fit
            yield name, file | {name: value}


def test_a_policy_that_does_not_hold_together_is_refused_by_both_readers():
    tried = list(broken())
    assert len(tried) > 30
    code = """return data.map((file) => {
        try { decide(file, [0.2, 0.3, 0.5]); return "" } catch (e) { return e.message }
    });"""
    said = in_node(code, *(file for _, file in tried))
    for (name, file), in_js in zip(tried, said):
        with pytest.raises(ValueError, match="does not hold together") as told:
            from_json(file)
        both = (name, "prices") if name in ("classes", "decisions") else (name,)
        assert any(repr(part) in str(told.value) for part in both), name
        assert any(f'"{part}"' in in_js for part in both), (name, in_js)


def test_a_file_of_another_kind_is_refused():
    for file in ({"format": "other"}, {}, {"format": None}):
        with pytest.raises(ValueError, match="no decision policy of this version.*to_json"):
            from_json(file)
        assert "no decision policy" in in_node(
            "try { decide(data[0], [1, 0]) } catch (e) { return e.message }", file
        )
    limited = Policy(classes=("a", "b"), prices=C2).with_limits({"a": 3}).to_dict()
    with pytest.raises(ValueError, match="decides single rows"):
        program.decide(limited, [[0.5, 0.5]])
    with pytest.raises(NotExportable, match="with limits"):
        to_sql(limited)


# What are no probabilities of two classes.
NONE = [
    [0.75],
    [0.2, 0.3, 0.5],
    [75.0, 25.0],
    [-0.5, 1.5],
    [None, 1.0],
    [True, False],
    ["0.5", "0.5"],
]


@pytest.mark.parametrize("name", ["binary_threshold", "isotonic, 2 classes"])
def test_what_are_no_probabilities_is_refused(name):
    file = FILES[name]
    for p in [*NONE, [float("nan"), 0.5], "ab"]:
        with pytest.raises(ValueError, match="Give rows of 2 probabilities, in the order of the"):
            program.decide(file, [p])
    code = """const [file, ...tried] = data; return [...tried, [NaN, 0.5]].map((p) => {
        try { return decide(file, p) } catch (e) { return e.message }
    });"""
    assert all("Give 2 probabilities" in told for told in in_node(code, file, *NONE, "ab"))
    base = sqlite3.connect(":memory:")
    base.execute("create table scores (p0 real, p1 real)")
    base.executemany("insert into scores values (?, ?)", [(None, 0.25), (0.75, None), *NONE[2:4]])
    assert all(row[2:] == (None,) * len(row[2:]) for row in base.execute(to_sql(file)))
    base.close()


def test_prices_that_are_none_are_refused():
    file = to_json(Policy(classes=("no", "yes"), prices=C2))
    bad = [
        [[0, 1]],
        [[0, 1, 2], [5, 0, 1]],
        [[0, None], [5, 0]],
        [[0, True], [5, 0]],
        [[0, "1"], [5, 0]],
    ]
    for prices in [*bad, [[0, float("nan")], [5, 0]]]:
        with pytest.raises(ValueError, match="tables of 2 rows of 2 numbers"):
            program.decide(file, [[0.5, 0.5]], [prices])
    code = """const [file, ...tried] = data; return tried.map((prices) => {
        try { return decide(file, [0.5, 0.5], prices) } catch (e) { return e.message }
    });"""
    assert all("2 rows of 2 numbers" in told for told in in_node(code, file, *bad))
    base = sqlite3.connect(":memory:")
    base.execute("create table scores (p0 real, p1 real, amount real)")
    base.execute("insert into scores values (0.5, 0.5, null), (0.5, 0.5, 9)")
    query = to_sql(file, prices=[["0", "1"], ["amount", "0"]])
    assert [row[2] for row in base.execute(query)] == [None, "yes"]
    base.close()


# -- the file ------------------------------------------------------------------------------------


def test_every_file_keeps_to_the_schema():
    schema = json.loads(reader_source("schema"))
    parts = schema["properties"]
    methods = set(parts["calibration"]["oneOf"][1]["properties"]["method"]["enum"])
    seen = set()
    for file in FILES.values():
        assert set(schema["required"]) <= file.keys() <= parts.keys()
        assert file["format"] == parts["format"]["const"] == program.FORMAT
        assert json.loads(json.dumps(file)) == file
        seen |= {file["calibration"]["method"]} if file["calibration"] else set()
    assert seen == methods


def test_the_file_holds_no_path_and_no_training_row(tmp_path, monkeypatch):
    monkeypatch.setenv("USER", "a_certain_user")
    proba, y = rows(3, 400)
    path = tmp_path / "policy.json"
    to_json(known_rules()["parallel_partition"](cost_matrix=C3).fit(proba, y), path)
    text = path.read_text()
    assert from_json(path).to_dict() == from_json(json.loads(text)).to_dict()
    assert str(tmp_path) not in text
    assert "a_certain_user" not in text
    assert str(Path(sys.prefix)) not in text
    assert not any(repr(p) in text for p in proba[:, 0].tolist())


def test_many_classes_take_no_more_room_than_their_prices():
    import tracemalloc

    prices = np.random.default_rng(0).gamma(1.0, size=(1000, 1000))
    tracemalloc.start()
    file = to_json(Policy(classes=range(1000), prices=prices))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1.0e9  # 2,000 rows' own prices would be 16 GB
    assert len(file["check"]["decisions"]) == 20


# -- decisions that are no classes -----------------------------------------------------------------

# A payment is fraud or fine. With 1% of fraud, approving costs 1 and asking for a code 1.19; with
# 5%, 5 and 1.95; with 50% a review costs 7.5 and blocking 10; with 90%, 9.5 and 2.
PAYMENT = Policy(
    classes=("fraud", "fine"),
    decisions=("approve", "ask for a code", "review", "block"),
    prices=np.array([[100.0, 20.0, 10.0, 0.0], [0.0, 1.0, 5.0, 20.0]]),
)
SHARES = np.array([[0.01, 0.99], [0.05, 0.95], [0.5, 0.5], [0.9, 0.1]])
MEANT = ["approve", "ask for a code", "review", "block"]
LEAST = [1.0, 1.95, 7.5, 2.0]


def test_four_decisions_about_two_classes_by_hand(tmp_path):
    file = to_json(PAYMENT, tmp_path / "policy.json")
    policy = from_json(tmp_path / "policy.json")
    assert policy.decide(SHARES).labels.tolist() == MEANT
    positions, expected = program.decide(file, SHARES)
    assert positions.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(expected.min(axis=1), LEAST)
    said = in_node(ALL, file, SHARES.tolist(), None)
    assert [row["decision"] for row in said] == MEANT
    frame = pd.DataFrame(SHARES, columns=["p0", "p1"])
    for run, dialect in ((in_sqlite, "sqlite"), (in_duckdb, "duckdb")):
        said = run(to_sql(file, dialect=dialect), frame)
        assert [row[2] for row in said] == MEANT
        np.testing.assert_allclose([row[3] for row in said], LEAST)
    # where approving a fraud costs this row nothing, it is approved
    free = np.where(PAYMENT.prices == 100.0, 0.0, PAYMENT.prices)
    assert policy.decide(SHARES, np.tile(free, (4, 1, 1))).labels.tolist() == ["approve"] * 4
    said = in_node(ALL, file, SHARES.tolist(), [free.tolist()] * 4)
    assert [row["decision"] for row in said] == ["approve"] * 4
    cells = [[repr(c) for c in row] for row in free.tolist()]
    assert [row[2] for row in in_sqlite(to_sql(file, prices=cells), frame)] == ["approve"] * 4


def test_four_decisions_in_a_graph():
    pytest.importorskip("onnxruntime")
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    X = rng.normal(size=(300, 2)) - y[:, None]
    learner = LogisticRegression().fit(X, np.array(["fraud", "fine"])[y])
    prices = PAYMENT.prices[::-1]  # in the order of the learner's classes: fine, fraud
    payment = Policy(classes=("fine", "fraud"), decisions=PAYMENT.decisions, prices=prices)
    for policy in (payment, payment.with_abstention(1.5, "wait")):
        model = DecisionModel("payments", "class", learner, policy, takes_labels=True)
        decider = OnnxDecider(to_onnx(model, X=X))
        assert decider.about["decisions"] == list(policy.decisions)
        meant = policy.decide(learner.predict_proba(X))
        assert len(set(meant.labels)) >= 3
        found = decider.decide(X)
        assert found["decision"].tolist() == meant.labels.tolist()
        np.testing.assert_allclose(found["next_best_cost"], meant.next_best_cost)
        tensor = prices * rng.lognormal(0, 1, (300, 1, 4))
        found = decider.decide(X, cost_tensor=tensor)["decision"]
        assert found.tolist() == policy.decide(learner.predict_proba(X), tensor).labels.tolist()
        with pytest.raises(ValueError, match=r"but \(300, 2, 4\) was expected"):
            decider.decide(X, cost_tensor=tensor[:, :, :2])


# -- files of the first version --------------------------------------------------------------------


def test_layers_of_the_first_version_decide_as_they_did():
    layers = json.loads((Path(__file__).parent / "old_layers.json").read_text())
    assert len(layers) > 12
    for name, layer in layers.items():
        assert layer["format"] == "stakes-decision-layer-1"
        policy = from_json(layer)
        check = layer["check"]
        decided = policy.decide(check["probabilities"])
        assert decided.labels.tolist() == check["decisions"], name
        np.testing.assert_allclose(decided.expected, check["expected_costs"], atol=1e-12)
        rows = pd.DataFrame(check["probabilities"]).add_prefix("p")
        width = rows.shape[1]
        assert [r[width] for r in in_sqlite(to_sql(layer), rows)] == check["decisions"], name
        if "priced" in layer:
            again = policy.decide(check["probabilities"], layer["priced"]["prices"])
            assert again.labels.tolist() == layer["priced"]["decisions"], name
        with pytest.raises(ValueError, match="read an older one with stakes.export.from_json"):
            program.decide(layer, check["probabilities"])
        with pytest.raises(ValueError, match="not whole, or keeps to limits"):
            from_json(layer | {"limits": {"a": 1}})


def test_the_page_decides_by_the_program_that_is_copied(tmp_path):
    from stakes.compare import compare

    rng = np.random.default_rng(0)
    y = rng.integers(3, size=120)
    X = rng.normal(size=(120, 2)) + y[:, None]
    page = compare(X, y, methods=["mec"], cost_matrix=C3, cv=2, fast=True).to_html()
    assert reader_source("javascript") in page
    found = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    policy = from_json(found["policy"])
    np.testing.assert_array_equal(policy.prices, C3)
    assert policy.decide([[0.0, 0.5, 0.5]]).positions.tolist() == [2]  # 6, 2 and 0.5


def test_a_program_that_decides_otherwise_is_refused(monkeypatch, tmp_path):
    # the rule's scores are about 1e-20; the expected costs of both decisions are the same
    rule = Partition.fixed(1e-20 * np.array([[0.0, 1.0], [2.0, 0.0]]))
    policy = Policy(classes=("a", "b"), prices=np.ones((2, 2)), rule=rule)
    monkeypatch.setattr(program, "partition", lambda prices, scale, offset: offset[:, ::-1])
    with pytest.raises(ExportRefused, match="decisions differ"):
        to_json(policy, tmp_path / "policy.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("rule", ["minimum_expected_cost", "parallel_partition"])
@pytest.mark.parametrize("aside", [None, 1.5])
def test_a_fitted_model_of_four_decisions_goes_everywhere(rule, aside):
    pytest.importorskip("onnxruntime")
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    X = rng.normal(size=(300, 2)) + y[:, None]
    priced = CostMatrix(PAYMENT.prices, labels=PAYMENT.classes, decisions=PAYMENT.decisions)
    model = CostDecisionClassifier(
        LogisticRegression(), cost_matrix=priced, rule=rule, abstain_cost=aside
    ).fit(X, np.array(["fraud", "fine"])[y])
    meant = model.predict(X).tolist()
    assert len(set(meant)) >= 2
    assert OnnxDecider(to_onnx(model, X=X)).run(X)["decision"].tolist() == meant
    file, proba = to_json(model), model.estimator_.predict_proba(X)
    assert from_json(file).decide(proba).labels.tolist() == meant
    assert [row["decision"] for row in in_node(ALL, file, proba.tolist(), None)] == meant
    said = in_sqlite(to_sql(file), pd.DataFrame(proba, columns=["p0", "p1"]))
    assert [row[2] for row in said] == meant
