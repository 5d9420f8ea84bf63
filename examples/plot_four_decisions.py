"""
Four things to do about a payment
=================================

A payment is honest or fraud; it can be approved, asked a code for, reviewed, or blocked. Which of the four
costs least depends on how probable fraud is: the two in the middle are for what is neither clear nor rare.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from stakes.compare import compare
from stakes.costs import CostMatrix
from stakes.decision import CostDecisionClassifier

PRICES = CostMatrix(
    [[0, 1, 6, 20], [100, 30, 8, 0]],
    labels=["honest", "fraud"],
    decisions=["approve", "ask for a code", "review", "block"],
)

# %%
# What each decision is expected to cost is a straight line in the probability of fraud. The lowest
# of the four lines decides.

risk = np.linspace(0, 1, 201)
expected = np.column_stack([1 - risk, risk]) @ PRICES.values
figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
for decision, line in zip(PRICES.decisions, expected.T):
    ax.plot(risk, line, label=decision)
ax.plot(risk, expected.min(axis=1), color="black", linewidth=4, alpha=0.25, label="the cheapest")
ax.set(xlabel="probability of fraud", ylabel="expected cost", ylim=(0, 25))
ax.legend()

# %%
# A model of the probability decides by these prices; nothing else is to be said.

rng = np.random.default_rng(0)
fraud = rng.random(3000) < 0.1
X = rng.normal(size=(3000, 2)) + 1.4 * fraud[:, None]
y = np.where(fraud, "fraud", "honest")
train, test = np.arange(3000) < 2000, np.arange(3000) >= 2000
model = CostDecisionClassifier(LogisticRegression(), cost_matrix=PRICES).fit(X[train], y[train])
names, counts = np.unique(model.predict(X[test]), return_counts=True)
print(dict(zip(names.tolist(), counts.tolist())))
print(f"{-model.score(X[test], y[test]):.2f} per payment")

# %%
# Compared with the best single decision, with the most probable class followed by its cheapest
# decision, and with what is done today: every tenth payment is reviewed.

today = np.where(np.arange(3000) % 10 == 0, "review", "approve")
found = compare(X, y, cost_matrix=PRICES, methods=["mec", "tree"], baseline=today, cv=3, fast=True)
print(found.table[["cost", "savings"]].round(2))

if __name__ == "__main__":
    plt.show()
