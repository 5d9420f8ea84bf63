"""Inside scikit-learn's own tools: scores, searches, and meta-estimators that encode labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from stakes.costs import CostMatrix, CostWarning
from stakes.decision import CostDecisionClassifier
from stakes.metrics import average_cost, make_cost_scorer
from stakes.reductions import MetaCostClassifier
from stakes.tree import CostTreeClassifier
from tests.instances import all_estimators, make_instance

# Never symmetric; the last class is expensive to miss.
C = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [9.0, 4.0, 0.0]])
CLASSIFIERS = [cls for _, cls in all_estimators() if hasattr(cls, "_weighs_cost_tensor")]


def three_classes(n=90, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, 3)) + y[:, None]
    tensor = C * rng.lognormal(0, 1, n)[:, None, None]
    return X, y, tensor


@pytest.mark.parametrize("kind", ["class", "deciding", "hindsight"])
@pytest.mark.parametrize("cls", CLASSIFIERS, ids=lambda cls: cls.__name__)
@pytest.mark.filterwarnings("ignore")  # tiny data
def test_the_scorer_is_the_score(cls, kind):
    X, y, tensor = three_classes()
    model = make_instance(cls)
    given = {}
    if kind == "class":
        model.set_params(cost_matrix=C)
    elif kind == "deciding":
        given = {"cost_tensor": tensor}
    else:
        given = {"costs": tensor[np.arange(len(y)), y]}
    model.fit(X, y, **given)
    score = model.score(X, y, **given)
    assert_allclose(make_cost_scorer()(model, X, y, **given), score)
    assert_allclose(make_cost_scorer(2 * C)(model, X, y), model.score(X, y, cost_matrix=2 * C))
    piped = make_pipeline(FunctionTransformer(), model)
    assert_allclose(make_cost_scorer()(piped, X, y, **given), score)


def test_a_score_hands_the_prices_to_what_can_weigh_them():
    X, y, tensor = three_classes()
    model = MetaCostClassifier(relabel=False, n_estimators=5, random_state=0)
    model.fit(X, y, cost_tensor=tensor)
    decided = model.predict(X, cost_tensor=tensor)
    assert_allclose(
        model.score(X, y, cost_tensor=tensor), -average_cost(y, decided, cost_tensor=tensor)
    )


def test_a_search_over_matrices_is_scored_by_the_costs_of_the_search():
    X, y, _ = three_classes(240)
    candidates = [C, "rarity", None, 1e-3 * C.T]
    grid = {"cost_matrix": candidates}
    base = CostTreeClassifier(C, max_depth=3)
    search = GridSearchCV(base, grid, cv=3).fit(X, y)
    scored = GridSearchCV(base, grid, cv=3, scoring=make_cost_scorer(C)).fit(X, y)
    assert_allclose(search.cv_results_["mean_test_score"], scored.cv_results_["mean_test_score"])
    for i, candidate in enumerate(candidates):
        model = CostTreeClassifier(candidate, max_depth=3)
        own = cross_val_score(model, X, y, cv=3, scoring=make_cost_scorer(C)).mean()
        assert_allclose(search.cv_results_["mean_test_score"][i], own)
    # By its own tiny prices the last would have won.
    assert search.best_index_ != 3
    piped = GridSearchCV(
        make_pipeline(StandardScaler(), base),
        {"costtreeclassifier__cost_matrix": candidates},
        cv=3,
    ).fit(X, y)
    assert_allclose(piped.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])


def test_example_costs_that_cannot_reach_the_score_are_an_error():
    X, y, tensor = three_classes()
    costs = tensor[np.arange(len(y)), y]
    model = CostTreeClassifier(max_depth=2)
    with pytest.raises(ValueError, match="but none reached its score: give costs or cost_tensor"):
        cross_val_score(model, X, y, params={"costs": costs}, cv=3, error_score="raise")
    with config_context(enable_metadata_routing=True):
        routed = cross_val_score(model, X, y, params={"costs": costs}, cv=3)
    expected = [
        -average_cost(
            y[test],
            clone(model).fit(X[train], y[train], costs=costs[train]).predict(X[test]),
            costs=costs[test],
        )
        for train, test in StratifiedKFold(3).split(X, y)
    ]
    assert_allclose(routed, expected)


LABELS = np.array(["B", "M"])
PRICED = CostDecisionClassifier(
    LogisticRegression(), cost_matrix=CostMatrix([[0, 1], [50, 0]], labels=["B", "M"])
)


def two_classes():
    X, y = make_classification(120, n_informative=3, weights=[0.7], flip_y=0.2, random_state=0)
    return X, LABELS[y]


def test_a_labelled_matrix_serves_where_labels_are_encoded():
    X, y = two_classes()
    alone = clone(PRICED).fit(X, y)
    proba = cross_val_predict(PRICED, X, y, method="predict_proba", cv=3)
    assert proba.shape == (120, 2)
    decided = cross_val_predict(PRICED, X, y, cv=3)
    for meta in (
        VotingClassifier([("a", PRICED)]),
        OneVsRestClassifier(PRICED),
        BaggingClassifier(PRICED, n_estimators=1, bootstrap=False),
    ):
        found = meta.fit(X, y).predict(X)
        assert (found == alone.predict(X)).mean() > (0.99 if "Voting" in repr(meta) else 0.0)
        assert set(found) <= {"B", "M"}
    # It decides M far more often than the most probable class would: the costs were felt.
    assert (decided == "M").sum() > (LogisticRegression().fit(X, y).predict(X) == "M").sum() + 20
    voted = VotingClassifier([("a", PRICED)]).fit(X, y)
    assert_allclose(voted.estimators_[0].cost_matrix_, [[0, 1], [50, 0]])
    stacked = StackingClassifier([("a", PRICED)], LogisticRegression(), cv=3).fit(X, y)
    assert set(stacked.predict(X)) <= {"B", "M"}
    scored = cross_validate(PRICED, X, y, cv=3, scoring=make_cost_scorer())
    assert (scored["test_score"] <= 0).all()


def test_labels_out_of_order_are_read_as_an_encoder_writes_them_and_said():
    X, y = two_classes()
    matrix = CostMatrix([[0, 50], [1, 0]], labels=["M", "B"])
    with pytest.warns(CostWarning, match="0 is 'B', 1 is 'M'"):
        model = VotingClassifier([("a", clone(PRICED).set_params(cost_matrix=matrix))]).fit(X, y)
    assert_allclose(model.estimators_[0].cost_matrix_, [[0, 1], [50, 0]])


def test_numbers_in_place_of_labels_are_refused_where_nobody_encoded_them():
    X, y = two_classes()
    model = CostTreeClassifier(CostMatrix([[0, 1], [50, 0]], labels=["B", "M"]))
    with pytest.raises(ValueError, match="it lacks 0, 1, which y has, and it has 'B', 'M'"):
        model.fit(X, (y == "M").astype(int))


def test_rows_that_lack_a_class_are_learned_from():
    X, y, _ = three_classes()
    names = np.array(["a", "b", "c"])[y]
    matrix = CostMatrix(C, labels=["a", "b", "c"])
    model = CostTreeClassifier(matrix)
    with pytest.warns(CostWarning, match="cost_matrix has 'b', which y lacks"):
        model.fit(X[y != 1], names[y != 1])
    assert_allclose(model.cost_matrix_, C[np.ix_([0, 2], [0, 2])])
    # A part that a meta-estimator has chosen lacks it without a word.
    assert_allclose(clone(model).fit(X[y != 1], y[y != 1]).cost_matrix_, model.cost_matrix_)


def test_one_against_the_rest_says_what_to_do_instead():
    X, y, _ = three_classes()
    names = np.array(["a", "b", "c"])[y]
    model = CostTreeClassifier(CostMatrix(C, labels=["a", "b", "c"]))
    for meta in (OneVsRestClassifier(model), OneVsOneClassifier(model)):
        with pytest.raises(ValueError, match="put the costs outside"):
            meta.fit(X, names)
    outside = CostDecisionClassifier(
        OneVsRestClassifier(LogisticRegression()), cost_matrix=model.cost_matrix
    )
    assert set(outside.fit(X, names).predict(X)) <= {"a", "b", "c"}
