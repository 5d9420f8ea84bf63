"""What a mistake costs: one language for class costs and example costs."""

from stakes.costs._convert import binary_cost_tensor, cost_tensor_from_columns
from stakes.costs._matrix import CostMatrix, CostWarning
from stakes.costs._random import random_abe, random_uniform
from stakes.costs._validation import (
    TrainingCosts,
    check_cost_matrix,
    check_costs,
    resolve_costs,
)

__all__ = [
    "CostMatrix",
    "CostWarning",
    "TrainingCosts",
    "binary_cost_tensor",
    "check_cost_matrix",
    "check_costs",
    "cost_tensor_from_columns",
    "random_abe",
    "random_uniform",
    "resolve_costs",
]
