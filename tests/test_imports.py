"""Data flows one way: a module imports only from its left."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import stakes

ROOT = Path(stakes.__file__).parent
RANK = {
    "utils": 0,
    "costs": 1,
    "datasets": 2,
    "metrics": 2,
    "_base": 3,
    "tree": 4,
    "decision": 5,
    "reductions": 6,
    "boosting": 6,
    "bagging": 6,
    "auto": 7,
    "compare": 8,
    "reproduce": 9,
    "report": 9,
    "cli": 10,
}
# The page is made by `Comparison.to_html`, which reaches for the report when it is called.
LATE = {("compare", "report")}


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            names = [node.module or ""]
            if node.module == "stakes":
                names = [f"stakes.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "stakes" and len(parts) > 1 and parts[1] != "__version__":
                yield parts[1]


FILES = sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(ROOT)) for p in FILES])
def test_modules_import_only_from_their_left(path):
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    assert own in RANK, f"{own} has no place in the order of modules"
    for other in imported_modules(path):
        if other == own or (own, other) in LATE:
            continue
        assert other in RANK, f"{path.name} imports stakes.{other}, which has no place"
        assert RANK[other] < RANK[own], f"{own} must not import {other}"


def test_only_one_file_opens_the_private_door_of_scikit_learn():
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            if node.module.split(".")[0] != "sklearn":
                continue
            private = any(part.startswith("_") for part in node.module.split("."))
            private |= any(alias.name.startswith("_") for alias in node.names)
            if private:
                assert path.relative_to(ROOT).as_posix() == "utils/_sklearn.py", path


def test_import_stakes_brings_in_nothing_heavy():
    code = (
        "import sys, stakes, stakes.costs, stakes.metrics\n"
        "print([m for m in ('numba', 'matplotlib', 'highspy', 'lightgbm', 'xgboost', 'skrub') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
