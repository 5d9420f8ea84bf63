"""The whole way of every method in every kind of costs: compare, fit, save, load elsewhere, decide."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from stakes.compare import compare, fit_model, save_model
from stakes.compare._fitting import make_setting
from stakes.compare._problem import make_problem
from stakes.compare._registry import all_methods
from stakes.costs import KINDS

N, N_TRAIN = 120, 84
ROWS = np.arange(N)
# The classes take turns, so that both parts hold all of them.
FOLD = [(ROWS[:N_TRAIN], ROWS[N_TRAIN:])]
# Missing the last class is expensive; never symmetric.
PRICES = {
    2: np.array([[0.0, 1.0], [8.0, 0.0]]),
    3: np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [9.0, 4.0, 0.0]]),
}
METHODS = all_methods()
TAKEN = [(name, kind) for name, method in METHODS.items() for kind in method.kinds]
NOT_TAKEN = [(n, k) for n, method in METHODS.items() for k in KINDS if k not in method.kinds]
# Warnings about the tiny data of these tests, from libraries below.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.*does not have valid feature names"),
    pytest.mark.filterwarnings("ignore:Found unknown categories"),
]


def make_data(n_classes):
    rng = np.random.default_rng(0)
    y = ROWS % n_classes
    X = pd.DataFrame(
        {
            "x": rng.normal(size=N) + y,
            "z": np.where(rng.random(N) < 0.1, np.nan, rng.normal(size=N) * (y + 1)),
            "job": rng.choice(["cook", "smith", "baker"], N),
        }
    )
    amount = rng.lognormal(0, 0.7, N)
    tensor = PRICES[n_classes] * amount[:, None, None]
    return X, y, tensor


def costs_of(kind, n_classes, y, tensor, rows=slice(None)):
    if kind == "class":
        return {"cost_matrix": PRICES[n_classes]}
    if kind == "deciding":
        return {"cost_tensor": tensor[rows]}
    return {"costs": tensor[np.arange(N), y][rows]}


def problem_for(name, kind):
    """Return data that the method can serve: of three classes, or else of two."""
    for n_classes in (3, 2):
        X, y, tensor = make_data(n_classes)
        labels = np.array(["a", "b", "c"])[y]
        problem = make_problem(X, labels, **costs_of(kind, n_classes, y, tensor))
        if not METHODS[name].unfit(make_setting(problem), kind):
            return X, y, labels, tensor, n_classes
    raise AssertionError(f"{name} serves neither two classes nor three")


class Elsewhere:
    """A second process, asked to load models and decide."""

    def __init__(self, folder):
        self.folder = folder
        path = os.pathsep.join(sys.path)
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("loader.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "7"},
        )

    def decide(self, model, X, tensor):
        data, prices = self.folder / "data.pkl", self.folder / "prices.npy"
        X.to_pickle(data)
        if tensor is not None:
            np.save(prices, tensor)
        asked = {"model": str(model), "data": str(data)}
        asked["tensor"] = None if tensor is None else str(prices)
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "error" not in answer, answer
        return pd.DataFrame(answer["table"])


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    found = Elsewhere(tmp_path_factory.mktemp("elsewhere"))
    yield found
    found.process.stdin.close()
    found.process.wait(timeout=30)
    found.process.stdout.close()


@pytest.mark.parametrize(("name", "kind"), TAKEN, ids=[f"{n}-{k}" for n, k in TAKEN])
def test_every_method_goes_the_whole_way(name, kind, elsewhere, tmp_path):
    X, y, labels, tensor, n_classes = problem_for(name, kind)
    given = costs_of(kind, n_classes, y, tensor)
    found = compare(X, labels, **given, methods=[name], cv=FOLD)
    result = found.results[name]
    assert result.status == "ok", result.reason

    train, test = FOLD[0]
    model = fit_model(
        X.iloc[train], labels[train], name, **costs_of(kind, n_classes, y, tensor, train)
    )
    prices = tensor[test] if kind == "deciding" else None
    table = model.decide(X.iloc[test], cost_tensor=prices)
    # What is shipped is what was measured.
    assert table["decision"].tolist() == found.classes[result.decisions[test]].tolist()
    decided = np.searchsorted(found.classes, table["decision"])
    cells = PRICES[n_classes][y[test], decided]
    paid = cells if kind == "class" else tensor[test, y[test], decided]
    assert paid.mean() == pytest.approx(result.fold_costs[0], rel=1e-12)

    # The stated cost is the one at which the decision was taken, so that no other costs less.
    if "expected_cost" in table:
        assert (table["expected_cost"] <= table["next_best_cost"]).all()

    # Saved and loaded in another process, it decides and states the same.
    save_model(model, tmp_path / "m.skops")
    again = elsewhere.decide(tmp_path / "m.skops", X.iloc[test], prices)
    pd.testing.assert_frame_equal(again, table.reset_index(drop=True), rtol=1e-12)


DECIDING = [name for name, kind in TAKEN if kind == "deciding"]


@pytest.mark.parametrize("name", DECIDING)
def test_prices_of_rows_move_their_decisions(name):
    X, _, labels, tensor, _ = problem_for(name, "deciding")
    model = fit_model(X, labels, name, cost_tensor=tensor)
    raised = tensor.copy()
    # On every second row what is decided now becomes 1,000 times as expensive.
    rows = ROWS[::2]
    decided = np.searchsorted(model.classes, model.predict(X, cost_tensor=tensor))
    raised[rows, :, decided[rows]] = 1000.0 * raised[rows, :, decided[rows]] + 1.0
    before, after = (model.decide(X, cost_tensor=prices) for prices in (tensor, raised))
    moved = (before["decision"] != after["decision"]).to_numpy()
    assert not moved[1::2].any()
    if METHODS[name].reference:  # looks at no costs, or at those of training, by definition
        assert not moved.any()
    else:
        assert moved[::2].mean() > 0.9
    if "expected_cost" in before:
        same = np.isclose(before["expected_cost"], after["expected_cost"])
        assert same[1::2].all()
        assert not same[::2].all()


@pytest.mark.parametrize(("name", "kind"), NOT_TAKEN, ids=[f"{n}-{k}" for n, k in NOT_TAKEN])
def test_costs_that_a_method_cannot_use_are_refused_by_compare_and_by_fit(name, kind):
    X, y, tensor = make_data(2)
    given = costs_of(kind, 2, y, tensor)
    found = compare(X, y, **given, methods=[name], cv=FOLD, fast=True)
    assert found.results[name].status == "left out"
    assert f"cannot use {KINDS[kind]}" in found.results[name].reason
    with pytest.raises(ValueError, match=f"cannot be fitted here: it cannot use {KINDS[kind]}"):
        fit_model(X, y, name, **given)
