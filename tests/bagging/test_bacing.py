import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from stakes._learning.votes import weighted_problem
from stakes.bagging import ArcX4Classifier, BacingClassifier, L1LinearSVC
from stakes.bagging._bacing import adaptive_costs, vote_margins
from stakes.bagging._lp import l1_svm_objective
from stakes.costs import Costs
from stakes.utils.estimator_checks import cost_checks

C3 = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [9.0, 6.0, 0.0]])


def binary(n=80, seed=0):
    return make_classification(n, 6, n_informative=3, flip_y=0.2, random_state=seed)


class AboveThree(ClassifierMixin, BaseEstimator):
    """Decides 1 at 3 and above, whatever it is taught; remembers its lessons."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.lesson_ = dict(zip(X[:, 0].astype(int).tolist(), sample_weight.tolist()))
        return self

    def predict(self, X):
        return (X[:, 0] >= 3).astype(int)


def test_three_rounds_on_six_examples_by_hand():
    # Decided 0 0 0 1 1 1, so examples 2 and 5 are always missed.
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 1, 1, 1, 0])
    model = BacingClassifier(AboveThree(), n_estimators=4, random_state=0).fit(X, y)
    bags = [np.bincount(rows, minlength=6).tolist() for rows in model.estimators_samples_]
    assert bags[:3] == [[2, 0, 2, 1, 1, 0], [2, 0, 0, 2, 1, 1], [0, 0, 1, 1, 1, 3]]

    # Round 1. No votes: margins 0, costs 1. Taught: bag times 1.
    assert_allclose(model.cost_history_[0], 1)
    assert model.estimators_[0].lesson_ == {0: 2, 2: 2, 3: 1, 4: 1}
    # Round 2. Out of bag 1: examples 1 (right, m = 1) and 5 (wrong, m = -1), one vote each:
    # 1 - 1/2 and 1 + 1/2.
    assert_allclose(model.cost_history_[1], [1, 0.5, 1, 1, 1, 1.5])
    assert model.estimators_[1].lesson_ == {0: 2, 3: 2, 4: 1, 5: 1.5}
    # Round 3. Out of bag 2: 1 (m = 2 of 2: 1 - 2/3) and 2 (wrong, m = -1 of 1: 1.5).
    assert_allclose(model.cost_history_[2], [1, 1 / 3, 1.5, 1, 1, 1.5])
    assert model.estimators_[2].lesson_ == {2: 1.5, 3: 1, 4: 1, 5: 4.5}
    # After it: out of bag 3 were 0 (m = 1 of 1) and 1 (m = 3 of 3: 1 - 3/4).
    assert_allclose(model.cost_history_[3], [0.5, 0.25, 1.5, 1, 1, 1.5])
    # Wrong of voted: 5 of {1, 5}; 2 and 5 of {1, 2, 5}; 2 and 5 of {0, 1, 2, 5}.
    assert_allclose(model.oob_errors_[:3], [1 / 2, 2 / 3, 2 / 4])


def test_margins_of_more_than_two_classes_by_hand():
    # 4 right against 3 and 1; 1 right against 3 and 4; nothing yet.
    votes = np.array([[4, 3, 1], [3, 1, 4], [0, 0, 0]])
    margins = vote_margins(votes, np.array([0, 1, 2]))
    assert_allclose(margins, [1, -3, 0])
    assert_allclose(adaptive_costs(margins, votes.sum(axis=1)), [1 - 1 / 9, 1 + 3 / 9, 1])


def test_the_members_solve_the_programme_with_the_costs_of_the_history():
    # Everything again, slowly: bags, margins (5) and costs (6) by loops, LP (3) cold.
    X, y = binary(40)
    model = BacingClassifier(n_estimators=8, random_state=3).fit(X, y)
    signs = np.where(y == 1, 1.0, -1.0)
    bags = [set(rows.tolist()) for rows in model.estimators_samples_]
    decided = [np.where(member.predict(X) == 1, 1, -1) for member in model.estimators_]
    for t, (member, rows) in enumerate(zip(model.estimators_, model.estimators_samples_)):
        for i in range(len(y)):
            outside = [k for k in range(t) if i not in bags[k]]
            margin = sum(signs[i] * decided[k][i] for k in outside)
            assert_allclose(model.cost_history_[t, i], 1 - margin / (1 + len(outside)))
        delta = model.cost_history_[t] * np.bincount(rows, minlength=len(y))
        alone = L1LinearSVC().fit(X, y, sample_weight=delta)
        assert_allclose(member.objective_, alone.objective_, rtol=1e-9)
        value = l1_svm_objective(member.coef_[0], member.intercept_[0], X, signs, delta)
        assert_allclose(value, alone.objective_, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_costs_lie_between_0_and_2(seed):
    X, y = binary(60, seed)
    costs = BacingClassifier(n_estimators=40, random_state=seed).fit(X, y).cost_history_
    assert costs.min() > 0
    assert costs.max() < 2
    assert len(np.unique(costs)) > 10


def test_bagging_and_bacing_draw_the_same_bags():
    X, y = binary()
    bacing = BacingClassifier(n_estimators=6, random_state=5).fit(X, y)
    bagging = BacingClassifier(n_estimators=6, random_state=5, adapt=False).fit(X, y)
    other = BacingClassifier(n_estimators=6, random_state=6).fit(X, y)
    for ours, theirs in zip(bacing.estimators_samples_, bagging.estimators_samples_):
        assert (ours == theirs).all()
    assert any(
        len(a) != len(b) or (a != b).any()
        for a, b in zip(bacing.estimators_samples_, other.estimators_samples_)
    )
    # The first member knows of no votes: it is the same. Later ones are not.
    assert (bacing.estimators_[0].coef_ == bagging.estimators_[0].coef_).all()
    assert (bacing.estimators_[5].coef_ != bagging.estimators_[5].coef_).any()
    assert_allclose(bagging.cost_history_, 1)


@pytest.mark.parametrize("adapt", [True, False])
@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_features=2)])
def test_the_number_of_workers_changes_nothing(adapt, estimator):
    X, y = make_classification(90, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    X = np.round(X)  # many optimal hyperplanes
    fitted = [
        BacingClassifier(
            estimator, n_estimators=7, adapt=adapt, cost_matrix=C3, n_jobs=n, random_state=1
        ).fit(X, y)
        for n in (None, 2, 3)
    ]
    for model in fitted[1:]:
        assert (model.oob_votes_ == fitted[0].oob_votes_).all()
        assert (model.predict_proba(X) == fitted[0].predict_proba(X)).all()
        assert (model.oob_errors_ == fitted[0].oob_errors_)[~np.isnan(model.oob_errors_)].all()
        if estimator is None:
            for ours, theirs in zip(model.estimators_, fitted[0].estimators_):
                assert (ours.coef_ == theirs.coef_).all()


def test_votes_are_those_of_the_members():
    X, y = make_blobs(60, centers=3, cluster_std=4, random_state=0)
    names = np.array(["b", "c", "a"])
    model = BacingClassifier(n_estimators=7, random_state=0).fit(X, names[y])
    votes = np.array(
        [
            [np.sum(decided == c) for c in model.classes_]
            for decided in np.array([member.predict(X) for member in model.estimators_]).T
        ]
    )
    assert_allclose(model.predict_proba(X), votes / 7)
    assert (model.predict(X) == model.classes_[votes.argmax(axis=1)]).all()
    stages = list(model.staged_predict(X))
    assert len(stages) == 7
    assert (stages[0] == model.estimators_[0].predict(X)).all()
    assert (stages[-1] == model.predict(X)).all()


def test_out_of_bag_votes_are_of_members_that_did_not_train_on_the_example():
    X, y = binary(30)
    model = BacingClassifier(n_estimators=9, random_state=2).fit(X, y)
    votes = np.zeros((30, 2), dtype=int)
    for member, rows in zip(model.estimators_, model.estimators_samples_):
        for i in set(range(30)) - set(rows.tolist()):
            votes[i, member.predict(X[i : i + 1])[0]] += 1
    assert (model.oob_votes_ == votes).all()
    voted = votes.sum(axis=1) > 0
    assert_allclose(model.oob_error_, np.mean(votes[voted].argmax(axis=1) != y[voted]))


def test_two_examples_and_bags_of_one_class():
    X, y = [[0.0], [5.0]], ["x", "y"]
    for estimator in (None, LogisticRegression()):
        model = BacingClassifier(estimator, n_estimators=15, random_state=0).fit(X, y)
        assert any(len(set(rows.tolist())) == 1 for rows in model.estimators_samples_)
        assert set(model.predict(X)) <= {"x", "y"}
        for member, rows in zip(model.estimators_, model.estimators_samples_):
            if len(set(rows.tolist())) == 1:  # it knows one class only, and says so
                assert (member.predict(np.array(X)) == y[rows[0]]).all()


def test_an_example_never_out_of_bag_keeps_cost_1_and_one_round_may_leave_no_vote():
    X, y = binary(30)
    model = BacingClassifier(n_estimators=3, random_state=0).fit(X, y)
    never = model.oob_votes_.sum(axis=1) == 0
    assert never.any()
    assert_allclose(model.cost_history_[:, never], 1)
    # A bag of both of two examples: nobody is out of it.
    for seed in range(20):
        one = BacingClassifier(n_estimators=1, random_state=seed).fit([[0.0], [5.0]], [0, 1])
        if len(set(one.estimators_samples_[0].tolist())) == 2:
            assert np.isnan(one.oob_error_)
            break
    else:
        pytest.fail("no bag held both examples")


def test_singular_problems_and_odd_scales():
    X, y = binary(50)
    flat = np.column_stack([X[:, 0], X[:, 0], np.full(50, 7.0), np.zeros(50)])
    assert BacingClassifier(n_estimators=5, random_state=0).fit(flat, y).oob_error_ < 0.6
    nothing = BacingClassifier(n_estimators=5, random_state=0).fit(np.ones((50, 2)), y)
    assert len(np.unique(nothing.predict(np.ones((3, 2))))) == 1
    # A feature of size 1e9 in place of 1 is as good, and a smaller unit is a smaller penalty.
    huge = BacingClassifier(n_estimators=15, random_state=0).fit(X * 1e9, y)
    plain = BacingClassifier(L1LinearSVC(C=1e9), n_estimators=15, random_state=0).fit(X, y)
    assert np.mean(huge.predict(X * 1e9) != plain.predict(X)) < 0.05
    tiny = BacingClassifier(L1LinearSVC(C=1e9), n_estimators=5, random_state=0).fit(X * 1e-9, y)
    one = BacingClassifier(n_estimators=5, random_state=0).fit(X, y)
    assert (tiny.predict(X * 1e-9) == one.predict(X)).all()
    mixed = X * 10.0 ** np.linspace(-9, 9, 6)
    every = BacingClassifier(n_estimators=5, random_state=0).fit(mixed, y)
    assert max(abs(member.duality_gap_) for member in every.estimators_) < 1e-9


def test_costs_multiply_the_adaptive_ones():
    # Missing class 1 costs 9, missing class 0 costs 3: with as many of each an example is
    # worth 6 on average, in any bag the weights stand as 1 to 3.
    X, y = binary()
    C = np.array([[0.0, 3.0], [9.0, 0.0]])
    by_class = BacingClassifier(n_estimators=10, cost_matrix=C, random_state=0).fit(X, y)
    by_example = BacingClassifier(n_estimators=10, random_state=0).fit(X, y, costs=C[y])
    tensor = np.broadcast_to(C, (len(y), 2, 2))
    by_tensor = BacingClassifier(n_estimators=10, random_state=0).fit(X, y, cost_tensor=tensor)
    plain = BacingClassifier(n_estimators=10, random_state=0).fit(X, y)
    assert_allclose(by_class.estimators_[9].coef_, by_example.estimators_[9].coef_)
    assert_allclose(by_class.estimators_[9].coef_, by_tensor.estimators_[9].coef_)
    assert (by_class.predict(X) == 1).sum() > (plain.predict(X) == 1).sum()
    delta = by_class.cost_history_[9] * np.bincount(
        by_class.estimators_samples_[9], minlength=len(y)
    )
    alone = L1LinearSVC(cost_matrix=C).fit(X, y, sample_weight=delta)
    assert_allclose(by_class.estimators_[9].objective_, alone.objective_, rtol=1e-9)


def test_a_learner_that_takes_weights_alone_gets_class_and_weight():
    # Truth 0, 0, 1, 1, ...; worth 3 for class 0 and 9 for class 1, 6 on average.
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])
    C = np.array([[0.0, 3.0], [9.0, 0.0]])
    model = BacingClassifier(AboveThree(), n_estimators=1, cost_matrix=C, random_state=0)
    (member,) = model.fit(X, y).estimators_  # bag 2 0 2 1 1 0
    assert member.lesson_ == {0: 1.0, 2: 1.0, 3: 1.5, 4: 1.5}


class OneByOne(L1LinearSVC):
    """Another class, so that each member is fitted by its own `fit`, costs and all."""


@pytest.mark.parametrize("ensemble", [BacingClassifier, ArcX4Classifier])
def test_a_learner_that_takes_costs_gets_them(ensemble):
    X, y = make_classification(90, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    weight = np.random.RandomState(0).uniform(0.5, 2, size=90)
    for given in ({"cost_matrix": C3}, {}):
        costs = (
            None
            if given
            else (C3[y] + np.arange(90)[:, None] % 3) * (1 + np.arange(90) % 4)[:, None]
        )
        slow = ensemble(OneByOne(), n_estimators=6, random_state=0, **given)
        slow.fit(X, y, weight, costs=costs)
        warm = ensemble(n_estimators=6, random_state=0, **given).fit(X, y, weight, costs=costs)
        for ours, theirs in zip(warm.estimators_, slow.estimators_):
            assert_allclose(ours.objective_, theirs.objective_, rtol=1e-8)
            assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
        assert_allclose(warm.cost_history_, slow.cost_history_)


def test_a_bag_with_nothing_to_choose_by_is_survived():
    # Only the last example has anything at stake, and few bags hold it.
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])
    costs = np.zeros((6, 2))
    costs[5, 0] = 7.0
    for estimator in (None, OneByOne(), LogisticRegression()):
        model = BacingClassifier(estimator, n_estimators=10, random_state=0).fit(X, y, costs=costs)
        assert set(model.predict(X)) <= {0, 1}


def test_the_cheapest_decision_is_the_target():
    costs = np.array([[0.0, 5.0, 5.0], [2.0, 1.0, 0.0], [3.0, 3.0, 3.0]])
    training = Costs(np.array([0, 1, 2]), costs=costs)
    assert weighted_problem(training)[0].tolist() == [0, 2, 2]
    by_class = Costs(np.array([2, 0, 1]), matrix=C3)
    assert weighted_problem(by_class)[0].tolist() == [2, 0, 1]


def test_sample_weights_multiply_and_zero_is_never_drawn():
    X, y = binary(40)
    weight = np.ones(40)
    weight[::4] = 0
    model = BacingClassifier(n_estimators=5, random_state=0).fit(X, y, sample_weight=weight)
    gone = BacingClassifier(n_estimators=5, random_state=0).fit(X[weight > 0], y[weight > 0])
    for rows, wanted in zip(model.estimators_samples_, gone.estimators_samples_):
        assert len(rows) == 30
        np.testing.assert_array_equal(rows, wanted)
    doubled = BacingClassifier(n_estimators=5, random_state=0).fit(X, y, sample_weight=weight * 2)
    stronger = BacingClassifier(L1LinearSVC(C=2), n_estimators=5, random_state=0)
    stronger.fit(X, y, sample_weight=weight)
    assert_allclose(doubled.estimators_[4].coef_, stronger.estimators_[4].coef_)


def test_frames_text_features_and_sparse_input_reach_the_members():
    import pandas as pd

    X, y = binary()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    tree = BacingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=4, random_state=0)
    assert (tree.fit(frame, y).feature_names_in_ == list("abcdef")).all()
    assert tree.estimators_[0].feature_names_in_.tolist() == list("abcdef")
    assert tree.score(frame, y) > -0.4
    svm = BacingClassifier(n_estimators=2, random_state=0).fit(frame, y)
    assert svm.estimators_[1].predict(frame).shape == y.shape  # and no warning of names
    thin = BacingClassifier(n_estimators=4, random_state=0).fit(sparse.csr_matrix(X), y)
    dense = BacingClassifier(n_estimators=4, random_state=0).fit(X, y)
    assert (thin.predict(sparse.csr_matrix(X)) == dense.predict(X)).all()


def test_example_costs_arrive_through_a_pipeline_and_a_cross_validation():
    X, y = binary()
    costs = np.array([[0.0, 1.0], [30.0, 0.0]])[y]
    alone = BacingClassifier(n_estimators=3, random_state=0).fit(X, y, costs=costs)
    with config_context(enable_metadata_routing=True):
        model = BacingClassifier(n_estimators=3, random_state=0)
        pipe = make_pipeline(FunctionTransformer(), model).fit(X, y, costs=costs)
        scores = cross_val_score(pipe, X, y, params={"costs": costs}, cv=3)
    assert (pipe.predict_proba(X) == alone.predict_proba(X)).all()
    assert_allclose(pipe[-1].cost_matrix_, [[0, 1], [30, 0]])
    assert (scores <= 0).all()


def test_a_fitted_ensemble_can_be_stored():
    X, y = binary(40)
    model = BacingClassifier(n_estimators=3, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict_proba(X) == model.predict_proba(X)).all()


# A member of many classes has one weight for each example, whatever else it is taken for.
TREE_CHECKS = [(name, check) for name, check in cost_checks() if not name.startswith("every_")]


@pytest.mark.parametrize("ensemble", [BacingClassifier, ArcX4Classifier])
@pytest.mark.parametrize("check", [check for _, check in TREE_CHECKS], ids=dict(TREE_CHECKS))
@pytest.mark.filterwarnings("ignore")  # the checks feed costs that are odd on purpose
def test_trees_as_members_meet_the_contract_of_costs(ensemble, check):
    check(ensemble(DecisionTreeClassifier(max_depth=3), n_estimators=20))


def test_progress_is_told_when_asked(capsys):
    X, y = binary(40)
    BacingClassifier(n_estimators=4, random_state=0, verbose=1).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert lines[3].startswith("[BacingClassifier] round 4 of 4, out-of-bag error 0.")


def test_what_cannot_work_is_refused_by_name():
    X, y = binary(40)
    with pytest.raises(ValueError, match="fit of KNeighborsClassifier takes no sample_weight"):
        BacingClassifier(KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="Give cost_matrix to BacingClassifier, not to its"):
        BacingClassifier(L1LinearSVC(cost_matrix=[[0, 1], [2, 0]])).fit(X, y)
    with pytest.raises(ValueError, match="'n_estimators' parameter of BacingClassifier must be"):
        BacingClassifier(n_estimators=0).fit(X, y)
    with pytest.raises(ValueError, match="Give either cost_matrix or costs, not both"):
        BacingClassifier(cost_matrix=[[0, 1], [2, 0]]).fit(X, y, costs=np.eye(2)[y])
