"""Pages that are made from the code and from stored results, before Sphinx lists its pages."""

import ast
import csv
import importlib
import inspect
import json
import math
import re
import statistics
from collections import defaultdict
from pathlib import Path

import stakes

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
# The command line has pages of its own; modules that few people need come last.
HIDDEN = {"stakes.cli", "stakes.cluster"}
LAST = ("stakes.plugins", "stakes.utils", "stakes.reproduce", "stakes.report")
# the line that names attributes or parameters, and a name that ends in an underscore
ROUTING = re.compile(r"set_\w+_request|get_metadata_routing|set_output|[gs]et_params")
HEAD = re.compile(r"\w+(, \w+)*( : [^`]*)?")
FINAL_UNDERSCORE = re.compile(r"(?<=\w)_(?=\W|$)")
RATIO = re.compile(r"ratio|times|faster|slower|share|excess|%| over | against | / |held|equal")
BEST = 3  # a method is among the best of a table if at most two others are cheaper


# -- the reference ---------------------------------------------------------------------------


def public_modules() -> list[str]:
    """Return the public modules, in the order of the reference."""
    found = [f"stakes.{name}" for name in dir(stakes) if inspect.ismodule(getattr(stakes, name))]
    return sorted(set(found) - HIDDEN, key=lambda name: (name in LAST, name))


def public_names(module: str) -> list[str]:
    """Return the public names of a module."""
    return list(importlib.import_module(module).__all__)


def first_line(thing: object) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def reference_pages() -> dict[str, str]:
    """Return the page of each public module, and the one that lists them."""
    pages, modules = {}, public_modules()
    listed, home = [], {}
    for name in modules:
        module = importlib.import_module(name)
        called = [n for n in module.__all__ if callable(getattr(module, n))]
        shown = [n for n in called if home.setdefault((n, getattr(module, n)), name) == name]
        constants = [n for n in module.__all__ if n not in called]
        lines = [
            name,
            "=" * len(name),
            "",
            first_line(module),
            "",
            f".. currentmodule:: {name}",
            "",
        ]
        lines += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
        lines += [f"   {n}" for n in shown] + [""]
        lines += [
            f"- :py:obj:`{n} <{home[n, getattr(module, n)]}.{n}>`"
            for n in called
            if n not in shown
        ]
        lines += [""]
        for constant in constants:
            lines += [f".. py:data:: {constant}", ""]
        pages[f"api/{name}.rst"] = "\n".join(lines)
        listed.append(f"- {{doc}}`{name} <{name}>`: {first_line(module)}")
    pages["api/index.md"] = "\n".join(
        ["# Reference", "", "Every public name, with the examples that use it.", ""]
        + ["- {doc}`The command line <commands>`", *listed, ""]
        + [
            "```{toctree}",
            ":hidden:",
            "",
            "/api/commands",
            *(f"/api/{name}" for name in modules),
            "```",
            "",
        ]
    )
    return pages


# -- the table of methods --------------------------------------------------------------------


def measured_methods() -> dict[str, dict[str, float]]:
    """Return what `benchmarks/methods.py` stored: cost over the cheapest, seconds, tables won."""
    costs: dict = defaultdict(dict)
    seconds: dict = defaultdict(list)
    with (RESULTS / "methods.csv").open() as lines:
        for row in csv.DictReader(lines):
            if row["status"] == "ok":
                costs[row["set"]][row["method"]] = float(row["cost"])
                seconds[row["method"]].append(float(row["seconds"]))
    logs, best = defaultdict(list), defaultdict(int)
    for table in costs.values():
        floor = 1e-3 * statistics.median(table.values())
        least = max(min(table.values()), floor)
        for method, cost in table.items():
            logs[method].append(math.log(max(cost, floor) / least))
            best[method] += sum(other < cost for other in table.values()) < BEST
    return {
        method: {
            "cost": math.exp(statistics.mean(values)),
            "best": best[method],
            "tables": len(values),
            "seconds": statistics.median(seconds[method]),
        }
        for method, values in logs.items()
    }


def public_home(cls: type) -> str:
    """Return the public module that a class is documented in."""
    return ".".join(cls.__module__.split(".")[:2])


