"""The default estimator, and boosting on expected costs."""

from stakes.auto._expected_cost_boosting import ExpectedCostBoostingClassifier
from stakes.auto._stakes import StakesClassifier

__all__ = ["ExpectedCostBoostingClassifier", "StakesClassifier"]
