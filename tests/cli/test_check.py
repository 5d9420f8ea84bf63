"""stakes check, and the data check of compare and fit: each planted fault is named."""

import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import FAST, refused, run
from tests.tables.faults import FAULTS, copies, loans

from stakes.cli import main
from stakes.cli._app import Dialect, PriceOptions, ProtocolOptions, Source
from stakes.cli._run import load
from stakes.compare import fit_model, load_model, save_model
from stakes.costs import CostMatrix

PRICES = ["--target", "risk", "--fp", "1", "--fn", "5", "--positive", "bad"]
# How the finding of a fault begins in the list of findings.
SAID = {
    "a leak": "'outcome' alone tells the class of every row.",
    "a copy of the target": "'code' alone tells the class of every row.",
    "a leak with mistakes": "'flag' alone tells the class of 9",
    "a leak in numbers": "'fees' alone tells the class",
    "a leak by what is missing": "'loss' alone tells the class",
    "row numbers": "'nr' tells rows apart: 600 different values in 600 rows.",
    "identifiers": "'customer_id' tells rows apart",
    "one word per row": "'contract' tells rows apart",
    "account numbers": "'account' tells rows apart",
    "a constant": "'country' is 'DE' in every row.",
    "an empty column": "'fax' is empty.",
    "copied rows": "60 rows of 660 are copies of others.",
    "copied rows of another class": "60 rows of 660 are copies of others, 60 of them with another",
    "copied rows with new numbers": "60 rows of 660 are copies of others.",
    "rare classes": "Classes with fewer rows than the 5 folds: 'ugly' (3).",
    "a class called NA": "The class 'NA' is a class as any other",
    "dates": "'opened' holds dates (dates day/month/year).",
    "mixed dates": "'opened' has dates both as day/month and as month/day.",
    "local numbers": "'income' is read with decimal comma",
    "numbers with words among them": "'debt' has numbers that are stored as text",
    "free text": "'place' holds 90 different texts.",
    "odd names": "Not plain letters: the column names",
    "5,000 columns": "The table has 5,005 columns for 600 rows.",
}


SLOW = ("5,000 columns",)  # found without a file in tests/tables/test_check.py


@pytest.mark.parametrize(
    "fault",
    [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in FAULTS],
)
def test_a_planted_fault_is_named_from_its_file(capsys, here, fault):
    FAULTS[fault][0](loans()).to_csv("loans.csv", index=False)
    out, _ = run(capsys, "check", "loans.csv", "--target", "risk")
    assert any(f": {SAID[fault]}" in line for line in out.splitlines()), out


def test_it_is_json_where_that_is_asked_for(capsys, here):
    loans().assign(nr=range(600)).to_csv("loans.csv", index=False)
    found = json.loads(run(capsys, "check", "loans.csv", "--target", "risk", "--json")[0])
    assert [(f["kind"], f["column"]) for f in found["findings"]] == [("identifier", "nr")]
    assert "warns of 1 thing." in refused(capsys, "check", "loans.csv", "--json", "--strict")


def test_a_clean_table_has_nothing_to_warn_of(capsys, here):
    loans().to_csv("loans.csv", index=False)
    out, err = run(capsys, "check", "loans.csv", "--target", "risk", "--strict")
    lines = out.splitlines()
    assert lines[0] == "loans.csv: 600 rows, 5 columns."
    assert lines[1].split() == ["column", "read", "as", "missing", "different", "notes"]
    assert lines[2].split() == ["age", "number", "0%", "62"]
    assert lines[-1] == "Nothing to warn of."
    assert err == ""


def test_the_command_to_copy_mends_the_table(capsys, here):
    faulty = loans().assign(**{"the id": range(600), "it's": 1, "fax": None})
    faulty.to_csv("loans.csv", index=False)
    command = ["check", "loans.csv", "--target", "risk"]
    offered = run(capsys, *command)[0].splitlines()[-1]
    assert offered == """stakes check loans.csv --target risk --drop 'the id,it'"'"'s,fax'"""
    out, _ = run(capsys, *shlex.split(offered)[1:], "--strict")
    assert "Nothing to warn of." in out
    said = refused(capsys, *command, "--strict")
    assert said == "Error: --strict: the data check warns of 3 things."


