"""Nothing that a command reads, and no file of another kind, is ever written over."""

import inspect
import json
import os
from pathlib import Path

import pandas as pd
import pytest

from stakes.cli import main
from stakes.cli._app import WRITTEN, app
from stakes.cli._errors import printable
from stakes.cli._outputs import KINDS, is_of_kind
from stakes.tables import write_table

PRICES = ["--target", "risk", "--fp", 1, "--fn", 5, "--positive", "good"]
FAST = ["--methods", "mec", "--fast", "--folds", "2"]
MODEL = "m.skops"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a table, prices, a model, and a page with its siblings."""
    folder = tmp_path_factory.mktemp("made")
    before = os.getcwd()
    os.chdir(folder)
    try:
        n = 60
        table = pd.DataFrame({"age": range(n), "job": ["cook", "smith", "cook"] * 20})
        table["risk"] = ["bad" if i % 3 else "good" for i in range(n)]
        table.to_csv("loans.csv", index=False)
        table.to_csv("new.csv", index=False)
        Path("c.csv").write_text("true,bad,good\nbad,0,5\ngood,1,0\n")
        assert (
            main(["fit", "loans.csv", *map(str, PRICES), "--method", "constant", "-o", MODEL]) == 0
        )
        assert main(["predict", MODEL, "new.csv", "-o", "decided.csv"]) == 0
        assert main(["compare", "loans.csv", *map(str, PRICES), *FAST, "--json", "--csv"]) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    """A copy of that folder, to work in."""
    for file in made.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def state():
    """Return everything below this folder, byte for byte."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in Path().rglob("*")}


def refused(capsys, *arguments):
    before = state()
    assert main([str(part) for part in arguments]) == 2
    out, err = capsys.readouterr()
    assert state() == before
    *notes, error = err.splitlines()  # how the prices were read may be noted before
    assert error.startswith("Error: ")
    assert not any(note.startswith("Error: ") for note in notes)
    assert out == ""
    return error


INPUTS = [
    (["compare", "loans.csv", *PRICES, "-o", "loans.html", "--csv"], "loans.csv is what is read"),
    (["compare", "loans.csv", *PRICES, "-o", "loans.csv"], "loans.csv is what is read"),
    (["compare", "loans.csv", "--target", "risk", "--costs", "c.csv", "-o", "c.html", "--csv"],
     "c.csv is what is read"),
    (["predict", MODEL, "new.csv", "-o", "new.csv"], "new.csv is what is read"),
    (["predict", MODEL, "new.csv", "-o", "./new.csv"], "new.csv is what is read"),
    (["predict", MODEL, "new.csv", "-o", "hard.csv"], "hard.csv is new.csv, which is read"),
    (["predict", MODEL, "new.csv", "-o", "soft.csv"], "soft.csv is new.csv, which is read"),
    (["predict", MODEL, "soft.csv", "-o", "new.csv"], "new.csv is soft.csv, which is read"),
    (["predict", MODEL, "new.csv", "-o", MODEL], "m.skops is what is read"),
    (["fit", "loans.csv", *PRICES, "-o", "loans.csv"], "loans.csv is what is read"),
    (["fit", "loans.csv", "--target", "risk", "--costs", "c.csv", "-o", "c.csv"],
     "c.csv is what is read"),
    (["costs", "loans.csv", "--target", "risk", "-o", "loans.csv"], "loans.csv is what is read"),
]  # fmt: skip


@pytest.mark.parametrize("force", [[], ["--force"]], ids=["", "force"])
@pytest.mark.parametrize(("arguments", "said"), INPUTS)
def test_what_is_read_is_never_written(capsys, here, arguments, said, force):
    os.link("new.csv", "hard.csv")
    os.symlink("new.csv", "soft.csv")
    assert said in refused(capsys, *arguments, *force)


