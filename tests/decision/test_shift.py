"""Other class frequencies: by hand, against a grid, under shifts whose truth is known."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from stakes.datasets import make_known_posterior
from stakes.decision import estimate_priors, shift_priors
from stakes.decision._shift import PriorShift, shift_in_words
from stakes.decision.program import factors, reweight


def test_shift_by_hand():
    # Odds of 1 to 1 at even frequencies are 4 to 1 where the first class is four of five; and
    # 0.2 : 0.3 : 0.5 with factors 2, 1, 0.5 is 0.4 : 0.3 : 0.25.
    assert shift_priors([[0.5, 0.5]], [0.8, 0.2], [0.5, 0.5]).tolist() == [[0.8, 0.2]]
    found = shift_priors([[0.2, 0.3, 0.5]], [0.4, 0.4, 0.2], [0.2, 0.4, 0.4])
    assert found == pytest.approx(np.array([[0.4, 0.3, 0.25]]) / 0.95)


def test_there_and_back_again():
    proba = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    old, new = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.3, 0.1])
    assert shift_priors(shift_priors(proba, new, old), old, new) == pytest.approx(proba)


def test_a_class_that_no_longer_exists_is_impossible():
    found = shift_priors([[0.2, 0.8], [0.0, 1.0]], [1.0, 0.0], [0.5, 0.5])
    assert found.tolist() == [[1.0, 0.0], [0.0, 1.0]]  # a row that can be nothing else stays


def test_em_finds_the_largest_likelihood():
    rng = np.random.default_rng(0)
    proba, old = rng.dirichlet([1, 2], 200), np.array([0.3, 0.7])
    grid = np.linspace(0, 1, 10_001)
    mixed = np.outer(proba[:, 0] / old[0], grid) + np.outer(proba[:, 1] / old[1], 1 - grid)
    with np.errstate(divide="ignore"):
        one_more = old[0] * np.log(grid) + old[1] * np.log(1 - grid)
        best = grid[(np.log(mixed).sum(axis=0) + one_more).argmax()]
    assert estimate_priors(proba, old).priors[0] == pytest.approx(best, abs=1e-4)


def test_the_confusion_method_solves_its_equations():
    # Held-out rows of class 0 are stated at 0.9 and 0.1, of class 1 at 0.2 and 0.8. A mean of 0.4
    # is a mixture of 2/7 and 5/7; one row more, half of either, makes five of four.
    known = [[0.9, 0.1]] * 5 + [[0.2, 0.8]] * 5
    new = [[0.4, 0.6]] * 4
    found = estimate_priors(
        new, [0.5, 0.5], method="confusion", held_out=(known, [0] * 5 + [1] * 5)
    )
    assert found.priors == pytest.approx([(8 / 7 + 0.5) / 5, (20 / 7 + 0.5) / 5])


@pytest.mark.parametrize("method", ["em", "confusion"])
def test_some_dozens_of_rows_do_not_prove_that_a_class_is_gone(method):
    # Sure of each row, and none of 40 is of the class that had a tenth: 0.1 of 41, not 0.
    held_out = (np.eye(2)[[0] * 90 + [1] * 10], [0] * 90 + [1] * 10)
    new = np.eye(2)[[0] * 40]
    found = estimate_priors(new, [0.9, 0.1], method=method, held_out=held_out)
    assert found.priors == pytest.approx([40.9 / 41, 0.1 / 41])
    assert found.low[1] <= found.priors[1] <= found.high[1]
    # Of a class that the model has never seen there is nothing to say.
    assert estimate_priors([[0.5, 0.5, 0.0]] * 9, [0.5, 0.5, 0.0]).priors[2] == 0


def draw(data, priors, n, seed):
    """Return rows of a population of these frequencies: what a class looks like stays."""
    rng = np.random.default_rng(seed)
    pool = data.sample(20 * n, random_state=seed)
    counts = rng.multinomial(n, priors)
    return pool, np.concatenate(
        [rng.choice(np.flatnonzero(pool.y == t), c, replace=False) for t, c in enumerate(counts)]
    )


@pytest.mark.parametrize("method", ["em", "confusion"])
@pytest.mark.parametrize("factor", [1, 2, 10])
def test_decisions_cost_little_more_than_the_best(method, factor):
    ratios, inside = [], []
    for seed in range(4):
        data = make_known_posterior(1500, K=3, random_state=seed)
        old = data.sample(50_000, random_state=99).proba.mean(axis=0)
        new = old.copy()
        new[old.argmin()] /= factor
        new /= new.sum()
        pool, rows = draw(data, new, 2000, seed)
        C = np.asarray(data.cost_matrix)
        stated = pool.proba[rows]
        expected = reweight(stated, factors(new, old)) @ C
        found = estimate_priors(stated, old, method=method, held_out=(data.proba, data.y))
        inside += ((found.low <= new) & (new <= found.high)).tolist()
        priors = found.priors if found.shifted else old
        decided = (reweight(stated, factors(priors, old)) @ C).argmin(axis=1)
        ratios.append(expected[np.arange(len(rows)), decided].mean() / expected.min(axis=1).mean())
    assert np.mean(ratios) < 1.01
    assert np.mean(inside) >= 0.7


def test_the_test_is_quiet_where_nothing_shifted_and_loud_where_it_did():
    quiet, loud = [], []
    for seed in range(40):
        data = make_known_posterior(500, K=3, d=4, random_state=seed)
        held_out = (data.proba, data.y)
        old = np.bincount(data.y, minlength=3) / len(data.y)
        new = data.sample(500, random_state=seed + 500)
        quiet.append(estimate_priors(new.proba, old, held_out=held_out).p_value)
        rare = new.proba[(new.y != 0) | (np.arange(500) % 3 == 0)]
        loud.append(estimate_priors(rare, old, held_out=held_out).p_value)
    assert np.mean(np.array(quiet) < 0.05) <= 0.15
    assert np.mean(np.array(loud) < 0.05) >= 0.85


def test_in_words():
    old = np.array([0.9, 0.1])
    quiet = PriorShift(old, old, old, old, 0.4, 1, "em")
    assert shift_in_words(quiet, ["a", "b"]) == (
        "Class frequencies have not clearly shifted (p = 0.4, 1 row): nothing is changed."
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: shift_priors([[0.5, 0.5]], [0.5, 0.6], [0.5, 0.5]), "priors sum to 1.1"),
        (lambda: shift_priors([[0.5, 0.5]], [0.5, 0.5], [1.0]), "one frequency per class"),
        (lambda: estimate_priors([[0.5, 0.5]], [0.9, 0.2]), "training_priors sum to 1.1"),
        (lambda: estimate_priors([[0.5, 0.5]], [0.5, 0.5], method="x"), "method='x' is unknown"),
        (
            lambda: estimate_priors([[0.5, 0.5]], [0.5, 0.5], method="confusion"),
            "needs probabilities of rows that the model has not seen",
        ),
        (lambda: estimate_priors([[0.5, 0.6]], [0.5, 0.5]), "sums to 1.1"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message) as error:
        call()
    assert "\n" not in str(error.value)


def test_frequencies_count_the_error_of_the_model_that_was_fitted():
    # 200 rows to learn from, 1,000 of another population: the model's error is the larger part.
    rng, held = np.random.default_rng(0), []
    for _ in range(150):
        y, new = (rng.random(200) < 0.25).astype(int), (rng.random(1000) < 0.6).astype(int)
        X, X_new = (rng.normal(size=(len(c), 3)) + c[:, None] * [1.2, 0, 0] for c in (y, new))
        model = LogisticRegression()
        known = cross_val_predict(model, X, y, method="predict_proba")
        proba, old = model.fit(X, y).predict_proba(X_new), np.bincount(y) / 200
        for given in ({"held_out": (known, y), "n_training": 200}, {}):
            shift = estimate_priors(proba, old, **given)
            held.append(shift.low[1] <= 0.6 <= shift.high[1])
    held = np.reshape(held, (-1, 2)).mean(axis=0)
    assert held[0] >= 0.91
    assert held[1] < 0.8
