"""stakes monitor: from a model and new rows to a page, with and without truth."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import GOOD, refused, run, table

from stakes.cli._monitor import batches_of, in_time, true_classes
from stakes.compare import load_model
from stakes.compare.words import Money
from stakes.monitor import Monitor

FIT = [*GOOD, "--method", "mec", "--fast"]


@pytest.fixture
def model(capsys, data):
    run(capsys, "fit", data, *FIT)
    new = table(90).assign(week=np.repeat([1, 2, 3], 30))
    new.loc[new["week"] == 3, "risk"] = None
    new.to_csv("new.csv", index=False)
    return "model.skops"


def test_a_page_by_week_with_the_truth_that_has_come_in(capsys, model):
    out, err = run(
        capsys,
        "monitor",
        model,
        "new.csv",
        "--truth",
        "risk",
        "--by",
        "week",
        "--state",
        "s.json",
        "--currency",
        "€",
    )
    assert "Written: monitor.html" in out
    assert "false alarm in one of 100 quiet batches" in err
    page = Path("monitor.html").read_text()
    watched = Monitor.load("s.json", load_model(model))
    assert list(watched.table.index) == ["1", "2", "3"]
    assert watched.table["n_truth"].tolist() == [30, 30, 0]
    # The page's figures are Python's.
    told = re.findall(r'data-k="(expected|realised)">([^<]*)<', page)
    money = Money("€", each=len(told[0][1].partition(".")[2]))
    assert [v for k, v in told if k == "expected"] == [
        money(b["expected"]) for b in watched.batches
    ]
    paid = [money(b["realised"]) if b["n_truth"] else "" for b in watched.batches]
    assert [v for k, v in told if k == "realised"] == paid
    assert "<script" not in page
    table(30).assign(week=4).to_csv("later.csv", index=False)
    run(capsys, "monitor", model, "later.csv", "--by", "week", "--state", "s.json")
    assert len(json.loads(Path("s.json").read_text())["batches"]) == 4
    said = refused(capsys, "monitor", model, "later.csv", "--by", "week", "--state", "s.json")
    assert "s.json has seen the batch '4' already: give the rows of new batches" in said
    # Its truth comes in late, once.
    late = ("monitor", model, "later.csv", "--by", "week", "--state", "s.json", "--truth", "risk")
    run(capsys, *late)
    assert Monitor.load("s.json", load_model(model)).table["n_truth"].tolist() == [30, 30, 0, 30]
    assert "has seen the batch '4' already, with its truth" in refused(capsys, *late)


def test_the_state_takes_another_rate(capsys, model):
    run(capsys, "monitor", model, "data.csv", "--state", "s.json", "--false-alarms", "0.05")
    assert json.loads(Path("s.json").read_text())["false_alarms"] == 0.05
    run(capsys, "monitor", model, "data.csv", "--state", "s.json")
    assert json.loads(Path("s.json").read_text())["false_alarms"] == 0.05
    _, err = run(
        capsys, "monitor", model, "data.csv", "--state", "s.json", "--false-alarms", "0.02"
    )
    assert json.loads(Path("s.json").read_text())["false_alarms"] == 0.02
    assert "false alarm in one of 50 quiet batches" in err


def test_commands_at_once_on_one_state_lose_nothing(model):
    command = [sys.executable, "-m", "stakes", "monitor", model, "data.csv", "--state", "s.json"]
    many = [
        subprocess.Popen(
            [*command, "--out", f"{i}.html"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for i in range(4)
    ]
    for each in many:
        said = each.communicate()[1]
        assert each.returncode == 0, said
    labels = [batch["label"] for batch in json.loads(Path("s.json").read_text())["batches"]]
    assert labels == ["1", "2", "3", "4"]


def test_batches_come_in_the_order_of_time(capsys, model):
    months = np.repeat(["Feb 2026", "Jan 2026", "Dec 2025"], 20)
    table(60).assign(when=months).to_csv("months.csv", index=False)
    run(capsys, "monitor", model, "months.csv", "--by", "when", "--state", "m.json")
    found = json.loads(Path("m.json").read_text())["batches"]
    assert [batch["label"] for batch in found] == ["Dec 2025", "Jan 2026", "Feb 2026"]
    assert in_time(["2026-W10", "2026-W9", "x"]) == [1, 0, 2]
    assert in_time([1, 2, 10]) == [0, 1, 2]


def test_columns_that_moved_are_named(capsys, model):
    frame = table(60)
    numbers = frame.select_dtypes("number").columns
    frame.assign(**{numbers[0]: np.nan}).to_csv("gap.csv", index=False)
    _, err = run(capsys, "monitor", model, "gap.csv", "--out", "gap.html")
    assert f"Columns that have moved in 1: '{numbers[0]}'" in err


def test_the_state_of_another_model_is_refused(capsys, model):
    run(capsys, "monitor", model, "data.csv", "--state", "one.json", "--out", "one.html")
    frame = table(90)
    frame.to_csv("fewer.csv", index=False)
    given = ("--target", "risk", "--fp", "1", "--fn", "5", "--positive", "bad", "--fast")
    run(capsys, "fit", "fewer.csv", *given, "--method", "mec", "--out", "other.skops")
    said = refused(capsys, "monitor", "other.skops", "data.csv", "--state", "one.json")
    assert "one.json is the state of another model" in said


def test_all_rows_are_one_batch_and_need_no_truth(capsys, model):
    out, _ = run(capsys, "monitor", model, "data.csv", "--out", "page.html")
    assert "No alarm." in out
    assert "Paid so far" not in Path("page.html").read_text()


def test_what_is_wrong_is_one_sentence(capsys, model):
    said = refused(capsys, "monitor", model, "new.csv", "--truth", "rsk")
    assert "has no column 'rsk' (did you mean 'risk'?)" in said
    assert "is empty in row 61" in refused(capsys, "monitor", model, "new.csv", "--by", "risk")
    frame = pd.read_csv("new.csv").assign(risk="ugly")
    frame.to_csv("strange.csv", index=False)
    said = refused(capsys, "monitor", model, "strange.csv", "--truth", "risk")
    assert "The truth has 'ugly', which the model does not know" in said
    said = refused(capsys, "monitor", model, "new.csv", "--false-alarms", "0.9")
    assert "false_alarms=0.9 must be a share" in said
    said = refused(capsys, "monitor", model, "new.csv", "--out", "data.csv")
    assert "data.csv exists and is not a page of stakes monitor" in said
    run(capsys, "fit", "data.csv", *FIT, "--no-reference", "--out", "bare.skops")
    assert "keeps nothing of rows" in refused(capsys, "monitor", "bare.skops", "new.csv")
    assert not Path("monitor.html").exists()


def test_prices_of_each_row_are_found_again(capsys, data):
    how = ["--target", "risk", "--fp", "2", "--fn", "amount", "--positive", "good"]
    run(capsys, "fit", data, *how, "--method", "mec", "--fast", "--out", "m.skops")
    run(capsys, "monitor", "m.skops", data, "--truth", "risk", "--state", "s.json")
    batch = json.loads(Path("s.json").read_text())["batches"][0]
    assert batch["n_truth"] == 120
    assert batch["low"] <= batch["expected"] <= batch["high"]


def test_batches_are_days_weeks_or_values():
    days = pd.DataFrame({"day": pd.date_range("2026-01-01", periods=60)})
    assert [label for label, _ in batches_of(days, "day")][:2] == ["2026-W01", "2026-W02"]
    assert len(batches_of(days[:20], "day")) == 20
    assert batches_of(days, None, 3)[0][0] == "4"
    assert true_classes(pd.Series([1.0, np.nan, 0.0])).tolist() == [1, None, 0]
    assert true_classes(pd.Series(["a", None])).tolist() == ["a", None]
