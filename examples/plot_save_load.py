"""
Saving, loading, pricing again
==============================

A model file holds no code and is checked before anything in it is used. What was saved decides the same in another process, and
because costs enter at the end it can be priced again without a fit.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from stakes import CostMatrix
from stakes.compare import fit_model, load_model, save_model
from stakes.datasets import load_dataset
from stakes.decision import decide

data = load_dataset("wdbc")
C = CostMatrix([[0, 1], [50, 0]], labels=["B", "M"])
model = fit_model(data.X[::2], data.y[::2], "calibrated", cost_matrix=C)

# %%
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.skops"
    save_model(model, path)
    print(f"{path.stat().st_size / 1000:.0f} kB")
    loaded = load_model(path)
X_new, y_new = data.X[1::2], data.y[1::2]
print("the same decisions:", bool((loaded.predict(X_new) == model.predict(X_new)).all()))

# %%
# The price of a miss, from 1 to 1,000 biopsies, with the same probabilities.
proba = loaded.predict_proba(X_new)
malignant = y_new == "M"
prices = np.geomspace(1, 1000, 40)
missed, alarms = [], []
for price in prices:
    decided = decide(proba, [[0, 1], [price, 0]]) == 1
    missed.append((malignant & ~decided).sum())
    alarms.append((~malignant & decided).sum())
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.step(prices, missed, label="missed tumours")
ax.step(prices, alarms, label="needless biopsies")
ax.set(xscale="log", xlabel="price of a miss, in biopsies", ylabel=f"of {len(y_new)} patients")
ax.legend()

if __name__ == "__main__":
    plt.show()
