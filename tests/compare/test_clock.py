"""A time limit is kept, by a comparison that still ends with an answer."""

import signal
import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from stakes.compare import _compare, compare
from stakes.compare._clock import Board, Clock, LeftOut, OutOfTime, call_until
from stakes.compare._problem import make_problem
from stakes.compare._registry import find_method
from stakes.compare._splits import thinned
from stakes.compare.runner import Run

C = np.array([[0.0, 1.0], [8.0, 0.0]])


class Sleeper(ClassifierMixin, BaseEstimator):
    """Takes its time, and always decides class 1."""

    def __init__(self, seconds=0.0):
        self.seconds = seconds

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        time.sleep(self.seconds)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[1])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [90, 30])
    return rng.normal(size=(120, 3)) + 1.2 * y[:, None], y


def timed(data, limit, methods, n_jobs=1, **more):
    warm = {"warm": Sleeper()}
    compare(*data, cost_matrix=C, methods=warm, cv=2, n_jobs=n_jobs)  # imports are done
    more["n_jobs"] = n_jobs
    start = time.monotonic()
    found = compare(*data, cost_matrix=C, methods=methods, cv=4, time_limit=limit, **more)
    return found, time.monotonic() - start


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_does_not_fit_is_left_out_and_said(data, n_jobs):
    methods = {"slow": Sleeper(30.0), "quick": Sleeper(0.01), "even": Sleeper(0.05)}
    found, seconds = timed(data, 8.0, methods, n_jobs=n_jobs)
    assert seconds < 8.0 * 1.2
    assert found.finished == ["constant", "plain", "quick", "even"]
    slow = found.results["slow"]
    assert slow.status == "left out"
    assert slow.reason.startswith("no time left: stopped after")
    assert found.table.loc["slow", "status"] == "left out"
    assert len(found.tested) == 120


def test_the_baseline_is_run_on_fewer_folds_rather_than_not_at_all(data):
    found, seconds = timed(data, 1.5, {"slow": Sleeper(0.9)}, baseline="slow")
    assert found.finished[-1] == "slow"
    assert found.protocol["cv"].endswith("(1 of 4 folds, for time)")
    assert len(found.tested) == 30
    assert seconds < 1.5 * 1.2 + 1  # the intervals, and a busy machine
    today = timed(data, 1.5, {"slow": Sleeper(0.9)}, baseline=np.zeros(120, int))[0]
    assert len(today.tested) in (30, 60, 90, 120)


def test_without_need_nothing_is_left_out(data):
    found, _ = timed(data, 60.0, {"quick": Sleeper(0.01)})
    whole = compare(*data, cost_matrix=C, methods={"quick": Sleeper(0.01)}, cv=4)
    assert found.table["cost"].tolist() == whole.table["cost"].tolist()
    assert found.protocol["cv"] == whole.protocol["cv"]


def test_a_limit_that_is_none_is_refused(data):
    with pytest.raises(ValueError, match="time_limit=0 must be a number of seconds above 0"):
        compare(*data, cost_matrix=C, time_limit=0)


def test_the_default_is_told_how_long_it_may_take(data):
    # 60 s on 3 folds: 17 s each, of which with no other method 0.8 * 0.9, rounded to one digit
    clock = Clock(60.0, 3, {"stakes": find_method("stakes")}, "plain")
    assert clock.granted == 10.0
    clock.methods["mec"] = find_method("mec")  # half of it
    assert clock.granted == 6.0


def test_a_method_has_half_of_what_is_left_for_it():
    methods = {name: find_method(name) for name in ("plain", "mec", "gbse")}
    clock = Clock(100.0, 5, methods, "plain")
    assert clock.begin(Run("t", "p", 0, "plain")) == np.inf
    # 85 s are planned: 17 in each fold for one method, half of it 8.5
    assert clock.begin(Run("t", "p", 0, "mec")) - clock.start == pytest.approx(8.5, abs=0.5)
    # one that took 5 s has four folds before it: 65 s are left, 13 in each fold
    clock.ended(Run("t", "p", 0, "plain"), 5.0)
    assert clock.begin(Run("t", "p", 0, "mec")) - clock.start == pytest.approx(6.5, abs=0.5)
    clock.ended(Run("t", "p", 0, "mec"), 17.0)
    with pytest.raises(LeftOut, match="no time left: the fits may take 100 s in all"):
        clock.begin(Run("t", "p", 0, "gbse"))
    # 22 s in each fold: after the first there is time for four more
    rows = [{"method": m, "status": "ok", "seconds_wall": s} for m, s in clock.spent.items()]
    assert clock.after_first(rows) == ({"plain", "mec"}, 5)
    # at 15 s of the baseline two folds leave half of the time for others
    clock.spent = {"plain": 15.0}
    assert clock.folds_planned == 2
    # 70 s are left after the second fold of it: 35 for one method, half of it at most
    assert clock.begin(Run("t", "p", 0, "mec")) - clock.start == pytest.approx(17.5, abs=0.5)


def test_a_function_is_stopped_when_its_time_comes():
    def forever():
        while True:
            time.sleep(0.01)

    with pytest.raises(OutOfTime, match="^$"):
        call_until(time.monotonic() + 0.05, forever)
    assert call_until(time.monotonic() + 0.05, lambda: 3) == 3
    assert call_until(np.inf, lambda: 4) == 4
    time.sleep(0.6)  # nothing comes afterwards
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_the_board_tells_what_runs(tmp_path):
    board = Board(tmp_path)
    board.begin(Run("t", "p", 2, "mec"))
    ((method, fold, since, what),) = board.running()
    assert (method, fold, what) == ("mec", 2, "")
    assert abs(since - time.time()) < 5
    board.end()
    assert board.running() == []


def test_a_table_too_large_is_learned_in_part(data, monkeypatch):
    X, y = data
    monkeypatch.setattr(_compare, "PROBE", 20)
    monkeypatch.setattr(_compare, "plain_model", lambda **_: Sleeper(0.2))
    splits = [(np.arange(100), np.arange(100, 120))]
    problem = make_problem(X, y, cost_matrix=C)
    # 20 rows take 0.2 s, so 100 take 1 s; a quarter of 2 s is half of that
    share = _compare._affordable(problem, splits, 2.0, 1)
    assert 0 < share <= 0.5
    assert _compare._affordable(problem, splits, 100.0, 1) == 1.0
    ((train, test),) = thinned(splits, y, 0.5, 0)
    assert np.bincount(y[train]).tolist() == [45, 5]  # of 90 and 10
    assert test.tolist() == list(range(100, 120))


def test_a_short_time_goes_to_the_same_methods_in_every_run(data):
    for limit in (2, 20):
        found = compare(*data, cost_matrix=C, cv=3, time_limit=limit)
        ran = [name for name, result in found.results.items() if result.status == "ok"]
        assert ran[:3] == ["constant", "plain", "calibrated"]
        assert set(ran[3:]) <= {"stakes"}
        reasons = {r.reason for n, r in found.results.items() if n not in (*ran, "stakes")}
        said = f"no time left: {limit} s go to calibrated and stakes; name it to have it tried"
        assert said in reasons
        assert len(found.results) > 10
