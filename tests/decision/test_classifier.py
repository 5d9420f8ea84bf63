import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from stakes.costs import CostMatrix, binary_cost_tensor
from stakes.decision import CostDecisionClassifier, MinimumExpectedCost, decide
from stakes.metrics import average_cost

C = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [20.0, 20.0, 0.0]])


@pytest.fixture(scope="module")
def three():
    X, y = make_classification(
        n_samples=300, n_classes=3, n_informative=4, flip_y=0.2, random_state=0
    )
    return X, y


@parametrize_with_checks(
    [CostDecisionClassifier(LogisticRegression(), calibration="vector", cv=3)]
)
def test_sklearn_contract(estimator, check):
    check(estimator)


def test_decisions_are_those_of_least_expected_cost(three):
    X, y = three
    model = CostDecisionClassifier(LogisticRegression(), cost_matrix=C).fit(X, y)
    plain = LogisticRegression().fit(X, y)
    assert_allclose(model.predict_proba(X), plain.predict_proba(X))
    assert_array_equal(model.predict(X), decide(plain.predict_proba(X), C))
    assert model.score(X, y) == -average_cost(y, model.predict(X), cost_matrix=C)


class CountingClassifier(ClassifierMixin, BaseEstimator):
    """Say the class frequencies; remember how often and on how many rows it was fitted."""

    fits: list = []

    def fit(self, X, y, sample_weight=None):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.proba_ = counts / counts.sum()
        self.fits.append(len(y))
        return self

    def predict_proba(self, X):
        return np.tile(self.proba_, (len(X), 1))


def test_folds_are_fitted_only_where_something_learns(three):
    X, y = three
    CountingClassifier.fits.clear()
    CostDecisionClassifier(CountingClassifier(), cost_matrix=C).fit(X, y)
    assert CountingClassifier.fits == [300]
    CountingClassifier.fits.clear()
    CostDecisionClassifier(CountingClassifier(), calibration="temperature", cv=3).fit(X, y)
    assert CountingClassifier.fits == [300, 200, 200, 200]


def test_a_frozen_estimator_is_not_fitted_again(three):
    X, y = three
    base = LogisticRegression().fit(X[:150], y[:150])
    before = base.coef_.copy()
    model = CostDecisionClassifier(FrozenEstimator(base), cost_matrix=C, calibration="isotonic")
    model.fit(X[150:], y[150:])
    assert_array_equal(base.coef_, before)
    assert model.estimator_.estimator is base
    with pytest.raises(
        ValueError, match="y has no example of 2, which the frozen estimator knows: "
    ):
        CostDecisionClassifier(FrozenEstimator(base)).fit(X[y < 2], y[y < 2])
    with pytest.raises(ValueError, match="y has 3, which the frozen estimator does not know: "):
        CostDecisionClassifier(FrozenEstimator(base)).fit(X, np.where(X[:, 0] > 1, 3, y))


def test_costs_of_each_example_reach_predict(three):
    X, y = three
    y = (y == 2).astype(int)
    amount = np.linspace(1, 100, len(y))
    tensor = binary_cost_tensor(fp_cost=5, fn_cost=amount)
    model = CostDecisionClassifier(LogisticRegression()).fit(X, y, cost_tensor=tensor)
    p = model.predict_proba(X)[:, 1]
    # decide 1 where p * amount > (1 - p) * 5: Hoppner's threshold per example
    assert_array_equal(model.predict(X, cost_tensor=tensor), (p > 5 / (5 + amount)).astype(int))
    # at average prices, if that is asked for
    mean = amount[y == 1].mean()
    average = model.predict(X, cost_tensor=model.cost_matrix_)
    assert_array_equal(average, (p > 5 / (5 + mean)).astype(int))
    by_example = model.score(X, y, cost_tensor=tensor)
    assert by_example == -average_cost(y, model.predict(X, cost_tensor=tensor), cost_tensor=tensor)
    assert by_example > -average_cost(y, average, cost_tensor=tensor)


