"""A bad command is refused in one sentence, and leaves the folder as it was, byte for byte."""

import contextlib
import gzip
import io
import itertools
import os
import pickle
import random
import zipfile
from pathlib import Path

import pytest
from tests.chaos.harness import FIT, PRICES, SEED, write_inputs
from tests.figures import record

from stakes.cli import main
from stakes.cli._app import app

# -- what is wrong -----------------------------------------------------------------------------

# Files that are no tables, by name.
BAD_FILES = {
    "none.csv": None,
    "empty.csv": b"",
    "lines.csv": b"\n\n\n",
    "header.csv": b"age,job,risk\n",
    "single.csv": b"risk\nbad\ngood\n",
    "nul.csv": b"age,job,risk\n1,a\0b,bad\n2,b,good\n",
    "binary.csv": bytes(range(256)) * 20,
    "ragged.csv": b"age,job,risk\n1,cook,bad\n1,2,3,4,5\n",
    "shifted.csv": b"age,job,risk\n1,cook,bad,\n2,smith,good,\n3,cook,bad,\n",
    "latin.csv": "age,job,risk\n1,köchin,bad\n2,b,good\n".encode("latin-1"),
    "half.parquet": b"PAR1" + b"\0" * 40,
    "half.csv.gz": gzip.compress(b"age,job,risk\n1,cook,bad\n" * 2000)[:60],
    "half.xlsx": b"PK\x03\x04" + b"\0" * 60,
    "half.arrow": b"ARROW1\0\0" + b"\0" * 60,
    "broken.jsonl": b'{"age": 1, "risk": "bad"}\n{"age": \n',
    "folder": "folder",
}
# Columns, prices and other choices that the table does not bear out: for compare and fit.
BAD_CHOICES = [
    ["--target", "none"],
    ["--target", ""],
    ["--target", "age", "--fp", "1", "--fn", "5"],
    ["--target", "risk"],
    ["--target", "risk", "--fp", "1"],
    ["--target", "risk", "--fn", "1"],
    ["--target", "risk", "--fp", "one", "--fn", "5", "--positive", "good"],
    ["--target", "risk", "--fp", "nan", "--fn", "5", "--positive", "good"],
    ["--target", "risk", "--fp", "inf", "--fn", "5", "--positive", "good"],
    ["--target", "risk", "--fp", "1", "--fn", "job", "--positive", "good"],
    ["--target", "risk", "--fp", "1", "--fn", "5", "--positive", "ugly"],
    ["--target", "risk", "--costs", "none.csv"],
    ["--target", "risk", "--costs", "empty.csv"],
    ["--target", "risk", "--costs", "loans.csv"],
    ["--target", "risk", "--costs", "folder"],
    ["--target", "risk", "--costs", "binary.csv"],
    ["--target", "risk", "--costs", "rarity", "--fp", "1", "--fn", "5"],
    ["--target", "risk", "--costs", "rarity", "--positive", "bad"],
    ["--target", "risk", "--cost", "bad"],
    ["--target", "risk", "--cost", "bad=1"],
    ["--target", "risk", "--cost", "ugly=1", "--cost", "bad=1", "--cost", "good=1"],
    ["--target", "risk", "--cost", "bad=1", "--cost", "bad=2", "--cost", "good=1"],
    [*PRICES, "--drop", "none"],
    [*PRICES, "--drop", "age,job"],
    [*PRICES, "--separator", "long"],
    [*PRICES, "--encoding", "none"],
    [*PRICES, "--seed", "x"],
    [*PRICES, "--folds", "1"],
    [*PRICES, "--jobs", "many"],
    [*PRICES, "--nonsense"],
]
# For compare alone.
BAD_RUNS = [
    ["--methods", "none"],
    ["--methods", "mec,none"],
    ["--folds", "50"],
    ["--store", "loans.csv"],
    ["--store", "."],
    ["--store", "folder", "--fresh"],
    ["--store", "loans.csv/fits"],
]
BAD_OUTPUTS = {
    "loans.csv": ("compare", "fit", "costs", "export"),
    "new.csv": ("compare", "fit", "predict", "costs", "export"),
    "folder": ("compare", "fit", "predict", "costs", "export"),
    "loans.csv/deep/out": ("compare", "fit", "predict", "costs", "export"),
    "n" * 300: ("compare", "fit", "predict", "costs", "export"),
    "/proc/none/out": ("compare", "fit", "predict", "costs", "export"),
    "binary.csv": ("compare", "fit", "predict", "costs", "export"),
    "link": ("compare", "fit", "costs", "export"),
    "": ("compare", "fit", "predict", "costs", "export"),
}
BAD_USAGE = [
    ["none"],
    ["compare", "--none"],
    ["predict"],
    ["predict", "model.skops"],
    ["fit", "loans.csv", *PRICES, "--method", "none"],
    ["fit", "loans.csv", *PRICES, "--method", ""],
    ["fit", "loans.csv", *PRICES, "--method", "mec", "--best"],
    ["costs"],
    ["costs", "loans.csv"],
    ["costs", "loans.csv", "--target", "risk", "--heuristic", "none"],
    ["costs", "--check", "none.csv"],
    ["costs", "--check", "empty.csv"],
    ["costs", "--check", "loans.csv"],
    ["costs", "--check", "binary.csv"],
    ["datasets", "none"],
    ["datasets", "iris", "more"],
    ["methods", "more"],
    ["export", "model.skops", "--to", "none"],
    ["export", "model.skops", "--to", "python"],
    ["export", "model.skops", "--data", "none.csv"],
    ["export", "model.skops", "--data", "binary.csv"],
    ["export", "model.skops", "--data", "ragged.csv"],
    ["reproduce", "none"],
    ["reproduce", "abe2004", "--tasks", "none"],
    ["reproduce", "abe2004", "--methods", "none"],
    ["reproduce", "obrien2008", "--runs", "0"],
    ["reproduce", "obrien2008", "--runs", "x"],
    ["reproduce", "abe2004", "--reading", "none"],
    ["reproduce", "--summary", "--results", "none"],
    ["reproduce", "--summary", "--results", "folder"],
    ["reproduce", "--page", "page.md", "--results", "none"],
    ["reproduce", "slides", "--results", "loans.csv"],
    ["reproduce", "obrien2008", "--tasks", "iris/qda", "--store", "folder"],
    ["reproduce", "obrien2008", "--tasks", "iris/qda", "--store", "loans.csv"],
]
BAD_MODELS = {
    "none.skops": None,
    "folder": "folder",
    "empty.csv": b"",
    "loans.csv": "loans.csv",
    "pickle.skops": pickle.dumps({"a": 1}),
    "zip.skops": "zip",
    "half.skops": "half",
    "flipped.skops": "flipped",
}
# What may be said besides, without changing what is wrong.
MORE = {
    "compare": [["--json"], ["--csv"], ["--fresh"], ["--fast"], ["--currency", "€"], ["--force"]],
    "fit": [["--fast"], ["--seed", "3"], ["--force"]],
    "predict": [["--with-data"], ["--force"], ["--encoding", "utf-8"]],
    "costs": [["--currency", "€"], ["--heuristic", "rarity"]],
}
COMMANDS = {
    "compare": ["compare", "loans.csv", *PRICES],
    "fit": ["fit", "loans.csv", *PRICES],
    "predict": ["predict", "model.skops", "new.csv"],
    "costs": ["costs", "loans.csv", "--target", "risk"],
    "check": ["check", "loans.csv", "--target", "risk"],
    "export": ["export", "model.skops"],
}


