"""Numbered warnings: one registry, codes that exist and are used, silenced by code."""

import re
import warnings
from pathlib import Path

import pytest
from tests.cli.commands import refused, run, table

from stakes.costs import CostWarning, check_cost_matrix
from stakes.utils import ignoring, list_checks

ROOT = Path(__file__).parents[2] / "src"
SOURCE = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in ROOT.rglob("*.py")
}


def test_every_check_is_explained_and_used():
    text = "\n".join(SOURCE.values())
    for code, check in list_checks().items():
        assert set(check) == {"what", "why", "do"}
        assert re.fullmatch(r"ST[1-6]\d\d", code)
        quoted = re.escape(check["what"])
        assert re.search(rf'"{code}"|Finding\(\s*"{quoted}"|{code}: ', text), code


def test_every_warning_has_a_code():
    known = list_checks()
    kinds = {check["what"] for check in known.values()}
    for name, text in SOURCE.items():
        assert {*re.findall(r'\bwarn\(\s*"(\w+)"', text)} <= set(known), name
        assert {*re.findall(r'\bFinding\(\s*"([^"]+)"', text)} <= kinds, name
        if name not in (
            "stakes/utils/_checks.py",
            "stakes/cluster/_trees.py",
        ):  # it passes them on
            assert "warnings.warn(" not in text, name


def test_a_warning_begins_with_its_code_and_is_silenced_by_it():
    turned = [[0, 50], [60, 70]]
    with pytest.warns(CostWarning, match="^ST301: cost_matrix is unreasonable"):
        check_cost_matrix(turned, classes=[0, 1])
    with ignoring("ST301"):
        check_cost_matrix(turned, classes=[0, 1])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="ST301")
        check_cost_matrix(turned, classes=[0, 1])
    with (
        pytest.raises(ValueError, match="There is no check 'ST999': they are ST101, "),
        ignoring("ST999"),
    ):
        pass


def test_commands_ignore_by_code(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().assign(same=1, number=range(120)).to_csv("loans.csv", index=False)
    check = ("check", "loans.csv", "--target", "risk")
    out = run(capsys, *check)[0]
    assert "- ST101: 'number' tells rows apart" in out
    assert "- ST103: 'same' is 1 in every row." in out
    out = run(capsys, *check, "--ignore", "ST101,ST103", "--strict")[0]
    assert "ST101" not in out
    assert "Nothing to warn of." in out
    assert "There is no check" in refused(capsys, *check, "--ignore", "ST1")
