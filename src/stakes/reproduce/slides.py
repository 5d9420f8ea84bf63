"""Lecture slides on cost-sensitive learning: the worked examples, computed anew.

Nothing is drawn at random here: each figure is a function of the numbers on the slide.
"""

import numpy as np

from stakes.costs import CostMatrix
from stakes.reductions._one_vs_one import pair_problem
from stakes.reproduce._published import published_tables
from stakes.reproduce._table import Cell

# The three examples of the slide on instance costs, and of those on one-vs-one.
INSTANCE_COSTS = np.array([[1.0, 1.0], [1.0, 2.0], [7.0, 3.0]])
PAIR_COSTS = np.array([[0.0, 2.0, 3.0], [1.0, 0.0, 1.0], [2.0, 0.0, 3.0]])


def worked_examples() -> dict[tuple[str, str, str], float]:
    """Return (task, method, metric) -> the figure as computed by this library."""
    credit = CostMatrix.from_predicted_true([[0, 3], [1, 0]], labels=["good", "bad"])
    figures = {("german_credit", "threshold", "theoretical"): 1.0 - credit.threshold()}
    for task, costs, (j, k), names in [
        ("instance_weights", INSTANCE_COSTS, (0, 1), (0, 1)),
        ("csovo_1_vs_2", PAIR_COSTS, (0, 1), (1, 2)),
        ("csovo_2_vs_3", PAIR_COSTS, (1, 2), (2, 3)),
        ("csovo_1_vs_3", PAIR_COSTS, (0, 2), (1, 3)),
    ]:
        labels, weights = pair_problem(costs, j, k)
        for i, (label, weight) in enumerate(zip(labels, weights), start=1):
            figures[task, f"example_{i}", "weight"] = float(weight)
            figures[task, f"example_{i}", "label"] = float(names[int(label)])
    return figures


def cells() -> list[Cell]:
    """Return the worked examples beside the slides' figures; they must be equal."""
    figures = worked_examples()
    return [
        Cell.beside(
            cell, figures[cell.key], "matched" if figures[cell.key] == cell.number else "short"
        )
        for cell in published_tables("slides")["1"]
    ]
