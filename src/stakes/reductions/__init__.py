"""Cost-sensitive learning with any classifier, by weighting, sampling or relabelling."""

from stakes.reductions._all_pairs import WeightedAllPairsClassifier
from stakes.reductions._average import AverageCostClassifier
from stakes.reductions._cost_regression import CostRegressionClassifier
from stakes.reductions._costing import CostingClassifier
from stakes.reductions._data_space_expansion import DataSpaceExpansionClassifier
from stakes.reductions._filter_tree import FilterTreeClassifier
from stakes.reductions._gbse import GBSEClassifier
from stakes.reductions._iterative_weighting import IterativeWeightingClassifier
from stakes.reductions._metacost import MetaCostClassifier
from stakes.reductions._one_vs_one import CostSensitiveOneVsOneClassifier
from stakes.reductions._sampling import rejection_sample

__all__ = [
    "AverageCostClassifier",
    "CostRegressionClassifier",
    "CostSensitiveOneVsOneClassifier",
    "CostingClassifier",
    "DataSpaceExpansionClassifier",
    "FilterTreeClassifier",
    "GBSEClassifier",
    "IterativeWeightingClassifier",
    "MetaCostClassifier",
    "WeightedAllPairsClassifier",
    "rejection_sample",
]
