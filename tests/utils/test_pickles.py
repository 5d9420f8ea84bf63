"""Pickles are for the version that made them, and say so."""

import copy
import pickle

import numpy as np
import pytest

import stakes
from stakes import StakesClassifier
from stakes.compare import fit_model
from stakes.decision import ParallelPartition
from stakes.tree import CostTreeClassifier

X, Y = np.array([[0.0], [0.0], [9.0]] * 40), np.array([0, 0, 1] * 40)
PRICES = [[0, 1], [5, 0]]
PROBA = np.array([[0.8, 0.2], [0.7, 0.3], [0.1, 0.9]] * 40)
MADE = {
    "estimator": lambda: CostTreeClassifier(cost_matrix=PRICES).fit(X, Y),
    "not fitted": lambda: StakesClassifier(cost_matrix=PRICES),
    "rule": lambda: ParallelPartition(cost_matrix=PRICES).fit(PROBA, Y),
    "model": lambda: fit_model(X, Y, "tree", cost_matrix=PRICES),
}


@pytest.fixture(params=MADE)
def made(request):
    return MADE[request.param]()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_the_version_that_pickled_reads_it(made, protocol):
    again = pickle.loads(pickle.dumps(made, protocol))
    assert type(again) is type(made)
    assert vars(again).keys() == vars(made).keys()
    assert type(copy.deepcopy(made)) is type(made)


def test_what_is_not_yet_fitted_to_the_end_goes_to_other_processes(made):
    vars(made).pop(type(made)._pickled[1], None)
    assert vars(pickle.loads(pickle.dumps(made))).keys() == vars(made).keys()


def test_another_version_refuses_it_with_both_and_what_to_do(made, monkeypatch):
    data = pickle.dumps(made)
    monkeypatch.setattr(stakes, "__version__", "9.1.0")
    with pytest.raises(
        ValueError,
        match=f"{type(made).__name__} was pickled by stakes 0.1.0, and this is 9.1.0: .* fit again",
    ):
        pickle.loads(data)


def test_what_was_pickled_before_versions_were_told_is_refused():
    tree = MADE["estimator"]()
    state = {name: value for name, value in vars(tree).items() if name != "decisions_"}
    with pytest.raises(ValueError, match="CostTreeClassifier was pickled by an earlier version"):
        CostTreeClassifier.__new__(CostTreeClassifier).__setstate__(state)


def test_what_has_learned_the_half_of_it_can_be_copied():
    # A rule tries itself on folds, of which each is a copy, before it is done.
    proba = np.random.default_rng(0).dirichlet([1, 1, 1], 60)
    rule = ParallelPartition(shrink=True, random_state=0).fit(proba, np.arange(60) % 3)
    other = copy.copy(rule)
    other.partition_ = None
    assert rule.partition_ is not None
    assert other.policy_ is rule.policy_
