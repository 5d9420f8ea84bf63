"""Kernels stay readable: short functions, few arguments, private options of Numba in one place."""

import ast
from pathlib import Path

import pytest

import stakes

ROOT = Path(stakes.__file__).parent
FILES = sorted(path for path in ROOT.rglob("*.py") if "kernel" in path.stem)


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(ROOT)) for p in FILES])
def test_kernels_are_short_and_take_few_arguments(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno < 80, f"{node.name} is too long"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            known = node.func.id[:1].islower()  # a NamedTuple may have many fields
            assert not known or len(node.args) <= 8, f"line {node.lineno} of {path.name}"


def test_there_are_kernels():
    assert len(FILES) >= 6


def test_private_options_of_numba_stand_in_one_file():
    holders = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if "_nrt=" in path.read_text()
    }
    assert len(holders) <= 1, holders
