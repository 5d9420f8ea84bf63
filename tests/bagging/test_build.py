"""How `compare` and `fit` make the methods of this package."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from stakes._learning.votes import mean_excess
from stakes._methods import Setting, declared_methods
from stakes.bagging import ArcX4Classifier, BacingClassifier, L1LinearSVC

C = np.array([[0.0, 1.0], [5.0, 0.0]])


def setting(n_classes=2, n_samples=300):
    return Setting(
        n_classes=n_classes, n_samples=n_samples, plain_model=DecisionTreeClassifier, cost_matrix=C
    )


@pytest.mark.parametrize(
    ("name", "cls", "title"),
    [
        ("bacing", BacingClassifier, "Bagging with adaptive costs"),
        ("arcx4", ArcX4Classifier, "Arc-x4"),
        ("l1_svm", L1LinearSVC, "L1 linear SVM"),
    ],
)
def test_a_declared_method_learns_from_features_of_any_size_with_holes(name, cls, title):
    method = declared_methods()[name]
    assert (method.cls, method.title, method.family) == (cls, title, "bagging")
    assert method.kinds == ("class", "hindsight")
    X, y = make_classification(300, 5, random_state=0)
    X = X * 10.0 ** np.arange(5)
    X[::7, 2] = np.nan
    model = method.make(setting()).fit(X, y)
    assert [step for step, _ in model.steps[:2]] == ["simpleimputer", "standardscaler"]
    assert_allclose(model[-1].cost_matrix_, C)
    assert np.mean(model.predict(X) == y) > 0.7


@pytest.mark.parametrize("name", ["bacing", "arcx4"])
def test_members_are_trees_where_linear_programmes_would_take_long(name):
    make = declared_methods()[name].make
    assert make(setting())[-1].estimator is None
    for many in (setting(n_classes=3), setting(n_samples=1001)):
        assert isinstance(make(many)[-1].estimator, DecisionTreeClassifier)
        assert make(many)[-1].n_estimators == 30


def test_which_are_run_unless_named():
    methods = declared_methods()
    default = {name: methods[name].default for name in ("bacing", "arcx4", "l1_svm")}
    assert default == {"bacing": True, "arcx4": False, "l1_svm": False}
    assert methods["bacing"].limit(setting(n_samples=50_000)) == ""
    assert "beyond 50,000 rows" in methods["bacing"].limit(setting(n_samples=50_001))
    assert "beyond 10,000 rows" in methods["l1_svm"].limit(setting(n_samples=10_001))


def test_a_member_scores_as_it_would_alone():
    X, y = make_classification(60, 5, flip_y=0.2, random_state=0)
    member = BacingClassifier(n_estimators=1, cost_matrix=C, random_state=0).fit(X, y)
    member = member.estimators_[0]
    assert_allclose(member.score(X, y), -C[y, member.predict(X)].mean())


def test_the_first_parameter_of_the_svm_is_the_cost_matrix():
    X, y = make_classification(60, 5, flip_y=0.2, random_state=0)
    assert_allclose(L1LinearSVC(C).fit(X, y).cost_matrix_, C)
    with pytest.raises(TypeError, match="positional"):
        L1LinearSVC(None, 1.0)


@pytest.mark.parametrize("cls", [ArcX4Classifier, BacingClassifier, L1LinearSVC])
def test_all_parameters_but_the_first_are_keywords(cls):
    first, *others = inspect.signature(cls).parameters.values()
    assert first.name == ("cost_matrix" if cls is L1LinearSVC else "estimator")
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in others)
    for parameter in (first, *others):
        assert f" {parameter.name}" in cls.__doc__, "every parameter is documented"


def test_costs_known_when_deciding_are_refused_by_predict():
    X, y = make_classification(60, 5, random_state=0)
    model = BacingClassifier(n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="BacingClassifier learns what to decide and cannot"):
        model.predict(X, cost_tensor=np.broadcast_to(C, (60, 2, 2)))


def test_a_row_of_equal_costs_is_worth_nothing_to_the_last_bit():
    # 0.1 added up six times is less than 6 * 0.1: a difference of the two would be negative.
    assert (mean_excess(np.full((3, 6), 0.1)) == 0.0).all()


def test_stages_of_shares_end_where_the_shares_are():
    X, y = make_classification(60, 5, flip_y=0.2, random_state=0)
    model = BacingClassifier(n_estimators=4, random_state=0).fit(X, y)
    assert_allclose(list(model.staged_predict_proba(X))[-1], model.predict_proba(X))
    assert_allclose(list(model.staged_decision_function(X))[-1], model.decision_function(X))
    assert_allclose(
        model.decision_function(X), model.predict_proba(X)[:, 1] - model.predict_proba(X)[:, 0]
    )
