"""
Bacing: costs that adapt to what the others got wrong
=====================================================

Bags of L1 linear SVMs. After each bag, examples whose out-of-bag margin is low get dearer, so later members mind them more.
The display follows the costs over the rounds, as Figure 2 of the paper does.
"""

import matplotlib.pyplot as plt

from stakes.bagging import AdaptiveCostDisplay, BacingClassifier
from stakes.datasets import load_dataset

data = load_dataset("wdbc")
X, y = data.X.to_numpy()[::2], data.y[::2]
model = BacingClassifier(n_estimators=30, random_state=0).fit(X, y)

# %%
display = AdaptiveCostDisplay.from_estimator(model, X, y)

# %%
# The same bags without adapting are plain bagging.
plain = BacingClassifier(n_estimators=30, adapt=False, random_state=0).fit(X, y)
others = data.X.to_numpy()[1::2], data.y[1::2]
for name, one in (("bacing", model), ("bagging", plain)):
    print(f"{name}: {-one.score(*others):.3f} mistakes a row")

if __name__ == "__main__":
    plt.show()
