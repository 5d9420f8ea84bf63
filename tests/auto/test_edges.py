"""The default where there is hardly anything to learn from, and where costs are extreme."""

import time

import numpy as np
import pandas as pd
import pytest

from stakes.auto import StakesClassifier
from stakes.compare import compare
from stakes.costs import CostMatrix, check_cost_matrix

C = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [9.0, 4.0, 0.0]])
QUICK = {"members": ["linear", "gaussian"], "random_state": 0}
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(100, 2)), np.arange(100) % 3


@pytest.mark.parametrize("n_rows", [2, 3, 6])
def test_one_row_of_each_class(n_rows):
    model = StakesClassifier(**QUICK).fit(X[:n_rows], np.arange(n_rows))
    assert set(model.predict(X)) <= set(range(n_rows))
    # Nothing is known but that the classes are equally frequent.
    assert model.predict_proba(X).shape == (100, n_rows)


def test_no_class_of_five_rows():
    y = np.arange(100) % 25
    model = StakesClassifier(**QUICK).fit(X + y[:, None], y)
    assert np.mean(model.predict(X + y[:, None]) == y) > 0.2


def test_five_hundred_classes():
    y = np.arange(1000) % 500
    model = StakesClassifier(members=["linear"], cv=2, time_limit=5).fit(y[:, None] * [1.0, -1], y)
    assert model.predict_proba([[3.0, -3.0]]).shape == (1, 500)


def fake_clock(monkeypatch, seconds):
    """Let fits take `seconds` by a clock of their own; return it and who was begun."""
    from stakes.auto import _recipe

    real, begun, now = _recipe.fit_and_ask, [], [0.0]

    def fit_and_ask(member, *given):
        begun.append(member.name)
        now[0] += seconds[member.name]
        proba, fitted, reason, _ = real(member, *given)
        return proba, fitted, reason, seconds[member.name]

    monkeypatch.setattr(_recipe, "fit_and_ask", fit_and_ask)
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now, begun


def test_what_would_not_end_in_time_is_not_begun(monkeypatch):
    seconds = {"linear": 0.01, "boosting": 5.0, "extra_trees": 9.0}
    _, begun = fake_clock(monkeypatch, seconds)
    StakesClassifier(members=list(seconds), time_limit=6.0, random_state=0).fit(X, Y)
    # Five folds and the last fit of the first; the second's first fold shows that it takes too
    # long, and what is left, less than that, is not spent on the third.
    assert begun[:6] == ["linear"] * 5 + ["boosting"]
    assert set(begun[6:]) == {"linear"}


def test_the_last_fits_of_those_before_are_part_of_the_time(monkeypatch):
    # Ten seconds of folds, two of last fits: of fourteen two are left, the third wants three.
    seconds = {"linear": 1.0, "network": 1.0, "kernel": 0.5}
    now, begun = fake_clock(monkeypatch, seconds)
    StakesClassifier(members=list(seconds), time_limit=14.0, random_state=0).fit(X, Y)
    assert begun.count("kernel") == 1  # the look that shows it
    assert now[0] <= 14.0


@pytest.mark.parametrize("scale", [1e-50, 1e26, 1e58])
def test_extreme_costs_decide_as_others(scale):
    model = StakesClassifier(**QUICK, cost_matrix=C * scale).fit(X, Y)
    usual = StakesClassifier(**QUICK, cost_matrix=C).fit(X, Y)
    assert (model.predict(X) == usual.predict(X)).all()
    found = compare(X, Y, cost_matrix=C * scale, methods=["tree"], cv=3)
    assert found.recommended in ("tree", "constant", "plain")
    assert "points" in found.reason or "costs" in found.reason


@pytest.mark.parametrize(("scale", "unit"), [(1e300, "larger"), (1e-300, "smaller")])
def test_costs_that_cannot_be_added_up_are_refused(scale, unit):
    for check in (
        lambda: check_cost_matrix(C * scale, classes=[0, 1, 2]),
        lambda: CostMatrix(C * scale),
        lambda: StakesClassifier(cost_matrix=C * scale).fit(X, Y),
        lambda: StakesClassifier().fit(X, Y, costs=C[Y] * scale),
        lambda: compare(X, Y, cost_matrix=C * scale),
    ):
        with pytest.raises(ValueError, match=f"give costs in a {unit} unit"):
            check()


def test_dates_are_numbers_and_a_dict_is_no_table():
    dates = pd.date_range("2020-01-01", periods=100).to_numpy()[:, None]
    y = np.arange(100) // 50
    for table in (dates, pd.DataFrame(dates)):
        model = StakesClassifier(**QUICK).fit(table, y)
        assert np.mean(model.predict(table) == y) > 0.9
    for strange in ({"a": [1, 2, 3]}, {}, "abc", 3):
        with pytest.raises((TypeError, ValueError), match="array|table"):
            StakesClassifier().fit(strange, [0, 1, 1])
