"""
Within which prices does a recommendation stand?
================================================

A miss costs something between 2 and 20 false alarms; nobody knows. Which method is the cheapest at which
price, how likely is each to be it, and what would it be worth to know?
"""

# %%
# A comparison at prices that are guesses
# ---------------------------------------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification

from stakes.compare import compare
from stakes.costs import UncertainCostMatrix

X, y = make_classification(
    1000, 8, n_informative=4, weights=[0.8], flip_y=0.1, class_sep=0.7, random_state=0
)
costs = UncertainCostMatrix([[0, 1], [(2, 20), 0]])
found = compare(X, y, cost_matrix=costs, methods=["mec", "calibrated"], fast=True, cv=3)
print(found)

# %%
# The break-even prices are exact: totals are straight lines in each price.
print(found.break_even().round(2))

# %%
# What the doubt means
# --------------------
doubt = found.price_doubt()
print(doubt.cheapest.round(3))
print(
    f"knowing the price is worth {doubt.value:.1f} for choosing, {doubt.value_deciding:.1f} for deciding"
)

# %%
# The picture
# -----------
prices = np.linspace(0, 22, 45)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
for name in found.finished:
    left.plot(prices, [found.total(name, [[0, 1], [p, 0]]) for p in prices], label=name)
left.axvspan(2, 20, color="grey", alpha=0.15)
row = found.break_even().loc[(1, 0)]
for end in (row.low, row.high):
    if np.isfinite(end):
        left.axvline(end, color="black", linestyle=":")
left.set(
    xlabel="price of a miss",
    ylabel="total",
    title=f"{found.favourite} stands between the dotted lines",
)
left.legend()
tips = found.break_even_decisions()[:, 1, 0]
right.hist(np.clip(tips[np.isfinite(tips)], 0, 40), bins=40)
right.axvspan(2, 20, color="grey", alpha=0.15)
right.set(xlabel="price of a miss at which a case tips", ylabel="cases")
figure.tight_layout()

if __name__ == "__main__":
    plt.show()
