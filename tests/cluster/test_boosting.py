"""Boosting from Dask collections is that of the same rows in one array."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from tests.cluster.test_trees import C, assert_same_tree, cut

from stakes._learning.folds import hold_out_places
from stakes.boosting import AdaBoostMMClassifier, CoMBoClassifier
from stakes.boosting._base import OWN_MEMORY, USED


def assert_same_rounds(found, alone, exact=False):
    assert found.n_iter_ == alone.n_iter_
    for tree, other in zip(found.estimators_, alone.estimators_):
        assert_same_tree(tree, other, exact=exact)
    compare = assert_array_equal if exact else assert_allclose
    for name in ("edges_", "loss_", "estimator_weights_", "training_error_bound_"):
        compare(getattr(found, name), getattr(alone, name))


@pytest.mark.parametrize("cls", [AdaBoostMMClassifier, CoMBoClassifier])
@pytest.mark.parametrize("kind", ["class", "weighted", "costs"])
def test_rounds_do_not_depend_on_the_partitions(client, table, cls, kind):
    X, y, costs, weight = table
    model = cls(None if kind == "costs" else C, n_estimators=70)  # D is written anew on the way
    given = {"weighted": {"sample_weight": weight}, "costs": {"costs": costs}}.get(kind, {})
    alone = cls(**model.get_params()).fit(X, y, **given)
    rounds = []
    for sizes in ((1700,), (0, 100, 1200, 300, 300, 100)):
        spread = {name: cut(array, *sizes) for name, array in given.items()}
        found = cls(**model.get_params()).fit(cut(X, *sizes), cut(y, *sizes), **spread)
        assert_same_rounds(found, alone)
        assert_array_equal(found.predict(X), alone.predict(X))
        rounds.append(found)
    assert_same_rounds(*rounds, exact=True)


@pytest.mark.parametrize("kind", ["class", "weighted"])
def test_scores_that_are_not_kept_are_the_same(client, table, limit_memory, kind):
    X, y, _, weight = table
    given = {"sample_weight": cut(weight)} if kind == "weighted" else {}
    rows = cut(X), cut(y)  # of one worker
    kept = CoMBoClassifier(C, n_estimators=70).fit(*rows, **given)
    per_row = 5 + 36 + 8 + 24 * bool(given)
    limit_memory((OWN_MEMORY + len(X) * per_row) / USED)
    found = CoMBoClassifier(C, n_estimators=70).fit(*rows, **given)
    assert_same_rounds(found, kept, exact=True)


def test_costs_of_four_bytes_cost_little(client, table, limit_memory):
    X, y, *_ = table
    rows = cut(X, 1600), cut(y, 1600)
    kept = CoMBoClassifier(C, n_estimators=70).fit(*rows)
    limit_memory(1)
    found = CoMBoClassifier(C, n_estimators=70).fit(*rows)
    assert_allclose(found.edges_[:20], kept.edges_[:20], rtol=1e-4)
    assert_allclose(found.loss_[-1], kept.loss_[-1], rtol=0.02)
    assert not np.array_equal(found.loss_, kept.loss_)


def test_one_sum_for_each_level_and_one_small_one_for_each_round(client, table):
    X, y, *_ = table
    model = CoMBoClassifier(C, n_estimators=10).fit(cut(X, 1700), cut(y, 1700))
    size = int(model._learner.grower.bins.offsets[-1]) * 4  # 3 costs and the weight of each bin
    assert model._messages[size] == 20  # the root, and one of its children
    assert model._messages[2 * size] == 10  # two of its grandchildren
    assert model._messages[4] == 10  # what was met, missed and paid


@pytest.mark.parametrize("watched", ["cost", "confusion_norm"])
def test_all_workers_stop_early_together(client, table, watched):
    X, y, *_ = table
    model = CoMBoClassifier(C, early_stopping=watched, n_iter_no_change=3, random_state=0)
    one = model.fit(cut(X, 1500), cut(y, 1500)).validation_costs_
    two = model.fit(cut(X, 10, 2000), cut(y, 10, 2000)).validation_costs_
    assert_array_equal(one, two)
    few = (~hold_out_places(np.arange(len(X)), 0.1, 0)).argmin()  # none of them is held out
    assert few > 1
    three = model.fit(cut(X, few), cut(y, few)).validation_costs_
    assert_array_equal(one, three)
    assert 3 < len(one) < 200


def test_nothing_to_learn_is_warned_of_here(client):
    X, y = np.zeros((40, 1)), np.array([0, 1] * 20)
    with pytest.warns(ConvergenceWarning, match="no better than guessing"):
        model = CoMBoClassifier().fit(cut(X, 10), cut(y, 10))
    assert model.n_iter_ == 1


def test_other_weak_learners_are_refused(client, table):
    X, y, *_ = table
    with pytest.raises(TypeError, match="grows cost trees alone; leave estimator"):
        CoMBoClassifier(estimator=LogisticRegression()).fit(cut(X, 100), cut(y, 100))
