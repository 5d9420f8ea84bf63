"""What the commands print: help with examples, tables of any width, progress, sizes."""

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from rich.console import Console
from tests.cli.commands import FAST, GOOD, refused, run, table

import stakes
from stakes.cli import _app, _run, _terminal, main
from stakes.cli._complete import complete_data, complete_method
from stakes.cli._terminal import Progress, show_table
from stakes.costs import CostMatrix

COMMANDS = (
    *("check", "compare", "fit", "predict", "export", "serve"),
    *("costs", "datasets", "examples", "methods", "reproduce"),
)


def test_stakes_alone_is_help(capsys):
    out, err = run(capsys)
    assert out.startswith("Usage: stakes ")
    names = [line.split()[0] for line in out.partition("Commands:\n")[2].splitlines()]
    assert names[:5] == ["check", "compare", "fit", "predict", "costs"]
    assert err == ""


def test_python_m_stakes():
    done = subprocess.run(
        [sys.executable, "-m", "stakes", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"stakes {stakes.__version__}\n"


def examples(help_text):
    lines = help_text.partition("For example:\n")[2].partition("\n\n")[0].splitlines()
    return [shlex.split(line) for line in lines]


def test_every_help_has_examples_whose_options_exist(capsys):
    listed = run(capsys)[0]
    assert all(f"\n  {name} " in listed for name in COMMANDS)
    for name in ("", *COMMANDS):
        own = run(capsys, *filter(None, [name]), "--help")[0]
        found = examples(own)
        assert found, name
        for example in found:
            assert example[0] == "stakes"
            assert name in ("", example[1])
            options = [word for word in example if word.startswith("--")]
            known = run(capsys, example[1], "--help")[0].split()
            assert all(option in known for option in options), example


def test_lists_as_json(capsys):
    from stakes.compare import list_methods

    methods = json.loads(run(capsys, "methods", "--json")[0])
    assert [row["name"] for row in methods] == list(list_methods().index)
    assert {"title", "family", "costs"} <= set(methods[0])
    sets = {row["name"]: row for row in json.loads(run(capsys, "datasets", "--json")[0])}
    assert sets["cheques"]["rows"] == 1797
    one = json.loads(run(capsys, "datasets", "cheques", "--json")[0])
    assert (one["rows"], one["features"], len(one["classes"])) == (1797, 64, 10)


def test_names_are_completed(here):
    Path("cheap.csv").touch()
    Path("che").mkdir()
    assert complete_data("che") == ["che/", "cheap.csv", "cheques"]
    assert "gbse" in complete_method("gb")
    assert complete_method("mec,gbs") == ["mec,gbse"]


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_key_of_a_method_is_whole_at_any_width(capsys, data, monkeypatch, width):
    console = Console(width=width, highlight=False, markup=False)
    monkeypatch.setattr(_terminal, "console", lambda: console)
    keys = ["calibrated", "binary_threshold", "filter_tree"]
    names = ("method", "what it is", "cost per case", "95% interval", "saving")
    rows = [[k, "A method with a long title", "0.280", "0.256 to 0.305", "51.7%"] for k in keys]
    spare = ("what it is", "95% interval")
    show_table(names, rows, right=names[2:], spare=spare, strong=[0])
    printed = capsys.readouterr().out
    assert [line.split()[0] for line in printed.splitlines()] == ["method", *keys]
    assert "…" not in printed
    assert "51.7%" in printed
    assert all(len(line) <= width for line in printed.splitlines())
    main(["methods"])
    first = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert set(keys) < set(first)


def test_probabilities_of_each_class(capsys, data):
    run(capsys, "fit", data, *GOOD, "--method", "mec")
    run(capsys, "predict", "model.skops", data, "--proba")
    found = pd.read_csv("decisions.csv")
    assert (found["proba bad"] + found["proba good"]).round(9).eq(1).all()
    # at 5 to 1 'good' is decided from 1/6 on
    assert (found["decision"] == "good").equals(found["proba good"] > 1 / 6)
    run(capsys, "fit", data, *GOOD, "--method", "l1_svm", "-o", "svm.skops")
    said = refused(capsys, "predict", "svm.skops", data, "--proba", "-o", "p.csv")
    assert "l1_svm has no probabilities" in said
    assert not Path("p.csv").exists()


def test_a_large_store_is_announced(capsys, data, monkeypatch):
    assert "finished fits in" not in run(capsys, "compare", data, *GOOD, *FAST)[1]
    monkeypatch.setattr(_run, "LARGE", 1000)
    _, err = run(capsys, "compare", data, *GOOD, *FAST)
    assert "The finished fits in " in err
    assert "--fresh" in err


def test_a_line_for_each_finished_method(capsys, data):
    _, err = run(capsys, "compare", data, *GOOD, *FAST)
    said = [line.split(":")[0] for line in err.splitlines() if ": done in " in line]
    assert sorted(said) == ["constant", "mec", "plain"]
    assert "fits done" not in err


def row(method, fold, **more):
    return {"method": method, "fold": fold, "status": "ok", "seconds_wall": 2.0, **more}


def test_long_fits_without_a_terminal_are_told_in_between(capsys, monkeypatch):
    progress = Progress()
    runs = [SimpleNamespace(method="forest", fold=f) for f in range(3)]
    progress.watch(SimpleNamespace(running=list), runs, 1)
    progress(1, 3, row("forest", 0, seconds_wall=60.0))
    assert capsys.readouterr().err == ""  # half a minute has not passed
    monkeypatch.setattr(_terminal, "QUIET", 0)
    progress(2, 3, row("forest", 1, seconds_wall=60.0))
    assert capsys.readouterr().err == "2 of 3 fits, the last forest, fold 2; about 1:00 left.\n"


def test_progress_names_what_runs_and_how_long(capsys):
    progress = Progress()
    running = [("stakes=within3s", 1, time.time(), ""), ("forest", 1, time.time(), "compiling")]
    board = SimpleNamespace(running=lambda: running)
    runs = [
        SimpleNamespace(method=m, fold=f) for f in range(3) for m in ("stakes=within3s", "forest")
    ]
    progress.watch(board, runs, 2)
    assert progress.now().startswith(
        "time left not yet known: stakes, fold 2, forest, fold 2 (comp"
    )
    progress(1, 6, row("stakes=within3s", 0))
    progress(2, 6, row("forest", 0, seconds_wall=60.0))
    # four fits of 62 s in pairs, two of them just begun
    assert progress.now().startswith("about 1:02 left: stakes, fold 2")
    err = capsys.readouterr().err
    assert err.count("Compiling the trees' inner loops, once") == 1


def test_the_time_of_a_command_is_its_own(capsys, data, monkeypatch):
    monkeypatch.setattr(_app, "_started", time.monotonic() - 1000)  # a process of long standing
    run(capsys, "check", data)
    assert _app.seconds_passed() < 500


def test_commands_keep_to_a_time_limit(capsys, data):
    out, err = run(capsys, "compare", data, *GOOD, *FAST, "--time-limit", 60)
    assert "mec" in out.split(), err + out
    assert "--time-limit 0" in refused(capsys, "compare", data, *GOOD, "--time-limit", 0)
    said = refused(capsys, "fit", data, *GOOD, "--method", "mec", "--time-limit", 5)
    assert "mec takes as long as it takes" in said


def test_every_method_by_one_word(capsys, data):
    both = ["--all", "-m", "mec"]
    assert "either --methods or --all" in refused(capsys, "compare", data, *GOOD, *both)
    both = ["--all", "--fast"]
    assert "either --fast or --all" in refused(capsys, "compare", data, *GOOD, *both)
    # "the best" is the recommended one, of fit alone
    assert "No such option: --best" in refused(capsys, "compare", data, *GOOD, "--best")


@pytest.mark.parametrize("name", ["compare", "fit"])
def test_no_table_starts_nothing(capsys, here, name):
    assert f"'stakes {name} cheques' takes a built-in one" in refused(capsys, name)
    assert not list(here.iterdir())


def test_three_presets(capsys, data, monkeypatch):
    asked = []

    def compare(X, y, *, methods, fast, **more):
        asked.append((methods, fast))
        raise ValueError("enough")

    monkeypatch.setattr("stakes.compare.compare", compare)
    for preset in ([], ["--fast"], ["--all"]):
        refused(capsys, "compare", data, *GOOD, *preset)
    assert asked == [(None, False), (None, True), ("all", False)]


def test_short_ways_to_the_first_names():
    from stakes.compare import compare

    assert stakes.compare.compare is compare
    assert stakes.CostMatrix is stakes.costs.CostMatrix
    assert stakes.CostDecisionClassifier is stakes.decision.CostDecisionClassifier
    assert stakes.make_cost_scorer is stakes.metrics.make_cost_scorer
    frame = table(60)
    X, y = frame[["age", "score"]], frame["risk"]
    found = stakes.compare(
        X, y, cost_matrix=CostMatrix([[0, 1], [5, 0]], ["bad", "good"]), methods=["mec"], cv=2
    )
    assert isinstance(found, stakes.compare.Comparison)
