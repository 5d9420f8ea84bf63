"""What mistakes cost, in the forms people have: a table, two numbers, columns, arithmetic."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stakes.cli._app import PriceOptions, split_names
from stakes.cli._errors import UserError
from stakes.cli._expressions import ExpressionError, parse
from stakes.cli._tables import Table, _did_you_mean, check_column, quote
from stakes.costs import (
    HEURISTICS,
    CostMatrix,
    CostTensor,
    UncertainCostMatrix,
    binary_cost_tensor,
    parse_range,
    read_labelled,
    read_prices,
)
from stakes.utils._arrays import counted, describe
from stakes.utils._labels import plain_positive

FOUR = ("fp", "fn", "tp", "tn")
# Of a table with more prices than these the dearest are read back, and the cheapest.
MOST_READ_BACK = 4
# A mistake, the right decision in its place, and what they are called.
MISTAKES = (("fp", "tn", "a false alarm"), ("fn", "tp", "a miss"))


@dataclass
class Prices:
    """The costs that the options and the table give.

    ``given`` are the keyword arguments of `stakes.compare.compare` and `fit_model`;
    ``columns`` are columns of the table that are no features, with the reason; ``recipe`` is
    what `stakes predict` needs to find the prices of new rows again.
    """

    given: dict[str, Any]
    columns: dict[str, str] = field(default_factory=dict)
    recipe: dict[str, Any] = field(default_factory=dict)


def find_prices(
    options: PriceOptions,
    table: Table,
    y: np.ndarray,
    data: str,
    *,
    positive_serves: bool = False,
    classes: np.ndarray | None = None,
) -> Prices:
    """Return the prices that the options and the table give, or say what is missing.

    ``positive_serves`` says whether something else needs --positive too; `classes` are given
    where the table is a sample, which may lack some.
    """
    known: dict = {"positive_serves": positive_serves, "classes": classes}
    prices = _find_prices(options, table, y, data, **known)
    for text in options.not_feature or ():
        for column in [text] if text in table.frame.columns else split_names([text]) or []:
            check_column(table, column)
            prices.columns.setdefault(column, "--not-feature")
    return prices


def _find_prices(
    options: PriceOptions,
    table: Table,
    y: np.ndarray,
    data: str,
    *,
    positive_serves: bool,
    classes: np.ndarray | None,
) -> Prices:
    binary = {name: getattr(options, name) for name in FOUR if getattr(options, name) is not None}
    if sum(map(bool, (options.costs, binary, options.cost))) > 1:
        raise UserError("give the prices in one way: --costs, or --fp and --fn, or --cost.")
    if options.positive is not None and not (binary or positive_serves):
        raise UserError("--positive goes with --fp and --fn, or a score as --baseline.")
    labels = [str(c) for c in (np.unique(y) if classes is None else classes).tolist()]
    if options.costs:
        cells = _read_cells(options.costs, table)
        if cells is not None:
            return _cells(options.costs, *cells, table, labels)
        matrix = read_cost_matrix(options.costs, labels)
        if not isinstance(matrix, str):
            _check_table(matrix, options.costs)
            table.notes.append(_dearest(matrix))
        return Prices({"cost_matrix": matrix})
    if binary:
        return _binary(binary, options.positive, table, y, labels)
    if options.cost:
        return _by_decision(options.cost, table, labels)
    if table.cost_tensor is not None:
        return Prices({"cost_tensor": table.cost_tensor}, recipe={"kind": "data set"})
    if table.cost_matrix is not None:
        return Prices({"cost_matrix": table.cost_matrix})
    raise UserError(
        "say what mistakes cost: --costs FILE, or --fp and --fn, or --cost CLASS=PRICE "
        f"('stakes costs {data}' writes a file to start from)."
    )


def decisions_of(costs: dict[str, Any], y: Any) -> list:
    """Return what can be decided: the classes, unless the prices name something else."""
    from stakes.costs import CostMatrix, CostTensor

    matrix, by_row, tensor = map(costs.get, ("cost_matrix", "costs", "cost_tensor"))
    if by_row is not None and hasattr(by_row, "columns"):
        return list(by_row.columns)
    if isinstance(matrix, CostMatrix) and not matrix.decides_classes:
        return list(matrix.decisions or ())
    if isinstance(tensor, CostTensor):
        return list(tensor.decisions or ())
    return sorted(set(y))


def read_cost_matrix(costs: str, ours: list[str] | None = None) -> CostMatrix | str:
    """Return a labelled cost table that suits the classes, or the name of a heuristic."""
    if costs in HEURISTICS and not Path(costs).exists():
        return costs
    try:
        matrix = read_prices(costs)
    except FileNotFoundError:
        raise UserError(
            f"there is no file {costs}, and it is none of {', '.join(HEURISTICS)}."
        ) from None
    theirs = list(matrix.labels or ())
    _check_truths(costs, theirs, list(matrix.decisions or ()), ours or theirs)
    return matrix


def _check_truths(costs: str, theirs: list[str], columns: list[str], ours: list[str]) -> None:
    """Refuse a table of prices whose rows are not the classes of the data."""
    sides = [("the cost table", theirs), ("the data", ours)]
    for (here, labels), (there, others) in (sides, sides[::-1]):
        alone = sorted(set(labels) - set(others))
        if alone:
            turned = (
                " Its columns are these classes: turn it round."
                if set(ours) <= set(columns)
                else ""
            )
            raise UserError(
                f"{costs}: {_classes(alone)} of {here} {'is' if len(alone) == 1 else 'are'} "
                f"not in {there}; the data has {_classes(ours)}.{turned}"
            )


def _read_cells(costs: str, table: Table) -> tuple[list, list, list] | None:
    """Return the names and cells of a file of prices, where some are columns or arithmetic."""
    if not Path(costs).is_file():
        return None
    truths, decisions, cells = read_labelled(costs, warn=False)

    def names_column(text: str) -> bool:
        try:
            return bool(set(_columns([text], table)) & set(table.frame.columns))
        except ExpressionError:
            return False

    named = any(names_column(cell) for row in cells for cell in row)
    return (truths, decisions, cells) if named else None


def _cells(
    costs: str,
    truths: list[str],
    decisions: list[str],
    cells: list[list[str]],
    table: Table,
    labels: list[str],
) -> Prices:
    """Return the prices of each row by a file whose cells are columns or arithmetic over them."""
    _check_truths(costs, truths, decisions, labels)
    for axis, names in (("row", truths), ("column", decisions)):
        if twice := [name for name in names if names.count(name) > 1]:
            raise UserError(f"{costs}: there is more than one {axis} for {quote(twice[0])}.")
    # Decisions that are the classes stand in their order, others in that of the file.
    own = set(decisions) == set(labels)
    order = [decisions.index(name) for name in (labels if own else decisions)]
    rows = [[cells[truths.index(truth)][d] for d in order] for truth in labels]
    recipe: dict[str, Any] = {"kind": "cells", "cells": rows}
    if not own:
        recipe["decisions"] = decisions
    tensor = recipe_tensor(recipe, table, costs)
    recipe["columns"] = _columns((cell for row in rows for cell in row), table)
    return Prices({"cost_tensor": tensor}, recipe=recipe)


def _check_table(matrix: CostMatrix, name: str) -> None:
    """Refuse a table of two classes at whose prices one decision is always the better."""
    if matrix.n_classes != 2 or not matrix.decides_classes:
        return
    labels = matrix.labels or (0, 1)
    for t, d in ((0, 1), (1, 0)):
        wrong, right = (describe(matrix.values[t, k]) for k in (d, t))
        if matrix.values[t, d] <= matrix.values[t, t]:
            raise UserError(
                f"{name}: deciding {quote(labels[d])} when the truth is {quote(labels[t])} costs "
                f"{wrong}, no more than deciding rightly ({right}): there is nothing to decide."
            )


def _binary(
    options: dict[str, str],
    positive: str | None,
    table: Table,
    y: np.ndarray,
    labels: list[str],
) -> Prices:
    if len(labels) != 2:
        raise UserError(
            f"--fp and --fn are for 2 classes, but the target has {len(labels)}: give a labelled "
            "table with --costs, or one column per decision with --cost CLASS=PRICE."
        )
    if not {"fp", "fn"} <= options.keys():
        raise UserError("give both --fp (a false alarm) and --fn (a miss).")
    positive = find_positive(positive, labels)
    recipe: dict[str, Any] = {"kind": "binary", "swap": positive == labels[0], **options}
    ranges = {name: _range(text, f"--{name}", table) for name, text in options.items()}
    known = {
        name: repr(float(np.mean(ends))) if ends else options[name]
        for name, ends in ranges.items()
    }
    prices = {name: _price(text, f"--{name}", table) for name, text in known.items()}
    _check_sense(prices, options, table)
    if any(ranges.values()):
        return _ranges(prices, ranges, positive, table, labels)
    table.notes.append(_read_back(prices, options, positive, y, labels))
    columns = _columns(options.values(), table)
    if not columns:
        matrix = CostMatrix(_tensor(prices, recipe["swap"], 1)[0], labels=labels)
        return Prices({"cost_matrix": matrix})
    recipe["columns"] = columns
    tensor = _tensor(prices, recipe["swap"], len(table.frame))
    return Prices({"cost_tensor": tensor}, recipe=recipe)


def _range(text: str, option: str, table: Table) -> tuple | None:
    """Return the range that a price such as 5..20 is, or None where it is none."""
    if text in table.frame.columns:
        return None
    try:
        return parse_range(text)
    except ValueError as error:
        raise UserError(
            f"{option} {quote(text)}: {str(error)[:1].lower()}{str(error)[1:]}"
        ) from None


def _ranges(
    prices: dict[str, Any],
    ranges: dict[str, tuple | None],
    positive: str,
    table: Table,
    labels: list[str],
) -> Prices:
    """Return two prices or more of which some are ranges."""
    if any(np.ndim(price) for price in prices.values()):
        raise UserError(
            "a range such as 5..20 is for prices that are the same in every row: give a column or "
            "its arithmetic for all prices, or for none."
        )
    cells = {name: ranges.get(name) or float(prices.get(name, 0.0)) for name in FOUR}
    negative = labels[labels[0] == positive]
    matrix = UncertainCostMatrix(
        [[cells["tn"], cells["fp"]], [cells["fn"], cells["tp"]]], labels=[negative, positive]
    )
    said = {name: "..".join(map(describe, ends)) for name, ends in ranges.items() if ends}
    texts = {name: f"{said[name]} ({describe(float(prices[name]))} on average)" for name in said}
    plain = {name: describe(float(prices[name])) for name in ("fp", "fn")}
    told = {**plain, **texts}
    table.notes.append(
        f"Deciding {quote(negative)} when the truth is {quote(positive)} costs {told['fn']}; "
        f"deciding {quote(positive)} when the truth is {quote(negative)} costs {told['fp']}."
    )
    return Prices({"cost_matrix": matrix})


def find_positive(positive: str | None, labels: list[str]) -> str:
    """Return the positive one of two classes: the one named, or the one that is so by its name."""
    if positive is not None:
        _check_label("--positive", positive, labels)
        return positive
    if (plain := plain_positive(labels)) is not None:
        return plain
    one, two = map(quote, labels)
    raise UserError(
        f"say which class is missed at the price --fn: --positive {labels[0]} if --fn is the "
        f"price of deciding {two} when the truth is {one}, or --positive {labels[1]} if it is "
        f"that of deciding {one} when the truth is {two}."
    )


def _check_sense(prices: dict[str, Any], options: dict[str, str], table: Table) -> None:
    """Refuse prices at which a mistake is never more expensive than the right decision."""
    for mistake, right, called in MISTAKES:
        text, price = f"--{mistake} {options[mistake]}", np.asarray(prices[mistake])
        other = np.asarray(prices.get(right, 0.0))
        if price.ndim == 0 and price < 0:
            raise UserError(
                f"{text}: {called} cannot cost less than nothing; what a right decision brings in "
                "is a --tp or --tn below 0."
            )
        if (price <= other).all():
            raise UserError(
                f"{text} is nowhere more than --{right} {options.get(right, '0')}: where {called} "
                "costs no more than the right decision, there is nothing to decide."
            )
        cheap = np.broadcast_to(price < other, len(table.frame)).sum()
        if cheap:
            table.notes.append(
                f"In {counted(cheap, 'row')} of {len(table.frame):,} {called} costs less than the "
                f"right decision (--{mistake} {options[mistake]})."
            )


def _read_back(
    prices: dict[str, Any],
    options: dict[str, str],
    positive: str,
    y: np.ndarray,
    labels: list[str],
) -> str:
    """Return the prices of the two mistakes, with the names of the classes.

    Prices of rows are those of the rows in which the mistake can be made, as on the page.
    """
    negative = labels[labels[0] == positive]
    decided = {"fn": (negative, positive), "fp": (positive, negative)}
    parts = []
    for name, (decision, truth) in decided.items():
        price = prices[name]
        if np.ndim(price):
            own = price[y.astype(str) == truth]
            own = own if len(own) else price  # a sample may lack a class
            low, high, mean = (describe(f(own)) for f in (np.min, np.max, np.mean))
            amount = f"{options[name]} ({low} to {high}, {mean} on average)"
        else:
            amount = describe(price)
        parts.append(f"eciding {quote(decision)} when the truth is {quote(truth)} costs {amount}")
    for name, label in (("tp", positive), ("tn", negative)):
        if name in prices:
            parts.append(f"eciding {quote(label)} rightly costs {options[name]}")
    return f"D{'; d'.join(parts)}."


def _dearest(matrix: CostMatrix) -> str:
    """Return the dearest decisions of a table in words, and the cheapest wrong one."""
    labels, decisions = list(matrix.labels or ()), list(matrix.decisions or ())
    cells = [
        (float(matrix.values[t, d]), labels[t], decisions[d])
        for t, d in np.ndindex(*matrix.values.shape)
        if labels[t] != decisions[d]
    ]
    cells.sort(key=lambda cell: -cell[0])
    shown = cells if len(cells) <= MOST_READ_BACK else [*cells[: MOST_READ_BACK - 1], cells[-1]]
    parts = [
        f"eciding {quote(decision)} when the truth is {quote(truth)} costs {describe(price)}"
        for price, truth, decision in shown
    ]
    left = len(cells) - len(shown)
    more = f" ({left} more lie between the last two)" if left else ""
    return f"D{'; d'.join(parts)}{more}."


def recipe_cells(recipe: dict[str, Any]) -> list[list[str]]:
    """Return the prices of a recipe as they were written, [true][decided]."""
    if recipe["kind"] == "cells":
        return recipe["cells"]
    zero = "0"
    table = [[recipe.get("tn", zero), recipe["fp"]], [recipe["fn"], recipe.get("tp", zero)]]
    return [row[::-1] for row in table[::-1]] if recipe["swap"] else table


def recipe_tensor(recipe: dict[str, Any], table: Table, source: str = "the price") -> np.ndarray:
    """Return the prices of each row of a table, (n, K, A), by the recipe of a model or a file."""
    absent = [c for c in recipe.get("columns", ()) if c not in table.frame.columns]
    if absent:
        one = len(absent) == 1
        raise UserError(
            f"the model needs the {'column' if one else 'columns'} {_listed(absent)} for the prices "
            f"of each row, and {table.name} has {'none of that name' if one else 'none of these'}."
        )
    cells = recipe_cells(recipe)
    tensor = np.empty((len(table.frame), len(cells), len(cells[0])))
    for t, d in np.ndindex(tensor.shape[1:]):
        tensor[:, t, d] = _price(cells[t][d], source, table)
    return CostTensor(tensor, recipe["decisions"]) if "decisions" in recipe else tensor


def _tensor(prices: dict[str, Any], swap: bool, n: int) -> np.ndarray:
    """Return two prices or more as those of n rows, (n, 2, 2); swapped where the first is positive."""
    tensor = binary_cost_tensor(**{f"{name}_cost": p for name, p in prices.items()}, n_samples=n)
    return tensor[:, ::-1, ::-1] if swap else tensor


def without_target(table: Table, pairs: list[str], drop: list[str]) -> tuple[Any, np.ndarray]:
    """Return the columns of a table without a target, and the cheapest decision of each row.

    That decision stands for the class: what each costs is all that is known.
    """
    from stakes.costs import truth_of_costs

    for column in drop:
        check_column(table, column)
    prices = _named_prices(pairs)
    if len(prices) < 2:
        raise UserError(
            f"--cost names one decision, {quote(next(iter(prices)))}: give two or more, or say which "
            "class is true with --target COLUMN."
        )
    costs = _decision_costs(prices, table, list(prices))
    try:
        y, _ = truth_of_costs(_as_frame(costs, prices), len(table.frame))
    except ValueError as error:
        raise UserError(f"--cost: {str(error)[:1].lower()}{str(error)[1:]}") from None
    table.notes.append("No --target: the cheapest decision of each row stands for its class.")
    return table.frame.drop(columns=drop), y


def _as_frame(costs: np.ndarray, decisions: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(costs, columns=list(decisions))


def _named_prices(pairs: list[str]) -> dict[str, str]:
    """Return the prices as they were written, by the decision."""
    prices: dict[str, str] = {}
    for pair in pairs:
        label, equals, value = pair.rpartition("=")
        if not equals or not label:
            raise UserError(f"--cost {quote(pair)} must have the form CLASS=PRICE.")
        if label in prices:
            raise UserError(f"--cost names {quote(label)} twice.")
        prices[label] = value
    return prices


def _by_decision(pairs: list[str], table: Table, labels: list[str]) -> Prices:
    named = _named_prices(pairs)
    choices = table.target is None or not set(named) & set(labels)
    if not choices:
        for label in named:
            _check_label("--cost", label, labels)
        missing = [label for label in labels if label not in named]
        if missing:
            raise UserError(f"--cost is missing for {_classes(missing)}.")
    # Such prices are known in hindsight, and so is every column they are made of.
    columns = _columns(named.values(), table)
    if not columns:
        raise UserError(
            "--cost gives every row the same prices, whatever the truth, so that one decision would "
            "be the cheapest for all: name columns, or say what mistakes cost by --costs FILE, or "
            "--fp and --fn."
        )
    known = dict.fromkeys(columns, "prices")
    if not choices:
        return Prices({"costs": _decision_costs(named, table, labels)}, known)
    if len(named) < 2:
        _check_label("--cost", next(iter(named)), labels)
    costs = _as_frame(_decision_costs(named, table, list(named)), named)
    return Prices({"costs": costs}, known)


def costs_of_decisions(pairs: list[str], labels: list[str], table: Table) -> np.ndarray:
    """Return what each decision costs in each row, (n, n_classes), by --cost, already checked."""
    prices = {label: value for label, _, value in (pair.rpartition("=") for pair in pairs)}
    return _decision_costs(prices, table, labels)


def _decision_costs(prices: dict[str, str], table: Table, labels: list[str]) -> np.ndarray:
    costs = [_price(prices[label], f"--cost {label}", table) for label in labels]
    return np.column_stack([np.broadcast_to(cost, len(table.frame)) for cost in costs])


def _check_label(option: str, label: str, labels: list[str]) -> None:
    if label not in labels:
        raise UserError(f"{option} {quote(label)} is not a class: there are {_listed(labels)}.")


def _columns(texts: Any, table: Table) -> list[str]:
    """Return the columns that prices are made of."""
    names: list[str] = []
    for text in texts:
        names += [text] if text in table.frame.columns else parse(text).columns
    return list(dict.fromkeys(names))


def _price(text: str, option: str, table: Table) -> Any:
    """Return the numbers that a price stands for: a column, a number, or arithmetic over columns."""
    if text in table.frame.columns:
        return _numbers(text, option, table)
    try:
        expression = parse(text)
    except ExpressionError as error:
        odd = [c for c in table.frame.columns if c in text and re.search(r"\W", c)]
        hint = f": write the column in backquotes, `{odd[0]}`" if odd else ""
        raise UserError(f"{option} {quote(text)} {error}{hint}.") from None
    for column in expression.columns:
        if column not in table.frame.columns:
            hint = _did_you_mean(quote(column), map(quote, table.frame.columns))
            if text.strip() == column:
                what = f"is neither a finite number nor a column of {table.name}"
            else:
                what = f"names {quote(column)}, which is no column of {table.name}"
            raise UserError(f"{option} {quote(text)} {what}{hint}.")
    values = expression(lambda column: _numbers(column, option, table))
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        where = f" in row {table.row(bad[0]):,}" if np.ndim(values) else ""
        raise UserError(
            f"{option} {quote(text)} is no finite number{where}: is something divided by 0?"
        )
    return values


def _numbers(name: str, option: str, table: Table) -> np.ndarray:
    import pandas as pd

    from stakes.tables import column_kind

    if name == table.target:
        raise UserError(
            f"{option} names the target {quote(name)}: a price that knows the truth is known for no "
            "row that is still to be decided."
        )
    column = table.frame[name]
    if column_kind(column) == "date":
        raise UserError(
            f"the column {quote(name)} of {option} holds dates, such as {quote(column.iloc[0])}: "
            "every cost must be a number."
        )
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        cell = column.iloc[bad[0]]
        has = "is empty" if pd.isna(cell) else f"has {quote(cell)}"
        where = f"the column {quote(name)} of {option}"
        raise UserError(
            f"{where} {has} in row {table.row(bad[0]):,}: every cost must be a finite number."
        )
    return numbers


def _listed(labels: list[str], limit: int = 8) -> str:
    shown = ", ".join(map(quote, labels[:limit]))
    return shown + (f" and {len(labels) - limit} more" if len(labels) > limit else "")


def _classes(labels: list[str]) -> str:
    return f"the class{'' if len(labels) == 1 else 'es'} {_listed(labels)}"