OTHERS = [
    (["compare", "loans.csv", *PRICES, "-o", "new.csv"], "is not a page of stakes compare"),
    (["compare", "loans.csv", *PRICES, "-o", "new.html", "--csv"],
     "new.csv exists and is not a table of stakes compare"),
    (["compare", "loans.csv", *PRICES, "-o", "own.html"], "is not a page of stakes compare"),
    (["compare", "loans.csv", *PRICES, "-o", "own.x", "--json"], "is not JSON of stakes compare"),
    (["fit", "loans.csv", *PRICES, "-o", "new.csv"], "new.csv exists and is not a model of stakes"),
    (["fit", "loans.csv", *PRICES, "-o", "zip.zip"], "zip.zip exists and is not a model"),
    (["predict", MODEL, "new.csv", "-o", "loans.csv"], "is not a table of stakes predict"),
    (["predict", MODEL, "new.csv", "-o", "report.html"], "is not a table of stakes predict"),
    (["costs", "loans.csv", "--target", "risk", "-o", "c.csv"],
     "c.csv exists: choose another name with --out, or say --force"),
    (["reproduce", "slides", "--results", "res"], "is not a table of stakes reproduce"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "said"), OTHERS)
def test_a_file_of_another_kind_is_not_written_over(capsys, here, arguments, said):
    Path("own.html").write_text("<!doctype html><p>my own page about stakes")
    Path("own.json").write_text('{"methods": 1}')
    pd.DataFrame({"a": [1]}).to_csv("zip.zip", index=False)
    Path("res").mkdir()
    Path("res/slides.csv").write_text("my,own\n")
    assert said in refused(capsys, *arguments)


ONE_NAME = [
    (["-o", "r.json", "--json"], "r.json and r.json would be one file"),
    (["-o", "r.csv", "--csv"], "r.csv and r.csv would be one file"),
    (["-o", "link.html", "--csv"], "link.html and link.csv would be one file"),
    (["-o", "x.html", "--store", "x.html"], "x.html cannot be a file and the folder of --store"),
    (["-o", "x.html", "--store", "x.html/fits"], "x.html cannot be a file and the folder"),
]


@pytest.mark.parametrize(("arguments", "said"), ONE_NAME)
def test_two_outputs_are_two_files(capsys, here, arguments, said):
    os.symlink("link.html", "link.csv")
    assert said in refused(capsys, "compare", "loans.csv", *PRICES, *FAST, *arguments)


PLACES = [
    ("folder", "folder is a folder: name a file"),
    ("", "is a folder: name a file"),
    ("new.csv/page.html", "new.csv is not a folder"),
    ("new.csv/deep/page.html", "new.csv is not a folder"),
    ("/proc/nowhere/page.html", "cannot be written"),
    ("x" * 300, "File name too long"),
]


@pytest.mark.parametrize(("out", "said"), PLACES)
@pytest.mark.parametrize("command", ["compare", "fit", "predict", "costs"])
def test_a_place_that_cannot_be_written(capsys, here, command, out, said):
    Path("folder").mkdir()
    rest = {"predict": [MODEL, "new.csv"], "costs": ["loans.csv", "--target", "risk"]}
    arguments = rest.get(command, ["loans.csv", *PRICES])
    assert said in refused(capsys, command, *arguments, "-o", out)


def test_a_refused_command_makes_no_folder(capsys, here):
    for bad in (["--target", "none"], ["--methods", "none"], ["--folds", "50"]):
        for place in ("deep/down/page.html", "page.html"):
            arguments = ["compare", "loans.csv", *PRICES, *FAST, *bad, "-o", place, "--fresh"]
            refused(capsys, *arguments)


def test_our_own_files_and_forced_ones_are_replaced(capsys, here):
    again = ["compare", "loans.csv", *map(str, PRICES), *FAST, "--json", "--csv", "--folds", "3"]
    assert main(again) == 0
    assert json.loads(Path("report.json").read_text())["protocol"]["folds"] == 3
    assert main(["predict", MODEL, "new.csv", "-o", "decided.csv", "--with-data"]) == 0
    assert main(["predict", MODEL, "new.csv", "-o", "decided.csv"]) == 0
    Path("empty").touch()
    assert main(["predict", MODEL, "new.csv", "-o", "empty"]) == 0
    assert main(["predict", MODEL, "loans.csv", "-o", "c.csv", "--force"]) == 0
    assert is_of_kind(Path("c.csv"), "decisions")


# The columns of tables, and whether only `stakes predict` writes such ones.
DECIDED = {
    "row,decision": True,
    "row,decision,expected_cost,next_best,next_best_cost": True,
    "age,decision,expected_cost": True,
    "age,decision,proba bad": True,
    "row,cost": False,
    "age,decision": False,  # anybody's: what was decided until today
    "decision,age,expected_cost": False,
}


