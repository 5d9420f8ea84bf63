"""From probabilities to decisions: rules on plain probabilities, and calibration."""

from stakes.decision._calibration import ProbabilityCalibrator
from stakes.decision._classifier import CostDecisionClassifier
from stakes.decision._expected import decide, expected_costs
from stakes.decision._rule import MinimumExpectedCost

__all__ = [
    "CostDecisionClassifier",
    "MinimumExpectedCost",
    "ProbabilityCalibrator",
    "decide",
    "expected_costs",
]
