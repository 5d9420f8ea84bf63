"""
A learned partition on probabilities from anywhere
==================================================

A rule is fitted on probabilities alone, so it serves a network of PyTorch as well as a model behind a web service. All it needs is an array of
probabilities for rows with known classes, which the model has not been trained on.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.naive_bayes import GaussianNB

from stakes.decision import MinimumExpectedCost, ParallelPartition, SimplexDecisionDisplay
from stakes.metrics import average_cost

# %%
# Stand-in for ``torch.softmax(net(x), dim=1).numpy()``: a model that counts its evidence twice.
X, y = make_blobs(3000, centers=[[0, 0], [1.6, 0], [0.8, 1.5]], random_state=0)
twice = np.hstack([X, X])
network = GaussianNB().fit(twice[:1000], y[:1000])
proba_val, y_val = network.predict_proba(twice[1000:2000]), y[1000:2000]
proba_test, y_test = network.predict_proba(twice[2000:]), y[2000:]

# %%
C = np.array([[0, 1, 1], [4, 0, 2], [12, 6, 0]], dtype=float)
rules = {
    "probabilities at their word": MinimumExpectedCost(cost_matrix=C),
    "learned partition": ParallelPartition(cost_matrix=C),
}
figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
for ax, (name, rule) in zip(axes, rules.items()):
    rule.fit(proba_val, y_val)
    cost = average_cost(y_test, rule.predict(proba_test), cost_matrix=C)
    SimplexDecisionDisplay.from_rule(rule, proba=proba_test[:300], y=y_test[:300], ax=ax)
    ax.set_title(f"{name}: {cost:.3f} a row")

if __name__ == "__main__":
    plt.show()
