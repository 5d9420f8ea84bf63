"""The decision layer as operators of ONNX."""

from typing import Any, NamedTuple

import numpy as np

from stakes.export._graph import Graph


class Prices(NamedTuple):
    """The input of prices of single rows, (n, n_classes, n_classes); optional unless `needed`."""

    name: str
    needed: bool


class Answer(NamedTuple):
    """What a classifier says, as names of tensors.

    Parameters
    ----------
    decision : str
        Positions in the labels, (n,).
    proba : str or None
        Probabilities of the classes, (n, n_classes).
    expected : str or None
        Expected costs of the decisions, (n, n_decisions).
    by_costs : bool
        Whether the decision is the one of least expected cost.
    scores : str or None
        What `decision_function` returns, (n, 1) for two classes, where it is no probability.
    """

    decision: str
    proba: str | None = None
    expected: str | None = None
    by_costs: bool = False
    scores: str | None = None


def expected_costs(g: Graph, proba: str, matrix: Any, prices: Prices | None) -> str:
    """Return the expected costs, by the prices of each row where they are given."""
    return branch(
        g,
        prices,
        lambda: [by_prices(g, proba, prices)],
        lambda: [g.op("MatMul", proba, np.asarray(matrix, dtype=np.float64))],
    )[0]


def by_prices(g: Graph, proba: str, prices: Prices | None) -> str:
    """Return the expected costs by the prices of each row, which are given."""
    assert prices is not None
    return _weigh(g, proba, prices.name)


def branch(g: Graph, prices: Prices | None, given: Any, without: Any) -> list[str]:
    """Return what one of two ways computes, by whether the prices of rows were given."""
    if prices is None:
        return without()
    return given() if prices.needed else g.if_given(prices.name, given, without)


def _weigh(g: Graph, proba: str, prices: str) -> str:
    by_row = g.op("MatMul", g.op("Unsqueeze", proba, np.array([1])), prices)
    return g.op("Squeeze", by_row, np.array([1]))


def arg(g: Graph, kind: str, scores: str) -> str:
    """Return the position of the least ("ArgMin") or greatest, the first of equal ones, (n,)."""
    return g.op(kind, scores, axis=1, keepdims=0)


def decide_by_layer(g: Graph, proba: str, layer: dict, prices: Prices | None) -> Answer:
    """Return calibrated probabilities, expected costs and decisions of a layer."""
    n_classes = len(layer["labels"])
    proba = calibrate(g, proba, layer["calibration"], n_classes)
    if layer["shifts"] is not None:
        proba = shifted(g, proba, np.array(layer["shifts"]["factors"], dtype=float))
    if layer["with_prices"] is None:
        prices = None
    expected = expected_costs(g, proba, layer["cost_matrix"], prices)
    rule, by_row = layer["rule"], layer["with_prices"]
    by_costs = rule == {"kind": "matrix", "parameters": layer["cost_matrix"]}
    if by_costs and (by_row is None or by_row["kind"] == "matrix"):
        decision = arg(g, "ArgMin", expected)
    else:
        decision = branch(
            g,
            prices,
            lambda: [_decide(g, proba, by_row, prices.name if prices else None)],
            lambda: [_decide(g, proba, rule, None)],
        )[0]
    if layer["abstain"] is not None:
        costs = np.array(layer["abstain"]["costs"])[:, None]
        aside = g.op("MatMul", proba, costs)
        own = g.op("GatherElements", expected, g.op("Unsqueeze", decision, np.array([1])), axis=1)
        leaves = g.op("Squeeze", g.op("Less", aside, own), np.array([1]))
        decision = g.op("Where", leaves, np.array(n_classes), decision)
        expected = g.concat([expected, aside])
    return Answer(decision, proba, expected, by_costs)


def shifted(g: Graph, proba: str, factors: np.ndarray) -> str:
    """Return probabilities times factors, rows summing to 1 again; as they are where all are 0."""
    weighed = g.op("Mul", proba, factors[None])
    total = g.sum(weighed)
    there = g.op("Greater", total, 0.0)
    return g.op("Where", there, g.op("Div", weighed, g.op("Where", there, total, 1.0)), proba)


def _decide(g: Graph, proba: str, rule: dict, prices: str | None) -> str:
    kind, parameters = rule["kind"], rule["parameters"]
    if kind == "threshold":
        above = g.op("Greater", g.column(proba, 1), float(parameters))
        return g.op("Squeeze", g.cast(above, int), np.array([1]))
    if kind == "thresholds":
        return arg(g, "ArgMax", g.op("Div", proba, np.array([parameters], dtype=float)))
    if kind == "weights":
        return arg(g, "ArgMax", g.op("Mul", proba, np.array([parameters], dtype=float)))
    if kind == "mossman":
        first, second = parameters
        gap = g.op("Sub", g.column(proba, 1), g.column(proba, 0))
        split = g.cast(g.op("Greater", gap, float(second)), int)
        third = g.op("Greater", g.column(proba, 2), float(first))
        return g.op("Squeeze", g.op("Where", third, np.array([[2]]), split), np.array([1]))
    if prices is None:
        return arg(g, "ArgMin", g.op("MatMul", proba, np.array(parameters, dtype=float)))
    # Each row of prices has its least at 0, so that scaling a decision means something.
    least = g.op("ReduceMin", prices, axes=[2], keepdims=1)
    shifted = prices if kind == "matrix" else g.op("Sub", prices, least)
    if kind == "class_scale":
        proba = g.op("Mul", proba, np.array([parameters], dtype=float))
    scores = _weigh(g, proba, shifted)
    if kind in ("shift", "scale"):
        by = np.array([parameters], dtype=float)
        scores = g.op("Add" if kind == "shift" else "Mul", scores, by)
    return arg(g, "ArgMin", scores)


# -- calibration -------------------------------------------------------------------------------


def calibrate(g: Graph, proba: str, how: dict, n_classes: int) -> str:
    """Return calibrated probabilities."""
    method = how["method"]
    if method == "none":
        return proba
    if method == "softmax":
        kept = g.op("Max", proba, how["least"])
        logs = g.op("Log", g.op("Add", g.op("Div", kept, g.sum(kept)), how["added"]))
        slopes, biases = (np.array([how[k]], dtype=float) for k in ("slopes", "biases"))
        scores = g.op("Add", g.op("Mul", logs, slopes), biases)
        return g.op("Softmax", scores, axis=1)
    maps = how["maps"]
    if len(maps) == 1:  # two classes: a map of the second
        second = _apply(g, g.column(proba, 1), maps[0], how)
        return g.concat([g.op("Sub", 1.0, second), second])
    columns = [_apply(g, g.column(proba, k), one, how) for k, one in enumerate(maps)]
    return g.normalized(g.concat(columns), n_classes)


def _apply(g: Graph, p: str, one: dict, how: dict) -> str:
    """Return one class's map of its probability, (n, 1)."""
    if how["method"] == "sigmoid":
        least = how["least"]
        kept = g.op("Min", g.op("Max", p, least), 1.0 - least)
        odds = g.op("Log", g.op("Div", kept, g.op("Sub", 1.0, kept)))
        score = g.op("Add", g.op("Mul", odds, -one["slope"]), -one["bias"])
        return g.op("Sigmoid", score)
    if how["method"] == "binning":
        return g.op("Gather", np.array(one["shares"]), _place(g, p, one["edges"]))
    x, y = np.array(one["x"]), np.array(one["y"])
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
