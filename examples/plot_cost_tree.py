"""
A cost tree to read
===================

One tree of depth 3, grown on the price list. Every node tells what it decides and what that costs; a split is there because the children's
decisions together cost less.
"""

import matplotlib.pyplot as plt

from stakes import CostMatrix
from stakes.datasets import load_dataset
from stakes.tree import CostTreeClassifier, export_cost_tree, plot_cost_tree

data = load_dataset("wdbc")
C = CostMatrix([[0, 1], [50, 0]], labels=["B", "M"])  # a missed cancer costs 50 biopsies
tree = CostTreeClassifier(cost_matrix=C, max_depth=3).fit(data.X, data.y)

# %%
# As text:
print(export_cost_tree(tree, max_depth=2))

# %%
# As a picture:
figure, ax = plt.subplots(figsize=(13, 6), layout="constrained")
plot_cost_tree(tree, ax=ax)

if __name__ == "__main__":
    plt.show()
