"""The table: what goes into a graph, and how its columns become numbers there.

A graph has one input for all columns of numbers and one for all columns of text. What a category
turns into is read off the fitted preparation, value by value, and kept as a small table.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.preprocessing import OneHotEncoder

from stakes.auto._table import FAR, SQUEEZE
from stakes.export._graph import ML, Graph
from stakes.export._verify import NotExportable
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
        return [i for i, found in enumerate(self.kinds) if found == kind]

    def columns(self, kind: str) -> list[str]:
        """Return the names of the columns of a kind."""
        names = self.names or [f"x{i}" for i in range(len(self.kinds))]
        return [names[i] for i in self.positions(kind)]

    def feeds(self, X: Any) -> dict[str, np.ndarray]:
        """Return a table as the inputs of the graph: numbers, and text with "" for what is missing."""
        X = as_frame(X)
        if is_frame(X) and self.names is not None:
            X = columns_by_name(X, self.names)
        found = {}
        at = self.positions(NUMBER)
        if at or not self.kinds:
            found[NUMBERS] = np.ascontiguousarray(
                np.column_stack([_numbers(X, i) for i in at]), dtype=np.float64
            )
        at = self.positions(TEXT)
        if at:
            found[TEXTS] = np.column_stack([_texts(X, i, i in self.whole) for i in at])
        return found


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


def prepared(table: Table, preparation: Any) -> str:
    """Return what a `TablePreparation` makes of the table: an array of numbers."""
    if preparation.vectorizer_ is None:
        return table.matrix()
    g, vectorizer = table.g, preparation.vectorizer_
    names, parts = preparation.columns_, []
    columns: dict[int, int] = {}  # of the result: which of the table's, -1 for none
    encoders = {"numeric": NUMBER, "low_cardinality": TEXT}
    made = vectorizer.input_to_outputs_  # nothing of a column that was empty in training
    for name in names:
        kind = vectorizer.column_to_kind_.get(name)
        if made.get(name) and kind not in encoders:
            what = "dates" if kind == "datetime" else "text of many different values"
            raise NotExportable(
                f"The column {name!r} holds {what}, whose preparation has no export: leave it out, "
                "or turn it into numbers or few categories first."
            )
    for i, name in enumerate(names):
        if not made.get(name):
            continue
        if vectorizer.column_to_kind_[name] == "numeric":
            # the preparation keeps numbers in 32 bits
            columns[len(columns)] = i
            parts.append(g.as_float32(table.number(i)))
        else:
            rows = _tabulated(preparation, i)
            unknown = rows.pop(None)
            columns |= dict.fromkeys(range(len(columns), len(columns) + len(unknown)), -1)
            parts.append(table.looked_up(i, rows, unknown))
    return g.comes_from(g.concat(parts), columns)


def known_texts(preparation: Any, i: int) -> list[str]:
    """Return the categories of a column that a `TablePreparation` knows by name."""
    encoder = preparation.vectorizer_.transformers_.get(preparation.columns_[i])
    if not isinstance(encoder, OneHotEncoder):
        return []
    return [v for v in encoder.categories_[0].tolist() if isinstance(v, str)]


def _tabulated(preparation: Any, i: int) -> dict:
    """Return what each value of a column of categories becomes; None is any other value."""
    import pandas as pd

    name = preparation.columns_[i]
    outputs = preparation.vectorizer_.input_to_outputs_[name]
    at = [list(preparation.vectorizer_.all_outputs_).index(o) for o in outputs]
    known = known_texts(preparation, i)
    strange = "no such value"
    while strange in known:
        strange += "!"
    # what is missing may be written in several ways
    values = [*known, *(v for v in MISSING_TEXTS if v not in known), None, strange]
    others = {
        c: [0.0 if preparation.kinds_[c] == "number" else None] * len(values)
        for c in preparation.columns_
    }
    column = pd.Series(values, dtype=object)
    frame = pd.DataFrame(others | {name: column})[preparation.columns_]
    found = preparation.transform(frame)[:, at]
    rows: dict[Any, np.ndarray] = dict(zip(values[:-2], found))
    rows[""] = found[-2]
    return rows | {None: found[-1]}


# Texts that the preparation takes for missing: those of skrub, and blanks.
MISSING_TEXTS = (
    *(
        "",
        " ",
        "  ",
        "   ",
        "    ",
        "\t",
        "null",
        "NULL",
        "nan",
        "NaN",
        "-nan",
        "-NaN",
        "none",
        "None",
    ),
    *("NA", "#NA", "<NA>", "n/a", "N/A", "#N/A", "#N/A N/A", "?", "..."),
    *("1.#QNAN", "-1.#QNAN", "1.#IND", "-1.#IND"),
)


def schema_of_preparation(preparation: Any) -> Schema:
    """Return the columns that a `TablePreparation` takes."""
    if preparation.vectorizer_ is None:
        return Schema(preparation.columns_, [NUMBER] * preparation.n_features_in_)
    kinds = preparation.kinds_
    return Schema(
        preparation.columns_,
        [NUMBER if kinds[c] == "number" else TEXT for c in preparation.columns_],
    )


def encoded(table: Table, encoder: Any, forms: set[str]) -> dict[str, str]:
    """Return the two forms that a `TableEncoder` makes of the table, those that are asked for."""
    g, parts = table.g, []
    if all(c["kind"] == "number" for c in encoder.columns_):
        trees = table.matrix()
    else:
        columns: dict[int, int] = {}
        for i, column in enumerate(encoder.columns_):
            is_number = column["kind"] == "number"
            parts.append(table.number(i) if is_number else _indicators(table, i, column))
            width = 1 if is_number else len(column["shown"]) + bool(column["frequency"])
            places = range(len(columns), len(columns) + width)
            columns |= dict.fromkeys(places, i if is_number else -1)
        trees = g.comes_from(g.concat(parts), columns)
    found = {"trees": trees}
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
        found["distances"] = g.op("Div", scaled, g.op("Sqrt", g.op("Sqrt", fourth)))
    return found


def _indicators(table: Table, i: int, column: dict) -> str:
    shown, frequency = column["shown"], column["frequency"]
    width = len(shown) + bool(frequency)
    rows = {}
    for text in dict.fromkeys([*shown, *frequency]):
        row = np.zeros(width)
        if text in shown:
            row[shown.index(text)] = 1.0
        if frequency:
            row[-1] = frequency.get(text, 0.0)
        rows[text] = row
    return table.looked_up(i, rows, np.zeros(width))
