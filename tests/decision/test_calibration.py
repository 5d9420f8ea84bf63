import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB

from stakes.decision import CostDecisionClassifier, ProbabilityCalibrator
from stakes.decision._calibration import (
    METHODS,
    _clipped,
    fit_bins,
    fit_matrix_scaling,
    fit_vector_scaling,
)


def distorted(n=4000, n_classes=4, seed=0):
    """Draw true probabilities, classes, and what an overconfident, biased model says."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.full(n_classes, 0.8), size=n)
    y = (rng.random(n)[:, None] > true.cumsum(axis=1)).sum(axis=1)
    said = softmax(2.5 * np.log(true) + np.linspace(-1, 1, n_classes), axis=1)
    return true, y, said


@pytest.mark.parametrize("method", METHODS)
def test_calibration_brings_probabilities_nearer_to_the_truth(method):
    true, y, said = distorted()
    better = ProbabilityCalibrator(method).fit(said[:2000], y[:2000]).transform(said[2000:])
    assert_allclose(better.sum(axis=1), 1)
    before = np.abs(said[2000:] - true[2000:]).mean()
    after = np.abs(better - true[2000:]).mean()
    assert after < 0.75 * before


def test_vector_scaling_undoes_its_own_family():
    # said = softmax(2.5 log p + b), so p = softmax(0.4 log said - 0.4 b): slopes 0.4,
    # biases from 0.4 to -0.4 up to a common constant
    _, y, said = distorted(n=40_000)
    slopes, biases = fit_vector_scaling(np.log(said), y)
    assert_allclose(slopes, 0.4, atol=0.03)
    assert_allclose(biases - biases.mean(), [0.4, 0.4 / 3, -0.4 / 3, -0.4], atol=0.06)


def test_shrinkage_leads_from_vector_scaling_to_temperature():
    _, y, said = distorted(n=500)
    slopes, biases = fit_vector_scaling(np.log(_clipped(said)), y, shrinkage=1e9)
    assert_allclose(biases, 0, atol=1e-4)
    temperature = ProbabilityCalibrator("temperature").fit(said, y).temperature_
    assert_allclose(slopes, 1 / temperature, rtol=1e-3)


def test_biases_of_matrix_scaling_by_hand():
    # Inputs that say nothing: only the biases move, b and -b for two classes. Three of four
    # examples are of the first: sigmoid(2 b) - 3/4 + lambda b = 0. At b = log(2) / 2 the sigmoid
    # is 2/3, so lambda = 1 / (6 log 2).
    matrix, biases = fit_matrix_scaling(
        np.zeros((4, 2)), np.array([0, 0, 0, 1]), shrinkage=1 / (6 * np.log(2))
    )
    assert_allclose(biases, [np.log(2) / 2, -np.log(2) / 2], atol=1e-6)
    assert_allclose(matrix, np.eye(2), atol=1e-9)
    # An example that counts three times is three examples.
    weighed = fit_matrix_scaling(
        np.zeros((2, 2)), np.array([0, 1]), np.array([3.0, 1.0]), shrinkage=1 / (6 * np.log(2))
    )
    assert_allclose(weighed[1], biases, atol=1e-6)


def test_matrix_scaling_undoes_what_vector_scaling_cannot():
    # What the model says of class 0 leaks into class 1: log said = M log p, so p = M^-1 said.
    true, y, _ = distorted(n=20_000, n_classes=3)
    mixed = np.array([[1.0, 0.0, 0.0], [0.6, 1.0, 0.0], [0.0, 0.0, 1.0]])
    said = softmax(np.log(true) @ mixed.T, axis=1)
    off = {
        method: np.abs(ProbabilityCalibrator(method).fit(said, y).transform(said) - true).mean()
        for method in ("vector", "matrix")
    }
    assert off["matrix"] < 0.02
    assert off["vector"] > 2 * off["matrix"]


def test_shrinkage_leads_from_matrix_scaling_to_temperature():
    _, y, said = distorted(n=500)
    found = ProbabilityCalibrator("matrix", shrinkage=1e9).fit(said, y)
    plain = ProbabilityCalibrator("temperature").fit(said, y)
    assert found.temperature_ == plain.temperature_
    # One example of no particular class among 501 is mixed in.
    expected = (500 * plain.transform(said) + 0.25) / 501
    assert_allclose(found.transform(said), expected, atol=1e-6)


def test_an_unseen_class_is_shrunk_not_driven_to_zero():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), size=60)
    calibrated = ProbabilityCalibrator("vector").fit(proba, rng.integers(2, size=60))
    assert (calibrated.transform(proba)[:, 2] > 0).all()


def test_bins_by_hand():
    # two bins of two: 0.1 and 0.2 (one hit), 0.6 and 0.8 (two hits); the edge is 0.4
    edges, shares = fit_bins(np.array([0.1, 0.2, 0.6, 0.8]), np.array([0.0, 1, 1, 1]), n_bins=2)
    assert_allclose(edges, [0.4])
    assert_allclose(shares, [0.5, 1.0])
    # the first counts three times, half of all: a bin of its own, which ends before the second
    weight = np.array([3.0, 1, 1, 1])
    edges, shares = fit_bins(
        np.array([0.1, 0.2, 0.6, 0.8]), np.array([0.0, 1, 1, 1]), weight, n_bins=2
    )
    assert_allclose(edges, [0.15])
    assert_allclose(shares, [0.0, 1.0])
    # equal probabilities share a bin
    edges, shares = fit_bins(np.full(8, 0.3), np.array([1.0, 0] * 4), n_bins=4)
    assert len(edges) == 0
    assert_allclose(shares, [0.5])


@pytest.mark.parametrize("method", METHODS)
def test_weights_count_examples(method):
    _, y, said = distorted(n=300, n_classes=3, seed=1)
    weight = np.random.default_rng(0).integers(1, 4, size=300)
    if method == "binning":  # its edges are of examples, not of weights
        weight[:] = 2
    twice = ProbabilityCalibrator(method).fit(
        np.repeat(said, weight, axis=0), np.repeat(y, weight)
    )
    once = ProbabilityCalibrator(method).fit(said, y, sample_weight=weight)
    assert_allclose(once.transform(said), twice.transform(said), atol=2e-4)


def test_binary_maps_agree_with_scikit_learn():
    # Logistic regression's decision function is the log odds, so the sigmoid is the same;
    # temperature differs by scikit-learn's (-x, x) convention only in its number.
    X, y = make_classification(n_samples=600, random_state=0)
    model = FrozenEstimator(LogisticRegression(C=1e-3).fit(X[:300], y[:300]))
    for method in ("sigmoid", "isotonic"):
        theirs = CalibratedClassifierCV(model, method=method, ensemble=False)
        theirs.fit(X[300:], y[300:])
        ours = CostDecisionClassifier(model, calibration=method).fit(X[300:], y[300:])
        assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


def test_cross_fitting_calibrates_an_overconfident_model():
    # Naive Bayes on copies of the same features counts its evidence several times.
    X, y = make_classification(n_samples=1500, n_classes=3, n_informative=4, random_state=0)
    X = np.hstack([X] * 4)
    plain = CostDecisionClassifier(GaussianNB()).fit(X[:1000], y[:1000])
    before = log_loss(y[1000:], plain.predict_proba(X[1000:]))
    for method in METHODS:
        model = CostDecisionClassifier(GaussianNB(), calibration=method).fit(X[:1000], y[:1000])
        proba = np.maximum(model.predict_proba(X[1000:]), 1e-6)
        assert log_loss(y[1000:], proba / proba.sum(axis=1, keepdims=True)) < 0.8 * before


def test_bad_input_to_a_calibrator():
    proba = np.full((4, 2), 0.5)
    with pytest.raises(ValueError, match="2 columns, one per class, but y has 3 classes"):
        ProbabilityCalibrator().fit(proba, ["a", "b", "c", "a"])
    with pytest.raises(ValueError, match="y has 3 entries, but proba has 4 rows"):
        ProbabilityCalibrator().fit(proba, [0, 1, 0])
    with pytest.raises(ValueError, match="'method' parameter"):
        ProbabilityCalibrator("platt").fit(proba, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="3 columns"):
        ProbabilityCalibrator().fit(proba, [0, 1, 0, 1]).transform(np.full((2, 3), 1 / 3))
