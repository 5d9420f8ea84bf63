"""Logged decisions: what was done, what it cost, and what something else would have cost."""

from stakes.logged._logs import LoggedCosts, costs_from_logs
from stakes.logged._overlap import NoOverlapError, OverlapWarning
from stakes.logged._selective import CostBounds, cost_bounds
from stakes.logged._sensitivity import policy_bounds, tipping_strength
from stakes.logged._support import SupportedPolicy
from stakes.logged._value import PolicyCost, policy_cost

__all__ = [
    "CostBounds",
    "LoggedCosts",
    "NoOverlapError",
    "OverlapWarning",
    "PolicyCost",
    "SupportedPolicy",
    "cost_bounds",
    "costs_from_logs",
    "policy_bounds",
    "policy_cost",
    "tipping_strength",
]
