"""What decisions cost before their truth is known, and alarms when that changes."""

from stakes.monitor._estimate import CostEstimate
from stakes.monitor._monitor import Monitor, estimate_cost
from stakes.monitor._reference import Reference

__all__ = ["CostEstimate", "Monitor", "Reference", "estimate_cost"]
