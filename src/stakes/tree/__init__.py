"""The engine: trees grown directly on costs."""

from stakes.tree._export import export_cost_tree, plot_cost_tree
from stakes.tree._forest import CostForestClassifier
from stakes.tree._tree import CostTreeClassifier

__all__ = ["CostForestClassifier", "CostTreeClassifier", "export_cost_tree", "plot_cost_tree"]
