"""A policy as a query of SQL, in the dialects of five databases."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stakes.decision import program
from stakes.export._json import read_numbers, to_json
from stakes.export._prices import Traced
from stakes.export._settle import n_priced
from stakes.export._verify import NotExportable
from stakes.utils._arrays import LARGEST, quoted

# Beyond, exp would be infinite, which some databases take for an error.
LARGEST_EXPONENT = 700.0
SIGNS = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}


class Dialect(NamedTuple):
    """How a database writes what each writes otherwise.

    Attributes
    ----------
    double : str
        The type of numbers of 64 bits.
    quote : str
        What stands around the names of columns.
    escapes : bool
        Whether a backslash in text stands for something else.
    step : str
        What stands before a query that is named: whether it is kept, and worked out once.
    """

    double: str = "DOUBLE"
    quote: str = '"'
    escapes: bool = False
    step: str = "AS MATERIALIZED"


DIALECTS = {
    "sqlite": Dialect(),
    "duckdb": Dialect(),
    "postgres": Dialect(double="DOUBLE PRECISION"),
    "mysql": Dialect(quote="`", escapes=True, step="AS"),
    "bigquery": Dialect(double="FLOAT64", quote="`", escapes=True, step="AS"),
}


def to_sql(
    model: Any,
    *,
    table: str = "scores",
    columns: Any = None,
    prices: Any = None,
    keep: Any = None,
    dialect: str = "sqlite",
) -> str:
    """Return a query that turns columns of probabilities into decisions.

    The query returns the columns to `keep`, and ``decision``, ``expected_cost`` and one
    ``expected_cost_i`` for each decision; all of these are NULL where probabilities do not sum to 1
    or a number is missing. The probabilities are those of the model behind the policy, not yet
    calibrated if the policy calibrates. The policy that it is written from is verified, as in `to_json`.

    Parameters
    ----------
    model : DecisionModel, CostDecisionClassifier, StakesClassifier, rule, Policy or dict
        Fitted, or what `to_json` returned.
    table : str, default="scores"
        The table, or a query in brackets, that holds the probabilities.
    columns : list of str, default=None
        The columns of probabilities in the order of the classes; ``p0, p1, ...`` if None.
    prices : list of list, default=None
        The prices of each row, [true][decided]: expressions of SQL over its columns, such as
        ``[["0", "5"], ["amount", "0"]]``, or as in `to_onnx` numbers and functions such as
        ``lambda column: 0.75 * column("amount") + 20``. None: the prices of the policy.
    keep : list of str, default=None
        Columns of the table to return beside what is decided; those of probabilities if None.
    dialect : {"sqlite", "duckdb", "postgres", "mysql", "bigquery"}, default="sqlite"
        Who runs it: SQLite from 3.35, DuckDB, PostgreSQL from 12, MySQL from 8.0.17, BigQuery. The
        first three are run in the tests of this library; the others are written by their manuals.

    Returns
    -------
    query : str
        One statement, without a semicolon.

    Examples
    --------
    >>> import sqlite3
    >>> from stakes.decision import MinimumExpectedCost
    >>> from stakes.export import to_sql
    >>> rule = MinimumExpectedCost(cost_matrix=[[0, 1], [5, 0]]).fit([[1, 0]] * 2, ["no", "yes"])
    >>> base = sqlite3.connect(":memory:")
    >>> _ = base.execute("create table scores (p0 real, p1 real)")
    >>> _ = base.execute("insert into scores values (0.75, 0.25), (0.875, 0.125)")
    >>> base.execute(to_sql(rule)).fetchall()
    [(0.75, 0.25, 'yes', 0.75, 1.25, 0.75), (0.875, 0.125, 'no', 0.625, 0.625, 0.875)]
    """
    if dialect not in DIALECTS:
        raise ValueError(f"There is no dialect {dialect!r}: choose one of {quoted(DIALECTS)}.")
    policy = read_numbers(model if isinstance(model, dict) else to_json(model))
    if policy["limits"] is not None:
        raise NotExportable("A policy with limits has no query: rows are decided together then.")
    matrix = np.array(policy["prices"], dtype=float)
    k = len(matrix)
    names = list(columns) if columns is not None else [f"p{t}" for t in range(k)]
    if len(names) != k:
        raise ValueError(f"There are {k} classes, but {len(names)} columns are named.")
    if prices is None and policy["needs_prices"]:
        raise ValueError("The model decides by the prices of each row: give prices.")
    if prices is not None and not policy["weighs_prices"]:
        raise NotExportable("This policy cannot weigh the prices of single rows.")
    own = n_priced(policy)
    if prices is not None and (len(prices) != k or any(len(row) != own for row in prices)):
        raise ValueError(f"prices must be {k} lists of {own} expressions.")
    query = _Query(table, DIALECTS[dialect])
    p = query.step([query.double(query.name(name)) for name in names])
    known = [f"{x} >= -1e-6" for x in p] + [f"abs({' + '.join(p)} - 1e0) <= 1e-3"]
    p = _in_force(query, p, policy)
    cells = [[_number(c) for c in row] for row in matrix]
    if prices is not None:
        flat = query.step([query.double(query.price(cell)) for row in prices for cell in row])
        known += [f"abs({price}) <= {_number(LARGEST)}" for price in flat]
        cells = [flat[t * own : (t + 1) * own] + cells[t][own:] for t in range(k)]
    expected = query.step(_weighed(p, cells))
    at = _decided(query, p, policy, None if prices is None else cells, expected)
    # NULL times anything is NULL: no decision where probabilities or prices are none
    (one,) = query.step([f"CASE WHEN {' AND '.join(known)} THEN 1 END"])
    at, *expected = query.step([f"{name} * {one}" for name in (at, *expected)])
    said = {"decision": _chosen(at, [query.text(label) for label in policy["decisions"]])}
    said["expected_cost"] = _chosen(at, expected)
    said |= {f"expected_cost_{d}": name for d, name in enumerate(expected)}
    return query.finish(names if keep is None else list(keep), said)


@dataclass
class _Query:
    """Queries one after the other: each computes columns from those before it, which are kept.

    They are materialized: SQLite would otherwise write each into the next, and work out the
    first as often as the last ones mention it.
    """

    table: str
    dialect: Dialect

    def __post_init__(self) -> None:
        self.queries = list[str]()

    def step(self, expressions: list[str]) -> list[str]:
        """Add a query that computes these; return the names of their columns."""
        number = len(self.queries)
        names = [f"_s{number}_{i}" for i in range(len(expressions))]
        shown = ", ".join(f"{e} AS {n}" for e, n in zip(expressions, names))
        before = f"_q{number - 1}"
        if number == 0:
            before = f"{self.table} AS _t" if self.table.lstrip().startswith("(") else self.table
        self.queries.append(f"_q{number} {self.dialect.step} (SELECT *, {shown} FROM {before})")
        return names

    def finish(self, keep: list[str], said: dict[str, str]) -> str:
        """Return the whole: what is kept of the table, and what is decided."""
        shown = [self.name(name) for name in keep] + [f"{e} AS {n}" for n, e in said.items()]
        last = f"SELECT {', '.join(shown)} FROM _q{len(self.queries) - 1}"
        return "WITH\n" + ",\n".join(self.queries) + f"\n{last}"

    def double(self, expression: str) -> str:
        """Return an expression as a number of 64 bits."""
        return f"CAST({expression} AS {self.dialect.double})"

    def name(self, name: Any) -> str:
        """Return the name of a column, quoted."""
        return self._between(str(name), self.dialect.quote)

    def text(self, label: Any) -> str:
        """Return a label as it is written in a query."""
        if isinstance(label, bool):
            return "TRUE" if label else "FALSE"
        return repr(label) if isinstance(label, (int, float)) else self._between(str(label), "'")

    def price(self, cell: Any) -> str:
        """Return a price as it is written in a query."""
        if not callable(cell):
            return f"({cell})"
        value = cell(lambda name: Traced(self, self.name(name)))
        return value.name if isinstance(value, Traced) else _number(value)

    def op(self, kind: str, *terms: Any) -> str:
        """Return terms joined by an operator; numbers come as arrays, as in a graph."""
        a, *b = (t if isinstance(t, str) else _number(t.item()) for t in terms)
        if kind in SIGNS:
            return f"({a} {SIGNS[kind]} {b[0]})"
        if kind in ("Min", "Max"):
            return f"CASE WHEN {a} {'<' if kind == 'Min' else '>'} {b[0]} THEN {a} ELSE {b[0]} END"
        return f"(-{a})" if kind == "Neg" else f"abs({a})"

    def _between(self, text: str, quote: str) -> str:
        if "\0" in text:
            raise NotExportable(
                f"{text!r} holds the character NUL, which no query can: rename it first."
            )
        if self.dialect.escapes:
            text = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
            return quote + text.replace(quote, "\\" + quote) + quote
        return quote + text.replace(quote, 2 * quote) + quote


def _number(value: float) -> str:
    return f"{float(value):.17e}"


def _weighed(p: list[str], matrix: list[list[str]]) -> list[str]:
    return [
        " + ".join(f"{x} * {row[d]}" for x, row in zip(p, matrix)) for d in range(len(matrix[0]))
    ]


def _least(names: list[str]) -> str:
    least = names[-1]
    for name in names[-2::-1]:
        least = f"CASE WHEN {name} <= {least} THEN {name} ELSE {least} END"
    return least


def _chosen(at: str, values: list[str]) -> str:
    cases = " ".join(f"WHEN {i} THEN {value}" for i, value in enumerate(values))
    return f"CASE {at} {cases} END"


def _first_least(scores: list[str], first: int = 0) -> str:
    """Return the position of the least score, of equal ones the first, counted from `first`."""
    cases = []
    for i, score in enumerate(scores[:-1]):
        least = " AND ".join(f"{score} <= {other}" for other in scores[i + 1 :])
        cases.append(f"WHEN {least} THEN {first + i}")
    last = first + len(scores) - 1
    return f"CASE {' '.join(cases)} ELSE {last} END" if cases else str(last)


def _decided(
    query: _Query,
    p: list[str],
    policy: dict,
    cells: list[list[str]] | None,
    expected: list[str],
) -> str:
    """Return the position of the decision: `program.decide`, by the prices of rows in `cells`."""
    rule, matrix = policy["rule"], np.array(policy["prices"], dtype=float)
    if rule is None:
        if policy["shadow_prices"] is not None:
            shadow = map(_number, policy["shadow_prices"])
            expected = query.step([f"{e} + {s}" for e, s in zip(expected, shadow)])
        return query.step([_first_least(expected)])[0]
    scale, offset = (np.array(rule[name], dtype=float) for name in ("scale", "offset"))
    ruled = scale.shape[1]
    if cells is None or not scale.any():
        weighs = [[_number(c) for c in row] for row in program.partition(matrix, scale, offset)]
    else:
        cells = [row[:ruled] for row in cells]
        least = query.step([_least(row) for row in cells])
        weighs = [
            [
                f"({_number(scale[t, d])} * ({cell} - {low}) + {_number(offset[t, d])})"
                for d, cell in enumerate(row)
            ]
            for t, (row, low) in enumerate(zip(cells, least))
        ]
    (at,) = query.step([_first_least(query.step(_weighed(p, weighs)))])
    if ruled == len(expected):
        return at
    beside = expected[ruled:]
    own, least_beside, where = query.step(
        [_chosen(at, expected[:ruled]), _least(beside), _first_least(beside, ruled)]
    )
    return query.step([f"CASE WHEN {least_beside} < {own} THEN {where} ELSE {at} END"])[0]


# -- probabilities in force ----------------------------------------------------------------------


def _in_force(query: _Query, p: list[str], policy: dict) -> list[str]:
    """Return probabilities calibrated, and at the class frequencies in force."""
    p = _calibrated(query, p, policy["calibration"])
    if policy["priors"] is None:
        return p
    factors = program.factors(*np.array(policy["priors"], dtype=float))
    weighed = query.step([f"{x} * {_number(f)}" for x, f in zip(p, factors)])
    (total,) = query.step([" + ".join(weighed)])
    return query.step(
        [f"CASE WHEN {total} > 0 THEN {w} / {total} ELSE {x} END" for w, x in zip(weighed, p)]
    )


def _calibrated(query: _Query, p: list[str], how: dict | None) -> list[str]:
    if how is None:
        return p
    if how["method"] in ("softmax", "matrix"):
        floor, k = _number(program.LEAST), len(p)
        p = query.step([f"CASE WHEN {x} > {floor} THEN {x} ELSE {floor} END" for x in p])
        (total,) = query.step([" + ".join(p)])
        slopes, biases = (np.broadcast_to(how[name], k) for name in ("slopes", "biases"))
        logs = [f"ln({x} / {total} + {_number(how['added'])})" for x in p]
        scores = [f"{log} * {_number(slope)}" for log, slope in zip(logs, slopes)]
        if how["method"] == "matrix":
            kept, spread = _number(1.0 - how["unseen"]), _number(how["unseen"] / k)
            tempered = _softmax(query, scores)
            logs = query.step([f"ln({kept} * {x} + {spread})" for x in tempered])
            rows = np.array(how["matrix"], dtype=float)
            scores = _weighed(logs, [[_number(c) for c in row] for row in rows.T])
        return _softmax(query, [f"{s} + {_number(b)}" for s, b in zip(scores, biases)])
    maps, method = how["maps"], how["method"]
    if len(maps) == 1:
        (second,) = query.step([_mapped(query, p[1], maps[0], method)])
        return query.step([f"1e0 - {second}", second])
    shares = query.step([_mapped(query, x, one, method) for x, one in zip(p, maps)])
    (total,) = query.step([" + ".join(shares)])
    even = _number(1.0 / len(p))
    return query.step(
        [f"CASE WHEN {total} > 0 THEN {s} / {total} ELSE {even} END" for s in shares]
    )


def _softmax(query: _Query, scores: list[str]) -> list[str]:
    scores = query.step(scores)
    (lowest,) = query.step([_least([f"-({s})" for s in scores])])
    odds = query.step([_exp(f"({s} + {lowest})") for s in scores])
    (total,) = query.step([" + ".join(odds)])
    return query.step([f"{x} / {total}" for x in odds])


def _exp(x: str) -> str:
    """Return exp(x), kept from the ends of what a number holds."""
    most = _number(LARGEST_EXPONENT)
    return f"CASE WHEN {x} < -{most} THEN 0e0 WHEN {x} > {most} THEN exp({most}) ELSE exp({x}) END"


def _mapped(query: _Query, x: str, one: dict, method: str) -> str:
    """Return one class's map of its probability."""
    if method == "sigmoid":
        low, high = _number(program.LEAST), _number(1.0 - program.LEAST)
        kept = f"CASE WHEN {x} < {low} THEN {low} WHEN {x} > {high} THEN {high} ELSE {x} END"
        (kept,) = query.step([kept])
        odds = f"ln({kept} / (1e0 - {kept}))"
        (score,) = query.step([f"{_number(one['slope'])} * {odds} + {_number(one['bias'])}"])
        return f"1e0 / (1e0 + {_exp(score)})"
    if method == "binning":
        cases = " ".join(
            f"WHEN {x} < {_number(e)} THEN {_number(s)}"
            for e, s in zip(one["edges"], one["shares"])
        )
        last = _number(one["shares"][-1])
        return f"CASE {cases} ELSE {last} END" if cases else last
    xs, ys = one["x"], one["y"]
    lines = [f"WHEN {x} <= {_number(xs[0])} THEN {_number(ys[0])}"]
    for i in range(len(xs) - 1):
        slope = (ys[i + 1] - ys[i]) / (xs[i + 1] - xs[i])
        line = f"{_number(ys[i])} + {_number(slope)} * ({x} - {_number(xs[i])})"
        lines.append(f"WHEN {x} < {_number(xs[i + 1])} THEN {line}")
    return f"CASE {' '.join(lines)} ELSE {_number(ys[-1])} END"
