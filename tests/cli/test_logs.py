"""A log of decisions at the command line: what was done, what it cost, how likely it was."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import refused, run

from stakes.compare import compare
from stakes.logged import costs_from_logs

LOG = ["--decision", "action", "--paid", "cost"]


@pytest.fixture
def log(here):
    """Calls cost 3 and keep the old, of whom half leave else, at 20 each; a coin decided.

    Whatever is done, 1 is paid besides, on average.
    """
    rng = np.random.default_rng(0)
    old, called = rng.random(600) < 0.5, rng.random(600) < 0.5
    leaves = rng.random(600) < 0.5 * old * ~called
    frame = pd.DataFrame({"old": old.astype(int), "noise": rng.normal(size=600).round(3)})
    frame["action"] = np.where(called, "call", "wait")
    frame["cost"], frame["p"] = 3.0 * called + 20.0 * leaves, 0.5
    frame["cost"] = (frame["cost"] + rng.exponential(size=600)).round(2)
    frame.to_csv("log.csv", index=False)
    return frame


def test_every_method_is_compared_with_what_was_done(log, capsys):
    asked = ["compare", "log.csv", *LOG, "--propensity", "p", "-m", "tree,constant", "--folds", 2]
    out, err = run(capsys, *asked, "--json")
    assert "Not learned from: 'action' (what was done), 'cost' (what it cost), 'p'" in err
    assert "Propensities as given." in err
    assert "Assumed: nothing that is not in the table moved both" in err
    assert "less than what is decided today" in out
    assert "moved the odds of what was done by a factor of" in out
    page = Path("report.html").read_text()
    assert "What can the log tell?" in page
    assert "What if the prices were different?" not in page
    methods = {
        row["method"]: row for row in json.loads(Path("report.json").read_text())["methods"]
    }
    # calling the old alone costs 3 for half of all, and 1 besides
    assert methods["tree"]["cost"] == pytest.approx(2.5, abs=0.8)
    assert methods["today"]["cost"] == pytest.approx(log["cost"].mean())


def test_the_command_says_what_python_says(log, capsys):
    run(
        capsys,
        "compare",
        "log.csv",
        *LOG,
        "--propensity",
        "p",
        "-m",
        "tree",
        "--folds",
        2,
        "--json",
    )
    told = json.loads(Path("report.json").read_text())["methods"]
    X = log[["old", "noise"]]
    logged = costs_from_logs(X, log["action"], log["cost"], propensities=log["p"], random_state=0)
    ours = compare(
        X, costs=logged, baseline=log["action"].to_numpy(), methods=["tree"], cv=2, random_state=0
    )
    told = {row["method"]: row["cost"] for row in told}
    assert told == pytest.approx(ours.table["cost"].to_dict())


def test_a_model_of_a_log_decides_new_rows(log, capsys):
    run(capsys, "fit", "log.csv", *LOG, "--propensity", "p", "--method", "tree")
    log.drop(columns=["action", "cost", "p"]).to_csv("new.csv", index=False)
    run(capsys, "predict", "model.skops", "new.csv", "-o", "decided.csv")
    decided = pd.read_csv("decided.csv")["decision"]
    assert ((decided == "call") == (log["old"] == 1)).mean() > 0.9


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (LOG[:2], "needs --decision and --paid: say --paid COLUMN"),
        (LOG[2:], "needs --decision and --paid: say --decision COLUMN"),
        ([*LOG, "--fp", "1"], "--fp does not go with --decision and --paid"),
        ([*LOG, "--target", "old"], "--target does not go with"),
        ([*LOG, "--baseline", "old"], "--baseline does not go with"),
        (
            ["--target", "old", "--fp", "1", "--fn", "2", "--propensity", "p"],
            "--propensity goes with",
        ),
        ([*LOG[:3], "action"], "'action' of --paid holds no numbers"),
        ([*LOG, "--propensity", "noise"], "The propensity of row"),
        (["--decision", "nobody", "--paid", "cost"], "log.csv has no column 'nobody'"),
    ],
)
def test_what_is_no_log_gets_one_sentence(log, capsys, given, said):
    assert said in refused(capsys, "compare", "log.csv", *given)


def test_one_decision_and_gaps_are_refused(log, capsys):
    log.assign(action="call").to_csv("one.csv", index=False)
    assert "nothing is known of any other" in refused(capsys, "compare", "one.csv", *LOG)
    log.assign(cost=log["cost"].where(log.index != 4)).to_csv("gap.csv", index=False)
    said = refused(capsys, "compare", "gap.csv", *LOG)
    assert "'cost' of --paid is empty in 1 row, the first of them row 5" in said
    log.assign(cost=log["cost"].where(log["action"] == "call")).to_csv("silent.csv", index=False)
    said = refused(capsys, "compare", "silent.csv", *LOG)
    assert "No cost is known of any of the" in said
    assert "decided 'wait'" in said


def test_to_do_nothing_is_a_decision_and_not_a_missing_class(log, capsys):
    done = log["action"].replace(log["action"].iloc[0], "none")
    log.assign(action=done).to_csv("log.csv", index=False)
    _, err = run(capsys, "compare", "log.csv", *LOG, "--propensity", "p", "--methods", "constant")
    assert "is a class as any other" not in err
