"""Estimator checks and small helpers."""

from stakes.utils.estimator_checks import check_cost_sensitive

__all__ = ["check_cost_sensitive"]
