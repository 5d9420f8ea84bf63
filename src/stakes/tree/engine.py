"""The engine, as the other learners of this library use it.

It is an interface for them and not for users: it may change with any release. What is not named
here is private to `stakes.tree`, the columns of its tables of nodes above all.
"""

from stakes.tree._binning import BinnedData, Bins, sample_rows
from stakes.tree._features import Columns, check_features
from stakes.tree._grow import Measures, Workspace, grow_cost_tree
from stakes.tree._grower import TreeGrower
from stakes.tree._shared import Share, learn_together, place_shared_bins
from stakes.tree._structure import CostTree, Questions, RelationTree
from stakes.tree._threads import resolve_threads
from stakes.tree._tree import is_cost_tree
from stakes.tree._votes import PackedTrees, count_votes
from stakes.utils._sums import Sums

__all__ = [
    "BinnedData",
    "Bins",
    "Columns",
    "CostTree",
    "Measures",
    "PackedTrees",
    "Questions",
    "RelationTree",
    "Share",
    "Sums",
    "TreeGrower",
    "Workspace",
    "check_features",
    "count_votes",
    "grow_cost_tree",
    "is_cost_tree",
    "learn_together",
    "place_shared_bins",
    "resolve_threads",
    "sample_rows",
]
