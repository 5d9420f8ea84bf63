"""A policy as operators of ONNX: what `Policy.settle` does, from the policy's dictionary alone."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from stakes.decision import program
from stakes.export._graph import Graph


class Prices(NamedTuple):
    """The input of prices of single rows, (n, n_classes, n_priced); optional unless `needed`."""

    name: str
    needed: bool


class Stated(NamedTuple):
    """What a model says of rows before its policy decides, as names of tensors.

    Parameters
    ----------
    proba : str or None
        Probabilities of the classes, (n, n_classes); of voters, shares of votes.
    expected : str or None
        Expected costs that it has learned, (n, n_priced).
    decided : str or None
        Positions of decisions, (n,), where it takes them itself; beside expected costs, those that
        it takes whatever the prices of rows are.
    scores : str or None
        What `decision_function` returns, (n, 1) for two classes, where it is no probability.
    """

    proba: str | None = None
    expected: str | None = None
    decided: str | None = None
    scores: str | None = None


class Answer(NamedTuple):
    """What is decided, as names of tensors.

    Parameters
    ----------
    decision : str
        Positions in the decisions, (n,).
    proba, scores : str or None
        As in `Stated`; probabilities calibrated, at the class frequencies in force.
    expected : str or None
        Expected costs of the decisions, (n, n_decisions).
    by_costs : bool
        Whether the decision is the one of least expected cost.
    """

    decision: str
    proba: str | None = None
    expected: str | None = None
    scores: str | None = None
    by_costs: bool = False


def n_priced(policy: dict) -> int:
    """Return how many decisions have prices of rows: all but leaving a row to somebody else."""
    return len(policy["decisions"]) - policy["abstains"]


def settle(g: Graph, said: Stated, policy: dict, prices: Prices | None) -> Answer:
    """Return the decisions about rows of which a model has said what it can.

    Parameters
    ----------
    g : Graph
        Is added to.
    said : Stated
        What the model says.
    policy : dict
        As `Policy.to_dict` returns it.
    prices : Prices or None
        The input of prices of single rows.
    """
    rule, table = policy["rule"], np.array(policy["prices"], dtype=float)
    proba = None if said.proba is None else in_force(g, said.proba, policy)
    aside = table[:, n_priced(policy) :]
    if said.expected is not None and policy["states"] in ("both", "costs"):
        expected = _beside(g, said.expected, proba, aside)
        own = said.decided  # what the prices of rows do not move
        decision = branch(
            g, prices if own else None, lambda name: str(own), lambda: _least(g, expected, policy)
        )
        return Answer(decision, proba, expected, by_costs=True)
    if proba is None or policy["states"] == "votes":
        assert said.decided is not None
        return Answer(said.decided, proba, scores=said.scores)
    expected = weighed(g, proba, table[:, : n_priced(policy)], prices)
    expected = _beside(g, expected, proba, aside)
    if rule is None:
        return Answer(_least(g, expected, policy), proba, expected, by_costs=True)
    scale, offset = (np.array(rule[name], dtype=float) for name in ("scale", "offset"))
    matrix = program.partition(table, scale, offset)
    scores = branch(
        g,
        prices if scale.any() else None,
        lambda name: by_rows(g, proba, _partition(g, name, scale, offset)),
        lambda: g.op("MatMul", proba, matrix),
    )
    decision, ruled = arg(g, "ArgMin", scores), scale.shape[1]
    if ruled < table.shape[1]:
        decision = _or_beside(g, decision, expected, ruled, table.shape[1])
    return Answer(decision, proba, expected)


def _least(g: Graph, expected: str, policy: dict) -> str:
    """Return the decision of least expected cost, at the prices that keep a stream to shares."""
    shadow = policy["shadow_prices"]
    return arg(g, "ArgMin", expected if shadow is None else g.op("Add", expected, [shadow]))


def weighed(g: Graph, proba: str, table: np.ndarray, prices: Prices | None) -> str:
    """Return the expected costs, by the prices of each row where they are given."""
    return branch(
        g,
        prices,
        lambda name: by_rows(g, proba, name),
        lambda: g.op("MatMul", proba, np.asarray(table, dtype=np.float64)),
    )


def branch(
    g: Graph, prices: Prices | None, given: Callable[[str], str], without: Callable[[], str]
) -> str:
    """Return what one of two ways computes, by whether the prices of rows were given."""
    if prices is None:
        return without()
    return given(prices.name) if prices.needed else g.if_given(prices.name, given, without)


def by_rows(g: Graph, proba: str, tables: str) -> str:
    """Return each row's probabilities times its own table, (n, n_decisions)."""
    by_row = g.op("MatMul", g.op("Unsqueeze", proba, np.array([1])), tables)
    return g.op("Squeeze", by_row, np.array([1]))


def arg(g: Graph, kind: str, scores: str) -> str:
    """Return the position of the least ("ArgMin") or greatest, the first of equal ones, (n,)."""
    return g.op(kind, scores, axis=1, keepdims=0)


