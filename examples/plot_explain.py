"""
Why was this decided?
=====================

The expected cost of each decision, the probability at which it would tip, and the share of each column in
the difference to the next best, in currency.
"""

# %%
# One patient
# -----------
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stakes.costs import CostMatrix
from stakes.decision import CostDecisionClassifier, explain_decision

data = load_breast_cancer(as_frame=True)
X = data.data[
    ["mean radius", "mean texture", "mean smoothness", "mean concavity", "mean symmetry"]
]
y = data.target_names[data.target]
costs = CostMatrix([[0, 200], [2000, 0]], labels=["benign", "malignant"])
model = CostDecisionClassifier(
    make_pipeline(StandardScaler(), LogisticRegression()), cost_matrix=costs
).fit(X, y)

# The patient whose decision is closest to tipping.
expected = model.expected_costs(X)
row = X.iloc[[abs(expected[:, 0] - expected[:, 1]).argmin()]]
why = explain_decision(model, row, background=X)
print(why)

# %%
# The prices at which it would tip
print(why.tipping_prices.round(1))

# %%
# The shares of the columns add up to the difference.
shares = why.columns["share"][::-1]
names = [f"{name} = {why.columns.loc[name, 'value']:.3g}" for name in shares.index]
figure, ax = plt.subplots(figsize=(8, 3.5))
ax.barh(names, shares, color=["tab:green" if share > 0 else "tab:red" for share in shares])
ax.axvline(0, color="black", linewidth=0.8)
ax.set(
    xlabel="share of the difference in expected cost",
    title=f"“{why.decision}” rather than “{why.next_best}”: {why.difference:.2f} less "
    f"(an average row: {why.base:.0f})",
)
figure.tight_layout()

if __name__ == "__main__":
    plt.show()
