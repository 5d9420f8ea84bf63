"""stakes datasets and stakes methods: what there is."""

from stakes.cli._terminal import console


def run_datasets(name: str | None) -> None:
    """List the data sets, or describe one."""
    from rich.table import Table

    from stakes.datasets import list_datasets, load_dataset

    if name is not None:
        data = load_dataset(name)
        out = console()
        out.print(f"{name}: {len(data.y):,} rows, {data.X.shape[1]} columns", markup=False)
        out.print(f"classes: {', '.join(map(str, data.classes.tolist()))}", markup=False)
        kind = "class" if data.cost_matrix is not None else "none"
        kind = "example" if data.cost_tensor is not None else kind
        out.print(f"costs: {kind}", markup=False)
        out.print(str(data.description), markup=False, soft_wrap=True)
        out.print(f"source: {data.source}", markup=False, soft_wrap=True)
        return
    frame = list_datasets()
    columns = ["rows", "features", "classes", "costs", "source"]
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("name")
    for column in columns:
        table.add_column(column, justify="right" if column in columns[:3] else "left")
    for label, row in frame.iterrows():
        cells = [f"{row[c]:,}" if c in columns[:3] else str(row[c] or "") for c in columns]
        table.add_row(str(label), *cells)
    console().print(table)


def run_methods() -> None:
    """List the methods."""
    from rich.table import Table

    from stakes.compare import list_methods

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("name", "family", "set", "what it does"):
        table.add_column(column)
    for name, row in list_methods().iterrows():
        kind = "fast" if row["fast"] else ("default" if row["default"] else "")
        table.add_row(str(name), row["family"], kind, f"{row['title']}. {row['note']}")
    console().print(table)
