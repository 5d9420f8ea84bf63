"""
GBSE's mixture, round by round
==============================

GBSE keeps a probability of each *decision*, at first uniform, and mixes in one classifier a round with share 1/t. The
training cost of the mixture falls under the bound of Theorem 3; the cost on new rows is what counts.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from stakes.metrics import average_cost
from stakes.reductions import GBSEClassifier

X, y = make_classification(
    2000, n_features=10, n_informative=6, n_classes=4, weights=[0.6, 0.2, 0.15], random_state=1
)
C = np.array([[0, 2, 1, 3], [10, 0, 4, 4], [15, 8, 0, 6], [60, 40, 30, 0]], dtype=float)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=0
)
model = GBSEClassifier(cost_matrix=C, n_estimators=20, random_state=0).fit(X_train, y_train)

# %%
rounds = np.arange(1, model.n_iter_ + 1)
tested = [average_cost(y_test, d, cost_matrix=C) for d in model.staged_predict(X_test)]
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
left.plot(rounds, model.training_costs_, label="mixture, training rows")
left.plot(rounds, tested, label="decisions, new rows")
left.axhline(
    min(C[y_test, d].mean() for d in range(4)),
    color="grey",
    linestyle=":",
    label="one decision for all",
)
left.set(xlabel="round", ylabel="average cost", ylim=(0, None))
left.legend()

# %%
# How sure the mixture is of its decision, for each true class.
sure = model.predict_proba(X_test).max(axis=1)
right.boxplot([sure[y_test == k] for k in range(4)], tick_labels=[f"class {k}" for k in range(4)])
right.set(ylabel="share of the decision taken", ylim=(0, 1.02))

if __name__ == "__main__":
    plt.show()
