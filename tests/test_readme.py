"""The code of the README runs and prints what it says; its commands and the guide's do, too."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import stakes

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text()
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
    """Write the tables that the README speaks of, small; one column of loans is free text."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    bad = rng.random(n) < 0.4
    words = np.array(["red", "blue", "car", "house", "new", "old", "small", "dear", "far"])
    loans = pd.DataFrame(
        {
            "amount": rng.uniform(100, 900, n).round(2),
            "score": (rng.random(n) * 0.5 + 0.4 * bad).round(3),
            "client": rng.integers(0, n // 2, n),
            "date": pd.date_range("2024-01-01", periods=n).strftime("%Y-%m-%d"),
            "purpose": [" ".join(rng.choice(words, 3)) for _ in range(n)],
            "risk": np.where(bad, "bad", "good"),
        }
    )
    loans.to_csv(folder / "loans.csv", index=False)
    loans[::-1].to_csv(folder / "new.csv", index=False)
    costs = {f"cost_{part}": rng.uniform(1, 9, n) for part in ("fp", "fn")}
    credit = loans[["score", "purpose"]].assign(**costs, cost_tp=0.5, cost_tn=0.0, target=bad + 0)
    credit.to_csv(folder / "credit_default.csv", index=False)
    classes = np.array(["no", "maybe", "yes"])[np.arange(n) % 3]
    classes[:2] = "rare"
    loans[["score", "purpose"]].assign(target=classes).to_csv(folder / "nursery.csv", index=False)
    prices = {"cost_of_no": np.where(bad, loans["amount"] / 100, 0), "cost_of_yes": 1.0 * ~bad}
    mail = loans[["score", "purpose"]].assign(**prices, response=np.where(bad, "yes", "no"))
    mail.to_csv(folder / "mail.csv", index=False)


def run_commands(folder, n, jobs, seed, options, wanted):
    """Run commands of the README in a new process, on tables of n rows."""
    write_tables(folder, n)
    commands = []
    for command in filter(wanted, COMMANDS):
        own = [*command]
        if command[0] in ("compare", "fit"):
            if "german_credit" in command:  # not every machine has it
                continue
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
