"""A file of every kind that is written, with hostile labels in it, opened by its reader.

The page is opened by a browser in tests/report/test_browser.py.
"""

import csv
import json
import os
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier

from stakes.cli import main
from stakes.cli._export import FORMS
from stakes.cli._outputs import KINDS, is_of_kind
from stakes.compare import compare, load_model
from stakes.costs import CostMatrix

LABELS = [
    "=cmd|' /C calc'!A0",
    "@SUM(1)",
    "+1+cmd",
    "-2+3",
    "</script><script>alert(1)</script>",
    "a \"quoted\", 'one'",
    "two\nlines",
    "\u202eturned",
    "'=already",
    "＝1+1",
]
RUNS = re.compile(r"\s*[=+\-@\t\r＝＋－＠]")
# A file of each kind that commands write; and the kinds that hold no label of the data.
FILES = {
    "page": "comparison.html",
    "figures": "comparison.json",
    "comparison": "comparison.csv",
    "model": "model.skops",
    "decisions": "decided.csv",
    "costs": "costs.csv",
    "graph": "tree.onnx",
    "policy": "policy.json",
    "query": "decide.sql",
    "source": "tree.c",
    "monitor": "watched.html",
    "state": "watched.json",
}
# In code a name must not end the comment or the text that it stands in.
NAMES = ["age", "a\ropen('owned', 'w')\r", "b\nopen('owned', 'w')\n", "*/ int owned; /*", 'c" --']
WITHOUT_LABELS = {"example", "results", "tables", "figure"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with every kind of file, made of data with hostile labels."""
    folder, before = tmp_path_factory.mktemp("hostile"), os.getcwd()
    os.chdir(folder)
    n = 12 * len(LABELS)
    truth = np.array(LABELS, dtype=object)[np.arange(n) % len(LABELS)]
    # The labels are values and names of columns too.
    frame = pd.DataFrame({"age": np.arange(n) % 40, "=HYPERLINK(1)": truth[::-1], "risk": truth})
    frame.to_parquet("data.parquet")
    data = ["data.parquet", "--target", "risk"]
    try:
        assert main(["costs", *data, "-o", "costs.csv"]) == 0
        prices = [*data, "--costs", "costs.csv"]
        assert main(["fit", *prices, "--method", "constant", "-o", "model.skops"]) == 0
        for ending in ("csv", "tsv", "csv.gz", "parquet", "arrow", "jsonl", "xlsx"):
            predict = ["predict", "model.skops", "data.parquet", "--with-data"]
            assert main([*predict, "-o", f"decided.{ending}"]) == 0
        numbers = np.random.default_rng(0).normal(size=(n, len(NAMES)))
        pd.DataFrame(numbers, columns=NAMES).assign(risk=truth).to_parquet("numbers.parquet")
        prices = ["numbers.parquet", "--target", "risk", "--costs", "costs.csv"]
        for method, forms in {"tree": ("onnx", "c"), "mec": ("json", "sql")}.items():
            assert main(["fit", *prices, "--method", method, "--fast", "-o", "own.skops"]) == 0
            for form in forms:
                out = FORMS[form][0].replace("model", "tree")
                assert main(["export", "own.skops", "--to", form, "-o", out]) == 0
        watched = ["--truth", "risk", "--state", "watched.json", "-o", "watched.html"]
        assert main(["monitor", "own.skops", "numbers.parquet", *watched]) == 0
        names = {"=cmd|1": DummyClassifier(), "@x": DummyClassifier(strategy="uniform")}
        found = compare(frame[["age"]], truth, methods=names, cv=2, fast=True)
        found.to_csv("comparison.csv")
        found.to_json("comparison.json")
        found.to_html("comparison.html")
    finally:
        os.chdir(before)
    return folder, frame, found


def test_every_kind_of_output_is_here(made):
    assert set(FILES) | WITHOUT_LABELS == set(KINDS), "open a file of the new kind here"
    for kind, name in FILES.items():
        assert (made[0] / name).exists()
        assert kind == "costs" or is_of_kind(made[0] / name, kind)


def cells(path, **dialect):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file, **dialect))


def is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("name", "dialect"),
    [("costs.csv", {}), ("decided.csv", {}), ("decided.tsv", {"delimiter": "\t"}),
     ("comparison.csv", {})],
)  # fmt: skip
def test_no_cell_of_a_csv_runs_in_a_spreadsheet(made, name, dialect):
    rows = cells(made[0] / name, **dialect)
    assert len({len(row) for row in rows}) == 1
    text = [cell for row in rows for cell in row if not is_number(cell)]
    assert text
    assert [cell for cell in text if RUNS.match(cell)] == []


def test_no_cell_of_a_workbook_is_a_formula(made):
    openpyxl = pytest.importorskip("openpyxl")
    sheet = openpyxl.load_workbook(made[0] / "decided.xlsx").active
    found = [cell for row in sheet.iter_rows() for cell in row]
    assert len(found) > 100
    assert {cell.data_type for cell in found} <= {"s", "n"}  # "f" would be a formula


def test_prices_come_back_with_the_labels_they_had(made):
    matrix = CostMatrix.from_csv(made[0] / "costs.csv")
    assert sorted(matrix.labels) == sorted(LABELS)


def test_figures_are_json(made):
    found = json.loads((made[0] / "comparison.json").read_text())
    assert sorted(found["classes"]) == sorted(LABELS)
    assert {"=cmd|1", "@x"} <= {row["method"] for row in found["methods"]}


def test_the_state_of_a_monitor_is_json(made):
    assert json.loads((made[0] / "watched.json").read_text())


def test_a_model_brings_its_labels_back(made):
    assert sorted(load_model(made[0] / "model.skops").classes) == sorted(LABELS)


def test_typed_tables_hold_every_cell_as_it_was(made):
    folder, frame, _ = made
    for name, read in {"parquet": pd.read_parquet, "arrow": pd.read_feather}.items():
        found = read(folder / f"decided.{name}")
        assert found["risk"].tolist() == frame["risk"].tolist()
        assert set(found["decision"]) <= set(LABELS)
    lines = (folder / "decided.jsonl").read_text().splitlines()
    assert [json.loads(line)["risk"] for line in lines] == frame["risk"].tolist()


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "jsonl"])
def test_duckdb_reads_what_was_written(made, ending):
    duckdb = pytest.importorskip("duckdb")
    folder, frame, _ = made
    reader = {"parquet": "read_parquet", "jsonl": "read_json"}.get(ending, "read_csv")
    path = str(folder / f"decided.{ending}").replace("'", "''")
    found = duckdb.connect().sql(f"select risk, decision from {reader}('{path}')").fetchall()
    risks = [risk for risk, _ in found]
    if "csv" in ending:
        assert [r.removeprefix("'") for r in risks] == [r.removeprefix("'") for r in frame["risk"]]
    else:
        assert risks == frame["risk"].tolist()


@pytest.mark.parametrize("name", ["costs.csv", "comparison.csv"])
def test_duckdb_reads_small_tables_as_text(made, name):
    duckdb = pytest.importorskip("duckdb")
    path = str(made[0] / name).replace("'", "''")
    given = "header = true, quote = '\"', escape = '\"', delim = ','"
    query = f"select * from read_csv('{path}', all_varchar = true, {given})"
    found = duckdb.connect().sql(query).fetchall()
    assert [list(row) for row in found] == [
        [cell or None for cell in row] for row in cells(made[0] / name)[1:]
    ]


@pytest.mark.parametrize("name", ["comparison.html", "watched.html"])
def test_the_pages_hold_no_label_as_markup(made, name):
    page = (made[0] / name).read_text()
    assert "<script>alert(1)" not in page
    assert page.count("<script") == page.count("</script>")


def test_source_code_is_what_it_was_written_to_be(made):
    code = (made[0] / "tree.c").read_text()
    assert code.count("*/") == code.count("/*") == 1
    assert "int owned" not in code.partition("*/")[2]


def test_databases_answer_with_the_labels_themselves(made):
    query = (made[0] / "decide.sql").read_text().rstrip().rstrip(";")
    policy = json.loads((made[0] / "policy.json").read_text())
    assert sorted(policy["classes"]) == sorted(LABELS)
    columns = [f"p{k}" for k in range(len(LABELS))]
    rows = np.eye(len(LABELS)).tolist()
    table = ", ".join(columns)
    values = ", ".join(f"({', '.join(map(str, row))})" for row in rows)
    found = {}
    for name in ("sqlite3", "duckdb"):
        database = pytest.importorskip(name).connect(":memory:")
        database.execute(f"create table scores ({', '.join(c + ' double' for c in columns)})")
        database.execute(f"insert into scores ({table}) values {values}")
        asked = database.execute(query)
        at = [column[0] for column in asked.description].index("decision")
        found[name] = [row[at] for row in asked.fetchall()]
    assert set(found["sqlite3"]) <= set(LABELS)
    assert len(set(found["sqlite3"])) > 1
    assert found["sqlite3"] == found["duckdb"]


def test_a_graph_brings_its_labels_back(made):
    pytest.importorskip("onnxruntime")
    from stakes.export import OnnxDecider

    decider = OnnxDecider(made[0] / "tree.onnx")
    numbers = pd.read_parquet(made[0] / "numbers.parquet").drop(columns="risk")
    numbers.columns = numbers.columns.str.strip()  # as tables are read
    decided = decider.decide(numbers)["decision"]
    assert set(decided) <= set(LABELS)
