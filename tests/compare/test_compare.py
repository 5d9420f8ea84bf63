import inspect
import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import stakes
from stakes import _methods
from stakes.compare import RunStore, _work, compare, list_methods
from stakes.compare._compare import choose_methods
from stakes.compare._fitting import fit_method, make_setting
from stakes.compare._problem import make_problem
from stakes.compare._registry import find_method
from stakes.compare.words import table_cells
from stakes.costs import CostMatrix, binary_cost_tensor
from stakes.metrics import average_cost

# Missing class 1 costs 8 times a false alarm.
C = np.array([[0.0, 1.0], [8.0, 0.0]])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [180, 60])
    X = rng.normal(size=(240, 3)) + 1.2 * y[:, None]
    return X, y


class Always(ClassifierMixin, BaseEstimator):
    def __init__(self, decision=0):
        self.decision = decision

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.decision)


class Broken(Always):
    def fit(self, X, y):
        raise RuntimeError("the wheel came off\nand rolled away")


def test_the_table_by_hand(data):
    X, y = data
    found = compare(X, y, cost_matrix=C, methods={"no": Always(0), "yes": Always(1)})
    # 60 misses at 8 are 480; 180 false alarms at 1 are 180, the best constant.
    table = found.table
    assert table.loc["no", "total"] == 480
    assert table.loc["no", "cost"] == 2
    assert table.loc["yes", "total"] == table.loc["constant", "total"] == 180
    assert table.loc["yes", "savings_constant"] == 0
    assert table.loc["no", "savings_constant"] == pytest.approx(-300 / 180)
    assert table.loc["no", "recall 0"] == 1
    assert table.loc["no", "recall 1"] == 0
    assert table.loc["yes", "error"] == 0.75
    assert found.cost_confusion("no").tolist() == [[0, 0], [480, 0]]


def test_a_comparison_travels_whole(data):
    rules = ["binary_threshold", "mossman", "bacing", "csovo", Always(1)]
    found = compare(*data, cost_matrix=C, methods=rules, cv=2, fast=True)
    same = pickle.loads(pickle.dumps(found))
    pd.testing.assert_frame_equal(same.table, found.table)
    assert same.to_dict() == found.to_dict()
    assert list(same.work.methods) == list(found.work.methods)


def test_costs_are_those_of_the_metrics(data):
    X, y = data
    found = compare(X, y, cost_matrix=C, methods=["mec"], fast=True)
    for name in ("plain", "mec"):
        decisions = found.classes[found.results[name].decisions]
        expected = average_cost(y, decisions, cost_matrix=C)
        assert found.table.loc[name, "cost"] == pytest.approx(expected)
        row = found.table.loc[name]
        assert row.low <= row.cost <= row.high
    assert found.table.loc["mec", "cost"] < found.table.loc["plain", "cost"]
    assert found.table.loc["mec", "difference"] == pytest.approx(
        found.table.loc["mec", "cost"] - found.table.loc["plain", "cost"]
    )


def test_a_clear_winner_is_recommended_and_the_reason_says_why(data):
    X, y = data
    found = compare(X, y, cost_matrix=C, methods={"perfect": Perfect(X, y), "no": Always(0)})
    assert found.recommended == "perfect"
    assert found.clear
    assert "“perfect (yours)” costs 0.000 per case, 100.0% less" in found.reason


class Perfect(Always):
    def __init__(self, X=None, y=None):
        self.X, self.y = X, y

    def predict(self, X):
        rows = [int(np.flatnonzero((row == self.X).all(axis=1))[0]) for row in X]
        return np.asarray(self.y)[rows]


def test_no_method_is_clearly_better_is_said_when_so(data):
    X, y = data
    # With 0/1 costs and the same decisions nothing can be better.
    found = compare(X, y, methods=["mec"], fast=True)
    assert found.recommended == "plain"
    assert not found.clear
    assert found.reason.startswith("No method is clearly better")


def test_a_failing_method_is_a_row_with_its_reason(data):
    X, y = data
    found = compare(X, y, cost_matrix=C, methods={"broken": Broken(), "no": Always()})
    assert found.table.loc["broken", "status"] == "failed"
    assert found.table.loc["broken", "reason"] == "RuntimeError: the wheel came off"
    assert found.table.loc["no", "status"] == "ok"
    assert np.isnan(found.table.loc["broken", "cost"])
    assert "broken: failed (RuntimeError: the wheel came off)" in repr(found)


