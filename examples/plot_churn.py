"""
Churn: whom to call, by what each customer is worth
===================================================

A call costs 8 and keeps a customer who is about to leave three times in ten. Not calling loses what the customer is worth.
The worth is known when deciding. Calling the likeliest leavers is not the same as calling those whose call pays.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from stakes.decision import CostDecisionClassifier, decide

rng = np.random.default_rng(2)
n = 4000
X = rng.normal(size=(n, 5))
worth = np.exp(rng.normal(4.3, 1.0, n))
leaves = (rng.random(n) < 1 / (1 + np.exp(1.8 - 1.2 * X[:, 0] + 0.7 * X[:, 1]))).astype(int)

# %%
# The table of one customer, [truth, decision]: decision 1 is to call.
T = np.zeros((n, 2, 2))
T[:, 0, 1] = 8.0  # stays anyway: the call is lost
T[:, 1, 0] = worth  # leaves, not called
T[:, 1, 1] = 8.0 + 0.7 * worth  # leaves, called: kept three times in ten
rows = train_test_split(np.arange(n), test_size=0.5, random_state=0)
train, test = rows
model = CostDecisionClassifier(
    HistGradientBoostingClassifier(max_iter=60, random_state=0), calibration="temperature", cv=3
).fit(X[train], leaves[train], cost_tensor=T[train])
p = model.predict_proba(X[test])
call = decide(p, cost_tensor=T[test]) == 1
print(f"{call.sum()} of {len(test)} customers are called")

# %%
# As many calls, chosen in three ways
# -----------------------------------
paid = T[test, leaves[test]]
order = {
    "at random": rng.permutation(len(test)),
    "likeliest to leave": np.argsort(-p[:, 1]),
    "whose call pays most": np.argsort(-(p[:, 1] * 0.3 * worth[test])),
}
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name, ranked in order.items():
    saved = np.cumsum(paid[ranked, 0] - paid[ranked, 1])
    ax.plot(np.arange(1, len(test) + 1), saved, label=name)
ax.axvline(call.sum(), color="grey", linestyle=":", label="calls at least expected cost")
ax.set(xlabel="customers called", ylabel="saved against calling nobody")
ax.legend()

if __name__ == "__main__":
    plt.show()
