"""The engine, as the other learners of this library use it.

It is an interface for them and not for users: it may change with any release. What is not named
here is private to `stakes.tree`, the columns of its tables of nodes above all.
"""

from stakes.tree._binning import (
    BinnedData,
    Bins,
    categorical_column,
    count_categories,
    sample_rows,
)
from stakes.tree._features import Columns, check_features
from stakes.tree._forest import calibration_step, n_drawn
from stakes.tree._grow import Limits, Measures, Workspace, grow_cost_tree, label_dtype
from stakes.tree._grower import Share, TreeGrower
from stakes.tree._structure import CostTree, Questions, RelationTree
from stakes.tree._threads import resolve_threads
from stakes.tree._tree import is_cost_tree
from stakes.tree._votes import PackedTrees, average_unseen, count_votes
from stakes.utils._sums import Sums
