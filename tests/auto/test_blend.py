import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad
from scipy.special import log_softmax

from stakes._learning.blend import (
    blend_loss,
    blend_probabilities,
    calibration_error,
    class_frequencies,
    cross_fitted,
    fit_blend,
    log_loss_of,
    log_probabilities,
    sharpness_posterior,
)
from stakes.auto._recipe import choose_blend, plan_folds


def simulated(n=400, seed=0, sharpness=(1.0, 2.0)):
    """Return (logs, y): members whose log probabilities are the true ones times a factor."""
    rng = np.random.default_rng(seed)
    true = log_softmax(2 * rng.normal(size=(n, 3)), axis=-1)
    y = (rng.uniform(size=(n, 1)) > np.exp(true).cumsum(axis=1)).sum(axis=1)
    return np.array([log_softmax(s * true, axis=-1) for s in sharpness]), y


@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_is_that_of_the_loss(weighted):
    logs, y = simulated(60)
    rng = np.random.default_rng(1)
    weight = rng.uniform(size=60) if weighted else np.full(60, 1 / 60)
    args = (logs, y, weight, np.full(2, 0.5), 0.3, 0.7)
    point = rng.normal(size=5)
    off = check_grad(lambda p: blend_loss(p, *args)[0], lambda p: blend_loss(p, *args)[1], point)
    assert off < 1e-5


def test_an_overconfident_member_is_given_half_a_weight():
    # log p = 2 log q up to a constant, so the weight that undoes it is 1/2.
    logs, y = simulated(4000, sharpness=(2.0,))
    blend = fit_blend(logs, y)
    assert_allclose(blend.weights, [0.5], atol=0.05)
    assert_allclose(blend.bias, 0, atol=0.1)


def test_the_bias_undoes_a_wrong_prior():
    # Class 2 is stated e times too likely: its bias is 1 lower than the others'.
    logs, y = simulated(4000, sharpness=(1.0,))
    wrong = log_softmax(logs + np.array([0.0, 0.0, 1.0]), axis=-1)
    bias = fit_blend(wrong, y, bias_penalty=1e-6).bias
    assert_allclose(bias[2] - bias[:2].mean(), -1.0, atol=0.15)


def test_two_repeats_count_as_much_as_one():
    # The same answers twice are no more evidence than once.
    logs, y = simulated(80, sharpness=(0.3, 3.0))
    kept, once = choose_blend(logs, y)
    again, twice = choose_blend(np.concatenate([logs, logs], axis=1), y)
    assert kept == again
    assert_allclose(twice.weights, once.weights, atol=1e-3)
    assert_allclose(twice.bias, once.bias, atol=1e-3)


def test_weights_are_never_negative_and_the_blend_beats_its_members():
    logs, y = simulated(500, sharpness=(0.3, 3.0))
    noise = log_softmax(np.random.default_rng(3).normal(size=logs.shape[1:]), axis=-1)
    logs = np.array([*logs, noise])
    blend = fit_blend(logs, y)
    assert (blend.weights >= 0).all()
    alone = [log_loss_of(np.exp(member), y) for member in logs]
    assert log_loss_of(blend_probabilities(logs, blend), y) < min(alone)


def test_whole_weights_are_repeated_rows():
    logs, y = simulated(100)
    times = np.random.default_rng(0).integers(1, 4, size=100)
    rows = np.repeat(np.arange(100), times)
    weighted = fit_blend(logs, y, times.astype(float))
    repeated = fit_blend(logs[:, rows], y[rows])
    proba = [blend_probabilities(logs, blend) for blend in (weighted, repeated)]
    assert_allclose(proba[0], proba[1], atol=1e-4)


def test_cross_fitting_never_fits_on_what_it_predicts():
    # Fold 1 has labels that contradict fold 0: fitted on the other fold, the member is worse
    # than chance there, and the only defence is to give it no weight.
    proba = np.tile([[0.9, 0.1], [0.1, 0.9]], (50, 1))
    y = np.tile([0, 1], 50)
    folds = np.repeat([0, 1], 50)
    y[folds == 1] = 1 - y[folds == 1]
    found = cross_fitted(np.log(proba)[None], y, folds)
    assert (found[folds == 1].argmax(axis=1) != y[folds == 1]).all()


def test_nothing_is_impossible_but_rare_stays_rare():
    # Nine examples and one more, shared out 0.5 : 0.3 : 0.2, so 0.05, 0.03 and 0.02 of it all.
    frequencies = np.array([0.5, 0.3, 0.2])
    logs = log_probabilities(np.array([[1.0, 0.0, 0.0]]), frequencies, 9)
    assert_allclose(np.exp(logs), [[0.95, 0.03, 0.02]])
    assert_allclose(np.exp(log_probabilities(frequencies, frequencies, 9)), frequencies)
    many = log_probabilities(np.array([[1.0, 0.0, 0.0]]), frequencies, 9_999)
    assert_allclose(np.exp(many[0, 2]), 0.2 / 10_000)


