"""load_dataset and list_datasets: one door to every data set, wherever it lies."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import Bunch

from stakes.costs import CostMatrix, cost_tensor_from_columns
from stakes.datasets._builtin import builtin_table, cheque_costs
from stakes.datasets._catalogue import TARGET, Entry, Target, Variant, catalogue, find
from stakes.datasets._files import FOLDER_VARIABLE, check_table, find_file, how_to_give, read_table
from stakes.datasets._openml import openml_table
from stakes.utils._arrays import quoted

if TYPE_CHECKING:
    import pandas as pd


class DataSet(Bunch):
    """A `Bunch` that prints as what it is, not as all that it holds."""

    def __repr__(self) -> str:
        n_rows, n_columns = self.X.shape
        costs = next((k for k in ("cost_tensor", "cost_matrix") if self[k] is not None), "none")
        return (
            f"{self.name}: {n_rows:,} rows x {n_columns} columns, classes "
            f"{quoted(self.classes)}, costs: {costs}; fields {', '.join(self)}"
        )


def load_dataset(name: str, target: str | None = None, variant: str | None = None) -> Bunch:
    """Load a data set with the costs that belong to it.

    It comes from the first of three places that has it: the package itself (iris, wine,
    wdbc, digits, cheques, balance), the folder named by the environment variable
    ``STAKES_DATA`` (files ``<name>.csv.gz`` or ``<name>.csv``), OpenML. A file that is
    not what the catalogue says is refused with what differs.

    Parameters
    ----------
    name : str
        A name of `list_datasets`, or of one of its variants.
    target : str, default=None
        Which column to predict, where there is a choice, such as ``"material"`` of
        ``"bridges2"``. Rows without it are left out. None is the usual one.
    variant : str, default=None
        A subset that publications used, such as ``"ecoli5"`` of ``"ecoli"``.

    Returns
    -------
    data : Bunch
        With the attributes

        X : DataFrame of shape (n_samples, n_features)
            Numbers as float64, categories (also those written as numbers) as
            `category` of text. Missing values are NaN.
        y : ndarray of shape (n_samples,)
            The labels: whole numbers where all of them are, else text.
        classes : ndarray of shape (n_classes,)
            The sorted labels.
        cost_matrix : CostMatrix or None
            Class costs, where the set comes with them.
        costs : ndarray of shape (n_samples, n_classes) or None
            What each decision costs on each row, its truth known; columns in the order
            of `classes`.
        cost_tensor : ndarray of shape (n_samples, n_classes, n_classes) or None
            The same before the truth is known: costs known when deciding.
        description, source : str
            What it is and who gave it; where this copy came from.
        name, variant, target_name : str or None
            What was asked for.

    Examples
    --------
    A cheque over 1 that is read as 9 loses 8; one over 9 read as 1 costs 0.3 * 8 + 0.5:

    >>> from stakes.datasets import load_dataset
    >>> cheques = load_dataset("cheques")
    >>> cheques.X.shape
    (1797, 64)
    >>> C = cheques.cost_matrix
    >>> C.cost(true=1, predicted=9), C.cost(true=9, predicted=1)
    (8.0, 2.9)
    """
    entry, chosen = find(name, variant)
    aim = entry.target(target)
    if chosen and (chosen.drop or chosen.keep or chosen.merge) and aim.column != TARGET:
        raise ValueError(
            f"The variant {chosen.name!r} is made from the classes of the usual target, "
            f"so it does not go with target={target!r}."
        )
    if chosen and chosen.first is not None and _place(entry) == "OpenML":
        raise ValueError(
            f"The variant {chosen.name!r} is the first {chosen.first} rows, and OpenML's copy of "
            f"{entry.name!r} may have another order: it needs {entry.name}.csv.gz in the folder "
            f"named by {FOLDER_VARIABLE}."
        )
    table, source = _fetch(entry)
    if aim.column not in table:
        raise ValueError(
            f"This copy of {entry.name!r} ({source}) has no column {aim.column!r}: "
            f"target={target!r} needs a file of it in the folder named by {FOLDER_VARIABLE}."
        )
    return _assemble(table, entry, aim, chosen, source)


def list_datasets() -> "pd.DataFrame":
    """Return a table of the data sets, one row for each name.

    Returns
    -------
    table : DataFrame
        Indexed by name: `rows`, `features`, how many of them are `categorical`,
        `classes`, which `costs` come with it ("class", "example" or none), other
        `targets`, `variants`, the `papers` whose experiments use it, its `openml` id and
        where `load_dataset` would take it from now (`source`: "built in", "folder",
        "OpenML" or "" where it is nowhere to be had).

    Examples
    --------
    >>> from stakes.datasets import list_datasets
    >>> table = list_datasets()
    >>> print(*table.loc["cheques", ["rows", "classes", "costs", "source"]])
    1797 10 class built in
    """
    import pandas as pd

    rows = {
        name: {
            "rows": entry.rows,
            "features": len(entry.features),
            "categorical": len(entry.categorical),
            "classes": len(entry.targets[TARGET].labels),
            "costs": entry.costs_kind,
            "targets": ", ".join(t for t in entry.targets if t != TARGET),
            "variants": ", ".join(entry.variants),
            "papers": ", ".join(entry.papers),
            "openml": str(entry.openml.get("id", "")),
            "source": _place(entry),
            "title": entry.title,
        }
        for name, entry in catalogue().items()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("name")


def _place(entry: Entry) -> str:
    if entry.builtin:
        return "built in"
    if find_file(entry) is not None:
        return "folder"
    return "OpenML" if entry.openml else ""


def _fetch(entry: Entry) -> tuple[Any, str]:
    """Return the table of all columns, checked, and where it came from."""
    if entry.builtin:
        return builtin_table(entry), "built in"
    path = find_file(entry)
    if path is not None:
        table = read_table(path, entry)
        check_table(table, entry, where=str(path))
        return table, str(path)
    if entry.openml:
        return openml_table(entry), f"OpenML, data id {entry.openml['id']}"
    raise FileNotFoundError(
        f"{entry.name!r} is not built in and has no known OpenML id: {how_to_give(entry)}"
    )


def _assemble(
    table: Any, entry: Entry, target: Target, variant: Variant | None, source: str
) -> Bunch:
    table = table[table[target.column].notna()]
    features, merged = entry.features, {}
    if variant is not None:
        table = variant.select(table)
        features = variant.features or entry.features
        merged = {old: new for new, olds in variant.merge.items() for old in olds}
    texts = table[target.column]
    y = texts.map(merged).to_numpy().astype(str) if merged else target.encode(texts)
    classes, codes = np.unique(y, return_inverse=True)
    tensor = None
    if entry.cost_columns:  # of two classes; the second is positive
        tensor = cost_tensor_from_columns(table[[*entry.cost_columns]].to_numpy(dtype=np.float64))
    return DataSet(
        X=_typed(table[list(features)], entry),
        y=y,
        classes=classes,
        cost_matrix=_cost_matrix(entry, target, classes),
        costs=None if tensor is None else tensor[np.arange(len(codes)), codes],
        cost_tensor=tensor,
        description=_describe(entry, variant, y),
        source=source,
        name=entry.name,
        variant=None if variant is None else variant.name,
        target_name=target.column,
    )


def _typed(features: Any, entry: Entry) -> Any:
    """Give the features their types: float64, or `category` in a natural order."""
    import pandas as pd

    def typed(column: Any) -> Any:
        if column.name not in entry.categorical:
            return column.to_numpy(dtype=np.float64)
        levels = sorted(column.dropna().unique(), key=_natural)
        return pd.Categorical(column, categories=levels)

    return pd.DataFrame({name: typed(column) for name, column in features.items()})


def _natural(text: str) -> tuple[int, float, str]:
    """Sort numbers by value before words by letter, so that "10" comes after "9"."""
    try:
        return (0, float(text), text)
    except ValueError:
        return (1, 0.0, text)


def _cost_matrix(entry: Entry, target: Target, classes: np.ndarray) -> CostMatrix | None:
    if target.column != TARGET or entry.costs_kind != "class":
        return None  # the costs are those of the usual classes
    if entry.name == "cheques":
        return CostMatrix(cheque_costs(), labels=classes)
    return CostMatrix(entry.cost_matrix, labels=target.encode(entry.cost_labels))


def _describe(entry: Entry, variant: Variant | None, y: np.ndarray) -> str:
    labels, counts = np.unique(y, return_counts=True)
    shares = ", ".join(f"{label}: {count}" for label, count in zip(labels, counts))
    lines = [entry.title, entry.about]
    if variant is not None:
        lines.append(f"Variant {variant.name}: {variant.about}.")
    origin = f"From {entry.donor}. Licence: {entry.licence}."
    return "\n".join([*lines, f"{len(y)} rows; classes {shares}.", origin])
