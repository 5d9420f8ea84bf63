"""The page says within which prices the recommendation stands, in Python's figures."""

import re

import numpy as np
import pandas as pd
import pytest

from stakes.compare import compare
from stakes.compare.words import Money, money_for, percent, price_digits
from stakes.costs import UncertainCostMatrix


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    codes = np.arange(240) % 3
    X = pd.DataFrame(rng.normal(size=(240, 2)) + np.column_stack([codes == 1, codes == 2]) * 1.2)
    C = UncertainCostMatrix(
        [[0, (1, 4), 2], [(5, 30), 0, 3], [6, (2, 12), 0]], labels=["x", "y", "z"]
    )
    y = np.array(["x", "y", "z"])[codes]
    return compare(X, y, cost_matrix=C, methods=["mec"], fast=True, cv=3, currency="€")


def cells(page, table, key):
    part = page[page.index(f'<table class="{table}">') :]
    return re.findall(rf'data-k="{key}">([^<]*)<', part[: part.index("</table>")])


def test_the_pages_figures_are_pythons(found):
    page = found.to_html(importance=False)
    money, table = money_for(found), found.break_even()
    table.loc[table["low"] < 0, "low"] = -np.inf  # no cost becomes a gain
    price = Money("€", each=max(2, price_digits(found.cost_matrix.ravel(), "€")))
    off = np.array([t != d for t, d in table.index]) | (table["price"] != 0)
    ends = np.isfinite(table["low"]) | np.isfinite(table["high"])
    shown = table[off & ends][:12]
    assert len(shown) > 3
    assert cells(page, "stands", "price") == [price(v) for v in shown["price"]]
    for end, word in (("low", "any lower"), ("high", "any higher")):
        told = [price(v) if np.isfinite(v) else word for v in shown[end]]
        assert cells(page, "stands", end) == told
    doubt = found.price_doubt()
    assert cells(page, "doubt", "value") == [money.sum(v) for v in doubt.cells["value"]]
    told = [money.sum(v) for v in doubt.cells["value_deciding"]]
    assert cells(page, "doubt", "value_deciding") == told
    likely = [percent(v) for v in doubt.cheapest if v >= 0.001]
    assert re.findall(r"data-chance>([^<]*)<", page) == likely
    assert f"would be worth {money.sum(doubt.value)} over" in page


def test_prices_known_for_sure_have_break_even_prices_too(found):
    sure = compare(
        found.problem.X,
        found.classes[found.problem.y],
        cost_matrix=found.cost_matrix,
        methods=["mec"],
        fast=True,
        cv=3,
    )
    page = sure.to_html(importance=False)
    assert "Within which prices does this stand?" in page
    assert "The prices are guesses" not in page


def test_no_end_at_which_a_cost_would_be_a_gain_is_named(found):
    page = found.to_html(importance=False)
    assert not [end for end in cells(page, "stands", "low") if "-" in end or "−" in end]
