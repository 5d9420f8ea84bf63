"""The decision layer: from a model's probabilities to a decision, as plain numbers.

One dictionary says it all, and everything reads it: the file in JSON, the graph of ONNX, the
expression in SQL. What it does not know how to say is refused here.
"""

from typing import Any

import numpy as np

from stakes.decision import (
    BinaryThreshold,
    ClassThresholds,
    ColumnPartition,
    FullPartition,
    LachicheFlach,
    MinimumExpectedCost,
    Mossman,
    MostProbable,
    ParallelPartition,
    ProbabilityCalibrator,
    RowPartition,
)

FORMAT = "stakes-decision-layer-1"
# Probabilities are kept this far from 0 and 1 before their logarithm is taken.
LEAST = 1e-5


class NotExportable(ValueError):
    """A model that cannot be taken elsewhere as it is, and why."""


def layer_of(
    rule: Any,
    *,
    labels: list,
    cost_matrix: np.ndarray,
    calibrator: Any = None,
    abstain: tuple[Any, np.ndarray] | None = None,
    factors: np.ndarray | None = None,
) -> dict:
    """Return the decision layer of a fitted rule, with what comes before and after it.

    Parameters
    ----------
    rule : rule or None
        Fitted; None decides at least expected cost.
    labels : list
        The class labels, in the order of the probabilities.
    cost_matrix : ndarray of shape (n_classes, n_classes)
        What decisions cost, [true, predicted].
    calibrator : ProbabilityCalibrator, default=None
        What corrects the probabilities first.
    abstain : tuple of (label, costs), default=None
        What leaving a row to people is called, and costs for each true class.
    factors : ndarray of shape (n_classes,), default=None
        By what probabilities are multiplied where class frequencies are not those of training.
    """
    how, with_prices = _rule_numbers(rule, cost_matrix)
    return {
        "format": FORMAT,
        "labels": labels,
        "cost_matrix": np.asarray(cost_matrix).tolist(),
        "calibration": calibration_of(calibrator),
        "rule": {"kind": how[0], "parameters": np.asarray(how[1]).tolist()},
        "with_prices": None
        if with_prices is None
        else {
            "kind": with_prices[0],
            "parameters": None if with_prices[1] is None else np.asarray(with_prices[1]).tolist(),
        },
        "abstain": None
        if abstain is None
        else {"label": abstain[0], "costs": abstain[1].tolist()},
        "shifts": None if factors is None else {"factors": factors.tolist()},
        "limits": None,
    }


def _rule_numbers(rule: Any, cost_matrix: np.ndarray) -> tuple[tuple, tuple | None]:
    """Return (kind, parameters) of a rule without and with prices of single rows."""
    least = ("matrix", cost_matrix), ("matrix", None)
    kind = type(rule)
    if rule is None or kind is MinimumExpectedCost:
        return least
    if kind is MostProbable:
        even = ("thresholds", np.ones(len(cost_matrix)))
        return even, even
    if kind is BinaryThreshold:
        theoretical = rule.shrunk_ or rule.method == "theoretical"
        value = rule.theoretical_threshold_ if theoretical else rule.threshold_
        return ("threshold", value), ("matrix", None) if rule._can_weigh() else None
    if getattr(rule, "shrunk_", False):
        return least[0], least[1] if rule._can_weigh() else None
    if kind is ClassThresholds:
        return ("thresholds", rule.thresholds_), None
    if kind is LachicheFlach:
        return ("weights", rule.weights_), None
    if kind is Mossman:
        return ("mossman", rule.deltas_), None
    if kind is FullPartition:
        return ("matrix", rule.partition_), None
    names = {ParallelPartition: "shift", RowPartition: "scale", ColumnPartition: "class_scale"}
    if kind in names:
        return ("matrix", rule.partition_), (names[kind], rule.parameters_)
    raise NotExportable(
        f"The rule {kind.__name__} has no export: use one of this library's own rules."
    )


def calibration_of(calibrator: Any) -> dict:
    """Return the map of a `ProbabilityCalibrator` as numbers."""
    if calibrator is None:
        return {"method": "none"}
    if type(calibrator) is not ProbabilityCalibrator:
        raise NotExportable(
            f"The calibration {type(calibrator).__name__} has no export: use ProbabilityCalibrator."
        )
    method = calibrator.method
    if method == "matrix":
        raise NotExportable('The calibration "matrix" has no export: take "vector" instead.')
    if method == "temperature":
        slope = float(calibrator._map.beta_)
        # scikit-learn adds this before it takes the logarithm
        how = {"method": "softmax", "least": LEAST, "added": 1e-12}
        return how | {"slopes": [slope], "biases": [0.0]}
    if method == "vector":
        slopes, biases = calibrator.slopes_.tolist(), calibrator.biases_.tolist()
        how = {"method": "softmax", "least": LEAST, "added": 0.0}
        return how | {"slopes": slopes, "biases": biases}
    if method == "sigmoid":
        maps = [{"slope": float(m.a_), "bias": float(m.b_)} for m in calibrator._map]
        return {"method": "sigmoid", "least": LEAST, "maps": maps}
    if method == "isotonic":
        knots = [
            {"x": m.X_thresholds_.tolist(), "y": m.y_thresholds_.tolist()} for m in calibrator._map
        ]
        return {"method": "isotonic", "maps": knots}
    bins = [{"edges": e.tolist(), "shares": s.tolist()} for e, s in calibrator._map]
    return {"method": "binning", "maps": bins}
