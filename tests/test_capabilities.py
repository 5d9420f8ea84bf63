"""Every method in every case, asked in every way: it works, or is left out with the declared reason."""

import re

import numpy as np
import pandas as pd
import pytest

from stakes.compare import (
    add_reference,
    find_method,
    fit_model,
    list_methods,
    load_model,
    save_model,
)
from stakes.costs import CostMatrix, UncertainCostMatrix
from stakes.export import OnnxDecider, to_json, to_onnx, to_sql
from stakes.monitor import Monitor, estimate_cost

N = 90
ROWS = np.arange(N)
PRICES = {
    2: [[0.0, 1.0], [8.0, 0.0]],
    3: [[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [9.0, 4.0, 0.0]],
}
TABLE = list_methods()
PRIORS = {2: [0.8, 0.2], 3: [0.7, 0.2, 0.1]}
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.*does not have valid feature names"),
]


def make_data(name):
    """Return data of as many classes as the method is for, and the price of each row."""
    k = 2 if name == "binary_threshold" else 3
    rng = np.random.default_rng(0)
    y = ROWS % k
    X = pd.DataFrame({"x": rng.normal(size=N) + y, "z": rng.normal(size=N) * (y + 1)})
    return X, np.array(["a", "b", "c"])[y], rng.lognormal(0, 0.5, N)[:, None, None] * PRICES[k], k


class Fits:
    """Models by method and kind of prices, each fitted once."""

    def __init__(self):
        self.made = {}

    def __call__(self, name, case):
        given = case if case in ("doubt", "rows", "choices") else "class"
        if (name, given) not in self.made:
            X, y, tensor, k = make_data(name)
            prices = {
                "class": {"cost_matrix": PRICES[k]},
                "rows": {"cost_tensor": tensor},
                "doubt": {"cost_matrix": UncertainCostMatrix(doubtful(k))},
                "choices": {"cost_matrix": chosen(k)},
            }[given]
            model = fit_model(X, y, name, **prices, fast=True)
            if case == "stream":
                add_reference(model, X, y, **prices, fast=True)
            self.made[name, given] = model
        elif case == "stream" and self.made[name, given].reference is None:
            X, y, _, k = make_data(name)
            add_reference(self.made[name, given], X, y, cost_matrix=PRICES[k], fast=True)
        return self.made[name, given]


def doubtful(k):
    cells = [list(row) for row in PRICES[k]]
    cells[1][0] = (1.0, 9.0)
    return cells


def chosen(k):
    """Return the prices of a class, of asking, and of stopping at something between."""
    more = [[0.83, 1.5 - t] for t in range(k)]
    prices = np.column_stack([np.array(PRICES[k])[:, 0], more])
    return CostMatrix(prices, labels=list("abc")[:k], decisions=["a", "ask", "stop"])


@pytest.fixture(scope="module")
def fits():
    return Fits()


def in_case(model, case, k):
    """Return the model as the case has it."""
    if case == "abstain":
        return model.with_abstention(0.3)
    if case == "batch":
        return model.with_limits({"a": 10})
    if case == "stream":
        return model.with_shares({"a": 0.1})
    if case == "priors":
        return model.adapt(None, priors=PRIORS[k])
    return model


def ask(model, way, path, data, known):
    X, y, _, k = data
    if way == "decide":
        table = model.decide(X, **known)
        assert set(table["decision"]) <= set(model.decisions)
    elif way == "plan":
        plan = model.plan(X, {"a": 10}, **known)
        assert (plan.decisions == 0).sum() <= 10
    elif way == "adapt":
        model.adapt(None, priors=PRIORS[k]).predict(X, **known)
    elif way in ("estimate_cost", "Monitor"):
        reference = (X, y, *known.values())
        if way == "estimate_cost":
            found = estimate_cost(model, X, **known, reference=reference)
            assert found.low <= found.cost <= found.high
        else:
            batch = Monitor(model, reference=reference).update(X, y, **known)
            decided = model.predict(X, **known)
            shares = [float((decided == label).mean()) for label in model.decisions]
            assert batch["decided"] == pytest.approx(shares)
            assert batch["realised"] is not None
    elif way == "to_onnx":
        said = OnnxDecider(to_onnx(model, X=X)).decide(X, **known)["decision"]
        assert (said == model.predict(X, **known)).all()
    elif way == "to_json":
        assert to_json(model)["decisions"] == list(model.decisions)
    elif way == "to_sql":
        prices = [["0" if c == d else "1" for d in range(k)] for c in range(k)]
        assert "decision" in to_sql(model, prices=prices if known else None)
    elif way == "save_model":
        save_model(model, path)
        again = load_model(path)
        pd.testing.assert_frame_equal(again.decide(X, **known), model.decide(X, **known))


CASES = ("abstain", "batch", "stream", "priors", "doubt", "rows", "choices")
WAYS = ("fit_model", "decide", "plan", "adapt", "estimate_cost", "Monitor", "save_model")
WAYS += ("to_onnx", "to_json", "to_sql")


# Of two that take seconds to fit, one case is tried at once.
COSTLY = ("cost_regression", "stakes")
CELLS = [
    pytest.param(
        name, case, marks=pytest.mark.slow if name in COSTLY and case != "abstain" else ()
    )
    for name in TABLE.index
    for case in CASES
]


@pytest.mark.parametrize(("name", "case"), CELLS)
def test_each_cell_works_or_is_left_out_with_the_declared_reason(
    name, case, fits, tmp_path, monkeypatch
):
    monkeypatch.setattr("stakes.compare._reference.N_FOLDS", 2)
    data, cannot = make_data(name), TABLE.loc[name, "cannot"]
    known = {"cost_tensor": data[2]} if case == "rows" else {}
    for way in WAYS:
        reason = cannot.get(case, {}).get(way, "")

        if way.startswith("to_") and not find_method(name).cls.__module__.startswith("stakes."):
            continue  # how a method of somebody else's is exported, is for its maker to say

        def attempt(way=way):
            model = in_case(fits(name, case), case, data[3])
            ask(model, way, tmp_path / "m.skops", data, known)

        if not reason:
            attempt()
        elif ", where it has learned" in reason:  # it depends on what was learned
            continue
        else:
            with pytest.raises(ValueError, match=re.escape(reason)):
                attempt()
