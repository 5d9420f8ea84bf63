"""
Cost curves: which model, at which prices
=========================================

Nobody agrees on the price of a miss. A cost curve shows what each model's decisions cost along all ratios of prices, from "only
false alarms cost" to "only misses cost". Where the curves cross, the verdict changes.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from stakes.decision import CostCurveDisplay

X, y = make_classification(3000, n_informative=5, weights=[0.8], class_sep=0.7, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
models = {
    "logistic regression": LogisticRegression(),
    "tree": DecisionTreeClassifier(min_samples_leaf=30, random_state=0),
}

# %%
figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items()):
    proba = model.fit(X_train, y_train).predict_proba(X_test)
    CostCurveDisplay.from_predictions(y_test, proba, ax=ax)
    ax.set_title(name)

if __name__ == "__main__":
    plt.show()
