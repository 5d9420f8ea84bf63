import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.dummy import DummyClassifier

from stakes.metrics import CostMatrixDisplay, total_cost

matplotlib = pytest.importorskip("matplotlib")

C = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [64.0, 32.0, 0.0]])
Y_TRUE = np.array([0, 0, 1, 2, 2, 2])
Y_PRED = np.array([0, 2, 0, 1, 1, 2])


@pytest.fixture(autouse=True)
def _no_window():
    matplotlib.use("Agg")
    yield
    matplotlib.pyplot.close("all")


def test_cells_are_what_each_kind_of_mistake_costs():
    display = CostMatrixDisplay.from_predictions(Y_TRUE, Y_PRED, cost_matrix=C, currency="€")
    assert_array_equal(display.costs, [[0, 0, 2], [4, 0, 0], [0, 64, 0]])
    assert_array_equal(display.counts, [[1, 0, 1], [1, 0, 0], [0, 2, 1]])
    assert display.costs.sum() == total_cost(Y_TRUE, Y_PRED, cost_matrix=C)
    assert display.text_[2, 1].get_text() == "€64\n2"
    assert display.ax_.get_xlabel() == "predicted"
    assert display.ax_.get_ylabel() == "true"


def test_example_costs_and_weights():
    display = CostMatrixDisplay.from_predictions(
        Y_TRUE, Y_PRED, costs=C[Y_TRUE], sample_weight=[1, 1, 1, 10, 1, 1], plot=False
    )
    assert display.costs[2, 1] == 32 * 11
    assert not hasattr(display, "ax_")


def test_from_estimator_uses_its_own_costs():
    model = DummyClassifier(strategy="constant", constant=0).fit(np.zeros((6, 1)), Y_TRUE)
    model.cost_matrix_ = C
    display = CostMatrixDisplay.from_estimator(model, np.zeros((6, 1)), Y_TRUE, plot=False)
    assert display.costs.sum() == 4 + 3 * 64
