"""Extras hold what the code asks of them, and lower bounds can be printed."""

import ast
import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
DISTRIBUTION = {"imblearn": "imbalanced-learn"}  # module -> distribution where they differ
OLDEST = runpy.run_path(str(ROOT / "tools" / "oldest.py"))


def names(requirements):
    return {re.match(r"[\w.-]+", requirement)[0] for requirement in requirements}


def optional_imports():
    """Yield (file, module, extra) of each call of `import_optional`."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_optional":
                if not isinstance(node.args[0], ast.Constant):
                    continue  # a helper that hands the name on
                extra = next(k.value for k in node.keywords if k.arg == "extra")
                yield path.name, node.args[0].value.partition(".")[0], extra.value


def test_an_extra_holds_the_module_that_names_it():
    found = list(optional_imports())
    assert {extra for _, _, extra in found} >= {"plot", "report", "cli", "export"}
    lacking = [
        (file, module, extra)
        for file, module, extra in found
        if DISTRIBUTION.get(module, module) not in names(EXTRAS[extra])
    ]
    assert lacking == []


def test_the_page_needs_no_plotting_library():
    assert names(EXTRAS["report"]) == {"jinja2"}


def test_all_is_all_extras_of_users():
    (everything,) = EXTRAS["all"]
    listed = set(everything.partition("[")[2].rstrip("]").split(","))
    assert listed == set(EXTRAS) - {"all", "test", "docs", "dev"}


def test_lower_bounds_of_every_dependency_are_printed():
    printed = OLDEST["requirements"](PROJECT, [])
    asked = names(PROJECT["dependencies"])
    asked = asked.union(
        *(names(EXTRAS[extra]) for extra in EXTRAS if extra not in ("all", "docs", "dev"))
    )
    assert names(printed) == asked
    assert all(re.fullmatch(r"[\w.-]+(\[\w+\])?==[\d.]+", line) for line in printed)


def test_a_dependency_without_or_with_two_lower_bounds_is_refused():
    project = {"dependencies": ["a>=1.0"], "optional-dependencies": {"x": ["b"], "y": ["a>=2.0"]}}
    assert OLDEST["requirements"](project, ["core"]) == ["a==1.0"]
    with pytest.raises(SystemExit, match="x: 'b' has no lower bound"):
        OLDEST["requirements"](project, ["core", "x"])
    with pytest.raises(SystemExit, match="a has two lower bounds: 1.0 and 2.0"):
        OLDEST["requirements"](project, ["core", "y"])
