"""Tries at silence where a problem is written otherwise: classes, prices, weights, the order of rows.

A problem is learned once; then it is written in other ways, one and two at a time, and goes through
several doors. What comes out is right, or it was refused, or something was said.
"""

import warnings
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from stakes.compare import compare
from stakes.costs import CostMatrix
from stakes.decision import CostDecisionClassifier
from stakes.metrics import average_cost
from stakes.tree import CostTreeClassifier

N = 90
LABELS = ["bad", "fair", "good"]
PRICES = np.array([[0.0, 2.0, 6.0], [1.0, 0.0, 2.5], [3.0, 1.5, 0.0]])
SHUFFLED = np.random.default_rng(1).permutation(N)


@dataclass(frozen=True)
class Problem:
    """Rows, their classes, prices and weights, in whatever form."""

    X: Any
    y: Any
    matrix: Any = None
    weight: Any = None
    costs: Any = None
    tensor: Any = None


def plain():
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=N)
    X = pd.DataFrame(rng.normal(size=(N, 3)) + 1.5 * np.eye(3)[codes], columns=["a", "b", "c"])
    X.index = [f"case {i}" for i in range(N)]
    weight = rng.integers(1, 4, size=N).astype(float)
    return Problem(X, np.array(LABELS)[codes], CostMatrix(PRICES, labels=LABELS), weight)


def codes_of(p):
    return np.searchsorted(LABELS, np.asarray(p.y, dtype=str))


def turned(p):
    """Return the prices with their classes in another order."""
    order = [2, 0, 1]
    return CostMatrix(p.matrix.values[np.ix_(order, order)], labels=[LABELS[i] for i in order])


def with_cell(y, value):
    changed = np.asarray(y, dtype=object).copy()
    changed[3] = value
    return changed


def with_price(p, value):
    table = p.matrix.to_frame().astype(object)
    table.iloc[0, 2] = value
    return replace(p, matrix=table)


def polars_series(values):
    return pytest.importorskip("polars").Series("y", list(values))


