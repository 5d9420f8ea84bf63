"""The code of the README runs and prints what it says; its commands and the guide's do, too."""

import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import sklearn

import stakes
from stakes.datasets import example_tables, write_examples

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text()
TOOLS = README.parent / "tools"
GUIDE = README.parent / "docs" / "guide" / "command_line.md"
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.S)


@pytest.mark.parametrize("code", BLOCKS)
def test_code_prints_what_it_says(code, capsys):
    exec(compile(code, str(README), "exec"), {})
    printed = capsys.readouterr().out.split()
    promised = re.findall(r"^# (.*)$", code, flags=re.M)
    assert printed
    for value in printed:
        assert any(value in line for line in promised), f"{value} is not what the README says"


def test_the_two_commands_are_there():
    text = README.read_text()
    assert "make demo" in text
    assert "make test" in text


# -- the commands --------------------------------------------------------------------------

COMMANDS = [
    shlex.split(line, comments=True)[1:]
    for line in re.findall(
        r"(?:^|`)(stakes (?:compare|costs|fit|predict) [^`\n]+)",
        TEXT + GUIDE.read_text(),
        flags=re.M,
    )
]
# Runs commands in a folder, and prints what each of them found, without the seconds.
RUN = """
import json, sys
from pathlib import Path
from stakes.cli import main

found = []
for command in json.loads(sys.argv[1]):
    code = main(command)
    assert code == 0, command
    if command[0] == "compare":
        report = json.loads(Path("report.json").read_text())
        rows = [{k: v for k, v in m.items() if "seconds" not in k} for m in report["methods"]]
        found.append([rows, report["confusion"], report["reason"]])
    elif command[0] == "predict":
        found.append(Path("decisions.csv").read_text())
print("found", json.dumps(found))
"""


def write_tables(folder, n):
    """Write the first n rows of the tables that the README speaks of."""
    folder.mkdir()
    for path in write_examples(folder):
        pd.read_csv(path)[:n].to_csv(path, index=False)


def run_commands(folder, n, jobs, seed, options, wanted):
    """Run commands of the README in a new process, on tables of n rows."""
    write_tables(folder, n)
    commands = []
    for command in filter(wanted, COMMANDS):
        own = [*command]
        if command[0] in ("compare", "fit"):
            # the last of an option holds, so that those of the README come last
            own = [command[0], *options, "--jobs", str(jobs), *command[1:]]
        if command[0] == "compare":
            own += ["--json", "--fresh"]
        if "--out" in command:  # the README and the guide write the same file
            own += ["--force"]
        commands.append(own)
    path = os.pathsep.join(
        [str(Path(stakes.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    )
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(commands)],
        env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("found ")]
    return json.loads(line.removeprefix("found "))


def test_the_tables_are_those_that_the_tool_draws():
    drawn = runpy.run_path(str(TOOLS / "tables.py"))["tables"]()
    shipped = {name: path.read_text() for name, path in example_tables().items()}
    assert {name: t.to_csv(index=False) for name, t in drawn.items()} == shipped


@pytest.mark.skipif(sklearn.__version__ < "1.9", reason="models of older versions differ")
@pytest.mark.parametrize(
    "name", ["README.md", pytest.param("docs/start.md", marks=pytest.mark.slow)]
)
def test_pages_print_what_their_commands_print(name, tmp_path):
    tool = runpy.run_path(str(TOOLS / "printed.py"))
    page = (README.parent / name).read_text()
    now = tool["reprinted"](page, tmp_path)
    assert tool["without_seconds"](now) == tool["without_seconds"](page), "run tools/printed.py"


def test_there_are_commands_of_every_kind():
    assert {command[0] for command in COMMANDS} == {"compare", "costs", "fit", "predict"}
    assert len(COMMANDS) >= 12
    assert [command[0] for command in COMMANDS[-2:]] == ["fit", "predict"]


def short(command):
    """Whether a command is one of the few that are tried every time: the first, fit and predict."""
    return command in (COMMANDS[0], *COMMANDS[-2:])


@pytest.mark.parametrize(
    ("n", "options", "jobs", "wanted"),
    [
        pytest.param(60, ["--fast", "--folds", "2"], 1, short, id="short"),
        pytest.param(60, ["--fast", "--folds", "2"], 2, None, id="fast", marks=pytest.mark.slow),
        pytest.param(150, ["--folds", "3"], 2, None, id="default", marks=pytest.mark.slow),
    ],
)
def test_commands_find_the_same_in_another_process(tmp_path, n, options, jobs, wanted):
    first = run_commands(tmp_path / "one", n, 1, 1, options, wanted)
    assert len(first) >= (2 if wanted else 10)
    again = run_commands(tmp_path / "two", n, jobs, 2, options, wanted)
    for one, two in zip(first, again, strict=True):
        assert one == two