def test_without_a_target_columns_alone_are_looked_at(capsys, here):
    loans().assign(nr=range(600)).to_csv("loans.csv", index=False)
    out, err = run(capsys, "check", "loans.csv")
    assert "'nr' tells rows apart" in out
    assert "Without --target nothing is said of classes" in err
    assert "say which table to check" in refused(capsys, "check")


@pytest.mark.parametrize(
    ("values", "said", "mends"),
    [
        (["03/04/2024", "05/06/2024"], "can be day/month or month/day", ["--dates", "day-first"]),
        (["1,234", "5,678"], "a decimal comma or a comma between thousands", ["--decimal", ","]),
    ],
)
def test_what_can_be_read_in_two_ways_is_named_and_not_guessed(capsys, here, values, said, mends):
    whole = loans()[["age", "amount", "job", "risk"]]  # no other number shows a decimal mark
    whole.assign(odd=values * 300).to_csv("loans.csv", index=False)
    out, err = run(capsys, "check", "loans.csv", "--target", "risk")
    assert said in err
    assert re.search(r"^odd +category", out, flags=re.M)
    assert said in refused(capsys, "compare", "loans.csv", *PRICES)
    _, err = run(capsys, "check", "loans.csv", "--target", "risk", *mends)
    assert said not in err


def test_compare_says_it_first_and_puts_it_on_the_page(capsys, here):
    faulty = copies(loans(200)).assign(outcome=lambda t: t["risk"] + "!")
    faulty.to_csv("loans.csv", index=False)
    command = ["compare", "loans.csv", *PRICES, *FAST]
    _, err = run(capsys, *command, "--json", "-o", "page.html")
    lines = err.splitlines()
    warned = [line for line in lines if line.startswith("Warning ")]
    assert warned[0].startswith("Warning ST102: 'outcome' alone tells the class of every row.")
    assert warned[1].startswith("Warning ST105: 60 rows of 260 are copies of others.")
    offered = lines[lines.index("The same without these columns:") + 1]
    assert shlex.split(offered)[-2:] == ["--drop", "outcome"]
    assert lines.index(offered) < next(i for i, line in enumerate(lines) if "done in" in line)
    page = (here / "page.html").read_text()
    assert "&#39;outcome&#39; alone tells the class of every row." in page
    assert "<code>--drop outcome</code>" in page
    assert "copies of a row on one side" in page
    found = json.loads((here / "page.json").read_text())
    assert found["check"]["drop"] == ["outcome"]
    said = refused(capsys, *command, "--strict", "-o", "none.html")
    assert said == "Error: --strict: the data check warns of 2 things."
    assert not (here / "none.html").exists()
    assert "warns of" in refused(capsys, "fit", "loans.csv", *PRICES, "--strict")


def test_a_class_that_may_mean_missing_is_said_before_it_is_learned(capsys, here):
    whole = loans(200)
    whole["risk"] = np.where(np.arange(200) % 4 == 0, "NA", whole["risk"])
    whole.to_csv("loans.csv", index=False)
    _, err = run(capsys, "compare", "loans.csv", "--target", "risk", "--costs", "zero_one", *FAST)
    said = "The class 'NA' is a class as any other: 50 rows. If it means missing: --na-values NA."
    assert said in err.splitlines()


def test_how_a_column_is_read_is_said_once(capsys, here):
    prices = [f"{v:.2f}".replace(".", ",") for v in loans(200)["amount"]]
    loans(200).assign(amount=prices).to_csv("loans.csv", sep=";", index=False)
    out, err = run(capsys, "check", "loans.csv", "--target", "risk")
    assert "number (decimal comma)" in out
    assert "is read as" not in err