def table_of_methods() -> str:
    """Return the table of all methods, from their declarations and stored results."""
    from sklearn.base import ClassifierMixin

    from stakes.compare._registry import all_methods

    found = measured_methods()
    head = "| method | what it does | weighs rows | hindsight | any decisions | any model | proba | cost | best on | seconds |"
    lines = [head, "| --- | --- | :-: | :-: | :-: | :-: | :-: | --: | --: | --: |"]
    marks = {True: "yes", False: ""}
    for method in all_methods().values():
        if not method.cls.__module__.startswith("stakes."):
            continue  # of another package that happens to be installed
        rule = not issubclass(method.cls, ClassifierMixin)
        wraps = rule or next(iter(inspect.signature(method.cls).parameters), "") == "estimator"
        proba = rule or hasattr(method.cls, "predict_proba")
        name = f"{{py:class}}`{method.name} <{public_home(method.cls)}.{method.cls.__name__}>`"
        kinds = [marks[kind in method.kinds] for kind in ("deciding", "hindsight")]
        kinds.append(marks[not getattr(method.cls, "_decides_only_classes", False)])
        cells = [name, f"{method.title}. {method.note}", *kinds, marks[wraps], marks[proba]]
        figures = found.get(method.name)
        if figures is None:
            cells += ["", "", ""]
        else:
            cells += [f"{figures['cost']:.2f}", f"{figures['best']} of {figures['tables']}"]
            cells += [f"{figures['seconds']:.2g}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def table_of_exports() -> str:
    """Return which method can be exported in which form, and why not, from their declarations."""
    from stakes.compare._registry import all_methods

    ours = [m for m in all_methods().values() if m.cls.__module__.startswith("stakes.")]
    forms = list(dict.fromkeys(form for method in ours for form in method.exports))
    lines = [
        f"| method | {' | '.join(forms)} | why not |",
        "| --- |" + " :-: |" * len(forms) + " --- |",
    ]
    for method in ours:
        marks = ["yes" if form in method.exports else "" for form in forms]
        lines.append("| " + " | ".join([f"`{method.name}`", *marks, method.no_export]) + " |")
    return "\n".join(lines) + "\n"


def table_of_cases() -> str:
    """Return in which cases each method can decide, and why not, from their declarations."""
    from stakes._learning.capabilities import CASES, in_words
    from stakes.compare._registry import all_methods

    lines = [f"- `{case}`: {asked.title}" for case, asked in CASES.items()]
    lines += ["", f"| method | {' | '.join(CASES)} | why not |"]
    lines += ["| --- |" + " :-: |" * len(CASES) + " --- |"]
    for method in all_methods().values():
        if not method.cls.__module__.startswith("stakes."):
            continue
        parts = [said.partition(": ") for said in in_words(method.cls).values()]
        marks = ["" if mark == "no" else mark for mark, _, _ in parts]
        why = "; ".join(dict.fromkeys(reason for _, _, reason in parts if reason))
        lines.append("| " + " | ".join([f"`{method.name}`", *marks, why]) + " |")
    return "\n".join(lines) + "\n"


def table_of_checks() -> str:
    """Return what is warned of, by code, from the file that the code reads."""
    from stakes.utils import list_checks

    lines = []
    for code, check in list_checks().items():
        lines += [f"### {code}: {check['what']}", "", f"{check['why']} **{check['do']}**", ""]
    return "\n".join(lines)


# -- benchmarks ------------------------------------------------------------------------------


def flattened(figures: object, name: str = "") -> list[tuple[str, str]]:
    """Return nested figures as (name, value) pairs; single cases are only counted."""
    if isinstance(figures, dict):
        inner = ((f"{name}, {key}" if name else str(key), value) for key, value in figures.items())
        return [pair for key, value in inner for pair in flattened(value, key)]
    if isinstance(figures, list) and figures and isinstance(figures[0], dict | list):
        return [(name, f"{len(figures)} cases, in the file")]
    values = figures if isinstance(figures, list) else [figures]
    short = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in values]
    return [(name.replace("_", " "), ", ".join(short))]


def table_of_figures(pairs: list[tuple[str, str]]) -> list[str]:
    """Return the lines of a table."""
    lines = ["| figure | value |", "| --- | --: |"]
    return lines + [f"| {name} | {value} |" for name, value in pairs] + [""]


def stored_benchmarks() -> dict[Path, list[Path]]:
    """Return the scripts of `benchmarks/`, each with the results that it has stored."""
    scripts = sorted((ROOT / "benchmarks").glob("[!_]*.py"))
    names = {script.stem for script in scripts}
    found = {}
    for script in scripts:
        paths = sorted(RESULTS.glob(f"{script.stem}*.json"))
        others = names - {script.stem}
        found[script] = [p for p in paths if not _longer(p.stem, others, script.stem)]
    return {script: paths for script, paths in found.items() if paths}


