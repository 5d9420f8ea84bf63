"""
A method of one's own beside the others
=======================================

Any classifier enters a comparison by name. With the library's mixin, ten lines make one that weighs costs of every kind, and the checks tell
whether it really does.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from stakes.compare import compare
from stakes.costs import CostMatrix
from stakes.datasets import load_dataset
from stakes.plugins import ExpectedCostMixin
from stakes.utils import check_cost_sensitive


class NeighbourCosts(ExpectedCostMixin, BaseEstimator):
    """Nearest neighbours: the mean cost of each decision among the nearest rows."""

    _parameter_constraints = {"cost_matrix": "no_validation", "k": [int]}

    def __init__(self, cost_matrix=None, k=15):
        self.cost_matrix = cost_matrix
        self.k = k

    def _fit(self, X, costs, sample_weight):
        self.scale_ = X.std(axis=0) + 1e-9
        self.rows_, self.paid_ = X / self.scale_, costs.rows()
        self.weight_ = np.ones(len(X)) if sample_weight is None else sample_weight

    def _expected_costs(self, X, cost_tensor):
        check_is_fitted(self)
        away = ((X[:, None] / self.scale_ - self.rows_) ** 2).sum(axis=2)
        last = min(self.k, away.shape[1]) - 1
        as_near = away <= np.sort(away, axis=1)[:, [last]]  # with all that are as near as the last
        near = as_near * self.weight_
        return near @ self.paid_ / near.sum(axis=1, keepdims=True)


# %%
# Does it use its costs?
found = check_cost_sensitive(NeighbourCosts())
print({name: verdict for name, verdict in found.items() if verdict != "passed"} or "all passed")

# %%
data = load_dataset("wdbc")
C = CostMatrix([[0, 1], [50, 0]], labels=["B", "M"])
methods = {"mine": NeighbourCosts(cost_matrix=C), "tree": "tree", "calibrated": "calibrated"}
result = compare(data.X.to_numpy(), data.y, cost_matrix=C, methods=methods, cv=3)
table = result.table.dropna(subset=["cost"]).sort_values("cost")

# %%
figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
ax.errorbar(
    table["cost"],
    table.index,
    xerr=[table["cost"] - table["low"], table["high"] - table["cost"]],
    fmt="o",
)
ax.set(xlabel="cost of a row, 95% interval", xlim=(0, None))

if __name__ == "__main__":
    plt.show()
