"""The site covers what there is: every public name, every method, every estimator."""

import re
import runpy
from pathlib import Path

import pytest

from stakes.compare import list_methods
from stakes.datasets import list_datasets
from tests.instances import all_estimators

ROOT = Path(__file__).resolve().parent.parent
PAGES = runpy.run_path(str(ROOT / "docs" / "_ext" / "stakes_pages.py"))
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


def test_every_public_name_has_a_place_in_the_reference():
    pages = PAGES["reference_pages"]()
    for module in PAGES["public_modules"]():
        text = pages[f"api/{module}.rst"]
        for name in PAGES["public_names"](module):
            assert re.search(rf"[\s`.]{name}\b", text), f"{module}.{name} has no place"


def test_every_method_stands_in_the_table():
    table = PAGES["table_of_methods"]()
    ours = [n for n, row in list_methods().iterrows() if row["family"] != "example"]
    lacking = [name for name in ours if f"`{name} <" not in table]
    assert lacking == []


def test_every_method_says_in_the_table_of_exports_where_it_goes():
    lines = PAGES["table_of_exports"]().splitlines()
    for name, row in list_methods().iterrows():
        if row["family"] != "example":
            (line,) = (line for line in lines if line.startswith(f"| `{name}` |"))
            assert line.split("|").count(" yes ") == len(row["exports"])
            assert line.endswith(f"| {row['no_export']} |")


def test_every_method_was_measured():
    found = PAGES["measured_methods"]()
    ours = {n for n, row in list_methods().iterrows() if row["family"] != "example"}
    assert ours - set(found) == set(), "run: python benchmarks/methods.py"


def test_every_estimator_appears_in_an_example():
    text = "\n".join(path.read_text() for path in EXAMPLES)
    ours = [n for n, cls in all_estimators() if cls.__module__.startswith("stakes.")]
    lacking = [name for name in ours if name not in text]
    assert lacking == []


def test_every_data_set_stands_in_the_table():
    table = PAGES["table_of_datasets"]()
    assert [name for name in list_datasets().index if f"| `{name}` |" not in table] == []


def test_ratios_of_benchmarks_stand_before_what_they_are_made_of():
    pairs = PAGES["flattened"]({"a": {"ms": 2.0, "times_faster": 3.0}, "cases": [{"x": 1}] * 4})
    assert pairs == [("a, ms", "2"), ("a, times faster", "3"), ("cases", "4 cases, in the file")]
    page = PAGES["benchmark_page"]()
    for script in PAGES["stored_benchmarks"]():
        assert f"`python benchmarks/{script.name}`" in page


def test_there_are_enough_examples_and_each_has_a_title():
    assert len(EXAMPLES) >= 24
    for path in EXAMPLES:
        assert re.match(r'r?"""\n(.+)\n=+\n', path.read_text()), path.name


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("**/*.md")), ids=lambda p: p.name)
def test_links_to_pages_lead_somewhere(path):
    made = ("api/", "gallery/", "generated/", "results/benchmarks.md")
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", path.read_text()):
        found = (path.parent / target).resolve()
        inside = (
            found.relative_to(ROOT / "docs").as_posix()
            if found.is_relative_to(ROOT / "docs")
            else ""
        )
        assert found.exists() or inside.startswith(made), f"{path.name}: {target}"


WRITTEN = [
    path
    for pattern in (
        *("README.md", "CHANGELOG.md", "docs/**/*.md", "examples/*.py", "src/**/*.py"),
        *("src/**/*.html", "src/**/*.md", "src/**/*.js"),
    )
    for path in ROOT.glob(pattern)
    if path.name != "writing.md" and "generated" not in path.parts
]


def turns_to_avoid():
    text = (ROOT / "docs" / "contributing" / "writing.md").read_text(encoding="utf-8")
    return re.findall(r"^\| ([a-z ]+) \| ", text.partition("## Turns to avoid")[2], re.MULTILINE)


@pytest.mark.parametrize("turn", turns_to_avoid())
def test_no_text_has_to_be_read_twice(turn):
    assert len(WRITTEN) > 300
    over_lines = re.compile(turn.replace(" ", r"[\s#\"'*]+"))
    assert [p.name for p in WRITTEN if over_lines.search(p.read_text(encoding="utf-8"))] == []
