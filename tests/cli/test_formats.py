"""Tables of strangers on the command line: the same decisions from any format, nothing silent."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import refused, run

from stakes.compare import fit_model
from stakes.costs import CostMatrix
from stakes.tables import read_table, write_table

PRICES = ["--target", "risk", "--fp", "1", "--fn", "5", "--positive", "good"]


def loans(n=90, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % 2
    frame = pd.DataFrame(
        {
            "amount": np.round(rng.uniform(500, 9000, n), 2),
            "age": rng.integers(20, 70, n),
            "rate": np.where(rng.random(n) < 0.2, np.nan, np.round(rng.normal(size=n) + codes, 6)),
            "job": np.where(rng.random(n) < 0.2, None, rng.choice(["cook", "smith", "None"], n)),
            "member": rng.random(n) < 0.4 + 0.2 * codes,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 999, n), "D"),
            "risk": np.array(["NA", "good"])[codes],
        }
    )
    frame["job"] = frame["job"].astype(str).where(frame["job"].notna())
    return frame


FORMATS = {
    "comma.csv": lambda t, to: t.to_csv(to, index=False),
    "semicolon.csv": lambda t, to: t.to_csv(to, index=False, sep=";", decimal=","),
    "packed.csv.gz": lambda t, to: t.to_csv(to, index=False),
    "table.parquet": lambda t, to: t.to_parquet(to),
    "table.arrow": lambda t, to: t.to_feather(to),
    "table.xlsx": lambda t, to: t.to_excel(to, index=False),
    "table.jsonl": lambda t, to: t.assign(since=t["since"].astype(str)).to_json(
        to, orient="records", lines=True, double_precision=15
    ),
}


def decisions(capsys, monkeypatch, method, names):
    """Return for each format the decisions of a model fitted on a file of it."""
    found = {}
    for name in names:
        for step in (["fit", name, *PRICES, "--method", method, "--fast", "-o", "m.skops"],
                     ["predict", "m.skops", name, "-o", "d.csv"]):  # fmt: skip
            if name == "-":
                given = io.BytesIO(Path("comma.csv").read_bytes())
                monkeypatch.setattr("sys.stdin", io.TextIOWrapper(given))
            run(capsys, *step)
        found[name] = Path("d.csv").read_bytes()
    return found


def decisions_in_python(method, table):
    """Return for each library the decisions of a model fitted on a table of it, as a file."""
    import polars
    import pyarrow

    found = {}
    for library, take in (
        ("pandas", lambda frame: frame),
        ("polars", polars.from_pandas),
        ("pyarrow", lambda frame: pyarrow.Table.from_pandas(frame, preserve_index=False)),
    ):
        X = take(table.drop(columns="risk"))
        model = fit_model(
            X,
            table["risk"],
            method,
            cost_matrix=CostMatrix([[0, 1], [5, 0]], ["NA", "good"]),
            fast=True,
        )
        decided = model.decide(X)
        decided.insert(0, "row", range(1, len(decided) + 1))
        write_table(decided, "python.csv")
        found[library] = Path("python.csv").read_bytes()
    return found


@pytest.mark.parametrize(
    ("method", "names"),
    [
        ("tree", ["comma.csv", "semicolon.csv", "-"]),
        ("mec", ["comma.csv", "packed.csv.gz", "table.parquet"]),
        ("weighted", ["table.arrow", "table.xlsx", "table.jsonl", "comma.csv"]),
    ],
)
def test_the_same_decisions_from_every_format(capsys, here, monkeypatch, method, names):
    table = loans()
    for name in set(names) - {"-"} | {"comma.csv"}:
        FORMATS[name](table, name)
    found = decisions(capsys, monkeypatch, method, names)
    if method == "tree":
        found |= decisions_in_python(method, table)
    assert len(set(found.values())) == 1
    lines = found[names[0]].decode().splitlines()
    assert len(lines) == 91
    assert lines[1].startswith("1,")  # rows count from 1


@pytest.mark.slow
def test_the_same_decisions_from_every_format_in_twelve_methods(capsys, here, monkeypatch):
    methods = ["stakes", "plain", "tree", "forest", "gbse", "costing", "metacost", "csovo",
               "partition", "combo", "mec", "cost_regression"]  # fmt: skip
    table = loans()
    for name, write in FORMATS.items():
        write(table, name)
    for method in methods:
        found = decisions(capsys, monkeypatch, method, [*FORMATS, "-"])
        found |= decisions_in_python(method, table)
        assert len(set(found.values())) == 1, method


@pytest.mark.slow
def test_figures_do_not_depend_on_the_process(here):
    """Text of 60 values, two new stores, two hash seeds: the same figures."""
    rng = np.random.default_rng(0)
    table = loans(120).drop(columns="since")
    words = [f"{a} {b}" for a in ("north", "south", "old", "new", "far", "near", "hill", "lake")
             for b in ("bridge", "field", "water", "wood", "gate", "mill", "ford", "town")]  # fmt: skip
    table["place"] = rng.choice(words[:60], len(table))
    table.to_csv("loans.csv", index=False)
    figures = []
    for seed, jobs in (("1", "1"), ("2", "2")):
        subprocess.run(
            [sys.executable, "-c", "from stakes.cli import main; main()", "compare", "loans.csv",
             *PRICES, "-m", "tree,mec", "--fast", "--folds", "3", "--json", "-j", jobs,
             "--store", f"store{seed}", "-o", f"r{seed}.html"],
            env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True,
        )  # fmt: skip
        rows = json.loads(Path(f"r{seed}.json").read_text())["methods"]
        figures.append([(row["method"], row["total"], row["cost"]) for row in rows])
    assert figures[0] == figures[1]
    assert {name for name, *_ in figures[0]} == {"constant", "plain", "tree", "mec"}


def test_predict_reads_new_tables_as_fit_did(capsys, here):
    table = loans()
    local = table.assign(
        since=table["since"].dt.strftime("%d/%m/%Y"),
        amount=[f"{v:,.2f}" for v in table["amount"]],
        member=np.where(table["member"], "yes", "no"),
    )
    local.to_csv("loans.csv", index=False)
    _, err = run(capsys, "fit", "loans.csv", *PRICES, "--method", "tree", "-o", "m.skops")
    assert "'amount' is read as number: thousands as 1,200.50." in err
    assert "'since' is read as date: dates day/month/year." in err
    assert "'member' is read as boolean: yes/no." in err
    _, err = run(capsys, "predict", "m.skops", "loans.csv", "-o", "local.csv")
    assert "Taken as missing" not in err
    table.to_csv("plain.csv", index=False)  # dates in ISO, True and False, plain numbers
    _, err = run(capsys, "predict", "m.skops", "plain.csv", "-o", "plain-decided.csv")
    assert "Taken as missing" not in err
    assert Path("local.csv").read_bytes() == Path("plain-decided.csv").read_bytes()
    odd = table.astype(object)
    odd.loc[4, "age"], odd.loc[7, "age"] = "old", "older"
    odd.loc[2, "member"], odd.loc[3, "since"] = "perhaps", "31/02/2021"
    odd.to_csv("odd.csv", index=False)
    _, err = run(capsys, "predict", "m.skops", "odd.csv", "--with-data", "-o", "odd-decided.csv")
    assert (
        "Taken as missing: 2 cells of 'age' that are no number as in training, such as 'old' in "
        "row 5." in err
    )
    assert (
        "1 cell of 'member' that is no boolean as in training, such as 'perhaps' in row 3" in err
    )
    assert "1 cell of 'since' that is no date" in err
    kept = pd.read_csv("odd-decided.csv", dtype=str)
    assert kept.loc[4, "age"] == "old"  # the cells come back as they were


def test_what_is_ambiguous_is_asked_about(capsys, here):
    table = loans()
    since = [f"0{1 + i % 9}/0{1 + i % 7}/2024" for i in range(len(table))]
    table.assign(since=since).to_csv("loans.csv", index=False)
    said = refused(capsys, "compare", "loans.csv", *PRICES)
    assert "'since' in loans.csv, such as '01/01/2024', can be day/month or month/day" in said
    run(capsys, "costs", "loans.csv", "--target", "risk", "--dates", "day-first")
    said = refused(capsys, "costs", "loans.csv", "--target", "risk", "--dates", "text")
    assert "costs.csv exists" in said
    run(capsys, "costs", "loans.csv", "--target", "risk", "--drop", "since", "-o", "c.csv")
    assert "'since'" in refused(capsys, "costs", "loans.csv", "--target", "risk", "-o", "c2.csv")


def test_classes_called_none_and_na_stay(capsys, here):
    loans().to_csv("loans.csv", index=False)
    run(capsys, "costs", "loans.csv", "--target", "risk")
    assert Path("costs.csv").read_text().splitlines()[0].endswith("NA,good")


def test_a_trailing_comma_is_refused(capsys, here):
    lines = loans().to_csv(index=False).splitlines()
    Path("loans.csv").write_text("\n".join([lines[0], *(line + "," for line in lines[1:])]))
    said = refused(capsys, "compare", "loans.csv", *PRICES)
    assert "its header has 7 columns, but line 2 has 8; so it is with 89 more lines" in said


def test_decisions_into_a_pipe_and_other_formats(capsys, here):
    loans().to_csv("loans.csv", index=False)
    run(capsys, "fit", "loans.csv", *PRICES, "--method", "tree", "-o", "m.skops")
    out, err = run(capsys, "predict", "m.skops", "loans.csv", "-o", "-")
    piped = pd.read_csv(io.StringIO(out), keep_default_na=False)
    assert len(piped) == 90
    assert piped["row"].tolist()[:2] == [1, 2]
    assert "90 rows decided by tree" in err
    assert not Path("-").exists()
    for name in ("o.parquet", "o.xlsx"):
        run(capsys, "predict", "m.skops", "loans.csv", "-o", name)
        found = read_table(name, target="decision").frame
        assert found["decision"].tolist() == piped["decision"].tolist(), name


def test_rows_are_numbered_as_in_the_file(capsys, here):
    table = loans().astype(object)
    table.loc[0, "risk"], table.loc[3, "rate"] = None, None
    table["rate"] = table["rate"].where(table.index == 3, 1.5)
    table.loc[3, "rate"] = None
    table.to_csv("loans.csv", index=False)
    said = refused(
        capsys, "compare", "loans.csv", "--target", "risk", "--fp", "1", "--fn", "rate",
        "--positive", "good",
    )  # fmt: skip
    assert "'rate' of --fn is empty in row 4" in said
