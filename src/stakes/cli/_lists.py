"""stakes datasets and stakes methods: what there is."""

from typing import Annotated

from typer import Argument

from stakes.cli._app import command
from stakes.cli._terminal import show, show_table


@command
def datasets(
    name: Annotated[str | None, Argument(help="One data set, in detail.")] = None,
) -> None:
    """List the data sets, or describe one."""
    from stakes.cli._tables import find_dataset
    from stakes.costs import KINDS
    from stakes.datasets import list_datasets
    from stakes.utils._arrays import counted

    if name is not None:
        data = find_dataset(name, "data set")
        kind = KINDS["class"] if data.cost_matrix is not None else "none"
        kind = KINDS["deciding"] if data.cost_tensor is not None else kind
        show(f"{name}: {counted(len(data.y), 'row')}, {counted(data.X.shape[1], 'column')}")
        show(f"classes: {', '.join(map(str, data.classes.tolist()))}")
        show(f"costs: {kind}")
        show(str(data.description))
        show(f"source: {data.source}")
        return
    numbers, texts = ["rows", "features", "classes"], ["costs", "source"]
    rows = [
        [str(label), *(f"{row[c]:,}" for c in numbers), *(str(row[c] or "") for c in texts)]
        for label, row in list_datasets().iterrows()
    ]
    show_table(["name", *numbers, *texts], rows, right=numbers)


@command
def methods() -> None:
    """List the methods that can be compared and fitted by name."""
    from stakes.compare import list_methods
    from stakes.costs import KINDS

    rows = []
    for name, row in list_methods().iterrows():
        part = "fast" if row["fast"] else ("default" if row["default"] else "")
        costs = "all" if len(row["costs"]) == len(KINDS) else ", ".join(row["costs"])
        rows.append([str(name), row["family"], costs, part, f"{row['title']}. {row['note']}"])
    show_table(("name", "family", "costs", "set", "what it does"), rows)
    show(f"\nKinds of costs: {', '.join(KINDS.values())}.")
