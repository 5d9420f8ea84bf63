"""The loop: what every round must keep, how it ends, what it remembers."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from stakes.boosting import AdaBoostMMClassifier, CoMBoClassifier
from stakes.boosting._equations import LARGEST_EDGE, cost_matrix_of_round, edge, loss, vote
from stakes.decision import CostDecisionClassifier
from stakes.metrics import confusion_norm

C = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [9.0, 3.0, 0.0]])


def make_data(n=300, seed=0):
    """Three classes of shares .6, .3 and .1 that overlap."""
    return make_classification(
        n, n_features=6, n_informative=4, n_classes=3, weights=[0.6, 0.3], random_state=seed
    )


class Scripted(ClassifierMixin, BaseEstimator):
    """A weak learner that decides what it is told, round after round."""

    def __init__(self, script, costs_seen=None):
        self.script = script
        self.costs_seen = costs_seen

    def __sklearn_clone__(self):  # all clones share the script and the list of costs
        return self

    def fit(self, X, y, *, costs):
        self.costs_seen.append(costs.copy())
        return self

    def predict(self, X):
        return np.array(self.script[len(self.costs_seen) - 1])


def test_two_rounds_of_combo_by_hand():
    # The five examples of test_equations.py: classes of 3, 1 and 1. Edges, votes and losses
    # are worked out there; the members' costs are D up to a factor.
    y = np.array([0, 0, 0, 1, 2])
    script = [[0, 0, 1, 1, 1], [2, 0, 0, 0, 2], [0, 0, 0, 0, 0]]
    costs = []
    model = CoMBoClassifier(estimator=Scripted(script, costs), n_estimators=2).fit(
        np.zeros((5, 1)), y
    )
    r2 = np.sqrt(2)
    assert model.initial_loss_ == pytest.approx(6)
    assert_allclose(model.edges_, [1 / 3, (r2 + 4 / 3) / (4 / 3 + 3 * r2)])
    assert_allclose(model.estimator_weights_[0], np.log(2) / 2)
    assert model.loss_[0] == pytest.approx(4 / 3 + 3 * r2)
    assert_allclose(6 * costs[0][3], [1, -2, 1])
    assert_allclose(6 * costs[1][4], [1, r2, -1 - r2])
    # AdaBoost.MM weighs the examples alike: D = (-2, 1, 1) in every row, the loss is 10,
    # and h_1 meets three targets: (3 * 2 - 2) / 10.
    costs.clear()
    model = AdaBoostMMClassifier(estimator=Scripted(script, costs), n_estimators=2).fit(
        np.zeros((5, 1)), y
    )
    assert model.initial_loss_ == pytest.approx(10)
    assert model.edges_[0] == pytest.approx(0.4)
    assert_allclose(10 * costs[0][0], [-2, 1, 1])


@pytest.mark.parametrize("cls", [AdaBoostMMClassifier, CoMBoClassifier])
@pytest.mark.parametrize("cost_matrix", [None, C])
def test_every_round_keeps_the_identities_of_the_paper(cls, cost_matrix):
    X, y = make_data()
    model = cls(cost_matrix=cost_matrix, n_estimators=100).fit(X, y)
    counts = np.bincount(y)
    weight = 1 / counts[y] if cls is CoMBoClassifier else np.ones(len(y))
    matrix = 1 - np.eye(3) if cost_matrix is None else C
    penalty = weight[:, None] * matrix[y]
    f, before = np.zeros((len(y), 3)), model.initial_loss_
    rows = np.arange(len(y))
    for t, member in enumerate(model.estimators_):
        D = cost_matrix_of_round(f, y, penalty)
        assert loss(D, y) == pytest.approx(before, rel=1e-9)
        h = member.predict(model._learner.prepare(X))
        delta = edge(D, h, y)
        assert model.edges_[t] == pytest.approx(delta, rel=1e-9)
        assert model.estimator_weights_[t] == pytest.approx(vote(delta), rel=1e-9)
        f[rows, h] += model.estimator_weights_[t]
        assert model.loss_[t] <= before * np.sqrt(1 - delta**2) * (1 + 1e-12)  # Lemma 5
        before = model.loss_[t]
    assert_allclose(model.decision_function(X), f)  # kept = from scratch
    paid = weight * matrix[y, f.argmax(axis=1)]
    scale = 1.0 if cls is CoMBoClassifier else len(y)
    assert paid.sum() / scale <= model.loss_[-1] / scale <= model.training_error_bound_[-1]


def test_theorem_6():
    X, y = make_data()
    model = CoMBoClassifier(n_estimators=60).fit(X, y)
    assert_allclose(model.training_error_bound_, 6 * np.cumprod(np.sqrt(1 - model.edges_**2)))
    for t, decided in enumerate(model.staged_predict(X)):
        rates = sum(np.mean(decided[y == c] != c) for c in range(3))
        assert rates <= model.loss_[t] <= model.training_error_bound_[t] * (1 + 1e-12)
        assert confusion_norm(y, decided) ** 2 <= rates + 1e-12  # equations (5) and (6)


def test_the_weak_learner_minimises_d_itself():
    # A tree that is handed the row sums only (the reduction to labels) has a lower edge.
    X, y = make_classification(600, 10, n_informative=6, n_classes=6, random_state=0)
    ours = CoMBoClassifier(n_estimators=30).fit(X, y)
    reduced = CoMBoClassifier(estimator=DecisionTreeClassifier(max_depth=3), n_estimators=30).fit(
        X, y
    )
    assert ours.edges_.mean() > 1.1 * reduced.edges_.mean()


@pytest.mark.parametrize("cls", [AdaBoostMMClassifier, CoMBoClassifier])
def test_two_classes_are_adaboost(cls):
    X, y = make_classification(200, weights=[0.7], flip_y=0.1, random_state=0)
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    weight = None
    if cls is CoMBoClassifier:  # AdaBoost that starts from equal classes
        weight = 1 / np.bincount(y)[y]
    theirs = AdaBoostClassifier(stump, n_estimators=20).fit(X, y, sample_weight=weight)
    ours = cls(estimator=stump, n_estimators=20).fit(X, y)
    assert_allclose(2 * ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-6)
    assert_allclose((1 - ours.edges_) / 2, theirs.estimator_errors_, rtol=1e-6)
    assert (ours.predict(X) == theirs.predict(X)).all()


def test_a_thousand_rounds_on_separable_data_stay_finite():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 2))
    y = (X @ [1, 1] > 0.8).astype(int) + (X @ [1, 1] > 1.2)
    model = CoMBoClassifier(n_estimators=1000).fit(X, y)
    assert model.n_iter_ == 1000
    for values in (model.edges_, model.estimator_weights_, model.loss_):
        assert np.isfinite(values).all()
    assert np.isfinite(model.decision_function(X)).all()
    assert (model.predict(X) == y).all()
    assert model.loss_[-1] <= 1e-12


def test_a_perfect_weak_learner_ends_the_loop():
    X = np.arange(30.0)[:, None]
    y = np.arange(30) // 10
    model = CoMBoClassifier(learning_rate=0.1).fit(X, y)
    assert model.n_iter_ == 1
    assert model.edges_ == LARGEST_EDGE
    assert np.isfinite(model.estimator_weights_).all()
    assert (model.predict(X) == y).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_useless_weak_learner_gives_a_constant_and_a_warning():
    X, y = np.zeros((10, 1)), np.array([0] * 3 + [1] * 7)
    with pytest.warns(ConvergenceWarning, match="no better than guessing"):
        model = CoMBoClassifier().fit(X, y)  # equal classes, and nothing to tell them by
    assert model.n_iter_ == 1
    assert set(model.predict(X)) <= {0, 1}
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    # always wrong, where a constant would do: decide 2, the class that costs most to miss
    y = np.array([0, 0, 1, 1, 2, 2])
    wrong = Scripted([[1, 1, 2, 2, 0, 0]], [])
    with pytest.warns(ConvergenceWarning, match="no better than guessing"):
        model = AdaBoostMMClassifier(estimator=wrong, cost_matrix=C).fit(np.zeros((6, 1)), y)
    assert (model.edges_ > 0).all()
    assert model.estimators_[0].predict(np.zeros((6, 1))).tolist() == [2] * 6


def test_the_loop_ends_where_an_edge_is_not_positive():
    y = np.array([0, 0, 0, 1, 2])
    script = [[0, 0, 1, 1, 1], [1, 1, 2, 2, 0], [0, 0, 0, 0, 0]]
    model = CoMBoClassifier(estimator=Scripted(script, [])).fit(np.zeros((5, 1)), y)
    assert model.n_iter_ == 1


def test_a_class_with_one_example():
    X, y = make_data(n=60)
    y = np.where(y == 2, 1, y)
    y[0] = 2
    model = CoMBoClassifier(n_estimators=30, random_state=0).fit(X, y)
    assert model.predict(X)[0] == 2
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    CoMBoClassifier(n_estimators=30, early_stopping="cost", random_state=0).fit(X, y)


def test_example_costs_that_repeat_the_matrix_give_the_same_model():
    X, y = make_data()
    by_class = CoMBoClassifier(cost_matrix=C, n_estimators=20).fit(X, y)
    by_example = CoMBoClassifier(n_estimators=20).fit(X, y, costs=C[y])
    by_tensor = CoMBoClassifier(n_estimators=20).fit(
        X, y, cost_tensor=np.broadcast_to(C, (len(y), 3, 3))
    )
    for other in (by_example, by_tensor):
        assert_allclose(by_class.edges_, other.edges_, rtol=1e-9)
        assert (by_class.predict(X) == other.predict(X)).all()
    assert_allclose(by_example.cost_matrix_, C)


def test_example_costs_arrive_through_a_pipeline():
    X, y = make_data()
    direct = CoMBoClassifier(n_estimators=5).fit(X, y, costs=C[y])
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline("passthrough", CoMBoClassifier(n_estimators=5))
        pipe.fit(X, y, costs=C[y])
    assert_allclose(pipe[-1].edges_, direct.edges_)
    assert_allclose(pipe[-1].cost_matrix_, C)


def test_where_another_decision_is_cheaper_than_the_truth_it_is_the_target():
    # Half of class 0 sends a bill for being called 0: those are to be called 1.
    X = np.array([[0.0], [0.0], [1.0], [1.0], [2.0], [2.0]])
    y = np.array([0, 0, 0, 0, 1, 1])
    costs = np.array([[0, 5], [0, 5], [3, 0], [3, 0], [1, 0], [1, 0]])
    model = AdaBoostMMClassifier().fit(X, y, costs=costs)
    assert model.predict([[0.0], [1.0], [2.0]]).tolist() == [0, 1, 1]


@pytest.mark.parametrize("cls", [AdaBoostMMClassifier, CoMBoClassifier])
def test_weights_count_as_copies(cls):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    weight = rng.integers(0, 3, 60)
    again = np.repeat(np.arange(60), weight)
    script = [np.where(rng.random(60) < 0.7, y, rng.integers(3, size=60)) for _ in range(5)]
    heard = [decided[weight > 0] for decided in script]
    weighted = cls(estimator=Scripted(heard, []), n_estimators=5)
    weighted.fit(np.zeros((60, 1)), y, sample_weight=weight)
    copied = cls(estimator=Scripted([decided[again] for decided in script], []), n_estimators=5)
    copied.fit(np.zeros((len(again), 1)), y[again])
    assert_allclose(weighted.edges_, copied.edges_)
    assert_allclose(weighted.loss_, copied.loss_)
    assert_allclose(weighted.training_error_bound_, copied.training_error_bound_)


@pytest.mark.parametrize("metric", ["cost", "confusion_norm"])
def test_early_stopping_keeps_the_best_round(metric):
    X, y = make_data(n=400)
    model = CoMBoClassifier(
        n_estimators=200, early_stopping=metric, n_iter_no_change=10, random_state=0
    ).fit(X, y)
    seen = model.validation_costs_
    assert model.n_iter_ == seen.argmin() + 1
    assert len(seen) == min(200, model.n_iter_ + 10)
    assert len(model.estimators_) == len(model.loss_) == model.n_iter_
    assert model.predict(X).shape == y.shape


def test_a_learning_rate_shrinks_the_votes_and_lemma_5_still_holds():
    X, y = make_data()
    model = CoMBoClassifier(n_estimators=40, learning_rate=0.3).fit(X, y)
    assert_allclose(model.estimator_weights_, 0.3 * vote(model.edges_))
    assert (model.loss_ <= model.training_error_bound_ * (1 + 1e-12)).all()


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic"])
def test_shares_of_votes_become_probabilities_by_calibration(calibration):
    X, y = make_data(n=1200)
    plain = CoMBoClassifier(n_estimators=30, random_state=0).fit(X[:800], y[:800])
    calibrated = CostDecisionClassifier(plain, calibration=calibration).fit(X[:800], y[:800])

    def log_loss(model):
        proba = model.predict_proba(X[800:])
        assert_allclose(proba.sum(axis=1), 1)
        return -np.log(np.maximum(proba[np.arange(400), y[800:]], 1e-12)).mean()

    assert log_loss(calibrated) < 0.9 * log_loss(plain)


def test_stages_end_where_the_model_is():
    X, y = make_data()
    model = CoMBoClassifier(n_estimators=15).fit(X, y)
    assert_allclose(list(model.staged_decision_function(X))[-1], model.decision_function(X))
    assert_allclose(list(model.staged_predict_proba(X))[-1], model.predict_proba(X))
    stages = list(model.staged_predict(X))
    assert len(stages) == model.n_iter_ == 15
    assert (stages[-1] == model.predict(X)).all()


def test_any_estimator_that_takes_weights_or_costs_serves():
    X, y = make_data()
    names = np.array(["low", "mid", "high"])[y]
    for estimator in (
        LogisticRegression(),
        DecisionTreeClassifier(max_depth=2),
        AdaBoostMMClassifier(n_estimators=2),  # takes costs
    ):
        model = CoMBoClassifier(estimator=estimator, n_estimators=4, random_state=0).fit(X, names)
        assert np.isin(model.predict(X), names).all()
        assert (model.edges_ > 0).all()
    unable = CoMBoClassifier(estimator=KNeighborsClassifier())
    with pytest.raises(ValueError, match="takes neither costs nor sample_weight"):
        unable.fit(X, y)


def test_tables_with_categories_and_missing_values():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], 200)
    size = rng.normal(size=200)
    y = (colour == "red").astype(int) + (size > 0.5)
    frame = pd.DataFrame({"colour": pd.Categorical(colour), "size": size})
    frame.loc[::10, "size"] = np.nan
    model = CoMBoClassifier(n_estimators=40).fit(frame, y)
    seen = frame["size"].notna()
    assert (model.predict(frame[seen]) == y[seen]).all()


def test_importances_point_at_the_features_that_matter():
    X, y = make_data()
    X = np.column_stack([X, np.zeros(len(y))])
    for estimator in (None, DecisionTreeClassifier(max_depth=2)):
        model = CoMBoClassifier(estimator=estimator, n_estimators=20).fit(X, y)
        assert model.feature_importances_.sum() == pytest.approx(1)
        assert model.feature_importances_[-1] == 0
    linear = CoMBoClassifier(estimator=LogisticRegression(), n_estimators=2).fit(X, y)
    assert not hasattr(linear, "feature_importances_")


def test_threads_do_not_matter_and_models_can_be_stored():
    X, y = make_data(n=5000)
    one = CoMBoClassifier(n_estimators=10, n_jobs=1).fit(X, y)
    two = CoMBoClassifier(n_estimators=10, n_jobs=2).fit(X, y)
    assert (one.decision_function(X) == two.decision_function(X)).all()
    again = pickle.loads(pickle.dumps(one))
    assert (again.decision_function(X) == one.decision_function(X)).all()


def test_verbose_tells_the_rounds(capsys):
    X, y = make_data(n=60)
    CoMBoClassifier(n_estimators=20, verbose=1).fit(X, y)
    told = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in told] == [
        f"[CoMBoClassifier] round {t + 1}" for t in range(20)
    ]
