"""Prices of each row from columns of its own, worked out inside the graph."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stakes.export._graph import Graph
from stakes.export._source import Source
from stakes.export._verify import NotExportable

PRICE_COLUMNS = "price_columns"
UFUNCS = {
    np.add: "Add",
    np.subtract: "Sub",
    np.multiply: "Mul",
    np.divide: "Div",
    np.minimum: "Min",
    np.maximum: "Max",
    np.negative: "Neg",
    np.absolute: "Abs",
}


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """A term that takes NumPy's arithmetic and writes it as operators: of a graph, or of SQL."""

    def __init__(self, g: Any, name: str):
        self.g, self.name = g, name

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **given: Any) -> "Traced":
        """Add an operator for one of NumPy's functions."""
        if ufunc not in UFUNCS or method != "__call__" or given:
            raise NotExportable(
                f"A price by {ufunc.__name__} has no export: use + - * / min max abs."
            )
        names = [x.name if isinstance(x, Traced) else np.array([[x]], dtype=float) for x in inputs]
        return Traced(self.g, self.g.op(UFUNCS[ufunc], *names))


class PriceRecipe:
    """How the prices of a row follow from its columns.

    Parameters
    ----------
    cells : list of list
        [true][decided]: a number, the name of a column, or a function of ``column``.
    source : Source
        The model, which must be able to weigh such prices.

    Attributes
    ----------
    columns : list of str
        Those that are asked for.
    """

    def __init__(self, cells: Any, source: Source):
        n_classes, n_decisions = source.prices.shape
        rows = [list(row) for row in cells]
        if len(rows) != n_classes or any(len(row) != n_decisions for row in rows):
            raise ValueError(f"prices must be {n_classes} lists of {n_decisions} prices.")
        if not source.weighs_prices:
            raise NotExportable(f"{source.method} cannot weigh the prices of single rows.")
        self.cells = [[_as_function(cell) for cell in row] for row in rows]
        names: dict[str, None] = {}

        def note(name: str) -> float:
            names[name] = None
            return 1.0

        for row in self.cells:
            for cell in row:
                cell(note)
        self.columns = list(names)
        if not self.columns:
            raise ValueError("prices name no column: give class costs to the model instead.")

    def tensor(self, g: Graph) -> str:
        """Return the prices in a graph, (n, n_classes, n_priced)."""
        given = g.input(PRICE_COLUMNS, float, ["rows", len(self.columns)])
        of = {name: Traced(g, g.column(given, i)) for i, name in enumerate(self.columns)}
        nothing = g.op("Mul", of[self.columns[0]].name, 0.0)
        parts = []
        for row in self.cells:
            for cell in row:
                value = cell(of.__getitem__)
                shown = value.name if isinstance(value, Traced) else float(value)
                parts.append(g.op("Add", nothing, shown))
        shape = np.array([-1, len(self.cells), len(self.cells[0])])
        return g.op("Reshape", g.concat(parts), shape)

    def draw(self, n_rows: int, rng: np.random.Generator) -> tuple[dict, np.ndarray]:
        """Return columns to try, and the prices that follow from them."""
        table = rng.lognormal(2.0, 1.5, (n_rows, len(self.columns)))
        of = {name: table[:, i] for i, name in enumerate(self.columns)}
        prices = np.array(
            [[np.broadcast_to(cell(of.__getitem__), n_rows) for cell in row] for row in self.cells]
        )
        return {PRICE_COLUMNS: table}, np.ascontiguousarray(np.moveaxis(prices, 2, 0))


def _as_function(cell: Any) -> Callable:
    if callable(cell):
        return cell
    if isinstance(cell, str):
        return lambda column: column(cell)
    return lambda column: float(cell)
