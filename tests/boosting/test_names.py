"""Parameters, declarations, and what the methods refuse."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from stakes._methods import Setting, declared_methods
from stakes.boosting import (
    AdaBoostMMClassifier,
    AdaBoostNCClassifier,
    CoMBoClassifier,
    SMOTEBoostClassifier,
)

C = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [9.0, 3.0, 0.0]])
METHODS = {
    "adaboost_mm": (AdaBoostMMClassifier, "AdaBoost.MM"),
    "combo": (CoMBoClassifier, "CoMBo boosting"),
    "adaboost_nc": (AdaBoostNCClassifier, "AdaBoost.NC"),
    "smoteboost": (SMOTEBoostClassifier, "SMOTEBoost"),
}


def make_data(n=150):
    return make_classification(
        n, n_features=6, n_informative=4, n_classes=3, weights=[0.6, 0.3], random_state=0
    )


@pytest.mark.parametrize("name", METHODS)
def test_a_declared_method_is_made_with_the_costs(name):
    method, (cls, title) = declared_methods()[name], METHODS[name]
    assert (method.cls, method.title, method.family) == (cls, title, "boosting")
    assert method.kinds == ("class", "hindsight")
    assert method.default == (name == "combo")
    assert method.needs == (("imblearn",) if name == "smoteboost" else ())
    setting = Setting(3, 150, plain_model=DecisionTreeClassifier, cost_matrix=C, random_state=5)
    model = method.make(setting)
    if name == "smoteboost":  # which cannot do with missing values
        assert [step for step, _ in model.steps] == ["simpleimputer", "smoteboostclassifier"]
        model = model[-1]
    assert type(model) is cls
    assert model.cost_matrix is C
    assert (model.random_state, model.n_jobs) == (5, 1)


@pytest.mark.parametrize("cls", [cls for cls, _ in METHODS.values()])
def test_the_first_parameter_is_the_cost_matrix_and_all_others_are_keywords(cls):
    first, *others = inspect.signature(cls).parameters.values()
    assert first.name == "cost_matrix"
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in others)
    assert set(cls().get_params()) == {parameter.name for parameter in (first, *others)}
    for parameter in (first, *others):
        assert f" {parameter.name}" in cls.__doc__, "every parameter is documented"
    changed = clone(cls(C, n_estimators=7, verbose=0, learning_rate=0.5))
    assert (changed.n_estimators, changed.learning_rate) == (7, 0.5)
    assert_allclose(changed.cost_matrix, C)


def test_own_parameters_come_beside_those_of_the_loop():
    assert AdaBoostNCClassifier(penalty_strength=1.0, oversample=False).oversample is False
    assert SMOTEBoostClassifier(k_neighbors=3).k_neighbors == 3
    assert CoMBoClassifier() != CoMBoClassifier()  # told apart by identity, as others are
    assert len({CoMBoClassifier(), CoMBoClassifier()}) == 2
    assert repr(CoMBoClassifier(n_estimators=3)) == "CoMBoClassifier(n_estimators=3)"
    with pytest.raises(ValueError, match="'k_neighbors' parameter of SMOTEBoostClassifier must"):
        SMOTEBoostClassifier(k_neighbors=0).fit(*make_data())
    with pytest.raises(TypeError, match="calibrated"):
        CoMBoClassifier(calibrated=True)


def test_costs_known_when_deciding_are_refused_by_predict():
    X, y = make_data()
    model = CoMBoClassifier(C, n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="CoMBoClassifier learns what to decide and cannot"):
        model.predict(X, cost_tensor=np.broadcast_to(C, (len(y), 3, 3)))


def test_a_changed_estimator_does_not_change_a_fitted_model():
    X, y = make_data()
    model = CoMBoClassifier(n_estimators=3).fit(X, y)
    before = model.predict(X)
    model.set_params(estimator=DecisionTreeClassifier())
    assert (model.predict(X.tolist()) == before).all()


def test_a_constant_model_has_importances_of_zero():
    X, y = np.zeros((10, 2)), np.arange(10) % 2
    with pytest.warns(UserWarning, match="no better than guessing"):
        model = CoMBoClassifier().fit(X, y)  # equal classes, and nothing to tell them by
    assert model.estimator_weights_.tolist() == [0.0]
    assert_allclose(model.feature_importances_, [0, 0])


def test_early_stopping_needs_examples_to_watch():
    with pytest.raises(ValueError, match="every class has a single example"):
        CoMBoClassifier(early_stopping="cost").fit([[0.0], [1.0]], [0, 1])
