"""Within which prices a recommendation stands, and what doubt about them means."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from stakes.compare import compare, fit_model, load_model, save_model
from stakes.compare._prices import Lines, standing
from stakes.compare.words import Money, break_even_ends
from stakes.costs import UncertainCostMatrix, binary_cost_tensor

GRID = 10_001


def make_data(n=300, k=3):
    rng = np.random.default_rng(0)
    codes = np.arange(n) % k
    X = rng.normal(size=(n, 2)) + np.column_stack([codes == 1, codes == 2]) * 1.2
    return pd.DataFrame(X, columns=["a", "b"]), np.array(["x", "y", "z"])[codes]


@pytest.fixture(scope="module")
def found():
    X, y = make_data()
    C = UncertainCostMatrix(
        [[0, (1, 4), 2], [(5, 30), 0, 3], [6, (2, 12), 0]], labels=["x", "y", "z"]
    )
    return compare(
        X, y, cost_matrix=C, methods=["mec", "least_regret", "thresholds"], fast=True, cv=3
    )


@pytest.mark.parametrize("method", ["mec", "plain", "constant"])
def test_break_even_prices_are_those_of_a_grid(found, method):
    table = found.break_even(method)
    now = {name: found.total(name, found.cost_matrix) for name in found.finished}
    rivals = [name for name in found.finished if now[name] >= now[method] and name != method]
    grid = np.linspace(0, 200, GRID)  # no price becomes a gain
    classes = found.classes.tolist()
    for (true, decided), row in table.iterrows():
        t, d = classes.index(true), classes.index(decided)
        counts = {name: found.confusion(name)[t, d] for name in found.finished}
        moved = {name: now[name] + counts[name] * (grid - row.price) for name in found.finished}
        stands = np.all([moved[method] <= moved[name] + 1e-9 for name in rivals], axis=0)
        told = (grid >= row.low - 1e-9) & (grid <= row.high + 1e-9)
        assert (stands == told).all()
        # The totals of the library itself at the end say the same.
        for end, rival in ((row.low, row.below), (row.high, row.above)):
            if rival:
                prices = found.cost_matrix.copy()
                prices[t, d] = end
                assert found.total(method, prices) == pytest.approx(found.total(rival, prices))


def test_the_decisions_of_rows_change_at_their_break_even_price(found):
    prices = found.break_even_decisions()
    now = found.what_if(found.cost_matrix).decisions
    for t, d in ((1, 0), (0, 1), (2, 2)):
        at = np.median(prices[:, t, d][np.isfinite(prices[:, t, d])])
        for price in (at - 1e-3, at + 1e-3):
            matrix = found.cost_matrix.copy()
            matrix[t, d] = price
            told = np.where(price <= prices[:, t, d], d, -1)
            decided = found.what_if(matrix).decisions
            assert ((decided == d) == (told == d)).all()
    assert (prices[np.arange(len(now)), :, now] >= found.cost_matrix[:, now].T - 1e-5).all()


def test_the_chance_of_each_method_to_be_the_cheapest(found):
    doubt = found.price_doubt(n_draws=400)
    drawn = found.problem.costs.doubt.sample(400, 0)
    totals = np.array([[found.total(m, C) for m in found.finished] for C in drawn])
    best = totals <= totals.min(axis=1, keepdims=True) + 1e-9
    chance = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
    assert doubt.cheapest[found.finished].to_numpy() == pytest.approx(chance)
    assert doubt.value == pytest.approx(totals.mean(axis=0).min() - totals.min(axis=1).mean())
    assert len(doubt.cells) == 3
    assert (doubt.cells["value"] <= doubt.value + 1e-6).all()
    assert (doubt.cells["value_deciding"] <= doubt.value_deciding + 1e-6).all()
    assert doubt.value_deciding > 0
    matrix = found.cost_matrix.copy()
    matrix[1, 0] = 30
    row = doubt.cells.loc[("y", "x")]
    assert row.total_high == pytest.approx(found.total(found.favourite, matrix))
    assert (
        row.changed_high
        == (found.what_if(matrix).decisions != found.what_if(found.cost_matrix).decisions).sum()
    )


def test_prices_of_each_row_move_in_proportion():
    X, y = make_data(k=2)
    tensor = binary_cost_tensor(fp_cost=3, fn_cost=np.linspace(2, 30, 300))
    made = compare(X, y, cost_tensor=tensor, methods=["mec"], fast=True, cv=3)
    table = made.break_even()
    (true, decided), row = next(
        (cell, row)
        for cell, row in table.iterrows()
        if np.isfinite(row.high) or np.isfinite(row.low)
    )
    end, rival = (row.high, row.above) if np.isfinite(row.high) else (row.low, row.below)
    prices = made.cost_matrix.copy()
    prices[made.classes.tolist().index(true), made.classes.tolist().index(decided)] = end
    assert made.total(made.favourite, prices) == pytest.approx(made.total(rival, prices))
    with pytest.raises(ValueError, match="All prices are known for sure"):
        made.price_doubt()


def test_doubt_may_come_after_the_comparison(found):
    wide = UncertainCostMatrix([[0, (0, 9), 2], [17.5, 0, 3], [6, 7, 0]])
    assert len(found.price_doubt(wide).cells) == 1
    with pytest.raises(ValueError, match="There is no method 'none'"):
        found.break_even("none")
    assert len(json.loads(found.to_json())["break_even"]) == 9


@pytest.mark.parametrize("method", ["least_regret", "risk_averse"])
@pytest.mark.parametrize("price", [(5, 30), stats.lognorm(1, scale=10)])
def test_a_model_that_knows_of_doubt_goes_to_a_file_and_back(method, price, tmp_path):
    X, y = make_data(90)
    C = UncertainCostMatrix([[0, (1, 4), 2], [price, 0, 3], [6, 7, 0]], labels=["x", "y", "z"])
    model = fit_model(X, y, method, cost_matrix=C, fast=True)
    save_model(model, tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops")
    assert (again.predict(X) == model.predict(X)).all()


def test_no_price_becomes_a_gain():
    # The first way costs 3, the second 4 and decides (0, 0), which is free, twice as often: at -1 of
    # it the second would be cheaper. That is no end of a price, and not the nearest one, unless
    # the price is a gain or doubted to be one.
    prices = np.array([[0.0, 3.0], [9.0, 0.0]])
    slopes = np.array([[[1.0, 1.0], [0.0, 1.0]], [[2.0, 0.0], [4 / 9, 1.0]]])
    lines = Lines(np.array([3.0, 4.0]), slopes, prices)
    alone = standing(lines, 0)
    assert alone.low[0, 0] == -np.inf
    assert alone.below[0, 0] == -1
    assert alone.high[0, 1] == 4  # one more each, and both cost 4
    assert standing(lines, 0, floor=prices - 2).low[0, 0] == -1
    gain = Lines(lines.totals, slopes, prices - [[0.5, 0], [0, 0]])
    assert standing(gain, 0).low[0, 0] == -1.5


def test_ends_are_said_with_the_rival():
    row = SimpleNamespace(price=-2.0, low=-3.0, high=9.0, below="constant", above="")
    assert break_even_ends(row, Money()) == ["above −3.00 (then constant)"]
