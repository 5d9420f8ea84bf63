import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from stakes.metrics import stochastic_cost
from stakes.reductions import GBSEClassifier
from stakes.reductions._gbse import bound_factor, gbse_weights, stochastic
from stakes.reductions._pairs import EstimatorPairLearner
from stakes.tree import CostTreeClassifier

# Rows are true classes, columns decisions.
C = np.array([[0.0, 3.0, 6.0], [2.0, 0.0, 1.0], [9.0, 3.0, 0.0]])
THREE = np.array([[0.0], [1.0], [2.0]])


class Script(ClassifierMixin, BaseEstimator):
    """A relational learner that says what `SAYS[round]` says of (x, decision)."""

    SAYS: list = []
    asked: list = []

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.array([0, 1])
        self.round_ = len(type(self).asked)
        type(self).asked.append(
            (X.copy(), y.copy(), None if sample_weight is None else sample_weight)
        )
        return self

    def predict(self, X):
        fires = type(self).SAYS[self.round_]
        rows, decisions = X[:, 0].astype(int), X[:, 1:].argmax(axis=1)
        return fires[rows, decisions].astype(int)


def scripted(says):
    Script.SAYS, Script.asked = [np.array(s, dtype=bool) for s in says], []
    return Script()


def test_two_rounds_by_hand():
    # Three examples, one of each class. H_0 = 1/3 everywhere, so E_H[C] = 3, 1, 4 and
    #   w_1 = [[3, 0, -3], [-1, 1, 0], [-5, 1, 4]];  the stochastic cost is 8/3.
    # Round 1 (alpha = 1) says: example 0 -> {0}; example 1 -> {1, 2}; example 2 -> nothing.
    #   f_1 = [1, 0, 0], [0, 1/2, 1/2], and by the default branch H_0 = [1/3, 1/3, 1/3].
    #   H_1 = f_1; E_H[C] = 0, 1/2, 4; the cost is 4.5 / 3 = 1.5.
    #   w_2 = [[0, -3, -6], [-3/2, 1/2, -1/2], [-5, 1, 4]]
    # Round 2 (alpha = 1/2) says: example 0 -> {1}; example 1 -> nothing; example 2 -> {2}.
    #   H_2 = [1/2, 1/2, 0], [0, 1/2, 1/2] (default), [1/6, 1/6, 2/3].
    #   E_H[C] = 3/2, 1/2, 9/6 + 3/6 = 2; the cost is 4 / 3.
    says = [
        [[1, 0, 0], [0, 1, 1], [0, 0, 0]],
        [[0, 1, 0], [0, 0, 0], [0, 0, 1]],
    ]
    model = GBSEClassifier(
        scripted(says), cost_matrix=C, n_estimators=2, sampling="weights", bootstrap=False
    )
    model.fit(THREE, [0, 1, 2])
    stages = list(model.staged_predict_proba(THREE))
    assert_allclose(stages[0], [[1, 0, 0], [0, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3]])
    assert_allclose(stages[1], [[0.5, 0.5, 0], [0, 0.5, 0.5], [1 / 6, 1 / 6, 2 / 3]])
    assert_allclose(model.predict_proba(THREE), stages[1])
    assert model.initial_cost_ == pytest.approx(8 / 3)
    assert_allclose(model.training_costs_, [1.5, 4 / 3])
    assert_array_equal(model.estimator_weights_, [1, 0.5])

    # What the learner was taught: the sign of w (w >= 0 is 1), weighted by |w|; no zeros.
    for (X, label, weight), w in zip(
        Script.asked,
        (
            np.array([[3, 0, -3], [-1, 1, 0], [-5, 1, 4]]),
            np.array([[0, -3, -6], [-1.5, 0.5, -0.5], [-5, 1, 4]]),
        ),
    ):
        rows, decisions = X[:, 0].astype(int), X[:, 1:].argmax(axis=1)
        assert_array_equal(np.argwhere(w != 0), np.column_stack([rows, decisions]))
        assert_array_equal(label, w[rows, decisions] >= 0)
        assert_allclose(weight / weight.sum(), np.abs(w[rows, decisions]) / np.abs(w).sum())


