"""How good were the decisions."""

from stakes.metrics._cost import (
    average_cost,
    cost_interval,
    savings_score,
    stochastic_cost,
    total_cost,
)
from stakes.metrics._imbalance import (
    confusion_norm,
    confusion_norm_bound,
    geometric_mean_score,
    mauc_score,
)
from stakes.metrics._plot._cost_matrix import CostMatrixDisplay
from stakes.metrics._plot._curves import BrierCurveDisplay, DecisionCurveDisplay
from stakes.metrics._scorer import make_cost_scorer
from stakes.metrics._worth import (
    PriceCurve,
    brier_curve,
    cost_curve,
    decision_curve,
    net_benefit,
)

__all__ = [
    "BrierCurveDisplay",
    "CostMatrixDisplay",
    "DecisionCurveDisplay",
    "PriceCurve",
    "average_cost",
    "brier_curve",
    "confusion_norm",
    "confusion_norm_bound",
    "cost_curve",
    "cost_interval",
    "decision_curve",
    "geometric_mean_score",
    "make_cost_scorer",
    "mauc_score",
    "net_benefit",
    "savings_score",
    "stochastic_cost",
    "total_cost",
]
