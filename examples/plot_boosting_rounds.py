"""A rare class, round by round.

Of three classes one has 80, one 15 and one 5 examples in a hundred, and they overlap.
AdaBoost.MM counts examples, and gives up many of the rare ones; CoMBo counts classes. The four
panels follow each ensemble over its rounds on examples it has not seen: the training loss, the
edges of the members, the confusion norm, and the recall of each class.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from stakes.boosting import AdaBoostMMClassifier, CoMBoClassifier, plot_boosting

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
for model in (AdaBoostMMClassifier(), CoMBoClassifier()):
    model.fit(X_train, y_train)
    display = plot_boosting(model, X_test, y_test)
    display.figure_.suptitle(type(model).__name__)
    recalls = ", ".join(f"{recall:.0%}" for recall in display.recalls[-1])
    print(
        f"{type(model).__name__}: confusion norm {display.confusion_norms[-1]:.2f}, "
        f"recalls {recalls}"
    )

if __name__ == "__main__":
    plt.show()
