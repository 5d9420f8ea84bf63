"""
Intrusion: rare attacks, prices per kind of attack
==================================================

Of 6,000 connections most are normal; some scan ports, few try passwords, very few take over a machine. The rarer, the
dearer to miss. A plain model serves the many; prices decide how often to look.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from stakes import CostMatrix
from stakes.compare import compare
from stakes.tree import CostForestClassifier

names = np.array(["normal", "scan", "password", "takeover"])
X, codes = make_classification(
    6000,
    n_features=14,
    n_informative=7,
    n_classes=4,
    weights=[0.85, 0.1, 0.04, 0.01],
    class_sep=1.1,
    random_state=5,
)
y = names[codes]
C = CostMatrix(
    [[0, 1, 1, 1], [2, 0, 1, 1], [30, 10, 0, 5], [400, 200, 100, 0]], labels=names.tolist()
)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

# %%
# A few methods side by side on the same folds, with intervals.
found = compare(X_train, y_train, cost_matrix=C, methods=["mec", "calibrated", "tree"], cv=3)
print(found.table[["cost", "low", "high"]].round(3))

# %%
table = found.table.dropna(subset=["cost"]).sort_values("cost")
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
left.errorbar(
    table["cost"],
    table["title"],
    xerr=[table["cost"] - table["low"], table["high"] - table["cost"]],
    fmt="o",
)
left.set(xlabel="cost of a connection, 95% interval", xlim=(0, None))
recalls = table[[f"recall {name}" for name in names]]
right.bar(names, recalls.iloc[-1], width=0.4, align="edge", label=table["title"].iloc[-1])
right.bar(names, recalls.iloc[0], width=-0.4, align="edge", label=table["title"].iloc[0])
right.set(ylabel="share that is found", title="Who is served")
right.legend()

# %%
# The forest learns from the same price list.
forest = CostForestClassifier(cost_matrix=C, n_estimators=50, random_state=0).fit(X_train, y_train)
print(f"cost forest: {-forest.score(X_test, y_test):.3f} a connection")

if __name__ == "__main__":
    plt.show()
