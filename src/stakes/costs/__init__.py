"""What a mistake costs: one language for class costs and example costs."""

from stakes.costs._convert import binary_cost_tensor, cost_tensor_from_columns
from stakes.costs._costs import KINDS, Costs, make_costs
from stakes.costs._doubt import UncertainCostMatrix, parse_range, read_prices
from stakes.costs._examples import check_costs
from stakes.costs._matrix import CostMatrix, CostWarning
from stakes.costs._random import random_abe, random_uniform
from stakes.costs._validation import check_cost_matrix

__all__ = [
    "KINDS",
    "CostMatrix",
    "CostWarning",
    "Costs",
    "UncertainCostMatrix",
    "binary_cost_tensor",
    "check_cost_matrix",
    "check_costs",
    "cost_tensor_from_columns",
    "make_costs",
    "parse_range",
    "random_abe",
    "random_uniform",
    "read_prices",
]
