"""Data flows one way: a module imports only from its left, late imports and strings included."""

import ast
import itertools
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import stakes

ROOT = Path(stakes.__file__).parent
# From left to right; packages of one rank do not import each other.
RANK = {
    "utils": 0,
    "costs": 1,
    "tables": 1,
    "_learning": 2,
    "_methods": 2,
    "datasets": 2,
    "metrics": 2,
    "_base": 3,
    "tree": 4,
    "decision": 5,
    "reductions": 5,
    "boosting": 5,
    "bagging": 5,
    "plugins": 6,
    "auto": 6,
    "compare": 7,
    "export": 8,
    "monitor": 7.5,
    "cluster": 8,
    "logged": 6.5,
    "report": 8,
    "serve": 8,
    "reproduce": 9,
    "cli": 10,
    "__main__": 11,
}
FILES = sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")
IDS = [str(p.relative_to(ROOT)) for p in FILES]
# A module named in a string; "stakes." alone is the beginning of an f-string.
NAMED = re.compile(r"^stakes\.(\w+)?")


def module_name(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def docstrings(tree):
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            yield body[0].value


def imported(path):
    """Yield (module, name or None) of each import, and of each string that names a module."""
    tree = ast.parse(path.read_text())
    texts = set(map(id, docstrings(tree)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = NAMED.match(node.value)
            if found and id(node) not in texts and (found[1] in RANK or node.value == "stakes."):
                yield node.value, None


def packages(path):
    """Return the packages of ours that a file imports."""
    for module, name in imported(path):
        parts = module.split(".")
        if parts[0] != "stakes":
            continue
        if len(parts) == 1 and name in (None, "__version__"):
            continue
        yield parts[1] if len(parts) > 1 else name


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_modules_import_only_from_their_left(path):
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    assert own in RANK, f"{own} has no place in the order of modules"
    for other in packages(path):
        if other == own:
            continue
        assert other in RANK, f"{path.name} names stakes.{other}, which has no place"
        assert RANK[other] < RANK[own], f"{own} must not import {other}"


def test_no_module_imports_itself_round_a_corner():
    names = {module_name(path): path for path in FILES}
    graph = {}
    for name, path in names.items():
        targets = set()
        for module, attribute in imported(path):
            whole = f"{module}.{attribute}" if attribute else module
            target = whole if whole in names else module
            # A package's __init__ imports its modules; what matters is who imports whom in it.
            if target in names and target != name and names[target].name != "__init__.py":
                targets.add(target)
        graph[name] = targets
    done, active = set(), []

    def visit(name):
        assert name not in active, " -> ".join([*active[active.index(name) :], name])
        if name in done:
            return
        active.append(name)
        for target in sorted(graph[name]):
            visit(target)
        active.pop()
        done.add(name)

    for name in graph:
        visit(name)


def test_the_picture_of_the_house_is_this_order():
    text = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text()
    picture = text.split("```\n")[1]
    groups = [re.findall(r"\w+", part) for part in picture.split("->")]
    ranks = [[RANK[name] for name in group] for group in groups]
    assert all(max(left) < min(right) for left, right in itertools.pairwise(ranks))
    assert {name for group in groups for name in group} == set(RANK) - {"__main__"}


def test_files_named_in_the_picture_of_the_house_are_there():
    text = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text()
    for name in set(re.findall(r"`([\w/]+\.py)`", text)):
        assert (ROOT / name).exists() or (ROOT.parents[1] / name).exists(), name


def test_few_private_names_cross_packages():
    crossing = Counter()
    for path in FILES:
        own = path.relative_to(ROOT).parts[0].removesuffix(".py")
        for module, name in imported(path):
            parts = module.split(".")
            if parts[0] != "stakes" or len(parts) < 2 or parts[1] in (own, "utils"):
                continue
            # `utils` and the packages with a leading underscore are the shared layer: private as
            # a whole for users, made to be used by every package to their right.
            if parts[1].startswith("_"):
                continue
            if name and (name.startswith("_") or any(p.startswith("_") for p in parts[2:])):
                crossing[f"{own}: {module}.{name}"] += 1
    assert sum(crossing.values()) <= 15, sorted(crossing)


def test_only_the_cluster_and_the_command_know_of_dask():
    for path in FILES:
        if path.relative_to(ROOT).parts[0] not in ("cluster", "cli"):
            libraries = {module.split(".")[0] for module, _ in imported(path)}
            assert not libraries & {"dask", "distributed"}, path


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
        "print([m for m in ('numba', 'matplotlib', 'highspy', 'lightgbm', 'xgboost') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
