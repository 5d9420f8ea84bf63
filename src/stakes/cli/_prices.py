"""What mistakes cost, in the forms people have: a table, two numbers, columns."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stakes.cli._main import UserError
from stakes.cli._tables import Table, quote, read_csv
from stakes.costs import CostMatrix, binary_cost_tensor

HEURISTICS = ("zero_one", "rarity", "imbalance")


@dataclass
class PriceOptions:
    """The options of the command line that say what mistakes cost."""

    costs: str | None = None
    fp: str | None = None
    fn: str | None = None
    tp: str | None = None
    tn: str | None = None
    positive: str | None = None
    cost: tuple[str, ...] = ()

    @property
    def binary(self) -> dict[str, str]:
        """Those of fp, fn, tp, tn that were given."""
        four = {"fp": self.fp, "fn": self.fn, "tp": self.tp, "tn": self.tn}
        return {key: value for key, value in four.items() if value is not None}


@dataclass
class Prices:
    """Prices for `stakes.compare.compare`, and where they come from.

    ``given`` are its keyword arguments; ``columns`` are columns of the table that hold
    prices and so are no features; ``recipe`` is what `stakes predict` needs to find the
    prices of new rows again; ``note`` says in words what was understood.
    """

    given: dict[str, Any]
    columns: list[str] = field(default_factory=list)
    recipe: dict[str, Any] = field(default_factory=dict)
    note: str = ""


def find_prices(options: PriceOptions, table: Table, y: np.ndarray, data: str) -> Prices:
    """Return the prices that the options and the table give, or say what is missing."""
    ways = [bool(options.costs), bool(options.binary), bool(options.cost)]
    if sum(ways) > 1:
        raise UserError("give the prices in one way: --costs, or --fp and --fn, or --cost.")
    classes = np.unique(y)
    if options.positive is not None and not options.binary:
        raise UserError("--positive goes with --fp and --fn.")
    if options.costs:
        return Prices({"cost_matrix": read_cost_matrix(options.costs, classes)})
    if options.binary:
        return _binary(options, table, classes)
    if options.cost:
        return _by_decision(options.cost, table, classes)
    if table.cost_tensor is not None:
        return Prices({"cost_tensor": table.cost_tensor}, recipe={"kind": "data set"})
    if table.cost_matrix is not None:
        return Prices({"cost_matrix": table.cost_matrix})
    raise UserError(
        "say what mistakes cost: --costs FILE, or --fp and --fn, or --cost CLASS=COLUMN "
        f"('stakes costs {data}' writes a file to start from)."
    )


def read_cost_matrix(costs: str, classes: np.ndarray | None = None) -> Any:
    """Read a labelled cost table (or take the name of a heuristic), aligned to the classes."""
    path = Path(costs)
    if costs in HEURISTICS and not path.exists():
        return costs
    if not path.exists():
        raise UserError(f"there is no file {costs}.")
    if path.is_dir() or path.stat().st_size == 0:
        raise UserError(f"{costs} is {'a folder' if path.is_dir() else 'empty'}.")
    frame = read_csv(path, index_col=0, dtype=str, keep_default_na=False)
    frame.index = [str(label).strip() for label in frame.index]
    frame.columns = [str(label).strip() for label in frame.columns]
    try:
        matrix = CostMatrix.from_frame(frame)
        if classes is not None:
            _check_labels(matrix, classes)
            matrix.align(classes)
    except ValueError as error:
        raise UserError(f"{costs}: {_lower(str(error))}") from None
    return matrix


def _check_labels(matrix: CostMatrix, classes: np.ndarray) -> None:
    there = {str(c) for c in classes.tolist()}
    strange = [label for label in matrix.labels or () if str(label) not in there]
    if strange:
        raise ValueError(
            f"the classes {', '.join(map(quote, strange[:5]))} of the cost table are not in the "
            f"data, whose classes are {', '.join(map(quote, classes.tolist()[:8]))}."
        )


def _binary(options: PriceOptions, table: Table, classes: np.ndarray) -> Prices:
    if len(classes) != 2:
        raise UserError(
            f"--fp and --fn are for 2 classes, but the target has {len(classes)}: give a labelled "
            "table with --costs, or one column per decision with --cost CLASS=COLUMN."
        )
    if not {"fp", "fn"} <= options.binary.keys():
        raise UserError("give both --fp (a false alarm) and --fn (a miss).")
    labels = [str(c) for c in classes.tolist()]
    positive = labels[1] if options.positive is None else options.positive
    if positive not in labels:
        raise UserError(
            f"--positive {quote(positive)} is no class: they are {quote(labels[0])} and "
            f"{quote(labels[1])}."
        )
    parts = {
        key: _number_or_column(value, f"--{key}", table) for key, value in options.binary.items()
    }
    swap = positive == labels[0]
    columns = [value for value in options.binary.values() if value in table.frame.columns]
    note = f"The positive class, whose miss costs --fn, is {quote(positive)}."
    if not any(isinstance(value, np.ndarray) for value in parts.values()):
        matrix = np.array(
            [[parts.get("tn", 0.0), parts["fp"]], [parts["fn"], parts.get("tp", 0.0)]]
        )
        return Prices({"cost_matrix": matrix[::-1, ::-1] if swap else matrix}, note=note)
    tensor = binary_cost_tensor(
        **{f"{key}_cost": value for key, value in parts.items()}, n_samples=len(table.frame)
    )
    recipe = {"kind": "binary", "swap": swap, **options.binary}
    return Prices(
        {"cost_tensor": tensor[:, ::-1, ::-1] if swap else tensor},
        columns=list(dict.fromkeys(columns)),
        recipe=recipe,
        note=note,
    )


def tensor_again(recipe: dict[str, Any], table: Table) -> np.ndarray:
    """Return the prices of new rows by the recipe of a fitted model."""
    options = {key: recipe[key] for key in ("fp", "fn", "tp", "tn") if key in recipe}
    parts = {
        f"{key}_cost": _number_or_column(value, f"--{key}", table)
        for key, value in options.items()
    }
    tensor = binary_cost_tensor(**parts, n_samples=len(table.frame))
    return tensor[:, ::-1, ::-1] if recipe["swap"] else tensor


def _by_decision(pairs: tuple[str, ...], table: Table, classes: np.ndarray) -> Prices:
    labels = [str(c) for c in classes.tolist()]
    found: dict[str, Any] = {}
    columns = []
    for pair in pairs:
        label, equals, value = pair.rpartition("=")
        if not equals:
            raise UserError(f"--cost {quote(pair)} must have the form CLASS=COLUMN.")
        if label not in labels:
            raise UserError(
                f"--cost names the class {quote(label)}, but the classes are "
                f"{', '.join(map(quote, labels[:8]))}."
            )
        if label in found:
            raise UserError(f"--cost names the class {quote(label)} twice.")
        found[label] = _number_or_column(value, f"--cost {label}", table)
        if value in table.frame.columns:
            columns.append(value)
    missing = [label for label in labels if label not in found]
    if missing:
        raise UserError(
            f"--cost is missing for the decision {', '.join(map(quote, missing[:5]))}."
        )
    n = len(table.frame)
    costs = np.column_stack([np.broadcast_to(found[label], n) for label in labels])
    return Prices({"costs": costs}, columns=list(dict.fromkeys(columns)))


def _number_or_column(value: str, option: str, table: Table) -> Any:
    import pandas as pd

    if value in table.frame.columns:
        column = table.frame[value]
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
        bad = ~np.isfinite(numbers)
        if bad.any():
            row = int(bad.argmax())
            raise UserError(
                f"the column {quote(value)} of {option} has {quote(column.iloc[row])} in row "
                f"{row + 1}: every cost must be a finite number."
            )
        return numbers
    try:
        number = float(value)
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise UserError(
            f"{option} {quote(value)} is neither a finite number nor a column of {table.name}."
        )
    return number


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:] if not text[1:2].isupper() else text