def test_resumed_from_the_store_with_the_same_figures(data, tmp_path):
    X, y = data
    seen = []
    arguments = {"cost_matrix": C, "methods": ["mec", GaussianNB()], "fast": True}
    arguments["store"] = tmp_path
    first = compare(X, y, **arguments)
    second = compare(X, y, **arguments, progress=lambda done, total, row: seen.append(row))
    assert all(row.get("stored") for row in seen)
    assert len(seen) == 20
    pd.testing.assert_frame_equal(first.table, second.table)
    # Other data, costs or parameters are other runs.
    for change in (
        {"cost_matrix": C * 2},
        {"random_state": 1},
        {"cv": 4},
        {"methods": ["mec", GaussianNB(var_smoothing=0.5)]},
    ):
        fresh = []
        compare(X, y, **arguments | change, progress=lambda d, t, row, f=fresh: f.append(row))
        assert not all(row.get("stored") for row in fresh)


def test_workers_change_no_figure(data):
    X, y = data
    arguments = {"cost_matrix": C, "methods": ["mec", GaussianNB()], "fast": True}
    one, two = (compare(X, y, **arguments, n_jobs=n).table for n in (1, 2))
    timed = ["seconds_fit", "seconds_predict"]
    pd.testing.assert_frame_equal(one.drop(columns=timed), two.drop(columns=timed))


def test_mixed_columns_are_prepared_without_looking_at_the_test_rows(data):
    X, y = data
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": X[:, 0],
            "job": rng.choice(["cook", "smith"], 240),
            "when": pd.date_range("2024-01-01", periods=240),
            "gap": np.where(rng.random(240) < 0.3, np.nan, X[:, 1]),
        }
    )
    frame.loc[0, "job"] = "only once"  # a category that one fold's training part lacks
    found = compare(frame, np.array(["no", "yes"])[y], cost_matrix=C, methods=["mec"], fast=True)
    assert found.table["status"].tolist() == ["ok"] * 3
    assert found.classes.tolist() == ["no", "yes"]


def test_a_pipeline_brings_its_own_preparation(data):
    X, y = data
    frame = pd.DataFrame({"job": np.where(y + (X[:, 0] > 1) > 1, "a", "b")})
    pipeline = make_pipeline(OneHotEncoder(), LogisticRegression())
    found = compare(frame, y, cost_matrix=C, methods=[pipeline])
    assert found.table.loc["Pipeline", "status"] == "ok"


class Recorder(Always):
    def __init__(self, cost_matrix=None, log=None):
        self.cost_matrix, self.log = cost_matrix, log

    def __sklearn_clone__(self):
        return Recorder(self.cost_matrix, self.log)

    def fit(self, X, y, costs=None, cost_tensor=None):
        self.log.append((self.cost_matrix, costs, cost_tensor))
        self.decision = y[0]
        return super().fit(X, y)

    def predict(self, X, cost_tensor=None):
        self.log.append(cost_tensor)
        return super().predict(X)


def test_an_estimator_is_given_the_costs_it_has_a_place_for(data):
    X, y = data
    labels = np.array(["a", "b"])[y]
    log = []
    compare(X, labels, cost_matrix=C, methods={"mine": Recorder(log=log)}, cv=2)
    matrix, costs, tensor = log[0]
    assert isinstance(matrix, CostMatrix)
    assert matrix.cost(true="b", predicted="a") == 8
    assert costs is tensor is None

    log = []
    compare(X, labels, costs=C[y], methods={"mine": Recorder(log=log)}, cv=2)
    matrix, costs, tensor = log[0]
    assert matrix is tensor is None
    assert costs.shape == (120, 2)
    assert log[1] is None  # in hindsight prices are not known when deciding

    log = []
    prices = binary_cost_tensor(fp_cost=1, fn_cost=np.arange(240.0) + 5)
    compare(X, labels, cost_tensor=prices, methods={"mine": Recorder(log=log)}, cv=2)
    assert log[0][2].shape == (120, 2, 2)
    assert log[1].shape == (120, 2, 2)


