"""What a mistake costs: one language for class costs and example costs."""

from stakes.costs._choices import ONLY_CLASSES, Choices, repeated, settle_columns
from stakes.costs._convert import binary_cost_tensor, cost_tensor_from_columns
from stakes.costs._costs import KINDS, Costs, make_costs, truth_of_costs
from stakes.costs._doubt import UncertainCostMatrix, parse_range, read_prices
from stakes.costs._examples import CostTensor, check_costs
from stakes.costs._matrix import CostMatrix
from stakes.costs._random import random_abe, random_uniform
from stakes.costs._read import CostWarning, read_labelled
from stakes.costs._templates import (
    churn_costs,
    credit_costs,
    fraud_costs,
    maintenance_costs,
    triage_costs,
)
from stakes.costs._validation import (
    HEURISTICS,
    check_cost_matrix,
    check_order,
    class_prices,
    read_cost_matrix,
)

__all__ = [
    "HEURISTICS",
    "KINDS",
    "ONLY_CLASSES",
    "Choices",
    "CostMatrix",
    "CostTensor",
    "CostWarning",
    "Costs",
    "UncertainCostMatrix",
    "binary_cost_tensor",
    "check_cost_matrix",
    "check_costs",
    "check_order",
    "churn_costs",
    "class_prices",
    "cost_tensor_from_columns",
    "credit_costs",
    "fraud_costs",
    "maintenance_costs",
    "make_costs",
    "parse_range",
    "random_abe",
    "random_uniform",
    "read_cost_matrix",
    "read_labelled",
    "read_prices",
    "repeated",
    "settle_columns",
    "triage_costs",
    "truth_of_costs",
]