# What a monitor may write neither its state nor its page over.
BAD_STATES = ["new.csv", "link", "model.skops", "nul.csv", "folder"]


def every_command():
    """Return the names of all commands; asking for help enters them."""
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["--help"]) == 0
    return sorted(command.callback.__name__ for command in app.registered_commands)


def bad_commands():
    """Return every bad command, with what may be said besides."""
    found = list(BAD_USAGE)
    for name in every_command():  # whatever it is, it has no such option, nor reads such files
        found += [[name, "--no-such-option"], [name, *["none.csv"] * 5]]
    for file in BAD_FILES:
        for name, good in COMMANDS.items():
            if name == "export":
                continue
            found.append([file if part in ("loans.csv", "new.csv") else part for part in good])
            if name == "fit":
                found.append([*found[-1], "--best"])
    for name, choice in itertools.product(("compare", "fit"), BAD_CHOICES):
        found.append([name, "loans.csv", *choice])
    found += [[*COMMANDS["compare"], *run] for run in BAD_RUNS]
    found += [[*COMMANDS["fit"], "--best", *run] for run in BAD_RUNS if run[0] == "--store"
              and "--fresh" not in run]  # fmt: skip
    for out, names in BAD_OUTPUTS.items():
        found += [[*COMMANDS[name], "-o", out] for name in names]
    found += [["predict", model, "new.csv"] for model in BAD_MODELS]
    found += [["export", model] for model in BAD_MODELS]
    found += [["monitor", model, "new.csv"] for model in BAD_MODELS]
    found += [["monitor", "model.skops", file] for file in BAD_FILES]
    found += [["monitor", "model.skops", "new.csv", "--state", file] for file in BAD_STATES]
    found += [["monitor", "model.skops", "new.csv", "-o", file] for file in BAD_STATES]
    rng = random.Random(SEED)
    again = []
    for command in found:
        more = MORE.get(command[0], [])
        if more and command[-1] not in ("--none", "--nonsense", "--no-such-option"):
            extra = rng.choice(more)
            forced = "--force" in extra and ("-o" in command or "--costs" in command)
            if extra[0] not in command and not forced:
                again.append([*command, *extra])
    return found + again