def test_gamma_by_hand():
    # Weights of GBSE-T for the first round above: E_H[C] / 3 - C_y with E_H[C] = 3, 1, 4:
    #   [[1, -2, -5], [-5/3, 1/3, -2/3], [-23/3, -5/3, 4/3]]; positive in sum 1 + 1/3 + 4/3 = 8/3.
    # Firing on (0, 0), (1, 1), (1, 2) wins 1 + 1/3 - 2/3 = 2/3: gamma = 1/4.
    H = np.full((3, 3), 1 / 3)
    w = gbse_weights(C, H, "theoretical")
    assert_allclose(w, np.array([[3, -6, -15], [-5, 1, -2], [-23, -5, 4]]) / 3)
    fires = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 0]], dtype=bool)
    model = GBSEClassifier(
        scripted([fires]), cost_matrix=C, n_estimators=1, sampling="weights", bootstrap=False
    )
    model.fit(THREE, [0, 1, 2])
    assert_allclose(model.gamma_, [0.25])
    # alpha_1 = 1: the bound is 8/3 exp(-1/4 / 3)
    assert_allclose(model.cost_bounds_, [8 / 3 * np.exp(-1 / 12)])


@pytest.mark.parametrize("seed", range(5))
def test_lemma_1(seed):
    # E[c h] = E[|c| 1(h = 1(c > 0))] - E[|c| 1(c < 0)], for any relation h.
    rng = np.random.RandomState(seed)
    c = rng.normal(size=(20, 4))
    h = rng.uniform(size=c.shape) < 0.4
    accuracy = (np.abs(c) * (h == (c > 0))).mean()
    never = (np.abs(c) * (c < 0)).mean()
    assert (c * h).mean() == pytest.approx(accuracy - never)
    # so the gamma of condition (12) is the one we compute
    gamma = (accuracy - never) / (np.abs(c) * (c > 0)).mean()
    assert (c * h).sum() / c[c > 0].sum() == pytest.approx(gamma)


def noisy(seed, n=300, K=4):
    X, y = make_classification(
        n, n_features=8, n_informative=5, n_classes=K, flip_y=0.1, random_state=seed
    )
    costs = np.random.RandomState(seed).uniform(0, 10, size=(n, K))
    costs[np.arange(n), y] = 0
    return X, y, costs


