"""What the other packages of this library use of comparing.

It is an interface for them and not for users: it may change with any release. What is neither named
here nor public is private to `stakes.compare`.
"""

from stakes.compare._compare import capacity_of_folds, choose_methods, run_units, tell
from stakes.compare._comparison import label_order
from stakes.compare._fitting import UnfitMethodError
from stakes.compare._model import column_quantiles, policy_of
from stakes.compare._problem import Problem, fingerprint
from stakes.compare._registry import all_methods, find_method
from stakes.compare._work import FoldWork
