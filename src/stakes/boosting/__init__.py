"""Boosting on a cost matrix."""

from stakes.boosting._adaboost_mm import AdaBoostMMClassifier
from stakes.boosting._adaboost_nc import AdaBoostNCClassifier
from stakes.boosting._combo import CoMBoClassifier
from stakes.boosting._smoteboost import SMOTEBoostClassifier

__all__ = [
    "AdaBoostMMClassifier",
    "AdaBoostNCClassifier",
    "CoMBoClassifier",
    "SMOTEBoostClassifier",
]
