"""
Why probabilities that are good enough for 0/1 costs are not for others
=======================================================================

A model's probabilities can be wrong in a systematic way and still name the right class
most of the time: smoothing moves them along lines that do not cross the boundaries of 0/1
costs. Asymmetric costs move the boundaries, and then the same errors cross them. Two
extreme cases on the simplex of three classes, after Figure 1 of O'Brien, Gupta and Gray
(ICML 2008):

* naive Bayes that sees the same feature twice and counts its evidence twice (too sure);
* nearest neighbours with most of the sample as neighbours (smoothed to the priors).

`stakes reproduce obrien2008 --figures FOLDER` draws the same picture into a file.
"""

import matplotlib.pyplot as plt

from stakes.reproduce import draw_figure

figure = draw_figure("obrien2008", "figure1")

if __name__ == "__main__":
    plt.show()
