"""From probabilities to decisions: rules on plain probabilities, and calibration."""

from stakes.decision._calibration import ProbabilityCalibrator
from stakes.decision._capacity import CapacityPlan, CapacityStream, decide_within
from stakes.decision._cascade import CascadeClassifier
from stakes.decision._classifier import CostDecisionClassifier
from stakes.decision._constant import ConstantDecisionClassifier
from stakes.decision._decided import Decided, decide_by_costs
from stakes.decision._declare import rule
from stakes.decision._doubt import (
    ValueOfKnowing,
    as_uncertain,
    break_even_prices,
    conditional_means,
    decide_under_doubt,
    value_of_knowing,
)
from stakes.decision._expected import decide, expected_costs
from stakes.decision._explain import DecisionExplanation, explain_decision
from stakes.decision._numbers import Doubt, NoMatrix, Partition
from stakes.decision._plot._calibration import ClassCalibrationDisplay
from stakes.decision._plot._cost_curve import CostCurveDisplay
from stakes.decision._plot._simplex import SimplexDecisionDisplay
from stakes.decision._plot._threshold_cost import ThresholdCostDisplay
from stakes.decision._policy import Policy
from stakes.decision._risk import RiskControl
from stakes.decision._rule import BaseRule, known_rules
from stakes.decision._rules._binary import BinaryThreshold
from stakes.decision._rules._doubt import LeastRegret, RiskAverse
from stakes.decision._rules._mossman import Mossman
from stakes.decision._rules._partition import (
    ColumnPartition,
    FullPartition,
    ParallelPartition,
    RowPartition,
)
from stakes.decision._rules._plain import MinimumExpectedCost, MostProbable
from stakes.decision._rules._thresholds import ClassThresholds, LachicheFlach
from stakes.decision._shift import PriorShift, estimate_priors, shift_priors

__all__ = [
    "BaseRule",
    "BinaryThreshold",
    "CapacityPlan",
    "CapacityStream",
    "CascadeClassifier",
    "ClassCalibrationDisplay",
    "ClassThresholds",
    "ColumnPartition",
    "ConstantDecisionClassifier",
    "CostCurveDisplay",
    "CostDecisionClassifier",
    "Decided",
    "DecisionExplanation",
    "Doubt",
    "FullPartition",
    "LachicheFlach",
    "LeastRegret",
    "MinimumExpectedCost",
    "Mossman",
    "MostProbable",
    "NoMatrix",
    "ParallelPartition",
    "Partition",
    "Policy",
    "PriorShift",
    "ProbabilityCalibrator",
    "RiskAverse",
    "RiskControl",
    "RowPartition",
    "SimplexDecisionDisplay",
    "ThresholdCostDisplay",
    "ValueOfKnowing",
    "as_uncertain",
    "break_even_prices",
    "conditional_means",
    "decide",
    "decide_by_costs",
    "decide_under_doubt",
    "decide_within",
    "estimate_priors",
    "expected_costs",
    "explain_decision",
    "rule",
    "shift_priors",
    "value_of_knowing",
]

# The names above are written out for readers and type checkers. A rule in a new file of `_rules`
# is public without a line here.
for _rule_class in known_rules().values():
    if _rule_class.__name__ not in __all__:
        globals()[_rule_class.__name__] = _rule_class
        __all__.append(_rule_class.__name__)