@pytest.mark.parametrize(
    "ending", ["csv", "csv.gz", "parquet", "feather", "jsonl", "tsv", "xlsx", "arrow"]
)
def test_decisions_are_recognised_in_every_format(tmp_path, ending):
    for names, ours in DECIDED.items():
        columns = names.split(",")
        path = tmp_path / f"table.{ending}"
        write_table(pd.DataFrame([["x"] * len(columns)] * 3, columns=columns), path)
        assert is_of_kind(path, "decisions") is ours, names


def test_a_table_with_decisions_of_its_own_is_not_written_over(capsys, here):
    table = pd.read_csv("loans.csv").assign(decision="good")
    table.to_csv("today.csv", index=False)
    assert "today.csv exists and is not a table of" in refused(
        capsys, "predict", MODEL, "new.csv", "-o", "today.csv"
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "content", [b"PK\x03\x04", b"[" * 10**6, b"\xff", b"PAR1", b"\x1f\x8b\x08"]
)
def test_whatever_else_a_file_holds_it_is_none_of_ours(tmp_path, kind, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    assert not is_of_kind(path, kind)


def test_a_model_of_somebody_else_is_not_written_over(capsys, here):
    skops = pytest.importorskip("skops.io")
    skops.dump({"weights": [1, 2]}, "mine.skops")
    fit = ["fit", "loans.csv", *PRICES, "--method", "constant", "-o", "mine.skops"]
    assert "mine.skops exists and is not a model" in refused(capsys, *fit)


@pytest.mark.parametrize("command", ["compare", "fit", "costs"])
def test_standard_output_takes_tables_of_decisions_alone(capsys, here, command):
    rest = ["--target", "risk"] if command == "costs" else PRICES
    said = refused(capsys, command, "loans.csv", *rest, "-o", "-")
    assert "this is not written to standard output" in said


def test_figures_are_not_drawn_over_other_files(capsys, here):
    Path("figures").mkdir()
    Path("figures/zhang2005_figures1and2.png").write_text("mine")
    said = refused(capsys, "reproduce", "zhang2005", "--figures", "figures")
    assert "exists and is not a figure of stakes reproduce" in said


def test_every_command_that_writes_can_be_forced():
    assert main(["methods"]) == 0  # which enters all commands
    for command in app.registered_commands:
        options = inspect.signature(command.callback).parameters
        written = [n for n, o in options.items() if WRITTEN in o.annotation.__metadata__]
        assert "out" not in options or "out" in written, command.callback
        assert set(written) <= {"store"} or "force" in options, command.callback


def test_no_kind_is_taken_for_another(here):
    files = {"page": "report.html", "figures": "report.json", "comparison": "report.csv",
             "model": MODEL, "decisions": "decided.csv"}  # fmt: skip
    for kind in KINDS:
        for true_kind, file in files.items():
            assert is_of_kind(Path(file), kind) == (kind == true_kind), (kind, file)


@pytest.mark.parametrize("name", ["report[final].html", "a [bold]b[/bold].html", ":smile:.html"])
def test_names_are_printed_as_they_are(capsys, here, name):
    assert main(["compare", "loans.csv", *map(str, PRICES), *FAST, "-o", name]) == 0
    assert f"Written: {name}\n" in capsys.readouterr().out
    assert Path(name).exists()


def test_names_and_labels_cannot_move_the_cursor(capsys, here):
    label = "b[red]a\x1b[2Jd\u202e"
    table = pd.read_csv("loans.csv")
    table["risk"] = table["risk"].replace("bad", label)
    table.to_csv("odd.csv", index=False)
    arguments = [
        "odd.csv",
        "--target",
        "risk",
        "--costs",
        "zero_one",
        *FAST,
        "-o",
        "\x1b[31m.html",
    ]
    assert main(["compare", *arguments]) == 0
    assert main(["costs", "odd.csv", "--target", "risk", "-o", "odd_costs.csv"]) == 0
    assert main(["costs", "--check", "odd_costs.csv"]) == 0
    assert main(["compare", "odd.csv", "--target", "\x1b[31m"]) == 2
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err
    assert "\u202e" not in out + err
    assert printable(label) in out
    assert "Written: \\x1b[31m.html" in out
