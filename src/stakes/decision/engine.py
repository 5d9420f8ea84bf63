"""What the other packages of this library use of deciding.

It is an interface for them and not for users: it may change with any release. What is neither named
here nor public is private to `stakes.decision`.
"""

from stakes.decision._capacity import capacity_bounds
from stakes.decision._histogram import Chunks, fit_in_chunks
from stakes.decision._learned import FamilyRule
from stakes.decision._mixin import PolicyMixin, adapt_policy
from stakes.decision._policy import NO_LIMITS
from stakes.decision._rule import make_rule
from stakes.decision._shift import class_moments, mixture_of, shift_in_words