def _beside(g: Graph, expected: str, proba: str | None, aside: np.ndarray) -> str:
    """Return the expected costs with those of the decisions that have the policy's prices alone."""
    if aside.shape[1] == 0:
        return expected
    known = g.repeat(aside[0], expected) if proba is None else g.op("MatMul", proba, aside)
    return g.concat([expected, known])


def _partition(g: Graph, prices: str, scale: np.ndarray, offset: np.ndarray) -> str:
    """Return what a rule weighs in the place of the prices of each row: `program.partition`."""
    least = g.op("ReduceMin", prices, axes=[2], keepdims=1)
    return g.op("Add", g.op("Mul", g.op("Sub", prices, least), scale[None]), offset[None])


def _or_beside(g: Graph, decision: str, expected: str, ruled: int, n_decisions: int) -> str:
    """Return what a rule decided, or a decision beyond its first ones that is expected to cost less."""
    parts = np.array([ruled, n_decisions - ruled])
    first, beside = g.ops("Split", 2, expected, parts, axis=1)
    own = g.op("GatherElements", first, g.op("Unsqueeze", decision, np.array([1])), axis=1)
    least = g.op("ReduceMin", beside, axes=[1], keepdims=1)
    leaves = g.op("Squeeze", g.op("Less", least, own), np.array([1]))
    return g.op("Where", leaves, g.op("Add", arg(g, "ArgMin", beside), ruled), decision)


# -- probabilities in force ----------------------------------------------------------------------


def in_force(g: Graph, proba: str, policy: dict) -> str:
    """Return probabilities calibrated, and at the class frequencies in force: `Policy.state`."""
    proba = calibrated(g, proba, policy["calibration"], len(policy["classes"]))
    if policy["priors"] is None:
        return proba
    factors = program.factors(*np.array(policy["priors"], dtype=float))
    weighed = g.op("Mul", proba, factors[None])
    total = g.sum(weighed)
    there = g.op("Greater", total, 0.0)
    return g.op("Where", there, g.op("Div", weighed, g.op("Where", there, total, 1.0)), proba)


def calibrated(g: Graph, proba: str, how: dict | None, n_classes: int) -> str:
    """Return calibrated probabilities: `program.calibrate`."""
    if how is None:
        return proba
    if how["method"] in ("softmax", "matrix"):
        kept = g.op("Max", proba, program.LEAST)
        logs = g.op("Log", g.op("Add", g.op("Div", kept, g.sum(kept)), float(how["added"])))
        scores = g.op("Mul", logs, np.array([how["slopes"]], dtype=float))
        biases = np.array([how["biases"]], dtype=float)
        if how["method"] == "matrix":
            unseen = float(how["unseen"])
            tempered = g.op("Mul", g.op("Softmax", scores, axis=1), 1.0 - unseen)
            mixed = g.op("Log", g.op("Add", tempered, unseen / n_classes))
            scores = g.op("MatMul", mixed, np.array(how["matrix"], dtype=float).T)
        return g.op("Softmax", g.op("Add", scores, biases), axis=1)
    maps = how["maps"]
    if len(maps) == 1:  # of two classes, the second's
        second = _mapped(g, g.column(proba, 1), maps[0], how["method"])
        return g.concat([g.op("Sub", 1.0, second), second])
    columns = [_mapped(g, g.column(proba, k), one, how["method"]) for k, one in enumerate(maps)]
    return g.normalized(g.concat(columns), n_classes)


def _mapped(g: Graph, p: str, one: dict, method: str) -> str:
    """Return one class's map of its probability, (n, 1)."""
    if method == "sigmoid":
        kept = g.op("Min", g.op("Max", p, program.LEAST), 1.0 - program.LEAST)
        odds = g.op("Log", g.op("Div", kept, g.op("Sub", 1.0, kept)))
        score = g.op("Add", g.op("Mul", odds, -float(one["slope"])), -float(one["bias"]))
        return g.op("Sigmoid", score)
    if method == "binning":
        return g.op("Gather", np.array(one["shares"], dtype=float), _place(g, p, one["edges"]))
    x, y = np.array(one["x"], dtype=float), np.array(one["y"], dtype=float)
    if len(x) == 1:
        return g.op("Add", g.op("Mul", p, 0.0), float(y[0]))
    slopes = np.diff(y) / np.diff(x)
    kept = g.op("Min", g.op("Max", p, x[0]), x[-1])
    at = _place(g, kept, x[1:-1])
    rise = g.op("Mul", g.op("Gather", slopes, at), g.op("Sub", kept, g.op("Gather", x[:-1], at)))
    return g.op("Add", g.op("Gather", y[:-1], at), rise)


def _place(g: Graph, p: str, edges: Any) -> str:
    """Return how many edges are at or below p, (n, 1)."""
    if not len(edges):
        return g.cast(g.op("Mul", p, 0.0), int)
    below = g.op("GreaterOrEqual", p, np.asarray(edges, dtype=float)[None])
    return g.sum(g.cast(below, int))
