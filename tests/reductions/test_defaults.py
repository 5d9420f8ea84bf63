"""Who asks for a method by the paper's name gets the paper's sampling and votes."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from stakes.costs import CostWarning
from stakes.reductions import (
    AverageCostClassifier,
    CostingClassifier,
    DataSpaceExpansionClassifier,
    GBSEClassifier,
    IterativeWeightingClassifier,
    MetaCostClassifier,
)
from stakes.reductions._members import fits_every_row
from stakes.tree import CostTreeClassifier

C = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [9.0, 3.0, 0.0]])
NAMED = [
    AverageCostClassifier,
    CostingClassifier,
    DataSpaceExpansionClassifier,
    GBSEClassifier,
    IterativeWeightingClassifier,
]
VOTING = [Reduction for Reduction in NAMED if Reduction is not GBSEClassifier]


@pytest.fixture(scope="module")
def data():
    return make_classification(
        150, n_features=6, n_informative=4, n_classes=3, flip_y=0.1, random_state=0
    )


def small(Reduction, base=None, **params):
    rounds = {"n_iterations": 2} if Reduction is IterativeWeightingClassifier else {}
    return Reduction(base, cost_matrix=C, n_estimators=3, random_state=0, **rounds, **params)


@pytest.mark.parametrize("Reduction", NAMED)
def test_a_given_classifier_gets_the_papers_samples_and_votes(Reduction, data):
    X, y = data
    tree = DecisionTreeClassifier(min_samples_leaf=2)
    literal = {"sampling": "rejection"} | ({"voting": "hard"} if Reduction in VOTING else {})
    by_default, by_name = (
        small(Reduction, tree).fit(X, y),
        small(Reduction, tree, **literal).fit(X, y),
    )
    assert by_default.sampling_ == "rejection"
    assert by_default.get_params()["sampling"] == "auto"
    assert_array_equal(by_default.predict_proba(X), by_name.predict_proba(X))
    # so that neither weights nor probabilities are asked of it
    assert small(Reduction, make_pipeline(StandardScaler(), LogisticRegression())).fit(X, y)


@pytest.mark.parametrize("Reduction", NAMED)
@pytest.mark.parametrize("base", [None, CostTreeClassifier(max_depth=4)])
def test_a_cost_tree_gets_what_was_measured_best(Reduction, base, data):
    X, y = data
    measured = {"sampling": "weights"} | ({"voting": "soft"} if Reduction in VOTING else {})
    by_default, by_name = (
        small(Reduction, base).fit(X, y),
        small(Reduction, base, **measured).fit(X, y),
    )
    assert by_default.sampling_ == "weights"
    assert_array_equal(by_default.predict_proba(X), by_name.predict_proba(X))


def test_metacost_keeps_its_own():
    assert MetaCostClassifier().get_params()["sampling"] == "rejection"
    assert MetaCostClassifier().get_params()["voting"] == "soft"
    with pytest.raises(ValueError, match="'voting' parameter"):
        MetaCostClassifier(voting="auto").fit([[0], [1]], [0, 1])


@pytest.mark.parametrize("Reduction", NAMED)
def test_weights_for_a_learner_that_fits_every_row_are_warned_of_once(Reduction, data):
    X, y = data
    model = small(Reduction, DecisionTreeClassifier(), sampling="weights")
    with pytest.warns(CostWarning, match="DecisionTreeClassifier can give each row") as caught:
        model.fit(X, y)
    assert len(caught) == 1
    assert f"sampling='rejection' in {Reduction.__name__}" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small(Reduction, DecisionTreeClassifier()).fit(X, y)  # not asked for
        small(Reduction, DecisionTreeClassifier(max_depth=3), sampling="weights").fit(X, y)
        small(Reduction, sampling="weights").fit(X, y)
        small(Reduction, LogisticRegression(), sampling="weights").fit(X, y)


def test_which_learners_fit_every_row():
    assert fits_every_row(RandomForestClassifier())
    assert fits_every_row(make_pipeline(StandardScaler(), DecisionTreeClassifier()))
    assert not fits_every_row(DecisionTreeClassifier(min_samples_leaf=5))
    assert not fits_every_row(DecisionTreeClassifier(ccp_alpha=0.01))
    assert not fits_every_row(HistGradientBoostingClassifier())
    assert not fits_every_row(object())
