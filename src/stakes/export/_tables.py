"""The table: what goes into a graph, and how its columns become numbers there.

A graph has one input for all columns of numbers and one for all columns of text. What a category
turns into is read off the fitted preparation, value by value, and kept as a small table.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stakes.auto._table import FAR, SQUEEZE
from stakes.export._graph import ML, Graph
from stakes.export._verify import NotExportable
from stakes.tables import TablePreparation
from stakes.utils._arrays import columns_by_name
from stakes.utils._frames import as_frame, is_frame, numbers_of

NUMBERS, TEXTS = "numbers", "texts"
NUMBER, TEXT = "number", "text"


@dataclass
class Schema:
    """The columns that a model is given, in their order.

    Parameters
    ----------
    names : list of str or None
        None where the model was fitted on an array.
    kinds : list of str
        "number" or "text" for each.
    whole : list of int
        Columns of text whose categories are whole numbers: 3.0 is "3" there.
    """

    names: list[str] | None
    kinds: list[str]
    whole: list[int] = field(default_factory=list)

    def positions(self, kind: str) -> list[int]:
        """Return the positions of the columns of a kind."""
        return [i for i, own in enumerate(self.kinds) if own == kind]

    def columns(self, kind: str) -> list[str]:
        """Return the names of the columns of a kind."""
        names = self.names or [f"x{i}" for i in range(len(self.kinds))]
        return [names[i] for i in self.positions(kind)]

    def feeds(self, X: Any) -> dict[str, np.ndarray]:
        """Return a table as the inputs of the graph: numbers, and text with "" for what is missing."""
        X = as_frame(X)
        if is_frame(X) and self.names is not None:
            X = columns_by_name(X, self.names)
        feeds = {}
        at = self.positions(NUMBER)
        if at or not self.kinds:
            feeds[NUMBERS] = np.ascontiguousarray(
                np.column_stack([_numbers(X, i) for i in at]), dtype=np.float64
            )
        at = self.positions(TEXT)
        if at:
            feeds[TEXTS] = np.column_stack([_texts(X, i, i in self.whole) for i in at])
        return feeds


def _column(X: Any, i: int) -> Any:
    return X.iloc[:, i] if is_frame(X) else np.asarray(X)[:, i]


def _numbers(X: Any, i: int) -> np.ndarray:
    column = _column(X, i)
    if is_frame(X):
        if column.isna().all():
            return np.full(len(column), np.nan)
        return numbers_of(column)
    return np.array([np.nan if v is None else v for v in column], dtype=np.float64)


def _texts(X: Any, i: int, whole: bool) -> np.ndarray:
    import pandas as pd

    series = pd.Series(np.asarray(_column(X, i), dtype=object))
    if whole:
        series = series.map(lambda v: int(v) if isinstance(v, float) and v.is_integer() else v)
    return series.where(series.notna(), "").map(str).to_numpy(dtype=object)


@dataclass
class Table:
    """A table inside a graph."""

    g: Graph
    schema: Schema
    inputs: dict[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, g: Graph, schema: Schema) -> "Table":
        """Make the inputs of a graph."""
        inputs = {}
        for kind, name, of in ((NUMBER, NUMBERS, float), (TEXT, TEXTS, str)):
            n_columns = len(schema.positions(kind))
            if n_columns:
                inputs[name] = g.input(name, of, ["rows", n_columns])
                if kind == NUMBER:
                    g.comes_from(name, dict(enumerate(schema.positions(kind))))
        return cls(g, schema, inputs)

    @property
    def any_input(self) -> str:
        """A tensor with as many rows as the table."""
        return next(iter(self.inputs.values()))

    def matrix(self) -> str:
        """Return all columns as one array of numbers."""
        if TEXT in self.schema.kinds:
            text = self.schema.columns(TEXT)[0]
            raise NotExportable(f"The column {text!r} holds text where the model takes numbers.")
        return self.inputs[NUMBERS]

    def number(self, i: int) -> str:
        """Return a column of numbers, (n, 1)."""
        return self.g.column(self.inputs[NUMBERS], self.schema.positions(NUMBER).index(i))

    def text(self, i: int) -> str:
        """Return a column of text, (n, 1)."""
        return self.g.column(self.inputs[TEXTS], self.schema.positions(TEXT).index(i))

    def coded(self, i: int, values: dict[str, int], unknown: int) -> str:
        """Return a column of text as whole numbers, (n, 1)."""
        how: dict[str, Any] = {
            "keys_strings": list(values),
            "values_int64s": list(values.values()),
            "default_int64": unknown,
        }
        if not values:
            return self.g.op("Expand", np.array([[unknown]]), self.g.op("Shape", self.text(i)))
        return self.g.op("LabelEncoder", self.text(i), domain=ML, **how)

    def looked_up(self, i: int, rows: dict[str, np.ndarray], unknown: np.ndarray) -> str:
        """Return for each text of a column a row of numbers, (n, width)."""
        table = np.array([*rows.values(), unknown], dtype=np.float64)
        codes = self.coded(i, {text: n for n, text in enumerate(rows)}, len(rows))
        return self.g.op("Gather", table, self.g.op("Squeeze", codes, np.array([1])))

    def binned(self, bins: Any) -> str:
        """Return the features as trees ask about them: numbers, and categories as their bins."""
        if not bins.is_categorical.any():
            return self.matrix()
        parts, columns = [], {f: f for f in range(bins.n_features)}
        for f, is_category in enumerate(bins.is_categorical):
            if not is_category:
                parts.append(self.number(f))
                continue
            columns[f] = -1
            last, codes = int(bins.n_values[f]) - 1, {}
            for code, label in enumerate(bins.categories[f].tolist()):
                if str(label) in codes or str(label) == "":
                    raise NotExportable(
                        f"The categories of column {f} include {label!r} and another that reads "
                        "the same as text, or an empty text: rename one."
                    )
                codes[str(label)] = min(code, last)
            parts.append(self.g.cast(self.coded(f, codes, last + 1), float))
        return self.g.comes_from(self.g.concat(parts), columns)


# -- the two preparations of this library --------------------------------------------------------


def prepared(table: Table, preparation: TablePreparation) -> str:
    """Return what a `TablePreparation` makes of the table: an array of numbers."""
    if preparation.prepared_ is None:
        return table.matrix()
    g, parts = table.g, []
    columns: dict[int, int] = {}  # of the result: which of the table's, -1 for none
    for i, column in enumerate(preparation.prepared_):
        if column.kind == "text":
            raise NotExportable(
                f"The column {column.name!r} holds text of many different values, whose preparation "
                "has no export: leave it out, or turn it into numbers or categories first."
            )
        if column.kind != "category":
            columns |= {len(columns): i} | dict.fromkeys(
                range(len(columns) + 1, len(columns) + column.width), -1
            )
            days = table.number(i)
            parts += [days] if column.width == 1 else _date_parts(g, days)[: column.width]
        elif column.width:
            known = column.known_values()
            rows = dict(zip(known, column.indicators(known)))
            columns |= dict.fromkeys(range(len(columns), len(columns) + column.width), -1)
            parts.append(table.looked_up(i, rows, np.zeros(column.width)))
    return g.comes_from(g.concat(parts), columns)


def _date_parts(g: Graph, days: str) -> list[str]:
    """Return days since 1970, month, day, weekday and hour, by arithmetic alone.

    Years are counted from March, and eras of 400 of them have 146,097 days: what is left of an era
    gives the year of it, what is left of the year the month, at 153 days for five.
    """

    def whole(x: str, by: float) -> str:
        return g.op("Floor", g.op("Div", x, by))

    def plus(*terms: tuple[float, str]) -> str:
        total = g.op("Mul", terms[0][1], terms[0][0])
        for factor, x in terms[1:]:
            total = g.op("Add", total, g.op("Mul", x, factor))
        return total

    day = g.op("Floor", days)
    since = g.op("Add", day, 719_468.0)  # March 1 of the year 0
    of_era = plus((1.0, since), (-146_097.0, whole(since, 146_097.0)))
    leaps = plus(
        (1.0, of_era),
        (-1.0, whole(of_era, 1_460.0)),
        (1.0, whole(of_era, 36_524.0)),
        (-1.0, whole(of_era, 146_096.0)),
    )
    year = whole(leaps, 365.0)
    of_year = plus(
        (1.0, of_era), (-365.0, year), (-1.0, whole(year, 4.0)), (1.0, whole(year, 100.0))
    )
    from_march = whole(g.op("Add", g.op("Mul", of_year, 5.0), 2.0), 153.0)
    before = whole(g.op("Add", g.op("Mul", from_march, 153.0), 2.0), 5.0)
    of_month = g.op("Add", g.op("Sub", of_year, before), 1.0)
    turned = whole(g.op("Add", from_march, 2.0), 12.0)  # 1 in January and February
    month = g.op("Add", plus((1.0, from_march), (-12.0, turned)), 3.0)
    shifted = g.op("Add", day, 3.0)  # 1970 began on a Thursday
    weekday = plus((1.0, shifted), (-7.0, whole(shifted, 7.0)))
    hours = g.op("Mul", g.op("Mul", g.op("Sub", days, day), 24.0), 1e6)
    hour = whole(g.op("Round", hours), 1e6)
    return [days, month, of_month, weekday, hour]


def schema_of_preparation(preparation: TablePreparation, names: list[str] | None) -> Schema:
    """Return the columns that a `TablePreparation` takes; 3.0 is "3" among categories."""
    if preparation.prepared_ is None:
        return Schema(names, [NUMBER] * preparation.n_features_in_)
    numbers = ("number", "boolean", "date")
    kinds = [NUMBER if column.kind in numbers else TEXT for column in preparation.prepared_]
    return Schema(names, kinds, [i for i, kind in enumerate(kinds) if kind == TEXT])


def encoded(table: Table, encoder: Any, forms: set[str]) -> dict[str, str]:
    """Return the forms that a `TableEncoder` makes of the table, those that are asked for."""
    g, trees = table.g, prepared(table, encoder)
    made = {"trees": trees}
    if "distances" in forms:
        filled = trees
        if len(encoder.gaps_):
            gaps = g.op("IsNaN", trees)
            filled = g.op("Where", gaps, encoder.fill_[None], trees)
            shown = g.op("Gather", g.cast(gaps, float), encoder.gaps_, axis=1)
            filled = g.concat([filled, shown])
        else:
            # where training had no gap, a new one is filled in all the same
            filled = g.op("Where", g.op("IsNaN", trees), encoder.fill_[None], trees)
        scaled = g.op("Div", g.op("Sub", filled, encoder.centre_[None]), encoder.scale_[None])
        scaled = g.op("Min", g.op("Max", scaled, -FAR), FAR)
        share = g.op("Mul", scaled, 1.0 / SQUEEZE)
        squared = g.op("Mul", share, share)
        fourth = g.op("Add", g.op("Mul", squared, squared), 1.0)
        made["distances"] = g.op("Div", scaled, g.op("Sqrt", g.op("Sqrt", fourth)))
    return made
