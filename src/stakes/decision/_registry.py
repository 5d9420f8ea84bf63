"""The rules by name."""

from sklearn.base import clone

from stakes.decision._rule import MinimumExpectedCost

RULES = {
    "minimum_expected_cost": MinimumExpectedCost,
}


def make_rule(rule):
    """Return a new, unfitted rule from its name or from an object.

    A rule inside a classifier decides by the classifier's costs.
    """
    if isinstance(rule, str):
        return RULES[rule]()
    if getattr(rule, "cost_matrix", None) is not None:
        raise ValueError(
            f"The rule {type(rule).__name__} has a cost_matrix of its own: give it to the "
            "classifier instead, whose costs its rule decides by."
        )
    return clone(rule)