def test_frequencies_by_hand():
    y = np.array([0, 0, 1, 1])
    assert_allclose(class_frequencies(y, 2, np.array([1.0, 2.0, 3.0, 4.0])), [0.3, 0.7])
    # Nobody has seen class 2: half an example of four and a half.
    assert_allclose(class_frequencies(y, 3), np.array([2.0, 2.0, 0.5]) / 4.5)


def test_calibration_error_by_hand():
    # One bin (fewer than 20 examples): class 1 is stated 0.9 and seen 0.5, class 0 likewise.
    proba = np.tile([0.1, 0.9], (10, 1))
    assert_allclose(calibration_error(proba, np.tile([0, 1], 5)), 0.4)
    assert calibration_error(np.full((10, 2), 0.5), np.tile([0, 1], 5)) == 0


def test_folds_are_repeated_for_few_rows_only(monkeypatch):
    from stakes.auto import _recipe

    y = np.repeat([0, 1], [30, 11])
    first, second = plan_folds(y, 5, seed=0)
    assert (first != second).any()
    for folds in (first, second):  # both spread the classes evenly
        assert set(np.bincount(folds[y == 0])) == {6}
        assert set(np.bincount(folds[y == 1])) == {2, 3}
    monkeypatch.setattr(_recipe, "TWO_REPEATS_ROWS", 40)
    assert plan_folds(y, 5, seed=0).shape == (1, 41)
    monkeypatch.setattr(_recipe, "FOLD_ROWS", 40)
    assert set(plan_folds(y, 5, seed=0)[0]) == {-1, 0}


def test_of_many_rows_some_of_the_folds_are_held_out(monkeypatch):
    from stakes.auto import _recipe

    y = np.repeat([0, 1, 2, 3], [60, 37, 2, 1])
    all_folds = plan_folds(y, 5, seed=0)[0]
    monkeypatch.setattr(_recipe, "TWO_REPEATS_ROWS", 40)
    monkeypatch.setattr(_recipe, "ASKED_ROWS", 39)
    (folds,) = plan_folds(y, 5, seed=0)
    assert set(folds) == {-1, 0, 1}  # two of five hold 40 of 100 rows
    common = y < 2
    assert_array_equal(folds[common], np.where(all_folds < 2, all_folds, -1)[common])
    assert np.count_nonzero(folds[y == 2] >= 0) >= 1  # each class is asked of
    assert folds[y == 3] == [-1]  # but not the only one of its kind
    monkeypatch.setattr(_recipe, "ASKED_ROWS", 5)
    assert set(plan_folds(y, 5, seed=0)[0]) == {-1, 0}


def test_sharpness_is_integrated_not_pointed_at():
    # Ten examples, all right at 9 to 1. The likelihood rises with the sharpness for ever: its
    # maximum would be certain. Its posterior stays near the prior's 1, and the doubt of the
    # probabilities is the average doubt, which the least sharp values rule.
    y = np.tile([0, 1], 5)
    scores = np.log(np.where(np.eye(2)[y] == 1, 0.9, 0.1))
    values = sharpness_posterior(scores, y, np.ones(10), 1.0)
    assert 1.0 < np.median(values) < 1.4
    assert (np.diff(values) > 0).all()
    # A hundred times the evidence, with one in ten wrong: 9 to 1 is right, and known to be.
    y = np.where(np.arange(1000) % 10 == 0, 1, 0)
    scores = np.tile(np.log([0.9, 0.1]), (1000, 1))
    values = sharpness_posterior(scores, y, np.ones(1000), 1.0)
    assert_allclose(np.median(values), 1.0, atol=0.03)
    assert np.ptp(values) < 0.3


def test_a_blend_of_separated_classes_keeps_its_doubt():
    # By hand: 40 examples, a quarter of one by the frequencies: no class below 0.125 / 40.25.
    y = np.tile([0, 1], 20)
    sure = np.where(np.eye(2)[y] == 1, 1.0 - 1e-6, 1e-6)
    blend = fit_blend(np.log(sure)[None], y)
    assert_allclose(blend.floor, 0.125 / 40.25)
    proba = blend_probabilities(np.log(sure)[None], blend)
    assert_allclose(proba.sum(axis=1), 1.0)
    assert_allclose(proba.min(), 0.125 / 40.25, rtol=0.05)


def test_repeats_and_weights_know_no_more_than_the_examples():
    # Two repeats of the folds, each counted by half, are as much evidence as one.
    y = np.tile([0, 1, 2], 20)
    logs = np.log(np.where(np.eye(3)[y] == 1, 0.8, 0.1))[None]
    once = fit_blend(logs, y)
    twice = fit_blend(np.tile(logs, (1, 2, 1)), np.tile(y, 2), np.full(120, 0.5))
    assert_allclose(once.sharpness, twice.sharpness, rtol=1e-4)
    assert_allclose(once.floor, twice.floor)
