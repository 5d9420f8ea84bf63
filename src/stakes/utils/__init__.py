"""Estimator checks, numbered warnings and small helpers."""

from stakes.utils._checks import ignoring, list_checks
from stakes.utils.estimator_checks import check_cost_sensitive

__all__ = ["check_cost_sensitive", "ignoring", "list_checks"]
