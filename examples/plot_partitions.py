"""Three ways to move the boundaries of a partition.

The costs part the simplex of class probabilities into regions. What learned partitions do
to them, after Figure 2 of O'Brien, Gupta and Gray (ICML 2008); every change is made to the
costs of class 1, dashed lines show the costs as they were:

* a constant added to the price of *deciding* class 1 moves its boundaries in parallel
  (`ParallelPartition`);
* the costs of *being* class 1 times a factor move the equal risk point on the line to the
  corner of class 1, and leave the opposite side as it is (`ColumnPartition`);
* the costs of *deciding* class 1 times a factor slide the equal risk point along the
  boundary between the other two (`RowPartition`).
"""

import matplotlib.pyplot as plt
import numpy as np

from stakes.decision import SimplexDecisionDisplay

ZERO_ONE = 1.0 - np.eye(3)
# costs[true, predicted]
ASYMMETRIC = np.array([[0.0, 1.0, 2.0], [2.0, 0.0, 1.5], [4.0, 3.0, 0.0]])
NAMES = ("1", "2", "3")


def parallel(costs):
    """Make deciding class 1 dearer whatever the truth."""
    moved = costs.copy()
    moved[:, 0] += 0.3
    return moved


def true_class(costs):
    """Make every mistake on class 1 dearer."""
    moved = costs.copy()
    moved[0] *= 2.0
    return moved


def decision(costs):
    """Make every wrong decision for class 1 dearer."""
    moved = costs.copy()
    moved[:, 0] *= 2.0
    return moved


changes = {
    "the costs": None,
    "deciding 1: plus 0.3": parallel,
    "being 1: times 2": true_class,
    "deciding 1: times 2": decision,
}
figure, axes = plt.subplots(4, 2, figsize=(7, 12))
for column, costs in enumerate((ZERO_ONE, ASYMMETRIC)):
    for row, (title, change) in enumerate(changes.items()):
        ax = axes[row, column]
        if change is None:
            SimplexDecisionDisplay.from_rule(costs, ax=ax, display_labels=NAMES)
        else:
            SimplexDecisionDisplay.from_rule(change(costs), ax=ax, display_labels=NAMES)
            SimplexDecisionDisplay.from_rule(
                costs,
                ax=ax,
                regions=False,
                linestyle="--",
                color="dimgray",
                display_labels=("",) * 3,
            )
        ax.set_title(title)
figure.tight_layout()

if __name__ == "__main__":
    plt.show()
