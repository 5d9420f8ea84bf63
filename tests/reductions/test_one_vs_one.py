from itertools import combinations, product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from stakes.reductions import CostSensitiveOneVsOneClassifier, WeightedAllPairsClassifier
from stakes.reductions._one_vs_one import decide_by_votes, pair_problem
from stakes.tree import CostTreeClassifier

# The slides' example: what classes 1, 2, 3 cost for three examples.
SLIDES = np.array([[0.0, 2.0, 3.0], [1.0, 0.0, 1.0], [2.0, 0.0, 3.0]])


@pytest.mark.parametrize(
    ("pair", "cheaper", "weights"),
    [
        ((1, 2), [1, 2, 2], [2, 1, 2]),
        ((2, 3), [2, 2, 2], [1, 1, 3]),
        ((1, 3), [1, None, 1], [3, 0, 1]),  # None: a tie, printed "-"
    ],
)
def test_the_tables_of_the_slides(pair, cheaper, weights):
    j, k = pair
    is_k, found = pair_problem(SLIDES, j - 1, k - 1)
    assert_array_equal(found, weights)
    for answer, label, weight in zip(is_k, cheaper, found):
        if label is None:
            assert weight == 0
        else:
            assert (k if answer else j) == label


class Recorder(ClassifierMixin, BaseEstimator):
    """Keeps what it was fitted on; answers the heavier label."""

    asked: list = []

    def fit(self, X, y, sample_weight=None):
        type(self).asked.append((X[:, 0].tolist(), y.tolist(), np.array(sample_weight)))
        self.classes_ = np.unique(y)
        self.answer_ = np.bincount(y, weights=sample_weight).argmax()
        return self

    def predict(self, X):
        return np.full(len(X), self.answer_)


def test_ties_are_dropped_and_lone_labels_are_not_fitted():
    # Of the slides' three pairs, 2 vs 3 and 1 vs 3 have one label each: only 1 vs 2 is fitted.
    Recorder.asked = []
    X = np.array([[10.0], [11.0], [12.0]])
    model = CostSensitiveOneVsOneClassifier(Recorder()).fit(X, [1, 2, 3], costs=SLIDES)
    ((rows, labels, weight),) = Recorder.asked
    assert rows == [10, 11, 12]
    assert labels == [0, 1, 1]
    assert_allclose(weight / weight.sum(), [0.4, 0.2, 0.4])
    assert_array_equal(model.pairs_, [[0, 1], [0, 2], [1, 2]])
    assert_array_equal(model.n_samples_used_, [3, 2, 3])  # the tie of 1 vs 3 is not used
    assert model.n_one_label_samples_ == 2
    # 2 beats 1 (3 against 2), 1 beats 3, 2 beats 3: class 2 for all, at a cost of 2 + 0 + 0.
    # Of the pairs only 1 vs 2 errs, on the first example, which weighs 2.
    assert_array_equal(model.predict(X), [2, 2, 2])
    assert model.training_cost_ == pytest.approx(2 / 3)
    assert_allclose(model.pair_costs_, [2 / 3, 0, 0])
    assert model.bound_ == pytest.approx(4 / 3)


def test_a_pair_that_costs_the_same_everywhere_shares_its_vote():
    X = np.arange(6.0)[:, None]
    y = np.array([0, 0, 1, 1, 2, 2])
    C = np.array([[0.0, 3.0, 3.0], [4.0, 0.0, 0.0], [5.0, 0.0, 0.0]])
    model = CostSensitiveOneVsOneClassifier(DecisionTreeClassifier(), cost_matrix=C)
    model.fit(X, y)
    assert_array_equal(model.pairs_, [[0, 1], [0, 2]])
    # Votes 2, 1/2, 1/2 with margins 2, -1, -1 for the first two examples, for the others
    # 0, 3/2, 3/2 with margins -2, 1, 1; a margin m adds m / (3 (|m| + 1)).
    scores = [[2 + 2 / 9, 1 / 3, 1 / 3]] * 2 + [[-2 / 9, 5 / 3, 5 / 3]] * 4
    assert_allclose(model.decision_function(X), scores)
    assert_array_equal(model.predict(X)[:2], [0, 0])
    assert model.training_cost_ == 0


