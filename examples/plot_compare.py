"""
Comparing honestly
==================

Two methods on the same rows share most of their luck, so the difference is known better than either cost. `compare` runs methods on the same folds,
bootstraps paired differences to the baseline, and recommends only what is clearly cheaper.
"""

import matplotlib.pyplot as plt
from sklearn.linear_model import LogisticRegression

from stakes import CostMatrix, StakesClassifier
from stakes.compare import compare
from stakes.datasets import load_dataset

data = load_dataset("wdbc")
C = CostMatrix([[0, 1], [50, 0]], labels=["B", "M"])

# %%
# Names of methods and estimators of one's own go side by side.
methods = {
    "mec": "mec",
    "calibrated": "calibrated",
    "tree": "tree",
    "logistic": LogisticRegression(max_iter=5000),
    "small blend": StakesClassifier(cost_matrix=C, members=["linear", "gaussian"]),
}
found = compare(data.X, data.y, cost_matrix=C, methods=methods, cv=3, name="tumours")
print(found.reason)

# %%
table = found.table.dropna(subset=["difference"]).drop(index=found.baseline)
table = table.sort_values("difference")
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
low = table["difference"] - table["difference_low"]
high = table["difference_high"] - table["difference"]
ax.errorbar(table["difference"], table.index, xerr=[low, high], fmt="o")
ax.axvline(0, color="grey", linestyle=":")
ax.set(xlabel=f"cost of a row, less that of {found.baseline!r}; 95% interval, paired")

if __name__ == "__main__":
    plt.show()
