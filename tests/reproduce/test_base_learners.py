import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_classification
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from stakes.reproduce import FeatureQuantizer, RegularizedQDA, quantized_naive_bayes
from stakes.reproduce._base_learners import regularized_covariance


@parametrize_with_checks([RegularizedQDA(), FeatureQuantizer()])
def test_sklearn_contract(estimator, check):
    check(estimator)


def test_laplace_by_hand():
    # class 0: values 0, 0, 1; class 1: values 0, 1. With one added to each count
    # P(0 | class 0) = 3/5, P(0 | class 1) = 2/4; priors 3/5 and 2/5
    model = quantized_naive_bayes().fit([[0], [0], [1], [0], [1]], [0, 0, 0, 1, 1])
    first = 3 / 5 * 3 / 5
    second = 2 / 4 * 2 / 5
    assert_allclose(model.predict_proba([[0]])[0, 0], first / (first + second))


def test_numbers_are_rounded_to_twenty_one_values():
    numbers = np.linspace(0, 20, 2001)  # the 21 values are 0, 1, ..., 20
    codes = FeatureQuantizer().fit_transform(numbers[:, None])[:, 0]
    assert_array_equal(codes[::100], np.arange(21))
    assert np.abs(codes - numbers).max() < 0.5 + 1e-9
    outside = FeatureQuantizer().fit(np.arange(100.0)[:, None]).transform([[-5.0], [500.0]])
    assert_array_equal(outside[:, 0], [0, 20])


def test_few_numbers_are_taken_as_they_are():
    quantizer = FeatureQuantizer().fit([[1.0], [2.0], [10.0]])
    assert_array_equal(quantizer.transform([[10.0], [1.0], [2.0], [5.0]])[:, 0], [2, 0, 1, 1])


def test_categories_missing_and_unknown_values():
    frame = pd.DataFrame(
        {
            "colour": pd.Categorical(["red", "red", "blue", None]),
            "size": [1.0, np.nan, 2.0, 1.0],
            "shape": ["round", "flat", "flat", "flat"],
        }
    )
    quantizer = FeatureQuantizer().fit(frame)
    assert_array_equal(quantizer.transform(frame), [[1, 0, 1], [1, 2, 0], [0, 1, 0], [2, 0, 0]])
    new = pd.DataFrame({"colour": ["green"], "size": [9.0], "shape": [None]})
    # unknown colour: the most frequent, red; 9: the nearest, 2; no missing shape was seen: flat
    assert_array_equal(quantizer.transform(new), [[1, 1, 0]])
    model = quantized_naive_bayes().fit(frame, [0, 0, 1, 1])
    assert_allclose(model.predict_proba(new).sum(axis=1), 1)


def test_naive_bayes_classifies_iris():
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(quantized_naive_bayes(), X, y).mean() > 0.9


def test_a_sound_covariance_is_left_alone():
    pytest.importorskip("sklearn", minversion="1.9", reason="1.8 divided by n - 1")
    X, y = load_iris(return_X_y=True)
    model = RegularizedQDA().fit(X, y)
    assert_array_equal(model.regularization_, 0)
    theirs = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    assert_allclose(model.covariances_, theirs.covariance_)
    assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-9)


def test_a_singular_covariance_is_regularised_until_its_condition_is_sound():
    X, y = make_classification(n_samples=200, n_informative=3, n_redundant=2, random_state=0)
    X = np.hstack([X, X[:, :2], np.zeros((200, 1))])  # copies and a constant
    model = RegularizedQDA(max_condition=1e4).fit(X, y)
    for covariance in model.covariances_:
        assert np.linalg.cond(covariance) < 1e4
    assert (model.regularization_ > 0).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_steps_of_the_regularisation():
    # condition 1e8; after one step of 0.01 it is about 200
    covariance, pooled = np.diag([1e8, 1.0]), np.diag([1e8, 1.0])
    mixed, amount = regularized_covariance(covariance, pooled, 1e6, step=0.01)

    assert amount == 0.01
    # 0.98 * 1 + 0.01 * 1 + 0.01 * (1e8 + 1) / 2
    assert mixed[1, 1] == pytest.approx(0.99 + 0.01 * (1e8 + 1) / 2)


def test_as_little_regularisation_as_needed():
    covariance, pooled = np.diag([1.0, 1e-9]), np.diag([1.0, 1.0])
    mixed, amount = regularized_covariance(covariance, pooled, 1e6)
    # (1 - 2a) 1e-9 + a + a/2 must be about 1e-6: a = 6.7e-7; doubling from 1e-7: 8e-7
    assert amount == pytest.approx(8e-7)
    assert np.linalg.cond(mixed) < 1e6
    # no spread at all: a multiple of the identity
    mixed, amount = regularized_covariance(np.zeros((2, 2)), np.zeros((2, 2)), 1e6)
    assert_allclose(mixed, amount * np.eye(2))
    assert amount > 0


def test_weights_are_repetitions():
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(1, 4, size=150)
    weighted = RegularizedQDA().fit(X, y, sample_weight=weight)
    repeated = RegularizedQDA().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)
