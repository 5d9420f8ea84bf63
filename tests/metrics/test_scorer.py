import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stakes.costs import binary_cost_tensor
from stakes.decision import CostDecisionClassifier
from stakes.metrics import average_cost, make_cost_scorer

C = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [64.0, 32.0, 0.0]])


def three_classes(seed=0, n=240):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, 3))
    X[:, 0] += y
    return X, y


def two_classes_with_amounts(seed=0, n=400):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + rng.normal(size=n) > 0.7).astype(int)
    amount = rng.lognormal(2, 1.5, size=n)
    return X, y, amount


def test_a_matrix_scores_any_classifier():
    X, y = three_classes()
    model = LogisticRegression().fit(X, y)
    score = make_cost_scorer(C)(model, X, y)
    assert_allclose(score, -average_cost(y, model.predict(X), cost_matrix=C))


def test_without_a_matrix_the_estimators_own_costs_count():
    X, y = three_classes()
    model = CostDecisionClassifier(LogisticRegression(), cost_matrix=C).fit(X, y)
    assert_allclose(make_cost_scorer()(model, X, y), model.score(X, y))
    blind = LogisticRegression().fit(X, y)
    assert_allclose(make_cost_scorer()(blind, X, y), blind.score(X, y) - 1)


def test_routed_costs_count_before_the_estimators_own():
    X, y = three_classes()
    model = CostDecisionClassifier(LogisticRegression(), cost_matrix=C).fit(X, y)
    other = 10 * C[y]
    assert_allclose(make_cost_scorer()(model, X, y, costs=other), 10 * model.score(X, y))


@pytest.mark.parametrize("routing", [False, True])
def test_it_serves_grid_search_and_cross_validate(routing):
    X, y = three_classes()
    model = CostDecisionClassifier(LogisticRegression(), cost_matrix=C)
    with config_context(enable_metadata_routing=routing):
        search = GridSearchCV(
            make_pipeline(StandardScaler(), model),
            {"costdecisionclassifier__estimator__C": [1e-3, 1.0]},
            scoring=make_cost_scorer(),
            cv=3,
        ).fit(X, y)
        scores = cross_validate(model, X, y, scoring=make_cost_scorer(C), cv=3)["test_score"]
    assert np.isfinite(search.best_score_)
    assert search.best_score_ < 0
    assert np.isfinite(scores).all()


def test_sample_weight_reaches_the_scorer():
    X, y = three_classes()
    weight = np.where(y == 2, 5.0, 1.0)
    model = LogisticRegression().fit(X, y)
    direct = -average_cost(y, model.predict(X), cost_matrix=C, sample_weight=weight)
    assert_allclose(make_cost_scorer(C)(model, X, y, sample_weight=weight), direct)
    with config_context(enable_metadata_routing=True):
        scorer = make_cost_scorer(C).set_score_request(sample_weight=True)
        blind = LogisticRegression().set_fit_request(sample_weight=False)
        scores = cross_validate(blind, X, y, scoring=scorer, params={"sample_weight": weight})
    assert np.isfinite(scores["test_score"]).all()


class Cautious(BaseEstimator):
    """Decides 1 where the loss that it sees in the tensor exceeds `limit`."""

    __metadata_request__predict = {"cost_tensor": True}

    def __init__(self, limit=10.0):
        self.limit = limit

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X, *, cost_tensor):
        return self.classes_[(cost_tensor[:, 1, 0] > self.limit).astype(int)]


def test_example_costs_reach_predict_inside_grid_search():
    # Scikit-learn's own scorers call predict(X) alone: here that is an error, and NaN scores.
    X, y, amount = two_classes_with_amounts()
    grid = {"limit": [5.0, 20.0, 500.0]}
    best = {}
    with config_context(enable_metadata_routing=True):
        for false_alarm in (0.5, 200.0):
            tensor = binary_cost_tensor(fp_cost=false_alarm, fn_cost=amount)
            search = GridSearchCV(Cautious(), grid, scoring=make_cost_scorer(), cv=3)
            search.fit(X, y, cost_tensor=tensor)
            assert np.isfinite(search.cv_results_["mean_test_score"]).all()
            best[false_alarm] = search.best_params_["limit"]
    # Cheap false alarms: raise many. Expensive ones: only for the largest amounts.
    assert best == {0.5: 5.0, 200.0: 500.0}


