"""
Bacing: costs that adapt to what the others got wrong
=====================================================

Bags of L1 linear SVMs. After each bag, examples whose out-of-bag margin is low get dearer, so later members mind them more.
The display follows the costs over the rounds, as Figure 2 of the paper does.
"""

import matplotlib.pyplot as plt

from stakes.bagging import AdaptiveCostDisplay, ArcX4Classifier, BacingClassifier, L1LinearSVC
from stakes.datasets import load_dataset

data = load_dataset("wdbc")
X, y = data.X.to_numpy()[::2], data.y[::2]
model = BacingClassifier(n_estimators=30, random_state=0).fit(X, y)

# %%
display = AdaptiveCostDisplay.from_estimator(model, X, y)

# %%
# The same bags without adapting are plain bagging. Arc-x4 weighs the rows that its members got wrong, and one
# linear SVM is what each of them is made of.
others = data.X.to_numpy()[1::2], data.y[1::2]
rivals = {
    "bagging": BacingClassifier(n_estimators=30, adapt=False, random_state=0),
    "Arc-x4": ArcX4Classifier(n_estimators=30, random_state=0),
    "one L1 linear SVM": L1LinearSVC(),
}
fitted = {"bacing": model, **{name: rival.fit(X, y) for name, rival in rivals.items()}}
for name, one in fitted.items():
    print(f"{name}: {-one.score(*others):.3f} mistakes a row")

if __name__ == "__main__":
    plt.show()