@pytest.mark.parametrize("K", [3, 4])
def test_the_bound_holds_for_every_tournament(K):
    # For each outcome of the pairs: cost of the winner <= 2 * the weight of the pairs that erred,
    # even when the most expensive of those with most votes is taken.
    pairs = list(combinations(range(K), 2))
    rng = np.random.RandomState(0)
    for c in rng.uniform(0, 10, size=(40, K)):
        c -= c.min()
        c[rng.randint(K)] = 0 if rng.uniform() < 0.3 else c[0]
        c -= c.min()
        for outcome in product([0, 1], repeat=len(pairs)):
            votes, lost = np.zeros(K), 0.0
            for (j, k), wins in zip(pairs, outcome):
                votes[k if wins else j] += 1
                cheaper = int(c[j] > c[k])
                lost += abs(c[j] - c[k]) * (wins != cheaper)
            assert c[votes == votes.max()].max() <= 2 * lost + 1e-12


def noisy(seed, K=4, n=300):
    X, y = make_classification(
        n, n_features=8, n_informative=5, n_classes=K, flip_y=0.2, random_state=seed
    )
    costs = np.random.RandomState(seed).uniform(0, 10, size=(n, K))
    costs[np.arange(n), y] = -1.0  # a benefit
    return X, y, costs


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_on_training_data(seed):
    X, y, costs = noisy(seed)
    model = CostSensitiveOneVsOneClassifier(DecisionTreeClassifier(max_depth=2), random_state=0)
    model.fit(X, y, costs=costs)
    assert 0 < model.training_cost_ <= model.bound_
    # least cost at 0: -1 is added
    paid = costs[np.arange(len(y)), model.predict(X)] + 1
    assert model.training_cost_ == pytest.approx(paid.mean())


@pytest.mark.parametrize(
    "base", [DecisionTreeClassifier(max_depth=3), LogisticRegression(), Perceptron(), GaussianNB()]
)
def test_votes_and_margins_agree_on_two_classes(base):
    X, y, costs = noisy(0, K=2)
    votes = CostSensitiveOneVsOneClassifier(base, random_state=0).fit(X, y, costs=costs)
    margins = CostSensitiveOneVsOneClassifier(base, aggregate="margins", random_state=0)
    margins.fit(X, y, costs=costs)
    assert_array_equal(votes.predict(X), margins.predict(X))
    for model in (votes, margins):
        scores = model.decision_function(X)
        assert scores.shape == (len(X),)
        assert_array_equal(model.predict(X), (scores > 0).astype(int))


def test_two_classes_are_the_weighted_problem_of_the_slides():
    # |c1 - c0| as weights, the cheaper class as label: x2 and x3 of the slides; x1 is ignored.
    X, y, costs = noisy(1, K=2)
    base = DecisionTreeClassifier(max_depth=3, random_state=0)
    model = CostSensitiveOneVsOneClassifier(base).fit(X, y, costs=costs)
    weight = np.abs(costs[:, 1] - costs[:, 0])
    plain = base.fit(X, costs.argmin(axis=1), sample_weight=weight * len(y) / weight.sum())
    assert_array_equal(model.predict(X), plain.predict(X))


def test_rejection_serves_classifiers_without_weights():
    X, y, costs = noisy(0)
    model = CostSensitiveOneVsOneClassifier(KNeighborsClassifier())
    with pytest.raises(
        ValueError, match="KNeighborsClassifier does not take sample_weight in fit"
    ):
        model.fit(X, y, costs=costs)
    model.set_params(sampling="rejection", random_state=0).fit(X, y, costs=costs)
    assert (model.n_samples_used_ < len(y)).all()
    assert -model.score(X, y, costs=costs) < 2


