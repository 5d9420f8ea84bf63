"""A threshold from theory and one from data.

German credit: accepting a bad client costs 3, turning a good one away costs 1. Where the
probabilities are right, the least expected cost accepts above 3 / (3 + 1) = 3/4. The
empirical threshold looks at what each threshold would have cost on held-out clients, by
3-fold cross-validation; for a model whose probabilities are off it lies elsewhere, and the
curves of the folds show how far to trust it.

The data come from the folder that the environment variable ``STAKES_DATA`` names, or else
from OpenML.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier

from stakes.costs import CostMatrix
from stakes.datasets import load_dataset
from stakes.decision import ThresholdCostDisplay, quantized_naive_bayes

data = load_dataset("german_credit")
costs = CostMatrix.from_predicted_true([[0, 3], [1, 0]], labels=["good", "bad"])
models = {
    "gradient boosting": HistGradientBoostingClassifier(
        categorical_features="from_dtype", random_state=0
    ),
    "naive Bayes": quantized_naive_bayes(),
}
figure, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True)
for ax, (name, model) in zip(axes, models.items()):
    display = ThresholdCostDisplay.from_cv(model, data.X, data.y, cv=3, cost_matrix=costs, ax=ax)
    ax.set_title(name)
    at_theory = display.costs[display.thresholds <= display.theoretical][-1]
    print(
        f"{name}: {at_theory:.3f} a client at the theoretical threshold "
        f"{display.theoretical:.2f}, {display.costs.min():.3f} at the empirical "
        f"{display.empirical:.2f}"
    )
figure.tight_layout()

if __name__ == "__main__":
    plt.show()
