import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError

from stakes.bagging import AdaptiveCostDisplay, ArcX4Classifier, BacingClassifier
from stakes.bagging._display import cost_changes


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.fixture
def data():
    X, y = make_classification(80, 5, flip_y=0.2, random_state=0)
    return X[:50], y[:50], X[50:], y[50:]


def test_changes_by_hand():
    # (0, 3) then (4, 0): lengths 3 and 4; in all 5 would be one step.
    history = np.array([[1.0, 1.0], [1.0, 4.0], [5.0, 4.0]])
    assert_allclose(cost_changes(history), [3, 4])
    assert len(cost_changes(history[:1])) == 0


def test_the_curves_are_the_errors_and_the_changes(pyplot, data):
    X, y, X_test, y_test = data
    model = BacingClassifier(n_estimators=6, random_state=0).fit(X, y)
    display = AdaptiveCostDisplay.from_estimator(model, X_test, y_test)
    out_of_bag, test, changes = display.lines_
    assert_allclose(out_of_bag.get_ydata(), model.oob_errors_)
    assert_allclose(test.get_xdata(), [1, 2, 3, 4, 5, 6])
    assert_allclose(test.get_ydata()[0], np.mean(model.estimators_[0].predict(X_test) != y_test))
    assert_allclose(test.get_ydata()[-1], np.mean(model.predict(X_test) != y_test))
    assert_allclose(changes.get_xdata(), [2, 3, 4, 5, 6])
    assert_allclose(
        changes.get_ydata()[0], np.linalg.norm(model.cost_history_[1] - model.cost_history_[0])
    )
    assert display.axes_[0].get_xlabel() == "Round"
    assert display.figure_ is display.axes_[1].figure


def test_two_ensembles_share_their_axes(pyplot, data):
    X, y, X_test, y_test = data
    bacing = BacingClassifier(n_estimators=4, random_state=0).fit(X, y)
    arcing = ArcX4Classifier(n_estimators=4).fit(X, y)
    first = AdaptiveCostDisplay.from_estimator(bacing, name="bacing")
    second = AdaptiveCostDisplay.from_estimator(
        arcing, X_test, y_test, name="Arc-x4", axes=first.axes_
    )
    assert second.figure_ is first.figure_
    labels = [text.get_text() for text in second.axes_[0].get_legend().get_texts()]
    assert labels == ["bacing, out of bag", "Arc-x4, training", "Arc-x4, test"]


def test_what_cannot_be_drawn_is_refused(data):
    X, y, *_ = data
    with pytest.raises(NotFittedError, match="not fitted yet"):
        AdaptiveCostDisplay.from_estimator(BacingClassifier())
    model = BacingClassifier(n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="Give both X and y"):
        AdaptiveCostDisplay.from_estimator(model, X)
