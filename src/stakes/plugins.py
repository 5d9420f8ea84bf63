"""What another package needs to enter a method of its own.

Declare it beside its class with `method` (a rule with `rule`), and name the module in the entry
point group ``stakes.methods`` of the package. It is then listed, compared, fitted, saved and checked
as ours are.
"""

from stakes._base import CostSensitiveMixin, ExpectedCostMixin
from stakes._methods import Setting, at_most, method, with_options
from stakes.decision import BaseRule, rule

__all__ = [
    "BaseRule",
    "CostSensitiveMixin",
    "ExpectedCostMixin",
    "Setting",
    "at_most",
    "method",
    "rule",
    "with_options",
]
