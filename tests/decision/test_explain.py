"""Why was this decided? Costs, tipping points, and shares of columns in currency."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from stakes.decision import CostDecisionClassifier, decide, explain_decision
from stakes.decision._explain import column_shares, tipping_probability

C = np.array([[0.0, 2.0, 4.0], [9.0, 0.0, 3.0], [6.0, 8.0, 0.0]])


def test_shares_by_hand():
    # v(x) = 2 a + 3 b c, against the row 0: a gives 2, b and c share 3 x 4 x 5 alike.
    def value(rows):
        return 2 * rows[:, 0] + 3 * rows[:, 1] * rows[:, 2]

    row, zero = np.array([[1.0, 4.0, 5.0]]), np.zeros((1, 3))
    share, error, base, exact = column_shares(value, row, zero, np.random.default_rng(0))
    assert share == pytest.approx([2, 30, 30])
    assert (base, exact, error.tolist()) == (0.0, True, [0, 0, 0])


def test_many_columns_are_estimated_with_an_error_that_holds():
    rng = np.random.default_rng(0)
    background, row = rng.normal(size=(40, 12)), rng.normal(size=(1, 12))
    weight = rng.normal(size=12)

    def value(rows):
        return rows @ weight

    share, error, base, exact = column_shares(value, row, background, np.random.default_rng(1))
    assert not exact
    assert base + share.sum() == pytest.approx(float(value(row)[0]))
    truth = weight * (row[0] - background.mean(axis=0))
    assert (np.abs(share - truth) <= 4 * error + 1e-9).all()


@pytest.mark.parametrize("seed", range(20))
def test_tipping_probabilities_are_those_of_a_grid(seed):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(3))
    decided = int(decide(proba[None], C)[0])
    for true in range(3):
        low, below, high, above = tipping_probability(proba, C, decided, true)
        others = np.where(np.arange(3) == true, 0, proba)
        grid = np.linspace(0, 1, 2001)
        rows = (1 - grid)[:, None] * others / others.sum()
        rows[:, true] = grid
        same = decide(rows, C) == decided
        inside = (grid >= (0 if np.isnan(low) else low)) & (
            grid <= (1 if np.isnan(high) else high)
        )
        assert (same == inside).mean() > 0.998
        if below >= 0 and low > 1e-3:
            assert decide(rows[[np.searchsorted(grid, low - 6e-4)]], C)[0] == below
        if above >= 0 and high < 1 - 1e-3:
            assert decide(rows[[np.searchsorted(grid, high + 6e-4)]], C)[0] == above


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(size=300), "job": rng.choice(["cook", "smith"], 300)})
    y = (X["age"] + 2 * (X["job"] == "smith") + rng.normal(size=300) > 1.5).astype(int)
    y[X["age"] > 1.2] = 2
    pipe = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough"),
        LogisticRegression(),
    )
    return CostDecisionClassifier(pipe, cost_matrix=C).fit(X, y), X


def test_a_row_of_a_table_is_explained_in_currency(made):
    model, X = made
    assert not explain_decision(model, X.iloc[[3]], X).exact  # 50 rows of 300
    why = explain_decision(model, X.iloc[[3]], X[:50])
    expected = model.expected_costs(X.iloc[[3]])[0]
    assert why.decision == model.predict(X.iloc[[3]])[0]
    assert why.expected.tolist() == sorted(expected.tolist())
    assert why.difference == pytest.approx(np.sort(expected)[1] - expected.min())
    assert why.exact
    assert why.base + why.columns["share"].sum() == pytest.approx(why.difference)
    assert set(why.columns.index) == {"age", "job"}
    other = (why.decision + 1) % 3
    moved = C.copy()
    moved[other, why.decision] = why.tipping_prices.loc[(other, why.decision)].tips_at + 1e-6
    assert decide(model.predict_proba(X.iloc[[3]]), moved)[0] != why.decision
    assert f"Decided {why.decision}: expected costs" in repr(why)
    again = explain_decision(model, X.iloc[[3]], X[:50])
    assert again.columns.equals(why.columns)


def test_arrays_and_prices_of_the_row():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 10))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    forest = RandomForestClassifier(20, random_state=0)
    model = CostDecisionClassifier(forest, cost_matrix=[[0, 1], [3, 0]]).fit(X, y)
    top = X[[X[:, 0].argmax()]]
    why = explain_decision(model, top, X)
    assert not why.exact
    assert why.columns.index[0] == "feature 0"
    dear = explain_decision(model, top, X, cost_tensor=[[[0, 1], [300, 0]]])
    assert dear.decision == 1
    assert dear.difference > why.difference
    # Eight columns are named; the other two are summed up.
    *_, last = repr(why).splitlines()
    assert last == f"  2 other columns: {why.columns['share'].iloc[8:].sum():+.6g}"


def test_what_cannot_be_explained_is_said(made):
    model, X = made
    with pytest.raises(ValueError, match="explains one row, but 2 were given"):
        explain_decision(model, X[:2], X)
    with pytest.raises(ValueError, match="The background has 0 rows"):
        explain_decision(model, X[:1], X[:0])

    class Bare:
        classes_ = np.array([0, 1])

    with pytest.raises(ValueError, match="has no probabilities"):
        explain_decision(Bare(), [[1.0]], [[2.0]])


def test_what_is_explained_is_what_was_decided(made):
    # A learned rule, and abstaining, decide otherwise than the least expected cost of the classes.
    X = made[1]
    y = made[0].predict(X)
    numbers = RandomForestClassifier(20, random_state=0)
    given = {"cost_matrix": C, "rule": "column_partition", "cv": 3}
    ruled = CostDecisionClassifier(numbers, **given).fit(X[["age"]], np.arange(300) % 3)
    asking = CostDecisionClassifier(numbers, cost_matrix=C, abstain_cost=0.5).fit(X[["age"]], y)
    for model in (ruled, asking):
        rows = X[["age"]].iloc[:12]
        told = [explain_decision(model, rows.iloc[[i]], rows) for i in range(12)]
        assert [one.decision for one in told] == model.predict(rows).tolist()
    left = [one for one in told if one.decision == -1]
    assert left
    assert left[0].expected[-1] == 0.5
    assert left[0].tipping_prices.index.get_level_values("decided").isin([0, 1, 2, -1]).all()


def test_a_sample_of_the_background_is_not_exact():
    # The share is 3 minus the mean of the background: of 50 rows of 5,000 that is not known exactly.
    rng = np.random.default_rng(3)
    background = rng.normal(size=(5000, 2))
    row, truth = np.array([[3.0, 0.0]]), 3.0 - background[:, 0].mean()
    share, error, _, exact = column_shares(lambda X: X[:, 0], row, background, rng)
    assert not exact
    assert abs(share[0] - truth) < 3 * error[0] < 1
    assert column_shares(lambda X: X[:, 0], row, background[:50], rng)[3]
