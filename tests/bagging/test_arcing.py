import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from stakes.bagging import ArcX4Classifier, BacingClassifier, L1LinearSVC
from stakes.bagging._arcing import arc_weights

C3 = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [9.0, 6.0, 0.0]])


def binary(n=80, seed=0):
    return make_classification(n, 6, n_informative=3, flip_y=0.2, random_state=seed)


def test_weights_by_hand():
    misses = np.array([0, 1, 3])
    assert_allclose(arc_weights(misses), [1, 16, 256])
    assert_allclose(arc_weights(misses, weighting="breiman"), [1, 2, 82])
    assert_allclose(arc_weights(misses, exponent=1), [1, 2, 4])


@pytest.mark.parametrize("weighting", ["zhang", "breiman"])
def test_the_weights_count_who_missed_what(weighting):
    X, y = binary()
    model = ArcX4Classifier(n_estimators=8, weighting=weighting, resample=False).fit(X, y)
    misses = np.zeros(len(y))
    for t, member in enumerate(model.estimators_):
        weights = (1 + misses) ** 4 if weighting == "zhang" else 1 + misses**4
        assert_allclose(model.cost_history_[t], weights / weights.mean())
        # The whole training set, weighted.
        alone = L1LinearSVC().fit(X, y, sample_weight=model.cost_history_[t])
        assert_allclose(member.objective_, alone.objective_, rtol=1e-9)
        misses += member.predict(X) != y
    assert misses.max() > 2


def test_the_first_member_is_the_svm_itself():
    X, y = binary()
    model = ArcX4Classifier(n_estimators=1, resample=False).fit(X, y)
    svm = L1LinearSVC().fit(X, y)
    assert_allclose(model.estimators_[0].objective_, svm.objective_)
    assert_allclose(model.training_errors_[0], np.mean(svm.predict(X) != y))


def test_resampling_draws_by_the_weights():
    X, y = binary(200)
    model = ArcX4Classifier(n_estimators=5, random_state=0).fit(X, y)
    again = ArcX4Classifier(n_estimators=5, random_state=0).fit(X, y)
    other = ArcX4Classifier(n_estimators=5, random_state=1).fit(X, y)
    assert (model.estimators_[4].coef_ == again.estimators_[4].coef_).all()
    assert (model.estimators_[4].coef_ != other.estimators_[4].coef_).any()
    # Each member is the SVM of its own drawing, made by the weights of its round.
    state = np.random.RandomState(0)
    for member, weights in zip(model.estimators_, model.cost_history_):
        drawn = state.choice(len(y), size=len(y), p=weights / weights.sum())
        alone = L1LinearSVC().fit(X, y, sample_weight=np.bincount(drawn, minlength=len(y)))
        assert_allclose(member.objective_, alone.objective_, rtol=1e-9)


@pytest.mark.parametrize("resample", [False, True])
def test_costs_multiply_the_weights(resample):
    X, y = make_classification(120, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    plain = ArcX4Classifier(n_estimators=5, resample=resample, random_state=0).fit(X, y)
    priced = ArcX4Classifier(n_estimators=5, resample=resample, cost_matrix=C3, random_state=0)
    priced.fit(X, y)
    by_example = ArcX4Classifier(n_estimators=5, resample=resample, random_state=0)
    by_example.fit(X, y, costs=C3[y])
    assert (priced.predict(X) == 2).sum() > (plain.predict(X) == 2).sum()
    assert (priced.predict(X) == by_example.predict(X)).all()


def test_other_learners():
    X, y = binary()
    trees = ArcX4Classifier(
        DecisionTreeClassifier(max_depth=2), n_estimators=10, n_jobs=2, random_state=0
    ).fit(X, y)
    assert trees.training_errors_[-1] < np.mean(trees.estimators_[0].predict(X) != y)
    assert len(list(trees.staged_predict(X))) == 10


def test_weights_of_1e8_still_solve():
    # One example that no line gets right is missed a hundred times: 101^4 is 1e8.
    rng = np.random.RandomState(0)
    X = np.concatenate([rng.normal(size=(30, 1)) - 5, rng.normal(size=(30, 1)) + 5, [[-20.0]]])
    y = np.repeat([0, 1, 1], [30, 30, 1])
    model = ArcX4Classifier(L1LinearSVC(C=0.01), resample=False).fit(X, y)
    assert np.isfinite([member.coef_ for member in model.estimators_]).all()
    assert max(member.duality_gap_ for member in model.estimators_) < 1e-7


def test_progress_is_told_when_asked(capsys):
    X, y = binary(40)
    ArcX4Classifier(n_estimators=2, verbose=1).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert lines[1].startswith("[ArcX4Classifier] round 2 of 2, training error 0.")


@pytest.mark.parametrize("cls", [ArcX4Classifier, BacingClassifier])
def test_with_many_classes_members_are_trees(cls):
    # 60 classes have 1,770 pairs; with 500 the linear programmes took 7 GB.
    X = np.random.default_rng(0).normal(size=(240, 3))
    y = np.arange(240) % 60
    model = cls(n_estimators=2, random_state=0).fit(X, y)
    assert type(model.estimator_).__name__ == "DecisionTreeClassifier"
    assert set(model.predict(X)) <= set(y)
    few = cls(n_estimators=2, random_state=0).fit(X, y % 3)
    assert type(few.estimator_).__name__ == "L1LinearSVC"