def test_a_pipeline_hands_the_costs_on(three):
    X, y = three
    tensor = np.tile(C, (len(y), 1, 1)) * np.linspace(1, 3, len(y))[:, None, None]
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), CostDecisionClassifier(LogisticRegression()))
        pipe.fit(X, y, cost_tensor=tensor)
        decided = pipe.predict(X, cost_tensor=tensor)
        assert_array_equal(decided, pipe[-1].predict(pipe[:-1].transform(X), cost_tensor=tensor))
        search = GridSearchCV(
            CostDecisionClassifier(LogisticRegression()), {"estimator__C": [0.01, 1]}, cv=2
        ).fit(X, y, costs=C[y])
    assert_allclose(search.best_estimator_.cost_matrix_, C)


def test_abstaining_is_one_more_decision(three):
    X, y = three
    model = CostDecisionClassifier(LogisticRegression(), cost_matrix=C, abstain_cost=0.4)
    model.fit(X, y)
    expected = model.expected_costs(X)
    assert expected.shape == (300, 4)
    assert_allclose(expected[:, 3], 0.4)
    wanted = np.array([0, 1, 2, -1])[expected.argmin(axis=1)]
    assert_array_equal(model.predict(X), wanted)
    assert 0 < (wanted == -1).sum() < 300
    paid = np.where(wanted == -1, 0.4, C[y, wanted])
    assert model.score(X, y) == pytest.approx(-paid.mean())
    assert_array_equal(model.abstain_costs_, [0.4] * 3)
    assert model.abstain_label_ == -1
    # at other prices, an abstention still costs what it costs
    at_ten_times = np.where(wanted == -1, 0.4, 10 * C[y, wanted])
    assert model.score(X, y, cost_matrix=10 * C) == pytest.approx(-at_ten_times.mean())
    weight = np.arange(300) % 3
    assert model.score(X, y, weight) == pytest.approx(-np.average(paid, weights=weight))
    free = clone(model).set_params(abstain_cost=None).fit(X, y)
    assert model.score(X, y) > free.score(X, y)
    assert free.abstain_costs_ is free.abstain_label_ is None


def test_abstaining_may_cost_more_for_some_truths():
    # P = .7, .2, .1; abstaining costs 0, 0, 8: 0.8 expected, against 0.9 for class 2
    X, y = [[0]] * 10, [0] * 7 + [1] * 2 + [2]
    model = CostDecisionClassifier(DummyClassifier(), cost_matrix=C, abstain_cost=[0, 0, 8])
    assert_array_equal(model.fit(X, y).predict([[0]]), [-1])
    model.set_params(abstain_cost=[0, 0, 10])
    assert_array_equal(model.fit(X, y).predict([[0]]), [2])


def test_the_label_of_an_abstention():
    X, y = [[0]] * 4, ["yes", "no"] * 2
    model = CostDecisionClassifier(DummyClassifier(), abstain_cost=0.1)
    assert_array_equal(model.fit(X, y).predict([[0]]), ["abstain"])
    model.set_params(abstain_label="ask a human")
    assert_array_equal(model.fit(X, y).predict([[0]]), ["ask a human"])
    assert model.score(X, y) == pytest.approx(-0.1)
    with pytest.raises(ValueError, match="'yes' is decided already"):
        model.set_params(abstain_label="yes").fit(X, y)
    with pytest.raises(ValueError, match="not of the kind of the classes"):
        model.set_params(abstain_label=9).fit(X, y)
    with pytest.raises(ValueError, match="one number per class"):
        model.set_params(abstain_cost=[1, 2, 3]).fit(X, y)


def test_scores_without_probabilities_need_a_calibration(three):
    X, y = three
    with pytest.raises(ValueError, match="LinearSVC has no predict_proba"):
        CostDecisionClassifier(LinearSVC()).fit(X, y)
    model = CostDecisionClassifier(LinearSVC(), cost_matrix=C, calibration="vector").fit(X, y)
    plain = LinearSVC().fit(X, y)
    assert model.score(X, y) > -average_cost(y, plain.predict(X), cost_matrix=C)


def test_weights_reach_the_estimator_or_it_is_said(three):
    X, y = three
    weight = np.where(y == 2, 5.0, 1.0)
    model = CostDecisionClassifier(LogisticRegression()).fit(X, y, sample_weight=weight)
    plain = LogisticRegression().fit(X, y, sample_weight=weight)
    assert_allclose(model.predict_proba(X), plain.predict_proba(X))
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    model = CostDecisionClassifier(pipe).fit(X, y, sample_weight=weight)
    pipe.fit(X, y, logisticregression__sample_weight=weight)
    assert_allclose(model.predict_proba(X), pipe.predict_proba(X))
    with pytest.warns(UserWarning, match="KNeighborsClassifier takes no sample_weight"):
        CostDecisionClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=weight)