def test_equal_votes_go_by_margin_and_votes_go_first():
    scores = decide_by_votes(
        np.array([[1.0, 1, 1], [2, 1, 0]]), np.array([[0.0, 9, 1], [-99, 99, 99]])
    )
    assert_array_equal(scores.argmax(axis=1), [1, 0])


def test_packed_trees_answer_as_each_tree_does():
    # Missing values and categories among the features: every kind of split is packed.
    import pandas as pd

    X, y, costs = noisy(3, K=5, n=403)
    X[np.random.RandomState(0).uniform(size=X.shape) < 0.15] = np.nan
    frame = pd.DataFrame(X, columns=list("stuvwxyz"))
    frame["letter"] = pd.Categorical(np.array(list("abcdefghij"))[np.arange(403) * y % 10])
    model = CostSensitiveOneVsOneClassifier(CostTreeClassifier(min_samples_leaf=3), random_state=0)
    model.fit(frame, y, costs=costs)
    packed = model.decision_function(frame)
    prepared = model._prepared(frame)
    leaning = np.empty((len(model.pairs_), len(frame)), dtype=bool)
    votes, margins = model._ask_each(prepared, leaning)
    assert_allclose(packed, decide_by_votes(votes, margins).T)
    again = np.empty_like(leaning)
    model._packed_.vote(prepared, model.pairs_, 5, leaning=again)
    assert_array_equal(again, leaning)


def test_smoothing_keeps_a_rare_and_expensive_class_in_view():
    # Nine examples of class 0 at x = 0, and one of class 1 at x = 1, whose miss costs 9 and whose
    # false alarm costs 1: ten average examples weigh 9 for each class. The leaf at x = 0 holds
    # 9 to 0, with them 18 to 9.
    X, y = np.array([[0]] * 9 + [[1]]), [0] * 9 + [1]
    tree = CostTreeClassifier(criterion="variance", min_samples_leaf=1)
    model = CostSensitiveOneVsOneClassifier(tree, cost_matrix=[[0, 1], [9, 0]], smoothing=10)
    member = model.fit(X, y).estimators_[0]
    assert_allclose(member.class_shares, [[18 / 27, 9 / 27], [9 / 27, 18 / 27]])
    bare = model.set_params(smoothing=0).fit(X, y).estimators_[0]
    assert_allclose(bare.class_shares, [[1, 0], [0, 1]])
    # Two examples of class 0 alone at x = 2 do not stand against ten average ones of
    # costs 1 and 30: 2 + 10 * 11 / 12 for class 0, 10 * 30 / 12 for class 1.
    X, y = np.vstack([X, [[2], [2]]]), [*y, 0, 0]
    model.set_params(cost_matrix=[[0, 1], [30, 0]], smoothing=10)
    assert model.fit(X, y).predict([[2]]).tolist() == [1]
    assert model.set_params(smoothing=0).fit(X, y).predict([[2]]).tolist() == [0]


def test_pairs_break_ties_between_features_by_chance():
    # Two equal columns: trees that always took the first one would err together.
    X, y, costs = noisy(3, K=6, n=200)
    X = np.column_stack([X[:, 0], X[:, 0]])
    model = CostSensitiveOneVsOneClassifier(CostTreeClassifier(max_depth=1), random_state=0)
    asked = {member.nodes[0, 0] for member in model.fit(X, y, costs=costs).estimators_}
    assert asked == {0, 1}


@pytest.mark.parametrize("cls", [CostSensitiveOneVsOneClassifier, WeightedAllPairsClassifier])
def test_gigabytes_of_deep_trees_are_not_grown_unasked(cls):
    y = np.repeat(np.arange(201), 2)
    said = "20,100 deep trees, one for each two of 201 classes.*FilterTreeClassifier.*grows 200"
    with pytest.raises(ValueError, match=said):
        cls().fit(y[:, None], y)
