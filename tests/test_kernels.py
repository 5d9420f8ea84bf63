"""Kernels stay readable: short functions, few arguments, and nothing of Numba but its public doors."""

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


# What reaches behind Numba's public doors, or writes the kernels instead of a person.
PRIVATE = ("numba.core", "_nrt", "pipeline_class", "exec(", "import ast", "call_at")


def test_kernels_know_the_public_doors_of_numba_alone():
    for path in [*FILES, ROOT / "utils" / "_jit.py", *(ROOT / "tree").glob("*.py")]:
        text = path.read_text()
        assert [word for word in PRIVATE if word in text] == [], path
