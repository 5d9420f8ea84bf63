"""
A rare class, round by round
============================

Of three classes one has 80, one 15 and one 5 examples in a hundred, and they overlap.
AdaBoost.MM counts examples, and gives up many of the rare ones; CoMBo counts classes. The
panels follow each ensemble over its rounds on examples it has not seen: the confusion norm,
and the recall of the rare class.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from stakes.boosting import AdaBoostMMClassifier, CoMBoClassifier
from stakes.metrics import confusion_norm

X, y = make_classification(
    4000,
    n_features=10,
    n_informative=6,
    n_classes=3,
    weights=[0.8, 0.15],
    class_sep=0.8,
    random_state=0,
)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=0
)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for model in (AdaBoostMMClassifier(), CoMBoClassifier()):
    name = type(model).__name__
    model.fit(X_train, y_train)
    stages = list(model.staged_predict(X_test))
    norms = [confusion_norm(y_test, decided) for decided in stages]
    recalls = [np.mean(decided[y_test == 2] == 2) for decided in stages]
    left.plot(norms, label=name)
    right.plot(recalls, label=name)
    print(f"{name}: confusion norm {norms[-1]:.2f}, recall of the rare class {recalls[-1]:.0%}")
left.set(xlabel="round", ylabel="confusion norm", ylim=(0, None))
right.set(xlabel="round", ylabel="recall of the rare class", ylim=(0, 1))
right.legend()

if __name__ == "__main__":
    plt.show()
