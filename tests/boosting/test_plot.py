import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification

from stakes.boosting import BoostingDisplay, CoMBoClassifier, plot_boosting
from stakes.metrics import confusion_norm


@pytest.fixture
def fitted():
    X, y = make_classification(200, n_informative=4, n_classes=3, random_state=0)
    names = np.array(["a", "b", "c"])[y]
    return CoMBoClassifier(n_estimators=7).fit(X, names), X, names


def test_the_curves_are_those_of_the_stages(fitted):
    model, X, y = fitted
    display = BoostingDisplay.from_estimator(model, X, y, plot=False)
    assert_allclose(display.loss, model.loss_)
    assert_allclose(display.edges, model.edges_)
    assert display.confusion_norms[-1] == confusion_norm(y, model.predict(X))
    recalls = [np.mean(model.predict(X)[y == c] == c) for c in "abc"]
    assert_allclose(display.recalls[-1], recalls)
    assert display.recalls.shape == (7, 3)


def test_four_panels_are_drawn(fitted):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    model, X, y = fitted
    display = plot_boosting(model, X, y)
    titles = [ax.get_title() for ax in display.axes_.ravel()]
    assert titles == ["training loss", "edge", "confusion norm", "recall of each class"]
    lines = display.axes_[1, 1].get_lines()
    assert [line.get_label() for line in lines] == ["a", "b", "c"]
    assert_allclose(lines[0].get_ydata(), display.recalls[:, 0])
    plt.close(display.figure_)


def test_a_y_of_another_length_is_refused(fitted):
    model, X, y = fitted
    with pytest.raises(ValueError, match="y has 10 classes, but X has 200 examples"):
        BoostingDisplay.from_estimator(model, X, y[:10])
