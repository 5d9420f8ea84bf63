"""Estimator checks and small helpers."""

from stakes.utils._discovery import all_estimators
from stakes.utils.estimator_checks import check_cost_sensitive

__all__ = ["all_estimators", "check_cost_sensitive"]
