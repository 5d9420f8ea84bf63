"""Escalation: what is learned, what is paid, what is refused."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from stakes.costs import CostMatrix
from stakes.decision import CascadeClassifier

C = [[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [9.0, 6.0, 0.0]]


def cases(n=1500, seed=0):
    X, y = make_classification(
        n, n_features=8, n_informative=5, n_classes=3, class_sep=0.8, random_state=seed
    )
    return X[: n // 2], y[: n // 2], X[n // 2 :], y[n // 2 :]


def cascade(first=0.0, second=0.05, human=None, **given):
    stages = [
        ("bayes", GaussianNB(), first),
        ("forest", RandomForestClassifier(30, random_state=0), second),
    ]
    if human is not None:
        stages.append(("human", human))
    return CascadeClassifier(stages, **({"cost_matrix": C} | given))


def test_a_free_better_model_is_always_asked_and_a_dear_one_never():
    X, y, X_new, y_new = cases()
    free = cascade(second=0.0).fit(X, y)
    dear = cascade(second=50.0).fit(X, y)
    assert set(dear.asked(X_new)) == {0}
    assert free.score(X_new, y_new) > dear.score(X_new, y_new)


def test_in_between_it_costs_less_than_either_model_alone():
    X, y, X_new, y_new = cases(3000)
    model = cascade(second=0.3).fit(X, y)
    shares = np.bincount(model.asked(X_new), minlength=2) / len(X_new)
    assert 0.05 < shares[1] < 0.95
    alone = [cascade(second=0.3).set_params(stages=[stage]).fit(X, y) for stage in model.stages]
    assert model.score(X_new, y_new) > max(one.score(X_new, y_new) for one in alone)


def test_what_is_paid_is_mistakes_and_asking():
    X, y, X_new, y_new = cases()
    model = cascade(first=0.01, second=0.3, human=1.0).fit(X, y)
    decided, asked = model.predict(X_new), model.asked(X_new)
    assert set(asked) == {0, 1, 2} or set(asked) == {0, 2}
    prices = {0: 0.01, 1: 0.31, 2: 0.01 + (0.3 if 1 in model.route_.models else 0.0)}
    expected = [
        prices[s] + (1.0 if d == "human" else C[t][d]) for s, d, t in zip(asked, decided, y_new)
    ]
    np.testing.assert_allclose(model.costs_paid(X_new, y_new), expected)
    assert ((decided == "human") == (asked == 2)).all()


def test_stored_probabilities_decide_as_the_models_do():
    X, y, X_new, _ = cases()
    models = [GaussianNB().fit(X, y), LogisticRegression().fit(X, y)]
    held_out = [m.predict_proba(X_new) for m in models]
    labels = np.asarray(["a", "b", "c"])
    named = CostMatrix(C, labels=labels)
    stages = [("one", None, 0.0), ("two", None, 0.1), ("person", 2.0)]
    model = CascadeClassifier(stages, cost_matrix=named)
    model.fit_proba(held_out, labels[cases()[3]])
    decided = model.predict_from_proba(held_out)
    assert set(decided) <= {"a", "b", "c", "person"}
    one_by_one = [model.predict_from_proba([p[[i]] for p in held_out])[0] for i in range(40)]
    assert one_by_one == decided[:40].tolist()


def test_a_second_model_is_heard_with_the_first():
    # one knows the first bit of the class, one the second; together they know all of it
    y = np.arange(400) % 4
    first = np.where((np.arange(4) // 2)[None] == (y // 2)[:, None], 0.5, 0.0)
    second = np.where((np.arange(4) % 2)[None] == (y % 2)[:, None], 0.5, 0.0)
    stages = [("first", None, 0.0), ("second", None, 0.1)]
    model = CascadeClassifier(stages, cost_matrix=1.0 - np.eye(4), calibration=None)
    model.fit_proba([first, second], y)
    np.testing.assert_array_equal(model.predict_from_proba([first, second]), y)
    np.testing.assert_allclose(model.costs_paid_from_proba([first, second], y), 0.1)


def test_what_a_stage_decides_does_not_depend_on_the_rows_beside_it():
    X, y, X_new, _ = cases()
    gains = np.array(C) - 5.0  # negative costs: what is right is paid for
    model = cascade(cost_matrix=gains, second=0.3).fit(X, y)
    alone = [model.predict(X_new[[i]])[0] for i in range(30)]
    assert alone == model.predict(X_new)[:30].tolist()


def test_a_middle_stage_that_is_not_worth_its_price_is_left_out():
    X, y, _, _ = cases()
    stages = [
        ("bayes", GaussianNB(), 0.0),
        ("same", GaussianNB(), 0.2),
        ("forest", RandomForestClassifier(30, random_state=0), 0.2),
    ]
    model = CascadeClassifier(stages, cost_matrix=C).fit(X, y)
    assert 1 not in model.route_.models


def test_decisions_may_be_other_than_the_classes():
    X, y, X_new, _ = cases()
    prices = CostMatrix(
        [[0.0, 1.0], [1.0, 0.5], [6.0, 0.2]], labels=[0, 1, 2], decisions=["go", "stop"]
    )
    model = cascade(cost_matrix=prices, human=0.4).fit(X, y)
    assert model.decisions_.tolist() == ["go", "stop", "human"]
    assert set(model.predict(X_new)) <= {"go", "stop", "human"}


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([], "stages must be"),
        ([("human", 5.0)], "stages must be"),
        ([("a", GaussianNB(), 0.0), ("a", GaussianNB(), 1.0)], "names of stages must differ"),
        ([("a", GaussianNB(), -1.0)], "Prices of asking must be numbers from 0 on"),
        ([("a", GaussianNB())], "stages must be"),
        ([(str(i), GaussianNB(), 0.0) for i in range(9)], "at most 8 models"),
    ],
)
def test_bad_stages_get_one_sentence(stages, message):
    X, y, _, _ = cases(200)
    with pytest.raises((ValueError, TypeError), match=message):
        CascadeClassifier(stages, cost_matrix=C).fit(X, y)