# What may be done to each part, and what must come of it. A way that needs another form of a part than it is
# in by then does not go with the one before.
CLASSES = {
    "a list": (lambda p: replace(p, y=list(p.y)), "right"),
    "objects": (lambda p: replace(p, y=np.asarray(p.y, dtype=object)), "right"),
    "a Series": (lambda p: replace(p, y=pd.Series(p.y, index=p.X.index)), "right"),
    "a Series in another order": (
        lambda p: replace(p, y=pd.Series(p.y, index=p.X.index).iloc[SHUFFLED]),
        "refused",
    ),
    "a Series of other rows": (
        lambda p: replace(p, y=pd.Series(p.y, index=np.arange(N) + 7)),
        "refused",
    ),
    "categories": (lambda p: replace(p, y=pd.Categorical(p.y)), "right"),
    "categories turned round": (
        lambda p: replace(p, y=pd.Categorical(p.y, ["good", "none", "bad", "fair"])),
        "right",
    ),
    "pandas text": (lambda p: replace(p, y=pd.array(list(p.y), dtype="string")), "right"),
    "polars": (lambda p: replace(p, y=polars_series(p.y)), "right"),
    "a column": (lambda p: replace(p, y=np.asarray(p.y)[:, None]), "said"),
    "two columns": (lambda p: replace(p, y=np.column_stack([p.y, p.y])), "refused"),
    "a gap": (lambda p: replace(p, y=with_cell(p.y, None)), "refused"),
    "not a number": (lambda p: replace(p, y=with_cell(p.y, np.nan)), "refused"),
    "a blank more": (lambda p: replace(p, y=with_cell(p.y, p.y[3] + " ")), "refused"),
    "a number among them": (lambda p: replace(p, y=with_cell(p.y, 7)), "refused"),
    "one row fewer": (lambda p: replace(p, y=p.y[:-1]), "refused"),
    "codes": (lambda p: replace(p, y=codes_of(p)), "refused"),
}
MONEY = {
    "a table": (lambda p: replace(p, matrix=p.matrix.to_frame()), "right"),
    "a table turned round": (lambda p: replace(p, matrix=turned(p).to_frame()), "right"),
    "a matrix turned round": (lambda p: replace(p, matrix=turned(p)), "right"),
    "rows turned round alone": (
        lambda p: replace(p, matrix=p.matrix.to_frame().iloc[::-1]),
        "right",
    ),
    "seven times as dear": (
        lambda p: replace(p, matrix=CostMatrix(7 * p.matrix.values, labels=LABELS)),
        "right",
    ),
    "no labels": (lambda p: replace(p, matrix=p.matrix.values), "refused"),
    "a list": (lambda p: replace(p, matrix=p.matrix.values.tolist()), "refused"),
    "a dict": (lambda p: replace(p, matrix=dict(enumerate(p.matrix.values))), "refused"),
    "a class misspelt": (
        lambda p: replace(p, matrix=CostMatrix(p.matrix.values, labels=["bad", "fair", "god"])),
        "refused",
    ),
    "a class fewer": (
        lambda p: replace(p, matrix=CostMatrix(p.matrix.values[:2, :2], labels=LABELS[:2])),
        "refused",
    ),
    "a price missing": (
        lambda p: with_price(p, np.nan),
        "refused",
    ),
    "a price in words": (
        lambda p: with_price(p, "six"),
        "refused",
    ),
    "a date": (
        lambda p: with_price(p, pd.Timestamp("2024-01-01")),
        "refused",
    ),
    "of rows": (
        lambda p: replace(p, matrix=None, tensor=np.repeat(PRICES[None], len(p.y), axis=0)),
        "right",
    ),
    "of rows in 32 bits": (
        lambda p: replace(
            p, matrix=None, tensor=np.repeat(PRICES[None], len(p.y), axis=0).astype(np.float32)
        ),
        "right",
    ),
    "of rows and of classes": (
        lambda p: replace(p, tensor=np.repeat(PRICES[None], len(p.y), axis=0)),
        "refused",
    ),
    "of too few rows": (
        lambda p: replace(p, matrix=None, tensor=np.repeat(PRICES[None], N - 2, axis=0)),
        "refused",
    ),
    "of rows, one unknown": (
        lambda p: replace(p, matrix=None, tensor=np.full((N, 3, 3), np.inf)),
        "refused",
    ),
}
WEIGHTS = {
    "a list": (lambda p: replace(p, weight=list(p.weight)), "right"),
    "32 bits": (lambda p: replace(p, weight=p.weight.astype(np.float32)), "right"),
    "whole numbers": (lambda p: replace(p, weight=p.weight.astype(int)), "right"),
    "a Series": (lambda p: replace(p, weight=pd.Series(p.weight, index=p.X.index)), "right"),
    "a Series in another order": (
        lambda p: replace(p, weight=pd.Series(p.weight, index=p.X.index).iloc[SHUFFLED]),
        "refused",
    ),
    "nullable": (lambda p: replace(p, weight=pd.array(p.weight, dtype="Float64")), "right"),
    "negative": (lambda p: replace(p, weight=-p.weight), "refused"),
    "none of them": (lambda p: replace(p, weight=0.0 * p.weight), "refused"),
    "unknown": (lambda p: replace(p, weight=p.weight * np.nan), "refused"),
    "words": (lambda p: replace(p, weight=["much"] * len(p.weight)), "refused"),
    "one row fewer": (lambda p: replace(p, weight=p.weight[:-1]), "refused"),
    "a table": (lambda p: replace(p, weight=np.column_stack([p.weight, p.weight])), "refused"),
}
ROWS = {
    "an array": (lambda p: replace(p, X=p.X.to_numpy()), "right"),
    "lists": (lambda p: replace(p, X=p.X.to_numpy().tolist()), "right"),
    "polars": (lambda p: replace(p, X=pytest.importorskip("polars").from_pandas(p.X)), "right"),
    "another index": (lambda p: replace(p, X=p.X.set_axis(np.arange(N)[::-1] + 3)), "right"),
    "an index of doubles": (lambda p: replace(p, X=p.X.set_axis(np.zeros(N, int))), "right"),
    "nullable numbers": (lambda p: replace(p, X=p.X.astype("Float64")), "right"),
    "one row fewer": (lambda p: replace(p, X=p.X.iloc[:-1]), "refused"),
    "no rows": (lambda p: replace(p, X=p.X.iloc[:0]), "refused"),
    "a dict of columns": (lambda p: replace(p, X=dict(p.X)), "refused"),
    "complex numbers": (lambda p: replace(p, X=p.X.astype(complex)), "refused"),
    "infinity": (lambda p: replace(p, X=p.X.replace(p.X.iloc[0, 0], np.inf)), "refused"),
}
PARTS = {"classes": CLASSES, "prices": MONEY, "weights": WEIGHTS, "rows": ROWS}
WAYS = {f"{part}: {name}": way for part, ways in PARTS.items() for name, way in ways.items()}
PAIRS = [pair for pair in combinations(WAYS, 2) if pair[0].split(":")[0] != pair[1].split(":")[0]]


