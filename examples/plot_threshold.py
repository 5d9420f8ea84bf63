"""
A threshold from theory and one from data
=========================================

Accepting a bad client costs 3, turning a good one away costs 1. Where the probabilities are right, the least
expected cost refuses where "bad" is more likely than 1 / (3 + 1) = 1/4. The empirical threshold looks at what each
threshold would have cost on held-out clients; for a model whose probabilities are off it lies
elsewhere, and the curves of the folds show how far to trust it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from stakes.costs import CostMatrix
from stakes.decision import ThresholdCostDisplay

X, y = make_classification(
    1000,
    n_features=12,
    n_informative=4,
    n_redundant=6,
    weights=[0.7],
    class_sep=0.6,
    random_state=3,
)
C = CostMatrix.binary(fp=1, fn=3)

# %%
# Naive Bayes counts redundant columns again and again, so it is far too sure.
figure, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
models = {"logistic regression": LogisticRegression(), "naive Bayes": GaussianNB()}
for ax, (name, model) in zip(axes, models.items()):
    display = ThresholdCostDisplay.from_cv(model, X, y, cv=3, cost_matrix=C, ax=ax)
    ax.set_title(name)
    print(
        f"{name}: theory {display.theoretical:.2f}, data {display.empirical:.2f}, "
        f"where a client costs {display.costs.min():.3f}"
    )

if __name__ == "__main__":
    plt.show()
