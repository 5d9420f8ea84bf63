"""stakes datasets, stakes methods, stakes examples: what there is, and tables to try it on."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from stakes.cli._app import command
from stakes.cli._complete import complete_dataset, complete_method
from stakes.cli._outputs import Force, check_outputs
from stakes.cli._terminal import show, show_json, show_table

AsJson = Annotated[bool, Option("--json", help="Print as JSON.")]


@command
def datasets(
    name: Annotated[
        str | None, Argument(help="One data set, in detail.", autocompletion=complete_dataset)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the data sets, or describe one.

    For example:
      stakes datasets
      stakes datasets german_credit
      stakes datasets --json
    """
    from stakes.cli._tables import find_dataset
    from stakes.costs import KINDS
    from stakes.datasets import list_datasets
    from stakes.utils._arrays import counted

    if name is not None:
        data = find_dataset(name, "data set")
        kind = KINDS["class"] if data.cost_matrix is not None else "none"
        kind = KINDS["deciding"] if data.cost_tensor is not None else kind
        rows, columns = data.X.shape
        classes, source = data.classes.tolist(), data.source
        if as_json:
            figures = {"name": name, "rows": rows, "features": columns, "classes": classes}
            words = {"costs": kind, "description": data.description, "source": source}
            show_json(figures | words)
            return
        show(f"{name}: {counted(len(data.y), 'row')}, {counted(columns, 'column')}")
        show(f"classes: {', '.join(map(str, classes))}\ncosts: {kind}")
        show(f"{data.description}\nsource: {source}")
        return
    if as_json:
        show_json(list_datasets().reset_index().to_dict(orient="records"))
        return
    numbers, texts = ["rows", "features", "classes"], ["costs", "source"]
    rows = [
        [str(label), *(f"{row[c]:,}" for c in numbers), *(str(row[c] or "") for c in texts)]
        for label, row in list_datasets().iterrows()
    ]
    show_table(["name", *numbers, *texts], rows, right=numbers)


@command
def methods(
    name: Annotated[
        str | None, Argument(help="One method, in detail.", autocompletion=complete_method)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the methods that can be compared and fitted by name, or say what one can do.

    For example:
      stakes methods
      stakes methods thresholds
      stakes methods --json
    """
    from stakes._learning.capabilities import CASES, in_words
    from stakes.compare import find_method, list_methods
    from stakes.costs import KINDS

    if name is not None and not as_json:
        method = find_method(name)
        show(f"{name}: {method.title}. {method.note}")
        show(f"costs: {'; '.join(KINDS[kind] for kind in method.kinds)}")
        show(f"exports: {', '.join(method.exports) or method.no_export}")
        for case, said in in_words(method.cls).items():
            show(f"{CASES[case].title}: {said}")
        return
    if as_json:
        show_json(list_methods().reset_index().to_dict(orient="records"))
        return
    rows = []
    for label, row in list_methods().iterrows():
        part = "fast" if row["fast"] else ("default" if row["default"] else "")
        costs = "all" if len(row["costs"]) == len(KINDS) else ", ".join(row["costs"])
        decides = "classes" if "fit_model" in row["cannot"].get("choices", {}) else "any"
        words = f"{row['title']}. {row['note']}"
        rows.append([str(label), row["family"], costs, decides, part, words])
    show_table(("name", "family", "costs", "decides", "set", "what it does"), rows)
    show(f"\nKinds of costs: {', '.join(KINDS.values())}. Decisions: any, or the classes alone.")


@command
def examples(
    folder: Annotated[Path, Argument(help="Where to; by default, where you stand.")] = Path("."),
    *,
    force: Force = False,
) -> None:
    """Write the tables on which the commands of the guide can be typed.

    Loans with how they turned out, the loans that came next, patients with a fever, and letters
    that asked for a gift. Nobody in them is real.

    For example:
      stakes examples
      stakes examples trial
    """
    from stakes.datasets import example_tables, write_examples

    check_outputs([(folder / name, "example") for name in example_tables()], force=force)
    folder.mkdir(parents=True, exist_ok=True)
    show(f"Written: {', '.join(map(str, write_examples(folder)))}.")
