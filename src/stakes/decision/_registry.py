"""The rules by name."""

from sklearn.base import clone

from stakes.decision._binary import BinaryThreshold
from stakes.decision._mossman import Mossman
from stakes.decision._partition import (
    ColumnPartition,
    FullPartition,
    ParallelPartition,
    RowPartition,
)
from stakes.decision._rule import MinimumExpectedCost
from stakes.decision._thresholds import ClassThresholds, LachicheFlach

RULES = {
    "minimum_expected_cost": MinimumExpectedCost,
    "binary_threshold": BinaryThreshold,
    "class_thresholds": ClassThresholds,
    "parallel_partition": ParallelPartition,
    "column_partition": ColumnPartition,
    "row_partition": RowPartition,
    "full_partition": FullPartition,
    "lachiche_flach": LachicheFlach,
    "mossman": Mossman,
}


def make_rule(rule):
    """Return a new, unfitted rule from its name or from an object.

    A rule inside a classifier decides by the classifier's costs.
    """
    if isinstance(rule, str):
        return RULES[rule]()
    if getattr(rule, "cost_matrix", None) is not None:
        raise ValueError(
            f"The rule {type(rule).__name__} has a cost_matrix of its own: give it to the "
            "classifier instead, whose costs its rule decides by."
        )
    return clone(rule)