def test_rows_that_are_learned_from_and_decided_are_named(capsys, here):
    loans(200).to_csv("loans.csv", index=False)
    both = pd.concat([loans(200).iloc[:40], loans(60, seed=1)])
    both.to_csv("other.csv", index=False)
    command = ["compare", "loans.csv", *PRICES, *FAST, "--test", "other.csv"]
    said = refused(capsys, *command, "--strict")
    assert "warns of 2 things" in said  # 40 copies in all are the other
    loans(60, seed=1).to_csv("other.csv", index=False)
    run(capsys, *command, "--strict")


def test_a_data_set_is_checked_by_name(capsys, here):
    out, _ = run(capsys, "check", "wdbc")
    assert "569 rows, 30 columns" in out
    assert "Nothing to warn of." in out


def test_blank_pixels_of_the_demonstration_are_no_warning(capsys):
    loaded = load(Source("cheques"), PriceOptions(), ProtocolOptions(), Dialect())
    assert loaded.table.name == "cheques"
    assert loaded.check.warnings == []
    assert "Warning" not in capsys.readouterr().err


def test_many_columns_are_not_all_listed(capsys, here):
    wide = pd.concat(
        [loans(60), pd.DataFrame(0.5, range(60), [f"x{i}" for i in range(90)])], axis=1
    )
    wide.to_csv("wide.csv", index=False)
    out, _ = run(capsys, "check", "wide.csv", "--target", "risk")
    assert "and 35 more columns" in out
    assert "90 columns have the same value in every row: 'x0'" in out


# -- a new table, at predict -------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    data, out = (str(tmp_path_factory.mktemp("model") / name) for name in ("l.csv", "m.skops"))
    loans(300).to_csv(data, index=False)
    assert main(["fit", data, *PRICES, "--method", "tree", "--drop", "income", "-o", out]) == 0
    return out


def test_predict_is_silent_on_a_table_like_that_of_training(capsys, here, model):
    loans(300, seed=0).iloc[:100].to_csv("new.csv", index=False)
    _, err = run(capsys, "predict", model, "new.csv", "--strict")
    assert err.splitlines() == [err.strip()]
    assert err.startswith("100 rows decided by tree")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda t: t.assign(job="spy"),
            "Warning ST203: 'job' has a value in 100 rows that was not ",
        ),
        (
            lambda t: t.assign(age=t["age"] + 200),
            "Warning ST205: 'age' is outside of the range of ",
        ),
        (lambda t: t.assign(score=t["score"] / 9), "Warning ST206: 'score' has shifted: "),
        (
            lambda t: t.assign(score=t["score"].astype(object).where(t.index > 39, "high")),
            "ST207: Taken as missing: 40 cells of 'score' that are no ",
        ),
        (
            lambda t: t.assign(job=5),
            "Warning ST203: 'job' has a value in 100 rows that was not there ",
        ),
    ],
)
def test_predict_says_what_differs_from_training(capsys, here, model, change, said):
    change(loans(100, seed=1)).to_csv("new.csv", index=False)
    _, err = run(capsys, "predict", model, "new.csv")
    assert any(line.startswith(said) for line in err.splitlines()), err
    assert "differs from training" in refused(capsys, "predict", model, "new.csv", "--strict")


def test_predict_says_which_columns_lack_or_are_not_used(capsys, here, model):
    new = loans(100, seed=1)
    new.assign(height=1.8).to_csv("new.csv", index=False)
    _, err = run(capsys, "predict", model, "new.csv", "--strict")
    assert "Not used, as training did not have it: the column 'height'.\n" in err
    new.drop(columns="age").to_csv("new.csv", index=False)
    assert "lacks the columns 'age'" in refused(capsys, "predict", model, "new.csv")


def test_a_model_in_python_says_it_too(here):
    table = loans(200)
    X, y = table.drop(columns="risk"), table["risk"]
    fitted = fit_model(X, y, "tree", cost_matrix=CostMatrix([[0, 5], [1, 0]], ["bad", "good"]))
    save_model(fitted, "m.skops")
    fitted = load_model("m.skops")
    assert fitted.differences(X) == []
    with pytest.warns(UserWarning, match="'job' has a value in 200 rows that was not there"):
        fitted.predict(X.assign(job="spy"))
    assert fitted.differences(X.to_numpy()) == []
