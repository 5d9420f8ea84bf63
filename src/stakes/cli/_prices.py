"""What mistakes cost, in the forms people have: a table, two numbers, columns."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stakes.cli._app import PriceOptions
from stakes.cli._errors import UserError
from stakes.cli._tables import Table, quote
from stakes.costs import CostMatrix, binary_cost_tensor

HEURISTICS = ("zero_one", "rarity", "imbalance")
FOUR = ("fp", "fn", "tp", "tn")


@dataclass
class Prices:
    """The costs that the options and the table give.

    ``given`` are the keyword arguments of `stakes.compare.compare` and `fit_model`;
    ``columns`` are columns of the table that hold prices and so are no features; ``recipe`` is
    what `stakes predict` needs to find the prices of new rows again.
    """

    given: dict[str, Any]
    columns: list[str] = field(default_factory=list)
    recipe: dict[str, Any] = field(default_factory=dict)


def find_prices(options: PriceOptions, table: Table, y: np.ndarray, data: str) -> Prices:
    """Return the prices that the options and the table give, or say what is missing."""
    binary = {name: getattr(options, name) for name in FOUR if getattr(options, name) is not None}
    if sum(map(bool, (options.costs, binary, options.cost))) > 1:
        raise UserError("give the prices in one way: --costs, or --fp and --fn, or --cost.")
    if options.positive is not None and not binary:
        raise UserError("--positive goes with --fp and --fn.")
    labels = [str(c) for c in np.unique(y).tolist()]
    if options.costs:
        return Prices({"cost_matrix": read_cost_matrix(options.costs, labels)})
    if binary:
        return _binary(binary, options.positive, table, labels)
    if options.cost:
        return _by_decision(options.cost, table, labels)
    if table.cost_tensor is not None:
        return Prices({"cost_tensor": table.cost_tensor}, recipe={"kind": "data set"})
    if table.cost_matrix is not None:
        return Prices({"cost_matrix": table.cost_matrix})
    raise UserError(
        "say what mistakes cost: --costs FILE, or --fp and --fn, or --cost CLASS=COLUMN "
        f"('stakes costs {data}' writes a file to start from)."
    )


def read_cost_matrix(costs: str, ours: list[str] | None = None) -> CostMatrix | str:
    """Return a labelled cost table that suits the classes, or the name of a heuristic."""
    if costs in HEURISTICS and not Path(costs).exists():
        return costs
    try:
        matrix = CostMatrix.from_csv(costs)
    except FileNotFoundError:
        raise UserError(
            f"there is no file {costs}, and it is none of {', '.join(HEURISTICS)}."
        ) from None
    theirs = list(matrix.labels or ())
    sides = [("the cost table", theirs), ("the data", ours or theirs)]
    for (here, labels), (there, others) in (sides, sides[::-1]):
        alone = sorted(set(labels) - set(others))
        if alone:
            raise UserError(
                f"{costs}: {_classes(alone)} of {here} {'is' if len(alone) == 1 else 'are'} "
                f"not in {there}; the data has {_classes(sides[1][1])}."
            )
    return matrix


def _binary(
    options: dict[str, str], positive: str | None, table: Table, labels: list[str]
) -> Prices:
    if len(labels) != 2:
        raise UserError(
            f"--fp and --fn are for 2 classes, but the target has {len(labels)}: give a labelled "
            "table with --costs, or one column per decision with --cost CLASS=COLUMN."
        )
    if not {"fp", "fn"} <= options.keys():
        raise UserError("give both --fp (a false alarm) and --fn (a miss).")
    positive = labels[1] if positive is None else positive
    _check_label("--positive", positive, labels)
    recipe = {"kind": "binary", "swap": positive == labels[0], **options}
    tensor = binary_tensor(recipe, table)
    table.notes.append(f"The positive class, whose miss costs --fn, is {quote(positive)}.")
    columns = _columns(options.values(), table)
    if columns:
        return Prices({"cost_tensor": tensor}, columns, recipe)
    return Prices({"cost_matrix": tensor[0]})


def binary_tensor(recipe: dict[str, Any], table: Table, whose: str = "") -> np.ndarray:
    """Return the prices of each row of a table, (n, 2, 2), by the recipe of a model."""
    parts = {
        f"{name}_cost": _number_or_column(recipe[name], f"{whose}--{name}", table)
        for name in FOUR
        if name in recipe
    }
    tensor = binary_cost_tensor(**parts, n_samples=len(table.frame))
    return tensor[:, ::-1, ::-1] if recipe["swap"] else tensor


def _by_decision(pairs: list[str], table: Table, labels: list[str]) -> Prices:
    found: dict[str, str] = {}
    for pair in pairs:
        label, equals, value = pair.rpartition("=")
        if not equals:
            raise UserError(f"--cost {quote(pair)} must have the form CLASS=COLUMN.")
        _check_label("--cost", label, labels)
        if label in found:
            raise UserError(f"--cost names the class {quote(label)} twice.")
        found[label] = value
    missing = [label for label in labels if label not in found]
    if missing:
        raise UserError(f"--cost is missing for {_classes(missing)}.")
    costs = [_number_or_column(found[label], f"--cost {label}", table) for label in labels]
    rows = np.column_stack([np.broadcast_to(cost, len(table.frame)) for cost in costs])
    return Prices({"costs": rows}, _columns(found.values(), table))


def _check_label(option: str, label: str, labels: list[str]) -> None:
    if label not in labels:
        raise UserError(f"{option} {quote(label)} is not a class: there are {_listed(labels)}.")


def _columns(values: Any, table: Table) -> list[str]:
    return [value for value in dict.fromkeys(values) if value in table.frame.columns]


def _number_or_column(value: str, option: str, table: Table) -> Any:
    import pandas as pd

    if value not in table.frame.columns:
        number = pd.to_numeric(value, errors="coerce")
        if not np.isfinite(number):
            raise UserError(
                f"{option} {quote(value)} is neither a finite number nor a column of {table.name}."
            )
        return float(number)
    column = table.frame[value]
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        cell = column.iloc[bad[0]]
        has = "is empty" if pd.isna(cell) else f"has {quote(cell)}"
        where = f"the column {quote(value)} of {option}"
        raise UserError(f"{where} {has} in row {bad[0] + 1}: every cost must be a finite number.")
    return numbers


def _listed(labels: list[str], limit: int = 8) -> str:
    shown = ", ".join(map(quote, labels[:limit]))
    return shown + (f" and {len(labels) - limit} more" if len(labels) > limit else "")


def _classes(labels: list[str]) -> str:
    return f"the class{'' if len(labels) == 1 else 'es'} {_listed(labels)}"