def test_frames_text_labels_and_sparse_matrices(three):
    X, y = three
    names = np.array(["flu", "cold", "sepsis"])
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    ours = CostMatrix(C, labels=names)  # not the sorted order of classes_
    model = CostDecisionClassifier(LogisticRegression(), cost_matrix=ours).fit(frame, names[y])
    assert list(model.feature_names_in_) == list(frame.columns)
    assert model.cost_matrix_[2, 1] == ours.cost(true="sepsis", predicted="flu") == 20
    numbers = CostDecisionClassifier(LogisticRegression(), cost_matrix=C).fit(X, y)
    assert (model.predict(frame) == names[numbers.predict(X)]).mean() > 0.99
    sparse = CostDecisionClassifier(LogisticRegression(), cost_matrix=C, calibration="vector")
    assert_array_equal(
        clone(sparse).fit(csr_array(X), y).predict(csr_array(X)),
        clone(sparse).fit(X, y).predict(X),
    )


def test_a_class_rarer_than_the_folds_and_repeated_folds(three):
    X, y = three
    y = np.where(np.arange(300) < 3, 3, y)
    costs = np.pad(C, (0, 1), constant_values=4.0)
    costs[3, 3] = 0
    model = CostDecisionClassifier(LogisticRegression(), cost_matrix=costs, calibration="vector")
    assert model.fit(X, y).predict_proba(X).shape == (300, 4)
    model.set_params(cv=RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0))
    assert model.fit(X, y).predict_proba(X).shape == (300, 4)


def test_groups_reach_the_splitter(three):
    X, y = three
    groups = np.repeat(np.arange(30), 10)
    model = CostDecisionClassifier(LogisticRegression(), calibration="vector", cv=GroupKFold(3))
    with config_context(enable_metadata_routing=True):
        model.fit(X, y, groups=groups)
    folds = list(GroupKFold(3).split(X, y, groups))
    same = clone(model).set_params(cv=folds).fit(X, y)
    assert_allclose(model.predict_proba(X), same.predict_proba(X))
    with pytest.raises(ValueError, match="groups"):
        model.fit(X, y, groups=groups)


def test_results_do_not_depend_on_n_jobs(three):
    X, y = three
    model = CostDecisionClassifier(LogisticRegression(), cost_matrix=C, calibration="isotonic")
    one = clone(model).fit(X, y).predict_proba(X)
    with parallel_config(backend="threading"):
        two = clone(model).set_params(n_jobs=2).fit(X, y).predict_proba(X)
    assert_array_equal(one, two)


def test_bad_input(three):
    X, y = three
    with pytest.raises(ValueError, match="no rule 'cheapest': the rules are 'binary_threshold'"):
        CostDecisionClassifier(LogisticRegression(), rule="cheapest").fit(X, y)
    with pytest.raises(ValueError, match="has a cost_matrix of its own"):
        CostDecisionClassifier(LogisticRegression(), rule=MinimumExpectedCost(cost_matrix=C)).fit(
            X, y
        )
    with pytest.raises(ValueError, match="only one class"):
        CostDecisionClassifier(LogisticRegression()).fit(X, np.zeros(300))
    with pytest.raises(ValueError, match="cost_matrix has 2 rows"):
        CostDecisionClassifier(LogisticRegression(), cost_matrix=[[0, 1], [2, 0]]).fit(X, y)
    with pytest.raises(ValueError, match="X is empty"):
        CostDecisionClassifier(LogisticRegression()).fit(X[:0], y[:0])
    model = CostDecisionClassifier(LogisticRegression(), cost_matrix=C).fit(X, y)
    with pytest.raises(ValueError, match="cost_tensor has 299 rows, one per example"):
        model.predict(X, cost_tensor=np.zeros((299, 3, 3)))
    with pytest.raises(ValueError, match="either costs or cost_tensor"):
        model.score(X, y, costs=C[y], cost_tensor=np.zeros((300, 3, 3)))
