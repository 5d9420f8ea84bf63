"""
Calibration before and after
============================

Costs read probabilities as numbers. A forest of deep trees is not sure enough; temperature scaling on held-out rows mends that with a
single number. Stated against observed frequency, class by class, before and after, and what it is
worth.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split

from stakes.decision import ClassCalibrationDisplay, CostDecisionClassifier

X, y = make_classification(
    3000, n_features=15, n_informative=8, n_classes=3, class_sep=1.2, random_state=0
)
C = [[0, 1, 2], [6, 0, 3], [25, 25, 0]]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
for ax, calibration in zip(axes, (None, "temperature")):
    model = CostDecisionClassifier(
        ExtraTreesClassifier(100, random_state=0), cost_matrix=C, calibration=calibration, cv=3
    ).fit(X_train, y_train)
    ClassCalibrationDisplay.from_predictions(y_test, model.predict_proba(X_test), ax=ax)
    ax.set_title(f"calibration={calibration!r}: {-model.score(X_test, y_test):.3f} a row")

if __name__ == "__main__":
    plt.show()
