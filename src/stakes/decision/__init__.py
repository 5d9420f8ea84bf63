"""From probabilities to decisions: rules on plain probabilities, and calibration."""

from stakes.decision._base_learners import FeatureQuantizer, RegularizedQDA, quantized_naive_bayes
from stakes.decision._calibration import ProbabilityCalibrator
from stakes.decision._classifier import CostDecisionClassifier
from stakes.decision._constant import ConstantDecisionClassifier
from stakes.decision._declare import rule
from stakes.decision._expected import decide, expected_costs
from stakes.decision._histogram import SweepHistogram
from stakes.decision._plot._calibration import ClassCalibrationDisplay
from stakes.decision._plot._cost_curve import CostCurveDisplay
from stakes.decision._plot._simplex import SimplexDecisionDisplay
from stakes.decision._plot._threshold_cost import ThresholdCostDisplay
from stakes.decision._rule import BaseRule, known_rules
from stakes.decision._rules._binary import BinaryThreshold
from stakes.decision._rules._mossman import Mossman
from stakes.decision._rules._partition import (
    ColumnPartition,
    FullPartition,
    ParallelPartition,
    RowPartition,
)
from stakes.decision._rules._plain import MinimumExpectedCost, MostProbable
from stakes.decision._rules._thresholds import ClassThresholds, LachicheFlach

__all__ = [
    "BaseRule",
    "BinaryThreshold",
    "ClassCalibrationDisplay",
    "ClassThresholds",
    "ColumnPartition",
    "ConstantDecisionClassifier",
    "CostCurveDisplay",
    "CostDecisionClassifier",
    "FeatureQuantizer",
    "FullPartition",
    "LachicheFlach",
    "MinimumExpectedCost",
    "Mossman",
    "MostProbable",
    "ParallelPartition",
    "ProbabilityCalibrator",
    "RegularizedQDA",
    "RowPartition",
    "SimplexDecisionDisplay",
    "SweepHistogram",
    "ThresholdCostDisplay",
    "decide",
    "expected_costs",
    "quantized_naive_bayes",
    "rule",
]

# The names above are written out for readers and type checkers. A rule in a new file of `_rules`
# is public without a line here.
for _rule_class in known_rules().values():
    if _rule_class.__name__ not in __all__:
        globals()[_rule_class.__name__] = _rule_class
        __all__.append(_rule_class.__name__)
