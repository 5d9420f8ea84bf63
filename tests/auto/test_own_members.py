"""Classifiers of the user's own among the members of the default."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from stakes.auto import StakesClassifier
from stakes.compare import compare, fit_model, load_model, save_model
from stakes.costs import KINDS
from stakes.datasets import make_known_posterior
from stakes.export import to_onnx

DATA = make_known_posterior(240, K=3, d=4, random_state=0)
C = DATA.cost_matrix.values
TREE = ("tree", DecisionTreeClassifier(min_samples_leaf=10))
QUICK = {"cv": 3, "random_state": 0}


class Oracle(ClassifierMixin, BaseEstimator):
    """Reads the class in the first column, which the encoder has scaled: ranks of its values."""

    def fit(self, X, y):
        self.values_, first = np.unique(np.asarray(X)[:, 0].round(6), return_index=True)
        self.known_, self.classes_ = y[first], np.unique(y)
        return self

    def predict_proba(self, X):
        place = np.searchsorted(self.values_, np.asarray(X)[:, 0].round(6) - 1e-3)
        sure = np.eye(len(self.classes_))[self.known_[place]]
        return 0.98 * sure + 0.02 / len(self.classes_)


def costs_of(kind):
    prices = np.random.default_rng(1).lognormal(0, 0.5, 240)[:, None, None] * C
    return {
        "class": {"cost_matrix": C},
        "deciding": {"cost_tensor": prices},
        "hindsight": {"costs": prices[np.arange(240), DATA.y]},
    }[kind]


def test_the_better_classifier_has_the_weight():
    # One column is the class itself; the other classifier looks at no column.
    X = np.column_stack([DATA.y, DATA.X])
    blind = ("blind", DummyClassifier(strategy="prior"))
    model = StakesClassifier(members=[blind, ("oracle", Oracle())], **QUICK).fit(X, DATA.y)
    assert_array_equal(model.predict(X), DATA.y)
    weights = {m["name"]: m["weight"] for m in model.explain().to_dict()["members"]}
    assert list(weights) == ["blind", "oracle"]
    assert weights["oracle"] > 2 * weights["blind"]


def test_own_members_join_those_of_the_recipe():
    model = StakesClassifier(members=[TREE, "linear"], **QUICK).fit(DATA.X, DATA.y)
    assert {m["name"] for m in model.explanation_["members"]} == {"linear", "tree"}
    alone = StakesClassifier(members=["linear"], **QUICK).fit(DATA.X, DATA.y)
    assert not np.allclose(model.predict_proba(DATA.X), alone.predict_proba(DATA.X))


def test_clones_are_seeded_and_the_given_one_is_left_alone():
    given = DecisionTreeClassifier(max_features=1)
    model = StakesClassifier(members=[("tree", given)], **QUICK)
    first, second = (clone(model).fit(DATA.X, DATA.y).predict_proba(DATA.X) for _ in range(2))
    assert_array_equal(first, second)
    assert given.random_state is None
    assert not hasattr(given, "tree_")


def test_a_table_with_text_and_gaps_reaches_them_as_numbers():
    X = pd.DataFrame(DATA.X).rename(columns=str)
    X["job"] = np.where(DATA.y == 0, "cook", "smith")
    X.loc[::7, "0"] = np.nan
    model = StakesClassifier(members=[("bayes", GaussianNB())], **QUICK).fit(X, DATA.y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_one_that_takes_no_weights_sits_out_a_weighted_fit():
    weight = np.where(DATA.y == 0, 2.0, 1.0)
    near = ("near", KNeighborsClassifier())
    model = StakesClassifier(members=["linear", near], **QUICK).fit(DATA.X, DATA.y, weight)
    left_out = model.explanation_["left_out"]
    assert left_out == [{"name": "near", "reason": "does not take sample_weight"}]


def test_one_that_fails_is_left_out_with_its_reason():
    class Broken(GaussianNB):
        def predict_proba(self, X):
            return super().predict_proba(X)[:, :1]

    members = ["linear", ("broken", Broken())]
    model = StakesClassifier(members=members, **QUICK).fit(DATA.X, DATA.y)
    (left_out,) = model.explanation_["left_out"]
    assert "have shape (80, 1), (80, 3) was expected" in left_out["reason"]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([], r"members=\[\] should name some of 'linear'"),
        (["oracle"], "should name some of 'linear'.*or hold .name, classifier. pairs"),
        ([GaussianNB()], r"GaussianNB\(\) in members should be a name or a pair"),
        ([("forest", GaussianNB())], "The name 'forest' in members is taken"),
        ([TREE, TREE], "two classifiers of one name: 'tree', 'tree'"),
        ([("svc", SVC())], "'svc' should be a classifier .* has no predict_proba"),
        ([("bayes", GaussianNB)], "is a class: give an instance"),
    ],
)
def test_what_cannot_be_a_member_is_refused(members, message):
    with pytest.raises(ValueError, match=message):
        StakesClassifier(members=members).fit(DATA.X, DATA.y)


@pytest.mark.parametrize("kind", KINDS)
def test_they_go_the_whole_way(kind, tmp_path):
    train, test = np.arange(60), np.arange(60, 240)
    given, method = costs_of(kind), StakesClassifier(members=["linear", TREE], **QUICK)
    found = compare(DATA.X, DATA.y, **given, methods={"mine": method}, cv=[(train, test)])
    assert found.results["mine"].status == "ok", found.results["mine"].reason
    part = {name: v if name == "cost_matrix" else v[train] for name, v in given.items()}
    model = fit_model(DATA.X[train], DATA.y[train], method, **part)
    prices = {"cost_tensor": given["cost_tensor"][test]} if kind == "deciding" else {}
    decided = model.predict(DATA.X[test], **prices)
    assert_array_equal(decided, found.classes[found.results["mine"].decisions[test]])
    save_model(model, tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops")
    assert_array_equal(again.predict(DATA.X[test], **prices), decided)
    if kind == "class":
        pd.DataFrame(DATA.X[test]).to_pickle(tmp_path / "X.pkl")
        asked = {"model": tmp_path / "m.skops", "data": tmp_path / "X.pkl", "tensor": None}
        said = subprocess.run(
            [sys.executable, Path(__file__).parents[1] / "loader.py"],
            input=json.dumps(asked, default=str),
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(said.stdout)["table"]["decision"] == decided.tolist()


def test_export_carries_what_it_knows_and_refuses_the_rest(tmp_path):
    pytest.importorskip("onnxruntime")
    own = StakesClassifier(C, members=["linear", TREE], **QUICK).fit(DATA.X, DATA.y)
    to_onnx(own, tmp_path / "m.onnx", X=DATA.X)  # verified as it is made
    X = np.column_stack([DATA.y, DATA.X])
    other = StakesClassifier(C, members=[("oracle", Oracle())], **QUICK).fit(X, DATA.y)
    with pytest.raises(ValueError, match="Oracle"):
        to_onnx(other, tmp_path / "m.onnx", X=X)
