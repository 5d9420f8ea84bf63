"""From probabilities to decisions: rules on plain probabilities, and calibration."""

from stakes.decision._base_learners import (
    FeatureQuantizer,
    RegularizedQDA,
    quantized_naive_bayes,
)
from stakes.decision._binary import BinaryThreshold
from stakes.decision._calibration import ProbabilityCalibrator
from stakes.decision._classifier import CostDecisionClassifier
from stakes.decision._expected import decide, expected_costs
from stakes.decision._histogram import SweepHistogram
from stakes.decision._mossman import Mossman
from stakes.decision._partition import (
    ColumnPartition,
    FullPartition,
    ParallelPartition,
    RowPartition,
)
from stakes.decision._plot._calibration import ClassCalibrationDisplay
from stakes.decision._plot._cost_curve import CostCurveDisplay
from stakes.decision._plot._simplex import SimplexDecisionDisplay
from stakes.decision._plot._threshold_cost import ThresholdCostDisplay
from stakes.decision._rule import MinimumExpectedCost
from stakes.decision._thresholds import ClassThresholds, LachicheFlach

__all__ = [
    "BinaryThreshold",
    "ClassCalibrationDisplay",
    "ClassThresholds",
    "ColumnPartition",
    "CostCurveDisplay",
    "CostDecisionClassifier",
    "FeatureQuantizer",
    "FullPartition",
    "LachicheFlach",
    "MinimumExpectedCost",
    "Mossman",
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
]