COMMANDS_AT_ALL = bad_commands()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with good and bad files."""
    folder, before = tmp_path_factory.mktemp("chaos"), os.getcwd()
    os.chdir(folder)
    write_inputs(folder)
    assert main(FIT) == 0
    Path("folder").mkdir()
    Path("folder/mine.txt").write_text("mine")
    os.link("loans.csv", "link")
    whole = Path("model.skops").read_bytes()
    with zipfile.ZipFile("zip.skops", "w") as archive:
        archive.writestr("data.txt", "hello")
    Path("half.skops").write_bytes(whole[: len(whole) // 2])
    Path("flipped.skops").write_bytes(whole.replace(b"PK\x01\x02", b"PK\x01\x03"))
    for name, content in {**BAD_FILES, **BAD_MODELS}.items():
        if isinstance(content, bytes):
            Path(name).write_bytes(content)
    yield folder
    os.chdir(before)


def state():
    return {path: path.read_bytes() if path.is_file() else None for path in Path().rglob("*")}


def test_there_are_enough():
    assert len(COMMANDS_AT_ALL) * 5 // 6 >= 300  # those of the slow parts alone
    assert len({tuple(command) for command in COMMANDS_AT_ALL}) == len(COMMANDS_AT_ALL)


# A part of them in each run of the usual tests, all of them in the slow ones.
PARTS = [pytest.param(n, marks=[] if n == 0 else pytest.mark.slow) for n in range(6)]


@pytest.mark.parametrize("part", PARTS)
def test_one_sentence_and_the_folder_as_it_was(capsys, folder, monkeypatch, part):
    monkeypatch.chdir(folder)
    before, wrong = state(), []
    for command in COMMANDS_AT_ALL[part :: len(PARTS)]:
        code = main(command)
        out, err = capsys.readouterr()
        errors = [line for line in err.splitlines() if line.startswith("Error: ")]
        last = err.splitlines()[-1] if err else ""
        if (
            code == 0
            or len(errors) != 1
            or last != errors[0]
            or not last.endswith((".", "?"))
            or "Traceback" in out + err
            or len(last) > 1000
        ):
            wrong.append((command, code, err))
        elif state() != before:
            wrong.append((command, "the folder has changed", sorted(state().keys() ^ before)))
            before = state()
    assert not wrong, "\n".join(map(str, wrong))
    if part:
        record(f"commands-{part}", commands=len(COMMANDS_AT_ALL[part :: len(PARTS)]))
