"""Cost-sensitive learning with any classifier, by weighting, sampling or relabelling.

All of them serve class costs and costs known in hindsight, example costs that are seen in
training alone. For costs known when deciding there is ``MetaCostClassifier(relabel=False)``.

Where a class says in its notes what another setting costs, it gives a factor: the geometric
mean of the test cost relative to that of the default. The defaults were chosen by these
factors, on nine data sets (Balance, Car, Dermatology, Ecoli, Solar flare, Glass, New-thyroid,
Vehicle, Yeast), three splits of 2/3 and `random_abe` costs each.
"""

from stakes._learning.draws import rejection_sample
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
