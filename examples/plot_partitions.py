"""
Three ways to move the boundaries of a partition
================================================

The costs part the simplex of class probabilities into regions. What learned partitions do
to them, after Figure 2 of O'Brien, Gupta and Gray (ICML 2008); every change is made to the
costs of class 1, dashed lines show the costs as they were:

* a constant added to the price of *deciding* class 1 moves its boundaries in parallel
  (`ParallelPartition`);
* the costs of *being* class 1 times a factor move the equal risk point on the line to the
  corner of class 1, and leave the opposite side as it is (`ColumnPartition`);
* the costs of *deciding* class 1 times a factor slide the equal risk point along the
  boundary between the other two (`RowPartition`).

`stakes reproduce obrien2008 --figures FOLDER` draws the same picture into a file.
"""

import matplotlib.pyplot as plt

from stakes.reproduce import draw_figure

figure = draw_figure("obrien2008", "figure2")

if __name__ == "__main__":
    plt.show()