def test_prices_by_example_known_when_deciding_move_decisions(data):
    X, y = data
    amount = np.where(np.arange(240) % 2, 1.0, 40.0)
    prices = binary_cost_tensor(fp_cost=2, fn_cost=amount)
    found = compare(X, y, cost_tensor=prices, methods=["mec"], fast=True)
    assert found.kind == "deciding"
    decided = found.results["mec"].decisions
    # An alarm of 2 pays from a probability of 2 / (2 + amount) on: 2/3 or 1/21.
    p = found.results["mec"].proba[:, 1].astype(float)
    assert decided.tolist() == (p * amount > (1 - p) * 2).astype(int).tolist()
    assert decided[amount == 40].sum() > decided[amount == 1].sum() + 20
    paid = prices[np.arange(240), y, decided].sum()
    assert found.table.loc["mec", "total"] == pytest.approx(paid)
    assert found.probability_method == "mec"


def test_what_if_is_what_a_new_comparison_would_say(data):
    X, y = data
    found = compare(X, y, cost_matrix=C, methods=["mec"], fast=True)
    other = np.array([[0.0, 3.0], [4.0, -1.0]])
    again = compare(X, y, cost_matrix=other, methods=["mec"], fast=True)
    answer = found.what_if(other)
    assert answer.total == pytest.approx(again.table.loc["mec", "total"])
    assert answer.baseline_total == pytest.approx(again.table.loc["plain", "total"])
    assert answer.decisions.tolist() == again.results["mec"].decisions.tolist()
    unchanged = found.what_if(C)
    assert unchanged.total == found.table.loc["mec", "total"]


def test_what_if_scales_prices_by_example(data):
    X, y = data
    amount = np.linspace(1, 30, 240)
    prices = binary_cost_tensor(fp_cost=2, fn_cost=amount)
    found = compare(X, y, cost_tensor=prices, methods=["mec"], fast=True)
    matrix = found.cost_matrix  # averages by true class
    assert_allclose(matrix, [[0, 2], [amount[y == 1].mean(), 0]])
    doubled = found.what_if(matrix * [[1, 1], [2, 1]])
    again = compare(
        X,
        y,
        cost_tensor=binary_cost_tensor(fp_cost=2, fn_cost=amount * 2),
        methods=["mec"],
        fast=True,
    )
    assert doubled.total == pytest.approx(again.table.loc["mec", "total"])
    # A price that was 0 is added: every hit now costs 3.
    charged = found.what_if(matrix + [[0, 0], [0, 3]])
    hits = ((charged.decisions == 1) & (y == 1)).sum()
    paid = prices[np.arange(240), y, charged.decisions].sum() + 3 * hits
    assert charged.total == pytest.approx(paid)


def test_repeated_folds_count_each_example_once(data):
    X, y = data
    splitter = RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)
    found = compare(X, y, cost_matrix=C, methods={"no": Always()}, cv=splitter)
    assert len(found.tested) == 240
    assert found.table.loc["no", "total"] == 480


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros(240)}, "The target has only one class, 0.0"),
        ({"y": np.append(np.zeros(237), [1, 1, 1])}, "The class 1.0 has 3 examples, fewer than"),
        ({"y": np.append(np.zeros(239), 1)}, "The class 1.0 has a single example"),
        (
            {"y": [None] + [0, 1] * 119 + [1]},
            "The target is missing in 1 row, the first .* row 1",
        ),
        ({"cost_matrix": np.ones((2, 2))}, "every decision costs the same"),
        ({"cost_matrix": np.ones((3, 3))}, "cost_matrix has 3 rows"),
        ({"cv": 1}, "at least 2 folds"),
        ({"methods": ["gbs"]}, "There is no method 'gbs': did you mean 'gbse'"),
        ({"baseline": "nonsense"}, "There is no method 'nonsense'"),
        ({"costs": np.ones((240, 2))}, "Give either cost_matrix or costs, not both"),
    ],
)
def test_bad_input_is_refused_by_name(data, change, message):
    X, y = data
    arguments = {"y": y, "cost_matrix": C, **change}
    with pytest.raises(ValueError, match=message):
        compare(X, **arguments)


def test_an_estimator_class_is_no_estimator(data):
    X, y = data
    with pytest.raises(TypeError, match="neither a method's name nor an estimator"):
        compare(X, y, methods=[GaussianNB])


def test_the_default_set_covers_every_family_and_says_what_it_leaves_out():
    table = list_methods()
    families = set(table.loc[table["default"].astype(bool), "family"])
    assert families == {
        "reference",
        "decision",
        "reduction",
        "tree",
        "boosting",
        "bagging",
        "default",
    }
    rng = np.random.default_rng(0)
    y = np.arange(60_000) % 2
    problem = make_problem(rng.normal(size=(60_000, 1)), y, cost_matrix=C)
    chosen, left_out = choose_methods(None, problem, make_setting(problem), baseline="plain")
    assert list(chosen)[:2] == ["constant", "plain"]
    assert "beyond 50,000 rows" in left_out["bacing"].reason


