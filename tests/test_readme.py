"""The README's code runs and prints what it says."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.S)


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
