"""
Triage: five levels, and mistakes that are not alike
====================================================

Five levels of urgency. Placing a patient one level too low is dangerous, the more so the more urgent the case; one level too
high takes a bed. The price list is a 5 x 5 table. Calibrated probabilities and this table decide;
nothing else has to be learned.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from stakes import CostDecisionClassifier, CostMatrix
from stakes.metrics import CostMatrixDisplay, average_cost

levels = ["1 at once", "2 urgent", "3 soon", "4 normal", "5 can wait"]
danger = np.array([100, 40, 12, 4, 0])  # of one level too low
prices = np.zeros((5, 5))
for true in range(5):
    for decided in range(5):
        gap = decided - true  # positive: too low
        prices[true, decided] = danger[true] * gap if gap > 0 else -2.0 * gap
C = CostMatrix(prices, labels=levels)
print(C)

# %%
# Patients: urgency is a hidden number that the measurements tell with noise.
rng = np.random.default_rng(1)
urgency = rng.normal(size=3000)
y = np.array(levels)[np.digitize(-urgency, [-1.6, -0.8, 0.2, 1.2])]
X = urgency[:, None] + rng.normal(scale=[0.7, 0.9, 1.2, 2.0], size=(3000, 4))
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=0
)
forest = RandomForestClassifier(200, min_samples_leaf=5, random_state=0)
usual = forest.fit(X_train, y_train).predict(X_test)
priced = CostDecisionClassifier(forest, cost_matrix=C, calibration="temperature", cv=3)
careful = priced.fit(X_train, y_train).predict(X_test)

# %%
figure, axes = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
for ax, name, decided in zip(
    axes, ("most probable level", "least expected cost"), (usual, careful)
):
    CostMatrixDisplay.from_predictions(y_test, decided, cost_matrix=C, labels=levels, ax=ax)
    ax.set_title(f"{name}: {average_cost(y_test, decided, cost_matrix=C):.2f} a patient")
    ax.tick_params(axis="x", rotation=30)

if __name__ == "__main__":
    plt.show()
