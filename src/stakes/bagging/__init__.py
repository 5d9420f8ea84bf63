"""Bagging with costs that adapt to what the ensemble still gets wrong."""

from stakes.bagging._arcing import ArcX4Classifier
from stakes.bagging._bacing import BacingClassifier
from stakes.bagging._display import AdaptiveCostDisplay
from stakes.bagging._l1_svm import L1LinearSVC

__all__ = ["AdaptiveCostDisplay", "ArcX4Classifier", "BacingClassifier", "L1LinearSVC"]
