import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import recall_score, roc_auc_score

from stakes.metrics import (
    confusion_norm,
    confusion_norm_bound,
    geometric_mean_score,
    mauc_score,
)


def from_rates(rates, n=1000):
    """Return labels whose confusion rates are `rates`."""
    y_true, y_pred = [], []
    for t, row in enumerate(rates):
        for d, share in enumerate(row):
            y_true += [t] * round(n * share)
            y_pred += [d] * round(n * share)
    return y_true, y_pred


def test_norm_of_the_published_connect4_matrices():
    # koco2013, Table 4: CoMBo's and AdaBoost.MM's error matrices on Connect-4. The norm is the
    # root of the largest eigenvalue of C* C; the claim of the paper is that CoMBo's is lower.
    combo = np.array([[0.785, 0.147, 0.068], [0.146, 0.685, 0.169], [0.056, 0.203, 0.741]])
    mm = np.array([[0.934, 0.011, 0.055], [0.656, 0.165, 0.179], [0.246, 0.048, 0.706]])
    norms = []
    for rates in (combo, mm):
        norms.append(confusion_norm(*from_rates(rates)))
        errors = rates - np.diag(np.diag(rates))
        assert norms[-1] ** 2 == pytest.approx(np.linalg.eigvalsh(errors.T @ errors).max())
    assert norms[0] == pytest.approx(0.272, abs=1e-3)
    assert norms[0] < 0.4 * norms[1]


def test_norm_counts_a_rare_class_like_a_common_one():
    # Class 1 is always taken for 0: rates [[0, 0], [1, 0]], norm 1, however rare it is.
    y_true = [0] * 999 + [1]
    assert confusion_norm(y_true, [0] * 1000) == 1


@pytest.mark.parametrize("seed", range(5))
def test_error_is_at_most_sqrt_k_times_the_norm(seed):
    rng = np.random.default_rng(seed)  # equation (3)
    y, p = rng.integers(0, 4, 200), rng.integers(0, 4, 200)
    assert np.mean(y != p) <= 2 * confusion_norm(y, p) + 1e-12


def test_bound_by_hand():
    # K = 2, m = (1000, 500), delta = .05: sqrt(4 * (1/1000 + 1/500) * log(40)).
    y = [0] * 1000 + [1] * 500
    assert_allclose(confusion_norm_bound(y, y), np.sqrt(0.012 * np.log(40)))
    assert confusion_norm_bound([0, 0], [0, 1]) == np.inf
    with pytest.raises(ValueError, match=r"confidence must be in \[0, 1\), but it is 1.5"):
        confusion_norm_bound(y, y, confidence=1.5)


@pytest.mark.parametrize("seed", range(3))
def test_geometric_mean_of_recalls(seed):
    rng = np.random.default_rng(seed)
    y, p = rng.integers(0, 3, 90), rng.integers(0, 3, 90)
    recalls = recall_score(y, p, average=None)
    assert_allclose(geometric_mean_score(y, p), np.prod(recalls) ** (1 / 3))


def test_a_class_never_recognised_makes_the_mean_zero():
    assert geometric_mean_score([0, 0, 1], [0, 0, 0]) == 0
    with pytest.raises(ValueError, match="None of the labels occurs"):
        geometric_mean_score([0, 0], [0, 0], labels=[5])


@pytest.mark.parametrize("seed", range(3))
def test_mauc_is_scikit_learns_for_probabilities_and_ours_for_scores(seed):
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 4
    proba = rng.dirichlet(np.ones(4), size=60)
    theirs = roc_auc_score(y, proba, multi_class="ovo")
    assert_allclose(mauc_score(y, proba), theirs)
    # A factor per class moves no rank within a column, so M stays; the rows no longer sum to 1.
    assert_allclose(mauc_score(y, proba * [1, 2, 3, 4]), theirs)


def test_mauc_by_hand():
    # Pair (0, 1): A(0|1) on column 0: class 0 scores 3, 1; class 1 scores 2: 1/2.
    # A(1|0) on column 1: class 1 scores 5; class 0 scores 1, 2: 1. Pairs with 2 are perfect.
    scores = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 0.0], [2.0, 5.0, 0.0], [0.0, 0.0, 9.0]])
    assert_allclose(mauc_score([0, 0, 1, 2], scores), (0.5 + 1 + 4) / 6)


def test_mauc_of_two_classes_takes_one_column():
    assert mauc_score([0, 1, 1], [0.1, 0.4, 0.9]) == 1


def test_bad_scores_are_refused():
    with pytest.raises(ValueError, match="scores must have 3 columns"):
        mauc_score([0, 1, 2], [[0.5, 0.5]] * 3)
    with pytest.raises(ValueError, match=r"no example of \[2\]"):
        mauc_score([0, 1, 1], [[0.5, 0.3, 0.2]] * 3, labels=[0, 1, 2])
