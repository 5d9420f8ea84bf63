"""Why probabilities that are good enough for 0/1 costs are not for others.

A model's probabilities can be wrong in a systematic way and still name the right class
most of the time: smoothing moves them along lines that do not cross the boundaries of 0/1
costs. Asymmetric costs move the boundaries, and then the same errors cross them. Two
extreme cases on the simplex of three classes, after Figure 1 of O'Brien, Gupta and Gray
(ICML 2008):

* naive Bayes that sees the same feature twice and counts its evidence twice (too sure);
* nearest neighbours with most of the sample as neighbours (smoothed to the priors).
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import multivariate_normal
from sklearn.naive_bayes import CategoricalNB
from sklearn.neighbors import KNeighborsClassifier

from stakes.decision import SimplexDecisionDisplay, decide
from stakes.decision._plot._simplex import to_plane

ZERO_ONE = 1.0 - np.eye(3)
# costs[true, predicted]: class 1 is dear to miss
ASYMMETRIC = np.array([[0.0, 5.0, 4.0], [1.0, 0.0, 1.5], [1.0, 1.0, 0.0]])
NAMES = ("class 1", "class 2", "class 3")


def draw(ax, true, said, title):
    """Draw both partitions, and a line from each true probability to the estimate."""
    SimplexDecisionDisplay.from_rule(
        ZERO_ONE, ax=ax, regions=False, linestyle="--", color="gray", display_labels=NAMES
    )
    SimplexDecisionDisplay.from_rule(ASYMMETRIC, ax=ax, regions=False, display_labels=("",) * 3)
    for a, b in zip(to_plane(true), to_plane(said)):
        ax.plot(*zip(a, b), color="tab:blue", linewidth=0.5)
    ax.plot(*to_plane(true).T, "o", color="tab:blue", markersize=4, label="true")
    ax.plot(*to_plane(said).T, "^", color="tab:orange", markersize=4, label="estimated")
    ax.set_title(title)
    ax.legend(loc="upper right")
    for name, costs in (("0/1", ZERO_ONE), ("asymmetric", ASYMMETRIC)):
        moved = (decide(true, costs) != decide(said, costs)).mean()
        print(f"{title}: {moved:.0%} of the decisions change under {name} costs")


def twice_the_same_feature(rng):
    """Return true probabilities and those of naive Bayes that sees a feature twice."""
    given_class = rng.dirichlet(np.ones(40), size=3)  # P(value | class), classes equally likely
    true = (given_class / given_class.sum(axis=0)).T
    y = np.repeat([0, 1, 2], 100_000)
    values = np.concatenate([rng.choice(40, size=100_000, p=p) for p in given_class])
    twice = np.column_stack([values, values])
    model = CategoricalNB(min_categories=40).fit(twice, y)
    return true, model.predict_proba(np.column_stack([np.arange(40)] * 2))


def too_many_neighbours(rng):
    """Return true probabilities and those of 2000 neighbours out of 3000 examples."""
    means = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.7]])
    y = np.repeat([0, 1, 2], 1000)
    X = rng.normal(size=(3000, 2)) + means[y]
    asked = rng.normal(size=(40, 2)) + means[rng.integers(3, size=40)]
    density = np.column_stack([multivariate_normal(m).pdf(asked) for m in means])
    true = density / density.sum(axis=1, keepdims=True)
    model = KNeighborsClassifier(n_neighbors=2000).fit(X, y)
    return true, model.predict_proba(asked)


rng = np.random.default_rng(3)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5))
draw(left, *twice_the_same_feature(rng), "naive Bayes, undersmoothed")
draw(right, *too_many_neighbours(rng), "nearest neighbours, oversmoothed")
figure.tight_layout()

if __name__ == "__main__":
    plt.show()
