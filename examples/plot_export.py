"""
The same decisions outside of Python
====================================

A model becomes one file that onnxruntime runs in any language. The file is written only if it
decides as the model does: on rows like those of training, at the thresholds of its trees, and on
edge rows. Prices of single rows stay an input.
"""

import matplotlib.pyplot as plt
import numpy as np

from stakes import CostMatrix
from stakes.compare import fit_model
from stakes.datasets import load_dataset
from stakes.export import OnnxDecider, from_json, to_json, to_onnx

data = load_dataset("wdbc")  # tumours: B benign, M malignant
C = CostMatrix([[0, 1], [50, 0]], labels=["B", "M"])  # a missed cancer costs 50 biopsies
train, new = data.X[::2], data.X[1::2]
model = fit_model(train, data.y[::2], "calibrated", cost_matrix=C)
decider = OnnxDecider(to_onnx(model, X=train))
report = decider.about["verification"]
print(f"tried on {report['n_rows']:,} rows, {report['n_ties']} ties")
print(f"largest error of a probability: {report['largest_probability_error']:.1e}")

# %%
# Decisions of rows that neither has seen, and what they are expected to cost.
ours, theirs = model.decide(new), decider.decide(new)
print("the same decisions:", bool((ours["decision"] == theirs["decision"]).all()))
print(theirs.head(3))

# %%
# The policy alone, for a model of your own in another language: classes, prices, calibration and
# rule in one file of JSON.
policy = from_json(to_json(model))
print(policy.decide([[0.9, 0.1]]).labels)

# %%
# One patient, other prices: the graph takes them with the row. The price of a missed cancer goes
# up until the decision turns.
seen = decider.run(new)["probabilities"][:, decider.about["classes"].index("M")]
row = new.iloc[[int(np.argmin(np.abs(seen - 0.1)))]]
prices = np.linspace(0.5, 40, 60)
tensor = np.zeros((len(prices), 2, 2))
bad, good = (decider.about["classes"].index(label) for label in ("M", "B"))
tensor[:, good, bad], tensor[:, bad, good] = 1.0, prices
found = decider.run(row.loc[row.index.repeat(len(prices))], cost_tensor=tensor)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for label, at in (("M", bad), ("B", good)):
    ax.plot(prices, found["expected_costs"][:, at], label=f"treat as {label}")
ax.plot(prices, found["expected_cost"], "k--", lw=1, label="decided")
ax.set(xlabel="price of a missed cancer, in biopsies", ylabel="expected cost")
ax.legend()

if __name__ == "__main__":
    plt.show()
