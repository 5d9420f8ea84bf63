"""A decision layer as a query of SQL, which SQLite and DuckDB run alike."""

from typing import Any

import numpy as np

from stakes.export._json import to_json
from stakes.export._layer import NotExportable
from stakes.utils._arrays import LARGEST


def to_sql(
    model: Any,
    *,
    table: str = "scores",
    columns: Any = None,
    prices: Any = None,
    keep: Any = None,
) -> str:
    """Return a query that turns columns of probabilities into decisions.

    The query returns the columns to `keep`, and ``decision``, ``expected_cost`` and one
    ``expected_cost_i`` for each decision; all of these are NULL where probabilities do not sum to 1
    or a number is missing. The probabilities are those of the model behind the layer, not yet
    calibrated if the layer calibrates. It runs in SQLite (3.35 or newer) and DuckDB; the decision
    layer that it is written from is verified, as in `to_json`.

    Parameters
    ----------
    model : DecisionModel, CostDecisionClassifier, StakesClassifier, rule or dict
        Fitted, or a layer that `to_json` returned.
    table : str, default="scores"
        The table, or a query in brackets, that holds the probabilities.
    columns : list of str, default=None
        The columns of probabilities in the order of the labels; ``p0, p1, ...`` if None.
    prices : list of list of str, default=None
        The prices of each row as expressions of SQL over its columns, [true][predicted], such as
        ``[["0", "5"], ["amount", "0"]]``. None: the class costs of the model.
    keep : list of str, default=None
        Columns of the table to return beside what is found; those of probabilities if None.

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
    layer = model if isinstance(model, dict) else to_json(model)
    if layer.get("limits") is not None:
        raise NotExportable("A layer with limits has no query: rows are decided together then.")
    n_classes = len(layer["labels"])
    names = list(columns) if columns is not None else [f"p{k}" for k in range(n_classes)]
    if len(names) != n_classes:
        raise ValueError(f"There are {n_classes} classes, but {len(names)} columns are named.")
    if prices is not None and layer["with_prices"] is None:
        raise NotExportable("This layer cannot weigh the prices of single rows.")
    if prices is not None and np.shape(prices) != (n_classes, n_classes):
        raise ValueError(f"prices must be {n_classes} lists of {n_classes} expressions.")
    query = _Steps(table)
    p = query.step([f"CAST({_quoted(name)} AS DOUBLE)" for name in names])
    known = [f"{x} >= -1e-6" for x in p] + [f"abs({' + '.join(p)} - 1e0) <= 1e-3"]
    p = _calibrated(query, p, layer["calibration"])
    if layer["shifts"] is not None:
        factors = layer["shifts"]["factors"]
        weighed = query.step([f"{x} * {_number(f)}" for x, f in zip(p, factors)])
        (total,) = query.step([" + ".join(weighed)])
        cases = (
            f"CASE WHEN {total} > 0 THEN {w} / {total} ELSE {x} END" for w, x in zip(weighed, p)
        )
        p = query.step(list(cases))
    matrix = [[_number(c) for c in row] for row in layer["cost_matrix"]]
    rule = layer["rule"]
    if prices is not None:
        rule = layer["with_prices"]
        flat = query.step([f"CAST({cell} AS DOUBLE)" for row in prices for cell in row])
        matrix = [flat[t * n_classes : (t + 1) * n_classes] for t in range(n_classes)]
        known += [f"abs({price}) <= {_number(LARGEST)}" for price in flat]
    expected = query.step(_weighed(p, matrix))
    at = _position(query, p, rule, None if prices is None else matrix)
    labels = [*layer["labels"]]
    if layer["abstain"] is not None:
        costs = [[_number(c)] for c in layer["abstain"]["costs"]]
        expected += query.step(_weighed(p, costs))
        (own,) = query.step([_chosen(at, expected[:-1])])
        (at,) = query.step([f"CASE WHEN {expected[-1]} < {own} THEN {len(labels)} ELSE {at} END"])
        labels.append(layer["abstain"]["label"])
    # NULL times anything is NULL: no decision where probabilities or prices are none
    (one,) = query.step([f"CASE WHEN {' AND '.join(known)} THEN 1 END"])
    at, *expected = query.step([f"{name} * {one}" for name in (at, *expected)])
    found = {"decision": _chosen(at, [_literal(label) for label in labels])}
    found["expected_cost"] = _chosen(at, expected)
    found |= {f"expected_cost_{d}": name for d, name in enumerate(expected)}
    return query.finish(names if keep is None else list(keep), found)


class _Steps:
    """Queries one after the other: each computes columns from those before it, which are kept.

    They are materialized: SQLite would otherwise write each into the next, and work out the
    first as often as the last ones mention it.
    """

    def __init__(self, table: str):
        self.table, self.queries = table, list[str]()

    def step(self, expressions: list[str]) -> list[str]:
        """Add a query that computes these; return the names of their columns."""
        number = len(self.queries)
        names = [f"_s{number}_{i}" for i in range(len(expressions))]
        shown = ", ".join(f"{e} AS {n}" for e, n in zip(expressions, names))
        before = self.table if number == 0 else f"_q{number - 1}"
        self.queries.append(f"_q{number} AS MATERIALIZED (SELECT *, {shown} FROM {before})")
        return names

    def finish(self, keep: list[str], found: dict[str, str]) -> str:
        """Return the whole: what is kept of the table, and what was found."""
        shown = [_quoted(name) for name in keep] + [f"{e} AS {n}" for n, e in found.items()]
        last = f"SELECT {', '.join(shown)} FROM _q{len(self.queries) - 1}"
        return "WITH\n" + ",\n".join(self.queries) + f"\n{last}"


def _number(value: float) -> str:
    return f"{float(value):.17e}"


def _quoted(name: str) -> str:
    return '"' + str(name).replace('"', '""') + '"'


def _literal(label: Any) -> str:
    if isinstance(label, bool):
        return "1" if label else "0"
    if isinstance(label, (int, float)):
        return repr(label)
    return "'" + str(label).replace("'", "''") + "'"


def _weighed(p: list[str], matrix: list[list[str]]) -> list[str]:
    return [
        " + ".join(f"{x} * {row[d]}" for x, row in zip(p, matrix)) for d in range(len(matrix[0]))
    ]


def _least(names: list[str]) -> str:
    found = names[-1]
    for name in names[-2::-1]:
        found = f"CASE WHEN {name} <= {found} THEN {name} ELSE {found} END"
    return found


def _chosen(at: str, values: list[str]) -> str:
    cases = " ".join(f"WHEN {i} THEN {value}" for i, value in enumerate(values))
    return f"CASE {at} {cases} END"


def _first_least(scores: list[str]) -> str:
    """Return the position of the least score, of equal ones the first."""
    cases = []
    for i, score in enumerate(scores[:-1]):
        least = " AND ".join(f"{score} <= {other}" for other in scores[i + 1 :])
        cases.append(f"WHEN {least} THEN {i}")
    return f"CASE {' '.join(cases)} ELSE {len(scores) - 1} END"


def _position(query: _Steps, p: list[str], rule: dict, prices: Any) -> str:
    kind, by = rule["kind"], rule["parameters"]
    if kind == "threshold":
        return query.step([f"CASE WHEN {p[1]} > {_number(by)} THEN 1 ELSE 0 END"])[0]
    if kind == "mossman":
        split = f"CASE WHEN {p[1]} - {p[0]} > {_number(by[1])} THEN 1 ELSE 0 END"
        return query.step([f"CASE WHEN {p[2]} > {_number(by[0])} THEN 2 ELSE {split} END"])[0]
    if kind in ("thresholds", "weights"):
        sign = "/" if kind == "thresholds" else "*"
        scores = [f"-({x} {sign} {_number(b)})" for x, b in zip(p, by)]
    elif prices is None:
        scores = _weighed(p, [[_number(c) for c in row] for row in by])
    elif kind == "matrix":
        scores = _weighed(p, prices)
    else:
        least = query.step([_least(row) for row in prices])
        shifted = [[f"({c} - {low})" for c in row] for row, low in zip(prices, least)]
        if kind == "class_scale":
            p = query.step([f"{x} * {_number(b)}" for x, b in zip(p, by)])
        scores = _weighed(p, shifted)
        if kind in ("shift", "scale"):
            sign = "+" if kind == "shift" else "*"
            scores = [f"({s}) {sign} {_number(b)}" for s, b in zip(scores, by)]
    return query.step([_first_least(query.step(scores))])[0]


def _calibrated(query: _Steps, p: list[str], how: dict) -> list[str]:
    method = how["method"]
    if method == "none":
        return p
    if method == "softmax":
        floor = _number(how["least"])
        p = query.step([f"CASE WHEN {x} > {floor} THEN {x} ELSE {floor} END" for x in p])
        (total,) = query.step([" + ".join(p)])
        scores = []
        for k, x in enumerate(p):
            slope, bias = (how[name][k % len(how[name])] for name in ("slopes", "biases"))
            log = f"ln({x} / {total} + {_number(how['added'])})"
            scores.append(f"{log} * {_number(slope)} + {_number(bias)}")
        scores = query.step(scores)
        (lowest,) = query.step([_least([f"-({s})" for s in scores])])
        odds = query.step([f"exp({s} + {lowest})" for s in scores])
        (total,) = query.step([" + ".join(odds)])
        return query.step([f"{x} / {total}" for x in odds])
    maps = how["maps"]
    if len(maps) == 1:
        (second,) = query.step([_mapped(query, p[1], maps[0], how)])
        return query.step([f"1e0 - {second}", second])
    shares = query.step([_mapped(query, x, one, how) for x, one in zip(p, maps)])
    (total,) = query.step([" + ".join(shares)])
    even = _number(1.0 / len(p))
    return query.step(
        [f"CASE WHEN {total} > 0 THEN {s} / {total} ELSE {even} END" for s in shares]
    )


def _mapped(query: _Steps, x: str, one: dict, how: dict) -> str:
    if how["method"] == "sigmoid":
        low, high = _number(how["least"]), _number(1.0 - how["least"])
        kept = f"CASE WHEN {x} < {low} THEN {low} WHEN {x} > {high} THEN {high} ELSE {x} END"
        (kept,) = query.step([kept])
        odds = f"ln({kept} / (1e0 - {kept}))"
        return f"1e0 / (1e0 + exp({_number(one['slope'])} * {odds} + {_number(one['bias'])}))"
    if how["method"] == "binning":
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