def test_best_parameters_of_a_real_model_change_with_the_example_costs():
    # Half of the columns are noise. A strong penalty shrinks every probability to the base rate,
    # and minimum expected cost then goes by the amounts alone.
    X, y, amount = two_classes_with_amounts(n=600)
    grid = {"estimator__C": [1e-6, 1.0], "estimator__class_weight": [None, {0: 1, 1: 60}]}
    chosen = {}
    with config_context(enable_metadata_routing=True):
        for name, tensor in {
            "amounts": binary_cost_tensor(fp_cost=3.0, fn_cost=amount),
            "alarms": binary_cost_tensor(fp_cost=amount, fn_cost=400.0),
        }.items():
            model = CostDecisionClassifier(LogisticRegression(max_iter=1000))
            search = GridSearchCV(model, grid, scoring=make_cost_scorer(), cv=3)
            search.fit(X, y, cost_tensor=tensor)
            assert np.isfinite(search.best_score_)
            chosen[name] = search.best_params_
            # What the search reports is what deciding with the costs in hand really costs.
            decided = search.best_estimator_.predict(X, cost_tensor=tensor)
            paid = average_cost(y, decided, cost_tensor=tensor)
            best = search.best_estimator_
            blind = best.predict(X, cost_tensor=best.cost_matrix_)
            assert paid < average_cost(y, blind, cost_tensor=tensor)
    assert chosen["amounts"] != chosen["alarms"]


def test_a_callable_of_x_needs_no_routing():
    X, y, amount = two_classes_with_amounts()
    X = np.column_stack([X, amount])

    def tensor(X):
        return binary_cost_tensor(fp_cost=200.0, fn_cost=X[:, 3])

    scorer = make_cost_scorer(cost_tensor=tensor)
    search = GridSearchCV(Cautious(), {"limit": [5.0, 500.0]}, scoring=scorer, cv=3)
    assert search.fit(X, y).best_params_ == {"limit": 500.0}


def test_example_costs_that_do_not_reach_the_scorer_are_an_error_not_a_wrong_number():
    X, y = three_classes()
    model = CostDecisionClassifier(LogisticRegression()).fit(X, y, costs=C[y] * [[2.0]])
    with pytest.raises(
        ValueError, match="fitted with costs of examples, but none reached its score"
    ):
        make_cost_scorer()(model, X, y)


def test_bad_arguments_are_refused():
    with pytest.raises(TypeError, match="cost_tensor must be a callable of X"):
        make_cost_scorer(cost_tensor=np.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match="either cost_matrix or cost_tensor"):
        make_cost_scorer(C, cost_tensor=len)


def test_scores_of_a_constant_by_hand():
    model = DummyClassifier(strategy="constant", constant=1).fit([[0], [0]], [0, 1])
    assert make_cost_scorer([[0, 3], [20, 0]])(model, [[0]] * 4, [0, 0, 0, 1]) == -9 / 4


@pytest.mark.parametrize("weighted", [False, True])
def test_abstentions_are_scored_at_their_price(weighted):
    X, y = three_classes()
    weight = np.linspace(1, 2, len(y)) if weighted else None
    model = CostDecisionClassifier(LogisticRegression(), cost_matrix=C, abstain_cost=0.5)
    model.fit(X, y)
    assert 0 < np.mean(model.predict(X) == -1) < 1
    score = make_cost_scorer()(model, X, y, sample_weight=weight)
    assert_allclose(score, model.score(X, y, sample_weight=weight))
    rows = make_cost_scorer()(model, X, y, sample_weight=weight, costs=C[y])
    assert_allclose(rows, score)
