"""
Four boostings and a rare class
===============================

Three classes of 85, 10 and 5 in a hundred, and nobody has said what mistakes cost: every class is to count equally. AdaBoost.MM
counts rows. SMOTEBoost invents rows of the rare classes, AdaBoost.NC draws them more often and lets members disagree, CoMBo
weighs every class the same. If prices are known, none of these is the one to use: give the prices.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import recall_score
from sklearn.model_selection import train_test_split

from stakes.boosting import (
    AdaBoostMMClassifier,
    AdaBoostNCClassifier,
    CoMBoClassifier,
    SMOTEBoostClassifier,
)
from stakes.metrics import confusion_norm, geometric_mean_score

X, y = make_classification(
    3000,
    n_features=8,
    n_informative=5,
    n_classes=3,
    weights=[0.85, 0.10],
    class_sep=0.9,
    random_state=1,
)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

# %%
models = {
    "AdaBoost.MM": AdaBoostMMClassifier(n_estimators=40, random_state=0),
    "AdaBoost.NC": AdaBoostNCClassifier(n_estimators=40, random_state=0),
    "SMOTEBoost": SMOTEBoostClassifier(n_estimators=40, random_state=0),
    "CoMBo": CoMBoClassifier(n_estimators=40, random_state=0),
}
recalls = {}
for name, model in models.items():
    decided = model.fit(X_train, y_train).predict(X_test)
    recalls[name] = recall_score(y_test, decided, average=None)
    print(
        f"{name}: G-mean {geometric_mean_score(y_test, decided):.2f}, "
        f"confusion norm {confusion_norm(y_test, decided):.2f}"
    )

# %%
# The share of each class that is recognised: bars of one height are what is wanted here.
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
places = np.arange(len(models))
for k, share in enumerate(("85%", "10%", "5%")):
    heights = [found[k] for found in recalls.values()]
    ax.bar(places + 0.27 * (k - 1), heights, width=0.25, label=f"class of {share}")
ax.set(xticks=places, xticklabels=list(models), ylabel="share recognised", ylim=(0, 1))
figure.legend(ncols=3, loc="outside upper center")

if __name__ == "__main__":
    plt.show()