@pytest.mark.parametrize("alpha", [0.1, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_theorem_3_with_a_learner_that_meets_its_condition(seed, alpha):
    X, y, costs = noisy(seed)
    model = GBSEClassifier(
        DecisionTreeClassifier(max_depth=6),
        variant="theoretical",
        alpha=alpha,
        n_estimators=20,
        sampling="weights",
        bootstrap=False,
        random_state=seed,
    ).fit(X, y, costs=costs)
    gamma = model.gamma_.min()
    assert gamma > 0  # the weak learning condition (12)
    T = np.arange(1, model.n_iter_ + 1)
    theorem = np.exp(-gamma * alpha / 4 * T) * model.initial_cost_
    assert (model.training_costs_ <= theorem + 1e-9).all()
    assert (model.training_costs_ <= model.cost_bounds_ + 1e-9).all()
    assert (model.cost_bounds_ <= theorem + 1e-9).all()  # each round's own gamma is sharper
    # H_0 is uniform, and the last figure is the metric's
    assert model.initial_cost_ == pytest.approx(costs.mean())
    assert model.training_costs_[-1] == pytest.approx(
        stochastic_cost(y, model.predict_proba(X), costs=costs)
    )


@pytest.mark.parametrize("variant", ["gbse", "theoretical"])
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_holds_for_any_learner(seed, variant):
    X, y, costs = noisy(seed)
    rng = np.random.RandomState(seed)

    class Noise(DecisionTreeClassifier):
        def predict(self, X):
            return (np.random.RandomState(len(X)).uniform(size=len(X)) < 0.3).astype(int)

    model = GBSEClassifier(Noise(), variant=variant, n_estimators=8, random_state=rng)
    model.fit(X, y, costs=costs)
    assert (model.training_costs_ <= model.cost_bounds_ + 1e-9).all()


def test_a_round_that_fails_the_condition_may_cost_more():
    assert bound_factor(0.6, 0.5, 3) == pytest.approx(np.exp(-0.1))
    assert bound_factor(-0.6, 0.5, 3) == pytest.approx(1.3)


def test_stochastic_shares_among_those_that_fire():
    H = np.array([[0.7, 0.2, 0.1]] * 3)
    f = stochastic(np.array([[0, 1, 0], [1, 1, 1], [0, 0, 0]], dtype=bool), H)
    assert_allclose(f, [[0, 1, 0], [1 / 3, 1 / 3, 1 / 3], [0.7, 0.2, 0.1]])


def test_rounds_end_when_nothing_is_left_to_gain():
    perfect = np.eye(3, dtype=bool)
    model = GBSEClassifier(scripted([perfect] * 5), cost_matrix=C, n_estimators=5)
    model.set_params(sampling="weights", bootstrap=False).fit(THREE, [0, 1, 2])
    assert len(model.estimators_) == model.n_iter_ == 1
    assert model.training_costs_[-1] == 0
    assert_array_equal(model.predict(THREE), [0, 1, 2])


def test_a_sample_of_one_label_is_counted():
    # With alpha = 1/t the first round decides everything; a huge cost leaves the sample to
    # the pairs of the one expensive example.
    X = np.arange(6.0)[:, None]
    y = np.array([0, 1, 2, 0, 1, 2])
    costs = C[y] * 1e-12
    costs[2] = [1e12, 1e12, 0]
    model = GBSEClassifier(
        DecisionTreeClassifier(), n_estimators=10, sampling="rejection", random_state=0
    )
    model.fit(X, y, costs=costs)
    assert model.n_one_label_samples_ > 0
    assert model.n_one_label_samples_ + model.n_empty_samples_ <= len(model.estimators_)
    assert model.predict(X)[2] == 2


def test_constant_alpha_weighs_rounds_alike():
    X, y, costs = noisy(0)
    model = GBSEClassifier(DecisionTreeClassifier(max_depth=4), alpha=0.25, n_estimators=4)
    model.fit(X, y, costs=costs)
    assert_array_equal(model.estimator_weights_, [0.25] * 4)


@pytest.mark.parametrize("chunk", [1, 7, 10**9])
def test_chunks_change_nothing(monkeypatch, chunk):
    X, y, costs = noisy(1, n=60)
    settings = {"n_estimators": 4, "random_state": 0}
    model = GBSEClassifier(DecisionTreeClassifier(max_depth=5), **settings)
    plain = model.fit(X, y, costs=costs).predict_proba(X)
    monkeypatch.setattr(EstimatorPairLearner, "chunk_rows", lambda learner, X: chunk)
    assert_array_equal(model.fit(X, y, costs=costs).predict_proba(X), plain)
    assert_array_equal(list(model.staged_predict_proba(X))[-1], plain)


def test_sample_weight_is_how_often_an_example_counts():
    # The learner sees |w| times the count, and costs are averaged with the counts.
    says = [[[1, 0, 0], [0, 1, 1], [0, 0, 0]]]
    model = GBSEClassifier(
        scripted(says), cost_matrix=C, n_estimators=1, sampling="weights", bootstrap=False
    )
    model.fit([*THREE, [9.0]], [0, 1, 2, 0], sample_weight=[1, 2, 1, 0])
    # H_0: (3 + 2 * 1 + 4) / 4; H_1: (0 + 2 * 1/2 + 4) / 4; a row of weight 0 is not there
    assert model.initial_cost_ == pytest.approx(9 / 4)
    assert_allclose(model.training_costs_, [5 / 4])
    X, _, weight = Script.asked[0]
    w = np.array([[3, 0, 3], [2, 2, 0], [5, 1, 4]])
    assert_array_equal(np.unique(X[:, 0]), [0, 1, 2])
    assert_allclose(weight / weight.sum(), w[w > 0] / w.sum())


def test_the_cost_tree_learns_what_neither_x_nor_the_decision_tells_alone():
    # Balanced classes: whatever x, one decision of three is right, and the same for each
    # decision. A tree that asks for one of them at a time gains nothing by its first question.
    X, y = np.repeat([[0.0], [1.0], [2.0]], 20, axis=0), np.repeat([0, 1, 2], 20)
    model = GBSEClassifier(n_estimators=3, random_state=0).fit(X, y)
    assert_array_equal(model.predict(X), y)
    assert model.training_costs_[0] == 0


@pytest.mark.parametrize("smoothing", [0.0, 3.0])
@pytest.mark.parametrize("sampling", ["rejection", "weights"])
def test_the_leaves_of_a_cost_tree_part_their_pairs_by_weight(sampling, smoothing):
    # A leaf accepts the decisions whose drawn weights, and those of `smoothing` average rows,
    # are positive in sum.
    X, y, costs = noisy(2)
    model = GBSEClassifier(
        n_estimators=1,
        variant="theoretical",
        sampling=sampling,
        bootstrap=False,
        smoothing=smoothing,
        random_state=0,
    ).fit(X, y, costs=costs)
    (member,) = model.estimators_
    prepared = model._prepared(X)
    leaf = member.tree.apply(prepared)
    if sampling == "weights":
        w = gbse_weights(costs, np.full(costs.shape, 0.25), "theoretical")
        sums = np.array([w[leaf == i].sum(axis=0) for i in range(len(member.fires))])
        assert_array_equal(member.fires, sums + smoothing * w.mean(axis=0) > 0)
        assert smoothing or model.gamma_[0] > 0
    fires = model._learner_.fires(member, prepared)
    assert_array_equal(fires, member.fires[leaf])
    assert model.n_samples_used_[0] <= costs.size


def test_smoothing_guards_the_rare_class_where_few_examples_lack_it():
    # 40 of class 0 at x = 0, ten at x = 1 with two of class 1, ten more of class 0 at x = 2.
    # Deciding 1 costs 1 on class 0 and missing class 1 costs 300, so that H_0 = 1/2 gives
    # w = 1/2 and -1/2 on class 0, -150 and 150 on class 1: for deciding 0 -270 in sum, -4.35 on
    # average. The ten at x = 2 plead for 0 with 5: two average examples outweigh them; the 40
    # at x = 0 plead with 20.
    X = np.repeat([0.0, 1.0, 2.0], [40, 12, 10])[:, None]
    y = np.repeat([0, 1, 0], [50, 2, 10])
    tree = CostTreeClassifier(criterion="variance", min_samples_leaf=5)
    for smoothing, expected in ((0.0, [0, 1, 0]), (2.0, [0, 1, 1])):
        model = GBSEClassifier(
            tree,
            cost_matrix=[[0, 1], [300, 0]],
            n_estimators=1,
            bootstrap=False,
            smoothing=smoothing,
        )
        assert_array_equal(model.fit(X, y).predict([[0.0], [1.0], [2.0]]), expected)


def test_bootstrap_samples_differ_from_round_to_round():
    X, y, costs = noisy(2)
    plain = GBSEClassifier(n_estimators=3, bootstrap=False, random_state=0).fit(X, y, costs=costs)
    drawn = GBSEClassifier(n_estimators=3, random_state=0).fit(X, y, costs=costs)
    assert (drawn.n_samples_used_ < plain.n_samples_used_).all()
    assert len(set(drawn.n_samples_used_)) > 1