def test_what_is_no_estimator_is_refused(data):
    X, y = data
    with pytest.raises(TypeError, match="3 is neither a method's name nor an estimator"):
        compare(X, y, methods={"mine": 3})


def test_a_failed_baseline_is_an_error_with_its_reason(data, monkeypatch):
    X, y = data

    def broken(setting):
        raise RuntimeError("the wheel came off")

    broken_method = replace(find_method("mec"), build=lambda cls, setting: broken(setting))
    monkeypatch.setitem(_methods._declared, "mec", broken_method)
    with pytest.raises(ValueError, match="The baseline 'mec' failed.*RuntimeError: the wheel"):
        compare(X, y, cost_matrix=C, methods={"no": Always()}, baseline="mec", cv=2)


def test_a_baseline_that_cannot_serve_is_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="'mossman' cannot serve: "):
        compare(X, y, cost_matrix=C, methods={"no": Always()}, baseline="mossman")


def test_json_and_csv_hold_unrounded_figures(data, tmp_path):
    X, y = data
    found = compare(X, y, cost_matrix=C, methods={"broken": Broken()}, fast=True)
    found.to_json(tmp_path / "a.json")
    kept = json.loads((tmp_path / "a.json").read_text())
    assert kept["recommended"] == found.recommended
    rows = {row["method"]: row for row in kept["methods"]}
    assert rows["plain"]["cost"] == found.table.loc["plain", "cost"]
    assert rows["broken"]["cost"] is None
    found.to_csv(tmp_path / "a.csv")
    table = pd.read_csv(tmp_path / "a.csv", index_col=0)
    assert_allclose(table["cost"], found.table["cost"].astype(float), rtol=0)


def test_without_a_store_nothing_is_left_behind(data, tmp_path, monkeypatch):
    X, y = data
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    compare(X, y, cost_matrix=C, methods={"no": Always()})
    assert not list(tmp_path.iterdir())
    compare(X, y, cost_matrix=C, methods={"no": Always()}, store=RunStore(tmp_path / "kept"))
    assert list(tmp_path.rglob("fold0-seed0.run"))


def test_a_fold_keeps_its_rows_once(monkeypatch):
    X, y = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"]), [0, 1]
    seen = {}

    def told(method, problem, *more):
        seen[method.name] = problem.X
        return fit_method(method, problem, *more)

    monkeypatch.setattr(_work, "fit_method", told)
    own = make_pipeline(StandardScaler(), LogisticRegression())
    made = compare(X, y * 30, methods=["mec", own], fast=True, cv=2)
    assert set(made.finished) == set(made.results)
    tables = {name: table is not None for name, table in seen.items()}
    # Numbers are made of a table once for all methods; then only a pipeline needs it.
    assert {name for name, kept in tables.items() if kept} == {"Pipeline"}
    assert list(seen["Pipeline"].columns) == ["a", "b"]


def test_nothing_is_saved_of_nothing():
    X, y = np.repeat([[0.0], [1.0]], 100, axis=0), np.repeat([0, 1], 100)
    made = compare(X, y, methods=["mec"], fast=True, cv=2, check=False)
    assert made.table.loc["plain", "cost"] == 0
    cells = dict(table_cells(made))["constant"]
    assert cells[4:6] == ["–", ""]


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (np.zeros(40), r"X has the shape \(40,\).*reshape\(-1, 1\)"),
        (pd.Series(np.zeros(40)), r"X has the shape \(40,\)"),
        (np.zeros((40, 2, 3)), r"X has the shape \(40, 2, 3\).*reshape\(len\(X\), -1\)"),
        (np.zeros((40, 2), complex), "X has complex numbers"),
        ([{"age": 3}] * 40, r"X is a list of dicts: give pandas.DataFrame\(X\)"),
        ({"age": [3] * 40}, "X is a dict"),
    ],
)
def test_what_is_no_table_is_refused_before_anything_is_fitted(X, said):
    with pytest.raises((TypeError, ValueError), match=said):
        compare(X, [0, 1] * 20, cost_matrix=C)


def test_the_package_is_called_as_its_function():
    assert inspect.signature(stakes.compare) == inspect.signature(compare)
