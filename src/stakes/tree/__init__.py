"""The engine: trees grown directly on costs."""

from stakes.tree._forest import CostForestClassifier
from stakes.tree._tree import CostTreeClassifier

__all__ = ["CostForestClassifier", "CostTreeClassifier"]
