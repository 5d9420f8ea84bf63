"""The comparisons of Koço and Capponi (2013): 5-fold cross-validation, 200 rounds, depth 3."""

import os

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from stakes.boosting import AdaBoostMMClassifier, CoMBoClassifier
from stakes.metrics import confusion_norm, geometric_mean_score

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.path.isdir(os.environ.get("STAKES_DATA", "")),
        reason="STAKES_DATA does not name a folder with the data sets",
    ),
]


def cross_validated(name, cls):
    from stakes.datasets import load_dataset

    data = load_dataset(name)
    g_means, norms = [], []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(data.X, data.y):
        model = cls(n_estimators=200).fit(data.X.iloc[train], data.y[train])
        decided = model.predict(data.X.iloc[test])
        g_means.append(geometric_mean_score(data.y[test], decided))
        norms.append(confusion_norm(data.y[test], decided, labels=data.classes))
    return np.mean(g_means), np.mean(norms)


def test_car():
    g_mean, norm = cross_validated("car", CoMBoClassifier)  # published 0.967 and 0.082
    assert g_mean >= 0.96
    assert norm <= 0.09


def test_balance():
    ours, _ = cross_validated("balance", CoMBoClassifier)  # published 0.675
    plain, _ = cross_validated("balance", AdaBoostMMClassifier)  # published 0.566
    assert ours > plain


def test_satimage():
    g_mean, _ = cross_validated("satimage", CoMBoClassifier)  # published 0.825
    assert g_mean >= 0.87


def test_connect4():
    _, ours = cross_validated("connect4", CoMBoClassifier)  # published 0.308
    _, plain = cross_validated("connect4", AdaBoostMMClassifier)  # published 0.670
    assert ours <= 0.6 * plain
