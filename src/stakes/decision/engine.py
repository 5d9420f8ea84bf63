"""What the other packages of this library use of deciding.

It is an interface for them and not for users: it may change with any release. What is neither named
here nor public is private to `stakes.decision`.
"""

from stakes.decision._boosters import fit_xgboost
from stakes.decision._capacity import capacity_bounds
from stakes.decision._mixin import PolicyMixin, adapt_policy
from stakes.decision._policy import NO_LIMITS
from stakes.decision._shift import class_moments, mixture_of, shift_in_words
from stakes.decision._spread import Split, why_not_spread

__all__ = [
    "NO_LIMITS",
    "PolicyMixin",
    "Split",
    "adapt_policy",
    "capacity_bounds",
    "class_moments",
    "fit_xgboost",
    "mixture_of",
    "shift_in_words",
    "why_not_spread",
]
