"""Files of the first version, "decision layers", in the form of today's policies."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from stakes.decision import Partition, Policy

OLD_FORMAT = "stakes-decision-layer-1"
PARTS = ("labels", "cost_matrix", "calibration", "rule", "with_prices", "abstain", "shifts")


def as_policy_numbers(layer: Mapping) -> dict[str, Any]:
    """Return the dictionary of the policy that decides as an old layer did.

    Parameters
    ----------
    layer : dict
        Of the format "stakes-decision-layer-1".
    """
    if any(name not in layer for name in PARTS) or layer.get("limits") is not None:
        raise ValueError(
            "This decision layer of an older version is not whole, or keeps to limits: write it "
            "again with stakes.export.to_json."
        )
    prices, how, weighs = layer["cost_matrix"], layer["calibration"], layer["with_prices"]
    shifts = layer["shifts"]
    policy = Policy(
        classes=layer["labels"],
        prices=np.array(prices, dtype=float),
        rule=_partition(layer["rule"], weighs, np.array(prices, dtype=float)),
        calibration=None if how["method"] == "none" else dict(how),
        priors=None if shifts is None else np.array(shifts["factors"], dtype=float),
        training_priors=None if shifts is None else np.ones(len(prices)),
        weighs_prices=weighs is not None,
    )
    if layer["abstain"] is not None:
        policy = policy.with_abstention(layer["abstain"]["costs"], layer["abstain"]["label"])
    return policy.to_dict()


def _partition(rule: Mapping, by_row: Mapping | None, prices: np.ndarray) -> Partition | None:
    """Return what an old rule weighed in the place of the prices; None for the prices themselves."""
    kind, k = rule["kind"], len(prices)
    if by_row is not None and by_row["kind"] == "matrix":
        return None  # least expected cost, as its theoretical threshold has it too
    given = np.array((rule if by_row is None else by_row)["parameters"], dtype=float)
    if by_row is not None and by_row["kind"] == "shift":
        return Partition(np.ones((k, k)), np.tile(given, (k, 1)))
    if by_row is not None and by_row["kind"] == "scale":
        return Partition(np.tile(given, (k, 1)), np.zeros((k, k)))
    if by_row is not None and by_row["kind"] == "class_scale":
        return Partition(np.tile(given[:, None], (1, k)), np.zeros((k, k)))
    if kind == "threshold":
        return Partition.fixed(np.array([[0.0, given], [1.0 - given, 0.0]]))
    if kind == "thresholds":
        return Partition.fixed(-np.diag(1.0 / given))
    if kind == "weights":
        return Partition.fixed(-np.diag(given))
    if kind == "mossman":
        # the third class above the first number; else the second where p_2 - p_1 is above the other
        first, split = given
        small = 1e-20 * np.array([[-split, 1.0], [1.0 - split, 0.0], [-split, 0.0]])
        return Partition.fixed(np.column_stack([small, [first, first, first - 1.0]]))
    return None if np.array_equal(given, prices) else Partition.fixed(given)