def fit_and_decide(make):
    """Return a door: fit on the problem, decide its rows."""

    def door(p):
        kept = {"costs": p.costs, "cost_tensor": p.tensor}
        given = {name: value for name, value in kept.items() if value is not None}
        model = make(p.matrix).fit(p.X, p.y, sample_weight=p.weight, **given)
        return model.predict(p.X, cost_tensor=p.tensor)

    return door


def pay(p):
    """Return what deciding "fair" for all costs, relative to deciding "bad" for all."""
    given = {"cost_matrix": p.matrix, "cost_tensor": p.tensor, "sample_weight": p.weight}
    given["labels"] = LABELS
    costs = [average_cost(p.y, np.full(N, d), **given) for d in ("fair", "bad")]
    return np.round(costs[0] / costs[1], 9)


def compared(p):
    if p.weight is not None and not np.array_equal(p.weight, plain().weight):
        raise pytest.skip.Exception("compare takes no weights")
    given = {"cost_matrix": p.matrix, "costs": p.costs, "cost_tensor": p.tensor}
    methods = ["constant", "tree"]
    results = compare(p.X, p.y, **given, methods=methods, cv=2, random_state=0).results
    paid = [float(np.mean(results[name].paid)) for name in methods]
    return np.round(paid[1] / paid[0], 9)


DOORS = {
    "tree": fit_and_decide(lambda C: CostTreeClassifier(C, max_depth=3)),
    "logistic": fit_and_decide(
        lambda C: CostDecisionClassifier(LogisticRegression(), cost_matrix=C)
    ),
    "metric": pay,
    "compare": compared,
}


def is_there(door, name):
    """Return whether a door has what is written otherwise."""
    if door == "compare":
        return not name.startswith("weights")
    # A metric is given no rows, so that no index is there to stand in another order.
    return door != "metric" or not (name.startswith("rows") or "Series" in name)


# A metric is told the order of the classes, and takes a column for what it is.
OTHERWISE = {
    ("metric", "prices: no labels"): "right",
    ("metric", "prices: a list"): "right",
    ("metric", "classes: a column"): "right",
    ("compare", "classes: a column"): "right",
}
# Two things of which one takes away what the other was refused for.
NO_INDEX = {"rows: an array", "rows: lists", "rows: polars"}
TOGETHER = [
    ({"classes: a Series in another order"}, NO_INDEX),
    ({"classes: a Series of other rows"}, NO_INDEX),
    ({"weights: a Series in another order"}, NO_INDEX),
    # numbers have an order of their own
    (
        {"classes: codes"},
        {"prices: no labels", "prices: a list", "prices: of rows", "prices: of rows in 32 bits"},
    ),
    ({"classes: one row fewer"}, {"rows: one row fewer"}),
]


def wanted_of(door, name):
    return OTHERWISE.get((door, name), WAYS[name][1])


def outcome(door, problem, expected):
    """Return what came of a problem at a door: "right", "refused", "said" or "silent"."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            answer = door(problem)
        except (ValueError, TypeError):
            return "refused"
    if [w for w in told if issubclass(w.category, UserWarning)]:
        return "said"
    return "right" if np.array_equal(answer, expected) else "silent"


@pytest.fixture(scope="module")
def answers():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: door(plain()) for name, door in DOORS.items()}


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("door", ["tree", "logistic", "metric"])
def test_one_thing_is_written_otherwise(door, name, answers):
    if not is_there(door, name):
        pytest.skip("there is no such part at this door")
    changed = WAYS[name][0](plain())
    assert outcome(DOORS[door], changed, answers[door]) == wanted_of(door, name)


def try_pairs(door, pairs, answers):
    """Try two things at once; return how many went together, and those that were silent."""
    n, silent = 0, []
    for names in pairs:
        if not all(is_there(door, name) for name in names):
            continue
        if any(names[0] in ones and names[1] in others for ones, others in TOGETHER):
            continue
        one, two = (WAYS[name][0] for name in names)
        wanted = {wanted_of(door, name) for name in names}
        try:
            problem = two(one(plain()))
        except (AttributeError, KeyError, TypeError, ValueError):
            continue  # the second does not go with the form that the first has made
        came = outcome(DOORS[door], problem, answers[door])
        n += 1
        if came == "silent" or (came == "right" and wanted != {"right"}):
            silent.append((*names, came))
    return n, silent


@pytest.mark.parametrize("door", ["tree", "logistic", "metric"])
def test_two_things_are_written_otherwise(door, answers):
    drawn = np.random.default_rng(0).permutation(len(PAIRS))[:60]
    n, silent = try_pairs(door, [PAIRS[i] for i in drawn], answers)
    assert n > 20
    assert silent == []


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS)
def test_every_two_things_are_written_otherwise(door, answers):
    n, silent = try_pairs(door, PAIRS, answers)
    assert n > 250
    assert silent == []