def benchmark_page() -> str:
    """Return the page of all stored benchmarks, each with the command that makes it."""
    lines = ["# Speed and memory", ""]
    lines += [
        "What `benchmarks/` has stored, with the command that makes it again. Ours and theirs were "
        "taken in one run, in turns, so ratios can be trusted further than seconds: they stand "
        "first, the figures they were made of behind *all figures*.",
        "",
    ]
    for script, stored in stored_benchmarks().items():
        about = (ast.get_docstring(ast.parse(script.read_text())) or "").partition("\n")[0]
        lines += [f"## {about.rstrip('.')}", "", f"`python benchmarks/{script.name}`", ""]
        for path in stored:
            record = json.loads(path.read_text())
            pairs = flattened(record.get("figures", record))
            ratios = [pair for pair in pairs if RATIO.search(pair[0])]
            cores = f", {record['cores']} cores" if "cores" in record else ""
            lines += [f"*{path.stem}*, {record.get('date', '')}{cores}:", ""]
            lines += table_of_figures(ratios) if ratios else []
            if len(ratios) < len(pairs):
                lines += [":::{dropdown} All figures", *table_of_figures(pairs), ":::", ""]
    return "\n".join(lines)


def _longer(stem: str, others: set[str], mine: str) -> bool:
    """Say whether results are those of a script with a longer name, such as default_time."""
    return any(other.startswith(mine) and stem.startswith(other) for other in others)


# -- data sets -------------------------------------------------------------------------------


def table_of_datasets() -> str:
    """Return the table of all data sets, from the catalogue."""
    from stakes.datasets import list_datasets

    lines = ["| name | what | rows | features | classes | costs | from |"]
    lines += ["| --- | --- | --: | --: | --: | --- | --- |"]
    for name, row in list_datasets().iterrows():
        cells = [f"`{name}`", row["title"], f"{row['rows']:,}", row["features"], row["classes"]]
        cells += [row["costs"] or "", row["source"] or "your folder"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


# -- commands --------------------------------------------------------------------------------


def commands_page() -> str:
    """Return the help of every command, as the program prints it."""
    from typer.testing import CliRunner

    from stakes.cli import main
    from stakes.cli._app import app

    main(["--version"])  # enters the commands
    lines = ["# Commands", "", "What `stakes COMMAND --help` prints.", ""]
    run = CliRunner(env={"COLUMNS": "100", "TERM": "dumb"})
    names = [command.name or command.callback.__name__ for command in app.registered_commands]
    for name in ["", *names]:
        words = [name.replace("_", "-"), "--help"] if name else ["--help"]
        shown = run.invoke(app, words, prog_name="stakes").output
        lines += [f"## stakes {name}".rstrip(), "", "```text", shown.strip("\n"), "```", ""]
    return "\n".join(lines)


# -- writing ---------------------------------------------------------------------------------


def make_pages(app: object, config: object) -> None:
    """Write all pages that are made; those that have not changed keep their date."""
    pages = reference_pages()
    pages["generated/methods.md"] = table_of_methods()
    pages["generated/exports.md"] = table_of_exports()
    pages["generated/cases.md"] = table_of_cases()
    pages["generated/checks.md"] = table_of_checks()
    pages["generated/datasets.md"] = table_of_datasets()
    pages["api/commands.md"] = commands_page()
    pages["results/benchmarks.md"] = benchmark_page()
    for name, text in pages.items():
        path = Path(app.srcdir) / name  # type: ignore[attr-defined]
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def escape_names(app, what, name, obj, options, lines: list[str]) -> None:
    """Escape fitted attributes, "classes_" and "(n_iter_,)": they would be links otherwise."""
    for i, line in enumerate(lines):
        if HEAD.fullmatch(line):
            lines[i] = FINAL_UNDERSCORE.sub(r"\\_", line)


def skip_routing(app, what, name, obj, skip, options) -> bool | None:
    """Leave out the methods by which scikit-learn routes metadata and sets outputs."""
    return True if ROUTING.fullmatch(name) else None


def setup(app: object) -> dict:
    """Enter the making of pages into Sphinx."""
    app.connect("autodoc-skip-member", skip_routing)  # type: ignore[attr-defined]
    app.connect("autodoc-process-docstring", escape_names, priority=100)  # before numpydoc
    app.connect("config-inited", make_pages)  # type: ignore[attr-defined]
    return {"parallel_read_safe": True}
