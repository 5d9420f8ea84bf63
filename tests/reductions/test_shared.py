"""What all reductions share: inputs, seeds, parallel work, errors."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from stakes import reductions
from stakes._methods import declared_methods
from stakes.reductions import CostRegressionClassifier, MetaCostClassifier
from stakes.tree import CostTreeClassifier

C = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [9.0, 3.0, 0.0]])
SMALL = {"n_estimators": 4, "n_iterations": 3}
PUBLIC = [getattr(reductions, name) for name in reductions.__all__ if name != "rejection_sample"]
ALL = [Reduction for Reduction in PUBLIC if Reduction is not CostRegressionClassifier]
WEIGHING = [Reduction for Reduction in ALL if Reduction is not MetaCostClassifier]


def make(Reduction, base=None, **params):
    known = Reduction().get_params(deep=False)
    small = {name: value for name, value in SMALL.items() if name in known}
    return Reduction(base, **{"cost_matrix": C, "random_state": 0, **small, **params})


@pytest.fixture(scope="module")
def data():
    return make_classification(
        150, n_features=6, n_informative=4, n_classes=3, flip_y=0.1, random_state=0
    )


@pytest.mark.parametrize("Reduction", ALL)
@pytest.mark.parametrize("base", [DecisionTreeClassifier(), CostTreeClassifier(max_depth=4)])
def test_the_result_does_not_depend_on_n_jobs(Reduction, base, data):
    X, y = data
    one = make(Reduction, base).fit(X, y)
    two = make(Reduction, base, n_jobs=2).fit(X, y)
    assert_array_equal(one.predict(X), two.predict(X))
    assert_array_equal(one.n_samples_used_, two.n_samples_used_)
    if hasattr(one, "predict_proba"):
        assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    elif hasattr(one, "decision_function"):
        assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("Reduction", ALL)
def test_seeds(Reduction, data):
    X, y = data
    base = DecisionTreeClassifier(max_features=2)
    first = make(Reduction, base, random_state=1).fit(X, y)
    again = make(Reduction, base, random_state=1).fit(X, y)
    assert_array_equal(first.predict(X), again.predict(X))
    assert base.random_state is None


@pytest.mark.parametrize("Reduction", ALL)
def test_a_fitted_model_keeps_no_training_data(Reduction, data):
    X, y = data
    wide = np.hstack([X, np.zeros((len(X), 2000))])  # 2.4 MB
    model = make(Reduction, DecisionTreeClassifier(max_depth=2)).fit(wide, y)
    stored = pickle.dumps(model)
    assert len(stored) < 500_000
    assert_array_equal(pickle.loads(stored).predict(wide), model.predict(wide))


@pytest.mark.parametrize("Reduction", ALL)
def test_sparse_rows(Reduction, data):
    X, y = data
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    for container in (sp.csr_matrix, sp.csc_array):
        dense = make(Reduction, LogisticRegression()).fit(X, y).predict(X)
        sparse = make(Reduction, LogisticRegression()).fit(container(X), y).predict(container(X))
        assert np.mean(dense == sparse) > 0.97  # the solver sums in another order


@pytest.mark.parametrize("Reduction", ALL)
def test_data_frames_reach_the_classifier_as_they_are(Reduction, data):
    X, y = data
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(6)])
    frame["colour"] = pd.Categorical(np.where(X[:, 0] > 0, "red", "blue"))
    encode = make_column_transformer(
        (OneHotEncoder(), ["colour"]), remainder="passthrough", verbose_feature_names_out=False
    )
    base = make_pipeline(encode, GaussianNB())
    params = {} if Reduction is MetaCostClassifier else {"sampling": "rejection"}
    model = make(Reduction, base, **params).fit(frame, y)
    assert model.n_features_in_ == 7
    assert model.predict(frame).shape == (150,)
    # the cost tree takes the categories itself
    tree = make(Reduction).fit(frame, y)
    assert np.mean(C[y, tree.predict(frame)]) < 1.5


@pytest.mark.parametrize("Reduction", WEIGHING)
def test_weights_need_a_classifier_that_takes_them(Reduction, data):
    X, y = data
    pipe = make_pipeline(StandardScaler(), GaussianNB())
    model = make(Reduction, pipe, sampling="weights")
    with pytest.raises(
        ValueError, match="Pipeline does not take sample_weight in fit: use sampling"
    ):
        model.fit(X, y)
    model.set_params(sampling="rejection").fit(X, y)


@pytest.mark.parametrize("Reduction", ALL)
@pytest.mark.parametrize("base", [DecisionTreeClassifier(max_depth=3), None])
def test_costs_arrive_through_a_search(Reduction, base, data):
    from sklearn import config_context

    X, y = data
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), make(Reduction, base, cost_matrix=None))
        name = Reduction.__name__.lower()
        search = GridSearchCV(pipe, {f"{name}__random_state": [0, 1]}, cv=2)
        search.fit(X, y, costs=C[y])
    assert -3 < search.best_score_ <= 0
    assert_allclose(search.best_estimator_[-1].cost_matrix_, C)


@pytest.mark.parametrize("Reduction", ALL)
def test_string_labels_and_labelled_costs(Reduction, data):
    from stakes.costs import CostMatrix

    X, y = data
    names = np.array(["low", "mid", "high"])  # sorted: high, low, mid
    plain = make(Reduction, DecisionTreeClassifier(max_depth=4)).fit(X, y)
    named = make(
        Reduction, DecisionTreeClassifier(max_depth=4), cost_matrix=CostMatrix(C, labels=names)
    ).fit(X, names[y])
    paid = C[y, plain.predict(X)].mean()
    order = {name: i for i, name in enumerate(names)}
    again = C[y, [order[n] for n in named.predict(X)]].mean()
    assert max(paid, again) < 1.5  # misaligned costs would give 2.5 and more


@pytest.mark.parametrize("Reduction", PUBLIC)
def test_verbose_tells_of_each_member_on_standard_error(Reduction, data, capsys):
    X, y = data
    base = None if Reduction is CostRegressionClassifier else DecisionTreeClassifier(max_depth=2)
    make(Reduction, base, verbose=1).fit(X, y)
    told = capsys.readouterr()
    lines = told.err.splitlines()
    assert told.out == ""
    assert lines
    assert all(line.startswith(f"[{Reduction.__name__}] ") for line in lines)
    assert "1" in lines[0]
    make(Reduction, base).fit(X, y)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("Reduction", [R for R in PUBLIC if R is not MetaCostClassifier])
def test_costs_known_when_deciding_are_refused_where_they_cannot_be_weighed(Reduction, data):
    X, y = data
    base = None if Reduction is CostRegressionClassifier else DecisionTreeClassifier(max_depth=2)
    model = make(Reduction, base).fit(X, y)
    with pytest.raises(ValueError, match="cannot weigh the costs of single examples"):
        model.predict(X, cost_tensor=np.tile(C, (len(X), 1, 1)))


def test_every_reduction_is_a_declared_method():
    declared = {
        method.name: method
        for method in declared_methods().values()
        if method.cls.__module__.startswith("stakes.reductions.")
    }
    assert {method.cls for method in declared.values()} == set(PUBLIC)
    default = {name for name, method in declared.items() if method.default}
    assert default == {"weighted", "costing", "gbse", "csovo"}
    assert {name for name, m in declared.items() if "deciding" in m.kinds} == {"metacost"}
    assert declared["gbse"].title == "GBSE"
    assert "elabel" not in declared["metacost"].note  # relabel=False is what runs
