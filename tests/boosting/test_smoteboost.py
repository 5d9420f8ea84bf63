import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from stakes.boosting import AdaBoostMMClassifier, SMOTEBoostClassifier
from stakes.boosting._smoteboost import SyntheticExamples

pytest.importorskip("imblearn")


def make_data(n=300, seed=0):
    return make_classification(
        n, n_features=6, n_informative=4, n_classes=3, weights=[0.6, 0.3], random_state=seed
    )


def test_synthetic_examples_lie_between_neighbours_of_their_class():
    # Class 1 lies on the line from (0, 0) to (3, 3); so must whatever is made of it.
    X = np.array([[5.0, 0.0]] * 10 + [[0.0, 0.0], [1.0, 1.0], [3.0, 3.0]])
    y = np.array([0] * 10 + [1] * 3)
    synthetic = SyntheticExamples(X, y, np.zeros(2, bool), 5, np.random.RandomState(0))
    assert synthetic.labels.tolist() == [1] * 7
    rounds = [synthetic.draw() for _ in range(40)]
    for made in rounds:
        assert made.shape == (7, 2)
        assert_allclose(made[:, 0], made[:, 1])
        assert made.min() >= 0
        assert made.max() <= 3
    assert len(np.unique(np.concatenate(rounds), axis=0)) > 200  # new ones in every round


def test_categories_are_never_mixed():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=40), rng.integers(3, size=40)])
    y = np.repeat([0, 1], [30, 10])
    for mask in ([False, True], [True, True], [False, True, True]):
        table = X[:, [int(is_category) for is_category in mask]]
        synthetic = SyntheticExamples(table, y, np.array(mask), 3, np.random.RandomState(0))
        assert np.isin(synthetic.draw()[:, 1], [0, 1, 2]).all()


def test_a_single_example_is_repeated():
    X = np.array([[0.0], [1.0], [2.0], [9.0]])
    synthetic = SyntheticExamples(X, np.array([0, 0, 0, 1]), np.zeros(1, bool), 5, None)
    assert synthetic.draw().tolist() == [[9.0], [9.0]]


def test_members_see_the_training_examples_and_as_many_as_the_classes_lack():
    X, y = make_data()
    sizes = []

    class Recording(ClassifierMixin, BaseEstimator):
        def fit(self, X, y, *, costs):
            sizes.append((np.bincount(y), costs))
            self.tree_ = DecisionTreeClassifier(max_depth=3).fit(X, y)
            self.classes_ = self.tree_.classes_
            return self

        def predict(self, X):
            return self.tree_.predict(X)

    model = SMOTEBoostClassifier(estimator=Recording(), n_estimators=3, random_state=0).fit(X, y)
    n, largest = len(y), np.bincount(y).max()
    for counts, costs in sizes:
        assert counts.tolist() == [largest] * 3
        assert_allclose(costs.sum(axis=1), 0, atol=1e-12)
        # the training examples keep the weight of the first round in sum, the others theirs
        assert_allclose(-costs[np.arange(n), y].sum(), 1)
        assert_allclose(costs[n:].min(axis=1), -1 / n)
    assert not np.allclose(sizes[0][1][:n], sizes[1][1][:n])
    assert (model.edges_ > 0).all()


def test_equal_classes_need_no_synthetic_examples():
    X, y = make_data()
    rows = np.concatenate([np.flatnonzero(y == c)[:25] for c in range(3)])
    ours = SMOTEBoostClassifier(n_estimators=10, random_state=0).fit(X[rows], y[rows])
    plain = SMOTEBoostClassifier(n_estimators=10, random_state=1).fit(X[rows], y[rows])
    assert_allclose(ours.edges_, plain.edges_)
    assert (ours.predict(X) == plain.predict(X)).all()


def test_lemma_5_holds_on_the_training_examples():
    X, y = make_data()
    model = SMOTEBoostClassifier(n_estimators=30, random_state=0).fit(X, y)
    before = np.concatenate([[model.initial_loss_], model.loss_[:-1]])
    assert (model.loss_ <= before * np.sqrt(1 - model.edges_**2) * (1 + 1e-12)).all()
    again = SMOTEBoostClassifier(n_estimators=30, random_state=0).fit(X, y)
    assert (again.decision_function(X) == model.decision_function(X)).all()


def test_it_recognises_more_of_a_rare_class_than_plain_boosting():
    X, y = make_data(n=900, seed=1)
    tree = DecisionTreeClassifier(max_depth=3)
    ours = SMOTEBoostClassifier(estimator=tree, n_estimators=40, random_state=0).fit(
        X[:600], y[:600]
    )
    plain = AdaBoostMMClassifier(estimator=tree, n_estimators=40, random_state=0).fit(
        X[:600], y[:600]
    )
    rare = y[600:] == 2
    assert np.mean(ours.predict(X[600:])[rare] == 2) > np.mean(plain.predict(X[600:])[rare] == 2)


def test_tables_with_categories_and_any_estimator():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"colour": pd.Categorical(rng.choice(["red", "blue"], 120)), "size": rng.normal(size=120)}
    )
    y = ((frame["colour"] == "red") & (frame["size"] > 0)).astype(int).to_numpy()
    model = SMOTEBoostClassifier(n_estimators=5, random_state=0).fit(frame, y)
    assert (model.predict(frame) == y).all()
    model = SMOTEBoostClassifier(estimator=DecisionTreeClassifier(max_depth=2), n_estimators=5)
    model.set_params(random_state=0).fit(frame[["size"]], y)
    assert model.predict(frame[["size"]]).shape == y.shape


def test_two_columns_of_categories_and_two_of_numbers():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(60, 2))
    frame = pd.DataFrame(
        {"a": numbers[:, 0], "c": list("uvw") * 20, "b": numbers[:, 1], "d": list("xy") * 30}
    ).astype({"c": "category", "d": "category"})
    y = (np.arange(60) % 5 == 0).astype(int)
    model = SMOTEBoostClassifier(n_estimators=5, random_state=0).fit(frame, y)
    assert model.predict(frame).shape == (60,)
    assert set(model.predict(frame)) <= {0, 1}


def test_missing_values_are_refused():
    X, y = make_data()
    X[3, 2] = np.nan
    with pytest.raises(
        ValueError, match=r"missing values \(NaN\), which SMOTE cannot interpolate"
    ):
        SMOTEBoostClassifier(n_estimators=2).fit(X, y)


def test_without_imbalanced_learn_it_says_what_to_install(monkeypatch):
    X, y = make_data()
    monkeypatch.setitem(sys.modules, "imblearn", None)
    monkeypatch.setitem(sys.modules, "imblearn.over_sampling", None)
    with pytest.raises(ImportError, match=r'pip install "stakes\[imbalance\]"'):
        SMOTEBoostClassifier(n_estimators=2).fit(X, y)
