"""How good were the decisions."""

from stakes.metrics._cost import average_cost, savings_score, stochastic_cost, total_cost
from stakes.metrics._imbalance import (
    confusion_norm,
    confusion_norm_bound,
    geometric_mean_score,
    mauc_score,
)
from stakes.metrics._plot._cost_matrix import CostMatrixDisplay
from stakes.metrics._scorer import make_cost_scorer

__all__ = [
    "CostMatrixDisplay",
    "average_cost",
    "confusion_norm",
    "confusion_norm_bound",
    "geometric_mean_score",
    "make_cost_scorer",
    "mauc_score",
    "savings_score",
    "stochastic_cost",
    "total_cost",
]
