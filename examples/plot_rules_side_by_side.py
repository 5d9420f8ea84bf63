"""
All rules on the same probabilities
===================================

A rule turns probabilities into decisions. These probabilities come from the two learners of O'Brien, Gupta and Gray (ICML 2008): naive Bayes
on rounded features, and quadratic discriminant analysis whose covariances are kept invertible. Both are often too sure. The first rule takes them at their
word; the others learn from rows that the model has not seen, where costs are really paid.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import cross_val_predict, train_test_split

from stakes.decision import (
    ClassThresholds,
    ColumnPartition,
    FullPartition,
    LachicheFlach,
    MinimumExpectedCost,
    ParallelPartition,
    RowPartition,
)
from stakes.metrics import average_cost
from stakes.reproduce import RegularizedQDA, quantized_naive_bayes

X, y = make_classification(
    3000, n_features=12, n_informative=5, n_redundant=5, n_classes=3, random_state=0
)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
C = np.array([[0, 1, 2], [6, 0, 1], [15, 5, 0]], dtype=float)
rules = (
    MinimumExpectedCost,
    ClassThresholds,
    LachicheFlach,
    ParallelPartition,
    ColumnPartition,
    RowPartition,
    FullPartition,
)

# %%
costs = {}
for name, model in (("naive Bayes", quantized_naive_bayes()), ("QDA", RegularizedQDA())):
    held_out = cross_val_predict(model, X, y, method="predict_proba")
    new = model.fit(X, y).predict_proba(X_test)
    for rule in rules:
        decided = rule(cost_matrix=C).fit(held_out, y).predict(new)
        costs[name, rule.__name__] = average_cost(y_test, decided, cost_matrix=C)
        print(f"{name}, {rule.__name__}: {costs[name, rule.__name__]:.3f} a row")

# %%
# What is learned pays where probabilities are wrong. Where they are right it can only lose, by the noise of the held-out rows: the more a rule may
# move, the more of them it needs.
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True, layout="constrained")
for ax, name in zip(axes, ("naive Bayes", "QDA")):
    own = [cost for (model, _), cost in costs.items() if model == name]
    ax.plot(own[::-1], [rule.__name__ for rule in rules][::-1], "o")
    ax.axvline(own[0], color="tab:gray", linestyle="--", label="at their word")
    ax.set(title=name, xlabel="cost of a row")
axes[0].legend()

if __name__ == "__main__":
    plt.show()
