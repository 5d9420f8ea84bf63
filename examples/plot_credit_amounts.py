"""
Credit: every loan has its own price
====================================

A default loses 75% of *this* loan; turning a good client away loses its interest of 5% over two years. The amount is
known when deciding, so the costs are a table per client: a `cost_tensor`. One threshold for everybody
cannot be right.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from stakes.costs import binary_cost_tensor
from stakes.decision import CostDecisionClassifier
from stakes.metrics import total_cost

rng = np.random.default_rng(0)
n = 4000
X = rng.normal(size=(n, 4))
amount = np.exp(rng.normal(8.5, 0.9, n))
defaults = rng.random(n) < 1 / (1 + np.exp(2.2 - X[:, 0] - 0.8 * X[:, 1]))
T = binary_cost_tensor(fp_cost=0.10 * amount, fn_cost=0.75 * amount + 200)  # 200 for the lawyers

# %%
# Positive is "defaults". Split the rows, and the prices with them.
parts = train_test_split(X, defaults.astype(int), T, amount, test_size=0.5, random_state=0)
X_train, X_test, y_train, y_test, T_train, T_test, _, amount_test = parts
plain = LogisticRegression().fit(X_train, y_train)
priced = CostDecisionClassifier(LogisticRegression()).fit(X_train, y_train, cost_tensor=T_train)
decided = {
    "most probable": plain.predict(X_test),
    "one average price list": CostDecisionClassifier(
        LogisticRegression(), cost_matrix=T_train.mean(axis=0)
    )
    .fit(X_train, y_train)
    .predict(X_test),
    "each loan at its price": priced.predict(X_test, cost_tensor=T_test),
}
totals = {name: total_cost(y_test, d, cost_tensor=T_test) for name, d in decided.items()}
for name, total in totals.items():
    print(f"{name}: {total:,.0f}")

# %%
# The threshold falls with the fixed part of the price: small loans are refused sooner.
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
left.bar(list(totals), list(totals.values()))
left.set(ylabel="total cost", title=f"{len(y_test):,} clients")
left.tick_params(axis="x", rotation=12)
p = priced.predict_proba(X_test)[:, 1]
refused = decided["each loan at its price"] == 1
right.scatter(amount_test[~refused], p[~refused], s=6, label="lend")
right.scatter(amount_test[refused], p[refused], s=6, label="refuse")
right.set(
    xscale="log", xlabel="amount", ylabel="probability of default", title="Where the line is"
)
right.legend()

if __name__ == "__main__":
    plt.show()
