"""How good were the decisions."""

from stakes.metrics._cost import average_cost, savings_score, stochastic_cost, total_cost

__all__ = ["average_cost", "savings_score", "stochastic_cost", "total_cost"]
