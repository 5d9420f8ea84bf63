"""
The same tree from a cluster
============================

The estimators take Dask collections and come back as ordinary ones. With class costs the histograms of all workers are counts, so that the sum is
exact: one worker or many, few partitions or many, the tree is the same.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster
from sklearn.datasets import make_classification

from stakes.tree import CostTreeClassifier, plot_cost_tree


def grow(X, y, cost_matrix, n_parts):
    """Return the tree that the cluster grows from so many partitions, and what it decides there."""
    chunk = -(-len(X) // n_parts)
    rows, labels = da.from_array(X, chunks=(chunk, -1)), da.from_array(y, chunks=chunk)
    tree = CostTreeClassifier(cost_matrix=cost_matrix, max_depth=3).fit(rows, labels)
    return tree, tree.predict(rows).compute()  # lazy until here


# %%
# A cluster of two workers on this machine; ``Client("tcp://scheduler:8786")`` is one of many. A script that starts processes
# needs the guard.
if __name__ == "__main__":
    X, y = make_classification(
        20_000, n_features=8, n_informative=5, n_classes=3, class_sep=0.8, random_state=0
    )
    C = np.array([[0, 1, 2], [5, 0, 3], [20, 8, 0]], dtype=float)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        found = [grow(X, y, C, n_parts) for n_parts in (2, 7)]
    # without the cluster they are ordinary trees
    same = all((tree.predict(X) == found[0][1]).all() for tree, _ in found)
    print("the same decisions from 2 and 7 partitions, here and there:", bool(same))
    figure, ax = plt.subplots(figsize=(13, 6), layout="constrained")
    plot_cost_tree(found[0][0], ax=ax)
    plt.show()
